//! Holding off those who guess: growing waits by address and by account, in tables that cannot grow.
//!
//! An attempt is counted before its password is looked at, so that a burst of parallel attempts gains nothing, and
//! taken back when the password was right. What is refused while a wait runs is not counted: the wait ends when it
//! said it would. One failure is forgiven after [`FORGIVEN_AFTER_S`].
//!
//! **Nobody can lock out an administrator for good.** Attempts from an address from which the user signed in before
//! ("familiar") are counted apart from those of strangers, a wait is never longer than [`WAIT_MAX_S`], and one-time
//! links (256 bits: nothing to guess), made at the machine itself, are not held off at all.

use super::refusal::Refusal;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hash};
use std::net::IpAddr;

/// Failed attempts of one address (IPv6: of a /64) before waits begin; several people may share it.
pub const ADDRESS_ATTEMPTS_FREE: u32 = 20;
/// Failed attempts of an IPv6 /48 before waits begin.
pub const SITE_ATTEMPTS_FREE: u32 = 100;
/// Failed attempts for one name before waits begin.
pub const ACCOUNT_ATTEMPTS_FREE: u32 = 5;
/// The longest wait, seconds.
// Limit: wait after failed sign-ins
// Beyond: the wait does not grow further
// Seen in: `trunkline_web_held_off_sign_ins_total`
pub const WAIT_MAX_S: u64 = 900;
/// After so many seconds one failure is forgiven.
pub const FORGIVEN_AFTER_S: i64 = 300;
/// Addresses that are remembered. Beyond, the one with the fewest failures is forgotten, and counted.
// Limit: addresses with failed sign-ins remembered
// Beyond: the one with the fewest failures is forgotten
// Seen in: `trunkline_web_forgotten_addresses_total`
pub const ADDRESSES_MAX: usize = 4096;
/// Names that do not exist share so many places; names that do have their own.
pub const UNKNOWN_NAMES_MAX: usize = 4096;
/// Accounts and pairs of account and familiar address that are remembered; beyond as with addresses.
pub const ACCOUNTS_MAX: usize = 16_384;

const SECOND_NS: i64 = 1_000_000_000;

/// For whom somebody tries to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account<'a> {
    /// A user, from an address that they never used.
    Strange(i64),
    /// A user, from an address from which they signed in before.
    Familiar(i64),
    /// A name that does not exist.
    Unknown(&'a str),
}

/// What is remembered of failures.
#[derive(Debug, Default)]
pub struct Throttle {
    addresses: HashMap<Source, Failures>,
    accounts: HashMap<AccountKey, Failures>,
    unknown: Vec<Failures>,
    seed: RandomState,
}

/// An address as far as it is one customer's: IPv4 as it is, IPv6 the /64 and the /48.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    V4(u32),
    V6(u64),
    Site(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum AccountKey {
    Strange(i64),
    Familiar(i64, Source),
}

#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    count: u32,
    /// Since when failures are forgiven.
    since_ns: i64,
    until_ns: i64,
}

impl Failures {
    /// Forgives what is old; seconds still to wait.
    fn wait_s(&mut self, now_ns: i64) -> u64 {
        let forgiven = now_ns.saturating_sub(self.since_ns) / (FORGIVEN_AFTER_S * SECOND_NS);
        if forgiven > 0 {
            self.count = self.count.saturating_sub(u32::try_from(forgiven).unwrap_or(u32::MAX));
            self.since_ns = now_ns;
        }
        // A clock that was set back does not make waits longer.
        let latest = now_ns.saturating_add(WAIT_MAX_S as i64 * SECOND_NS);
        self.until_ns = self.until_ns.min(latest);
        self.since_ns = self.since_ns.min(now_ns.max(self.until_ns));
        u64::try_from(self.until_ns.saturating_sub(now_ns)).map_or(0, |ns| ns.div_ceil(SECOND_NS as u64))
    }

