//! Writes a script message by message: numbers, branches, tags, hops, and the time each message takes.

use crate::random::Random;
use crate::scene::{Party, Scene};
use crate::sdp::Sdp;
use crate::sip::{Extra, Method, Step};

const MS: i64 = 1_000_000;

/// Which hops a message takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All.
    Both,
    /// That between the caller and the proxy, which answers itself.
    First,
}

/// A script in the making.
pub(crate) struct Scribe<'a> {
    scene: &'a Scene,
    random: &'a mut Random,
    steps: Vec<Step>,
    /// When the last message passed the tap.
    pub now: i64,
    cseq: [u32; 2],
    branch: u16,
    /// Which of several callees answers; 0 while there is no dialog.
    pub fork: u8,
    pub reach: Reach,
}

impl<'a> Scribe<'a> {
    pub fn new(scene: &'a Scene, random: &'a mut Random, start_ns: i64) -> Self {
        let (steps, reach) = (Vec::with_capacity(16), Reach::Both);
        Scribe { scene, random, steps, now: start_ns, cseq: [0; 2], branch: 0, fork: 0, reach }
    }

    /// The messages in time order.
    pub fn finish(mut self) -> Vec<Step> {
        self.steps.sort_by_key(|s| s.at_ns);
        self.steps
    }

    /// Lets time pass.
    pub fn wait(&mut self, ns: i64) {
        self.now += ns;
    }

    /// A new request of a party; passes the tap (or the hops) now.
    pub fn request(&mut self, asker: Party, method: Method, extra: Extra) -> Step {
        self.branch += 1;
        let cseq = &mut self.cseq[asker.side()];
        *cseq += 1;
        let step = Step {
            at_ns: self.now,
            from: asker,
            to: asker.other(),
            method,
            status: 0,
            cseq: *cseq,
            branch: self.branch,
            asker,
            fork: self.fork,
            hop: 0,
            relay: 0,
            repeats: false,
            extra,
        };
        self.send(step);
        step
    }

    /// The answer to a request, after a while.
    pub fn respond(&mut self, request: &Step, status: u16, extra: Extra) -> Step {
        self.turn(request.asker.other());
        let fork = if status == 100 { request.fork } else { self.fork.max(1) };
        let (from, to) = (request.asker.other(), request.asker);
        let step = Step { at_ns: self.now, from, to, status, fork, extra, ..*request };
        self.send(step);
        step
    }

    /// The same message again at another time.
    pub fn repeat(&mut self, step: &Step, at_ns: i64) {
        let now = self.now;
        self.now = at_ns;
        self.send(Step { repeats: true, ..*step });
        self.now = now;
    }

    /// The ACK of a 2xx: a transaction of its own with the number of its INVITE (RFC 3261 section 13.2.2.4), with the
    /// answer to what the 2xx offered.
    pub fn acknowledge(&mut self, invite: &Step, answer: Option<Sdp>) -> Step {
        self.turn(invite.asker);
        self.branch += 1;
        let ack = Step {
            method: Method::Ack,
            branch: self.branch,
            fork: self.fork,
            extra: answer.map_or(Extra::None, Extra::Sdp),
            ..*invite
        };
        self.send(ack);
        Step { at_ns: self.now, ..ack }
    }

    /// A request and its answer.
    pub fn transaction(&mut self, asker: Party, method: Method, ask: Extra, status: u16, answer: Extra) {
        let request = self.request(asker, method, ask);
        self.respond(&request, status, answer);
    }

    /// The time a message needs to a party and its answer back to the tap.
    pub fn turn(&mut self, party: Party) {
        self.now += 2 * self.scene.path_ns[party.side()] + self.random.between(300_000, 3 * MS);
    }

    /// Puts a message on its hops; responses take them in reverse.
    pub fn send(&mut self, step: Step) {
        if !self.scene.proxied {
            self.steps.push(Step { at_ns: self.now, ..step });
            return;
        }
        let first = u8::from(step.status > 0);
        if step.status == 100 {
            // The proxy answers 100 itself, sooner, and passes none on.
            self.steps.push(Step { at_ns: self.now - 200_000, from: Party::Proxy, ..step });
        }
        if self.reach == Reach::First {
            let (from, to) = if first == 0 { (Party::Caller, Party::Proxy) } else { (Party::Proxy, Party::Caller) };
            if step.status != 100 {
                self.steps.push(Step { at_ns: self.now, from, to, ..step });
            }
            return;
        }
        self.steps.push(Step { at_ns: self.now, to: Party::Proxy, hop: first, ..step });
        if step.status == 100 {
            return;
        }
        self.now += self.random.between(200_000, 900_000);
        self.steps.push(Step { at_ns: self.now, from: Party::Proxy, hop: 1 - first, ..step });
    }

    /// A request of the caller on its way from the proxy to a target.
    pub fn far(&mut self, step: Step) {
        // No two targets are written to at one time.
        self.now += 40_000;
        self.steps.push(Step { at_ns: self.now, from: Party::Proxy, hop: 1, ..step });
    }

    /// A request of the caller on its way to the proxy.
    pub fn near(&mut self, step: Step) {
        self.steps.push(Step { at_ns: self.now, from: Party::Caller, to: Party::Proxy, hop: 0, ..step });
    }

    /// What a target says to a request that the proxy sent it, and whether the proxy passes it on.
    pub fn answer_of_target(&mut self, request: &Step, status: u16, fork: u8, passed_on: bool) {
        let extra = if status == 200 && request.method == Method::Invite { request.extra } else { Extra::None };
        let step = Step { from: request.to, to: Party::Proxy, status, fork, extra, ..*request };
        self.steps.push(Step { at_ns: self.now, hop: 1, ..step });
        if passed_on {
            self.now += self.random.between(200_000, 900_000);
            self.steps.push(Step { at_ns: self.now, from: Party::Proxy, to: Party::Caller, hop: 0, relay: 0, ..step });
        }
    }

    /// Whether messages are repeated until they are answered.
    pub fn repeats(&self) -> bool {
        !self.scene.tcp
    }

    /// The number of another transaction.
    pub fn next_branch(&mut self) -> u16 {
        self.branch += 1;
        self.branch
    }
}
