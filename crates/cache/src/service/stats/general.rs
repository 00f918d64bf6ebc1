//! `stats` without a group.

use super::super::counters::{Count, Sums};
use super::super::facts::Facts;
use super::Rows;
use crate::service::Shared;
use crate::store::{Counts, ITEM_HEAD_OCTETS};
use std::sync::atomic::Ordering;

impl Shared {
    pub(super) fn general(&self, rows: &mut Rows<'_>, second: u32) {
        let (sums, facts, counts) = (self.ledger.sums(), self.host.facts(), self.store.counts());
        let before = *self.counts_before();
        self.process(rows, &facts, second);
        self.connections(rows, &facts);
        self.commands(rows, &sums, &counts, &before);
        if self.settings.idle_timeout_s > 0 {
            rows.row("idle_kicks", facts.connections_idle);
        }
        self.workings(rows, &facts, &sums, &counts);
        self.log(rows);
        if self.settings.tls.is_some() {
            let age_s = facts.certificates_age_s;
            rows.numbers(&[("ssl_handshake_errors", facts.tls_errors), ("time_since_server_cert_refresh", age_s)]);
        }
        rows.zeros(&["unexpected_napi_ids", "round_robin_fallback"]);
        self.totals(rows, &counts, &before);
        self.host.more_facts(&mut |name, value| rows.row(name, value));
    }

    fn process(&self, rows: &mut Rows<'_>, facts: &Facts, second: u32) {
        let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
        // As memcached counts it, from 2 on.
        let uptime = second.saturating_sub(self.started).saturating_add(2);
        rows.numbers(&[("pid", facts.pid.into()), ("uptime", uptime.into())]);
        rows.row("time", self.origin.load(Ordering::Relaxed) + i64::from(second));
        rows.row("version", &self.settings.version);
        rows.row("libevent", "none");
        rows.row("pointer_size", usize::BITS);
        rows.row("rusage_user", seconds(facts.user_us));
        rows.row("rusage_system", seconds(facts.system_us));
    }

    fn connections(&self, rows: &mut Rows<'_>, facts: &Facts) {
        rows.numbers(&[
            ("max_connections", self.settings.connections_max.into()),
            ("curr_connections", facts.connections),
            ("total_connections", facts.connections_accepted),
        ]);
        if self.settings.refuses_connections {
            rows.row("rejected_connections", facts.connections_refused);
        }
        rows.row("connection_structures", facts.connections);
        rows.zeros(&["response_obj_oom", "response_obj_count", "response_obj_bytes", "read_buf_count"]);
        rows.numbers(&[
            ("read_buf_bytes", facts.buffer_octets),
            ("read_buf_bytes_free", 0),
            ("read_buf_oom", facts.connections_without_room),
            ("reserved_fds", 0),
        ]);
    }

    fn commands(&self, rows: &mut Rows<'_>, sums: &Sums, counts: &Counts, before: &Counts) {
        let sum = |counts: &[Count]| counts.iter().map(|count| sums.of(*count)).sum::<u64>();
        rows.numbers(&[
            ("cmd_get", sum(&[Count::Hit, Count::Miss])),
            ("cmd_set", sum(&[Count::Set])),
            ("cmd_flush", sum(&[Count::Flush])),
            ("cmd_touch", sum(&[Count::TouchHit, Count::TouchMiss])),
            ("cmd_meta", sum(&[Count::Meta])),
            ("get_hits", sum(&[Count::Hit])),
            ("get_misses", sum(&[Count::Miss])),
            ("get_expired", counts.found_expired - before.found_expired),
            ("get_flushed", counts.found_flushed - before.found_flushed),
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

    fn workings(&self, rows: &mut Rows<'_>, facts: &Facts, sums: &Sums, counts: &Counts) {
        rows.numbers(&[
            ("bytes_read", sums.of(Count::OctetsRead)),
            ("bytes_written", sums.of(Count::OctetsWritten)),
            ("limit_maxbytes", self.store.limit()),
            ("accepting_conns", facts.accepting.into()),
            ("listen_disabled_num", facts.accepting_stopped),
            ("time_in_listen_disabled_us", facts.accepting_stopped_us),
            ("threads", self.settings.threads.into()),
            ("conn_yields", facts.yields),
            ("hash_power_level", u64::from(counts.buckets.max(1).ilog2())),
            ("hash_bytes", counts.table_octets),
        ]);
        rows.zeros(&[
            "hash_is_expanding",
            "slab_reassign_rescues",
            "slab_reassign_chunk_rescues",
            "slab_reassign_evictions_nomem",
            "slab_reassign_inline_reclaim",
            "slab_reassign_busy_items",
            "slab_reassign_busy_deletes",
            "slab_reassign_running",
            "slabs_moved",
            "lru_crawler_running",
            "lru_crawler_starts",
            "lru_maintainer_juggles",
            "malloc_fails",
            "log_worker_dropped",
            "log_worker_written",
        ]);
    }

    fn log(&self, rows: &mut Rows<'_>) {
        rows.numbers(&[
            ("log_watcher_skipped", self.watchers.skipped.load(Ordering::Relaxed)),
            ("log_watcher_sent", self.watchers.sent.load(Ordering::Relaxed)),
            ("log_watchers", self.watchers.count() as u64),
        ]);
    }

    fn totals(&self, rows: &mut Rows<'_>, counts: &Counts, before: &Counts) {
        rows.numbers(&[
            ("bytes", counts.item_octets + counts.items * ITEM_HEAD_OCTETS),
            ("curr_items", counts.items),
            ("total_items", counts.items_stored - before.items_stored),
            ("slab_global_page_pool", counts.segments_free),
            ("expired_unfetched", counts.expired_unfetched - before.expired_unfetched),
            ("evicted_unfetched", counts.evicted_unfetched - before.evicted_unfetched),
            ("evicted_active", 0),
            ("evictions", counts.evicted - before.evicted),
            ("reclaimed", counts.expired - before.expired),
        ]);
        rows.zeros(&["crawler_reclaimed", "crawler_items_checked", "lrutail_reflocked"]);
        rows.zeros(&["moves_to_cold", "moves_to_warm", "moves_within_lru"]);
        rows.row("direct_reclaims", counts.segments_reclaimed - before.segments_reclaimed);
        rows.row("lru_bumps_dropped", 0);
    }
}
