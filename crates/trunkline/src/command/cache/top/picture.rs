//! A round as lines: the servers, what is asked for most, what took long.

use super::order::Order;
use super::round::{Round, Server};
use crate::run::now_ns;
use crate::show::figure;
use crate::show::table::{Row, Table, number, text};
use crate::show::text::{Keep, Line, Style};
use crate::terminal::Terminal;

/// Hot keys and slow commands that are shown.
const LISTED_MAX: usize = 12;
/// What stands where a server tells nothing.
const NOT_TOLD: &str = "-";
/// Below this, a hit ratio is worth a look.
const RATIO_LOW: f64 = 0.5;
/// Nanoseconds of a second.
const SECOND_NS: i64 = 1_000_000_000;

/// The lines of a round. `order` says what servers are sorted by, and whether the other way round.
pub fn lines(now: &Round, before: &Round, order: (Order, bool), terminal: &Terminal) -> Vec<Line> {
    let mut servers = now.servers(before);
    servers.sort_by(|one, other| {
        let by = order.0.compare((one.now, &one.rates), (other.now, &other.rates));
        if order.1 { by.reverse() } else { by }
    });
    if order == (Order::Name, true) {
        servers.reverse();
    }
    let mut lines = vec![head(now, terminal), Line::new(terminal)];
    lines.extend(servers_table(&servers, terminal));
    lines.extend(now.troubles().map(|why| Line::new(terminal).with(Style::Bad, why)));
    lines.extend(hot_keys(&servers, terminal));
    lines.extend(slow_commands(&servers, terminal));
    lines
}

fn head(now: &Round, terminal: &Terminal) -> Line {
    let at_ns = now.0.iter().filter_map(|(_, look)| look.as_ref().ok()).map(|now| now.at_ns).max();
    let clock = figure::clock(at_ns.unwrap_or_else(now_ns), &terminal.zone);
    let servers = figure::of(now.0.len() as u64, "server", "servers");
    let line = Line::new(terminal).with(Style::Bold, &format!("{clock}  {servers}"));
    if terminal.height.is_none() {
        // Nobody presses a key there.
        return line;
    }
    line.with(
        Style::Dim,
        "  q ends; sort by n name, g gets, h hits, s sets, e evictions, i items, m memory, c connections",
    )
}

