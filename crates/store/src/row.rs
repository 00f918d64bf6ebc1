//! The rows of the store. A job makes them, a backend keeps them, the CLI, the API and the UI show them.
//!
//! Times are nanoseconds since 1970, UTC, inside; RFC 3339 with microseconds outside. Durations outside are
//! milliseconds with up to three decimals. The JSON names are a contract (DESIGN section 4).

mod capture;
mod number;
mod shared;

pub use capture::{CaptureLedger, MosRange};
pub use number::{NumberRole, OtherNumber};
pub use shared::SharedStream;
use trunkline_kit::Id;
use trunkline_wire::Endpoint;

/// How a call ended, as the signalling that was seen tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum CallState {
    /// An INVITE and nothing else.
    #[default]
    Attempted = 0,
    /// Last provisional was 100 (or another 1xx that does not ring).
    Trying = 1,
    /// Last provisional was 180 or 183.
    Ringing = 2,
    /// Challenged with 401 or 407 and not tried again.
    AuthChallenged = 3,
    /// Last final was 3xx.
    Redirected = 4,
    /// Last final was 4xx (but 401, 407), 5xx or 6xx.
    Rejected = 5,
    /// CANCEL with 487 or without a final.
    Cancelled = 6,
    /// 2xx to INVITE, no BYE seen.
    Answered = 7,
    /// 2xx to INVITE and BYE.
    Completed = 8,
    /// Its beginning was not seen: the capture joined it in mid-call. It is no new attempt, and has no times of setup.
    JoinedMidCall = 9,
}

/// Who ended an answered call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Hangup {
    /// Nobody that we saw.
    #[default]
    None = 0,
    /// The one who sent the first INVITE.
    Caller = 1,
    /// The other one.
    Callee = 2,
}

/// Which party of the call sent a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Direction {
    /// Not known: a stream without signalling, or signalling that does not tell.
    #[default]
    Unknown = 0,
    /// The caller sent it.
    Caller = 1,
    /// The callee sent it.
    Callee = 2,
}

/// One call: a SIP session with its legs and streams.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Call {
    /// Derived from the first packet's time and the Call-ID.
    pub id: Id,
    /// Call-ID header field, as on the wire (octets that are not UTF-8 replaced).
    pub sip_call_id: String,
    /// How it ended.
    pub state: CallState,
    /// User part of From; a telephone number without visual separators and parameters
    /// ([`trunkline_wire::sip::number`]).
    pub from: String,
    /// User part of To, in the same form.
    pub to: String,
    /// URI of From as sent; of a tel URI with its parameters, of others without.
    pub from_uri: String,
    /// URI of To, likewise.
    pub to_uri: String,
    /// Numbers beside these that its INVITEs name, in order of appearance.
    pub numbers: Vec<OtherNumber>,
    /// First message.
    pub start_ns: i64,
    /// First 180 or 183 (post-dial delay counts to here).
    pub ringing_ns: Option<i64>,
    /// First 2xx to INVITE.
    pub answer_ns: Option<i64>,
    /// First BYE of an answered call; the last final response of another; none if it was still up.
    pub end_ns: Option<i64>,
    /// Last packet of signalling or media that was seen.
    pub last_ns: i64,
    /// Status code of the final response that decides the state, else the last provisional; 0 if none came.
    pub code: u16,
    /// Its reason phrase.
    pub reason: String,
    /// Who hung up.
    pub hangup: Hangup,
    /// Where the first INVITE came from.
    pub src: Endpoint,
    /// Where the first INVITE went.
    pub dst: Endpoint,
    /// User-Agent of the first INVITE (or Server of the first response if the INVITE was not seen).
    pub user_agent: String,
    /// The lowest G.107 score of the streams that have one.
    pub mos: Option<f32>,
    /// What the capture did to it.
    pub capture: CaptureLedger,
    /// One sentence that says what was wrong, or none.
    pub verdict: Option<Verdict>,
    /// The signalling, in order: what the ladder is drawn from.
    pub ladder: Ladder,
    /// The media, by first packet.
    pub streams: Vec<Stream>,
    /// Media of this call that is kept with another one, see [`SharedStream`].
    pub shared: Vec<SharedStream>,
    /// The files of the capture that hold its packets, as they were named when read (absolute path, or "-").
    pub files: Vec<String>,
}

