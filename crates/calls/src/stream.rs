//! The analysis of one RTP stream: counts, jitter, losses and their runs, jitter-buffer models, scores, DTMF.
//!
//! An [`Analyzer`] takes the packets of one SSRC in one direction in order of capture and keeps no packet. What it
//! counts is told by DESIGN section 4 ("Counting") and by the fields of [`Stream`]; where the standards leave a choice:
//!
//! - **Copies.** A sequence number that arrived before is a copy, whatever the packet carries. Copies count in
//!   `packets` and `octets` and enter nothing else.
//! - **Jitter** is that of RFC 3550 A.8 over all packets in arrival order but copies and strays, telephone events
//!   included: an event's packets all carry the timestamp of its beginning (RFC 4733), so that digits raise the jitter
//!   for a moment, in ours as in every receiver's RTCP. They are left out where it would mislead: of the histogram of
//!   delays and of the models of buffers. A step of transit of ten seconds or more is a new origin of the sender's
//!   timestamps and enters neither jitter nor histogram; so is a smaller one that the network cannot have caused
//!   (`stream/timing.rs`): these are counted as `timestamp_jumps`.
//! - **Restarts.** A jump of 3000 numbers forward (unless by its timestamp and by the clock just the time passed in
//!   which so many are sent: these are missing) or beyond the window backward (or of more than 100 backward with a
//!   timestamp that is more than a second old, or newer than the last) is a stray packet until the next one follows it
//!   in sequence; then the sender has restarted (RFC 3550 A.1). So is a jump of five numbers or more in less than a
//!   quarter of the time that they take to send. The stream goes on: `expected` is the sum over the runs of numbers,
//!   and the jump itself is no loss.
//! - **Discarded** are packets that a fixed buffer of 200 ms would have got too late ([`trunkline_audio::playout`]);
//!   they count as lost in the G.107 score and its burst ratio.

use crate::payload::PayloadMap;
use events::Events;
use gaps::Gaps;
use now::Now;
use pace::{Pace, Speech};
use reports::{Here, Reports};
use score::IntervalMean;
use sequences::{Arrival, Sequences};
use sound::Quiet;
use spells::{Spells, since};
use std::sync::Arc;
use timing::Timing;
use trunkline_audio::Codec;
use trunkline_audio::buffer::{self, Buffers, Voice};
use trunkline_audio::codec::Media;
use trunkline_store::row::StreamInterval;
use trunkline_wire::rtcp::{ReportBlock, SenderInfo, VoipMetrics};
use trunkline_wire::rtp::{Event, Header};

mod drift;
mod events;
mod gaps;
mod now;
mod pace;
mod report;
mod reports;
mod score;
mod sequences;
mod sound;
mod spells;
mod timing;

pub use events::EVENTS_MAX;
pub use gaps::{GAPS_MAX, Gap, SETTLED_NS};
pub use report::Place;
pub use score::{SCORED_PACKETS_MIN, Scoring};
pub use sequences::{DROPOUT_MAX, MISORDER_MAX, WINDOW};
pub use sound::{PAUSE_NS, PAUSES_MAX, Sound};
pub use spells::Typed;
pub use timing::STEP_MAX_MS;

/// Length of an interval, nanoseconds.
pub const INTERVAL_NS: i64 = 10_000_000_000;

/// Payload types of a stream that are kept in order of appearance; later ones are counted like the others but not
/// listed.
pub const PAYLOAD_TYPES_MAX: usize = 8;

/// Not a payload type: the next packet's is looked up.
const NO_TYPE: u8 = u8::MAX;

