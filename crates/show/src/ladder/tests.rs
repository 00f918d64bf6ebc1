use super::*;
use crate::samples::{self, ascii_terminal, expect, terminal, written};

const ALL: usize = usize::MAX;

fn draw(name: &str, call: &Call, terminal: &Terminal) -> String {
    let text = written(&ladder(call, terminal, ALL), terminal);
    let widest = text.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or(0);
    assert!(widest <= terminal.width, "{name}: {widest} columns of {}\n{text}", terminal.width);
    expect(&format!("ladder-{name}-{}", terminal.width), &text);
    text
}

#[test]
fn draws_calls_of_all_kinds_in_80_and_120_columns() {
    let calls = [
        ("good", samples::good()),
        ("one-way", samples::one_way()),
        ("retransmissions", samples::retransmissions()),
        ("forked", samples::forked()),
        ("three-hosts", samples::three_hosts()),
        ("ipv6", samples::ipv6()),
        ("hostile", samples::hostile()),
        ("many-hosts", samples::many_hosts()),
    ];
    for (name, call) in &calls {
        for width in [80, 120] {
            draw(name, call, &terminal(width));
        }
    }
}

#[test]
fn is_ascii_where_the_locale_is_not_utf8() {
    for (name, call) in [("one-way-ascii", samples::one_way()), ("hostile-ascii", samples::hostile())] {
        assert!(draw(name, &call, &ascii_terminal(80)).is_ascii());
    }
}

#[test]
fn every_width_holds() {
    for width in 60..200 {
        for call in [samples::good(), samples::forked(), samples::many_hosts(), samples::ipv6(), samples::hostile()] {
            let terminal = terminal(width);
            let text = written(&ladder(&call, &terminal, ALL), &terminal);
            let widest = text.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or(0);
            assert!(widest <= width, "{widest} of {width}:\n{text}");
        }
    }
}

#[test]
fn a_long_call_is_cut_and_says_so() {
    let terminal = terminal(80);
    let text = written(&ladder(&samples::long(), &terminal, 20), &terminal);
    expect("ladder-long", &text);
}

#[test]
fn rows_that_lie_do_no_harm() {
    let mut call = samples::good();
    call.ladder.hosts.truncate(1);
    call.ladder.messages[0].text = (u32::MAX, u16::MAX);
    call.ladder.messages[1].method = 99;
    call.ladder.messages[2].at_ns = i64::MIN;
    assert!(!ladder(&call, &terminal(80), ALL).is_empty());
    call.ladder.hosts.clear();
    assert!(!ladder(&call, &terminal(80), ALL).is_empty());
}

#[test]
fn letters_go_on_after_z() {
    assert_eq!([letter(0), letter(25), letter(26), letter(700)], ["A", "Z", "AA", "ZY"]);
}
