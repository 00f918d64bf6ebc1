//! What a fresh walk of a table means for the rows that are known: found at another index, gone, back, new, renamed.
//!
//! **A row is known by its name**, and its series stay with the name whatever the index is. Where several rows of a
//! walk have the same name (some agents give one ifName twice), a second name and what is built in (ifDescr,
//! ifPhysAddress) tell them apart; once a name was shared it alone never counts again. **Renamed** is a row that has
//! another name, but the same index, and the same address or label, which no other row has before or after. What is
//! left over is new or gone. So series never swap between rows, whatever numbers the device gives them; the exception
//! are rows that are the same in all they say, which are told ([`Remap::alike`]) and go by their index.

use super::entry::Change;
use super::order::Draft;
use super::shape::{Identity, Kind, Row};
use super::{Inventory, NAME_OCTETS_MAX, NOTE_OCTETS_MAX};
use crate::template::OID_ARCS_MAX;
use std::collections::{HashMap, HashSet};

/// Fields of a row; further ones are left out.
const FIELDS_MAX: usize = 64;
/// Rows of one walk.
// Limit: rows of one table of a device
// Beyond: further rows are left out
// Seen in: the device's page
pub const WALK_ROWS_MAX: usize = 100_000;

/// A row as it was walked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Its index.
    pub index: Vec<u32>,
    /// Its name (ifName, else ifDescr).
    pub name: String,
    /// Another name (ifDescr), empty if there is none.
    pub second: String,
    /// What is built in (ifPhysAddress), empty if there is nothing.
    pub mark: String,
    /// What people wrote about it (ifAlias).
    pub label: String,
    /// Bit/s; 0 is unknown.
    pub speed: u64,
    /// What else is known, by the names of the table's fields.
    pub fields: Vec<(String, String)>,
}

/// What a walk means.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remap {
    /// What becomes of the inventory.
    pub changes: Vec<Change>,
    /// Rows found at another index than before.
    pub moved: Vec<u32>,
    /// Rows that were not there and are again.
    pub back: Vec<u32>,
    /// Rows that are not there any more.
    pub gone: Vec<u32>,
    /// Rows with a new name, and their former one.
    pub renamed: Vec<(u32, Box<str>)>,
    /// Rows that are new.
    pub new: Vec<u32>,
    /// Names that several rows have which are alike in all they say: these go by their index.
    pub alike: Vec<String>,
    /// Rows that were left out: there are more than [`WALK_ROWS_MAX`], or their index is none.
    pub left_out: usize,
}

/// Compares a whole walk of a table of a device with what is known. A walk that was cut is not to be given here: what
/// it does not have would be gone.
pub fn remap(inventory: &Inventory, device: u32, table: &str, walk: &[Walked]) -> Remap {
    let mut draft = Draft::new(inventory);
    let table = draft.named(Kind::Table, table);
    let fits = |walked: &&Walked| (1..=OID_ARCS_MAX).contains(&walked.index.len());
    let rows: Vec<&Walked> = walk.iter().filter(fits).take(WALK_ROWS_MAX).collect();
    let (left_out, walk) = (walk.len() - rows.len(), &rows[..]);
    let known = known(inventory, device, table);
    let mut matching = Matching::new(&known, walk);
    matching.by_name();
    matching.by_place();
    let mut remap = Remap { left_out, alike: matching.alike(), ..Remap::default() };
    let mut names = Names { taken: known.iter().map(|(_, row)| row.name.clone()).collect(), next: HashMap::new() };
    for (at, walked) in walk.iter().enumerate() {
        let found = matching.found[at].map(|place| known[place]);
        let name = match found {
            Some((_, row)) if row.identity.name.as_ref() == clean(&walked.name) => row.name.clone(),
            _ => names.unique(&matching.shown(at)),
        };
        names.taken.insert(name.clone());
        put(&mut remap, &mut draft, found, &Named { device, table, name, shared: matching.shared(at), walked });
    }
    for (place, (id, row)) in known.iter().enumerate() {
        if !matching.taken[place] && row.index.is_some() {
            remap.gone.push(*id);
            draft.change(Change::RowMoved { id: *id, index: None });
        }
    }
    remap.changes = draft.changes();
    remap
}

fn known(inventory: &Inventory, device: u32, table: u32) -> Vec<(u32, &Row)> {
    let rows = inventory.rows_of(device).iter().filter_map(|id| Some((*id, inventory.rows().get(*id)?)));
    rows.filter(|(_, row)| row.table == table).collect()
}

/// A name without blanks at its ends and control characters; rows without any are called by their index.
fn clean(name: &str) -> &str {
    name.trim_matches(|c: char| c.is_whitespace() || c.is_control())
}

struct Named<'w> {
    device: u32,
    table: u32,
    name: Box<str>,
    shared: bool,
    walked: &'w Walked,
}

