//! `stats` by memcached's names, for people and for what reads them.
//!
//! What differs, and why:
//!
//! - There are no slab classes: all items are told as class 1, its page a segment of the store. `stats sizes` has no
//!   histogram and says `disabled`; it cannot be enabled.
//! - `get_expired` and `get_flushed` are 0: a read does not tell why it found nothing.
//! - Names of memcached's own workings that do not exist here (`hash_is_expanding`, `slab_reassign_*`, `ext_*`,
//!   `lru_maintainer_*`, `read_buf_*` beyond the sum, settings of `ssl_*`) are left out rather than told as 0, as a
//!   memcached does that was built or started without them.

use super::connection::State;
use super::counters::{Count, Sums};
use super::facts::ConnectionFacts;
use super::walk::Walking;
use super::{Call, Go, Service, Shared, say};
use crate::protocol::binary::{Header, Lengths, Status};
use crate::protocol::number;
use crate::protocol::text::{BAD_FORMAT, ERROR};
use crate::protocol::words::Words;
use crate::store::Counts;
use std::fmt::Display;
use std::sync::atomic::Ordering;

/// Where rows go: lines of text, or packets.
struct Rows<'a> {
    out: &'a mut Vec<u8>,
    header: Option<&'a Header>,
}

impl Rows<'_> {
    fn row(&mut self, name: &str, value: impl Display) {
        self.octets(name.as_bytes(), value.to_string().as_bytes());
    }

    fn numbers(&mut self, rows: &[(&str, u64)]) {
        rows.iter().for_each(|(name, value)| self.row(name, value));
    }

    fn octets(&mut self, name: &[u8], value: &[u8]) {
        match self.header {
            Some(header) => {
                let lengths = Lengths { extras: 0, key: name.len() as u16, value: value.len() as u32 };
                header.answer(Status::Done, lengths, 0, self.out);
                self.out.extend_from_slice(name);
                self.out.extend_from_slice(value);
            }
            None => {
                for part in [b"STAT ", name, b" ", value, b"\r\n"] {
                    self.out.extend_from_slice(part);
                }
            }
        }
    }

    fn end(&mut self) {
        match self.header {
            Some(header) => header.answer(Status::Done, Lengths::default(), 0, self.out),
            None => self.out.extend_from_slice(b"END\r\n"),
        }
    }
}

impl Service {
    /// `stats` with whatever follows it.
    pub(super) fn stats(&mut self, words: &Words<'_>, call: &mut Call<'_>) -> (Go, State) {
        match words.at(1) {
            b"reset" => {
                self.shared.reset();
                say(call.out, b"RESET");
            }
            b"detail" => self.detail(words.at(2), call),
            b"cachedump" => return self.cachedump(words, call),
            group => {
                let known = self.shared.group(group, &mut Rows { out: call.out, header: None }, call.now.second);
                if !known {
                    say(call.out, ERROR);
                }
            }
        }
        (Go::On(0), State::Ready)
    }

    fn detail(&self, word: &[u8], call: &mut Call<'_>) {
        match word {
            b"on" | b"off" => {
                self.shared.prefixes.turn(word == b"on");
                say(call.out, b"OK");
            }
            b"dump" => self.shared.prefixes.dump(call.out),
            _ => say(call.out, b"CLIENT_ERROR usage: stats detail on|off|dump"),
        }
    }

    fn cachedump(&self, words: &Words<'_>, call: &mut Call<'_>) -> (Go, State) {
        let numbers = number::unsigned_32(words.at(2)).zip(number::unsigned_32(words.at(3)));
        let text: &[u8] = match numbers {
            _ if !self.shared.settings.dump_enabled => b"CLIENT_ERROR stats cachedump not allowed",
            _ if words.count() < 4 => b"CLIENT_ERROR bad command line",
            None => BAD_FORMAT,
            Some((64.., _)) => b"CLIENT_ERROR Illegal slab id",
            Some((1, wanted)) => return (Go::On(0), Walking::cachedump(wanted)),
            Some(_) => b"END",
        };
        say(call.out, text);
        (Go::On(0), State::Ready)
    }

