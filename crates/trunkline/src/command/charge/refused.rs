//! `trunkline charge refused`: packets of records that charging gateways refused, and what is to become of them.

use super::place::Place;
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::table::{self, Row, Table, number, text};
use crate::show::text::{Line as Cell, Style};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::io::Write;
use std::time::{Duration, Instant};
use trunkline_kit::exit::Exit;

/// How long an order may take until it is in the ledger.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(200);

/// List record packets that charging gateways rejected; resend or discard them
#[derive(Debug, clap::Args)]
#[command(after_help = "A gateway rejects packets that it cannot process, such as an unknown format. Rejected \
    packets are stored; their records are also in the record files. Exit code 3 while there are any.\n\n\
    Examples:\n  \
    trunkline charge refused                 list them with gateway and reason\n  \
    trunkline charge refused --again         resend all, after the gateway was fixed\n  \
    trunkline charge refused --drop 411 412  discard these two, after their records were imported by hand")]
pub struct Refused {
    /// Numbers of the packets in the list [default: all]
    #[arg(value_name = "PACKET")]
    packets: Vec<u64>,
    /// Resend them as new requests to the primary gateway
    #[arg(long, conflicts_with = "drop")]
    again: bool,
    /// Discard them: they are not sent again
    #[arg(long)]
    drop: bool,
    #[command(flatten)]
    place: Place,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Refused {
    /// Does it.
    ///
    /// # Errors
    /// No node serves, or it sends nothing on; the order was not carried out.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let settled = (self.again || self.drop).then(|| self.settle()).transpose()?;
        let told = self.ask(&json!({ "do": "refused" }))?;
        let all: Vec<&Value> = told["refused"].as_array().into_iter().flatten().collect();
        let some: Vec<&Value> = all.iter().filter(|packet| self.means(packet)).copied().collect();
        let mut out = stdout();
        if self.json {
            writeln!(out, "{}", json!({ "settled": settled, "refused": some }))?;
        } else {
            settled.iter().try_for_each(|settled| say(&mut out, settled))?;
            self.list(&some, terminal, &mut out)?;
        }
        out.flush()?;
        Ok(if all.is_empty() { Exit::Done } else { Exit::Degraded })
    }

    fn means(&self, packet: &Value) -> bool {
        self.packets.is_empty() || packet["packet"].as_u64().is_some_and(|number| self.packets.contains(&number))
    }

    fn ask(&self, order: &Value) -> Result<Value, Failure> {
        self.place.node()?.order(order)
    }

    /// Has it done, and waits for that; what it came to.
    fn settle(&self) -> Result<Value, Failure> {
        let begun = self.ask(&json!({ "do": "settle", "packets": self.packets, "again": self.again }))?;
        let until = Instant::now() + PATIENCE;
        loop {
            let settled = self.ask(&json!({ "do": "refused" }))?["settled"].take();
            if settled["done"].as_u64() >= begun["done"].as_u64() {
                return Ok(settled);
            }
            if Instant::now() > until {
                let why = "it is unknown whether the order was executed: `trunkline charge refused` lists the remaining \
                        packets";
                return Err(Failure::Failed(why.to_owned()));
            }
            std::thread::park_timeout(PAUSE);
        }
    }

    fn list(&self, some: &[&Value], terminal: &Terminal, out: &mut impl Write) -> Result<(), Failure> {
        if some.is_empty() {
            return Ok(writeln!(out, "no rejected packets")?);
        }
        let columns = [number("packet"), number("records"), number("octets"), text("gateway"), text("why"), text("")];
        let mut shown = Table::new(columns.into_iter().collect());
        for packet in some {
            let plain = |key: &str| packet[key].to_string();
            let why = format!("{} {}", packet["cause"], packet["why"].as_str().unwrap_or_default());
            let gateway = packet["gateway"].as_str().unwrap_or("?").to_owned();
            let doubt = if packet["doubtful"] == true { "another gateway may have them" } else { "" };
            let cells = [plain("packet"), plain("records"), plain("octets"), gateway, why, doubt.to_owned()];
            let cells = cells.iter().map(|cell| Cell::new(terminal).with(Style::Plain, cell)).collect();
            shown.row(Row { cells, below: Vec::new() });
        }
        Ok(table::write(&shown.lines(terminal), terminal, out)?)
    }
}

/// What an order came to.
fn say(out: &mut impl Write, settled: &Value) -> std::io::Result<()> {
    let lines = [
        ("anew", "packets go again"),
        ("dropped", "packets discarded"),
        ("doubtful", "packets not resent, because another gateway may have their records: discard them with --drop"),
        ("full", "packets not resent, because no gateway is up"),
    ];
    let told: Vec<_> = lines.iter().filter(|(key, _)| settled[*key].as_u64().unwrap_or(0) > 0).collect();
    if told.is_empty() {
        return writeln!(out, "nothing to do");
    }
    told.iter().try_for_each(|(key, what)| writeln!(out, "{} {what}", settled[*key]))
}
