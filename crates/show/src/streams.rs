//! The streams of a call side by side: a column a stream, a line a figure.

use super::call_page::sender;
use super::figure::{self, count, milliseconds, percent, signed};
use super::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use trunkline_store::row::Stream;

/// Streams that are drawn; a call with more is shown whole by `--json`.
pub const STREAMS_SHOWN_MAX: usize = 12;
/// Columns of the names of the figures.
const NAME_WIDTH: usize = 18;
/// Columns of a stream.
const STREAM_WIDTH: usize = 29;

/// One figure of a stream.
struct Figure {
    name: &'static str,
    of: fn(&Stream) -> String,
    style: fn(&Stream) -> Style,
}

/// All figures, in the order in which they are drawn. A figure that no stream has is left out.
const FIGURES: [Figure; 27] = [
    Figure { name: "from", of: |s| s.src.to_string(), style: plain },
    Figure { name: "to", of: |s| s.dst.to_string(), style: plain },
    Figure { name: "SSRC", of: |s| format!("0x{:08x}", s.ssrc), style: plain },
    Figure { name: "codec", of: codec, style: plain },
    Figure { name: "time", of: |s| figure::duration(s.last_ns.saturating_sub(s.first_ns)), style: plain },
    Figure { name: "packets", of: |s| format!("{} of {}", count(s.packets), count(s.expected)), style: plain },
    Figure { name: "missing", of: missing, style: |s| if s.missing > 0 { Style::Warn } else { Style::Plain } },
    Figure { name: "restored (T.38)", of: |s| none_if_zero(s.recovered), style: plain },
    Figure { name: "lost at the tap", of: lost_at_tap, style: |_| Style::Warn },
    Figure { name: "lost (RFC 3550)", of: |s| signed(s.lost), style: plain },
    Figure { name: "loss runs", of: loss_runs, style: plain },
    Figure { name: "duplicates", of: |s| count(s.duplicates), style: plain },
    Figure { name: "out of order", of: |s| count(s.reordered), style: plain },
    Figure { name: "late (200 ms)", of: |s| none_if_zero(s.discarded), style: |_| Style::Warn },
    Figure { name: "jitter mean", of: |s| milliseconds(s.jitter_mean_ms), style: plain },
    Figure { name: "jitter max", of: |s| milliseconds(s.jitter_max_ms), style: plain },
    Figure {
        name: "clock skew",
        of: |s| s.skew_ppm.map_or_else(String::new, |ppm| format!("{} ppm", signed(ppm.round() as i64))),
        style: plain,
    },
    Figure { name: "timestamp jumps", of: |s| jumps(s.timestamp_jumps), style: plain },
    Figure { name: "sequence jumps", of: |s| jumps(s.sequence_jumps), style: plain },
    Figure { name: "MOS G.107", of: g107, style: |s| super::call_page::mos_style(s.mos.g107) },
    Figure { name: "MOS VoIPmonitor", of: voipmonitor, style: plain },
    Figure { name: "RTCP reports lost", of: rtcp, style: plain },
    Figure { name: "lost after the tap", of: lost_after_tap, style: |_| Style::Warn },
    Figure {
        name: "MOS at receiver",
        of: |s| s.mos_receiver.map_or_else(String::new, |mos| figure::mos(Some(mos))),
        style: |s| super::call_page::mos_style(s.mos_receiver),
    },
    Figure {
        name: "round trip",
        of: |s| s.rtcp.round_trip_ms.map_or_else(String::new, |ms| milliseconds(ms.into())),
        style: plain,
    },
    Figure { name: "digits", of: |s| s.dtmf.clone(), style: plain },
    Figure { name: "encrypted", of: |s| if s.encrypted { "SRTP".to_owned() } else { String::new() }, style: plain },
];

/// The streams in groups of as many as fit beside each other.
pub fn streams(streams: &[Stream], terminal: &Terminal) -> Vec<Line> {
    let beside = ((terminal.width + 1).saturating_sub(NAME_WIDTH + 2) / (STREAM_WIDTH + 1)).max(1);
    let mut lines = Vec::new();
    for (i, group) in streams[..streams.len().min(STREAMS_SHOWN_MAX)].chunks(beside).enumerate() {
        if i > 0 {
            lines.push(Line::new(terminal));
        }
        lines.push(titles(i * beside, group, terminal));
        lines.extend(FIGURES.iter().filter_map(|figure| figure_line(figure, group, terminal)));
    }
    if streams.len() > STREAMS_SHOWN_MAX {
        let text = format!("{} more streams: --json has them all.", streams.len() - STREAMS_SHOWN_MAX);
        lines.push(Line::new(terminal).with(Style::Dim, &text));
    }
    lines
}

