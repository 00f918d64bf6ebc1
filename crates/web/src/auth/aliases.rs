//! Names of hosts and networks: `10.1.0.0/16` is "Core London". The longest match wins.

use super::desk::Desk;
use super::refusal::Refusal;
use ipnet::IpNet;
use rusqlite::params;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Most aliases.
// Limit: aliases
// Beyond: a further alias is refused
// Seen in: the error message
pub const ALIASES_MAX: i64 = 10_000;
/// Most characters of an alias.
pub const ALIAS_CHARACTERS_MAX: usize = 64;

/// The aliases, for looking up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases {
    /// By length of prefix, the longest first when walked backwards.
    names: BTreeMap<u8, BTreeMap<IpNet, String>>,
}

impl Aliases {
    /// The name of an address: that of the smallest network it lies in.
    pub fn name_of(&self, address: IpAddr) -> Option<&str> {
        let address = address.to_canonical();
        self.names.iter().rev().find_map(|(prefix, names)| {
            let network = IpNet::new(address, *prefix).ok()?.trunc();
            names.get(&network).map(String::as_str)
        })
    }

    /// All, networks as they are written: a single address without its prefix.
    pub fn list(&self) -> Vec<(String, String)> {
        let mut all: Vec<(&IpNet, &String)> = self.names.values().flatten().collect();
        all.sort_unstable();
        all.into_iter().map(|(network, name)| (shown(network), name.clone())).collect()
    }

    fn insert(&mut self, network: IpNet, name: String) {
        self.names.entry(network.prefix_len()).or_default().insert(network, name);
    }
}

impl Desk {
    /// All aliases.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn aliases(&self) -> Result<Aliases, Refusal> {
        self.read(|c| {
            let mut all = c.prepare_cached("SELECT network, name FROM aliases")?;
            let mut aliases = Aliases::default();
            for row in all.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))? {
                let (network, name) = row?;
                if let Ok(network) = network_of(&network) {
                    aliases.insert(network, name);
                }
            }
            Ok(aliases)
        })
    }

    /// Names an address or network, or names it anew; the text under which it is kept.
    ///
    /// # Errors
    /// [`Refusal::BadValue`], [`Refusal::Conflict`] where there are too many, [`Refusal::Failed`].
    pub fn set_alias(&self, network: &str, name: &str) -> Result<String, Refusal> {
        let network = shown(&network_of(network)?);
        let name = name.trim();
        if name.is_empty() || name.chars().count() > ALIAS_CHARACTERS_MAX || name.chars().any(char::is_control) {
            let text = format!("an alias has 1 to {ALIAS_CHARACTERS_MAX} characters, on one line");
            return Err(Refusal::value("name", text));
        }
        self.write(|t| {
            t.execute(
                "INSERT INTO aliases (network, name) VALUES (?1, ?2) \
                 ON CONFLICT (network) DO UPDATE SET name = excluded.name",
                params![network, name],
            )?;
            let count: i64 = t.query_row("SELECT count(*) FROM aliases", [], |row| row.get(0))?;
            if count > ALIASES_MAX {
                return Err(Refusal::Conflict(format!("there are {ALIASES_MAX} aliases already")));
            }
            Ok(())
        })?;
        Ok(network)
    }

    /// Forgets an alias.
    ///
    /// # Errors
    /// [`Refusal::BadValue`], [`Refusal::NotFound`], [`Refusal::Failed`].
    pub fn remove_alias(&self, network: &str) -> Result<(), Refusal> {
        let network = shown(&network_of(network)?);
        let removed = self.write(|t| Ok(t.execute("DELETE FROM aliases WHERE network = ?1", [network])?))?;
        if removed == 0 { Err(Refusal::NotFound("alias")) } else { Ok(()) }
    }
}

/// An address or network; bits behind the prefix are cleared.
fn network_of(text: &str) -> Result<IpNet, Refusal> {
    super::networks::parse_network(text).ok_or_else(|| {
        Refusal::value("match", "not an address or network: expected 10.1.2.3, 10.1.0.0/16, 2001:db8::/32")
    })
}

fn shown(network: &IpNet) -> String {
    if network.prefix_len() == network.max_prefix_len() { network.addr().to_string() } else { network.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some(all: &[(&str, &str)]) -> Aliases {
        let mut aliases = Aliases::default();
        for (network, name) in all {
            aliases.insert(network_of(network).unwrap(), (*name).to_owned());
        }
        aliases
    }

    #[test]
    fn the_longest_match_names() {
        let aliases = some(&[
            ("10.0.0.0/8", "inside"),
            ("10.1.0.0/16", "London"),
            ("10.1.2.3", "proxy"),
            ("2001:db8::/32", "six"),
            ("0.0.0.0/0", "elsewhere"),
        ]);
        for (address, name) in [
            ("10.9.9.9", Some("inside")),
            ("10.1.9.9", Some("London")),
            ("10.1.2.3", Some("proxy")),
            ("::ffff:10.1.2.3", Some("proxy")),
            ("2001:db8:1::1", Some("six")),
            ("192.0.2.1", Some("elsewhere")),
            ("2001:db9::1", None),
        ] {
            assert_eq!(aliases.name_of(address.parse().unwrap()), name, "{address}");
        }
        assert_eq!(aliases.list()[3], ("10.1.2.3".to_owned(), "proxy".to_owned()));
        assert_eq!(shown(&network_of("10.1.2.3/16").unwrap()), "10.1.0.0/16");
        assert!(network_of("10.1.2.3/33").is_err() && network_of("example.com").is_err());
    }

    proptest! {
        #[test]
        fn as_a_walk_over_all_finds(
            networks in prop::collection::vec((any::<u32>(), 0u8..=32), 0..20),
            near in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 0..10),
        ) {
            let all: Vec<IpNet> =
                networks.iter().map(|(a, p)| IpNet::new(IpAddr::V4((*a).into()), *p).unwrap().trunc()).collect();
            let mut aliases = Aliases::default();
            for network in &all {
                aliases.insert(*network, network.to_string());
            }
            for (index, bit) in near.iter().filter(|_| !all.is_empty()) {
                let IpAddr::V4(base) = all[index.index(all.len())].addr() else { unreachable!() };
                let address = IpAddr::V4((base.to_bits() ^ (1u32 << (bit % 32))).into());
                let longest = all.iter().filter(|n| n.contains(&address)).max_by_key(|n| n.prefix_len());
                prop_assert_eq!(aliases.name_of(address).map(str::to_owned), longest.map(IpNet::to_string));
            }
        }
    }
}
