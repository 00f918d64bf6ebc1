//! One lane's media: RTP streams, found by what signalling announced or by their own shape, and the RTCP about them.
//!
//! A lane shares nothing. It is told about calls by [`Notice`]s and hands over streams that are finished. All that it
//! decides depends on packet times and on the order of packets, never on how many lanes there are: RTP of one pair of
//! endpoints always meets in one lane, and RTCP comes to every lane.

mod aside;
mod candidate;
mod checks;
mod directory;
mod fax;
mod hands;
mod handshakes;
mod over_tcp;
mod reports;
mod seen;
mod share;
mod strays;
mod turn;

use crate::clock::Timeline;
use crate::ledger::{Evidence, InTurn};
use crate::limits::{PAUSE_NS, STREAM_SILENCE_NS, STREAMS_MAX};
use crate::media::{Announcement, Notice, Numbered, Serial};
use crate::payload::PayloadMap;
use crate::stream::Analyzer;
use crate::tap::{Heard, Hit, WINDOW_NS, window_of};
use aside::Aside;
pub use aside::Beside;
use candidate::{Candidates, Held};
pub use checks::Unanswered;
use core::hash::{BuildHasher, Hasher};
use directory::{Directory, Owner, opposite};
use hands::Over;
pub use handshakes::Handshake;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
pub use over_tcp::OverTcp;
use reports::Received;
pub use seen::{Begun, Carried, Carrier};
pub use share::Shared;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
pub use strays::Stray;
use trunkline_kit::Id;
use trunkline_lane::class::flow_slot;
use trunkline_lane::clock::Leap;
use trunkline_store::row::{Direction, Stream, StreamInterval};
use trunkline_wire::{Datagram, Endpoint, rtp, sdp};

trunkline_kit::counters! {
    /// What a lane counts.
    pub struct LaneCounters {
        /// RTP packets that belong to streams
        rtp: "trunkline_calls_rtp_packets_total",
        /// octets of RTP payload in streams
        rtp_octets: "trunkline_calls_rtp_payload_octets_total",
        /// datagrams that look like RTP but belong to no stream
        unclaimed: "trunkline_calls_rtp_unclaimed_packets_total",
        /// streams begun
        streams: "trunkline_calls_streams_total",
        /// streams begun without signalling
        streams_without_call: "trunkline_calls_streams_without_call_total",
        /// streams not followed because the table was full
        streams_overflow: "trunkline_calls_streams_overflow_total",
        /// flows under observation that were forgotten because their table was full
        candidates_overflow: "trunkline_calls_candidates_overflow_total",
        /// times that flows with TURN, DTLS or TCP, or of no call, were forgotten because their table was full
        aside_overflow: "trunkline_calls_media_flows_overflow_total",
    }
}

/// A media packet as the decoder hands it over.
#[derive(Clone, Copy, Debug)]
pub struct MediaPacket<'a> {
    /// When it was captured, nanoseconds since 1970.
    pub at_ns: i64,
    /// Its number in the input.
    pub number: u64,
    /// Record offset in its file.
    pub offset: u64,
    /// Input file.
    pub file: u32,
    /// Addresses and ports.
    pub datagram: &'a Datagram,
    /// The UDP payload that was captured.
    pub payload: &'a [u8],
}

/// A stream that is finished.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The call's number in this run; none without signalling.
    pub serial: Option<Serial>,
    /// Input file of the first packet.
    pub file: u32,
    /// The row; its `file` is still to be set.
    pub stream: Stream,
    /// What tells where its missing packets were lost.
    pub evidence: Evidence,
}

/// What a lane gave since the last time it was asked.
#[derive(Debug, Default)]
pub struct LaneOutput {
    /// Streams that are finished.
    pub streams: Vec<Finished>,
    /// Ten-second intervals that are finished, of any stream.
    pub intervals: Vec<StreamInterval>,
    /// What was heard in windows that are over.
    pub heard: Vec<Heard>,
    /// Gaps of streams that are settled.
    pub hits: Vec<Hit>,
    /// Streams that began.
    pub begun: Vec<Begun>,
    /// Streams of other calls between endpoints that a call names, too.
    pub shared: Vec<Shared>,
    /// Media that is not known to be any call's.
    pub carried: Vec<Carried>,
    /// What is told of calls that are closed beside their streams.
    pub beside: Vec<(Serial, Beside)>,
    /// The lane of a live capture; none of files.
    pub lane: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    from: Endpoint,
    to: Endpoint,
    ssrc: u32,
    /// The flow of TURN around it; 0 where there is none. What passes inside and outside of TURN is two streams.
    outer: u32,
}

