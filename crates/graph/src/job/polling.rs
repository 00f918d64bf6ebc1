//! A lane with sockets: few for thousands of devices.

use crate::poller::{Lane, LaneOptions, Now, OUTSTANDING_MAX};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_kit::random::mixed;
use trunkline_net::{Asking, AskingCounts, AskingOptions, Going};

/// Sockets of a lane for each of IPv4 and IPv6.
pub const SOCKETS_MAX: usize = 16;
/// What the kernel takes of a socket's room for an answer that fits into one packet of Ethernet.
const ANSWER_ROOM_OCTETS: usize = 2560;
/// Requests that may be on their way however little room there is.
const OUTSTANDING_MIN: usize = 64;
/// Octets of the longest answer: what UDP carries.
const ANSWER_OCTETS_MAX: usize = 65_535;

/// How often one turn asks the sockets for more before what is late is given up all the same: some hundred thousand
/// answers, which is more than there are requests.
const ROUNDS_MAX: usize = 128;

/// How a lane is given sockets.
#[derive(Clone, Copy, Debug)]
pub struct PollingOptions {
    /// Sockets for IPv4, and as many for IPv6 where the system has it: 1 to [`SOCKETS_MAX`].
    pub sockets: usize,
    /// Room that the system is asked for in each. What it gives decides how many requests are on their way at once.
    pub buffer_octets: usize,
    /// What makes request numbers unforeseeable: by chance.
    pub seed: u64,
}

/// Polls the devices of a lane. It belongs to one thread.
pub struct Polling {
    lane: Lane,
    /// Those of IPv4, then those of IPv6.
    sockets: Vec<Asking>,
    sockets_v4: usize,
    started: Instant,
}

impl Polling {
    /// Opens the sockets.
    ///
    /// # Errors
    /// The system's, for IPv4; without IPv6 devices that have no other address are asked in vain.
    pub fn open(options: &PollingOptions) -> io::Result<Polling> {
        let open = |ip: IpAddr| {
            Asking::open(&AskingOptions {
                bind: SocketAddr::new(ip, 0),
                datagram_octets: ANSWER_OCTETS_MAX,
                buffer_octets: options.buffer_octets,
                tell_local: false,
            })
        };
        let count = options.sockets.clamp(1, SOCKETS_MAX);
        let mut sockets = Vec::new();
        for _ in 0..count {
            sockets.push(open(Ipv4Addr::UNSPECIFIED.into())?);
        }
        sockets.extend((0..count).map_while(|_| open(Ipv6Addr::UNSPECIFIED.into()).ok()));
        let room: usize = sockets[..count].iter().map(|socket| socket.receive_buffer_octets().unwrap_or(0)).sum();
        let outstanding_max = (room / ANSWER_ROOM_OCTETS).clamp(OUTSTANDING_MIN, OUTSTANDING_MAX);
        let lane = Lane::new(&LaneOptions { outstanding_max, seed: options.seed });
        Ok(Polling { lane, sockets, sockets_v4: count, started: Instant::now() })
    }

    /// What time it is for the lane.
    pub fn now(&self) -> Now {
        Polling::time(self.started)
    }

    fn time(started: Instant) -> Now {
        let steady_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { steady_ns, unix_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX) }
    }

    /// The lane: devices are added to it, and what it has found is taken from it, between two turns.
    pub fn lane(&mut self) -> &mut Lane {
        &mut self.lane
    }

    /// What the sockets have counted.
    pub fn counts(&mut self) -> AskingCounts {
        let mut sum = AskingCounts::default();
        self.sockets.iter_mut().for_each(|socket| sum.add(&socket.counts()));
        sum
    }

    /// Sends what is to be sent, waits until something comes or is due, at most so long, and does what follows.
    pub fn turn(&mut self, longest: Duration) {
        self.send();
        let now_ns = self.now().steady_ns;
        let due_ns = self.lane.next_timeout_ns().map_or(u64::MAX, |due| due.saturating_sub(now_ns));
        let Polling { lane, sockets, started, .. } = self;
        let longest = longest.min(Duration::from_nanos(due_ns));
        let mut longest = longest;
        for _ in 0..ROUNDS_MAX {
            let mut now = None;
            let is_more = Asking::receive_any(sockets, longest, |came| {
                // What came together came now; the wait before it is over.
                let now = *now.get_or_insert_with(|| Polling::time(*started));
                lane.handle(came.from, came.payload, now);
            });
            if !is_more {
                break;
            }
            longest = Duration::ZERO;
        }
        // Answers that came in time are taken before anything is given up.
        let now = self.now();
        self.lane.handle_timeout(now);
        self.send();
    }

    fn send(&mut self) {
        let Polling { lane, sockets, sockets_v4, .. } = self;
        let mut going: Vec<Vec<Going<'_>>> = (0..sockets.len()).map(|_| Vec::new()).collect();
        for (to, payload) in lane.transmits() {
            if let Some(place) = place_of(to, *sockets_v4, going.len()) {
                going[place].push(Going { to, local: None, payload });
            }
        }
        sockets.iter_mut().zip(&going).filter(|(_, going)| !going.is_empty()).for_each(|(s, going)| s.send(going));
        lane.clear_transmits();
    }
}

/// The socket of a device: always the same one, of its family; none without IPv6.
fn place_of(to: SocketAddr, sockets_v4: usize, sockets: usize) -> Option<usize> {
    let (first, count, address) = match to.ip() {
        IpAddr::V4(ip) => (0, sockets_v4, u64::from(u32::from(ip))),
        IpAddr::V6(ip) => (sockets_v4, sockets - sockets_v4, u128::from(ip) as u64),
    };
    let chosen = mixed(address ^ u64::from(to.port())).checked_rem(count as u64)?;
    Some(first + chosen as usize)
}