/// What was wrong with a call and why we think so.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Verdict {
    /// A short stable name that filters and alerts use: `one-way-audio`, `loss`, `early-hangup`.
    pub kind: String,
    /// The sentence for people.
    pub text: String,
    /// Numbers of the packets that show it (in the input as read).
    pub packets: Vec<u64>,
}

/// The signalling of a call, compact.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Ladder {
    /// The hosts, in the order in which they appeared. At most 255.
    pub hosts: Vec<Endpoint>,
    /// The messages, in order of capture.
    pub messages: Vec<Message>,
    /// Texts that [`Message::text`] points into.
    pub texts: String,
    /// Messages that were not kept because of the limit on messages of a call.
    pub not_kept: u32,
}

impl Ladder {
    /// What to say about a message; empty where there is nothing, or where the message points past the texts.
    pub fn text_of(&self, message: &Message) -> &str {
        let start = message.text.0 as usize;
        self.texts.get(start..start.saturating_add(usize::from(message.text.1))).unwrap_or_default()
    }
}

/// One SIP message of a ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Message {
    /// When it was captured (for TCP: when its last octet was).
    pub at_ns: i64,
    /// Number of the packet that completed it, from 1, in the whole input.
    pub packet: u64,
    /// Offset of that packet's record in its (decompressed) file.
    pub offset: u64,
    /// Octets of the message.
    pub octets: u32,
    /// Sequence number of CSeq.
    pub cseq: u32,
    /// Index of its file in [`Call::files`].
    pub file: u16,
    /// Status code; 0 for a request.
    pub status: u16,
    /// The method: of a request its own, of a response that of CSeq (see [`Message::method_name`]).
    pub method: u8,
    /// Index of the sender in [`Ladder::hosts`].
    pub src: u8,
    /// Index of the receiver in [`Ladder::hosts`].
    pub dst: u8,
    /// What is worth marking: `Message::SDP`, `RETRANSMISSION`, ...
    pub flags: u8,
    /// Start and length, in [`Ladder::texts`], of what to say about it: reason phrase or SDP in brief and oddities.
    pub text: (u32, u16),
}

impl Message {
    /// It carries SDP.
    pub const SDP: u8 = 1;
    /// It repeats an earlier message of the same hop.
    pub const RETRANSMISSION: u8 = 2;
    /// Something about it was odd; the text says what.
    pub const ODD: u8 = 4;
    /// The snap length cut it.
    pub const CUT: u8 = 8;
    /// It came over TCP.
    pub const TCP: u8 = 16;
    /// It is an earlier message of the same hop captured twice, sooner than any timer of SIP repeats one: the mirror
    /// port made the copy.
    pub const COPY: u8 = 32;

    /// Methods by number; 0 is any other (the text begins with its name).
    pub const METHODS: [&'static str; 15] = [
        "other",
        "INVITE",
        "ACK",
        "BYE",
        "CANCEL",
        "REGISTER",
        "OPTIONS",
        "SUBSCRIBE",
        "NOTIFY",
        "MESSAGE",
        "PUBLISH",
        "INFO",
        "UPDATE",
        "PRACK",
        "REFER",
    ];

    /// The name of the method.
    pub fn method_name(&self) -> &'static str {
        Self::METHODS.get(usize::from(self.method)).copied().unwrap_or("other")
    }
}

/// Scores of a stream. None where no value is published for the codec or too little was seen.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Mos {
    /// ITU-T G.107 (narrowband) or G.107.1 (wideband), the codec's own Ie and Bpl, discards included; no delay term.
    pub g107: Option<f32>,
    /// Whether `g107` is on the wideband scale of G.107.1.
    pub wideband: bool,
    /// VoIPmonitor-compatible, fixed 50 ms jitter buffer.
    pub vm_f1: Option<f32>,
    /// VoIPmonitor-compatible, fixed 200 ms jitter buffer.
    pub vm_f2: Option<f32>,
    /// VoIPmonitor-compatible, adaptive 500 ms jitter buffer.
    pub vm_adapt: Option<f32>,
}

