//! Who is believed about the client's address.

use super::*;
use proptest::prelude::*;

fn proxies(networks: &[&str]) -> TrustedProxies {
    TrustedProxies::new(networks.iter().map(|n| parse_network(n).unwrap()).collect())
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn address(proxies: &TrustedProxies, peer: &str, x_for: &[&str], forwarded: &[&str]) -> Option<String> {
    let headers = Forwarding { x_for, forwarded, ..Forwarding::default() };
    proxies.client(ip(peer), &headers).ok().map(|c| c.address.to_string())
}

#[test]
fn only_configured_proxies_are_believed() {
    let none = proxies(&[]);
    let two = proxies(&["10.0.0.1", "10.0.0.2", "2001:db8::/64"]);
    /// Proxies, peer, X-Forwarded-For, Forwarded; the client, none where it is refused.
    type Row<'a> = (&'a TrustedProxies, &'a str, &'a [&'a str], &'a [&'a str], Option<&'a str>);
    let table: [Row<'_>; 18] = [
        (&none, "10.0.0.1", &["192.0.2.9"], &["for=192.0.2.9"], Some("10.0.0.1")),
        (&two, "203.0.113.5", &["192.0.2.9"], &[], Some("203.0.113.5")),
        (&two, "10.0.0.1", &[], &[], Some("10.0.0.1")),
        (&two, "10.0.0.1", &["192.0.2.9"], &[], Some("192.0.2.9")),
        (&two, "::ffff:10.0.0.1", &["::ffff:192.0.2.9"], &[], Some("192.0.2.9")),
        // What the client wrote stands left of what the proxy appended.
        (&two, "10.0.0.1", &["127.0.0.1, 192.0.2.9"], &[], Some("192.0.2.9")),
        (&two, "10.0.0.1", &["127.0.0.1", "192.0.2.9"], &[], Some("192.0.2.9")),
        (&two, "10.0.0.1", &["127.0.0.1, 192.0.2.9, 10.0.0.2"], &[], Some("192.0.2.9")),
        (&two, "10.0.0.1", &["10.0.0.2, 10.0.0.1"], &[], Some("10.0.0.2")),
        (&two, "10.0.0.1", &["[2001:db8:1::7]:4711"], &[], Some("2001:db8:1::7")),
        (&two, "2001:db8::9", &["192.0.2.9:80"], &[], Some("192.0.2.9")),
        // What cannot be read is refused; left of the client it does not matter.
        (&two, "10.0.0.1", &["192.0.2.9, unknown"], &[], None),
        (&two, "10.0.0.1", &[""], &[], None),
        (&two, "10.0.0.1", &["<script>, 192.0.2.9"], &[], Some("192.0.2.9")),
        (&two, "10.0.0.1", &[], &["for=\"[2001:db8:cafe::17]:4711\";proto=https"], Some("2001:db8:cafe::17")),
        (&two, "10.0.0.1", &[], &["For=127.0.0.1, for=192.0.2.43;by=203.0.113.43"], Some("192.0.2.43")),
        // A client that adds the header which its proxy does not write gains nothing.
        (&two, "10.0.0.1", &["192.0.2.9"], &["for=127.0.0.1"], None),
        (&two, "10.0.0.1", &["192.0.2.9"], &["for=192.0.2.9"], Some("192.0.2.9")),
    ];
    for (proxies, peer, x_for, forwarded, expected) in table {
        assert_eq!(address(proxies, peer, x_for, forwarded).as_deref(), expected, "{peer} {x_for:?} {forwarded:?}");
    }
}

/// The examples of RFC 7239, section 4 and 7.1.
#[test]
fn forwarded_is_read_as_its_rfc_shows() {
    let p = proxies(&["10.0.0.1"]);
    for (header, expected) in [
        ("for=\"_gazonk\"", None),
        ("For=\"[2001:db8:cafe::17]:4711\"", Some("2001:db8:cafe::17")),
        ("for=192.0.2.60;proto=http;by=203.0.113.43", Some("192.0.2.60")),
        ("for=192.0.2.43, for=198.51.100.17", Some("198.51.100.17")),
        ("for=192.0.2.43,for=\"[2001:db8:cafe::17]\",for=unknown", None),
        ("for=_hidden, for=_SEVKISEK", None),
        ("for=192.0.2.1;for=192.0.2.2", None),
        ("for=\"192.0.2.1", None),
        ("proto=https", None),
        ("by=\"a,b;for=127.0.0.1\";for=192.0.2.7", Some("192.0.2.7")),
    ] {
        assert_eq!(address(&p, "10.0.0.1", &[], &[header]).as_deref(), expected, "{header}");
    }
}

/// What others read wrongly.
#[test]
fn forwarded_is_read_where_others_stumble() {
    let p = proxies(&["10.0.0.1"]);
    let client = |header: &str| {
        let headers = Forwarding { forwarded: &[header], ..Forwarding::default() };
        p.client(ip("10.0.0.1"), &headers).ok().map(|c| (c.address.to_string(), c.host, c.https))
    };
    let of = |address: &str, host: Option<&str>, https| Some((address.to_owned(), host.map(str::to_owned), https));
    // `for` is not the first parameter; names are of any case; separators in quotes separate nothing.
    assert_eq!(
        client("by=203.0.113.43;For=192.0.2.9;HOST=a.example;proto=https"),
        of("192.0.2.9", Some("a.example"), Some(true))
    );
    assert_eq!(client("for=192.0.2.9;host=\"a;b,c=d\";proto=http"), of("192.0.2.9", Some("a;b,c=d"), Some(false)));
    // A port, which needs quotes, and has them or not.
    assert_eq!(client("for=\"[2001:db8::1]:8080\";by=\"[::1]:4430\""), of("2001:db8::1", None, None));
    assert_eq!(
        client("by=\"[::1]:4430\";for=\"[::1]:57096\";host=localhost:4430"),
        of("::1", Some("localhost:4430"), None)
    );
    // Without brackets an address of version 6 is one, and its port is not guessed.
    assert_eq!(
        client("for=2001:861:3a42:b7b0:9971:120a:391f:f585"),
        of("2001:861:3a42:b7b0:9971:120a:391f:f585", None, None)
    );
    // Escaped: a quote, a backslash, and what needs no backslash.
    assert_eq!(client(r#"for=192.0.2.9;host="a\"b\\c\d""#), of("192.0.2.9", Some(r#"a"b\cd"#), None));
    // An address in a user's name is not the address.
    assert_eq!(client(r#"user="bad,for=203.0.113.1";for=192.0.2.9"#), of("192.0.2.9", None, None));
    assert_eq!(client(r#"user="bad\",for=203.0.113.1";for=192.0.2.9"#), of("192.0.2.9", None, None));
    for refused in [
        "for=\"[2001:db8::1]:99999\"",
        "for=\"[2001:db8::1\"",
        "for=\"\"",
        "for=",
        "for=\"192.0.2.9\\\"",
        ",",
        "for=unknown",
    ] {
        assert_eq!(client(refused), None, "{refused}");
    }
}

#[test]
fn scheme_and_host_are_the_nearest_proxy_s() {
    let p = proxies(&["10.0.0.1"]);
    let headers = Forwarding {
        x_for: &["192.0.2.9"],
        x_proto: &["http, https"],
        x_host: &["evil.example, pbx.example"],
        forwarded: &[],
    };
    let client = p.client(ip("10.0.0.1"), &headers).unwrap();
    assert_eq!((client.https, client.host.as_deref()), (Some(true), Some("pbx.example")));
    let stranger = p.client(ip("192.0.2.1"), &headers).unwrap();
    assert_eq!((stranger.https, stranger.host), (None, None));
}

#[test]
fn networks_are_allowed_or_refused_clearly() {
    let allowed = AllowedNetworks::new(vec![parse_network("10.0.0.0/8").unwrap(), parse_network("::1").unwrap()]);
    for (address, passes) in [("10.9.9.9", true), ("::ffff:10.1.1.1", true), ("::1", true), ("192.0.2.1", false)] {
        assert_eq!(allowed.check(ip(address)).is_ok(), passes, "{address}");
    }
    assert!(AllowedNetworks::default().check(ip("192.0.2.1")).is_ok());
    assert!(allowed.check(ip("192.0.2.1")).unwrap_err().to_string().contains("192.0.2.1"));
}

proptest! {
    /// Whatever a client writes: behind a proxy that appends, the address is the one that the proxy saw, or refused.
    #[test]
    fn a_client_cannot_choose_its_address(written in ".{0,80}", forwarded in prop::option::of(".{0,60}")) {
        let p = proxies(&["10.0.0.1", "10.0.0.2"]);
        let x = format!("{written}, 198.51.100.7");
        let forwarded: Vec<&str> = forwarded.as_deref().into_iter().collect();
        let found = address(&p, "10.0.0.1", &[&x], &forwarded);
        prop_assert!(found.is_none() || found.as_deref() == Some("198.51.100.7"), "{:?}", found);
        let stranger = address(&p, "203.0.113.1", &[&x], &forwarded);
        prop_assert_eq!(stranger.as_deref(), Some("203.0.113.1"));
    }

    #[test]
    fn no_header_makes_it_panic(x in ".{0,60}", f in ".{0,60}", fors in "(for=[\"\\\\a-z0-9:.,;=]{0,12},?){0,8}") {
        let p = proxies(&["10.0.0.1"]);
        let _ = address(&p, "10.0.0.1", &[&x], &[&f]);
        let _ = address(&p, "10.0.0.1", &[], &[&fors]);
    }
}
