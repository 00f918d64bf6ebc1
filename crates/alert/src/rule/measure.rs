//! What rows come to: counts, shares and statistics of a column, by group.

use super::RowsWatch;
use super::pattern::Pattern;
use super::settings::{Measure, Table};
use core::fmt;
use std::collections::BTreeMap;
use trunkline_store::row::Call;
use trunkline_store::schema::{self, Column, Kind};

/// Groups of a measurement; rows of further ones are counted and left out.
// Limit: groups of one measurement
// Beyond: rows of further groups are left out
// Seen in: `trunkline_alert_left_out_groups_overflow_total`
pub const GROUPS_MAX: usize = 10_000;
/// Values of a group that a percentile is made of; of more, each second, then each fourth and so on.
pub const PERCENTILE_VALUES_MAX: usize = 4096;

/// The columns of a table.
pub fn columns(table: Table) -> &'static [Column] {
    match table {
        Table::Calls => schema::CALLS.columns,
        Table::Streams => schema::STREAMS.columns,
        Table::StreamIntervals => schema::STREAM_INTERVALS.columns,
        Table::Registrations => schema::REGISTRATIONS.columns,
        Table::SipEvents => schema::SIP_EVENTS.columns,
        Table::Losses => schema::LOSSES.columns,
        Table::Charges => schema::CHARGES.columns,
    }
}

/// Whether a column has numbers that can be measured.
pub fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Whole | Kind::Real | Kind::Flag)
}

/// What a column of a row holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    None,
    /// A number.
    Number(f64),
    /// A text, as people see it: an address with its port, the name of a state.
    Text(String),
}

impl Cell {
    fn number(&self) -> Option<f64> {
        match self {
            Cell::Number(number) => Some(*number).filter(|number| number.is_finite()),
            _ => None,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::None => Ok(()),
            Cell::Number(number) => number.fmt(f),
            Cell::Text(text) => text.fmt(f),
        }
    }
}

/// A test of a column: `place = ring*, socket`, `code != 200`, `count >= 10`. A cell that holds nothing passes `!=`
/// alone.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnTest {
    /// The column.
    pub column: String,
    compare: Compare,
}

#[derive(Clone, Debug, PartialEq)]
enum Compare {
    Is { not: bool, values: Vec<Pattern> },
    Less { or_equal: bool, than: f64 },
    More { or_equal: bool, than: f64 },
}

impl ColumnTest {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<ColumnTest, String> {
        let wrong = || format!("'{text}': a test is \"COLUMN = VALUE, VALUE\", !=, <, <=, > or >=");
        let at = text.find(['=', '!', '<', '>']).ok_or_else(wrong)?;
        let (column, rest) = (text[..at].trim().to_owned(), &text[at..]);
        let sign =
            ["!=", "<=", ">=", "=", "<", ">"].into_iter().find(|sign| rest.starts_with(sign)).ok_or_else(wrong)?;
        let value = rest[sign.len()..].trim();
        if column.is_empty() || value.is_empty() {
            return Err(wrong());
        }
        let number = || value.parse::<f64>().ok().filter(|n| n.is_finite()).ok_or_else(wrong);
        let or_equal = sign.len() == 2;
        let compare = match sign {
            "<" | "<=" => Compare::Less { or_equal, than: number()? },
            ">" | ">=" => Compare::More { or_equal, than: number()? },
            _ => {
                let values: Vec<Pattern> = value.split(',').map(|value| Pattern::new(value.trim())).collect();
                if values.iter().any(|value| value.text().is_empty()) {
                    return Err(wrong());
                }
                Compare::Is { not: sign == "!=", values }
            }
        };
        Ok(ColumnTest { column, compare })
    }

    /// Whether it holds for what the column has.
    pub fn holds(&self, cell: &Cell) -> bool {
        match (&self.compare, cell) {
            (Compare::Is { not, .. }, Cell::None) => *not,
            (Compare::Is { not, values }, cell) => {
                let text = cell.to_string();
                values.iter().any(|pattern| pattern.takes(&text)) != *not
            }
            (Compare::Less { or_equal, than }, Cell::Number(n)) => n < than || *or_equal && n == than,
            (Compare::More { or_equal, than }, Cell::Number(n)) => n > than || *or_equal && n == than,
            _ => false,
        }
    }
}

