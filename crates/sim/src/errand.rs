//! Transactions outside calls: registrations, pings, subscriptions, messages, publications.

use crate::faults::{Planted, Variant};
use crate::random::Random;
use crate::scene::{Party, Scene};
use crate::scribe::Scribe;
use crate::sip::{Extra, Method, Step};

/// What is done outside calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// REGISTER: how many challenges, and what the last answer is.
    Register {
        challenges: u8,
        code: u16,
    },
    Options,
    Subscribe,
    Notify,
    Message,
    Publish,
}

impl Errand {
    /// Draws one; what is planted is a registration.
    pub fn draw(planted: Option<Planted>, random: &mut Random) -> Self {
        match planted.map(|p| p.variant) {
            Some(Variant::Refused) => Errand::Register { challenges: random.below(2) as u8, code: 403 },
            Some(Variant::ChallengedForEver) => Errand::Register { challenges: 2 + random.below(3) as u8, code: 401 },
            Some(_) => Errand::Register { challenges: 1 + random.below(2) as u8, code: 200 },
            None => match random.below(10) {
                0..4 => Errand::Register { challenges: random.below(2) as u8, code: 200 },
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
            Errand::Register { challenges, code } => register(&mut scribe, challenges, code, repeats),
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

fn register(scribe: &mut Scribe<'_>, challenges: u8, code: u16, repeats: bool) {
    let mut request = scribe.request(Party::Caller, Method::Register, Extra::Expires(3600));
    if repeats {
        scribe.wait(500_000_000);
        scribe.repeat(&request, scribe.now);
    }
    for _ in 0..challenges {
        scribe.respond(&request, 401, Extra::Challenge);
        scribe.wait(30_000_000);
        // Outside any dialog again: To has no tag.
        scribe.fork = 0;
        request = scribe.request(Party::Caller, Method::Register, Extra::RegisterAgain(3600));
    }
    let extra = match code {
        200 => Extra::Expires(3600),
        401 => Extra::Challenge,
        _ => Extra::None,
    };
    scribe.respond(&request, code, extra);
}
