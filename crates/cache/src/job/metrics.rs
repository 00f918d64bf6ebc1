//! What a cache has counted, for Prometheus.

use super::{Figures, Warmed};
use crate::service::Count;
use trunkline_kit::metrics::Sample;

/// What the commands did: count, name, help, and a label with its value.
const COMMANDS: &[(Count, &str, &str, (&str, &str))] = &[
    (Count::Hit, GETS, GETS_HELP, ("result", "hit")),
    (Count::Miss, GETS, GETS_HELP, ("result", "miss")),
    (Count::TouchHit, TOUCHES, TOUCHES_HELP, ("result", "hit")),
    (Count::TouchMiss, TOUCHES, TOUCHES_HELP, ("result", "miss")),
    (Count::DeleteHit, DELETES, DELETES_HELP, ("result", "hit")),
    (Count::DeleteMiss, DELETES, DELETES_HELP, ("result", "miss")),
    (Count::IncrHit, DELTAS, DELTAS_HELP, ("result", "hit")),
    (Count::IncrMiss, DELTAS, DELTAS_HELP, ("result", "miss")),
    (Count::DecrHit, DELTAS, DELTAS_HELP, ("result", "hit")),
    (Count::DecrMiss, DELTAS, DELTAS_HELP, ("result", "miss")),
    (Count::CasHit, CAS, CAS_HELP, ("result", "hit")),
    (Count::CasMiss, CAS, CAS_HELP, ("result", "miss")),
    (Count::CasBadValue, CAS, CAS_HELP, ("result", "changed")),
    (Count::TooLarge, REFUSED, REFUSED_HELP, ("why", "too_large")),
    (Count::NoMemory, REFUSED, REFUSED_HELP, ("why", "no_memory")),
];
const GETS: &str = "trunkline_cache_get_keys_total";
const GETS_HELP: &str = "keys looked for, by whether they were found";
const TOUCHES: &str = "trunkline_cache_touch_keys_total";
const TOUCHES_HELP: &str = "keys whose time to live was to be set, by whether they were found";
const DELETES: &str = "trunkline_cache_delete_keys_total";
const DELETES_HELP: &str = "keys to be deleted, by whether they were found";
const DELTAS: &str = "trunkline_cache_delta_keys_total";
const DELTAS_HELP: &str = "numbers to be counted up or down, by whether they were found";
const CAS: &str = "trunkline_cache_cas_keys_total";
const CAS_HELP: &str = "values to be set if nobody had changed them, by what was found";
const REFUSED: &str = "trunkline_cache_refused_values_total";
const REFUSED_HELP: &str = "values not stored, by why";

/// All samples of a cache, those of its engine among them.
pub fn samples(figures: &Figures) -> Vec<Sample> {
    let mut samples: Vec<_> = COMMANDS
        .iter()
        .map(|(count, name, help, (label, value))| {
            Sample::counter(name, help, figures.commands.of(*count)).label(label, value)
        })
        .collect();
    samples.extend(plain(figures));
    samples.extend(store(figures));
    samples.extend(figures.warmed.iter().flat_map(warmed));
    samples.extend(figures.net.list().into_iter().map(Sample::from));
    samples.extend(figures.held.list());
    samples
}

fn plain(figures: &Figures) -> [Sample; 8] {
    let of = |count, name, help| Sample::counter(name, help, figures.commands.of(count));
    [
        of(Count::Set, "trunkline_cache_set_values_total", "values that came, stored or not"),
        of(Count::Flush, "trunkline_cache_flushes_total", "times that everything was flushed"),
        of(Count::AuthError, "trunkline_cache_sign_ins_refused_total", "sign-ins that were refused"),
        of(Count::DatagramsIgnored, "trunkline_cache_udp_ignored_datagrams_total", "datagrams that were no request"),
        of(
            Count::AddressFull,
            "trunkline_cache_refused_address_values_total",
            "of the values refused for memory, those of an address with too many in flight",
        ),
        of(Count::DatagramsCut, "trunkline_cache_udp_cut_datagrams_total", "datagrams that ended within a command"),
        of(
            Count::AnswersTooLarge,
            "trunkline_cache_udp_too_large_answers_total",
            "answers to datagrams that were larger than allowed, and told so",
        ),
        Sample::counter(
            "trunkline_cache_detail_left_out_total",
            "uses of keys whose prefix stats detail has no room for",
            figures.detail_left_out,
        ),
    ]
}

fn warmed(warmed: &Warmed) -> [Sample; 4] {
    let running = f64::from(u8::from(warmed.ending.is_none()));
    [
        Sample::gauge("trunkline_cache_warm_running", "1 while it warms up from a peer, 0 after that", running),
        Sample::counter("trunkline_cache_warm_items_total", "items added from a peer", warmed.items),
        Sample::counter("trunkline_cache_warm_bytes_total", "octets of values added from a peer", warmed.octets),
        Sample::counter(
            "trunkline_cache_warm_skipped_items_total",
            "items of a peer not added: here already, changed here, or gone there",
            warmed.skipped,
        ),
    ]
}

fn store(figures: &Figures) -> Vec<Sample> {
    let store = &figures.store;
    let octets = |kind: &str, octets: u64| {
        let help = "memory that counts against the limit, by what it is for";
        Sample::gauge("trunkline_cache_used_bytes", help, octets as f64).label("kind", kind)
    };
    let counter = Sample::counter;
    vec![
        octets("segments", store.segment_octets),
        octets("table", store.table_octets),
        octets("large", store.large_octets),
        octets("buffers", store.charged_octets),
        Sample::gauge("trunkline_cache_limit_bytes", "memory that everything may take", figures.limit_octets as f64),
        Sample::gauge("trunkline_cache_items", "items that are there", store.items as f64),
        Sample::gauge("trunkline_cache_item_bytes", "octets of keys and values", store.item_octets as f64),
        Sample::gauge(
            "trunkline_cache_evicted_age_seconds",
            "time since the last use of what was evicted last",
            store.evicted_age_s as f64,
        ),
        counter("trunkline_cache_stored_items_total", "items stored", store.items_stored),
        counter("trunkline_cache_evicted_items_total", "items evicted for memory", store.evicted),
        counter(
            "trunkline_cache_evicted_unfetched_items_total",
            "items evicted that were never fetched",
            store.evicted_unfetched,
        ),
        counter("trunkline_cache_expired_items_total", "items that expired and were taken back", store.expired),
        counter("trunkline_cache_flushed_items_total", "items that were flushed and taken back", store.flushed),
        counter("trunkline_cache_carried_items_total", "items carried on from reclaimed segments", store.carried),
        counter("trunkline_cache_reclaimed_segments_total", "segments reclaimed", store.segments_reclaimed),
        counter("trunkline_cache_retried_reads_total", "reads begun again: a writer interfered", store.retried),
    ]
}
