//! Records that several nodes make of one ledger, each by itself and with the same octets: how they are made and where
//! a file of them ends are entries ([`Recording`], `Filed`), and all times that files tell are those of entries.

use super::cursor::Open;
use super::series::{End, Form, Settings, part};
use crate::account::{Effect, Entry, GoesOn, Octets, Recording};
use crate::cdr::{Cuts, Node};
use core::net::{IpAddr, Ipv4Addr};
use trunkline_wire::cdr::file::Closure;

/// How they are made now; none before the first entry that says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    pub recording: Option<Recording>,
    /// Where one node made them alone until now, how far they had come then.
    alone: Option<GoesOn>,
}

/// A place in the ledger where the open file ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The file that it is about; none is any that is open.
    pub file: Option<u32>,
    pub closure: Closure,
    pub at: i64,
    /// What the cursor says then.
    pub note: Vec<u8>,
    /// How files are made from then on.
    pub settings: Settings,
}

impl Turn {
    /// What it makes of the open file, or of the next one, whose running count is this; none where that file has ended
    /// already, as two leaders may have said of the same one.
    pub fn of(&self, own: u32) -> Option<End> {
        let Turn { closure, at, .. } = *self;
        let Some(file) = self.file else { return Some(End { closure, at, next: None }) };
        // Counts begin again after the last one.
        let ahead = file.wrapping_sub(own) as i32;
        if ahead > 0 {
            tracing::error!(
                "charging: record file {file} ends by the ledger, and the one here is {own}: it ends, too, and file {} \
                 is the next",
                file.wrapping_add(1)
            );
        }
        (ahead >= 0).then(|| End { closure, at, next: Some(file.wrapping_add(1)) })
    }
}

impl Way {
    /// Of the end of a note; one that ends without it is that of a node that made records alone.
    pub fn read(mut octets: &[u8], alone: GoesOn) -> Option<Way> {
        if octets.is_empty() {
            return Some(Way { recording: None, alone: Some(alone) });
        }
        let (recording, alone) = Octets::take(&mut octets)?;
        octets.is_empty().then_some(Way { recording, alone })
    }

    /// Appends it to a note.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.recording.put(out);
        self.alone.put(out);
    }

    /// What one node made alone, as long as no entry says how several do.
    pub fn alone(&self) -> Option<GoesOn> {
        self.alone.filter(|_| self.recording.is_none())
    }

    /// Whether the fold of these records began with the first entry.
    pub fn is_from_the_first(&self) -> bool {
        self.recording.as_ref().is_none_or(|recording| recording.goes_on.is_some())
    }

    /// That records from an entry on go on from what this node has.
    fn follows(&self, recording: &Recording, entry: u64) -> Result<(), String> {
        let before = self.recording.as_ref().map_or(self.alone, |known| known.goes_on);
        match recording.goes_on {
            goes_on if goes_on == before => Ok(()),
            Some(_) => Err(needs_copy(entry)),
            None => Err("the folder of records is another ledger's".to_owned()),
        }
    }

    /// How files are made.
    pub fn settings(&self, own: &Settings) -> Settings {
        let Some(recording) = &self.recording else { return own.clone() };
        let address = recording.address.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let forms =
            [(recording.ber, Form::Ber), (recording.csv, Form::Csv), (own.forms.contains(&Form::Rows), Form::Rows)];
        Settings {
            node: Node::new(&recording.node, address),
            forms: forms.into_iter().filter_map(|(wanted, form)| wanted.then_some(form)).collect(),
            ..own.clone()
        }
    }
}

impl Recording {
    /// Of what one node is set up with.
    pub fn of(settings: &Settings, cuts: Cuts) -> Recording {
        Recording {
            node: settings.node.id().into(),
            address: settings.node.address.to_string().into(),
            ber: settings.forms.contains(&Form::Ber),
            csv: settings.forms.contains(&Form::Csv),
            cut_octets: cuts.octets,
            cut_seconds: cuts.seconds,
            cut_services: cuts.services,
            goes_on: None,
        }
    }
}

impl Way {
    /// What an entry says of the file that is open; the note is yet to be made.
    pub fn take(&mut self, entry: &Entry, own: &Settings) -> Result<Option<Turn>, String> {
        let (mut file, mut closure, mut turns) = (None, Closure::Normal, false);
        for effect in &entry.effects {
            match effect {
                Effect::Recording { recording } => {
                    self.follows(recording, entry.sequence)?;
                    self.recording = Some(recording.clone());
                    (file, turns) = (None, true);
                }
                Effect::Filed { file: which, closure: why } => {
                    (file, closure, turns) = (Some(*which), Closure::from_number(*why), true);
                }
                _ => {}
            }
        }
        let turn = Turn { file, closure, at: entry.at, note: Vec::new(), settings: self.settings(own) };
        Ok(turns.then_some(turn))
    }
}

/// Whether records begin with an entry.
///
/// # Errors
/// They go on from what is not here.
pub(super) fn begins(entry: &Entry) -> Result<bool, String> {
    let said = entry.effects.iter().find_map(|effect| match effect {
        Effect::Recording { recording } => Some(recording.goes_on),
        _ => None,
    });
    match said {
        Some(Some(_)) => Err(needs_copy(entry.sequence)),
        said => Ok(said.is_some()),
    }
}

pub(super) fn needs_copy(entry: u64) -> String {
    format!(
        "records of this ledger were begun before entry {entry}, and this folder has not what they go on from: this \
         node needs a copy of another node's folder of records, too"
    )
}

/// A file that is open has the forms to its end with which it began: rows are each node's own, and one node by itself
/// may have had others.
pub(super) fn fit(forms: &mut Vec<Form>, open: Option<&Open>, names: &[String]) {
    // One that is being closed says nothing of the next.
    let Some(open) = open.filter(|open| open.closing.is_none()) else { return };
    let there = |form: &Form| names.contains(&part(open.count, *form));
    if Form::ALL.iter().filter(|form| there(form)).count() == open.octets.len() {
        *forms = Form::ALL.into_iter().filter(there).collect();
        return;
    }
    if open.octets.len() == forms.len() {
        return;
    }
    forms.retain(|form| *form != Form::Rows);
    if open.octets.len() > forms.len() {
        forms.push(Form::Rows);
    }
}