fn servers_table(servers: &[Server<'_>], terminal: &Terminal) -> Vec<Line> {
    let mut table = Table::new(vec![
        text("SERVER").cuts(14, Keep::End),
        number("GETS/S"),
        number("HITS"),
        number("SETS/S"),
        number("DELETES/S").drops(5),
        number("EVICTED/S").drops(1),
        number("EXPIRED/S").drops(6),
        number("ITEMS").drops(2),
        number("MEMORY"),
        number("OF").drops(3),
        number("CONNECTIONS").drops(4),
        number("UP").drops(7),
    ]);
    for server in servers {
        let cells = row(server).into_iter().map(|(style, cell)| Line::new(terminal).with(style, &cell)).collect();
        table.row(Row { cells, below: Vec::new() });
    }
    table.lines(terminal)
}

fn row(server: &Server<'_>) -> Vec<(Style, String)> {
    let (now, rates) = (server.now, &server.rates);
    let plain = |text: String| (Style::Plain, text);
    let rate = |rate: Option<f64>| plain(rate.map_or_else(not_told, per_second));
    let told = |level: Option<u64>, words: fn(u64) -> String| plain(level.map_or_else(not_told, words));
    let low = rates.hit_ratio.is_some_and(|ratio| ratio < RATIO_LOW);
    let evicts = rates.evicted_per_s.is_some_and(|rate| rate > 0.0);
    let styled = |style, (_, text): (Style, String)| (style, text);
    vec![
        styled(Style::Bold, plain(server.name.to_owned())),
        rate(rates.gets_per_s),
        styled(if low { Style::Warn } else { Style::Plain }, plain(rates.hit_ratio.map_or_else(not_told, percent))),
        rate(rates.sets_per_s),
        rate(rates.deletes_per_s),
        styled(if evicts { Style::Warn } else { Style::Plain }, rate(rates.evicted_per_s)),
        rate(rates.expired_per_s),
        told(now.items, figure::count),
        told(now.used_octets, figure::octets),
        told(now.limit_octets, figure::octets),
        told(now.connections, figure::count),
        told(now.uptime_s, |s| figure::duration(i64::try_from(s).unwrap_or(i64::MAX).saturating_mul(SECOND_NS))),
    ]
}

fn not_told() -> String {
    NOT_TOLD.to_owned()
}

/// `0`, `0.5`, `12`, `1,204`.
fn per_second(rate: f64) -> String {
    if rate > 0.0 && rate < 9.95 { format!("{rate:.1}") } else { figure::count(rate.round() as u64) }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The keys that are asked for most, of all servers; nothing where none tells.
fn hot_keys(servers: &[Server<'_>], terminal: &Terminal) -> Vec<Line> {
    let of = |server: &Server<'_>| {
        let keys = server.now.hot_keys.iter().flatten();
        keys.map(|hot| (server.name.to_owned(), hot.clone())).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = servers.iter().flat_map(of).collect();
    if all.is_empty() {
        return Vec::new();
    }
    all.sort_by(|one, other| other.1.requests_per_s.total_cmp(&one.1.requests_per_s));
    let mut table = Table::new(vec![
        text("HOT KEY").cuts(16, Keep::Start),
        number("REQUESTS/S"),
        number("SHARE"),
        text("SERVER").drops(1),
    ]);
    for (server, hot) in all.into_iter().take(LISTED_MAX) {
        let cells = [hot.key, per_second(hot.requests_per_s), percent(hot.share), server];
        let cells = cells.map(|cell| Line::new(terminal).with(Style::Plain, &cell)).to_vec();
        table.row(Row { cells, below: Vec::new() });
    }
    [vec![Line::new(terminal)], table.lines(terminal)].concat()
}

/// The commands that took long, of all servers, the latest first; nothing where none tells.
fn slow_commands(servers: &[Server<'_>], terminal: &Terminal) -> Vec<Line> {
    let of = |server: &Server<'_>| {
        let slow = server.now.slow_commands.iter().flatten();
        slow.map(|slow| (server.name.to_owned(), slow.clone())).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = servers.iter().flat_map(of).collect();
    if all.is_empty() {
        return Vec::new();
    }
    all.sort_by_key(|(_, slow)| std::cmp::Reverse(slow.unix_us));
    let mut table = Table::new(vec![
        text("SLOW"),
        number("TOOK"),
        number("SERVED").drops(2),
        text("COMMAND"),
        text("KEY").cuts(12, Keep::Start),
        number("KEYS").drops(3),
        number("OCTETS").drops(4),
        text("CLIENT").drops(5),
        text("SERVER").drops(1),
    ]);
    for (server, slow) in all.into_iter().take(LISTED_MAX) {
        let at_ns = i64::try_from(slow.unix_us).unwrap_or(i64::MAX).saturating_mul(1000);
        let ms = |us: u64| figure::milliseconds(us as f64 / 1e3);
        let cells = [
            figure::clock(at_ns, &terminal.zone),
            ms(slow.took_us),
            ms(slow.served_us),
            slow.command,
            slow.key,
            figure::count(slow.keys),
            figure::octets(slow.octets),
            slow.peer,
            server,
        ];
        let cells = cells.map(|cell| Line::new(terminal).with(Style::Plain, &cell)).to_vec();
        table.row(Row { cells, below: Vec::new() });
    }
    [vec![Line::new(terminal)], table.lines(terminal)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples::terminal;
    use trunkline_web::sources::{CacheHotKey, CacheSlowCommand, CacheSnapshot};

    fn told(second: i64, gets: u64, used: Option<u64>) -> CacheSnapshot {
        CacheSnapshot {
            at_ns: second * SECOND_NS,
            gets_total: Some(gets),
            hits_total: Some(gets / 4),
            items: Some(1204),
            used_octets: used,
            ..CacheSnapshot::default()
        }
    }

    fn round(second: i64) -> Round {
        let hot = CacheHotKey { key: "user:\x1b[2J".to_owned(), requests_per_s: 3.25, share: 0.5 };
        let slow = CacheSlowCommand { unix_us: 1, took_us: 1500, command: "get".to_owned(), ..Default::default() };
        let (hot_keys, slow_commands) = (Some(vec![hot]), Some(vec![slow]));
        let ours = CacheSnapshot { hot_keys, slow_commands, ..told(second, second as u64 * 8, Some(9_000_000)) };
        let plain = told(second, second as u64 * 2000, None);
        Round(vec![
            ("10.0.0.5:11211".to_owned(), Ok(ours)),
            ("10.0.0.6:11211".to_owned(), Ok(plain)),
            ("10.0.0.7:11211".to_owned(), Err("10.0.0.7:11211: no answer in time".to_owned())),
        ])
    }

    fn texts(order: (Order, bool)) -> Vec<String> {
        let lines = lines(&round(20), &round(10), order, &terminal(120));
        lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_round_is_told() {
        let texts = texts((Order::Name, false));
        assert!(texts[0].ends_with(":00:20  3 servers"), "{texts:#?}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&texts[3])[..5], ["10.0.0.5:11211", "8.0", "25.0", "%", "-"]);
        assert!(texts[4].starts_with("10.0.0.6:11211   2,000  25.0 %"), "{texts:#?}");
        assert_eq!(texts[5], "10.0.0.7:11211: no answer in time");
        let all = texts.join("\n");
        assert!(all.contains("user:") && !all.contains('\x1b'), "what a client chose cannot steer the terminal");
        assert!(all.contains("1.50 ms") && all.contains("50.0 %"), "{all}");
    }

    #[test]
    fn servers_are_sorted_either_way() {
        let first = |order| texts(order)[3].split(' ').next().unwrap_or_default().to_owned();
        assert_eq!([first((Order::Gets, false)), first((Order::Gets, true))], ["10.0.0.6:11211", "10.0.0.5:11211"]);
        assert_eq!([first((Order::Memory, false)), first((Order::Name, true))], ["10.0.0.5:11211", "10.0.0.6:11211"]);
    }

    #[test]
    fn rates_have_as_many_digits_as_matter() {
        assert_eq!(
            [per_second(0.0), per_second(0.25), per_second(9.96), per_second(1204.4)],
            ["0", "0.2", "10", "1,204"]
        );
    }
}
