//! The shapes of rows in answers, for the document. They are written by `trunkline_store::json`, not from these types;
//! a test compares what is answered with what is written here.

use serde::Serialize;
use utoipa::ToSchema;

/// What went wrong (RFC 9457).
#[derive(Serialize, ToSchema)]
pub struct Problem {
    /// `/problems/` and the kind: signed-out, forbidden, csrf, network, host, not-found, method, ambiguous, bad-filter,
    /// bad-parameter, bad-link, bad-password, conflict, too-large, too-many, locked, provider, busy, no-room,
    /// failed.
    pub r#type: String,
    /// The kind in words.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What is wrong, for people.
    pub detail: String,
    /// The parameter that is wrong (bad-parameter).
    pub parameter: Option<String>,
    /// Where the filter is wrong: characters from 1 (bad-filter).
    pub column: Option<u64>,
    /// How many characters are meant (bad-filter).
    pub width: Option<u64>,
    /// What stands there (bad-filter).
    pub near: Option<String>,
    /// What is wrong with it (bad-filter).
    pub message: Option<String>,
    /// What was expected (bad-filter).
    pub expected: Option<String>,
    /// Identifiers of the calls that are called that (ambiguous).
    pub candidates: Option<Vec<Candidate>>,
    /// When it makes sense to try again, seconds (too-many, locked, busy).
    pub retry_after_s: Option<u64>,
    /// Whether the session is over although that could not be written (failed, of signing out).
    pub signed_out: Option<bool>,
}

/// One of several calls.
#[derive(Serialize, ToSchema)]
pub struct Candidate {
    /// Its identifier.
    pub id: String,
    /// First message, RFC 3339.
    pub start: String,
}

/// A number of a call beside those of From and To.
#[derive(Serialize, ToSchema)]
pub struct OtherNumber {
    /// What it says about the call.
    pub role: NumberRole,
    /// The number, as `from` of the call.
    pub number: String,
    /// Name and value of the header field, as sent.
    pub sent: String,
}

/// A stream of two calls that is kept with the other one.
#[derive(Serialize, ToSchema)]
pub struct SharedStream {
    /// The call that has it.
    pub call: String,
    /// The stream, an element of that call's `streams`.
    pub id: String,
    /// Who of this call sent it; null where that is not known.
    pub direction: Option<Direction>,
}

/// One call.
#[derive(Serialize, ToSchema)]
pub struct Call {
    /// UUIDv7, from the capture.
    pub id: String,
    /// Call-ID header field.
    pub sip_call_id: String,
    /// How it ended.
    pub state: CallState,
    /// User part of From; a telephone number without separators and parameters.
    pub from: String,
    /// User part of To, likewise.
    pub to: String,
    /// URI of From.
    pub from_uri: String,
    /// URI of To.
    pub to_uri: String,
    /// Numbers beside these that its INVITEs name.
    pub numbers: Vec<OtherNumber>,
    /// First message.
    #[schema(format = DateTime)]
    pub start: String,
    /// First 2xx to INVITE.
    #[schema(format = DateTime)]
    pub answer: Option<String>,
    /// First BYE, or the last final response.
    #[schema(format = DateTime)]
    pub end: Option<String>,
    /// Start to ringing, milliseconds.
    pub pdd_ms: Option<f64>,
    /// Start to answer, milliseconds.
    pub setup_ms: Option<f64>,
    /// Answer to end, milliseconds.
    pub duration_ms: Option<f64>,
    /// Status code of the deciding response.
    pub code: Option<u16>,
    /// Its reason phrase.
    pub reason: Option<String>,
    /// Who hung up.
    pub hangup: Hangup,
    /// Where the first INVITE came from, ip:port.
    pub src: Option<String>,
    /// Where it went.
    pub dst: Option<String>,
    /// User-Agent of the first INVITE.
    pub user_agent: Option<String>,
    /// Lowest score of the streams.
    pub mos: Option<f64>,
    /// Between which scores it is, where packets were lost at the tap.
    pub mos_range: Option<MosRange>,
    /// What the capture itself did to it.
    pub capture: CaptureLedger,
    /// What was wrong, a sentence.
    pub verdict: Option<String>,
    /// Its short name.
    pub verdict_kind: Option<String>,
    /// Numbers of the packets that show it.
    pub verdict_packets: Vec<u64>,
    /// Its media.
    pub streams: Vec<Stream>,
    /// Its media that is kept with another call, whose SDP names the same endpoints.
    pub shared_streams: Vec<SharedStream>,
    /// First 180 or 183.
    #[schema(format = DateTime)]
    pub ringing: Option<String>,
    /// Last packet.
    #[schema(format = DateTime)]
    pub last: String,
    /// Messages of signalling.
    pub messages: u64,
    /// Files of the capture that hold its packets.
    pub files: Vec<String>,
}

