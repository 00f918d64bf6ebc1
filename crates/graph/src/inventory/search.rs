//! Graphs by what stands in their titles, at once among a million.
//!
//! The titles lie one behind the other in small letters, and a search runs through all of them: a processor looks for a
//! word in gigabytes a second, so that 100,000 titles take about a millisecond, and nothing has to be kept up to date
//! but the titles themselves (measured in `examples/search.rs`).

use super::entry::{Change, Entry};
use super::{Inventory, NodeKind};
use crate::template::Library;
use memchr::memmem::Finder;
use std::collections::HashMap;

/// Octets of all titles together; graphs beyond it are not found, and counted.
pub const SEARCH_OCTETS_MAX: usize = u32::MAX as usize;
/// Words of one search; more are left out.
const WORDS_MAX: usize = 32;
/// Octets of one title.
const TITLE_OCTETS_MAX: usize = 1024;

/// What is searched.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Titles in small letters, each with a line end behind it; of those that are gone zeros are left.
    text: Vec<u8>,
    /// Where each title begins, and of which graph it is, in order.
    starts: Vec<(u32, u32)>,
    /// Where in `starts` a graph is.
    places: HashMap<u32, u32>,
    /// Titles that are gone.
    gone: usize,
    /// Graphs for which there is no room.
    pub left_out: u64,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Graphs: first those in which each word begins a word, then the others, in the order of their titles' age.
    pub graphs: Vec<u32>,
    /// How many there are in all.
    pub total: usize,
}

/// The words of a search: all of them must be there, those behind `-` must not.
struct Words<'q> {
    /// The longest one leads.
    wanted: Vec<Finder<'q>>,
    unwanted: Vec<Finder<'q>>,
}

impl Search {
    /// All graphs of an inventory.
    pub fn of(inventory: &Inventory, library: &Library) -> Search {
        let mut search = Search::default();
        for (id, _) in inventory.graphs().iter() {
            search.put(id, &inventory.title(library, id));
        }
        search
    }

    /// How many graphs can be found.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none can be.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Follows an entry that the inventory has applied.
    pub fn follow(&mut self, inventory: &Inventory, library: &Library, entry: &Entry) {
        for change in &entry.changes {
            match change {
                Change::Graph { id, .. } => self.again(inventory, library, *id),
                Change::Device { id, .. } | Change::Observed { device: id, .. } => {
                    for graph in inventory.graphs_of(*id) {
                        self.again(inventory, library, *graph);
                    }
                }
                Change::Row { id, .. } | Change::RowMoved { id, .. } => self.follow_row(inventory, library, *id),
                Change::Site { .. } | Change::SiteGone { .. } | Change::Template { .. } => {
                    self.follow_all(inventory, library);
                }
                Change::GraphGone { id } => self.remove(*id),
                Change::DeviceGone { .. } | Change::RowGone { .. } | Change::SourceGone { .. } => {
                    self.forget_gone(inventory, library);
                }
                _ => {}
            }
        }
        if self.gone > 1000 && self.gone > self.places.len() {
            self.close_up();
        }
    }

    fn follow_row(&mut self, inventory: &Inventory, library: &Library, row: u32) {
        let Some(device) = inventory.rows().get(row).map(|row| row.device) else { return };
        for graph in inventory.graphs_of(device) {
            let sources = inventory.graphs().get(*graph).map(|graph| &graph.sources[..]).unwrap_or_default();
            let of_row = |source: &u32| inventory.sources().get(*source).is_some_and(|s| s.row == Some(row));
            if sources.iter().any(of_row) {
                self.again(inventory, library, *graph);
            }
        }
    }

    fn follow_all(&mut self, inventory: &Inventory, library: &Library) {
        for (id, _) in inventory.graphs().iter() {
            self.again(inventory, library, id);
        }
    }

    /// Graphs went with something else, or lost their first data source.
    fn forget_gone(&mut self, inventory: &Inventory, library: &Library) {
        let gone: Vec<u32> = self.places.keys().copied().filter(|id| !inventory.graphs().has(*id)).collect();
        gone.into_iter().for_each(|id| self.remove(id));
        self.follow_all(inventory, library);
    }

