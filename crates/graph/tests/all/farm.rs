//! Simulated days of a farm of devices with all sorts of faults, with a driven clock: every value that is told is what
//! the device counted at a moment when it was asked, and none is told of another interface than it is of.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use trunkline_graph::poller::{
    Access, Change, Event, Lane, LaneOptions, Now, Reading, Security, Settings as Pace, Source, Target, Unknown, User,
};
use trunkline_sim::farm::{
    AUTHENTICATION_PASSWORD, Answer, COMMUNITY, Counter, Farm, Fault, PRIVACY_PASSWORD, Settings,
};
use trunkline_wire::snmp::usm::{AuthProtocol, MasterKey, PrivacyProtocol};
use trunkline_wire::snmp::{ObjectId, Value};

const MS: u64 = 1_000_000;
const STEP_S: u32 = 300;
const WALK_NAMES: u64 = 1;
/// Where answers get lost a source may be read in parts that come apart by as much: it is told with the last one's
/// time.
const PARTS_MS: i64 = 12_000;
/// What an answer takes at most.
const ANSWER_MS: i64 = 1_000;
/// Moments at which a device was asked that are remembered.
const ASKED: usize = 5000;

const WIDE: [(Counter, u32); 2] = [(Counter::InOctets, 6), (Counter::OutOctets, 10)];
const NARROW: [(Counter, u32); 8] = [
    (Counter::InOctets, 10),
    (Counter::InPackets, 11),
    (Counter::InDiscards, 13),
    (Counter::InErrors, 14),
    (Counter::OutOctets, 16),
    (Counter::OutPackets, 17),
    (Counter::OutDiscards, 19),
    (Counter::OutErrors, 20),
];

/// What a reading is of, in the order of a source's names.
fn counters() -> impl Iterator<Item = (Counter, bool)> {
    WIDE.iter().map(|(counter, _)| (*counter, true)).chain(NARROW.iter().map(|(counter, _)| (*counter, false)))
}

fn name(table: &str, column: u32, index: u32) -> ObjectId {
    format!("{table}.{column}.{index}").parse().unwrap()
}

/// What is known of a device from outside.
#[derive(Default)]
struct Known {
    /// The interface names of the last walk, by number.
    indexes: BTreeMap<u32, String>,
    /// Numbers may be others since it started anew: what is read until they are known again is of nobody.
    is_stale: bool,
    asked: VecDeque<i64>,
    exact: u64,
    /// Of these, those that are told with a later time, as another part of their source was asked for again.
    torn: u64,
    unknown: BTreeMap<&'static str, u64>,
    restarts: u32,
    downs: u32,
    ups: u32,
    left_out: u64,
}

/// When an answer comes, its number, whose it is, and its octets.
type Arrival = (u64, u64, usize, Vec<u8>);

struct World {
    farm: Farm,
    lane: Lane,
    begun_ms: i64,
    steady_ns: u64,
    luck: u64,
    arrivals: BinaryHeap<Reverse<Arrival>>,
    known: Vec<Known>,
    /// Ways to ask devices that speak version 3 alone, in turn.
    users: Vec<Access>,
}

/// One of each code, and all ciphers.
fn users() -> Vec<Access> {
    let user = |name: &str, hash: AuthProtocol, cipher: PrivacyProtocol| {
        let key = |password: &str| MasterKey::new(hash, password.as_bytes()).unwrap();
        let security = Security::AuthPriv(key(AUTHENTICATION_PASSWORD), cipher, key(PRIVACY_PASSWORD));
        Access::V3(Box::new(User { name: name.into(), context: Vec::new(), security }))
    };
    vec![
        user("md5-des", AuthProtocol::Md5, PrivacyProtocol::Des),
        user("sha1-aes128", AuthProtocol::Sha1, PrivacyProtocol::Aes128),
        user("sha224-aes192", AuthProtocol::Sha224, PrivacyProtocol::Aes192),
        user("sha256-aes256", AuthProtocol::Sha256, PrivacyProtocol::Aes256),
        user("sha384-aes128", AuthProtocol::Sha384, PrivacyProtocol::Aes128),
        user("sha512-aes256", AuthProtocol::Sha512, PrivacyProtocol::Aes256),
    ]
}

