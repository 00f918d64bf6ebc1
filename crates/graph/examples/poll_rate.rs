//! How many variables a second one core polls: `poll_rate [DEVICES [VARIABLES [SECONDS [VERSION]]]]`.
//!
//! Devices are addresses of loopback behind one socket, whose thread answers with a counter for each name; every device
//! is polled once a second, by version 2c or 3 (SHA-1, AES). Told is the processor's time of the polling thread alone:
//! packing, sending, taking and telling, without storing.

use rustix::time::{ClockId, clock_gettime};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use trunkline_graph::job::{Polling, PollingOptions};
use trunkline_graph::poller::*;
use trunkline_net::{Asking, AskingOptions, Going};
use trunkline_wire::snmp::usm::{AuthProtocol, Keys, MasterKey, Outgoing, PrivacyProtocol};
use trunkline_wire::snmp::*;

const ENGINE_ID: &[u8] = b"\x80\x00\x1f\x88\x04peer";
const PASSWORD: &[u8] = b"one for both of them";
/// Data sources of two variables, as interfaces have them.
const VARIABLES_OF_SOURCE: usize = 2;

/// Seconds of processor's time that this thread has had.
fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Answers of a device: sysUpTime grows, all else is a counter.
struct Peer {
    keys: Keys,
    started: Instant,
    varbinds: Vec<u8>,
}

impl Peer {
    fn values(&mut self, request: &Exchange<'_>) {
        self.varbinds.clear();
        let ticks = (self.started.elapsed().as_millis() / 10) as u32;
        for varbind in request.varbinds.flatten() {
            let is_uptime = varbind.name.octets().len() == 8;
            let value = if is_uptime { Value::TimeTicks(ticks) } else { Value::Counter64(0x1234_5678_9abc) };
            write_varbind(varbind.name, &value, &mut self.varbinds);
        }
    }

    fn answer(&mut self, octets: &mut [u8], out: &mut Vec<u8>) {
        match Message::new(octets) {
            Ok(Message::Community { version, community, pdu: Pdu::Exchange(request) }) => {
                self.values(&request);
                let varbinds = Varbinds::new(&self.varbinds);
                let response = Exchange { kind: Kind::Response, varbinds, ..request };
                Message::write_community(version, community, &Pdu::Exchange(response), out);
            }
            Ok(Message::V3(message)) => {
                let (sealed, message_id) = (message.sealed, message.message_id);
                let discovers = message.security.engine_id.is_empty();
                self.answer_secured(octets, sealed, message_id, discovers, out);
            }
            other => panic!("{other:?}"),
        }
    }

    fn answer_secured(&mut self, octets: &mut [u8], sealed: usm::Sealed, id: i32, discovers: bool, out: &mut Vec<u8>) {
        let mut request = Exchange::request(Kind::Report, id, &[]);
        if discovers {
            self.varbinds.clear();
            write_varbind(Cause::UnknownEngineId.name().as_oid(), &Value::Counter32(1), &mut self.varbinds);
        } else {
            let place = sealed.open(octets, &self.keys).expect("our keys").expect("encrypted");
            let scoped = ScopedPdu::new(&octets[place.clone()], place.start).expect("a request");
            let Pdu::Exchange(asked) = scoped.pdu else { panic!("{scoped}") };
            self.values(&asked);
            request = Exchange { kind: Kind::Response, varbinds: Varbinds::new(&[]), ..asked };
        }
        let exchange = Exchange { varbinds: Varbinds::new(&self.varbinds), ..request };
        let outgoing = Outgoing {
            message_id: id,
            size_max: 65_507,
            is_reportable: false,
            engine_id: ENGINE_ID,
            boots: 1,
            time: self.started.elapsed().as_secs() as u32,
            user: if discovers { b"" } else { b"poller" },
            salt: id as u64,
            scoped: ScopedPdu { context_engine: ENGINE_ID, context_name: b"", pdu: Pdu::Exchange(exchange) },
        };
        outgoing.seal(if discovers { &Keys::NoAuthNoPriv } else { &self.keys }, out);
    }

    /// Answers until it is told to stop.
    fn serve(&mut self, socket: &mut Asking, is_over: &AtomicBool) {
        let (mut out, mut ends, mut request): (Vec<u8>, Vec<_>, Vec<u8>) = Default::default();
        while !is_over.load(Ordering::Relaxed) {
            out.clear();
            ends.clear();
            Asking::receive_any(core::slice::from_mut(socket), Duration::from_millis(100), |came| {
                request.clear();
                request.extend_from_slice(came.payload);
                self.answer(&mut request, &mut out);
                ends.push((came.from, came.local, out.len()));
            });
            let starts = core::iter::once(0).chain(ends.iter().map(|(.., end)| *end));
            let going = ends.iter().zip(starts).map(|((to, local, end), start)| Going {
                to: *to,
                local: *local,
                payload: &out[start..*end],
            });
            socket.send(&going.collect::<Vec<_>>());
        }
    }
}