    fn again(&mut self, inventory: &Inventory, library: &Library, id: u32) {
        let title = small(&inventory.title(library, id));
        if self.title(id) != Some(title.as_bytes()) {
            self.put(id, &title);
        }
    }

    /// The title of a graph in small letters.
    fn title(&self, id: u32) -> Option<&[u8]> {
        let (start, _) = *self.starts.get(*self.places.get(&id)? as usize)?;
        let rest = self.text.get(start as usize..)?;
        rest.split(|octet| *octet == b'\n').next()
    }

    /// The title of a graph in small letters, if all of it is known.
    pub fn whole_title(&self, id: u32) -> Option<&str> {
        let title = core::str::from_utf8(self.title(id)?).ok()?;
        (title.len() < TITLE_OCTETS_MAX / 4).then_some(title)
    }

    /// Puts a title, or another one, for a graph.
    pub fn put(&mut self, id: u32, title: &str) {
        self.remove(id);
        let title = small(title);
        if self.text.len() + title.len() + 1 > SEARCH_OCTETS_MAX {
            self.left_out += 1;
            return;
        }
        self.places.insert(id, self.starts.len() as u32);
        self.starts.push((self.text.len() as u32, id));
        self.text.extend_from_slice(title.as_bytes());
        self.text.push(b'\n');
    }

    /// Forgets a graph.
    pub fn remove(&mut self, id: u32) {
        let Some(place) = self.places.remove(&id) else { return };
        let Some((start, _)) = self.starts.get(place as usize).copied() else { return };
        for octet in self.text[start as usize..].iter_mut().take_while(|octet| **octet != b'\n') {
            *octet = 0;
        }
        self.gone += 1;
    }

    /// Takes out what titles that are gone have left.
    fn close_up(&mut self) {
        let mut closed = Search { left_out: self.left_out, ..Search::default() };
        for (place, (_, id)) in self.starts.iter().enumerate() {
            if self.places.get(id).is_some_and(|there| *there as usize == place) {
                let title = self.title(*id).map(|title| String::from_utf8_lossy(title).into_owned());
                closed.put(*id, &title.unwrap_or_default());
            }
        }
        *self = closed;
    }

    /// Searches for words, or for phrases in quotes, all of which must stand in the title; what has a `-` before it
    /// must not. Capitals do not matter. Of what is found the first `limit` are listed, all are counted.
    pub fn find(&self, query: &str, limit: usize) -> Found {
        self.find_among(query, limit, |_| true)
    }

    /// Searches among some of the graphs.
    pub fn find_among(&self, query: &str, limit: usize, among: impl Fn(u32) -> bool) -> Found {
        let query = small(query);
        let words = Words::of(&query);
        let mut found = Lists { first: Vec::new(), then: Vec::new(), total: 0, limit };
        match words.wanted.split_first() {
            Some((lead, others)) => self.run(lead, others, &words.unwanted, &among, &mut found),
            None => {
                for (place, (start, id)) in self.starts.iter().enumerate() {
                    if !among(*id) || !self.is_there(place, *id) {
                        continue;
                    }
                    let title = self.line(*start);
                    if !words.unwanted.iter().any(|word| word.find(title).is_some()) {
                        found.add(*id, true);
                    }
                }
            }
        }
        found.found()
    }

    fn run(
        &self,
        lead: &Finder<'_>,
        others: &[Finder<'_>],
        unwanted: &[Finder<'_>],
        among: &impl Fn(u32) -> bool,
        found: &mut Lists,
    ) {
        let (mut from, mut place) = (0, 0);
        while let Some(at) = self.text.get(from..).and_then(|rest| lead.find(rest)) {
            let at = from + at;
            place += gallop(&self.starts[place..], at as u32);
            let Some((start, id)) = self.starts.get(place).copied() else { break };
            let title = self.line(start);
            from = start as usize + title.len() + 1;
            let all = among(id) && others.iter().all(|word| word.find(title).is_some());
            if all && !unwanted.iter().any(|word| word.find(title).is_some()) {
                let begins = [lead].into_iter().chain(others).all(|word| begins_word(title, word));
                found.add(id, begins);
            }
        }
    }

    fn is_there(&self, place: usize, id: u32) -> bool {
        self.places.get(&id).is_some_and(|there| *there as usize == place)
    }

    fn line(&self, start: u32) -> &[u8] {
        let rest = self.text.get(start as usize..).unwrap_or_default();
        rest.get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len())).unwrap_or_default()
    }
}

