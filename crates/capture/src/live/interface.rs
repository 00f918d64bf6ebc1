//! Facts about a network interface that a capture depends on (netdevice(7), linux/ethtool.h).

use core::ffi::c_ulong;
use std::io;
use std::os::fd::AsFd;

use super::error::LiveError;
use super::sys::{self, Argument, Ask, Request};

mod counts;
mod unseen;

pub use counts::{Counts, counts};
pub use unseen::{Unseen, UnseenWatch, queue_drops};

/// What is known of an interface. What a driver does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Link type of what it gives: 1 Ethernet, 101 IP without anything before it.
    pub link: u16,
    /// Whether it is up.
    pub is_up: bool,
    /// Whether it has a carrier and runs.
    pub is_running: bool,
    /// The longest packet that it takes, octets of the network layer.
    pub mtu: u32,
    /// Its driver.
    pub driver: Option<String>,
    /// Queues that receive (combined ones included).
    pub queues: Option<u32>,
    /// Queues that the hardware could have.
    pub queues_max: Option<u32>,
    /// Packets in its receive ring.
    pub ring: Option<u32>,
    /// The most it could have.
    pub ring_max: Option<u32>,
    /// Generic receive offload: TCP segments of one flow come merged into packets that were never on the wire.
    pub gro: Option<bool>,
    /// Large receive offload: the same, by the hardware.
    pub lro: Option<bool>,
    /// Whether it stamps every received packet itself.
    pub hardware_timestamps: bool,
}

/// ETHTOOL_GDRVINFO and the others of linux/ethtool.h.
const DRIVER: u32 = 0x03;
const RING: u32 = 0x10;
const GRO: u32 = 0x2b;
const FLAGS: u32 = 0x25;
const CHANNELS: u32 = 0x3c;
const TIMESTAMPS: u32 = 0x41;
const SIOCETHTOOL: c_ulong = 0x8946;
const FLAG_LRO: u32 = 1 << 15;
/// Hardware types of linux/if_arp.h.
const ARPHRD_ETHER: u16 = 1;
const ARPHRD_LOOPBACK: u16 = 772;
const ARPHRD_NONE: u16 = 0xfffe;
const ARPHRD_RAWIP: u16 = 519;
const ARPHRD_TUNNELS: [u16; 3] = [768, 769, 776];
/// `HWTSTAMP_FILTER_ALL` of linux/net_tstamp.h.
const FILTER_ALL: u32 = 1;

/// Asks for what is known of an interface, in the network namespace of this thread. Needs no capability.
///
/// # Errors
/// There is no such interface, or it gives what is neither Ethernet nor IP.
pub fn facts(name: &str) -> Result<Facts, LiveError> {
    let missing = |_| LiveError::NoInterface { name: name.to_owned(), known: sys::interface_names() };
    let index = sys::interface_index(name).map_err(missing)?;
    let ask = |what| ask(name, what).map_err(|error| LiveError::System { what: format!("interface {name}"), error });
    let flags = i32::from(half(&ask(Ask::Flags)?));
    let kind = half(&ask(Ask::Hardware)?);
    let mtu = ask(Ask::Mtu)?;
    let bits = tell(name, TIMESTAMPS, 10);
    let channels = tell(name, CHANNELS, 9);
    let ring = tell(name, RING, 9);
    let flag = |n: u32| flags & n as i32 != 0;
    Ok(Facts {
        name: name.to_owned(),
        index,
        link: link_of(kind).ok_or_else(|| LiveError::Unsupported(format!("{name} gives neither Ethernet nor IP")))?,
        is_up: flag(libc::IFF_UP as u32),
        is_running: flag(libc::IFF_RUNNING as u32),
        mtu: u32::from_ne_bytes([mtu[0], mtu[1], mtu[2], mtu[3]]),
        driver: tell(name, DRIVER, 10).map(|w| text(&w[1..9])),
        // Maxima of rx, tx, other, combined; then what is set.
        queues: channels.map(|w| w[5].saturating_add(w[8])),
        queues_max: channels.map(|w| w[1].max(w[4])),
        ring: ring.map(|w| w[5]),
        ring_max: ring.map(|w| w[1]),
        gro: tell(name, GRO, 2).map(|w| w[1] != 0),
        lro: tell(name, FLAGS, 2).map(|w| w[1] & FLAG_LRO != 0),
        hardware_timestamps: bits
            .is_some_and(|w| w[1] & libc::SOF_TIMESTAMPING_RX_HARDWARE != 0 && w[6 + 1] & (1 << FILTER_ALL) != 0),
    })
}

