//! The torture messages of RFC 4475 and RFC 5118, one by one: valid accepted, invalid named.
//!
//! The lists beside the messages say what the standards say of each. What we say comes from the example `sip_oddities`
//! of the crate that reads SIP, because this program depends on none of ours.

use crate::repository::{self, Repository};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders, each with its list beside it.
pub const FOLDERS: &[&str] = &["torture/rfc4475", "torture/rfc5118"];

/// One message, by the standard and by us.
#[derive(Debug)]
pub struct Judged {
    /// `RFC 4475`.
    pub standard: String,
    /// The section that it stands in.
    pub section: String,
    /// Its file, without folder.
    pub file: String,
    /// What it is a test of.
    pub title: String,
    /// What the standard says of it: valid, invalid, or what kind of trouble it makes.
    pub theirs: String,
    /// The gravest class of what we find odd.
    pub ours: String,
    /// What we find odd, by name.
    pub oddities: String,
}

impl Judged {
    /// Whether we say what the standard says. What only one layer stumbles over is not invalid, but is named.
    pub fn agrees(&self) -> bool {
        match self.theirs.as_str() {
            "invalid" | "transaction" => self.ours == self.theirs,
            "valid" => matches!(self.ours.as_str(), "nothing odd" | "note"),
            _ => matches!(self.ours.as_str(), "note" | "application" | "transaction"),
        }
    }
}

/// Lays our reading of every message beside the lists.
///
/// # Errors
/// A list is missing, or the example does not build or does not run.
pub fn judge(repository: &Repository, shared: &Path) -> Result<Vec<Judged>, String> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        let list = std::fs::read_to_string(shared.join(format!("{folder}.tsv")));
        let list = list.map_err(|e| format!("{folder}.tsv: {e}"))?;
        let rows: Vec<Vec<&str>> = list.lines().skip(1).map(|line| line.split('\t').collect()).collect();
        let said = ask(repository, &shared.join(folder), &rows)?;
        let standard = folder.rsplit('/').next().unwrap_or_default().replace("rfc", "RFC ");
        all.extend(rows.iter().filter_map(|row| row_of(&standard, row, &said)));
    }
    Ok(all)
}

/// What we say of each file: class and oddities.
type Said = HashMap<String, (String, String)>;

fn row_of(standard: &str, row: &[&str], said: &Said) -> Option<Judged> {
    let [section, file, class, title, ..] = row else { return None };
    let (ours, oddities) = said.get(*file).cloned().unwrap_or_default();
    Some(Judged {
        standard: standard.to_owned(),
        section: (*section).to_owned(),
        file: (*file).to_owned(),
        title: (*title).to_owned(),
        theirs: (*class).to_owned(),
        ours,
        oddities,
    })
}

/// The example beside the program that `TRUNKLINE` names: who has built all has built both.
fn built() -> Option<PathBuf> {
    let program = PathBuf::from(std::env::var_os("TRUNKLINE")?);
    Some(program.parent()?.join("examples/sip_oddities")).filter(|example| example.is_file())
}

fn ask(repository: &Repository, folder: &Path, rows: &[Vec<&str>]) -> Result<Said, String> {
    let mut example = match built() {
        Some(program) => Command::new(program),
        None => {
            let mut cargo = repository::cargo();
            cargo.args("run --quiet --locked --package trunkline-wire --example sip_oddities --".split(' '));
            cargo
        }
    };
    let output = example
        .args(rows.iter().filter_map(|row| Some(folder.join(row.get(1)?))))
        .current_dir(repository.path(""))
        .output()
        .map_err(|e| format!("sip_oddities: {e}"))?;
    if !output.status.success() {
        return Err(format!("sip_oddities: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

fn parse(text: &str) -> Said {
    let line = |line: &str| {
        let mut cells = line.split('\t').map(str::to_owned);
        Some((cells.next()?, (cells.next()?, cells.next()?)))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_meets_what_is_listed() {
        let said = parse("a.dat\tinvalid\tcseq-too-large, via-missing\nb.dat\tnothing odd\t\n");
        let judge = |file, class| row_of("RFC 4475", &["3.1", file, class, "A Title", "9"], &said).unwrap();
        assert!(judge("a.dat", "invalid").agrees() && !judge("a.dat", "valid").agrees());
        assert!(judge("b.dat", "valid").agrees() && !judge("b.dat", "application").agrees());
        assert_eq!(judge("a.dat", "invalid").oddities, "cseq-too-large, via-missing");
        assert!(!judge("c.dat", "invalid").agrees());
    }
}