struct Tracked {
    analyzer: Analyzer,
    key: Key,
    id: Id,
    /// Packets after this do not belong to the stream's call; `i64::MAX` while it is up.
    until_ns: i64,
    last_ns: i64,
    packet_last: u64,
    offset_last: u64,
    dscp: u8,
    hash: u64,
    owner: Option<(Serial, Id)>,
    direction: Direction,
    kind: sdp::Kind,
    encrypted: bool,
    begin: u64,
    first_ns: i64,
    packet_first: u64,
    offset_first: u64,
    file: u32,
    file_last: u32,
    /// Streams that its sender says it receives.
    received: SmallVec<[Received; 1]>,
}

/// The streams of one lane.
pub struct Lane {
    streams: Vec<Option<Box<Tracked>>>,
    free: Vec<u32>,
    by_key: HashTable<u32>,
    by_ssrc: HashMap<u32, Vec<u32>>,
    /// Streams without a call by both their endpoints, so that late signalling finds them.
    orphans: HashMap<Endpoint, Vec<u32>>,
    silence: BinaryHeap<Reverse<(i64, u64, u32)>>,
    begun: u64,
    candidates: Candidates,
    directory: Directory,
    aside: Option<Box<Aside>>,
    over: Over,
    plain: Arc<PayloadMap>,
    hasher: DefaultHashBuilder,
    output: LaneOutput,
    /// When the window began that packets are heard in, and what was counted before it.
    window_ns: i64,
    heard_before: u64,
    timeline: Timeline,
    /// What was counted so far.
    pub counters: LaneCounters,
}

impl Default for Lane {
    fn default() -> Self {
        Lane {
            streams: Vec::new(),
            free: Vec::new(),
            by_key: HashTable::new(),
            by_ssrc: HashMap::new(),
            orphans: HashMap::new(),
            silence: BinaryHeap::new(),
            begun: 0,
            candidates: Candidates::default(),
            directory: Directory::default(),
            aside: None,
            over: Over::default(),
            plain: PayloadMap::standard(),
            hasher: DefaultHashBuilder::default(),
            output: LaneOutput::default(),
            window_ns: 0,
            heard_before: 0,
            timeline: Timeline::default(),
            counters: LaneCounters::default(),
        }
    }
}

impl Lane {
    /// Takes an RTP packet of this lane, or a datagram that has or tells of media in another way.
    pub fn rtp(&mut self, packet: &MediaPacket<'_>) {
        let Ok(media) = rtp::Packet::new(packet.payload, packet.datagram.payload_wire) else {
            return self.aside(packet);
        };
        let key = Key { from: packet.datagram.from(), to: packet.datagram.to(), ssrc: media.header.ssrc, outer: 0 };
        let hash = self.hash(&key);
        match self.find(&key, hash, packet.at_ns) {
            Some(at) => self.follow(at, packet, &media),
            None => self.unknown(packet, &media, &key, hash, flow_slot(packet.datagram)),
        }
    }

    /// Is told where the clock was set, before the packets behind it come.
    pub fn learn(&mut self, leaps: &[Leap]) {
        self.timeline.learn(leaps);
    }

    #[inline]
    fn follow(&mut self, at: u32, packet: &MediaPacket<'_>, media: &rtp::Packet<'_>) {
        if packet.at_ns.wrapping_sub(self.window_ns) as u64 >= WINDOW_NS as u64 {
            self.end_window(packet.at_ns);
        }
        let Some(tracked) = self.streams.get_mut(at as usize).and_then(Option::as_deref_mut) else { return };
        tracked.packet_last = packet.number;
        tracked.offset_last = packet.offset;
        tracked.file_last = packet.file;
        tracked.dscp = tracked.dscp.max(packet.datagram.dscp);
        self.analyze(at, packet.at_ns, &media.header, media.payload, media.payload_wire);
    }

    fn analyze(&mut self, at: u32, at_ns: i64, header: &rtp::Header, payload: &[u8], wire: u32) {
        let Some(tracked) = self.streams.get_mut(at as usize).and_then(Option::as_deref_mut) else { return };
        tracked.last_ns = tracked.last_ns.max(at_ns);
        self.counters.rtp += 1;
        self.counters.rtp_octets += u64::from(wire);
        if tracked.analyzer.is_due(at_ns) {
            self.output.check(tracked, at_ns);
        }
        tracked.analyzer.take(at_ns, header, payload, wire);
    }