    fn failed(&mut self, free: u32, now_ns: i64) {
        if self.count == 0 {
            self.since_ns = now_ns;
        }
        self.count = self.count.saturating_add(1);
        let beyond = self.count.saturating_sub(free);
        if beyond > 0 {
            let wait_s = 1u64.checked_shl(beyond).unwrap_or(WAIT_MAX_S).min(WAIT_MAX_S);
            self.until_ns = now_ns.saturating_add(wait_s as i64 * SECOND_NS);
            // While somebody waits nothing is forgiven: the next failure makes the wait longer.
            self.since_ns = self.until_ns;
        }
    }

    fn taken_back(&mut self, free: u32) {
        self.count = self.count.saturating_sub(1);
        if self.count <= free {
            self.until_ns = 0;
        }
    }
}

impl Throttle {
    /// Counts an attempt before it is looked at, or refuses it. Addresses that had to be forgotten are added to
    /// `forgotten`.
    ///
    /// # Errors
    /// [`Refusal::TooMany`] for the address, [`Refusal::Locked`] for the account; nothing was counted then.
    pub fn begin(
        &mut self,
        address: IpAddr,
        account: Account<'_>,
        now_ns: i64,
        forgotten: &mut u64,
    ) -> Result<(), Refusal> {
        self.check_address(address, now_ns)?;
        let failures = self.account(address, account, now_ns);
        let wait_s = failures.wait_s(now_ns);
        if wait_s > 0 {
            return Err(Refusal::Locked { retry_after_s: wait_s });
        }
        failures.failed(ACCOUNT_ATTEMPTS_FREE, now_ns);
        self.address_failed(address, now_ns, forgotten);
        Ok(())
    }

    /// The same for an attempt that names nobody: the address alone is counted. Taken back by
    /// [`Throttle::address_taken_back`].
    ///
    /// # Errors
    /// [`Refusal::TooMany`]; nothing was counted then.
    pub fn begin_unnamed(&mut self, address: IpAddr, now_ns: i64, forgotten: &mut u64) -> Result<(), Refusal> {
        self.check_address(address, now_ns)?;
        self.address_failed(address, now_ns, forgotten);
        Ok(())
    }

    /// Refuses an address that waits; counts nothing.
    ///
    /// # Errors
    /// [`Refusal::TooMany`].
    pub fn check_address(&mut self, address: IpAddr, now_ns: i64) -> Result<(), Refusal> {
        for (source, _) in sources(address) {
            let wait_s = self.addresses.get_mut(&source).map_or(0, |f| f.wait_s(now_ns));
            if wait_s > 0 {
                return Err(Refusal::TooMany { retry_after_s: wait_s });
            }
        }
        Ok(())
    }

    fn address_failed(&mut self, address: IpAddr, now_ns: i64, forgotten: &mut u64) {
        for (source, free) in sources(address) {
            *forgotten += make_room(&mut self.addresses, &source, ADDRESSES_MAX, now_ns);
            self.addresses.entry(source).or_default().failed(free, now_ns);
        }
    }

    /// The password was right: the account begins anew; of the address only this attempt is taken back, so that a user
    /// of ours cannot guess for others between sign-ins of their own.
    pub fn succeeded(&mut self, address: IpAddr, account: Account<'_>, now_ns: i64) {
        *self.account(address, account, now_ns) = Failures::default();
        self.address_taken_back(address);
    }

    /// The attempt was not looked at after all.
    pub fn withdrawn(&mut self, address: IpAddr, account: Account<'_>, now_ns: i64) {
        self.account(address, account, now_ns).taken_back(ACCOUNT_ATTEMPTS_FREE);
        self.address_taken_back(address);
    }

    /// Forgets what strangers failed at for a user: an administrator says so, or a one-time link was used.
    pub fn forgive(&mut self, user_id: i64) {
        self.accounts
            .retain(|key, _| !matches!(key, AccountKey::Strange(id) | AccountKey::Familiar(id, _) if *id == user_id));
    }

