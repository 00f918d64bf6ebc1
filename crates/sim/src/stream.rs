//! One RTP stream: what its sender sends, what the network does to it, what arrives.

use crate::codec::{Bank, COMFORT_NOISE, Codec};
use crate::impair::Way;
use crate::net::{Head, TCP, UDP, sum};
use crate::passage::TAG_OCTETS;
use crate::random::Random;
use crate::rtcp::{self, Report};
use crate::settings::Tunnel;
use crate::spec::Spec;
use crate::tally::Tally;
use crate::tap::Passed;
use crate::truth::{DelayTruth, Moment, StreamTruth, Who};
use trunkline_wire::Endpoint;

/// Packets of one stream on their way at most: two seconds of delay at 10 ms and their copies, and room.
const PENDING_MAX: usize = 512;
/// RTCP reports come this often.
const RTCP_INTERVAL_NS: i64 = 5_000_000_000;
/// Delays are told for spans of this length.
const DELAY_SPAN_NS: i64 = 10_000_000_000;
/// A comfort-noise or silence frame every so many packet times of silence.
const SILENCE_TICKS: u64 = 10;

/// The next octets of a connection for media, of the caller and of the callee.
pub(crate) type Line = [u32; 2];

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
enum Content {
    Bank(u16),
    Few([u8; 4], u8),
}

/// A packet that will arrive.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at_ns: i64,
    sequence: u64,
    timestamp: u32,
    /// How much timestamp and sequence number on the wire are off these.
    base: (u32, u16),
    /// Time on the way beyond the least.
    delay_ns: i64,
    /// Marker bit and payload type.
    kind: u8,
    content: Content,
}

/// Time on the way of what arrived.
#[derive(Default)]
struct Delays {
    /// Number of the ten seconds, packets, sum and highest of their delays, nanoseconds.
    spans: Vec<(u32, u32, i64, i64)>,
    least_ns: Option<i64>,
}

impl Delays {
    /// A packet that came so long after the first one of its stream.
    fn add(&mut self, since_first_ns: i64, delay_ns: i64) {
        self.least_ns = Some(self.least_ns.map_or(delay_ns, |least| least.min(delay_ns)));
        let index = (since_first_ns / DELAY_SPAN_NS) as u32;
        match self.spans.last_mut().filter(|span| span.0 == index) {
            Some((_, packets, sum, most)) => {
                (*packets, *sum, *most) = (*packets + 1, *sum + delay_ns, (*most).max(delay_ns));
            }
            None => self.spans.push((index, 1, delay_ns, delay_ns)),
        }
    }

    fn truth(&self) -> Vec<DelayTruth> {
        let least = self.least_ns.unwrap_or_default();
        let one = |&(index, packets, sum, most): &(u32, u32, i64, i64)| DelayTruth {
            index,
            mean_ms: (sum as f64 / f64::from(packets) - least as f64) * 1e-6,
            max_ms: (most - least) as f64 * 1e-6,
        };
        self.spans.iter().map(one).collect()
    }
}

/// A stream that goes on.
pub(crate) struct Stream {
    pub spec: Spec,
    head: Head,
    rtcp_head: Head,
    random: Random,
    way: Way,
    interval_ps: i64,
    units: u32,
    timestamp: u32,
    tick: u64,
    sequence: u64,
    marker: bool,
    pause: usize,
    prompt: usize,
    base: (u32, u16),
    digit: usize,
    /// The event that is going on: first tick, event code, its number.
    event: Option<(u64, u8)>,
    /// Discontinuous transmission: whether there is speech, and until which tick.
    speech: (bool, u64),
    /// By time, the next one last.
    pending: Vec<Arrival>,
    rtcp_ns: i64,
    /// All that passes the tap.
    pub tally: Tally,
    /// What the tap sees, if that is not all.
    captured: Option<Box<(Tally, Passed)>>,
    sent: u64,
    sent_octets: u64,
    octets: u64,
    kinds: Vec<u8>,
    dtmf: String,
    heard: Option<u32>,
    comfort_noise: u64,
    delays: Delays,
    /// The last sender report: middle of its NTP time, and when it passed the tap.
    pub last_report: Option<(u32, i64)>,
    /// Expected and received when its receiver last reported.
    pub reported: (u64, u64),
    pub reports_about: (u32, Option<i32>),
    sender_reports: u32,
}

