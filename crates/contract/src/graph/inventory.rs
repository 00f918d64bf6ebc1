//! What there is: devices, graphs, trees and templates, and how polling goes.

use crate::time::as_maybe;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How many there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphCounts {
    /// Devices.
    pub devices: u64,
    /// Devices that answer.
    pub up: u64,
    /// Devices that do not.
    pub down: u64,
    /// Devices of which that is not known.
    pub unknown: u64,
    /// Devices that are not polled.
    pub disabled: u64,
    /// Data sources.
    pub sources: u64,
    /// Graphs.
    pub graphs: u64,
    /// Trees.
    pub trees: u64,
}

/// How polling goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphRun {
    /// Samples that are read each second.
    pub samples_per_s: f64,
    /// Octets of samples that are on the disk and not in their files yet.
    pub waiting_octets: u64,
    /// Samples that were dropped since the start, as the disk was behind or full.
    pub samples_dropped: u64,
    /// Cycles that were left out since the start, as the one before was not over.
    pub cycles_missed: u64,
    /// Pictures drawn since the start.
    pub pictures: u64,
    /// Pictures that could not be drawn.
    pub pictures_failed: u64,
    /// What is wrong, a sentence each.
    pub troubles: Vec<String>,
}

/// Devices, a part of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphDevices {
    /// How many there are in all.
    pub total: u64,
    /// In the order of their names.
    pub devices: Vec<GraphDeviceBrief>,
}

/// A device in a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphDeviceBrief {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: String,
    /// Where it stands.
    pub site: Option<String>,
    /// `up`, `down`, `unknown` or `disabled`.
    pub state: String,
    /// Whether it does not alarm at present.
    pub quiet: bool,
    /// Since when it is up or down.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<i64>,
    /// What does not answer as it should, a sentence each.
    pub troubles: Vec<String>,
    /// Its graphs.
    pub graphs: u64,
    /// Its data sources.
    pub sources: u64,
}

/// The number of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedDevice {
    /// It.
    pub id: u32,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphDevice {
    /// As in a list.
    #[serde(flatten)]
    pub brief: GraphDeviceBrief,
    /// When its last answer came.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub answered: Option<i64>,
    /// Cycles that were left out.
    pub missed: u64,
    /// How long an answer takes, milliseconds.
    pub round_trip_ms: Option<f64>,
    /// Its device template.
    pub template: Option<String>,
    /// The version of SNMP: 1, 2c or 3.
    pub version: Option<String>,
    /// The port of its agent.
    pub port: u16,
    /// The name of its credential.
    pub credential: Option<String>,
    /// Seconds between two cycles, where that is its own.
    pub step_s: Option<u32>,
    /// For people.
    pub notes: String,
    /// How it is told whether it is up.
    pub probes: GraphProbes,
    /// Whether it is up and down by turns.
    pub flapping: bool,
    /// What it says of itself.
    pub system: GraphSystem,
    /// Devices on the way to it.
    pub behind: Vec<GraphNeighbour>,
    /// Rows of its tables in all.
    pub rows_total: u64,
    /// The first of them.
    pub rows: Vec<GraphRow>,
    /// What is read of it, the first data sources.
    pub read: Vec<GraphRead>,
}

/// How it is told whether a device is up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphProbes {
    /// What is tried: `icmp`, `snmp`, `tcp:PORT`, `udp:PORT`; nothing is a device that is always up.
    pub of: Vec<String>,
    /// Whether all of them must answer, and not one.
    pub all: bool,
    /// Rounds without an answer until it is down.
    pub failures: u16,
    /// Rounds with one until it is up again.
    pub recoveries: u16,
}

/// Device templates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphTemplates {
    /// In the order of their names.
    pub templates: Vec<GraphTemplateBrief>,
}

/// A device template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphTemplateBrief {
    /// Its name.
    pub name: String,
    /// For people.
    pub title: String,
    /// Whether it reads by SNMP.
    pub snmp: bool,
    /// What its data sources are to be told, by name.
    pub arguments: Vec<String>,
}

/// What a device says of itself (SNMPv2-MIB, system group).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphSystem {
    /// sysObjectID.
    pub object: String,
    /// sysName.
    pub name: String,
    /// sysDescr.
    pub description: String,
    /// sysLocation.
    pub location: String,
    /// sysContact.
    pub contact: String,
}

/// A device beside another one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphNeighbour {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
}

/// A row of a table of a device: an interface, a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphRow {
    /// Its number.
    pub id: u32,
    /// What the table holds.
    pub table: String,
    /// Its name.
    pub name: String,
    /// What people wrote about it.
    pub label: String,
    /// Where it is found at present; null if the device does not have it.
    pub index: Option<String>,
    /// Bit/s, where that is known.
    pub speed: Option<u64>,
}

