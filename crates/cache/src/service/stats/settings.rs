//! `stats settings`.

use super::Rows;
use crate::service::{Settings, Shared};
use std::sync::atomic::Ordering;

impl Shared {
    pub(super) fn settings(&self, rows: &mut Rows<'_>) {
        let (settings, rules) = (&self.settings, self.store.rules());
        rows.row("maxbytes", self.store.limit());
        rows.row("maxconns", settings.connections_max);
        rows.row("tcpport", settings.tcp_port);
        rows.row("udpport", settings.udp_port);
        rows.row("inter", text(&settings.interface));
        rows.row("verbosity", self.verbosity.load(Ordering::Relaxed));
        rows.row("oldest", 0);
        rows.row("evictions", if rules.evicts { "on" } else { "off" });
        rows.row("domain_socket", text(&settings.unix_socket));
        rows.row("umask", format_args!("{:o}", settings.unix_mode));
        rows.row("shutdown_command", yes(settings.shutdown_enabled));
        rows.zeros(&["growth_factor", "chunk_size"]);
        rows.row("num_threads", settings.threads);
        rows.row("num_threads_per_udp", settings.threads);
        rows.row("stat_key_prefix", char::from(settings.prefix_delimiter));
        rows.row("detail_enabled", yes(self.prefixes.is_on()));
        rows.row("reqs_per_event", settings.turn_requests_max);
        rows.row("cas_enabled", "yes");
        rows.row("tcp_backlog", settings.backlog);
        rows.row("binding_protocol", settings.protocol_name());
        rows.row("auth_enabled_sasl", "no");
        rows.row("auth_enabled_ascii", yes(settings.accounts.is_some()));
        rows.row("item_size_max", rules.item_octets_max);
        rows.row("maxconns_fast", yes(settings.refuses_connections));
        rows.row("hashpower_init", 0);
        memory(rows);
        rows.row("flush_enabled", yes(settings.flush_enabled));
        rows.row("dump_enabled", yes(settings.dump_enabled));
        rows.row("hash_algorithm", "siphash13");
        lists(rows);
        rows.row("idle_timeout", settings.idle_timeout_s);
        rows.row("watcher_logbuf_size", crate::service::QUEUE_OCTETS_MAX);
        rows.zeros(&["worker_logbuf_size", "read_buf_mem_limit"]);
        rows.row("track_sizes", "yes");
        rows.row("inline_ascii_response", "no");
        external(rows);
        settings.encryption(rows);
        rows.row("num_napi_ids", "(null)");
        rows.row("memory_file", "(null)");
    }
}

/// Slabs, and the crawler that takes back what has expired.
fn memory(rows: &mut Rows<'_>) {
    rows.row("slab_reassign", "no");
    rows.zeros(&["slab_automove", "slab_automove_ratio", "slab_automove_window", "slab_chunk_max"]);
    rows.row("lru_crawler", "yes");
    rows.zeros(&["lru_crawler_sleep", "lru_crawler_tocrawl", "tail_repair_time"]);
}

fn lists(rows: &mut Rows<'_>) {
    rows.row("lru_maintainer_thread", "no");
    rows.row("lru_segmented", "no");
    rows.zeros(&["hot_lru_pct", "warm_lru_pct", "hot_max_factor", "warm_max_factor"]);
    rows.row("temp_lru", "no");
    rows.zeros(&["temporary_ttl"]);
}

fn external(rows: &mut Rows<'_>) {
    rows.zeros(&["ext_item_size", "ext_item_age", "ext_low_ttl", "ext_recache_rate", "ext_wbuf_size"]);
    rows.zeros(&["ext_compact_under", "ext_drop_under", "ext_max_sleep", "ext_max_frag", "slab_automove_freeratio"]);
    rows.row("ext_drop_unread", "no");
}

impl Settings {
    fn protocol_name(&self) -> &'static str {
        use crate::service::Protocols;
        match self.protocols {
            _ if self.accounts.is_some() => "ascii",
            Protocols::Text => "ascii",
            Protocols::Binary => "binary",
            Protocols::Both => "auto-negotiate",
        }
    }

    fn encryption(&self, rows: &mut Rows<'_>) {
        let tls = self.tls.clone().unwrap_or_default();
        let file = |path: &Option<String>, none: &str| path.clone().unwrap_or_else(|| none.to_owned());
        rows.row("ssl_enabled", yes(self.tls.is_some()));
        rows.row("ssl_chain_cert", file(&tls.certificate, "(null)"));
        rows.row("ssl_key", file(&tls.key, "(null)"));
        rows.row("ssl_verify_mode", tls.verify_mode);
        // SSL_FILETYPE_PEM
        rows.row("ssl_keyformat", 1);
        rows.row("ssl_ciphers", "NULL");
        rows.row("ssl_ca_cert", file(&tls.issuers, "NULL"));
        rows.row("ssl_wbuf_size", 0);
        rows.row("ssl_session_cache", "no");
        rows.row("ssl_kernel_tls", "no");
        rows.row("ssl_min_version", if tls.only_13 { "tlsv1.3" } else { "tlsv1.2" });
    }
}

fn yes(on: bool) -> &'static str {
    if on { "yes" } else { "no" }
}

fn text(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or("NULL")
}
