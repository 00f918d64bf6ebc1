//! The fields of the filter language: names, what they take, help and examples, in one table.

/// What can be asked about a call, by how its value is compared. Whatever answers a filter (a call in memory, SQL, the
/// gists, the rules for masked numbers) matches on the enums inside without a catch-all, so that a new field does not
/// compile until each of them knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Text that matches a pattern.
    Text(TextField),
    /// One of a few names.
    Name(NameField),
    /// A whole number: a code or nanoseconds.
    Whole(WholeField),
    /// A real number: a score, percent or milliseconds.
    Real(RealField),
    /// Addresses in a network.
    Address(AddressField),
    /// The synchronisation source of a stream.
    Ssrc,
    /// One of [`Presence`] is there.
    Has,
    /// One of [`Presence`] is not there.
    Missing,
}

/// Fields that are text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each is described in FIELDS
pub enum TextField {
    Caller,
    Callee,
    Number,
    CallId,
    UserAgent,
    Verdict,
    Codec,
}

/// Fields that have one of a few names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each is described in FIELDS
pub enum NameField {
    State,
    Hangup,
}

/// Fields that are whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each is described in FIELDS
pub enum WholeField {
    Code,
    Duration,
    Pdd,
    Setup,
    Start,
}

/// Fields that are real numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each is described in FIELDS
pub enum RealField {
    Mos,
    Lost,
    Jitter,
    JitterMean,
}

/// Fields that are addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each is described in FIELDS
pub enum AddressField {
    Src,
    Dst,
    Ip,
}

/// What `has:` and `missing:` can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each is named in PRESENCES
pub enum Presence {
    Mos,
    Verdict,
    Answer,
    End,
    Ringing,
    Code,
    Streams,
    UserAgent,
    Codec,
}

const ALL_PRESENCES: [Presence; 9] = [
    Presence::Mos,
    Presence::Verdict,
    Presence::Answer,
    Presence::End,
    Presence::Ringing,
    Presence::Code,
    Presence::Streams,
    Presence::UserAgent,
    Presence::Codec,
];

/// Their names, in the order of their bits in [`crate::filter::Test::Has`].
pub const PRESENCES: [&str; ALL_PRESENCES.len()] = {
    let mut names = [""; ALL_PRESENCES.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = ALL_PRESENCES[n].name();
        n += 1;
    }
    names
};

/// Those whose bit is set.
pub fn presences(bits: u32) -> impl Iterator<Item = Presence> {
    ALL_PRESENCES.into_iter().enumerate().filter(move |(n, _)| bits >> n & 1 == 1).map(|(_, presence)| presence)
}

impl Presence {
    const fn name(self) -> &'static str {
        match self {
            Presence::Mos => "mos",
            Presence::Verdict => "verdict",
            Presence::Answer => "answer",
            Presence::End => "end",
            Presence::Ringing => "ringing",
            Presence::Code => "code",
            Presence::Streams => "streams",
            Presence::UserAgent => "user-agent",
            Presence::Codec => "codec",
        }
    }
}

impl Field {
    /// What it is compared with.
    pub const fn kind(self) -> Kind {
        match self {
            Field::Text(_) => Kind::Text,
            Field::Name(NameField::State) => Kind::Name(&crate::json::STATES),
            Field::Name(NameField::Hangup) => Kind::Name(&crate::json::HANGUPS),
            Field::Whole(WholeField::Code) => Kind::Code,
            Field::Whole(WholeField::Duration | WholeField::Pdd | WholeField::Setup) => Kind::Seconds,
            Field::Whole(WholeField::Start) => Kind::Time,
            Field::Real(RealField::Mos) => Kind::Score,
            Field::Real(RealField::Lost) => Kind::Percent,
            Field::Real(RealField::Jitter | RealField::JitterMean) => Kind::Milliseconds,
            Field::Address(_) => Kind::Address,
            Field::Ssrc => Kind::Ssrc,
            Field::Has | Field::Missing => Kind::Name(&PRESENCES),
        }
    }
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

const fn field(
    field: Field,
    name: &'static str,
    aliases: &'static [&'static str],
    help: &'static str,
    examples: &'static [&'static str],
) -> FieldHelp {
    FieldHelp { field, name, aliases, kind: field.kind(), help, examples }
}

