//! The tables of a day, described once: backends make their DDL from this, SQL views and their help too.

/// The version of these tables and of the packed columns. A change of either needs a new number.
pub const VERSION: i64 = 7;

/// The oldest version that is read; a day of it becomes one of [`VERSION`] when it is written.
pub const VERSION_READ_MIN: i64 = 3;

/// The first version with gists of calls.
pub const VERSION_GISTS: i64 = 4;

/// The first version that notes what there is of each slice of the day.
pub const VERSION_SLICES: i64 = 5;

/// The first version with transit and round trip of intervals.
pub const VERSION_TRANSIT: i64 = 5;

/// The first version with charging data records.
pub const VERSION_CHARGES: i64 = 6;

/// The first version that counts calls joined in mid-call.
pub const VERSION_JOINED: i64 = 7;
/// The first version with numbers of calls beside those of From and To.
pub const VERSION_NUMBERS: i64 = 7;

/// A column that came later than its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later {
    /// The version that it came with.
    pub version: i64,
    /// Its table.
    pub table: &'static str,
    /// Its name.
    pub column: &'static str,
    /// What it holds in rows that are older, as SQL.
    pub before: &'static str,
}

const fn later(version: i64, table: &'static str, column: &'static str, before: &'static str) -> Later {
    Later { version, table, column, before }
}

/// All columns that came later than [`VERSION_READ_MIN`].
pub const LATER: [Later; 8] = [
    later(VERSION_GISTS, "minutes", "bad", "0"),
    later(VERSION_GISTS, "minutes", "delivered", "0"),
    later(VERSION_GISTS, "minutes", "challenged", "0"),
    later(VERSION_JOINED, "minutes", "joined", "0"),
    later(VERSION_TRANSIT, "stream_intervals", "transit_min_ms", "NULL"),
    later(VERSION_TRANSIT, "stream_intervals", "transit_mean_ms", "NULL"),
    later(VERSION_TRANSIT, "stream_intervals", "transit_max_ms", "NULL"),
    later(VERSION_TRANSIT, "stream_intervals", "round_trip_ms", "NULL"),
];

/// How a column is kept and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The time-ordered number that a row lies under (see `crate::key`).
    Key,
    /// A UUID, 16 octets.
    Id,
    /// A whole number.
    Whole,
    /// A number in double precision.
    Real,
    /// A text.
    Text,
    /// A telephone number or another user part: compared without ASCII case.
    Number,
    /// A text of which there are few: kept once, in the dictionary of the day.
    Word,
    /// Nanoseconds since 1970, UTC.
    Time,
    /// Address and port, 6 or 18 octets.
    Endpoint,
    /// The number of one of these names.
    Name(&'static [&'static str]),
    /// Yes or no.
    Flag,
    /// What is rarely searched, packed (`crate::detail`); these names can be taken out of it.
    Packed(&'static [&'static str]),
}

/// One column. Every column but those of the primary key may be NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// How it is kept.
    pub kind: Kind,
    /// What it says.
    pub help: &'static str,
}

/// One table of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub help: &'static str,
    /// Its columns, in the order in which rows are bound and read.
    pub columns: &'static [Column],
    /// The names of the primary key's columns.
    pub key: &'static [&'static str],
    /// Secondary indexes: name and columns.
    pub indexes: &'static [(&'static str, &'static [&'static str])],
}

impl Table {
    /// The first version that has it.
    pub fn since(&self) -> i64 {
        if self.name == CHARGES.name { VERSION_CHARGES } else { VERSION_READ_MIN }
    }

    /// Names of the columns, joined with ", ".
    pub fn names(&self) -> String {
        self.columns.iter().map(|c| c.name).collect::<Vec<_>>().join(", ")
    }
}

const fn column(name: &'static str, kind: Kind, help: &'static str) -> Column {
    Column { name, kind, help }
}

/// All tables of a day.
pub const TABLES: [&Table; 8] =
    [&CALLS, &STREAMS, &STREAM_INTERVALS, &REGISTRATIONS, &SIP_EVENTS, &LOSSES, &MINUTES, &CHARGES];

