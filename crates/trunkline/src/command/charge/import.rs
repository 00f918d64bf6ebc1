//! `trunkline charge import`: subscribers and their accounts out of a file of CSV.

use super::place::{Control, Place, Reply};
use crate::bar::Bar;
use crate::failure::Failure;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use trunkline_kit::exit::Exit;

/// Octets of a line.
const LINE_OCTETS_MAX: u64 = 4096;
/// Lines that are told one by one when they are refused.
const TOLD_MAX: usize = 20;
/// The columns, in any order; those behind the first three may be left out.
const COLUMNS: [&str; 10] =
    ["subscriber", "account", "plan", "credit", "balance", "e164", "imsi", "sip", "nai", "private"];

/// Import subscribers and their accounts from a file
#[derive(Debug, clap::Args)]
#[command(after_help = "The file is CSV with a line of titles, of: subscriber, account, plan, credit, balance, e164, \
    imsi, sip, nai,\nprivate. Amounts are minor units (cents). An account that is there keeps its balance, so that a \
    file can be\nbrought again; its plan and credit stay, too.\n\nExamples:\n  \
    trunkline charge import subscribers.csv\n  \
    printf 'subscriber,account,plan,balance,imsi\\n1,1,standard,1000,001010000000001\\n' | trunkline charge import -")]
pub struct Import {
    /// The file, or - for standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    place: Place,
}

/// The result of the lines.
#[derive(Debug, Default)]
struct Done {
    accounts: u64,
    known: u64,
    subscribers: u64,
    refused: u64,
}

impl Import {
    /// Brings them.
    ///
    /// # Errors
    /// The file cannot be read or has other columns; no node serves.
    pub fn run(&self) -> Result<Exit, Failure> {
        let cannot = |e: std::io::Error| Failure::Failed(format!("{}: {e}", self.file.display()));
        let (file, total): (Box<dyn Read>, u64) = if self.file.as_os_str() == "-" {
            (Box::new(std::io::stdin()), 0)
        } else {
            let file = File::open(&self.file).map_err(cannot)?;
            let octets = file.metadata().map_or(0, |found| found.len());
            (Box::new(file), octets)
        };
        let mut control = self.place.node()?;
        let (mut lines, mut done, mut bar) = (BufReader::new(file), Done::default(), Bar::start());
        let mut line = String::new();
        let read = |lines: &mut BufReader<Box<dyn Read>>, line: &mut String| {
            line.clear();
            lines.by_ref().take(LINE_OCTETS_MAX).read_line(line).map_err(cannot)
        };
        let mut at = read(&mut lines, &mut line)? as u64;
        let columns =
            columns(&line).map_err(|why| Failure::Failed(format!("{}, line 1: {why}", self.file.display())))?;
        for number in 2.. {
            let octets = read(&mut lines, &mut line)?;
            if octets == 0 {
                break;
            }
            at += octets as u64;
            bar.draw(at, total, || format!("{} subscribers", done.subscribers));
            match orders(&columns, &line) {
                Ok(Some(orders)) => {
                    for (kind, order) in orders.iter().enumerate() {
                        let came = control.send(number * 2 + kind as u64, order)?;
                        came.into_iter().for_each(|reply| done.take(reply));
                    }
                }
                Ok(None) => {}
                Err(why) => done.refuse(number, &why),
            }
        }
        self.finish(&mut control, &mut done)?;
        bar.end();
        println!(
            "{} accounts created, {} already existed, {} subscribers, {} rejected",
            done.accounts, done.known, done.subscribers, done.refused
        );
        Ok(if done.refused == 0 { Exit::Done } else { Exit::Degraded })
    }

    fn finish(&self, control: &mut Control, done: &mut Done) -> Result<(), Failure> {
        while let Some(reply) = control.rest()? {
            done.take(reply);
        }
        Ok(())
    }
}

impl Done {
    fn take(&mut self, (number, reply): Reply) {
        match (number % 2, reply) {
            (0, Ok(_)) => self.accounts += 1,
            (0, Err(why)) if why == "the account already exists" => self.known += 1,
            (_, Ok(_)) => self.subscribers += 1,
            (_, Err(why)) => self.refuse(number / 2, &why),
        }
    }