#[rustfmt::skip]
const FIELDS: [FieldHelp; 24] = [
    field(Field::Text(TextField::Caller), "caller", &["from"], "user part of From", &["caller:+4420*", "caller:\"*21#\""]),
    field(Field::Text(TextField::Callee), "callee", &["to"], "user part of To", &["callee:*1234", "not callee:0800*"]),
    field(Field::Text(TextField::Number), "number", &[], "user part of From, To or Request-URI, an asserted number, or one that was diverted from", &["number:+442071234567"]),
    field(Field::Text(TextField::CallId), "callid", &["call-id", "sip_call_id"], "Call-ID header field", &["callid:a84b4c76e66710*"]),
    field(Field::Text(TextField::UserAgent), "ua", &["user-agent", "user_agent"], "User-Agent of the first INVITE", &["ua:*Asterisk*"]),
    field(Field::Name(NameField::State), "state", &[], "how the call ended", &["state:completed", "state:rejected"]),
    field(Field::Text(TextField::Verdict), "verdict", &[], "short name of what was wrong; * for anything", &["verdict:one-way-audio", "verdict:*"]),
    field(Field::Name(NameField::Hangup), "hangup", &[], "who ended an answered call", &["hangup:callee"]),
    field(Field::Whole(WholeField::Code), "code", &["status"], "status code of the deciding response", &["code:503", "code:5xx", "code>=400"]),
    field(Field::Real(RealField::Mos), "mos", &[], "lowest G.107 score of its streams", &["mos<3.5"]),
    field(Field::Whole(WholeField::Duration), "duration", &[], "answer to end", &["duration>=60", "duration<1m30s"]),
    field(Field::Whole(WholeField::Pdd), "pdd", &[], "post-dial delay: first INVITE to ringing", &["pdd>3s", "pdd<200ms"]),
    field(Field::Whole(WholeField::Setup), "setup", &[], "first INVITE to answer", &["setup>20s"]),
    field(Field::Whole(WholeField::Start), "start", &["time"], "first message", &["start>=2026-11-20T10:00", "start:2026-11-20"]),
    field(Field::Address(AddressField::Src), "src", &["source"], "where the first INVITE came from", &["src:10.1.0.0/16", "src:10.1.2.3:5060"]),
    field(Field::Address(AddressField::Dst), "dst", &["destination"], "where the first INVITE went", &["dst:2001:db8::/32"]),
    field(Field::Address(AddressField::Ip), "ip", &["host", "net"], "any host of its signalling or media", &["ip:10.1.0.0/16", "ip:192.0.2.7"]),
    field(Field::Text(TextField::Codec), "codec", &[], "a codec that was used", &["codec:PCMA", "codec:AMR*"]),
    field(Field::Ssrc, "ssrc", &[], "synchronisation source of one of its streams", &["ssrc:0x3a980074"]),
    field(Field::Real(RealField::Lost), "lost", &["loss"], "lost packets, worst stream, percent of those expected", &["lost>2%"]),
    field(Field::Real(RealField::Jitter), "jitter", &["jitter_max"], "highest RFC 3550 jitter, worst stream", &["jitter>20ms"]),
    field(Field::Real(RealField::JitterMean), "jitter_mean", &["jitter-mean"], "mean RFC 3550 jitter, worst stream", &["jitter_mean>5ms"]),
    field(Field::Has, "has", &[], "whether there is one at all", &["has:verdict", "has:streams"]),
    field(Field::Missing, "missing", &[], "whether there is none", &["missing:mos"]),
];
