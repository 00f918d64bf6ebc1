//! `trunkline graph device`: a device as people see it.

use super::operate::{list, said};
use crate::show::table::{number, text};
use crate::show::text::{Line, Style};
use crate::terminal::Terminal;
use serde_json::Value;
use std::io::{self, Write};

/// Writes what is known of it.
///
/// # Errors
/// It cannot be written.
pub fn device(reply: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let name = Line::new(terminal).with(Style::Plain, &said(&reply["name"])).text();
    writeln!(out, "{name}  {}  {}  {}", said(&reply["address"]), said(&reply["state"]), said(&reply["health"]))?;
    for key in ["object", "name", "description", "location", "contact"] {
        let value = said(&reply["observed"][key]);
        if !value.is_empty() {
            writeln!(out, "  {key:<12} {}", Line::new(terminal).with(Style::Plain, &value).text())?;
        }
    }
    let behind: Vec<String> = reply["behind"].as_array().into_iter().flatten().map(said).collect();
    if !behind.is_empty() {
        writeln!(out, "  {:<12} {}", "behind", Line::new(terminal).with(Style::Plain, &behind.join(", ")).text())?;
    }
    for (key, what) in [("unfound", "name not found"), ("unexplored", "not looked at"), ("refused", "refused")] {
        let value = said(&reply["polling"][key]);
        if !value.is_empty() {
            writeln!(out, "  {what}: {}", Line::new(terminal).with(Style::Plain, &value).text())?;
        }
    }
    probed(reply, terminal, out)?;
    writeln!(out)?;
    let columns = vec![text("table"), text("row"), text("index"), number("bit/s"), text("label").drops(1)];
    list(&reply["rows"], columns, &["table", "name", "index", "speed", "label"], terminal, out)?;
    writeln!(out)?;
    let columns = vec![number("source"), text("template"), text("how"), text("row"), text("active").drops(1)];
    list(&reply["data_sources"], columns, &["source", "template", "how", "row", "active"], terminal, out)?;
    writeln!(out)?;
    list(&reply["graph_list"], vec![number("graph"), text("title")], &["graph", "title"], terminal, out)
}

/// What is tried to see whether it is up, and what does not answer as it should.
fn probed(reply: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let probes = &reply["probes"];
    let all: Vec<String> = probes["of"].as_array().into_iter().flatten().map(said).collect();
    let how = match (all.is_empty(), probes["all"] == true) {
        (true, _) => "it is always up".to_owned(),
        (false, true) => all.join(" and "),
        (false, false) => all.join(" or "),
    };
    let (failures, recoveries) = (said(&probes["failures"]), said(&probes["recoveries"]));
    writeln!(out, "  {:<12} {how}; down after {failures} rounds, up after {recoveries}", "probes")?;
    if reply["polling"]["flapping"] == true {
        writeln!(out, "  flapping")?;
    }
    for fault in reply["faults"].as_array().into_iter().flatten() {
        let what = match fault["source"].as_u64() {
            Some(source) => format!("data source {source} ({})", said(&fault["template"])),
            None => "whether it is up".to_owned(),
        };
        let why = Line::new(terminal).with(Style::Plain, &said(&fault["text"])).text();
        writeln!(out, "  {what}: {why}")?;
    }
    let told = reply["faults"].as_array().map_or(0, Vec::len) as u64;
    let more = reply["polling"]["faults_total"].as_u64().unwrap_or(0).saturating_sub(told);
    if more > 0 {
        writeln!(out, "  and {more} more")?;
    }
    Ok(())
}
