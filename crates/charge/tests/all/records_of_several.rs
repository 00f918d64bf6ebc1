//! Records that several nodes make of one ledger: the same files on each, after any end of any of them.

use crate::recorded;
use proptest::prelude::*;
use recorded::network::{NOW, Network, asked};
use recorded::world::{End, World};
use recorded::{CUTS, Life, OPTIONS, closed, contents, expected, network, settings};
use std::sync::Arc;
use trunkline_charge::account::{GoesOn, Recording};
use trunkline_charge::cdr::Node;
use trunkline_charge::job::records::{Cursor, Files, Form, Report, Settings, Step};
use trunkline_charge::ledger;
use trunkline_charge::session::Limits;
use trunkline_commit::{Disk, Group, Log};
use trunkline_wire::cdr::file::{Closure, Lost, Records};

/// All that is there, and the end.
fn all(files: &mut Files<World, World>, durable: u64, now: i64) {
    while files.step(durable, now).unwrap() == Step::More {}
    files.end(durable, now).unwrap();
}

/// Two nodes, each with a copy of one ledger in blocks of its own, and record files of its own.
struct Pair {
    network: Network,
    nodes: [One; 2],
    serial: u32,
}

struct One {
    ledger: Arc<World>,
    log: Log<World>,
    appended: usize,
    files: Arc<World>,
}

impl Pair {
    fn new() -> Pair {
        let mut network = network();
        let recording = network.core.set_recording(Recording::of(&settings(1), CUTS), network.now).unwrap();
        network.write(recording);
        let node = |_| {
            let ledger = Arc::new(World::default());
            let (_, log) = ledger::open(Arc::clone(&ledger), OPTIONS, Limits::default()).unwrap();
            One { ledger, log, appended: 0, files: Arc::new(World::default()) }
        };
        let mut pair = Pair { network, nodes: [0, 1].map(node), serial: 0 };
        pair.append();
        pair
    }

    fn go_on(&mut self, requests: u32) {
        for _ in 0..requests {
            let (name, number) = (format!("s{}", self.serial / 40 * 4 + self.serial % 4), self.serial % 40 / 4);
            match number {
                0 => drop(self.network.initial(&name, vec![asked(1, None, Some(0))])),
                9 => drop(self.network.end(&name, number, vec![asked(1, Some(500), None)])),
                _ => drop(self.network.update(&name, number, vec![asked(1, Some(9_000), Some(0))])),
            }
            self.network.now += 7;
            self.serial += 1;
        }
        self.append();
    }

    fn durable(&self) -> u64 {
        self.network.entries.len() as u64
    }

    /// Both nodes take all that is there; the file that the first one wants to end.
    fn step(&self) -> Option<(u32, Closure)> {
        let now = self.network.now + 10;
        let wants = [0, 1].map(|at| {
            let mut files = self.open(at).unwrap();
            all(&mut files, self.durable(), now);
            files.wants(i64::MAX)
        });
        wants[0]
    }

    fn append(&mut self) {
        for (at, One { log, appended, .. }) in self.nodes.iter_mut().enumerate() {
            let mut group = Group::new(&OPTIONS);
            for entry in &self.network.entries[*appended..] {
                if group.count() == 3 + 4 * at as u32 {
                    log.commit(&mut group).unwrap();
                }
                group.put(&entry.encode()).unwrap();
            }
            log.commit(&mut group).unwrap();
            *appended = self.network.entries.len();
        }
    }

    /// The second node is set up otherwise: that holds for nothing while the first one leads.
    fn open(&self, at: usize) -> Result<Files<World, World>, String> {
        let One { ledger, files, .. } = &self.nodes[at];
        let other = Settings { node: Node::new("south", "192.0.2.8".parse().unwrap()), forms: vec![], ..settings(7) };
        let own = if at == 0 { settings(7) } else { other };
        let since = self.network.core.state().recorded().unwrap().since;
        Files::open_shared(Arc::clone(ledger), Arc::clone(files), own, since)
    }

    /// What a node asks for is done, and done twice now and then.
    fn close(&mut self, asked: Option<(u32, Closure)>) {
        for (file, closure) in asked.into_iter().cycle().take(1 + self.network.entries.len() % 2 * asked.iter().count())
        {
            let entry = self.network.core.close_file(file, closure.number(), self.network.now);
            self.network.write(entry);
        }
        self.append();
    }
}

/// Record files of a node, whole and open.
fn names(world: &World) -> Vec<String> {
    let names = world.list().unwrap().into_iter();
    let mut names: Vec<String> = names.filter(|name| name.contains("_-_") || name.ends_with(".part")).collect();
    names.sort();
    names
}

