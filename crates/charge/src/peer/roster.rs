//! The peers that we dial (RFC 6733 section 5.6): when each is tried, at which of its addresses, and which of two
//! connections stays when both sides connect at once.
//!
//! ```text
//!   Down --due--> Dialling --stands--> Greeting (our CER is out) --opened--> Open
//!     ^              |                     |                                  |
//!     +--------------+------- closed ------+----------------------------------+
//! ```
//!
//! It has no socket and no clock: connections are names that the caller gives, and the time comes with each call.
//!
//! # Rules where the standards leave a choice
//!
//! - While a peer is connected from its side, it is not dialled.
//! - All addresses are tried one after the other without a wait, whatever came to nothing there; the wait (Tc, RFC 6733
//!   section 2.1) follows the last.
//! - Tc is longer by up to a quarter, by chance, so that peers that went down together do not come back together.
//! - A peer that says BUSY is left alone for ten Tc, one that does not want to talk to us for an hour at least; each
//!   may connect by itself meanwhile (section 5.4.3).
//! - A CER that comes before ours is out wins without an election: ours is never sent. When ours is out, the greater
//!   Origin-Host wins (section 5.6.4), and so what the other one began stays; else that is told so at once
//!   (ELECTION_LOST, section 7.1.4).
//! - Who wins an election, and whose connection then comes to nothing, is dialled again after Tc.

use super::Down;
use core::net::SocketAddr;
use core::time::Duration;
use trunkline_wire::diameter::enumerated::DisconnectCause;

/// Peers that may be dialled.
// Limit: peers that the node connects to
// Beyond: the configuration is refused
// Seen in: the error message
pub const NEIGHBOURS_MAX: usize = 64;
/// Addresses of one.
pub const ADDRESSES_MAX: usize = 8;
/// Tc, where nothing else is set (RFC 6733 section 2.1).
pub const RECONNECT: Duration = Duration::from_secs(30);
/// Tc that a busy peer is left alone for.
const BUSY_WAITS: u32 = 10;
/// How long a peer is left alone that does not want to talk to us, at least.
const UNWANTED: Duration = Duration::from_secs(3600);

/// Where a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Address and port.
    pub address: SocketAddr,
    /// Whether TLS is spoken there, from the first octet (RFC 6733 section 13.1).
    pub tls: bool,
}

/// A peer that is dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its Origin-Host, which its CEA and its certificate have to name.
    pub host: String,
    /// Where it is, the best first.
    pub places: Vec<Place>,
}

/// What a CER of another means to the connection that we began to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came<C> {
    /// It is taken.
    Taken,
    /// It is taken, and ours, which has that name, is to be closed.
    Instead(C),
    /// Ours stays: the other one is refused (ELECTION_LOST).
    Lost,
}

/// How a peer is, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its Origin-Host.
    pub host: String,
    /// Where it was tried last, or is tried next.
    pub place: Place,
    /// `open`: our connection; `came`: its own; `dialling`, `greeting`, `down`.
    pub state: &'static str,
    /// Why it is down.
    pub why: Option<Down>,
    /// How long until it is tried again, if it is down, as of when the time was told last.
    pub wait: Option<Duration>,
    /// How often it was dialled.
    pub tries: u64,
}

/// All of them, by their index.
#[derive(Debug)]
pub struct Roster<C> {
    all: Vec<Standing<C>>,
    again: Duration,
    seed: u32,
    /// The time that was told last.
    seen: Duration,
}