/// One RTP stream: one SSRC in one direction.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Stream {
    /// Derived from the first packet's time, the SSRC and the addresses.
    pub id: Id,
    /// The call it belongs to; none for a stream without signalling.
    pub call: Option<Id>,
    /// Synchronisation source.
    pub ssrc: u32,
    /// Who sent it.
    pub src: Endpoint,
    /// Whom it was sent to.
    pub dst: Endpoint,
    /// Which party sent it.
    pub direction: Direction,
    /// Encoding names in order of appearance, joined with ", " ("PCMA, telephone-event").
    pub codec: String,
    /// RTP clock rate of the first codec, Hz.
    pub clock_rate: u32,
    /// Payload types seen, in order of appearance.
    pub payload_types: Vec<u8>,
    /// Packet time, milliseconds; 0 if it could not be told.
    pub ptime_ms: f32,
    /// All packets that arrived, copies included.
    pub packets: u64,
    /// RTP payload octets of all that arrived.
    pub octets: u64,
    /// Highest - lowest extended sequence number + 1.
    pub expected: u64,
    /// expected - packets (RFC 3550 A.3): copies hide losses, so it may be negative.
    pub lost: i64,
    /// Distinct lost packets.
    pub missing: u64,
    /// Of these, packets of a fax that its receiver can restore: later ones repeat them, or their parity tells (T.38).
    pub recovered: u64,
    /// Exact copies.
    pub duplicates: u64,
    /// Packets that came after a higher sequence number, copies left out.
    pub reordered: u64,
    /// Mean over all packets but the first of the RFC 3550 A.8 jitter, milliseconds.
    pub jitter_mean_ms: f64,
    /// Highest RFC 3550 A.8 jitter, milliseconds.
    pub jitter_max_ms: f64,
    /// Packets that the modelled jitter buffer (fixed, 200 ms) discarded as late.
    pub discarded: u64,
    /// First packet.
    pub first_ns: i64,
    /// Last packet.
    pub last_ns: i64,
    /// Scores.
    pub mos: Mos,
    /// Burst ratio of missing and discarded packets (G.107: 1 = independent); none without loss.
    pub burst_ratio: Option<f32>,
    /// Runs of lost packets by length: `[0]` runs of 1 .. `[8]` runs of 9, `[9]` longer.
    pub loss_runs: [u32; 10],
    /// Differences of transit between neighbours: 50-70, 70-90, 90-120, 120-150, 150-200, 200-300, >= 300 ms.
    pub delay_histogram: [u32; 7],
    /// Talkspurts (marker bits and gaps of discontinuous transmission).
    pub talkspurts: u32,
    /// Comfort-noise packets (RFC 3389).
    pub comfort_noise: u32,
    /// RFC 4733 digits and events in order ("1", "#", "*", "flash").
    pub dtmf: String,
    /// It is SRTP: SDP offers it, or a DTLS handshake came before it on its flow.
    pub encrypted: bool,
    /// What RTCP said about it.
    pub rtcp: RtcpSummary,
    /// Of the missing packets, those that were lost at the tap: at most.
    pub lost_at_tap: u64,
    /// As many of these as are certain.
    pub lost_at_tap_least: u64,
    /// Between which scores its G.107 score is, where packets were lost at the tap.
    pub mos_range: Option<MosRange>,
    /// Differences in milliseconds between the media clock and the capture clock, parts per million.
    pub skew_ppm: Option<f32>,
    /// Times its timestamps jumped although its packets came in step: another base, or silence that was not counted.
    /// What came of it is left out of jitter and of the model of a buffer.
    pub timestamp_jumps: u32,
    /// Times its sequence numbers jumped although no time passed, or began anew. The numbers between are not missing.
    pub sequence_jumps: u32,
    /// Its G.107 score at the receiver: with what the receiver lost behind the tap, where it says that it did.
    pub mos_receiver: Option<f32>,
    /// Highest DSCP seen and whether it changed.
    pub dscp: u8,
    /// Number of the first and last packet in the whole input.
    pub packet_first: u64,
    /// See `packet_first`.
    pub packet_last: u64,
    /// File (index in [`Call::files`]) and record offset of the first packet.
    pub file: u16,
    /// See `file`.
    pub offset_first: u64,
    /// Record offset of the last packet.
    pub offset_last: u64,
}