impl World {
    fn new(settings: Settings) -> World {
        let farm = Farm::new(settings);
        let begun_ms = farm.settings().begin_ms;
        let lane = Lane::new(&LaneOptions { outstanding_max: 4096, seed: 7 });
        let known = (0..farm.settings().devices).map(|_| Known::default()).collect();
        World { farm, lane, begun_ms, steady_ns: 0, luck: 0, arrivals: BinaryHeap::new(), known, users: users() }
    }

    fn now(&self) -> Now {
        Now { steady_ns: self.steady_ns, unix_ms: self.begun_ms + (self.steady_ns / MS) as i64 }
    }

    fn access(&self, device: usize) -> Access {
        match self.farm.fault(device) {
            Some(Fault::VersionOne) => Access::V1(COMMUNITY.to_vec()),
            _ if self.farm.speaks_version_three_alone(device) => self.users[device % self.users.len()].clone(),
            _ => Access::V2c(COMMUNITY.to_vec()),
        }
    }

    /// A source for each interface whose number is known.
    fn describe(&mut self, device: usize) {
        let interfaces = self.farm.settings().interfaces;
        let interface = |text: &String| (0..interfaces).find(|one| self.farm.interface_name(*one) == *text);
        let indexes = self.known[device].indexes.iter();
        let sources = indexes.filter_map(|(index, text)| {
            let wide = WIDE.iter().map(|(_, column)| name("1.3.6.1.2.1.31.1.1.1", *column, *index));
            let narrow = NARROW.iter().map(|(_, column)| name("1.3.6.1.2.1.2.2.1", *column, *index));
            Some(Source { id: interface(text)?, names: wide.chain(narrow).collect() })
        });
        let target = Target {
            id: device as u32,
            address: SocketAddr::from((self.farm.address(device), 161)),
            access: self.access(device),
            settings: Pace { step_s: STEP_S, ..Pace::default() },
            sources: sources.collect(),
        };
        let now = self.now();
        self.lane.add(target, now).unwrap();
    }

    fn walk(&mut self, device: usize) {
        // Without ifXTable there is ifDescr; this farm names interfaces in both.
        let root = "1.3.6.1.2.1.31.1.1.1.1".parse().unwrap();
        self.known[device].indexes.clear();
        self.lane.walk(device as u32, WALK_NAMES, root, self.now()).unwrap();
    }

    fn send(&mut self) {
        let now = self.now();
        let gone: Vec<(SocketAddr, Vec<u8>)> = self.lane.transmits().map(|(to, o)| (to, o.to_vec())).collect();
        self.lane.clear_transmits();
        for (to, question) in gone {
            let IpAddr::V4(address) = to.ip() else { panic!("{to}") };
            let device = self.farm.device_of(address).unwrap();
            let known = &mut self.known[device];
            known.asked.push_back(now.unix_ms);
            if known.asked.len() > ASKED {
                known.asked.pop_front();
            }
            self.luck += 1;
            let mut octets = Vec::new();
            if let Answer::After(ms) = self.farm.answer(device, &question, now.unix_ms, self.luck, &mut octets) {
                let at = self.steady_ns + u64::from(ms) * MS;
                self.arrivals.push(Reverse((at, self.luck, device, octets)));
            }
        }
    }

    fn run(&mut self, until_ns: u64) {
        for device in 0..self.known.len() {
            self.describe(device);
            self.walk(device);
        }
        while self.steady_ns < until_ns {
            self.send();
            self.take();
            let due = self.lane.next_timeout_ns().unwrap_or(u64::MAX);
            let comes = self.arrivals.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
            self.steady_ns = self.steady_ns.max(due.min(comes));
            let now = self.now();
            if comes <= due {
                let Some(Reverse((_, _, device, octets))) = self.arrivals.pop() else { return };
                self.lane.handle(SocketAddr::from((self.farm.address(device), 161)), &octets, now);
            } else {
                self.lane.handle_timeout(now);
            }
        }
    }

