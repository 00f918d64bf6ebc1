//! What of a call is not in the packet log, by its row: that a log was partly deleted or pruned, or never had it, is
//! told.

use crate::show::figure;
use std::collections::{HashMap, HashSet, VecDeque};
use trunkline_record::job::Found;
use trunkline_store::row::Call;
use trunkline_wire::{Decoded, Endpoint};

/// Messages of the ladder of which no packet is there. One that is there, and whose text was not captured, counts as
/// there.
pub fn messages(call: &Call, texts: &[Option<Vec<u8>>], found: &VecDeque<Found>) -> Option<String> {
    let at: HashSet<i64> = found.iter().map(|packet| packet.at_ns).collect();
    let all = call.ladder.messages.len() as u64;
    let gone = call.ladder.messages.iter().zip(texts);
    let gone = gone.filter(|(message, text)| text.is_none() && !at.contains(&message.at_ns)).count() as u64;
    told(gone, all, "SIP message", "SIP messages")
}

/// Packets between the ends of streams that were found.
#[derive(Debug, Default)]
pub struct Sent {
    datagrams: HashMap<(Endpoint, Endpoint), u64>,
    /// Something in parts, or over TCP, was among them: packets and datagrams are not the same then.
    in_parts: bool,
}

impl Sent {
    pub fn add(&mut self, decoded: Decoded) {
        match decoded {
            Decoded::Udp(d) => *self.datagrams.entry((d.from(), d.to())).or_default() += 1,
            _ => self.in_parts = true,
        }
    }

    /// How many packets of its streams are missing at least. RTCP on the port of RTP may hide some.
    pub fn absent(&self, call: &Call) -> Option<String> {
        let mut streams: HashMap<(Endpoint, Endpoint), u64> = HashMap::new();
        call.streams.iter().for_each(|s| *streams.entry((s.src, s.dst)).or_default() += s.packets);
        let found = |ends| self.datagrams.get(ends).copied().unwrap_or(0);
        let gone = streams.iter().map(|(ends, packets)| packets.saturating_sub(found(ends))).sum();
        told(if self.in_parts { 0 } else { gone }, streams.values().sum(), "RTP packet", "RTP packets")
    }
}

fn told(gone: u64, all: u64, one: &str, many: &str) -> Option<String> {
    (gone > 0).then(|| {
        format!("{} of {} of the call are not in the packet log", figure::count(gone), figure::of(all, one, many))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_told_with_its_count() {
        assert_eq!(told(0, 9, "SIP message", "SIP messages"), None);
        let some = told(1200, 2300, "RTP packet", "RTP packets").unwrap();
        assert_eq!(some, "1,200 of 2,300 RTP packets of the call are not in the packet log");
    }
}
