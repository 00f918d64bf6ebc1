//! What `-l`, `-p`, `-U`, `-s` and `-Z` listen to.

use super::Cache;
use crate::failure::Failure;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use trunkline_net::{Listen, Tls};

/// All of it, TCP first.
///
/// # Errors
/// A name that is not known, a port that is none, or nothing to listen to.
pub fn listens(cache: &Cache, tls: Option<&Tls>) -> Result<Vec<Listen>, Failure> {
    if let Some(path) = &cache.unix_socket {
        return Ok(vec![Listen::Unix { path: path.clone(), mode: cache.unix_mask }]);
    }
    let (tcp, udp) = (port(cache.port, "-p")?, port(cache.udp_port, "-U")?);
    let mut listens = Vec::new();
    for place in places(cache)? {
        let tls = tls.filter(|_| place.encrypted).cloned();
        let addresses = place.addresses(tcp)?;
        listens.extend(addresses.into_iter().map(|address| Listen::Tcp { address, tls: tls.clone() }));
    }
    if let Some(udp) = udp {
        for place in places(cache)? {
            let addresses = place.hosts()?.into_iter().map(|host| Listen::Udp { address: SocketAddr::new(host, udp) });
            listens.extend(addresses);
        }
    }
    if listens.is_empty() {
        return Err(Failure::Usage("nothing to listen to: -p 0 without -U and -s".to_owned()));
    }
    Ok(listens)
}

/// A word of `-l`.
struct Place {
    text: String,
    host: Option<String>,
    port: Option<u16>,
    encrypted: bool,
}

fn places(cache: &Cache) -> Result<Vec<Place>, Failure> {
    if cache.listen.is_empty() {
        return Ok(vec![Place { text: "*".to_owned(), host: None, port: None, encrypted: true }]);
    }
    cache.listen.iter().map(|text| place(text)).collect()
}

/// `host`, `host:port`, `[v6]:port`, `v6`, each with `notls:` before it or without.
fn place(text: &str) -> Result<Place, Failure> {
    let (rest, encrypted) = text.strip_prefix("notls:").map_or((text, true), |rest| (rest, false));
    let made = |host: &str, port| {
        let host = if host == "*" { None } else { Some(host.to_owned()) };
        Ok(Place { text: text.to_owned(), host, port, encrypted })
    };
    if let Ok(address) = rest.parse::<SocketAddr>() {
        return made(&address.ip().to_string(), Some(address.port()));
    }
    let bare = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(rest);
    if bare.parse::<IpAddr>().is_ok() {
        return made(bare, None);
    }
    match rest.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() => match port.parse() {
            Ok(port) => made(host, Some(port)),
            Err(_) => Err(Failure::Usage(format!("-l {text}: '{port}' is no port"))),
        },
        _ if rest.is_empty() => Err(Failure::Usage("-l: the address is missing".to_owned())),
        _ => made(rest, None),
    }
}

impl Place {
    fn addresses(&self, port: Option<u16>) -> Result<Vec<SocketAddr>, Failure> {
        let Some(port) = self.port.or(port) else { return Ok(vec![]) };
        Ok(self.hosts()?.into_iter().map(|host| SocketAddr::new(host, port)).collect())
    }

    fn hosts(&self) -> Result<Vec<IpAddr>, Failure> {
        let Some(host) = &self.host else { return Ok(everywhere()) };
        let found = (host.as_str(), 0).to_socket_addrs();
        let found: Vec<_> = found.map_err(|e| self.unknown(&e.to_string()))?.map(|address| address.ip()).collect();
        if found.is_empty() { Err(self.unknown("it has no address")) } else { Ok(found) }
    }

    fn unknown(&self, why: &str) -> Failure {
        Failure::Failed(format!("-l {}: {why}", self.text))
    }
}

/// All interfaces; IPv6 where the system has it.
fn everywhere() -> Vec<IpAddr> {
    let mut all = vec![IpAddr::V4(Ipv4Addr::UNSPECIFIED)];
    if Path::new("/proc/net/if_inet6").exists() {
        all.push(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    }
    all
}

/// None for 0; 0, a free one, for -1.
fn port(number: i32, option: &str) -> Result<Option<u16>, Failure> {
    match number {
        0 => Ok(None),
        -1 => Ok(Some(0)),
        number => match u16::try_from(number) {
            Ok(port) => Ok(Some(port)),
            Err(_) => Err(Failure::Usage(format!("{option} {number}: a port is 1 to 65535, 0 for none, -1 for any"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_l() {
        let read = |text: &str| {
            let place = place(text).ok()?;
            Some((place.host?, place.port, place.encrypted))
        };
        let host = |host: &str, port, encrypted| Some((host.to_owned(), port, encrypted));
        assert_eq!(read("127.0.0.1"), host("127.0.0.1", None, true));
        assert_eq!(read("127.0.0.1:5"), host("127.0.0.1", Some(5), true));
        assert_eq!(read("::1"), host("::1", None, true));
        assert_eq!(read("[::1]"), host("::1", None, true));
        assert_eq!(read("[::1]:7"), host("::1", Some(7), true));
        assert_eq!(read("notls:localhost:9"), host("localhost", Some(9), false));
        assert!(place("localhost:x").is_err() && place("").is_err());
        assert_eq!((port(0, "-p").unwrap(), port(-1, "-p").unwrap()), (None, Some(0)));
        assert!(port(70_000, "-p").is_err());
    }
}