    /// Compares what was found with the truth, and does what follows from events.
    fn take(&mut self) {
        if self.lane.batch().is_empty() {
            return;
        }
        let batch = std::mem::take(self.lane.batch());
        for walked in batch.walked() {
            let index = walked.varbind.name.arcs().last().unwrap();
            let Value::OctetString(text) = walked.varbind.value else { panic!("{:?}", walked.varbind.value) };
            self.known[walked.device as usize].indexes.insert(index, String::from_utf8(text.to_vec()).unwrap());
        }
        for sample in batch.samples() {
            let device = sample.device as usize;
            // Whose numbers may have changed is left out until they are known again.
            self.known[device].is_stale |= sample.is_restarted && self.farm.fault(device) == Some(Fault::Renumbers);
            if self.known[device].is_stale {
                self.known[device].left_out += 1;
                continue;
            }
            for ((counter, is_wide), reading) in counters().zip(sample.readings) {
                self.check(device, sample.source, counter, is_wide, *reading, sample.unix_ms);
            }
        }
        for event in batch.events() {
            self.happen(*event);
        }
    }

    fn check(&mut self, device: usize, interface: u32, counter: Counter, is_wide: bool, reading: Reading, at_ms: i64) {
        let known = &mut self.known[device];
        let told = match reading {
            Reading::Counter32(number) if !is_wide => u64::from(number),
            Reading::Counter64(number) if is_wide => number,
            Reading::Unknown(why) => {
                let word = match why {
                    Unknown::Timeout | Unknown::Down | Unknown::NoTime => "away",
                    Unknown::NoSuchObject | Unknown::NoSuchInstance => "absent",
                    other => panic!("device {device}: {other:?}"),
                };
                *known.unknown.entry(word).or_default() += 1;
                return;
            }
            other => panic!("device {device}, {counter:?}: {other:?}"),
        };
        let truth = |at: i64| {
            let all = self.farm.counter(device, interface, counter, at);
            if is_wide { all } else { all & 0xffff_ffff }
        };
        let is_lossy = self.farm.fault(device) == Some(Fault::Lossy);
        let late_ms_max = if is_lossy { PARTS_MS } else { ANSWER_MS };
        let moments = known.asked.iter().rev().filter(|asked| **asked <= at_ms && at_ms - **asked <= late_ms_max);
        let Some(asked) = moments.clone().find(|asked| truth(**asked) == told) else {
            let fault = self.farm.fault(device);
            let before = known.asked.iter().rev().find(|asked| truth(**asked) == told).map(|asked| at_ms - asked);
            let now = truth(at_ms);
            panic!(
                "device {device} ({fault:?}), interface {interface}, {counter:?}: {told}, not {now}: of {before:?} ms before"
            );
        };
        known.torn += u64::from(at_ms - asked > ANSWER_MS);
        known.exact += 1;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Restarted { device, .. } => {
                self.known[device as usize].restarts += 1;
                if self.farm.fault(device as usize) == Some(Fault::Renumbers) {
                    self.walk(device as usize);
                }
            }
            Event::Walked { device, .. } => {
                let device = device as usize;
                let is_whole = self.known[device].indexes.len() == self.farm.settings().interfaces as usize;
                if is_whole {
                    self.known[device].is_stale = false;
                    self.describe(device);
                } else if self.farm.fault(device) != Some(Fault::Dead) {
                    self.walk(device);
                }
            }
            Event::Health { device, change: Change::Down } => self.known[device as usize].downs += 1,
            Event::Health { device, change: Change::Up } => self.known[device as usize].ups += 1,
            _ => {}
        }
    }
}

#[test]
fn every_value_of_three_days_is_the_truth() {
    is_the_truth(61, 6, 3);
}