/// What the packed column of a call holds.
pub const CALL_PARTS: [&str; 11] = [
    "from_uri",
    "to_uri",
    "numbers",
    "reason",
    "complete",
    "lost_at_tap",
    "lost_before_tap",
    "note",
    "verdict",
    "messages",
    "retransmissions",
];

/// Calls. Numbers and Call-IDs have an index of their own kind (`crate::entry`).
pub const CALLS: Table = Table {
    name: "calls",
    help: "calls: SIP sessions with an INVITE",
    columns: &[
        column("key", Kind::Key, "orders calls by start"),
        column("id", Kind::Id, "identifier"),
        column("caller", Kind::Number, "user part of From"),
        column("callee", Kind::Number, "user part of To"),
        column("sip_call_id", Kind::Text, "Call-ID header field"),
        column("start_ns", Kind::Time, "first message"),
        column("ringing_ns", Kind::Time, "first 180 or 183"),
        column("answer_ns", Kind::Time, "first 2xx to INVITE"),
        column("end_ns", Kind::Time, "BYE, or the last final response"),
        column("last_ns", Kind::Time, "last packet seen"),
        column("seen", Kind::Whole, "messages and packets seen"),
        column("state", Kind::Name(&crate::json::STATES), "how it ended"),
        column("code", Kind::Whole, "status code of the deciding response"),
        column("hangup", Kind::Name(&crate::json::HANGUPS), "who ended it"),
        column("src", Kind::Endpoint, "where the first INVITE came from"),
        column("dst", Kind::Endpoint, "where the first INVITE went"),
        column("user_agent", Kind::Word, "User-Agent of the first INVITE"),
        column("mos", Kind::Real, "lowest G.107 score of its streams"),
        column("lost_percent", Kind::Real, "lost packets, worst stream"),
        column("jitter_mean_ms", Kind::Real, "mean jitter, worst stream"),
        column("jitter_max_ms", Kind::Real, "highest jitter, worst stream"),
        column("codecs", Kind::Word, "codecs of its streams"),
        column("verdict_kind", Kind::Word, "short name of what was wrong"),
        column("files", Kind::Word, "capture files, separated by NUL"),
        column("detail", Kind::Packed(&CALL_PARTS), "ladder and what is rarely searched"),
    ],
    key: &["key"],
    indexes: &[],
};

/// Streams: those of calls lie in the day of their call, those without in the day of their first packet.
pub const STREAMS: Table = Table {
    name: "streams",
    help: "RTP streams: one SSRC in one direction",
    columns: &[
        column("id", Kind::Id, "identifier"),
        column("call_key", Kind::Whole, "key of its call in this day; none without signalling"),
        column("ssrc", Kind::Whole, "synchronisation source"),
        column("src", Kind::Endpoint, "who sent it"),
        column("dst", Kind::Endpoint, "whom it was sent to"),
        column("direction", Kind::Name(&crate::json::DIRECTIONS), "which party sent it"),
        column("codec", Kind::Word, "encoding names in order of appearance"),
        column("clock_rate", Kind::Whole, "Hz"),
        column("packets", Kind::Whole, "all that arrived"),
        column("expected", Kind::Whole, "highest - lowest extended sequence number + 1"),
        column("lost", Kind::Whole, "expected - packets (RFC 3550)"),
        column("missing", Kind::Whole, "distinct lost packets"),
        column("duplicates", Kind::Whole, "exact copies"),
        column("reordered", Kind::Whole, "packets that came late"),
        column("jitter_mean_ms", Kind::Real, "mean RFC 3550 jitter"),
        column("jitter_max_ms", Kind::Real, "highest RFC 3550 jitter"),
        column("first_ns", Kind::Time, "first packet"),
        column("last_ns", Kind::Time, "last packet"),
        column("mos", Kind::Real, "G.107 or G.107.1 score"),
        column("wideband", Kind::Flag, "whether the score is on the scale of G.107.1"),
        column("vm_f1", Kind::Real, "VoIPmonitor-compatible, fixed 50 ms"),
        column("vm_f2", Kind::Real, "VoIPmonitor-compatible, fixed 200 ms"),
        column("vm_adapt", Kind::Real, "VoIPmonitor-compatible, adaptive 500 ms"),
        column("detail", Kind::Packed(&["dtmf", "burst_ratio", "discarded", "octets"]), "what is rarely searched"),
    ],
    key: &["id"],
    indexes: &[("streams_call_key", &["call_key"])],
};

