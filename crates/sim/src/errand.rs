//! Transactions outside calls: registrations, pings, subscriptions, messages, publications.

use crate::faults::{Planted, Variant};
use crate::random::Random;
use crate::scene::{Party, Scene};
use crate::scribe::Scribe;
use crate::sip::{Extra, Method, Step};

/// A client that takes longer to meet a challenge comes too late.
const NONCE_LIFE_NS: i64 = 5_000_000_000;

/// What is done outside calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// REGISTER: how many challenges, and what the last answer is.
    Register {
        challenges: u8,
        code: u16,
        refusal: Refusal,
    },
    Options,
    Subscribe,
    Notify,
    Message,
    Publish,
}

/// What a challenge says of the credentials that it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// They are wrong.
    Wrong,
    /// Their nonce is too old: `stale=true`.
    Stale,
    /// The same, in the reason phrase alone.
    NonceHasChanged,
}

impl Refusal {
    fn extra(self) -> Extra {
        match self {
            Refusal::Wrong => Extra::Challenge,
            Refusal::Stale => Extra::StaleChallenge,
            Refusal::NonceHasChanged => Extra::NonceHasChanged,
        }
    }
}

impl Errand {
    /// Draws one; what is planted is a registration.
    pub fn draw(planted: Option<Planted>, random: &mut Random) -> Self {
        let register =
            |challenges: u64, code, refusal| Errand::Register { challenges: challenges as u8, code, refusal };
        match planted.map(|p| (p.variant, p.near_miss)) {
            Some((Variant::Refused, _)) => register(random.below(2), 403, Refusal::Wrong),
            Some((Variant::ChallengedForEver, _)) => register(2 + random.below(3), 401, Refusal::Wrong),
            Some((Variant::StaleNonce, false)) => register(1 + random.below(2), 401, Refusal::Stale),
            Some((Variant::NonceHasChanged, _)) => register(1, 401, Refusal::NonceHasChanged),
            Some((Variant::StaleNonce, true)) => register(2, 200, Refusal::Stale),
            Some(_) => register(1 + random.below(2), 200, Refusal::Wrong),
            None => match random.below(10) {
                0..4 => register(random.below(2), 200, Refusal::Wrong),
                4..6 => Errand::Options,
                6 => Errand::Subscribe,
                7 => Errand::Notify,
                8 => Errand::Message,
                _ => Errand::Publish,
            },
        }
    }

    /// The messages, from `start_ns` on.
    pub fn script(self, scene: &Scene, random: &mut Random, start_ns: i64) -> Vec<Step> {
        let repeats = !scene.tcp && random.chance(0.05);
        let mut scribe = Scribe::new(scene, random, start_ns);
        match self {
            Errand::Register { challenges, code, refusal } => register(&mut scribe, challenges, code, refusal, repeats),
            Errand::Options => simple(&mut scribe, Method::Options, Extra::None, repeats),
            Errand::Notify => simple(&mut scribe, Method::Notify, Extra::Voicemail, repeats),
            Errand::Message => simple(&mut scribe, Method::Message, Extra::Text, repeats),
            Errand::Publish => simple(&mut scribe, Method::Publish, Extra::Presence, repeats),
            Errand::Subscribe => {
                scribe.transaction(Party::Caller, Method::Subscribe, Extra::Expires(3600), 200, Extra::Expires(3600));
                scribe.wait(1_000_000);
                scribe.transaction(Party::Callee, Method::Notify, Extra::Voicemail, 200, Extra::None);
            }
        }
        scribe.finish()
    }
}

/// One request, once more if it was lost, and 200.
fn simple(scribe: &mut Scribe<'_>, method: Method, extra: Extra, repeats: bool) {
    let request = scribe.request(Party::Caller, method, extra);
    if repeats {
        scribe.wait(500_000_000);
        scribe.repeat(&request, scribe.now);
    }
    scribe.respond(&request, 200, Extra::None);
}

fn register(scribe: &mut Scribe<'_>, challenges: u8, code: u16, refusal: Refusal, repeats: bool) {
    let mut request = scribe.request(Party::Caller, Method::Register, Extra::Expires(3600));
    if repeats {
        scribe.wait(500_000_000);
        scribe.repeat(&request, scribe.now);
    }
    for challenge in 0..challenges {
        // The first one refuses nothing: there are no credentials yet.
        scribe.respond(&request, 401, if challenge == 0 { Extra::Challenge } else { refusal.extra() });
        scribe.wait(if refusal == Refusal::Wrong { 30_000_000 } else { NONCE_LIFE_NS });
        // Outside any dialog again: To has no tag.
        scribe.fork = 0;
        request = scribe.request(Party::Caller, Method::Register, Extra::RegisterAgain(3600));
    }
    let extra = match code {
        200 => Extra::Expires(3600),
        401 => refusal.extra(),
        _ => Extra::None,
    };
    scribe.respond(&request, code, extra);
}
