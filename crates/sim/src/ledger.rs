//! What the signalling of a call says, message by message as it passes the tap: the sim's own reading of it.

use crate::mixture::Relay;
use crate::scene::{Party, Scene};
use crate::sip::{Method, Step};
use crate::transport;
use crate::truth::{CallTruth, Moment, State, TransactionTruth, Who};

/// Which messages a ledger sees: those of the first leg and of all that share its Call-ID, or those of one leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    First,
    Own,
}

/// What has been seen of a call's or an errand's signalling.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub start_ns: Option<i64>,
    pub last_ns: i64,
    pub messages: u32,
    pub retransmissions: u32,
    ringing_ns: Option<i64>,
    answer: Option<(i64, u16)>,
    bye: Option<(i64, Party)>,
    final_response: Option<(i64, u16)>,
    provisional: u16,
    cancelled: bool,
    /// Its first message is an INVITE within a dialog.
    joined: bool,
    transactions: Vec<Transaction>,
}

#[derive(Clone, Debug)]
struct Transaction {
    method: Method,
    asker: Party,
    start_ns: i64,
    end: Option<(i64, u16)>,
    messages: u32,
    requests: u32,
    retransmissions: u32,
}

impl Ledger {
    /// A message passed the tap (its last octet did).
    pub fn observe(&mut self, step: &Step, at_ns: i64, leg: Leg) {
        let within = matches!(step.method, Method::Invite | Method::Ack | Method::Bye) && step.fork > 0;
        self.joined |= self.start_ns.is_none() && within;
        self.start_ns.get_or_insert(at_ns);
        self.last_ns = at_ns;
        self.messages += 1;
        self.retransmissions += u32::from(step.repeats);
        match (step.method, step.status) {
            // Another try: what was refused before ends nothing while it is pending.
            (Method::Invite, 0) if !step.repeats && step.hop == 0 && self.answer.is_none() => {
                (self.final_response, self.provisional, self.cancelled) = (None, 0, false);
            }
            (Method::Invite, 0) => {}
            (Method::Invite, status) => {
                let told = leg == Leg::Own || step.to == Party::Caller || !step.is_far();
                self.answered(status, at_ns, told && !(leg == Leg::First && step.is_aside() && status >= 200));
            }
            (Method::Cancel, 0) => self.cancelled |= leg == Leg::Own || !step.is_far(),
            (Method::Bye, 0) if leg == Leg::Own || !step.is_aside() => {
                self.bye.get_or_insert((at_ns, step.asker));
            }
            _ => {}
        }
    }

    /// Keeps the transactions of an errand apart.
    pub fn observe_errand(&mut self, step: &Step, at_ns: i64) {
        self.observe(step, at_ns, Leg::First);
        let known = self.transactions.iter().position(|t| t.method == step.method);
        let index = known.unwrap_or(self.transactions.len());
        if known.is_none() {
            let (method, asker) = (step.method, step.asker);
            let transaction =
                Transaction { method, asker, start_ns: at_ns, end: None, messages: 0, requests: 0, retransmissions: 0 };
            self.transactions.push(transaction);
        }
        let transaction = &mut self.transactions[index];
        transaction.messages += 1;
        transaction.requests += u32::from(step.status == 0);
        transaction.retransmissions += u32::from(step.repeats);
        if step.status >= 200 {
            transaction.end = Some((at_ns, step.status));
        }
    }

    /// A response to INVITE, of which the caller is told or not.
    fn answered(&mut self, status: u16, at_ns: i64, told: bool) {
        match status {
            ..200 => {
                let rings = matches!(status, 180 | 183);
                if told && (rings || !matches!(self.provisional, 180 | 183)) {
                    self.provisional = status;
                }
                if rings {
                    self.ringing_ns.get_or_insert(at_ns);
                }
            }
            200..300 => {
                self.answer.get_or_insert((at_ns, status));
            }
            _ if told => self.final_response = Some((at_ns, status)),
            _ => {}
        }
    }

    /// It was answered, and no BYE was seen.
    pub fn is_open(&self) -> bool {
        self.answer.is_some() && self.bye.is_none() && !self.joined
    }

