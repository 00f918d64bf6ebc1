//! Peers of a charging gateway that are none: over UDP anybody writes any address on a datagram, and a new gateway
//! finds a place all the same.

use std::net::IpAddr;
use std::time::Duration;
use trunkline_charge::gateway::Receiver;
use trunkline_charge::gateway::receiver::{
    self, GUESSES_MAX, PEERS_MAX, Restoring, SILENT, STRANGERS_MAX, Settings, State,
};
use trunkline_net::Networks;
use trunkline_wire::gtpp::cause;
use trunkline_wire::{Address, Endpoint};

const ACCEPTED: u8 = cause::REQUEST_ACCEPTED;
const KNOWN: u8 = cause::ALREADY_FULFILLED;
const FULL: u8 = cause::NO_RESOURCES;
const REAL: Address = Address::v4([10, 0, 0, 1]);
const NEW: Address = Address::v4([10, 0, 0, 2]);

fn stranger(number: usize) -> Address {
    Address::v4([127, 9, (number >> 8) as u8, number as u8])
}

fn request(number: u8, elements: &[u8]) -> Vec<u8> {
    [&[0x4e, 240, 0, elements.len() as u8, 0, number][..], elements].concat()
}

/// A packet of one record with a command: 1 send, 2 possibly duplicated.
fn transfer(number: u8, command: u8) -> Vec<u8> {
    request(number, &[126, command, 252, 0, 8, 1, 1, 0x17, 5, 0, 2, b'x', number])
}

fn empty(number: u8) -> Vec<u8> {
    request(number, &[126, 1, 252, 0, 0])
}

const ALIVE: [u8; 13] = [0x4e, 4, 0, 7, 0, 3, 251, 0, 4, 10, 0, 0, 9];

/// A gateway and its log.
struct Gateway {
    receiver: Receiver,
    log: Vec<Vec<u8>>,
    settings: Settings,
    now: Duration,
    billed: usize,
}

impl Gateway {
    fn new() -> Gateway {
        Gateway::of(Settings::default())
    }

    fn of(settings: Settings) -> Gateway {
        let receiver = Receiver::new(settings.clone(), State::default());
        Gateway { receiver, log: Vec::new(), settings, now: Duration::from_secs(9), billed: 0 }
    }

    /// What is said to a message that comes from there.
    fn take(&mut self, from: Address, octets: &[u8]) -> Vec<Vec<u8>> {
        let outcome = self.receiver.handle(Endpoint::new(from, 3386), octets, self.now);
        if let Some(outcome) = outcome {
            let octets = outcome.entry.encode();
            assert_eq!(receiver::Entry::decode(&octets), Some(outcome.entry));
            self.log.push(octets);
            self.billed += outcome.passed.len();
        }
        self.receiver.durable(self.log.len() as u64);
        assert!(self.receiver.state().peers() <= PEERS_MAX);
        let said = std::iter::from_fn(|| self.receiver.poll());
        said.filter(|sent| sent.to.address == from).map(|sent| sent.octets).collect()
    }

    /// The cause of the answer to a transfer.
    fn cause(&mut self, from: Address, octets: &[u8]) -> u8 {
        let said = self.take(from, octets);
        said.iter().find(|octets| octets[1] == 241).map(|octets| octets[7]).expect("an answer")
    }

    /// The number of our Echo Request among what is said.
    fn asked(said: &[Vec<u8>]) -> Option<[u8; 2]> {
        said.iter().find(|octets| octets[1] == 1).map(|octets| [octets[4], octets[5]])
    }

    fn echo(&mut self, from: Address, [high, low]: [u8; 2], counter: u8) {
        assert!(self.take(from, &[0x4e, 2, 0, 2, high, low, 14, counter]).is_empty());
    }

    /// It sends records, and is where it says.
    fn real(&mut self, from: Address, number: u8) {
        let said = self.take(from, &transfer(number, 1));
        let asked = Gateway::asked(&said).expect("it is asked whether it is there");
        self.echo(from, asked, 7);
    }

