//! One lane's part of the packet log: each packet becomes a record of the open segment of its class.

use crate::class::Class;
use crate::index::{Builder, BuilderCounters, FileMark};
use crate::names::{Segments, segment_name};
use crate::rules::Rules;
use std::path::Path;
use std::sync::Arc;
use trunkline_capture::{CaptureLoss, LossPlace, Packet};
use trunkline_kit::counters::Counted;
use trunkline_spool::{Dropped, Extra, Place, Writer};
use trunkline_wire::Decoded;
use trunkline_wire::pcapng::emit;

trunkline_kit::counters! {
    /// What a lane's recorder counts; drops are counted by the spool.
    pub struct RecordCounters {
        /// SIP packets recorded
        sip: "trunkline_record_sip_packets_total",
        /// octets captured of them
        sip_octets: "trunkline_record_sip_octets_total",
        /// RTP and RTCP packets recorded
        rtp: "trunkline_record_rtp_packets_total",
        /// octets captured of them
        rtp_octets: "trunkline_record_rtp_octets_total",
        /// other packets recorded
        other: "trunkline_record_other_packets_total",
        /// octets captured of them
        other_octets: "trunkline_record_other_octets_total",
        /// packets of classes that are not recorded, by rule
        by_rule: "trunkline_record_left_out_packets_total",
        /// octets cut off by snap lengths, by rule
        cut_octets: "trunkline_record_cut_octets_total",
        /// segments begun
        segments: "trunkline_record_segments_total",
    }
}

/// Interfaces (link types) of one segment. Packets of further ones are counted as dropped at the buffer.
const INTERFACES_MAX: usize = 256;
/// Name of the program, as section headers bear it.
const APPLICATION: &str = concat!("trunkline ", env!("CARGO_PKG_VERSION"));

/// Where a packet's record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Number of the segment ([`Segments::name`]).
    pub segment: u32,
    /// Offset of the record in it.
    pub offset: u64,
}

/// Packets that were not recorded, for `losses`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRecorded {
    /// Of which class.
    pub class: Class,
    /// Where they were lost.
    pub place: LossPlace,
    /// Time of the first and the last of them, nanoseconds since 1970.
    pub span_ns: (i64, i64),
    /// How many.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
}

/// What is open of one class.
struct ClassLog {
    class: Class,
    writer: Writer,
    index: Builder,
    /// The open segment's interval of time and number.
    interval: i64,
    segment: u32,
    again: u32,
    interfaces: Vec<u16>,
    begun_ns: i64,
    last_ns: i64,
    received: u64,
    refused: [Option<NotRecorded>; 2],
    refused_here: u64,
    ring_drops: u64,
}

/// The packet log of one lane.
pub struct LaneLog {
    lane: u16,
    interface: String,
    rules: Rules,
    segments: Arc<Segments>,
    classes: [ClassLog; 3],
    flushed_ns: i64,
    not_recorded: Vec<NotRecorded>,
    /// Ring drops that are not in a segment's statistics yet.
    ring_drops: u64,
    header: Vec<u8>,
    counters: RecordCounters,
}

impl LaneLog {
    /// The log of a lane that captures at `interface`; `writers` are those of the classes, most precious first.
    pub fn new(lane: u16, interface: &str, rules: Rules, segments: Arc<Segments>, writers: [Writer; 3]) -> Self {
        let [sip, rtp, other] = writers;
        let of = |class, writer| ClassLog::new(class, writer);
        LaneLog {
            lane,
            interface: interface.to_owned(),
            rules,
            segments,
            classes: [of(Class::Sip, sip), of(Class::Rtp, rtp), of(Class::Other, other)],
            flushed_ns: i64::MIN,
            not_recorded: Vec::new(),
            ring_drops: 0,
            header: Vec::new(),
            counters: RecordCounters::default(),
        }
    }

