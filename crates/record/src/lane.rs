//! One lane's part of the packet log: each packet becomes a record of the open segment of its class.

use crate::class::Class;
use crate::index::{Builder, BuilderCounters, FileMark};
use crate::names::{Segments, segment_name};
use crate::rules::{Rules, RulesInForce};
use core::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use trunkline_capture::{CaptureLoss, LossPlace, Packet};
use trunkline_kit::counters::Counted;
use trunkline_lane::{LaneJob, NOT_RECORDED, SeenPacket};
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
// Limit: interfaces (link types) of one segment
// Beyond: packets of further ones are dropped
// Seen in: `trunkline_record_dropped_packets_total`
const INTERFACES_MAX: usize = 256;
/// How long after a segment could not be begun it is tried again.
const BEGIN_AGAIN_NS: u64 = 10_000_000;
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

/// How far the open segment of a class is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its number ([`Segments::name`]).
    pub segment: u32,
    /// Octets recorded in it.
    pub recorded: u64,
    /// Of these, octets that were handed over to its volume. What is behind is younger than the rules' time of a flush,
    /// as of the last [`LaneLog::tick`], unless `is_late`.
    pub handed_over: u64,
    /// Of these, octets of whole records that the volume has with all before them, and what was recorded of the class
    /// in earlier segments on the same volume: `kill -9` leaves them.
    pub on_disk: u64,
    /// A flush was due at the last tick and was left out, as the one before is still on its way.
    pub is_late: bool,
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
    /// Octets that were handed over when the lane looked last (none of this segment if it had not looked yet), and a
    /// moment when nothing behind them was recorded.
    handed_over: Option<u64>,
    fresh_ns: i64,
    is_late: bool,
    received: u64,
    refused: [Option<NotRecorded>; 2],
    refused_here: u64,
    ring_drops: u64,
    /// When no segment could be begun.
    failed_ns: Option<i64>,
}

/// The packet log of one lane.
pub struct LaneLog {
    lane: u16,
    interface: String,
    in_force: Arc<RulesInForce>,
    /// The rules of `version`.
    rules: Rules,
    version: u64,
    segments: Arc<Segments>,
    classes: [ClassLog; 3],
    /// When time went on last, and when segments were looked after.
    ticked_ns: Option<i64>,
    looked_ns: i64,
    not_recorded: Vec<NotRecorded>,
    /// Ring drops that are not in a segment's statistics yet.
    ring_drops: u64,
    header: Vec<u8>,
    counters: RecordCounters,
}