#[derive(Debug)]
struct Standing<C> {
    neighbour: Neighbour,
    /// Which of its places is tried.
    at: usize,
    state: State<C>,
    /// Connections that it made itself.
    came: usize,
    why: Down,
    next: Duration,
    tries: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State<C> {
    Down,
    Dialling,
    Greeting(C),
    Open,
}

impl<C> State<C> {
    /// Whether a connection is on its way, and not open.
    fn is_begun(&self) -> bool {
        matches!(self, State::Dialling | State::Greeting(_))
    }
}

impl<C: Copy> Roster<C> {
    /// Peers that have places, each. `again` is Tc; `seed` decides by how much waits are longer.
    pub fn new(neighbours: Vec<Neighbour>, again: Duration, seed: u32) -> Roster<C> {
        let standing = |neighbour| Standing {
            neighbour,
            at: 0,
            state: State::Down,
            came: 0,
            why: Down::Untried,
            next: Duration::ZERO,
            tries: 0,
        };
        let with_places = neighbours.into_iter().filter(|neighbour| !neighbour.places.is_empty());
        Roster { all: with_places.map(standing).collect(), again, seed, seen: Duration::ZERO }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Who it is.
    pub fn host(&self, index: usize) -> Option<&str> {
        self.all.get(index).map(|one| one.neighbour.host.as_str())
    }

    /// Where a peer is to be dialled now, if it is, and the number of the try, which is told with what comes of it.
    pub fn due(&mut self, index: usize, now: Duration) -> Option<(Place, u64)> {
        self.seen = now;
        let one = self.all.get_mut(index)?;
        let is_due = matches!(one.state, State::Down) && one.came == 0 && now >= one.next;
        let place = one.neighbour.places.get(one.at).filter(|_| is_due)?;
        one.state = State::Dialling;
        one.tries += 1;
        Some((*place, one.tries))
    }

    /// The connection stands, and has that name. Whether our CER is to be said; else it is to be closed.
    pub fn stands(&mut self, index: usize, tried: u64, name: C) -> bool {
        match self.of(index, tried) {
            Some(one) if matches!(one.state, State::Dialling) => {
                one.state = State::Greeting(name);
                true
            }
            _ => false,
        }
    }

    /// It answered our CER as it should.
    pub fn opened(&mut self, index: usize, tried: u64) {
        if let Some(one) = self.of(index, tried).filter(|one| matches!(one.state, State::Greeting(_))) {
            one.state = State::Open;
        }
    }

    /// A connection of ours came to nothing, or has ended.
    pub fn closed(&mut self, index: usize, tried: u64, why: Down, now: Duration) {
        let Some(one) = self.of(index, tried).filter(|one| !matches!(one.state, State::Down)) else { return };
        // What is not good for us at one place may be at another one; who was there and went is asked there again.
        let nothing = one.state.is_begun() && !matches!(why, Down::Said(_) | Down::GaveWay);
        one.state = State::Down;
        one.why = why;
        let others = nothing && one.at + 1 < one.neighbour.places.len();
        one.at = if others { one.at + 1 } else { 0 };
        one.next = now;
        if !others {
            self.wait(index, now);
        }
    }

    /// A CER came over a connection that another made, and is good. `own` is our Origin-Host.
    pub fn came(&mut self, host: &str, own: &str) -> Came<C> {
        let Some(index) = self.index(host) else { return Came::Taken };
        let one = &mut self.all[index];
        match one.state {
            State::Greeting(_) if own.as_bytes() <= host.as_bytes() => return Came::Lost,
            State::Greeting(name) => {
                one.give_way();
                return Came::Instead(name);
            }
            State::Dialling => one.give_way(),
            State::Down | State::Open => one.came += 1,
        }
        Came::Taken
    }

    /// A connection that [`Roster::came`] took has ended.
    pub fn went(&mut self, host: &str, why: Down, now: Duration) {
        let Some(index) = self.index(host) else { return };
        let one = &mut self.all[index];
        one.came = one.came.saturating_sub(1);
        if one.came == 0 && matches!(one.state, State::Down) {
            one.why = why;
            self.wait(index, now);
        }
    }

    /// How all of them are.
    pub fn shown(&self) -> impl Iterator<Item = Shown> + '_ {
        self.all.iter().map(|one| one.shown(self.seen))
    }

    fn index(&self, host: &str) -> Option<usize> {
        self.all.iter().position(|one| one.neighbour.host.eq_ignore_ascii_case(host))
    }

    /// Of a try that is still the newest.
    fn of(&mut self, index: usize, tried: u64) -> Option<&mut Standing<C>> {
        self.all.get_mut(index).filter(|one| one.tries == tried)
    }

    /// Not before a while has gone by.
    fn wait(&mut self, index: usize, now: Duration) {
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let Some(one) = self.all.get_mut(index) else { return };
        let wait = match one.why {
            Down::Said(DisconnectCause::Rebooting) => self.again,
            Down::Said(DisconnectCause::Busy) => self.again * BUSY_WAITS,
            Down::Said(_) => UNWANTED.max(self.again),
            _ => self.again,
        };
        one.next = now + wait + wait.mul_f64(f64::from(self.seed >> 8) / f64::from(1 << 24) / 4.0);
    }
}

impl<C> Standing<C> {
    /// It is connected from its side: ours is not wanted.
    fn give_way(&mut self) {
        (self.state, self.why) = (State::Down, Down::GaveWay);
        self.came += 1;
    }

