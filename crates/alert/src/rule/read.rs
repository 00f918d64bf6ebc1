//! Files of rules: everything that is wrong with all of them at once, each with its place.

mod channel;
mod check;
mod condition;
mod report;

use super::settings::{MaintenanceSection, RouteSection, RuleSection, StepSection};
use super::{Maintenance, NAME_MAX, REPORTS_MAX, RULES_MAX, Route, Rule, Rules, SECTIONS_MAX, STEPS_MAX, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use trunkline_kit::config::{self, Mistake, Place, Raw, Section, Sheet, sheet};
use trunkline_kit::nearest::suggestion;

/// The longest file of rules, octets.
// Limit: size of one file of rules
// Beyond: the file is refused
// Seen in: the error message
pub const RULE_FILE_OCTETS_MAX: usize = 4 << 20;
/// Files that are read together.
pub const RULE_FILES_MAX: usize = 1000;
/// Channels of a route or a step: their messages are made in one record.
const CHANNELS_MAX: usize = 16;
const SECTIONS: [&str; 5] = ["rule", "route", "channel", "maintenance", "report"];

/// What rules may name that stands elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Data templates with their series; without any, names of series are not checked.
    pub templates: BTreeMap<String, Vec<String>>,
}

/// Reads files of rules, each with the name that mistakes tell; what they name may stand in any of them.
///
/// # Errors
/// All mistakes, file by file in their order; at most [`MISTAKES_MAX`](config::MISTAKES_MAX) of each.
pub fn read(files: &[(&str, &str)], known: &Known) -> Result<Rules, Vec<Mistake>> {
    let mut names = Names { known: known.clone(), ..Names::default() };
    for (path, text) in files.iter().take(RULE_FILES_MAX) {
        // What is wrong here is told below.
        let _ = sheet(path, text, RULE_FILE_OCTETS_MAX, |_, table| names.gather(table));
    }
    let (mut rules, mut mistakes) = (Rules::default(), Vec::new());
    for (path, text) in files.iter().take(RULE_FILES_MAX) {
        rules.texts.extend(excerpts(text));
        let into = &mut rules;
        let read =
            sheet(path, text, RULE_FILE_OCTETS_MAX, |sheet, table| Reader { sheet, names: &names }.all(table, into));
        mistakes.extend(read.err().into_iter().flatten());
    }
    if let Some((path, _)) = files.get(RULE_FILES_MAX) {
        let place = Place::File { path: (*path).to_owned(), line: 1, column: 1 };
        mistakes.push(Mistake { place, what: format!("more than {RULE_FILES_MAX} files of rules") });
    }
    if mistakes.is_empty() { Ok(rules) } else { Err(mistakes) }
}

/// Each rule of a file with its sections and comments between them, as they are written.
fn excerpts(text: &str) -> BTreeMap<String, String> {
    let (mut all, mut name) = (BTreeMap::<String, String>::new(), None);
    for line in text.lines() {
        if let Some(header) = line.trim_start().strip_prefix('[') {
            let inner = header.trim_start_matches('[').split(']').next().unwrap_or_default();
            let own = inner.trim().strip_prefix("rule.").map(|rest| rest.split('.').next().unwrap_or(rest));
            name = own.map(|own| own.trim().trim_matches('"').to_owned());
        }
        if let Some(name) = &name {
            let excerpt = all.entry(name.clone()).or_default();
            excerpt.push_str(line);
            excerpt.push('\n');
        }
    }
    all.values_mut().for_each(|excerpt| excerpt.truncate(excerpt.trim_end().len()));
    all
}

/// The names that files give, before anything is checked that names them.
#[derive(Default)]
struct Names {
    rules: BTreeSet<String>,
    routes: BTreeSet<String>,
    channels: BTreeSet<String>,
    /// Channels that a report cannot go to, and what they are.
    lines: BTreeMap<String, String>,
    known: Known,
}

