//! Names, and what Cacti's variables are called here.

use crate::template::{ARGUMENT_PREFIX, DataTemplate, Reading, Source, Text};
use std::collections::{BTreeMap, BTreeSet};

/// Names of templates, each once.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
    counts: BTreeMap<String, u32>,
}

impl Names {
    /// A name for what people call `title`: `cacti-interface-traffic`.
    pub fn unique(&mut self, kind: &str, title: &str) -> String {
        let plain = format!("cacti-{}", slug(title));
        let mut name = plain.clone();
        while !self.taken.insert(format!("{kind}.{name}")) {
            let count = self.counts.entry(format!("{kind}.{plain}")).or_insert(1);
            *count += 1;
            name = format!("{plain}-{count}");
        }
        name
    }
}

/// Small letters, digits, and one line between words; at most 48 of them.
pub(super) fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => out.push(c),
            _ if !out.ends_with('-') && !out.is_empty() => out.push('-'),
            _ => {}
        }
        if out.len() >= 48 {
            break;
        }
    }
    let end = out.trim_end_matches('-').len();
    out.truncate(end);
    if out.is_empty() { "unnamed".to_owned() } else { out }
}

/// A text of Cacti with its variables as fields of this program. What has no field here stays away, and is told.
pub(super) fn fields(text: &str, table: Option<&[&str]>, told: &mut Vec<String>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('|') {
        out.push_str(before);
        match behind.split_once('|').filter(|(name, _)| is_variable(name)) {
            Some((name, after)) => {
                match field(name, table) {
                    Some(field) => out.push_str(&format!("|{field}|")),
                    None => told.push(format!("the variable |{name}| has no counterpart")),
                }
                rest = after;
            }
            None => {
                out.push('|');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_:.-".contains(&b))
}

fn field(name: &str, table: Option<&[&str]>) -> Option<String> {
    if let Some(field) = name.strip_prefix("query_") {
        let known = table?;
        let shown = match field {
            // What it is called there at present is its name here.
            "ifName" | "ifDescr" if !known.contains(&field) => "name",
            "ifAlias" if !known.contains(&field) => "label",
            "ifSpeed" | "ifHighSpeed" if !known.contains(&field) => "speed",
            field if !known.contains(&field) && field.to_ascii_lowercase().ends_with("index") => "index",
            field => field,
        };
        let there = known.contains(&shown) || crate::template::ROW_FIELDS.contains(&shown);
        return there.then(|| shown.to_owned());
    }
    let field = match name {
        "host_description" => "device",
        "host_hostname" | "host_management_ip" => "address",
        "host_snmp_sysname" => "device",
        "host_snmp_syslocation" => "location",
        "host_snmp_syscontact" => "contact",
        "host_snmp_sysdescr" => "description",
        "host_location" | "site_name" => "site",
        _ => return None,
    };
    Some(field.to_owned())
}

/// What a data template leaves to its data sources.
pub(super) fn arguments(template: &DataTemplate) -> BTreeSet<String> {
    let of = |text: &Text| -> Vec<String> {
        text.fields().filter_map(|field| Some(field.strip_prefix(ARGUMENT_PREFIX)?.to_owned())).collect()
    };
    let mut found: BTreeSet<String> = match &template.source {
        Source::Script { command, .. } => command.iter().flat_map(of).collect(),
        _ => BTreeSet::new(),
    };
    for read in template.series.iter().flat_map(|series| &series.read) {
        if let Reading::Name(name) = read {
            found.extend(of(&Text::parse(name)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_variables() {
        let mut names = Names::default();
        assert_eq!(names.unique("data", "Interface - Traffic (64-bit)"), "cacti-interface-traffic-64-bit");
        assert_eq!(names.unique("data", "Interface: traffic 64 bit!"), "cacti-interface-traffic-64-bit-2");
        assert_eq!(names.unique("graph", "ÄÖ"), "cacti-unnamed");
        let mut told = Vec::new();
        let text = "|host_description| - Traffic - |query_ifName| a|b |95:bits:0:max:2|";
        assert_eq!(fields(text, Some(&["ifName"]), &mut told), "|device| - Traffic - |ifName| a|b ");
        assert_eq!(told, ["the variable |95:bits:0:max:2| has no counterpart"]);
        assert_eq!(fields("|query_ifAlias|", Some(&[]), &mut told), "|label|");
    }
}