    /// Until when strangers wait for a user.
    pub fn locked_until_ns(&self, user_id: i64, now_ns: i64) -> Option<i64> {
        let failures = self.accounts.get(&AccountKey::Strange(user_id))?;
        (failures.until_ns > now_ns).then_some(failures.until_ns)
    }

    /// An attempt was none that counts.
    pub fn address_taken_back(&mut self, address: IpAddr) {
        for (source, free) in sources(address) {
            if let Some(failures) = self.addresses.get_mut(&source) {
                failures.taken_back(free);
            }
        }
    }

    fn account(&mut self, address: IpAddr, account: Account<'_>, now_ns: i64) -> &mut Failures {
        let key = match account {
            Account::Strange(id) => AccountKey::Strange(id),
            Account::Familiar(id) => AccountKey::Familiar(id, sources(address)[0].0),
            Account::Unknown(name) => {
                self.unknown.resize(UNKNOWN_NAMES_MAX, Failures::default());
                let place = self.seed.hash_one(name) as usize % UNKNOWN_NAMES_MAX;
                return &mut self.unknown[place];
            }
        };
        make_room(&mut self.accounts, &key, ACCOUNTS_MAX, now_ns);
        self.accounts.entry(key).or_default()
    }
}

/// The keys of an address with the failures that are free for each; at least one, the narrowest first.
fn sources(address: IpAddr) -> Vec<(Source, u32)> {
    match address.to_canonical() {
        IpAddr::V4(v4) => vec![(Source::V4(v4.to_bits()), ADDRESS_ATTEMPTS_FREE)],
        IpAddr::V6(v6) => {
            let net = (v6.to_bits() >> 64) as u64;
            vec![(Source::V6(net), ADDRESS_ATTEMPTS_FREE), (Source::Site(net >> 16), SITE_ATTEMPTS_FREE)]
        }
    }
}

