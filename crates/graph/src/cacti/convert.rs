//! Rows of Cacti's tables as templates, as changes of the inventory, and as the list of its files.

mod graphs;
mod hosts;
mod series;
mod trees;
mod words;

use super::expression::Expressions;
use super::query::Query;
use super::tables::{Record, Tables};
use crate::inventory::{Change, Inventory};
use crate::template::{Library, built_in, read_among, write};
use std::collections::{BTreeMap, HashMap};
use words::Names;

/// What is known beside the tables.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where Cacti's folder is (`<path_cacti>`), for programs that it runs.
    pub path_cacti: String,
    /// Files of data queries, by their names without folders: `interface.xml`.
    pub queries: BTreeMap<String, String>,
}

/// What is taken over.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// Templates: [`write()`] makes a file of them.
    pub library: Library,
    /// Changes of the inventory, in their order.
    pub changes: Vec<Change>,
    /// The files of data sources.
    pub files: Vec<RraFile>,
    /// What is not taken over, or not as it was, and why; each once, with how often it was so.
    pub told: BTreeMap<String, u64>,
}

/// A round-robin file of Cacti.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RraFile {
    /// Where it is, as Cacti writes it: `<path_rra>/edge-1_traffic_in_42.rrd`.
    pub path: String,
    /// The data source whose file it becomes.
    pub source: u32,
    /// Cacti's number of it.
    pub local_data_id: u32,
    /// Its series.
    pub series: Vec<String>,
}

/// Makes of Cacti's tables what this program has: templates, and what becomes of the inventory that is given.
pub fn convert(tables: &Tables, options: &Options, inventory: &Inventory) -> Import {
    let mut converter = Converter {
        tables,
        options,
        work: inventory.clone(),
        import: Import::default(),
        names: Names::default(),
        expressions: Expressions::new(tables),
        queries: HashMap::new(),
        profiles: HashMap::new(),
        data: HashMap::new(),
        graphs: HashMap::new(),
        devices: HashMap::new(),
        colors: tables.rows("colors").map(|row| (row.text("id"), row.text("hex"))).collect(),
        presets: tables.rows("graph_templates_gprint").map(|row| (row.text("id"), row.text("gprint_text"))).collect(),
        series: HashMap::new(),
        hosts: HashMap::new(),
        rows: HashMap::new(),
        copies: HashMap::new(),
        sources: HashMap::new(),
        shown: HashMap::new(),
        sites: HashMap::new(),
        credentials: HashMap::new(),
    };
    converter.templates();
    converter.objects();
    converter.finish()
}

/// A data template of Cacti as it became one here.
#[derive(Clone, Debug)]
struct Made {
    /// Its name here.
    name: String,
    /// The graphs of a data query that it is for; none is all.
    query_graphs: Vec<String>,
    /// The data query whose rows it is of.
    query: Option<String>,
}

/// A series of a data template.
#[derive(Clone, Debug)]
struct MadeSeries {
    template: String,
    name: String,
    limits: [String; 2],
}

struct Converter<'t> {
    tables: &'t Tables,
    options: &'t Options,
    /// The inventory with the changes so far: each change is tried on it.
    work: Inventory,
    import: Import,
    names: Names,
    expressions: Expressions<'t>,
    /// Data queries by number, with the name of their table.
    queries: HashMap<&'t str, (String, Query)>,
    /// Names of profiles by number, and of the archives of 0.8.8 by data template.
    profiles: HashMap<String, String>,
    /// Data templates by number.
    data: HashMap<&'t str, Vec<Made>>,
    /// Graph templates by number.
    graphs: HashMap<&'t str, String>,
    devices: HashMap<&'t str, String>,
    /// Colours and formats by their numbers.
    colors: HashMap<&'t str, &'t str>,
    presets: HashMap<&'t str, &'t str>,
    /// Series of data templates by their number.
    series: HashMap<&'t str, MadeSeries>,
    hosts: HashMap<u32, u32>,
    /// Rows by device, data query and index, as Cacti names them.
    rows: HashMap<(u32, &'t str, &'t str), u32>,
    /// Further names of data templates of which a device or row has several data sources.
    copies: HashMap<String, Vec<String>>,
    /// Data sources by Cacti's number.
    sources: HashMap<u32, u32>,
    /// Graphs by Cacti's number.
    shown: HashMap<u32, u32>,
    sites: HashMap<u32, u32>,
    credentials: HashMap<crate::inventory::Login, u32>,
}