/// One call with its signalling.
#[derive(Serialize, ToSchema)]
pub struct CallWithLadder {
    /// The call.
    #[serde(flatten)]
    pub call: Call,
    /// What was checked of it, a phrase each.
    pub checked: Vec<String>,
    /// What could not be checked, and why.
    pub not_checked: Vec<String>,
    /// What is thin about the evidence of its verdict.
    pub thin_evidence: Vec<String>,
    /// Its signalling.
    pub ladder: Ladder,
}

/// How a call ended.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "names of DESIGN section 4")]
pub enum CallState {
    Attempted,
    Trying,
    Ringing,
    AuthChallenged,
    Redirected,
    Rejected,
    Cancelled,
    Answered,
    Completed,
    JoinedMidCall,
}

/// What a number beside those of From and To says.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NumberRole {
    /// Who calls, as the network says: P-Asserted-Identity, P-Preferred-Identity, Remote-Party-ID.
    Asserted,
    /// Who is asked for: the Request-URI.
    Requested,
    /// Who was called before the call was diverted: Diversion, History-Info.
    DivertedFrom,
}

/// Who hung up.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "names of DESIGN section 4")]
pub enum Hangup {
    None,
    Caller,
    Callee,
}

/// Who sent a stream.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "names of DESIGN section 4")]
pub enum Direction {
    Caller,
    Callee,
}

/// Between which scores the true one is.
#[derive(Serialize, ToSchema)]
pub struct MosRange {
    /// If what is missing did not come.
    pub low: Option<f64>,
    /// If all came that may have been lost at the tap.
    pub high: Option<f64>,
}

/// What the capture itself did to a call.
#[derive(Serialize, ToSchema)]
pub struct CaptureLedger {
    /// Whether everything was seen, as far as it can be told.
    pub complete: bool,
    /// Packets that the capture lost, at most.
    pub lost_at_tap: u64,
    /// As many of these as are certain.
    pub lost_at_tap_least: u64,
    /// Packets lost before they came to where we listened.
    pub lost_before_tap: u64,
    /// Why it is not complete.
    pub note: Option<String>,
}

