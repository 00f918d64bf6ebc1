//! Peers that the node dials: when, over what, and what comes of it. Who is to be dialled when is the [`Roster`]'s to
//! say, which all threads share; each peer has one thread that dials it.

use super::link::{Link, Speaks};
use super::worker::{Mail, Worker};
use crate::peer::{Came, Down, Neighbour, Peer, Place, RECONNECT, Roster, Shown};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trunkline_net::{
    Cause, CertificateDer, ClientTls, ConnectionId, Errands, Next, Now, Output, Peer as From, Remote, TlsFault,
    Undialled, certifies,
};
use trunkline_wire::diameter::result_code;

/// How long a connection and its handshake may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The peers that a node dials, and what certificates have to say.
#[derive(Clone, Debug)]
pub struct Peering {
    /// Who is dialled.
    pub neighbours: Vec<Neighbour>,
    /// Tc: how long it waits until one that is down is tried again (RFC 6733 section 2.1).
    pub again: Duration,
    /// How TLS is spoken with them; needed where a place is one of TLS.
    pub tls: Option<ClientTls>,
    /// Whether a certificate that a client shows has to be for its Origin-Host.
    pub certified: bool,
}

impl Default for Peering {
    fn default() -> Peering {
        Peering { neighbours: Vec::new(), again: RECONNECT, tls: None, certified: true }
    }
}

/// What threads share of them.
#[derive(Debug)]
pub(super) struct Callers {
    roster: Mutex<Roster<ConnectionId>>,
    tls: Option<ClientTls>,
    certified: bool,
    count: usize,
}

/// Whose side a connection is of, and what it showed.
#[derive(Debug, Default)]
pub(super) struct Side {
    /// It is to a peer that we dialled.
    pub called: Option<Called>,
    /// It came from a peer that we dial, or might.
    pub came: bool,
    /// The certificate that it showed, until it says who it is.
    pub certificate: Option<Box<CertificateDer<'static>>>,
}

/// Which peer a connection is to that we dialled, and which try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Called {
    index: usize,
    tried: u64,
}

impl Callers {
    pub fn new(peering: Peering, seed: u32) -> Callers {
        let Peering { neighbours, again, tls, certified } = peering;
        let roster = Roster::new(neighbours, again, seed);
        let count = roster.len();
        Callers { roster: Mutex::new(roster), tls, certified, count }
    }

    fn roster(&self) -> MutexGuard<'_, Roster<ConnectionId>> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How all of them are.
    pub fn shown(&self) -> Vec<Shown> {
        self.roster().shown().collect()
    }
}

impl Worker {
    /// Dials those of this thread that are due.
    pub(super) fn dial_due(&mut self, errands: &mut Errands<Link>, now: Now) {
        let threads = self.shared.counts.len();
        for index in (usize::from(self.thread)..self.shared.callers.count).step_by(threads) {
            let due = self.shared.callers.roster().due(index, now.monotonic);
            if let Some((place, tried)) = due {
                self.dial(errands, place, Called { index, tried }, now);
            }
        }
    }

    fn dial(&mut self, errands: &mut Errands<Link>, place: Place, called: Called, now: Now) {
        self.counts.calls += 1;
        let peer = Peer::new(&self.shared.local, 0, now.monotonic);
        let from = (From::Inet(place.address), place.tls);
        let mut link = Link::new(ConnectionId::NONE, from, Speaks::Diameter(Box::new(peer)));
        link.side.called = Some(called);
        if !place.tls {
            return errands.dial(Remote::Tcp(place.address), PATIENCE, link);
        }
        let host = self.shared.callers.roster().host(called.index).unwrap_or_default().to_owned();
        let tls = self.shared.callers.tls.as_ref();
        if tls.is_none_or(|tls| errands.dial_tls(place.address, (tls, &host), PATIENCE, link).is_err()) {
            let why = Down::Unreached("no certificate can be for its name");
            self.counts.calls_failed += 1;
            self.shared.callers.roster().closed(called.index, called.tried, why, now.monotonic);
        }
    }