    /// Packets are heard in another window from now on.
    #[cold]
    fn end_window(&mut self, at_ns: i64) {
        let packets = self.counters.rtp - self.heard_before;
        if packets > 0 {
            self.output.heard.push(Heard { window: window_of(self.window_ns), packets });
        }
        self.heard_before = self.counters.rtp;
        self.window_ns = window_of(at_ns).saturating_mul(WINDOW_NS);
    }

    /// The stream of this key, unless its call was over before `at_ns`, or another one has its ports since it paused:
    /// then it is finished and a new one may begin.
    fn find(&mut self, key: &Key, hash: u64, at_ns: i64) -> Option<u32> {
        let streams = &self.streams;
        let at = *self.by_key.find(hash, |at| streams[*at as usize].as_ref().is_some_and(|s| s.key == *key))?;
        let tracked = self.streams[at as usize].as_ref()?;
        let silent_ns = at_ns.saturating_sub(tracked.last_ns);
        let is_over = silent_ns > PAUSE_NS
            && match tracked.owner {
                Some((serial, _)) => self.is_succeeded(serial, tracked, at_ns),
                None => silent_ns > STREAM_SILENCE_NS,
            };
        if at_ns > tracked.until_ns {
            self.over.add(tracked);
        }
        if at_ns > tracked.until_ns || is_over {
            self.finish_stream(at);
            return None;
        }
        Some(at)
    }

    /// Takes a packet of no known stream; `slot` is the place of its flow, or of that around it.
    fn unknown(&mut self, packet: &MediaPacket<'_>, media: &rtp::Packet<'_>, key: &Key, hash: u64, slot: usize) {
        let owner = self.directory.owner(key.from, key.to, packet.at_ns);
        if let Some(owner) = owner.filter(|owner| !self.is_of_earlier(key, owner, packet.at_ns)) {
            let held = Held::new(packet, media);
            if let Some(at) = self.begin(key, hash, &held, Some(owner)) {
                self.follow(at, packet, media);
            }
            return;
        }
        let (held, forgotten) = self.candidates.see(slot, hash, packet, media);
        self.counters.candidates_overflow += u64::from(forgotten);
        let Some(held) = held else {
            self.counters.unclaimed += 1;
            return;
        };
        self.counters.unclaimed = self.counters.unclaimed.saturating_sub(held.len() as u64 - 1);
        let Some(at) = self.begin(key, hash, &held[0], None) else { return };
        for earlier in &held[..held.len() - 1] {
            self.follow_held(at, earlier);
        }
        self.follow(at, packet, media);
    }

    /// A packet that was kept while nobody knew whether it was RTP.
    fn follow_held(&mut self, at: u32, held: &Held) {
        if let Some(tracked) = self.streams.get_mut(at as usize).and_then(Option::as_deref_mut) {
            tracked.dscp = tracked.dscp.max(held.dscp);
        }
        self.analyze(at, held.at_ns, &held.header, held.payload(), held.wire);
    }

    fn begin(&mut self, key: &Key, hash: u64, first: &Held, owner: Option<Owner>) -> Option<u32> {
        if self.by_key.len() >= STREAMS_MAX {
            self.counters.streams_overflow += 1;
            return None;
        }
        self.counters.streams += 1;
        self.counters.streams_without_call += u64::from(owner.is_none());
        let payloads = owner.as_ref().map_or_else(|| self.plain.clone(), |o| o.payloads.clone());
        self.begun += 1;
        self.output.begun.push(Begun { first_ns: first.at_ns, from: key.from, to: key.to });
        let tracked = Box::new(Tracked {
            analyzer: Analyzer::new(first.at_ns, payloads, &first.header),
            id: stream_id(key, self.timeline.clock_ns(first.at_ns)),
            key: *key,
            until_ns: owner.as_ref().map_or(i64::MAX, |o| o.until_ns),
            last_ns: first.at_ns,
            packet_last: first.number,
            offset_last: first.offset,
            dscp: 0,
            hash,
            owner: owner.as_ref().map(|o| (o.serial, o.id)),
            direction: owner.as_ref().map_or(Direction::Unknown, |o| o.sender),
            kind: owner.as_ref().map_or(sdp::Kind::Audio, |o| o.kind),
            encrypted: owner.as_ref().is_some_and(|o| o.encrypted),
            begin: self.begun,
            first_ns: first.at_ns,
            packet_first: first.number,
            offset_first: first.offset,
            file: first.file,
            file_last: first.file,
            received: SmallVec::new(),
        });
        let at = match self.free.pop() {
            Some(at) => {
                self.streams[at as usize] = Some(tracked);
                at
            }
            None => {
                self.streams.push(Some(tracked));
                (self.streams.len() - 1) as u32
            }
        };
        let streams = &self.streams;
        self.by_key.insert_unique(hash, at, |at| streams[*at as usize].as_ref().map_or(0, |s| s.hash));
        self.by_ssrc.entry(key.ssrc).or_default().push(at);
        match owner {
            Some(owner) => self.directory.own(owner.serial, at),
            None => {
                for end in [key.from, key.to] {
                    self.orphans.entry(end).or_default().push(at);
                }
                self.silence.push(Reverse((first.at_ns + STREAM_SILENCE_NS, self.begun, at)));
                self.stray(key, first.at_ns, first.number);
            }
        }
        Some(at)
    }

