//! Options of `trunkline charge serve` for records.

use crate::run::config::{Cdr, Format, Gateway, Ip};
use clap::builder::RangedU64ValueParser;
use std::net::IpAddr;
use std::time::Duration;
use trunkline_kit::config::{Octets, Raw, Value};

/// See `[cdr]` of the configuration.
#[derive(Clone, Debug, clap::Args)]
pub struct Cdrs {
    /// Formats of charging data records, separated by commas: ber, csv; none for no records
    #[arg(long, value_name = "FORMS", default_value = "ber,csv", value_parser = formats)]
    cdr: Forms,
    /// Do not write records into the store
    #[arg(long)]
    cdr_no_rows: bool,
    /// Node name in records and file names (NodeID) [default: the beginning of --host]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    cdr_node: String,
    /// Maximum delay in seconds until charges are in a file
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = range(1, 300))]
    cdr_flush: u64,
    /// Size at which a record file is closed
    #[arg(long, value_name = "SIZE", default_value = "16 MiB", value_parser = file_size)]
    cdr_file_size: Octets,
    /// Number of records at which a file is closed
    #[arg(long, value_name = "NUM", default_value_t = 100_000, value_parser = range(1, 10_000_000))]
    cdr_file_records: u64,
    /// Seconds after which a file is closed
    #[arg(long, value_name = "SECONDS", default_value_t = 900, value_parser = range(5, 86_400))]
    cdr_file_time: u64,
    /// Usage at which a session's record is closed and a new one starts [default: never]
    #[arg(long, value_name = "SIZE", value_parser = octets)]
    cdr_cut_volume: Option<Octets>,
    /// Seconds after which it is closed
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400, value_parser = range(60, 31 * 86_400))]
    cdr_cut_time: u64,
    /// Maximum number of ledger entries without records; beyond it no session starts
    #[arg(long, value_name = "NUM", default_value_t = 5_000_000, value_parser = range(1000, 4_000_000_000))]
    cdr_behind: u64,
    /// Days to keep closed record files [default: until removed by hand]
    #[arg(long, value_name = "DAYS", value_parser = range(1, 36_500))]
    cdr_keep: Option<u64>,
    /// A charging gateway that records are sent on to by GTP', ADDRESS or ADDRESS:PORT (3386), the first choice first;
    /// the option again for more
    #[arg(long, value_name = "ADDRESS", value_parser = gateway)]
    cdr_send: Vec<Gateway>,
    /// Source address, by which gateways identify the sender [default: the address of the route]
    #[arg(long, value_name = "ADDRESS", requires = "cdr_send")]
    cdr_send_from: Option<IpAddr>,
    /// Response timeout of a gateway in milliseconds (T3-RESPONSE)
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = range(10, 60_000))]
    cdr_send_wait: u64,
    /// Transmissions of a request before its gateway counts as down (N3-REQUESTS)
    #[arg(long, value_name = "NUM", default_value_t = 5, value_parser = range(1, 100))]
    cdr_send_tries: u64,
}

fn gateway(text: &str) -> Result<Gateway, String> {
    Gateway::of(&Raw::Text(text.to_owned()))
}

#[derive(Clone, Debug)]
struct Forms(Vec<Format>);

fn range(least: u64, most: u64) -> RangedU64ValueParser<u64> {
    RangedU64ValueParser::new().range(least..=most)
}

fn formats(text: &str) -> Result<Forms, String> {
    if text == "none" {
        return Ok(Forms(Vec::new()));
    }
    let word = |word: &str| Format::of(&Raw::Text(word.trim().to_owned()));
    text.split(',').map(word).collect::<Result<Vec<_>, _>>().map(Forms)
}

fn octets(text: &str) -> Result<Octets, String> {
    Octets::of(&Raw::Text(text.to_owned()))
}

fn file_size(text: &str) -> Result<Octets, String> {
    let size = octets(text)?;
    let fits = (64 << 10..=512 << 20).contains(&size.0);
    fits.then_some(size).ok_or_else(|| "64 KiB to 512 MiB".to_owned())
}

impl Cdrs {
    /// What the options say, as the configuration says it.
    pub fn section(&self) -> Cdr {
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Cdr {
            formats: self.cdr.0.clone(),
            rows: !self.cdr_no_rows,
            node: self.cdr_node.clone(),
            flush: Duration::from_secs(self.cdr_flush),
            file_size: self.cdr_file_size,
            file_records: small(self.cdr_file_records),
            file_time: Duration::from_secs(self.cdr_file_time),
            cut_volume: self.cdr_cut_volume,
            cut_time: Duration::from_secs(self.cdr_cut_time),
            behind: small(self.cdr_behind),
            keep: self.cdr_keep.map(|days| Duration::from_secs(86_400 * days)),
            send: self.cdr_send.clone(),
            send_from: self.cdr_send_from.map(Ip),
            send_wait: Duration::from_millis(self.cdr_send_wait),
            send_tries: small(self.cdr_send_tries),
            ..Cdr::default()
        }
    }
}
