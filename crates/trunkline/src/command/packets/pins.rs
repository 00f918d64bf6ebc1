//! `trunkline packets pin`, `unpin`, `pins`: ranges of time that stay, whatever the limits say.

use crate::command::packet_log::{Part, has_log};
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::figure;
use crate::terminal::Terminal;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use trunkline_kit::exit::Exit;
use trunkline_record::Class;
use trunkline_record::job::PINS;
use trunkline_spool::retention::{Pin, Pins};
use trunkline_store::time::rfc3339;

/// Pins the part of the log that is meant, in each folder; without a range of time that would be all of it for ever.
pub fn pin(part: &Part, note: &str, json: bool, terminal: &Terminal) -> Result<Exit, Failure> {
    if part.from.is_none() || part.to.is_none() {
        return Err(Failure::Usage("--from and --to are required".to_owned()));
    }
    let span = part.span(terminal)?;
    // All classes are one pin, some are one each.
    let classes: Vec<Option<Class>> =
        if part.classes.is_empty() { vec![None] } else { part.classes.iter().copied().map(Some).collect() };
    let mut out = stdout();
    for data in folders(part)? {
        for class in &classes {
            let pins = Pins::new(data.join(PINS));
            let pin = pins.pin(class.map(Class::name), (span.first_ns, span.last_ns), note).map_err(failed(data))?;
            write(&mut out, data, &pin, json, terminal)?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Takes pins out by their numbers.
pub fn unpin(part: &Part, numbers: &[u32]) -> Result<Exit, Failure> {
    let mut missing = Vec::new();
    for number in numbers {
        let mut found = false;
        for data in folders(part)? {
            found |= Pins::new(data.join(PINS)).unpin(*number).map_err(failed(data))?.is_some();
        }
        if !found {
            missing.push(number.to_string());
        }
    }
    if missing.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::Failed(format!("no pin {}: `trunkline packets pins` lists them", missing.join(", "))))
}

/// Lists pins.
pub fn list(part: &Part, json: bool, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut out = stdout();
    let mut count = 0u64;
    for data in folders(part)? {
        for pin in Pins::new(data.join(PINS)).list().map_err(failed(data))? {
            write(&mut out, data, &pin, json, terminal)?;
            count += 1;
        }
    }
    if !json {
        writeln!(out, "{}", figure::of(count, "pin", "pins"))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn folders(part: &Part) -> Result<Vec<&Path>, Failure> {
    let missing = part.data.iter().find(|data| !has_log(data));
    match missing {
        Some(data) => Err(Failure::Failed(format!("no packet log in {}", data.display()))),
        None => Ok(part.data.iter().map(std::path::PathBuf::as_path).collect()),
    }
}

fn failed(data: &Path) -> impl Fn(std::io::Error) -> Failure + '_ {
    move |e| Failure::Failed(format!("{}: {e}", data.join(PINS).display()))
}

fn write(out: &mut impl Write, data: &Path, pin: &Pin, json: bool, terminal: &Terminal) -> std::io::Result<()> {
    let (from, to) = pin.span_ns;
    let class = pin.class.as_deref();
    if json {
        let line = json!({
            "pin": pin.id, "class": class, "from": rfc3339(from), "to": rfc3339(to), "note": pin.note,
            "data": data.to_string_lossy(),
        });
        return writeln!(out, "{line}");
    }
    let span = format!("{} to {}", figure::second(from, &terminal.zone), figure::second(to, &terminal.zone));
    writeln!(out, "pin {}: {}, {span}  {}", pin.id, class.unwrap_or("all classes"), pin.note)
}
