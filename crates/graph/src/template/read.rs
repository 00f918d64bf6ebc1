//! Files of templates: everything that is wrong with all of them at once, each with its place.

mod check;
mod graph;
mod names;
mod source;

use super::settings::{DeviceSection, ProfileSection, TableSection, seconds};
use super::{DeviceTemplate, Library, NAME_MAX, Number, Oid, Profile, READS_MAX, RowName, TEMPLATES_MAX, Table, Text};
pub use graph::check_format;
use names::Names;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use trunkline_kit::config::{self, Mistake, Raw, Section, Sheet, sheet};
use trunkline_kit::nearest::suggestion;

/// The longest file of templates, octets.
// Limit: size of one file of templates
// Beyond: the file is refused
// Seen in: the error message
pub const TEMPLATE_FILE_OCTETS_MAX: usize = 4 << 20;
/// Files that are read together.
pub const TEMPLATE_FILES_MAX: usize = 1000;
const SECTIONS: [&str; 5] = ["profile", "table", "data", "graph", "device"];

/// Reads files of templates, each with the name that mistakes tell; what they name may stand in any of them or in
/// `known` (what comes with the program), which is not in the result.
///
/// # Errors
/// All mistakes, file by file in their order; at most [`MISTAKES_MAX`](config::MISTAKES_MAX) of each.
pub fn read(files: &[(&str, &str)], known: &Library) -> Result<Library, Vec<Mistake>> {
    read_among(files, &[known])
}

