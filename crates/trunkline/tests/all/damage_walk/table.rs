//! docs/damage.md.

use super::damage::{ALL, Damage};
use super::judge::Cell;
use super::kinds::{KINDS, Kind};
use std::collections::BTreeMap;
use std::path::PathBuf;

const HEAD: &str = include_str!("head.md");
/// How the headings of the three tables begin.
const PARTS: [&str; 3] = ["## What `trunkline verify --deep` says", "## What a run does", "## What helps"];
/// Where a damage changes nothing, or nothing has to be done.
const NONE: &str = "·";
/// Where there are no checksums, and it is chance what a damage hits.
const CHANCE: &str = "as it falls";

/// Cells of the three tables, by kind and damage.
#[derive(Debug, Default)]
pub struct Table {
    cells: BTreeMap<(usize, &'static str, Damage), String>,
    broken: Vec<String>,
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/damage.md")
}

impl Table {
    /// What is in docs/damage.md.
    pub fn read() -> Table {
        let text = std::fs::read_to_string(path()).expect("docs/damage.md");
        let mut table = Table::default();
        let mut part = None;
        for line in text.lines() {
            if line.starts_with("## ") {
                part = PARTS.iter().position(|head| line.starts_with(head));
            }
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            let kind = KINDS.iter().find(|kind| kind.name == cells[0]);
            if let (Some(part), Some(kind), true) = (part, kind, cells.len() == ALL.len() + 1) {
                let cells = ALL.into_iter().zip(&cells[1..]);
                table.cells.extend(cells.map(|(damage, cell)| ((part, kind.name, damage), (*cell).to_owned())));
            }
        }
        table
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Each kind has its rows.
    pub fn has_all(&self) {
        assert_eq!(self.cells.len(), KINDS.len() * ALL.len() * PARTS.len(), "docs/damage.md lacks kinds: renew it");
    }

    pub fn put(&mut self, kind: &Kind, damage: Damage, cell: Option<Cell>) {
        for (part, text) in texts(kind, damage, cell.as_ref()).into_iter().enumerate() {
            self.cells.insert((part, kind.name, damage), text.unwrap_or_else(|| NONE.to_owned()));
        }
        // What is lost by chance is told of as such; a run that ends, or a second job that stops, never is.
        let by_chance = |what: &String| kind.chance.contains(&damage) && what.contains("without a word");
        let broken = cell.into_iter().flat_map(|cell| cell.broken).filter(|what| !by_chance(what));
        self.broken.extend(broken.map(|what| format!("{}, {}: {what}", kind.name, damage.name())));
    }

    /// What was found that is not what is there.
    pub fn others(&self, kind: &Kind, damage: Damage, cell: Option<&Cell>) -> Vec<String> {
        let of_part = |(part, text): (usize, Option<String>)| {
            let (text, known) = (text?, &self.cells[&(part, kind.name, damage)]);
            let where_ = (kind.name, damage.name(), PARTS[part]);
            (text != *known).then(|| format!("{where_:?}: {text}, not {known}: {cell:#?}"))
        };
        texts(kind, damage, cell).into_iter().enumerate().filter_map(of_part).collect()
    }

    /// Writes docs/damage.md if that is asked for, else compares.
    pub fn compare_or_write(&self) {
        let text = self.text();
        if std::env::var_os("UPDATE_DAMAGE").is_some() {
            std::fs::write(path(), text).unwrap();
        } else {
            let known = std::fs::read_to_string(path()).unwrap();
            assert!(known == text, "docs/damage.md is not what was found: UPDATE_DAMAGE=1 writes it anew: {text}");
        }
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (part, head) in PARTS.iter().enumerate() {
            text += &format!("\n{head}\n\n| kind of file |");
            text.extend(ALL.iter().map(|damage| format!(" {} |", damage.name())));
            text += &format!("\n|---|{}\n", "---|".repeat(ALL.len()));
            for kind in KINDS {
                text += &format!("| {} |", kind.name);
                text.extend(ALL.iter().map(|damage| format!(" {} |", self.cells[&(part, kind.name, *damage)])));
                text.push('\n');
            }
        }
        text += "\n## What breaks the rules\n\n";
        let mut broken = self.broken.clone();
        broken.sort();
        text.extend(broken.iter().map(|what| format!("- {what}\n")));
        text += "\n## Notes\n\n| kind of file | files | what helps | |\n|---|---|---|---|\n";
        for kind in KINDS {
            text += &format!("| {} | `{}` | {} | {} |\n", kind.name, kind.pattern, kind.mend.words(), kind.note);
        }
        text
    }
}

/// The cells of the three tables; none where it was not looked.
fn texts(kind: &Kind, damage: Damage, cell: Option<&Cell>) -> [Option<String>; 3] {
    if kind.chance.contains(&damage) {
        return [(); 3].map(|()| Some(CHANCE.to_owned()));
    }
    let Some(cell) = cell else { return [Some(NONE.to_owned()), None, None] };
    let mended = cell.run.is_some().then(|| cell.mended.clone().unwrap_or_else(|| NONE.to_owned()));
    [Some(cell.verify.clone()), cell.run.clone(), mended]
}
