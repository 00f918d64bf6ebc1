//! Our service, fed octets in pieces.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline_cache::protocol::Now;
use trunkline_cache::service::{Alone, Connection, Next, Service, Settings, Shared};
use trunkline_cache::store::{Rules, Store};

/// Numbers for cas that are used up beforehand, so that none of ours is one of theirs by chance.
const NUMBERS_AHEAD: u32 = 5000;

/// A service with one connection.
pub struct Ours {
    pub service: Service,
    connection: Connection,
    carried: Vec<u8>,
    started: u64,
    /// Whether the connection has ended.
    pub closed: bool,
}

pub fn unix_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

impl Ours {
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    pub fn with(settings: Settings) -> Self {
        // As memcached does, its clock begins a minute before it is started.
        let started = unix_us() / 1_000_000 - 62;
        let store = Store::new(Rules { limit_octets: 256 << 20, ..Rules::default() });
        let shared = Shared::new(store, settings, Arc::new(Alone), Now::new(started, unix_us()));
        let mut service = Service::new(&shared);
        let connection = service.accepted(1);
        let mut ours = Ours { service, connection, carried: Vec::new(), started, closed: false };
        for _ in 0..NUMBERS_AHEAD {
            ours.exchange(b"set ahead 0 0 0 noreply\r\n\r\n", 0);
        }
        ours.exchange(b"delete ahead noreply\r\n", 0);
        ours
    }

    pub fn connect(&mut self) {
        let fresh = self.service.accepted(1);
        self.service.closed(std::mem::replace(&mut self.connection, fresh));
        self.carried.clear();
        self.closed = false;
    }

    pub fn now(&self) -> Now {
        Now::new(self.started, unix_us())
    }

    /// Takes `octets` cut at places that `random` decides, and gives all answers; 0 does not cut them.
    pub fn exchange(&mut self, octets: &[u8], random: u64) -> Vec<u8> {
        let (mut told, mut rest, mut random) = (Vec::new(), octets, random);
        while !rest.is_empty() && !self.closed {
            let cut = if random == 0 { rest.len() } else { 1 + (random >> 20) as usize % rest.len().min(4000) };
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) | 1;
            self.carried.extend_from_slice(&rest[..cut]);
            rest = &rest[cut..];
            self.run(&mut told);
            if octets.len() > 100_000 {
                random = 0;
            }
        }
        told
    }

    fn run(&mut self, told: &mut Vec<u8>) {
        loop {
            let now = self.now();
            let taken = self.service.octets(&mut self.connection, &self.carried, told, now);
            self.carried.drain(..taken.octets);
            match taken.next {
                Next::More => return,
                Next::Close => {
                    self.closed = true;
                    return;
                }
                Next::Resume | Next::Yield => {}
            }
        }
    }
}
