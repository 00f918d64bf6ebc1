//! Leaders and followers over genuine servers of NATS.
//!
//! Test group: loads: starts clusters of three servers and kills them.

use crate::eventually::awaited;
use crate::nats_server;
use nats_server::Nats;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use trunkline_replica::{Leader, Member, Options, Progress, Step, Terms, Trouble};

const PATIENCE: Duration = Duration::from_secs(240);

fn options(nats: &[Nats], node: &str) -> Options {
    Options {
        servers: nats.iter().map(|nats| nats.url().parse().unwrap()).collect(),
        user: None,
        password: None,
        issuers: None,
        stream: "charge-test".to_owned(),
        node: node.to_owned(),
        replicas: nats.len() as u8,
        stream_octets: 64 << 20,
        silence: Duration::from_secs(1),
    }
}

/// Tries until the servers are there.
fn patiently<T>(mut does: impl FnMut() -> Result<T, Trouble>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        match does() {
            Ok(done) => return done,
            Err(Trouble::Away(why)) => assert!(Instant::now() < until, "{why}"),
            Err(refused) => panic!("{refused}"),
        }
    }
}

fn lead(member: Member) -> (Leader, Receiver<String>) {
    let (sender, told) = channel();
    let tell = move |progress: Progress<'_>| {
        if !matches!(progress, Progress::Acknowledged(_)) {
            // Who does not listen any more does not care.
            let _ = sender.send(format!("{progress:?}"));
        }
    };
    (member.lead(tell).unwrap(), told)
}

/// The first leader of a new stream.
fn begin(nats: &[Nats], node: &str) -> (Leader, Receiver<String>, Terms) {
    let mut member = Member::new(options(nats, node)).unwrap();
    assert_eq!(patiently(|| member.survey()).terms, None);
    let terms = patiently(|| member.begin(&Member::first_terms(1))).expect("nobody else does");
    let (leader, told) = lead(member);
    (leader, told, terms)
}

fn append(leader: &Leader, records: &[Vec<u8>]) {
    leader.append(records.iter().map(Vec::as_slice));
}

fn until_acknowledged(leader: &Leader, record: u64) {
    awaited(&format!("record {record} is acknowledged"), || {
        let acknowledged = leader.acknowledged();
        if acknowledged < record { Err(acknowledged) } else { Ok(()) }
    });
}

/// A follower with a log in memory.
struct Standby {
    member: Member,
    terms: Terms,
    log: Vec<Vec<u8>>,
}

impl Standby {
    fn new(nats: &[Nats], node: &str) -> Standby {
        let mut member = Member::new(options(nats, node)).unwrap();
        let terms = patiently(|| member.survey()).terms.expect("somebody leads");
        patiently(|| member.follow(terms.clone(), 0));
        Standby { member, terms, log: Vec::new() }
    }

    /// Follows until the seat is vacant, or a record is there.
    fn until(&mut self, records: usize) -> bool {
        let until = Instant::now() + PATIENCE;
        loop {
            for step in patiently(|| self.member.step()) {
                match step {
                    Step::Records { first, records } => {
                        assert_eq!(first, self.log.len() as u64 + 1);
                        self.log.extend(records);
                    }
                    Step::Terms(terms) => self.terms = terms,
                    Step::Vacant => return true,
                    Step::Idle => assert!(Instant::now() < until, "{} of {records} records", self.log.len()),
                    Step::Anew => panic!("nothing of it is to be cut"),
                }
            }
            if self.log.len() >= records {
                return false;
            }
        }
    }

    fn stand(mut self) -> (Leader, Receiver<String>, Vec<Vec<u8>>) {
        let until = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < until, "it never leads");
            if self.until(usize::MAX) && patiently(|| self.member.stand()).is_some() {
                let (leader, told) = lead(self.member);
                return (leader, told, self.log);
            }
        }
    }
}

fn records(from: u64, count: u64) -> Vec<Vec<u8>> {
    (from..from + count).map(|number| number.to_le_bytes().repeat(1 + (number % 50) as usize)).collect()
}

#[test]
fn a_standby_has_all_that_was_acknowledged_and_takes_over() {
    if !nats_server::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let nats = [Nats::start(folder.path())];
    let (leader, told, _) = begin(&nats, "north");
    let mut written = records(1, 2000);
    // One that needs several messages.
    written.push(vec![7; 900_000]);
    written.chunks(100).for_each(|some| append(&leader, some));
    until_acknowledged(&leader, 2001);
    assert!(leader.is_current() && leader.waiting_octets() < 1000);
    let mut standby = Standby::new(&nats, "south");
    assert!(!standby.until(2001), "somebody leads");
    assert_eq!(standby.log, written);
    // While it lives it is not followed by anybody.
    assert!(!{
        append(&leader, &records(2002, 5));
        standby.until(2006)
    });
    leader.hand_over();
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "Yielded");
    let (second, _, log) = standby.stand();
    assert_eq!(log.len(), 2006);
    // The first leads no longer, whatever it is told.
    append(&leader, &records(2007, 1));
    append(&second, &records(2007, 3));
    until_acknowledged(&second, 2009);
    assert_eq!(leader.acknowledged(), 2006);
}

