//! Profiles, data queries and data templates.

use super::super::query::Query;
use super::super::tables::{Record, Tables};
use super::words::fields;
use super::{Converter, Made, MadeSeries};
use crate::template::{
    Archive, Bound, DataTemplate, Function, Library, Number, Oid, Profile, Reading, SERIES_NAME_MAX, Series,
    SeriesKind, Source, Text, built_in,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// Types of data inputs (DATA_INPUT_TYPE_*).
const SCRIPT: &str = "1";
const SNMP: &str = "2";
const SNMP_QUERY: &str = "3";
const SCRIPT_QUERY: &str = "4";
const SCRIPT_SERVER: &str = "5";
const SCRIPT_SERVER_QUERY: &str = "6";
/// How long a program may take: what Cacti gives it.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(25);

/// Data queries that a program of Cacti answers out of HOST-RESOURCES-MIB, which is asked itself here: the file, the
/// table here, and for each field its column and the field of the row it is multiplied with.
type KnownQuery = (&'static str, &'static str, &'static [(&'static str, &'static str, Option<&'static str>)]);
const KNOWN_QUERIES: &[KnownQuery] = &[
    (
        "host_disk.xml",
        "storage",
        &[
            ("hrStorageSize", "1.3.6.1.2.1.25.2.3.1.5", Some("hrStorageAllocationUnits")),
            ("hrStorageUsed", "1.3.6.1.2.1.25.2.3.1.6", Some("hrStorageAllocationUnits")),
            ("hrStorageAllocationFailures", "1.3.6.1.2.1.25.2.3.1.7", None),
        ],
    ),
    ("host_cpu.xml", "processors", &[("hrProcessorLoad", "1.3.6.1.2.1.25.3.3.1.2", None)]),
];

/// Rows of data templates by what they are asked by.
pub(super) struct Parts<'t> {
    own: HashMap<&'t str, Record<'t>>,
    items: HashMap<&'t str, Vec<Record<'t>>>,
    inputs: HashMap<&'t str, Record<'t>>,
    /// Fields by their number.
    pub fields: HashMap<&'t str, Record<'t>>,
    fields_of: HashMap<&'t str, Vec<Record<'t>>>,
    /// Values by the number of what they are of.
    pub values: HashMap<&'t str, Vec<Record<'t>>>,
    query_series: HashMap<&'t str, Vec<Record<'t>>>,
    pub query_graphs: HashMap<&'t str, Record<'t>>,
    archives: HashMap<&'t str, Vec<Record<'t>>>,
}

impl<'t> Parts<'t> {
    pub fn new(tables: &'t Tables) -> Self {
        let one = |table: &'static str| tables.rows(table).map(|row| (row.text("id"), row)).collect();
        let own = tables.rows("data_template_data").filter(|row| row.is_none("local_data_id"));
        let mut items: HashMap<&str, Vec<Record<'_>>> = HashMap::new();
        for row in tables.rows("data_template_rrd").filter(|row| row.is_none("local_data_id")) {
            items.entry(row.text("data_template_id")).or_default().push(row);
        }
        Parts {
            own: own.map(|row| (row.text("data_template_id"), row)).collect(),
            items,
            inputs: one("data_input"),
            fields: one("data_input_fields"),
            fields_of: tables.by("data_input_fields", "data_input_id"),
            values: tables.by("data_input_data", "data_template_data_id"),
            query_series: tables.by("snmp_query_graph_rrd", "data_template_id"),
            query_graphs: one("snmp_query_graph"),
            archives: tables.by("data_template_data_rra", "data_template_data_id"),
        }
    }

    /// What a data template or a data source says for the input field with this code.
    pub fn value_of(&self, data: &str, code: &str) -> Option<&'t str> {
        let values = self.values.get(data).into_iter().flatten();
        let is = |row: &&Record<'t>| {
            self.fields.get(row.text("data_input_field_id")).is_some_and(|field| field.text("type_code") == code)
        };
        values.clone().find(is).map(|row| row.text("value"))
    }
}

/// Series of a data template by their numbers, with the fields of a data query, the best first.
type FieldsOf<'t> = BTreeMap<&'t str, Vec<&'t str>>;

