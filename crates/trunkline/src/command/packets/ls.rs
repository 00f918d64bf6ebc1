//! `trunkline packets ls`: the segments of the log.

use crate::command::extract::time;
use crate::command::packet_log::Part;
use crate::failure::Failure;
use crate::pager::Paged;
use crate::show::days::Days;
use crate::show::figure;
use crate::show::table::{self, Row, Table, number, text};
use crate::show::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use trunkline_kit::exit::Exit;
use trunkline_record::Class;
use trunkline_record::index::{Facts, IndexError, ReadAt, View};
use trunkline_record::job::{FileAt, SegmentFile, index_file};
use trunkline_record::segment::dropped;

/// Segments that a table lists if `--limit` does not say.
const ROWS_DEFAULT: usize = 50;

/// A segment as it is listed.
struct Listed {
    file: SegmentFile,
    /// Of the packets, and as they lie there.
    octets: u64,
    file_octets: u64,
    facts: Result<Facts, IndexError>,
    dropped: Option<u64>,
}

/// Sums of a class.
#[derive(Clone, Copy, Default)]
struct Sum {
    segments: u64,
    packets: u64,
    octets: u64,
    file_octets: u64,
    index_octets: u64,
    dropped: u64,
}

/// Lists.
pub fn run(part: &Part, limit: Option<usize>, json: bool, terminal: &Terminal) -> Result<Exit, Failure> {
    let files = part.segments(part.span(terminal)?)?;
    let limit = limit.unwrap_or(if json { usize::MAX } else { ROWS_DEFAULT });
    let skip = files.len().saturating_sub(limit);
    let mut order: Vec<&SegmentFile> = files.iter().collect();
    order.sort_by_key(|f| (f.begins_ns, f.class, f.lane, f.again, f.source));
    let mut out = Paged::new(terminal);
    let (mut sums, mut rows, mut bad) = (BTreeMap::<Class, Sum>::new(), Vec::new(), false);
    for (n, file) in order.into_iter().enumerate() {
        let listed = look(file);
        bad |= listed.facts.is_err() && !file.growing;
        if let Some(class) = file.class {
            sums.entry(class).or_default().add(&listed);
        }
        if n >= skip && json {
            writeln!(out, "{}", object(&listed))?;
        } else if n >= skip {
            rows.push(listed);
        }
    }
    if !json {
        table::write(&lines(&rows, &sums, skip, part, terminal), terminal, &mut out)?;
    }
    out.flush()?;
    Ok(if bad { Exit::Degraded } else { Exit::Done })
}

fn look(file: &SegmentFile) -> Listed {
    let none = || IndexError::Unreadable("there is none".to_owned());
    let open = file.open();
    let (octets, file_octets) = open.as_ref().map_or((0, 0), |capture| (capture.octets(), capture.file_octets()));
    let facts = match (&open, file.indexes.iter().find(|path| path.exists())) {
        (Ok(capture), Some(index)) => index_file::open(index, capture).map(|view: View<FileAt>| view.facts()),
        (Ok(_), None) => Err(none()),
        (Err(e), _) => Err(IndexError::Unreadable(e.to_string())),
    };
    let dropped = open.ok().filter(|_| !file.growing).and_then(|capture| dropped(&capture));
    Listed { file: file.clone(), octets, file_octets, facts, dropped }
}

impl Sum {
    fn add(&mut self, listed: &Listed) {
        self.segments += 1;
        self.octets += listed.octets;
        self.file_octets += listed.file_octets;
        self.dropped += listed.dropped.unwrap_or(0);
        if let Ok(facts) = &listed.facts {
            self.packets += facts.packets;
            self.index_octets += facts.index_octets;
        }
    }
}

fn object(l: &Listed) -> serde_json::Value {
    let facts = l.facts.as_ref().ok();
    json!({
        "path": l.file.path.to_string_lossy(), "class": l.file.class.map(Class::name), "lane": l.file.lane,
        "first": facts.map(|f| time(f.span.first_ns)), "last": facts.map(|f| time(f.span.last_ns)),
        "packets": facts.map(|f| f.packets), "octets": l.octets, "file_octets": l.file_octets,
        "dropped": l.dropped,
        "index_octets": facts.map(|f| f.index_octets), "being_written": l.file.growing,
        "index_fault": l.facts.as_ref().err().filter(|_| !l.file.growing).map(ToString::to_string),
    })
}

