//! Cacti's XML export of templates, of 0.8.8 and 1.2, alone or in a package, as rows of its tables.
//!
//! Things have a hash there, `hash_` with two digits for the kind, four for the release and 32 for the thing: the last
//! 32 stand for its number.

use super::tables::Tables;
use super::xml::{Element, parse};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;

/// An export as it was read.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// Rows of Cacti's tables.
    pub tables: Tables,
    /// Files of data queries that a package has, by their names without folders.
    pub queries: BTreeMap<String, String>,
    /// What was not read.
    pub told: Vec<String>,
}

/// Reads an export, or a package of one.
///
/// # Errors
/// It is none, and in which line.
pub fn exchange(text: &str) -> Result<Exchange, String> {
    let mut exchange = Exchange::default();
    let outer = parse(text)?;
    match outer.name.as_str() {
        "cacti" => exchange.export(&outer),
        "xml" => exchange.package(&outer)?,
        name => return Err(format!("<{name}> is neither an export of Cacti (<cacti>) nor a package (<xml>)")),
    }
    Ok(exchange)
}

/// The 32 digits at the end of a hash; anything else is as it is.
fn id(text: &str) -> &str {
    let hash = text.strip_prefix("hash_").filter(|rest| rest.len() == 38 && rest.is_ascii());
    hash.map_or(text, |rest| &rest[6..])
}

/// The two digits of the kind.
fn kind(element: &Element) -> &str {
    element.name.strip_prefix("hash_").and_then(|rest| rest.get(..2)).unwrap_or_default()
}

fn base64(text: &str) -> Option<String> {
    let packed: String = text.split_whitespace().collect();
    String::from_utf8(STANDARD.decode(packed).ok()?).ok()
}

fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split('|').filter(|part| !part.is_empty())
}

impl Exchange {
    /// The names of the graph templates that are in it.
    pub fn graph_templates(&self) -> impl Iterator<Item = &str> {
        self.tables.rows("graph_templates").map(|row| row.text("name"))
    }

    fn package(&mut self, outer: &Element) -> Result<(), String> {
        let files = outer.child("files").ok_or("a package without files")?;
        let mut exports = 0;
        for file in &files.children {
            let name = file.text_of("name");
            let base = name.rsplit('/').next().unwrap_or(name);
            match base64(file.text_of("data")).filter(|_| base.ends_with(".xml")) {
                Some(text) if text.trim_start().starts_with("<cacti>") => {
                    self.export(&parse(&text).map_err(|what| format!("{name}: {what}"))?);
                    exports += 1;
                }
                Some(text) => drop(self.queries.insert(base.to_owned(), text)),
                None => {
                    self.told.push(format!("file '{name}' of the package is not imported: copy it where it is run"))
                }
            }
        }
        if exports == 0 { Err("a package without an export".to_owned()) } else { Ok(()) }
    }

    fn export(&mut self, outer: &Element) {
        for thing in &outer.children {
            match kind(thing) {
                "00" => self.graph_template(thing),
                "01" => self.data_template(thing),
                "02" => self.host_template(thing),
                "03" => self.data_input(thing),
                "04" => self.data_query(thing),
                "05" => self.expression(thing, "cdef", "cdef_items", "cdef_id"),
                "06" => self.add("graph_templates_gprint", thing, &[]),
                "15" => self.archive(thing),
                "18" => self.expression(thing, "vdef", "vdef_items", "vdef_id"),
                "20" => self.profile(thing),
                _ => self.told.push(format!("<{}> '{}' is not known", thing.name, thing.text_of("name"))),
            }
        }
    }

    /// A row of what stands in an element, with its own number, and with columns that are not in it.
    fn add(&mut self, table: &str, element: &Element, more: &[(&str, &str)]) {
        let own = id(&element.name);
        let inner = element.children.iter().filter(|child| child.children.is_empty());
        let mut columns: Vec<(&str, &str)> = more.to_vec();
        columns.push(("id", own));
        columns.extend(inner.map(|child| (child.name.as_str(), id(&child.text))));
        self.tables.add(table, &columns);
    }

