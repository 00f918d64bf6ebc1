//! The sockets of one interface: opened together, and together again when the interface was removed and came back.

use core::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use super::{LiveError, Open, PacketOptions, SPARES, Timestamps};
use crate::bpf::{Instruction, RET};
use crate::filter::Expression;
use crate::live::block::Ring;
use crate::live::interface::{self, Facts};
use crate::live::presence::Together;
use crate::live::sys::{self, Mapping};
use crate::live::{fanout, frames};

/// What a packet socket is opened for.
const CAPABILITY: &str = "CAP_NET_RAW";
/// Protocol that takes every packet (`ETH_P_ALL`), in network order.
const EVERYTHING: u16 = (libc::ETH_P_ALL as u16).to_be();
/// Link type of Ethernet.
const ETHERNET: u16 = 1;

/// The rings of one interface.
pub(super) struct Group {
    sockets: Sockets,
    rings: Together<Open>,
}

/// What they are opened by.
struct Sockets {
    options: PacketOptions,
    link: u16,
    /// What the kernel filters by; nothing if everything is taken.
    filter: Vec<Instruction>,
    /// Sockets that are not bound to anything.
    spares: Mutex<Vec<OwnedFd>>,
}

impl Group {
    /// Opens all rings of an interface.
    pub(super) fn open(options: PacketOptions) -> Result<Group, LiveError> {
        let facts = up(&options.interface)?;
        let filter = match options.filter.as_str() {
            "" => Vec::new(),
            text => Expression::compile(text, facts.link)?.for_kernel()?,
        };
        if options.timestamps == Timestamps::SetHardware {
            interface::stamp_in_hardware(&facts.name)?;
        }
        let what = format!("capturing on {}", facts.name);
        let spares = (0..SPARES * usize::from(options.rings))
            .map(|_| sys::socket(libc::AF_PACKET, libc::SOCK_RAW))
            .collect::<io::Result<Vec<_>>>()
            .map_err(|e| LiveError::of(&what, CAPABILITY, e))?;
        let sockets = Sockets { options, link: facts.link, filter, spares: Mutex::new(spares) };
        let rings = Together::new(sockets.open(&facts)?);
        Ok(Group { sockets, rings })
    }

    pub(super) fn interface(&self) -> &str {
        &self.sockets.options.interface
    }

    pub(super) fn link(&self) -> u16 {
        self.sockets.link
    }

    /// The ring of a lane, once.
    pub(super) fn take(&self, number: u16) -> Option<Open> {
        self.rings.take(number)
    }

    /// The ring of a lane after the interface was removed and came back, if it can be opened, and its generation.
    pub(super) fn again(&self, number: u16, generation: u64) -> Result<Option<(Open, u64)>, LiveError> {
        self.rings.again(number, generation, || {
            let facts = up(self.interface())?;
            if facts.link != self.sockets.link {
                return Err(LiveError::Unsupported(format!("{} is of another link type now", facts.name)));
            }
            self.sockets.open(&facts)
        })
    }
}

impl Sockets {
    /// Opens all rings. Their order in the group is the order in which they join it; after the interface was down and
    /// came up the kernel lets them join in the order in which they were opened: the same.
    fn open(&self, facts: &Facts) -> Result<Vec<Open>, LiveError> {
        let what = format!("capturing on {}", facts.name);
        let error = |e| LiveError::of(&what, CAPABILITY, e);
        let mut all: Vec<Open> = Vec::new();
        let mut sockets = Vec::new();
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..self.options.rings {
            // Without the capability, one that was opened while it was there; the oldest, to keep the order.
            let spare = |e| if spares.is_empty() { Err(e) } else { Ok(spares.remove(0)) };
            sockets.push(sys::socket(libc::AF_PACKET, libc::SOCK_RAW).or_else(spare).map_err(error)?);
        }
        for socket in sockets {
            let ring = self.ring(&socket).map_err(|e| LiveError::of(&self.size(), CAPABILITY, e))?;
            self.start(socket.as_fd(), facts).map_err(error)?;
            if self.options.rings > 1 {
                self.join(socket.as_fd(), all.first()).map_err(error)?;
            }
            all.push(Open { socket, ring, interface: facts.index });
        }
        for open in &all {
            self.filter(open.socket.as_fd()).map_err(error)?;
        }
        Ok(all)
    }

