//! Seconds of the compiler, from the page that `cargo --timings` writes: it holds its units as JSON.

use super::columns;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What stands before the units in the page.
const MARK: &str = "UNIT_DATA = ";
/// Foreign crates that are named.
const FOREIGN_NAMED: usize = 3;

/// One run of the compiler, or of a build script.
#[derive(Debug, Deserialize, PartialEq)]
pub struct Unit {
    /// The package.
    pub name: String,
    /// What of it: empty for the library, else name and kind: ` trunkline "bin"`, ` all "test" (test)`, ...
    pub target: String,
    /// Seconds from its beginning to its end, with others beside it.
    pub duration: f64,
}

/// Reads the units of a page.
///
/// # Errors
/// The line where the units should be, and what is wrong with them.
pub fn parse(page: &str) -> Result<Vec<Unit>, String> {
    let at = page.find(MARK).ok_or_else(|| format!("1: no '{MARK}': is it a page of cargo --timings?"))?;
    let line = page[..at].lines().count().max(1);
    let mut units = serde_json::Deserializer::from_str(&page[at + MARK.len()..]).into_iter();
    units.next().unwrap_or_else(|| Ok(Vec::new())).map_err(|error| format!("{line}: the units from here: {error}"))
}

/// Seconds of one crate by what was compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seconds {
    library: f64,
    unit_tests: f64,
    programs: f64,
    tests: f64,
    /// Build scripts and examples.
    others: f64,
}

impl Seconds {
    fn add(&mut self, unit: &Unit) {
        let kind = unit.target.split('"').nth(1).unwrap_or_default();
        let of_tests = unit.target.ends_with("test)");
        let library = kind == "lib" || matches!(unit.target.trim_start(), "" | "(check)" | "(check-test)");
        let sum = match kind {
            _ if library && !of_tests => &mut self.library,
            _ if library || (kind == "bin" && of_tests) => &mut self.unit_tests,
            "bin" => &mut self.programs,
            "test" => &mut self.tests,
            _ => &mut self.others,
        };
        *sum += unit.duration;
    }

    fn all(&self) -> f64 {
        self.library + self.unit_tests + self.programs + self.tests + self.others
    }
}

/// A table of our crates, slowest first, and a line about the foreign ones.
pub fn render(units: &[Unit], ours: impl Fn(&str) -> bool) -> String {
    let mut crates: BTreeMap<&str, Seconds> = BTreeMap::new();
    for unit in units {
        crates.entry(&unit.name).or_default().add(unit);
    }
    let mut sorted: Vec<(&str, Seconds)> = crates.into_iter().collect();
    sorted.sort_by(|a, b| b.1.all().total_cmp(&a.1.all()));
    let (own, foreign): (Vec<_>, Vec<_>) = sorted.into_iter().partition(|(name, _)| ours(name));
    let mut rows = vec![
        ["compiled, s", "all", "library", "unit tests", "programs", "tests", "others"].map(str::to_owned).to_vec(),
    ];
    rows.extend(own.iter().map(|(name, seconds)| row(name, seconds)));
    let sum = foreign.iter().map(|(_, seconds)| seconds.all()).sum::<f64>();
    let named = foreign.iter().take(FOREIGN_NAMED).map(|(name, s)| format!("{name} {:.1}", s.all()));
    let mut text = columns(&rows);
    if !foreign.is_empty() {
        let named = named.collect::<Vec<_>>().join(", ");
        text += &format!("{} foreign crates: {sum:.1} s; slowest: {named}\n", foreign.len());
    }
    text
}

fn row(name: &str, seconds: &Seconds) -> Vec<String> {
    let Seconds { library, unit_tests, programs, tests, others } = *seconds;
    let cell = |s: f64| if s == 0.0 { "-".to_owned() } else { format!("{s:.1}") };
    let numbers = [seconds.all(), library, unit_tests, programs, tests, others].map(cell);
    std::iter::once(name.to_owned()).chain(numbers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<script>
DURATION = 51;
const UNIT_DATA = [
  {"i": 1, "name": "trunkline-wire", "target": "", "duration": 2.5, "start": 0.1, "sections": null},
  {"i": 2, "name": "trunkline-wire", "target": " trunkline_wire \"lib\" (test)", "duration": 3.0},
  {"i": 3, "name": "trunkline-wire", "target": " all \"test\" (test)", "duration": 4.0},
  {"i": 4, "name": "trunkline-wire", "target": " dump \"example\"", "duration": 0.25},
  {"i": 5, "name": "trunkline", "target": " trunkline \"bin\"", "duration": 20.0},
  {"i": 6, "name": "trunkline", "target": " trunkline \"bin\" (test)", "duration": 1.0},
  {"i": 7, "name": "syn", "target": " (check)", "duration": 5.0},
  {"i": 8, "name": "serde", "target": " build-script (run)", "duration": 0.5}
];
const CONCURRENCY_DATA = [];
"#;

    #[test]
    fn crates_are_summed_by_what_was_compiled() {
        let shown = render(&parse(PAGE).unwrap(), |name| name.starts_with("trunkline"));
        assert_eq!(
            shown,
            "compiled, s      all  library  unit tests  programs  tests  others\n\
             trunkline       21.0        -         1.0      20.0      -       -\n\
             trunkline-wire   9.8      2.5         3.0         -    4.0     0.2\n\
             2 foreign crates: 5.5 s; slowest: syn 5.0, serde 0.5\n"
        );
    }

    #[test]
    fn a_page_without_units_is_told() {
        assert_eq!(parse("<html>").unwrap_err(), "1: no 'UNIT_DATA = ': is it a page of cargo --timings?");
        let cut = PAGE.split("\"syn\"").next().unwrap();
        assert!(parse(cut).unwrap_err().starts_with("3: the units from here: EOF while parsing"));
    }
}
