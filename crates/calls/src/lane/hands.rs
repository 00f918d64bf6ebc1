//! Streams that change hands: those that came before their signalling, and those of ports that a later call claims.

use super::directory::Owner;
use super::{Key, Lane, Tracked};
use crate::limits::ADOPT_NS;
use crate::media::{Announcement, Serial};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Streams kept of calls that are over; the oldest are forgotten.
const OVER_MAX: usize = 64;
/// A stream that goes on behind the end of its call does so for less.
const GOES_ON_NS: i64 = 30_000_000_000;

/// Streams of calls that are over, lately finished: a phone that goes on to send for a while is no party of the call
/// that has the ports next.
#[derive(Debug, Default)]
pub(super) struct Over {
    streams: VecDeque<(Key, i64)>,
}

impl Over {
    /// A stream of a call that is over.
    pub(super) fn add(&mut self, tracked: &Tracked) {
        if tracked.owner.is_none() {
            return;
        }
        if self.streams.len() >= OVER_MAX {
            self.streams.pop_front();
        }
        self.streams.push_back((tracked.key, tracked.last_ns));
    }

    pub(super) fn knows(&self, key: &Key, at_ns: i64) -> bool {
        let lately = |last_ns: i64| at_ns.saturating_sub(last_ns) <= GOES_ON_NS;
        self.streams.iter().any(|(known, last_ns)| known == key && lately(*last_ns))
    }
}

impl Lane {
    /// Whether a stream goes on that was one of a call that is over: this one does not name both its ends.
    pub(super) fn is_of_earlier(&self, key: &Key, owner: &Owner, at_ns: i64) -> bool {
        let names = |end| self.directory.knows(owner.serial, end);
        self.over.knows(key, at_ns) && !(names(&key.from) && names(&key.to))
    }

    /// Whether another call has a stream that paused and goes on now.
    #[cold]
    pub(super) fn is_succeeded(&self, earlier: Serial, tracked: &Tracked, at_ns: i64) -> bool {
        let ends = [&tracked.key.from, &tracked.key.to];
        self.directory.successor(earlier, ends, tracked.last_ns, at_ns).is_some()
    }

    /// Learns an endpoint that a call names already: another one, or the same one again.
    #[inline(never)]
    pub(super) fn announce_again(&mut self, announcement: &Announcement) {
        // While their calls still name the endpoint: other calls may have a share in them.
        for at in self.directory.superseded(announcement) {
            if let Some(tracked) = self.streams[at as usize].as_deref() {
                self.over.add(tracked);
            }
            self.finish_stream(at);
        }
        self.directory.announce(announcement);
        self.claim(announcement);
    }

    /// Streams that came before their signalling.
    pub(super) fn adopt(&mut self, announcement: &Announcement) {
        let Some(found) = self.orphans.get(&announcement.endpoint) else { return };
        for at in found.clone() {
            let Some(tracked) = self.streams[at as usize].as_deref() else { continue };
            let key = tracked.key;
            // The call's first message may be younger than its media, but not the media older than the call.
            let now = announcement.at_ns;
            if now.saturating_sub(tracked.last_ns) > ADOPT_NS || now.saturating_sub(tracked.first_ns) > 30 * ADOPT_NS {
                continue;
            }
            let Some(owner) = self.directory.owner(key.from, key.to, tracked.last_ns) else { continue };
            if self.is_of_earlier(&key, &owner, tracked.last_ns) {
                continue;
            }
            let packet = tracked.packet_first;
            self.forget_orphan(&key, at);
            self.no_stray(&key, packet);
            self.counters.streams_without_call = self.counters.streams_without_call.saturating_sub(1);
            self.give(at, owner);
        }
    }

    /// Streams between endpoints that a later call names: what began before it is over, what began since is its own.
    pub(super) fn claim(&mut self, a: &Announcement) {
        for (earlier, endpoint) in self.directory.claimed(a) {
            let streams: SmallVec<[u32; 4]> = self.directory.streams(earlier).into();
            for at in streams {
                let Some(tracked) = self.streams[at as usize].as_deref() else { continue };
                let ends = (tracked.key.from, tracked.key.to);
                if ends != (a.endpoint, endpoint) && ends != (endpoint, a.endpoint) {
                    continue;
                }
                match self.directory.owner(ends.0, ends.1, tracked.last_ns) {
                    Some(owner) if self.directory.began_before(a.serial, tracked.first_ns) => {
                        self.directory.disown(earlier, at);
                        self.give(at, owner);
                    }
                    _ => self.finish_stream(at),
                }
            }
        }
    }

    /// Makes a call the owner of a stream that is there.
    fn give(&mut self, at: u32, owner: Owner) {
        self.directory.own(owner.serial, at);
        let Some(tracked) = self.streams[at as usize].as_deref_mut() else { return };
        tracked.owner = Some((owner.serial, owner.id));
        tracked.direction = owner.sender;
        tracked.kind = owner.kind;
        tracked.encrypted = owner.encrypted;
        tracked.until_ns = owner.until_ns;
        tracked.analyzer.set_payloads(owner.payloads);
    }
}
