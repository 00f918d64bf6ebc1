//! CDEF and VDEF of Cacti, as rrdtool reads them, with names in the places of its special data sources.

use super::tables::{Record, Tables};
use std::collections::HashMap;

const OPERATORS: [&str; 5] = ["+", "-", "*", "/", "%"];
/// Numbers of functions in a CDEF, from 1 on.
const FUNCTIONS: [&str; 42] = [
    "SIN",
    "COS",
    "LOG",
    "EXP",
    "FLOOR",
    "CEIL",
    "LT",
    "LE",
    "GT",
    "GE",
    "EQ",
    "IF",
    "MIN",
    "MAX",
    "LIMIT",
    "DUP",
    "EXC",
    "POP",
    "UN",
    "UNKN",
    "PREV",
    "INF",
    "NEGINF",
    "NOW",
    "TIME",
    "LTIME",
    "ADDNAN",
    "TREND",
    "TRENDNAN",
    "PREDICT",
    "PREDICTSIGMA",
    "PREDICTPERC",
    "SQRT",
    "ATAN",
    "ATAN2",
    "POW",
    "ISINF",
    "MINNAN",
    "MAXNAN",
    "DEG2RAD",
    "RAD2DEG",
    "ABS",
];
/// Numbers of functions in a VDEF, from 1 on.
const VALUE_FUNCTIONS: [&str; 12] = [
    "MAXIMUM",
    "MINIMUM",
    "AVERAGE",
    "STDEV",
    "LAST",
    "FIRST",
    "TOTAL",
    "PERCENT",
    "PERCENTNAN",
    "LSLSLOPE",
    "LSLINT",
    "LSLCORREL",
];
/// CDEFs in CDEFs.
const DEPTH_MAX: usize = 16;

/// What stands in the places of special data sources.
pub(super) struct Place<'p> {
    /// The series of the item, as a name.
    pub current: &'p str,
    /// All series of the graph, each once.
    pub all: &'p [String],
    /// Those of the same name as the item's, of other data sources.
    pub similar: &'p [String],
    /// The least and greatest value of the item's series.
    pub limits: [&'p str; 2],
    /// The ends of the graph's axis.
    pub axis: [&'p str; 2],
    /// Seconds of a step.
    pub step: u32,
}

/// The items of expressions, by the number of the expression.
pub(super) struct Expressions<'t> {
    computed: HashMap<&'t str, Vec<Record<'t>>>,
    values: HashMap<&'t str, Vec<Record<'t>>>,
}

impl<'t> Expressions<'t> {
    pub fn new(tables: &'t Tables) -> Self {
        let sorted = |mut map: HashMap<&'t str, Vec<Record<'t>>>| {
            for items in map.values_mut() {
                items.sort_by_key(|item| item.number::<u32>("sequence"));
            }
            map
        };
        let computed = sorted(tables.by("cdef_items", "cdef_id"));
        Expressions { computed, values: sorted(tables.by("vdef_items", "vdef_id")) }
    }

    /// A CDEF.
    pub fn computed(&self, id: &str, place: &Place<'_>) -> Result<String, String> {
        let mut words = Vec::new();
        self.gather(id, place, &mut words, 0)?;
        Ok(words.join(","))
    }

    fn gather(&self, id: &str, place: &Place<'_>, words: &mut Vec<String>, depth: usize) -> Result<(), String> {
        let items = self.computed.get(id).ok_or_else(|| format!("its CDEF {id} is not there"))?;
        for item in items {
            let value = item.text("value");
            match item.text("type") {
                "1" => words.push(numbered(&FUNCTIONS, value)?),
                "2" => words.push(numbered(&OPERATORS, value)?),
                "4" => words.push(special(value, place)?),
                "5" if depth < DEPTH_MAX => self.gather(value, place, words, depth + 1)?,
                "5" => return Err(format!("more than {DEPTH_MAX} CDEFs in each other")),
                "6" => words.push(text(value, place)),
                kind => return Err(format!("a CDEF's item of type {kind} is not known")),
            }
        }
        Ok(())
    }

    /// A VDEF of what has that name.
    pub fn value(&self, id: &str, current: &str) -> Result<String, String> {
        let items = self.values.get(id).ok_or_else(|| format!("its VDEF {id} is not there"))?;
        let mut words = Vec::new();
        for item in items {
            let value = item.text("value");
            match item.text("type") {
                "1" => words.push(numbered(&VALUE_FUNCTIONS, value)?),
                "4" => words.push(current.to_owned()),
                "6" => words.push(value.replace("CURRENT_DATA_SOURCE", current)),
                kind => return Err(format!("a VDEF's item of type {kind} is not known")),
            }
        }
        Ok(words.join(","))
    }
}

fn numbered(names: &[&str], number: &str) -> Result<String, String> {
    let name = number.parse::<usize>().ok().and_then(|number| names.get(number.checked_sub(1)?));
    name.map(|name| (*name).to_owned()).ok_or_else(|| format!("an expression's function {number} is not known"))
}

/// A text of its own may hold special data sources, too.
fn text(value: &str, place: &Place<'_>) -> String {
    let words = value.split(',').map(|word| special(word.trim(), place).unwrap_or_else(|_| word.trim().to_owned()));
    words.collect::<Vec<_>>().join(",")
}

/// What stands for a special data source. Sums count what is unknown as nothing, as Cacti makes them.
fn special(name: &str, place: &Place<'_>) -> Result<String, String> {
    let sum = |names: &[String]| joined(names, |name| format!("{name},UN,0,{name},IF"));
    let count = |names: &[String]| joined(names, |name| format!("{name},UN,0,1,IF"));
    let average = |names: &[String]| format!("{},{},/", sum(names), count(names));
    Ok(match name {
        "CURRENT_DATA_SOURCE" => place.current.to_owned(),
        "CURRENT_DATA_SOURCE_PI" => place.step.to_string(),
        "ALL_DATA_SOURCES_NODUPS" | "ALL_DATA_SOURCES_DUPS" => sum(place.all),
        "SIMILAR_DATA_SOURCES_NODUPS" | "SIMILAR_DATA_SOURCES_DUPS" => sum(place.similar),
        "COUNT_ALL_DS_NODUPS" | "COUNT_ALL_DS_DUPS" => count(place.all),
        "COUNT_SIMILAR_DS_NODUPS" | "COUNT_SIMILAR_DS_DUPS" => count(place.similar),
        "AVERAGE_ALL_DS_NODUPS" => average(place.all),
        "CURRENT_DS_MINIMUM_VALUE" => place.limits[0].to_owned(),
        "CURRENT_DS_MAXIMUM_VALUE" => place.limits[1].to_owned(),
        "CURRENT_GRAPH_MINIMUM_VALUE" => place.axis[0].to_owned(),
        "CURRENT_GRAPH_MAXIMUM_VALUE" => place.axis[1].to_owned(),
        other => return Err(format!("a special data source {other} is not known")),
    })
}

fn joined(names: &[String], each: impl Fn(&String) -> String) -> String {
    let mut out = String::new();
    for (place, name) in names.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(&each(name));
        if place > 0 {
            out.push_str(",+");
        }
    }
    out
}
