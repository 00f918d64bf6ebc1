//! From which address a request comes, and whether that may be.
//!
//! What a client writes into `X-Forwarded-For` or `Forwarded` (RFC 7239) is worth nothing. What a configured proxy
//! appended is: the lists are read from the right, as long as who appended is trusted. Whatever cannot be told for
//! certain is refused, not guessed.

use super::refusal::Refusal;
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

/// Entries of forwarding headers that are read; a longer list is refused.
pub const FORWARDED_HOPS_MAX: usize = 32;

/// The networks from which the web may be used; none configured means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedNetworks(Vec<IpNet>);

impl AllowedNetworks {
    /// These.
    pub fn new(networks: Vec<IpNet>) -> Self {
        AllowedNetworks(networks)
    }

    /// Refuses an address that lies in none of them.
    ///
    /// # Errors
    /// [`Refusal::Network`].
    pub fn check(&self, address: IpAddr) -> Result<(), Refusal> {
        let address = address.to_canonical();
        if self.0.is_empty() || contains(&self.0, address) { Ok(()) } else { Err(Refusal::Network(address)) }
    }
}

/// The proxies whose word about the client counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

/// The forwarding headers of a request, each as often as it stands there, in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forwarding<'a> {
    /// `X-Forwarded-For`.
    pub x_for: &'a [&'a str],
    /// `X-Forwarded-Proto`.
    pub x_proto: &'a [&'a str],
    /// `X-Forwarded-Host`.
    pub x_host: &'a [&'a str],
    /// `Forwarded`.
    pub forwarded: &'a [&'a str],
}

/// Who asks, as far as trusted proxies tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The address; IPv4 as IPv4.
    pub address: IpAddr,
    /// What the proxy says of the scheme: whether it was https; none without a proxy.
    pub https: Option<bool>,
    /// The host that the browser asked, if the proxy says so.
    pub host: Option<String>,
}

impl TrustedProxies {
    /// These.
    pub fn new(networks: Vec<IpNet>) -> Self {
        TrustedProxies(networks)
    }

    /// Who is behind a connection from `peer`. Forwarding headers of a peer that is no trusted proxy are not looked at.
    ///
    /// # Errors
    /// [`Refusal::Forwarding`] where a trusted proxy's headers contradict each other or cannot be read.
    pub fn client(&self, peer: IpAddr, headers: &Forwarding<'_>) -> Result<Client, Refusal> {
        let peer = peer.to_canonical();
        if !contains(&self.0, peer) {
            return Ok(Client { address: peer, https: None, host: None });
        }
        let x = self.by_x_forwarded(headers)?;
        let standard = self.by_forwarded(headers.forwarded)?;
        match (x, standard) {
            // A proxy writes one of them and passes on what the client wrote into the other.
            (Some(x), Some(standard)) if x.address != standard.address => {
                Err(Refusal::Forwarding("Forwarded and X-Forwarded-For disagree"))
            }
            (Some(x), Some(standard)) => {
                Ok(Client { https: x.https.or(standard.https), host: x.host.or(standard.host), ..x })
            }
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) => Ok(Client { address: peer, https: last(headers.x_proto).map(is_https), host: None }),
        }
    }

    fn by_x_forwarded(&self, headers: &Forwarding<'_>) -> Result<Option<Client>, Refusal> {
        let hops: Vec<&str> = headers.x_for.iter().flat_map(|h| h.split(',')).map(str::trim).collect();
        if hops.is_empty() {
            return Ok(None);
        }
        let (_, address) = self.first_untrusted(&hops)?;
        Ok(Some(Client {
            address,
            https: last(headers.x_proto).map(is_https),
            host: last(headers.x_host).map(str::to_owned),
        }))
    }

    fn by_forwarded(&self, headers: &[&str]) -> Result<Option<Client>, Refusal> {
        let mut hops = vec![];
        for header in headers {
            for element in split_unquoted(header, ',')? {
                hops.push(element);
            }
        }
        if hops.is_empty() {
            return Ok(None);
        }
        let mut fors = vec![];
        for hop in &hops {
            fors.push(parameter(hop, "for")?.unwrap_or_default());
        }
        let addresses: Vec<&str> = fors.iter().map(String::as_str).collect();
        let (at, address) = self.first_untrusted(&addresses)?;
        let element = hops.get(at).copied().unwrap_or_default();
        let proto = parameter(element, "proto")?;
        Ok(Some(Client { address, https: proto.as_deref().map(is_https), host: parameter(element, "host")? }))
    }

    /// From the right, the first hop that is no trusted proxy, with its place; the leftmost if all are.
    fn first_untrusted(&self, hops: &[&str]) -> Result<(usize, IpAddr), Refusal> {
        if hops.len() > FORWARDED_HOPS_MAX {
            return Err(Refusal::Forwarding("more hops than anybody has"));
        }
        let mut found = Err(Refusal::Forwarding("no hop"));
        for (at, hop) in hops.iter().enumerate().rev() {
            let address = hop_address(hop).ok_or(Refusal::Forwarding("a hop is not an address"))?;
            found = Ok((at, address));
            if !contains(&self.0, address) {
                break;
            }
        }
        found
    }
}