/// What the rows of a group come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The value of the column that makes groups; empty where there is none.
    pub group: String,
    /// The value; none where there is nothing to measure.
    pub value: Option<f64>,
    /// Rows that it is made of.
    pub samples: u64,
}

/// What makes groups of rows: a column, or a part of what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// The column.
    pub column: String,
    part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    /// So many characters from the first one on.
    Prefix(usize),
    /// An address without its port.
    Host,
}

/// Characters of a prefix that makes groups.
const PREFIX_MAX: usize = 64;

impl Grouping {
    /// Reads one: `COLUMN`, `COLUMN/4`, `COLUMN/host`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Grouping, String> {
        let (column, part) = text.split_once('/').map_or((text, None), |(column, part)| (column, Some(part.trim())));
        let part = match part {
            None => Part::Whole,
            Some("host") => Part::Host,
            Some(number) => {
                let characters = number.parse().ok().filter(|characters| (1..=PREFIX_MAX).contains(characters));
                Part::Prefix(characters.ok_or_else(|| {
                    format!("'{text}': expected COLUMN, COLUMN/host, or COLUMN/N with 1 to {PREFIX_MAX} characters")
                })?)
            }
        };
        Ok(Grouping { column: column.trim().to_owned(), part })
    }

    /// The group of what the column holds.
    pub fn of(&self, cell: &Cell) -> String {
        let mut text = cell.to_string();
        match self.part {
            Part::Whole => {}
            Part::Prefix(characters) => {
                let end = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
                text.truncate(end);
            }
            Part::Host => {
                if let Some(end) = text.rfind(':') {
                    text.truncate(end);
                }
            }
        }
        text
    }
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Whole => f.write_str(&self.column),
            Part::Prefix(characters) => write!(f, "{}/{characters}", self.column),
            Part::Host => write!(f, "{}/host", self.column),
        }
    }
}

/// Rows as they are added up, one by one. What several have can be added to each other.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    groups: BTreeMap<String, Group>,
    left_out: u64,
}

#[derive(Clone, Debug, Default)]
struct Group {
    rows: u64,
    hits: u64,
    values: u64,
    sum: f64,
    min: Option<f64>,
    max: Option<f64>,
    kept: Vec<f64>,
    /// Each so many-th value is kept.
    stride: u64,
}

impl Tally {
    /// Takes a row; `cell` says what a column holds, and `call` is the call that the row is, if it is one.
    pub fn take(&mut self, watch: &RowsWatch, call: Option<&Call>, cell: impl Fn(&str) -> Cell) {
        let passes = |filter: &Option<trunkline_store::filter::Filter>| {
            filter.as_ref().is_none_or(|filter| call.is_some_and(|call| filter.matches(call)))
        };
        if !passes(&watch.filter) || !watch.only.iter().all(|test| test.holds(&cell(&test.column))) {
            return;
        }
        let name = watch.group.as_ref().map(|group| group.of(&cell(&group.column))).unwrap_or_default();
        let Some(group) = self.group(name) else { return };
        group.rows += 1;
        let hit = passes(&watch.of) && watch.of_columns.iter().all(|test| test.holds(&cell(&test.column)));
        group.hits += u64::from(hit);
        if let Some(value) = watch.column.as_ref().and_then(|column| cell(column).number()) {
            group.take(value, watch.measure == Measure::Percentile);
        }
    }

    /// Adds what another one has.
    pub fn add(&mut self, other: &Tally) {
        self.left_out += other.left_out;
        for (name, group) in &other.groups {
            let rows = group.rows;
            match self.group(name.clone()) {
                Some(own) => own.add(group),
                None => self.left_out += rows - 1,
            }
        }
    }

    /// Rows of groups beyond [`GROUPS_MAX`].
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// What each group comes to, in the order of their names. Without groups there is one, even of no rows.
    pub fn finish(mut self, watch: &RowsWatch) -> Vec<Measured> {
        if watch.group.is_none() {
            self.groups.entry(String::new()).or_default();
        }
        self.groups.into_iter().map(|(name, group)| group.measured(name, watch)).collect()
    }