    /// The same of the binary protocol, where the key says which.
    pub(super) fn binary_stats(&self, header: &Header, key: &[u8], call: &mut Call<'_>) {
        let mut rows = Rows { out: call.out, header: Some(header) };
        let known = match key {
            _ if key.starts_with(b"reset") => {
                self.shared.reset();
                rows.end();
                true
            }
            _ if key.starts_with(b"detail") => self.binary_detail(&key[6..], &mut rows),
            _ if key.starts_with(b"settings") => self.shared.group(b"settings", &mut rows, call.now.second),
            group => self.shared.group(group, &mut rows, call.now.second),
        };
        if !known {
            super::binary::fail(header, Status::NotFound, call.out);
        }
    }

    fn binary_detail(&self, word: &[u8], rows: &mut Rows<'_>) -> bool {
        match word {
            _ if word.starts_with(b" dump") => {
                let mut dump = Vec::new();
                self.shared.prefixes.dump(&mut dump);
                rows.octets(b"detailed", &dump);
            }
            _ if word.starts_with(b" on") => self.shared.prefixes.turn(true),
            _ if word.starts_with(b" off") => self.shared.prefixes.turn(false),
            _ => return false,
        }
        rows.end();
        true
    }
}

impl Shared {
    fn reset(&self) {
        self.ledger.reset();
        self.prefixes.clear();
        *self.counts_before() = self.store.counts();
    }

    /// A group of rows; false where there is none of that name.
    fn group(&self, name: &[u8], rows: &mut Rows<'_>, second: u32) -> bool {
        match name {
            b"" => self.general(rows, second),
            b"settings" => self.settings(rows),
            b"items" => self.items(rows),
            b"slabs" => self.slabs(rows),
            b"sizes" | b"sizes_disable" => rows.row("sizes_status", "disabled"),
            b"sizes_enable" => {
                rows.row("sizes_status", "error");
                rows.row("sizes_error", "not_supported");
            }
            b"conns" => self.host.connections(&mut |connection| rows.connection(connection)),
            _ => return false,
        }
        rows.end();
        true
    }

    fn general(&self, rows: &mut Rows<'_>, second: u32) {
        let (sums, facts, counts, before) =
            (self.ledger.sums(), self.host.facts(), self.store.counts(), *self.counts_before());
        let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
        let settings = &self.settings;
        // As memcached counts it, from 2 on.
        let uptime = second.saturating_sub(self.started).saturating_add(2);
        rows.numbers(&[("pid", facts.pid.into()), ("uptime", uptime.into())]);
        rows.row("time", self.origin.load(Ordering::Relaxed) + i64::from(second));
        rows.row("version", &settings.version);
        rows.row("pointer_size", usize::BITS);
        rows.row("rusage_user", seconds(facts.user_us));
        rows.row("rusage_system", seconds(facts.system_us));
        rows.numbers(&[
            ("max_connections", settings.connections_max.into()),
            ("curr_connections", facts.connections),
            ("total_connections", facts.connections_accepted),
        ]);
        if settings.refuses_connections {
            rows.row("rejected_connections", facts.connections_refused);
        }
        rows.numbers(&[("connection_structures", facts.connections), ("read_buf_bytes", facts.buffer_octets)]);
        self.commands(rows, &sums);
        if settings.idle_timeout_s > 0 {
            rows.row("idle_kicks", facts.connections_idle);
        }
        rows.numbers(&[
            ("bytes_read", sums.of(Count::OctetsRead)),
            ("bytes_written", sums.of(Count::OctetsWritten)),
            ("limit_maxbytes", self.store.limit()),
            ("accepting_conns", facts.accepting.into()),
            ("listen_disabled_num", facts.accepting_stopped),
            ("time_in_listen_disabled_us", facts.accepting_stopped_us),
            ("threads", settings.threads.into()),
            ("conn_yields", facts.yields),
            ("hash_power_level", u64::from(counts.buckets.max(1).ilog2())),
            ("hash_bytes", counts.table_octets),
            ("log_watcher_skipped", self.watchers.skipped.load(Ordering::Relaxed)),
            ("log_watcher_sent", self.watchers.sent.load(Ordering::Relaxed)),
            ("log_watchers", self.watchers.count() as u64),
        ]);
        if settings.tls {
            rows.row("ssl_handshake_errors", facts.tls_errors);
        }
        self.totals(rows, &counts, &before);
        self.host.more_facts(&mut |name, value| rows.row(name, value));
    }