    /// Takes RTCP, which every lane gets.
    pub fn rtcp(&mut self, packet: &MediaPacket<'_>) {
        reports::take(self, packet, 0);
    }

    /// Is told which notices come next, so that what they need is in the cache then.
    pub fn expect(&self, notices: &[Numbered]) {
        self.directory.warm(notices);
    }

    /// Takes what signalling told.
    pub fn notice(&mut self, number: u64, notice: &Notice) {
        match notice {
            Notice::Announce(announcement) => {
                if !self.directory.announce_first(announcement) {
                    self.announce_again(announcement);
                }
                self.adopt(announcement);
                self.explain(announcement);
            }
            Notice::Named(ice) => self.directory.learn(ice),
            Notice::Control(control) => self.directory.learn_control(control),
            Notice::Until { serial, at_ns, is_given_up } => {
                for at in self.directory.until(*serial, *at_ns, *is_given_up) {
                    if let Some(tracked) = self.streams[*at as usize].as_deref_mut() {
                        tracked.until_ns = *at_ns;
                    }
                }
            }
            Notice::Release { serial } => {
                self.share(*serial);
                // While it is known whose their ends are.
                for at in SmallVec::<[u32; 4]>::from(self.directory.streams(*serial)) {
                    self.finish_stream(at);
                }
                let strays = self.strays_of(*serial);
                self.directory.release(*serial);
                self.release_aside(*serial, strays);
            }
            Notice::Unreachable(unreached) => self.unreachable(number, unreached),
            Notice::Reassembled(r) => self.reassembled(number, r),
        }
    }

    /// Payload types of streams that are already there, when the receiver changes what they mean.
    fn explain(&mut self, a: &Announcement) {
        if self.by_key.is_empty() {
            return;
        }
        for at in self.directory.streams(a.serial) {
            let Some(tracked) = self.streams[*at as usize].as_deref_mut() else { continue };
            let to_party = tracked.direction == opposite(a.party) && tracked.kind == a.kind;
            let here = tracked.key.to == a.endpoint;
            if to_party && (here || !self.directory.knows(a.serial, &tracked.key.to)) {
                tracked.analyzer.set_payloads(a.payloads.clone());
            }
        }
    }

    /// Finishes streams without signalling that are silent since long before `now_ns`.
    pub fn tick(&mut self, now_ns: i64) {
        if now_ns.saturating_sub(self.window_ns) >= WINDOW_NS {
            self.end_window(now_ns);
        }
        while let Some(&Reverse((deadline, begin, at))) = self.silence.peek() {
            if deadline >= now_ns {
                break;
            }
            self.silence.pop();
            let tracked = self.streams[at as usize].as_ref().filter(|s| s.begin == begin && s.owner.is_none());
            match tracked.map(|s| s.last_ns.saturating_add(STREAM_SILENCE_NS)) {
                Some(later) if later >= now_ns => self.silence.push(Reverse((later, begin, at))),
                Some(_) => self.finish_stream(at),
                None => {}
            }
        }
    }

    /// Finishes everything: the input has ended.
    pub fn finish(&mut self) {
        for at in 0..self.streams.len() as u32 {
            self.finish_stream(at);
        }
        self.silence.clear();
        self.end_window(self.window_ns);
    }

    /// What is finished since the last call.
    pub fn poll(&mut self) -> LaneOutput {
        core::mem::take(&mut self.output)
    }

