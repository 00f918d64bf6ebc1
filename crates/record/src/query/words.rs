//! The words of pcap-filter(7), and values: numbers, ports, addresses.

use core::net::{IpAddr, Ipv6Addr};

use trunkline_wire::Address;

use super::primitive::Network;

/// A protocol by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Network(Network),
    /// A protocol number, and over what it is named.
    Protocol(u8, Option<Network>),
}

/// Names of protocols (pcap-filter(7)): over which network protocol libpcap looks for them.
pub(super) fn named(word: &str) -> Option<Named> {
    use Network::{Ip, Ip6};
    Some(match word {
        "ip" => Named::Network(Ip),
        "ip6" => Named::Network(Ip6),
        "arp" => Named::Network(Network::Arp),
        "rarp" => Named::Network(Network::Rarp),
        "tcp" => Named::Protocol(6, None),
        "udp" => Named::Protocol(17, None),
        "sctp" => Named::Protocol(132, None),
        "icmp" => Named::Protocol(1, Some(Ip)),
        "icmp6" => Named::Protocol(58, Some(Ip6)),
        "igmp" => Named::Protocol(2, Some(Ip)),
        "igrp" => Named::Protocol(9, Some(Ip)),
        "pim" => Named::Protocol(103, None),
        "vrrp" | "carp" => Named::Protocol(112, Some(Ip)),
        "ah" => Named::Protocol(51, None),
        "esp" => Named::Protocol(50, None),
        _ => return None,
    })
}

/// Words of pcap-filter(7) that are left to libpcap.
pub(super) fn is_left_to_libpcap(word: &str) -> bool {
    const WORDS: &str = "aarp action atalk broadcast byte bcc clnp connectmsg csnp decnet dir direction dpc es-is esis ether fddi \
        fisu gateway geneve greater hdpc hopc hsio hsls ifname ilmic inbound ipx is-is isis iih iso l1 l2 lane \
        lat len length less link llc lsp lssu lsu metac metaconnect moprc mopdl msu multicast netbeui oam oamf4 \
        oamf4ec oamf4sc on opc outbound ppp pppoed pppoes protochain psnp ra radio reason rnr rset rulenum \
        rulenumber rulset sc sca sio slip sls snp srnr ssap stp subrulenum subtype ta tr type vci vpi vxlan wlan";
    WORDS.split(' ').any(|known| known == word)
}

/// Words that are likely to be meant by one that is not known.
const WORDS: &[&str] = &[
    "host",
    "net",
    "port",
    "portrange",
    "proto",
    "src",
    "dst",
    "tcp",
    "udp",
    "sctp",
    "icmp",
    "icmp6",
    "ip",
    "ip6",
    "arp",
    "vlan",
    "mpls",
    "inner",
    "and",
    "or",
    "not",
];

pub(super) fn is_mistyped(word: &str) -> bool {
    !WORDS.contains(&word) && WORDS.iter().any(|known| is_near(known, word))
}

/// What to say about a word that nobody knows.
pub(super) fn unknown(word: &str) -> String {
    match WORDS.iter().find(|known| is_near(known, word)) {
        Some(near) => format!("'{word}' is not known: '{near}'?"),
        None => format!("'{word}' is not known: write 'host', 'net', 'port', 'udp' and so on, see pcap-filter(7)"),
    }
}

/// Whether one letter was left out, added, changed or swapped.
fn is_near(known: &str, word: &str) -> bool {
    let (a, b) = (known.as_bytes(), word.as_bytes());
    let head = a.iter().zip(b).take_while(|(x, y)| x.eq_ignore_ascii_case(y)).count();
    let (a, b) = (&a[head..], &b[head..]);
    let rest = |n: usize, m: usize| a.get(n..).zip(b.get(m..)).is_some_and(|(x, y)| x.eq_ignore_ascii_case(y));
    let swapped = a.len() >= 2 && b.len() >= 2 && a[0] == b[1] && a[1] == b[0] && rest(2, 2);
    known.len() > 2 && (rest(1, 0) || rest(0, 1) || rest(1, 1) || swapped || (a.is_empty() && b.is_empty()))
}

/// A number as libpcap reads it: decimal, octal with a leading 0, hexadecimal with 0x.
pub(super) fn number_of(word: &str) -> Option<u32> {
    if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return u32::from_str_radix(digits, 16).ok();
    }
    if word.len() > 1 && word.starts_with('0') {
        return u32::from_str_radix(word, 8).ok();
    }
    word.bytes().all(|o| o.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

pub(super) fn port_of(word: &str) -> Option<u16> {
    number_of(word).map_or_else(|| port_of_name(word), |n| u16::try_from(n).ok())
}

/// The services of a voice network by their names (IANA "Service Name and Transport Protocol Port Number Registry").
pub(super) fn port_of_name(word: &str) -> Option<u16> {
    const NAMES: &str = "sip=5060 sips=5061 stun=3478 stuns=5349 domain=53 http=80 https=443 ssh=22 telnet=23 ntp=123 snmp=161 \
        snmptrap=162 ldap=389 ldaps=636 syslog=514 tftp=69 bootps=67 bootpc=68 radius=1812 radius-acct=1813 \
        diameter=3868 mgcp-gateway=2427 mgcp-callagent=2727 iax=4569 smtp=25";
    let mut known = NAMES.split(' ').filter_map(|pair| pair.split_once('='));
    known.find(|(name, _)| *name == word).and_then(|(_, port)| port.parse().ok())
}

/// An address and how many bits of it count: fewer octets than four name a network, as `net 10` and `host 10.1` do.
pub(super) fn address_of(text: &str, net: bool) -> Option<(IpAddr, u8)> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(|a| (IpAddr::V6(a), 128));
    }
    let parts: Vec<u8> = text.split('.').map(|p| p.parse().ok()).collect::<Option<_>>()?;
    if parts.len() > 4 || (parts.len() == 1 && !net) {
        return None;
    }
    let mut octets = [0; 4];
    octets[..parts.len()].copy_from_slice(&parts);
    Some((IpAddr::V4(octets.into()), parts.len() as u8 * 8))
}

pub(super) fn of_number(number: u128, v6: bool) -> Address {
    if v6 { Address::v6(number.to_be_bytes()) } else { Address::v4((number as u32).to_be_bytes()) }
}
