//! The names that files give, before anything is checked that names them.

use crate::template::{DEVICE_FIELDS, Library, ROW_FIELDS};
use std::collections::{BTreeMap, BTreeSet};
use toml::de::DeTable;
use trunkline_kit::config::Place;

/// The names that there are.
#[derive(Default)]
pub(super) struct Names {
    profiles: BTreeSet<String>,
    /// Tables with their fields.
    tables: BTreeMap<String, BTreeSet<String>>,
    /// Data templates with their table and series.
    data: BTreeMap<String, (Option<String>, BTreeSet<String>)>,
    graphs: BTreeSet<String>,
}

impl Names {
    /// The names of libraries.
    pub fn of(libraries: &[&Library]) -> Names {
        let mut names = Names::default();
        for library in libraries {
            names.profiles.extend(library.profiles.keys().cloned());
            let fields = library.tables.iter().map(|(n, t)| (n.clone(), t.fields.keys().cloned().collect()));
            names.tables.extend(fields);
            for (name, template) in &library.data {
                let series = template.series.iter().map(|series| series.name.clone()).collect();
                names.data.insert(name.clone(), (template.table.clone(), series));
            }
            names.graphs.extend(library.graphs.keys().cloned());
        }
        names
    }

    /// Adds the names of a file.
    pub fn gather(&mut self, table: &DeTable<'_>) {
        for (name, _) in inner(table, "profile") {
            self.profiles.insert(name);
        }
        for (name, own) in inner(table, "table") {
            let fields = own.and_then(|own| own.get("fields")).and_then(|fields| fields.get_ref().as_table());
            let fields = fields.into_iter().flatten().map(|(key, _)| key.get_ref().to_string());
            self.tables.insert(name, fields.collect());
        }
        for (name, own) in inner(table, "data") {
            let text = |table: &DeTable<'_>, key: &str| Some(table.get(key)?.get_ref().as_str()?.to_owned());
            let rows = own.and_then(|own| text(own, "table")).filter(|rows| !rows.is_empty());
            let list = own.and_then(|own| own.get("series")).and_then(|list| list.get_ref().as_array());
            let series = list.into_iter().flat_map(|list| list.iter());
            let series = series.filter_map(|series| text(series.get_ref().as_table()?, "name"));
            self.data.insert(name, (rows, series.collect()));
        }
        for (name, _) in inner(table, "graph") {
            self.graphs.insert(name);
        }
    }

    pub fn profiles(&self) -> impl Iterator<Item = &str> + Clone {
        self.profiles.iter().map(String::as_str)
    }

    pub fn tables(&self) -> impl Iterator<Item = &str> + Clone {
        self.tables.keys().map(String::as_str)
    }

    pub fn data(&self) -> impl Iterator<Item = &str> + Clone {
        self.data.keys().map(String::as_str)
    }

    pub fn graphs(&self) -> impl Iterator<Item = &str> + Clone {
        self.graphs.iter().map(String::as_str)
    }

    /// The series of a data template.
    pub fn series(&self, data: &str) -> impl Iterator<Item = &str> + Clone {
        self.data.get(data).into_iter().flat_map(|(_, series)| series.iter().map(String::as_str))
    }

    /// The table of a data template.
    pub fn table_of(&self, data: &str) -> Option<&str> {
        self.data.get(data)?.0.as_deref()
    }

    /// The fields that a text may have: a device's, and those of the rows of a table.
    pub fn fields(&self, table: Option<&str>) -> Vec<&str> {
        let rows = table.into_iter().flat_map(|table| {
            let own = self.tables.get(table).into_iter().flatten().map(String::as_str);
            ROW_FIELDS.into_iter().chain(own)
        });
        DEVICE_FIELDS.into_iter().chain(rows).collect()
    }
}

fn inner<'t>(table: &'t DeTable<'_>, kind: &str) -> Vec<(String, Option<&'t DeTable<'t>>)> {
    let inner = table.get(kind).and_then(|value| value.get_ref().as_table());
    let inner = inner.into_iter().flatten();
    inner.map(|(key, value)| (key.get_ref().to_string(), value.get_ref().as_table())).collect()
}

impl Library {
    /// The names that are in both, with their kind: `data.interface-traffic`.
    pub(super) fn names_of(&self, other: &Library) -> Vec<String> {
        fn both<T>(kind: &str, one: &BTreeMap<String, T>, other: &BTreeMap<String, T>) -> Vec<String> {
            other.keys().filter(|name| one.contains_key(*name)).map(|name| format!("{kind}.{name}")).collect()
        }
        [
            both("profile", &self.profiles, &other.profiles),
            both("table", &self.tables, &other.tables),
            both("data", &self.data, &other.data),
            both("graph", &self.graphs, &other.graphs),
            both("device", &self.devices, &other.devices),
        ]
        .concat()
    }
}

/// What is wrong with names that another file has said already, and where.
pub(super) fn doubled(path: &str, text: &str, names: &[String]) -> Vec<(Place, String)> {
    let line = |name: &String| {
        let heads = [format!("[{name}]"), format!("[[{name}."), format!("[{name}.")];
        text.lines()
            .position(|line| heads.iter().any(|head| line.trim_start().starts_with(head)))
            .map_or(1, |at| at + 1)
    };
    let place = |name: &String| Place::File { path: path.to_owned(), line: line(name), column: 1 };
    names.iter().map(|name| (place(name), format!("another file has [{name}], too"))).collect()
}