    /// The log and its snapshot make the same state, with which it goes on.
    fn crash(&mut self) {
        let mut state = State::default();
        for entry in &self.log {
            state.fold(&receiver::Entry::decode(entry).expect("its own octets"));
        }
        assert!(state == *self.receiver.state());
        let mut restoring = Restoring::default();
        state.snapshot(|record| restoring.take(record)).expect("its own records");
        let state = restoring.state().expect("all of them");
        assert!(state == *self.receiver.state());
        self.receiver = Receiver::new(self.settings.clone(), state);
    }
}

/// 999 addresses that nobody has, each with a record that was stored: a new gateway was refused for ever.
#[test]
fn spoofed_records_do_not_lock_a_new_gateway_out() {
    let mut gateway = Gateway::new();
    gateway.real(REAL, 1);
    for number in 0..1200 {
        assert_eq!(gateway.cause(stranger(number), &transfer(1, 1)), ACCEPTED);
    }
    for restarts in 0..2 {
        assert_eq!(gateway.cause(NEW, &transfer(9 + restarts, 1)), ACCEPTED, "a new gateway finds a place");
        assert_eq!(gateway.cause(REAL, &transfer(1, 1)), KNOWN, "a copy is one still");
        gateway.crash();
    }
    assert_eq!(gateway.cause(NEW, &transfer(9, 1)), KNOWN);
    assert_eq!((gateway.billed, gateway.receiver.state().peers()), (1 + 1200 + 2, PEERS_MAX));
}

/// A gateway that answers no Echo Request, and was there before: its copies are known, and so are those of two that
/// come after the strangers and send on.
#[test]
fn strangers_take_the_places_of_strangers() {
    let mut gateway = Gateway::new();
    assert_eq!(gateway.cause(REAL, &transfer(1, 1)), ACCEPTED);
    for number in 0..1200 {
        assert_eq!(gateway.cause(stranger(number), &transfer(1, 1)), ACCEPTED);
    }
    assert_eq!(gateway.cause(REAL, &transfer(1, 1)), KNOWN);
    let other = Address::v4([10, 0, 0, 3]);
    for from in [NEW, other] {
        assert_eq!(gateway.cause(from, &transfer(1, 1)), ACCEPTED);
        assert_eq!(gateway.cause(from, &transfer(2, 1)), ACCEPTED);
    }
    for number in 0..1200 {
        assert_eq!(gateway.cause(stranger(3000 + number), &transfer(1, 1)), ACCEPTED);
    }
    for (from, number) in [(REAL, 1), (NEW, 1), (NEW, 2), (other, 1), (other, 2)] {
        assert_eq!(gateway.cause(from, &transfer(number, 1)), KNOWN);
    }
    gateway.crash();
}

/// Those that never sent a record that was stored go before all others: empty packets, answers to an Echo Request.
#[test]
fn who_stored_nothing_makes_room_first() {
    let mut gateway = Gateway::new();
    gateway.real(REAL, 1);
    // The first of all, and it stored something: it stays as long as others have not.
    assert_eq!(gateway.cause(stranger(5000), &transfer(1, 1)), ACCEPTED);
    for number in 0..PEERS_MAX - 2 {
        let said = gateway.take(stranger(number), &empty(1));
        if number % 2 == 0 {
            gateway.echo(stranger(number), Gateway::asked(&said).expect("a question"), 3);
        }
    }
    for number in 0..500 {
        assert_eq!(gateway.cause(stranger(6000 + number), &transfer(1, 1)), ACCEPTED);
    }
    assert_eq!(gateway.cause(stranger(5000), &transfer(1, 1)), KNOWN);
    assert_eq!(gateway.cause(REAL, &transfer(1, 1)), KNOWN);
    assert_eq!(gateway.receiver.counts().peers_forgotten, 500);
    gateway.crash();
}

