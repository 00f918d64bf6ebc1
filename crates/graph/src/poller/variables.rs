//! The variables of a device, as requests carry them: encoded once.

use super::Source;
use core::ops::Range;
use trunkline_wire::snmp::{Value, Varbinds, write_varbind};

/// Octets that a value takes in an answer beyond the NULL of the request: those of the largest Counter64.
const VALUE_OCTETS: usize = 9;

/// Encodings one behind the other, and what belongs to which data source.
#[derive(Debug, Default)]
pub(super) struct Variables {
    octets: Vec<u8>,
    ends: Vec<u32>,
    /// Each data source, and the end of its variables.
    sources: Vec<(u32, u32)>,
    /// The data source of each variable, by its place in `sources`.
    source_of: Vec<u32>,
}

impl Variables {
    pub(super) fn new(sources: &[Source]) -> Variables {
        let mut variables = Variables::default();
        for (place, source) in sources.iter().enumerate() {
            for name in &source.names {
                write_varbind(name.as_oid(), &Value::Null, &mut variables.octets);
                variables.ends.push(variables.octets.len() as u32);
                variables.source_of.push(place as u32);
            }
            variables.sources.push((source.id, variables.ends.len() as u32));
        }
        variables.octets.shrink_to_fit();
        variables
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn source_of(&self, variable: u32) -> u32 {
        self.source_of[variable as usize]
    }

    pub(super) fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// The number of a data source, and its variables.
    pub(super) fn source(&self, place: usize) -> (u32, Range<usize>) {
        let start = place.checked_sub(1).map_or(0, |before| self.sources[before].1);
        let (id, end) = self.sources[place];
        (id, start as usize..end as usize)
    }

    /// The encoding of a variable without a value.
    pub(super) fn varbind(&self, variable: u32) -> &[u8] {
        let at = variable as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.octets[start as usize..self.ends[at] as usize]
    }

    /// The contents octets of its name.
    pub(super) fn name(&self, variable: u32) -> &[u8] {
        match self.varbind(variable) {
            [_, 0..=0x7f, _, length, rest @ ..] => &rest[..usize::from(*length)],
            long => Varbinds::new(long).next().and_then(Result::ok).map_or(&[], |varbind| varbind.name.octets()),
        }
    }

    /// Octets that it takes in an answer, at most as a number.
    pub(super) fn answer_octets(&self, variable: u32) -> usize {
        self.varbind(variable).len() + VALUE_OCTETS
    }
}