impl Stream {
    pub fn new(spec: Spec, tunnel: Tunnel, sound_tap: bool, random: &mut Random) -> Self {
        let [from, to] = spec.around.map_or([spec.from, spec.to], |around| around.ends);
        let protocol = if spec.over_tcp { TCP } else { UDP };
        let head = Head::new(tunnel, from, to, protocol, 46);
        let control = |e: Endpoint| Endpoint::new(e.address, e.port + u16::from(!spec.mux));
        let [control_from, control_to] = spec.control.unwrap_or_else(|| [from, to].map(control));
        let rtcp_head = Head::new(tunnel, control_from, control_to, protocol, 46);
        let mut random = Random::new(random.bits());
        let way = Way::new(spec.impairment, Random::new(random.bits()));
        let ptime_ps = f64::from(spec.ptime_ms) * 1e9;
        Stream {
            interval_ps: (ptime_ps * (1.0 + spec.impairment.skew_ppm * 1e-6)) as i64,
            units: spec.codec.clock_rate() / 1000 * u32::from(spec.ptime_ms),
            timestamp: random.bits() as u32,
            // One turn of 65,536 ahead, so that nothing is below zero.
            sequence: 65_536 + random.below(65_536),
            rtcp_ns: if spec.rtcp { spec.start_ns + RTCP_INTERVAL_NS / 2 } else { i64::MAX },
            tally: Tally::new(spec.codec.clock_rate()),
            captured: (!sound_tap).then(|| Box::new((Tally::new(spec.codec.clock_rate()), Passed::default()))),
            speech: (true, 50),
            marker: true,
            tick: 0,
            pause: 0,
            prompt: 0,
            base: (0, 0),
            digit: 0,
            event: None,
            pending: Vec::new(),
            sent: 0,
            sent_octets: 0,
            octets: 0,
            kinds: Vec::new(),
            dtmf: String::new(),
            heard: None,
            comfort_noise: 0,
            delays: Delays::default(),
            last_report: None,
            reported: (0, 0),
            reports_about: (0, None),
            sender_reports: 0,
            head,
            rtcp_head,
            random,
            way,
            spec,
        }
    }

    /// When its next packet arrives; none when it is over.
    pub fn next_ns(&mut self, bank: &Bank) -> Option<i64> {
        self.prepare(bank);
        let rtp = self.pending.last().map(|a| a.at_ns);
        if self.rtcp_ns >= self.spec.stop_ns {
            return rtp;
        }
        Some(rtp.map_or(self.rtcp_ns, |at| at.min(self.rtcp_ns)))
    }

    /// Whether what comes next is RTCP.
    pub fn is_rtcp_next(&self) -> bool {
        self.rtcp_ns < self.spec.stop_ns && self.pending.last().is_none_or(|a| a.at_ns >= self.rtcp_ns)
    }