#[test]
fn a_follower_behind_the_oldest_message_is_told_to_need_a_copy() {
    if !nats_server::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let nats = [Nats::start(folder.path())];
    let small = |node: &str| Options { stream_octets: 1 << 20, ..options(&nats, node) };
    let mut member = Member::new(small("north")).unwrap();
    patiently(|| member.survey());
    let terms = patiently(|| member.begin(&Member::first_terms(1))).expect("nobody else does");
    let (leader, _told) = lead(member);
    append(&leader, &records(1, 10));
    until_acknowledged(&leader, 10);
    let mut standby = Standby::new(&nats, "south");
    assert!(!standby.until(10));
    // It reads nothing while the stream gives up what it has not read.
    for number in 11..=60 {
        append(&leader, &[vec![7; 100_000]]);
        until_acknowledged(&leader, number);
    }
    let until = Instant::now() + PATIENCE;
    let why = loop {
        assert!(Instant::now() < until, "it is never told");
        match standby.member.step() {
            Err(Trouble::Refused(why)) => break why,
            Ok(steps) => assert!(steps.iter().all(|step| matches!(step, Step::Idle | Step::Vacant)), "{steps:?}"),
            Err(Trouble::Away(_)) => {}
        }
    };
    assert!(why.contains("does not have record 11 any more: this node needs a copy"), "{why}");
    // So it is when it comes anew.
    let refused = standby.member.follow(terms, 10).unwrap_err();
    assert!(refused.to_string().contains("needs a copy"), "{refused}");
}

#[test]
fn a_leader_whose_thread_panics_is_fenced() {
    if !nats_server::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let nats = [Nats::start(folder.path())];
    let mut member = Member::new(options(&nats, "north")).unwrap();
    patiently(|| member.survey());
    patiently(|| member.begin(&Member::first_terms(1))).expect("nobody else does");
    let (sender, told) = channel();
    let tell = move |progress: Progress<'_>| match progress {
        Progress::Acknowledged(_) => panic!("a defect of this program"),
        // Who does not listen any more does not care.
        progress => drop(sender.send(format!("{progress:?}"))),
    };
    let leader = member.lead(tell).unwrap();
    append(&leader, &records(1, 1));
    let told = told.recv_timeout(PATIENCE).unwrap();
    assert!(told.contains("Fenced(\"the thread that publishes has failed\")"), "{told}");
}

#[test]
fn a_leader_that_another_one_followed_is_fenced() {
    if !nats_server::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let nats = [Nats::start(folder.path())];
    let (leader, told, terms) = begin(&nats, "north");
    append(&leader, &records(1, 10));
    until_acknowledged(&leader, 10);
    let mut hasty = Standby::new(&nats, "south");
    hasty.until(10);
    // It stands without waiting: as often as the other one says something in between it is refused.
    let until = Instant::now() + PATIENCE;
    let won = loop {
        assert!(Instant::now() < until, "it is never as fast");
        if let Some(terms) = patiently(|| hasty.member.stand()) {
            break terms;
        }
        hasty.until(10);
        patiently(|| hasty.member.step());
    };
    assert_eq!(won, terms.next(11));
    let second = lead(hasty.member).0;
    append(&leader, &records(11, 1));
    append(&second, &records(11, 4));
    until_acknowledged(&second, 14);
    let told = told.recv_timeout(PATIENCE).unwrap();
    assert!(told.contains("Fenced(\"south leads since term 2\")"), "{told}");
    assert_eq!(leader.acknowledged(), 10);
}

#[test]
fn servers_that_are_killed_lose_nothing_that_was_acknowledged() {
    if !nats_server::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut nats = [Nats::start(folder.path())];
    let (leader, told, _) = begin(&nats, "north");
    let mut next = 1;
    for _ in 0..5 {
        (0..20).for_each(|_| {
            append(&leader, &records(next, 50));
            next += 50;
        });
        nats[0].kill();
        append(&leader, &records(next, 50));
        next += 50;
        nats[0].again();
        until_acknowledged(&leader, next - 1);
    }
    assert!(told.try_iter().all(|told| told.starts_with("Away")));
    assert!(leader.counts().lost >= 5);
    let mut standby = Standby::new(&nats, "south");
    standby.until(next as usize - 1);
    assert_eq!(standby.log, records(1, next - 1));
}

#[test]
fn a_cluster_goes_on_without_one_of_three() {
    if !nats_server::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut nats = Nats::cluster(folder.path());
    let (leader, _, _) = begin(&nats, "north");
    let mut next = 1;
    for at in 0..6 {
        // One that lacks what the others have is the second of three that is away.
        Nats::until_whole(&nats);
        append(&leader, &records(next, 200));
        next += 200;
        nats[at % 3].kill();
        append(&leader, &records(next, 200));
        next += 200;
        until_acknowledged(&leader, next - 1);
        nats[at % 3].again();
    }
    let mut standby = Standby::new(&nats, "south");
    standby.until(next as usize - 1);
    assert_eq!(standby.log, records(1, next - 1));
}
