//! The limits of this crate's tables and timers, each with what happens beyond it. Calls that have ended leave memory.

/// Numbers of a call beside those of From and To; more are counted and not kept.
// Limit: numbers of one call beside From and To
// Beyond: further numbers are counted, not kept
// Seen in: `trunkline_calls_numbers_overflow_total`
pub const NUMBERS_PER_CALL_MAX: usize = 8;

/// Octets of a header field that is kept with its number; the rest is left out.
pub const NUMBER_SENT_OCTETS_MAX: usize = 256;

/// One second in nanoseconds.
pub const SECOND_NS: i64 = 1_000_000_000;

/// Calls kept at once. Beyond it the call with the nearest deadline is closed early and counted.
// Limit: calls followed at once
// Beyond: the call that is nearest to its end is closed early
// Seen in: `trunkline_calls_table_overflow_total`
pub const CALLS_MAX: usize = 1 << 20;

/// The last calls that began, kept to list the newest that are up; when there are more, those that have ended are
/// forgotten, then the oldest half.
// Limit: newest calls kept for the list of active calls
// Beyond: calls that have ended are forgotten, then the oldest half
// Seen in: the list is shorter than the number of active calls
pub const BEGUN_KEPT_MAX: usize = 4096;

/// Transactions outside calls, and registrations, kept at once. Beyond it the oldest is closed early and counted.
// Limit: transactions outside of calls, and registrations, at once
// Beyond: the oldest is closed early
// Seen in: `trunkline_calls_transactions_overflow_total`
pub const TRANSACTIONS_MAX: usize = 1 << 20;

/// Messages kept for the ladder of one call. Later ones are counted in `Ladder::not_kept`.
// Limit: messages in the ladder of one call
// Beyond: later messages are counted, not kept
// Seen in: `trunkline_calls_ladder_overflow_total`, and the ladder says how many
pub const MESSAGES_PER_CALL_MAX: usize = 512;

/// Hosts in one call's ladder. Messages of further hosts are drawn at the last one and marked odd.
// Limit: hosts in the ladder of one call
// Beyond: messages of further hosts are drawn at the last one
// Seen in: the messages are marked odd
pub const HOSTS_PER_CALL_MAX: usize = 32;

/// Octets of remarks kept for one ladder.
pub const TEXTS_PER_CALL_MAX: usize = 16 * 1024;

/// INVITE transactions followed in one call. Beyond it the oldest that is over is forgotten; where all are pending a
/// further one is counted and not followed.
// Limit: INVITE transactions of one call
// Beyond: the oldest that has ended is forgotten; if all are pending, the new one is not followed
// Seen in: `trunkline_calls_invites_overflow_total`
pub const INVITES_PER_CALL_MAX: usize = 32;

/// Dialogs of one call, and calling sides of its legs, that are told apart. Who calls on a further leg is taken for the
/// called side, and a BYE of a further dialog for the end of the call.
// Limit: dialogs of one call told apart
// Beyond: further legs count as the called side
// Seen in: not counted
pub const DIALOGS_PER_CALL_MAX: usize = 16;

/// Descriptions of audio kept of targets that accepted a call beside another one; further ones are not.
pub const BESIDE_PER_CALL_MAX: usize = 16;

/// Media sections of the offers of one call that are laid against answers; further ones are not.
pub const OFFERS_PER_CALL_MAX: usize = 16;

/// Hops of one call whose descriptions of media are followed; of a call with more nothing is said about when it could
/// be heard.
pub const HOPS_PER_CALL_MAX: usize = 8;

/// Times that what was agreed about audio changed, kept of one call; of a call with more nothing is said about when
/// it could be heard.
pub const CHANGES_PER_CALL_MAX: usize = 32;

/// Media endpoints announced by one call. Further ones are counted and not followed.
// Limit: media endpoints announced by one call
// Beyond: further ones are not followed
// Seen in: `trunkline_calls_endpoints_overflow_total`
pub const ENDPOINTS_PER_CALL_MAX: usize = 64;

/// Streams followed by one lane. Beyond it a new stream is counted and not followed.
// Limit: RTP streams of one lane at once
// Beyond: a new stream is not followed
// Seen in: `trunkline_calls_streams_overflow_total`
pub const STREAMS_MAX: usize = 1 << 18;

/// Streams of one call. Further ones are kept without their call.
// Limit: RTP streams of one call
// Beyond: further streams are kept without their call
// Seen in: the streams without a call
pub const STREAMS_PER_CALL_MAX: usize = 128;

/// An ended call stays open this long for retransmissions: 64 * T1 (RFC 3261 section 17.1.1.2, timer B).
pub const LINGER_NS: i64 = 32 * SECOND_NS;

/// A call whose BYE was answered stays open this long: T4 (RFC 3261 section 17.1.2.2, timer K), the longest time that a
/// message remains in the network.
pub const SETTLED_NS: i64 = 5 * SECOND_NS;

/// A message that comes again sooner than this on the same hop was captured twice: the shortest timer of SIP is T1, 500
/// ms (RFC 3261 section 17.1.1.1), and no sender's is below 100 ms.
pub const COPY_NS: i64 = SECOND_NS / 20;

/// A stream of a call that nobody took may begin so long after its end: its first packet may have been on its way.
pub const BEGINS_LATE_NS: i64 = SECOND_NS / 2;

/// An INVITE without final response is given up after this silence: above timer C (RFC 3261 section 16.6, > 3 min).
pub const SETUP_SILENCE_NS: i64 = 300 * SECOND_NS;

/// An answered call without BYE is given up after this silence of its signalling: beyond usual session timers
/// (RFC 4028 suggests 30 min), so that only calls whose BYE was not seen end so; they are counted.
pub const ANSWERED_SILENCE_NS: i64 = 4 * 3600 * SECOND_NS;

/// A stream without signalling ends after this silence.
pub const STREAM_SILENCE_NS: i64 = 60 * SECOND_NS;

/// What goes on after a longer pause may be another call's: nobody hangs up, calls and answers sooner.
pub const PAUSE_NS: i64 = SECOND_NS / 4;

/// A stream seen before its signalling is joined to it when its last packet is at most this old.
pub const ADOPT_NS: i64 = 10 * SECOND_NS;

/// Consecutive packets that make a stream of a flow nobody announced.
pub const CANDIDATE_PACKETS: usize = 4;

/// Networks of which it is kept whether their media passes the tap. Of further ones nothing is known, and counted.
// Limit: networks of which it is known whether their media passes the tap
// Beyond: nothing is known about further networks
// Seen in: `trunkline_calls_tap_networks_overflow_total`
pub const NETWORKS_SEEN_MAX: usize = 1 << 16;

/// Distinct Call-IDs that are counted exactly; beyond it only new calls and transactions are counted.
// Limit: different Call-IDs counted exactly
// Beyond: further messages count only where they begin a call or a transaction
// Seen in: not counted
pub const CALL_IDS_COUNTED_MAX: usize = 1 << 20;

/// Batches between reader and joiner, per thread. The reader waits beyond it.
// Limit: batches of packets in work, per thread of `trunkline read`
// Beyond: reading waits
// Seen in: the command takes longer
pub const BATCHES_PER_THREAD_MAX: usize = 4;

/// Rows that are gathered before they are handed to the sink.
pub const ROWS_PER_HANDOVER: usize = 256;