    fn commands(&self, rows: &mut Rows<'_>, sums: &Sums) {
        let sum = |counts: &[Count]| counts.iter().map(|count| sums.of(*count)).sum::<u64>();
        rows.numbers(&[
            ("cmd_get", sum(&[Count::Hit, Count::Miss])),
            ("cmd_set", sum(&[Count::Set])),
            ("cmd_flush", sum(&[Count::Flush])),
            ("cmd_touch", sum(&[Count::TouchHit, Count::TouchMiss])),
            ("cmd_meta", sum(&[Count::Meta])),
            ("get_hits", sum(&[Count::Hit])),
            ("get_misses", sum(&[Count::Miss])),
            ("get_expired", 0),
            ("get_flushed", 0),
            ("delete_misses", sum(&[Count::DeleteMiss])),
            ("delete_hits", sum(&[Count::DeleteHit])),
            ("incr_misses", sum(&[Count::IncrMiss])),
            ("incr_hits", sum(&[Count::IncrHit])),
            ("decr_misses", sum(&[Count::DecrMiss])),
            ("decr_hits", sum(&[Count::DecrHit])),
            ("cas_misses", sum(&[Count::CasMiss])),
            ("cas_hits", sum(&[Count::CasHit])),
            ("cas_badval", sum(&[Count::CasBadValue])),
            ("touch_hits", sum(&[Count::TouchHit])),
            ("touch_misses", sum(&[Count::TouchMiss])),
            ("store_too_large", sum(&[Count::TooLarge])),
            ("store_no_memory", sum(&[Count::NoMemory])),
            ("auth_cmds", sum(&[Count::Auth])),
            ("auth_errors", sum(&[Count::AuthError])),
        ]);
    }

    fn totals(&self, rows: &mut Rows<'_>, counts: &Counts, before: &Counts) {
        rows.numbers(&[
            ("bytes", counts.item_octets + counts.items * crate::store::ITEM_HEAD_OCTETS),
            ("curr_items", counts.items),
            ("total_items", counts.items_stored - before.items_stored),
            ("slab_global_page_pool", counts.segments_free),
            ("expired_unfetched", counts.expired_unfetched - before.expired_unfetched),
            ("evicted_unfetched", counts.evicted_unfetched - before.evicted_unfetched),
            ("evictions", counts.evicted - before.evicted),
            ("reclaimed", counts.expired - before.expired),
        ]);
    }

    fn items(&self, rows: &mut Rows<'_>) {
        let (counts, before) = (self.store.counts(), *self.counts_before());
        if counts.items == 0 {
            return;
        }
        rows.numbers(&[
            ("items:1:number", counts.items),
            ("items:1:mem_requested", counts.item_octets + counts.items * crate::store::ITEM_HEAD_OCTETS),
            ("items:1:evicted", counts.evicted - before.evicted),
            ("items:1:evicted_nonzero", counts.evicted_expiring - before.evicted_expiring),
            ("items:1:evicted_time", counts.evicted_age_s),
            ("items:1:outofmemory", counts.refused - before.refused),
            ("items:1:reclaimed", counts.expired - before.expired),
            ("items:1:expired_unfetched", counts.expired_unfetched - before.expired_unfetched),
            ("items:1:evicted_unfetched", counts.evicted_unfetched - before.evicted_unfetched),
        ]);
    }

