//! The network around devices: the map, what is near an address, and the way between two.

use super::GraphNeighbour;
use crate::time::as_maybe;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How devices hang together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphMap {
    /// Devices, and those that they see beside them: from the middle of each part outwards.
    pub nodes: Vec<GraphMapNode>,
    /// How many there are in all.
    pub nodes_total: u64,
    /// How many of these are not polled.
    pub strangers_total: u64,
    /// Links between them.
    pub links: Vec<GraphLink>,
    /// How many there are between the nodes that are told.
    pub links_total: u64,
    /// Polled devices of which no link is known.
    pub alone: u64,
}

/// A device on the map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphMapNode {
    /// What links call it.
    pub key: String,
    /// `device`, or `stranger`: somebody who is seen and not polled.
    pub kind: String,
    /// The number of the device.
    pub device: Option<u32>,
    /// Its name.
    pub name: String,
    /// Where it is, or is managed.
    pub address: Option<String>,
    /// `up`, `down`, `unknown`, `disabled`, or `not polled` of a stranger.
    pub state: String,
    /// Steps from the middle of its part.
    pub depth: u32,
    /// The node that is a step nearer to the middle.
    pub parent: Option<String>,
    /// How many nodes are beside it.
    pub links: u32,
}

/// Who would be told to be behind whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphBehind {
    /// Where polling begins.
    pub from: Vec<GraphNeighbour>,
    /// Devices of which something else is told than the map has.
    pub devices: Vec<GraphBehindDevice>,
    /// How many would be told anew.
    pub set: u64,
    /// How many are told so already.
    pub same: u64,
    /// How many stay as somebody has told it.
    pub kept: u64,
    /// How many would be on the way to themselves, by what was told of others, and stay as they are.
    pub round: u64,
    /// Devices to which no way of the map leads.
    pub unreached: u64,
}

/// A device, and what would be told of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphBehindDevice {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Those on the way to it, by the map.
    pub behind: Vec<GraphNeighbour>,
    /// Those on the way to it, as it is told now.
    pub before: Vec<GraphNeighbour>,
    /// `set`: it would be told anew. `kept`, `round`: why not.
    pub does: String,
}

/// A link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphLink {
    /// Its two ends.
    pub ends: Vec<GraphLinkEnd>,
    /// Whether one end alone tells of it.
    pub one_sided: bool,
}

/// An end of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphLinkEnd {
    /// The node.
    pub node: String,
    /// The row of the interface.
    pub row: Option<u32>,
    /// What the interface is called.
    pub interface: Option<String>,
    /// What people wrote about it.
    pub label: Option<String>,
    /// Bit/s that it can carry.
    pub speed: Option<u64>,
    /// Whether this end tells of the other.
    pub tells: bool,
    /// The graph of its traffic.
    pub traffic: Option<u32>,
    /// The graph of its errors and discards.
    pub losses: Option<u32>,
}

/// Where addresses are, and what is on the way between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphNear {
    /// The addresses, as they were asked for.
    pub addresses: Vec<GraphAddress>,
    /// The ways between pairs of them.
    pub ways: Vec<GraphWays>,
    /// Interfaces and devices on the way: what lost most first, then in the order of the way.
    pub stops: Vec<GraphStop>,
    /// How many there are in all.
    pub stops_total: u64,
}

/// Where an address is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphAddress {
    /// The address.
    pub address: String,
    /// The nearest place first.
    pub places: Vec<GraphPlace>,
    /// How many there are in all.
    pub places_total: u64,
}

/// A place near which an address is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphPlace {
    /// The device.
    pub device: u32,
    /// Its name.
    pub name: String,
    /// `up`, `down`, `unknown` or `disabled`.
    pub state: String,
    /// The interface's row.
    pub row: Option<u32>,
    /// The interface.
    pub interface: Option<String>,
    /// `own` (it is the device's), `next` (its neighbour by LLDP), `port` (behind that port of it, by its forwarding
    /// table), `host` (ARP, neighbours of IPv6) or `network`.
    pub how: String,
    /// Why it is told, in words.
    pub why: String,
}

/// The shortest ways between two addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphWays {
    /// From this address.
    pub from: String,
    /// To this one.
    pub to: String,
    /// The first of them, step by step; none where no way is known.
    pub ways: Vec<Vec<GraphStep>>,
    /// How many are as short as that.
    pub ways_total: u64,
}

/// A step of a way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphStep {
    /// `device` or `stranger`.
    pub kind: String,
    /// The number of the device.
    pub device: Option<u32>,
    /// Its name.
    pub name: String,
    /// `up`, `down`, `unknown`, `disabled` or `not polled`.
    pub state: String,
    /// Interfaces to the step before.
    #[serde(rename = "in")]
    pub comes: Vec<String>,
    /// Interfaces to the step behind.
    pub out: Vec<String>,
}

/// An interface, or a device as a whole, on the way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphStop {
    /// The device.
    pub device: u32,
    /// Its name.
    pub device_name: String,
    /// `up`, `down`, `unknown` or `disabled`.
    pub state: String,
    /// The interface's row; null of the device as a whole.
    pub row: Option<u32>,
    /// The interface.
    pub interface: Option<String>,
    /// What people wrote about it.
    pub label: Option<String>,
    /// Why it is on the way, a sentence each.
    pub whys: Vec<String>,
    /// What was lost there in the span, most first.
    pub losses: Vec<GraphLoss>,
    /// Its graphs: of losses, traffic, processor, round trips.
    pub graphs: Vec<GraphOfStop>,
}

/// What was lost at a place in a span.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphLoss {
    /// What: `discards out`, `errors in`, `of echo requests lost`.
    pub what: String,
    /// How much.
    pub amount: f64,
    /// `packets` or `%`.
    pub unit: String,
    /// When what was read begins: the span is widened to whole steps.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub from: Option<i64>,
    /// And when it ends.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub to: Option<i64>,
}

/// A graph of a stop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphOfStop {
    /// Its number.
    pub id: u32,
    /// Its title.
    pub title: String,
    /// `losses`, `traffic`, `processor` or `round-trip`.
    pub shows: String,
}
