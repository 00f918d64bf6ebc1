//! The statistics that rtpproxy's own tests expect of its captures, beside ours of the same captures.
//!
//! Its analyser (src/rtp_analyze.c) counts a stream from its first packet on: `pcount` distinct packets, `psent`
//! highest - lowest sequence number + 1, `plost` psent - precvd (precvd: distinct), `duplicates` the copies. Its jitter
//! is that of RFC 3550 A.8 in units of the RTP timestamp (8 kHz in all its captures), arrival times cut to whole units,
//! packets whose timestamp came before left out, the mean over all but the first.

use super::compare::Comparison;
use super::figures::Stream;
use std::path::Path;

const FOLDER: &str = "captures/third-party/sippy+rtpproxy/tests";
/// Its result, and the captures that it was made from.
const RESULTS: &[(&str, &[&str])] = &[
    ("extractaudio/call1_alaw", &["call1_alaw"]),
    ("extractaudio/call1_g729", &["call1_g729"]),
    ("rtp_analyze/G723_1", &["G723_1.a.rtp", "G723_1.o.rtp"]),
    ("rtp_analyze/dups", &["dups.a.rtp"]),
    ("rtp_analyze/lost", &["lost.a.rtp", "lost.o.rtp"]),
    ("rtp_analyze/alice_to_bob", &["alice_srtp", "bob_srtp"]),
];
/// Figures that are compared: six of each of its ten streams, and two lines about digits.
pub const COMPARED: usize = 10 * 6 + 2;
/// Units of the RTP timestamp in a millisecond.
const UNITS_PER_MS: f64 = 8.0;
/// Its arrival times are whole units of the timestamp: its figures are good to about that, milliseconds.
const JITTER_SAME_MS: f64 = 1.0 / UNITS_PER_MS;

/// What it expects of a stream.
#[derive(Debug, Default, PartialEq)]
struct Expected {
    ssrc: String,
    sent: u64,
    received: u64,
    lost: u64,
    duplicates: u64,
    jitter_mean_ms: Option<f64>,
    jitter_max_ms: Option<f64>,
}

/// Adds to the comparisons of its captures what differs from its own expectations.
///
/// # Errors
/// One of its results is missing.
pub fn add(shared: &Path, comparisons: &mut [Comparison]) -> Result<(), String> {
    for (name, captures) in RESULTS {
        let path = shared.join(format!("{FOLDER}/{name}.output"));
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{name}.output: {e}"))?;
        for expected in parse(&text) {
            let own = |c: &&mut Comparison| captures.iter().any(|f| c.file == format!("captures/rtpproxy/{f}.pcap"));
            let found = comparisons.iter_mut().filter(own).find(|c| stream(c, &expected.ssrc).is_some());
            match found {
                Some(comparison) => compare(comparison, &expected),
                None => missing(comparisons, captures, &expected),
            }
        }
    }
    let dtmf = shared.join(format!("{FOLDER}/catch_dtmf/catch_dtmf.output"));
    let text = std::fs::read_to_string(&dtmf).map_err(|e| format!("catch_dtmf.output: {e}"))?;
    if let Some(comparison) = comparisons.iter_mut().find(|c| c.file == "captures/rtpproxy/dtmf.pcap") {
        compare_dtmf(comparison, &text);
    }
    Ok(())
}

fn stream<'a>(comparison: &'a Comparison, ssrc: &str) -> Option<&'a Stream> {
    comparison.ours.figures.streams.iter().find(|s| s.name.starts_with(ssrc))
}

