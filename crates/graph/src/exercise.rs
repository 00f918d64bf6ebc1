//! What the fuzz targets drive.

mod around;

use crate::cacti::{DumpReader, Options, Query, Tables, convert, exchange};
use crate::inventory::order::{Draft, Order};
use crate::inventory::{Change, Device, Entry, Identity, Inventory, Kind, Restoring, Row};
pub use crate::job::exercise_orders as control;
use crate::journal::{self, Records};
use crate::poller::Reading;
use crate::probe::{certificate, echo, json, output, prometheus};
use crate::template::{self, Library, SERIES_MAX, built_in};
pub use around::around;

/// Files of templates: no text does harm, and one that is read is written as one that is read as the same.
pub fn template(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    if let Ok(library) = template::read(&[("t.toml", text)], built_in::library()) {
        let again = template::read(&[("t.toml", &template::write(&library))], built_in::library());
        assert_eq!(again.as_ref(), Ok(&library));
    }
}

/// Entries of the inventory, each behind its length (two octets, the higher one first): no octets do harm, one that is
/// read is written as itself, and the state that they make is told by its snapshot.
pub fn entry(octets: &[u8]) {
    let mut inventory = Inventory::default();
    for record in records_of(octets) {
        let Ok(mut entry) = Entry::decode(record) else { continue };
        assert_eq!(entry.encode(), record);
        entry.sequence = inventory.sequence() + 1;
        // What a refused entry leaves is no state: from there on nothing follows.
        if inventory.apply(&entry).is_err() {
            return;
        }
        assert!(read(&told(&inventory)).is_some_and(|read| read == inventory));
    }
    for (graph, _) in inventory.graphs().iter() {
        inventory.title(&Library::default(), graph);
    }
}

/// A record of the journal: no octets do harm, and what of it is read is written as what is read as the same.
pub fn journal(octets: &[u8]) {
    let (mut records, mut samples) = (Records::default(), Vec::new());
    // What is not whole is told, and what stands before it counts.
    let _ = journal::each(octets, |source, at_ms, values| {
        records.put(source, at_ms, values);
        samples.push((source, at_ms, format!("{:?}", &values[..values.len().min(SERIES_MAX)])));
    });
    let mut again = Vec::new();
    for record in records.records() {
        let whole = journal::each(record, |source, at_ms, values| again.push((source, at_ms, format!("{values:?}"))));
        assert!(whole.is_ok());
    }
    assert_eq!(again, samples);
}

/// Records of a snapshot, each behind its length (two octets, the higher one first): a state that is read is written as
/// one that is read as the same.
pub fn snapshot(octets: &[u8]) {
    let found: Vec<Vec<u8>> = records_of(octets).map(<[u8]>::to_vec).collect();
    if let Some(inventory) = read(&found) {
        assert!(read(&told(&inventory)).is_some_and(|read| read == inventory));
    }
}

/// The records of a snapshot.
pub fn told(inventory: &Inventory) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let put = |record: &[u8]| -> Result<(), core::convert::Infallible> {
        records.push(record.to_vec());
        Ok(())
    };
    let Ok(()) = inventory.snapshot(put);
    records
}

/// Octets with their length before each of them, as [`entry`] and [`snapshot`] take them.
pub fn framed<'r>(records: impl IntoIterator<Item = &'r [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records {
        let length = u16::try_from(record.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&record[..usize::from(length)]);
    }
    out
}

/// An inventory with one device, and two of its interfaces.
pub(crate) fn house() -> Inventory {
    let mut inventory = Inventory::default();
    let device = Order::Device(None, Device::new("edge-1", "10.0.0.1"));
    let made = inventory.order(built_in::library(), &device).unwrap_or_default();
    change(&mut inventory, made);
    let mut making = Draft::new(&inventory);
    let table = making.named(Kind::Table, "interfaces");
    for (index, name) in [(1, "Gi0/1"), (7, "Gi0/7")] {
        making.row(Row {
            device: 1,
            table,
            name: name.into(),
            identity: Identity { name: name.into(), ..Identity::default() },
            index: Some([index].into()),
            label: "".into(),
            speed: 0,
            fields: Vec::new(),
        });
    }
    let rows = making.changes();
    change(&mut inventory, rows);
    inventory
}

