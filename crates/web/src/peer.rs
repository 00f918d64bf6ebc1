//! Who is at the other end: the peer of the connection, or the client that a trusted proxy names.

use axum::http::HeaderMap;
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

/// Proxies in a row that are looked at; a longer list is cut.
pub const FORWARDED_MAX: usize = 32;

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Whether the connection is encrypted up to here.
    pub tls: bool,
}

/// Whom a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its address.
    pub address: IpAddr,
    /// Whether it came over TLS, here or at a trusted proxy.
    pub https: bool,
    /// Whether the connection came from this machine itself, not by way of a proxy.
    pub loopback: bool,
}

/// Whom a request comes from. X-Forwarded-For and X-Forwarded-Proto are looked at only where the peer is a trusted
/// proxy: anybody can write them. From the right, the first address that is no trusted proxy is the client; what stands
/// left of it is what the client itself claims.
pub fn client(peer: Peer, headers: &HeaderMap, trusted: &[IpNet]) -> Client {
    let is_proxy = |address: IpAddr| trusted.iter().any(|net| net.contains(&address));
    let own = peer.address.ip().to_canonical();
    if !is_proxy(own) {
        return Client { address: own, https: peer.tls, loopback: own.is_loopback() };
    }
    let mut address = own;
    let fields: Vec<&str> = headers.get_all("x-forwarded-for").iter().filter_map(|v| v.to_str().ok()).collect();
    for entry in fields.iter().rev().flat_map(|field| field.rsplit(',')).take(FORWARDED_MAX) {
        let Some(named) = address_of(entry.trim()) else { break };
        address = named;
        if !is_proxy(named) {
            break;
        }
    }
    let scheme = headers.get_all("x-forwarded-proto").iter().next_back().and_then(|v| v.to_str().ok());
    let https = peer.tls || scheme.is_some_and(|s| s.rsplit(',').next().is_some_and(|s| s.trim() == "https"));
    Client { address, https, loopback: false }
}

/// `192.0.2.1`, `192.0.2.1:5000`, `2001:db8::1`, `[2001:db8::1]:5000`.
fn address_of(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|t| t.split_once(']')).map_or(text, |(inside, _)| inside);
    let address = bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|a| a.ip()))?;
    Some(IpAddr::to_canonical(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(peer: &str, forwarded: &[&str], proto: Option<&str>) -> Client {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", value.parse().unwrap());
        }
        if let Some(proto) = proto {
            headers.append("x-forwarded-proto", proto.parse().unwrap());
        }
        let trusted = ["10.0.0.0/8".parse().unwrap(), "2001:db8:f::/48".parse().unwrap()];
        client(Peer { address: peer.parse().unwrap(), tls: false }, &headers, &trusted)
    }

    #[test]
    fn headers_of_strangers_are_not_believed() {
        let client = asked("203.0.113.9:1000", &["127.0.0.1"], Some("https"));
        assert_eq!((client.address.to_string().as_str(), client.https), ("203.0.113.9", false));
        assert!(!client.loopback);
    }

    #[test]
    fn the_first_address_from_the_right_that_is_no_proxy_is_the_client() {
        for (forwarded, address) in [
            (&["198.51.100.7"][..], "198.51.100.7"),
            (&["127.0.0.1, 198.51.100.7"], "198.51.100.7"),
            (&["1.1.1.1", "198.51.100.7, 10.9.9.9"], "198.51.100.7"),
            (&["198.51.100.7:4444"], "198.51.100.7"),
            (&["[2001:db8::5]:4444"], "2001:db8::5"),
            (&["::ffff:198.51.100.7"], "198.51.100.7"),
            (&["<script>"], "10.0.0.1"),
            (&["evil, 10.1.1.1"], "10.1.1.1"),
            (&[], "10.0.0.1"),
        ] {
            assert_eq!(asked("10.0.0.1:80", forwarded, None).address.to_string(), address, "{forwarded:?}");
        }
        assert!(asked("10.0.0.1:80", &["1.1.1.1"], Some("https")).https);
        assert!(!asked("10.0.0.1:80", &["1.1.1.1"], Some("http")).https);
    }

    #[test]
    fn a_proxy_on_this_machine_makes_nobody_local() {
        let trusted = ["127.0.0.0/8".parse().unwrap()];
        let peer = Peer { address: "127.0.0.1:9".parse().unwrap(), tls: false };
        assert!(!client(peer, &HeaderMap::new(), &trusted).loopback);
        assert!(client(peer, &HeaderMap::new(), &[]).loopback);
    }
}