/// The change of a row, if there is any.
fn put(remap: &mut Remap, draft: &mut Draft<'_>, found: Option<(u32, &Row)>, named: &Named<'_>) {
    let walked = named.walked;
    let fields = walked
        .fields
        .iter()
        .take(FIELDS_MAX)
        .map(|(name, text)| (draft.named(Kind::Field, name), cut(text, NOTE_OCTETS_MAX).into()));
    let fields: Vec<(u32, Box<str>)> = fields.collect();
    let shared = named.shared || found.is_some_and(|(_, row)| row.identity.shared);
    let row = Row {
        device: named.device,
        table: named.table,
        name: named.name.clone(),
        identity: Identity {
            name: cut(clean(&walked.name), NOTE_OCTETS_MAX).into(),
            second: cut(&walked.second, NOTE_OCTETS_MAX).into(),
            mark: cut(&walked.mark, NOTE_OCTETS_MAX).into(),
            shared,
        },
        label: cut(&walked.label, NOTE_OCTETS_MAX).into(),
        index: Some(walked.index.as_slice().into()),
        speed: walked.speed,
        fields,
    };
    let Some((id, before)) = found else {
        remap.new.push(draft.row(row));
        return;
    };
    match &before.index {
        None => remap.back.push(id),
        Some(index) if **index != *walked.index => remap.moved.push(id),
        Some(_) => {}
    }
    if before.identity.name != row.identity.name {
        remap.renamed.push((id, before.name.clone()));
    }
    if (Row { index: before.index.clone(), ..row.clone() }) != *before {
        draft.change(Change::Row { id, row: Box::new(row) });
    } else if before.index != row.index {
        draft.change(Change::RowMoved { id, index: row.index });
    }
}

/// The beginning of a text, at most so many octets.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// The names of rows, and how far numbers of each were tried: names are taken, never given back.
struct Names {
    taken: HashSet<Box<str>>,
    next: HashMap<String, u32>,
}

impl Names {
    /// A name that none of the others is, as long as names may be.
    fn unique(&mut self, name: &str) -> Box<str> {
        let plain = cut(name, NAME_OCTETS_MAX).trim_end();
        if !self.taken.contains(plain) {
            return plain.into();
        }
        let begin = cut(name, NAME_OCTETS_MAX - 12).trim_end();
        let next = self.next.entry(begin.to_owned()).or_insert(2);
        loop {
            // There are fewer names than numbers.
            let numbered = format!("{begin} #{next}").into_boxed_str();
            *next = next.wrapping_add(1);
            if !self.taken.contains(&numbered) {
                return numbered;
            }
        }
    }
}

