//! The fields of the filter language: names, what they take, help and examples, in one table.

/// What can be asked about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each is described in FIELDS
pub enum Field {
    Caller,
    Callee,
    Number,
    CallId,
    UserAgent,
    State,
    Verdict,
    Hangup,
    Code,
    Mos,
    Duration,
    Pdd,
    Setup,
    Start,
    Src,
    Dst,
    Ip,
    Codec,
    Ssrc,
    Lost,
    Jitter,
    JitterMean,
    Has,
    Missing,
}

/// What a field is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text with `*` for any characters; upper and lower case of ASCII are the same.
    Text,
    /// One of these names; `*` may stand for a part.
    Name(&'static [&'static str]),
    /// A status code or a class of them: 503, 5xx.
    Code,
    /// A score, up to 5.
    Score,
    /// A duration; a bare number is seconds.
    Seconds,
    /// A duration; a bare number is milliseconds.
    Milliseconds,
    /// A share in percent; the sign may be left out.
    Percent,
    /// A day, minute, second or part of one, of the zone of who asks unless an offset is given.
    Time,
    /// An address, a network, or an address with port.
    Address,
    /// A synchronisation source, 0x3a980074 or decimal.
    Ssrc,
}

impl Kind {
    /// Whether `<`, `<=`, `>` and `>=` make sense.
    pub fn is_ordered(self) -> bool {
        matches!(self, Kind::Code | Kind::Score | Kind::Seconds | Kind::Milliseconds | Kind::Percent | Kind::Time)
    }
}

/// A field as help, completion and the parser see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldHelp {
    /// Which.
    pub field: Field,
    /// Its name in filters.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// What it takes.
    pub kind: Kind,
    /// One line of help.
    pub help: &'static str,
    /// Filters that use it.
    pub examples: &'static [&'static str],
}

/// All fields, in the order in which help lists them.
pub fn fields() -> &'static [FieldHelp] {
    &FIELDS
}

/// What a word that is no field may have been meant as: a value of a field, else a number, else how a test is written.
pub fn meant(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    let begins = |value: &str| lower.len() >= 3 && value.to_ascii_lowercase().starts_with(&lower);
    let known = fields().iter().find_map(|help| {
        let names = if let Kind::Name(names) = help.kind { names } else { &[] };
        let name = names.iter().find(|name| begins(name)).map(|name| format!("{}:{name}", help.name));
        let example = || help.examples.iter().find(|one| one.split_once(':').is_some_and(|(_, value)| begins(value)));
        name.or_else(|| example().map(|one| (*one).to_owned()))
    });
    let digits = !word.is_empty() && word.bytes().all(|octet| octet.is_ascii_digit());
    match known.or_else(|| digits.then(|| format!("number:{word}"))) {
        Some(test) => format!("did you mean '{test}'?"),
        None => "write FIELD:VALUE, for example caller:+4420*".to_owned(),
    }
}

/// The field of a name or alias, upper or lower case.
pub fn named(name: &str) -> Option<&'static FieldHelp> {
    FIELDS
        .iter()
        .find(|f| f.name.eq_ignore_ascii_case(name) || f.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name)))
}

/// What `has:` and `missing:` can ask for.
pub const PRESENCES: [&str; 9] =
    ["mos", "verdict", "answer", "end", "ringing", "code", "streams", "user-agent", "codec"];

const fn field(
    field: Field,
    name: &'static str,
    aliases: &'static [&'static str],
    kind: Kind,
    help: &'static str,
    examples: &'static [&'static str],
) -> FieldHelp {
    FieldHelp { field, name, aliases, kind, help, examples }
}

#[rustfmt::skip]
const FIELDS: [FieldHelp; 24] = [
    field(Field::Caller, "caller", &["from"], Kind::Text, "user part of From", &["caller:+4420*", "caller:\"*21#\""]),
    field(Field::Callee, "callee", &["to"], Kind::Text, "user part of To", &["callee:*1234", "not callee:0800*"]),
    field(Field::Number, "number", &[], Kind::Text, "user part of From, To or Request-URI, an asserted number, or one that was diverted from", &["number:+442071234567"]),
    field(Field::CallId, "callid", &["call-id", "sip_call_id"], Kind::Text, "Call-ID header field", &["callid:a84b4c76e66710*"]),
    field(Field::UserAgent, "ua", &["user-agent", "user_agent"], Kind::Text, "User-Agent of the first INVITE", &["ua:*Asterisk*"]),
    field(Field::State, "state", &[], Kind::Name(&crate::json::STATES), "how the call ended", &["state:completed", "state:rejected"]),
    field(Field::Verdict, "verdict", &[], Kind::Text, "short name of what was wrong; * for anything", &["verdict:one-way-audio", "verdict:*"]),
    field(Field::Hangup, "hangup", &[], Kind::Name(&crate::json::HANGUPS), "who ended an answered call", &["hangup:callee"]),
    field(Field::Code, "code", &["status"], Kind::Code, "status code of the deciding response", &["code:503", "code:5xx", "code>=400"]),
    field(Field::Mos, "mos", &[], Kind::Score, "lowest G.107 score of its streams", &["mos<3.5"]),
    field(Field::Duration, "duration", &[], Kind::Seconds, "answer to end", &["duration>=60", "duration<1m30s"]),
    field(Field::Pdd, "pdd", &[], Kind::Seconds, "post-dial delay: first INVITE to ringing", &["pdd>3s", "pdd<200ms"]),
    field(Field::Setup, "setup", &[], Kind::Seconds, "first INVITE to answer", &["setup>20s"]),
    field(Field::Start, "start", &["time"], Kind::Time, "first message", &["start>=2026-11-20T10:00", "start:2026-11-20"]),
    field(Field::Src, "src", &["source"], Kind::Address, "where the first INVITE came from", &["src:10.1.0.0/16", "src:10.1.2.3:5060"]),
    field(Field::Dst, "dst", &["destination"], Kind::Address, "where the first INVITE went", &["dst:2001:db8::/32"]),
    field(Field::Ip, "ip", &["host", "net"], Kind::Address, "any host of its signalling or media", &["ip:10.1.0.0/16", "ip:192.0.2.7"]),
    field(Field::Codec, "codec", &[], Kind::Text, "a codec that was used", &["codec:PCMA", "codec:AMR*"]),
    field(Field::Ssrc, "ssrc", &[], Kind::Ssrc, "synchronisation source of one of its streams", &["ssrc:0x3a980074"]),
    field(Field::Lost, "lost", &["loss"], Kind::Percent, "lost packets, worst stream, percent of those expected", &["lost>2%"]),
    field(Field::Jitter, "jitter", &["jitter_max"], Kind::Milliseconds, "highest RFC 3550 jitter, worst stream", &["jitter>20ms"]),
    field(Field::JitterMean, "jitter_mean", &["jitter-mean"], Kind::Milliseconds, "mean RFC 3550 jitter, worst stream", &["jitter_mean>5ms"]),
    field(Field::Has, "has", &[], Kind::Name(&PRESENCES), "whether there is one at all", &["has:verdict", "has:streams"]),
    field(Field::Missing, "missing", &[], Kind::Name(&PRESENCES), "whether there is none", &["missing:mos"]),
];
