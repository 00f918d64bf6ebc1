//! Mistakes and their places, and what expressions mean.

use super::*;

fn wrong(text: &str) -> String {
    let error = parse(text).unwrap_err();
    format!("{}: {}", error.place.start, error.what)
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (text, begins) in [
        ("host", "4: expected an address"),
        ("hots 10.0.0.1", "0: 'hots' is not known: 'host'?"),
        ("udp port 70000", "9: '70000' is not a port"),
        ("udp port", "8: expected a port"),
        ("host sip.example.com", "5: 'sip.example.com' is not an address; names are not looked up"),
        ("(port 5060", "10: expected 'and', 'or' or ')'"),
        ("port 5060)", "9: this parenthesis was never opened"),
        ("port 5060 host 10.0.0.1", "10: expected 'and', 'or' or the end"),
        ("port 5060 and", "13: the expression ends"),
        ("net 10.0.0.1/8", "4: bits are set behind the mask"),
        ("net 10.0.0.0/33", "4: the mask's length is a number up to 32"),
        ("tcp host 10.0.0.1", "9: a transport goes with 'port'"),
        ("ip port 5", "8: ports are those of tcp, udp and sctp"),
        ("vlan 4096", "5: a VLAN identifier is a number up to 4095"),
        ("mpls and vlan", "9: behind 'mpls'"),
        ("inner vlan 5", "6: 'inner' goes with"),
        ("inner inner host 10.0.0.1", "6: 'inner' once is enough"),
        ("5060", "0: what is this number?"),
        ("vlan 5 and inner host 10.0.0.1 and less 100", "35: this cannot stand behind 'vlan'"),
    ] {
        assert!(wrong(text).starts_with(begins), "{text}: {}", wrong(text));
    }
    let text = parse("udp prt 5").unwrap_err().to_string();
    assert_eq!(text, "'prt' is not known: 'port'?\n  udp prt 5\n      ^^^");
    assert!(wrong(&"(".repeat(200)).contains("inside each other"));
    assert!(wrong(&"not ".repeat(20_000)).contains("longer than") || !wrong(&"not ".repeat(200)).is_empty());
}

#[test]
fn values_mean_what_the_words_before_them_meant() {
    let same = |a: &str, b: &str| {
        let texts = [a, b].map(|t| {
            let mut found = Vec::new();
            leaves(parse(t).unwrap().expression.as_ref().unwrap(), &mut |l| found.push(l.primitive.clone()));
            found
        });
        assert_eq!(texts[0], texts[1], "{a} | {b}");
    };
    same("port 80 or 443", "port 80 or port 443");
    same("udp src port (5060 or 5070)", "udp src port 5060 or udp src port 5070");
    same("not host 10.0.0.1 or 10.0.0.2", "not host 10.0.0.1 or host 10.0.0.2");
    same("10.0.0.1 or 10.0.0.0/24", "host 10.0.0.1 or net 10.0.0.0/24");
    same("net 10.0.0.0 mask 255.255.255.0", "net 10.0.0/24");
    same("host 10.1", "net 10.1.0.0/16");
    same("portrange 5070-5060", "portrange 5060-5070");
    same("port sip", "port 5060");
    same("proto \\udp", "udp");
    same("src or dst port 5", "port 5");
}

#[test]
fn the_rest_is_left_to_libpcap() {
    for text in [
        "udp[8:4] = 5",
        "less 100",
        "ether host 00:11:22:33:44:55 or 00:11:22:33:44:56",
        "(len - 5) > 9",
        "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
        "ip multicast",
        "pppoes and host 10.0.0.1",
    ] {
        let query = parse(text).unwrap();
        assert!(query.opaque && !query.shifted, "{text}");
    }
    assert!(parse("geneve and host 10.0.0.1").unwrap().shifted);
    let query = parse("host 10.0.0.1 and udp[8:4] = 5 and port 5060").unwrap();
    let mut kinds = Vec::new();
    leaves(query.expression.as_ref().unwrap(), &mut |l| kinds.push(query.text[l.place.clone()].to_owned()));
    assert_eq!(kinds, ["host 10.0.0.1", "udp[8:4] = 5", "port 5060"]);
}

#[test]
fn tags_and_labels_count_from_left_to_right() {
    let query = parse("port 1 and vlan 5 and (vlan or port 2) and mpls and port 3 and inner port 4").unwrap();
    let mut depths = Vec::new();
    leaves(query.expression.as_ref().unwrap(), &mut |l| depths.push((l.depth.tags, l.depth.labels)));
    assert_eq!(depths, [(0, 0), (0, 0), (1, 0), (2, 0), (2, 0), (2, 1), (0, 0)]);
}
