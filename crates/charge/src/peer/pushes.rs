//! What we ask a client of a session: to ask again (RAR, RFC 8506 section 5.5), or to end it (ASR, RFC 6733 section
//! 8.5).

use super::{Local, Peer};
use crate::session::Push;
use core::time::Duration;
use std::collections::VecDeque;
use trunkline_wire::diameter::base::{AbortSessionAnswer, AbortSessionRequest, ReAuthAnswer, ReAuthRequest};
use trunkline_wire::diameter::enumerated::ReAuthRequestType;
use trunkline_wire::diameter::{Header, Message, TooLong, application, command, result_code};

/// Questions to one peer that wait for an answer; the oldest is given up for one more.
// Limit: questions to one peer without an answer yet
// Beyond: the oldest is given up
// Seen in: `trunkline_charge_pushes_lost_total`
pub const PUSHES_MAX: usize = 10_000;
/// How long an answer is waited for (Tx, RFC 8506 section 13).
const PATIENCE: Duration = Duration::from_secs(10);

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// What was asked.
    pub push: Push,
    /// The client's Result-Code; none if no answer came in time.
    pub result: Option<u32>,
}

impl Pushed {
    /// Whether the client knows now, or says that asking again is of no use: it knows no such session, no such command.
    pub fn is_done(&self) -> bool {
        let for_good = |code| matches!(code / 1000, 2 | 5) || code == result_code::COMMAND_UNSUPPORTED;
        self.result.is_some_and(for_good)
    }
}

/// Those that wait, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Pushes {
    waiting: VecDeque<(u32, Duration, Push)>,
}

impl Pushes {
    pub fn due(&self) -> Option<Duration> {
        self.waiting.front().map(|(_, until, _)| *until)
    }

    fn take(&mut self, hop_by_hop: u32) -> Option<Push> {
        let at = self.waiting.iter().position(|(hop, ..)| *hop == hop_by_hop)?;
        self.waiting.remove(at).map(|(.., push)| push)
    }
}

impl Peer {
    /// Asks the client of a session, which is of `realm` and may be beyond this peer; the one that was given up for it,
    /// if there were too many.
    ///
    /// # Errors
    /// It does not fit into a message.
    pub fn push(
        &mut self,
        local: &Local,
        push: Push,
        realm: &str,
        now: Duration,
        out: &mut Vec<u8>,
    ) -> Result<Option<Pushed>, TooLong> {
        let hop_by_hop = self.hop_by_hop();
        let what = if push.abort { command::ABORT_SESSION } else { command::RE_AUTH };
        let header = Header::request(what, application::CREDIT_CONTROL);
        let header = Header { hop_by_hop, end_to_end: hop_by_hop, ..header };
        match push.abort {
            true => abort(local, &push, realm).write(&header, out)?,
            false => ask_again(local, &push, realm).write(&header, out)?,
        }
        let given_up = if self.pushes.waiting.len() < PUSHES_MAX { None } else { self.pushes.waiting.pop_front() };
        self.pushes.waiting.push_back((hop_by_hop, now + PATIENCE, push));
        Ok(given_up.map(|(.., push)| Pushed { push, result: None }))
    }

    /// The next question that was not answered in time.
    pub fn unanswered(&mut self, now: Duration) -> Option<Pushed> {
        self.pushes.due().filter(|due| *due <= now)?;
        self.pushes.waiting.pop_front().map(|(.., push)| Pushed { push, result: None })
    }

    /// Those that wait when the connection ends.
    pub fn left(&mut self) -> impl Iterator<Item = Pushed> {
        core::mem::take(&mut self.pushes.waiting).into_iter().map(|(.., push)| Pushed { push, result: None })
    }

    /// The answer to a question; none if there was no such question, or nothing can be read of it.
    pub(super) fn pushed(&mut self, message: &Message<'_>) -> Option<Pushed> {
        let push = self.pushes.take(message.header.hop_by_hop)?;
        let result = match push.abort {
            true => AbortSessionAnswer::read_avps(message.avps()).ok().and_then(|answer| answer.result_code),
            false => ReAuthAnswer::read_avps(message.avps()).ok().and_then(|answer| answer.result_code),
        };
        // One that cannot be read is an answer all the same, and no success.
        Some(Pushed { push, result: Some(result.unwrap_or(0)) })
    }
}

fn ask_again<'a>(local: &'a Local, push: &'a Push, realm: &'a str) -> ReAuthRequest<'a> {
    ReAuthRequest {
        session_id: &push.session,
        origin_host: &local.host,
        origin_realm: &local.realm,
        destination_realm: realm,
        destination_host: &push.origin,
        auth_application_id: application::CREDIT_CONTROL,
        re_auth_request_type: ReAuthRequestType::AuthorizeOnly,
        ..ReAuthRequest::default()
    }
}

fn abort<'a>(local: &'a Local, push: &'a Push, realm: &'a str) -> AbortSessionRequest<'a> {
    AbortSessionRequest {
        session_id: &push.session,
        origin_host: &local.host,
        origin_realm: &local.realm,
        destination_realm: realm,
        destination_host: &push.origin,
        auth_application_id: application::CREDIT_CONTROL,
        ..AbortSessionRequest::default()
    }
}
