//! What a device is and has: its system group, then the tables that its templates speak of, walked column by column.
//!
//! ```text
//!  system group --> sysObjectID --> device template --> tables --> columns --> rows, which remap compares
//!                                                                 neighbours, addresses, hosts (`around.rs`)
//! ```
//!
//! An [`Exploration`] says what is to be walked ([`Exploration::roots`]), takes what is found, and has [`Findings`] in
//! the end. A table of which a walk broke off is not among them: what it does not tell would be taken for gone.

mod around;

pub use around::AROUND_OCTETS_MAX;
pub(crate) use around::{Around, columns as columns_around};

use crate::inventory::Observed;
use crate::inventory::around::FoundAround;
use crate::inventory::remap::Walked;
use crate::poller::WalkEnd;
use crate::template::{DataTemplate, Library, Oid, RowName, Source, Table};
use std::collections::{BTreeMap, BTreeSet};
use trunkline_wire::snmp::{ObjectId, Value, Varbind};

/// Walks of a device that are begun at once; the other columns follow.
pub const WALKS_AT_ONCE_MAX: usize = 32;
/// Octets of what one exploration finds; more ends it.
// Limit: memory of what one exploration of a device finds
// Beyond: the exploration is ended, and tried again later
// Seen in: the device's page
pub const FOUND_OCTETS_MAX: usize = 64 << 20;
/// The system group (RFC 3418).
const SYSTEM: [u32; 7] = [1, 3, 6, 1, 2, 1, 1];
/// The device template of those for which there is no other.
const ANY: &str = "any";
/// The field that tells what is built in, where a table has it (IF-MIB).
const MARK_FIELD: &str = "ifPhysAddress";

/// A device that is being looked at.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Its template, if that is not to be found by what it is.
    template: Option<String>,
    /// Tables beside those of its template.
    tables: BTreeSet<String>,
    stage: Stage,
    observed: Observed,
    /// Columns of the stage that are still to be walked, and those that are being walked.
    waiting: Vec<Oid>,
    walking: Vec<Oid>,
    ended: usize,
    columns: BTreeMap<Oid, Column>,
    around: around::Around,
    octets: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    System,
    Tables,
    Around,
}

/// A column: what was found, and whether that is all.
#[derive(Clone, Debug, Default)]
struct Column {
    cells: BTreeMap<Box<[u32]>, Box<str>>,
    is_whole: bool,
}

/// What is to be done next.
#[derive(Debug)]
pub enum Step {
    /// Walks go on.
    Wait,
    /// [`Exploration::roots`] is to be walked.
    Walk,
    /// All was found.
    Done(Box<Findings>),
    /// It cannot be found out, and why.
    Failed(&'static str),
}

/// What a device is and has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// What it says of itself.
    pub observed: Observed,
    /// The device template that is for it, if there is one.
    pub template: Option<String>,
    /// Tables with their rows.
    pub tables: Vec<(String, Vec<Walked>)>,
    /// Tables that could not be read to their end.
    pub broken: Vec<String>,
    /// Neighbours, addresses, hosts.
    pub around: FoundAround,
    /// What of these could not be read to its end, and whether that was because no answer came.
    pub around_broken: Vec<&'static str>,
    /// See there.
    pub around_was_silent: bool,
}

impl Exploration {
    /// Of a device with this template, or the one that its sysObjectID says; `tables` are looked at in any case.
    pub fn new(template: Option<String>, tables: BTreeSet<String>) -> Exploration {
        let waiting = Oid::new(&SYSTEM).into_iter().collect();
        Exploration {
            template,
            tables,
            stage: Stage::System,
            observed: Observed::default(),
            waiting,
            walking: Vec::new(),
            ended: 0,
            columns: BTreeMap::new(),
            around: around::Around::default(),
            octets: 0,
        }
    }