    fn slabs(&self, rows: &mut Rows<'_>) {
        let (sums, counts) = (self.ledger.sums(), self.store.counts());
        if counts.items > 0 {
            rows.numbers(&[
                ("1:total_pages", counts.segments),
                ("1:used_chunks", counts.items),
                ("1:get_hits", sums.of(Count::Hit)),
                ("1:cmd_set", sums.of(Count::Set)),
                ("1:delete_hits", sums.of(Count::DeleteHit)),
                ("1:incr_hits", sums.of(Count::IncrHit)),
                ("1:decr_hits", sums.of(Count::DecrHit)),
                ("1:cas_hits", sums.of(Count::CasHit)),
                ("1:cas_badval", sums.of(Count::CasBadValue)),
                ("1:touch_hits", sums.of(Count::TouchHit)),
            ]);
        }
        rows.numbers(&[("active_slabs", u64::from(counts.items > 0)), ("total_malloced", counts.used_octets)]);
    }

    fn settings(&self, rows: &mut Rows<'_>) {
        let (settings, rules) = (&self.settings, self.store.rules());
        let yes = |on: bool| if on { "yes" } else { "no" };
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "NULL".to_owned());
        rows.row("maxbytes", self.store.limit());
        rows.row("maxconns", settings.connections_max);
        rows.row("tcpport", settings.tcp_port);
        rows.row("udpport", settings.udp_port);
        rows.row("inter", text(&settings.interface));
        rows.row("verbosity", self.verbosity.load(Ordering::Relaxed));
        rows.row("evictions", if rules.evicts { "on" } else { "off" });
        rows.row("domain_socket", text(&settings.unix_socket));
        rows.row("umask", format!("{:o}", settings.unix_mode));
        rows.row("shutdown_command", yes(settings.shutdown_enabled));
        rows.row("num_threads", settings.threads);
        rows.row("num_threads_per_udp", settings.threads);
        rows.row("stat_key_prefix", char::from(settings.prefix_delimiter));
        rows.row("detail_enabled", yes(self.prefixes.is_on()));
        rows.row("reqs_per_event", settings.turn_requests_max);
        rows.row("cas_enabled", "yes");
        rows.row("tcp_backlog", settings.backlog);
        rows.row("binding_protocol", if settings.accounts.is_some() { "ascii" } else { "auto-negotiate" });
        rows.row("auth_enabled_sasl", "no");
        rows.row("auth_enabled_ascii", yes(settings.accounts.is_some()));
        rows.row("item_size_max", rules.item_octets_max);
        rows.row("maxconns_fast", yes(settings.refuses_connections));
        rows.row("slab_reassign", "no");
        rows.row("slab_automove", 0);
        rows.row("lru_crawler", "yes");
        rows.row("flush_enabled", yes(settings.flush_enabled));
        rows.row("dump_enabled", yes(settings.dump_enabled));
        rows.row("hash_algorithm", "siphash13");
        rows.row("lru_maintainer_thread", "no");
        rows.row("lru_segmented", "no");
        rows.row("temp_lru", "no");
        rows.row("idle_timeout", settings.idle_timeout_s);
        rows.row("watcher_logbuf_size", super::watch::QUEUE_OCTETS_MAX);
        rows.row("track_sizes", "no");
        rows.row("ssl_enabled", yes(settings.tls));
    }
}

impl Rows<'_> {
    fn connection(&mut self, connection: &ConnectionFacts) {
        let name = connection.name;
        self.row(&format!("{name}:addr"), &connection.peer);
        if let Some(local) = &connection.local {
            self.row(&format!("{name}:listen_addr"), local);
        }
        self.row(&format!("{name}:state"), connection.state);
        self.row(&format!("{name}:secs_since_last_cmd"), connection.idle_s);
    }
}
