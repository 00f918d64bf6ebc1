//! What is asked of JetStream: the stream itself, a message by its place, a message more at its end.

use crate::connection::{Connection, Reply};
use crate::options::Options;
use crate::publisher::Publish;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::time::Duration;

/// How long an answer may take.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// Error of JetStream: the stream does not end where it was expected to.
const WRONG_LAST: u64 = 10_071;
/// Error of JetStream: the message at its end is not the one that was expected.
const WRONG_LAST_ID: u64 = 10_070;
/// The head's line with the place behind which a message is to stand.
const LAST_PLACE: &str = "Nats-Expected-Last-Sequence";
/// For how long names of messages are remembered, nanoseconds: as long as any is on its way.
const NAMES_NS: u64 = 10_000_000_000;
/// Errors of JetStream: there is no such stream.
const NO_STREAM: u64 = 10_059;

/// Error of JetStream: there is no such message.
const NO_MESSAGE: u64 = 10_037;

/// Characters of what a server says that are told.
pub(crate) const SAID_CHARS_MAX: usize = 200;

/// How a request ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The connection, or JetStream behind it: it may be otherwise soon.
    Away(String),
    /// What is asked for is refused.
    Refused(String),
}

/// What became of a message that was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    /// It stands at this place.
    At(u64),
    /// The stream ends at another place, which it tells.
    Elsewhere(Option<u64>),
    /// It was not taken now: why.
    NotNow(String),
}

/// The stream as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The place of the oldest message that it has; behind `last` if it has none.
    pub first: u64,
    /// The place of the newest message that it ever had.
    pub last: u64,
}

impl Connection {
    /// Asks and waits for the answer; nothing else is on its way.
    async fn request(&mut self, subject: &str, payload: &[u8]) -> Result<Reply, Failed> {
        let number = self.ask(subject, &[], payload);
        let answer = async {
            loop {
                let turn = self.turn().await.map_err(Failed::Away)?;
                if let Some(reply) = turn.replies.into_iter().find(|reply| reply.number == number) {
                    return Ok(reply);
                }
            }
        };
        let late = || Failed::Away(format!("no answer to {subject}"));
        tokio::time::timeout(ANSWER_WITHIN, answer).await.unwrap_or_else(|_| Err(late()))
    }

    async fn api(&mut self, what: &str, stream: &str, payload: &Value) -> Result<Result<Value, (u64, String)>, Failed> {
        answered(&self.request(&format!("$JS.API.{what}.{stream}"), payload.to_string().as_bytes()).await?)
    }

    /// Makes the stream if it is not there; how it stands.
    pub async fn stream(&mut self, options: &Options) -> Result<Extent, Failed> {
        let mut answer = self.api("STREAM.INFO", &options.stream, &json!({})).await?;
        if matches!(answer, Err((NO_STREAM, _))) {
            answer = self.api("STREAM.CREATE", &options.stream, &config(options)).await?;
        }
        let refused = |what: String| Failed::Refused(format!("the stream {}: {what}", options.stream));
        let value = answer.map_err(|(code, what)| match code {
            // What a cluster says while it has no leader, or not enough servers yet.
            10_005 | 10_008 | 10_009 | 10_023 | 10_118 => Failed::Away(what),
            _ => refused(what),
        })?;
        let is = |name: &str| value["config"][name].clone();
        if is("discard") != "old" || is("retention") != "limits" || is("allow_direct") != true {
            return Err(refused("it was not made by this program, and is not as it has to be".to_owned()));
        }
        if is("num_replicas").as_u64() != Some(u64::from(options.replicas)) {
            let has = is("num_replicas");
            return Err(refused(format!("it is kept by {has} servers, and {} are set up", options.replicas)));
        }
        let number = |name: &str| value["state"][name].as_u64().unwrap_or_default();
        Ok(Extent { first: number("first_seq"), last: number("last_seq") })
    }

    /// The newest message of a subject, with its place: as the stream's own leader has it, never out of date.
    pub async fn newest(&mut self, stream: &str, subject: &str) -> Result<Option<(u64, Vec<u8>)>, Failed> {
        newest_of(self.api("STREAM.MSG.GET", stream, &json!({ "last_by_subj": subject })).await?)
    }

    /// The message at a place.
    pub async fn at(&mut self, stream: &str, place: u64) -> Result<Option<Vec<u8>>, Failed> {
        Ok(self.from(stream, place, 1).await?.pop())
    }

    /// The messages from a place on, at most so many, up to the first that is not there.
    pub async fn from(&mut self, stream: &str, place: u64, most: usize) -> Result<Vec<Vec<u8>>, Failed> {
        let subject = format!("$JS.API.DIRECT.GET.{stream}");
        let asked = |place: u64| json!({ "seq": place }).to_string();
        let first = self.ask(&subject, &[], asked(place).as_bytes());
        (1..most as u64).for_each(|at| {
            self.ask(&subject, &[], asked(place + at).as_bytes());
        });
        let mut found: Vec<Option<Option<Vec<u8>>>> = vec![None; most];
        let answers = async {
            let mut missing = most;
            while missing > 0 {
                for reply in self.turn().await.map_err(Failed::Away)?.replies {
                    let Some(at) = reply.number.checked_sub(first).and_then(|at| usize::try_from(at).ok()) else {
                        continue;
                    };
                    let Some(slot) = found.get_mut(at).filter(|slot| slot.is_none()) else { continue };
                    let message = self::found(reply)?;
                    *slot = Some(message.filter(|(of, _)| *of == place + at as u64).map(|(_, octets)| octets));
                    missing -= 1;
                }
            }
            Ok(())
        };
        let late = || Failed::Away("messages of the stream do not come".to_owned());
        tokio::time::timeout(ANSWER_WITHIN, answers).await.unwrap_or_else(|_| Err(late()))?;
        Ok(found.into_iter().map_while(Option::flatten).collect())
    }