/// The analysis of one RTP stream.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Analyzer {
    // What each packet touches comes first, in the order of use.
    /// When there is something to look at: the interval ends, or a gap settles.
    check_ns: i64,
    packets: u64,
    octets: u64,
    last_ns: i64,
    /// When the last packet with a payload came.
    sound_ns: i64,
    /// Length of the last packet's payload.
    last_octets: u32,
    first_ns: i64,
    media_ticks: i64,
    codec: Option<&'static Codec>,
    modelled: u64,
    last_timestamp: u32,
    payload_type: u8,
    kind: Kind,
    after_silence: bool,
    pace: Pace,
    timing: Timing,
    buffers: Buffers,
    sequences: Sequences,
    // What follows is touched on change and at the end of an interval.
    payloads: Arc<PayloadMap>,
    interval: IntervalStart,
    scores: IntervalMean,
    /// Kept apart: most streams have neither.
    reports: Option<Box<Reports>>,
    rare: Option<Box<Rare>>,
    comfort_noise: u32,
    clock_rate: u32,
    types: [u8; PAYLOAD_TYPES_MAX],
    types_seen: u8,
    /// Kept apart until a second type comes.
    spells: Option<Box<Spells>>,
    speech: Option<&'static Codec>,
}

/// What a packet brought to an end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct News {
    /// The interval before it.
    pub interval: Option<StreamInterval>,
    /// Gaps that are settled: nothing comes late any more.
    pub gaps: Vec<Gap>,
}

/// What a packet is analysed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Audio with a known clock: all of it.
    Speech,
    /// Counts and timing alone: video, repair, unknown payloads.
    Plain,
    /// Telephone events that SDP announced, or four octets of the conventional payload type.
    Events,
    /// Comfort noise.
    Noise,
}

/// What few streams have.
#[derive(Clone, Debug, Default)]
struct Rare {
    events: Events,
    gaps: Gaps,
    quiet: Quiet,
}

/// Counts at the start of the interval.
#[derive(Clone, Copy, Debug, Default)]
struct IntervalStart {
    index: u32,
    packets: u64,
    copies: u64,
    reordered: u64,
    modelled: u64,
    missing: u64,
    highest: u64,
}

impl Analyzer {
    /// A stream whose first packet has this header and came at `at_ns` (nanoseconds since 1970); that packet is still
    /// to be given to [`Analyzer::packet`].
    pub fn new(at_ns: i64, payloads: Arc<PayloadMap>, first: &Header) -> Analyzer {
        let pace = Pace::new(payloads.packet_ms());
        let sequences = Sequences::new(first.sequence);
        Analyzer {
            check_ns: at_ns.saturating_add(INTERVAL_NS),
            packets: 0,
            octets: 0,
            last_ns: at_ns,
            sound_ns: at_ns,
            last_octets: 0,
            first_ns: at_ns,
            media_ticks: 0,
            codec: None,
            modelled: 0,
            last_timestamp: first.timestamp,
            payload_type: NO_TYPE,
            kind: Kind::Plain,
            after_silence: false,
            pace,
            timing: Timing::new(0),
            buffers: Buffers::default(),
            interval: IntervalStart { highest: sequences.highest(), ..IntervalStart::default() },
            sequences,
            payloads,
            scores: IntervalMean::default(),
            reports: None,
            rare: None,
            comfort_noise: 0,
            clock_rate: 0,
            types: [NO_TYPE; PAYLOAD_TYPES_MAX],
            types_seen: 0,
            spells: None,
            speech: None,
        }
    }

    /// Takes a packet, in order of capture. `payload` is what was captured of it, `payload_wire` its length on the
    /// wire, both without padding.
    ///
    /// Gives the interval that this packet ended, which does not hold the packet, and the gaps that it settled.
    /// Intervals without packets are not told: their numbers are left out.
    pub fn packet(&mut self, at_ns: i64, header: &Header, payload: &[u8], payload_wire: u32) -> Option<News> {
        let news = if self.is_due(at_ns) { self.check(at_ns) } else { None };
        self.take(at_ns, header, payload, payload_wire);
        news
    }

    /// Whether there is something to look at before a packet is taken: [`Analyzer::check`].
    #[inline]
    pub fn is_due(&self, at_ns: i64) -> bool {
        at_ns >= self.check_ns
    }

