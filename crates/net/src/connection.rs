//! A connection as its thread keeps it, and the table of them.

use std::os::fd::OwnedFd;

use crate::gate::Permit;
use crate::input::Input;
use crate::pending::Pending;
use crate::service::{ConnectionId, Peer};
use crate::tls::Secured;

/// A connection that was accepted, on its way to the thread that will serve it.
#[derive(Debug)]
pub(crate) struct Newcomer {
    pub(crate) stream: OwnedFd,
    pub(crate) peer: Peer,
    pub(crate) listener: usize,
    pub(crate) permit: Permit,
    pub(crate) tls: Option<Box<Secured>>,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// To read, then to show it to the service.
    Input,
    /// To show the service what was read already.
    Turn,
    /// To ask the service what else it has to say.
    Resume,
    /// For mail.
    Hold,
    /// To be closed when all that was said is gone.
    Close,
    /// To stand: it was dialled and is on its way.
    Dial,
    /// The end of its handshake of TLS: it was dialled, and its peer is there.
    Greet,
}

/// A connection. Buffers are its own only while something is in them.
pub(crate) struct Connection<C> {
    pub(crate) stream: OwnedFd,
    pub(crate) state: C,
    pub(crate) tls: Option<Box<Secured>>,
    /// Input that the service has not taken.
    pub(crate) carried: Option<Box<Input>>,
    /// Octets for the wire that the peer has not taken.
    pub(crate) pending: Option<Box<Pending>>,
    /// When an octet last came or went, milliseconds since the server was started.
    pub(crate) moved_ms: u64,
    pub(crate) wants: Wants,
    /// There may be something to read: the kernel said so, and no read has come back short since.
    pub(crate) readable: bool,
    /// The peer has ended its side: reads go on to the end without another event.
    pub(crate) hangup: bool,
    /// The connection failed: nothing will come of waiting.
    pub(crate) broken: bool,
    /// It is in the list of those that have another turn in this round.
    pub(crate) queued: bool,
    /// The service has said its last words to it.
    pub(crate) parted: bool,
    /// Its place among those that came; none of one that was dialled.
    pub(crate) permit: Option<Permit>,
}

impl<C> Connection<C> {
    pub(crate) fn new(newcomer: Newcomer, state: C, now_ms: u64) -> Connection<C> {
        let mut connection = Connection::bare(newcomer.stream, state, now_ms, Wants::Input);
        // What came with the end of the handshake is in `tls`, and no event will tell.
        connection.readable = newcomer.tls.is_some();
        connection.tls = newcomer.tls;
        connection.permit = Some(newcomer.permit);
        connection
    }

    /// One that is on its way to its peer.
    pub(crate) fn dialled(stream: OwnedFd, state: C, tls: Option<Box<Secured>>, now_ms: u64) -> Connection<C> {
        Connection { tls, ..Connection::bare(stream, state, now_ms, Wants::Dial) }
    }

    fn bare(stream: OwnedFd, state: C, now_ms: u64, wants: Wants) -> Connection<C> {
        Connection {
            stream,
            state,
            tls: None,
            carried: None,
            pending: None,
            moved_ms: now_ms,
            wants,
            readable: false,
            hangup: false,
            broken: false,
            queued: false,
            parted: false,
            permit: None,
        }
    }

    /// Octets of memory held beyond those of every connection.
    pub(crate) fn held(&self) -> usize {
        let carried = self.carried.as_ref().map_or(0, |c| c.capacity());
        carried + self.pending.as_ref().map_or(0, |p| p.capacity())
    }

    /// Octets that wait to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.pending.as_ref().map_or(0, |p| p.len())
    }

    /// Whether another turn would find something to do without an event.
    pub(crate) fn has_work(&self) -> bool {
        match self.wants {
            Wants::Input => self.readable,
            Wants::Turn | Wants::Resume | Wants::Close => true,
            Wants::Hold | Wants::Dial | Wants::Greet => false,
        }
    }
}