/// That two nodes have the same files.
fn same(one: &World, other: &World) {
    assert_eq!(names(one), names(other));
    for name in names(one) {
        assert!(contents(one, &name) == contents(other, &name), "{name}");
    }
}

/// The closed file with this count, if it is there.
fn file(world: &World, count: u32) -> Option<Vec<u8>> {
    let is_it = |name: &&String| name.contains(&format!("_-_{count}.")) && name.ends_with(".ber");
    names(world).iter().find(is_it).map(|name| contents(world, name))
}

/// The same files in a folder of their own.
fn copy(world: &World) -> Arc<World> {
    let copy = World::default();
    for name in world.list().unwrap() {
        copy.write(&copy.make(&name, 0).unwrap(), 0, &contents(world, &name)).unwrap();
    }
    Arc::new(copy)
}

fn reported(files: &Files<World, World>) -> Report {
    let mut report = Report::default();
    files.tell(&mut report);
    report
}

/// How far records are that one node made alone.
fn went_on(files: &Files<World, World>, world: &World) -> GoesOn {
    let Report { entry, number, .. } = reported(files);
    GoesOn { entry, number, file: Cursor::load(world).unwrap().unwrap().file() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn two_nodes_make_the_same_files_after_any_end(
        lives in prop::collection::vec((0usize..2, 0u32..60, 0u32..120, any::<bool>(), any::<u64>(), 0i64..400), 1..12),
    ) {
        let mut pair = Pair::new();
        for (at, requests, operations, power, seed, step) in lives {
            pair.go_on(requests);
            pair.nodes[at].files.ends_after(operations);
            if let Ok(mut files) = pair.open(at) {
                for _ in 0..10 {
                    files.want_checkpoint();
                    // Each node's clock goes its own way: files tell that of the entries.
                    let now = pair.network.now + step * (1 + at as i64);
                    if files.step(pair.network.entries.len() as u64, now).is_err() {
                        break;
                    }
                    pair.close(files.wants(now));
                    pair.go_on(requests % 7);
                }
            }
            pair.nodes[at].files.again(if power { End::Power } else { End::Killed }, seed);
        }
        let last = (0..2).map(|at| {
            let mut files = pair.open(at).unwrap();
            all(&mut files, pair.network.entries.len() as u64, pair.network.now + 10);
            files.wants(i64::MAX)
        });
        let last: Vec<_> = last.collect();
        prop_assert_eq!(last[0], last[1], "both have the same file open");
        pair.close(last[0]);
        for at in 0..2 {
            all(&mut pair.open(at).unwrap(), pair.network.entries.len() as u64, pair.network.now);
        }
        let [one, other] = [0, 1].map(|at| &pair.nodes[at].files);
        same(one, other);
        let (written, tables, _) = closed(one);
        let (should, text) = expected(&pair.network.entries);
        prop_assert_eq!(written, should);
        prop_assert_eq!(tables, text);
    }
}

#[test]
fn a_file_that_is_lost_on_one_node_leaves_all_numbers_as_they_are() {
    for meanwhile in [0, 60] {
        let mut pair = Pair::new();
        pair.go_on(100);
        pair.step();
        pair.nodes[1].files.lose("open-0.ber.part");
        let files = pair.open(1).unwrap();
        let lost = reported(&files).lost;
        assert!(lost > 0 && files.wants(i64::MAX).is_none());
        drop(files);
        for count in 0..3 {
            pair.go_on(if count == 0 { meanwhile } else { 60 });
            let wants = pair.step();
            assert_eq!(wants.map(|(file, _)| file), Some(count));
            pair.close(wants);
        }
        pair.step();
        let [one, other] = [0, 1].map(|at| &*pair.nodes[at].files);
        // What the other form had is kept, and in no file.
        assert!(other.list().unwrap().contains(&"lost-0.csv".to_owned()));
        let told = u32::from(meanwhile == 0);
        assert_eq!(file(other, 0).is_some(), meanwhile > 0, "a file without records is none");
        let octets = file(other, told).unwrap();
        assert_eq!(Records::check(&octets).unwrap().lost, Lost::of(lost));
        assert_eq!(Records::check(&file(one, told).unwrap()).unwrap().lost, Lost::None);
        assert!(file(one, 2).is_some_and(|octets| file(other, 2) == Some(octets)));
        let next = |world: &World| Cursor::load(world).unwrap().unwrap().next;
        assert_eq!((next(one), next(other)), (3, 3));
    }
}

#[test]
fn a_node_whose_numbers_have_stayed_behind_goes_on_with_those_of_the_ledger() {
    let mut pair = Pair::new();
    pair.go_on(100);
    pair.step();
    pair.close(Some((5, Closure::Manual)));
    pair.go_on(60);
    assert_eq!(pair.step().map(|(file, _)| file), Some(6));
    // One that was closed already does not end another.
    pair.close(Some((5, Closure::Manual)));
    pair.step();
    let [one, other] = [0, 1].map(|at| &*pair.nodes[at].files);
    same(one, other);
    assert!(file(one, 0).is_some() && Cursor::load(one).unwrap().unwrap().open.unwrap().count == 6);
}

#[test]
fn a_new_address_is_none_of_the_file_before_however_the_node_ends() {
    for operations in 0..40 {
        let mut pair = Pair::new();
        pair.go_on(100);
        pair.step();
        let moved = Settings { node: Node::new("ocs2.example.org", "192.0.2.99".parse().unwrap()), ..settings(1) };
        let moved = Settings { forms: vec![Form::Ber], ..moved };
        let recording = pair.network.core.set_recording(Recording::of(&moved, CUTS), pair.network.now).unwrap();
        pair.network.write(recording);
        pair.go_on(60);
        let (now, files) = (pair.network.now + 10, Arc::clone(&pair.nodes[1].files));
        files.ends_after(operations);
        if let Ok(mut node) = pair.open(1) {
            let _ended = (0..9).try_for_each(|_| node.step(pair.durable(), now).map(drop));
        }
        files.again(if operations % 2 == 0 { End::Killed } else { End::Power }, operations.into());
        pair.step();
        same(&pair.nodes[0].files, &files);
        let before = file(&files, 0).unwrap();
        assert_eq!(Records::check(&before).unwrap().node, settings(1).node.address);
    }
}

#[test]
fn records_that_one_node_made_alone_are_gone_on_with_where_they_are() {
    let mut life = Life::new();
    life.go_on(60);
    let mut files = life.open(settings(1000)).unwrap();
    files.step(life.durable(), NOW).unwrap();
    files.step(life.durable(), NOW + 10).unwrap();
    let mark = went_on(&files, &life.files);
    drop(files);
    let recording = Recording { goes_on: Some(mark), ..Recording::of(&settings(1), CUTS) };
    let entry = life.network.core.set_recording(recording.clone(), life.network.now).unwrap();
    let since = entry.sequence;
    life.network.write(entry);
    life.append();
    life.go_on(60);
    let open = |life: &Life, files: &Arc<World>| {
        Files::open_shared(Arc::clone(&life.ledger), Arc::clone(files), settings(7), since).unwrap()
    };
    // Another node has not what it would go on from.
    let refused = open(&life, &Arc::new(World::default())).step(life.durable(), NOW + 20).unwrap_err();
    assert!(refused.to_string().contains("needs a copy"), "{refused}");
    let mut files = open(&life, &life.files);
    all(&mut files, life.durable(), NOW + 20);
    let (file, closure) = files.wants(i64::MAX).unwrap();
    drop(files);
    let end = life.network.core.close_file(file, closure.number(), life.network.now);
    life.network.write(end);
    life.append();
    all(&mut open(&life, &life.files), life.durable(), NOW + 30);
    let (written, ..) = closed(&life.files);
    assert_eq!(written, expected(&life.network.entries).0);
    // Who says it again says it only where it made records alone meanwhile; what they went on from stays.
    let core = &mut life.network.core;
    assert!(core.set_recording(recording.clone(), NOW).is_none());
    assert!(core.set_recording(Recording { goes_on: None, ..recording.clone() }, NOW).is_none());
    let behind = GoesOn { entry: mark.entry - 1, ..mark };
    assert!(core.set_recording(Recording { goes_on: Some(behind), ..recording.clone() }, NOW).is_none());
    // It goes on alone, and then with the other one, which has a copy from before that.
    let other = copy(&life.files);
    life.go_on(60);
    let mut files = life.open(settings(1000)).unwrap();
    files.end(life.durable(), NOW + 40).unwrap();
    let mark = went_on(&files, &life.files);
    drop(files);
    let again = Recording { goes_on: Some(mark), ..recording };
    let entry = life.network.core.set_recording(again, life.network.now).unwrap();
    life.network.write(entry);
    life.append();
    life.go_on(60);
    all(&mut open(&life, &life.files), life.durable(), NOW + 50);
    let mut behind = open(&life, &other);
    let refused = (0..100).find_map(|_| behind.step(life.durable(), NOW + 50).err()).unwrap();
    assert!(refused.to_string().contains("needs a copy"), "{refused}");
}
