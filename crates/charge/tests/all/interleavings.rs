//! Random networks: sessions beside each other, copies, requests out of order, restarts, top-ups, silence. The books
//! balance after each step, and at the end what was charged is what was used.

use crate::network;
use network::{Network, asked};
use proptest::prelude::*;
use std::collections::HashMap;
use trunkline_charge::account::Effect;
use trunkline_charge::money::Money;
use trunkline_charge::session::{Answer, KEPT_MAX, Kind, Request};
use trunkline_charge::tariff::Context;

/// Rating groups of the plan that are priced.
const GROUPS: [u32; 11] = [1, 2, 5, 6, 7, 8, 9, 11, 12, 13, 99];

#[derive(Clone, Debug)]
enum Step {
    /// A request of a session: its services, the part of each grant that was used (percent; over 100 is beyond it).
    Ask {
        session: usize,
        services: Vec<(usize, u64)>,
        ends: bool,
    },
    /// One of the requests that were sent comes once more.
    Copy(prop::sample::Index),
    /// Two requests of a session come in the wrong order.
    Swap {
        session: usize,
        group: usize,
        percent: u64,
    },
    /// The program is killed, and reads its disk.
    Restart,
    /// What is in memory is a snapshot, and read again.
    Store,
    /// Usage comes of a session that is none.
    Stray(u32),
    TopUp(i64),
    Bundle(bool),
    /// So many seconds pass.
    Wait(i64),
}

fn steps() -> impl Strategy<Value = Step> {
    let percent = prop_oneof![8 => 0u64..=100, 1 => 100u64..300];
    let services = prop::collection::vec((0..GROUPS.len(), percent.clone()), 0..4);
    prop_oneof![
        12 => (0usize..4, services, prop::bool::weighted(0.15))
            .prop_map(|(session, services, ends)| Step::Ask { session, services, ends }),
        5 => any::<prop::sample::Index>().prop_map(Step::Copy),
        2 => (0usize..4, 0..GROUPS.len(), percent)
            .prop_map(|(session, group, percent)| Step::Swap { session, group, percent }),
        1 => Just(Step::Restart),
        2 => Just(Step::Store),
        1 => (0u32..5).prop_map(Step::Stray),
        2 => (0i64..300).prop_map(Step::TopUp),
        1 => any::<bool>().prop_map(Step::Bundle),
        3 => prop_oneof![0i64..100, 3000i64..8000, 80_000i64..90_000].prop_map(Step::Wait),
    ]
}

/// A session as its client knows it.
#[derive(Clone, Debug, Default)]
struct Client {
    name: String,
    number: u32,
    open: bool,
    granted: HashMap<u32, u64>,
}

struct World {
    network: Network,
    clients: Vec<Client>,
    names: u32,
    sent: Vec<(Request, Answer, i64)>,
    /// What was reported in requests that were answered with success.
    used: u64,
}

impl World {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Ask { session, services, ends } => {
                let request = self.next(*session, services, *ends);
                self.deliver(*session, request);
            }
            Step::Swap { session, group, percent } => {
                let first = self.next(*session, &[(*group, *percent)], false);
                let second = self.next(*session, &[(*group, 0)], false);
                if first.kind == Kind::Update {
                    self.deliver(*session, second);
                    self.deliver(*session, first);
                } else {
                    self.deliver(*session, first);
                    self.deliver(*session, second);
                }
            }
            Step::Copy(index) if !self.sent.is_empty() => self.copy(index.index(self.sent.len())),
            Step::Copy(_) => {}
            Step::Restart => self.network.restart(),
            Step::Store => self.network.store(),
            Step::Stray(end_to_end) => {
                let usage = vec![asked(1, Some(500), None)];
                let request = self.network.request("none", Kind::Update, *end_to_end, usage);
                assert_eq!(self.network.send(&request).code, 5002);
            }
            Step::TopUp(amount) => self.network.top_up(*amount),
            Step::Bundle(gift) => {
                let name = if *gift { "gift" } else { "monthly" };
                let entry = self.network.core.buy_allowance(1, name, self.network.now);
                self.network.entry(entry);
            }
            Step::Wait(seconds) => {
                let now = self.network.now + seconds;
                self.network.timeout(now);
            }
        }
        self.network.check();
    }

    /// The next request of a session.
    fn next(&mut self, session: usize, services: &[(usize, u64)], ends: bool) -> Request {
        let client = &mut self.clients[session];
        let mut kind = if ends { Kind::Terminate } else { Kind::Update };
        if !client.open {
            self.names += 1;
            *client = Client { name: format!("session {}", self.names), open: true, ..Client::default() };
            kind = Kind::Initial;
        }
        let mut wanted: Vec<(u32, u64)> = services.iter().map(|(at, percent)| (GROUPS[*at], *percent)).collect();
        wanted.sort_unstable();
        wanted.dedup_by_key(|(group, _)| *group);
        let services = wanted.into_iter().map(|(group, percent)| {
            let used = client.granted.remove(&group).map(|granted| granted * percent / 100).filter(|used| *used > 0);
            asked(group, used, (kind != Kind::Terminate).then_some(0))
        });
        let request = self.network.request(&client.name, kind, client.number, services.collect());
        client.number += 1;
        client.open = kind != Kind::Terminate;
        request
    }

    fn deliver(&mut self, session: usize, request: Request) {
        let answer = self.network.send(&request);
        if answer.code == 2001 {
            self.used +=
                request.services.iter().flat_map(|asked| &asked.used).map(|used| used.amounts.octets).sum::<u64>();
        }
        // What is late is granted nothing.
        let client = &mut self.clients[session];
        for given in &answer.services {
            let group = given.key.rating_group.expect("a group");
            if let Some((_, units)) = given.granted {
                client.granted.insert(group, units);
            }
        }
        // Who is told that the session is unknown begins another.
        self.clients[session].open &= answer.code != 5002;
        self.sent.push((request, answer, self.network.now));
    }

    /// A copy is answered as before while its answer is kept, and never changes an account.
    fn copy(&mut self, at: usize) {
        let (request, answer, sent_at) = self.sent[at].clone();
        // Clients repeat no request for longer than answers are kept.
        if self.network.now - sent_at > 250 {
            return;
        }
        let (before, charges) = (self.network.account().clone(), self.network.charges().count());
        let again = self.network.send(&request);
        let of_session =
            self.sent.iter().filter(|(other, answer, _)| other.session == request.session && answer.code == 2001);
        let newer = of_session.rev().take_while(|(other, ..)| *other != request).count();
        if newer < KEPT_MAX || answer.code != 2001 {
            assert_eq!(again, answer, "{request:?}");
        } else {
            assert_eq!(again.code, 5012, "{request:?}");
        }
        assert_eq!(*self.network.account(), before, "{request:?}");
        assert_eq!(self.network.charges().count(), charges);
    }
}