/// `cargo test -p trunkline-graph --test all farm:: -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn every_value_of_five_hundred_devices_with_fifty_interfaces_is_the_truth() {
    is_the_truth(500, 50, 2);
}

fn is_the_truth(devices: usize, interfaces: u32, days: u64) {
    let settings = Settings { devices, interfaces, v3_permille: 500, ..Settings::default() };
    let mut world = World::new(settings);
    let day_ns = 86_400_000 * MS;
    world.run(days * day_ns);
    let cycles = days * 86_400 / u64::from(STEP_S);
    let all = cycles * u64::from(interfaces) * counters().count() as u64;
    let cycle = all / cycles;
    let mut seen: HashMap<Option<Fault>, u32> = HashMap::new();
    let (end_ms, mut downs) = (world.now().unix_ms, 0);
    for (device, known) in world.known.iter().enumerate() {
        let fault = world.farm.fault(device);
        *seen.entry(fault).or_default() += 1;
        let told = (device, fault, known.exact, &known.unknown, known.restarts, known.downs, known.ups, known.left_out);
        let (away, absent) = (known.unknown.get("away").copied(), known.unknown.get("absent").copied());
        let wide = all * WIDE.len() as u64 / counters().count() as u64;
        // The first cycles come before the names are known.
        let nearly = |count: u64, of: u64| count <= of + cycle && count + 3 * cycle >= of;
        match fault {
            None | Some(Fault::Flapping | Fault::Slow | Fault::TooBig) => {
                assert!(nearly(known.exact, all) && away.is_none() && absent.is_none(), "{told:?}");
            }
            Some(Fault::Narrow | Fault::VersionOne) => {
                assert!(nearly(known.exact, all - wide) && nearly(absent.unwrap_or(0), wide), "{told:?}");
            }
            Some(Fault::Lossy) => {
                // A question and its answer are lost once in five: all three tries of one in a hundred and a bit.
                assert!(known.exact > all * 95 / 100 && absent.is_none(), "{told:?}");
            }
            Some(Fault::Dead) => assert_eq!((known.exact, known.ups, known.downs), (0, 0, 1), "{told:?}"),
            Some(Fault::Down) => {
                // An outage that no two cycles in a row meet is none.
                downs += known.downs;
                assert!(known.ups.abs_diff(known.downs) <= 1, "{told:?}");
                assert!(known.exact > all / 2 && away > Some(all / 50), "{told:?}");
            }
            Some(Fault::Reboots | Fault::Renumbers) => {
                let boots = world.farm.state(device, end_ms).boots - 1;
                assert!(u64::from(boots) > 2 * days + 1 && known.restarts.abs_diff(boots) <= 1, "{boots}: {told:?}");
                assert!(known.exact > all * 9 / 10, "{told:?}");
            }
        }
        assert!(fault != Some(Fault::Renumbers) || known.left_out > 0, "{told:?}");
    }
    assert!(downs > 10, "{downs}");
    // Devices that start again have another clock each time: of these, too, some speak version 3 alone.
    let secured = (0..devices).filter(|device| world.farm.speaks_version_three_alone(*device));
    let faults: HashSet<Option<Fault>> = secured.map(|device| world.farm.fault(device)).collect();
    assert!([None, Some(Fault::Reboots), Some(Fault::Lossy)].iter().all(|fault| faults.contains(fault)), "{faults:?}");
    assert_eq!(seen.len(), 1 + Fault::ALL.len(), "{seen:?}");
    let sum: u64 = world.known.iter().map(|known| known.exact).sum();
    let of_lossy = |device: usize| world.farm.fault(device) == Some(Fault::Lossy);
    let torn: u64 = (0..devices).filter(|device| of_lossy(*device)).map(|device| world.known[device].torn).sum();
    println!("{sum} values of {devices} devices over {days} days, each the truth; {torn} of them told late");
    println!("{:?}", world.lane.counts());
}