    /// What the device says of itself, as far as that is known.
    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// What is to be walked now: each walk is called by its place in the list.
    pub fn roots(&mut self) -> Vec<ObjectId> {
        let rest = self.waiting.split_off(self.waiting.len().min(WALKS_AT_ONCE_MAX));
        self.walking = core::mem::replace(&mut self.waiting, rest);
        self.ended = 0;
        self.begun()
    }

    /// The same once more: the walks were dropped.
    pub fn again(&mut self) -> Vec<ObjectId> {
        for column in &self.walking {
            self.columns.remove(column);
            self.around.again(column);
        }
        self.ended = 0;
        self.begun()
    }

    fn begun(&self) -> Vec<ObjectId> {
        self.walking.iter().filter_map(|oid| ObjectId::from_arcs(oid.arcs()).ok()).collect()
    }

    /// Takes a variable of a walk.
    pub fn take(&mut self, walk: usize, varbind: &Varbind<'_>) {
        let Some(root) = self.walking.get(walk) else { return };
        let arcs: Vec<u32> = varbind.name.arcs().collect();
        let Some(index) = arcs.get(root.arcs().len()..) else { return };
        if self.stage == Stage::Around {
            self.around.take(root, index, &varbind.value);
            return;
        }
        let text = text(&varbind.value);
        self.octets += index.len() * 4 + text.len() + 64;
        if self.octets <= FOUND_OCTETS_MAX {
            self.columns.entry(root.clone()).or_default().cells.insert(index.into(), text.into());
        }
    }

    /// A walk has ended; what is next.
    pub fn ended(&mut self, walk: usize, end: WalkEnd, library: &Library) -> Step {
        let Some(root) = self.walking.get(walk) else { return Step::Wait };
        let is_whole = matches!(end, WalkEnd::Done(_));
        match self.stage {
            Stage::Around => self.around.ended(root, end),
            _ => self.columns.entry(root.clone()).or_default().is_whole = is_whole,
        }
        self.ended += 1;
        if self.octets > FOUND_OCTETS_MAX {
            return Step::Failed("it has more than is looked at");
        }
        if self.ended < self.walking.len() {
            return Step::Wait;
        }
        match self.stage {
            Stage::System => self.knows_system(end, library),
            _ if !self.waiting.is_empty() => Step::Walk,
            Stage::Tables => self.looks_around(),
            Stage::Around => Step::Done(Box::new(self.findings(library))),
        }
    }

    fn knows_system(&mut self, end: WalkEnd, library: &Library) -> Step {
        let system = self.columns.values().next().filter(|column| column.is_whole && !column.cells.is_empty());
        let Some(system) = system else {
            return Step::Failed(match end {
                WalkEnd::Refused(_) => "it rejected the credential",
                WalkEnd::Timeout => "it does not answer",
                _ => "it does not say what it is",
            });
        };
        let said = |arc: u32| system.cells.get(&[arc, 0][..]).cloned().unwrap_or_default();
        self.observed =
            Observed { description: said(1), object: said(2), contact: said(4), name: said(5), location: said(6) };
        let object = Oid::parse(&self.observed.object);
        if self.template.is_none() {
            let found = object.as_ref().and_then(|object| library.device_for(object));
            let found = found.map(|(name, _)| name).or_else(|| library.devices.contains_key(ANY).then_some(ANY));
            self.template = found.map(str::to_owned);
        }
        self.columns.clear();
        self.tables.extend(tables_of(library, self.template.as_deref(), object.as_ref()));
        let tables = self.tables.iter().filter_map(|name| library.tables.get(name));
        let columns: BTreeSet<Oid> = tables.flat_map(Table::columns).cloned().collect();
        self.waiting = columns.into_iter().collect();
        self.stage = Stage::Tables;
        if self.waiting.is_empty() { self.looks_around() } else { Step::Walk }
    }

    fn looks_around(&mut self) -> Step {
        self.stage = Stage::Around;
        self.waiting = around::columns();
        Step::Walk
    }

