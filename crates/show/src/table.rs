//! Tables that fit the terminal: columns line up, and the least important ones give way where it is narrow.

use super::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use std::io;
use unicode_width::UnicodeWidthStr;

/// Spaces between columns.
const GAP: usize = 2;
/// Spaces between columns where they would have to be cut for want of room.
const GAP_NARROW: usize = 1;
/// The narrowest that a column that may be cut is cut to, when nothing else helps.
const CUT_MIN: usize = 6;

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its title.
    pub title: &'static str,
    /// Whether it holds numbers.
    pub right: bool,
    /// When it is left out for want of room: never (0), else higher ones first.
    pub drop: u8,
    /// The width to which it may be cut before other columns are left out for it; 0 if it is never cut.
    pub narrowest: usize,
    /// Which end stays when it is cut.
    pub keep: Keep,
}

/// A column of text that is never cut nor left out.
pub const fn text(title: &'static str) -> Column {
    Column { title, right: false, drop: 0, narrowest: 0, keep: Keep::Start }
}

/// A column of numbers that is never cut nor left out.
pub const fn number(title: &'static str) -> Column {
    Column { right: true, ..text(title) }
}

impl Column {
    /// Leaves the column out where it is narrow, higher numbers first.
    pub const fn drops(self, drop: u8) -> Self {
        Column { drop, ..self }
    }

    /// Lets the column be cut.
    pub const fn cuts(self, narrowest: usize, keep: Keep) -> Self {
        Column { narrowest, keep, ..self }
    }
}

/// Rows below titles.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    titles: Vec<String>,
    rows: Vec<Row>,
}

/// One row, and the lines that stand below it.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// One line a column.
    pub cells: Vec<Line>,
    /// Whole lines below it, already of the right width.
    pub below: Vec<Line>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        let titles = columns.iter().map(|column| column.title.to_owned()).collect();
        Table { columns, titles, rows: Vec::new() }
    }

    /// A table whose titles are known only now.
    pub fn with_titles(columns: Vec<Column>, titles: &[String]) -> Self {
        Table { columns, titles: titles.to_vec(), rows: Vec::new() }
    }

    /// Appends a row.
    pub fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// The table as lines, at most `terminal.width` wide where the columns that may not be cut allow it.
    pub fn lines(mut self, terminal: &Terminal) -> Vec<Line> {
        let (kept, gap) = self.fit(terminal.width);
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        if self.titles.iter().any(|title| !title.is_empty()) {
            lines.push(self.titles(&kept, gap, terminal));
        }
        for row in std::mem::take(&mut self.rows) {
            lines.push(self.draw(&row, &kept, gap, terminal));
            lines.extend(row.below);
        }
        lines
    }

    /// Which columns stay, how wide, and how far apart: leaves columns out, then cuts those that may be cut.
    fn fit(&self, width: usize) -> (Vec<(usize, usize)>, usize) {
        let mut kept: Vec<(usize, usize)> = (0..self.columns.len()).map(|i| (i, self.natural(i))).collect();
        // A column without content says nothing: its title alone is no reason to keep it.
        kept.retain(|(i, _)| self.columns[*i].drop == 0 || self.rows.iter().any(|r| !r.cells[*i].is_empty()));
        while total(&self.narrowed(&kept), GAP) > width {
            let rank = |k: &usize| self.columns[kept[*k].0].drop;
            let Some(at) = (0..kept.len()).filter(|k| rank(k) > 0).max_by_key(rank) else { break };
            kept.remove(at);
        }
        let gap = if total(&kept, GAP) > width { GAP_NARROW } else { GAP };
        self.cut(&mut kept, gap, width);
        (kept, gap)
    }

    /// How wide a column wants to be.
    fn natural(&self, i: usize) -> usize {
        let title = self.titles.get(i).map_or(0, |title| title.width());
        self.rows.iter().filter_map(|row| row.cells.get(i)).map(Line::width).max().unwrap_or(0).max(title)
    }

    fn narrowed(&self, kept: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let narrowest = |i: usize, width: usize| match self.columns[i].narrowest {
            0 => width,
            narrowest => narrowest.min(width),
        };
        kept.iter().map(|(i, width)| (*i, narrowest(*i, *width))).collect()
    }

    /// Takes columns from the widest that may be cut, one by one.
    fn cut(&self, kept: &mut [(usize, usize)], gap: usize, width: usize) {
        while total(kept, gap) > width {
            let may = |(i, w): &&mut (usize, usize)| self.columns[*i].narrowest > 0 && *w > CUT_MIN;
            let Some(widest) = kept.iter_mut().filter(may).max_by_key(|(_, w)| *w) else { return };
            widest.1 -= 1;
        }
    }

    fn titles(&self, kept: &[(usize, usize)], gap: usize, terminal: &Terminal) -> Line {
        let cells = |i: usize| Line::new(terminal).with(Style::Dim, self.titles.get(i).map_or("", String::as_str));
        let row = Row { cells: (0..self.columns.len()).map(cells).collect(), below: Vec::new() };
        self.draw(&row, kept, gap, terminal)
    }

    fn draw(&self, row: &Row, kept: &[(usize, usize)], gap: usize, terminal: &Terminal) -> Line {
        let mut line = Line::new(terminal);
        let mut at = 0;
        for (i, width) in kept {
            let column = &self.columns[*i];
            let mut cell = row.cells.get(*i).cloned().unwrap_or_default();
            cell.fit(*width, column.keep);
            line.pad(at + if column.right { width - cell.width().min(*width) } else { 0 });
            line.append(&cell);
            at += width + gap;
        }
        line
    }
}

fn total(kept: &[(usize, usize)], gap: usize) -> usize {
    kept.iter().map(|(_, width)| width + gap).sum::<usize>().saturating_sub(gap)
}

/// Writes lines.
///
/// # Errors
/// Those of `out`.
pub fn write(lines: &[Line], terminal: &Terminal, out: &mut dyn io::Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| line.write(terminal.colour, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::terminal;

    fn table(width: usize) -> Vec<String> {
        let terminal = terminal(width);
        let columns =
            vec![text("ID"), text("FROM").cuts(6, Keep::End), number("LOST").drops(2), number("MOS").drops(1)];
        let mut table = Table::new(columns);
        for cells in [["a1", "+442079460123", "12", "4.41"], ["b2", "1001", "1,234", "n/a"]] {
            let cells = cells.iter().map(|text| Line::new(&terminal).with(Style::Plain, text)).collect();
            table.row(Row { cells, below: Vec::new() });
        }
        table.lines(&terminal).iter().map(|line| line.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn lines_up_numbers_right_and_text_left() {
        assert_eq!(
            table(80),
            ["ID  FROM            LOST   MOS", "a1  +442079460123     12  4.41", "b2  1001           1,234   n/a"]
        );
    }

    #[test]
    fn cuts_before_it_leaves_out_and_leaves_out_by_rank() {
        assert_eq!(table(24)[1], "a1 …079460123    12 4.41");
        assert_eq!(table(21)[1], "a1 +442079460123 4.41");
        assert_eq!(table(17)[1], "a1 …79460123 4.41");
    }
}
