//! Subscribers, by their numbers and by what they are known by.

use super::Aside;
use super::shards::Shards;
use crate::account::Identity;
use core::hash::BuildHasher;
use hashbrown::{DefaultHashBuilder, HashMap};

/// A subscriber.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscriber {
    pub account: u64,
    pub identities: Box<[Identity]>,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subscribers {
    all: HashMap<u64, Subscriber>,
    known_by: Aside<KnownBy>,
    /// The highest number of [`UNCHOSEN`].
    highest: u64,
}

/// Subscribers by the hashes of their identities.
#[derive(Clone, Debug, Default)]
struct KnownBy {
    owners: Shards<Owner>,
    hasher: DefaultHashBuilder,
}

/// Whose identity it is (the number's octets, which need no alignment), and which of his.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner([u8; 8], u8);

impl Owner {
    fn identity<'a>(&self, all: &'a HashMap<u64, Subscriber>) -> Option<&'a Identity> {
        all.get(&u64::from_le_bytes(self.0))?.identities.get(usize::from(self.1))
    }
}

/// Where numbers lie that nobody chose: all readers of JSON take them for exact.
const UNCHOSEN: core::ops::Range<u64> = 1 << 40..1 << 53;

impl Subscribers {
    /// A number that nobody has.
    pub fn next(&self) -> u64 {
        self.highest.max(UNCHOSEN.start) + 1
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &Subscriber)> {
        self.all.iter().map(|(number, subscriber)| (*number, subscriber))
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Makes room for so many, with one identity each, before there is any.
    pub fn reserve(&mut self, count: usize) {
        self.all.reserve(count);
        self.known_by.0.owners.reserve(count);
    }

    pub fn get(&self, number: u64) -> Option<&Subscriber> {
        self.all.get(&number)
    }

    /// Whose identity it is.
    pub fn find(&self, identity: &Identity) -> Option<u64> {
        let KnownBy { owners, hasher } = &self.known_by.0;
        let owner = owners.find(hasher.hash_one(identity), |owner| owner.identity(&self.all) == Some(identity))?;
        Some(u64::from_le_bytes(owner.0))
    }

    /// Makes a subscriber, or another one of him.
    pub fn set(&mut self, number: u64, account: u64, identities: &[Identity]) {
        self.forget(number);
        if UNCHOSEN.contains(&number) {
            self.highest = self.highest.max(number);
        }
        self.all.insert(number, Subscriber { account, identities: identities.into() });
        let (all, KnownBy { owners, hasher }) = (&self.all, &mut self.known_by.0);
        let hash = |owner: &Owner| owner.identity(all).map_or(0, |identity| hasher.hash_one(identity));
        for which in 0..u8::try_from(identities.len()).unwrap_or(u8::MAX) {
            let owner = Owner(number.to_le_bytes(), which);
            owners.insert_unique(hash(&owner), owner, hash);
        }
    }

    /// What a subscriber was known by leads nowhere from now on.
    fn forget(&mut self, number: u64) {
        let KnownBy { owners, hasher } = &mut self.known_by.0;
        let identities = self.all.get(&number).into_iter().flat_map(|known| &known.identities);
        for (which, identity) in identities.enumerate() {
            let is_it = |owner: &Owner| owner.0 == number.to_le_bytes() && usize::from(owner.1) == which;
            if let Some(found) = owners.find_entry(hasher.hash_one(identity), is_it) {
                found.remove();
            }
        }
    }
}