/// What RTCP reports said about a stream.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RtcpSummary {
    /// Sender reports of the stream's sender.
    pub sender_reports: u32,
    /// Reports of receivers about the stream (report blocks).
    pub receiver_reports: u32,
    /// Last cumulative number of packets lost that a receiver reported.
    pub lost: Option<i32>,
    /// Packets of the stream that were missing here when that report was captured, counted as the receiver counts. More
    /// than the receiver lost: the difference got there and was lost at the tap.
    pub missing_here: Option<u64>,
    /// Packets that came by here and that the receiver lost by its last report: behind the tap.
    pub lost_after_tap: u64,
    /// Of so many packets that came by here until then; 0 if nothing can be said.
    pub passed: u64,
    /// Highest fraction lost that a receiver reported, 0..=255 of 256.
    pub fraction_max: u8,
    /// Highest interarrival jitter that a receiver reported, milliseconds.
    pub jitter_max_ms: Option<f32>,
    /// Last round-trip time computed from LSR and DLSR, milliseconds.
    pub round_trip_ms: Option<f32>,
    /// Packets the sender says it sent, from the last sender report.
    pub sent: Option<u32>,
}

/// Ten seconds of a stream, for plots.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct StreamInterval {
    /// The stream.
    pub stream: Id,
    /// Number of the interval, from 0, ten seconds each from the stream's first packet.
    pub index: u32,
    /// When it began.
    pub start_ns: i64,
    /// Packets that arrived in it.
    pub packets: u32,
    /// Packets missing in it.
    pub missing: u32,
    /// Copies in it.
    pub duplicates: u32,
    /// Packets that came late in it.
    pub reordered: u32,
    /// Mean jitter in it, milliseconds.
    pub jitter_mean_ms: f32,
    /// Highest jitter in it, milliseconds.
    pub jitter_max_ms: f32,
    /// G.107 or G.107.1 score of it.
    pub mos: Option<f32>,
    /// VoIPmonitor-compatible F1, F2, adaptive.
    pub mos_vm: [Option<f32>; 3],
    /// Transit of its packets; none while the stream's clock is not known.
    pub transit: Option<Transit>,
    /// Longest round trip that reports in it tell ([`RtcpSummary::round_trip_ms`]), milliseconds.
    pub round_trip_ms: Option<f32>,
}

/// Arrival less media time of an interval's packets, milliseconds from an origin of the stream: what the delay on the
/// way is but for a constant that nobody at one tap can know (`crate::delay`). Copies and telephone events are left
/// out.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Transit {
    /// Of the fastest packet.
    pub min_ms: f32,
    /// Mean.
    pub mean_ms: f32,
    /// Of the slowest.
    pub max_ms: f32,
}

/// A REGISTER transaction (with its challenges: the transactions of one Call-ID within 32 s that lead to one result).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Registration {
    /// Derived from the first packet and the Call-ID.
    pub id: Id,
    /// Call-ID.
    pub sip_call_id: String,
    /// Address of record: the URI of To.
    pub aor: String,
    /// User part of To.
    pub user: String,
    /// First Contact of the request.
    pub contact: String,
    /// Seconds asked for (Contact's expires or Expires); none if not said.
    pub expires: Option<u32>,
    /// First request.
    pub start_ns: i64,
    /// Last final response; none if none came.
    pub end_ns: Option<i64>,
    /// Status of the last final response, 0 if none.
    pub code: u16,
    /// Its reason phrase.
    pub reason: String,
    /// Who asked.
    pub src: Endpoint,
    /// Who was asked.
    pub dst: Endpoint,
    /// User-Agent of the request.
    pub user_agent: String,
    /// Requests seen, retransmissions included.
    pub requests: u32,
    /// Of these, retransmissions.
    pub retransmissions: u32,
    /// One sentence if it failed.
    pub verdict: Option<Verdict>,
}

