//! What a server told by `stats`, as a snapshot (memcached's doc/protocol.txt, "Statistics", and our own groups
//! `hotkeys` and `slow`). What it does not tell is none.

use super::answer::Stat;
use trunkline_web::sources::{
    CacheBar, CacheHotKey, CacheMemory, CacheRefused, CacheSetting, CacheSlowCommand, CacheSnapshot,
};

/// Hot keys and slow commands of a cache that are shown.
pub const LISTED_MAX: usize = 50;
/// Settings that are taken of a server, and characters of a value.
const SETTINGS_MAX: usize = 200;
const SETTING_CHARS_MAX: usize = 200;
/// Settings that are paths of the server's machine.
const PATHS: [&str; 5] = ["domain_socket", "ssl_chain_cert", "ssl_key", "ssl_ca_cert", "auth_file"];
/// Where bars of sizes end, octets.
const SIZES: [u64; 8] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// The groups that a server told.
#[derive(Debug)]
pub struct Told {
    /// `stats`
    pub general: Vec<Stat>,
    /// `stats settings`
    pub settings: Vec<Stat>,
    /// `stats items`
    pub items: Vec<Stat>,
    /// `stats sizes`
    pub sizes: Vec<Stat>,
    /// `stats hotkeys`; none where it does not know that.
    pub hot_keys: Option<Vec<Stat>>,
    /// `stats slow`; none where it does not know that.
    pub slow_commands: Option<Vec<Stat>>,
}

impl Default for Told {
    fn default() -> Self {
        let (hot_keys, slow_commands) = (Some(Vec::new()), Some(Vec::new()));
        Told { general: vec![], settings: vec![], items: vec![], sizes: vec![], hot_keys, slow_commands }
    }
}

/// The snapshot of what was told at this time.
pub fn snapshot(told: &Told, at_ns: i64) -> CacheSnapshot {
    let of = |name: &str| number(&told.general, name);
    let sum = |one: &str, other: &str| of(one).zip(of(other)).map(|(one, other)| one.saturating_add(other));
    CacheSnapshot {
        at_ns,
        uptime_s: of("uptime"),
        version: text(&told.general, "version").unwrap_or_default().chars().take(SETTING_CHARS_MAX).collect(),
        gets_total: of("cmd_get"),
        hits_total: of("get_hits"),
        sets_total: of("cmd_set"),
        deletes_total: sum("delete_hits", "delete_misses"),
        evicted_total: of("evictions"),
        evicted_unfetched_total: of("evicted_unfetched"),
        expired_total: of("reclaimed"),
        received_octets_total: of("bytes_read"),
        sent_octets_total: of("bytes_written"),
        items: of("curr_items"),
        limit_octets: of("limit_maxbytes"),
        used_octets: memory(told).iter().map(|memory| Some(memory.octets)).sum(),
        memory: memory(told),
        evicted_age_s: of("evictions").filter(|evicted| *evicted > 0).and_then(|_| evicted_age_s(&told.items)),
        connections: of("curr_connections"),
        connections_max: number(&told.settings, "maxconns").or_else(|| of("max_connections")),
        connections_total: of("total_connections"),
        refused: refused(told),
        ages: None,
        sizes: sizes(&told.sizes),
        hot_keys: told.hot_keys.as_ref().map(|rows| rows.iter().take(LISTED_MAX).filter_map(hot_key).collect()),
        slow_commands: told.slow_commands.as_ref().map(|rows| rows.iter().take(LISTED_MAX).filter_map(slow).collect()),
        settings: told.settings.iter().take(SETTINGS_MAX).filter_map(setting).collect(),
    }
}

fn text<'a>(stats: &'a [Stat], name: &str) -> Option<&'a str> {
    stats.iter().find(|stat| stat.name == name).map(|stat| stat.value.as_str())
}

fn number(stats: &[Stat], name: &str) -> Option<u64> {
    text(stats, name)?.parse().ok()
}

/// memcached tells octets of items, table and buffers; not what its slabs hold unused.
fn memory(told: &Told) -> Vec<CacheMemory> {
    let kinds = [("items", "bytes"), ("table", "hash_bytes"), ("buffers", "read_buf_bytes")];
    let of = |(kind, name): (&str, &str)| {
        number(&told.general, name).map(|octets| CacheMemory { kind: kind.to_owned(), octets })
    };
    kinds.into_iter().filter_map(of).collect()
}

