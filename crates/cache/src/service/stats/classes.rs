//! `stats items`, `slabs` and `sizes`: memcached tells them by slab class, and here all items are class 1.

use super::super::counters::Count;
use super::Rows;
use crate::service::Shared;
use crate::store::{Counts, ITEM_HEAD_OCTETS};

impl Shared {
    pub(super) fn items(&self, rows: &mut Rows<'_>) {
        let (counts, before) = (self.store.counts(), *self.counts_before());
        if counts.items == 0 {
            return;
        }
        rows.row("items:1:number", counts.items);
        rows.zeros(&["items:1:number_hot", "items:1:number_warm"]);
        rows.row("items:1:number_cold", counts.items);
        rows.zeros(&["items:1:age_hot", "items:1:age_warm"]);
        rows.numbers(&[
            ("items:1:age", self.shape().map_or(0, |shape| shape.oldest_s)),
            ("items:1:mem_requested", requested_octets(&counts)),
            ("items:1:evicted", counts.evicted - before.evicted),
            ("items:1:evicted_nonzero", counts.evicted_expiring - before.evicted_expiring),
            ("items:1:evicted_time", counts.evicted_age_s),
            ("items:1:outofmemory", counts.refused - before.refused),
            ("items:1:tailrepairs", 0),
            ("items:1:reclaimed", counts.expired - before.expired),
            ("items:1:expired_unfetched", counts.expired_unfetched - before.expired_unfetched),
            ("items:1:evicted_unfetched", counts.evicted_unfetched - before.evicted_unfetched),
            ("items:1:evicted_active", 0),
        ]);
        rows.zeros(&["items:1:crawler_reclaimed", "items:1:crawler_items_checked", "items:1:lrutail_reflocked"]);
        rows.zeros(&["items:1:moves_to_cold", "items:1:moves_to_warm", "items:1:moves_within_lru"]);
        rows.row("items:1:direct_reclaims", counts.segments_reclaimed - before.segments_reclaimed);
        rows.zeros(&["items:1:hits_to_hot", "items:1:hits_to_warm"]);
        rows.row("items:1:hits_to_cold", self.ledger.sums().of(Count::Hit));
        rows.row("items:1:hits_to_temp", 0);
    }

    pub(super) fn slabs(&self, rows: &mut Rows<'_>) {
        let (sums, counts) = (self.ledger.sums(), self.store.counts());
        // An item of mean size stands for a chunk.
        if let Some(chunk_octets) = requested_octets(&counts).checked_div(counts.items) {
            let chunks_per_page = counts.octets_per_segment / chunk_octets.max(1);
            let chunks = (chunks_per_page * counts.segments).max(counts.items);
            rows.numbers(&[
                ("1:chunk_size", chunk_octets),
                ("1:chunks_per_page", chunks_per_page),
                ("1:total_pages", counts.segments),
                ("1:total_chunks", chunks),
                ("1:used_chunks", counts.items),
                ("1:free_chunks", chunks - counts.items),
                ("1:free_chunks_end", 0),
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

    /// Items by size, as a memcached with `-o track_sizes` tells them.
    pub(super) fn sizes(&self, rows: &mut Rows<'_>) {
        let Some(shape) = self.shape() else { return };
        shape.buckets.iter().for_each(|(octets, items)| rows.row(&octets.to_string(), items));
    }
}

/// Octets of all items as memcached counts them.
fn requested_octets(counts: &Counts) -> u64 {
    counts.item_octets + counts.items * ITEM_HEAD_OCTETS
}
