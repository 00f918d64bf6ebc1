//! Devices are looked for by their addresses: each of a range is asked once, so many at a time, and what answers is
//! added to the inventory.

use super::{Handle, Polling, PollingOptions, Undone};
use crate::discovery::{Exploration, Step};
use crate::inventory::order::Order;
use crate::inventory::{Access, Device, Observed, Refusal};
use crate::poller::{Change, Event, Settings, Target, WalkEnd};
use crate::targets::{Keys, access_of};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Addresses of one range.
// Limit: addresses of one search for devices
// Beyond: the search is refused
// Seen in: the error message
pub const ADDRESSES_MAX: u32 = 1 << 16;
/// Addresses that are asked at a time: within five seconds, so that no network is stormed.
const AT_ONCE: usize = 256;
/// Seconds within which an address is asked, and has answered twice over.
const STEP_S: u32 = 5;
/// How long an answer is waited for, milliseconds; asked again once.
const TIMEOUT_MS: u32 = 1000;
/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Failures that are told.
const FAILURES_MAX: usize = 20;
/// Who the entries name.
const BY: &str = "discovery";

/// Addresses from one to another, all of IPv4 or all of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    is_v4: bool,
    first: u128,
    last: u128,
}

impl Range {
    /// Reads `10.0.0.0/24`, `10.0.0.1-10.0.0.99`, `10.0.0.1`, `2001:db8::/112` or `2001:db8::1-2001:db8::ff`. Of a
    /// network of IPv4 its own address and that of all are left out, of IPv6 that of all routers (RFC 4291 section
    /// 2.6.1).
    pub fn parse(text: &str) -> Result<Range, String> {
        let wrong = || {
            format!(
                "'{text}' is none of 10.0.0.0/24, 10.0.0.1-10.0.0.99, 10.0.0.1, 2001:db8::/112, 2001:db8::1-2001:db8::9"
            )
        };
        let address = |text: &str| text.trim().parse::<IpAddr>().map_err(|_| wrong());
        let (first, last) = if let Some((network, bits)) = text.split_once('/') {
            let network = address(network)?;
            let length = if network.is_ipv4() { 32 } else { 128 };
            let bits: u32 = bits.parse().ok().filter(|bits| *bits <= length).ok_or_else(wrong)?;
            let hosts = u128::MAX.checked_shr(128 - (length - bits)).unwrap_or(0);
            let first = number(network) & !hosts;
            let (own, all) = match network {
                IpAddr::V4(_) => (u128::from(bits < 31), u128::from(bits < 31)),
                IpAddr::V6(_) => (u128::from(bits < 127), 0),
            };
            (of_number(first + own, network.is_ipv4()), of_number(first + hosts - all, network.is_ipv4()))
        } else if let Some((first, last)) = text.split_once('-') {
            (address(first)?, address(last)?)
        } else {
            (address(text)?, address(text)?)
        };
        let range = Range { is_v4: first.is_ipv4(), first: number(first), last: number(last) };
        if first.is_ipv4() != last.is_ipv4() || range.last < range.first {
            return Err(wrong());
        }
        if range.last - range.first >= u128::from(ADDRESSES_MAX) {
            let parts = if range.is_v4 { "" } else { ", as a /112 each" };
            return Err(format!("'{text}' has more than {ADDRESSES_MAX} addresses: look for them in parts{parts}"));
        }
        Ok(range)
    }

    /// That it has as many addresses as it may have, each at its own place.
    pub fn check(self) {
        let count = self.count();
        assert!((1..=ADDRESSES_MAX).contains(&count) && self.first <= self.last);
        for place in [0, count / 2, count - 1] {
            assert_eq!(self.place(self.at(place)), Some(place), "{self}");
        }
        assert_eq!(Range::parse(&self.to_string()).map(|again| (again.first, again.last)), Ok((self.first, self.last)));
    }

    fn count(self) -> u32 {
        // It was looked at that they are no more.
        u32::try_from(self.last - self.first).unwrap_or(ADDRESSES_MAX) + 1
    }

    /// The address of that place.
    fn at(self, place: u32) -> IpAddr {
        of_number(self.first + u128::from(place), self.is_v4)
    }

    /// The place of an address; none if it is outside.
    fn place(self, address: IpAddr) -> Option<u32> {
        let is_of = address.is_ipv4() == self.is_v4 && (self.first..=self.last).contains(&number(address));
        is_of.then(|| u32::try_from(number(address) - self.first).ok())?
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => ip.into(),
    }
}

fn of_number(number: u128, is_v4: bool) -> IpAddr {
    match u32::try_from(number) {
        Ok(short) if is_v4 => Ipv4Addr::from(short).into(),
        _ => Ipv6Addr::from(number).into(),
    }
}

