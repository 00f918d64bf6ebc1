//! What is understood, and how mistakes are told.

use super::*;

fn mistake(text: &str) -> String {
    let e = Filter::parse(text).expect_err(text);
    format!("{e}\n{}", e.caret(text))
}

#[test]
fn the_example_of_the_design_is_understood() {
    let f = Filter::parse("caller:+4420* and mos<3.5 and duration>=60 and code:5xx and ip:10.1.0.0/16 and codec:PCMA");
    assert!(matches!(f.unwrap().node(), Node::And(nodes) if nodes.len() == 6));
}

#[test]
fn every_example_of_the_help_is_understood() {
    for help in fields() {
        for example in help.examples {
            Filter::parse(example).unwrap_or_else(|e| panic!("{example}: {e}"));
        }
        for alias in help.aliases {
            assert_eq!(field::named(alias), Some(help));
        }
    }
}

#[test]
fn binds_not_before_and_before_or() {
    let shape = |text: &str| match Filter::parse(text).unwrap().node {
        Node::Or(nodes) => nodes.iter().map(|n| matches!(n, Node::And(_))).collect::<Vec<_>>(),
        node => panic!("{node:?}"),
    };
    assert_eq!(shape("mos<3 and not code:503 or state:completed"), [true, false]);
    assert_eq!(shape("MOS < 3 code:503 OR !state:completed"), [true, false]);
    assert_eq!(Filter::parse("not not mos<3").unwrap().node, {
        let Node::Not(inner) = Filter::parse("not (not mos<3)").unwrap().node else { panic!() };
        Node::Not(inner)
    });
}

#[test]
fn mistakes_have_a_place_and_an_expectation() {
    for (text, expected) in [
        ("mos<3 calee:1", "column 7: unknown field 'calee'; did you mean 'callee'?\nmos<3 calee:1\n      ^^^^^"),
        ("", "column 1: expected a field, for example caller:+4420*\n\n^"),
        ("mos<3 and", "column 10: expected a field, for example caller:+4420*\nmos<3 and\n         ^"),
        ("(mos<3", "column 1: '(' without its ')'\n(mos<3\n^"),
        ("mos<3)", "column 6: ')' without its '('\nmos<3)\n     ^"),
        ("mos<x", "column 5: expected a score like 3.5, not 'x'\nmos<x\n    ^"),
        ("caller<5", "column 7: 'caller' takes ':' or '!=', not '<'\ncaller<5\n      ^"),
        ("caller", "column 7: expected ':' or '!=' after 'caller'\ncaller\n      ^"),
        ("caller:", "column 8: expected a value after 'caller', for example caller:+4420*\ncaller:\n       ^"),
        (
            "state:complete",
            "column 7: unknown name 'complete'; did you mean 'completed'?\nstate:complete\n      ^^^^^^^^",
        ),
        (
            "code:9xx",
            "column 6: expected a status code, 100 to 699, or a class like 5xx, not '9xx'\ncode:9xx\n     ^^^",
        ),
        ("4420", "column 1: '4420' is not a field; did you mean 'number:4420'?\n4420\n^^^^"),
        ("one-way", "column 1: 'one-way' is not a field; did you mean 'verdict:one-way-audio'?\none-way\n^^^^^^^"),
        ("comple", "column 1: 'comple' is not a field; did you mean 'state:completed'?\ncomple\n^^^^^^"),
        ("xyz", "column 1: 'xyz' is not a field; write FIELD:VALUE, for example caller:+4420*\nxyz\n^^^"),
        ("ua:\"x", "column 4: '\"' without its end\nua:\"x\n   ^"),
        (
            "é:1",
            "column 1: unknown field 'é'; there are caller, callee, number, callid, ua, state, verdict, hangup, code, mos, duration, pdd, setup, start, src, dst, ip, codec, ssrc, lost, jitter, jitter_mean, has, missing\né:1\n^",
        ),
    ] {
        assert_eq!(mistake(text), expected);
    }
}

