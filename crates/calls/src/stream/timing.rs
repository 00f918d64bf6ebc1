//! When packets arrived against when they were due: jitter, differences of transit, late packets, drift of clocks.
//!
//! Only delay on the way is jitter. Senders change the base of their timestamps in mid-stream (prompts, transfers,
//! transcoders), or do not count the time of silence that they do not send: packets then go on at their pace while
//! timestamps jump. Three signs tell that from delay: timestamps that fall behind the sequence numbers (each packet
//! holds a packet time of media, whatever the network does), timestamps that run ahead of the fastest way, and a rise
//! of transit after which packets go on in step instead of coming at once.

use super::drift::Drift;
use super::sequences::DROPOUT_MAX;
use smallvec::SmallVec;
use trunkline_audio::playout::Playout;
use trunkline_store::row::Transit;

/// A step of transit of this much between two packets is a new origin of the sender's timestamps, not delay: it enters
/// neither jitter nor histogram. Milliseconds.
pub const STEP_MAX_MS: f64 = 10_000.0;

/// Bounds of the histogram of transit differences, milliseconds.
const HISTOGRAM_MS: [f64; 7] = [50.0, 70.0, 90.0, 120.0, 150.0, 200.0, 300.0];

/// A step of transit from which on it is asked whether timestamps agree with sequence numbers and with the clock,
/// milliseconds.
const ODD_MS: f64 = 60.0;

/// A rise of transit from which on it is asked whether it stays, milliseconds.
const RISE_MS: f64 = 100.0;

/// Packets in step after a rise that show that it stays.
const RISE_PACKETS: usize = 8;

/// Packets in step that are enough where the observation has to end early.
const RISE_PACKETS_MIN: usize = 3;

/// In step is what comes at most this much earlier than the first packet after the rise, or later, milliseconds: after
/// a stall of the network those that were held come at once.
const RISE_ROOM_MS: [f64; 2] = [20.0, 60.0];

/// A rise of this much is hardly delay, if packets go on at their pace: the first one after it may be late by itself,
/// so that others come this much earlier, and one that is overtaken says nothing, milliseconds.
const HIGH_RISE_MS: f64 = 500.0;
const HIGH_RISE_ROOM_MS: f64 = 60.0;

/// So many packets in a row that came at once, earlier than the one before by this part of their media time, were held
/// by the network, even if it stalled once more in between; senders with a coarse timer send fewer at a time.
const AT_ONCE: (usize, f64) = (4, 0.5);

/// A rise that stays is the sender's clock and not another route from here on, milliseconds.
const ROUTE_MAX_MS: f64 = 200.0;

/// A single packet that is this much off is not held up by the network, milliseconds: the next would have come first.
const SINGLE_MS: f64 = 1000.0;

/// No network holds a packet up for longer, milliseconds: what was not sent by then cannot be missing.
const DELAY_MAX_MS: f64 = 2000.0;

/// Fewer numbers that are skipped are always taken to be lost.
const SKIPPED_MIN: i32 = 5;

/// Sequence numbers until they begin anew (RFC 3550 section 5.1).
const NUMBERS: f64 = 65_536.0;

/// Age of a timestamp, milliseconds, that makes a packet far behind a sign of a restart.
const OLD_MS: f64 = 1000.0;

#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Timing {
    last_ns: i64,
    /// Milliseconds of a timestamp tick; 0 while the clock is not known.
    tick_ms: f64,
    figures: Figures,
    last_timestamp: u32,
    state: State,
    /// The packet before was a telephone event.
    after_event: bool,
    jitter_max: f64,
    interval_samples: u64,
    interval_sum: f64,
    /// Times the timestamps jumped although nothing on the way can have caused it.
    pub(super) jumps: u32,
    drift: Drift,
    /// Kept apart: most streams have none.
    rise: Option<Box<Rise>>,
}

/// What the next packet is laid against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing: no packet came yet that it can be compared with.
    Begin,
    /// The packet before.
    Steady,
    /// The packet before, and the rise that is under observation.
    Rise,
}