/// A transaction outside calls and registrations: OPTIONS, SUBSCRIBE, NOTIFY, MESSAGE, PUBLISH, INFO, ...
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SipEvent {
    /// Derived from the first packet, Call-ID and CSeq.
    pub id: Id,
    /// Method.
    pub method: String,
    /// Call-ID.
    pub sip_call_id: String,
    /// User part of From.
    pub from: String,
    /// User part of To.
    pub to: String,
    /// First request.
    pub start_ns: i64,
    /// Final response; none if none came.
    pub end_ns: Option<i64>,
    /// Its status, 0 if none.
    pub code: u16,
    /// Its reason phrase.
    pub reason: String,
    /// Who asked.
    pub src: Endpoint,
    /// Who was asked.
    pub dst: Endpoint,
    /// Retransmissions of the request.
    pub retransmissions: u32,
}

/// Packets that the capture lost or that could not be used, by place.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Loss {
    /// When counting began.
    pub since_ns: i64,
    /// When it was reported.
    pub at_ns: i64,
    /// Where: `interface`, `operating-system`, `table-streams`, ...
    pub place: String,
    /// The file or interface.
    pub source: String,
    /// Packets (or what the place counts).
    pub count: u64,
}

/// A charging data record.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Charge {
    /// Derived from when the record began, its node and number.
    pub id: Id,
    /// The node that made it.
    pub node: String,
    /// Its number there.
    pub number: u32,
    /// The entry of that node's ledger that ended it.
    pub entry: u64,
    /// What it is of: `session`, `event`, or `stray` (usage of no session).
    pub kind: String,
    /// Session-Id.
    pub session: String,
    /// Origin-Host of the client.
    pub origin: String,
    /// Whose it is; 0 is nobody known.
    pub subscriber: u64,
    /// Who pays; 0 is nobody.
    pub account: u64,
    /// Digits of the IMSI; empty where it was not told.
    pub imsi: String,
    /// Digits of the number, international.
    pub msisdn: String,
    /// Access point.
    pub apn: String,
    /// The number that was called.
    pub destination: String,
    /// When the record began.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// Why: causeForRecClosing of TS 32.298.
    pub cause: u32,
    /// Which record of its session it is; none if it is the only one.
    pub record: Option<u32>,
    /// The bearer's number at its gateway.
    pub charging_id: Option<u32>,
    /// Octets of both directions.
    pub octets: u64,
    /// Octets from the subscriber.
    pub octets_in: u64,
    /// Octets to the subscriber.
    pub octets_out: u64,
    /// Seconds of use.
    pub seconds: u64,
    /// Units of services, and events.
    pub service_units: u64,
    /// What was debited, less what was given back; minor units.
    pub money: i64,
    /// What should have been debited, and was not there.
    pub short: i64,
    /// Units that allowances paid for.
    pub allowance_units: u64,
    /// Whether a tariff had rules for all of it.
    pub rated: bool,
    /// What was used of each service: a JSON list of objects.
    pub services: String,
    /// What the names of the files begin with that the record is in: node and running count.
    pub file: String,
}

/// A batch of rows that a job hands to the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Calls, with their streams.
    pub calls: Vec<Call>,
    /// Streams that belong to no call.
    pub streams: Vec<Stream>,
    /// Intervals of streams.
    pub intervals: Vec<StreamInterval>,
    /// Registrations.
    pub registrations: Vec<Registration>,
    /// Other transactions.
    pub events: Vec<SipEvent>,
    /// Losses.
    pub losses: Vec<Loss>,
    /// Charging data records.
    pub charges: Vec<Charge>,
}

impl Rows {
    /// How many there are; streams of calls are not counted apart.
    pub fn count(&self) -> usize {
        let media = self.streams.len() + self.intervals.len();
        let signalling = self.calls.len() + self.registrations.len() + self.events.len();
        signalling + media + self.losses.len() + self.charges.len()
    }
}
