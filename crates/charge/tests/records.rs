//! Records out of a ledger: what they say, and that each is there once after any end.

mod network;
#[path = "../../commit/tests/world/mod.rs"]
mod world;

use network::{NOW, Network, asked};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use trunkline_charge::account::{Effect, Entry, MoneyReason, Recording};
use trunkline_charge::cdr::{Cdr, Cuts, Ended, Fold, Kind, Node, Opening, Source, packets, table};
use trunkline_charge::job::records::{Cursor, Failure, Files, Form, Report, Series, Settings, Step};
use trunkline_charge::ledger;
use trunkline_charge::money::Money;
use trunkline_charge::session::{Kind as Asks, Limits};
use trunkline_charge::units::Amounts;
use trunkline_commit::{Disk, Group, Log, Options};
use trunkline_wire::cdr::PgwRecord;
use trunkline_wire::cdr::file::{Closure, Lost, RecordHeader, Records};
use world::{End, World};

const OPTIONS: Options = Options { segment_octets: 8192, waiting_octets: 1 << 20 };
const CUTS: Cuts = Cuts { octets: 60_000, seconds: 3600, services: 3 };

fn settings(records: u32) -> Settings {
    let address: IpAddr = "192.0.2.7".parse().unwrap();
    Settings {
        node: Node::new("ocs1.example.org", address),
        forms: vec![Form::Ber, Form::Csv],
        octets: 1 << 20,
        records,
        seconds: 900,
        flush_s: 5,
        keep_s: None,
        table_head: table::head(),
        private: None,
    }
}

/// All records that entries come to.
fn fold(entries: &[Entry], cuts: Cuts) -> Vec<Cdr> {
    let (mut fold, mut ended) = (Fold::new(cuts, 0), Vec::new());
    entries.iter().for_each(|entry| fold.take(entry, source(entry.sequence), &mut ended));
    let of = |source: Source| entries[source.entry as usize - 1].clone();
    let cdr = |ended: Ended| {
        let (opening, moved) = (ended.opened.map(of), ended.moved.map(of));
        Cdr::of(ended, opening.and_then(Opening::of), moved.and_then(Opening::moved))
    };
    ended.into_iter().map(cdr).collect()
}

fn source(entry: u64) -> Source {
    Source { entry, segment: 1, at: entry }
}

fn network() -> Network {
    Network::new(Money(100_000), Money::ZERO)
}

#[test]
fn a_session_has_one_record_that_tells_what_it_used_and_cost() {
    let mut network = network();
    network.initial("s", vec![asked(1, None, Some(0)), asked(3, None, Some(0))]);
    network.now += 60;
    network.update("s", 1, vec![asked(1, Some(10_000), Some(0)), asked(3, Some(5_000), None)]);
    network.now += 60;
    network.end("s", 2, vec![asked(1, Some(1_500), None), asked(99, Some(77), None)]);
    let records = fold(&network.entries, Cuts::default());
    let [cdr] = &records[..] else { panic!("{records:?}") };
    assert_eq!((cdr.number, cdr.kind, cdr.cause, cdr.sequence, cdr.duration_s()), (1, Kind::Session, 0, None, 120));
    assert_eq!((&*cdr.opening.session, cdr.opening.subscriber, cdr.opening.account), ("s", 1, 1));
    let used: Vec<_> = cdr.services.iter().map(|s| (s.key.rating_group, s.rated, s.used.octets, s.money.0)).collect();
    // 12 steps of 1.5 minor units; what has no rule is told, and paid by nobody.
    assert_eq!(used, [(Some(1), true, 11_500, 18), (Some(3), true, 5_000, 0), (Some(99), false, 77, 0)]);
    assert_eq!((cdr.money().0, cdr.used().octets), (18, 16_577));
}

#[test]
fn records_are_cut_by_volume_time_and_services_and_numbered() {
    let mut network = network();
    network.initial("s", vec![asked(1, None, Some(0))]);
    network.update("s", 1, vec![asked(1, Some(70_000), Some(0))]);
    network.now += 3600;
    network.update("s", 2, vec![asked(1, Some(1_000), Some(0))]);
    network.update("s", 3, vec![asked(1, Some(1), None), asked(3, Some(1), None), asked(11, Some(1), None)]);
    network.end("s", 4, vec![]);
    let records = fold(&network.entries, CUTS);
    let told: Vec<_> = records.iter().map(|cdr| (cdr.number, cdr.sequence, cdr.cause, cdr.used().octets)).collect();
    assert_eq!(told, [(1, Some(1), 16, 70_000), (2, Some(2), 17, 1_000), (3, Some(3), 19, 3), (4, Some(4), 0, 0)]);
    assert!(records.windows(2).all(|pair| pair[0].ended == pair[1].began));
}