impl LaneLog {
    /// The log of a lane that captures at `interface`; `writers` are those of the classes, most precious first.
    pub fn new(
        lane: u16,
        interface: &str,
        in_force: Arc<RulesInForce>,
        segments: Arc<Segments>,
        writers: [Writer; 3],
    ) -> Self {
        let [sip, rtp, other] = writers;
        let of = |class, writer| ClassLog::new(class, writer);
        let mut version = 0;
        LaneLog {
            lane,
            interface: interface.to_owned(),
            rules: in_force.changed(&mut version).unwrap_or_default(),
            version,
            in_force,
            segments,
            classes: [of(Class::Sip, sip), of(Class::Rtp, rtp), of(Class::Other, other)],
            ticked_ns: None,
            looked_ns: i64::MIN,
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
        // pcapng has no time before 1970, which a file can say: such a packet is recorded at the first that there is.
        let packet = &Packet { at_ns: packet.at_ns.max(0), ..*packet };
        let keep = rules.snap.keep(octets, decoded);
        self.counters.cut_octets += (octets.len() - keep) as u64;
        let kept = &octets[..keep];
        let interval = packet.at_ns.div_euclid(self.rules.segment_ns);
        let log = &self.classes[class as usize];
        let length = u64::from(emit::packet_octets(keep as u32));
        // A packet that is a little late stays with its neighbours; a clock that was set back does not.
        let is_over = interval > log.interval || interval < log.interval.saturating_sub(1);
        let is_full = log.writer.position() + length > self.rules.segment_octets && log.received > 0;
        if if log.writer.is_open() { is_over || is_full } else { log.may_begin(packet.at_ns) } {
            self.turn(class, interval, packet.at_ns);
        }
        let log = &mut self.classes[class as usize];
        let recorded = match log.interfaces.iter().position(|l| *l == packet.link) {
            Some(interface) => log.append(packet, interface as u32, &[], kept),
            None => {
                let identity = || self.segments.identity(log.segment).map(|identity| identity.comment());
                let comment = log.interfaces.is_empty().then(identity).flatten();
                log.append_first(packet, kept, (&self.interface, comment.as_deref()), &mut self.header)
            }
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
        if interval != log.interval {
            log.again = 0;
        }
        log.interval = interval;
        let begins_ns = interval.saturating_mul(self.rules.segment_ns);
        let mut name = segment_name(class, begins_ns, self.lane, log.again);
        while self.segments.is_taken(&name) {
            log.again += 1;
            name = segment_name(class, begins_ns, self.lane, log.again);
        }
        if log.writer.begin(Path::new(&name)).is_err() {
            log.failed_ns = Some(at_ns);
            return;
        }
        log.begin(at_ns);
        log.ring_drops = core::mem::take(&mut self.ring_drops);
        log.segment = self.segments.add(name);
        self.counters.segments += 1;
    }

    fn seal(&mut self, class: Class) {
        let log = &mut self.classes[class as usize];
        self.ring_drops += log.seal(&mut self.header);
    }

    /// Says that the lane's source lost packets. They are written into the statistics of one segment that is open, or
    /// of the next: which class they were of nobody knows.
    pub fn lost(&mut self, loss: &CaptureLoss) {
        match self.classes.iter_mut().rev().find(|c| c.writer.is_open()) {
            Some(log) => log.ring_drops += loss.packets,
            None => self.ring_drops += loss.packets,
        }
    }

    /// Goes on with time though no packet comes: what was recorded and waits for too long is sent to the disk, and
    /// segments whose interval is over are ended. Rules that have changed are followed from here on.
    pub fn tick(&mut self, now_ns: i64) {
        if let Some(rules) = self.in_force.changed(&mut self.version) {
            self.follow(rules);
        }
        let before_ns = self.ticked_ns.replace(now_ns);
        self.classes.iter_mut().for_each(|log| log.flush_old(before_ns, now_ns, self.rules.flush_ns));
        if !has_passed(self.looked_ns, now_ns, self.rules.flush_ns) {
            return;
        }
        self.looked_ns = now_ns;
        // Packets of the interval may still be on their way when it is over.
        let over = now_ns.saturating_sub(2 * self.rules.flush_ns).div_euclid(self.rules.segment_ns);
        for class in Class::ALL {
            let log = &mut self.classes[class as usize];
            if log.writer.is_open() && over > log.interval {
                self.seal(class);
            } else if !log.writer.is_open() {
                // One whose volume failed is let go.
                log.writer.flush();
            }
            let log = &mut self.classes[class as usize];
            self.not_recorded.extend(log.refused.iter_mut().filter_map(Option::take));
        }
    }

    /// Goes on by other rules: what they make another segment of is ended.
    fn follow(&mut self, rules: Rules) {
        let others = rules.segment_ns != self.rules.segment_ns;
        for class in Class::ALL {
            if others || !rules.of(class).record {
                self.seal(class);
            }
            if others {
                self.classes[class as usize].interval = i64::MIN;
            }
        }
        self.rules = rules;
    }

    /// Ends all segments: the capture has ended.
    pub fn finish(&mut self) {
        for class in Class::ALL {
            self.seal(class);
            let log = &mut self.classes[class as usize];
            self.not_recorded.extend(log.refused.iter_mut().filter_map(Option::take));
        }
    }

    /// How far the open segment of a class is; none if there is none.
    pub fn standing(&self, class: Class) -> Option<Standing> {
        let log = self.classes.get(class as usize).filter(|log| log.writer.is_open())?;
        Some(Standing {
            segment: log.segment,
            recorded: log.writer.position(),
            handed_over: log.writer.handed_over(),
            on_disk: log.writer.on_disk(),
            is_late: log.is_late,
        })
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

/// Records each packet that it takes, and says where: jobs behind it name that place in rows.
impl LaneJob for LaneLog {
    #[inline]
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        let class = Class::of_packet(seen.class, seen.decoded);
        let recorded = self.packet(seen.packet, seen.octets, seen.decoded, class);
        seen.recorded_at(recorded.map_or((NOT_RECORDED, 0), |recorded| (recorded.segment, recorded.offset)));
        ControlFlow::Continue(())
    }

    fn lost(&mut self, loss: &CaptureLoss) {
        LaneLog::lost(self, loss);
    }

    fn tick(&mut self, now_ns: i64) {
        LaneLog::tick(self, now_ns);
    }

    fn finish(&mut self) {
        LaneLog::finish(self);
    }
}

/// Whether so much time has passed. A clock that was set back is no reason to wait.
fn has_passed(since_ns: i64, now_ns: i64, duration_ns: i64) -> bool {
    !(0..duration_ns).contains(&now_ns.saturating_sub(since_ns))
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
            handed_over: None,
            fresh_ns: 0,
            is_late: false,
            received: 0,
            refused: [None; 2],
            refused_here: 0,
            ring_drops: 0,
            failed_ns: None,
        }
    }

    /// Whether to try to begin a segment: not at each packet while no disk can be written.
    #[cold]
    fn may_begin(&self, at_ns: i64) -> bool {
        self.failed_ns.is_none_or(|failed_ns| at_ns.abs_diff(failed_ns) >= BEGIN_AGAIN_NS)
    }

    /// A segment begins; its header is written with the description of the first interface.
    fn begin(&mut self, at_ns: i64) {
        self.failed_ns = None;
        self.interfaces.clear();
        self.index.clear();
        (self.received, self.refused_here, self.ring_drops) = (0, 0, 0);
        (self.begun_ns, self.last_ns) = (at_ns, at_ns);
        (self.handed_over, self.is_late) = (None, false);
    }

    /// The first packet of a link type comes with the description of its interface, the first of all with the segment's
    /// header: both are there or none.
    #[cold]
    fn append_first(
        &mut self,
        packet: &Packet,
        kept: &[u8],
        (name, comment): (&str, Option<&str>),
        block: &mut Vec<u8>,
    ) -> Result<u64, Dropped> {
        if self.interfaces.len() == INTERFACES_MAX {
            return Err(Dropped { place: Place::Buffer });
        }
        block.clear();
        if self.interfaces.is_empty() {
            emit::section_with(block, APPLICATION, comment);
        }
        emit::interface(block, packet.link, 0, (!name.is_empty()).then_some(name));
        let is_description = self.received > 0;
        let offset = self.append(packet, self.interfaces.len() as u32, block, kept)?;
        if is_description {
            self.index.description(offset - block.len() as u64, block.len() as u32);
        }
        self.interfaces.push(packet.link);
        Ok(offset)
    }

    /// One copy: what comes before, block header, octets, padding and trailer go from where they are into the segment's
    /// block. Where the record begins.
    #[inline]
    fn append(&mut self, packet: &Packet, interface: u32, before: &[u8], kept: &[u8]) -> Result<u64, Dropped> {
        let captured = kept.len() as u32;
        let begin = |out: &mut _| emit::packet_begin(out, interface, packet.at_ns, packet.wire, captured);
        let padding = &[0; 4][..(captured.next_multiple_of(4) - captured) as usize];
        let end = emit::packet_end(captured);
        let offset = match before {
            [] => self.writer.append_headed(packet.at_ns, begin, &[kept, padding, &end])?,
            before => {
                let mut made = [0; emit::PACKET_BEGIN_OCTETS];
                begin(&mut made);
                self.writer.append(packet.at_ns, &[before, &made, kept, padding, &end])?
            }
        };
        self.received += 1;
        self.last_ns = self.last_ns.max(packet.at_ns);
        Ok(offset + before.len() as u64)
    }

    /// Sends to the disk what has been waiting for `flush_ns`; `before_ns` is when the lane looked before. Blocks that
    /// fill sooner need no flush, which would write a page twice, and the second time only after the first. A flush
    /// that is left out, as the one before is still on its way, leaves what waits as old as it is: it goes as soon as
    /// it can.
    fn flush_old(&mut self, before_ns: Option<i64>, now_ns: i64, flush_ns: i64) {
        let handed_over = self.writer.handed_over();
        if self.writer.position() == handed_over {
            self.fresh_ns = now_ns;
        } else if self.handed_over.replace(handed_over) != Some(handed_over) {
            self.fresh_ns = before_ns.unwrap_or(self.begun_ns.min(now_ns));
        }
        let is_due = has_passed(self.fresh_ns, now_ns, flush_ns);
        self.is_late = is_due && !self.writer.flush();
        if is_due && !self.is_late {
            self.handed_over = Some(self.writer.handed_over());
            self.fresh_ns = now_ns;
        }
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

    /// Ends the segment with its statistics and index; how many losses these could not tell, because the segment had
    /// failed or there was no memory for them.
    fn seal(&mut self, block: &mut Vec<u8>) -> u64 {
        let lost = core::mem::take(&mut self.ring_drops) + core::mem::take(&mut self.refused_here);
        let received = core::mem::take(&mut self.received);
        if !self.writer.is_open() || self.interfaces.is_empty() {
            self.writer.seal(Vec::new());
            return lost;
        }
        block.clear();
        for interface in 0..self.interfaces.len() as u32 {
            // Which interface a drop belongs to is not known where a lane has several link types: the first bears it.
            let (lost, received) = if interface == 0 { (lost, received + lost) } else { (0, 0) };
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
        let told = self.writer.append_beside(self.last_ns, &[block]);
        let mark = FileMark { octets: self.writer.position(), modified_ns: 0, head_check: 0 };
        self.index.summed();
        let index = self.index.seal(&mark);
        self.writer.seal(vec![Extra { extension: "idx".to_owned(), octets: index }]);
        if told.is_err() { lost } else { 0 }
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
