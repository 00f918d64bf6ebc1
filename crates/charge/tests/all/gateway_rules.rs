//! The rules of GTP' (TS 32.295), one by one, with octets written by hand.

use std::time::Duration;
use trunkline_charge::gateway::receiver::{self, Change};
use trunkline_charge::gateway::sender::{self, NotAgain, PACKETS_MAX, Port, Refused, SPAN_MAX};
use trunkline_charge::gateway::{Receiver, Records, Sender};
use trunkline_wire::gtpp::cause;
use trunkline_wire::{Address, Endpoint};

const PEER: Endpoint = Endpoint::new(Address::v4([10, 0, 0, 9]), 40_001);
const A: Endpoint = Endpoint::new(Address::v4([10, 0, 0, 1]), 3386);
const B: Endpoint = Endpoint::new(Address::v4([10, 0, 0, 2]), 3386);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A packet of one record, `x` and this octet: BER, release 7, version 5.
fn packet(record: u8) -> [u8; 11] {
    [252, 0, 8, 1, 1, 0x17, 5, 0, 2, b'x', record]
}

fn request(number: u8, elements: &[u8]) -> Vec<u8> {
    [&[0x4e, 240, 0, elements.len() as u8, 0, number][..], elements].concat()
}

/// A packet with a command: 1 send, 2 possibly duplicated.
fn transfer(number: u8, command: u8, record: u8) -> Vec<u8> {
    request(number, &[&[126, command][..], &packet(record)].concat())
}

fn empty(number: u8) -> Vec<u8> {
    request(number, &[126, 1, 252, 0, 0])
}

fn cancel(number: u8, packet: u8) -> Vec<u8> {
    request(number, &[126, 3, 250, 0, 2, 0, packet])
}

fn release(number: u8, packet: u8) -> Vec<u8> {
    request(number, &[126, 4, 249, 0, 2, 0, packet])
}

/// A Data Record Transfer Response.
fn response(cause: u8, numbers: &[u8]) -> Vec<u8> {
    let first = numbers[0];
    let mut octets = vec![0x4e, 241, 0, 5 + 2 * numbers.len() as u8, 0, first, 1, cause, 253, 0];
    octets.push(2 * numbers.len() as u8);
    numbers.iter().for_each(|number| octets.extend([0, *number]));
    octets
}

/// A gateway whose log is at hand.
#[derive(Default)]
struct Gateway {
    receiver: Receiver,
    log: Vec<Vec<u8>>,
    /// The second octet of each record that passed to billing.
    billed: Vec<u8>,
}

impl Gateway {
    /// One that knows who speaks.
    fn new() -> Gateway {
        let mut gateway = Gateway::default();
        assert_eq!(gateway.take(&empty(99)), [vec![0x4e, 1, 0, 0, 0, 1], response(128, &[99])]);
        assert!(gateway.take(&[0x4e, 2, 0, 2, 0, 1, 14, 7]).is_empty());
        gateway
    }

    fn hear(&mut self, octets: &[u8], now: Duration) {
        if let Some(outcome) = self.receiver.handle(PEER, octets, now) {
            self.log.push(outcome.entry.encode());
            let passed = outcome.passed.iter().flat_map(|records| records.packet().unwrap().records());
            self.billed.extend(passed.map(|record| record[1]));
        }
    }

    fn said(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.receiver.poll())
            .inspect(|sent| assert_eq!(sent.to, PEER))
            .map(|s| s.octets)
            .collect()
    }

    /// What is answered when the disk has it.
    fn take(&mut self, octets: &[u8]) -> Vec<Vec<u8>> {
        self.hear(octets, Duration::ZERO);
        self.receiver.durable(self.log.len() as u64);
        self.said()
    }

    /// The cause of the only answer.
    fn cause(&mut self, octets: &[u8]) -> u8 {
        let said = self.take(octets);
        assert_eq!((said.len(), said[0][1]), (1, 241), "{said:?}");
        said[0][7]
    }

    fn crash(&mut self) {
        let mut state = receiver::State::default();
        for entry in &self.log {
            let entry = receiver::Entry::decode(entry).unwrap();
            assert_eq!(receiver::Entry::decode(&entry.encode()), Some(entry.clone()));
            state.fold(&entry);
        }
        assert!(state == *self.receiver.state());
        self.receiver = Receiver::new(receiver::Settings::default(), state);
    }
}