/// Ten-second intervals of streams, in the day of the stream's first packet.
pub const STREAM_INTERVALS: Table = Table {
    name: "stream_intervals",
    help: "ten seconds of a stream each",
    columns: &[
        column("stream", Kind::Id, "the stream"),
        column("number", Kind::Whole, "from 0, ten seconds each"),
        column("start_ns", Kind::Time, "when it began"),
        column("packets", Kind::Whole, "packets that arrived in it"),
        column("missing", Kind::Whole, "packets missing in it"),
        column("duplicates", Kind::Whole, "copies in it"),
        column("reordered", Kind::Whole, "packets that came late in it"),
        column("jitter_mean_ms", Kind::Real, "mean jitter in it"),
        column("jitter_max_ms", Kind::Real, "highest jitter in it"),
        column("mos", Kind::Real, "G.107 or G.107.1 score of it"),
        column("vm_f1", Kind::Real, "VoIPmonitor-compatible, fixed 50 ms"),
        column("vm_f2", Kind::Real, "VoIPmonitor-compatible, fixed 200 ms"),
        column("vm_adapt", Kind::Real, "VoIPmonitor-compatible, adaptive 500 ms"),
        column("transit_min_ms", Kind::Real, "least arrival less media time, from an origin of the stream"),
        column("transit_mean_ms", Kind::Real, "its mean"),
        column("transit_max_ms", Kind::Real, "its highest"),
        column("round_trip_ms", Kind::Real, "longest round trip that RTCP reports in it tell"),
    ],
    key: &["stream", "number"],
    indexes: &[],
};

/// Registrations.
pub const REGISTRATIONS: Table = Table {
    name: "registrations",
    help: "REGISTER transactions with their challenges",
    columns: &[
        column("id", Kind::Id, "identifier"),
        column("sip_call_id", Kind::Text, "Call-ID header field"),
        column("aor", Kind::Text, "address of record"),
        column("user", Kind::Number, "user part of To"),
        column("contact", Kind::Text, "first Contact"),
        column("expires", Kind::Whole, "seconds asked for"),
        column("start_ns", Kind::Time, "first request"),
        column("end_ns", Kind::Time, "last final response"),
        column("code", Kind::Whole, "its status code"),
        column("reason", Kind::Word, "its reason phrase"),
        column("src", Kind::Endpoint, "who asked"),
        column("dst", Kind::Endpoint, "who was asked"),
        column("user_agent", Kind::Word, "User-Agent of the request"),
        column("requests", Kind::Whole, "requests seen, retransmissions included"),
        column("retransmissions", Kind::Whole, "of these, retransmissions"),
        column("detail", Kind::Packed(&["verdict"]), "the verdict, if it failed"),
    ],
    key: &["id"],
    indexes: &[],
};

/// Transactions outside calls and registrations.
pub const SIP_EVENTS: Table = Table {
    name: "sip_events",
    help: "transactions outside calls and registrations",
    columns: &[
        column("id", Kind::Id, "identifier"),
        column("method", Kind::Word, "method"),
        column("sip_call_id", Kind::Text, "Call-ID header field"),
        column("caller", Kind::Number, "user part of From"),
        column("callee", Kind::Number, "user part of To"),
        column("start_ns", Kind::Time, "first request"),
        column("end_ns", Kind::Time, "final response"),
        column("code", Kind::Whole, "its status code"),
        column("reason", Kind::Word, "its reason phrase"),
        column("src", Kind::Endpoint, "who asked"),
        column("dst", Kind::Endpoint, "who was asked"),
        column("retransmissions", Kind::Whole, "retransmissions of the request"),
    ],
    key: &["id"],
    indexes: &[],
};