fn master() -> MasterKey {
    MasterKey::new(AuthProtocol::Sha1, PASSWORD).expect("long enough")
}

fn target(id: u32, port: u16, variables: usize, access: Access) -> Target {
    let name = |n: usize| format!("1.3.6.1.2.1.31.1.1.1.{}.{}", 6 + 4 * (n % 2), n / 2 + 1).parse().expect("a name");
    let source = |n: usize| Source {
        id: id * 10_000 + n as u32,
        names: (0..VARIABLES_OF_SOURCE).map(|at| name(VARIABLES_OF_SOURCE * n + at)).collect(),
    };
    Target {
        id,
        address: SocketAddr::new([127, 1, (id / 250) as u8, (id % 250) as u8 + 1].into(), port),
        access,
        settings: Settings { step_s: 1, budget_percent: 100, ..Settings::default() },
        sources: (0..variables / VARIABLES_OF_SOURCE).map(source).collect(),
    }
}

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let argument = |at: usize, or: usize| arguments.get(at).copied().unwrap_or(or);
    let (devices, variables, seconds) = (argument(0, 1000), argument(1, 100), argument(2, 10));
    let is_v3 = argument(3, 2) == 3;
    let bind = "0.0.0.0:0".parse().expect("an address");
    let options = AskingOptions { bind, datagram_octets: 4096, buffer_octets: 64 << 20, tell_local: true };
    let mut socket = Asking::open(&options).expect("a socket");
    let port = socket.address().expect("an address").port();
    let keys = Keys::AuthPriv(master().authentication(ENGINE_ID), master().privacy(PrivacyProtocol::Aes128, ENGINE_ID));
    let mut peer = Peer { keys, started: Instant::now(), varbinds: Vec::new() };
    let (is_over, peer_us) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            peer.serve(&mut socket, &is_over);
            peer_us.store((processor_s() * 1e6) as u64, Ordering::Relaxed);
        });
        poll(devices, variables, seconds, port, is_v3);
        is_over.store(true, Ordering::Relaxed);
    });
    println!("processor's time of the answering thread: {:.2} s", peer_us.load(Ordering::Relaxed) as f64 / 1e6);
}

fn poll(devices: usize, variables: usize, seconds: usize, port: u16, is_v3: bool) {
    let mut polling = Polling::open(&PollingOptions { sockets: 4, buffer_octets: 16 << 20, seed: 1 }).expect("sockets");
    let access = || match is_v3 {
        false => Access::V2c(b"public".to_vec()),
        true => {
            let security = Security::AuthPriv(master(), PrivacyProtocol::Aes128, master());
            Access::V3(Box::new(User { name: b"poller".to_vec(), context: Vec::new(), security }))
        }
    };
    let access = access();
    for id in 0..devices as u32 {
        let now = polling.now();
        polling.lane().add(target(id, port, variables, access.clone()), now).expect("a good description");
    }
    let (mut readings, mut before) = (0u64, *polling.lane().counts());
    let warm = Instant::now();
    let (mut began, mut used) = (None, 0.0);
    while began.is_none_or(|began: Instant| began.elapsed() < Duration::from_secs(seconds as u64)) {
        if began.is_none() && warm.elapsed() > Duration::from_secs(2) {
            (began, used, readings, before) = (Some(Instant::now()), processor_s(), 0, *polling.lane().counts());
        }
        polling.turn(Duration::from_millis(10));
        let batch = polling.lane().batch();
        readings +=
            batch.samples().flat_map(|sample| sample.readings).filter(|reading| reading.is_known()).count() as u64;
        batch.clear();
    }
    let (used, took) = (processor_s() - used, began.map_or(0.0, |began| began.elapsed().as_secs_f64()));
    let counts = *polling.lane().counts();
    println!("{devices} devices, {variables} variables each, version {}", if is_v3 { "3" } else { "2c" });
    println!("readings: {readings} in {took:.2} s: {:.0} a second", readings as f64 / took);
    println!("processor's time: {used:.2} s: {:.0} readings a second of one core", readings as f64 / used);
    println!(
        "cycles {}, missed {}, cut {}, failed {}, requests {}, again {}, held {}, unknown {}",
        counts.cycles - before.cycles,
        counts.cycles_missed - before.cycles_missed,
        counts.cycles_cut - before.cycles_cut,
        counts.cycles_failed - before.cycles_failed,
        counts.requests - before.requests,
        counts.requests_again - before.requests_again,
        counts.held - before.held,
        counts.unknown - before.unknown,
    );
    println!("{:?}", polling.counts());
}