#[test]
fn is_bounded() {
    assert!(Filter::parse(&format!("{}mos<3{}", "(".repeat(32), ")".repeat(32))).is_ok());
    assert!(mistake(&format!("{}mos<3{}", "(".repeat(33), ")".repeat(33))).contains("nested deeper than 32"));
    assert!(mistake(&"!".repeat(3000)).contains("nested deeper than 32"));
    assert!(mistake(&"mos<3 ".repeat(129)).contains("more than 128 tests"));
    assert!(mistake(&"x".repeat(5000)).contains("longer than 4096 octets"));
}

#[test]
fn holds_where_it_should() {
    use crate::row::*;
    let call = Call {
        from: "+442071234567".into(),
        to: "*21#".into(),
        state: CallState::Completed,
        code: 200,
        start_ns: 1_795_168_800_000_000_000, // 2026-11-20T10:00:00Z
        ringing_ns: Some(1_795_168_803_500_000_000),
        answer_ns: Some(1_795_168_805_000_000_000),
        end_ns: Some(1_795_168_895_700_000_000),
        mos: Some(4.2),
        src: "10.1.2.3:5060".parse().unwrap(),
        dst: "[2001:db8::1]:5060".parse().unwrap(),
        user_agent: "Asterisk PBX 20".into(),
        streams: vec![Stream {
            codec: "PCMA, telephone-event".into(),
            ssrc: 0x3a98_0074,
            expected: 100,
            missing: 3,
            jitter_max_ms: 21.0,
            src: "192.0.2.9:4000".parse().unwrap(),
            ..Stream::default()
        }],
        ..Call::default()
    };
    for (text, holds) in [
        ("caller:+4420*", true),
        ("caller:*4567 number:\"*21#\"", true),
        ("callee:\\*21#", true),
        ("callee:*21", false),
        ("mos:4.2 and mos>=4.2 and mos<=4.2", true),
        ("mos<4.2 or mos>4.2", false),
        ("duration:90 duration>=1m30s duration>90", true),
        ("duration<=90 or duration>91", false),
        ("pdd>3s pdd<4", true),
        ("setup:5s", true),
        ("code:2xx code:200 code!=5xx code<300", true),
        ("start:2026-11-20 start>=2026-11-20T10:00 start<=2026-11-20T10:00", true),
        ("start>2026-11-20", false),
        ("start<2026-11-20T11:00:00+01:00", false),
        ("ip:10.1.0.0/16 src:10.1.2.3:5060 src:10.1.* ip:192.0.2.9", true),
        ("src:10.1.2.3:5061 or dst:10.1.0.0/16 or ip:10.2.0.0/15", false),
        ("dst:2001:db8::/32 dst:[2001:db8::1]:5060", true),
        ("codec:pcma codec:tele*", true),
        ("codec:PCM or codec:PCMA,*", false),
        ("ssrc:0x3a980074 ssrc:983040116", true),
        ("lost>2% lost:3 jitter>20ms jitter:21", true),
        ("state:comp* state!=rejected ua:*asterisk*", true),
        ("has:mos has:streams missing:verdict not has:verdict", true),
        ("verdict:* or hangup:caller", false),
        ("not jitter_mean>5", true),
    ] {
        assert_eq!(Filter::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).matches(&call), holds, "{text}");
    }
    let bounds = Filter::parse("start>=2026-11-20 mos<3 start<2026-11-21").unwrap().start_bounds();
    assert_eq!(bounds, (1_795_132_800_000_000_000, 1_795_219_199_999_999_999));
}

#[test]
fn times_are_of_the_zone_of_who_asks_unless_they_say_otherwise() {
    // Two hours east of Greenwich.
    let east = |text: &str| Filter::parse_in(text, &|clock_ns| clock_ns.checked_sub(7_200_000_000_000)).unwrap();
    let utc = |text: &str| Filter::parse(text).unwrap();
    for (local, universal) in [
        ("start>=2026-11-20T10:00", "start>=2026-11-20T08:00Z"),
        ("start<2026-11-20T10:00:05.5", "start<2026-11-20T08:00:05.5"),
        ("start<2026-11-20T10:00+01:00", "start<2026-11-20T09:00"),
        ("start:2026-11-20T10:00Z", "start:2026-11-20T10:00"),
    ] {
        assert_eq!(east(local).node, utc(universal).node, "{local}");
    }
    assert_eq!(east("start:2026-11-20").start_bounds().0, utc("start>=2026-11-19T22:00").start_bounds().0);
}
