//! Drives the readers with any octets and asserts what must always hold.

use super::base::*;
use super::credit::{CreditControlAnswer, CreditControlRequest};
use super::{Avps, Failure, Frames, Message, NESTING_MAX, TooLong, Writer, base, command};

/// A stream of messages, and what is in it as a message whatever its header says.
pub fn diameter(octets: &[u8]) {
    let mut frames = Frames::new(octets, 1 << 16);
    let mut taken = 0;
    while let Ok(Some(octets)) = frames.next_message() {
        taken += octets.len();
        if let Ok(message) = Message::new(octets) {
            messages(&message);
        }
    }
    assert!(frames.taken() == taken && taken <= octets.len());
    walk(Avps::new(octets), 0);
}

fn walk(avps: Avps<'_>, depth: usize) {
    for avp in avps.map_while(Result::ok) {
        assert!(avp.data().len() + 8 <= avp.octets().len());
        let _ = (avp.text().is_ok(), avp.time().map(|t| t.to_string()), avp.address().map(|a| a.to_string()));
        if depth < NESTING_MAX {
            walk(avp.group(), depth + 1);
        }
    }
}

fn messages(message: &Message<'_>) {
    let _ = format!("{message} {message:#}");
    /// What was read is written, and reads the same again; what was not can be refused.
    macro_rules! read_again {
        ($type:ident) => {
            match $type::read(message) {
                Ok(value) => {
                    let mut out = Vec::new();
                    value.write(&message.header, &mut out).expect("no longer than it was");
                    let again = Message::new(&out).expect("well written");
                    assert_eq!(Ok(value), $type::read(&again));
                }
                Err(failure) => refused(message, &failure),
            }
        };
    }
    if message.header.is_error() && !message.header.is_request() {
        read_again!(ErrorAnswer);
    }
    match (message.header.command, message.header.is_request()) {
        (command::CREDIT_CONTROL, true) => read_again!(CreditControlRequest),
        (command::CREDIT_CONTROL, false) => read_again!(CreditControlAnswer),
        (command::CAPABILITIES_EXCHANGE, true) => read_again!(CapabilitiesExchangeRequest),
        (command::CAPABILITIES_EXCHANGE, false) => read_again!(CapabilitiesExchangeAnswer),
        (command::DEVICE_WATCHDOG, true) => read_again!(DeviceWatchdogRequest),
        (command::DEVICE_WATCHDOG, false) => read_again!(DeviceWatchdogAnswer),
        (command::DISCONNECT_PEER, true) => read_again!(DisconnectPeerRequest),
        (command::DISCONNECT_PEER, false) => read_again!(DisconnectPeerAnswer),
        (command::RE_AUTH, true) => read_again!(ReAuthRequest),
        (command::RE_AUTH, false) => read_again!(ReAuthAnswer),
        (command::ABORT_SESSION, true) => read_again!(AbortSessionRequest),
        (command::ABORT_SESSION, false) => read_again!(AbortSessionAnswer),
        _ => {}
    }
}

/// The refusal is a message itself, and its Failed-AVP names the AVP that offended.
fn refused(message: &Message<'_>, failure: &Failure<'_>) {
    let mut out = Vec::new();
    let written: Result<(), TooLong> = base::refuse(message, "server.example", "example", failure, &mut out);
    assert!(written.is_ok() && !failure.to_string().is_empty());
    let answer = Message::new(&out).expect("well written");
    assert!(answer.avps().all(|avp| avp.is_ok()));
    let mut alone = Vec::new();
    let mut writer = Writer::new(&mut alone, &message.header);
    failure.write(&mut writer);
    assert!(writer.finish().is_ok());
}
