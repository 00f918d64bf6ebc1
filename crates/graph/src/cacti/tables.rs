//! Rows of Cacti's tables, by the names of their columns: only those that are needed, and no more than memory holds.

use super::dump::Statement;
use core::fmt;
use std::collections::{BTreeMap, HashMap};

/// Octets of all rows that are kept.
// Limit: memory of a Cacti dump
// Beyond: further rows are left out
// Seen in: the report of the import
pub const TABLES_OCTETS_MAX: usize = 4 << 30;

/// The tables with the columns that are taken over. Releases differ in what they have; what is not there is empty.
const WANTED: &[(&str, &[&str])] = &[
    ("cdef", &["id", "name"]),
    ("cdef_items", &["cdef_id", "sequence", "type", "value"]),
    ("colors", &["id", "hex"]),
    ("data_input", &["id", "name", "input_string", "type_id"]),
    ("data_input_data", &["data_input_field_id", "data_template_data_id", "value"]),
    ("data_input_fields", &["id", "data_input_id", "data_name", "input_output", "type_code"]),
    ("data_local", &["id", "data_template_id", "host_id", "snmp_query_id", "snmp_index"]),
    ("data_source_profiles", &["id", "name", "step", "heartbeat", "x_files_factor"]),
    ("data_source_profiles_cf", &["data_source_profile_id", "consolidation_function_id"]),
    ("data_source_profiles_rra", &["data_source_profile_id", "steps", "rows"]),
    ("data_template", &["id", "name"]),
    (
        "data_template_data",
        &[
            "id",
            "local_data_id",
            "data_template_id",
            "data_input_id",
            "name",
            "data_source_path",
            "active",
            "rrd_step",
            "data_source_profile_id",
        ],
    ),
    ("data_template_data_rra", &["data_template_data_id", "rra_id"]),
    (
        "data_template_rrd",
        &[
            "id",
            "local_data_id",
            "data_template_id",
            "rrd_maximum",
            "rrd_minimum",
            "rrd_heartbeat",
            "data_source_type_id",
            "data_source_name",
            "data_input_field_id",
        ],
    ),
    ("graph_local", &["id", "graph_template_id", "host_id", "snmp_query_id", "snmp_query_graph_id", "snmp_index"]),
    ("graph_templates", &["id", "name"]),
    ("graph_templates_gprint", &["id", "gprint_text"]),
    (
        "graph_templates_graph",
        &[
            "local_graph_id",
            "graph_template_id",
            "title",
            "title_cache",
            "height",
            "width",
            "upper_limit",
            "lower_limit",
            "vertical_label",
            "auto_scale_log",
            "auto_scale_rigid",
            "base_value",
            "unit_value",
            "unit_exponent_value",
            "right_axis",
            "t_title",
        ],
    ),
    (
        "graph_templates_item",
        &[
            "local_graph_id",
            "graph_template_id",
            "task_item_id",
            "color_id",
            "alpha",
            "graph_type_id",
            "line_width",
            "dashes",
            "cdef_id",
            "vdef_id",
            "shift",
            "consolidation_function_id",
            "text_format",
            "value",
            "hard_return",
            "gprint_id",
            "sequence",
        ],
    ),
    ("graph_tree", &["id", "name", "sequence", "enabled"]),
    (
        "graph_tree_items",
        &[
            "id",
            "parent",
            "position",
            "graph_tree_id",
            "local_graph_id",
            "title",
            "host_id",
            "site_id",
            "host_grouping_type",
            "order_key",
            "rra_id",
            "graph_regex",
            "host_regex",
        ],
    ),
    (
        "host",
        &[
            "id",
            "site_id",
            "host_template_id",
            "description",
            "hostname",
            "notes",
            "snmp_community",
            "snmp_version",
            "snmp_username",
            "snmp_password",
            "snmp_auth_protocol",
            "snmp_priv_passphrase",
            "snmp_priv_protocol",
            "snmp_context",
            "snmp_port",
            "snmp_timeout",
            "availability_method",
            "ping_method",
            "ping_port",
            "ping_timeout",
            "ping_retries",
            "max_oids",
            "disabled",
            "deleted",
            "snmp_sysDescr",
            "snmp_sysObjectID",
            "snmp_sysContact",
            "snmp_sysName",
            "snmp_sysLocation",
            "poller_id",
        ],
    ),
    ("host_snmp_cache", &["host_id", "snmp_query_id", "field_name", "field_value", "snmp_index"]),
    ("host_template", &["id", "name"]),
    ("host_template_graph", &["host_template_id", "graph_template_id"]),
    ("host_template_snmp_query", &["host_template_id", "snmp_query_id"]),
    ("rra", &["id", "x_files_factor", "steps", "rows"]),
    ("rra_cf", &["rra_id", "consolidation_function_id"]),
    (
        "sites",
        &[
            "id",
            "name",
            "address1",
            "address2",
            "city",
            "state",
            "postal_code",
            "country",
            "latitude",
            "longitude",
            "notes",
        ],
    ),
    ("snmp_query", &["id", "name", "xml_path", "data_input_id"]),
    ("snmp_query_graph", &["id", "snmp_query_id", "name", "graph_template_id"]),
    ("snmp_query_graph_rrd", &["snmp_query_graph_id", "data_template_id", "data_template_rrd_id", "snmp_field_name"]),
    ("vdef", &["id", "name"]),
    ("vdef_items", &["vdef_id", "sequence", "type", "value"]),
];

