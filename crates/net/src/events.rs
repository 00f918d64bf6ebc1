//! Events of a thread's sockets: epoll, and what its tokens mean.

use std::os::fd::{AsFd, OwnedFd};

use core::time::Duration;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::service::ConnectionId;

/// Events taken at once.
const EVENTS_MAX: usize = 512;
/// Slots from here on are no connections.
const SPECIAL: u32 = 0xffff_0000;
const DOOR: u32 = SPECIAL + 0x1000;
const UDP: u32 = SPECIAL + 0x2000;

/// Whose event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Bell,
    /// By its index among those of the thread.
    Door(usize),
    /// By its index among those of the thread.
    Udp(usize),
    /// By slot and generation.
    Stream(u32, u32),
}

impl Source {
    pub(crate) fn stream(id: ConnectionId) -> Source {
        Source::Stream(id.slot, id.generation)
    }

    fn token(self) -> u64 {
        let (slot, generation) = match self {
            Source::Bell => (SPECIAL, 0),
            Source::Door(index) => (DOOR + index as u32, 0),
            Source::Udp(index) => (UDP + index as u32, 0),
            Source::Stream(slot, generation) => (slot, generation),
        };
        u64::from(generation) << 32 | u64::from(slot)
    }

    fn of(token: u64) -> Source {
        let (slot, generation) = (token as u32, (token >> 32) as u32);
        match slot {
            UDP.. => Source::Udp((slot - UDP) as usize),
            DOOR.. => Source::Door((slot - DOOR) as usize),
            SPECIAL => Source::Bell,
            _ => Source::Stream(slot, generation),
        }
    }
}

/// What happened to a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct What {
    /// There is something to read, or the end.
    pub(crate) readable: bool,
    /// The peer has ended its side.
    pub(crate) hangup: bool,
    /// The connection is over on both sides.
    pub(crate) broken: bool,
}

/// The sources of events of a thread, made where an error can still be told.
#[derive(Debug)]
pub(crate) struct Sources(OwnedFd);

/// The events that a thread waits for.
pub(crate) struct Events {
    sources: Sources,
    came: Vec<Event>,
}

impl Sources {
    pub(crate) fn new() -> Result<Sources, Errno> {
        epoll::create(CreateFlags::CLOEXEC).map(Sources)
    }

    /// Each ring of a bell.
    pub(crate) fn add_bell(&self, bell: impl AsFd) -> Result<(), Errno> {
        self.add(bell, Source::Bell, EventFlags::IN | EventFlags::ET)
    }

    /// As long as there is something. Of a socket that threads share, only some are woken.
    pub(crate) fn add_socket(&self, socket: impl AsFd, source: Source, shared: bool) -> Result<(), Errno> {
        let exclusive = if shared { EventFlags::EXCLUSIVE } else { EventFlags::empty() };
        self.add(socket, source, EventFlags::IN | exclusive)
    }

    /// Each change, so that nothing needs to be asked of the kernel when a connection begins or ends to be stuck.
    pub(crate) fn add_stream(&self, stream: impl AsFd, source: Source) -> Result<(), Errno> {
        self.add(stream, source, EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET)
    }

    fn add(&self, socket: impl AsFd, source: Source, flags: EventFlags) -> Result<(), Errno> {
        epoll::add(&self.0, socket, EventData::new_u64(source.token()), flags)
    }

    pub(crate) fn remove(&self, socket: impl AsFd) {
        // It fails if it is not there, and then all is as it should be.
        let _ = epoll::delete(&self.0, socket);
    }
}

impl Events {
    pub(crate) fn of(sources: Sources) -> Events {
        Events { sources, came: Vec::with_capacity(EVENTS_MAX) }
    }

    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Waits for events, so long at most; how many came.
    pub(crate) fn wait(&mut self, most: Duration) -> usize {
        let seconds = i64::try_from(most.as_secs()).unwrap_or(i64::MAX);
        let timeout = Timespec { tv_sec: seconds, tv_nsec: i64::from(most.subsec_nanos()) };
        self.came.clear();
        // A signal is no event; nothing else can happen to a descriptor that is ours.
        epoll::wait(&self.sources.0, spare_capacity(&mut self.came), Some(&timeout)).unwrap_or(0)
    }

    /// One of those that came last.
    pub(crate) fn get(&self, at: usize) -> Option<(Source, What)> {
        let event = *self.came.get(at)?;
        let (flags, data) = (event.flags, event.data);
        let broken = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        let hangup = broken || flags.contains(EventFlags::RDHUP);
        let readable = hangup || flags.contains(EventFlags::IN);
        Some((Source::of(data.u64()), What { readable, hangup, broken }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_tell_their_source() {
        let sources = [Source::Bell, Source::Door(255), Source::Udp(0), Source::Stream(SPECIAL - 1, u32::MAX)];
        for source in sources {
            assert_eq!(Source::of(source.token()), source);
        }
    }
}
