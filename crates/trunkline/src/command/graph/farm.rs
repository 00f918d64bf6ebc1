//! `trunkline graph farm`: simulated devices on addresses of this machine, to try a poller with.

use crate::failure::Failure;
use crate::output::stdout;
use crate::stop::Stop;
use crate::terminal::Terminal;
use rustix::event::epoll;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_kit::exit::Exit;
use trunkline_sim::farm::{Answer, DEVICES_MAX, Drops, Farm, Gateway, Host, INTERFACES_MAX, Settings};

/// Answers of slow devices that wait for their time; one more is not given.
const WAITING_MAX: usize = 100_000;
/// Datagrams of a device that are taken before others have their turn.
const TURN: usize = 32;
/// How often a signal is looked for.
const PATIENCE_MS: u64 = 100;
/// Octets of the longest question.
const DATAGRAM_OCTETS: usize = 65_536;

/// Simulate SNMP devices with various faults
#[derive(Debug, clap::Args)]
#[command(name = "farm")]
#[command(after_help = "Device N has the address 127.64.0.0 + N + 1, the community `public`, and the same name, \
    interfaces and counters whenever it is started with the same seed. Every other one has a fault (--sound for none): \
    dead, away now and then, flapping, slow, lossy, starting again, renumbering its interfaces, no counters of \
    64 bits, short messages only, version 1 only. All but those speak version 3, too: users are named by what they do, \
    `open`, `sha256`, `md5-des`, `sha512-aes256`, their passwords are `farm authentication` and `farm privacy`. Ends \
    by Ctrl-C or SIGTERM.")]
pub struct FarmCommand {
    /// Number of devices
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = devices)]
    devices: usize,
    /// Interfaces per device
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = interfaces())]
    interfaces: u32,
    /// UDP port of the devices
    #[arg(long, value_name = "PORT", default_value_t = 1161)]
    port: u16,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Devices without faults
    #[arg(long)]
    sound: bool,
    /// Devices per thousand that never answer, in addition to other faults
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    dead_permille: u32,
    /// Devices per thousand that use SNMP version 3 only
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    v3_permille: u32,
    /// A host in the ARP table of a device, behind an interface (from 0 on): 10.0.0.7,25,5; may be repeated
    #[arg(long, value_name = "ADDRESS,DEVICE,INTERFACE", value_parser = host)]
    host: Vec<Host>,
    /// A host in the forwarding table of a device, behind an interface: 10.0.0.7,49,3; may be repeated
    #[arg(long, value_name = "ADDRESS,DEVICE,INTERFACE", value_parser = host)]
    station: Vec<Host>,
    /// An address of a device, and the network in which it is: 10.0.0.1/24,25,5; may be repeated
    #[arg(long, value_name = "ADDRESS/BITS,DEVICE,INTERFACE", value_parser = gateway)]
    gateway: Vec<Gateway>,
    /// Packets that an interface drops each second in a span of Unix time: 25,0,40,1790000000,1790000060; may be
    /// repeated
    #[arg(long, value_name = "DEVICE,INTERFACE,NUMBER,FROM,TO", value_parser = drops)]
    drops: Vec<Drops>,
    /// Stop after this many seconds
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// Print statistics as JSON
    #[arg(long)]
    json: bool,
}

fn devices(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=DEVICES_MAX).contains(number));
    number.ok_or_else(|| format!("a number from 1 to {DEVICES_MAX}"))
}

fn host(text: &str) -> Result<Host, String> {
    let parts: Vec<&str> = text.split(',').collect();
    let read = || match parts[..] {
        [address, device, interface] => Some(Host {
            address: address.parse().ok()?,
            device: device.parse().ok()?,
            interface: interface.parse().ok()?,
        }),
        _ => None,
    };
    read().ok_or_else(|| "an address, a device and an interface: 10.0.0.7,25,5".to_owned())
}

fn gateway(text: &str) -> Result<Gateway, String> {
    let wrong = || "an address with bits, a device and an interface: 10.0.0.1/24,25,5".to_owned();
    let (address, rest) = text.split_once('/').ok_or_else(wrong)?;
    let (bits, rest) = rest.split_once(',').ok_or_else(wrong)?;
    let Host { address, device, interface } = host(&format!("{address},{rest}")).map_err(|_| wrong())?;
    let most = if IpAddr::is_ipv4(&address) { 32 } else { 128 };
    let bits = bits.parse::<u8>().ok().filter(|bits| *bits <= most).ok_or_else(wrong)?;
    Ok(Gateway { address, bits, device, interface })
}

fn drops(text: &str) -> Result<Drops, String> {
    let numbers: Option<Vec<i64>> = text.split(',').map(|part| part.parse().ok()).collect();
    let read = || match numbers.as_deref()? {
        &[device, interface, per_s, from_s, to_s] => Some(Drops {
            device: device.try_into().ok()?,
            interface: interface.try_into().ok()?,
            per_s: per_s.try_into().ok()?,
            from_ms: from_s.checked_mul(1000)?,
            to_ms: to_s.checked_mul(1000).filter(|_| to_s > from_s)?,
        }),
        _ => None,
    };
    read().ok_or_else(|| "a device, an interface, packets a second, and two times in seconds of Unix".to_owned())
}

fn interfaces() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(INTERFACES_MAX))
}