impl core::fmt::Display for Range {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}-{}", self.at(0), self.at(self.count() - 1))
    }
}

/// How a search gets on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ScanShown {
    pub is_running: bool,
    pub network: String,
    /// Addresses that were asked, of so many.
    pub asked: u32,
    pub of: u32,
    pub answered: u32,
    pub added: Vec<String>,
    /// Addresses that were in the inventory already.
    pub known: u32,
    /// Those that answered and did not let us in.
    pub refused: u32,
    pub failures: Vec<String>,
}

/// A search at a time.
#[derive(Debug)]
pub(super) struct Scan {
    shared: Arc<Running>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Running {
    handle: Handle,
    shown: Mutex<ScanShown>,
    ends: AtomicBool,
}

impl Scan {
    pub fn new(handle: Handle) -> Scan {
        let running = Running { handle, shown: Mutex::default(), ends: AtomicBool::new(false) };
        Scan { shared: Arc::new(running), thread: Mutex::new(None) }
    }

    pub fn shown(&self) -> ScanShown {
        self.shared.shown().clone()
    }

    /// Begins to look for devices.
    ///
    /// # Errors
    /// One is going on; no socket, no thread; nothing lets us in.
    pub fn begin(&self, range: Range, access: Access) -> Result<(), String> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.as_ref().is_some_and(|before| !before.is_finished()) {
            return Err("a scan is already running".to_owned());
        }
        let lets_in = access_of(&self.shared.handle.inventory(), &mut Keys::default(), &access);
        let lets_in = lets_in.ok_or("the credential is not for that version of SNMP")?;
        let polling = Polling::open(&PollingOptions {
            sockets: 1,
            buffer_octets: 1 << 20,
            seed: RandomState::new().hash_one(range.to_string()),
        });
        let polling = polling.map_err(|error| format!("no socket: {error}"))?;
        *self.shared.shown() =
            ScanShown { is_running: true, network: range.to_string(), of: range.count(), ..ScanShown::default() };
        let shared = Arc::clone(&self.shared);
        let search = Search { shared, range, access, lets_in, polling, asked: HashMap::new() };
        let named = std::thread::Builder::new().name("graph-search".to_owned());
        *thread = Some(named.spawn(move || search.run()).map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Ends it.
    pub fn end(&self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(_)) = thread.map(JoinHandle::join) {
            tracing::error!("a thread of graphs failed; this is a defect of Trunkline");
        }
    }
}

impl Running {
    fn shown(&self) -> MutexGuard<'_, ScanShown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Search {
    shared: Arc<Running>,
    range: Range,
    access: Access,
    lets_in: crate::poller::Access,
    polling: Polling,
    /// Those that were asked and have not told all yet, by their places in the range.
    asked: HashMap<u32, Exploration>,
}

impl Search {
    fn run(mut self) {
        let known = self.known();
        let mut waiting = (0..self.range.count()).filter(|place| !known.contains(place)).peekable();
        self.shared.shown().known = known.len() as u32;
        while !self.shared.ends.load(Ordering::SeqCst) && (waiting.peek().is_some() || !self.asked.is_empty()) {
            while self.asked.len() < AT_ONCE {
                let Some(place) = waiting.next() else { break };
                self.ask(place);
            }
            self.polling.turn(LOOK);
            self.take();
        }
        self.shared.shown().is_running = false;
    }

    /// Places of addresses that the inventory has.
    fn known(&self) -> BTreeSet<u32> {
        let inventory = self.shared.handle.inventory();
        let of_range = |device: &Device| {
            let bare = device.address.trim_start_matches('[').trim_end_matches(']');
            self.range.place(bare.parse().ok()?).filter(|_| device.access.port == self.access.port)
        };
        inventory.devices().iter().filter_map(|(_, device)| of_range(device)).collect()
    }

    fn ask(&mut self, place: u32) {
        let settings = Settings {
            step_s: STEP_S,
            tries: 2,
            first_timeout_ms: TIMEOUT_MS,
            timeout_ms_max: TIMEOUT_MS,
            failures_to_down: 1,
            ..Settings::default()
        };
        let to = SocketAddr::new(self.range.at(place), self.access.port);
        let target = Target { id: place, address: to, access: self.lets_in.clone(), settings, sources: Vec::new() };
        let now = self.polling.now();
        match self.polling.lane().add(target, now) {
            Ok(()) => drop(self.asked.insert(place, Exploration::new(None, BTreeSet::new()))),
            Err(why) => self.failed(place, &why.to_string()),
        }
        self.shared.shown().asked += 1;
    }