/// The names of all interfaces of this thread's network namespace.
pub fn names() -> Vec<String> {
    sys::interface_names()
}

/// Tells the interface to stamp every packet it receives (SIOCSHWTSTAMP). Needs CAP_NET_ADMIN.
///
/// # Errors
/// It cannot, or may not be told to.
pub(crate) fn stamp_in_hardware(name: &str) -> Result<(), LiveError> {
    let wrong = |e: io::Error| match e.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ERANGE | libc::ENOTTY) => {
            LiveError::Unsupported(format!("{name} cannot stamp every packet in hardware"))
        }
        _ => LiveError::of(&format!("setting the timestamps of {name}"), "CAP_NET_ADMIN", e),
    };
    // struct hwtstamp_config: flags, transmit off, receive filter.
    let mut argument = Argument([0; 128]);
    argument.0[2] = FILTER_ALL;
    let questions = sys::questions().map_err(wrong)?;
    let request = Request::about(name).map_err(wrong)?;
    request.ask_about(questions.as_fd(), libc::SIOCSHWTSTAMP, &mut argument).map_err(wrong)
}

/// Whether an interface of this name is there with this number, and up.
pub(crate) fn is_up(name: &str) -> Option<(u32, bool)> {
    let index = sys::interface_index(name).ok()?;
    let flags = half(&ask(name, Ask::Flags).ok()?);
    Some((index, i32::from(flags) & libc::IFF_UP != 0))
}

fn ask(name: &str, what: Ask) -> io::Result<[u8; 24]> {
    let questions = sys::questions()?;
    let mut request = Request::about(name)?;
    request.ask(questions.as_fd(), what)?;
    Ok(request.value)
}

/// Asks a driver; `None` if it does not know. The first word of the answer is the question.
fn tell(name: &str, question: u32, words: usize) -> Option<[u32; 10]> {
    let mut argument = Argument([0; 128]);
    argument.0[0] = question;
    let questions = sys::questions().ok()?;
    Request::about(name).ok()?.ask_about(questions.as_fd(), SIOCETHTOOL, &mut argument).ok()?;
    let mut answer = [0; 10];
    answer[..words].copy_from_slice(&argument.0[..words]);
    Some(answer)
}

fn half(value: &[u8; 24]) -> u16 {
    u16::from_ne_bytes([value[0], value[1]])
}

fn text(words: &[u32]) -> String {
    let octets: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).take_while(|o| *o != 0).collect();
    String::from_utf8_lossy(&octets).into_owned()
}

fn link_of(hardware: u16) -> Option<u16> {
    match hardware {
        ARPHRD_ETHER | ARPHRD_LOOPBACK => Some(1),
        ARPHRD_NONE | ARPHRD_RAWIP => Some(101),
        tunnel if ARPHRD_TUNNELS.contains(&tunnel) => Some(101),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_ethernet_and_nameless_ones_are_not_there() {
        let facts = facts("lo").unwrap();
        assert_eq!((facts.link, facts.name.as_str()), (1, "lo"));
        assert!(names().contains(&"lo".to_owned()));
        let error = super::facts("no-such-name").unwrap_err();
        assert!(matches!(&error, LiveError::NoInterface { known, .. } if known.contains(&"lo".to_owned())));
        assert!(super::facts("a-name-that-is-far-too-long").is_err());
    }
}