    /// The next RTP packet, as it arrives; whether the tap sees it is `seen`. What goes over a connection takes its
    /// numbers from `line`.
    #[inline]
    pub fn emit(&mut self, out: &mut Vec<u8>, bank: &Bank, seen: bool, line: &mut Line) {
        let Some(a) = self.pending.pop() else { return };
        let mut header = [0x80, a.kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        header[2..4].copy_from_slice(&(a.sequence as u16).wrapping_add(a.base.1).to_be_bytes());
        header[4..8].copy_from_slice(&a.timestamp.wrapping_add(a.base.0).to_be_bytes());
        header[8..12].copy_from_slice(&self.spec.ssrc.to_be_bytes());
        let few;
        let (payload_sum, payload) = match a.content {
            Content::Bank(index) => {
                let (payload, octets) = bank.get(index);
                (u32::from(payload.sum), octets)
            }
            Content::Few(octets, n) => {
                few = octets;
                (sum(&few[..usize::from(n)]), &few[..usize::from(n)])
            }
        };
        // A copy made by the network has the identification of the original.
        if self.spec.is_plain() {
            self.head.udp(out, a.sequence as u16, 12 + payload.len(), payload_sum + sum(&header));
            out.extend_from_slice(&header);
            out.extend_from_slice(payload);
        } else {
            let packet = self.spec.wrap(&header, payload, &[]);
            self.put(&self.head, out, a.sequence as u16, &packet, line);
        }
        let mut fresh = self.tally.arrived(a.at_ns, a.sequence, a.timestamp);
        if let Some(captured) = &mut self.captured {
            captured.1.note(a.sequence, seen);
            fresh = seen && captured.0.arrived(a.at_ns, a.sequence, a.timestamp);
        }
        let octets = payload.len() + if self.spec.encrypted { TAG_OCTETS } else { 0 };
        self.octets += if seen { octets as u64 } else { 0 };
        if fresh {
            self.note(&a);
        }
    }

    /// Puts a packet behind its headers: in a datagram, or behind its length on the connection.
    fn put(&self, head: &Head, out: &mut Vec<u8>, identification: u16, packet: &[u8], line: &mut Line) {
        if !self.spec.over_tcp {
            head.udp(out, identification, packet.len(), sum(packet));
            return out.extend_from_slice(packet);
        }
        let side = usize::from(self.spec.who == Who::Callee);
        let framed = [&(packet.len() as u16).to_be_bytes()[..], packet].concat();
        head.tcp(out, identification, line[side], line[1 - side], 0x18, &framed);
        line[side] = line[side].wrapping_add(framed.len() as u32);
    }

    /// How much sequence numbers on the wire are off those of the stream.
    pub fn numbers_off(&self) -> u16 {
        self.base.1
    }

    /// The next RTCP packet, with what its sender says about the stream that it receives.
    pub fn emit_rtcp(&mut self, out: &mut Vec<u8>, about: Option<Report>, seen: bool, line: &mut Line) {
        let at_ns = self.rtcp_ns;
        self.rtcp_ns += RTCP_INTERVAL_NS;
        let ntp = rtcp::ntp(at_ns - self.spec.path_ns[0]);
        // The sender's clock runs fast or slow with its packets.
        let elapsed_ps = (at_ns - self.spec.start_ns).max(0) as u128 * 1000;
        let units = elapsed_ps * u128::from(self.units) / self.interval_ps as u128;
        let timestamp = self.timestamp.wrapping_add(units as u32);
        let sender =
            rtcp::Sender { ssrc: self.spec.ssrc, ntp, timestamp, packets: self.sent, octets: self.sent_octets };
        let mut payload = rtcp::compound(&sender, about);
        if !self.spec.is_plain() {
            let (clear, ciphered) = payload.split_at(8);
            // SRTCP ends with an index (RFC 3711 section 3.4).
            payload = self.spec.wrap(clear, ciphered, &(1 << 31 | self.sender_reports).to_be_bytes());
        }
        self.put(&self.rtcp_head, out, self.sender_reports as u16, &payload, line);
        self.sender_reports += u32::from(seen);
        self.last_report = Some(((ntp >> 16) as u32, at_ns));
    }

    /// What is known of it when it is over; none if nothing of it arrived.
    pub fn truth(&self) -> Option<StreamTruth> {
        let s = &self.spec;
        let t = self.captured.as_ref().map_or(&self.tally, |captured| &captured.0);
        (t.packets > 0).then(|| StreamTruth {
            ssrc: format!("0x{:08x}", s.ssrc),
            src: s.from.to_string(),
            dst: s.to.to_string(),
            direction: s.who,
            codec: self.names().join(", "),
            clock_rate: s.codec.clock_rate(),
            payload_types: self.kinds.clone(),
            ptime_ms: s.ptime_ms,
            packets: t.packets,
            octets: self.octets,
            expected: t.expected(),
            lost: t.expected() as i64 - t.packets as i64,
            missing: t.expected() - t.distinct(),
            lost_at_tap: self.captured.as_ref().map_or(0, |captured| captured.1.lost()),
            duplicates: t.duplicates,
            reordered: t.reordered,
            jitter_mean_ms: t.jitter_mean_ms(),
            jitter_max_ms: t.jitter_max_ms,
            delays: self.delays.truth(),
            first: Some(Moment::of(t.first_ns)),
            last: Some(Moment::of(t.last_ns)),
            dtmf: if s.encrypted { String::new() } else { self.dtmf.clone() },
            comfort_noise: self.comfort_noise,
            sent: self.sent,
            sender_reports: self.sender_reports,
            receiver_reports: self.reports_about.0,
            reported_lost: self.reports_about.1,
            impairment: s.impairment,
            encrypted: s.encrypted,
            in_turn: s.around.is_some(),
            over_tcp: s.over_tcp,
            rtcp_named: s.control.is_some(),
        })
    }

    fn names(&self) -> Vec<&'static str> {
        let s = &self.spec;
        let codecs = [Some(s.codec), s.change.map(|(_, codec)| codec)];
        let name = |kind: &u8| match codecs.iter().flatten().find(|c| c.payload_type(s.map) == *kind) {
            Some(codec) => codec.name(),
            None if *kind == COMFORT_NOISE => "CN",
            None => "telephone-event",
        };
        self.kinds.iter().map(name).collect()
    }