    /// Publishes behind a place, and the message of a name where it is not known what stands there; the number of the
    /// request.
    pub fn publish(&mut self, options: &Options, term: u64, message: &Publish<'_>) -> u64 {
        let [leader, records] = options.subjects();
        let subject = if message.of_leader { leader } else { records };
        let name = |id: u64| format!("{}.{term}.{id}", options.node);
        let (after, id) = (message.after.to_string(), name(message.id));
        let follows = message.follows.map(name);
        let mut head = vec![(LAST_PLACE, after.as_str()), ("Nats-Msg-Id", id.as_str())];
        head.extend(follows.as_deref().map(|follows| ("Nats-Expected-Last-Msg-Id", follows)));
        self.ask(&subject, &head, message.octets)
    }

    /// Publishes behind a place, and waits for what becomes of it.
    pub async fn published(&mut self, options: &Options, after: u64, octets: &[u8]) -> Result<Published, Failed> {
        let [leader, _] = options.subjects();
        let number = self.ask(&leader, &[(LAST_PLACE, &after.to_string())], octets);
        let answer = async {
            loop {
                let turn = self.turn().await.map_err(Failed::Away)?;
                if let Some(reply) = turn.replies.iter().find(|reply| reply.number == number) {
                    return Ok(Published::of(reply));
                }
            }
        };
        let late = || Failed::Away("what was published is not acknowledged".to_owned());
        tokio::time::timeout(ANSWER_WITHIN, answer).await.unwrap_or_else(|_| Err(late()))
    }
}

/// The stream as it is to be.
fn config(options: &Options) -> Value {
    json!({
        "name": options.stream,
        "subjects": options.subjects(),
        "retention": "limits",
        "storage": "file",
        "discard": "old",
        "max_consumers": -1,
        "max_msgs": -1,
        "max_bytes": options.stream_octets,
        "max_age": 0,
        "duplicate_window": NAMES_NS,
        "num_replicas": options.replicas,
        "allow_direct": true,
        "deny_delete": true,
        "deny_purge": true,
    })
}

/// What JetStream answers to a question: a value, or the number of an error and what it is.
pub(crate) fn answered(reply: &Reply) -> Result<Result<Value, (u64, String)>, Failed> {
    if reply.status == Some(503) {
        return Err(Failed::Away("JetStream is not there: the server runs without it, or has no leader".to_owned()));
    }
    let strange = |_| Failed::Away("JetStream answers something else".to_owned());
    let value: Value = serde_json::from_slice(&reply.payload).map_err(strange)?;
    Ok(match value.get("error").filter(|error| !error.is_null()) {
        None => Ok(value),
        Some(error) => Err((
            error["err_code"].as_u64().unwrap_or_default(),
            short(error["description"].as_str().unwrap_or("it does not say why")),
        )),
    })
}

/// The newest message of a subject, with its place.
pub(crate) fn newest_of(answer: Result<Value, (u64, String)>) -> Result<Option<(u64, Vec<u8>)>, Failed> {
    let value = match answer {
        Err((NO_MESSAGE, _)) => return Ok(None),
        Err((_, what)) => return Err(Failed::Away(what)),
        Ok(value) => value,
    };
    let octets = value["message"]["data"].as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
    let found = value["message"]["seq"].as_u64().zip(octets);
    found.map(Some).ok_or_else(|| Failed::Away("JetStream answers something else".to_owned()))
}

/// What a server says, for one line of a log.
fn short(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SAID_CHARS_MAX).collect()
}

pub(crate) fn found(reply: Reply) -> Result<Option<(u64, Vec<u8>)>, Failed> {
    match (reply.status, reply.place) {
        (Some(404), _) => Ok(None),
        (None, Some(place)) => Ok(Some((place, reply.payload))),
        (status, _) => Err(Failed::Away(format!("the stream cannot be read now: {}", status.unwrap_or_default()))),
    }
}

impl Published {
    pub fn of(reply: &Reply) -> Published {
        let value: Value = serde_json::from_slice(&reply.payload).unwrap_or_default();
        if value["duplicate"] == true {
            // It stands already, at a place that is found by reading.
            return Published::Elsewhere(None);
        }
        // An acknowledgement that tells of an error has a place, too: 0.
        if let Some(place) = value["seq"].as_u64().filter(|place| value["error"].is_null() && *place > 0) {
            return Published::At(place);
        }
        let (error, status) = (&value["error"], reply.status.unwrap_or_default());
        let what = error["description"].as_str().unwrap_or_default();
        match error["err_code"].as_u64() {
            Some(WRONG_LAST_ID) => Published::Elsewhere(None),
            Some(WRONG_LAST) => Published::Elsewhere(what.rsplit(' ').next().and_then(|word| word.parse().ok())),
            Some(code) => Published::NotNow(format!("{} ({code})", short(what))),
            None => Published::NotNow(format!("JetStream is not there ({status})")),
        }
    }
}