fn titles(first: usize, group: &[Stream], terminal: &Terminal) -> Line {
    let mut line = Line::new(terminal).with(Style::Bold, if first == 0 { "Streams" } else { "" });
    for (i, stream) in group.iter().enumerate() {
        line.pad(NAME_WIDTH + 2 + i * (STREAM_WIDTH + 1));
        line.push(Style::Bold, &format!("{}. {}", first + i + 1, sender(stream.direction)));
    }
    line
}

fn figure_line(figure: &Figure, group: &[Stream], terminal: &Terminal) -> Option<Line> {
    let texts: Vec<String> = group.iter().map(figure.of).collect();
    if texts.iter().all(String::is_empty) {
        return None;
    }
    let mut line = Line::new(terminal).with(Style::Dim, figure.name);
    for (i, (text, stream)) in texts.iter().zip(group).enumerate() {
        line.pad(NAME_WIDTH + 2 + i * (STREAM_WIDTH + 1));
        let mut cell = Line::new(terminal).with((figure.style)(stream), text);
        cell.fit(STREAM_WIDTH, Keep::Start);
        line.append(&cell);
    }
    Some(line)
}

fn plain(_: &Stream) -> Style {
    Style::Plain
}

/// `PCMA, telephone-event, 20 ms`.
fn codec(stream: &Stream) -> String {
    let name = if stream.codec.is_empty() { "not known" } else { &stream.codec };
    if stream.ptime_ms > 0.0 { format!("{name}, {:.0} ms", stream.ptime_ms) } else { name.to_owned() }
}

fn missing(stream: &Stream) -> String {
    format!("{} ({})", count(stream.missing), percent(stream.missing, stream.expected))
}

/// `12 x 1, 3 x 2, 1 x 10+`: how many runs of which length.
fn loss_runs(stream: &Stream) -> String {
    let run = |(i, n): (usize, &u32)| (*n > 0).then(|| format!("{n} x {}{}", i + 1, if i == 9 { "+" } else { "" }));
    stream.loss_runs.iter().enumerate().filter_map(run).collect::<Vec<_>>().join(", ")
}

fn g107(stream: &Stream) -> String {
    let scale = if stream.mos.wideband { " wideband (G.107.1)" } else { "" };
    match stream.mos_range {
        Some(range) => format!("{}{scale}", figure::mos_range(range)),
        None => format!("{}{scale}", figure::mos(stream.mos.g107)),
    }
}

/// Of the missing packets, what the capture lost: `12`, or `up to 12`.
fn lost_at_tap(stream: &Stream) -> String {
    match (stream.lost_at_tap, stream.lost_at_tap_least) {
        (0, _) => String::new(),
        (most, least) if most > least => format!("up to {}", count(most)),
        (most, _) => count(most),
    }
}

/// The three jitter-buffer models: fixed 50 ms, fixed 200 ms, adaptive 500 ms.
fn voipmonitor(stream: &Stream) -> String {
    let [f1, f2, adapt] = [stream.mos.vm_f1, stream.mos.vm_f2, stream.mos.vm_adapt].map(figure::mos);
    format!("F1 {f1}, F2 {f2}, adapt {adapt}")
}

fn rtcp(stream: &Stream) -> String {
    stream.rtcp.lost.map_or_else(String::new, |lost| format!("{} packets", signed(lost.into())))
}

/// What the receiver lost of the packets that came by here.
fn lost_after_tap(stream: &Stream) -> String {
    match stream.rtcp.lost_after_tap {
        0 => String::new(),
        lost => format!("{} ({})", count(lost), percent(lost, stream.rtcp.passed)),
    }
}

fn jumps(n: u32) -> String {
    if n == 0 { String::new() } else { count(n.into()) }
}

fn none_if_zero(n: u64) -> String {
    if n == 0 { String::new() } else { figure::of(n, "packet", "packets") }
}

#[cfg(test)]
mod tests {
    use crate::samples::{self, expect, terminal, written};

    #[test]
    fn stand_side_by_side_where_there_is_room() {
        let mut call = samples::good();
        call.streams[1].missing = 31;
        call.streams[1].loss_runs = [12, 3, 0, 0, 0, 0, 0, 0, 0, 1];
        call.streams[1].mos.g107 = Some(2.9);
        call.streams[0].rtcp.lost = Some(-1);
        for width in [60, 80] {
            let terminal = terminal(width);
            expect(&format!("streams-{width}"), &written(&super::streams(&call.streams, &terminal), &terminal));
        }
    }
}
