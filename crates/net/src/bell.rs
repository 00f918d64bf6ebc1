//! What wakes a thread that waits for events of its sockets.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

#[cfg(loom)]
use crate::models::Ears;

/// An eventfd that a thread has among its events, edge-triggered: each ring is an event, and nobody needs to read it.
#[derive(Debug)]
pub(crate) struct Bell {
    event: OwnedFd,
    #[cfg(loom)]
    pub(crate) ears: Ears,
}

impl Bell {
    pub(crate) fn new() -> Result<Bell, Errno> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Bell {
            event,
            #[cfg(loom)]
            ears: Ears::default(),
        })
    }

    pub(crate) fn ring(&self) {
        #[cfg(loom)]
        self.ears.ring();
        // It fails only when it was rung 2^64 times, and then it is ringing.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