/// What packets add to, one by one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Figures {
    jitter: f64,
    jitter_sum: f64,
    interval_max: f64,
    /// Packets that entered `jitter_sum`.
    samples: u64,
    /// Arrival less media time since the origin, milliseconds.
    transit_ms: f64,
    playout: Playout,
    span: Span,
    /// Least transit of the interval before.
    floor_before: f64,
    histogram: [u32; 7],
}

/// Transit rose at once. Was the network held up, then what waited comes at once, and transit falls again. Did the
/// sender pause without counting the time (or begin another file, or switch to another source), then all goes on at
/// its pace: the packets were on time, and the timestamps got a new base.
#[derive(Clone, Debug)]
struct Rise {
    /// Figures before it.
    before: Figures,
    /// Transit of the first packet after it.
    level_ms: f64,
    /// Steps of transit since.
    steps: [f64; RISE_PACKETS],
    count: usize,
    /// The last packets since, and most in a row, that came at once, behind the one before.
    at_once: (usize, usize),
    /// Those of them that came too late to be played.
    late: SmallVec<[u16; RISE_PACKETS + 1]>,
    /// Those of the rise before, which was delay.
    late_before: SmallVec<[u16; RISE_PACKETS + 1]>,
    /// An interval ended after so many steps, with this highest jitter.
    ended: Option<(usize, f64)>,
}

impl Timing {
    pub(super) fn new(clock_rate: u32) -> Timing {
        let mut timing = Timing {
            last_ns: 0,
            tick_ms: 0.0,
            figures: Figures::NONE,
            last_timestamp: 0,
            state: State::Begin,
            after_event: false,
            jitter_max: 0.0,
            interval_samples: 0,
            interval_sum: 0.0,
            jumps: 0,
            drift: Drift::default(),
            rise: None,
        };
        timing.set_clock(clock_rate);
        timing
    }

    /// Another clock: the next packet has none to compare with.
    pub(super) fn set_clock(&mut self, clock_rate: u32) {
        let tick_ms = if clock_rate == 0 { 0.0 } else { 1000.0 / f64::from(clock_rate) };
        if tick_ms != self.tick_ms {
            self.tick_ms = tick_ms;
            self.state = State::Begin;
        }
    }

    #[inline]
    pub(super) fn tick_ms(&self) -> f64 {
        self.tick_ms
    }

    /// How much younger this timestamp is than that of the packet before, milliseconds; negative when older.
    #[inline]
    fn age_ms(&self, timestamp: u32) -> f64 {
        f64::from(timestamp.wrapping_sub(self.last_timestamp) as i32) * self.tick_ms
    }

    /// Whether time speaks against a packet's number, which is `by` numbers ahead of the highest or, below zero, behind
    /// it. `packet_ms` is the packet time, 0 where packets need not be of equal length.
    #[cold]
    pub(super) fn doubts(&self, at_ns: i64, timestamp: u32, packet_ms: f64, by: i32) -> bool {
        let age_ms = self.age_ms(timestamp);
        if by < 0 {
            // Behind by its number and ahead by its timestamp: numbers begin anew.
            return self.tick_ms == 0.0 || age_ms.abs() > OLD_MS || packet_ms > 0.0 && age_ms > 0.0;
        }
        // Packets that come at another pace than that of their timestamps, as in a replay at full speed, say nothing.
        let at_pace = self.figures.jitter < 0.9 * packet_ms;
        if by < SKIPPED_MIN || self.tick_ms == 0.0 || self.state == State::Begin || !at_pace {
            return false;
        }
        // To send what is missing takes its time. After a stall packets come faster, but none before it was sent.
        let (passed_ms, due_ms) = (self.since_ms(at_ns), f64::from(by) * packet_ms);
        let is_short = |ms: f64| ms < due_ms / 4.0 || 1.5 * ms + DELAY_MAX_MS < due_ms;
        is_short(passed_ms) && (is_short(age_ms) || self.is_too_early(passed_ms - age_ms))
    }

