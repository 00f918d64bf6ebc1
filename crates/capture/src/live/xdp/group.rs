//! The sockets of one interface, one for each of its receive queues, and the program that gives them packets.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::program::{self, IN_DRIVER, IN_KERNEL};
use super::umem::{Fill, Received, Umem};
use super::{LiveError, Open, XdpMode, XdpOptions};
use crate::filter::{Expression, Filter};
use crate::live::interface::{self, Facts};
use crate::live::presence::Together;
use crate::live::sys;

/// Octets of an Ethernet header with two tags, around what the interface's MTU counts.
const AROUND_OCTETS: u32 = 14 + 8;
/// Link type of Ethernet.
const ETHERNET: u16 = 1;
/// Time between two tries to get a queue that another socket has, and how many there are: a second.
const BUSY: Duration = Duration::from_millis(20);
const BUSY_MAX: u32 = 50;
/// The kernel asks for this ring even where nothing is sent.
const COMPLETION_ENTRIES: u32 = 64;

/// The rings of one interface.
pub(super) struct Group {
    sockets: Sockets,
    rings: Together<Open>,
}

/// What they are opened by.
struct Sockets {
    options: XdpOptions,
    filter: Option<Filter>,
    /// What lasts as long as the interface is captured: the program's link, the map, what makes it promiscuous.
    lasting: Mutex<Vec<OwnedFd>>,
}

impl Group {
    pub(super) fn open(options: XdpOptions) -> Result<Group, LiveError> {
        let filter = match options.filter.as_str() {
            "" => None,
            text => Some(Expression::compile(text, ETHERNET)?),
        };
        let facts = fit(&options)?;
        let sockets = Sockets { options, filter, lasting: Mutex::new(Vec::new()) };
        let rings = Together::new(sockets.open(&facts)?);
        Ok(Group { sockets, rings })
    }

    pub(super) fn interface(&self) -> &str {
        &self.sockets.options.interface
    }

    pub(super) fn link(&self) -> u16 {
        ETHERNET
    }

    pub(super) fn gather(&self) -> Duration {
        self.sockets.options.gather
    }

    pub(super) fn filter(&self) -> Option<&Filter> {
        self.sockets.filter.as_ref()
    }

    pub(super) fn take(&self, number: u16) -> Option<Open> {
        self.rings.take(number)
    }

    /// The ring of a lane after the interface was removed and came back, if it can be opened, and its generation.
    pub(super) fn again(&self, number: u16, generation: u64) -> Result<Option<(Open, u64)>, LiveError> {
        self.rings.again(number, generation, || self.sockets.open(&fit(&self.sockets.options)?))
    }
}

impl Sockets {
    /// Opens all rings. While a queue's socket is not in the map, its packets go on to the stack.
    fn open(&self, facts: &Facts) -> Result<Vec<Open>, LiveError> {
        let queues = facts.queues.unwrap_or(1).max(1);
        let map = program::map(queues).map_err(|e| refused(facts, "making a map", "CAP_BPF", e))?;
        let program = program::load(map.as_fd()).map_err(|e| refused(facts, "loading a program", "CAP_BPF", e))?;
        let (link, driver) = self.attach(&program, facts)?;
        let promiscuous = self.promiscuous(facts)?;
        let mut all = Vec::new();
        for queue in 0..queues {
            let open = self.queue(facts, queue, driver)?;
            program::put(map.as_fd(), queue, open.socket.as_fd())
                .map_err(|e| refused(facts, "handing over a queue", "CAP_BPF", e))?;
            all.push(open);
        }
        let mut lasting = self.lasting.lock().unwrap_or_else(PoisonError::into_inner);
        *lasting = [link, map].into_iter().chain(promiscuous).collect();
        Ok(all)
    }

    /// In the driver if it can, else in the kernel.
    fn attach(&self, program: &OwnedFd, facts: &Facts) -> Result<(OwnedFd, bool), LiveError> {
        if self.options.best > XdpMode::Generic
            && let Ok(link) = program::attach(program.as_fd(), facts.index, IN_DRIVER)
        {
            return Ok((link, true));
        }
        match program::attach(program.as_fd(), facts.index, IN_KERNEL) {
            Ok(link) => Ok((link, false)),
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => Err(LiveError::Unsupported(format!(
                "{} has another XDP program: ip link set dev {0} xdp off",
                facts.name
            ))),
            Err(e) => Err(refused(facts, "attaching a program", "CAP_NET_ADMIN", e)),
        }
    }