    fn graph_template(&mut self, thing: &Element) {
        let own = id(&thing.name);
        self.add("graph_templates", thing, &[]);
        if let Some(graph) = thing.child("graph") {
            self.add("graph_templates_graph", graph, &[("graph_template_id", own), ("local_graph_id", "0")]);
        }
        for item in thing.child("items").map_or(&[][..], |items| &items.children) {
            // An export has colours themselves where the table has numbers of them.
            let color = item.text_of("color_id");
            if !matches!(color, "" | "0") {
                self.tables.add("colors", &[("id", color), ("hex", color)]);
            }
            self.add("graph_templates_item", item, &[("graph_template_id", own), ("local_graph_id", "0")]);
        }
    }

    fn data_template(&mut self, thing: &Element) {
        let own = id(&thing.name);
        self.add("data_template", thing, &[]);
        // What is of the template itself has its number, too.
        if let Some(data) = thing.child("ds") {
            let columns = [("data_template_id", own), ("local_data_id", "0"), ("id", own)];
            self.add("data_template_data", data, &columns);
            for archive in parts(data.text_of("rra_items")) {
                let columns = [("data_template_data_id", own), ("rra_id", id(archive))];
                self.tables.add("data_template_data_rra", &columns);
            }
        }
        for item in thing.child("items").map_or(&[][..], |items| &items.children) {
            self.add("data_template_rrd", item, &[("data_template_id", own), ("local_data_id", "0")]);
        }
        for item in thing.child("data").map_or(&[][..], |items| &items.children) {
            self.add("data_input_data", item, &[("data_template_data_id", own)]);
        }
    }

    fn host_template(&mut self, thing: &Element) {
        let own = id(&thing.name);
        self.add("host_template", thing, &[]);
        for graph in parts(thing.text_of("graph_templates")) {
            let columns = [("host_template_id", own), ("graph_template_id", id(graph))];
            self.tables.add("host_template_graph", &columns);
        }
        for query in parts(thing.text_of("data_queries")) {
            let columns = [("host_template_id", own), ("snmp_query_id", id(query))];
            self.tables.add("host_template_snmp_query", &columns);
        }
    }

    fn data_input(&mut self, thing: &Element) {
        let own = id(&thing.name);
        let input = thing.text_of("input_string");
        let input = base64(input).unwrap_or_else(|| input.to_owned());
        self.add("data_input", thing, &[("input_string", &input)]);
        for field in thing.child("fields").map_or(&[][..], |fields| &fields.children) {
            self.add("data_input_fields", field, &[("data_input_id", own)]);
        }
    }

    fn data_query(&mut self, thing: &Element) {
        let own = id(&thing.name);
        self.add("snmp_query", thing, &[]);
        for graph in thing.child("graphs").map_or(&[][..], |graphs| &graphs.children) {
            let number = id(&graph.name);
            self.add("snmp_query_graph", graph, &[("snmp_query_id", own)]);
            for series in graph.child("rrd").map_or(&[][..], |series| &series.children) {
                self.add("snmp_query_graph_rrd", series, &[("snmp_query_graph_id", number)]);
            }
        }
    }

    fn expression(&mut self, thing: &Element, table: &str, items: &str, column: &str) {
        let own = id(&thing.name);
        self.add(table, thing, &[]);
        for item in thing.child("items").map_or(&[][..], |items| &items.children) {
            self.add(items, item, &[(column, own)]);
        }
    }

    /// An archive of 0.8.8.
    fn archive(&mut self, thing: &Element) {
        self.add("rra", thing, &[]);
        for function in parts(thing.text_of("cf_items")) {
            let columns = [("rra_id", id(&thing.name)), ("consolidation_function_id", function)];
            self.tables.add("rra_cf", &columns);
        }
    }

    fn profile(&mut self, thing: &Element) {
        let own = id(&thing.name);
        self.add("data_source_profiles", thing, &[]);
        for function in parts(thing.text_of("cf_items")) {
            let columns = [("data_source_profile_id", own), ("consolidation_function_id", function)];
            self.tables.add("data_source_profiles_cf", &columns);
        }
        for item in thing.child("items").map_or(&[][..], |items| &items.children) {
            self.add("data_source_profiles_rra", item, &[("data_source_profile_id", own)]);
        }
    }
}
