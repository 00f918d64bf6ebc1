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
    trunkline charge plan standard.toml            load or replace a plan\n  \
    trunkline charge import subscribers.csv        accounts and subscribers\n  \
    trunkline charge top-up 17 500                 five euros for account 17\n  \
    trunkline charge show imsi:001010000000017     account, balance and grants of a subscriber\n  \
    trunkline charge try standard.toml             cost of yesterday's usage with this plan\n  \
    trunkline charge ledger 17                     ledger entries of account 17\n  \
    trunkline charge audit                         every balance is the sum of its entries, or exit code 3\n  \
    trunkline charge repair --dry-run              a damaged ledger: what is lost, and what a repair would do\n  \
    trunkline charge copy --to DIR                 copy ledger and records of a running node\n  \
    trunkline charge records --data DIR            check and print record files\n  \
    trunkline charge send FILE --to HOST           send record files to charging gateways by GTP'\n  \
    trunkline charge rate-calls --from 2026-11-20  cost of the calls of that day by the callers' plans\n  \
    trunkline charge compare --bill november.csv   reconcile the calls of the store with a bill\n  \
    trunkline charge load 127.0.0.1:3868           load test by Diameter Gy\n\n\
    See docs/manual/charging.md.")]
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