/// Which known row each walked one is.
struct Matching<'w> {
    known: &'w [(u32, &'w Row)],
    walk: &'w [&'w Walked],
    /// How often a name is in the walk.
    names: HashMap<&'w str, usize>,
    /// How often a whole identity is, and one without its label.
    wholes: HashMap<[&'w str; 4], usize>,
    unlabelled: HashMap<[&'w str; 3], usize>,
    found: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'w> Matching<'w> {
    fn new(known: &'w [(u32, &'w Row)], walk: &'w [&'w Walked]) -> Self {
        let (mut names, mut wholes, mut unlabelled) = (HashMap::new(), HashMap::new(), HashMap::new());
        for walked in walk {
            *names.entry(clean(&walked.name)).or_default() += 1;
            *wholes.entry(whole(walked)).or_default() += 1;
            *unlabelled.entry(without_label(walked)).or_default() += 1;
        }
        let (found, taken) = (vec![None; walk.len()], vec![false; known.len()]);
        Matching { known, walk, names, wholes, unlabelled, found, taken }
    }

    /// Whether another row of the walk has the same name.
    fn shared(&self, at: usize) -> bool {
        self.names.get(clean(&self.walk[at].name)).is_some_and(|count| *count > 1)
    }

    fn is_alike(&self, at: usize) -> bool {
        self.wholes.get(&whole(self.walk[at])).is_some_and(|count| *count > 1)
    }

    fn alike(&self) -> Vec<String> {
        let alike = (0..self.walk.len()).filter(|at| self.is_alike(*at));
        let mut names: Vec<String> = alike.map(|at| clean(&self.walk[at].name).to_owned()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn take(&mut self, at: usize, place: usize) {
        self.found[at] = Some(place);
        self.taken[place] = true;
    }

    /// Rows of the same name. Where a name is or was shared, all that the row says must be the same.
    fn by_name(&mut self) {
        let places = Places::new(self.known);
        for at in 0..self.walk.len() {
            let walked = self.walk[at];
            let Some(named) = places.names.get(clean(&walked.name)) else { continue };
            // A table may have a hundred thousand rows of one name: only those are looked at that say the same.
            let likely = match named.len() {
                1 => Some(named),
                _ if self.is_alike(at) => places.indexes.get(&(without_label(walked), &walked.index[..])),
                _ if self.is_told_by_label(at) => places.wholes.get(&whole(walked)),
                _ => places.unlabelled.get(&without_label(walked)),
            };
            let free = likely.into_iter().flatten().copied().filter(|place| !self.taken[*place]);
            let mut same = free.filter(|place| self.is_same(at, *place, named.len()));
            if let (Some(place), None) = (same.next(), same.next()) {
                self.take(at, place);
            }
        }
    }

    /// Whether a walked row is a known one of the same name, of which there are `known`.
    fn is_same(&self, at: usize, place: usize, known: usize) -> bool {
        let (walked, row) = (&self.walk[at], self.known[place].1);
        let says = *row.identity.second == *walked.second && *row.identity.mark == *walked.mark;
        if self.is_alike(at) {
            return says && row.index.as_deref() == Some(&walked.index[..]);
        }
        match row.identity.shared || self.shared(at) || known > 1 {
            true => says && (!self.is_told_by_label(at) || *row.label == *walked.label),
            false => true,
        }
    }

    /// Two that differ in the label alone are told apart by it.
    fn is_told_by_label(&self, at: usize) -> bool {
        self.unlabelled.get(&without_label(self.walk[at])).is_some_and(|count| *count > 1)
    }

    /// Rows that are where another one was which is not there any more, and that have its address or its label.
    fn by_place(&mut self) {
        let left: HashMap<&[u32], usize> = (0..self.known.len())
            .filter(|place| !self.taken[*place])
            .filter_map(|place| Some((self.known[place].1.index.as_deref()?, place)))
            .collect();
        let names: HashSet<&str> = self.known.iter().map(|(_, row)| &*row.identity.name).collect();
        let (marks, labels) = (self.count(|w| &w.mark, |r| &r.identity.mark), self.count(|w| &w.label, |r| &r.label));
        for at in 0..self.walk.len() {
            let walked = &self.walk[at];
            let Some(place) = left.get(&walked.index[..]).copied().filter(|_| self.found[at].is_none()) else {
                continue;
            };
            let row = self.known[place].1;
            let lonely = !self.shared(at) && !row.identity.shared;
            let once = |text: &str, counts: &HashMap<&str, (usize, usize)>| counts.get(text) == Some(&(1, 1));
            let mark = !walked.mark.is_empty() && *row.identity.mark == *walked.mark && once(&walked.mark, &marks);
            let unmarked = walked.mark.is_empty() && row.identity.mark.is_empty();
            let label = !walked.label.is_empty() && *row.label == *walked.label && once(&walked.label, &labels);
            // What had the new name before, though it is not here now, is the one that has it.
            let named = names.contains(clean(&walked.name));
            if lonely && !named && (mark || (unmarked && label)) {
                self.take(at, place);
            }
        }
    }

    /// How often a text is in the walk and among the known rows.
    fn count(
        &self,
        walked: impl Fn(&'w Walked) -> &'w str,
        known: impl Fn(&'w Row) -> &'w str,
    ) -> HashMap<&'w str, (usize, usize)> {
        let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
        for row in self.walk {
            counts.entry(walked(row)).or_default().0 += 1;
        }
        for (_, row) in self.known {
            counts.entry(known(row)).or_default().1 += 1;
        }
        counts
    }

    /// What a new row is called: its name, with the second one if others have it, too.
    fn shown(&self, at: usize) -> String {
        let walked = &self.walk[at];
        let index = || walked.index.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
        let control = |c: char| if c.is_control() { ' ' } else { c };
        let name: String = clean(&walked.name).chars().map(control).collect();
        match (name.is_empty(), self.shared(at), clean(&walked.second)) {
            (true, ..) => index(),
            (false, true, second) if !second.is_empty() && second != name => {
                let second: String = second.chars().map(control).collect();
                format!("{name} ({second})")
            }
            _ => name,
        }
    }
}

/// The known rows, by all that they may be found by.
struct Places<'w> {
    names: HashMap<&'w str, Vec<usize>>,
    unlabelled: HashMap<[&'w str; 3], Vec<usize>>,
    wholes: HashMap<[&'w str; 4], Vec<usize>>,
    indexes: HashMap<([&'w str; 3], &'w [u32]), Vec<usize>>,
}

impl<'w> Places<'w> {
    fn new(known: &'w [(u32, &'w Row)]) -> Self {
        let (names, unlabelled, wholes) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut places = Places { names, unlabelled, wholes, indexes: HashMap::new() };
        for (place, (_, row)) in known.iter().enumerate() {
            let Identity { name, second, mark, .. } = &row.identity;
            let without_label: [&str; 3] = [name, second, mark];
            places.names.entry(name).or_default().push(place);
            places.unlabelled.entry(without_label).or_default().push(place);
            places.wholes.entry([name, second, mark, &row.label]).or_default().push(place);
            if let Some(index) = &row.index {
                places.indexes.entry((without_label, index)).or_default().push(place);
            }
        }
        places
    }
}

/// All that a row says of itself but its label.
fn without_label(walked: &Walked) -> [&str; 3] {
    [clean(&walked.name), &walked.second, &walked.mark]
}

/// All that a row says of itself.
fn whole(walked: &Walked) -> [&str; 4] {
    [clean(&walked.name), &walked.second, &walked.mark, &walked.label]
}