/// Slots of a table that are made at once: a table that grows moves none, and leaves no memory behind.
const CHUNK_SLOTS: usize = 128;

/// The connections of a thread, by slot. A slot is used again with another generation, so that an event or a mail for
/// the one before finds nothing.
pub(crate) struct Table<T> {
    thread: u16,
    chunks: Vec<Vec<Slot<T>>>,
    free: Vec<u32>,
    slots: usize,
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Table<T> {
    pub(crate) fn new(thread: u16) -> Table<T> {
        Table { thread, chunks: Vec::new(), free: Vec::new(), slots: 0 }
    }

    /// The name that the next one will have.
    pub(crate) fn next_id(&self) -> ConnectionId {
        let fresh = u32::try_from(self.slots).unwrap_or(u32::MAX);
        let slot = self.free.last().copied().unwrap_or(fresh);
        ConnectionId { thread: self.thread, slot, generation: self.slot(slot).map_or(0, |s| s.generation) }
    }

    /// Takes one in, under [`Table::next_id`].
    pub(crate) fn insert(&mut self, value: T) -> ConnectionId {
        let id = self.next_id();
        if self.free.pop().is_none() {
            self.add_slot();
        }
        if let Some(slot) = self.slot_mut(id.slot) {
            slot.value = Some(value);
        }
        id
    }

    fn add_slot(&mut self) {
        if self.slots.is_multiple_of(CHUNK_SLOTS) {
            self.chunks.push(Vec::with_capacity(CHUNK_SLOTS));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(Slot { generation: 0, value: None });
            self.slots += 1;
        }
    }

    fn slot(&self, slot: u32) -> Option<&Slot<T>> {
        self.chunks.get(slot as usize / CHUNK_SLOTS)?.get(slot as usize % CHUNK_SLOTS)
    }

    fn slot_mut(&mut self, slot: u32) -> Option<&mut Slot<T>> {
        self.chunks.get_mut(slot as usize / CHUNK_SLOTS)?.get_mut(slot as usize % CHUNK_SLOTS)
    }

    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut T> {
        self.slot_mut(id.slot).filter(|s| s.generation == id.generation)?.value.as_mut()
    }

    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<T> {
        let slot = self.slot_mut(id.slot).filter(|s| s.generation == id.generation)?;
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.slot);
        Some(value)
    }

    pub(crate) fn len(&self) -> usize {
        self.slots - self.free.len()
    }

    /// The names of those for which something holds.
    pub(crate) fn find(&self, holds: impl Fn(&T) -> bool) -> Vec<ConnectionId> {
        let all = self.chunks.iter().flatten().zip(0u32..);
        let found = all.filter(|(slot, _)| slot.value.as_ref().is_some_and(&holds));
        let thread = self.thread;
        found.map(|(slot, at)| ConnectionId { thread, slot: at, generation: slot.generation }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_again_under_another_name() {
        let mut table = Table::new(3);
        let (a, b) = (table.insert('a'), table.insert('b'));
        assert_eq!(table.remove(a), Some('a'));
        assert_eq!((table.remove(a), table.len()), (None, 1));
        let expected = table.next_id();
        let c = table.insert('c');
        assert_eq!((c, c.slot, c.thread), (expected, a.slot, 3));
        assert!(table.get_mut(a).is_none() && table.get_mut(c) == Some(&mut 'c'));
        assert_eq!(table.find(|v| *v != 'x'), [c, b]);
    }

    #[test]
    fn a_table_grows_by_chunks() {
        let mut table = Table::new(0);
        let ids: Vec<ConnectionId> = (0..3 * CHUNK_SLOTS + 1).map(|n| table.insert(n)).collect();
        assert_eq!((table.len(), table.chunks.len()), (ids.len(), 4));
        assert!(ids.iter().enumerate().all(|(n, id)| table.get_mut(*id) == Some(&mut n.clone())));
        assert_eq!(table.find(|n| n % CHUNK_SLOTS == 5), [ids[5], ids[CHUNK_SLOTS + 5], ids[2 * CHUNK_SLOTS + 5]]);
    }
}