#[test]
fn path_messages_are_answered_in_their_version() {
    let settings = receiver::Settings { restart_counter: 9, ..receiver::Settings::default() };
    let mut gateway = Gateway { receiver: Receiver::new(settings, receiver::State::default()), ..Gateway::default() };
    assert_eq!(gateway.take(&[0x4e, 1, 0, 0, 1, 2]), [[0x4e, 2, 0, 2, 1, 2, 14, 9]]);
    assert_eq!(gateway.take(&[0x0f, 1, 0, 0, 1, 2]), [[0x0f, 2, 0, 2, 1, 2, 14, 9]]);
    let alive = [0x2e, 4, 0, 7, 0, 3, 251, 0, 4, 10, 0, 0, 9];
    let echo = vec![0x4e, 1, 0, 0, 0, 1];
    assert_eq!(gateway.take(&alive), [vec![0x2e, 5, 0, 0, 0, 3], echo]);
    // It is asked for its restart counter once a minute at most.
    assert_eq!(gateway.take(&alive), [[0x2e, 5, 0, 0, 0, 3]]);
    gateway.hear(&alive, seconds(60));
    assert_eq!(gateway.said(), [[0x2e, 5, 0, 0, 0, 3], [0x4e, 1, 0, 0, 0, 2]]);
    // Version 3 is told the highest that is known; Version Not Supported is not answered.
    assert_eq!(gateway.take(&[0x6e, 1, 0, 0, 1, 2]), [[0x4e, 3, 0, 0, 1, 2]]);
    assert!(gateway.take(&[0x6e, 3, 0, 0, 1, 2]).is_empty());
    // A gateway follows no redirection.
    assert_eq!(gateway.take(&[0x4e, 6, 0, 2, 0, 5, 1, 63]), [[0x4e, 7, 0, 2, 0, 5, 1, 200]]);
}

#[test]
fn an_answer_waits_for_the_disk_and_answers_many() {
    let mut gateway = Gateway::new();
    [1, 2, 3].iter().for_each(|n| gateway.hear(&transfer(*n, 1, *n), Duration::ZERO));
    // A copy of what is not on disk yet waits as long.
    gateway.hear(&transfer(2, 1, 2), Duration::ZERO);
    assert_eq!((gateway.said().len(), &gateway.billed[..]), (0, &[1, 2, 3][..]));
    gateway.receiver.durable(gateway.log.len() as u64 - 1);
    assert_eq!(gateway.said(), [response(128, &[1, 2])]);
    gateway.receiver.durable(gateway.log.len() as u64);
    assert_eq!(gateway.said(), [response(128, &[3]), response(253, &[2])]);
}

#[test]
fn a_copy_is_not_stored_again_after_a_crash_either() {
    let mut gateway = Gateway::new();
    assert_eq!(gateway.take(&transfer(1, 1, 1)), [response(128, &[1])]);
    assert_eq!(gateway.take(&transfer(1, 1, 1)), [response(253, &[1])]);
    gateway.crash();
    assert!(gateway.take(&transfer(1, 1, 1)).contains(&response(253, &[1])));
    assert_eq!(gateway.billed, [1]);
}

#[test]
fn numbers_wrap() {
    let mut gateway = Gateway::new();
    for number in [0xffff, 0u16, 1] {
        let mut octets = transfer(0, 1, number as u8);
        octets[4..6].copy_from_slice(&number.to_be_bytes());
        assert_eq!((gateway.cause(&octets), gateway.cause(&octets)), (128, 253));
    }
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut gateway = Gateway::new();
    // 99 is not counted twice: it was asked for, and its records are late.
    for number in 0..=receiver::REMEMBERED_MAX as u16 + 2 {
        let mut octets = transfer(0, if number == 0 { 2 } else { 1 }, 0);
        octets[4..6].copy_from_slice(&number.to_be_bytes());
        gateway.hear(&octets, Duration::ZERO);
    }
    gateway.receiver.durable(gateway.log.len() as u64);
    assert_eq!(gateway.said().len(), receiver::REMEMBERED_MAX / receiver::RESPONDED_MAX + 1);
    // 1 is the first that is forgotten; 0 is held.
    assert_eq!((gateway.cause(&transfer(1, 1, 0)), gateway.cause(&transfer(0, 2, 0))), (128, 253));
    assert_eq!((gateway.cause(&transfer(3, 1, 0)), gateway.cause(&release(200, 0))), (253, 255));
    gateway.crash();
}