    /// Records a packet; none if it was dropped (counted, and told by [`LaneLog::not_recorded`]) or a rule leaves it
    /// out.
    #[inline]
    pub fn packet(&mut self, packet: &Packet, octets: &[u8], decoded: &Decoded, class: Class) -> Option<Recorded> {
        let rules = self.rules.of(class);
        if !rules.record {
            self.counters.by_rule += 1;
            return None;
        }
        let keep = rules.snap.keep(octets, decoded);
        self.counters.cut_octets += (octets.len() - keep) as u64;
        let kept = &octets[..keep];
        let interval = packet.at_ns.div_euclid(self.rules.segment_ns);
        let log = &self.classes[class as usize];
        let length = u64::from(emit::packet_octets(keep as u32));
        // A packet that is a little late stays with its neighbours; a clock that was set back does not.
        let is_over = interval > log.interval
            || interval < log.interval - 1
            || log.writer.position() + length > self.rules.segment_octets;
        if !log.writer.is_open() || (is_over && log.received > 0) {
            self.turn(class, interval, packet.at_ns);
        }
        let log = &mut self.classes[class as usize];
        let recorded = match log.interfaces.iter().position(|l| *l == packet.link) {
            Some(interface) => log.append(packet, interface as u32, kept),
            None => log.describe(packet, &self.interface).and_then(|interface| log.append(packet, interface, kept)),
        };
        match recorded {
            Ok(offset) => {
                log.index.packet(packet.at_ns, offset, length as u32, packet.link, kept, decoded);
                self.counters.see(class, keep as u64);
                Some(Recorded { segment: log.segment, offset })
            }
            Err(dropped) => {
                log.refuse(dropped, packet.at_ns, length);
                None
            }
        }
    }

    /// Ends a class's segment and begins the next.
    fn turn(&mut self, class: Class, interval: i64, at_ns: i64) {
        self.seal(class);
        let log = &mut self.classes[class as usize];
        log.again = if interval == log.interval { log.again + 1 } else { 0 };
        log.interval = interval;
        let mut name = segment_name(class, interval * self.rules.segment_ns, self.lane, log.again);
        while self.segments.is_taken(&name) {
            log.again += 1;
            name = segment_name(class, interval * self.rules.segment_ns, self.lane, log.again);
        }
        if log.writer.begin(Path::new(&name)).is_err() {
            return;
        }
        log.begin(at_ns, &mut self.header);
        log.ring_drops = core::mem::take(&mut self.ring_drops);
        log.segment = self.segments.add(name);
        self.counters.segments += 1;
    }

    fn seal(&mut self, class: Class) {
        let log = &mut self.classes[class as usize];
        log.seal(&mut self.header);
    }

    /// Says that the lane's source lost packets. They are written into the statistics of one segment that is open, or
    /// of the next: which class they were of nobody knows.
    pub fn lost(&mut self, loss: &CaptureLoss) {
        match self.classes.iter_mut().rev().find(|c| c.writer.is_open()) {
            Some(log) => log.ring_drops += loss.packets,
            None => self.ring_drops += loss.packets,
        }
    }

    /// Goes on with time though no packet comes: what was recorded is sent to the disk, and segments whose interval is
    /// over are ended.
    pub fn tick(&mut self, now_ns: i64) {
        if now_ns.saturating_sub(self.flushed_ns) < self.rules.flush_ns {
            return;
        }
        self.flushed_ns = now_ns;
        // Packets of the interval may still be on their way when it is over.
        let over = now_ns.saturating_sub(2 * self.rules.flush_ns).div_euclid(self.rules.segment_ns);
        for class in Class::ALL {
            let log = &mut self.classes[class as usize];
            if log.writer.is_open() && over > log.interval && log.received > 0 {
                self.seal(class);
            } else {
                log.writer.flush();
            }
            let log = &mut self.classes[class as usize];
            self.not_recorded.extend(log.refused.iter_mut().filter_map(Option::take));
        }
    }

    /// Ends all segments: the capture has ended.
    pub fn finish(&mut self) {
        for class in Class::ALL {
            self.seal(class);
            let log = &mut self.classes[class as usize];
            self.not_recorded.extend(log.refused.iter_mut().filter_map(Option::take));
        }
    }

    /// All counters.
    pub fn counters(&self) -> Vec<Counted> {
        let mut all = self.counters.list();
        let mut indexed = BuilderCounters::default();
        self.classes.iter().for_each(|c| indexed.add(&c.index.counters()));
        all.extend(indexed.list());
        all
    }

    /// Packets that were refused since the last call, one report for each class and place.
    pub fn not_recorded(&mut self) -> Vec<NotRecorded> {
        core::mem::take(&mut self.not_recorded)
    }
}

