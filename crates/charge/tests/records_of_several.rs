//! Records that several nodes make of one ledger: the same files on each, after any end of any of them.

mod recorded;

use proptest::prelude::*;
use recorded::network::{NOW, Network, asked};
use recorded::world::{End, World};
use recorded::{CUTS, Life, OPTIONS, closed, contents, expected, network, settings};
use std::sync::Arc;
use trunkline_charge::account::Recording;
use trunkline_charge::cdr::Node;
use trunkline_charge::job::records::{Files, Settings, Step};
use trunkline_charge::ledger;
use trunkline_charge::session::Limits;
use trunkline_commit::{Disk, Group, Log};
use trunkline_wire::cdr::file::Closure;

/// All that is there, and the end.
fn all(files: &mut Files<World, World>, durable: u64, now: i64) {
    while files.step(durable, now).unwrap() == Step::More {}
    files.end(durable, now).unwrap();
}

/// Two nodes, each with a copy of one ledger in blocks of its own, and record files of its own.
struct Pair {
    network: Network,
    nodes: [(Arc<World>, Log<World>, usize, Arc<World>); 2],
}

impl Pair {
    fn new() -> Pair {
        let mut network = network();
        let recording = network.core.set_recording(Recording::of(&settings(1), CUTS), network.now).unwrap();
        network.write(recording);
        let node = |_| {
            let ledger = Arc::new(World::default());
            let (_, log) = ledger::open(Arc::clone(&ledger), OPTIONS, Limits::default()).unwrap();
            (ledger, log, 0, Arc::new(World::default()))
        };
        let mut pair = Pair { network, nodes: [0, 1].map(node) };
        pair.append();
        pair
    }

    fn append(&mut self) {
        for (at, (_, log, appended, _)) in self.nodes.iter_mut().enumerate() {
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
        let (ledger, _, _, files) = &self.nodes[at];
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn two_nodes_make_the_same_files_after_any_end(
        lives in prop::collection::vec((0usize..2, 0u32..60, 0u32..120, any::<bool>(), any::<u64>(), 0i64..400), 1..12),
    ) {
        let (mut pair, mut serial) = (Pair::new(), 0);
        let mut go_on = |pair: &mut Pair, requests: u32| {
            for _ in 0..requests {
                let (name, number) = (format!("s{}", serial / 40 * 4 + serial % 4), serial % 40 / 4);
                match number {
                    0 => drop(pair.network.initial(&name, vec![asked(1, None, Some(0))])),
                    9 => drop(pair.network.end(&name, number, vec![asked(1, Some(500), None)])),
                    _ => drop(pair.network.update(&name, number, vec![asked(1, Some(9_000), Some(0))])),
                }
                pair.network.now += 7;
                serial += 1;
            }
            pair.append();
        };
        for (at, requests, operations, power, seed, step) in lives {
            go_on(&mut pair, requests);
            pair.nodes[at].3.ends_after(operations);
            if let Ok(mut files) = pair.open(at) {
                for _ in 0..10 {
                    files.want_checkpoint();
                    // Each node's clock goes its own way: files tell that of the entries.
                    let now = pair.network.now + step * (1 + at as i64);
                    if files.step(pair.network.entries.len() as u64, now).is_err() {
                        break;
                    }
                    pair.close(files.wants(now));
                    go_on(&mut pair, requests % 7);
                }
            }
            pair.nodes[at].3.again(if power { End::Power } else { End::Killed }, seed);
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
        let [one, other] = [0, 1].map(|at| &pair.nodes[at].3);
        let names = |world: &World| -> Vec<String> {
            let names = world.list().unwrap().into_iter();
            let mut names: Vec<String> = names.filter(|name| name.contains("_-_") || name.ends_with(".part")).collect();
            names.sort();
            names
        };
        prop_assert_eq!(names(one), names(other));
        for name in names(one) {
            prop_assert!(contents(one, &name) == contents(other, &name), "{}", name);
        }
        let (written, tables, _) = closed(one);
        let (should, text) = expected(&pair.network.entries);
        prop_assert_eq!(written, should);
        prop_assert_eq!(tables, text);
    }
}

#[test]
fn records_that_one_node_made_alone_are_gone_on_with_where_they_are() {
    let mut life = Life::new();
    life.go_on(60);
    let mut files = life.open(settings(1000)).unwrap();
    files.step(life.durable(), NOW).unwrap();
    files.step(life.durable(), NOW + 10).unwrap();
    drop(files);
    let recording = Recording { goes_on: true, ..Recording::of(&settings(1), CUTS) };
    let entry = life.network.core.set_recording(recording.clone(), life.network.now).unwrap();
    let since = entry.sequence;
    life.network.write(entry);
    life.append();
    life.go_on(60);
    let open = |files: &Arc<World>| Files::open_shared(Arc::clone(&life.ledger), Arc::clone(files), settings(7), since);
    // Another node has not what it would go on from.
    let mut other = open(&Arc::new(World::default())).unwrap();
    let refused = other.step(life.durable(), NOW + 20).unwrap_err();
    assert!(refused.to_string().contains("needs a copy"), "{refused}");
    let mut files = open(&life.files).unwrap();
    all(&mut files, life.durable(), NOW + 20);
    let (file, closure) = files.wants(i64::MAX).unwrap();
    drop(files);
    let end = life.network.core.close_file(file, closure.number(), life.network.now);
    life.network.write(end);
    life.append();
    let open = |files: &Arc<World>| Files::open_shared(Arc::clone(&life.ledger), Arc::clone(files), settings(7), since);
    all(&mut open(&life.files).unwrap(), life.durable(), NOW + 30);
    let (written, ..) = closed(&life.files);
    assert_eq!(written, expected(&life.network.entries).0);
    // Who says it again says it only where it made records alone meanwhile.
    assert!(life.network.core.set_recording(Recording { goes_on: false, ..recording }, NOW).is_none());
}