#[test]
fn possibly_duplicated_packets_are_kept_apart() {
    let mut gateway = Gateway::new();
    assert_eq!((gateway.cause(&transfer(1, 2, 1)), gateway.cause(&transfer(2, 2, 2))), (128, 128));
    assert_eq!((gateway.cause(&transfer(1, 2, 1)), gateway.billed.len()), (253, 0));
    gateway.crash();
    gateway.take(&[0x4e, 2, 0, 2, 0, 1, 14, 7]);
    assert!(gateway.take(&release(3, 1)).contains(&response(128, &[3])));
    assert_eq!(gateway.cause(&cancel(4, 2)), 128);
    assert_eq!(gateway.billed, [1]);
    // Copies of the requests, of the packets, and the same once more by another request.
    assert_eq!((gateway.cause(&release(3, 1)), gateway.cause(&cancel(4, 2))), (253, 253));
    assert_eq!((gateway.cause(&transfer(1, 2, 1)), gateway.cause(&transfer(2, 2, 2))), (252, 252));
    assert_eq!((gateway.cause(&release(5, 1)), gateway.cause(&cancel(6, 2))), (252, 252));
    // Unknown ones, and those that were settled the other way.
    assert_eq!((gateway.cause(&release(7, 50)), gateway.cause(&cancel(7, 50))), (254, 254));
    assert_eq!((gateway.cause(&release(7, 2)), gateway.cause(&cancel(7, 1))), (254, 254));
    assert_eq!(gateway.cause(&request(7, &[126, 4, 249, 0, 0])), 254);
    assert_eq!((&gateway.billed[..], gateway.receiver.state().held()), (&[1][..], (0, 0)));
}

#[test]
fn a_list_is_settled_wholly_or_not_at_all() {
    let mut gateway = Gateway::new();
    [1, 2, 3].iter().for_each(|n| assert_eq!(gateway.cause(&transfer(*n, 2, *n)), 128));
    assert_eq!(gateway.cause(&request(4, &[126, 4, 249, 0, 4, 0, 1, 0, 9])), 254);
    assert!(gateway.billed.is_empty());
    assert_eq!(gateway.cause(&release(4, 1)), 128);
    // One of them was released before.
    assert_eq!(gateway.cause(&request(5, &[126, 4, 249, 0, 6, 0, 1, 0, 3, 0, 2])), 128);
    assert_eq!(gateway.billed, [1, 3, 2]);
}

#[test]
fn the_empty_packet_asks_whether_a_number_came() {
    let mut gateway = Gateway::new();
    assert_eq!((gateway.cause(&transfer(1, 1, 1)), gateway.cause(&empty(1))), (128, 253));
    assert_eq!((gateway.cause(&transfer(2, 2, 2)), gateway.cause(&empty(2))), (128, 253));
    assert_eq!((gateway.cause(&cancel(3, 2)), gateway.cause(&empty(2))), (128, 252));
    // One that never came never will: it is released elsewhere.
    assert_eq!((gateway.cause(&empty(4)), gateway.cause(&empty(4))), (128, 128));
    assert!(gateway.take(&transfer(4, 1, 4)).is_empty());
    gateway.crash();
    assert!(gateway.take(&empty(4)).contains(&response(128, &[4])));
    assert!(gateway.take(&transfer(4, 1, 4)).is_empty());
    assert_eq!((&gateway.billed[..], gateway.receiver.counts().late), (&[1][..], 1));
}

