//! Version 3: the engine that answers for a device, its clock and our keys of it.

use super::{Security, User};
use core::ops::Range;
use trunkline_wire::snmp::usm::{ENGINE_ID_OCTETS_MAX, EngineTime, Keys, Outgoing, Parameters};
use trunkline_wire::snmp::{Cause, Contents, Exchange, Flags, Kind, Message, Pdu, ScopedPdu, V3};

/// Octets of the longest message that is taken: `msgMaxSize`.
const SIZE_MAX: u32 = 65_507;

/// The engine of a device, once it has told who it is.
#[derive(Debug, Default)]
pub(super) struct Secured {
    engine: Option<Engine>,
}

#[derive(Debug)]
struct Engine {
    id: Vec<u8>,
    keys: Keys,
    time: EngineTime,
}

/// What a message has told, after all was checked.
#[derive(Debug)]
pub(super) struct Told {
    /// What is wrong with our request.
    pub(super) report: Option<Cause>,
    /// Where what was encrypted lies; none if it was plain.
    pub(super) place: Option<Range<usize>>,
    /// The engine has started anew since its last message.
    pub(super) is_restarted: bool,
    /// Another engine than before.
    pub(super) is_changed: bool,
}

/// The message is not to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mistrusted;

impl Secured {
    pub(super) fn is_known(&self) -> bool {
        self.engine.is_some()
    }

    /// Appends a request. Without an engine it asks for one.
    pub(super) fn seal(&self, user: &User, exchange: Exchange<'_>, salt: u64, now_s: u64, out: &mut Vec<u8>) {
        let unknown = Engine { id: Vec::new(), keys: Keys::NoAuthNoPriv, time: EngineTime::new(0, 0, now_s) };
        let engine = self.engine.as_ref().unwrap_or(&unknown);
        let outgoing = Outgoing {
            message_id: exchange.request_id,
            size_max: SIZE_MAX,
            is_reportable: true,
            engine_id: &engine.id,
            boots: engine.time.boots(),
            time: engine.time.time(now_s),
            user: if self.is_known() { &user.name } else { &[] },
            salt,
            scoped: ScopedPdu { context_engine: &engine.id, context_name: &user.context, pdu: Pdu::Exchange(exchange) },
        };
        outgoing.seal(&engine.keys, out);
    }

    /// Checks a message and decrypts it in place.
    pub(super) fn open(&mut self, user: &User, octets: &mut [u8], now_s: u64) -> Result<Told, Mistrusted> {
        let Ok(Message::V3(message)) = Message::new(octets) else { return Err(Mistrusted) };
        let report = cause(&message);
        if let (Some(report), false) = (report, message.flags.has(Flags::AUTHENTICATED)) {
            return self.reported(user, report, &message.security, now_s);
        }
        let engine = self.engine.as_mut().filter(|engine| engine.id == message.security.engine_id);
        let engine = engine.ok_or(Mistrusted)?;
        let (sealed, boots, time) = (message.sealed, message.security.boots, message.security.time);
        let place = match (&engine.keys, report) {
            // Reports are signed, but plain where they say that the rest is not understood.
            (Keys::AuthPriv(key, _), Some(_)) => sealed.open(octets, &Keys::AuthNoPriv(key.clone())),
            (keys, _) => sealed.open(octets, keys),
        };
        let place = place.map_err(|_| Mistrusted)?;
        // What was encrypted may be a report, too.
        let report = report.or_else(|| place.as_ref().and_then(|place| encrypted_cause(octets, place)));
        let before = engine.time.boots();
        if report == Some(Cause::NotInTimeWindow) {
            // Field: also back, where an agent has forgotten how often it had started; the message is authentic, and
            // the answer to one of now.
            engine.time = EngineTime::new(boots, time, now_s);
        } else if engine.keys.authentication().is_some() {
            engine.time.receive(boots, time, now_s).map_err(|_| Mistrusted)?;
        }
        Ok(Told { report, place, is_restarted: boots != before && before != 0, is_changed: false })
    }

    /// A report that nobody has signed: who the engine is may be learned of it, and that we are not let in.
    fn reported(
        &mut self,
        user: &User,
        report: Cause,
        parameters: &Parameters<'_>,
        now_s: u64,
    ) -> Result<Told, Mistrusted> {
        let told = Told { report: Some(report), place: None, is_restarted: false, is_changed: false };
        match report {
            Cause::UnknownEngineId => {
                if !(1..=ENGINE_ID_OCTETS_MAX).contains(&parameters.engine_id.len()) {
                    return Err(Mistrusted);
                }
                let before = self.engine.take();
                let is_changed = before.is_some_and(|before| before.id != parameters.engine_id);
                let time = EngineTime::new(parameters.boots, parameters.time, now_s);
                let keys = keys(&user.security, parameters.engine_id);
                self.engine = Some(Engine { id: parameters.engine_id.to_vec(), keys, time });
                Ok(Told { is_changed, ..told })
            }
            // Whoever could say so could move our clock.
            Cause::NotInTimeWindow if !matches!(user.security, Security::NoAuthNoPriv) => Err(Mistrusted),
            _ => Ok(told),
        }
    }
}