    fn findings(&self, library: &Library) -> Findings {
        let (around, around_broken) = self.around.found();
        let mut findings = Findings {
            observed: self.observed.clone(),
            template: self.template.clone(),
            around,
            around_broken,
            around_was_silent: self.around.was_silent,
            ..Findings::default()
        };
        for name in &self.tables {
            let Some(table) = library.tables.get(name) else { continue };
            let whole = |oid: &&Oid| self.columns.get(*oid).is_some_and(|column| column.is_whole);
            if table.columns().iter().all(whole) {
                findings.tables.push((name.clone(), self.rows(table)));
            } else {
                findings.broken.push(name.clone());
            }
        }
        findings
    }

    fn rows(&self, table: &Table) -> Vec<Walked> {
        let rows = table.row_column().and_then(|column| self.columns.get(column));
        let Some(rows) = rows else { return Vec::new() };
        rows.cells.keys().map(|index| self.row(table, index)).collect()
    }

    fn row(&self, table: &Table, index: &[u32]) -> Walked {
        let cell = |oid: &Oid| self.columns.get(oid).and_then(|column| column.cells.get(index)).map(|text| &**text);
        let dotted = || index.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
        let mut names = table.names.iter().filter_map(|name| match name {
            RowName::Column(oid) => cell(oid).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned),
            RowName::Index => Some(dotted()),
        });
        let speeds = table.speeds.iter().filter_map(|(oid, unit)| Some(cell(oid)?.parse::<f64>().ok()? * unit));
        let said = |name: &String, oid: &Oid| Some((name.clone(), cell(oid)?.to_owned()));
        Walked {
            index: index.to_vec(),
            name: names.next().unwrap_or_default(),
            second: names.next().unwrap_or_default(),
            mark: table.fields.get(MARK_FIELD).and_then(cell).unwrap_or_default().to_owned(),
            label: table.labels.iter().filter_map(cell).find(|text| !text.is_empty()).unwrap_or_default().to_owned(),
            speed: speeds.into_iter().find(|speed| *speed >= 1.0).map_or(0, |speed| speed as u64),
            fields: table.fields.iter().filter_map(|(name, oid)| said(name, oid)).collect(),
        }
    }
}

/// The tables that the templates of a device speak of.
fn tables_of(library: &Library, template: Option<&str>, object: Option<&Oid>) -> BTreeSet<String> {
    let Some(template) = template.and_then(|name| library.devices.get(name)) else { return BTreeSet::new() };
    let shown = template.graphs.iter().filter_map(|name| library.graphs.get(name)).flat_map(|graph| graph.data());
    let names: Vec<&str> = template.data.iter().map(String::as_str).chain(shown).collect();
    let is_for =
        |data: &&DataTemplate| matches!(data.source, Source::Snmp) && object.is_none_or(|object| data.is_for(object));
    let data = names.into_iter().filter_map(|name| library.data.get(name)).filter(is_for);
    data.filter_map(|data| data.table.clone()).collect()
}