    /// Sends until it is certain what arrives next.
    fn prepare(&mut self, bank: &Bank) {
        loop {
            let at_ns = self.tick_ns();
            let certain = self.pending.last().is_some_and(|next| next.at_ns < at_ns);
            if certain || at_ns >= self.spec.stop_ns || self.pending.len() >= PENDING_MAX {
                return;
            }
            self.send(at_ns, bank);
            self.tick += 1;
        }
    }

    fn tick_ns(&self) -> i64 {
        self.spec.start_ns + self.tick as i64 * self.interval_ps / 1000
    }

    /// What happens at this tick: an event goes on, speech, silence, or nothing.
    fn send(&mut self, at_ns: i64, bank: &Bank) {
        if self.is_paused(at_ns) {
            self.marker = true;
            return;
        }
        while let Some(prompt) = self.spec.prompts.get(self.prompt).filter(|p| at_ns >= p.at_ns) {
            (self.base, self.marker) = ((prompt.timestamps, prompt.numbers), prompt.marked);
            self.prompt += 1;
        }
        let timestamp = self.timestamp.wrapping_add((self.tick as u32).wrapping_mul(self.units));
        if self.send_event(at_ns) {
            return;
        }
        if self.spec.discontinuous && self.is_silent() {
            self.send_silence(at_ns, timestamp);
            return;
        }
        let codec = self.codec_at(at_ns);
        if codec.is_video() {
            return self.send_frame(at_ns, timestamp, codec, bank);
        }
        let content = Content::Bank(Bank::index(codec, self.spec.ptime_ms, self.sequence));
        let kind = codec.payload_type(self.spec.map) | u8::from(self.marker) << 7;
        self.marker = false;
        let octets = match content {
            Content::Bank(index) => bank.get(index).1.len(),
            Content::Few(..) => 0,
        };
        self.dispatch(at_ns, timestamp, kind, content, octets);
    }

    /// A frame of video: up to four packets of one timestamp, the last one marked (RFC 6184 section 5.1).
    fn send_frame(&mut self, at_ns: i64, timestamp: u32, codec: Codec, bank: &Bank) {
        let packets = self.random.between(1, 4);
        for n in 1..=packets {
            let index = Bank::index(codec, self.spec.ptime_ms, self.sequence);
            let kind = codec.payload_type(self.spec.map) | u8::from(n == packets) << 7;
            let octets = bank.get(index).1.len();
            self.dispatch(at_ns + (n - 1) * 400_000, timestamp, kind, Content::Bank(index), octets);
        }
    }

    fn is_paused(&mut self, at_ns: i64) -> bool {
        while self.spec.pauses.get(self.pause).is_some_and(|(_, to)| at_ns >= *to) {
            self.pause += 1;
        }
        self.spec.pauses.get(self.pause).is_some_and(|(from, _)| at_ns >= *from)
    }

    /// RFC 4733 section 2.5: an event is one timestamp, growing durations, and its end three times.
    fn send_event(&mut self, at_ns: i64) -> bool {
        let due = self.spec.digits.get(self.digit).is_some_and(|(at, _)| at_ns >= *at);
        if self.event.is_none() && due {
            self.event = Some((self.tick, self.spec.digits[self.digit].1));
            self.digit += 1;
        }
        let Some((first, code)) = self.event else { return false };
        // About 100 ms, then the end.
        let going = u64::from(100 / self.spec.ptime_ms);
        let (n, last) = (self.tick - first, going + 2);
        let end = n >= going;
        let duration = (n.min(going) + 1) as u32 * self.units;
        let [high, low] = (duration as u16).to_be_bytes();
        let content = Content::Few([code, 10 | u8::from(end) << 7, high, low], 4);
        let kind = self.spec.codec.event_payload_type(self.spec.map) | u8::from(n == 0) << 7;
        let timestamp = self.timestamp.wrapping_add((first as u32).wrapping_mul(self.units));
        self.dispatch(at_ns, timestamp, kind, content, 4);
        if n >= last {
            self.event = None;
            self.marker = true;
        }
        true
    }