/// Forgets what is over, then the one with the fewest failures, if a new key would not fit; how many that still
/// counted.
fn make_room<K: Copy + Eq + Hash>(table: &mut HashMap<K, Failures>, new: &K, most: usize, now_ns: i64) -> u64 {
    if table.len() < most || table.contains_key(new) {
        return 0;
    }
    table.retain(|_, f| f.wait_s(now_ns) > 0 || f.count > 0);
    if table.len() < most {
        return 0;
    }
    let least = table.iter().min_by_key(|(_, f)| (f.count, f.since_ns)).map(|(key, _)| *key);
    if let Some(key) = least {
        table.remove(&key);
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const NOW: i64 = 1_760_000_000 * SECOND_NS;

    fn v4(n: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + n))
    }

    fn fail(t: &mut Throttle, address: IpAddr, account: Account<'_>, now_ns: i64) -> Result<(), Refusal> {
        t.begin(address, account, now_ns, &mut 0)
    }

    #[test]
    fn waits_grow_and_end() {
        let mut t = Throttle::default();
        let mut now = NOW;
        let mut waits = vec![];
        while waits.len() < 12 {
            match fail(&mut t, v4(waits.len() as u32), Account::Strange(1), now) {
                Ok(()) => {}
                Err(Refusal::Locked { retry_after_s }) => {
                    waits.push(retry_after_s);
                    // Trying on while it runs makes it no longer.
                    for _ in 0..50 {
                        assert!(fail(&mut t, v4(99), Account::Strange(1), now).is_err());
                    }
                    now += retry_after_s as i64 * SECOND_NS;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
        assert!(fail(&mut t, v4(98), Account::Strange(1), now + 100 * FORGIVEN_AFTER_S * SECOND_NS).is_ok());
        assert!(fail(&mut t, v4(98), Account::Strange(1), now + 100 * FORGIVEN_AFTER_S * SECOND_NS).is_ok());
    }

    #[test]
    fn who_signed_in_from_here_before_is_not_held_off_by_strangers() {
        let mut t = Throttle::default();
        for n in 0..1000 {
            let _ = fail(&mut t, v4(n), Account::Strange(1), NOW);
        }
        assert!(matches!(fail(&mut t, v4(5000), Account::Strange(1), NOW), Err(Refusal::Locked { .. })));
        assert!(fail(&mut t, v4(5000), Account::Familiar(1), NOW).is_ok());
        t.forgive(1);
        assert!(fail(&mut t, v4(5000), Account::Strange(1), NOW).is_ok());
    }

    #[test]
    fn a_right_password_takes_back_its_own_attempt_alone() {
        let mut t = Throttle::default();
        for n in 0..ADDRESS_ATTEMPTS_FREE {
            assert!(fail(&mut t, v4(1), Account::Strange(i64::from(n) + 10), NOW).is_ok());
        }
        // At the limit: between guesses for others the guesser signs in for itself, and gains nothing.
        assert!(fail(&mut t, v4(1), Account::Strange(1), NOW).is_ok());
        t.succeeded(v4(1), Account::Strange(1), NOW);
        assert!(fail(&mut t, v4(1), Account::Strange(99), NOW).is_ok());
        assert!(matches!(fail(&mut t, v4(1), Account::Strange(1), NOW), Err(Refusal::TooMany { .. })));
    }

    #[test]
    fn names_that_do_not_exist_are_held_off_like_those_that_do() {
        let answers = |account: Account<'_>| {
            let mut t = Throttle::default();
            (0..40).map(|n| fail(&mut t, v4(n), account, NOW + i64::from(n) * SECOND_NS)).collect::<Vec<_>>()
        };
        assert_eq!(answers(Account::Strange(1)), answers(Account::Unknown("nobody")));
    }

    #[test]
    fn a_site_cannot_try_from_each_of_its_networks() {
        let mut t = Throttle::default();
        let address = |n: u128| IpAddr::V6(Ipv6Addr::from_bits((0x2001_0db8_0001u128 << 80) | (n << 64)));
        let tried = (0..1000).filter(|n| fail(&mut t, address(*n), Account::Unknown(&n.to_string()), NOW).is_ok());
        assert_eq!(tried.count() as u32, SITE_ATTEMPTS_FREE + 1);
    }

    #[test]
    fn a_flood_of_addresses_and_names_takes_bounded_memory() {
        let mut t = Throttle::default();
        let mut forgotten = 0;
        for n in 0..=ADDRESS_ATTEMPTS_FREE {
            let _ = t.begin(v4(9_999_999), Account::Unknown(&n.to_string()), NOW, &mut forgotten);
        }
        for n in 0..2 * ADDRESSES_MAX as u32 {
            let _ = t.begin(v4(n), Account::Unknown(&n.to_string()), NOW, &mut forgotten);
        }
        assert!(t.addresses.len() <= ADDRESSES_MAX && t.unknown.len() == UNKNOWN_NAMES_MAX && forgotten > 0);
        // Who really guessed is not forgotten for the flood.
        assert!(matches!(fail(&mut t, v4(9_999_999), Account::Strange(2), NOW), Err(Refusal::TooMany { .. })));
    }

    proptest! {
        /// Whatever happened before, also with a clock that jumps: who waits as long as was said gets in.
        #[test]
        fn every_wait_ends(steps in prop::collection::vec((0i64..2_000_000, 0u32..3, 0i64..3, any::<bool>()), 1..80)) {
            let mut t = Throttle::default();
            let mut now = NOW;
            for (seconds, address, user, back) in steps {
                now += if back { -seconds } else { seconds } * SECOND_NS / 1000;
                let mut waited = 0;
                while let Err(refusal) = fail(&mut t, v4(address), Account::Strange(user), now) {
                    let wait_s = refusal.retry_after_s().unwrap();
                    prop_assert!((1..=WAIT_MAX_S).contains(&wait_s), "{}", wait_s);
                    now += wait_s as i64 * SECOND_NS;
                    waited += 1;
                    prop_assert!(waited <= 2, "an address's wait and an account's");
                }
            }
        }
    }
}
