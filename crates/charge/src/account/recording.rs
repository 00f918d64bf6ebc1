//! How several nodes of one ledger make records of usage alike: what has to be the same stands in the ledger itself.

use super::codec::fields;
use serde::{Deserialize, Serialize};

/// What both nodes make records by, from the entry after the one that says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// NodeID, in records and names of files.
    pub node: Box<str>,
    /// The node's address, in records and files.
    pub address: Box<str>,
    /// Whether records are written in BER.
    pub ber: bool,
    /// Whether they are written as lines of a table.
    pub csv: bool,
    /// When the record of a session is cut: octets, seconds, services; 0 is never.
    pub cut_octets: u64,
    /// See `cut_octets`.
    pub cut_seconds: u32,
    /// See `cut_octets`.
    pub cut_services: u32,
    /// Whether one node made records of this ledger alone before: without its folder of records no other can go on.
    pub goes_on: bool,
}

fields! {
    Recording { node, address, ber, csv, cut_octets, cut_seconds, cut_services, goes_on }
}
