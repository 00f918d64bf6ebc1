//! What tests of records have in common: a ledger on a disk, record files beside it, and what they have to hold.

pub(crate) use crate::{network, world};

use network::{Network, asked};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use trunkline_charge::account::Entry;
use trunkline_charge::cdr::{Cdr, Cuts, Ended, Fold, Node, Opening, Source, packets, table};
use trunkline_charge::job::records::{Files, Form, Settings};
use trunkline_charge::ledger;
use trunkline_charge::money::Money;
use trunkline_charge::session::Limits;
use trunkline_commit::{Disk, Group, Log, Options};
use trunkline_wire::cdr::PgwRecord;
use trunkline_wire::cdr::file::{Closure, Lost, Records};
use world::World;

pub const OPTIONS: Options = Options { segment_octets: 8192, waiting_octets: 1 << 20 };
pub const CUTS: Cuts = Cuts { octets: 60_000, seconds: 3600, services: 3 };

pub fn settings(records: u32) -> Settings {
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
pub fn fold(entries: &[Entry], cuts: Cuts) -> Vec<Cdr> {
    let (mut fold, mut ended) = (Fold::new(cuts, 0), Vec::new());
    entries.iter().for_each(|entry| fold.take(entry, source(entry.sequence), &mut ended));
    let of = |source: Source| entries[source.entry as usize - 1].clone();
    let cdr = |ended: Ended| {
        let (opening, moved) = (ended.opened.map(of), ended.moved.map(of));
        Cdr::of(ended, opening.and_then(Opening::of), moved.and_then(Opening::moved))
    };
    ended.into_iter().map(cdr).collect()
}

pub fn source(entry: u64) -> Source {
    Source { entry, segment: 1, at: entry }
}

pub fn network() -> Network {
    Network::new(Money(100_000), Money::ZERO)
}

/// A ledger on a disk, and the record files beside it.
pub struct Life {
    pub ledger: Arc<World>,
    pub files: Arc<World>,
    pub network: Network,
    pub log: Log<World>,
    pub appended: usize,
    pub serial: u32,
}

impl Life {
    pub fn new() -> Life {
        let (ledger, files) = (Arc::new(World::default()), Arc::new(World::default()));
        let (_, log) = ledger::open(Arc::clone(&ledger), OPTIONS, Limits::default()).unwrap();
        let mut life = Life { ledger, files, network: network(), log, appended: 0, serial: 0 };
        life.append();
        life
    }

    /// Sessions begin, go on and end.
    pub fn go_on(&mut self, requests: u32) {
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

    pub fn append(&mut self) {
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

    pub fn durable(&self) -> u64 {
        self.appended as u64
    }

    pub fn open(&self, settings: Settings) -> Result<Files<World, World>, String> {
        Files::open(Arc::clone(&self.ledger), Arc::clone(&self.files), settings, CUTS)
    }
}

pub fn contents(world: &World, name: &str) -> Vec<u8> {
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
pub fn closed(world: &World) -> (Vec<Vec<u8>>, String, Vec<Closure>) {
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
pub fn expected(entries: &[Entry]) -> (Vec<Vec<u8>>, String) {
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