    fn shown(&self, now: Duration) -> Shown {
        let state = match &self.state {
            State::Open => "open",
            _ if self.came > 0 => "came",
            State::Down => "down",
            State::Dialling => "dialling",
            State::Greeting(_) => "greeting",
        };
        let down = state == "down";
        let place = self.neighbour.places[self.at.min(self.neighbour.places.len() - 1)];
        Shown {
            host: self.neighbour.host.clone(),
            place,
            state,
            why: (state != "open" && state != "came").then_some(self.why),
            wait: down.then(|| self.next.saturating_sub(now)),
            tries: self.tries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Place {
        Place { address: SocketAddr::from(([127, 0, 0, 1], port)), tls: false }
    }

    fn roster(places: Vec<Place>) -> Roster<u32> {
        Roster::new(vec![Neighbour { host: "dra.example".to_owned(), places }], RECONNECT, 7)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// When it is tried next, after being closed for that reason at 1000 s.
    fn next(why: Down) -> Duration {
        let mut roster = roster(vec![at(1)]);
        let (_, tried) = roster.due(0, seconds(1000)).unwrap();
        assert!(roster.stands(0, tried, 5));
        roster.opened(0, tried);
        roster.closed(0, tried, why, seconds(1000));
        roster.shown().next().unwrap().wait.unwrap()
    }

    #[test]
    fn all_addresses_are_tried_then_it_waits() {
        let mut roster = roster(vec![at(1), at(2)]);
        for port in [1, 2] {
            let (place, tried) = roster.due(0, seconds(1)).unwrap();
            assert_eq!(place, at(port));
            assert_eq!(roster.due(0, seconds(1)), None);
            roster.closed(0, tried, Down::Unreached("refused"), seconds(1));
        }
        assert_eq!(roster.due(0, seconds(30)), None);
        assert_eq!(roster.due(0, seconds(39)), Some((at(1), 3)));
    }

    #[test]
    fn an_address_that_takes_connections_and_is_no_good_is_left_for_the_next() {
        for why in [Down::Silent, Down::NoAnswer, Down::Refused(3004), Down::Another, Down::Ended, Down::Broken] {
            let mut roster = roster(vec![at(1), at(2)]);
            let (_, tried) = roster.due(0, seconds(1)).unwrap();
            assert!(roster.stands(0, tried, 5));
            roster.closed(0, tried, why, seconds(1));
            let (place, tried) = roster.due(0, seconds(1)).unwrap();
            assert_eq!(place, at(2), "{why}");
            // One that was open is tried again where it was best.
            assert!(roster.stands(0, tried, 6));
            roster.opened(0, tried);
            roster.closed(0, tried, why, seconds(2));
            assert_eq!(roster.due(0, seconds(41)).map(|(place, _)| place), Some(at(1)), "{why}");
        }
    }

    #[test]
    fn how_long_it_waits_is_what_the_peer_said() {
        let within = |why, least: u64, most: u64| (seconds(least)..=seconds(most)).contains(&next(why));
        assert!(within(Down::Ended, 30, 38) && within(Down::Refused(3010), 30, 38));
        assert!(within(Down::Said(DisconnectCause::Rebooting), 30, 38));
        assert!(within(Down::Said(DisconnectCause::Busy), 300, 375));
        assert!(within(Down::Said(DisconnectCause::DoNotWantToTalkToYou), 3600, 4500));
    }

    #[test]
    fn elections_go_to_the_greater_name() {
        for (own, expected) in [("zoe.example", Came::Instead(5)), ("alice.example", Came::Lost)] {
            let mut roster = roster(vec![at(1)]);
            let (_, tried) = roster.due(0, seconds(0)).unwrap();
            assert!(roster.stands(0, tried, 5));
            assert_eq!(roster.came("dra.example", own), expected);
        }
    }

    #[test]
    fn who_comes_by_himself_is_not_dialled_until_he_goes() {
        let mut roster = roster(vec![at(1)]);
        let (_, tried) = roster.due(0, seconds(0)).unwrap();
        assert_eq!(roster.came("dra.example", "alice.example"), Came::Taken);
        assert!(!roster.stands(0, tried, 5));
        assert_eq!((roster.due(0, seconds(900)), roster.shown().next().unwrap().state), (None, "came"));
        roster.went("dra.example", Down::Ended, seconds(900));
        assert_eq!(roster.due(0, seconds(929)), None);
        assert!(roster.due(0, seconds(938)).is_some());
        // What comes late of the first try changes nothing.
        roster.closed(0, tried, Down::Ended, seconds(938));
        assert_eq!(roster.shown().next().unwrap().state, "dialling");
    }
}