    /// Speech for 1.2 s and silence for 1.6 s on average (ITU-T P.59 says 1.004 and 1.587 s).
    fn is_silent(&mut self) -> bool {
        let (speaks, until) = self.speech;
        if self.tick >= until {
            let mean_s = if speaks { 1.6 } else { 1.2 };
            let ticks = self.random.exponential(mean_s * 1000.0 / f64::from(self.spec.ptime_ms)) as u64;
            self.speech = (!speaks, self.tick + ticks + 1);
            self.marker = true;
        }
        !self.speech.0
    }

    /// A silence frame at first and now and then: comfort noise for G.711, the codec's own for the others.
    fn send_silence(&mut self, at_ns: i64, timestamp: u32) {
        let left = self.speech.1 - self.tick;
        if self.marker || left.is_multiple_of(SILENCE_TICKS) {
            let (kind, content, n) = match self.codec_at(at_ns) {
                Codec::Pcmu | Codec::Pcma | Codec::G722 => (COMFORT_NOISE, [0x40, 0, 0, 0], 1),
                // RFC 3551 section 4.5.6: two octets are a silence frame of Annex B.
                codec @ Codec::G729 => (codec.payload_type(self.spec.map), [0x5a, 0x80, 0, 0], 2),
                // RFC 6716 section 3.1: a table of contents alone says that nothing is sent.
                codec @ Codec::Opus => (codec.payload_type(self.spec.map), [31 << 3, 0, 0, 0], 1),
                // RFC 4867 section 4.3: frame type 15, no data.
                codec @ Codec::AmrWb => (codec.payload_type(self.spec.map), [0xf0, 0x7c, 0, 0], 2),
                // Video has no silence.
                Codec::Vp8 | Codec::H264 => return,
            };
            self.dispatch(at_ns, timestamp, kind, Content::Few(content, n), usize::from(n));
            self.marker = false;
        }
        if left <= 1 {
            self.marker = true;
        }
    }

    fn codec_at(&self, at_ns: i64) -> Codec {
        match self.spec.change {
            Some((from, codec)) if at_ns >= from => codec,
            _ => self.spec.codec,
        }
    }

    /// Gives a packet to the network.
    #[inline]
    fn dispatch(&mut self, at_ns: i64, timestamp: u32, kind: u8, content: Content, octets: usize) {
        let sequence = self.sequence;
        self.sequence += 1;
        self.sent += 1;
        self.sent_octets += octets as u64;
        let ptime_ns = i64::from(self.spec.ptime_ms) * 1_000_000;
        let Some(arrival) = self.way.arrival(at_ns, ptime_ns) else { return };
        let delay_ns = arrival - at_ns;
        let packet = Arrival { at_ns: arrival, sequence, timestamp, base: self.base, delay_ns, kind, content };
        self.enqueue(packet);
        if let Some(copy) = self.way.copy(arrival, ptime_ns) {
            self.enqueue(Arrival { at_ns: copy, ..packet });
        }
    }

    /// By time, the next one last; of the same time the one that came first.
    #[inline]
    fn enqueue(&mut self, packet: Arrival) {
        let after = self.pending.iter().rposition(|p| p.at_ns > packet.at_ns).map_or(0, |i| i + 1);
        self.pending.insert(after, packet);
    }

    /// Remembers payload types and digits in order of appearance.
    #[inline]
    fn note(&mut self, a: &Arrival) {
        let kind = a.kind & 0x7f;
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
        if !matches!(a.content, Content::Few(_, 4)) {
            let first_ns = self.captured.as_ref().map_or(&self.tally, |captured| &captured.0).first_ns;
            self.delays.add(a.at_ns - first_ns, a.delay_ns);
        }
        match a.content {
            Content::Few(octets, 4) if self.heard != Some(a.timestamp) => {
                self.heard = Some(a.timestamp);
                self.dtmf.push(char::from(b"0123456789*#ABCD"[usize::from(octets[0] & 15)]));
            }
            Content::Few(_, 1) if kind == COMFORT_NOISE => self.comfort_noise += 1,
            _ => {}
        }
    }
}
