//! A network namespace with two interfaces, `left` and `right`, at the ends of one wire.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

use trunkline_capture::live::interface::facts;
use trunkline_capture::live::{Live, LiveError, Next, Pace, Sender, SenderOptions, Sent};
use trunkline_capture::{Batch, CaptureLoss, Packet};

/// The namespace that this thread is in now; it ends with the thread.
pub struct Wire {
    /// Of each end, as `ip link add` takes it.
    end: &'static str,
}

impl Wire {
    /// Moves this thread into a new namespace and lays the wire. `None`, and says why, where that is not permitted.
    pub fn lay() -> Option<Wire> {
        Wire::lay_of("mtu 65535")
    }

    /// The same with ends of this kind.
    pub fn lay_of(end: &'static str) -> Option<Wire> {
        // SAFETY: takes flags only; it concerns this thread alone, and each test has its own.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            println!("SKIPPED: no network namespace: {}", io::Error::last_os_error());
            return None;
        }
        // Else the kernel sends packets of its own.
        let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        let wire = Wire { end };
        wire.plug()?;
        Some(wire)
    }

    /// Makes the two interfaces.
    pub fn plug(&self) -> Option<()> {
        let end = self.end;
        let made = ip(&format!("link add left {end} type veth peer name right {end}"));
        if let Err(why) = made {
            println!("SKIPPED: no veth pair: {why}");
            return None;
        }
        self.set("left", true);
        self.set("right", true);
        Some(())
    }

    pub fn unplug(&self) {
        ip("link del left").unwrap();
    }

    /// Adds an interface of IP alone, `tunnel`, up: what is written to the file arrives there.
    pub fn tunnel(&self) -> Option<fs::File> {
        let opened = fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun");
        let file = opened.map_err(|e| println!("SKIPPED: no tunnel: {e}")).ok()?;
        let mut request = [0u8; 40];
        request[..6].copy_from_slice(b"tunnel");
        let flags = (libc::IFF_TUN | libc::IFF_NO_PI) as u16;
        request[16..18].copy_from_slice(&flags.to_ne_bytes());
        // SAFETY: the request has the 40 octets of a `struct ifreq`, and lives through the call.
        let made = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, request.as_mut_ptr()) };
        assert_eq!(made, 0, "{}", io::Error::last_os_error());
        ip("link set tunnel mtu 9000 up").unwrap();
        Some(file)
    }

    pub fn set(&self, name: &str, up: bool) {
        ip(&format!("link set {name} {}", if up { "up" } else { "down" })).unwrap();
        if up {
            self.wait();
        }
    }

    /// Waits until both ends take packets, if both are up: the kernel sees to that some time later.
    fn wait(&self) {
        let both = || ["left", "right"].map(|end| facts(end).unwrap());
        let until = Instant::now() + Duration::from_secs(60);
        while both().iter().all(|f| f.is_up) && !both().iter().all(|f| f.is_running) {
            assert!(Instant::now() < until, "the wire does not come up");
        }
        // The work that made them run is done under the lock that this takes.
        ip("link set left alias left").unwrap();
    }
}

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output().map_err(|e| format!("ip: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()) }
}

/// Puts frames onto one end, as fast as it takes them.
pub fn send(from: &str, frames: &[Vec<u8>]) -> Sent {
    send_at(from, frames, Pace::Fastest)
}

pub fn send_at(from: &str, frames: &[Vec<u8>], pace: Pace) -> Sent {
    let options = SenderOptions { interface: from.to_owned(), pace, bypass: false };
    let mut sender = Sender::open(options).unwrap();
    sender.send(&batch(frames)).unwrap();
    sender.sent()
}

/// Frames as a batch, a millisecond apart.
pub fn batch(frames: &[Vec<u8>]) -> Batch {
    batch_of(frames, 1)
}

pub fn batch_of(frames: &[Vec<u8>], link: u16) -> Batch {
    let mut batch = Batch::default();
    for (i, frame) in frames.iter().enumerate() {
        let packet = Packet {
            at_ns: i as i64 * 1_000_000,
            number: i as u64 + 1,
            offset: 0,
            start: 0,
            captured: 0,
            wire: frame.len() as u32,
            link,
            file: 0,
        };
        batch.push(packet, frame);
    }
    batch
}

/// What came out of a ring.
#[derive(Default)]
pub struct Seen {
    pub packets: Vec<Packet>,
    pub octets: Vec<Vec<u8>>,
    pub losses: Vec<CaptureLoss>,
    pub errors: Vec<LiveError>,
}

impl Seen {
    pub fn lost(&self) -> u64 {
        self.losses.iter().map(|l| l.packets).sum()
    }
}

/// Reads until so many packets were seen or lost, or five seconds went by, and a little longer for what is too much.
pub fn read(live: &mut dyn Live, packets: usize) -> Seen {
    let mut seen = Seen::default();
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        let enough = seen.packets.len() + seen.lost() as usize >= packets;
        let wait = Duration::from_millis(if enough { 60 } else { 500 });
        if read_once(live, &mut seen, wait) == Some(Next::Nothing) && enough {
            break;
        }
    }
    seen
}

/// Keeps the batches that come until they have so many packets.
pub fn keep(live: &mut dyn Live, kept: &mut Vec<Batch>, packets: usize) {
    let mut count = 0;
    while count < packets {
        let mut batch = Batch::default();
        assert_eq!(live.next(&mut batch, Duration::from_secs(5)).unwrap(), Next::Packets);
        count += batch.packets.len();
        kept.push(batch);
    }
}

/// All packets of some batches.
pub fn all_of(batches: &[Batch]) -> Vec<Vec<u8>> {
    let packets = batches.iter().flat_map(|b| b.packets.iter().map(|p| b.octets_of(p).to_vec()));
    packets.collect()
}

/// Asks once; `None` after an error.
pub fn read_once(live: &mut dyn Live, seen: &mut Seen, wait: Duration) -> Option<Next> {
    let mut batch = Batch::default();
    match live.next(&mut batch, wait) {
        Ok(next) => {
            seen.octets.extend(batch.packets.iter().map(|p| batch.octets_of(p).to_vec()));
            seen.packets.extend(&batch.packets);
            seen.losses.extend(&batch.losses);
            Some(next)
        }
        Err(error) => {
            seen.errors.push(error);
            None
        }
    }
}

pub fn now_ns() -> i64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as i64
}

/// Reads until the ring says that something is wrong.
pub fn wait_for_error(ring: &mut dyn Live) -> LiveError {
    let mut seen = Seen::default();
    let until = Instant::now() + Duration::from_secs(60);
    while seen.errors.is_empty() && Instant::now() < until {
        read_once(ring, &mut seen, Duration::from_millis(100));
    }
    seen.errors.pop().unwrap()
}

/// Reads until the interface is back.
pub fn wait_until_up(ring: &mut dyn Live) {
    let until = Instant::now() + Duration::from_secs(60);
    while !ring.statistics().is_up && Instant::now() < until {
        assert_eq!(read_once(ring, &mut Seen::default(), Duration::from_millis(100)), Some(Next::Nothing));
    }
    assert!(ring.statistics().is_up);
}