/// How far it is to the last start that is not behind `at`: near ones are found first.
fn gallop(starts: &[(u32, u32)], at: u32) -> usize {
    let mut step = 1;
    while starts.get(step).is_some_and(|(start, _)| *start <= at) {
        step *= 2;
    }
    let (low, high) = (step / 2, step.min(starts.len()));
    low + starts[low..high].partition_point(|(start, _)| *start <= at).saturating_sub(1)
}

/// Whether a word stands in a title where a word begins.
fn begins_word(title: &[u8], word: &Finder<'_>) -> bool {
    let mut from = 0;
    while let Some(at) = title.get(from..).and_then(|rest| word.find(rest)).map(|at| from + at) {
        let before = at.checked_sub(1).and_then(|before| title.get(before));
        if before.is_none_or(|octet| !octet.is_ascii_alphanumeric() && *octet < 0x80) {
            return true;
        }
        from = at + 1;
    }
    false
}

struct Lists {
    first: Vec<u32>,
    then: Vec<u32>,
    total: usize,
    limit: usize,
}

impl Lists {
    fn add(&mut self, id: u32, begins: bool) {
        self.total += 1;
        let list = if begins { &mut self.first } else { &mut self.then };
        if list.len() < self.limit {
            list.push(id);
        }
    }

    fn found(mut self) -> Found {
        self.first.extend(self.then);
        self.first.truncate(self.limit);
        Found { graphs: self.first, total: self.total }
    }
}

impl<'q> Words<'q> {
    fn of(query: &'q str) -> Words<'q> {
        let (mut wanted, mut unwanted, mut rest) = (Vec::new(), Vec::new(), query.trim_start());
        while !rest.is_empty() && wanted.len() + unwanted.len() < WORDS_MAX {
            let (not, word) = match rest.strip_prefix('-') {
                Some(word) if !word.starts_with(' ') && !word.is_empty() => (true, word),
                _ => (false, rest),
            };
            let (word, behind) = match word.strip_prefix('"') {
                Some(phrase) => phrase.split_once('"').unwrap_or((phrase, "")),
                None => word.split_once(' ').unwrap_or((word, "")),
            };
            if !word.is_empty() {
                if not { &mut unwanted } else { &mut wanted }.push(word);
            }
            rest = behind.trim_start();
        }
        wanted.sort_by_key(|word: &&str| core::cmp::Reverse(word.len()));
        let finders = |words: Vec<&'q str>| words.into_iter().map(|word| Finder::new(word.as_bytes())).collect();
        Words { wanted: finders(wanted), unwanted: finders(unwanted) }
    }
}

/// In small letters, in one line, not longer than titles may be, without zeros.
fn small(title: &str) -> String {
    let end = (0..=title.len().min(TITLE_OCTETS_MAX)).rev().find(|at| title.is_char_boundary(*at)).unwrap_or(0);
    let line = |c: char| if c.is_control() { ' ' } else { c };
    title[..end].chars().map(line).flat_map(char::to_lowercase).collect()
}

impl Inventory {
    /// The graphs of a node that are wanted, at most so many: a graph, those of a device or a site, those that a rule
    /// takes.
    pub fn graphs_of_node(&self, node: &NodeKind, limit: usize, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
        let wanted = |graph: &u32| wanted(*graph);
        match node {
            NodeKind::Folder { .. } => Vec::new(),
            NodeKind::Graph { graph } => Some(*graph).filter(wanted).into_iter().take(limit).collect(),
            NodeKind::Device { device, .. } => {
                self.graphs_of(*device).iter().copied().filter(wanted).take(limit).collect()
            }
            NodeKind::Site { site } => {
                let devices = self.devices().iter().filter(|(_, device)| device.site == Some(*site));
                devices.flat_map(|(id, _)| self.graphs_of(id).iter().copied()).filter(wanted).take(limit).collect()
            }
            NodeKind::Rule { filter, .. } => {
                let all = self.graphs().iter().map(|(id, _)| id).filter(wanted);
                all.filter(|id| filter.takes(self, *id)).take(limit).collect()
            }
        }
    }
}