/// The longest of all classes: what was evicted there had waited that long.
fn evicted_age_s(items: &[Stat]) -> Option<u64> {
    let of_class = |stat: &&Stat| stat.name.ends_with(":evicted_time");
    items.iter().filter(of_class).filter_map(|stat| stat.value.parse().ok()).max()
}

fn refused(told: &Told) -> Vec<CacheRefused> {
    let all = [
        ("connections", "there were too many", "rejected_connections"),
        ("connections", "their handshake of TLS failed", "ssl_handshake_errors"),
        ("connections", "nothing came for too long", "idle_kicks"),
        ("values", "larger than an item may be", "store_too_large"),
        ("values", "there was no memory", "store_no_memory"),
        ("sign-ins", "wrong user or password", "auth_errors"),
    ];
    let of = |(what, cause, name): (&str, &str, &str)| {
        let total = number(&told.general, name).filter(|total| *total > 0)?;
        Some(CacheRefused { what: what.to_owned(), cause: cause.to_owned(), total })
    };
    all.into_iter().filter_map(of).collect()
}

/// Rows of `size count`; none where they are not told.
fn sizes(rows: &[Stat]) -> Option<Vec<CacheBar>> {
    let counted: Vec<(u64, u64)> =
        rows.iter().filter_map(|row| Some((row.name.parse().ok()?, row.value.parse().ok()?))).collect();
    if counted.is_empty() {
        return None;
    }
    let ends = SIZES.map(Some).into_iter().chain([None]);
    let mut from = 0;
    let bars = ends.map(|end| {
        let within = |(size, _): &&(u64, u64)| *size > from && end.is_none_or(|end| *size <= end);
        let items = counted.iter().filter(within).map(|(_, items)| *items).fold(0, u64::saturating_add);
        let octets = counted.iter().filter(within).map(|(size, items)| size.saturating_mul(*items));
        let octets = octets.fold(0, u64::saturating_add);
        from = end.unwrap_or(from);
        CacheBar { up_to: end, items, octets }
    });
    Some(bars.collect())
}

/// `key=k requests_per_s=1.5 share=0.1`
fn hot_key(row: &Stat) -> Option<CacheHotKey> {
    let of = |name: &str| word(&row.value, name);
    let (requests_per_s, share) = (of("requests_per_s")?.parse().ok()?, of("share")?.parse().ok()?);
    Some(CacheHotKey { key: key(of("key")?), requests_per_s, share })
}

/// `ts=1.5 took_us=2 served_us=1 waited=no command=get key=k keys=1 octets=9 together=1 peer=tcp:127.0.0.1:4`
fn slow(row: &Stat) -> Option<CacheSlowCommand> {
    let of = |name: &str| word(&row.value, name);
    let whole = |name: &str| of(name)?.parse().ok();
    let (seconds, micros) = of("ts")?.split_once('.')?;
    let (seconds, micros): (u64, u64) = (seconds.parse().ok()?, micros.parse().ok()?);
    Some(CacheSlowCommand {
        unix_us: seconds.saturating_mul(1_000_000).saturating_add(micros),
        took_us: whole("took_us")?,
        served_us: whole("served_us")?,
        command: key(of("command")?),
        key: key(of("key")?),
        keys: whole("keys")?,
        octets: whole("octets")?,
        peer: of("peer").unwrap_or_default().to_owned(),
        waited: of("waited") == Some("yes"),
    })
}

/// The value of `name=value` among words.
fn word<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// A key as lines of memcached's logger have it (`%XX`), for people.
fn key(encoded: &str) -> String {
    let (mut octets, mut rest) = (Vec::new(), encoded.as_bytes());
    while let [first, behind @ ..] = rest {
        let hex = behind.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let coded = hex.filter(|_| *first == b'%').and_then(|two| u8::from_str_radix(two, 16).ok());
        octets.push(coded.unwrap_or(*first));
        rest = if coded.is_some() { &behind[2..] } else { behind };
    }
    shown(&octets)
}