/// One RTP stream: one SSRC in one direction.
#[derive(Serialize, ToSchema)]
pub struct Stream {
    /// Synchronisation source, `0x3a980074`.
    pub ssrc: String,
    /// Who sent it, ip:port.
    pub src: Option<String>,
    /// Whom it was sent to.
    pub dst: Option<String>,
    /// Which party sent it.
    pub direction: Option<Direction>,
    /// Encoding names in order of appearance.
    pub codec: Option<String>,
    /// RTP clock rate, Hz.
    pub clock_rate: Option<u32>,
    /// All that arrived, copies included.
    pub packets: u64,
    /// Highest - lowest extended sequence number + 1.
    pub expected: u64,
    /// expected - packets (RFC 3550 A.3).
    pub lost: i64,
    /// Distinct lost packets.
    pub missing: u64,
    /// Of these, packets of a fax (T.38) that later ones repeat, or whose parity restores them.
    pub recovered: u64,
    /// Exact copies.
    pub duplicates: u64,
    /// Packets that came after a higher sequence number.
    pub reordered: u64,
    /// Mean jitter (RFC 3550 A.8), milliseconds.
    pub jitter_mean_ms: Option<f64>,
    /// Highest jitter.
    pub jitter_max_ms: Option<f64>,
    /// First packet.
    #[schema(format = DateTime)]
    pub first: String,
    /// Last packet.
    #[schema(format = DateTime)]
    pub last: String,
    /// Scores.
    pub mos: Mos,
    /// Between which scores it is, where packets were lost at the tap.
    pub mos_range: Option<MosRange>,
    /// Of the missing packets, those lost at the tap, at most.
    pub lost_at_tap: u64,
    /// As many of these as are certain.
    pub lost_at_tap_least: u64,
    /// Runs of lost packets by length: 1 .. 9, longer.
    pub loss_runs: Vec<u64>,
    /// Differences of transit: 50-70, 70-90, 90-120, 120-150, 150-200, 200-300, >= 300 ms.
    pub delay_histogram: Vec<u64>,
    /// UUIDv7.
    pub id: String,
    /// Its call; null for a stream without signalling.
    pub call: Option<String>,
    /// Payload types in order of appearance.
    pub payload_types: Vec<u64>,
    /// Packet time, milliseconds.
    pub ptime_ms: Option<f64>,
    /// Octets of payload.
    pub octets: u64,
    /// Packets that the modelled jitter buffer discarded as late.
    pub discarded: u64,
    /// Burst ratio of G.107; null without loss.
    pub burst_ratio: Option<f64>,
    /// Talkspurts.
    pub talkspurts: u64,
    /// Comfort-noise packets.
    pub comfort_noise: u64,
    /// RFC 4733 digits and events in order.
    pub dtmf: Option<String>,
    /// SRTP offered.
    pub encrypted: bool,
    /// What RTCP said.
    pub rtcp: Rtcp,
    /// Media clock against capture clock, parts per million.
    pub skew_ppm: Option<f64>,
    /// Times the timestamps jumped although the packets came in step.
    pub timestamp_jumps: u64,
    /// Times the sequence numbers jumped although no time passed, or began anew.
    pub sequence_jumps: u64,
    /// G.107 score at the receiver, where it reports loss behind the tap.
    pub mos_receiver: Option<f64>,
    /// Highest DSCP.
    pub dscp: u64,
    /// Number of the first packet in the input.
    pub packet_first: u64,
    /// Number of the last.
    pub packet_last: u64,
}

/// Scores of a stream.
#[derive(Serialize, ToSchema)]
pub struct Mos {
    /// ITU-T G.107 or G.107.1.
    pub g107: Option<f64>,
    /// `narrowband` or `wideband`.
    pub scale: Option<String>,
    /// VoIPmonitor-compatible, fixed 50 ms buffer.
    pub vm_f1: Option<f64>,
    /// VoIPmonitor-compatible, fixed 200 ms buffer.
    pub vm_f2: Option<f64>,
    /// VoIPmonitor-compatible, adaptive 500 ms buffer.
    pub vm_adapt: Option<f64>,
}

/// What RTCP reports said about a stream.
#[derive(Serialize, ToSchema)]
pub struct Rtcp {
    /// Sender reports.
    pub sender_reports: u64,
    /// Receiver reports about it.
    pub receiver_reports: u64,
    /// Last cumulative number of packets lost.
    pub lost: Option<i64>,
    /// Highest fraction lost, 0 to 1.
    pub fraction_max: Option<f64>,
    /// Highest jitter reported, milliseconds.
    pub jitter_max_ms: Option<f64>,
    /// Last round-trip time, milliseconds.
    pub round_trip_ms: Option<f64>,
    /// Packets that the sender says it sent.
    pub sent: Option<u64>,
    /// Packets missing here when that report was captured.
    pub missing_here: Option<u64>,
    /// Packets that came by here and that the receiver lost by its last report.
    pub lost_after_tap: u64,
    /// Of so many packets that came by here until then; 0 if nothing can be said.
    pub passed: u64,
}

/// The signalling of a call.
#[derive(Serialize, ToSchema)]
pub struct Ladder {
    /// The hosts, ip:port, in order of appearance.
    pub hosts: Vec<String>,
    /// The messages, in order of capture.
    pub messages: Vec<LadderMessage>,
    /// Messages that were not kept.
    pub not_kept: u64,
}