    /// Whether a packet whose number is `behind_ms` of media behind the highest has a timestamp of another base: it was
    /// overtaken by packets that were sent after the base changed, and says nothing about delay.
    #[cold]
    pub(super) fn is_of_another_base(&self, timestamp: u32, behind_ms: f64) -> bool {
        self.tick_ms > 0.0 && self.state != State::Begin && (self.age_ms(timestamp) + behind_ms).abs() >= DELAY_MAX_MS
    }

    /// How many numbers a packet is ahead, whose number without wraps is `ahead`, if by its timestamp and by the clock
    /// so many packets are sent in the time that passed: [`DROPOUT_MAX`] or more. `packet_ms` as in `doubts`.
    #[cold]
    pub(super) fn counts(&self, at_ns: i64, timestamp: u32, packet_ms: f64, ahead: u16) -> Option<u32> {
        let passed_ms = self.since_ms(at_ns);
        let at_pace = self.figures.jitter < 0.9 * packet_ms;
        if self.tick_ms == 0.0 || self.state == State::Begin || !at_pace {
            return None;
        }
        let wraps = ((passed_ms / packet_ms - f64::from(ahead)) / NUMBERS).round().max(0.0);
        let numbers = f64::from(ahead) + wraps * NUMBERS;
        let agrees = |ms: f64| (ms - numbers * packet_ms).abs() <= DELAY_MAX_MS;
        (numbers >= f64::from(DROPOUT_MAX) && agrees(passed_ms) && agrees(self.age_ms(timestamp)))
            .then_some(numbers as u32)
    }

    fn since_ms(&self, at_ns: i64) -> f64 {
        at_ns.wrapping_sub(self.last_ns) as f64 * 1e-6
    }

    /// A step of transit after which a packet came well before the fastest one could have.
    fn is_too_early(&self, step_ms: f64) -> bool {
        self.figures.transit_ms + step_ms < self.figures.floor_ms() - ODD_MS
    }

    /// Takes a packet in order of arrival; whether packets came too late to be played: [`Timing::take_late`] tells
    /// which. `due_ms` gives, when asked, how much media the numbers since the packet before stand for, if that is
    /// known.
    ///
    /// RFC 3550 A.8 in double precision: D is the difference of arrival (capture time, nanoseconds) less the difference
    /// of timestamps, both against the packet before in arrival order, J += (|D| - J) / 16. Where timestamps contradict
    /// the sequence numbers or the clock, D is the sender's doing and is left out.
    #[inline]
    pub(super) fn packet(
        &mut self,
        at_ns: i64,
        timestamp: u32,
        sequence: u16,
        due_ms: impl FnOnce() -> Option<f64>,
    ) -> bool {
        if self.tick_ms == 0.0 {
            return false;
        }
        let age_ms = self.age_ms(timestamp);
        let step_ms = self.since_ms(at_ns) - age_ms;
        self.last_ns = at_ns;
        self.last_timestamp = timestamp;
        if step_ms.abs() >= ODD_MS || self.state != State::Steady {
            return self.odd(step_ms, age_ms, sequence, due_ms());
        }
        self.sample(step_ms)
    }

    #[inline(always)]
    fn sample(&mut self, step_ms: f64) -> bool {
        let event = core::mem::take(&mut self.after_event);
        self.figures.sample(step_ms, !event)
    }