/// An empty packet takes no place of a peer that stored something, however many come.
#[test]
fn who_stores_nothing_takes_no_place_of_who_did() {
    let mut gateway = Gateway::new();
    for number in 0..PEERS_MAX {
        assert_eq!(gateway.cause(stranger(number), &transfer(1, 1)), ACCEPTED);
    }
    for number in 0..100 {
        assert_eq!(gateway.cause(stranger(5000 + number), &empty(1)), FULL);
    }
    assert_eq!(gateway.receiver.counts().peers_forgotten, 0);
    assert_eq!(gateway.cause(stranger(0), &transfer(1, 1)), KNOWN);
}

/// Peers from before `charge.gtpp.allow` was set do not count.
#[test]
fn who_is_not_allowed_does_not_count() {
    let mut gateway = Gateway::new();
    for number in 0..PEERS_MAX - 1 {
        gateway.real(stranger(number), 1);
    }
    gateway.real(REAL, 1);
    assert_eq!(gateway.cause(NEW, &transfer(1, 1)), FULL, "all of them have proved where they are");
    gateway.settings.allow = Networks::only(vec!["10.0.0.0/8".parse().expect("a network")]);
    gateway.crash();
    for number in 0..(PEERS_MAX - 1) as u16 {
        let [high, low] = number.to_be_bytes();
        gateway.real(Address::v4([10, 1, high, low]), 1);
    }
    assert_eq!(gateway.cause(NEW, &transfer(1, 1)), FULL, "and so many of those that are allowed find a place");
    assert_eq!(gateway.cause(REAL, &transfer(1, 1)), KNOWN);
}

/// What is held apart of a peer that never answered goes last, and is counted.
#[test]
fn what_strangers_have_held_apart_does_not_stay_for_ever() {
    let mut gateway = Gateway::new();
    gateway.real(REAL, 1);
    assert_eq!(gateway.cause(REAL, &transfer(2, 2)), ACCEPTED);
    for number in 0..PEERS_MAX - 1 {
        assert_eq!(gateway.cause(stranger(number), &transfer(1, 2)), ACCEPTED);
    }
    assert_eq!(gateway.receiver.state().held().0, PEERS_MAX);
    for number in 0..10 {
        assert_eq!(gateway.cause(stranger(5000 + number), &transfer(1, 1)), ACCEPTED);
    }
    // The first took the place of one that holds something; each other one that of the one before it.
    let counts = *gateway.receiver.counts();
    assert_eq!((counts.held_forgotten, counts.peers_forgotten), (1, 10));
    assert_eq!(gateway.receiver.state().held().0, PEERS_MAX - 1);
    gateway.crash();
    assert_eq!(gateway.cause(REAL, &request(3, &[126, 4, 249, 0, 2, 0, 2])), ACCEPTED, "what is real is held still");
}

#[test]
fn who_has_proved_where_it_is_stays_until_it_is_silent_for_a_day() {
    let mut gateway = Gateway::new();
    for number in 0..PEERS_MAX {
        gateway.real(stranger(number), 1);
    }
    gateway.now += SILENT - Duration::from_secs(10);
    assert_eq!(gateway.take(stranger(0), &[0x4e, 1, 0, 0, 1, 2]).len(), 1, "the first one is there");
    assert_eq!(gateway.cause(NEW, &transfer(1, 1)), FULL);
    gateway.now += Duration::from_secs(20);
    assert_eq!(gateway.cause(NEW, &transfer(1, 1)), ACCEPTED);
    assert_eq!(gateway.cause(stranger(0), &transfer(1, 1)), KNOWN);
    assert_eq!(gateway.cause(stranger(1), &transfer(1, 1)), ACCEPTED, "it made room: what it sent is not known");
    assert_eq!((gateway.receiver.counts().peers_forgotten, gateway.receiver.state().peers()), (2, PEERS_MAX));
}