fn keys(security: &Security, engine_id: &[u8]) -> Keys {
    match security {
        Security::NoAuthNoPriv => Keys::NoAuthNoPriv,
        Security::AuthNoPriv(key) => Keys::AuthNoPriv(key.authentication(engine_id)),
        Security::AuthPriv(key, protocol, privacy) => {
            Keys::AuthPriv(key.authentication(engine_id), privacy.privacy(*protocol, engine_id))
        }
    }
}

/// What a plain message reports.
fn cause(message: &V3<'_>) -> Option<Cause> {
    let Contents::Plain(scoped) = &message.data else { return None };
    reported_by(&scoped.pdu)
}

fn encrypted_cause(octets: &[u8], place: &Range<usize>) -> Option<Cause> {
    let scoped = ScopedPdu::new(octets.get(place.clone())?, place.start).ok()?;
    reported_by(&scoped.pdu)
}

fn reported_by(pdu: &Pdu<'_>) -> Option<Cause> {
    if pdu.kind() != Kind::Report {
        return None;
    }
    pdu.varbinds().next()?.ok().and_then(|varbind| Cause::from_name(varbind.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_wire::snmp::usm::{AuthProtocol, MasterKey, PrivacyProtocol};
    use trunkline_wire::snmp::{REQUEST_ID_MIN, Value, Varbinds, write_varbind};

    const ENGINE: &[u8] = b"engine one";

    fn user() -> User {
        let key = MasterKey::new(AuthProtocol::Sha1, b"maplesyrup").expect("long enough");
        let security = Security::AuthPriv(key.clone(), PrivacyProtocol::Aes128, key);
        User { name: b"poller".to_vec(), context: Vec::new(), security }
    }

    /// What an engine says at boots and time: a report, or a response without variables.
    fn said(engine: &[u8], (boots, time): (u32, u32), report: Option<Cause>, keys: &Keys) -> Vec<u8> {
        let mut varbinds = Vec::new();
        if let Some(cause) = report {
            write_varbind(cause.name().as_oid(), &Value::Counter32(1), &mut varbinds);
        }
        let kind = if report.is_some() { Kind::Report } else { Kind::Response };
        let exchange = Exchange { kind, varbinds: Varbinds::new(&varbinds), ..Exchange::request(kind, 0, &[]) };
        let outgoing = Outgoing {
            message_id: REQUEST_ID_MIN,
            size_max: SIZE_MAX,
            is_reportable: false,
            engine_id: engine,
            boots,
            time,
            user: b"poller",
            salt: 1,
            scoped: ScopedPdu { context_engine: engine, context_name: b"", pdu: Pdu::Exchange(exchange) },
        };
        let mut out = Vec::new();
        outgoing.seal(keys, &mut out);
        out
    }

    fn known(user: &User) -> (Secured, Keys) {
        let mut secured = Secured::default();
        let mut report = said(ENGINE, (3, 1000), Some(Cause::UnknownEngineId), &Keys::NoAuthNoPriv);
        secured.open(user, &mut report, 0).expect("it tells who it is");
        assert!(secured.is_known());
        (secured, keys(&user.security, ENGINE))
    }

    #[test]
    fn a_clock_is_moved_only_by_who_has_the_key() {
        let user = user();
        let (mut secured, keys) = known(&user);
        let mut plain = said(ENGINE, (9, 5), Some(Cause::NotInTimeWindow), &Keys::NoAuthNoPriv);
        assert_eq!(secured.open(&user, &mut plain, 1).expect_err("nobody has signed it"), Mistrusted);
        let signed = keys.authentication().cloned().map(Keys::AuthNoPriv).expect("a key");
        let mut report = said(ENGINE, (9, 5), Some(Cause::NotInTimeWindow), &signed);
        let told = secured.open(&user, &mut report, 1).expect("it is authentic");
        assert_eq!((told.report, told.is_restarted), (Some(Cause::NotInTimeWindow), true));
        // The clock is the engine's now: what is of now is taken, what is of before is not.
        assert!(secured.open(&user, &mut said(ENGINE, (9, 6), None, &keys), 2).is_ok());
        assert!(secured.open(&user, &mut said(ENGINE, (3, 1001), None, &keys), 2).is_err());
    }

    #[test]
    fn answers_of_another_level_engine_or_time_are_not_taken() {
        let user = user();
        let (mut secured, keys) = known(&user);
        let told = secured.open(&user, &mut said(ENGINE, (3, 1010), None, &keys), 10).expect("it is right");
        assert!(told.report.is_none() && told.place.is_some() && !told.is_restarted);
        let signed = keys.authentication().cloned().map(Keys::AuthNoPriv).expect("a key");
        for mut wrong in [
            said(ENGINE, (3, 1010), None, &Keys::NoAuthNoPriv),
            said(ENGINE, (3, 1010), None, &signed),
            said(b"engine two", (3, 1010), None, &keys),
            said(ENGINE, (3, 800), None, &keys),
            said(ENGINE, (2, 1010), None, &keys),
        ] {
            assert!(secured.open(&user, &mut wrong, 10).is_err());
        }
        let mut report = said(b"engine two", (1, 1), Some(Cause::UnknownEngineId), &Keys::NoAuthNoPriv);
        assert!(secured.open(&user, &mut report, 10).expect("another device is there").is_changed);
    }
}
