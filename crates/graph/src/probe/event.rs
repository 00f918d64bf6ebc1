//! What has happened to devices and to what is read of them.

use crate::poller::Change;

/// Characters of what is wrong; the rest is left out.
pub const FAULT_CHARS_MAX: usize = 300;

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A device is up or down now.
    Health {
        /// The device.
        device: u32,
        /// Which of them.
        change: Change,
        /// When: milliseconds since 1970.
        unix_ms: i64,
    },
    /// A device has answered a probe over the network, and somebody waits to hear that.
    Answered {
        /// The device.
        device: u32,
        /// When the round began in which it did: milliseconds since 1970.
        began_ms: i64,
    },
    /// A device has begun to be up and down by turns, or is calm again.
    Flapping {
        /// The device.
        device: u32,
        /// Whether it has begun.
        begins: bool,
        /// When: milliseconds since 1970.
        unix_ms: i64,
    },
    /// A round was due while the one before still ran: it was left out.
    Missed {
        /// The device.
        device: u32,
        /// The data source; none is whether the device is up.
        source: Option<u32>,
        /// How many in all.
        count: u64,
    },
    /// Something is wrong, and was not wrong in the round before, or in another way.
    Fault {
        /// The device.
        device: u32,
        /// The data source; none is whether the device is up.
        source: Option<u32>,
        /// What is wrong, for people; at most [`FAULT_CHARS_MAX`] characters.
        text: String,
    },
    /// Nothing is wrong any more.
    Mended {
        /// The device.
        device: u32,
        /// The data source; none is whether the device is up.
        source: Option<u32>,
    },
}

impl Event {
    /// The device that it has happened to.
    pub fn device(&self) -> u32 {
        match *self {
            Event::Health { device, .. }
            | Event::Answered { device, .. }
            | Event::Flapping { device, .. }
            | Event::Missed { device, .. }
            | Event::Fault { device, .. }
            | Event::Mended { device, .. } => device,
        }
    }
}