#[test]
fn what_is_wrong_is_refused_with_its_cause() {
    let mut gateway = Gateway::new();
    let good = transfer(1, 1, 1);
    let spoilt = |at: usize, octet: u8| {
        let mut octets = good.clone();
        octets[at] = octet;
        octets
    };
    for (octets, cause) in [
        (spoilt(3, 12), cause::INVALID_MESSAGE_FORMAT), // the length of the message
        (spoilt(10, 9), cause::INVALID_MESSAGE_FORMAT), // an element that ends past it
        (spoilt(7, 5), cause::MANDATORY_INCORRECT),     // a command that is none
        (spoilt(11, 2), cause::MANDATORY_INCORRECT),    // two records said
        (spoilt(12, 2), cause::CDR_DECODING_ERROR),     // unaligned PER
        (request(1, &packet(1)), cause::MANDATORY_MISSING), // no command
        (request(1, &[126, 1]), cause::MANDATORY_MISSING), // no packet
        (request(1, &[126, 4]), cause::MANDATORY_MISSING), // no numbers
        (request(1, &[126, 3, 250, 0, 1, 0]), cause::MANDATORY_INCORRECT), // half a number
    ] {
        assert_eq!((gateway.cause(&octets), octets.len() > 6), (cause, true), "{octets:?}");
    }
    assert_eq!((gateway.take(&good[..5]), gateway.log.len()), (Vec::new(), 2));
    // What was refused is not remembered.
    assert_eq!(gateway.cause(&good), 128);
}

#[test]
fn a_peer_that_begins_anew_is_known_by_its_counter() {
    let mut gateway = Gateway::new();
    assert_eq!((gateway.cause(&transfer(1, 1, 1)), gateway.cause(&transfer(2, 2, 2))), (128, 128));
    assert_eq!(gateway.cause(&empty(5)), 128);
    // The same number with another packet: nothing is stored, and the peer is asked.
    gateway.hear(&transfer(1, 1, 50), seconds(60));
    assert_eq!(gateway.said(), [vec![0x4e, 1, 0, 0, 0, 2], response(255, &[1])]);
    // An answer to another question says nothing; then the counter has changed.
    gateway.take(&[0x4e, 2, 0, 2, 0, 1, 14, 8]);
    assert_eq!(gateway.cause(&transfer(1, 1, 50)), 255);
    gateway.take(&[0x4e, 2, 0, 2, 0, 2, 14, 8]);
    assert_eq!((gateway.cause(&transfer(1, 1, 50)), gateway.cause(&transfer(1, 1, 50))), (128, 253));
    assert_eq!((&gateway.billed[..], gateway.receiver.counts().restarts), (&[1, 50][..], 1));
    // What it held before is a copy still, and may be settled still.
    assert_eq!((gateway.cause(&transfer(2, 2, 2)), gateway.cause(&release(3, 2))), (253, 128));
    // What an empty packet asked for before is not taken: it may be released elsewhere.
    assert_eq!((gateway.cause(&transfer(5, 1, 5)), gateway.cause(&empty(5))), (255, 128));
    assert_eq!(gateway.billed, [1, 50, 2]);
    gateway.crash();
}

#[test]
fn a_redirection_is_said_until_it_is_answered() {
    let mut gateway = Gateway::new();
    gateway.receiver.redirect(63, Some(B.address), None, seconds(1));
    let told = vec![0x4e, 6, 0, 9, 0, 2, 1, 63, 254, 0, 4, 10, 0, 0, 2];
    assert_eq!((gateway.said(), gateway.receiver.due()), (vec![told.clone()], Some(seconds(2))));
    gateway.receiver.handle_timeout(seconds(2));
    assert_eq!(gateway.said(), [told]);
    gateway.take(&[0x4e, 7, 0, 2, 0, 2, 1, 128]);
    assert_eq!(gateway.receiver.due(), None);
    gateway.receiver.redirect(63, None, None, seconds(3));
    (4..10).for_each(|now| gateway.receiver.handle_timeout(seconds(now)));
    assert_eq!((gateway.said().len(), gateway.receiver.counts().unanswered), (5, 1));
}

/// A sender whose log is at hand.
struct Source {
    sender: Sender,
    log: Vec<Vec<u8>>,
    now: Duration,
}

fn set() -> sender::Settings {
    sender::Settings { address: PEER.address, gateways: vec![A, B], n3: 2, ..sender::Settings::default() }
}