impl Names {
    fn gather(&mut self, table: &DeTable<'_>) {
        for (kind, into) in [("rule", &mut self.rules), ("route", &mut self.routes), ("channel", &mut self.channels)] {
            let inner = table.get(kind).and_then(|value| value.get_ref().as_table());
            into.extend(inner.into_iter().flatten().map(|(key, _)| key.get_ref().to_string()));
        }
        let channels = table.get("channel").and_then(|value| value.get_ref().as_table());
        for (key, value) in channels.into_iter().flatten() {
            let kind = value.get_ref().as_table().and_then(|channel| channel.get("kind"));
            let kind =
                kind.and_then(|kind| kind.get_ref().as_str()).filter(|kind| ["syslog", "command"].contains(kind));
            self.lines.extend(kind.map(|kind| (key.get_ref().to_string(), kind.to_owned())));
        }
    }
}

/// Where the value of each key of a section stands.
struct Keys {
    at: usize,
    keys: Vec<(String, usize)>,
}

impl Keys {
    fn at(&self, key: &str) -> usize {
        self.keys.iter().find(|(name, _)| name == key).map_or(self.at, |(_, at)| *at)
    }

    fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|(name, _)| name == key)
    }
}

/// A section of its own name.
struct Own<'t> {
    /// `rule.uplink-full`.
    section: String,
    name: String,
    at: usize,
    table: &'t DeTable<'t>,
}

struct Reader<'s, 'a, 'n> {
    sheet: &'s mut Sheet<'a>,
    names: &'n Names,
}

