//! The section of charging data records.

use std::time::Duration;
use trunkline_kit::config::Octets;

trunkline_kit::section! {
    /// Charging data records of the charging node, in files under `charge/cdr` of the data folder.
    /// docs/manual/cdr.md says what they hold.
    pub struct Cdr {
        /// The forms that records are written in, beside each other: `ber` (3GPP TS 32.298 in files of TS 32.297),
        /// `csv`. Empty for no records.
        formats: Vec<Format> = vec![Format::Ber, Format::Csv] => Restart;
        /// Whether each record is a row in the store, too (`charges`).
        rows: bool = true => Restart;
        /// The name of this node in records and names of files (NodeID), up to 20 letters, digits, `.`, `-`, `_`; empty
        /// for the beginning of `charge.host`.
        node: String = String::new() => Restart;
        /// After how long what was charged is in a file at the latest.
        flush: Duration = Duration::from_secs(5) => Restart, Duration::from_secs(1) => Duration::from_secs(300);
        /// With how many octets a file is closed.
        file_size: Octets = Octets::mib(16) => Restart, Octets(64 << 10) => Octets::mib(512);
        /// With how many records a file is closed.
        file_records: u32 = 100_000 => Restart, 1 => 10_000_000;
        /// After how long a file is closed.
        file_time: Duration = Duration::from_secs(900) => Restart,
            Duration::from_secs(5) => Duration::from_secs(86_400);
        /// With how much usage the record of a session is cut and another one begins; `none` for never.
        cut_volume: Option<Octets> = None => Restart;
        /// After how long it is.
        cut_time: Duration = Duration::from_secs(86_400) => Restart,
            Duration::from_secs(60) => Duration::from_secs(31 * 86_400);
        /// With how many services it is.
        cut_services: u32 = 100 => Restart, 1 => 256;
        /// How many entries of the ledger may be without their records, before no session begins any more.
        behind: u32 = 5_000_000 => Restart, 1000 => 4_000_000_000;
        /// For how long closed files are kept; `none` for as long as nobody removes them.
        keep: Option<Duration> = None => Restart;
    }
}

trunkline_kit::choices! {
    /// A form of records.
    pub enum Format {
        /// Basic encoding rules, as the standard has them.
        Ber = "ber",
        /// Lines of a table.
        Csv = "csv",
    }
}
