use super::*;
use crate::samples::{self, START, expect, terminal, written};
use trunkline_kit::counters::Counted;
use trunkline_store::row::{Loss, Registration, Rows, Verdict};

const COUNTERS: [(&str, &str, u64); 4] = [
    ("trunkline_calls_udp_packets_total", "UDP datagrams", 1100),
    ("trunkline_calls_tcp_packets_total", "TCP segments", 100),
    ("trunkline_calls_sip_cut_total", "SIP messages that the snap length cut", 3),
    ("trunkline_calls_streams_overflow_total", "streams not followed because the table was full", 0),
];

fn summary(error: Option<&str>) -> Summary {
    let counted = |(name, help, value): (&'static str, &'static str, u64)| Counted { name, help, value };
    Summary {
        files: vec![FileSummary {
            path: "office.pcap".into(),
            format: "pcap, microseconds".into(),
            packets: 1204,
            first_ns: Some(START),
            last_ns: Some(START + 731_000_000_000),
            error: error.map(str::to_owned),
            expands: false,
        }],
        counters: COUNTERS.map(counted).to_vec(),
        packets: 1204,
        sip_messages: 41,
        streams: 3,
        ..Summary::default()
    }
}

fn check(name: &str, summary: &Summary, rows: &[Rows], stopped: bool) {
    let mut selection = Selection::default();
    rows.iter().for_each(|rows| selection.take(rows));
    let of = Report { summary, selection: &selection, store: Some(String::new()), stopped };
    for width in [80, 120] {
        let terminal = terminal(width);
        let text = written(&report(&of, &terminal), &terminal);
        let widest = text.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or(0);
        assert!(widest <= width, "{widest} of {width}\n{text}");
        expect(&format!("report-{name}-{width}"), &text);
    }
}

#[test]
fn a_few_calls_come_with_their_ladders() {
    let rows = Rows { calls: vec![samples::one_way(), samples::good()], ..Rows::default() };
    check("few", &summary(None), &[rows], false);
}

#[test]
fn many_calls_are_told_by_kind() {
    let calls = vec![samples::one_way(), samples::good(), samples::retransmissions(), samples::forked()];
    let failed = Registration {
        user: "alice".into(),
        start_ns: START,
        src: "192.0.2.7:5060".parse().unwrap(),
        dst: "192.0.2.2:5060".parse().unwrap(),
        code: 403,
        verdict: Some(Verdict {
            kind: "registration-failed".into(),
            text: "Registration refused with 403 Forbidden: wrong password or account.".into(),
            packets: vec![12, 14],
        }),
        ..Registration::default()
    };
    let loss =
        Loss { at_ns: START, place: "interface".into(), source: "office.pcap".into(), count: 1200, ..Loss::default() };
    let rows = Rows { calls, registrations: vec![failed], losses: vec![loss], ..Rows::default() };
    let rest = Rows { calls: rows.calls.clone(), ..Rows::default() };
    let broken = summary(Some("offset 81234: cut short in a packet: 12 of 214 octets are there"));
    check("many", &broken, &[vec![rows], vec![rest; 30]].concat(), true);
}

#[test]
fn no_calls_says_what_there_is_instead() {
    let streams = samples::good().streams;
    check("none", &Summary { sip_messages: 0, ..summary(None) }, &[Rows { streams, ..Rows::default() }], false);
    check("empty", &Summary { packets: 0, files: Vec::new(), ..Summary::default() }, &[], false);
}

#[test]
fn rtp_that_was_captured_more_than_once_is_told() {
    let mut good = samples::good();
    good.streams.iter_mut().for_each(|stream| stream.packets += stream.expected - stream.missing);
    let mut selection = Selection::default();
    selection.take(&Rows { calls: vec![good], ..Rows::default() });
    for (files, advice) in [(1, "capture at one place"), (2, "read the captures of each place alone")] {
        let mut summary = summary(None);
        summary.files = vec![summary.files[0].clone(); files];
        let of = Report { summary: &summary, selection: &selection, store: None, stopped: false };
        let text = written(&report(&of, &terminal(120)), &terminal(120));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in
            ["RTP streams were captured more than once: loss between the places of capture does not show", advice]
        {
            assert!(text.contains(part), "{text}");
        }
        let open = "loss between the places of capture in 1 call (its RTP was captured more than once)";
        assert!(text.contains(open), "{text}");
    }
}