    fn refuse(&mut self, line: u64, why: &str) {
        self.refused += 1;
        if self.refused as usize <= TOLD_MAX {
            eprintln!("trunkline: line {line}: {why}");
        }
    }
}

/// Which column is which.
fn columns(line: &str) -> Result<Vec<&'static str>, String> {
    let known = |title: &str| {
        let title = title.trim();
        let found = COLUMNS.iter().find(|known| **known == title).copied();
        found.ok_or_else(|| format!("no column is named \"{title}\"; there are {}", COLUMNS.join(", ")))
    };
    let columns: Vec<&'static str> = line.trim_end().split(',').map(known).collect::<Result<_, _>>()?;
    match COLUMNS[..3].iter().find(|needed| !columns.contains(needed)) {
        Some(missing) => Err(format!("the column \"{missing}\" is missing")),
        None => Ok(columns),
    }
}

/// What a line asks for: its account and its subscriber; nothing of an empty one.
fn orders(columns: &[&str], line: &str) -> Result<Option<[Value; 2]>, String> {
    let text = line.trim_end_matches(['\r', '\n']);
    if text.trim().is_empty() {
        return Ok(None);
    }
    if line.len() as u64 >= LINE_OCTETS_MAX {
        return Err(format!("longer than {LINE_OCTETS_MAX} octets"));
    }
    let values: Vec<&str> = text.split(',').map(str::trim).collect();
    if values.len() != columns.len() {
        return Err(format!("{} values for {} columns", values.len(), columns.len()));
    }
    let of = |name: &str| columns.iter().position(|column| *column == name).map_or("", |at| values[at]);
    let number = |name: &str| match of(name) {
        "" if matches!(name, "credit" | "balance") => Ok(0),
        text => {
            text.parse::<i64>().ok().filter(|n| *n >= 0).ok_or_else(|| format!("{name}: \"{text}\" is no whole number"))
        }
    };
    let identities: Vec<String> = COLUMNS[5..]
        .iter()
        .filter(|kind| !of(kind).is_empty())
        .map(|kind| {
            if *kind == "sip" && of(kind).starts_with("sip") {
                of(kind).to_owned()
            } else {
                format!("{kind}:{}", of(kind))
            }
        })
        .collect();
    if identities.is_empty() {
        return Err("a subscriber without an identity".to_owned());
    }
    let (account, credit, balance) = (number("account")?, number("credit")?, number("balance")?);
    let open = json!({ "do": "open", "account": account, "plan": of("plan"), "credit": credit, "balance": balance });
    let subscriber = number("subscriber")?;
    let subscriber =
        json!({ "do": "subscriber", "subscriber": subscriber, "account": account, "identities": identities });
    Ok(Some([open, subscriber]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_orders_or_say_what_is_wrong() {
        let columns = columns("subscriber,account,plan,balance,imsi,sip\n").unwrap();
        let [open, subscriber] =
            orders(&columns, "7,3,standard,1000,001010000000007,sip:a@example.org\r\n").unwrap().unwrap();
        assert_eq!((&open["account"], &open["balance"], &open["credit"]), (&json!(3), &json!(1000), &json!(0)));
        assert_eq!(subscriber["identities"], json!(["imsi:001010000000007", "sip:a@example.org"]));
        assert_eq!(orders(&columns, "\n"), Ok(None));
        assert_eq!(orders(&columns, "7,3\n"), Err("2 values for 6 columns".to_owned()));
        assert_eq!(orders(&columns, "7,x,standard,1,1,\n"), Err("account: \"x\" is no whole number".to_owned()));
        assert_eq!(orders(&columns, "7,3,standard,1,,\n"), Err("a subscriber without an identity".to_owned()));
        assert!(super::columns("subscriber,acount,plan").unwrap_err().contains("no column is named \"acount\""));
        assert_eq!(super::columns("subscriber,account").unwrap_err(), "the column \"plan\" is missing");
    }
}