    /// What is not in step with the packet before.
    #[cold]
    fn odd(&mut self, step_ms: f64, age_ms: f64, sequence: u16, due_ms: Option<f64>) -> bool {
        if self.state == State::Begin {
            return self.anchor();
        }
        let ahead_ms = due_ms.filter(|_| !self.after_event).map(|due_ms| age_ms - due_ms);
        // Timestamps that fall behind the numbers, or run ahead of what can have come by now.
        let is_jump = |ahead: f64| ahead <= -ODD_MS || ahead >= ODD_MS && self.is_too_early(step_ms);
        if step_ms.abs() >= ODD_MS && (step_ms.abs() >= STEP_MAX_MS || ahead_ms.is_some_and(is_jump)) {
            // Another base soon after a pause that was not counted: the observation of the rise ends here.
            if self.rise.as_ref().is_some_and(|rise| rise.count >= RISE_PACKETS_MIN) && self.state == State::Rise {
                self.settle();
            }
            self.jumps = self.jumps.saturating_add(1);
            return self.anchor();
        }
        if self.state == State::Rise {
            let is_single = |rise: &Rise| {
                rise.count == 0 && rise.level_ms - rise.before.transit_ms >= SINGLE_MS && step_ms <= -RISE_MS
            };
            if ahead_ms.is_some_and(|ahead| ahead >= ODD_MS) && self.rise.as_deref().is_some_and(is_single) {
                return self.single(step_ms);
            }
            if ahead_ms.is_some() && self.rises_further(step_ms) {
                return self.rise_again(step_ms, sequence);
            }
            // Overtaken, or behind a telephone event: it says nothing about the pace.
            return self.follow(step_ms, age_ms, sequence, ahead_ms.is_some());
        }
        if step_ms < RISE_MS || ahead_ms.is_none() {
            return self.sample(step_ms);
        }
        self.begin_rise(step_ms, sequence, SmallVec::new())
    }

    /// Puts a rise under observation. Tells whether packets of one before it came too late.
    fn begin_rise(&mut self, step_ms: f64, sequence: u16, late_before: SmallVec<[u16; RISE_PACKETS + 1]>) -> bool {
        let before = self.figures;
        let late = self.sample(step_ms);
        let mut rise = Rise {
            before,
            level_ms: self.figures.transit_ms,
            steps: [0.0; RISE_PACKETS],
            count: 0,
            at_once: (0, 0),
            late: SmallVec::new(),
            late_before,
            ended: None,
        };
        rise.late.extend(late.then_some(sequence));
        let told = !rise.late_before.is_empty();
        self.rise = Some(Box::new(rise));
        self.state = State::Rise;
        told
    }

    /// Whether transit rises once more, beyond the rise under observation.
    fn rises_further(&self, step_ms: f64) -> bool {
        let off_ms = |rise: &Rise| self.figures.transit_ms + step_ms - rise.level_ms;
        step_ms >= RISE_MS && self.rise.as_deref().is_some_and(|rise| off_ms(rise) > RISE_ROOM_MS[1])
    }

    /// Transit rises once more: the rise under observation was delay, and the next one is observed.
    fn rise_again(&mut self, step_ms: f64, sequence: u16) -> bool {
        let late = self.leave_rise();
        self.begin_rise(step_ms, sequence, late)
    }

    /// Takes the rise under observation for delay. Gives the numbers of those that came too late to be played then.
    fn leave_rise(&mut self) -> SmallVec<[u16; RISE_PACKETS + 1]> {
        self.state = State::Steady;
        let Some(rise) = self.rise.take() else { return SmallVec::new() };
        self.jitter_max = self.jitter_max.max(rise.ended.map_or(0.0, |(_, most)| most));
        rise.late
    }

    /// The packet after a rise counts the time that the first one did not: that one alone was off, as what a phone had
    /// ready when it was put on hold.
    fn single(&mut self, step_ms: f64) -> bool {
        self.state = State::Steady;
        let Some(rise) = self.rise.take() else { return self.sample(step_ms) };
        self.figures = rise.before;
        self.jumps = self.jumps.saturating_add(1);
        self.sample(rise.level_ms - rise.before.transit_ms + step_ms)
    }

