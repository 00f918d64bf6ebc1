//! Values that come bit by bit.

use super::account::Kind;
use super::large::{Charged, LARGE_EXTRA_OCTETS, LargeValue};
use super::rules::Refused;
use super::shared::Store;
use super::writer::{Own, Writer};

/// Octets that a draft of a small value takes beside them.
const SMALL_EXTRA_OCTETS: u64 = 64;

/// A value that comes bit by bit. Its memory counts against the limit as it comes; dropping it frees it.
#[derive(Debug)]
pub struct Draft {
    pub(super) body: Body,
    missing: u64,
}

#[derive(Debug)]
pub(super) enum Body {
    Small(Vec<u8>, Charged),
    Large(LargeValue),
}

impl Draft {
    /// Begins a value of `octets`.
    pub(super) fn new(store: &Store, own: &mut Own, octets: u64) -> Result<Self, Refused> {
        let is_small = octets <= store.geometry.value_octets_max() as u64;
        let charge = if is_small { octets + SMALL_EXTRA_OCTETS } else { LARGE_EXTRA_OCTETS };
        own.charge(store, Kind::Large, charge)?;
        let charged = Charged::taken(&store.account, charge);
        let body = match is_small {
            true => Body::Small(Vec::with_capacity(octets as usize), charged),
            false => Body::Large(LargeValue::new(charged)),
        };
        Ok(Draft { body, missing: octets })
    }

    /// Adds octets; what is more than was announced is left out.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn append(&mut self, writer: &mut Writer, octets: &[u8]) -> Result<(), Refused> {
        let (store, own) = writer.parts();
        self.append_in(store, own, octets)
    }

    pub(super) fn append_in(&mut self, store: &Store, own: &mut Own, octets: &[u8]) -> Result<(), Refused> {
        let fits = octets.len().min(usize::try_from(self.missing).unwrap_or(usize::MAX));
        let mut rest = &octets[..fits];
        while !rest.is_empty() {
            let taken = self.append_some(store, own, rest)?;
            self.missing -= taken as u64;
            rest = &rest[taken..];
        }
        Ok(())
    }

    fn append_some(&mut self, store: &Store, own: &mut Own, octets: &[u8]) -> Result<usize, Refused> {
        match &mut self.body {
            Body::Small(value, _) => {
                value.extend_from_slice(octets);
                Ok(octets.len())
            }
            Body::Large(value) => {
                if value.room() == 0 {
                    own.charge(store, Kind::Large, LargeValue::block_charge(self.missing))?;
                    value.make_block(self.missing, &store.blocks)?;
                }
                Ok(value.append(octets))
            }
        }
    }

    /// Octets that are still to come.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Octets that have come.
    pub fn octets(&self) -> u64 {
        match &self.body {
            Body::Small(value, _) => value.len() as u64,
            Body::Large(value) => value.octets(),
        }
    }
}