    /// Takes a packet as [`Analyzer::packet`] does, after what was due was looked at.
    #[inline(always)]
    pub fn take(&mut self, at_ns: i64, header: &Header, payload: &[u8], payload_wire: u32) {
        self.packets += 1;
        self.octets += u64::from(payload_wire);
        if header.payload_type != self.payload_type {
            self.change_payload(header.payload_type);
        }
        let now = Now { timing: &self.timing, pace: &self.pace, kind: self.kind, at_ns, timestamp: header.timestamp };
        let arrival = self.sequences.arrive(header.sequence, &now);
        if arrival == Arrival::Next || self.irregular(at_ns, header.sequence, arrival) {
            self.distinct(at_ns, header, payload, payload_wire, arrival);
        }
        self.last_ns = self.last_ns.max(at_ns);
        self.last_octets = payload_wire;
        if payload_wire == 0 || at_ns.wrapping_sub(self.sound_ns) >= PAUSE_NS {
            self.unusual_sound(at_ns, payload_wire);
        } else {
            self.sound_ns = self.sound_ns.max(at_ns);
        }
    }

    /// A packet without payload, or the first one with a payload after a pause.
    #[cold]
    fn unusual_sound(&mut self, at_ns: i64, payload_wire: u32) {
        let quiet = &mut self.rare.get_or_insert_default().quiet;
        if payload_wire == 0 {
            quiet.empty += 1;
        } else {
            quiet.pause(self.sound_ns, at_ns);
            self.sound_ns = at_ns;
        }
    }

    /// When it carried something.
    pub fn sound(&self) -> Sound {
        let (first_ns, last_ns) = (self.first_ns, self.sound_ns);
        let ends_quiet = self.kind == Kind::Noise || sound::is_silence(self.codec, self.last_octets);
        match self.rare.as_deref().map(|rare| &rare.quiet) {
            None => Sound { first_ns, last_ns, ends_quiet, ..Sound::default() },
            Some(quiet) => Sound {
                first_ns,
                last_ns,
                empty: quiet.empty,
                pauses: quiet.pauses.clone(),
                pauses_not_kept: quiet.not_kept,
                ends_quiet,
            },
        }
    }

    /// SDP became known, or changed, after packets came. Jitter starts again where it changes the clock.
    pub fn set_payloads(&mut self, payloads: Arc<PayloadMap>) {
        if Arc::ptr_eq(&payloads, &self.payloads) {
            return;
        }
        self.pace.announce(payloads.packet_ms());
        self.payloads = payloads.keeping(&self.payloads, &self.types[..usize::from(self.types_seen)]);
        self.payload_type = NO_TYPE;
    }

    /// A sender report of the stream's source.
    pub fn rtcp_sender(&mut self, at_ns: i64, sender: &SenderInfo) {
        self.reports.get_or_insert_default().sender(at_ns, sender);
    }

    /// A report block about the stream.
    pub fn rtcp_report(&mut self, at_ns: i64, block: &ReportBlock) {
        let here = self.here(block.highest_sequence as u16);
        self.reports.get_or_insert_default().receiver(at_ns, block, here);
    }

    /// VoIP metrics about the stream.
    pub fn rtcp_metrics(&mut self, metrics: &VoipMetrics) {
        let here = self.here(self.sequences.highest() as u16);
        self.reports.get_or_insert_default().metrics(metrics, here);
    }

    /// Packets so far, copies included.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Times the sender restarted its sequence numbers.
    pub fn restarts(&self) -> u32 {
        self.sequences.restarts
    }

    /// Packets with a sequence number far from all others.
    pub fn strays(&self) -> u64 {
        self.sequences.strays
    }

    /// Gaps that were seen, by time.
    pub fn gaps(&self) -> &[Gap] {
        self.rare.as_ref().map_or(&[], |r| r.gaps.list())
    }

