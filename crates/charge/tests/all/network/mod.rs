//! A client, an operator and a disk around the core: every entry goes through its octets.

use std::sync::Arc;
use trunkline_charge::account::{
    Account, Charge, Effect, Entry, Identity, IdentityKind, MoneyReason, ServiceKey, Sums, audit,
};
use trunkline_charge::money::Money;
use trunkline_charge::session::{Answer, Asked, Core, Kind, Limits, Refused, Request, Restoring, State, Used};
use trunkline_charge::trust::Trust;
use trunkline_charge::units::Amounts;

/// Tuesday 2026-11-24 10:00 UTC.
pub const NOW: i64 = 1_795_514_400;

pub const PLAN: &str = r#"
[plan]
name = "test"
[allowance.gift]
amount = "50 kB"
priority = 1
lasts = "7 days"
[allowance.monthly]
amount = "200 kB"
period = "month"
roll-over = "100 kB"
[cap.day]
period = "day"
limit = 300
then = "throttle"
[cap.abroad]
period = "day"
limit = 100
[[version]]
from = "2026-01-01"
rule = [
  { name = "data", rating-groups = [1], step = "1 kB", price = "1.5", tranche = "100 kB", validity = "10 min",
    holding = "1 min", threshold = 20 },
  { name = "peak", rating-groups = [2], times = ["08:00-18:00"], unit = "seconds", price = 2, tranche = 600 },
  { name = "off-peak", rating-groups = [2], unit = "seconds", price = 1, tranche = 600 },
  { name = "free", rating-groups = [3], outcome = "free" },
  { name = "blocked", rating-groups = [4], outcome = "blocked" },
  { name = "portal", rating-groups = [5], step = "1 kB", price = 1, validity = "10 min", last = "redirect",
    redirect = "http://portal.example/" },
  { name = "capped", rating-groups = [6], step = "1 kB", price = 1, tranche = "100 kB", caps = ["day"] },
  { name = "pool a", rating-groups = [7], step = "1 kB", price = 1, tranche = "50 kB", pool = 1 },
  { name = "pool b", rating-groups = [8], step = "1 kB", price = 2, tranche = "50 kB", pool = 1 },
  { name = "bundle", rating-groups = [9], step = "1 kB", price = 1, tranche = "100 kB",
    allowances = ["monthly", "gift"] },
  { name = "message", rating-groups = [10], unit = "events", price = 10 },
  { name = "minutes", rating-groups = [11], unit = "seconds", first-step = 60, price = "0.7", set-up = "3",
    tranche = 300, validity = "2 h" },
  { name = "tiers", rating-groups = [12], step = "1 kB", tiers = ["0: 1", "100 kB: 0.5"], counter = "month",
    tranche = "100 kB" },
  { name = "abroad", rating-groups = [13], step = "1 kB", price = 1, tranche = "80 kB", caps = ["abroad"] },
]
"#;

/// A core with one subscriber.
pub struct Network {
    pub core: Core,
    pub entries: Vec<Entry>,
    pub now: i64,
    limits: Limits,
    trust: Arc<Trust>,
    /// What reads each entry as it is written, and what adds it up.
    follower: Core,
    /// What takes the same requests, and is never stored.
    twin: Core,
    sums: Sums,
}

/// What is asked of a rating group: octets or seconds that were used, and what is wanted; 0 is as the server likes.
pub fn asked(group: u32, used: Option<u64>, wanted: Option<u64>) -> Asked {
    let amounts = |amount| Amounts { octets: amount, seconds: amount, ..Amounts::default() };
    Asked {
        key: ServiceKey { rating_group: Some(group), service: None },
        requested: wanted.map(amounts),
        used: used.map(|used| Used { amounts: amounts(used), side: None }).into_iter().collect(),
    }
}

pub fn snapshot(state: &State) -> Vec<Vec<u8>> {
    trunkline_charge::exercise::records(state)
}

impl Network {
    pub fn new(balance: Money, credit: Money) -> Network {
        Network::of(Limits::default(), balance, credit)
    }

    pub fn of(limits: Limits, balance: Money, credit: Money) -> Network {
        let [core, follower, twin] = [(); 3].map(|()| Core::new(limits));
        let mut network = Network {
            core,
            entries: Vec::new(),
            now: NOW,
            limits,
            trust: Arc::default(),
            follower,
            twin,
            sums: Sums::default(),
        };
        network.set_plan(PLAN);
        let entry = network.core.set_account(1, "test", credit, NOW);
        network.entry(entry);
        let imsi = Identity::new(IdentityKind::Imsi, "001010000000001");
        let entry = network.core.set_subscriber(1, 1, vec![imsi], NOW);
        network.entry(entry);
        network.top_up(balance.0);
        network
    }

    /// Goes by this from now on.
    pub fn trust(&mut self, trust: Trust) {
        self.trust = Arc::new(trust);
        self.core = core::mem::take(&mut self.core).trusting(Arc::clone(&self.trust));
        self.twin = core::mem::take(&mut self.twin).trusting(Arc::clone(&self.trust));
    }