impl Source {
    /// After its first words: Node Alive and Echo to both, which are answered.
    fn new() -> Source {
        let sender = Sender::new(set(), sender::State::default(), Duration::ZERO);
        let mut source = Source { sender, log: Vec::new(), now: Duration::ZERO };
        source.wait(0);
        let said = source.said();
        assert_eq!(said[0], (Port::Records, A, vec![0x4e, 4, 0, 7, 0, 1, 251, 0, 4, 10, 0, 0, 9]));
        assert_eq!(said[2], (Port::Records, A, vec![0x4e, 1, 0, 0, 0, 3]));
        source.hear(Port::Records, A, &[0x4e, 2, 0, 2, 0, 3, 14, 1]);
        source.hear(Port::Records, B, &[0x4e, 2, 0, 2, 0, 4, 14, 1]);
        source
    }

    fn queue(&mut self, record: u8) {
        let entry = self.sender.queue(Records::new(&packet(record)[3..]).unwrap()).unwrap();
        self.log.push(entry.encode());
    }

    fn wait(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        let mut entries = Vec::new();
        self.sender.handle_timeout(self.now, &mut entries);
        self.log.extend(entries.iter().map(sender::Entry::encode));
    }

    fn hear(&mut self, port: Port, from: Endpoint, octets: &[u8]) {
        let mut entries = Vec::new();
        self.sender.handle(port, from, octets, self.now, &mut entries);
        self.log.extend(entries.iter().map(sender::Entry::encode));
    }

    /// What leaves, with all entries on disk.
    fn said(&mut self) -> Vec<(Port, Endpoint, Vec<u8>)> {
        self.sender.durable(self.log.len() as u64);
        std::iter::from_fn(|| self.sender.poll(self.now)).map(|s| (s.to.port, s.to.to, s.octets)).collect()
    }

    /// A does not answer packet 0, which goes there twice.
    fn fail_over(&mut self) {
        self.queue(7);
        assert_eq!(self.said(), [(Port::Records, A, transfer(0, 1, 7))]);
        self.wait(1);
        assert_eq!(self.said(), [(Port::Records, A, transfer(0, 1, 7))]);
        self.wait(1);
        assert_eq!(self.said(), [(Port::Records, B, transfer(0, 2, 7))]);
        self.hear(Port::Records, B, &response(128, &[0]));
    }

    /// A answers an Echo, and is asked with the empty packet.
    fn come_back(&mut self) {
        self.wait(60);
        let said = self.said();
        let (_, to, echo) = said.iter().find(|(_, to, octets)| *to == A && octets[1] == 1).unwrap().clone();
        let back = [&[0x4e, 2, 0, 2][..], &echo[4..6], &[14, 1]].concat();
        self.hear(Port::Records, to, &back);
        let other = said.iter().find(|(_, to, octets)| *to == B && octets[1] == 1).unwrap();
        let back = [&[0x4e, 2, 0, 2][..], &other.2[4..6], &[14, 1]].concat();
        self.hear(Port::Records, B, &back);
        assert_eq!(self.said(), [(Port::Questions, A, empty(0))]);
    }

    fn crash(&mut self) {
        let mut state = sender::State::default();
        self.log.iter().for_each(|entry| state.fold(&sender::Entry::decode(entry).unwrap()));
        assert_eq!(state, *self.sender.state());
        self.sender = Sender::new(set(), state, self.now);
    }
}

#[test]
fn a_packet_is_sent_when_it_is_on_disk_until_it_is_answered() {
    let mut source = Source::new();
    source.queue(7);
    assert_eq!(source.sender.poll(source.now), None);
    assert_eq!(source.said(), [(Port::Records, A, transfer(0, 1, 7))]);
    source.wait(1);
    assert_eq!(source.said(), [(Port::Records, A, transfer(0, 1, 7))]);
    // Busy is no answer; a crash changes neither number nor octets.
    source.hear(Port::Records, A, &response(199, &[0]));
    source.crash();
    assert!(source.said().contains(&(Port::Records, A, transfer(0, 1, 7))));
    (1..3).for_each(|record| source.queue(record));
    assert_eq!(source.said().len(), 2);
    source.hear(Port::Records, A, &response(128, &[2, 0]));
    source.hear(Port::Records, A, &response(253, &[1]));
    assert!(source.sender.state().is_empty());
    source.hear(Port::Records, A, &response(128, &[1]));
    assert_eq!(source.sender.counts().stale, 1);
}

