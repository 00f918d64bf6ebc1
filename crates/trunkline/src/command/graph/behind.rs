//! `trunkline graph behind`: through which devices a device is reached.

use super::node::Place;
use super::operate::{cells, said, tell};
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::table::{self, Table, text};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::io::{self, Write};
use trunkline_kit::exit::Exit;

/// Set the upstream devices of a device: while all are down, its alerts are suppressed
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "trunkline graph behind NAME [PARENT]...\n       trunkline graph behind --learn --from ROOT \
        [--replace] [--dry-run]",
    after_help = "--learn goes by the map (`trunkline graph map`): a device is behind those that are one step nearer \
        to \
        ROOT, which is the device that this machine is next to. What was said of devices before stays, unless \
        --replace is said, too."
)]
pub struct Behind {
    /// Name
    #[arg(value_name = "NAME", required_unless_present = "learn")]
    name: Option<String>,
    /// Upstream devices (replace the current ones); without any, the device has none
    #[arg(value_name = "PARENT")]
    parents: Vec<String>,
    /// Learn the upstream devices of all devices from their neighbours
    #[arg(long, requires = "from", conflicts_with = "name")]
    learn: bool,
    /// Device next to this machine, the start of all paths; repeat the option for more
    #[arg(long, value_name = "ROOT", requires = "learn")]
    from: Vec<String>,
    /// Also replace upstream devices that were set before
    #[arg(long, requires = "learn")]
    replace: bool,
    /// Show the changes only
    #[arg(long, requires = "learn")]
    dry_run: bool,
    #[command(flatten)]
    place: Place,
}

impl Behind {
    /// Has it done.
    ///
    /// # Errors
    /// What they say against it; the poller is not running.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let Some(name) = &self.name else { return self.learn(terminal) };
        let Behind { parents, place, .. } = self;
        let reply = place.ask(&json!({ "do": "behind", "name": name, "behind": parents }))?;
        let mut out = stdout();
        if place.is_json() {
            writeln!(out, "{reply}")?;
        } else if parents.is_empty() {
            writeln!(out, "{name} has no upstream device")?;
        } else {
            writeln!(out, "{name} depends on {}", parents.join(", "))?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    fn learn(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let id = |name: &String| Ok(self.place.ask(&json!({ "do": "device", "name": name }))?["device"].take());
        let from = self.from.iter().map(id).collect::<Result<Vec<Value>, Failure>>()?;
        let plan = self.place.question(&json!({ "do": "behind", "from": from, "replace": self.replace }))?;
        if !self.dry_run {
            self.place.change(&json!({ "do": "learn-behind", "from": from, "replace": self.replace }))?;
        }
        tell(&self.place, &plan, |plan, out| self.print(plan, terminal, out))
    }

    fn print(&self, plan: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let names = |value: &Value| match &*list(value) {
            [] => "nobody".to_owned(),
            all => all.iter().map(|one| said(&one["name"])).collect::<Vec<_>>().join(", "),
        };
        let mut table = Table::new([text("DEVICE"), text("BEHIND"), text("BEFORE"), text("WHAT")].to_vec());
        let devices = list(&plan["devices"]);
        for one in &devices {
            let what = match (one["does"].as_str(), self.dry_run) {
                (Some("set"), true) => "would be set",
                (Some("set"), false) => "set",
                (Some("kept"), _) => "not changed: use --replace",
                _ => "not set: it would depend on itself",
            };
            let row = [said(&one["name"]), names(&one["behind"]), names(&one["before"]), what.to_owned()];
            table.row(cells(terminal, &row));
        }
        if !devices.is_empty() {
            table::write(&table.lines(terminal), terminal, out)?;
        }
        let count = |key: &str| plan[key].as_u64().unwrap_or_default();
        let set = if self.dry_run { "would be set" } else { "are set" };
        writeln!(
            out,
            "devices: {} {set}, {} already set, {} unchanged, {} not reachable from {}",
            count("set"),
            count("same"),
            count("kept") + count("round"),
            count("unreached"),
            names(&plan["from"])
        )
    }
}
