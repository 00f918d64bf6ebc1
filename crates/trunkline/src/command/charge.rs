//! `trunkline charge`: online charging, and what stands beside it.

mod books;
mod cdr;
mod compare;
mod copy;
mod import;
mod operate;
pub mod place;
mod rate_calls;
pub mod records;
mod refused;
mod repair;
mod send;
mod serve;
mod tryout;
mod when;

use crate::failure::Failure;
use crate::terminal::Terminal;
use trunkline_kit::exit::Exit;

/// Run online charging, and load-test charging servers
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
#[command(after_help = "Examples:\n  \
    trunkline charge serve --host ocs.example.org --realm example.org\n  \
    trunkline charge plan standard.toml            a plan, which holds from now on\n  \
    trunkline charge import subscribers.csv        accounts and subscribers\n  \
    trunkline charge top-up 17 500                 five euros for account 17\n  \
    trunkline charge show imsi:001010000000017     whose it is, what is left, what is granted\n  \
    trunkline charge try standard.toml             what yesterday's usage would have cost by it\n  \
    trunkline charge ledger 17                     what came to it and went\n  \
    trunkline charge audit                         every balance is the sum of its entries, or exit code 3\n  \
    trunkline charge repair --dry-run              a damaged ledger: what is gone, and what a repair would come to\n  \
    trunkline charge copy --to DIR                 ledger and records, beside the node, for another one\n  \
    trunkline charge records --data DIR            record files: whether they are sound, what is in them\n  \
    trunkline charge send FILE --to HOST           files of records to charging gateways by GTP'\n  \
    trunkline charge rate-calls --from 2026-11-20  what the calls of that day cost by the plans of who made them\n  \
    trunkline charge compare --bill november.csv   the calls of the store beside a bill\n  \
    trunkline charge load 127.0.0.1:3868           sessions by Diameter Gy, as fast as they are answered\n\n\
    docs/manual/charging.md has the whole of it.")]
pub struct Charge {
    /// What to do.
    #[command(subcommand)]
    tool: Tool,
}

/// What there is, a file each.
#[derive(Debug, clap::Subcommand)]
enum Tool {
    Serve(Box<serve::Serve>),
    Import(import::Import),
    Audit(books::Audit),
    Copy(copy::Copy),
    Ledger(books::Statement),
    Try(tryout::Try),
    Records(records::Records),
    Refused(refused::Refused),
    Repair(repair::Repair),
    RateCalls(rate_calls::RateCalls),
    Compare(Box<compare::Compare>),
    Load(Box<trunkline_load::charge::Load>),
    Send(send::Send),
    #[command(flatten)]
    Order(operate::Order),
}

impl Charge {
    /// Does what the subcommand says.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        match &self.tool {
            Tool::Serve(serve) => serve.run(),
            Tool::Import(import) => import.run(),
            Tool::Audit(audit) => audit.run(),
            Tool::Copy(copy) => copy.run(),
            Tool::Ledger(ledger) => ledger.run(terminal),
            Tool::Try(tryout) => tryout.run(terminal),
            Tool::Records(records) => records.run(terminal),
            Tool::Refused(refused) => refused.run(terminal),
            Tool::Repair(repair) => repair.run(),
            Tool::RateCalls(rates) => rates.run(terminal),
            Tool::Compare(compare) => compare.run(terminal),
            Tool::Load(load) => load.run(terminal),
            Tool::Send(send) => send.run(),
            Tool::Order(order) => order.run(),
        }
    }
}