/// Losses of the capture itself.
pub const LOSSES: Table = Table {
    name: "losses",
    help: "packets that the capture lost or could not use, by place",
    columns: &[
        column("place", Kind::Text, "where"),
        column("source", Kind::Text, "file or interface"),
        column("since_ns", Kind::Time, "when counting began"),
        column("at_ns", Kind::Time, "when it was reported"),
        column("count", Kind::Whole, "packets, or what the place counts"),
    ],
    key: &["place", "source", "since_ns"],
    indexes: &[],
};

/// Charging data records, in the day in which the record began.
pub const CHARGES: Table = Table {
    name: "charges",
    help: "charging data records: what sessions and events used, and what it cost",
    columns: &[
        column("id", Kind::Id, "identifier"),
        column("node", Kind::Word, "node that made it"),
        column("number", Kind::Whole, "its number there"),
        column("entry", Kind::Whole, "entry of the ledger that ended it"),
        column("kind", Kind::Word, "session, event, or stray: usage of no session"),
        column("session", Kind::Text, "Session-Id"),
        column("origin", Kind::Word, "Origin-Host of the client"),
        column("subscriber", Kind::Whole, "subscriber; 0 is nobody known"),
        column("account", Kind::Whole, "account that pays; 0 is nobody"),
        column("imsi", Kind::Text, "digits of the IMSI"),
        column("msisdn", Kind::Number, "digits of the number"),
        column("apn", Kind::Word, "access point"),
        column("destination", Kind::Number, "number that was called"),
        column("start_ns", Kind::Time, "when the record began"),
        column("end_ns", Kind::Time, "when it ended"),
        column("cause", Kind::Whole, "causeForRecClosing"),
        column("record", Kind::Whole, "which record of its session; none if it is the only one"),
        column("charging_id", Kind::Whole, "number of the bearer at its gateway"),
        column("octets", Kind::Whole, "octets of both directions"),
        column("octets_in", Kind::Whole, "octets from the subscriber"),
        column("octets_out", Kind::Whole, "octets to the subscriber"),
        column("seconds", Kind::Whole, "seconds of use"),
        column("service_units", Kind::Whole, "units of services, and events"),
        column("money", Kind::Whole, "debited less given back, minor units"),
        column("short", Kind::Whole, "should have been debited and was not there"),
        column("allowance_units", Kind::Whole, "units that allowances paid for"),
        column("rated", Kind::Flag, "whether a tariff had rules for all of it"),
        column("services", Kind::Text, "what was used of each service, as JSON"),
        column("file", Kind::Word, "what the names of its files begin with"),
    ],
    key: &["id"],
    indexes: &[],
};

/// Calls a minute, by their start: what dashboards read. All counts are sums, so that rows can be taken out again.
pub const MINUTES: Table = Table {
    name: "minutes",
    help: "calls by the minute of their start",
    columns: &[
        column("minute", Kind::Whole, "minutes since 1970"),
        column("started", Kind::Whole, "calls"),
        column("answered", Kind::Whole, "of these with a 2xx"),
        column("completed", Kind::Whole, "of these with a 2xx and BYE"),
        column("cancelled", Kind::Whole, "cancelled"),
        column("redirected", Kind::Whole, "ended with 3xx"),
        column("rejected_4xx", Kind::Whole, "ended with 4xx"),
        column("rejected_5xx", Kind::Whole, "ended with 5xx"),
        column("rejected_6xx", Kind::Whole, "ended with 6xx"),
        column("duration_us", Kind::Whole, "sum of durations, microseconds"),
        column("pdd_us", Kind::Whole, "sum of post-dial delays, microseconds"),
        column("pdd_count", Kind::Whole, "calls that rang"),
        column("mos_thousandths", Kind::Whole, "sum of scores, thousandths"),
        column("mos_count", Kind::Whole, "calls with a score"),
        column("bad", Kind::Whole, "calls with a verdict"),
        column("delivered", Kind::Whole, "not answered, but brought to the called user"),
        column("challenged", Kind::Whole, "challenged and not tried again"),
        column("joined", Kind::Whole, "joined in mid-call"),
    ],
    key: &["minute"],
    indexes: &[],
};