/// What is changed is read as it is written, and is taken.
fn change(inventory: &mut Inventory, changes: Vec<Change>) {
    for entry in Entry::of_changes(inventory.sequence() + 1, 0, "exercise", changes) {
        assert_eq!(Entry::decode(&entry.encode()).as_ref(), Ok(&entry));
        assert_eq!(inventory.apply(&entry), Ok(()));
    }
}

fn records_of(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let (length, behind) = rest.split_first_chunk()?;
        let (record, behind) = behind.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        rest = behind;
        Some(record)
    })
}

fn read(records: &[Vec<u8>]) -> Option<Inventory> {
    let mut restoring = Restoring::default();
    records.iter().try_for_each(|record| restoring.take(record)).ok()?;
    restoring.inventory().ok()
}

/// A dump of Cacti's database, whose first octet says how it is cut: no octets do harm, however they are cut the same
/// rows are read, and what they become is what the inventory takes.
pub fn dump(octets: &[u8]) {
    let Some((cut, octets)) = octets.split_first() else { return };
    let rows = |pieces: usize| {
        let (mut reader, mut tables, mut rows) = (DumpReader::default(), Tables::default(), Vec::new());
        for piece in octets.chunks(pieces) {
            reader.feed(piece, |row| {
                rows.push((row.table.to_owned(), row.columns.to_vec(), row.values.to_vec()));
                tables.take(row);
            });
        }
        (rows, reader.end(), tables)
    };
    let (whole, end, tables) = rows(octets.len().max(1));
    let (pieces, other, _) = rows(usize::from(*cut) + 1);
    assert_eq!((&whole, end), (&pieces, other));
    imported(&tables, &Options::default());
}

/// An export of Cacti's templates: no octets do harm, and templates that come out of it are read as they are written.
pub fn xml(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    if let Ok(read) = exchange(text) {
        imported(&read.tables, &Options { path_cacti: "/cacti".to_owned(), queries: read.queries });
    }
    // A document may be a data query's file, too.
    let _ = Query::parse(text);
}

fn imported(tables: &Tables, options: &Options) {
    let import = convert(tables, options, &Inventory::default());
    let again = template::read(&[("t.toml", &template::write(&import.library))], built_in::library());
    assert_eq!(again.as_ref(), Ok(&import.library));
    let mut inventory = Inventory::default();
    for entry in Entry::of_changes(1, 0, "import", import.changes) {
        assert_eq!(inventory.apply(&entry), Ok(()));
    }
    assert!(import.files.iter().all(|file| inventory.sources().has(file.source)));
}

/// Metrics in Prometheus's text format: no octets do harm, a metric that is read is found by its own name and labels,
/// and nothing that is found is infinite.
pub fn metrics(octets: &[u8]) {
    let metrics = prometheus::Lines::new(octets).filter_map(|line| match line {
        Ok(prometheus::Line::Metric(metric)) => Some(metric),
        _ => None,
    });
    for metric in metrics.take(50) {
        let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let labels: Vec<String> =
            metric.labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(&value))).collect();
        let text = format!("{}{{{}}}", metric.name, labels.join(","));
        // A name that begins with a digit is read, as others do, and is not asked for.
        let Some(selector) = prometheus::Selector::parse(&text) else {
            assert!(metric.name.starts_with(|c: char| c.is_ascii_digit()), "{text}");
            continue;
        };
        assert!(selector.fits(&metric), "{text}");
        let found = prometheus::read(octets, &[vec![selector]]);
        assert!(!matches!(found.readings[..], [Reading::Real(number)] if !number.is_finite()));
    }
}

/// What comes of probes: messages of ICMP, certificates, what programs and pages say. No octets do harm.
pub fn probe(octets: &[u8]) {
    for from in [core::net::Ipv4Addr::LOCALHOST.into(), core::net::Ipv6Addr::LOCALHOST.into()] {
        let known = echo::reply(from, octets);
        assert!(known.is_none() || (echo::is_reply(from, octets) && octets.len() == echo::ECHO_OCTETS));
    }
    assert!(echo::behind_ipv4(octets).is_none_or(|rest| rest.len() + 20 <= octets.len()));
    certificate::not_after(octets);
    let wanted = [vec!["a".to_owned(), "/a".to_owned()], vec![String::new()]];
    assert_eq!(output::read(octets, &wanted).len(), wanted.len());
    if let Ok(readings) = json::read(octets, &wanted) {
        assert_eq!(readings.len(), wanted.len());
    }
}
