//! The last ten minutes, for the page of the system.

use super::Rates;
use crate::sources::LiveSnapshot;
use serde::Serialize;
use std::collections::VecDeque;
use trunkline_store::time::rfc3339;
use utoipa::ToSchema;

/// Moments that are kept: ten minutes.
pub const HISTORY_MAX: usize = 120;
/// Seconds from one to the next.
pub const HISTORY_EVERY_S: i64 = 5;

/// The capture at one time.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Moment {
    /// When, RFC 3339.
    pub at: String,
    /// Packets a second.
    pub packets_per_s: f64,
    /// Bits a second.
    pub bits_per_s: f64,
    /// How full the fullest ring is, 0 to 1.
    pub ring_fill: f64,
    /// How full the memory between lanes and disk is, 0 to 1; null if no packets are recorded.
    pub buffer_fill: Option<f64>,
    /// Packets dropped since the moment before.
    pub drops: u64,
    /// Calls that are up.
    pub calls_up: u64,
}

/// The moments that are kept.
#[derive(Default)]
pub struct History {
    moments: VecDeque<Moment>,
    last_ns: i64,
    drops: Option<u64>,
}

impl History {
    /// Takes a moment if it is time for one.
    pub fn take(&mut self, now: &LiveSnapshot, rates: &Rates) {
        if now.at_ns.saturating_sub(self.last_ns).unsigned_abs() < HISTORY_EVERY_S as u64 * 1_000_000_000 - 500_000_000
        {
            return;
        }
        self.last_ns = now.at_ns;
        let drops = now.drops_total.values().fold(0u64, |sum, count| sum.saturating_add(*count));
        let packets = rates.packets_per_s;
        let fill = |b: crate::sources::BufferSnapshot| b.used_octets as f64 / b.limit_octets.max(1) as f64;
        if self.moments.len() >= HISTORY_MAX {
            self.moments.pop_front();
        }
        self.moments.push_back(Moment {
            at: rfc3339(now.at_ns),
            packets_per_s: packets.sip + packets.rtp + packets.other,
            bits_per_s: rates.bits_per_s,
            ring_fill: now.lanes.iter().map(|lane| lane.ring_fill).fold(0.0, f64::max),
            buffer_fill: now.buffer.map(fill),
            drops: drops.saturating_sub(self.drops.unwrap_or(drops)),
            calls_up: now.calls_up,
        });
        self.drops = Some(drops);
    }

    /// All of them, oldest first.
    pub fn moments(&self) -> Vec<Moment> {
        self.moments.iter().cloned().collect()
    }
}
