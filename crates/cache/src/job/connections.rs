//! The connections that there are, for `stats conns` and for those who watch. Touched when one comes or goes; in
//! between a connection writes nothing but when it was last heard of.

use crate::service::Client;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use trunkline_net::{ConnectionId, Peer};

/// All connections of a job.
#[derive(Debug, Default)]
pub struct Connections {
    names: AtomicU32,
    open: Mutex<BTreeMap<u32, Arc<Entry>>>,
    /// The clients of each address, and how many connections they have.
    clients: Mutex<HashMap<IpAddr, (Arc<Client>, usize)>>,
    watching: Mutex<Vec<ConnectionId>>,
}

/// What is known of a connection.
#[derive(Debug)]
pub struct Entry {
    /// Its name: `cfd`.
    pub name: u32,
    /// Who it is.
    pub peer: Peer,
    /// Which listener it came to.
    pub listener: usize,
    /// The second of the store in which it last said something.
    heard: AtomicU32,
}

impl Entry {
    /// It has said something.
    #[inline]
    pub fn hear(&self, second: u32) {
        if self.heard.load(Relaxed) != second {
            self.heard.store(second, Relaxed);
        }
    }

    /// Who it is, as `stats conns` has it: `tcp:127.0.0.1:40000`.
    pub fn address(&self) -> String {
        match self.peer {
            Peer::Inet(address) => format!("tcp:{address}"),
            Peer::Unix => "unix".to_owned(),
        }
    }

    /// When it last did.
    pub fn heard(&self) -> u32 {
        self.heard.load(Relaxed)
    }
}

/// The peer as lines of `watch connevents` have it.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.peer {
            Peer::Inet(address) => write!(f, "rip={} rport={} transport=tcp", address.ip(), address.port()),
            Peer::Unix => write!(f, "rip=unix rport=0 transport=local"),
        }
    }
}

impl Connections {
    /// A connection has come.
    pub fn enter(&self, peer: Peer, listener: usize, second: u32) -> Arc<Entry> {
        let name = self.names.fetch_add(1, Relaxed).wrapping_add(1);
        let entry = Arc::new(Entry { name, peer, listener, heard: AtomicU32::new(second) });
        lock(&self.open).insert(name, Arc::clone(&entry));
        entry
    }

    /// The clients of an address, which have one connection more.
    pub fn client(&self, address: IpAddr) -> Arc<Client> {
        let mut clients = lock(&self.clients);
        let (client, connections) = clients.entry(address.to_canonical()).or_default();
        *connections += 1;
        Arc::clone(client)
    }

    /// It has gone.
    pub fn leave(&self, entry: &Entry) {
        lock(&self.open).remove(&entry.name);
        let Some(address) = entry.peer.ip().map(|address| address.to_canonical()) else { return };
        let mut clients = lock(&self.clients);
        if let Some((_, connections)) = clients.get_mut(&address) {
            *connections -= 1;
            if *connections == 0 {
                clients.remove(&address);
            }
        }
    }

    /// Tells each, in the order of their names.
    pub fn each(&self, mut tell: impl FnMut(&Entry)) {
        // Not under the lock: what is told may take long.
        let all: Vec<_> = lock(&self.open).values().cloned().collect();
        all.iter().for_each(|entry| tell(entry));
    }

    /// A connection watches from now on.
    pub fn watch(&self, id: ConnectionId) {
        lock(&self.watching).push(id);
    }

    /// It does no longer.
    pub fn unwatch(&self, id: ConnectionId) {
        lock(&self.watching).retain(|other| *other != id);
    }

    /// Those that watch.
    pub fn watching(&self) -> Vec<ConnectionId> {
        lock(&self.watching).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_left_are_not_told() {
        let all = Connections::default();
        let first = all.enter(Peer::Unix, 0, 5);
        let second = all.enter(Peer::Inet("127.0.0.1:40000".parse().unwrap()), 1, 6);
        let third = all.enter(Peer::Inet("[::ffff:127.0.0.1]:40001".parse().unwrap()), 1, 6);
        let clients = [&second, &third].map(|entry| all.client(entry.peer.ip().unwrap()));
        assert!(Arc::ptr_eq(&clients[0], &clients[1]), "one address, however it is written");
        all.leave(&first);
        all.leave(&third);
        assert_eq!(lock(&all.clients).len(), 1);
        second.hear(9);
        let mut told = vec![];
        all.each(|entry| told.push((entry.name, entry.to_string(), entry.heard())));
        all.leave(&second);
        assert!(lock(&all.clients).is_empty());
        assert_eq!(told, [(2, "rip=127.0.0.1 rport=40000 transport=tcp".to_owned(), 9)]);
    }
}
