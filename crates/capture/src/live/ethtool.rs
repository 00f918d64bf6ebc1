//! What a driver tells of its interface: rings, queues, interrupts, merging, pause frames, timestamps
//! (linux/ethtool.h, linux/net_tstamp.h). What it does not tell is none.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::sys::{self, Argument, Request};

/// Words of an answer; `struct ethtool_drvinfo`, the longest that is asked for, has 49.
const WORDS: usize = 128;

/// A setting and the most that the hardware takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfMost {
    /// What is set.
    pub set: u32,
    /// The most.
    pub most: u32,
}

/// How many packets or how much time an interrupt waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalescing {
    /// Microseconds after the first packet.
    pub rx_us: u32,
    /// Packets.
    pub rx_frames: u32,
    /// Whether the driver chooses by itself.
    pub adaptive: bool,
}

/// Pause frames (IEEE 802.3 annex 31B).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// Whether it stops sending when it is asked to.
    pub rx: bool,
    /// Whether it asks the switch to stop when it cannot follow.
    pub tx: bool,
}

/// All that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The driver's name.
    pub driver: Option<String>,
    /// Packets of the receive ring.
    pub ring: Option<OfMost>,
    /// Queues that receive: those of their own or those combined with sending ones.
    pub queues: Option<OfMost>,
    /// Whether these queues are combined ones: `ethtool -L` calls them so.
    pub queues_combined: bool,
    /// When it interrupts.
    pub coalescing: Option<Coalescing>,
    /// Pause frames.
    pub pause: Option<Pause>,
    /// Generic receive offload: the kernel merges segments into packets that were never on the wire.
    pub gro: Option<bool>,
    /// Large receive offload: the hardware does.
    pub lro: Option<bool>,
    /// Segmentation offloads of sending (TSO or GSO): what this machine sends is seen before it is cut.
    pub tso: Option<bool>,
    /// Whether it can stamp every received packet itself.
    pub stamps: Option<bool>,
}

/// Numbers of the questions.
mod question {
    pub const DRIVER: u32 = 0x03;
    pub const COALESCE: u32 = 0x0e;
    pub const RING: u32 = 0x10;
    pub const PAUSE: u32 = 0x12;
    pub const TSO: u32 = 0x1e;
    pub const GSO: u32 = 0x23;
    pub const FLAGS: u32 = 0x25;
    pub const GRO: u32 = 0x2b;
    pub const CHANNELS: u32 = 0x3c;
    pub const TIMESTAMPS: u32 = 0x41;
}

/// `ETH_FLAG_LRO`.
const FLAG_LRO: u32 = 1 << 15;
/// `SOF_TIMESTAMPING_RX_HARDWARE` and `HWTSTAMP_FILTER_ALL`.
const RX_HARDWARE: u32 = 1 << 2;
const FILTER_ALL: u32 = 1 << 1;

/// Asks the driver of an interface. Needs no capability.
///
/// # Errors
/// The name is none, or there is no socket to ask through. A driver that answers nothing is no error.
pub fn settings(name: &str) -> io::Result<Settings> {
    let driver = Driver::of(name)?;
    let flag = |number: u32| driver.ask(number).map(|w| w[1] != 0);
    let (queues, queues_combined) = driver.ask(question::CHANNELS).map_or((None, false), |w| queues(&w));
    Ok(Settings {
        driver: driver.ask(question::DRIVER).map(|w| text(&w[1..9])),
        ring: driver.ask(question::RING).map(|w| OfMost { most: w[1], set: w[5] }),
        queues,
        queues_combined,
        coalescing: driver.ask(question::COALESCE).map(|w| Coalescing {
            rx_us: w[1],
            rx_frames: w[2],
            adaptive: w[10] != 0,
        }),
        pause: driver.ask(question::PAUSE).map(|w| Pause { rx: w[2] != 0, tx: w[3] != 0 }),
        gro: flag(question::GRO),
        lro: driver.ask(question::FLAGS).map(|w| w[1] & FLAG_LRO != 0),
        tso: flag(question::TSO).zip(flag(question::GSO)).map(|(tso, gso)| tso || gso),
        stamps: driver.ask(question::TIMESTAMPS).map(|w| w[1] & RX_HARDWARE != 0 && w[7] & FILTER_ALL != 0),
    })
}

/// `struct ethtool_channels`: the most of rx, tx, other, combined; then what is set of each.
fn queues(words: &[u32; WORDS]) -> (Option<OfMost>, bool) {
    let (rx, combined) = ((words[1], words[5]), (words[4], words[8]));
    let is_combined = combined.0 > 0;
    let (most, set) = if is_combined { combined } else { rx };
    ((most > 0).then_some(OfMost { most, set }), is_combined)
}

/// Characters up to the first zero.
fn text(words: &[u32]) -> String {
    let octets: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).take_while(|octet| *octet != 0).collect();
    String::from_utf8_lossy(&octets).into_owned()
}

/// An interface and a socket to ask through.
struct Driver<'a> {
    name: &'a str,
    socket: OwnedFd,
}

impl Driver<'_> {
    fn of(name: &str) -> io::Result<Driver<'_>> {
        Request::about(name)?;
        Ok(Driver { name, socket: sys::questions()? })
    }

    /// The words of the answer, the question the first of them; none if the driver does not know.
    fn ask(&self, question: u32) -> Option<[u32; WORDS]> {
        let mut argument = Argument([0; WORDS]);
        argument.0[0] = question;
        let request = Request::about(self.name).ok()?;
        request.ask_about(self.socket.as_fd(), libc::SIOCETHTOOL, &mut argument).ok()?;
        Some(argument.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_told_apart() {
        let mut words = [0; WORDS];
        words[..9].copy_from_slice(&[0x3c, 0, 0, 1, 16, 0, 0, 1, 4]);
        assert_eq!(queues(&words), (Some(OfMost { set: 4, most: 16 }), true));
        words[..9].copy_from_slice(&[0x3c, 8, 8, 0, 0, 2, 2, 0, 0]);
        assert_eq!(queues(&words), (Some(OfMost { set: 2, most: 8 }), false));
        assert_eq!(queues(&[0; WORDS]), (None, false));
    }

    #[test]
    fn the_loopback_answers_what_it_knows() {
        let settings = settings("lo").unwrap();
        assert_eq!(settings.ring, None);
        assert_eq!(settings.lro, Some(false));
        assert!(settings.gro.is_some());
        assert!(super::settings("a-name-that-is-far-too-long").is_err());
        assert_eq!(super::settings("no-such-name").unwrap(), Settings::default());
    }

    #[test]
    fn agrees_with_the_program_of_the_name() {
        let Ok(output) = std::process::Command::new("ethtool").args(["-k", "lo"]).output() else {
            println!("SKIPPED: no ethtool");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let says = |feature: &str| text.lines().any(|l| l.starts_with(&format!("{feature}: on")));
        let settings = settings("lo").unwrap();
        assert_eq!(settings.gro, Some(says("generic-receive-offload")));
        assert_eq!(settings.lro, Some(says("large-receive-offload")));
        let tso = says("tcp-segmentation-offload") || says("generic-segmentation-offload");
        assert_eq!(settings.tso, Some(tso));
    }
}