/// The same among several libraries.
///
/// # Errors
/// As [`read()`].
pub(crate) fn read_among(files: &[(&str, &str)], known: &[&Library]) -> Result<Library, Vec<Mistake>> {
    let mut names = Names::of(known);
    for (path, text) in files.iter().take(TEMPLATE_FILES_MAX) {
        // What is wrong here is told below.
        let _ = sheet(path, text, TEMPLATE_FILE_OCTETS_MAX, |_, table| names.gather(table));
    }
    let (mut library, mut mistakes) = (Library::default(), Vec::new());
    for (path, text) in files.iter().take(TEMPLATE_FILES_MAX) {
        let read =
            sheet(path, text, TEMPLATE_FILE_OCTETS_MAX, |sheet, table| Reader { sheet, names: &names }.all(table));
        match read {
            Ok(read) => {
                let twice = library.names_of(&read);
                for (place, what) in names::doubled(path, text, &twice) {
                    mistakes.push(Mistake { place, what });
                }
                library.merge(read);
            }
            Err(wrong) => mistakes.extend(wrong),
        }
    }
    if files.len() > TEMPLATE_FILES_MAX {
        let place = config::Place::File { path: files[TEMPLATE_FILES_MAX].0.to_owned(), line: 1, column: 1 };
        mistakes.push(Mistake { place, what: format!("more than {TEMPLATE_FILES_MAX} files of templates") });
    }
    if mistakes.is_empty() { Ok(library) } else { Err(mistakes) }
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

/// A section inside another one, by the name of what it is in.
struct Own<'t> {
    /// `data.interface-traffic`.
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
    fn all(&mut self, table: &DeTable<'_>) -> Library {
        for (key, _) in table.iter().filter(|(key, _)| !SECTIONS.contains(&key.get_ref().as_ref())) {
            let hint = suggestion(key.get_ref(), SECTIONS.into_iter());
            self.sheet.wrong(key.span().start, format!("unknown section [{}.NAME]{hint}", key.get_ref()));
        }
        let mut library = Library::default();
        for own in self.owns(table, "profile") {
            let profile = self.profile(&own);
            library.profiles.insert(own.name, profile);
        }
        for own in self.owns(table, "table") {
            let table = self.rows(&own);
            library.tables.insert(own.name, table);
        }
        for own in self.owns(table, "data") {
            if let Some(template) = self.data_template(&own) {
                library.data.insert(own.name, template);
            }
        }
        for own in self.owns(table, "graph") {
            let template = self.graph_template(&own);
            library.graphs.insert(own.name, template);
        }
        for own in self.owns(table, "device") {
            let template = self.device(&own);
            library.devices.insert(own.name, template);
        }
        library
    }

    fn profile(&mut self, own: &Own<'_>) -> Profile {
        let mut section = ProfileSection::default();
        let keys = self.section(own, &[], &mut section);
        let step = self.seconds(section.step, keys.at("step"));
        let heartbeat = section.heartbeat.map(|time| self.seconds(time, keys.at("heartbeat")));
        if heartbeat.is_some_and(|heartbeat| heartbeat < step) {
            self.sheet.wrong(keys.at("heartbeat"), "a heartbeat is a step at least".to_owned());
        }
        if section.functions.is_empty() {
            self.sheet.wrong(keys.at("functions"), "a profile needs a function: \"average\"".to_owned());
        }
        let mut functions = Vec::new();
        for function in section.functions {
            if functions.contains(&function) {
                self.sheet.wrong(keys.at("functions"), format!("'{}' stands there twice", function.name()));
            }
            functions.push(function);
        }
        match section.archives.len() {
            0 => self.sheet.wrong(keys.at("archives"), "a profile needs archives: [\"1 min for 2 days\"]".to_owned()),
            count if count > READS_MAX => {
                self.sheet.wrong(keys.at("archives"), format!("more than {READS_MAX} archives"));
            }
            _ => {}
        }
        let Number(unknown) = section.unknown;
        Profile { title: section.title, step, heartbeat, unknown, functions, archives: section.archives }
    }

    fn rows(&mut self, own: &Own<'_>) -> Table {
        let mut section = TableSection::default();
        let keys = self.section(own, &["fields"], &mut section);
        let names = section.names.iter().filter_map(|name| self.row_name(name, keys.at("names"))).collect();
        let speeds = section.speeds.iter().filter_map(|speed| self.speed(speed, keys.at("speeds"))).collect();
        let table = Table {
            title: section.title,
            rows: section.rows,
            names,
            labels: section.labels,
            speeds,
            fields: self.row_fields(own),
        };
        for (key, count) in
            [("names", table.names.len()), ("labels", table.labels.len()), ("speeds", table.speeds.len())]
        {
            if count > READS_MAX {
                self.sheet.wrong(keys.at(key), format!("more than {READS_MAX} {key}"));
            }
        }
        if !keys.has("names") {
            self.sheet.wrong(own.at, format!("[{}] needs names: the column that names its rows", own.section));
        } else if table.row_column().is_none() && !table.names.is_empty() {
            self.sheet.wrong(own.at, format!("[{}] needs rows: a column whose instances are its rows", own.section));
        }
        table
    }

    fn row_name(&mut self, text: &str, at: usize) -> Option<RowName> {
        if text == "index" {
            return Some(RowName::Index);
        }
        let oid = Oid::parse(text);
        if oid.is_none() {
            self.sheet.wrong(at, format!("'{text}': an object identifier of a column, or \"index\""));
        }
        oid.map(RowName::Column)
    }

    fn speed(&mut self, text: &str, at: usize) -> Option<(Oid, f64)> {
        let (oid, unit) = text.split_once('*').unwrap_or((text, "1"));
        let unit = unit.trim().parse::<f64>().ok().filter(|unit| *unit > 0.0 && unit.is_finite());
        let speed = Oid::parse(oid.trim()).zip(unit);
        if speed.is_none() {
            self.sheet.wrong(at, format!("'{text}': \"OID\" of a speed in bit/s, or \"OID * 1000000\""));
        }
        speed
    }

    fn row_fields(&mut self, own: &Own<'_>) -> BTreeMap<String, Oid> {
        let mut fields = BTreeMap::new();
        let Some((at, table)) = self.table(own.table, "fields", &own.section) else { return fields };
        for (key, value) in table {
            let name = key.get_ref().to_string();
            self.name_of(&name, key.span().start);
            if super::is_field_of_all(&name) {
                self.sheet.wrong(key.span().start, format!("a field '{name}' exists already: name it otherwise"));
            }
            match value.get_ref().as_str().and_then(Oid::parse) {
                Some(oid) => drop(fields.insert(name, oid)),
                None => self.sheet.wrong(value.span().start, format!("{name}: an object identifier of a column")),
            }
        }
        if fields.len() > READS_MAX {
            self.sheet.wrong(at, format!("more than {READS_MAX} fields"));
        }
        fields
    }

    fn device(&mut self, own: &Own<'_>) -> DeviceTemplate {
        let mut section = DeviceSection::default();
        let keys = self.section(own, &[], &mut section);
        for name in &section.data {
            self.known("data template", name, self.names.data(), keys.at("data"));
        }
        for name in &section.graphs {
            self.known("graph template", name, self.names.graphs(), keys.at("graphs"));
        }
        DeviceTemplate { title: section.title, matches: section.matches, data: section.data, graphs: section.graphs }
    }

    /// Whether a name is known.
    fn known<'k>(&mut self, what: &str, name: &str, known: impl Iterator<Item = &'k str> + Clone, at: usize) -> bool {
        let found = known.clone().any(|known| known == name);
        if !found {
            self.sheet.wrong(at, format!("unknown {what} '{name}'{}", suggestion(name, known)));
        }
        found
    }

    /// A text whose fields are those of a device and, if there is one, of a row of a table.
    fn text(&mut self, text: &str, table: Option<&str>, at: usize) -> Text {
        let text = Text::parse(text);
        self.fields_of(&text, table, at);
        text
    }

    fn fields_of(&mut self, text: &Text, table: Option<&str>, at: usize) {
        let known = self.names.fields(table);
        for field in text.fields().filter(|field| !known.contains(field) && !field.starts_with(super::ARGUMENT_PREFIX))
        {
            let hint = suggestion(field, known.iter().copied());
            self.sheet.wrong(at, format!("unknown field |{field}|{hint}"));
        }
    }

    fn seconds(&mut self, time: std::time::Duration, at: usize) -> u32 {
        seconds(time).unwrap_or_else(|what| {
            self.sheet.wrong(at, what);
            1
        })
    }

    /// What a template, a field or a definition may be called.
    fn name_of(&mut self, name: &str, at: usize) {
        let inside = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if name.is_empty() || name.len() > NAME_MAX || !name.bytes().all(inside) {
            let rule = format!("1 to {NAME_MAX} letters, digits, '-' and '_'");
            self.sheet.wrong(at, format!("'{name}' is no name: {rule}"));
        }
    }

    /// Sections `[kind.NAME]`.
    fn owns<'t>(&mut self, table: &'t DeTable<'_>, kind: &str) -> Vec<Own<'t>> {
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref().as_ref() == kind) else {
            return Vec::new();
        };
        let DeValue::Table(inner) = value.get_ref() else {
            self.sheet.wrong(key.span().start, format!("'{kind}' is written [{kind}.NAME]"));
            return Vec::new();
        };
        if inner.len() > TEMPLATES_MAX {
            self.sheet.wrong(key.span().start, format!("more than {TEMPLATES_MAX} of [{kind}.NAME]"));
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

    /// The table of that name in a section.
    fn table<'t>(&mut self, table: &'t DeTable<'_>, name: &str, section: &str) -> Option<(usize, &'t DeTable<'t>)> {
        let (key, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == name)?;
        let DeValue::Table(inner) = value.get_ref() else {
            self.sheet.wrong(key.span().start, format!("'{name}' is a section: [{section}.{name}]"));
            return None;
        };
        Some((key.span().start, inner))
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
        let mut keys = Vec::new();
        for (key, value) in own.table.iter().filter(|(key, _)| !inner.contains(&key.get_ref().as_ref())) {
            let (word, at) = (key.get_ref().as_ref(), value.span().start);
            let names: Vec<String> = section.keys().into_iter().map(|key| key.name).collect();
            if !names.iter().any(|known| known == word) {
                let hint = suggestion(word, names.iter().map(String::as_str).chain(inner.iter().copied()));
                self.sheet.wrong(key.span().start, format!("unknown key '{word}' in [{}]{hint}", own.section));
            } else if let Err(what) = section.set(word, &raw(value.get_ref())) {
                self.sheet.wrong(at, format!("{word}: {what}"));
            }
            keys.push((word.to_owned(), at));
        }
        Keys { at: own.at, keys }
    }
}

/// As [`config::raw`], with numbers that have a fraction.
fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::Array(list) => Raw::List(list.iter().map(|value| raw(value.get_ref())).collect()),
        DeValue::Float(float) => Raw::Word(float.as_str().replace('_', "")),
        other => config::raw(other),
    }
}
