//! What a proxy is told: pools of servers, prefixes of keys, how failures are met.
//!
//! ```toml
//! [route]
//! default = "main"
//!
//! [pool.main]
//! servers = ["10.0.0.1:11211", "10.0.0.2:11211 weight 2"]
//! gutter = "spare"
//!
//! [pool.spare]
//! servers = ["10.0.1.1:11211"]
//!
//! [prefix]
//! "session:" = "spare"
//! ```

mod read;
mod settings;

pub use super::ring::Place;
pub use read::read;
pub use settings::{Dead, Hash, Policy, PoolSection, RouteSection};

use super::ring::Ring;
use std::time::Duration;

/// Pools of a proxy.
// Limit: pools of the proxy
// Beyond: the file is refused
// Seen in: the error message
pub const POOLS_MAX: usize = 256;
/// Servers of all pools.
// Limit: servers of all pools
// Beyond: the file is refused
// Seen in: the error message
pub const SERVERS_MAX: usize = 1024;
/// Prefixes.
// Limit: prefixes of keys that the proxy routes
// Beyond: the file is refused
// Seen in: the error message
pub const PREFIXES_MAX: usize = 1024;

/// A proxy's configuration, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// What `[route]` says.
    pub route: RouteSection,
    /// All servers, each once for each pool that has it.
    pub servers: Vec<Server>,
    /// In the order of their names.
    pub pools: Vec<Pool>,
    /// Pool of the keys that no prefix names.
    pub default: u16,
    /// Prefixes with their pools, the longest first.
    pub prefixes: Vec<(Vec<u8>, u16)>,
}

/// A server of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where it is, as it was written.
    pub name: String,
    /// Its place in the ring; of a unix socket the host is `unix:PATH`.
    pub place: Place,
    /// The pool's name.
    pub pool: String,
}

/// A pool.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Index of its first server among all, and how many there are.
    pub servers: (u16, u16),
    /// Which of them a key belongs to.
    pub ring: Ring,
    /// What its servers are to each other.
    pub policy: Policy,
    /// The part of a key that is hashed stands between these.
    pub tag: Option<[u8; 2]>,
    /// Of replicas, whether a read that misses asks the next one.
    pub miss_next: bool,
    /// Pool that stands in for a server that is gone, and the longest that items live there.
    pub gutter: Option<(u16, Duration)>,
    /// Pool that has what this one does not have yet.
    pub warm: Option<u16>,
}

impl Config {
    /// One pool of these servers, all else as by default.
    ///
    /// # Errors
    /// Which server cannot be read, and why.
    pub fn of_servers(servers: &[String]) -> Result<Config, String> {
        let section = PoolSection { servers: servers.to_vec(), ..PoolSection::default() };
        let mut config = Config {
            route: RouteSection::default(),
            servers: Vec::new(),
            pools: Vec::new(),
            default: 0,
            prefixes: Vec::new(),
        };
        config.add("main", &section).map_err(|(_, what)| what)?;
        Ok(config)
    }

    /// The pool of a key.
    pub fn pool_of(&self, key: &[u8]) -> u16 {
        let named = self.prefixes.iter().find(|(prefix, _)| key.starts_with(prefix));
        named.map_or(self.default, |(_, pool)| *pool)
    }

    /// Adds a pool; what it says of other pools is looked up later. The error is the key and what is wrong with it.
    fn add(&mut self, name: &str, section: &PoolSection) -> Result<(), (&'static str, String)> {
        let wrong = |what| Err(("servers", what));
        let first = self.servers.len();
        for text in &section.servers {
            let place = place(text).map_err(|what| ("servers", what))?;
            let written = text.split(' ').next().unwrap_or_default().to_owned();
            if self.servers[first..].iter().any(|server| server.name == written) {
                return wrong(format!("{written} stands twice"));
            }
            self.servers.push(Server { name: written, place, pool: name.to_owned() });
        }
        if section.servers.is_empty() {
            return wrong(format!("pool '{name}' has no servers"));
        }
        if self.servers.len() > SERVERS_MAX {
            return wrong(format!("more than {SERVERS_MAX} servers in all"));
        }
        let tag = match section.hash_tag.as_bytes() {
            [] => None,
            [open, close] => Some([*open, *close]),
            _ => return Err(("hash-tag", "two characters, such as \"{}\", or none".to_owned())),
        };
        let places: Vec<Place> = self.servers[first..].iter().map(|server| server.place.clone()).collect();
        let ring = match section.hash {
            Hash::Ketama => Ring::ketama(&places),
            Hash::Jump => Ring::Jump(places.len() as u16),
        };
        self.pools.push(Pool {
            name: name.to_owned(),
            servers: (first as u16, places.len() as u16),
            ring,
            policy: section.policy,
            tag,
            miss_next: section.miss_next,
            gutter: None,
            warm: None,
        });
        Ok(())
    }
}

/// `host`, `host:port`, `[v6]:port` or `unix:PATH`, then nothing or `weight N`.
fn place(text: &str) -> Result<Place, String> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (at, weight) = match words[..] {
        [at] => (at, 1),
        [at, "weight", weight] => match weight.parse() {
            Ok(weight @ 1..=1000) => (at, weight),
            _ => return Err(format!("{text}: a weight is a number from 1 to 1000")),
        },
        _ => return Err(format!("'{text}': HOST:PORT or unix:PATH, and 'weight N' behind it or nothing")),
    };
    let made = |host: &str, port| Ok(Place { host: host.to_owned(), port, weight });
    if at.starts_with("unix:") {
        return if at.len() > 5 { made(at, None) } else { Err("unix: and a path".to_owned()) };
    }
    if at.parse::<std::net::IpAddr>().is_ok() {
        return made(at, Some(11211));
    }
    let (host, port) = match at.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| format!("{at}: '{port}' is no port"))?),
        None => (at, 11211),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() || port == 0 { Err(format!("{at}: HOST:PORT or unix:PATH")) } else { made(host, Some(port)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_as_they_are_written() {
        let read = |text: &str| place(text).map(|place| (place.host, place.port, place.weight));
        assert_eq!(read("10.0.0.1:5 weight 3"), Ok(("10.0.0.1".to_owned(), Some(5), 3)));
        assert_eq!(read("cache.example"), Ok(("cache.example".to_owned(), Some(11211), 1)));
        assert_eq!(read("[::1]:7"), Ok(("::1".to_owned(), Some(7), 1)));
        assert_eq!(read("::1"), Ok(("::1".to_owned(), Some(11211), 1)));
        assert_eq!(read("unix:/run/c.sock"), Ok(("unix:/run/c.sock".to_owned(), None, 1)));
        for wrong in ["", "a:b", "a:0", "a weight 0", "a weight", "a 2", "unix:", ":1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn servers_alone_are_one_pool() {
        let config = Config::of_servers(&["a:1".to_owned(), "b:2".to_owned()]).expect("a pool");
        assert_eq!((config.pools.len(), config.servers.len(), config.pool_of(b"x")), (1, 2, 0));
        assert_eq!(Config::of_servers(&["a:1".to_owned(), "a:1".to_owned()]).expect_err("twice"), "a:1 stands twice");
    }
}