    fn failed(&self, place: u32, why: &str) {
        let mut shown = self.shared.shown();
        if shown.failures.len() < FAILURES_MAX {
            shown.failures.push(format!("{}: {why}", self.range.at(place)));
        }
    }

    fn take(&mut self) {
        let batch = core::mem::take(self.polling.lane().batch());
        for walked in batch.walked() {
            if let Some(exploration) = self.asked.get_mut(&walked.device) {
                exploration.take(0, &walked.varbind);
            }
        }
        for event in batch.events() {
            match *event {
                Event::Health { device, change: Change::Up } => self.answers(device),
                Event::Health { device, change: Change::Down } => self.forget(device),
                Event::Refused { device, .. } => {
                    self.shared.shown().refused += 1;
                    self.forget(device);
                }
                Event::Walked { device, end, .. } => self.walked(device, end),
                _ => {}
            }
        }
    }

    fn forget(&mut self, place: u32) {
        self.asked.remove(&place);
        self.polling.lane().remove(place);
    }

    fn answers(&mut self, place: u32) {
        let now = self.polling.now();
        let Some(exploration) = self.asked.get_mut(&place) else { return };
        self.shared.shown().answered += 1;
        for root in exploration.roots() {
            // The device is there, and has no other walk.
            let _ = self.polling.lane().walk(place, 0, root, now);
        }
    }

    fn walked(&mut self, place: u32, end: WalkEnd) {
        let library = self.shared.handle.library();
        let Some(mut exploration) = self.asked.remove(&place) else { return };
        self.polling.lane().remove(place);
        match exploration.ended(0, end, &library) {
            Step::Failed(why) => self.failed(place, why),
            _ => self.add(place, exploration.observed()),
        }
    }

    /// By the name that it gives itself, or by its address.
    fn add(&self, place: u32, observed: &Observed) {
        let address_text = self.range.at(place).to_string();
        let own: String = observed.name.chars().filter(|c| !c.is_control()).take(200).collect();
        let own = own.trim();
        let names = [own.to_owned(), format!("{own} ({address_text})"), address_text.clone()];
        for name in names.into_iter().skip(usize::from(own.is_empty()) * 2) {
            let device = Device { access: self.access.clone(), ..Device::new(&name, &address_text) };
            match self.shared.handle.order(BY, Order::Device(None, device)) {
                Ok(_) => return self.shared.shown().added.push(name),
                Err(Undone::Refused(Refusal::NameTaken { .. })) => {}
                Err(why) => return self.failed(place, &why.to_string()),
            }
        }
        self.failed(place, "its names are taken");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_networks_spans_and_addresses() {
        let range = |text: &str| Range::parse(text).map(|range| (range.to_string(), range.count()));
        assert_eq!(range("10.0.0.7/24"), Ok(("10.0.0.1-10.0.0.254".to_owned(), 254)));
        assert_eq!(range("10.0.0.0/31"), Ok(("10.0.0.0-10.0.0.1".to_owned(), 2)));
        assert_eq!(range("10.0.0.9/32"), Ok(("10.0.0.9-10.0.0.9".to_owned(), 1)));
        assert_eq!(range("10.0.0.9-10.0.1.9"), Ok(("10.0.0.9-10.0.1.9".to_owned(), 257)));
        assert_eq!(range("10.0.0.9").map(|(_, count)| count), Ok(1));
        assert_eq!(range("2001:db8::7/112"), Ok(("2001:db8::1-2001:db8::ffff".to_owned(), 65_535)));
        assert_eq!(range("::1/128"), Ok(("::1-::1".to_owned(), 1)));
        assert_eq!(range("2001:db8::fffe-2001:db8::1:1"), Ok(("2001:db8::fffe-2001:db8::1:1".to_owned(), 4)));
        let large = Range::parse("2001:db8::/64").unwrap_err();
        assert!(large.contains("more than 65536 addresses") && large.contains("/112"), "{large}");
        let v6 = Range::parse("::/120").unwrap();
        assert_eq!((v6.at(0).to_string(), v6.place("::9".parse().unwrap())), ("::1".to_owned(), Some(8)));
        assert_eq!(v6.place("0.0.0.9".parse().unwrap()), None);
        let mixed = ["10.0.0.1-::9", "::/129", "::9-::1", "::/0"];
        let wrong = ["", "10.0.0.0/33", "10.0.0.0/8", "0.0.0.0/0", "10.0.0.9-10.0.0.1", "x", "::1/64"];
        for wrong in wrong.into_iter().chain(mixed) {
            assert!(Range::parse(wrong).is_err(), "{wrong}");
        }
    }
}