impl ClassLog {
    fn new(class: Class, writer: Writer) -> Self {
        ClassLog {
            class,
            writer,
            index: Builder::default(),
            interval: 0,
            segment: 0,
            again: 0,
            interfaces: Vec::new(),
            begun_ns: 0,
            last_ns: 0,
            received: 0,
            refused: [None; 2],
            refused_here: 0,
            ring_drops: 0,
        }
    }

    /// The segment's first octets.
    fn begin(&mut self, at_ns: i64, header: &mut Vec<u8>) {
        header.clear();
        emit::section(header, APPLICATION);
        self.interfaces.clear();
        self.index.clear();
        (self.received, self.refused_here, self.ring_drops) = (0, 0, 0);
        (self.begun_ns, self.last_ns) = (at_ns, at_ns);
        let _ = self.writer.append(at_ns, &[header]);
    }

    /// Describes an interface of the packet's link type; its number.
    fn describe(&mut self, packet: &Packet, name: &str) -> Result<u32, Dropped> {
        if self.interfaces.len() == INTERFACES_MAX {
            return Err(Dropped { place: Place::Buffer });
        }
        let mut block = Vec::new();
        emit::interface(&mut block, packet.link, 0, (!name.is_empty()).then_some(name));
        let offset = self.writer.append(packet.at_ns, &[&block])?;
        if self.received > 0 {
            self.index.description(offset, block.len() as u32);
        }
        self.interfaces.push(packet.link);
        Ok(self.interfaces.len() as u32 - 1)
    }

    /// One copy: block header, octets, padding and trailer go from where they are into the segment's block.
    #[inline]
    fn append(&mut self, packet: &Packet, interface: u32, kept: &[u8]) -> Result<u64, Dropped> {
        let captured = kept.len() as u32;
        let begin = emit::packet_begin(interface, packet.at_ns, packet.wire, captured);
        let padding = &[0; 4][..(captured.next_multiple_of(4) - captured) as usize];
        let offset = self.writer.append(packet.at_ns, &[&begin, kept, padding, &emit::packet_end(captured)])?;
        self.received += 1;
        self.last_ns = self.last_ns.max(packet.at_ns);
        Ok(offset)
    }

    fn refuse(&mut self, dropped: Dropped, at_ns: i64, octets: u64) {
        let place = match dropped.place {
            Place::Buffer => LossPlace::Buffer,
            Place::Disk => LossPlace::Disk,
        };
        let begin = NotRecorded { class: self.class, place, span_ns: (at_ns, at_ns), packets: 0, octets: 0 };
        let refused = self.refused[usize::from(place == LossPlace::Disk)].get_or_insert(begin);
        refused.span_ns.0 = refused.span_ns.0.min(at_ns);
        refused.span_ns.1 = refused.span_ns.1.max(at_ns);
        refused.packets += 1;
        refused.octets += octets;
        self.refused_here += 1;
    }

    /// Ends the segment with its statistics and index.
    fn seal(&mut self, block: &mut Vec<u8>) {
        if !self.writer.is_open() {
            return;
        }
        block.clear();
        for interface in 0..self.interfaces.len() as u32 {
            // Which interface a drop belongs to is not known where a lane has several link types: the first bears it.
            let lost = if interface == 0 { self.ring_drops + self.refused_here } else { 0 };
            let received = if interface == 0 { self.received + lost } else { 0 };
            emit::statistics(
                block,
                &emit::Statistics {
                    interface,
                    start_ns: self.begun_ns,
                    at_ns: self.last_ns,
                    received,
                    dropped_by_interface: 0,
                    dropped_by_system: lost,
                },
            );
        }
        let _ = self.writer.append(self.last_ns, &[block]);
        let mark = FileMark { octets: self.writer.position(), modified_ns: 0, head_check: 0 };
        let index = self.index.seal(&mark);
        self.writer.seal(vec![Extra { extension: "idx".to_owned(), octets: index }]);
        self.received = 0;
    }
}

impl RecordCounters {
    #[inline]
    fn see(&mut self, class: Class, octets: u64) {
        let (packets, sum) = match class {
            Class::Sip => (&mut self.sip, &mut self.sip_octets),
            Class::Rtp => (&mut self.rtp, &mut self.rtp_octets),
            Class::Other => (&mut self.other, &mut self.other_octets),
        };
        *packets += 1;
        *sum += octets;
    }
}
