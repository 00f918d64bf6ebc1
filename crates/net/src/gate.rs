//! How many connections there may be: in all, of an address, in their handshake. What all threads share; asked when a
//! connection comes and when it goes, never in between.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError};

use crate::bell::Bell;
use crate::options::Limits;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::sync::{Mutex, MutexGuard};

#[derive(Debug)]
pub(crate) struct Gate {
    most: usize,
    most_per_address: Option<usize>,
    most_handshakes: usize,
    open: AtomicUsize,
    handshakes: AtomicUsize,
    /// Connections of each thread.
    loads: Vec<Load>,
    /// Addresses with connections, where they are limited.
    addresses: Mutex<HashMap<IpAddr, usize>>,
    /// Some thread waits for room.
    wanted: AtomicBool,
    bells: Vec<Arc<Bell>>,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Load(AtomicUsize);

impl Gate {
    pub(crate) fn new(limits: &Limits, bells: Vec<Arc<Bell>>) -> Gate {
        Gate {
            most: limits.connections,
            most_per_address: limits.connections_per_address,
            most_handshakes: limits.handshakes,
            open: AtomicUsize::new(0),
            handshakes: AtomicUsize::new(0),
            loads: bells.iter().map(|_| Load::default()).collect(),
            addresses: Mutex::default(),
            wanted: AtomicBool::new(false),
            bells,
        }
    }

    /// Room for one connection, which counts for a thread until it moves; none if there are too many.
    pub(crate) fn enter(self: &Arc<Gate>, thread: u16) -> Option<Permit> {
        let more = |open: usize| (open < self.most).then_some(open + 1);
        self.open.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).ok()?;
        self.loads[usize::from(thread)].0.fetch_add(1, Ordering::Relaxed);
        Some(Permit { gate: Arc::clone(self), address: None, thread, handshake: false })
    }

    /// Asks to be woken when there is room; true if there is by now, and nobody will.
    ///
    /// No wake-up is lost: who waits says so before it looks again, and who leaves makes room before it looks whether
    /// someone waits, each in the one order that all threads agree on.
    pub(crate) fn wait(&self) -> bool {
        self.wanted.store(true, Ordering::Relaxed);
        // Of who waits and who leaves, at least one sees what the other one wrote.
        fence(Ordering::SeqCst);
        self.open.load(Ordering::Acquire) < self.most
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Handshakes that go on.
    pub(crate) fn handshakes(&self) -> usize {
        self.handshakes.load(Ordering::Relaxed)
    }

    /// The thread with the fewest connections; this one, if there is none with fewer.
    pub(crate) fn least(&self, own: u16) -> u16 {
        let load = |thread: u16| self.loads[usize::from(thread)].0.load(Ordering::Relaxed);
        let threads = 0..u16::try_from(self.loads.len()).unwrap_or(u16::MAX);
        let least = threads.min_by_key(|t| load(*t)).unwrap_or(own);
        if load(least) < load(own) { least } else { own }
    }

    fn addresses(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave_address(&self, address: IpAddr) {
        let mut addresses = self.addresses();
        if let Some(count) = addresses.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                addresses.remove(&address);
            }
        }
    }
}

/// The place of one connection among those that there may be; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: Arc<Gate>,
    address: Option<IpAddr>,
    thread: u16,
    handshake: bool,
}

impl Permit {
    /// Counts it for its address; false if that has too many.
    pub(crate) fn is_within(&mut self, address: IpAddr) -> bool {
        let Some(most) = self.gate.most_per_address else { return true };
        let address = address.to_canonical();
        let mut addresses = self.gate.addresses();
        let count = addresses.entry(address).or_default();
        let within = *count < most;
        if within {
            *count += 1;
            self.address = Some(address);
        }
        within
    }

    /// Counts it among the handshakes; false if there are too many.
    pub(crate) fn begin_handshake(&mut self) -> bool {
        let more = |open: usize| (open < self.gate.most_handshakes).then_some(open + 1);
        self.handshake = self.gate.handshakes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        self.handshake
    }

    /// The handshake is over.
    pub(crate) fn end_handshake(&mut self) {
        if core::mem::take(&mut self.handshake) {
            self.gate.handshakes.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The thread that it counts for.
    pub(crate) fn thread(&self) -> u16 {
        self.thread
    }

    /// It counts for another thread from now on.
    pub(crate) fn move_to(&mut self, thread: u16) {
        self.gate.loads[usize::from(self.thread)].0.fetch_sub(1, Ordering::Relaxed);
        self.gate.loads[usize::from(thread)].0.fetch_add(1, Ordering::Relaxed);
        self.thread = thread;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.end_handshake();
        if let Some(address) = self.address {
            self.gate.leave_address(address);
        }
        self.gate.loads[usize::from(self.thread)].0.fetch_sub(1, Ordering::Relaxed);
        self.gate.open.fetch_sub(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        if self.gate.wanted.load(Ordering::Relaxed) && self.gate.wanted.swap(false, Ordering::SeqCst) {
            self.gate.bells.iter().for_each(|bell| bell.ring());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(threads: usize, limits: &Limits) -> Arc<Gate> {
        let bells = (0..threads).map(|_| Arc::new(Bell::new().expect("eventfd"))).collect();
        Arc::new(Gate::new(limits, bells))
    }

    #[test]
    fn places_are_limited_and_come_back() {
        let limits = Limits { connections: 2, handshakes: 1, ..Limits::default() };
        let gate = gate(1, &limits);
        let (mut first, mut second) = (gate.enter(0).expect("a place"), gate.enter(0).expect("a place"));
        assert!(gate.enter(0).is_none() && !gate.wait());
        assert!(first.begin_handshake() && !second.begin_handshake());
        drop(first);
        assert!(gate.wait() && second.begin_handshake());
        assert!(gate.enter(0).is_some());
    }

    #[test]
    fn an_address_has_its_share() {
        let limits = Limits { connections_per_address: Some(1), ..Limits::default() };
        let gate = gate(1, &limits);
        let [v4, mapped, other] =
            ["10.0.0.1", "::ffff:10.0.0.1", "10.0.0.2"].map(|t| t.parse::<IpAddr>().expect("address"));
        let mut first = gate.enter(0).expect("a place");
        assert!(first.is_within(v4));
        let mut second = gate.enter(0).expect("a place");
        assert!(!second.is_within(mapped) && second.is_within(other));
        drop(first);
        assert!(gate.enter(0).expect("a place").is_within(v4));
        drop(second);
        assert!(gate.addresses().is_empty());
    }

    #[test]
    fn the_thread_with_the_fewest_is_found() {
        let gate = gate(3, &Limits::default());
        assert_eq!(gate.least(1), 1);
        let mut permit = gate.enter(1).expect("a place");
        assert_eq!(gate.least(1), 0);
        permit.move_to(0);
        assert_eq!((gate.least(0), gate.least(2)), (1, 2));
        drop(permit);
        assert_eq!((gate.least(0), gate.open()), (0, 0));
    }
}
