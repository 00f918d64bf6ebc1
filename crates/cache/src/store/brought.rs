//! Values that are brought to a change, and those that are made of an old one and a new one.

use super::decision::Value;
use super::draft::{Body, Draft};
use super::large::{Charged, LargeValue};
use super::rules::Refused;
use super::seen::Seen;
use super::shared::Store;
use super::writer::Own;
use std::sync::Arc;

/// The value that was handed in.
pub enum Handed<'a> {
    Octets(&'a [u8]),
    Draft(Vec<u8>, #[expect(dead_code, reason = "it gives back when it is dropped")] Charged),
    Large(Arc<LargeValue>),
}

/// A value as it is put.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    Parts([&'a [u8]; 2]),
    Large(&'a Arc<LargeValue>),
    /// The same large value as before.
    Same([u8; 16]),
}

/// What a large value is made of.
pub enum Parts {
    Built(Vec<u8>),
    Append(Before),
    Prepend(Before),
}

/// The value of the old item.
pub enum Before {
    Small(Vec<u8>),
    Large(Arc<LargeValue>),
}

impl Own {
    /// What is too large for a segment goes into blocks.
    pub fn handed<'v>(&mut self, store: &Store, key: &[u8], value: Value<'v>) -> Result<Handed<'v>, Refused> {
        Ok(match value {
            Value::None => Handed::Octets(&[]),
            Value::Octets(octets) if octets.len() <= store.geometry.value_octets_max() => Handed::Octets(octets),
            Value::Octets(octets) => {
                store.fits(key.len(), octets.len() as u64)?;
                let mut draft = Draft::new(store, self, octets.len() as u64)?;
                draft.append_in(store, self, octets)?;
                draft.into_handed()
            }
            Value::Draft(draft) => draft.into_handed(),
        })
    }

    pub fn make_large(&mut self, store: &Store, parts: Parts, handed: &Handed<'_>) -> Result<Arc<LargeValue>, Refused> {
        let nothing = Before::Small(Vec::new());
        let handed = match handed {
            Handed::Octets(octets) => Before::Small(octets.to_vec()),
            Handed::Draft(octets, _) => Before::Small(octets.clone()),
            Handed::Large(value) => Before::Large(Arc::clone(value)),
        };
        let parts = match parts {
            Parts::Built(octets) => [Before::Small(octets), nothing],
            Parts::Append(before) => [before, handed],
            Parts::Prepend(before) => [handed, before],
        };
        let mut draft = Draft::new(store, self, parts.iter().map(Before::octets).sum())?;
        for part in &parts {
            let mut at = 0;
            while !part.piece(at).is_empty() {
                draft.append_in(store, self, part.piece(at))?;
                at += part.piece(at).len() as u64;
            }
        }
        match draft.body {
            Body::Large(value) => Ok(Arc::new(value)),
            Body::Small(..) => Err(Refused::TooLarge),
        }
    }
}

impl Draft {
    /// The draft as it is handed to a change.
    pub(super) fn into_handed<'v>(self) -> Handed<'v> {
        match self.body {
            Body::Small(octets, charged) => Handed::Draft(octets, charged),
            Body::Large(value) => Handed::Large(Arc::new(value)),
        }
    }
}

impl Before {
    pub fn octets(&self) -> u64 {
        match self {
            Before::Small(octets) => octets.len() as u64,
            Before::Large(value) => value.octets(),
        }
    }

    pub fn piece(&self, at: u64) -> &[u8] {
        match self {
            Before::Small(octets) => octets.get(at as usize..).unwrap_or_default(),
            Before::Large(value) => value.piece(at),
        }
    }
}

impl Handed<'_> {
    pub fn octets(&self) -> u64 {
        match self {
            Handed::Octets(octets) => octets.len() as u64,
            Handed::Draft(octets, _) => octets.len() as u64,
            Handed::Large(value) => value.octets(),
        }
    }

    pub fn small(&self) -> &[u8] {
        match self {
            Handed::Octets(octets) => octets,
            Handed::Draft(octets, _) => octets,
            Handed::Large(_) => &[],
        }
    }

    pub fn source(&self) -> Source<'_> {
        match self {
            Handed::Large(value) => Source::Large(value),
            _ => Source::Parts([self.small(), &[]]),
        }
    }
}

pub fn copied(seen: &Seen<'_>) -> Vec<u8> {
    let mut octets = Vec::new();
    seen.copy(&mut octets);
    octets
}

/// The length of a large value, from what stands in its item.
pub fn second_half(reference: [u8; 16]) -> u64 {
    reference[8..].iter().rev().fold(0, |sum, &octet| sum << 8 | u64::from(octet))
}