    /// What is asked of the kernel's memory.
    fn size(&self) -> String {
        let octets = self.options.blocks() * self.options.block_octets;
        format!("a ring of {} MiB for {}", octets >> 20, self.options.interface)
    }

    /// Gives a socket its ring.
    fn ring(&self, socket: &OwnedFd) -> io::Result<Arc<Ring>> {
        let options = &self.options;
        let fd = socket.as_fd();
        packet(fd, libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V3 as c_int)?;
        packet(fd, libc::PACKET_RESERVE, frames::RESERVE as c_int)?;
        let (blocks, octets) = (options.blocks(), options.block_octets);
        // TPACKET_V3 packs packets of any length; the frame's size only has to divide a block.
        let frame_octets = octets.min(2048);
        let request = libc::tpacket_req3 {
            tp_block_size: octets as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: frame_octets as u32,
            tp_frame_nr: (blocks * (octets / frame_octets)) as u32,
            tp_retire_blk_tov: (options.block_timeout.as_millis() as u32).clamp(1, 10_000),
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        sys::set(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let memory = Mapping::of(fd, blocks * octets, 0)?;
        Ring::new(memory, octets).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    /// Binds a socket to the interface, with all that has to be there before the first packet.
    fn start(&self, fd: BorrowedFd<'_>, facts: &Facts) -> io::Result<()> {
        // Until all rings are there, no packet; then the filter.
        let nothing = [Instruction { code: RET, jt: 0, jf: 0, k: 0 }];
        sys::set_program(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &nothing)?;
        // Stamped where the kernel gets the packet, and not where it writes it into the ring.
        sys::set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        if self.options.timestamps != Timestamps::Software {
            packet(fd, libc::PACKET_TIMESTAMP, libc::SOF_TIMESTAMPING_RAW_HARDWARE as c_int)?;
        }
        if !self.options.outgoing {
            packet(fd, libc::PACKET_IGNORE_OUTGOING, 1)?;
        }
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: EVERYTHING,
            sll_ifindex: facts.index as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        sys::bind(fd, &address)?;
        if self.options.promiscuous {
            let member = libc::packet_mreq {
                mr_ifindex: facts.index as i32,
                mr_type: libc::PACKET_MR_PROMISC as u16,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            sys::set(fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &member)?;
        }
        Ok(())
    }

    /// Lets a socket join the fanout group of the first; that one makes it, with a number that nobody else has.
    fn join(&self, fd: BorrowedFd<'_>, first: Option<&Open>) -> io::Result<()> {
        let mut kind = libc::PACKET_FANOUT_CBPF;
        if !self.options.outgoing {
            kind |= libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
        }
        let Some(first) = first else {
            kind |= libc::PACKET_FANOUT_FLAG_UNIQUEID;
            packet(fd, libc::PACKET_FANOUT, (kind << 16) as c_int)?;
            let begin = if self.link == ETHERNET { fanout::Begin::Ethernet } else { fanout::Begin::Network };
            let program = fanout::program(begin);
            return sys::set_program(fd, libc::SOL_PACKET, libc::PACKET_FANOUT_DATA, &program);
        };
        let group: c_int = sys::get(first.socket.as_fd(), libc::SOL_PACKET, libc::PACKET_FANOUT)?;
        packet(fd, libc::PACKET_FANOUT, ((kind << 16) | (group as u32 & 0xffff)) as c_int)
    }

    /// Lets packets come.
    fn filter(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        if self.filter.is_empty() {
            return sys::set(fd, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0);
        }
        sys::set_program(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &self.filter)
    }
}

/// What a ring dropped since the last time it was asked.
pub(super) fn statistics(socket: &OwnedFd) -> io::Result<libc::tpacket_stats_v3> {
    sys::get(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS)
}

fn packet(fd: BorrowedFd<'_>, name: c_int, value: c_int) -> io::Result<()> {
    sys::set(fd, libc::SOL_PACKET, name, &value)
}

fn up(name: &str) -> Result<Facts, LiveError> {
    let facts = interface::facts(name)?;
    if facts.is_up { Ok(facts) } else { Err(LiveError::Down(name.to_owned())) }
}