fn compare(comparison: &mut Comparison, expected: &Expected) {
    let Some(ours) = stream(comparison, &expected.ssrc).cloned() else { return };
    let of = |what: &str| format!("rtpproxy {what} {}", expected.ssrc);
    let (missing, copies) = (ours.missing.unwrap_or_default(), ours.duplicates.unwrap_or_default());
    let distinct = ours.packets.saturating_sub(copies);
    comparison.count(of("received"), expected.received, distinct);
    comparison.count(of("lost"), expected.lost, missing);
    comparison.count(of("sent"), expected.sent, distinct + missing);
    comparison.count(of("duplicates"), expected.duplicates, copies);
    comparison.jitter(of("jitter mean"), expected.jitter_mean_ms, ours.jitter_mean_ms, JITTER_SAME_MS);
    comparison.jitter(of("jitter max"), expected.jitter_max_ms, ours.jitter_max_ms, JITTER_SAME_MS);
}

fn missing(comparisons: &mut [Comparison], captures: &[&str], expected: &Expected) {
    let first = captures.first().map(|f| format!("captures/rtpproxy/{f}.pcap"));
    if let Some(comparison) = comparisons.iter_mut().find(|c| Some(&c.file) == first.as_ref()) {
        comparison.differ(format!("rtpproxy stream {}", expected.ssrc), "a stream", "none");
    }
}

/// The test of its DTMF catcher prints, for each side, packets sent, received (distinct), copies and lost.
fn compare_dtmf(comparison: &mut Comparison, text: &str) {
    let streams = comparison.ours.figures.streams.clone();
    for line in text.lines().filter(|l| l.starts_with("rtpa_nsent=")).take(2) {
        let fields =
            ["rtpa_nsent", "rtpa_nrcvd", "rtpa_ndups", "rtpa_nlost"].map(|f| number(line, f).unwrap_or_default());
        let [sent, received, copies, lost] = fields;
        let theirs = format!("{sent} sent, {received} received, {copies} copies, {lost} lost");
        let ours = streams.iter().find(|s| s.packets == received + copies).map_or("no such stream".to_owned(), |s| {
            let (missing, copies) = (s.missing.unwrap_or_default(), s.duplicates.unwrap_or_default());
            let distinct = s.packets.saturating_sub(copies);
            format!("{} sent, {distinct} received, {copies} copies, {missing} lost", distinct + missing)
        });
        comparison.count(format!("rtpproxy dtmf {received}"), theirs, ours);
    }
}

/// The streams of an output: three lines each.
fn parse(text: &str) -> Vec<Expected> {
    let mut found: Vec<Expected> = Vec::new();
    for line in text.lines() {
        if line.starts_with("pcount=") {
            let ssrc = field(line, "ssrc").unwrap_or_default().to_lowercase();
            let duplicates = number(line, "duplicates").unwrap_or_default();
            found.push(Expected { ssrc, duplicates, ..Expected::default() });
        }
        let Some(last) = found.last_mut() else { continue };
        let count = |name: &str| number(line, name);
        last.sent = count("psent").unwrap_or(last.sent);
        last.received = count("precvd").unwrap_or(last.received);
        last.lost = count("plost").unwrap_or(last.lost);
        let jitter = |name: &str| Some(field(line, name)?.parse::<f64>().ok()? / UNITS_PER_MS);
        last.jitter_mean_ms = jitter("average_jitter").or(last.jitter_mean_ms);
        last.jitter_max_ms = jitter("max_jitter").or(last.jitter_max_ms);
    }
    found
}

/// The value of `name=value` in a line of such pairs.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split([',', ' ']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn number(line: &str, name: &str) -> Option<u64> {
    field(line, name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_three_lines() {
        let text = "pcount=383, min_seq=0, max_seq=382, seq_offset=0, ssrc=0xAE9DD7AF, duplicates=1\n\
            ssrc_changes=1, psent=384, precvd=383, plost=1\n\
            last_jitter=0.004223,average_jitter=0.8,max_jitter=1.6\nMEMDEB(extractaudio): all clear\n";
        let expected = Expected {
            ssrc: "0xae9dd7af".to_owned(),
            sent: 384,
            received: 383,
            lost: 1,
            duplicates: 1,
            jitter_mean_ms: Some(0.1),
            jitter_max_ms: Some(0.2),
        };
        assert_eq!(parse(text), [expected]);
    }
}