    fn finish_stream(&mut self, at: u32) {
        let Some(mut tracked) = self.streams.get_mut(at as usize).and_then(Option::take) else { return };
        tracked.encrypted |= self.aside.as_deref().is_some_and(|aside| aside.secures(&tracked));
        if let Ok(entry) = self.by_key.find_entry(tracked.hash, |other| *other == at) {
            entry.remove();
        }
        if let Some(same) = self.by_ssrc.get_mut(&tracked.key.ssrc) {
            same.retain(|other| *other != at);
            if same.is_empty() {
                self.by_ssrc.remove(&tracked.key.ssrc);
            }
        }
        let mut others = SmallVec::new();
        match tracked.owner {
            Some((serial, _)) => {
                self.directory.disown(serial, at);
                others = self.directory.others(serial, &tracked.key.from, &tracked.key.to);
            }
            None => self.forget_orphan(&tracked.key, at),
        }
        self.free.push(at);
        let id = tracked.id;
        if let Some(interval) = tracked.analyzer.interval() {
            self.output.intervals.push(StreamInterval { stream: id, ..interval });
        }
        let key = tracked.key;
        let mut finished = tracked.finished();
        if let Some(aside) = self.aside.as_deref_mut() {
            (finished.evidence.turn, finished.evidence.tcp) = (aside.in_turn(&key), aside.over_tcp.release(&key));
        }
        self.output.shared.extend(others.into_iter().filter_map(|other| Shared::new(other, &finished)));
        self.output.streams.push(finished);
    }

    fn forget_orphan(&mut self, key: &Key, at: u32) {
        for end in [key.from, key.to] {
            if let Some(list) = self.orphans.get_mut(&end) {
                list.retain(|other| *other != at);
                if list.is_empty() {
                    self.orphans.remove(&end);
                }
            }
        }
    }

    #[inline]
    fn hash(&self, key: &Key) -> u64 {
        let word = |o: &[u8; 16], i: usize| {
            u64::from_le_bytes([o[i], o[i + 1], o[i + 2], o[i + 3], o[i + 4], o[i + 5], o[i + 6], o[i + 7]])
        };
        let (from, to) = (key.from.address.octets(), key.to.address.octets());
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(word(from, 0) ^ word(to, 0).rotate_left(32));
        hasher.write_u64(word(from, 8));
        hasher.write_u64(word(to, 8));
        hasher.write_u64(u64::from(key.from.port) << 48 | u64::from(key.to.port) << 32 | u64::from(key.ssrc));
        hasher.finish()
    }
}

impl LaneOutput {
    #[cold]
    fn check(&mut self, tracked: &mut Tracked, at_ns: i64) {
        let Some(news) = tracked.analyzer.check(at_ns) else { return };
        self.intervals.extend(news.interval.map(|i| StreamInterval { stream: tracked.id, ..i }));
        let (src, dst) = (tracked.key.from.address, tracked.key.to.address);
        let hit = |gap| Hit { known_ns: at_ns, src, dst, gap, source: tracked.file };
        self.hits.extend(news.gaps.into_iter().map(hit));
    }
}

impl Tracked {
    fn finished(&self) -> Finished {
        let report = self.analyzer.report();
        let stream = Stream {
            id: self.id,
            call: self.owner.map(|(_, id)| id),
            ssrc: self.key.ssrc,
            src: self.key.from,
            dst: self.key.to,
            direction: self.direction,
            encrypted: self.encrypted,
            // Digits are read from payloads: of ciphers they are chance.
            dtmf: if self.encrypted { String::new() } else { report.dtmf },
            dscp: self.dscp,
            packet_first: self.packet_first,
            packet_last: self.packet_last,
            offset_first: self.offset_first,
            offset_last: self.offset_last,
            ..report
        };
        let evidence = Evidence {
            gaps: self.analyzer.gaps().to_vec(),
            reported_ns: self.analyzer.reported_ns(),
            counted_ns: self.analyzer.counted_ns(),
            scoring: self.analyzer.scoring(),
            received: self.received.to_vec(),
            types: self.analyzer.typed(),
            sound: self.analyzer.sound(),
            files: (self.file, self.file_last),
            lane: None,
            turn: InTurn::default(),
            tcp: None,
        };
        Finished { serial: self.owner.map(|(serial, _)| serial), file: self.file, stream, evidence }
    }
}

fn stream_id(key: &Key, first_ns: i64) -> Id {
    let mut name = [0u8; 44];
    name[..16].copy_from_slice(key.from.address.octets());
    name[16..32].copy_from_slice(key.to.address.octets());
    name[32..34].copy_from_slice(&key.from.port.to_be_bytes());
    name[34..36].copy_from_slice(&key.to.port.to_be_bytes());
    name[36..40].copy_from_slice(&key.ssrc.to_be_bytes());
    name[40..].copy_from_slice(&key.outer.to_be_bytes());
    Id::derive(first_ns, if key.outer == 0 { &name[..40] } else { &name })
}
