//! `trunkline calls`: search calls.

use crate::cli::DataFolder;
use crate::failure::Failure;
use crate::moment;
use crate::pager::Paged;
use crate::search::{self, Range, TABLE_ROWS_DEFAULT};
use crate::show::call_list::{self, Verdicts};
use crate::show::call_page;
use crate::show::text::{Line, Style, clean, wrap};
use crate::show::{figure, table};
use crate::terminal::Terminal;
use jiff::tz::TimeZone;
use std::io::{self, Write};
use trunkline_kit::exit::Exit;
use trunkline_kit::untrusted::cell as csv;
use trunkline_store::Store;
use trunkline_store::filter::Filter;
use trunkline_store::json;
use trunkline_store::row::Call;

/// Search calls
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline calls                                   the newest\n  \
    trunkline calls --sort worst --limit 10           the worst\n  \
    trunkline calls 'mos<3.5 and duration>=60'        by quality and length\n  \
    trunkline calls 'caller:+4420* and code:5xx' --from 2026-11-20T10:00 --to 2026-11-20T11:00\n  \
    trunkline calls --csv has:verdict > bad.csv\n\n\
    Filter language: trunkline help filter. Times are in your time zone unless they have an offset.")]
pub struct Calls {
    /// Filter; several words are one filter
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Calls that started at this time or later
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// Calls that started until this time; a day or minute is included
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
    /// Maximum number to list [default: 50 in a table, else all]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Order
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,
    /// Print one JSON object per line
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values with a header line
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    data: DataFolder,
}

/// Orders of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Sort {
    /// The latest start first
    #[default]
    Newest,
    /// The earliest start first
    Oldest,
    /// The lowest MOS first
    Worst,
}

impl Calls {
    /// Searches and prints.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let text = self.filter.join(" ");
        let filter = parse(&text, &terminal.zone)?;
        let range = self.range(terminal)?;
        let store = search::open(&self.data)?;
        let mut out = Paged::new(terminal);
        if self.json || self.csv {
            let limit = self.limit.map_or(usize::MAX, |n| n as usize);
            self.print_rows(&store, filter.as_ref(), range, limit, &mut out)?;
        } else {
            let limit = self.limit.unwrap_or(TABLE_ROWS_DEFAULT) as usize;
            let mut found = Vec::new();
            search::calls(&store, filter.as_ref(), range, self.sort, limit, &mut |call| {
                found.push(call.clone());
                Ok(())
            })?;
            if found.is_empty() {
                let why = search::why_no_calls(&store, &self.data, filter.is_some(), range, &terminal.zone)?;
                say(Style::Plain, &why, terminal, &mut out)?;
            } else {
                print_table(&found, limit, terminal, &mut out)?;
            }
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    fn range(&self, terminal: &Terminal) -> Result<Range, Failure> {
        let time = |option: &str, text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => {
                moment::span(text, &terminal.zone).map(Some).map_err(|why| Failure::Usage(format!("{option}: {why}")))
            }
        };
        let (from, to) = (time("--from", &self.from)?, time("--to", &self.to)?);
        let range = Range { from_ns: from.map_or(i64::MIN, |f| f.0), to_ns: to.map_or(i64::MAX, |t| t.1) };
        if range.from_ns >= range.to_ns {
            return Err(Failure::Usage("--from must be before --to".to_owned()));
        }
        Ok(range)
    }

    fn print_rows(
        &self,
        store: &Store,
        filter: Option<&Filter>,
        range: Range,
        limit: usize,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        if self.csv {
            writeln!(out, "{}", CSV.join(","))?;
        }
        let mut line = String::new();
        search::calls(store, filter, range, self.sort, limit, &mut |call| {
            line.clear();
            if self.csv {
                line.push_str(&csv_line(call))
            } else {
                json::call(&mut line, call)
            }
            line.push('\n');
            Ok(out.write_all(line.as_bytes())?)
        })
    }
}

