//! `trunkline graph behind`: through which devices a device is reached.

use super::node::Place;
use super::operate::{cells, tell};
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::table::{self, Table, text};
use crate::terminal::Terminal;
use serde_json::json;
use std::io::{self, Write};
use trunkline_contract::graph::{GraphBehind, GraphNeighbour, Question};
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
        let from = self.from.iter().map(|name| self.place.device(name)).collect::<Result<Vec<u32>, Failure>>()?;
        let question = Question::Behind { from: from.clone(), replace: Some(self.replace), limit: None };
        let plan: GraphBehind = self.place.question(question)?;
        if !self.dry_run {
            self.place.change(&json!({ "do": "learn-behind", "from": from, "replace": self.replace }))?;
        }
        tell(&self.place, &plan, |plan, out| self.print(plan, terminal, out))
    }

    fn print(&self, plan: &GraphBehind, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        let names = |all: &[GraphNeighbour]| match all {
            [] => "nobody".to_owned(),
            all => all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", "),
        };
        let mut table = Table::new([text("DEVICE"), text("BEHIND"), text("BEFORE"), text("WHAT")].to_vec());
        for one in &plan.devices {
            let what = match (one.does.as_str(), self.dry_run) {
                ("set", true) => "would be set",
                ("set", false) => "set",
                ("kept", _) => "not changed: use --replace",
                _ => "not set: it would depend on itself",
            };
            let row = [one.name.clone(), names(&one.behind), names(&one.before), what.to_owned()];
            table.row(cells(terminal, &row));
        }
        if !plan.devices.is_empty() {
            table::write(&table.lines(terminal), terminal, out)?;
        }
        let set = if self.dry_run { "would be set" } else { "are set" };
        writeln!(
            out,
            "devices: {} {set}, {} already set, {} unchanged, {} not reachable from {}",
            plan.set,
            plan.same,
            plan.kept + plan.round,
            plan.unreached,
            names(&plan.from)
        )
    }
}
