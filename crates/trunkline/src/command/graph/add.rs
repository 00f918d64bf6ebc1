//! `trunkline graph add`: a device, with SNMP or without.

use super::node::Place;
use super::operate::{said, tell};
use super::probes::{Rounds, argument, arguments};
use crate::failure::Failure;
use clap::builder::PossibleValuesParser;
use serde_json::json;
use trunkline_kit::exit::Exit;

/// A device.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline graph add edge-1 10.0.0.1 --credential lan --probe snmp --probe icmp\n  \
    trunkline graph add sip-1 10.0.0.5 --no-snmp --probe icmp --probe tcp:5060 --probes all --template sip-server\n  \
    trunkline graph add db-1 10.0.0.7 --no-snmp --template tcp-service --argument port=5432\n\n\
    Device templates without SNMP that come along: reachable, tcp-service, sip-server, web-server, node-exporter.")]
pub struct Add {
    /// Name
    #[arg(value_name = "NAME")]
    name: String,
    /// Address or host name
    #[arg(value_name = "ADDRESS")]
    address: String,
    /// Credential [default: the community `public`]
    #[arg(long, value_name = "NAME")]
    credential: Option<String>,
    /// SNMP version [default: 3 for a user, else 2c]
    #[arg(long, value_name = "VERSION", value_parser = PossibleValuesParser::new(super::operate::VERSIONS))]
    snmp: Option<String>,
    /// The device has no SNMP; its template uses other methods
    #[arg(long, conflicts_with_all = ["snmp", "credential"])]
    no_snmp: bool,
    /// UDP port of the SNMP agent
    #[arg(long, value_name = "PORT", default_value_t = 161, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Device template [default: detected; without SNMP none]
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    /// Arguments of the template's data sources, without SNMP
    #[arg(long = "argument", value_name = "NAME=VALUE", requires = "template", value_parser = argument)]
    arguments: Vec<(String, String)>,
    #[command(flatten)]
    rounds: Rounds,
    /// Polling interval in seconds [default: from the data templates]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    step: Option<u32>,
    /// Notes
    #[arg(long, value_name = "TEXT", default_value = "")]
    notes: String,
    #[command(flatten)]
    place: Place,
}

impl Add {
    /// Has it done.
    ///
    /// # Errors
    /// What they say against it; the poller is not running.
    pub fn run(&self) -> Result<Exit, Failure> {
        let Add { name, address, credential, port, template, step, notes, place, .. } = self;
        let version = if self.no_snmp { Some("none") } else { self.snmp.as_deref() };
        let mut order = json!({
            "do": "add",
            "name": name,
            "address": address,
            "port": port,
            "credential": credential,
            "version": version,
            "template": template,
            "step": step,
            "notes": notes,
            "arguments": arguments(&self.arguments),
        });
        self.rounds.put(&mut order);
        let reply = place.ask(&order)?;
        tell(place, &reply, |reply, out| writeln!(out, "{name} is device {}", said(&reply["device"])))
    }
}