    /// The next packet after a rise.
    fn follow(&mut self, step_ms: f64, age_ms: f64, sequence: u16, is_next: bool) -> bool {
        let late = self.sample(step_ms);
        let Some(rise) = self.rise.as_deref_mut() else { return late };
        rise.late.extend(late.then_some(sequence));
        rise.steps[rise.count] = step_ms;
        rise.count += 1;
        let row = if -step_ms > AT_ONCE.1 * age_ms { rise.at_once.0 + 1 } else { 0 };
        rise.at_once = (row, rise.at_once.1.max(row));
        let off_ms = self.figures.transit_ms - rise.level_ms;
        let is_high = rise.level_ms - rise.before.transit_ms >= HIGH_RISE_MS;
        let earlier_ms = if is_high { HIGH_RISE_ROOM_MS } else { RISE_ROOM_MS[0] };
        let is_in_step = is_high && !is_next || (-earlier_ms..=RISE_ROOM_MS[1]).contains(&off_ms);
        if !is_in_step || rise.at_once.1 >= AT_ONCE.0 {
            self.state = State::Steady;
            self.jitter_max = self.jitter_max.max(rise.ended.map_or(0.0, |(_, most)| most));
            if rise.late.is_empty() {
                self.rise = None;
            }
            return self.rise.is_some();
        }
        if rise.count == RISE_PACKETS {
            self.settle();
        }
        false
    }

    /// Takes a rise that stayed out of the figures.
    fn settle(&mut self) {
        self.state = State::Steady;
        let Some(rise) = self.rise.take() else { return };
        self.figures = rise.before;
        if rise.level_ms - rise.before.transit_ms >= ROUTE_MAX_MS {
            self.jumps = self.jumps.saturating_add(1);
        }
        self.anchor();
        for (at, step_ms) in rise.steps[..rise.count].iter().enumerate() {
            if rise.ended.is_some_and(|(count, _)| count == at) {
                (self.interval_sum, self.interval_samples) = (self.figures.jitter_sum, self.figures.samples);
            }
            self.figures.sample(*step_ms, true);
        }
    }

    /// Ends the observation of a rise, whatever is known of it: with few packets after it, it is taken to be delay.
    /// Gives the numbers of those that came too late to be played then.
    #[cold]
    pub(super) fn end_rise(&mut self) -> SmallVec<[u16; RISE_PACKETS + 1]> {
        if self.state != State::Rise {
            return SmallVec::new();
        }
        if self.rise.as_ref().is_some_and(|rise| rise.count >= RISE_PACKETS_MIN) {
            self.settle();
        }
        self.leave_rise()
    }

    /// The numbers of the packets that came too late, `sequence` being that of the last one.
    pub(super) fn take_late(&mut self, sequence: u16) -> SmallVec<[u16; RISE_PACKETS + 1]> {
        if self.state == State::Rise {
            return self.rise.as_mut().map(|rise| core::mem::take(&mut rise.late_before)).unwrap_or_default();
        }
        match self.rise.take() {
            Some(rise) => rise.late,
            None => SmallVec::from_slice(&[sequence]),
        }
    }

    /// Takes a telephone event's packet in order of arrival: RFC 3550 A.8 makes no exception for it, but all packets of
    /// an event carry the timestamp of its beginning (RFC 4733 section 2.1), so that it says nothing about delay: it
    /// enters neither the histogram, nor the transit that is told, nor the model of a buffer.
    #[cold]
    pub(super) fn event(&mut self, at_ns: i64, timestamp: u32) {
        let Figures { histogram, span, playout, .. } = self.figures;
        self.packet(at_ns, timestamp, 0, || None);
        self.figures = Figures { histogram, span, playout, ..self.figures };
        self.after_event = true;
    }

    /// A packet with none to compare with: where the timestamps got a new origin, it is taken to have come as fast as
    /// the one before, so that the transits before and after can be compared.
    #[cold]
    fn anchor(&mut self) -> bool {
        self.state = State::Steady;
        self.rise = None;
        self.drift = Drift::default();
        self.figures.anchor()
    }

    /// Mean and highest jitter so far, milliseconds.
    pub(super) fn jitter_ms(&self) -> (f64, f64) {
        let f = &self.figures;
        (mean(f.jitter_sum, f.samples), self.jitter_max.max(f.interval_max))
    }

    /// Mean and highest jitter of the interval, milliseconds.
    pub(super) fn interval_jitter_ms(&self) -> (f64, f64) {
        let f = &self.figures;
        (mean(f.jitter_sum - self.interval_sum, f.samples - self.interval_samples), f.interval_max)
    }