impl<'t> Converter<'t> {
    pub(super) fn all_profiles(&mut self) {
        let functions = self.tables.by("data_source_profiles_cf", "data_source_profile_id");
        let archives = self.tables.by("data_source_profiles_rra", "data_source_profile_id");
        let rows: Vec<Record<'t>> = self.tables.rows("data_source_profiles").collect();
        for row in rows {
            let id = row.text("id");
            let functions = functions.get(id).into_iter().flatten().filter_map(function);
            let archives = archives.get(id).into_iter().flatten().filter_map(archive).collect();
            let step = row.number("step").unwrap_or(300);
            let heartbeat = row.number("heartbeat").filter(|heartbeat| *heartbeat >= step);
            let unknown = row.number("x_files_factor").filter(|x| (0.0..1.0).contains(x)).unwrap_or(0.5);
            let title = row.text("name").to_owned();
            let profile = Profile { title, step, heartbeat, unknown, functions: unique(functions), archives };
            self.profile(id.to_owned(), profile);
        }
    }

    fn profile(&mut self, id: String, profile: Profile) -> Option<String> {
        if profile.archives.is_empty() || profile.functions.is_empty() {
            self.tell(format!("the profile '{}' has no archives", profile.title));
            return None;
        }
        let same = self.import.library.profiles.iter().find(|(_, known)| **known == profile);
        if let Some(name) = same.map(|(name, _)| name.clone()) {
            self.profiles.insert(id, name.clone());
            return Some(name);
        }
        let name = self.names.unique("profile", &profile.title);
        let what = format!("profile '{}'", profile.title);
        let profiles = [(name.clone(), profile)].into();
        if !self.put(&what, Library { profiles, ..Library::default() }) {
            return None;
        }
        self.profiles.insert(id, name.clone());
        Some(name)
    }

    /// The profile of a data template: 0.8.8 has a list of archives in its place.
    fn profile_of(&mut self, own: Record<'t>, parts: &Parts<'t>) -> Option<String> {
        let id = own.text("data_source_profile_id");
        if let Some(name) = self.profiles.get(id) {
            return Some(name.clone());
        }
        let listed: BTreeSet<&str> =
            parts.archives.get(own.text("id")).into_iter().flatten().map(|row| row.text("rra_id")).collect();
        let step = own.number("rrd_step").unwrap_or(300);
        let key = format!("{step}:{}", listed.iter().copied().collect::<Vec<_>>().join(","));
        if let Some(name) = self.profiles.get(&key) {
            return Some(name.clone());
        }
        let rows: Vec<Record<'t>> = self.tables.rows("rra").filter(|row| listed.contains(row.text("id"))).collect();
        let cfs = self.tables.by("rra_cf", "rra_id");
        let functions = rows.iter().flat_map(|row| cfs.get(row.text("id")).into_iter().flatten()).filter_map(function);
        let unknown = rows.iter().find_map(|row| row.number("x_files_factor"));
        let profile = Profile {
            title: format!("{step} seconds"),
            step,
            heartbeat: None,
            unknown: unknown.filter(|x| (0.0..1.0).contains(x)).unwrap_or(0.5),
            functions: unique(functions),
            archives: rows.iter().filter_map(archive).collect(),
        };
        self.profile(key, profile)
    }

    pub(super) fn all_queries(&mut self) {
        let rows: Vec<Record<'t>> = self.tables.rows("snmp_query").collect();
        for row in rows {
            let (id, title) = (row.text("id"), row.text("name"));
            let file = row.text("xml_path").rsplit('/').next().unwrap_or_default();
            if let Some((_, table, columns)) = KNOWN_QUERIES.iter().find(|(name, ..)| *name == file) {
                self.queries.insert(id, ((*table).to_owned(), known_query(table, columns)));
                continue;
            }
            let Some(text) = self.options.queries.get(file) else {
                self.unfiled_query(id, title, file);
                continue;
            };
            match Query::parse(text) {
                Ok(query) if query.is_script => {
                    self.tell(format!("data query '{title}' is answered by a program: it is not imported"));
                }
                Ok(mut query) => {
                    for told in core::mem::take(&mut query.told) {
                        self.tell(format!("data query '{title}': {told}"));
                    }
                    query.table.title = title.to_owned();
                    let name = self.names.unique("table", title);
                    let tables = [(name.clone(), query.table.clone())].into();
                    if self.put(&format!("data query '{title}'"), Library { tables, ..Library::default() }) {
                        self.queries.insert(id, (name, query));
                    }
                }
                Err(what) => self.tell(format!("data query '{title}': {file}: {what}")),
            }
        }
    }