#[test]
fn ends_events_and_strays_are_told_apart() {
    let mut network = network();
    let event = |network: &mut Network, name: &str, kind| {
        let mut request = network.request(name, kind, 0, vec![asked(10, None, Some(2))]);
        request.services[0].requested = Some(Amounts { service_units: 2, ..Amounts::default() });
        network.send(&request);
    };
    event(&mut network, "debit", Asks::DirectDebit);
    event(&mut network, "price", Asks::PriceEnquiry);
    event(&mut network, "refund", Asks::Refund);
    network.update("nobody", 7, vec![asked(1, Some(5), None), asked(2, Some(6), None)]);
    network.initial("aborted", vec![asked(1, None, Some(0))]);
    let entry = network.core.abort("aborted", network.now);
    network.entry(entry);
    network.end("aborted", 1, vec![]);
    network.initial("silent", vec![asked(1, None, Some(0))]);
    network.timeout(network.now + 100_000);
    let records = fold(&network.entries, CUTS);
    let told: Vec<_> = records.iter().map(|cdr| (&*cdr.opening.session, cdr.kind, cdr.cause, cdr.money().0)).collect();
    let expected = [
        ("debit", Kind::Event, 0, 20),
        ("refund", Kind::Event, 0, -20),
        ("nobody", Kind::Stray, 4, 0),
        ("aborted", Kind::Session, 20, 0),
        ("silent", Kind::Session, 4, 0),
    ];
    assert_eq!(told, expected);
    assert_eq!((records[2].services.len(), records[2].used().octets), (2, 11));
}

