//! `trunkline charge records`: record files, of this program or another one: whether they are sound, what they hold.

use super::place::Place;
use crate::charge::records::files;
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::table::{self, Row, Table, number, text};
use crate::show::text::{Keep, Line as Cell, Style};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use trunkline_kit::exit::Exit;
use trunkline_kit::untrusted::cell;
use trunkline_wire::cdr::file::{Closure, FileHeader, Lost, Records as InFile};
use trunkline_wire::cdr::{PgwRecord, ServiceUsage, closing};

/// Octets of a file at most: its header has no more for its length.
const FILE_OCTETS_MAX: u64 = u32::MAX as u64;

/// List, check and print files of charging data records
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Files are those of 3GPP TS 32.297 with records in BER (TS 32.298). Each is read whole, record \
    by record; exit code 3 if one is damaged.\n\nExamples:\n  \
    trunkline charge records --data DIR               the closed files of a node\n  \
    trunkline charge records --print FILE             records for people\n  \
    trunkline charge records --json FILE | jq .       one object a record"
)]
pub struct Records {
    /// Files
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    place: Place,
    /// Print the records
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    print: bool,
    /// Print the records, one JSON object per line
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print the records as CSV, one line per service
    #[arg(long)]
    csv: bool,
}

/// Columns of `--csv`.
const COLUMNS: &str = "file,node,number,cause,record,imsi,msisdn,apn,charging_id,gateway,opened,duration_s,\
    possible_duplicate,rating_group,service,uplink,downlink,seconds,result";

/// What was found in a file.
struct Found {
    header: Option<Summary>,
    records: usize,
    octets: usize,
    wrong: Option<String>,
}

/// What a file's header says.
struct Summary {
    count: u32,
    sequence: u32,
    closure: Closure,
    lost: Lost,
}

impl Records {
    /// Does it.
    ///
    /// # Errors
    /// There are no files, or one cannot be read.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let paths = if self.files.is_empty() { closed(&files(self.place.data()))? } else { self.files.clone() };
        let mut out = stdout();
        if self.csv {
            writeln!(out, "{COLUMNS}")?;
        }
        let (mut rows, mut wrong) = (Vec::new(), false);
        for path in &paths {
            let octets = read(path)?;
            let mut printed = Ok(());
            let found = look(&octets, &mut |record| {
                if printed.is_ok() {
                    printed = self.print(&mut out, path, record);
                }
            });
            printed?;
            if let Some(why) = &found.wrong {
                wrong = true;
                eprintln!("{}: {why}", path.display());
            }
            rows.push(row(path, &found, terminal));
        }
        if !(self.print || self.json || self.csv) {
            let name = text("file").cuts(24, Keep::End);
            let columns =
                vec![name, number("count"), number("records"), number("octets"), text("closed"), text("lost")];
            let mut shown = Table::new(columns);
            rows.into_iter().for_each(|row| shown.row(row));
            table::write(&shown.lines(terminal), terminal, &mut out)?;
        }
        out.flush()?;
        Ok(if wrong { Exit::Degraded } else { Exit::Done })
    }

    fn print(&self, out: &mut impl Write, path: &Path, record: &PgwRecord<'_>) -> std::io::Result<()> {
        let name = name_of(path);
        match (self.json, self.csv) {
            (true, _) => writeln!(out, "{}", record_json(&name, record)),
            (_, true) => record_csv(out, &name, record),
            _ if self.print => writeln!(out, "{record:#}"),
            _ => Ok(()),
        }
    }
}

/// The closed files of a folder, in the order of their count.
fn closed(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |e: std::io::Error| Failure::Failed(format!("no record files in {}: {e}", folder.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "ber") {
            paths.push(path);
        }
    }
    let count = |path: &PathBuf| {
        let name = name_of(path);
        let count = name.split_once("_-_").and_then(|(_, rest)| rest.split_once('.')).map(|(count, _)| count.parse());
        (count.and_then(Result::ok).unwrap_or(u64::MAX), name)
    };
    paths.sort_by_cached_key(count);
    Ok(paths)
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |e: std::io::Error| Failure::Failed(format!("{}: {e}", path.display()));
    match std::fs::metadata(path).map_err(failed)?.len() {
        0..=FILE_OCTETS_MAX => std::fs::read(path).map_err(failed),
        _ => Err(failed(std::io::ErrorKind::FileTooLarge.into())),
    }
}

/// What is wrong with a file, if something is.
pub fn unsound(octets: &[u8]) -> Option<String> {
    look(octets, &mut |_| {}).wrong
}