    /// When a receiver last reported about the stream, nanoseconds since 1970.
    pub fn reported_ns(&self) -> Option<i64> {
        self.reports.as_ref().and_then(|r| r.reported_ns)
    }

    /// When its sender last reported how much it had sent, nanoseconds since 1970.
    pub fn counted_ns(&self) -> Option<i64> {
        self.reports.as_ref().and_then(|r| r.counted_ns)
    }

    /// What its G.107 score would be with fewer losses; none if nothing is missing.
    pub fn scoring(&self) -> Scoring {
        if self.sequences.missing() == 0 {
            return Scoring::default();
        }
        let judged = self.sequences.judged();
        Scoring {
            codec: self.speech,
            octets: self.pace.speech_octets,
            packets: self.modelled,
            lost: judged.lost.into(),
            bursts: judged.bursts.into(),
            expected: self.sequences.expected(),
        }
    }

    /// Packets missing here as a receiver counts them who has seen the stream up to this number: copies hide losses
    /// (RFC 3550 A.3), and what is younger than its report it does not know.
    fn here(&self, highest: u16) -> Here {
        let ours = self.sequences.highest();
        // A receiver that is a little ahead knows all that came by here.
        let is_ahead = highest.wrapping_sub(ours as u16) <= MISORDER_MAX;
        let behind = if is_ahead { 0 } else { (ours as u16).wrapping_sub(highest) };
        let unknown = match self.rare.as_deref() {
            Some(rare) if behind < DROPOUT_MAX => rare.gaps.missing_above(ours.wrapping_sub(behind.into())),
            _ => 0,
        };
        let never_came = self.sequences.missing().saturating_sub(unknown);
        let covered = self.sequences.expected().saturating_sub(behind.into());
        // Of numbers that began anew, or that are not those of the stream, it is not known what the receiver made.
        let comparable = behind < DROPOUT_MAX && self.sequences.restarts == 0 && self.sequences.strays == 0;
        Here {
            missing: never_came.saturating_sub(self.sequences.copies),
            never_came,
            passed: if comparable { covered.saturating_sub(never_came) } else { 0 },
        }
    }

    /// Takes note of what is not next in sequence; whether it is a packet that is no copy.
    #[cold]
    fn irregular(&mut self, at_ns: i64, sequence: u16, arrival: Arrival) -> bool {
        let highest = self.sequences.highest();
        match arrival {
            Arrival::Copy | Arrival::Stray => return false,
            Arrival::Ahead(by) => {
                let rare = self.rare.get_or_insert_default();
                rare.gaps.open(self.last_ns, at_ns, highest.saturating_sub(by.into()), highest);
                self.check_ns = self.check_ns.min(at_ns.saturating_add(SETTLED_NS));
            }
            Arrival::Reordered => {
                if let Some(rare) = &mut self.rare {
                    rare.gaps.fill(highest.wrapping_sub((highest as u16).wrapping_sub(sequence).into()));
                }
            }
            // Numbers begin anew.
            Arrival::Restart => {
                self.end_rise();
                self.rare.iter_mut().for_each(|r| r.gaps.forget_numbers());
            }
            Arrival::Next => {}
        }
        true
    }

    /// Ends the interval and settles gaps, each if its time has come.
    #[cold]
    pub fn check(&mut self, at_ns: i64) -> Option<News> {
        let interval = if at_ns >= self.interval_end_ns() { self.end_interval(at_ns) } else { None };
        let (gaps, next_ns) = self.rare.as_mut().map_or((Vec::new(), i64::MAX), |r| r.gaps.settle(at_ns));
        self.check_ns = self.interval_end_ns().min(next_ns);
        (interval.is_some() || !gaps.is_empty()).then_some(News { interval, gaps })
    }