fn print_table(found: &[Call], limit: usize, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    table::write(&call_list::calls(found, Verdicts::Kinds, terminal), terminal, out)?;
    let first = found.iter().map(|call| call.start_ns).min().unwrap_or_default();
    let day = format!("{} {}", figure::date(first, &terminal.zone), figure::offset(first, &terminal.zone));
    let mut text = format!("{}, {day}", figure::of(found.len() as u64, "call", "calls"));
    if found.len() == limit {
        text.push_str("; there may be more: raise --limit N, or narrow the list with --from, --to or a filter");
    }
    say(Style::Dim, &text, terminal, out)
}

fn say(style: Style, text: &str, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let text = clean(text, !terminal.unicode);
    let lines: Vec<Line> = wrap(&text, terminal.width).iter().map(|t| Line::new(terminal).with(style, t)).collect();
    table::write(&lines, terminal, out)
}

/// Reads a filter with times of that zone; none for an empty text.
///
/// # Errors
/// The filter with a caret below the mistake, and what was expected.
pub fn parse(text: &str, zone: &TimeZone) -> Result<Option<Filter>, Failure> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let wrong = |e: trunkline_store::filter::FilterError| {
        let caret = e.caret(text).lines().map(|line| format!("  {line}\n")).collect::<String>();
        Failure::Usage(format!("the filter is wrong at {e}\n{caret}Filter language: trunkline help filter"))
    };
    Filter::parse_in(text, &|clock_ns| moment::of_clock(clock_ns, zone)).map(Some).map_err(wrong)
}

/// The columns of `--csv`: names as in JSON.
const CSV: [&str; 20] = [
    "id",
    "sip_call_id",
    "state",
    "from",
    "to",
    "numbers",
    "start",
    "answer",
    "end",
    "duration_ms",
    "code",
    "reason",
    "hangup",
    "src",
    "dst",
    "user_agent",
    "mos",
    "streams",
    "verdict_kind",
    "verdict",
];

fn csv_line(call: &Call) -> String {
    let time = |ns: Option<i64>| ns.map_or_else(String::new, trunkline_store::time::rfc3339);
    let number = |n: Option<String>| n.unwrap_or_default();
    let values = [
        call.id.to_string(),
        call.sip_call_id.clone(),
        json::state_name(call.state).to_owned(),
        call.from.clone(),
        call.to.clone(),
        call.numbers.iter().map(call_page::other_number).collect::<Vec<_>>().join("; "),
        time(Some(call.start_ns)),
        time(call.answer_ns),
        time(call.end_ns),
        number(json::duration_ns(call).map(|ns| format!("{:.3}", ns as f64 / 1e6))),
        number((call.code > 0).then(|| call.code.to_string())),
        call.reason.clone(),
        json::HANGUPS.get(call.hangup as usize).copied().unwrap_or_default().to_owned(),
        call.src.to_string(),
        call.dst.to_string(),
        call.user_agent.clone(),
        number(call.mos.map(|mos| format!("{mos:.2}"))),
        call.streams.len().to_string(),
        call.verdict.as_ref().map_or_else(String::new, |v| v.kind.clone()),
        call.verdict.as_ref().map_or_else(String::new, |v| v.text.clone()),
    ];
    values.map(|value| csv(&value)).join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples;

    #[test]
    fn csv_has_a_value_for_each_title() {
        let line = csv_line(&samples::hostile());
        assert!(line.contains("rejected") && line.contains("404"), "{line}");
        assert!(!line.chars().any(trunkline_kit::untrusted::moves), "{line:?}");
        assert_eq!(csv_line(&samples::forked()).split(',').count(), CSV.len());
    }

    #[test]
    fn a_wrong_filter_is_shown_with_a_caret() {
        let Err(Failure::Usage(text)) = parse("calee:1", &TimeZone::UTC) else { panic!("accepted") };
        assert!(text.contains("\n  calee:1\n  ^^^^^\n") && text.contains("did you mean 'callee'?"), "{text}");
        assert!(parse("  ", &TimeZone::UTC).unwrap().is_none());
    }
}