    /// A group; none beyond [`GROUPS_MAX`], and that is counted.
    fn group(&mut self, name: String) -> Option<&mut Group> {
        if self.groups.len() >= GROUPS_MAX && !self.groups.contains_key(&name) {
            self.left_out += 1;
            return None;
        }
        Some(self.groups.entry(name).or_default())
    }
}

impl Group {
    fn take(&mut self, value: f64, keep: bool) {
        self.sum += value;
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
        if keep && self.values.is_multiple_of(self.stride.max(1)) {
            if self.kept.len() == PERCENTILE_VALUES_MAX {
                let mut at = 0;
                self.kept.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.stride = self.stride.max(1) * 2;
            }
            if self.values.is_multiple_of(self.stride.max(1)) {
                self.kept.push(value);
            }
        }
        self.values += 1;
    }

    fn add(&mut self, other: &Group) {
        let either = |one: Option<f64>, two: Option<f64>, of: fn(f64, f64) -> f64| match (one, two) {
            (Some(one), Some(two)) => Some(of(one, two)),
            (one, two) => one.or(two),
        };
        (self.rows, self.hits, self.values) =
            (self.rows + other.rows, self.hits + other.hits, self.values + other.values);
        self.sum += other.sum;
        (self.min, self.max) = (either(self.min, other.min, f64::min), either(self.max, other.max, f64::max));
        // Of both each so many-th value: those of the finer one are thinned out.
        let (own, others) = (self.stride.max(1), other.stride.max(1));
        let mut stride = own.max(others);
        let thinned = |kept: &[f64], has: u64| -> Vec<f64> {
            kept.iter().step_by(usize::try_from(stride / has).unwrap_or(1)).copied().collect()
        };
        let mut kept = thinned(&self.kept, own);
        kept.extend(thinned(&other.kept, others));
        while kept.len() > PERCENTILE_VALUES_MAX {
            kept = kept.into_iter().step_by(2).collect();
            stride *= 2;
        }
        (self.kept, self.stride) = (kept, stride);
    }

    fn measured(mut self, group: String, watch: &RowsWatch) -> Measured {
        let (value, samples) = match watch.measure {
            // That there were none is something that was seen.
            Measure::Count => (Some(self.rows as f64), self.rows.max(1)),
            Measure::Share => ((self.rows > 0).then(|| self.hits as f64 * 100.0 / self.rows as f64), self.rows),
            Measure::Sum => (Some(self.sum), self.values.max(1)),
            Measure::Mean => ((self.values > 0).then(|| self.sum / self.values as f64), self.values),
            Measure::Min => (self.min, self.values),
            Measure::Max => (self.max, self.values),
            Measure::Percentile => (percentile(&mut self.kept, watch.percentile), self.values),
        };
        Measured { group, value, samples }
    }
}

