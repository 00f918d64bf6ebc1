//! Records that several nodes make of one ledger, each by itself and with the same octets: how they are made and where
//! a file of them ends are entries ([`Recording`], `Filed`), and all times that files tell are those of entries.

use super::cursor::Open;
use super::series::{Form, Settings};
use crate::account::{Effect, Entry, Octets, Recording};
use crate::cdr::{Cuts, Node};
use core::net::{IpAddr, Ipv4Addr};
use trunkline_wire::cdr::file::Closure;

/// How they are made now; none before the first entry that says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    pub recording: Option<Recording>,
    /// Whether one node made them alone until now.
    alone: bool,
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

impl Way {
    /// Of the end of a note.
    pub fn read(mut octets: &[u8]) -> Option<Way> {
        let from = &mut octets;
        let recording = if from.is_empty() { None } else { Some(Recording::take(from)?) };
        Some(Way { alone: recording.is_none(), recording })
    }

    /// Appends it to a note.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.recording.iter().for_each(|recording| recording.put(out));
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
            goes_on: false,
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
                    if self.recording.is_none() && !recording.goes_on && self.alone {
                        return Err("the folder of records is another ledger's".to_owned());
                    }
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
        Some(true) => Err(needs_copy(entry.sequence)),
        said => Ok(said.is_some()),
    }
}

pub(super) fn needs_copy(entry: u64) -> String {
    format!(
        "records of this ledger were begun before entry {entry}, and there is no cursor of them here: this node needs \
         a copy of another node's folder of records, too"
    )
}

/// Rows are each node's own: a file that is open has them to its end, or has them not.
pub(super) fn fit(forms: &mut Vec<Form>, open: Option<&Open>) {
    let Some(open) = open.filter(|open| open.octets.len() != forms.len()) else { return };
    forms.retain(|form| *form != Form::Rows);
    if open.octets.len() > forms.len() {
        forms.push(Form::Rows);
    }
}