/// A value as the fields of rows have it. What is no text is written as hexadecimal octets with colons between, as
/// addresses are.
fn text(value: &Value<'_>) -> String {
    match *value {
        Value::Integer(number) | Value::Integer64(number) => number.to_string(),
        Value::Counter32(number) | Value::Gauge32(number) | Value::TimeTicks(number) => number.to_string(),
        Value::Counter64(number) | Value::Unsigned64(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::ObjectId(oid) => oid.to_string().trim_start_matches('.').to_owned(),
        Value::IpAddress(octets) => std::net::Ipv4Addr::from(octets).to_string(),
        Value::OctetString(octets) => of_octets(octets),
        _ => String::new(),
    }
}

fn of_octets(octets: &[u8]) -> String {
    let ended = octets.strip_suffix(&[0]).unwrap_or(octets);
    match core::str::from_utf8(ended) {
        Ok(text) if !text.chars().any(|c| c.is_control() && !c.is_whitespace()) => text.trim().to_owned(),
        _ => octets.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().join(":"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::built_in;

    fn say(exploration: &mut Exploration, walk: usize, name: &str, value: Value<'_>) {
        let name: ObjectId = name.parse().unwrap();
        exploration.take(walk, &Varbind { name: name.as_oid(), value });
    }

    fn router() -> (Exploration, Vec<ObjectId>) {
        let mut exploration = Exploration::new(None, ["interfaces".to_owned()].into());
        assert_eq!(exploration.roots().len(), 1);
        let object: ObjectId = "1.3.6.1.4.1.9.1.1".parse().unwrap();
        say(&mut exploration, 0, "1.3.6.1.2.1.1.2.0", Value::ObjectId(object.as_oid()));
        say(&mut exploration, 0, "1.3.6.1.2.1.1.5.0", Value::OctetString(b"edge-1"));
        assert!(matches!(exploration.ended(0, WalkEnd::Done(2), built_in::library()), Step::Walk));
        let roots = exploration.roots();
        (exploration, roots)
    }

    fn walk_of(roots: &[ObjectId], column: &str) -> usize {
        roots.iter().position(|root| root.to_string().trim_start_matches('.') == column).unwrap()
    }

    #[test]
    fn rows_are_what_the_columns_say() {
        let (mut exploration, mut roots) = router();
        let mut columns = vec![
            ("1.3.6.1.2.1.2.2.1.1", Value::Integer(7)),
            ("1.3.6.1.2.1.2.2.1.2", Value::OctetString(b"GigabitEthernet0/7")),
            ("1.3.6.1.2.1.2.2.1.6", Value::OctetString(&[0, 1, 2, 0xfe, 4, 5])),
            ("1.3.6.1.2.1.31.1.1.1.1", Value::OctetString(b"Gi0/7")),
            ("1.3.6.1.2.1.31.1.1.1.15", Value::Gauge32(1000)),
            ("1.3.6.1.2.1.31.1.1.1.18", Value::OctetString(b"to the core")),
        ];
        let findings = loop {
            let mut last = Step::Wait;
            for (walk, root) in roots.clone().iter().enumerate() {
                let of_root = |(column, _): &(&str, Value<'_>)| *column == root.to_string().trim_start_matches('.');
                if let Some(at) = columns.iter().position(of_root) {
                    let (column, value) = columns.remove(at);
                    say(&mut exploration, walk, &format!("{column}.7"), value);
                }
                last = exploration.ended(walk, WalkEnd::Done(1), built_in::library());
            }
            match last {
                Step::Walk => roots = exploration.roots(),
                Step::Done(findings) => break findings,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(&*findings.observed.name, "edge-1");
        let (_, rows) = findings.tables.iter().find(|(name, _)| name == "interfaces").unwrap();
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((&row.index[..], &*row.name, &*row.second), (&[7][..], "Gi0/7", "GigabitEthernet0/7"));
        assert_eq!((&*row.mark, &*row.label, row.speed), ("00:01:02:fe:04:05", "to the core", 1_000_000_000));
        assert!(row.fields.contains(&("ifName".to_owned(), "Gi0/7".to_owned())));
    }

    #[test]
    fn a_table_that_broke_off_is_not_told() {
        let (mut exploration, mut roots) = router();
        let broken = walk_of(&roots, "1.3.6.1.2.1.2.2.1.2");
        let findings = loop {
            let mut last = Step::Wait;
            for walk in 0..roots.len() {
                let end = if walk == broken { WalkEnd::Timeout } else { WalkEnd::Done(0) };
                last = exploration.ended(walk, end, built_in::library());
            }
            match last {
                Step::Walk => roots = exploration.roots(),
                Step::Done(findings) => break findings,
                other => panic!("{other:?}"),
            }
        };
        assert!(findings.broken.contains(&"interfaces".to_owned()));
        assert!(findings.tables.iter().all(|(name, _)| name != "interfaces"));
    }

    #[test]
    fn one_that_does_not_answer_is_told() {
        let mut exploration = Exploration::new(None, BTreeSet::new());
        exploration.roots();
        let step = exploration.ended(0, WalkEnd::Timeout, built_in::library());
        assert!(matches!(step, Step::Failed("it does not answer")), "{step:?}");
    }
}