/// What each service of each session was charged, and could not be charged, is the price of all that it used: in
/// however many reports, in whatever order, before and after restarts. Of rules without bundles, caps and times.
fn check_prices(network: &Network) {
    network.check_from_the_first();
    let plan = network.core.plan("test").expect("its plan");
    let (mut names, mut sums) = (HashMap::new(), HashMap::new());
    for effect in network.entries.iter().flat_map(|entry| &entry.effects) {
        match effect {
            Effect::Opened { slot, session, .. } => {
                names.insert(*slot, session.clone());
            }
            Effect::Charged { slot, charge, .. } => {
                let sum = sums.entry((names[slot].clone(), charge.service)).or_insert((0u64, 0i64));
                *sum = (sum.0 + charge.units, sum.1 + charge.money.0 + charge.short.0);
            }
            _ => {}
        }
    }
    for ((session, service), (units, money)) in sums {
        let context = Context { rating_group: service.rating_group, ..Context::default() };
        let rule = plan.rule(&context, network::NOW).expect("a rule");
        if !["data", "portal", "pool a", "pool b", "minutes"].contains(&rule.name.as_str()) {
            continue;
        }
        let steps = units.max(rule.first).div_ceil(rule.next) as i64;
        let micros = rule.set_up + rule.tiers[0].price.0 * steps;
        assert_eq!(money, (micros + 999_999) / 1_000_000, "{session} {}", rule.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_books_balance_whatever_the_network_does(
        balance in 0i64..3000, credit in prop_oneof![Just(0i64), 0i64..500],
        steps in prop::collection::vec(steps(), 1..60),
    ) {
        let mut world = World {
            network: Network::new(Money(balance), Money(credit)),
            clients: vec![Client::default(); 4],
            names: 0,
            sent: Vec::new(),
            used: 0,
        };
        for step in &steps {
            world.step(step);
        }
        check_prices(&world.network);
        let charged: u64 = world.network.charges().map(|charge| charge.units).sum();
        let answered = world.network.entries.iter().filter(|entry| {
            entry.effects.iter().any(|effect| matches!(effect, Effect::Answered { .. }))
        });
        let unrated: u64 = answered.flat_map(|entry| &entry.effects).map(|effect| match effect {
            Effect::Unrated { used, .. } => used.octets,
            _ => 0,
        }).sum();
        // Each octet and each second once, whoever paid.
        prop_assert_eq!(charged + unrated, world.used);
        prop_assert!(world.network.account().balance >= Money(-credit));
    }

    /// What was granted can be paid, whatever other sessions of the account do meanwhile.
    #[test]
    fn what_was_granted_is_never_short(
        balance in 0i64..3000, bundle in any::<bool>(),
        steps in prop::collection::vec(
            (0usize..4, prop::collection::vec((0..GROUPS.len(), 0u64..=100), 0..4), prop::bool::weighted(0.15),
                0i64..6),
            1..60,
        ),
    ) {
        let mut world = World {
            network: Network::new(Money(balance), Money::ZERO),
            clients: vec![Client::default(); 4],
            names: 0,
            sent: Vec::new(),
            used: 0,
        };
        if bundle {
            world.step(&Step::Bundle(false));
        }
        for (session, services, ends, wait) in steps {
            world.step(&Step::Ask { session, services, ends });
            // Six minutes at most in all: within the validity of each grant.
            world.step(&Step::Wait(wait));
        }
        check_prices(&world.network);
        prop_assert_eq!(world.network.charges().map(|charge| charge.short.0).sum::<i64>(), 0);
    }
}
