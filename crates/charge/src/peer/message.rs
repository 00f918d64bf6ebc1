//! What a message of a peer is, and what of it is for charging.

use super::pushes::Pushed;
use super::{Local, Peer, Phase};
use core::time::Duration;
use trunkline_wire::diameter::base::refuse;
use trunkline_wire::diameter::credit::CreditControlRequest;
use trunkline_wire::diameter::dictionary::avp::{
    DESTINATION_HOST, DESTINATION_REALM, ORIGIN_HOST, ORIGIN_REALM, RESULT_CODE,
};
use trunkline_wire::diameter::{Failure, Header, Message, Writer, application, command, flag, result_code};

/// What was taken.
#[derive(Debug)]
pub enum Taken<'a> {
    /// It was answered, with that result, or needed no answer (0).
    Done(u32),
    /// Its capabilities were answered, or it answered ours, and it is open now.
    Opened,
    /// A CCR, to be charged.
    Charge(Message<'a>),
    /// What came of a question of ours.
    Pushed(Pushed),
    /// The connection is to be closed when what was said has gone.
    Close(u32),
}

/// A message without a sound header, answered as far as that is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable(pub u32);

impl Peer {
    /// Takes a whole message that came at `now`; what is to be answered at once goes to `out`.
    ///
    /// # Errors
    /// It has no sound header: it was answered with that result, unless it is no request.
    pub fn take<'a>(
        &mut self,
        local: &Local,
        octets: &'a [u8],
        now: Duration,
        out: &mut Vec<u8>,
    ) -> Result<Taken<'a>, Unreadable> {
        let message = match Message::new(octets) {
            Ok(message) => message,
            Err(failure) => {
                unreadable(local, octets, &failure, out);
                return Err(Unreadable(failure.result));
            }
        };
        self.watchdog.heard(now);
        match self.phase {
            Phase::New => return Ok(self.first(local, &message, out)),
            Phase::Called => return Ok(self.answered(&message)),
            Phase::Open | Phase::Closing => {}
        }
        Ok(if message.header.is_request() { self.request(local, message, out) } else { self.answer(&message) })
    }

    /// The first message has to tell who the peer is.
    fn first<'a>(&mut self, local: &Local, message: &Message<'a>, out: &mut Vec<u8>) -> Taken<'a> {
        let header = message.header;
        if !header.is_request() || header.command != command::CAPABILITIES_EXCHANGE {
            return Taken::Close(0);
        }
        match self.exchange(local, message, out) {
            result_code::SUCCESS => Taken::Opened,
            result => Taken::Close(result),
        }
    }

    fn request<'a>(&mut self, local: &Local, message: Message<'a>, out: &mut Vec<u8>) -> Taken<'a> {
        let refused = |result, out: &mut Vec<u8>| {
            let _fits = refuse(&message, &local.host, &local.realm, &Failure::of_message(result), out);
            Taken::Done(result)
        };
        if let Err(failure) = message.header.check_request() {
            return refused(failure.result, out);
        }
        match (message.header.application, message.header.command) {
            (application::BASE, command::DEVICE_WATCHDOG) => {
                self.is_there(local, &message, out);
                Taken::Done(result_code::SUCCESS)
            }
            (application::BASE, command::DISCONNECT_PEER) => {
                self.disconnected(local, &message, out);
                Taken::Done(result_code::SUCCESS)
            }
            // Once more: it may have changed its mind, but for its name.
            (application::BASE, command::CAPABILITIES_EXCHANGE) => Taken::Done(self.exchange(local, &message, out)),
            (application::CREDIT_CONTROL, command::CREDIT_CONTROL) if self.phase == Phase::Open => {
                Taken::Charge(message)
            }
            // Behind our own farewell another node is to be asked, as of one that has too much to do.
            (application::CREDIT_CONTROL, command::CREDIT_CONTROL) if self.parts.is_some() => {
                refused(result_code::TOO_BUSY, out)
            }
            (application::CREDIT_CONTROL, command::CREDIT_CONTROL) => refused(result_code::UNABLE_TO_DELIVER, out),
            (application::BASE | application::CREDIT_CONTROL, _) => refused(result_code::COMMAND_UNSUPPORTED, out),
            _ => refused(result_code::APPLICATION_UNSUPPORTED, out),
        }
    }

    fn answer<'a>(&mut self, message: &Message<'_>) -> Taken<'a> {
        match (message.header.application, message.header.command) {
            (application::CREDIT_CONTROL, command::RE_AUTH | command::ABORT_SESSION) => {
                self.pushed(message).map_or(Taken::Done(0), Taken::Pushed)
            }
            // A DPA: the peer waits for the end.
            (application::BASE, command::DISCONNECT_PEER) => Taken::Close(0),
            // A DWA has told that the peer is there; what was never asked is passed over (RFC 6733 section 6.2.1).
            _ => Taken::Done(0),
        }
    }
}

impl Local {
    /// What a CCR says, if it is for us.
    ///
    /// # Errors
    /// The answer that it deserves.
    pub fn read<'a>(&self, message: &Message<'a>) -> Result<CreditControlRequest<'a>, Failure<'a>> {
        let ccr = CreditControlRequest::read(message)?;
        let offends = |result, key| {
            message.avps().find(key).map_or_else(|| Failure::of_message(result), |avp| Failure::of_avp(result, &avp))
        };
        if ccr.route_records.iter().any(|host| host.eq_ignore_ascii_case(&self.host)) {
            return Err(Failure::of_message(result_code::LOOP_DETECTED));
        }
        if !self.serves(ccr.destination_realm) {
            return Err(offends(result_code::REALM_NOT_SERVED, DESTINATION_REALM));
        }
        if ccr.destination_host.is_some_and(|host| !host.eq_ignore_ascii_case(&self.host)) {
            return Err(offends(result_code::UNABLE_TO_DELIVER, DESTINATION_HOST));
        }
        Ok(ccr)
    }
}

/// Answers what has no sound header, if it looks like a request of this version or another one.
fn unreadable(local: &Local, octets: &[u8], failure: &Failure<'_>, out: &mut Vec<u8>) {
    let Some(header) = Message::header_of(octets).filter(Header::is_request) else { return };
    let mut header = header.answer();
    if result_code::is_protocol_error(failure.result) {
        header.flags |= flag::ERROR;
    }
    let mut writer = Writer::new(out, &header);
    writer.unsigned32(RESULT_CODE, failure.result);
    writer.text(ORIGIN_HOST, &local.host);
    writer.text(ORIGIN_REALM, &local.realm);
    let _fits = writer.finish();
}