/// One SIP message of a ladder.
#[derive(Serialize, ToSchema)]
pub struct LadderMessage {
    /// When it was captured.
    #[schema(format = DateTime)]
    pub at: String,
    /// Index of the sender in `hosts`.
    pub src: u64,
    /// Index of the receiver in `hosts`.
    pub dst: u64,
    /// The method: of a response, that of CSeq.
    pub method: String,
    /// Status code; null for a request.
    pub status: Option<u16>,
    /// Sequence number of CSeq.
    pub cseq: u64,
    /// Reason phrase or SDP in brief, and oddities.
    pub text: Option<String>,
    /// It carries SDP.
    pub sdp: bool,
    /// It repeats an earlier message.
    pub retransmission: bool,
    /// Something about it was odd.
    pub odd: bool,
    /// The snap length cut it.
    pub cut: bool,
    /// It came over TCP.
    pub tcp: bool,
    /// The mirror port made it twice.
    pub copy: bool,
    /// Octets of the message.
    pub octets: u64,
    /// Number of the packet that completed it.
    pub packet: u64,
    /// Index of its file in `files`.
    pub file: u64,
    /// Offset of the packet's record in its file.
    pub offset: u64,
}

/// A REGISTER transaction.
#[derive(Serialize, ToSchema)]
pub struct Registration {
    /// UUIDv7.
    pub id: String,
    /// Call-ID.
    pub sip_call_id: String,
    /// Address of record.
    pub aor: String,
    /// User part of To.
    pub user: String,
    /// First Contact.
    pub contact: Option<String>,
    /// Seconds asked for.
    pub expires: Option<u32>,
    /// First request.
    #[schema(format = DateTime)]
    pub start: String,
    /// Last final response.
    #[schema(format = DateTime)]
    pub end: Option<String>,
    /// From start to end, milliseconds.
    pub response_ms: Option<f64>,
    /// Status of the last final response.
    pub code: Option<u16>,
    /// Its reason phrase.
    pub reason: Option<String>,
    /// Who asked, ip:port.
    pub src: Option<String>,
    /// Who was asked.
    pub dst: Option<String>,
    /// User-Agent.
    pub user_agent: Option<String>,
    /// Requests seen.
    pub requests: u64,
    /// Of these, retransmissions.
    pub retransmissions: u64,
    /// What was wrong, a sentence.
    pub verdict: Option<String>,
    /// Its short name.
    pub verdict_kind: Option<String>,
    /// Numbers of the packets that show it.
    pub verdict_packets: Vec<u64>,
}

/// A transaction outside calls and registrations.
#[derive(Serialize, ToSchema)]
pub struct SipEvent {
    /// UUIDv7.
    pub id: String,
    /// Method.
    pub method: String,
    /// Call-ID.
    pub sip_call_id: String,
    /// User part of From.
    pub from: String,
    /// User part of To.
    pub to: String,
    /// First request.
    #[schema(format = DateTime)]
    pub start: String,
    /// Final response.
    #[schema(format = DateTime)]
    pub end: Option<String>,
    /// From start to end, milliseconds.
    pub response_ms: Option<f64>,
    /// Its status.
    pub code: Option<u16>,
    /// Its reason phrase.
    pub reason: Option<String>,
    /// Who asked, ip:port.
    pub src: Option<String>,
    /// Who was asked.
    pub dst: Option<String>,
    /// Retransmissions.
    pub retransmissions: u64,
}

/// Packets that the capture lost.
#[derive(Serialize, ToSchema)]
pub struct Loss {
    /// When counting began.
    #[schema(format = DateTime)]
    pub since: String,
    /// When it was told.
    #[schema(format = DateTime)]
    pub at: String,
    /// Where: interface, operating-system, ...
    pub place: String,
    /// The file or interface.
    pub source: String,
    /// How many.
    pub count: u64,
}

/// A day that could not be read.
#[derive(Serialize, ToSchema)]
pub struct SkippedDay {
    /// Which, UTC.
    #[schema(format = Date)]
    pub day: String,
    /// What is wrong with it.
    pub why: String,
}