impl<'t> Converter<'t> {
    fn tell(&mut self, what: String) {
        *self.import.told.entry(what).or_default() += 1;
    }

    /// Makes a change if the inventory takes it; else tells why not.
    fn change(&mut self, what: &str, change: Change) -> bool {
        match self.work.try_change(&change) {
            Ok(()) => {
                self.import.changes.push(change);
                true
            }
            Err(why) => {
                self.tell(format!("{what} is not imported: {why}"));
                false
            }
        }
    }

    /// Puts a template to the others if it is read as it is written; else tells why not.
    fn put(&mut self, what: &str, template: Library) -> bool {
        let text = write(&template);
        match read_among(&[("cacti.toml", &text)], &[built_in::library(), &self.import.library]) {
            Ok(_) => {
                self.import.library.merge(template);
                true
            }
            Err(mistakes) => {
                let first = mistakes.into_iter().next().map(|mistake| mistake.what).unwrap_or_default();
                self.tell(format!("{what} is not imported: {first}"));
                false
            }
        }
    }

    fn templates(&mut self) {
        self.all_profiles();
        self.all_queries();
        let rows: Vec<Record<'t>> = self.tables.rows("data_template").collect();
        let parts = series::Parts::new(self.tables);
        for row in rows {
            self.data_template(row, &parts);
        }
        self.all_graph_templates();
        self.device_templates();
    }

    fn device_templates(&mut self) {
        let (graphs, queries) = (
            self.tables.by("host_template_graph", "host_template_id"),
            self.tables.by("host_template_snmp_query", "host_template_id"),
        );
        let of_query = self.tables.by("snmp_query_graph", "snmp_query_id");
        let rows: Vec<Record<'t>> = self.tables.rows("host_template").collect();
        for row in rows {
            let own = graphs.get(row.text("id")).into_iter().flatten().map(|graph| graph.text("graph_template_id"));
            let queries = queries.get(row.text("id")).into_iter().flatten().map(|query| query.text("snmp_query_id"));
            let of_queries = queries.flat_map(|query| of_query.get(query).into_iter().flatten());
            let all = own.chain(of_queries.map(|graph| graph.text("graph_template_id")));
            let mut names: Vec<String> = all.filter_map(|graph| self.graphs.get(graph).cloned()).collect();
            names.sort();
            names.dedup();
            let title = row.text("name").to_owned();
            let name = self.names.unique("device", &title);
            let template =
                crate::template::DeviceTemplate { title, matches: Vec::new(), data: Vec::new(), graphs: names };
            let what = format!("device template '{}'", template.title);
            let devices = [(name.clone(), template)].into();
            if self.put(&what, Library { devices, ..Library::default() }) {
                self.devices.insert(row.text("id"), name);
            }
        }
    }

    fn objects(&mut self) {
        self.all_sites();
        self.all_hosts();
        self.all_rows();
        self.all_sources();
        self.all_graphs();
        self.all_trees();
    }

    fn finish(mut self) -> Import {
        for (table, count) in &self.tables.passed_over {
            let told = format!("rows of table '{table}' are not imported");
            *self.import.told.entry(told).or_default() += count;
        }
        if self.tables.left_out > 0 {
            let told = "rows are left out: memory is short, or the dump does not tell their columns".to_owned();
            *self.import.told.entry(told).or_default() += self.tables.left_out;
        }
        self.import
    }
}