/// Only who sees our question can answer it: an address is learnt from an answer (ZeroTierOne issue 20), as a datagram
/// alone tells nothing of where it came from (solana issue 9491).
#[test]
fn an_answer_to_a_question_that_was_not_seen_proves_nothing() {
    let mut gateway = Gateway::of(Settings { secret: 0x5eed, ..Settings::default() });
    let mut numbers = Vec::new();
    for number in 0..100 {
        let said = gateway.take(stranger(number), &transfer(1, 1));
        numbers.push(Gateway::asked(&said).expect("a question"));
    }
    let next = |pair: &&[[u8; 2]]| u16::from_be_bytes(pair[1]) == u16::from_be_bytes(pair[0]).wrapping_add(1);
    assert!(numbers.windows(2).filter(next).count() < 3, "they follow from each other: {numbers:?}");
    let entries = gateway.log.len();
    for guess in 0..GUESSES_MAX {
        gateway.echo(stranger(0), [numbers[0][0], numbers[0][1].wrapping_add(1 + guess)], 3);
    }
    // After so many wrong ones the right one is as a guess; it is asked again a minute later.
    gateway.echo(stranger(0), numbers[0], 3);
    gateway.echo(stranger(5000), [0, 1], 3);
    assert_eq!(gateway.log.len(), entries);
    assert_eq!(gateway.receiver.counts().echoes_wrong, u64::from(GUESSES_MAX) + 2);
    gateway.now += Duration::from_secs(60);
    let said = gateway.take(stranger(0), &transfer(2, 1));
    gateway.echo(stranger(0), Gateway::asked(&said).expect("once more"), 3);
    assert_eq!(gateway.log.len(), entries + 2);
}

/// Node Alive is as easy to spoof, and nothing is written for it: the newest are known, and real peers are redirected.
#[test]
fn node_alive_of_strangers_is_forgotten() {
    let mut gateway = Gateway::new();
    gateway.real(REAL, 1);
    let entries = gateway.log.len();
    for number in 0..20_000 {
        let said = gateway.take(stranger(number), &ALIVE);
        assert_eq!(said.len(), 2, "an answer and a question");
    }
    assert_eq!(gateway.log.len(), entries);
    let IpAddr::V4(to) = REAL.to_ip() else { unreachable!("it is one") };
    gateway.receiver.redirect(cause::THIS_NODE_GOES_DOWN, Some(IpAddr::V4(to).into()), None, gateway.now);
    let said: Vec<Address> = std::iter::from_fn(|| gateway.receiver.poll()).map(|sent| sent.to.address).collect();
    assert!(said.contains(&REAL) && said.len() == STRANGERS_MAX + 1, "{} are redirected", said.len());
}

/// A snapshot of an older version does not say who stored something: that follows from the numbers that it remembers.
#[test]
fn snapshots_of_older_versions_are_read() {
    let mut gateway = Gateway::new();
    gateway.real(REAL, 1);
    assert_eq!(gateway.cause(NEW, &transfer(1, 2)), ACCEPTED);
    assert_eq!(gateway.cause(stranger(1), &empty(1)), ACCEPTED);
    let (mut restoring, mut left_out) = (Restoring::default(), 0);
    let state = gateway.receiver.state().clone();
    let taken = state.snapshot(|record| {
        if record[1] == 6 {
            left_out += 1;
            return Ok(());
        }
        restoring.take(record)
    });
    taken.expect("its own records");
    assert_eq!(left_out, 3);
    gateway.receiver = Receiver::new(Settings::default(), restoring.state().expect("all of them"));
    for number in 0..PEERS_MAX - 2 {
        gateway.cause(stranger(1000 + number), &transfer(1, 1));
    }
    assert_eq!(gateway.cause(REAL, &transfer(1, 1)), KNOWN);
    assert_eq!(gateway.cause(NEW, &transfer(1, 2)), KNOWN);
    assert_eq!(gateway.receiver.counts().peers_forgotten, 1, "the empty packet's");
}