impl Reader<'_, '_, '_> {
    fn all(&mut self, table: &DeTable<'_>, rules: &mut Rules) {
        for (key, _) in table.iter().filter(|(key, _)| !SECTIONS.contains(&key.get_ref().as_ref())) {
            let hint = suggestion(key.get_ref(), SECTIONS.into_iter());
            self.sheet.wrong(key.span().start, format!("unknown section [{}.NAME]{hint}", key.get_ref()));
        }
        for own in self.owns(table, "rule", RULES_MAX) {
            let rule = self.rule(&own);
            self.put(&mut rules.rules, own, rule);
        }
        for own in self.owns(table, "route", SECTIONS_MAX) {
            let route = self.route(&own);
            self.put(&mut rules.routes, own, Some(route));
        }
        for own in self.owns(table, "channel", SECTIONS_MAX) {
            let channel = self.channel(&own);
            self.put(&mut rules.channels, own, channel);
        }
        for own in self.owns(table, "maintenance", SECTIONS_MAX) {
            let maintenance = self.maintenance(&own);
            self.put(&mut rules.maintenance, own, Some(maintenance));
        }
        for own in self.owns(table, "report", REPORTS_MAX) {
            let report = self.report(&own);
            self.put(&mut rules.reports, own, Some(report));
        }
    }

    fn put<T>(&mut self, into: &mut BTreeMap<String, T>, own: Own<'_>, value: Option<T>) {
        if into.contains_key(&own.name) {
            self.sheet.wrong(own.at, format!("another file has [{}], too", own.section));
        }
        if let Some(value) = value {
            into.insert(own.name, value);
        }
    }

    fn rule(&mut self, own: &Own<'_>) -> Option<Rule> {
        let mut section = RuleSection::default();
        let keys = self.section(own, &["labels"], &mut section);
        let labels = self.labels(own);
        for name in &section.routes {
            self.known("route", name, &self.names.routes, keys.at("routes"));
        }
        for name in &section.depends {
            self.known("rule", name, &self.names.rules, keys.at("depends"));
        }
        let condition = self.condition(&section, own, &keys);
        let watch = self.watch(&section, own, &keys);
        let mut s = |key: &str, time: Duration| self.seconds(time, keys.at(key));
        let (window_s, for_s, clear_for_s) =
            (s("window", section.window), s("for", section.r#for), s("clear-for", section.clear_for));
        let (unknown_after_s, flap_window_s) =
            (s("unknown-after", section.unknown_after), s("flap-window", section.flap_window));
        Some(Rule {
            title: section.title,
            text: section.text,
            watch: watch?,
            condition: condition?,
            function: section.function,
            window_s,
            minimum: u64::from(section.minimum),
            for_s,
            clear_for_s,
            unknown_after_s,
            flaps: section.flaps,
            flap_window_s,
            severity: section.severity,
            labels,
            routes: section.routes,
            depends: section.depends,
            valid: section.valid,
            zone: section.zone,
        })
    }

    fn labels(&mut self, own: &Own<'_>) -> BTreeMap<String, String> {
        let mut labels = BTreeMap::new();
        let Some((key, value)) = own.table.iter().find(|(key, _)| key.get_ref().as_ref() == "labels") else {
            return labels;
        };
        let Some(table) = value.get_ref().as_table() else {
            self.sheet.wrong(key.span().start, format!("'labels' is a section: [{}.labels]", own.section));
            return labels;
        };
        for (key, value) in table {
            self.name_of(key.get_ref(), key.span().start);
            if check::OWN_LABELS.contains(&key.get_ref().as_ref()) {
                self.sheet.wrong(key.span().start, format!("a label '{}' exists already", key.get_ref()));
            }
            match value.get_ref().as_str() {
                Some(text) => drop(labels.insert(key.get_ref().to_string(), text.to_owned())),
                None => self.sheet.wrong(value.span().start, format!("{}: a text", key.get_ref())),
            }
        }
        if labels.len() > check::LABELS_MAX {
            self.sheet.wrong(key.span().start, format!("more than {} labels", check::LABELS_MAX));
        }
        labels
    }

    fn route(&mut self, own: &Own<'_>) -> Route {
        let mut section = RouteSection::default();
        let keys = self.section(own, &["escalate"], &mut section);
        self.channels(&section.channels, own, &keys);
        let mut steps = Vec::new();
        for inner in self.tables(own, "escalate") {
            let mut step = StepSection::default();
            let keys = self.section(&inner, &[], &mut step);
            self.channels(&step.channels, &inner, &keys);
            let after_s = self.seconds(step.after, keys.at("after"));
            if steps.last().is_some_and(|last: &Step| last.after_s >= after_s) {
                self.sheet.wrong(keys.at("after"), "a step comes after the one before it".to_owned());
            }
            steps.push(Step { after_s, channels: step.channels });
        }
        if steps.len() > STEPS_MAX {
            self.sheet.wrong(own.at, format!("more than {STEPS_MAX} steps of escalation"));
        }
        let wait_s = self.seconds(section.wait, keys.at("wait"));
        let interval_s = self.seconds(section.interval, keys.at("interval"));
        let RouteSection { when, channels, group, resolved, .. } = section;
        Route { when, channels, group, wait_s, interval_s, resolved, steps }
    }

    fn channels(&mut self, channels: &[String], own: &Own<'_>, keys: &Keys) {
        if channels.is_empty() {
            self.sheet.wrong(own.at, format!("[{}] needs channels: [\"NAME\"]", own.section));
        }
        if channels.len() > CHANNELS_MAX {
            self.sheet.wrong(keys.at("channels"), format!("more than {CHANNELS_MAX} channels"));
        }
        for name in channels {
            self.known("channel", name, &self.names.channels, keys.at("channels"));
        }
    }

    fn maintenance(&mut self, own: &Own<'_>) -> Maintenance {
        let mut section = MaintenanceSection::default();
        let keys = self.section(own, &[], &mut section);
        let mut time = |key: &str, text: &str| {
            let at_s = section.zone.read(text);
            if at_s.is_none() && !text.is_empty() {
                self.sheet.wrong(
                    keys.at(key),
                    format!("{key}: expected a time such as \"2026-11-23 22:00\", not \"{text}\""),
                );
            }
            at_s
        };
        let once = time("from", &section.from).zip(time("to", &section.to));
        if once.is_some_and(|(from, to)| from >= to) {
            self.sheet.wrong(keys.at("to"), "it ends before it begins".to_owned());
        }
        if section.from.is_empty() != section.to.is_empty() {
            self.sheet.wrong(own.at, format!("[{}] needs both 'from' and 'to'", own.section));
        }
        if section.from.is_empty() && section.to.is_empty() && section.weekly.is_empty() {
            self.sheet.wrong(own.at, format!("[{}] needs 'weekly', or 'from' and 'to'", own.section));
        }
        Maintenance { when: section.when, weekly: section.weekly, once, zone: section.zone }
    }

    /// Whether a name is known.
    fn known(&mut self, what: &str, name: &str, known: &BTreeSet<String>, at: usize) {
        if known.is_empty() {
            self.sheet.wrong(at, format!("unknown {what} '{name}'; there is none"));
        } else if !known.contains(name) {
            let hint = suggestion(name, known.iter().map(String::as_str));
            self.sheet.wrong(at, format!("unknown {what} '{name}'{hint}"));
        }
    }

    fn seconds(&mut self, time: Duration, at: usize) -> i64 {
        if time.subsec_nanos() != 0 {
            self.sheet.wrong(at, "expected whole seconds".to_owned());
        }
        i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
    }

    /// What a section or a label may be called.
    fn name_of(&mut self, name: &str, at: usize) {
        let inside = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if name.is_empty() || name.len() > NAME_MAX || !name.bytes().all(inside) {
            self.sheet.wrong(at, format!("'{name}' is no name: 1 to {NAME_MAX} letters, digits, '-' and '_'"));
        }
    }

    /// Sections `[kind.NAME]`.
    fn owns<'t>(&mut self, table: &'t DeTable<'_>, kind: &str, most: usize) -> Vec<Own<'t>> {
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref().as_ref() == kind) else {
            return Vec::new();
        };
        let Some(inner) = value.get_ref().as_table() else {
            self.sheet.wrong(key.span().start, format!("'{kind}' is written [{kind}.NAME]"));
            return Vec::new();
        };
        if inner.len() > most {
            self.sheet.wrong(key.span().start, format!("more than {most} of [{kind}.NAME]"));
        }
        let mut owns = Vec::new();
        for (key, value) in inner {
            let (name, at) = (key.get_ref().to_string(), key.span().start);
            self.name_of(&name, at);
            match value.get_ref() {
                DeValue::Table(table) => owns.push(Own { section: format!("{kind}.{name}"), name, at, table }),
                _ => self.sheet.wrong(at, format!("'{kind}.{name}' is a section: [{kind}.{name}]")),
            }
        }
        owns
    }

    /// The tables of an array of tables in a section.
    fn tables<'t>(&mut self, own: &Own<'t>, name: &str) -> Vec<Own<'t>> {
        let Some((key, value)) = own.table.iter().find(|(key, _)| key.get_ref().as_ref() == name) else {
            return Vec::new();
        };
        let section = format!("{}.{name}", own.section);
        let inner = |value: &'t Spanned<DeValue<'_>>| {
            let table = value.get_ref().as_table()?;
            Some(Own { section: section.clone(), name: name.to_owned(), at: value.span().start, table })
        };
        let tables = value.get_ref().as_array().and_then(|list| list.iter().map(inner).collect());
        tables.unwrap_or_else(|| {
            self.sheet.wrong(key.span().start, format!("'{name}' is written [[{section}]], once for each"));
            Vec::new()
        })
    }

    /// Sets the keys of a section; keys of `inner` are sections of their own.
    fn section(&mut self, own: &Own<'_>, inner: &[&str], section: &mut dyn Section) -> Keys {
        let names: Vec<String> = section.keys().into_iter().map(|key| plain(&key.name)).collect();
        let mut keys = Vec::new();
        for (key, value) in own.table.iter().filter(|(key, _)| !inner.contains(&key.get_ref().as_ref())) {
            let (word, at) = (key.get_ref().as_ref(), value.span().start);
            if !names.iter().any(|known| known == word) {
                let hint = suggestion(word, names.iter().map(String::as_str).chain(inner.iter().copied()));
                self.sheet.wrong(key.span().start, format!("unknown key '{word}' in [{}]{hint}", own.section));
            } else if let Err(what) = section.set(&raw_name(word), &raw(value.get_ref())) {
                self.sheet.wrong(at, format!("{word}: {what}"));
            }
            keys.push((word.to_owned(), at));
        }
        Keys { at: own.at, keys }
    }
}

/// `for` is a word of the language in which the key is declared: there it is `r#for`.
fn plain(name: &str) -> String {
    name.strip_prefix("r#").unwrap_or(name).to_owned()
}

fn raw_name(word: &str) -> String {
    if word == "for" { "r#for".to_owned() } else { word.to_owned() }
}

/// As [`config::raw`], with numbers that have a fraction.
fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::Array(list) => Raw::List(list.iter().map(|value| raw(value.get_ref())).collect()),
        DeValue::Float(float) => Raw::Word(float.as_str().replace('_', "")),
        other => config::raw(other),
    }
}