    /// Transit in the interval; none while the clock is not known.
    pub(super) fn interval_transit(&self) -> Option<Transit> {
        self.figures.span.transit()
    }

    /// Differences of transit between neighbours.
    pub(super) fn histogram(&self) -> [u32; 7] {
        self.figures.histogram
    }

    /// Ends an interval. The observation of a rise goes on.
    pub(super) fn end_interval(&mut self, seconds: f64) {
        let f = &mut self.figures;
        let mut most = f.interval_max;
        if let (State::Rise, Some(rise)) = (self.state, &mut self.rise) {
            rise.ended = Some((rise.count, most));
            most = rise.before.interval_max;
            rise.before.next_interval();
        }
        self.jitter_max = self.jitter_max.max(most);
        self.interval_sum = f.jitter_sum;
        self.interval_samples = f.samples;
        if let Some(least) = f.playout.least_ms() {
            self.drift.point(seconds, least);
        }
        f.next_interval();
    }

    /// How much faster the sender's clock runs than the capture's, parts per million.
    pub(super) fn skew_ppm(&self) -> Option<f32> {
        self.drift.ppm()
    }
}

impl Figures {
    const NONE: Figures = Figures {
        jitter: 0.0,
        jitter_sum: 0.0,
        interval_max: 0.0,
        samples: 0,
        transit_ms: 0.0,
        playout: Playout::NONE,
        span: Span::NONE,
        floor_before: f64::INFINITY,
        histogram: [0; 7],
    };

    /// The fastest way of the last ten to twenty seconds. The buffer's own follows delay, and says nothing here.
    fn floor_ms(&self) -> f64 {
        self.span.least.min(self.floor_before)
    }

    /// Begins another interval.
    fn next_interval(&mut self) {
        self.interval_max = 0.0;
        self.playout.roll();
        if self.span.packets > 0 {
            self.floor_before = self.span.least;
        }
        self.span = Span::NONE;
    }

    /// Adds a packet, so much longer on its way than the one before; whether it came too late to be played.
    #[inline(always)]
    fn sample(&mut self, step_ms: f64, in_histogram: bool) -> bool {
        let apart = step_ms.abs();
        self.jitter += (apart - self.jitter) / 16.0;
        self.jitter_sum += self.jitter;
        self.samples += 1;
        if self.jitter > self.interval_max {
            self.interval_max = self.jitter;
        }
        if apart >= HISTOGRAM_MS[0] && in_histogram {
            self.note_step(apart);
        }
        self.transit_ms += step_ms;
        self.span.add(self.transit_ms);
        self.playout.late(self.transit_ms)
    }

    /// Adds a packet that cannot be compared with the one before.
    fn anchor(&mut self) -> bool {
        self.playout = Playout::default();
        self.span.add(self.transit_ms);
        self.playout.late(self.transit_ms)
    }

    #[cold]
    fn note_step(&mut self, apart: f64) {
        let bin = HISTOGRAM_MS.iter().rposition(|&bound| apart >= bound).unwrap_or(0);
        self.histogram[bin] = self.histogram[bin].saturating_add(1);
    }
}

/// Transit of the packets of an interval.
#[derive(Clone, Copy, Debug)]
struct Span {
    sum: f64,
    least: f64,
    most: f64,
    packets: u32,
}

impl Span {
    const NONE: Span = Span { sum: 0.0, least: f64::INFINITY, most: f64::NEG_INFINITY, packets: 0 };

    #[inline]
    fn add(&mut self, transit_ms: f64) {
        self.sum += transit_ms;
        self.packets = self.packets.wrapping_add(1);
        if transit_ms < self.least {
            self.least = transit_ms;
        }
        if transit_ms > self.most {
            self.most = transit_ms;
        }
    }

    fn transit(&self) -> Option<Transit> {
        (self.packets > 0).then(|| Transit {
            min_ms: self.least as f32,
            mean_ms: (self.sum / f64::from(self.packets)) as f32,
            max_ms: self.most as f32,
        })
    }
}

fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

#[cfg(test)]
mod tests;