/// A key for people: a text as it is, of anything else the octets that are none as `\xf4`.
pub fn shown(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => key.escape_ascii().to_string(),
    }
}

fn setting(stat: &Stat) -> Option<CacheSetting> {
    let is_path = PATHS.contains(&stat.name.as_str()) && stat.value.contains('/');
    let value = if is_path { "set".to_owned() } else { stat.value.chars().take(SETTING_CHARS_MAX).collect() };
    (!stat.name.is_empty()).then(|| CacheSetting { name: stat.name.clone(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(rows: &[(&str, &str)]) -> Vec<Stat> {
        rows.iter().map(|(name, value)| Stat { name: (*name).to_owned(), value: (*value).to_owned() }).collect()
    }

    #[test]
    fn what_is_not_told_is_none() {
        let told = Told { hot_keys: None, slow_commands: None, ..Told::default() };
        let empty = snapshot(&told, 5);
        let none = [empty.gets_total, empty.deletes_total, empty.items, empty.evicted_age_s, empty.connections_max];
        assert_eq!((none, empty.at_ns), ([None; 5], 5));
        assert_eq!((empty.hot_keys, empty.sizes, empty.memory), (None, None, vec![]));
    }

    #[test]
    fn groups_become_one_snapshot() {
        let general = [("cmd_get", "10"), ("delete_hits", "1"), ("delete_misses", "2"), ("bytes", "500")];
        let more = [("hash_bytes", "100"), ("evictions", "3"), ("store_too_large", "4"), ("get_hits", "x")];
        let told = Told {
            general: stats(&[general, more].concat()),
            items: stats(&[("items:1:evicted_time", "60"), ("items:7:evicted_time", "90"), ("items:7:age", "999")]),
            sizes: stats(&[("96", "2"), ("64", "1"), ("2097152", "5")]),
            settings: stats(&[("maxconns", "9"), ("domain_socket", "/run/c.sock")]),
            ..Told::default()
        };
        let all = snapshot(&told, 0);
        assert_eq!((all.gets_total, all.hits_total, all.deletes_total), (Some(10), None, Some(3)));
        assert_eq!((all.used_octets, all.evicted_age_s, all.connections_max), (Some(600), Some(90), Some(9)));
        assert_eq!((all.refused.len(), all.refused[0].total), (1, 4));
        let bars: Vec<_> = all.sizes.unwrap().iter().filter(|bar| bar.items > 0).map(|b| (b.up_to, b.octets)).collect();
        assert_eq!(bars, [(Some(64), 64), (Some(256), 192), (None, 5 << 21)]);
        assert_eq!(all.settings[1].value, "set", "where its files are is not told on");
    }

    #[test]
    fn rows_of_hot_keys_and_slow_commands() {
        let hot = "key=user%3A%2B4420%FF requests_per_s=12.5 share=0.2500";
        let row = "ts=1700000000.000250 took_us=1500 served_us=200 waited=yes command=get key=a%20b keys=3 octets=77 \
            together=1 peer=tcp:127.0.0.1:40000";
        let told = Told {
            hot_keys: Some(stats(&[("hotkey:1", hot), ("hotkey:2", "nonsense")])),
            slow_commands: Some(stats(&[("slow:1", row), ("slow:2", "ts=1")])),
            ..Told::default()
        };
        let all = snapshot(&told, 0);
        let hot = CacheHotKey { key: "user:+4420\\xff".to_owned(), requests_per_s: 12.5, share: 0.25 };
        assert_eq!(all.hot_keys, Some(vec![hot]));
        let slow = &all.slow_commands.unwrap()[..];
        assert_eq!(slow.len(), 1);
        assert_eq!((slow[0].unix_us, slow[0].took_us, slow[0].served_us), (1_700_000_000_000_250, 1500, 200));
        assert_eq!((slow[0].key.as_str(), slow[0].waited, slow[0].peer.as_str()), ("a b", true, "tcp:127.0.0.1:40000"));
        assert_eq!([key("%"), key("%4"), key("%zz"), key("a%0Ab")], ["%", "%4", "%zz", "a\\nb"]);
    }
}