/// A data source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphRead {
    /// Its number.
    pub id: u32,
    /// What it is.
    pub title: String,
    /// Its data template.
    pub template: String,
    /// How it is read: snmp, script, json, prometheus, icmp, http, program; null without its template.
    pub how: Option<String>,
    /// The row that it is of.
    pub row: Option<String>,
    /// Whether the device does not have that row at present.
    pub absent: bool,
    /// Whether it is read.
    pub active: bool,
    /// Seconds between two readings.
    pub step_s: Option<u32>,
    /// The time of the last sample in its file.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last: Option<i64>,
    /// Whether that is longer ago than it should be.
    pub silent: bool,
    /// What is wrong with it, where it is not read by SNMP.
    pub fault: Option<String>,
}

/// Graphs, a part of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphList {
    /// How many there are in all.
    pub total: u64,
    /// By group and title; of a search the nearest first.
    pub graphs: Vec<GraphBrief>,
}

/// A graph in a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphBrief {
    /// Its number.
    pub id: u32,
    /// Its title.
    pub title: String,
    /// Its graph template.
    pub template: Option<String>,
    /// The device of its first data source.
    pub device: Option<u32>,
    /// That one's name.
    pub device_name: Option<String>,
    /// What it stands under, where a place of a tree groups its graphs.
    pub group: Option<String>,
}

/// A graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphShown {
    /// As in a list.
    #[serde(flatten)]
    pub brief: GraphBrief,
    /// How many data sources it is of.
    pub sources_total: u64,
    /// The first of them.
    pub sources: Vec<GraphSource>,
}

/// A data source of a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphSource {
    /// Its number.
    pub id: u32,
    /// Its device; null where that is not to be seen.
    pub device: Option<u32>,
    /// The device's name.
    pub device_name: Option<String>,
    /// The row that it is of.
    pub row: Option<String>,
    /// Its data template.
    pub template: Option<String>,
    /// The time of the last sample in its file.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last: Option<i64>,
}

/// Graph templates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphTemplateList {
    /// By name.
    pub templates: Vec<GraphTemplate>,
}

/// A graph template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphTemplate {
    /// Its name.
    pub name: String,
    /// Its title, without what is of one graph.
    pub title: String,
    /// What stands at its axis.
    pub unit: String,
    /// Whether it makes one graph of many data sources.
    pub of_many: bool,
}

/// Figures of graphs over a span.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphFiguresList {
    /// How many graphs were found.
    pub total: u64,
    /// Some of them.
    pub graphs: Vec<GraphFiguresOf>,
}

/// Figures of graphs over a span, and the same as a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphReport {
    /// The figures.
    #[serde(flatten)]
    pub list: GraphFiguresList,
    /// Comma-separated values, where they are asked for.
    pub csv: Option<String>,
}

/// Figures of a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphFiguresOf {
    /// Its number.
    pub id: u32,
    /// Its title.
    pub title: String,
    /// Why there are none.
    pub trouble: Option<String>,
    /// The unit of all but totals, which are of it times seconds.
    pub unit: String,
    /// Seconds of the rows that they are of.
    pub step: Option<i64>,
    /// Those that have a label.
    pub series: Vec<GraphFiguresSeries>,
}

/// Figures of a series; null is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphFiguresSeries {
    /// What the legend calls it.
    pub label: String,
    /// The mean.
    pub average: Option<f64>,
    /// The greatest value.
    pub max: Option<f64>,
    /// 95 of 100 values are at most this.
    pub p95: Option<f64>,
    /// Values times seconds, of graphs of something per second alone.
    pub total: Option<f64>,
}

/// Trees.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphTrees {
    /// In their order.
    pub trees: Vec<GraphTree>,
}

/// A tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphTree {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// What is in it at its first level.
    pub nodes: Vec<GraphNode>,
}

/// What is in a folder of a tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphNodes {
    /// In their order.
    pub nodes: Vec<GraphNode>,
}

/// A place in a tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphNode {
    /// Its number.
    pub id: u32,
    /// Its tree.
    pub tree: u32,
    /// `folder`, `device`, `site`, `graph` or `rule`.
    pub kind: String,
    /// The number of the device, site or graph.
    pub target: Option<u32>,
    /// What it is called.
    pub name: String,
    /// Whether there are places in it.
    pub opens: bool,
}

/// What devices are asked with, without the secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphCredentials {
    /// In the order of their numbers.
    pub credentials: Vec<GraphCredential>,
}

/// A credential without its secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphCredential {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Devices that are asked with it.
    pub devices: u64,
}

/// What a scope shows of graphs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScopeShown {
    /// How much it shows.
    pub seen: GraphCounts,
    /// How much there is.
    pub all: GraphCounts,
    /// The first devices, by name.
    pub devices: Vec<String>,
    /// The first graphs.
    pub graphs: Vec<String>,
    /// The first trees.
    pub trees: Vec<String>,
    /// For each level of the scope what its rules are about.
    pub levels: Vec<Vec<GraphTaken>>,
}

/// What a rule is about at present; nothing at all, if nothing has that name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GraphTaken {
    /// Devices.
    pub devices: u64,
    /// Graphs, with those of the devices.
    pub graphs: u64,
    /// Trees, and places of them.
    pub places: u64,
}

/// Devices, graphs and data sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphSeen {
    /// Devices.
    pub devices: Vec<u32>,
    /// Graphs.
    pub graphs: Vec<u32>,
    /// Data sources.
    pub sources: Vec<u32>,
}