impl FarmCommand {
    /// Serves until it is told to end.
    ///
    /// # Errors
    /// A socket cannot be opened.
    pub fn run(&self, _: &Terminal) -> Result<Exit, Failure> {
        let stop = Stop::on_signals();
        let farm = Farm::new(Settings {
            seed: self.seed,
            devices: self.devices,
            interfaces: self.interfaces,
            faults: !self.sound,
            dead_permille: self.dead_permille,
            v3_permille: self.v3_permille,
            hosts: self.host.clone(),
            stations: self.station.clone(),
            gateways: self.gateway.clone(),
            drops: self.drops.clone(),
            ..Settings::default()
        });
        let mut server = Server::open(farm, self.port)?;
        let (first, last) = (server.farm.address(0), server.farm.address(server.sockets.len() - 1));
        eprintln!("{} devices on {first} to {last}, UDP port {}, community public", self.devices, self.port);
        let until = self.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        while !stop.is_asked() && until.is_none_or(|until| Instant::now() < until) {
            server.step()?;
        }
        let Served { questions, answers, late_overflow } = server.served;
        let mut out = stdout();
        if self.json {
            let told =
                serde_json::json!({ "questions": questions, "answers": answers, "late_overflow": late_overflow });
            writeln!(out, "{told}")?;
        } else {
            writeln!(out, "{questions} questions, {answers} answers")?;
        }
        out.flush()?;
        Ok(if late_overflow == 0 { Exit::Done } else { Exit::Degraded })
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    questions: u64,
    answers: u64,
    /// Answers of slow devices that were not given, as too many waited.
    late_overflow: u64,
}

/// An answer that takes its time, by when it is due.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Late {
    due: Instant,
    device: usize,
    to: SocketAddr,
    octets: Vec<u8>,
}

/// The devices of a farm on their addresses.
pub struct Server {
    farm: Farm,
    sockets: Vec<UdpSocket>,
    poll: OwnedFd,
    late: BinaryHeap<Reverse<Late>>,
    room: Box<[u8]>,
    out: Vec<u8>,
    served: Served,
}

impl Server {
    /// Opens a socket for each device; port 0 is another free one for each.
    ///
    /// # Errors
    /// A socket cannot be opened.
    pub fn open(farm: Farm, port: u16) -> Result<Server, Failure> {
        let devices = farm.settings().devices;
        trunkline_load::descriptors::allow(devices as u64);
        let failed = |what: String| move |error: io::Error| Failure::Failed(format!("{what}: {error}"));
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from);
        let poll = poll.map_err(failed("epoll".to_owned()))?;
        let mut sockets = Vec::with_capacity(devices);
        for device in 0..devices {
            let address = SocketAddr::from((farm.address(device), port));
            let open = || {
                let socket = UdpSocket::bind(address)?;
                socket.set_nonblocking(true)?;
                let data = epoll::EventData::new_u64(device as u64);
                epoll::add(&poll, &socket, data, epoll::EventFlags::IN)?;
                Ok(socket)
            };
            sockets.push(open().map_err(failed(format!("device {device}, {address}")))?);
        }
        let room = vec![0; DATAGRAM_OCTETS].into_boxed_slice();
        Ok(Server { farm, sockets, poll, late: BinaryHeap::new(), room, out: Vec::new(), served: Served::default() })
    }

    /// The port of a device; none if there is no such one.
    pub fn port(&self, device: usize) -> Option<u16> {
        self.sockets.get(device)?.local_addr().ok().map(|address| address.port())
    }

    /// Waits for questions, or until an answer is due, a tenth of a second at most.
    ///
    /// # Errors
    /// It cannot be waited for them.
    pub fn step(&mut self) -> Result<(), Failure> {
        let due = self.late.peek().map(|Reverse(late)| late.due.saturating_duration_since(Instant::now()));
        let most = Duration::from_millis(PATIENCE_MS);
        let wait = due.map_or(most, |due| due.min(most));
        let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut events = Vec::with_capacity(1024);
        match epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Failure::Failed(format!("epoll: {}", io::Error::from(error)))),
        }
        for event in events {
            let device = event.data.u64() as usize;
            (0..TURN).take_while(|_| self.question(device)).count();
        }
        let now = Instant::now();
        while self.late.peek().is_some_and(|Reverse(late)| late.due <= now) {
            if let Some(Reverse(late)) = self.late.pop() {
                self.served.answers += u64::from(self.sockets[late.device].send_to(&late.octets, late.to).is_ok());
            }
        }
        Ok(())
    }

    /// Answers one; false if there is none. What is wrong with a datagram is its sender's trouble.
    fn question(&mut self, device: usize) -> bool {
        let Ok((octets, from)) = self.sockets[device].recv_from(&mut self.room) else { return false };
        self.served.questions += 1;
        self.out.clear();
        let (at_ms, luck) = (unix_ms(), self.served.questions);
        match self.farm.answer(device, &self.room[..octets], at_ms, luck, &mut self.out) {
            Answer::Silence => {}
            Answer::After(0..=1) => {
                self.served.answers += u64::from(self.sockets[device].send_to(&self.out, from).is_ok());
            }
            Answer::After(_) if self.late.len() >= WAITING_MAX => self.served.late_overflow += 1,
            Answer::After(ms) => {
                let due = Instant::now() + Duration::from_millis(ms.into());
                self.late.push(Reverse(Late { due, device, to: from, octets: self.out.clone() }));
            }
        }
        true
    }
}

fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
