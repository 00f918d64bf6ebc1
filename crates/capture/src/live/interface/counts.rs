//! What an interface counts itself (rtnetlink(7), `struct rtnl_link_stats64` of linux/if_link.h).

use std::io;
use std::os::fd::AsFd;

use crate::live::error::LiveError;
use crate::live::sys;

/// Packets that an interface has received and lost, since it is there. What is lost here no ring ever saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets received.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
    /// Packets that came and were not received, because the host gave it no room (`rx_missed_errors`).
    pub missed: u64,
    /// Packets lost in the hardware's own memory (the greater of `rx_fifo_errors` and `rx_over_errors`). Some drivers
    /// count the same loss as missed.
    pub overrun: u64,
    /// Packets that came damaged, for any reason (`rx_errors`).
    pub errors: u64,
    /// Packets that the kernel dropped after they came (`rx_dropped`). A capture has seen most of them: among these are
    /// all of a protocol that the machine does not speak ([`super::UnseenWatch`] tells them apart).
    pub dropped: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets that were not sent (`tx_dropped`).
    pub unsent: u64,
}

impl Counts {
    /// Packets that came and that no capture saw.
    pub fn lost(&self) -> u64 {
        self.missed.max(self.overrun)
    }
}

/// RTM_NEWLINK, RTM_GETLINK and IFLA_STATS64.
const ANSWER: u16 = 16;
const QUESTION: u16 = 18;
const STATISTICS: u16 = 23;
const FLAG_REQUEST: u16 = 1;
/// Octets of the header of a message, and of what follows it (`struct nlmsghdr`, `struct ifinfomsg`).
const HEADER: usize = 16;
const INTERFACE: usize = 16;
/// Octets of an answer.
const ANSWER_OCTETS_MAX: usize = 32 << 10;

/// What an interface of this thread's network namespace counts. Needs no capability.
///
/// # Errors
/// There is no such interface, or the kernel does not tell.
pub fn counts(name: &str) -> Result<Counts, LiveError> {
    let missing = |_| LiveError::NoInterface { name: name.to_owned(), known: sys::interface_names() };
    let index = sys::interface_index(name).map_err(missing)?;
    let error = |error| LiveError::System { what: format!("counters of {name}"), error };
    let socket = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW).map_err(error)?;
    let answer = sys::exchange(socket.as_fd(), &question(index), ANSWER_OCTETS_MAX).map_err(error)?;
    read(&answer).ok_or_else(|| error(io::ErrorKind::InvalidData.into()))
}

fn question(index: u32) -> Vec<u8> {
    let mut octets = Vec::new();
    octets.extend(((HEADER + INTERFACE) as u32).to_ne_bytes());
    octets.extend(QUESTION.to_ne_bytes());
    octets.extend(FLAG_REQUEST.to_ne_bytes());
    octets.extend([1u32, 0, 0].into_iter().flat_map(u32::to_ne_bytes));
    octets.extend(index.to_ne_bytes());
    octets.extend([0; 8]);
    octets
}

/// Finds the counters among the attributes of an answer.
fn read(answer: &[u8]) -> Option<Counts> {
    let half = |octets: &[u8], at: usize| Some(u16::from_ne_bytes(*octets.get(at..)?.first_chunk()?));
    if half(answer, 4)? != ANSWER {
        return None;
    }
    let mut rest = answer.get(HEADER + INTERFACE..)?;
    loop {
        let length = usize::from(half(rest, 0)?);
        let attribute = rest.get(4..length)?;
        if half(rest, 2)? == STATISTICS {
            let word = |at: usize| Some(u64::from_ne_bytes(*attribute.get(8 * at..)?.first_chunk()?));
            return Some(Counts {
                packets: word(0)?,
                octets: word(2)?,
                missed: word(15)?,
                overrun: word(14)?.max(word(11)?),
                errors: word(4)?,
                dropped: word(6)?,
                sent: word(1)?,
                unsent: word(7)?,
            });
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_sends_what_it_receives() {
        let counts = counts("lo").unwrap();
        assert_eq!((counts.packets, counts.lost()), (counts.sent, 0));
        assert!(super::counts("no-such-name").is_err());
    }

    #[test]
    fn an_answer_cut_anywhere_is_none() {
        let mut answer = question(1);
        answer[4..6].copy_from_slice(&ANSWER.to_ne_bytes());
        answer.extend([5, 0, 3, 0, 0, 0, 0, 0]);
        answer.extend([4 + 128u16, STATISTICS].map(u16::to_ne_bytes).concat());
        answer.extend((0..16u64).flat_map(u64::to_ne_bytes));
        assert_eq!(read(&answer).unwrap().missed, 15);
        for cut in 0..answer.len() {
            assert_eq!(read(&answer[..cut]), None);
        }
        answer[32..34].copy_from_slice(&[0, 0]);
        assert_eq!(read(&answer), None);
    }
}
