//! A farm of simulated devices on loopback, whose clock is the test's.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use trunkline_graph::inventory::order::Order;
use trunkline_graph::inventory::{Access, Change, Credential, Device, Login, Secret};
use trunkline_graph::job::{Handle, Options};
use trunkline_sim::farm::{Answer, COMMUNITY, Farm, Settings};

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

pub use crate::eventually::eventually;

/// A data folder whose graphs have these templates.
pub fn folder(templates: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("graphs/templates");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("test.toml"), templates).unwrap();
    folder
}

/// How graphs are run in a test: small logs, and devices shared by two lanes.
pub fn options() -> Options {
    let writer = trunkline_rrd::Options { redo_octets: 1 << 20, ..trunkline_rrd::Options::default() };
    Options { segment_octets: 1 << 20, lanes: 2, writer, ..Options::default() }
}

/// Has devices of a farm polled; their numbers.
pub fn add(handle: &Handle, served: &Served, devices: &[usize]) -> Vec<u32> {
    let community = Login::Community { community: Secret::new(COMMUNITY) };
    let made = handle.order("test", Order::Credential(None, Credential { name: "farm".into(), login: community }));
    let [Change::Credential { id, .. }] = made.unwrap().changes[..] else { panic!() };
    let add = |place: &usize| {
        let mut device = Device::new(&served.farm.name(*place), &served.farm.address(*place).to_string());
        device.access = Access { port: served.port, credential: Some(id), ..device.access };
        let made = handle.order("test", Order::Device(None, device)).unwrap();
        let [Change::Device { id, .. }] = made.changes[..] else { panic!() };
        id
    };
    devices.iter().map(add).collect()
}

/// What the threads of a farm share.
pub struct Clock {
    /// What the farm's clock is ahead of ours, milliseconds.
    pub ahead_ms: AtomicI64,
    /// While it is set, nobody answers.
    pub is_silent: AtomicBool,
    luck: AtomicU64,
    ends: AtomicBool,
}

/// A farm that answers; ended with it.
pub struct Served {
    pub farm: Farm,
    pub clock: Arc<Clock>,
    pub port: u16,
    threads: Vec<JoinHandle<()>>,
}

impl Served {
    /// Those of these devices that are wanted answer at a port of their own.
    pub fn start(settings: Settings, wanted: impl Fn(&Farm, usize) -> bool) -> Served {
        let farm = Farm::new(settings);
        let clock = Arc::new(Clock {
            ahead_ms: AtomicI64::new(0),
            is_silent: AtomicBool::new(false),
            luck: AtomicU64::new(0),
            ends: AtomicBool::new(false),
        });
        let devices: Vec<usize> = (0..farm.settings().devices).filter(|device| wanted(&farm, *device)).collect();
        let first = UdpSocket::bind(SocketAddr::from((farm.address(devices[0]), 0))).unwrap();
        let port = first.local_addr().unwrap().port();
        let mut first = Some(first);
        let serve = |device: usize| {
            let bind = || UdpSocket::bind(SocketAddr::from((farm.address(device), port))).unwrap();
            let socket = first.take().unwrap_or_else(bind);
            socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            let (farm, clock) = (farm.clone(), Arc::clone(&clock));
            std::thread::spawn(move || answer(&farm, device, &socket, &clock))
        };
        let threads = devices.into_iter().map(serve).collect();
        Served { farm, clock, port, threads }
    }

    /// What time it is for the farm when it is this for us.
    pub fn time_of(&self, ms: i64) -> i64 {
        ms + self.clock.ahead_ms.load(Ordering::SeqCst)
    }
}

fn answer(farm: &Farm, device: usize, socket: &UdpSocket, clock: &Clock) {
    let (mut room, mut out) = ([0; 65_536], Vec::new());
    while !clock.ends.load(Ordering::SeqCst) {
        let Ok((octets, from)) = socket.recv_from(&mut room) else { continue };
        out.clear();
        let (luck, at_ms) =
            (clock.luck.fetch_add(1, Ordering::SeqCst), now_ms() + clock.ahead_ms.load(Ordering::SeqCst));
        let answered = farm.answer(device, &room[..octets], at_ms, luck, &mut out);
        if answered != Answer::Silence && !clock.is_silent.load(Ordering::SeqCst) {
            socket.send_to(&out, from).unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.clock.ends.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