#[test]
fn a_fold_goes_on_from_its_octets_and_numbers_begin_again_after_the_last() {
    let mut network = network();
    for session in 0..40 {
        network.initial(&format!("s{session}"), vec![asked(1, None, Some(0))]);
        network.update(&format!("s{session}"), 1, vec![asked(1, Some(40_000), Some(0))]);
        if session % 3 == 0 {
            network.end(&format!("s{session}"), 2, vec![asked(1, Some(30_000), None)]);
        }
    }
    for cut in 0..network.entries.len() {
        let (mut whole, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let mut fold = Fold::new(CUTS, 0);
        network.entries[..cut].iter().for_each(|entry| fold.take(entry, source(entry.sequence), &mut before));
        let mut octets = Vec::new();
        let put = |piece: &[u8]| {
            octets.extend_from_slice(piece);
            Ok::<(), ()>(())
        };
        fold.put(put).unwrap();
        let mut again = Fold::read(&octets).unwrap();
        assert_eq!(again, fold);
        assert!(octets.is_empty() || Fold::read(&octets[..octets.len() - 1]).is_err() || fold.open().0 == 0);
        network.entries[cut..].iter().for_each(|entry| again.take(entry, source(entry.sequence), &mut after));
        let mut plain = Fold::new(CUTS, 0);
        network.entries.iter().for_each(|entry| plain.take(entry, source(entry.sequence), &mut whole));
        before.extend(after);
        assert_eq!(before, whole);
    }
    let mut octets = Vec::new();
    let fold = Fold::new(CUTS, 0);
    fold.put(|piece| {
        octets.extend_from_slice(piece);
        Ok::<(), ()>(())
    })
    .unwrap();
    // The number stands behind cuts and entry: 1 there becomes the last of 32 bits.
    let at = octets.len() - 3;
    octets.splice(at..=at, [0xff, 0xff, 0xff, 0xff, 0x0f]);
    let mut last = Fold::read(&octets).unwrap();
    assert_eq!(last.number(), u32::MAX);
    let mut out = Vec::new();
    network.entries.iter().for_each(|entry| last.take(entry, source(entry.sequence), &mut out));
    assert_eq!(out.iter().take(3).map(|ended| ended.number).collect::<Vec<_>>(), [u32::MAX, 0, 1]);
}

/// A ledger on a disk, and the record files beside it.
struct Life {
    ledger: Arc<World>,
    files: Arc<World>,
    network: Network,
    log: Log<World>,
    appended: usize,
    serial: u32,
}

impl Life {
    fn new() -> Life {
        let (ledger, files) = (Arc::new(World::default()), Arc::new(World::default()));
        let (_, log) = ledger::open(Arc::clone(&ledger), OPTIONS, Limits::default()).unwrap();
        let mut life = Life { ledger, files, network: network(), log, appended: 0, serial: 0 };
        life.append();
        life
    }

    /// Sessions begin, go on and end.
    fn go_on(&mut self, requests: u32) {
        for _ in 0..requests {
            let name = format!("s{}", self.serial / 40 * 4 + self.serial % 4);
            let (number, usage) =
                (self.serial % 40 / 4, |wanted| vec![asked(1 + 2 * (wanted % 2) as u32, Some(9_000), Some(0))]);
            match number {
                0 => drop(self.network.initial(&name, vec![asked(1, None, Some(0))])),
                9 => drop(self.network.end(&name, number, vec![asked(1, Some(500), None)])),
                _ => drop(self.network.update(&name, number, usage(u64::from(number)))),
            }
            self.network.now += 7;
            self.serial += 1;
        }
        self.append();
    }

    fn append(&mut self) {
        let mut group = Group::new(&OPTIONS);
        for entry in &self.network.entries[self.appended..] {
            let octets = entry.encode();
            if group.count() == 7 || group.put(&octets).is_err() {
                self.log.commit(&mut group).unwrap();
                group.put(&octets).unwrap();
            }
        }
        self.log.commit(&mut group).unwrap();
        self.appended = self.network.entries.len();
    }

    fn durable(&self) -> u64 {
        self.appended as u64
    }

    fn open(&self, settings: Settings) -> Result<Files<World, World>, String> {
        Files::open(Arc::clone(&self.ledger), Arc::clone(&self.files), settings, CUTS)
    }
}

fn contents(world: &World, name: &str) -> Vec<u8> {
    let file = world.open(name).unwrap();
    let (mut octets, mut have) = (vec![0; 1 << 22], 0);
    loop {
        match world.read(&file, have as u64, &mut octets[have..]).unwrap() {
            0 => break,
            read => have += read,
        }
    }
    octets.truncate(have);
    octets
}

/// The records of all closed files, in the order of their numbers, and the tables'.
fn closed(world: &World) -> (Vec<Vec<u8>>, String, Vec<Closure>) {
    let (mut records, mut tables, mut closures) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for name in world.list().unwrap().iter().filter(|name| name.contains("_-_")) {
        let count: u32 = name.split("_-_").nth(1).unwrap().split('.').next().unwrap().parse().unwrap();
        let octets = contents(world, name);
        if name.ends_with(".csv") {
            let text = String::from_utf8(octets).unwrap();
            assert!(tables.insert(count, text.strip_prefix(&table::head()).unwrap().to_owned()).is_none());
            continue;
        }
        let header = Records::check(&octets).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!((header.sequence, header.lost), (count, Lost::None), "{name}");
        closures.insert(count, header.closure);
        for record in Records::new(&octets, &header) {
            let octets = record.unwrap().1;
            let number = PgwRecord::read(octets).unwrap().local_sequence_number.unwrap();
            assert!(records.insert(number, octets.to_vec()).is_none(), "{number} twice");
        }
    }
    assert!(tables.keys().eq(closures.keys()) && closures.keys().copied().eq(0..closures.len() as u32));
    (records.into_values().collect(), tables.into_values().collect(), closures.into_values().collect())
}

/// What the files have to hold.
fn expected(entries: &[Entry]) -> (Vec<Vec<u8>>, String) {
    let (node, mut text) = (settings(1).node, String::new());
    let record = |cdr: &Cdr| {
        let mut out = Vec::new();
        packets::write(cdr, &node, false, &mut out);
        table::write(cdr, &node, false, &mut text);
        out
    };
    let records = fold(entries, CUTS).iter().map(record).collect();
    (records, text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn each_record_is_in_one_file_after_any_end(
        lives in prop::collection::vec((0u32..60, 0u32..120, any::<bool>(), any::<u64>(), 0i64..40), 1..8),
        records in 1u32..12,
        back in 0i64..1_000_000,
    ) {
        let mut life = Life::new();
        let mut now = NOW;
        for (requests, operations, power, seed, step) in lives {
            life.go_on(requests);
            life.files.ends_after(operations);
            if let Ok(mut files) = life.open(settings(records)) {
                for at in 0..20 {
                    files.want_checkpoint();
                    // The clock goes on, stands, and once goes back.
                    now += if at == 7 { -back } else { step };
                    if files.step(life.durable(), now).is_err() {
                        break;
                    }
                    life.go_on(requests % 5);
                }
            }
            life.files.again(if power { End::Power } else { End::Killed }, seed);
        }
        life.go_on(13);
        let mut files = life.open(settings(records)).unwrap();
        files.end(life.durable(), now).unwrap();
        let (written, tables, _) = closed(&life.files);
        let (should, text) = expected(&life.network.entries);
        prop_assert_eq!(written, should);
        prop_assert_eq!(tables, text);
        // And once more nothing is written.
        let names = life.files.list().unwrap().len();
        life.open(settings(records)).unwrap().end(life.durable(), now).unwrap();
        prop_assert_eq!(life.files.list().unwrap().len(), names);
    }
}

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

#[test]
fn a_disk_that_fails_loses_nothing_and_the_file_tells() {
    let mut life = Life::new();
    life.go_on(80);
    let mut files = life.open(settings(1000)).unwrap();
    assert_eq!(files.step(life.durable(), NOW), Ok(Step::Rests));
    files.step(life.durable(), NOW + 6).unwrap();
    for operations in 0..12 {
        let now = NOW + 20 + i64::from(operations) * 20;
        life.go_on(40);
        files.step(life.durable(), now).unwrap();
        life.files.ends_after(operations);
        let failed = files.step(life.durable(), now + 6);
        life.files.again(End::Killed, 1);
        if let Err(why) = failed {
            assert!(matches!(why, Failure::Files(_)), "{why}");
        }
        files.step(life.durable(), now + 7).unwrap();
    }
    files.end(life.durable(), NOW + 2000).unwrap();
    let (written, _, closures) = closed(&life.files);
    assert_eq!(written, expected(&life.network.entries).0);
    assert!(closures.contains(&Closure::FileSystemError) && *closures.last().unwrap() != Closure::FileSystemError);
}

#[test]
fn files_are_closed_by_count_and_time_and_forgotten_when_they_are_old() {
    let mut life = Life::new();
    let keeps = Settings { keep_s: Some(100_000), ..settings(5) };
    let mut files = life.open(keeps.clone()).unwrap();
    for step in 0..30 {
        life.go_on(20);
        files.step(life.durable(), NOW + step).unwrap();
    }
    files.end(life.durable(), NOW + 30).unwrap();
    let mut files = life.open(Settings { records: 1000, ..keeps.clone() }).unwrap();
    life.go_on(80);
    for at in [40, 60, 1000] {
        files.step(life.durable(), NOW + at).unwrap();
    }
    let closures = closed(&life.files).2;
    assert!(closures.contains(&Closure::Count) && closures.contains(&Closure::Time), "{closures:?}");
    life.go_on(80);
    files.end(life.durable(), NOW + 200_000).unwrap();
    let names = life.files.list().unwrap();
    let left: Vec<_> = names.iter().filter(|name| name.ends_with(".ber")).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn an_open_file_that_is_gone_is_told_as_lost() {
    let mut life = Life::new();
    life.go_on(80);
    let mut files = life.open(settings(1000)).unwrap();
    files.step(life.durable(), NOW).unwrap();
    files.step(life.durable(), NOW + 10).unwrap();
    let gone = Cursor::load(&*life.files).unwrap().unwrap().open.unwrap().records;
    drop(files);
    life.files.lose("open-0.ber.part");
    let mut files = life.open(settings(1000)).unwrap();
    let mut report = Report::default();
    files.tell(&mut report);
    assert_eq!(report.lost, u64::from(gone));
    life.go_on(40);
    files.end(life.durable(), NOW + 20).unwrap();
    let name = life.files.list().unwrap().into_iter().find(|name| name.ends_with(".ber")).unwrap();
    let octets = contents(&life.files, &name);
    assert_eq!(Records::check(&octets).unwrap().lost, Lost::of(u64::from(gone)));
}

#[test]
fn what_cannot_be_gone_on_with_is_refused() {
    let mut life = Life::new();
    life.go_on(200);
    let mut files = life.open(settings(5)).unwrap();
    files.end(life.durable(), NOW).unwrap();
    drop(files);
    // Another ledger.
    let other = Life::new();
    let refused = Files::open(Arc::clone(&other.ledger), Arc::clone(&life.files), settings(5), CUTS).err().unwrap();
    assert!(refused.contains("record"), "{refused}");
    life.files.spoil("checkpoint", 15);
    // Without its checkpoint it reads the ledger again.
    life.open(settings(5)).unwrap();
    life.files.spoil("cursor", 20);
    let refused = life.open(settings(5)).err().unwrap();
    assert!(refused.contains("cursor is damaged"), "{refused}");
    life.files.lose("cursor");
    let refused = life.open(settings(5)).err().unwrap();
    assert!(refused.contains("no cursor"), "{refused}");
}

#[test]
fn what_was_set_holds_from_the_next_entry_on() {
    let mut life = Life::new();
    life.go_on(60);
    let never = Cuts::default();
    let of = |life: &Life, cuts| {
        Files::open(Arc::clone(&life.ledger), Arc::clone(&life.files), settings(1000), cuts).unwrap()
    };
    let mut files = of(&life, never);
    files.step(life.durable(), NOW).unwrap();
    files.step(life.durable(), NOW + 10).unwrap();
    drop(files);
    life.go_on(140);
    drop(of(&life, CUTS));
    let mut files = of(&life, CUTS);
    files.end(life.durable(), NOW + 20).unwrap();
    let (written, ..) = closed(&life.files);
    let read = |octets: &Vec<u8>| PgwRecord::read(octets).unwrap().octets();
    let used: u64 = written.iter().map(read).map(|(up, down)| up + down).sum();
    let whole: u64 = fold(&life.network.entries, never).iter().map(|cdr| cdr.used().octets).sum();
    let open: u64 = fold(&life.network.entries, CUTS).iter().map(|cdr| cdr.used().octets).sum();
    // Octets of sessions that are open stand in no record, but for what was cut.
    assert!(used >= whole && used >= open && written.len() > fold(&life.network.entries, never).len());
}

#[test]
fn records_of_others_are_kept_as_they_came_and_copies_are_marked() {
    let mut life = Life::new();
    life.go_on(80);
    let (records, _) = expected(&life.network.entries);
    let forms = Settings { forms: vec![Form::Ber], private: Some("dup".to_owned()), ..settings(1000) };
    let world = Arc::new(World::default());
    let mut series = Series::open(Arc::clone(&world), forms.clone()).unwrap();
    assert!(series.note().is_empty());
    let header: RecordHeader = packets::header();
    assert!(series.append_received(&header, &records[0], false, NOW));
    assert!(series.append_received(&header, &records[1], true, NOW));
    assert!(series.append_received(&header, b"of another kind", true, NOW));
    assert!(!series.append_received(&header, &[0; 70_000], false, NOW));
    series.commit(b"so far").unwrap();
    drop(series);
    let mut series = Series::open(Arc::clone(&world), forms).unwrap();
    assert_eq!(series.note(), b"so far");
    let name = series.close(Closure::Manual, NOW).unwrap().unwrap().name;
    assert!(name.ends_with(".dup"), "{name}");
    let octets = contents(&world, &format!("{name}.ber"));
    let header = Records::check(&octets).unwrap();
    let kept: Vec<_> = Records::new(&octets, &header).map(|record| record.unwrap().1).collect();
    assert_eq!((header.closure, kept[0], kept[2]), (Closure::Manual, &records[0][..], &b"of another kind"[..]));
    let copy = PgwRecord::read(kept[1]).unwrap();
    assert_eq!(PgwRecord { retransmission: false, ..copy }, PgwRecord::read(&records[1]).unwrap());
    assert!(copy.retransmission);
}

#[test]
fn money_of_records_is_that_of_the_ledger() {
    let mut life = Life::new();
    life.go_on(500);
    let entries = &life.network.entries;
    let charged = |entry: &Entry| -> i64 {
        let money = |effect: &Effect| match effect {
            Effect::Charged { charge, .. } => charge.money.0,
            Effect::Money { reason: MoneyReason::Refund, amount, .. } => -amount.0,
            _ => 0,
        };
        entry.effects.iter().map(money).sum()
    };
    let all = Cuts { seconds: 1, ..CUTS };
    let records: i64 = fold(entries, all).iter().map(|cdr| cdr.money().0).sum();
    assert_eq!(records, entries.iter().map(charged).sum::<i64>(), "with a record for each request all is told");
}