#[test]
fn the_second_gateway_forgets_what_the_first_one_had() {
    let mut source = Source::new();
    source.fail_over();
    source.come_back();
    // A late answer to the records says the same as one to the question.
    source.hear(Port::Questions, A, &response(253, &[0]));
    assert_eq!(source.said(), [(Port::Records, B, cancel(1, 0))]);
    source.crash();
    assert!(source.said().contains(&(Port::Records, B, cancel(1, 0))));
    source.hear(Port::Records, B, &response(128, &[1]));
    assert_eq!((source.sender.state().is_empty(), source.sender.state().refused().next()), (true, None));
}

#[test]
fn the_second_gateway_releases_what_the_first_one_never_had() {
    let mut source = Source::new();
    source.fail_over();
    source.come_back();
    source.hear(Port::Questions, A, &response(128, &[0]));
    assert_eq!(source.said(), [(Port::Records, B, release(1, 0))]);
    source.hear(Port::Records, B, &response(128, &[1]));
    assert!(source.sender.state().is_empty());
    // New packets go to the first one again.
    source.queue(8);
    assert_eq!(source.said(), [(Port::Records, A, transfer(1, 1, 8))]);
}

#[test]
fn a_late_answer_to_records_is_none_to_the_empty_packet() {
    let mut source = Source::new();
    source.fail_over();
    source.come_back();
    source.hear(Port::Records, A, &response(128, &[0]));
    assert_eq!(source.said(), [(Port::Records, B, cancel(1, 0))]);
}

#[test]
fn an_unknown_number_is_no_trouble_of_a_cancel_and_keeps_a_release() {
    for (answer, kept) in [(253, 0), (128, 1)] {
        let mut source = Source::new();
        source.fail_over();
        source.come_back();
        source.hear(Port::Questions, A, &response(answer, &[0]));
        source.said();
        source.hear(Port::Records, B, &response(254, &[1]));
        assert_eq!(source.sender.state().len(), kept);
        let refused: Vec<_> = source.sender.state().refused().collect();
        assert_eq!(refused, [(1, 254)][..kept]);
        source.crash();
        source.log.extend(source.sender.discard(1).map(|entry| entry.encode()));
        assert!(source.sender.state().is_empty());
    }
}

#[test]
fn what_was_refused_goes_again_when_somebody_says_so() {
    let mut source = Source::new();
    (7..9).for_each(|record| source.queue(record));
    assert_eq!(source.said().len(), 2);
    source.hear(Port::Records, A, &response(177, &[0]));
    source.hear(Port::Records, A, &response(128, &[1]));
    source.crash();
    source.said();
    let refused: Vec<_> = source.sender.state().refused_packets().collect();
    let expected = Refused { packet: 1, cause: 177, gateway: A.address, records: 1, octets: 8, is_doubtful: false };
    assert_eq!(refused, [expected]);
    assert_eq!(source.sender.again(2), Err(NotAgain::Unknown));
    let entry = source.sender.again(1).unwrap();
    // Not before its entry is durable; then as another request, with the same records, over a crash, too.
    assert_eq!(source.sender.poll(source.now), None);
    source.log.push(entry.encode());
    assert_eq!(source.said(), [(Port::Records, A, transfer(2, 1, 7))]);
    source.crash();
    assert!(source.said().contains(&(Port::Records, A, transfer(2, 1, 7))));
    assert_eq!(source.sender.state().refused().next(), None);
    source.hear(Port::Records, A, &response(128, &[2]));
    assert!(source.sender.state().is_empty());
}

#[test]
fn what_another_gateway_may_have_does_not_go_again() {
    let mut source = Source::new();
    source.fail_over();
    source.come_back();
    source.hear(Port::Questions, A, &response(128, &[0]));
    source.said();
    source.hear(Port::Records, B, &response(177, &[1]));
    assert_eq!(source.sender.state().refused_packets().map(|one| one.is_doubtful).collect::<Vec<_>>(), [true]);
    assert_eq!(source.sender.again(1), Err(NotAgain::Doubtful));
    assert!(source.said().is_empty());
}

