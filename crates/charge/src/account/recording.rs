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
    /// Where one node made records of this ledger alone before, how far those had come: without its folder of records
    /// no other can go on.
    pub goes_on: Option<GoesOn>,
}

/// How far the records of one node had come when several began to make them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoesOn {
    /// The last entry whose records were in files.
    pub entry: u64,
    /// The number of the next record.
    pub number: u32,
    /// The running count of the file that was open, or of the next one.
    pub file: u32,
}

fields! {
    Recording { node, address, ber, csv, cut_octets, cut_seconds, cut_services, goes_on }
    GoesOn { entry, number, file }
}