    /// A packet socket that receives nothing, for its membership.
    fn promiscuous(&self, facts: &Facts) -> Result<Option<OwnedFd>, LiveError> {
        if !self.options.promiscuous {
            return Ok(None);
        }
        let error = |e| refused(facts, "making it promiscuous", "CAP_NET_RAW", e);
        let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW).map_err(error)?;
        let member = libc::packet_mreq {
            mr_ifindex: facts.index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        sys::set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &member).map_err(error)?;
        Ok(Some(socket))
    }

    /// One queue. The kernel lets go of a queue some time after the socket that had it was closed.
    fn queue(&self, facts: &Facts, queue: u32, driver: bool) -> Result<Open, LiveError> {
        let mut tries = 0;
        loop {
            match self.best(queue, facts, driver) {
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) && tries < BUSY_MAX => {
                    tries += 1;
                    sys::pause(BUSY);
                }
                opened => {
                    return opened.map_err(|e| refused(facts, &format!("opening queue {queue}"), "CAP_NET_RAW", e));
                }
            }
        }
    }

    /// Zero copy if the driver can, else a copy.
    fn best(&self, queue: u32, facts: &Facts, driver: bool) -> io::Result<Open> {
        let ways = [(XdpMode::ZeroCopy, libc::XDP_ZEROCOPY), (XdpMode::Native, libc::XDP_COPY)];
        let generic = [(XdpMode::Generic, libc::XDP_COPY)];
        let ways = if driver { &ways[..] } else { &generic[..] };
        let mut last = io::ErrorKind::Unsupported.into();
        for (mode, flag) in ways.iter().filter(|(mode, _)| *mode <= self.options.best) {
            match self.socket(facts, queue, *mode, *flag) {
                Ok(open) => return Ok(open),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn socket(&self, facts: &Facts, queue: u32, mode: XdpMode, flag: u16) -> io::Result<Open> {
        let frames = self.options.frames;
        let socket = sys::socket(libc::AF_XDP, libc::SOCK_RAW)?;
        let fd = socket.as_fd();
        let umem = Umem::new(frames, self.options.frame_octets)?;
        sys::set(fd, libc::SOL_XDP, libc::XDP_UMEM_REG, &umem.registration())?;
        sys::set(fd, libc::SOL_XDP, libc::XDP_UMEM_FILL_RING, &frames)?;
        sys::set(fd, libc::SOL_XDP, libc::XDP_UMEM_COMPLETION_RING, &COMPLETION_ENTRIES)?;
        sys::set(fd, libc::SOL_XDP, libc::XDP_RX_RING, &frames)?;
        let offsets: libc::xdp_mmap_offsets = sys::get(fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let mut fill = Fill::map(fd, offsets.fr, frames)?;
        let received = Received::map(fd, offsets.rx, frames)?;
        umem.refill(&mut fill);
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flag | libc::XDP_USE_NEED_WAKEUP,
            sxdp_ifindex: facts.index,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        sys::bind(fd, &address)?;
        Ok(Open { fill, received, umem, mode, interface: facts.index, socket })
    }
}

/// What the kernel has dropped since the socket was opened.
pub(super) fn statistics(socket: &OwnedFd) -> io::Result<libc::xdp_statistics> {
    sys::get(socket.as_fd(), libc::SOL_XDP, libc::XDP_STATISTICS)
}

/// The interface, if its packets fit the frames.
fn fit(options: &XdpOptions) -> Result<Facts, LiveError> {
    let facts = interface::facts(&options.interface)?;
    if !facts.is_up {
        return Err(LiveError::Down(facts.name));
    }
    if facts.link != ETHERNET {
        return Err(LiveError::Unsupported(format!("{} is no Ethernet: AF_XDP takes nothing else here", facts.name)));
    }
    let (longest, room) = (facts.mtu.saturating_add(AROUND_OCTETS), options.packet_octets_max());
    if longest > room {
        let Facts { name, .. } = facts;
        return Err(LiveError::Unsupported(format!(
            "{name} takes frames of {longest} octets, and AF_XDP holds {room}: use AF_PACKET, or a smaller MTU"
        )));
    }
    Ok(facts)
}

fn refused(facts: &Facts, what: &str, capability: &'static str, error: io::Error) -> LiveError {
    LiveError::of(&format!("AF_XDP on {}: {what}", facts.name), capability, error)
}