/// Reads a file to its end, or to what is wrong with it.
fn look(octets: &[u8], see: &mut dyn FnMut(&PgwRecord<'_>)) -> Found {
    let mut found = Found { header: None, records: 0, octets: octets.len(), wrong: None };
    let header = match FileHeader::read(octets) {
        Ok(header) => header,
        Err(why) => return Found { wrong: Some(format!("octet 0: {why}")), ..found },
    };
    let FileHeader { count, sequence, closure, lost, .. } = header;
    found.header = Some(Summary { count, sequence, closure, lost });
    let mut records = InFile::new(octets, &header);
    loop {
        let at = records.taken();
        match records.next() {
            None => break,
            Some(Err(why)) => return Found { wrong: Some(why.to_string()), ..found },
            Some(Ok((_, record))) => match PgwRecord::read(record) {
                Ok(record) => see(&record),
                Err(why) => found.wrong = found.wrong.or(Some(format!("the record at octet {at}: {why}"))),
            },
        }
        found.records += 1;
    }
    let whole = found.records == count as usize && octets.len() == header.file_octets as usize;
    if !whole && found.wrong.is_none() {
        let told = format!("{count} records, {} octets", header.file_octets);
        let there = format!("{} and {}", found.records, octets.len());
        found.wrong = Some(format!("its header says {told}, there are {there}: it was not closed, or is cut off"));
    }
    found
}

fn row(path: &Path, found: &Found, terminal: &Terminal) -> Row {
    let of = |tells: &dyn Fn(&Summary) -> String| found.header.as_ref().map_or_else(|| "?".to_owned(), tells);
    let closed = match &found.wrong {
        Some(_) => "not sound".to_owned(),
        None => of(&|header| format!("{:?}", header.closure).to_lowercase()),
    };
    let lost = |header: &Summary| match header.lost {
        Lost::None => String::new(),
        Lost::Exactly(count) => count.to_string(),
        Lost::AtLeast(count) => format!("{count} or more"),
    };
    let cells = [
        name_of(path),
        of(&|header| header.sequence.to_string()),
        format!(
            "{}{}",
            found.records,
            if found.wrong.is_some() { of(&|h| format!(" of {}", h.count)) } else { String::new() }
        ),
        found.octets.to_string(),
        closed,
        of(&lost),
    ];
    let cells = cells.iter().map(|cell| Cell::new(terminal).with(Style::Plain, cell)).collect();
    Row { cells, below: Vec::new() }
}

fn record_json(file: &str, record: &PgwRecord<'_>) -> Value {
    let service = |usage: ServiceUsage<'_>| {
        json!({
            "rating_group": usage.rating_group,
            "service": usage.service_identifier,
            "uplink": usage.uplink,
            "downlink": usage.downlink,
            "seconds": usage.time_s,
            "result": usage.result_code,
            "reported": usage.reported.to_string(),
        })
    };
    json!({
        "file": file,
        "node": record.node_id,
        "number": record.local_sequence_number,
        "cause": record.cause,
        "cause_name": closing::name(record.cause),
        "record": record.record_sequence_number,
        "imsi": record.imsi.map(|digits| digits.to_string()),
        "msisdn": record.msisdn.map(|digits| digits.to_string()),
        "apn": record.access_point_name,
        "charging_id": record.charging_id,
        "gateway": record.gateway.to_string(),
        "opened": record.opened.to_string(),
        "duration_s": record.duration_s,
        "possible_duplicate": record.retransmission,
        "services": record.service_usage.iter().map(service).collect::<Vec<_>>(),
    })
}

fn record_csv(out: &mut impl Write, file: &str, record: &PgwRecord<'_>) -> std::io::Result<()> {
    let maybe = |value: Option<&dyn ToString>| value.map_or_else(String::new, |value| value.to_string());
    let before = [
        cell(file),
        cell(record.node_id.unwrap_or_default()),
        maybe(record.local_sequence_number.as_ref().map(|number| number as _)),
        record.cause.to_string(),
        maybe(record.record_sequence_number.as_ref().map(|number| number as _)),
        maybe(record.imsi.as_ref().map(|digits| digits as _)),
        maybe(record.msisdn.as_ref().map(|digits| digits as _)),
        cell(record.access_point_name.unwrap_or_default()),
        record.charging_id.to_string(),
        record.gateway.to_string(),
        record.opened.to_string(),
        record.duration_s.to_string(),
        u8::from(record.retransmission).to_string(),
    ]
    .join(",");
    if record.service_usage.is_empty() {
        return writeln!(out, "{before},,,,,,");
    }
    record.service_usage.iter().try_for_each(|usage| {
        let [service, up, down, seconds, result] = [
            usage.service_identifier.map(u64::from),
            usage.uplink,
            usage.downlink,
            usage.time_s.map(u64::from),
            usage.result_code.map(u64::from),
        ]
        .map(|value| maybe(value.as_ref().map(|value| value as _)));
        writeln!(out, "{before},{},{service},{up},{down},{seconds},{result}", usage.rating_group)
    })
}