fn lines(rows: &[Listed], sums: &BTreeMap<Class, Sum>, skipped: usize, part: &Part, terminal: &Terminal) -> Vec<Line> {
    if rows.is_empty() {
        return vec![Line::new(terminal).with(Style::Plain, "No segments between --from and --to.")];
    }
    let begin = |l: &Listed| l.facts.as_ref().map_or(l.file.begins_ns, |f| f.span.first_ns.min(f.span.last_ns));
    let days = Days::of(rows.iter().map(begin), terminal);
    // Where nothing is compressed the file is as large as what is in it.
    let both = rows.iter().any(|l| l.file.is_packed());
    let on_disk = both.then(|| number("ON DISK").drops(2));
    let begins = [text("TIME"), text("CLASS"), number("LANE").drops(4), number("LASTS").drops(5), number("PACKETS")];
    let ends = [number("DROPPED"), number("INDEX").drops(3), text("FILE").drops(6).cuts(12, Keep::End)];
    let mut table = Table::new(begins.into_iter().chain([number("SIZE")]).chain(on_disk).chain(ends).collect());
    for listed in rows {
        table.row(row(listed, &days.time(begin(listed), terminal), both, part, terminal));
    }
    let mut lines = table.lines(terminal);
    lines.push(days.below(figure::of(rows.len() as u64, "segment", "segments"), terminal));
    if skipped > 0 {
        let text = format!("{} earlier: --limit N lists more", figure::of(skipped as u64, "segment", "segments"));
        lines.push(Line::new(terminal).with(Style::Dim, &text));
    }
    lines.extend(sums.iter().map(|(class, sum)| {
        let on_disk = match sum.file_octets == sum.octets {
            true => String::new(),
            false => format!(" ({} on disk)", figure::octets(sum.file_octets)),
        };
        let text = format!(
            "{}: {}, {}, {}{on_disk}, {} dropped, index {}",
            class.name(),
            figure::of(sum.segments, "segment", "segments"),
            figure::of(sum.packets, "packet", "packets"),
            figure::octets(sum.octets),
            figure::count(sum.dropped),
            figure::percent(sum.index_octets, sum.octets)
        );
        Line::new(terminal).with(Style::Plain, &text)
    }));
    lines
}

fn row(l: &Listed, begin: &str, both: bool, part: &Part, terminal: &Terminal) -> Row {
    let cell = |style: Style, text: &str| Line::new(terminal).with(style, text);
    let plain = |text: String| cell(Style::Plain, &text);
    let facts = l.facts.as_ref().ok();
    let lasts = facts.filter(|f| !f.span.is_empty()).map(|f| f.span.last_ns.saturating_sub(f.span.first_ns));
    let index = match (&l.facts, l.file.growing) {
        (Ok(facts), _) => plain(figure::percent(facts.index_octets, facts.file.octets)),
        (Err(_), true) => cell(Style::Dim, "being written"),
        (Err(_), false) => cell(Style::Bad, "unusable"),
    };
    let dropped = l.dropped.map_or_else(|| "-".to_owned(), figure::count);
    let style = if l.dropped.is_some_and(|n| n > 0) { Style::Bad } else { Style::Plain };
    let folder = part.data.get(l.file.source);
    let name = folder.and_then(|f| l.file.path.strip_prefix(f).ok()).unwrap_or(&l.file.path).display().to_string();
    let name = if part.data.len() > 1 { l.file.path.display().to_string() } else { name };
    let mut cells = vec![
        plain(begin.to_owned()),
        plain(l.file.class.map_or("", Class::name).to_owned()),
        plain(l.file.lane.to_string()),
        plain(lasts.map_or_else(String::new, figure::duration)),
        plain(facts.map_or_else(|| "-".to_owned(), |f| figure::count(f.packets))),
        plain(figure::octets(l.octets)),
    ];
    cells.extend(both.then(|| plain(figure::octets(l.file_octets))));
    cells.extend([cell(style, &dropped), index, cell(Style::Dim, &name)]);
    Row { cells, below: Vec::new() }
}