    /// A data query whose file was not given: that of interfaces is known without it.
    fn unfiled_query(&mut self, id: &'t str, title: &str, file: &str) {
        if file != "interface.xml" {
            self.tell(format!("data query '{title}': its file {file} was not given"));
            return;
        }
        let library = built_in::library();
        if let Some(table) = library.tables.get("interfaces") {
            let column = |arc: u32, high: bool| {
                let base: &[u32] = if high { &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1] } else { &[1, 3, 6, 1, 2, 1, 2, 2, 1] };
                Oid::new(&[base, &[arc]].concat())
            };
            let outputs = INTERFACE_OUTPUTS.iter();
            let outputs = outputs.filter_map(|(name, arc, high)| Some(((*name).to_owned(), column(*arc, *high)?)));
            let order = ["ifName", "ifDescr"].map(str::to_owned).to_vec();
            let (outputs, told) = (outputs.collect(), Vec::new());
            let query = Query { table: table.clone(), outputs, order, told, is_script: false };
            self.queries.insert(id, ("interfaces".to_owned(), query));
        }
    }

    pub(super) fn data_template(&mut self, row: Record<'t>, parts: &Parts<'t>) {
        let (id, title) = (row.text("id"), row.text("name"));
        let Some(own) = parts.own.get(id).copied() else {
            return self.tell(format!("data template '{title}' has no settings"));
        };
        let input = parts.inputs.get(own.text("data_input_id")).copied();
        let Some(profile) = self.profile_of(own, parts) else {
            return self.tell(format!("data template '{title}' has no profile"));
        };
        let kind = input.map_or("", |input| input.text("type_id"));
        match (kind, input) {
            (SNMP, _) => {
                let oid = parts.value_of(own.text("id"), "snmp_oid").and_then(|text| Oid::parse(text.trim()));
                let read = oid.map_or_else(|| Reading::Name("|argument.oid|".to_owned()), Reading::Object);
                let read = |_: Record<'t>| vec![read.clone()];
                self.plain_template(row, own, parts, &profile, Source::Snmp, &read);
            }
            (SCRIPT | SCRIPT_SERVER, Some(input)) => {
                let Some(source) = self.script(input, own, parts, title) else { return };
                let name = |item: Record<'t>| {
                    let field = parts.fields.get(item.text("data_input_field_id"));
                    field.map(|field| field.text("data_name")).filter(|name| !name.is_empty())
                };
                let read = |item: Record<'t>| {
                    vec![Reading::Name(name(item).unwrap_or(item.text("data_source_name")).to_owned())]
                };
                self.plain_template(row, own, parts, &profile, source, &read);
            }
            (SNMP_QUERY | SCRIPT_QUERY | SCRIPT_SERVER_QUERY, _) => self.query_templates(row, own, parts, &profile),
            _ => self.tell(format!("data template '{title}': its data input method is not known")),
        }
    }

    /// A data template without a data query.
    fn plain_template(
        &mut self,
        row: Record<'t>,
        own: Record<'t>,
        parts: &Parts<'t>,
        profile: &str,
        source: Source,
        read: &dyn Fn(Record<'t>) -> Vec<Reading>,
    ) {
        let title = row.text("name");
        let name = self.names.unique("data", title);
        let mut series = Vec::new();
        for item in parts.items.get(row.text("id")).into_iter().flatten() {
            series.extend(self.series_of(*item, read(*item), None, title));
        }
        let made = Made { name, query_graphs: Vec::new(), query: None };
        self.made(row, own, profile, source, None, series, made);
    }

    /// Puts a data template into the library.
    #[expect(clippy::too_many_arguments, reason = "what a data template is made of")]
    fn made(
        &mut self,
        row: Record<'t>,
        own: Record<'t>,
        profile: &str,
        source: Source,
        table: Option<String>,
        series: Vec<Series>,
        made: Made,
    ) {
        if series.is_empty() {
            return self.tell(format!("data template '{}' has no series that can be read", row.text("name")));
        }
        let mut told = Vec::new();
        let known = table.as_deref().map(|table| self.row_fields(table));
        let known: Option<Vec<&str>> = known.as_ref().map(|known| known.iter().map(String::as_str).collect());
        let title = Text::parse(&fields(own.text("name"), known.as_deref(), &mut told));
        let step = own.number("rrd_step").filter(|step| crate::template::STEP_S.contains(step));
        let step = step.filter(|step| self.import.library.profiles.get(profile).is_some_and(|p| p.step != *step));
        for told in told {
            self.tell(told);
        }
        let profile = profile.to_owned();
        let template =
            DataTemplate { title, source, table, only: Vec::new(), matches: Vec::new(), profile, step, series };
        let data = [(made.name.clone(), template)].into();
        if self.put(&format!("data template '{}'", row.text("name")), Library { data, ..Library::default() }) {
            self.data.entry(row.text("id")).or_default().push(made);
        }
    }

    /// The fields of a table, here or with the program.
    pub(super) fn row_fields(&self, table: &str) -> Vec<String> {
        let table = self.import.library.tables.get(table).or_else(|| built_in::library().tables.get(table));
        table.map(|table| table.fields.keys().cloned().collect()).unwrap_or_default()
    }

    /// Data templates of a data query: one for all of its graphs that read the same, 64-bit columns before others.
    fn query_templates(&mut self, row: Record<'t>, own: Record<'t>, parts: &Parts<'t>, profile: &str) {
        let (id, title) = (row.text("id"), row.text("name"));
        let mut graphs: BTreeMap<&'t str, FieldsOf<'t>> = BTreeMap::new();
        for series in parts.query_series.get(id).into_iter().flatten() {
            let fields = graphs.entry(series.text("snmp_query_graph_id")).or_default();
            fields.entry(series.text("data_template_rrd_id")).or_default().push(series.text("snmp_field_name"));
        }
        if graphs.is_empty() {
            return self.tell(format!("data template '{title}' is in no graph of a data query"));
        }
        let mut classes: Vec<(&str, Vec<&str>, FieldsOf<'t>)> = Vec::new();
        for (graph, fields) in graphs {
            let query = parts.query_graphs.get(graph).map_or("", |graph| graph.text("snmp_query_id"));
            match classes.iter_mut().find(|(other, _, known)| *other == query && is_alike(known, &fields)) {
                Some((_, graphs, known)) => {
                    graphs.push(graph);
                    merge(known, &fields);
                }
                None => classes.push((query, vec![graph], fields)),
            }
        }
        let several = classes.len() > 1;
        for (query, graphs, fields) in classes {
            self.query_template(row, own, parts, profile, query, &graphs, &fields, several);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a data template of a data query is made of")]
    fn query_template(
        &mut self,
        row: Record<'t>,
        own: Record<'t>,
        parts: &Parts<'t>,
        profile: &str,
        query: &str,
        graphs: &[&str],
        fields: &FieldsOf<'t>,
        several: bool,
    ) {
        let title = row.text("name");
        let Some((table, known)) = self.queries.get(query).cloned() else {
            return self.tell(format!("data template '{title}': its data query is not imported"));
        };
        let graph = graphs.first().and_then(|graph| parts.query_graphs.get(graph)).map_or("", |g| g.text("name"));
        let name = self.names.unique("data", &if several { format!("{title} {graph}") } else { title.to_owned() });
        let mut series = Vec::new();
        for item in parts.items.get(row.text("id")).into_iter().flatten() {
            let Some(names) = fields.get(item.text("id")) else {
                self.tell(format!("data template '{title}': series '{}' reads nothing", item.text("data_source_name")));
                continue;
            };
            let columns = names.iter().filter_map(|name| known.outputs.get(*name));
            let read: Vec<Reading> = columns.map(|oid| Reading::Object(oid.clone())).collect();
            if read.is_empty() {
                self.tell(format!("data template '{title}': the data query has no column {}", names.join(", ")));
                continue;
            }
            let factor = names.iter().find_map(|name| factor_of(&table, name)).map(str::to_owned);
            series.extend(self.series_of(*item, read, factor, title));
        }
        let query_graphs = graphs.iter().map(|graph| (*graph).to_owned()).collect();
        let made = Made { name, query_graphs, query: Some(query.to_owned()) };
        self.made(row, own, profile, Source::Snmp, Some(table), series, made);
    }

    fn series_of(
        &mut self,
        item: Record<'t>,
        read: Vec<Reading>,
        factor_of: Option<String>,
        title: &str,
    ) -> Option<Series> {
        let name = item.text("data_source_name").to_owned();
        let inside = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if !(1..=SERIES_NAME_MAX).contains(&name.len()) || !name.bytes().all(inside) {
            self.tell(format!("data template '{title}': '{name}' is no name of a series"));
            return None;
        }
        let kind = match item.text("data_source_type_id") {
            "1" => SeriesKind::Gauge,
            "2" => SeriesKind::Counter,
            "3" => SeriesKind::Derive,
            "4" => SeriesKind::Absolute,
            "6" => SeriesKind::Dcounter,
            "7" => SeriesKind::Dderive,
            other => {
                self.tell(format!("data template '{title}': series '{name}' is of type {other}, which is computed"));
                return None;
            }
        };
        let min = item.number("rrd_minimum").filter(|min: &f64| min.is_finite()).map(Number);
        let max = match item.text("rrd_maximum").trim() {
            // Cacti takes 0 for none.
            "" | "0" | "U" | "u" => Bound::None,
            "|query_ifSpeed|" | "|query_ifHighSpeed|" => Bound::Speed,
            text => text
                .parse()
                .ok()
                .filter(|max: &f64| max.is_finite())
                .map_or(Bound::None, |max| Bound::Number(Number(max))),
        };
        let max = match (min, max) {
            (Some(min), Bound::Number(max)) if min >= max => Bound::None,
            (_, max) => max,
        };
        let limits = [item.text("rrd_minimum"), item.text("rrd_maximum")].map(|text| match text {
            "" | "U" | "u" => "UNKN".to_owned(),
            text => text.to_owned(),
        });
        let made = MadeSeries { template: item.text("data_template_id").to_owned(), name: name.clone(), limits };
        self.series.insert(item.text("id"), made);
        Some(Series {
            label: name.replace('_', " "),
            name,
            kind,
            read,
            min,
            max,
            heartbeat: item.number("rrd_heartbeat").filter(|heartbeat| *heartbeat > 0),
            factor: Number(1.0),
            factor_of: factor_of.filter(|_| matches!(kind, SeriesKind::Gauge | SeriesKind::Absolute)),
            decimals_of: None,
            scale_of: None,
        })
    }

    /// The command of a program: what is known of the device goes in, what a data source says is an argument of it.
    fn script(&mut self, input: Record<'t>, own: Record<'t>, parts: &Parts<'t>, title: &str) -> Option<Source> {
        let server = input.text("type_id") == SCRIPT_SERVER;
        let mut words = Vec::new();
        for word in input.text("input_string").split_whitespace() {
            words.push(self.word(word, input, own, parts, title));
        }
        if server && words.len() >= 2 {
            // The function's name: a file that is run by itself calls it.
            words.remove(1);
            words.splice(0..0, ["php".to_owned(), "-q".to_owned()]);
            self.tell(format!("data template '{title}': Cacti's own script is run by php from now on"));
        }
        if words.is_empty() {
            self.tell(format!("data template '{title}': its program is not told"));
            return None;
        }
        let command = words.iter().map(|word| Text::parse(word)).collect();
        Some(Source::Script { command, timeout: SCRIPT_TIMEOUT })
    }

    fn word(&mut self, word: &str, input: Record<'t>, own: Record<'t>, parts: &Parts<'t>, title: &str) -> String {
        let mut word = word.replace("<path_cacti>", self.options.path_cacti.trim_end_matches('/'));
        word = word.replace("<path_php_binary>", "php").replace("|path_php_binary|", "php");
        for field in parts.fields_of.get(input.text("id")).into_iter().flatten() {
            let (name, code) = (field.text("data_name"), field.text("type_code"));
            let mark = format!("<{name}>");
            if field.text("input_output") != "in" || !word.contains(&mark) {
                continue;
            }
            let values = parts.values.get(own.text("id")).into_iter().flatten();
            let value = values.clone().find(|row| row.text("data_input_field_id") == field.text("id"));
            let is_credential = is_credential(*field);
            if is_credential {
                let what = if code.is_empty() { name } else { code };
                self.tell(format!(
                    "data template '{title}': its program wants {what} of a device: credentials are not given to programs"
                ));
            }
            let filled = match (code, value.filter(|_| !is_credential)) {
                ("hostname" | "management_ip" | "host_hostname", _) => "|address|".to_owned(),
                ("host_description", _) => "|device|".to_owned(),
                (_, Some(value)) => value.text("value").to_owned(),
                (_, None) => {
                    let inside = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
                    format!("|argument.{}|", name.chars().filter(|c| inside(*c)).take(48).collect::<String>())
                }
            };
            word = word.replace(&mark, &filled);
        }
        word
    }
}

/// What SNMP wants of a device that is no secret.
const OPEN_CODES: [&str; 8] = [
    "snmp_oid",
    "snmp_version",
    "snmp_port",
    "snmp_timeout",
    "snmp_context",
    "snmp_engine_id",
    "snmp_auth_protocol",
    "snmp_priv_protocol",
];
/// Parts of names that people give to inputs for secrets.
const SECRET_WORDS: [&str; 5] = ["pass", "secret", "community", "token", "credential"];

/// Whether what is put into a field lets somebody in: an argument of a program is seen by all users of a machine.
pub(super) fn is_credential(field: Record<'_>) -> bool {
    let (code, name) = (field.text("type_code"), field.text("data_name").to_ascii_lowercase());
    let is_of_snmp = code.starts_with("snmp_") && !OPEN_CODES.contains(&code);
    is_of_snmp || SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Columns of interfaces that Cacti's own data query reads again and again: field, number, whether of ifXTable.
const INTERFACE_OUTPUTS: &[(&str, u32, bool)] = &[
    ("ifInOctets", 10, false),
    ("ifInUcastPkts", 11, false),
    ("ifInNUcastPkts", 12, false),
    ("ifInDiscards", 13, false),
    ("ifInErrors", 14, false),
    ("ifInUnknownProtos", 15, false),
    ("ifOutOctets", 16, false),
    ("ifOutUcastPkts", 17, false),
    ("ifOutNUcastPkts", 18, false),
    ("ifOutDiscards", 19, false),
    ("ifOutErrors", 20, false),
    ("ifInMulticastPkts", 2, true),
    ("ifInBroadcastPkts", 3, true),
    ("ifOutMulticastPkts", 4, true),
    ("ifOutBroadcastPkts", 5, true),
    ("ifHCInOctets", 6, true),
    ("ifHCInUcastPkts", 7, true),
    ("ifHCInMulticastPkts", 8, true),
    ("ifHCInBroadcastPkts", 9, true),
    ("ifHCOutOctets", 10, true),
    ("ifHCOutUcastPkts", 11, true),
    ("ifHCOutMulticastPkts", 12, true),
    ("ifHCOutBroadcastPkts", 13, true),
    ("ifOperStatus", 8, false),
    ("ifAdminStatus", 7, false),
    ("ifSpeed", 5, false),
    ("ifHighSpeed", 15, true),
];

fn known_query(table: &str, columns: &[(&str, &str, Option<&str>)]) -> Query {
    let outputs = columns.iter().filter_map(|(name, oid, _)| Some(((*name).to_owned(), Oid::parse(oid)?))).collect();
    let table = built_in::library().tables.get(table).cloned();
    let table = table.unwrap_or_else(|| crate::template::Table {
        title: String::new(),
        rows: None,
        names: vec![crate::template::RowName::Index],
        labels: Vec::new(),
        speeds: Vec::new(),
        fields: BTreeMap::new(),
    });
    let order = ["hrStorageDescr"].map(str::to_owned).to_vec();
    Query { table, outputs, order, told: Vec::new(), is_script: false }
}

/// The field of a row that a column of a known data query is multiplied with.
fn factor_of(table: &str, field: &str) -> Option<&'static str> {
    let (_, _, columns) = KNOWN_QUERIES.iter().find(|(_, known, _)| *known == table)?;
    columns.iter().find(|(name, ..)| *name == field)?.2
}

fn function(row: &Record<'_>) -> Option<Function> {
    match row.text("consolidation_function_id") {
        "1" => Some(Function::Average),
        "2" => Some(Function::Min),
        "3" => Some(Function::Max),
        "4" => Some(Function::Last),
        _ => None,
    }
}

fn archive(row: &Record<'_>) -> Option<Archive> {
    let number = |column| row.number(column).filter(|n| (1..=crate::template::ARCHIVE_ROWS_MAX).contains(n));
    Some(Archive::Rows { steps: number("steps")?, rows: number("rows")? })
}

fn unique(functions: impl Iterator<Item = Function>) -> Vec<Function> {
    let mut all: Vec<Function> = functions.collect();
    all.sort();
    all.dedup();
    all
}

/// Whether no series is read otherwise in the other one, but for the width of counters: ifHCInOctets is ifInOctets.
fn is_alike(one: &FieldsOf<'_>, other: &FieldsOf<'_>) -> bool {
    let narrow = |fields: &Vec<&str>| fields.iter().map(|name| name.replacen("HC", "", 1)).collect::<BTreeSet<_>>();
    one.iter().all(|(id, fields)| other.get(id).is_none_or(|others| narrow(others) == narrow(fields)))
}

/// Takes over further fields, 64-bit counters first.
fn merge<'t>(known: &mut FieldsOf<'t>, fields: &FieldsOf<'t>) {
    for (id, fields) in fields {
        let all = known.entry(id).or_default();
        all.extend(fields);
        all.sort_by_key(|name| (!name.contains("HC"), *name));
        all.dedup();
    }
}