/// An address, a network, or neither. Bits behind the prefix are cleared; IPv4 in IPv6 becomes IPv4.
pub fn parse_network(text: &str) -> Option<IpNet> {
    let text = text.trim();
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(IpNet::from(address.to_canonical()));
    }
    text.parse::<IpNet>().ok().map(|n| n.trunc())
}

fn contains(networks: &[IpNet], address: IpAddr) -> bool {
    networks.iter().any(|n| n.contains(&address))
}

/// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:4711`.
fn hop_address(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(address.ip().to_canonical());
    }
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    inner.parse::<std::net::Ipv6Addr>().ok().map(|a| IpAddr::V6(a).to_canonical())
}

fn is_https(proto: &str) -> bool {
    proto.trim().eq_ignore_ascii_case("https")
}

/// The last value of headers that are lists: what the nearest proxy wrote.
fn last<'a>(headers: &[&'a str]) -> Option<&'a str> {
    headers.last().and_then(|h| h.rsplit(',').next()).map(str::trim).filter(|t| !t.is_empty())
}

/// Parts between separators that do not stand in a quoted string (RFC 7239 section 4, RFC 9110 section 5.6.4).
fn split_unquoted(text: &str, separator: char) -> Result<Vec<&str>, Refusal> {
    let (mut parts, mut from, mut quoted, mut escaped) = (vec![], 0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            c if c == separator && !quoted => {
                parts.push(text[from..at].trim());
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    if quoted {
        return Err(Refusal::Forwarding("a quoted string in Forwarded has no end"));
    }
    parts.push(text[from..].trim());
    Ok(parts)
}

/// The value of a parameter of one element of `Forwarded`, unquoted.
fn parameter(element: &str, name: &str) -> Result<Option<String>, Refusal> {
    let mut found = None;
    for pair in split_unquoted(element, ';')? {
        let Some((its_name, value)) = pair.split_once('=') else { continue };
        if !its_name.trim().eq_ignore_ascii_case(name) {
            continue;
        }
        if found.is_some() {
            return Err(Refusal::Forwarding("a parameter in Forwarded stands twice"));
        }
        let value = value.trim();
        let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
        found = Some(inner.map_or(value.to_owned(), unquoted));
    }
    Ok(found)
}

/// What stands in a quoted string: a character behind a backslash is itself (RFC 9110 section 5.6.4).
fn unquoted(inner: &str) -> String {
    let (mut text, mut characters) = (String::with_capacity(inner.len()), inner.chars());
    while let Some(c) = characters.next() {
        text.extend(if c == '\\' { characters.next() } else { Some(c) });
    }
    text
}

/// A header that a proxy wrote behind what a client wrote: the first octet says which and whether the proxy quotes, the
/// rest is the client's. The client is who the proxy says or is refused; from elsewhere nothing of it counts; a host
/// that the proxy passes on is read as it was.
pub fn exercise(octets: &[u8]) {
    let Some((how, rest)) = octets.split_first() else { return };
    let written = String::from_utf8_lossy(rest);
    let proxies = TrustedProxies(["10.0.0.1", "10.0.0.2"].into_iter().filter_map(parse_network).collect());
    let own = [IpAddr::from([10, 0, 0, 1]), IpAddr::from([192, 0, 2, 1])];
    let seen = ["198.51.100.7", "2001:db8::7"].map(|text| text.parse::<IpAddr>());
    let (Ok(seen), is_v6) = (seen[usize::from(how & 1)].clone(), how & 1 == 1) else { return };
    let name = if is_v6 { format!("\"[{seen}]:4711\"") } else { format!("\"{seen}\"") };
    let appended = [format!("{written}, {seen}"), format!("{written}, for={name};proto=https;host=\"a.example\"")];
    for (own, is_ours) in own.into_iter().zip([true, false]) {
        let x = Forwarding { x_for: &[&appended[0]], ..Forwarding::default() };
        let standard = Forwarding { forwarded: &[&appended[1]], ..Forwarding::default() };
        let both = Forwarding { x_for: &[&appended[0]], forwarded: &[&written], ..Forwarding::default() };
        for headers in [x, standard, both] {
            match proxies.client(own, &headers) {
                Ok(client) if is_ours => assert_eq!(client.address, seen, "{headers:?}"),
                Ok(client) => assert_eq!(client, Client { address: own, https: None, host: None }),
                Err(_) => assert!(is_ours),
            }
        }
    }
    let escaped = written.replace('\\', "\\\\").replace('"', "\\\"");
    let header = format!("for=192.0.2.9;host=\"{escaped}\"");
    let client = proxies.client(own[0], &Forwarding { forwarded: &[&header], ..Forwarding::default() });
    assert_eq!(client.ok().and_then(|client| client.host).as_deref(), Some(&*written), "{header}");
    if let Some(network) = parse_network(&written) {
        assert!(parse_network(&network.to_string()) == Some(network) && network.trunc() == network);
    }
}

#[cfg(test)]
mod tests;