    /// A connection that was dialled stands: says who we are, unless the peer has connected itself meanwhile.
    pub(super) fn reached(&mut self, link: &mut Link, id: ConnectionId, output: &mut Output<'_>, now: Now) -> Next {
        link.id = id;
        let Some(called) = link.side.called else { return Next::Close };
        let mut roster = self.shared.callers.roster();
        if !roster.stands(called.index, called.tried, id) {
            return Next::Close;
        }
        let mut peer = Peer::new(&self.shared.local, self.seed(now), now.monotonic);
        output.append(|out| peer.call(&self.shared.local, roster.host(called.index).unwrap_or_default(), out));
        drop(roster);
        link.speaks = Speaks::Diameter(Box::new(peer));
        self.register(link, now.monotonic);
        Next::More
    }

    /// A peer is open, by its CER, which `octets` are and which was answered from `before` on, or by its CEA to ours.
    /// Whether it stays: its certificate names it, and its connection is the one that stays of two.
    pub(super) fn admits(&mut self, peer: &mut Peer, side: &mut Side, octets: &[u8], before: usize) -> bool {
        if let Some(called) = side.called {
            self.shared.callers.roster().opened(called.index, called.tried);
            return true;
        }
        let named = side.certificate.take().is_none_or(|shown| certifies(&shown, peer.host()));
        if !named && self.shared.callers.certified {
            self.counts.peers_misnamed += 1;
            return self.refuses(peer, octets, result_code::UNKNOWN_PEER, before);
        }
        let came = self.shared.callers.roster().came(peer.host(), &self.shared.local.host);
        match came {
            Came::Lost => return self.refuses(peer, octets, result_code::ELECTION_LOST, before),
            // One that is gone already is closed.
            Came::Instead(ours) => drop(self.waker.to_connection(ours, Mail::Leave)),
            Came::Taken => {}
        }
        side.came = true;
        true
    }

    fn refuses(&mut self, peer: &mut Peer, octets: &[u8], result: u32, before: usize) -> bool {
        self.said.truncate(before);
        peer.refuse(&self.shared.local, octets, result, &mut self.said);
        self.counts.peers_refused += 1;
        false
    }

    /// A connection has ended, or did not come about.
    pub(super) fn parted(&mut self, side: &Side, peer: &Peer, cause: Cause, now: Now) {
        let why = peer.down().unwrap_or_else(|| down(cause));
        let mut roster = self.shared.callers.roster();
        if let Some(called) = side.called {
            self.counts.calls_failed += u64::from(peer.host().is_empty());
            roster.closed(called.index, called.tried, why, now.monotonic);
        } else if side.came {
            roster.went(peer.host(), why, now.monotonic);
        }
    }
}

/// What the end of a connection means where the peer did not say.
fn down(cause: Cause) -> Down {
    match cause {
        Cause::Undialled(why) => Down::Unreached(unreached(why)),
        Cause::Idle | Cause::Stalled => Down::Silent,
        Cause::Service | Cause::Input | Cause::Output | Cause::Tls => Down::Broken,
        Cause::Peer | Cause::Failed | Cause::Memory | Cause::Stopped => Down::Ended,
    }
}

fn unreached(why: Undialled) -> &'static str {
    match why {
        Undialled::Refused => "nobody listens there",
        Undialled::Unreachable => "there is no way there",
        Undialled::Late => "nobody answered in time",
        Undialled::Full | Undialled::System => "no connection is left to dial it with",
        Undialled::Tls(TlsFault::Issuer) => "TLS: nobody who is trusted vouches for its certificate",
        Undialled::Tls(TlsFault::Expired) => "TLS: its certificate does not hold now",
        Undialled::Tls(TlsFault::Name) => "TLS: its certificate is for another name",
        Undialled::Tls(TlsFault::Certificate) => "TLS: its certificate is no good",
        Undialled::Tls(TlsFault::Refused) => "TLS: it refused us",
        Undialled::Tls(TlsFault::Broken) => "TLS: it speaks none, or ended the handshake",
    }
}