    /// State and code by the rules of DESIGN section 4.
    fn state(&self) -> (State, u16) {
        let code = self.final_response.map_or(0, |(_, status)| status);
        match code {
            _ if self.joined => (State::JoinedMidCall, 0),
            _ if self.answer.is_some() => {
                let state = if self.bye.is_some() { State::Completed } else { State::Answered };
                (state, self.answer.map_or(0, |(_, status)| status))
            }
            0 if self.cancelled => (State::Cancelled, self.provisional),
            487 if self.cancelled => (State::Cancelled, code),
            0 => match self.provisional {
                0 => (State::Attempted, 0),
                180 | 183 => (State::Ringing, self.provisional),
                other => (State::Trying, other),
            },
            401 | 407 => (State::AuthChallenged, code),
            300..=399 => (State::Redirected, code),
            _ => (State::Rejected, code),
        }
    }

    /// The same of a leg behind a back-to-back user agent.
    pub fn leg(&self, scene: &Scene, target: Party) -> CallTruth {
        let src = if scene.tcp { transport::client(scene) } else { scene.host(Party::Proxy).seen };
        CallTruth {
            sip_call_id: scene.leg_call_id(Some(target)).into_owned(),
            src: src.to_string(),
            dst: scene.host(target).seen.to_string(),
            leg_of: Some(scene.call_id.clone()),
            ..self.call(scene)
        }
    }

    /// The part of a call's truth that its signalling tells.
    pub fn call(&self, scene: &Scene) -> CallTruth {
        let (state, code) = self.state();
        let start = self.start_ns;
        let answer = self.answer.map(|(at, _)| at).filter(|_| !self.joined);
        let end = if self.answer.is_some() || self.joined {
            self.bye.map(|(at, _)| at)
        } else {
            self.final_response.map(|(at, _)| at)
        };
        let ms = |from: Option<i64>, to: Option<i64>| Some((to? - from?) as f64 / 1e6);
        let hangup = match self.bye.filter(|_| answer.is_some()) {
            Some((_, Party::Caller)) => Who::Caller,
            Some(_) => Who::Callee,
            None => Who::None,
        };
        CallTruth {
            sip_call_id: scene.call_id.clone(),
            state,
            from: scene.users[0].clone(),
            to: scene.users[1].clone(),
            start: start.map(Moment::of),
            ringing: self.ringing_ns.map(Moment::of),
            answer: answer.map(Moment::of),
            end: end.map(Moment::of),
            pdd_ms: ms(start, self.ringing_ns),
            setup_ms: ms(start, answer),
            duration_ms: ms(answer, end),
            code,
            hangup,
            src: scene.host(Party::Caller).seen.to_string(),
            dst: scene.host(if scene.proxied { Party::Proxy } else { Party::Callee }).seen.to_string(),
            transport: if scene.tcp { "tcp" } else { "udp" }.into(),
            hops: 1 + u8::from(scene.proxied && scene.relay != Relay::OwnCallId),
            messages: self.messages,
            retransmissions: self.retransmissions,
            path_ms: scene.path_ns.map(|ns| ns as f64 / 1e6),
            ..CallTruth::default()
        }
    }

    /// The transactions of an errand, by their first requests.
    pub fn transactions(&self, scene: &Scene) -> Vec<TransactionTruth> {
        let truth = |t: &Transaction| {
            let (from, to) = (t.asker, t.asker.other());
            let called = if t.method == Method::Register { from } else { to };
            TransactionTruth {
                method: t.method.name().into(),
                sip_call_id: scene.call_id.clone(),
                from: scene.users[from.side()].clone(),
                to: scene.users[called.side()].clone(),
                start: Some(Moment::of(t.start_ns)),
                end: t.end.map(|(at, _)| Moment::of(at)),
                code: t.end.map_or(0, |(_, status)| status),
                src: scene.host(from).seen.to_string(),
                dst: scene.host(to).seen.to_string(),
                messages: t.messages,
                requests: t.requests,
                retransmissions: t.retransmissions,
                planted: None,
                expect: Vec::new(),
            }
        };
        self.transactions.iter().map(truth).collect()
    }
}
