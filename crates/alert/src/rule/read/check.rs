//! What a rule watches.

use super::{Keys, Own, Reader};
use crate::rule::measure::{ColumnTest, Grouping, columns, is_number};
use crate::rule::settings::{Measure, RuleSection, Table};
use crate::rule::{Expression, MetricsWatch, RowsWatch, SeriesWatch, Watch};
use trunkline_kit::nearest::suggestion;
use trunkline_store::filter::Filter;

/// Labels that each alert has.
pub const OWN_LABELS: [&str; 4] = ["rule", "severity", "subject", "device"];
/// Labels of a rule.
pub const LABELS_MAX: usize = 32;

/// Keys that a rule over series has, those of one over rows, and those of one over metrics.
const OF_SERIES: [&str; 5] = ["template", "device", "index", "tags", "value"];
const OF_ROWS: [&str; 9] = ["filter", "only", "measure", "of", "column", "percentile", "group", "every", "over"];
const OF_METRICS: [&str; 2] = ["metric", "tags"];

impl Reader<'_, '_, '_> {
    pub(super) fn watch(&mut self, section: &RuleSection, own: &Own<'_>, keys: &Keys) -> Option<Watch> {
        let (what, own_keys): (&str, &[&str]) = match (section.rows, section.metric.is_empty()) {
            (Some(_), _) => ("rows", &OF_ROWS),
            (None, false) => ("metrics", &OF_METRICS),
            (None, true) => ("series", &OF_SERIES),
        };
        let all = OF_SERIES.iter().chain(&OF_ROWS).chain(&OF_METRICS[..1]);
        for key in all.filter(|key| keys.has(key) && !own_keys.contains(key)) {
            self.sheet.wrong(keys.at(key), format!("'{key}' has no meaning where {what} are watched"));
        }
        match section.rows {
            Some(table) => Some(Watch::Rows(self.rows(table, section, own, keys))),
            None if !section.metric.is_empty() => {
                let (names, labels) = (section.metric.clone(), section.tags.clone());
                Some(Watch::Metrics(MetricsWatch { names, labels }))
            }
            None => self.series(section, own, keys).map(Watch::Series),
        }
    }

    fn series(&mut self, section: &RuleSection, own: &Own<'_>, keys: &Keys) -> Option<SeriesWatch> {
        if section.value.is_empty() {
            let what =
                format!("[{}] needs a value: a series such as \"traffic_in\", or 'rows', or 'metric'", own.section);
            self.sheet.wrong(own.at, what);
            return None;
        }
        let value = match Expression::parse(&section.value) {
            Ok(value) => value,
            Err(what) => {
                self.sheet.wrong(keys.at("value"), format!("value: {what}"));
                return None;
            }
        };
        self.names_of_series(section, &value, keys);
        let RuleSection { template, device, index, tags, .. } = section.clone();
        Some(SeriesWatch { templates: template, devices: device, indexes: index, tags, value })
    }

    fn names_of_series(&mut self, section: &RuleSection, value: &Expression, keys: &Keys) {
        let known = &self.names.known.templates;
        let chosen = |name: &str| section.template.is_empty() || section.template.iter().any(|t| t.takes(name));
        let series: Vec<&str> =
            known.iter().filter(|(name, _)| chosen(name)).flat_map(|(_, s)| s).map(String::as_str).collect();
        if !known.is_empty() && series.is_empty() {
            let text = section.template.first().map_or("", |pattern| pattern.text());
            let hint = suggestion(text, known.keys().map(String::as_str));
            self.sheet.wrong(keys.at("template"), format!("no data template is called '{text}'{hint}"));
            return;
        }
        for name in value.names().iter().filter(|name| !known.is_empty() && !series.contains(&name.as_str())) {
            let hint = suggestion(name, series.iter().copied());
            self.sheet.wrong(keys.at("value"), format!("unknown series '{name}'{hint}"));
        }
    }

    fn rows(&mut self, table: Table, section: &RuleSection, own: &Own<'_>, keys: &Keys) -> RowsWatch {
        let calls = table == Table::Calls;
        if !calls && keys.has("filter") {
            self.sheet.wrong(keys.at("filter"), "'filter' is of calls; other tables have 'only'".to_owned());
        }
        let filter = (calls && !section.filter.is_empty()).then(|| self.filter(&section.filter, keys.at("filter")));
        let share = section.measure == Measure::Share;
        if share != keys.has("of") {
            let what = if share { "a share needs 'of': what counts" } else { "'of' is of a share" };
            self.sheet.wrong(keys.at("of"), what.to_owned());
        }
        let of = (share && calls).then(|| self.filter(&section.of.join(" and "), keys.at("of")));
        let of_columns = if calls { Vec::new() } else { self.tests(table, &section.of, keys.at("of")) };
        let measured = !matches!(section.measure, Measure::Count | Measure::Share);
        if measured != keys.has("column") {
            let name = section.measure.name();
            let what = if measured { format!("a {name} needs 'column'") } else { format!("a {name} has no 'column'") };
            self.sheet.wrong(if measured { own.at } else { keys.at("column") }, what);
        }
        if keys.has("percentile") && section.measure != Measure::Percentile {
            self.sheet.wrong(keys.at("percentile"), "'percentile' is of measure \"percentile\"".to_owned());
        }
        if !section.column.is_empty() {
            self.column(table, &section.column, true, keys.at("column"));
        }
        let group = (!section.group.is_empty()).then(|| self.grouping(table, &section.group, keys.at("group")));
        let (every_s, over_s) =
            (self.seconds(section.every, keys.at("every")), self.seconds(section.over, keys.at("over")));
        if every_s > 0 && over_s % every_s != 0 {
            self.sheet.wrong(keys.at("over"), "'over' is a whole number of times 'every'".to_owned());
        }
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        RowsWatch {
            table,
            filter: filter.flatten(),
            only: self.tests(table, &section.only, keys.at("only")),
            measure: section.measure,
            of: of.flatten(),
            of_columns,
            column: text(&section.column),
            percentile: section.percentile.0,
            group: group.flatten(),
            every_s,
            over_s,
        }
    }

    fn grouping(&mut self, table: Table, text: &str, at: usize) -> Option<Grouping> {
        match Grouping::parse(text) {
            Ok(grouping) => {
                self.column(table, &grouping.column, false, at);
                Some(grouping)
            }
            Err(what) => {
                self.sheet.wrong(at, what);
                None
            }
        }
    }

    fn filter(&mut self, text: &str, at: usize) -> Option<Filter> {
        let filter = Filter::parse(text);
        if let Err(error) = &filter {
            self.sheet.wrong(at, error.to_string());
        }
        filter.ok()
    }

    fn tests(&mut self, table: Table, texts: &[String], at: usize) -> Vec<ColumnTest> {
        let mut tests = Vec::new();
        for text in texts {
            match ColumnTest::parse(text) {
                Ok(test) => {
                    self.column(table, &test.column, false, at);
                    tests.push(test);
                }
                Err(what) => self.sheet.wrong(at, what),
            }
        }
        tests
    }

    /// Whether a table has a column (of numbers).
    fn column(&mut self, table: Table, name: &str, number: bool, at: usize) {
        let all = columns(table).iter().filter(|column| !number || is_number(column.kind)).map(|column| column.name);
        if !all.clone().any(|known| known == name) {
            let what = if number { "column of numbers" } else { "column" };
            self.sheet.wrong(at, format!("'{}' has no {what} '{name}'{}", table.name(), suggestion(name, all)));
        }
    }
}