    /// Takes a packet that is no copy.
    #[inline]
    fn distinct(&mut self, at_ns: i64, header: &Header, payload: &[u8], octets: u32, arrival: Arrival) {
        match self.kind {
            Kind::Speech => self.speech(at_ns, header, payload, octets, arrival),
            Kind::Plain => self.timed(at_ns, header, None),
            Kind::Events => self.event(at_ns, header, payload, octets),
            Kind::Noise => {
                self.comfort_noise = self.comfort_noise.saturating_add(1);
                self.after_silence = true;
                self.timed(at_ns, header, Some(arrival));
                self.keep_timestamp(header.timestamp);
            }
        }
    }

    /// Takes a packet's time; `arrival` where packets are of equal length.
    #[inline]
    fn timed(&mut self, at_ns: i64, header: &Header, arrival: Option<Arrival>) {
        let pace = &self.pace;
        if arrival == Some(Arrival::Reordered) {
            let behind = (self.sequences.highest() as u16).wrapping_sub(header.sequence);
            let behind_ms = f64::from(pace.packet_ms()) * f64::from(behind);
            if behind_ms > 0.0 && self.timing.is_of_another_base(header.timestamp, behind_ms) {
                return;
            }
        }
        let due_ms = || {
            let numbers = arrival?.numbers()?;
            Some(f64::from(pace.packet_ms()) * f64::from(numbers)).filter(|due| *due > 0.0)
        };
        if self.timing.packet(at_ns, header.timestamp, header.sequence, due_ms) {
            self.mark_late(header.sequence);
        }
    }

    #[cold]
    fn mark_late(&mut self, sequence: u16) {
        for sequence in self.timing.take_late(sequence) {
            self.sequences.mark_late(sequence);
        }
    }

    #[cold]
    fn end_rise(&mut self) {
        for sequence in self.timing.end_rise() {
            self.sequences.mark_late(sequence);
        }
    }

    #[inline]
    fn speech(&mut self, at_ns: i64, header: &Header, payload: &[u8], octets: u32, arrival: Arrival) {
        let jumps = self.timing.jumps;
        self.timed(at_ns, header, Some(arrival));
        let step = header.timestamp.wrapping_sub(self.last_timestamp);
        let next = arrival == Arrival::Next;
        let marker = header.marker || self.after_silence;
        let tick_ms = self.timing.tick_ms();
        let speech = Speech { codec: self.codec, payload, octets, step, tick_ms, next, marker };
        self.pace.packet(speech);
        self.after_silence = false;
        self.keep_timestamp(header.timestamp);
        let packet_ms = self.pace.packet_ms() as u16;
        if !buffer::PACKET_MS.contains(&packet_ms) {
            return;
        }
        let media_ms = self.media_ticks as f64 * tick_ms;
        if !next && arrival != Arrival::Reordered && f64::from(step as i32) * tick_ms == f64::from(packet_ms) {
            // Numbers are missing and time is not: the sender skipped them.
            self.buffers.reset();
        }
        if self.timing.jumps != jumps {
            self.buffers.reset();
        }
        self.modelled += 1;
        self.buffers.voice(&Voice {
            at_ms: at_ns.wrapping_sub(self.first_ns) / 1_000_000,
            // Rounded down as integers are; the fraction keeps 1/48 from falling short of the millisecond.
            media_ms: (media_ms + 1e-4) as i64,
            sequence: header.sequence,
            packet_ms,
            marker,
        });
    }

    #[inline]
    fn keep_timestamp(&mut self, timestamp: u32) {
        self.media_ticks += i64::from(timestamp.wrapping_sub(self.last_timestamp) as i32);
        self.last_timestamp = timestamp;
    }

    #[cold]
    fn event(&mut self, at_ns: i64, header: &Header, payload: &[u8], octets: u32) {
        let signalled = self.payloads.get(header.payload_type).is_some_and(|p| p.signalled);
        let fits = octets == 4 || signalled && octets.is_multiple_of(4);
        match Event::new(payload) {
            Some(event) if fits => {
                self.rare.get_or_insert_default().events.packet(header.timestamp, event);
                self.end_rise();
                self.timing.event(at_ns, header.timestamp);
                // The models start again with the speech after it.
                self.buffers.reset();
                self.after_silence = true;
            }
            _ => self.timed(at_ns, header, None),
        }
    }