/// The nearest rank: the least value that so many of a hundred do not exceed.
fn percentile(values: &mut [f64], percent: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Known, Watch, read};

    fn watch(keys: &str) -> RowsWatch {
        let text = format!("[rule.r]\nlimit = 1\n{keys}\n");
        let rules = read(&[("r.toml", &text)], &Known::default()).unwrap();
        match &rules.rules["r"].watch {
            Watch::Rows(rows) => rows.clone(),
            _ => unreachable!("rows are watched"),
        }
    }

    fn measured(watch: &RowsWatch, rows: &[(&str, Option<f64>)]) -> Vec<(String, Option<f64>, u64)> {
        let (mut first, mut second) = (Tally::default(), Tally::default());
        for (at, (place, count)) in rows.iter().enumerate() {
            // What two have added up is what one would have.
            let tally = if at * 3 < rows.len() { &mut first } else { &mut second };
            tally.take(watch, None, |column| match column {
                "place" => Cell::Text((*place).to_owned()),
                "count" => count.map_or(Cell::None, Cell::Number),
                _ => Cell::None,
            });
        }
        first.add(&second);
        first.finish(watch).into_iter().map(|m| (m.group, m.value, m.samples)).collect()
    }

    const ROWS: [(&str, Option<f64>); 5] =
        [("ring 0", Some(10.0)), ("ring 1", Some(2.0)), ("card", Some(7.0)), ("ring 0", None), ("ring 0", Some(3.0))];

    #[test]
    fn rows_are_measured() {
        let all = |keys: &str| measured(&watch(&format!("rows = \"losses\"\n{keys}")), &ROWS);
        let one = |value: f64, samples| vec![(String::new(), Some(value), samples)];
        assert_eq!(all(""), one(5.0, 5));
        assert_eq!(all("only = [\"place = ring*\"]"), one(4.0, 4));
        assert_eq!(all("measure = \"sum\"\ncolumn = \"count\""), one(22.0, 4));
        assert_eq!(all("measure = \"mean\"\ncolumn = \"count\""), one(5.5, 4));
        assert_eq!(all("measure = \"min\"\ncolumn = \"count\""), one(2.0, 4));
        assert_eq!(all("measure = \"max\"\ncolumn = \"count\"\nonly = [\"count < 10\"]"), one(7.0, 3));
        assert_eq!(all("measure = \"percentile\"\npercentile = 50\ncolumn = \"count\""), one(3.0, 4));
        assert_eq!(all("measure = \"share\"\nof = [\"count >= 7\"]"), one(40.0, 5));
        let groups = all("group = \"place\"");
        let named: Vec<(&str, f64)> = groups.iter().map(|(name, value, _)| (name.as_str(), value.unwrap())).collect();
        assert_eq!(named, [("card", 1.0), ("ring 0", 3.0), ("ring 1", 1.0)]);
        assert_eq!(
            measured(&watch("rows = \"losses\"\nmeasure = \"mean\"\ncolumn = \"count\""), &[]),
            [(String::new(), None, 0)]
        );
    }

    #[test]
    fn a_percentile_of_many_values_is_near_that_of_all() {
        let watch = watch("rows = \"losses\"\nmeasure = \"percentile\"\npercentile = 95\ncolumn = \"count\"");
        let mut random = trunkline_kit::random::Random::new(7, 0);
        let rows: Vec<(&str, Option<f64>)> = (0..100_000).map(|_| ("x", Some(random.unit()))).collect();
        let (_, value, samples) = measured(&watch, &rows).remove(0);
        assert_eq!(samples, 100_000);
        assert!((value.unwrap() - 0.95).abs() < 0.02, "{value:?}");
    }

    #[test]
    fn groups_are_parts_of_a_column() {
        let of = |text: &str, cell: &str| Grouping::parse(text).unwrap().of(&Cell::Text(cell.to_owned()));
        assert_eq!(of("callee", "+442071234"), "+442071234");
        assert_eq!(of("callee/3", "+442071234"), "+44");
        assert_eq!(of("callee/64", "+44"), "+44");
        assert_eq!(of("src/host", "10.0.0.1:5060"), "10.0.0.1");
        assert_eq!(of("src/host", "[2001:db8::1]:5060"), "[2001:db8::1]");
        for wrong in ["src/", "src/0", "src/65", "src/port"] {
            assert!(Grouping::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Grouping::parse("src/host").unwrap().to_string(), "src/host");
    }

    #[test]
    fn tests_of_columns() {
        let holds = |text: &str, cell: Cell| ColumnTest::parse(text).unwrap().holds(&cell);
        assert!(holds("code = 4*, 503", Cell::Number(486.0)) && !holds("code = 4*", Cell::Number(503.0)));
        assert!(holds("code != 200", Cell::None) && !holds("code = 200", Cell::None) && !holds("code > 1", Cell::None));
        assert!(holds("count <= 3", Cell::Number(3.0)) && !holds("count<3", Cell::Number(3.0)));
        assert!(!holds("count > 3", Cell::Text("9".to_owned())));
        for wrong in ["", "code", "= 3", "code =", "code > x", "code = a,,b", "code ! 3"] {
            assert!(ColumnTest::parse(wrong).is_err(), "{wrong}");
        }
    }
}
