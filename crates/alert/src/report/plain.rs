//! A document as a text, for those who read no HTML.

use super::document::{Block, Cell, Document, Table};
use core::fmt::Write as _;

/// Octets of a report's text, about; lines beyond are left out, and that is said.
const TEXT_OCTETS_MAX: usize = 512 << 10;
/// Characters of the first column of a table; what is longer goes on in the next line.
const FIRST_MAX: usize = 44;

/// A text.
pub fn plain(document: &Document) -> String {
    let mut out = format!("{}\n{}\n", document.title, document.span);
    if !document.text.is_empty() {
        // Writing to a text does not fail; the same below.
        let _ = write!(out, "\n{}\n", document.text);
    }
    for section in &document.sections {
        let _ = write!(out, "\n{}\n{}\n", section.title, "-".repeat(section.title.chars().count().min(78)));
        for block in &section.blocks {
            if out.len() > TEXT_OCTETS_MAX {
                out.push_str("The rest is left out: the text would be too long.\n");
                break;
            }
            match block {
                Block::Note(text) => drop(writeln!(out, "{text}")),
                Block::Tiles(tiles) => {
                    let tiles: Vec<String> = tiles.iter().map(|(name, value)| format!("{name} {value}")).collect();
                    let _ = writeln!(out, "{}", tiles.join("   "));
                }
                Block::Table(table) => rows(table, &mut out),
                Block::Picture(_, title) => drop(writeln!(out, "[picture] {title}")),
            }
        }
    }
    let _ = write!(out, "\n{}\n", document.foot);
    out
}

fn rows(table: &Table, out: &mut String) {
    // A bar says nothing that the numbers do not.
    let kept: Vec<usize> = (0..table.columns.len()).filter(|at| !table.columns[*at].name.is_empty()).collect();
    let cell = |row: &Vec<Cell>, at: usize| match row.get(at) {
        Some(Cell::Text(text) | Cell::Severity(text)) => text.clone(),
        _ => String::new(),
    };
    let head: Vec<String> = kept.iter().map(|at| table.columns[*at].name.to_owned()).collect();
    let body = table.rows.iter().map(|row| kept.iter().map(|at| cell(row, *at)).collect());
    let all: Vec<Vec<String>> = core::iter::once(head).chain(body).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..kept.len()).map(|column| width(column).min(FIRST_MAX)).collect();
    out.push('\n');
    let mut left_out = 0;
    for row in &all {
        if out.len() > TEXT_OCTETS_MAX {
            left_out += 1;
            continue;
        }
        let mut line = String::new();
        for (column, text) in row.iter().enumerate() {
            let width = widths[column];
            let gap = if column == 0 { "" } else { "  " };
            let _ = match table.columns[kept[column]].is_number {
                true => write!(line, "{gap}{text:>width$}"),
                false => write!(line, "{gap}{text:<width$}"),
            };
            if text.chars().count() > width && column + 1 < row.len() {
                line.push('\n');
                line.push_str(&" ".repeat(widths[..=column].iter().sum::<usize>() + 2 * column));
            }
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if left_out > 0 {
        let _ = writeln!(out, "{left_out} further rows are left out: the text would be too long.");
    }
    if !table.more.is_empty() {
        let _ = writeln!(out, "{}", table.more);
    }
}