/// Rows of the tables that are wanted. They are counted, not shown: communities and passwords are among them.
#[derive(Clone, Default)]
pub struct Tables {
    tables: BTreeMap<&'static str, Vec<Box<[Box<str>]>>>,
    /// Of which rows each local graph shows series: an item each would be tens of millions of rows.
    pub(super) shown: BTreeMap<u32, Vec<u32>>,
    octets: usize,
    /// Rows of tables that nobody wants, by table.
    pub passed_over: BTreeMap<String, u64>,
    /// Rows for which there was no room, or whose columns the dump does not tell.
    pub left_out: u64,
}

/// A row of a table. Its values are not shown, either.
#[derive(Clone, Copy)]
pub(super) struct Record<'t> {
    columns: &'static [&'static str],
    values: &'t [Box<str>],
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: BTreeMap<&str, usize> = self.tables.iter().map(|(table, rows)| (*table, rows.len())).collect();
        let mut shown = f.debug_struct("Tables");
        shown.field("rows", &rows).field("passed_over", &self.passed_over).field("left_out", &self.left_out);
        shown.finish_non_exhaustive()
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl<'t> Record<'t> {
    /// The text of a column; empty if it is NULL, or if the release does not have it.
    pub fn text(&self, column: &str) -> &'t str {
        let place = self.columns.iter().position(|name| *name == column);
        place.and_then(|place| self.values.get(place)).map_or("", |value| value)
    }

    /// The number of a column.
    pub fn number<T: core::str::FromStr>(&self, column: &str) -> Option<T> {
        self.text(column).trim().parse().ok()
    }

    /// Whether a column says nothing: empty, or 0.
    pub fn is_none(&self, column: &str) -> bool {
        matches!(self.text(column), "" | "0")
    }

    /// Whether a column is `on`.
    pub fn is_on(&self, column: &str) -> bool {
        self.text(column) == "on"
    }
}

impl Tables {
    /// Takes a row of a dump.
    pub fn take(&mut self, row: &Statement<'_>) {
        let Some((table, wanted)) = WANTED.iter().find(|(name, _)| *name == row.table) else {
            // Names of tables are not many: a dump has a few hundred.
            if self.passed_over.len() < 10_000 || self.passed_over.contains_key(row.table) {
                *self.passed_over.entry(row.table.to_owned()).or_default() += 1;
            }
            return;
        };
        if row.columns.is_empty() {
            self.left_out += 1;
            return;
        }
        let place = |column: &&str| row.columns.iter().position(|name| name == column);
        let value = |place: Option<usize>| {
            let octets = place.and_then(|place| row.values.get(place)).and_then(Option::as_deref).unwrap_or_default();
            String::from_utf8_lossy(octets).into_owned().into_boxed_str()
        };
        self.put(table, wanted, wanted.iter().map(|column| value(place(column))).collect());
    }

    /// Takes a row, its columns by their names.
    pub(super) fn add(&mut self, table: &str, columns: &[(&str, &str)]) {
        if let Some((table, wanted)) = WANTED.iter().find(|(name, _)| *name == table) {
            let text = |name: &&str| columns.iter().find(|(column, _)| column == name).map_or("", |(_, text)| text);
            self.put(table, wanted, wanted.iter().map(|name| text(name).into()).collect());
        }
    }

    fn put(&mut self, table: &'static str, columns: &'static [&'static str], values: Box<[Box<str>]>) {
        let record = Record { columns, values: &values };
        if table == "graph_templates_item" && !record.is_none("local_graph_id") && !record.is_none("graph_template_id")
        {
            if let Some((graph, item)) = record.number("local_graph_id").zip(record.number("task_item_id")) {
                let items: &mut Vec<u32> = self.shown.entry(graph).or_default();
                if item > 0 && !items.contains(&item) {
                    items.push(item);
                    self.octets += 4;
                }
            }
            return;
        }
        // What says nothing is as if it was not there.
        if table == "data_input_data" && record.text("value").is_empty() {
            return;
        }
        let octets = values.iter().map(|value| value.len() + 16).sum::<usize>() + 16;
        if self.octets + octets > TABLES_OCTETS_MAX {
            self.left_out += 1;
            return;
        }
        self.octets += octets;
        self.tables.entry(table).or_default().push(values);
    }

    /// All rows of a table, in their order.
    pub(super) fn rows(&self, table: &'static str) -> impl DoubleEndedIterator<Item = Record<'_>> + Clone {
        let columns = WANTED.iter().find(|(name, _)| *name == table).map_or(&[][..], |(_, columns)| columns);
        self.tables.get(table).into_iter().flatten().map(move |values| Record { columns, values })
    }

    /// Rows of a table by one of its columns.
    pub(super) fn by(&self, table: &'static str, column: &'static str) -> HashMap<&str, Vec<Record<'_>>> {
        let mut found: HashMap<&str, Vec<Record<'_>>> = HashMap::new();
        for row in self.rows(table) {
            found.entry(row.text(column)).or_default().push(row);
        }
        found
    }
}
