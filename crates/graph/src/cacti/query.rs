//! Files of data queries (`resource/snmp_queries/interface.xml`): which columns a table has, and what names its rows.

use super::xml::parse;
use crate::template::{Oid, RowName, Table};
use std::collections::BTreeMap;

/// A data query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// What its rows are.
    pub table: Table,
    /// The columns of what is read again and again, by the names of fields.
    pub outputs: BTreeMap<String, Oid>,
    /// The fields whose values name a row, the first that a row has.
    pub order: Vec<String>,
    /// What of it is not taken over.
    pub told: Vec<String>,
    /// Whether a program answers it, not SNMP.
    pub is_script: bool,
}

/// Fields that tell nothing which stays.
const PASSING: [&str; 3] = ["ifIndex", "ifHwAddr", "ifIP"];

impl Query {
    /// Reads the file.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Query, String> {
        let file = parse(text)?;
        let fields = file.child("fields").ok_or("a data query without fields")?;
        // Older files name their fields' tags otherwise, and a program instead of a column.
        let is_script = file.child("script_path").is_some();
        let mut query = Query {
            table: Table {
                title: file.text_of("name").to_owned(),
                rows: Oid::parse(file.text_of("oid_index")),
                names: Vec::new(),
                labels: Vec::new(),
                speeds: Vec::new(),
                fields: BTreeMap::new(),
            },
            outputs: BTreeMap::new(),
            order: file.text_of("index_order").split(':').map(|name| name.trim().to_owned()).collect(),
            told: Vec::new(),
            is_script,
        };
        query.order.retain(|name| !name.is_empty());
        for field in &fields.children {
            query.field(&field.name, field.text_of("direction"), field.text_of("oid"), field.text_of("source"));
        }
        query.names();
        Ok(query)
    }

    fn field(&mut self, name: &str, direction: &str, oid: &str, source: &str) {
        if self.is_script {
            return;
        }
        let plain =
            source.is_empty() || source.starts_with("value") || source.starts_with("VALUE") || source == "index";
        let Some(oid) = Oid::parse(oid).filter(|_| plain) else {
            self.told.push(format!("field '{name}' is not imported: it is cut out of an index or a text ({source})"));
            return;
        };
        if direction.contains("output") {
            self.outputs.insert(name.to_owned(), oid.clone());
        }
        if direction.contains("input") || direction.is_empty() {
            let named = if crate::template::is_field_of_all(name) { format!("{name}_") } else { name.to_owned() };
            self.table.fields.insert(named, oid);
        }
    }

    /// What names a row: the first field of the order that does not pass.
    fn names(&mut self) {
        for name in self.order.iter().filter(|name| !PASSING.contains(&name.as_str())) {
            if let Some(oid) = self.table.fields.get(name).or_else(|| self.outputs.get(name)) {
                self.table.names.push(RowName::Column(oid.clone()));
            }
        }
        if self.table.names.is_empty() {
            self.table.names.push(RowName::Index);
        }
        if let Some(oid) = self.table.fields.get("ifAlias") {
            self.table.labels.push(oid.clone());
        }
        for (field, unit) in [("ifHighSpeed", 1e6), ("ifSpeed", 1.0)] {
            if let Some(oid) = self.table.fields.get(field) {
                self.table.speeds.push((oid.clone(), unit));
            }
        }
        if self.table.rows.is_none() && self.table.row_column().is_none() {
            self.table.rows = self.outputs.values().next().cloned();
        }
    }
}