#[test]
fn an_echo_goes_once_a_minute() {
    let mut source = Source::new();
    for _ in 0..59 {
        source.wait(1);
        assert!(source.said().is_empty());
    }
    source.wait(1);
    assert_eq!(source.said().iter().map(|(_, to, octets)| (*to, octets[1])).collect::<Vec<_>>(), [(A, 1), (B, 1)]);
    // Unanswered: once more, then the gateways are silent, and asked a minute later.
    source.wait(1);
    assert_eq!(source.said().len(), 2);
    source.wait(1);
    assert_eq!((source.said().len(), source.sender.counts().silent), (0, 2));
    source.queue(7);
    assert!(source.said().is_empty());
    // One says that it is there: what nobody can have is no duplicate.
    source.hear(Port::Records, B, &[0x4e, 4, 0, 7, 0, 3, 251, 0, 4, 10, 0, 0, 2]);
    assert_eq!(source.said(), [(Port::Records, B, vec![0x4e, 5, 0, 0, 0, 3]), (Port::Records, B, transfer(0, 1, 7))]);
}

#[test]
fn a_redirection_is_followed_to_a_gateway_that_is_known() {
    for to in [[10, 0, 0, 2], [10, 0, 0, 77]] {
        let mut source = Source::new();
        source.queue(7);
        source.said();
        let redirection = [&[0x4e, 6, 0, 9, 0, 5, 1, 63, 254, 0, 4][..], &to].concat();
        source.hear(Port::Records, A, &redirection);
        let accepted = (Port::Records, A, vec![0x4e, 7, 0, 2, 0, 5, 1, 128]);
        assert_eq!(source.said(), [accepted, (Port::Records, B, transfer(0, 2, 7))]);
        source.queue(8);
        assert_eq!(source.said(), [(Port::Records, B, transfer(1, 1, 8))]);
        assert_eq!(source.sender.counts().strange, u64::from(to[3] == 77));
    }
}

#[test]
fn numbers_wrap_and_packets_are_bounded() {
    let mut source = Source::new();
    let records = || Records::new(&packet(1)[3..]).unwrap();
    for serial in 0..65_537u32 {
        source.log.push(source.sender.queue(records()).unwrap().encode());
        let said = source.said();
        assert_eq!(said[0].2[4..6], (serial as u16).to_be_bytes());
        let mut answer = response(128, &[0]);
        answer[11..13].copy_from_slice(&(serial as u16).to_be_bytes());
        source.hear(Port::Records, A, &answer);
    }
    assert!(source.sender.state().is_empty());
    (0..PACKETS_MAX).for_each(|_| drop(source.sender.queue(records()).unwrap()));
    assert_eq!(source.sender.queue(records()), Err(sender::Full));
    assert_eq!(source.sender.counts().full, 1);
}

#[test]
fn no_packet_is_left_too_far_behind() {
    let mut source = Source::new();
    source.queue(7);
    source.said();
    let mut queued = 0u64;
    while queued < 2 * SPAN_MAX {
        let Ok(entry) = source.sender.queue(Records::new(&packet(1)[3..]).unwrap()) else { break };
        source.log.push(entry.encode());
        queued += 1;
        source.said();
        let mut answer = response(128, &[0]);
        answer[11..13].copy_from_slice(&(queued as u16).to_be_bytes());
        source.hear(Port::Records, A, &answer);
    }
    assert_eq!((queued, source.sender.state().len()), (SPAN_MAX - 1, 1));
}

#[test]
fn entries_that_are_none_are_refused() {
    let change = Change::Counter { peer: PEER.address, counter: 3 };
    let octets = receiver::Entry { sequence: 1, change }.encode();
    assert!(receiver::Entry::decode(&octets).is_some());
    assert_eq!(receiver::Entry::decode(&octets[..octets.len() - 1]), None);
    assert_eq!(receiver::Entry::decode(&[&octets[..], &[0]].concat()), None);
    assert_eq!(receiver::Entry::decode(&[&[2], &octets[1..]].concat()), None);
}