    /// What is known of its payload types, in order of appearance; at most [`PAYLOAD_TYPES_MAX`].
    pub fn typed(&self) -> Vec<Typed> {
        let last_ms = since(self.first_ns, self.last_ns);
        let spells = self.spells.as_deref().copied().unwrap_or_default().until(self.packets, last_ms);
        let types = &self.types[..usize::from(self.types_seen)];
        spells.typed(types, self.first_ns, |payload_type| self.payloads.get(payload_type).map(|p| p.media))
    }

    /// Notes that another type comes: the packet in hand is counted already, and is of that type.
    fn end_spell(&mut self, payload_type: u8) {
        let place = self.types[..usize::from(self.types_seen)].iter().position(|t| *t == payload_type);
        if self.types_seen <= 1 && place.is_some() {
            return;
        }
        let (packets, last_ms) = (self.packets.saturating_sub(1), since(self.first_ns, self.last_ns));
        self.spells.get_or_insert_default().turn(packets, last_ms, place);
    }

    #[cold]
    fn change_payload(&mut self, payload_type: u8) {
        self.payload_type = payload_type;
        let seen = usize::from(self.types_seen);
        if !self.types[..seen].contains(&payload_type) && seen < PAYLOAD_TYPES_MAX {
            self.types[seen] = payload_type;
            self.types_seen += 1;
        }
        self.end_spell(payload_type);
        let payload = self.payloads.get(payload_type);
        let clock_rate = payload.map_or(0, |p| p.clock_rate);
        self.kind = match payload.map(|p| p.media) {
            Some(Media::Audio) if clock_rate > 0 => Kind::Speech,
            Some(Media::Event) => Kind::Events,
            Some(Media::ComfortNoise) => Kind::Noise,
            _ => Kind::Plain,
        };
        self.codec = payload.and_then(|p| p.codec);
        if self.kind == Kind::Speech && self.codec != self.speech {
            self.speech = self.codec;
            self.pace.forget();
        }
        // Events keep their own time; all else is measured by its clock.
        if self.kind != Kind::Events && clock_rate != self.clock_rate {
            self.clock_rate = clock_rate;
            self.timing.set_clock(clock_rate);
            self.buffers.reset();
        }
    }

    #[cold]
    fn end_interval(&mut self, at_ns: i64) -> Option<StreamInterval> {
        let ended = self.interval();
        self.scores.add(self.interval_scores(), INTERVAL_NS as f64 * 1e-9);
        self.timing.end_interval(self.interval_end_ns().wrapping_sub(self.first_ns) as f64 * 1e-9);
        if let Some(reports) = &mut self.reports {
            reports.interval_round_trip_ms = None;
        }
        self.buffers.take(0);
        let index = at_ns.saturating_sub(self.first_ns) / INTERVAL_NS;
        self.interval = IntervalStart {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            packets: self.packets,
            copies: self.sequences.copies,
            reordered: self.sequences.reordered,
            modelled: self.modelled,
            // What came late after the interval was told is taken off the next one.
            missing: self.sequences.missing(),
            highest: self.sequences.highest(),
        };
        ended
    }

    fn interval_end_ns(&self) -> i64 {
        self.first_ns.saturating_add((i64::from(self.interval.index) + 1).saturating_mul(INTERVAL_NS))
    }

    fn interval_scores(&self) -> [Option<f32>; 3] {
        let received = self.packets - self.interval.packets;
        let modelled = self.modelled - self.interval.modelled;
        score::voipmonitor(self.buffers.interval(narrow(received)), modelled)
    }
}

fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn signed_difference(a: u64, b: u64) -> i64 {
    i64::try_from(i128::from(a) - i128::from(b)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