    pub fn entry(&mut self, entry: Result<Entry, Refused>) {
        self.write(entry.expect("it is done"));
    }

    pub fn set_plan(&mut self, text: &str) {
        let entry = self.core.set_plan(text, self.now);
        self.write(entry.unwrap_or_else(|mistakes| panic!("{mistakes:?}")));
    }

    pub fn write(&mut self, entry: Entry) {
        let read = Entry::decode(&entry.encode()).expect("its own octets");
        assert_eq!((read.sequence, &read), (self.entries.len() as u64 + 1, &entry));
        self.follower.apply(&read).expect("a plan that was read before");
        self.sums.add(&read);
        if self.twin.state().sequence() < read.sequence {
            self.twin.apply(&read).expect("a plan that was read before");
        }
        self.entries.push(read);
    }

    pub fn top_up(&mut self, amount: i64) {
        let entry = self.core.add_money(1, MoneyReason::TopUp, Money(amount), "", self.now);
        self.entry(entry);
    }

    pub fn account(&self) -> &Account {
        self.core.state().account(1).expect("an account")
    }

    pub fn charges(&self) -> impl Iterator<Item = &Charge> {
        self.entries.iter().flat_map(|entry| &entry.effects).filter_map(|effect| match effect {
            Effect::Charged { charge, .. } => Some(charge),
            _ => None,
        })
    }

    pub fn request(&self, session: &str, kind: Kind, number: u32, services: Vec<Asked>) -> Request {
        Request {
            session: session.into(),
            origin: "gw.example".into(),
            end_to_end: number,
            number,
            kind,
            identities: vec![Identity::new(IdentityKind::Imsi, "001010000000001")],
            place: None,
            services,
            correlation: Box::default(),
            facts: Box::default(),
        }
    }

    pub fn send(&mut self, request: &Request) -> Answer {
        let outcome = self.core.handle(request, self.now);
        assert_eq!(outcome, self.twin.handle(request, self.now));
        assert!(outcome.after <= self.core.state().sequence());
        outcome.entry.into_iter().for_each(|entry| self.write(entry));
        outcome.answer
    }

    pub fn initial(&mut self, session: &str, services: Vec<Asked>) -> Answer {
        let request = self.request(session, Kind::Initial, 0, services);
        self.send(&request)
    }

    pub fn update(&mut self, session: &str, number: u32, services: Vec<Asked>) -> Answer {
        let request = self.request(session, Kind::Update, number, services);
        self.send(&request)
    }

    pub fn end(&mut self, session: &str, number: u32, services: Vec<Asked>) -> Answer {
        let request = self.request(session, Kind::Terminate, number, services);
        self.send(&request)
    }

    pub fn timeout(&mut self, now: i64) {
        self.now = self.now.max(now);
        while let Some(entry) = self.core.handle_timeout(now) {
            self.write(entry);
        }
    }

    /// The core that the entries make.
    pub fn replayed(&self) -> Core {
        let mut core = Core::new(self.limits).trusting(Arc::clone(&self.trust));
        self.entries.iter().try_for_each(|entry| core.apply(entry)).expect("plans that were read before");
        core
    }

    /// Takes what is on the disk for what is in memory.
    pub fn restart(&mut self) {
        self.check();
        self.core = self.replayed();
        self.check();
    }

    /// Goes on with what a snapshot says, which is all that there was.
    pub fn store(&mut self) {
        let records = snapshot(self.core.state());
        let mut restoring = Restoring::default();
        records.iter().try_for_each(|record| restoring.take(record)).expect("its own records");
        let state = restoring.state().expect("all of them");
        assert!(state == *self.core.state(), "a snapshot makes another state");
        assert_eq!(snapshot(&state), records);
        self.core =
            Core::of(state, self.limits).expect("plans that were read before").trusting(Arc::clone(&self.trust));
        self.check();
    }

    /// Goes on with a core that a disk told of, and its entries.
    pub fn resume(&mut self, core: Core) {
        self.entries.truncate(core.state().sequence() as usize);
        let read = self.replayed();
        assert!(read.state() == core.state(), "the disk made another state");
        self.sums = Sums::default();
        self.entries.iter().for_each(|entry| self.sums.add(entry));
        (self.follower, self.twin, self.core) = (read.clone(), read, core);
        self.check();
    }

    /// The books balance, and the entries make the same state again.
    pub fn check(&self) {
        assert_eq!(self.sums.differences(self.core.state()), []);
        assert!(self.follower.state() == self.core.state(), "entries make another state");
    }

    /// The same of all entries from the first on.
    pub fn check_from_the_first(&self) {
        assert_eq!(audit(&self.entries, self.core.state()), []);
        assert!(self.replayed().state() == self.core.state(), "all entries make another state");
    }
}
