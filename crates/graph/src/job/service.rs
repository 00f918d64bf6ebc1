//! Whatever pages and commands ask about graphs that are run here, by the contract. An answer to an order comes when
//! what it tells is on disk.

mod asked;
pub mod exercise;
mod orders;
mod told;

use super::scan::Scan;
use super::{DrawingCounters, Handle, Pages, ScopeCounters, Undone};
use crate::inventory;
use trunkline_contract::graph::{Answer, Ask, Graphs};
use trunkline_contract::{Cause, Node, Octets, Refusal};

/// Those who run graphs, as the contract has them.
#[derive(Debug)]
pub struct Service {
    handle: Handle,
    pages: Pages,
    scan: Scan,
}

impl Service {
    /// Of a run.
    pub fn new(handle: Handle) -> Service {
        Service { scan: Scan::new(handle.clone()), pages: Pages::new(handle.clone()), handle }
    }

    /// What was counted for those who ask.
    pub fn counters(&self) -> (DrawingCounters, ScopeCounters) {
        (self.pages.drawn(), self.pages.scopes())
    }

    /// Ends what goes on beside questions: before the run ends.
    pub fn end(&self) {
        self.scan.end();
    }
}

impl Node<Graphs> for Service {
    fn serves(&self) -> bool {
        true
    }

    fn call(&self, ask: Ask) -> Result<Answer, Refusal> {
        match ask {
            Ask::Question { scope, question } => Ok(Answer::Told(self.pages.ask(scope.as_ref(), &question)?)),
            Ask::Change { by, order } => asked::order(&self.pages, &by, &order),
            Ask::Picture { scope, graph, form, span, zone } => {
                let file = self.pages.file(scope.as_ref(), graph, asked::form(form), &span, zone.as_deref());
                Ok(Answer::File(Octets(file.map_err(asked::no_file)?)))
            }
            Ask::Operate(order) => orders::carry_out(self, orders::read(order)?).map(Answer::Operated),
        }
    }
}

fn absent(what: &str, name: &str) -> Refusal {
    Refusal::new(Cause::NotFound, format!("there is no {what} '{name}'"))
}

fn wrong(why: impl ToString) -> Refusal {
    Refusal::new(Cause::Wrong, why)
}

impl From<Undone> for Refusal {
    fn from(undone: Undone) -> Refusal {
        use inventory::Refusal as Why;
        let cause = match &undone {
            Undone::Refused(Why::Unknown { .. }) => Cause::NotFound,
            Undone::Refused(Why::Wrong(_)) => Cause::Wrong,
            Undone::Refused(_) => Cause::Conflict,
            _ => Cause::Unavailable,
        };
        Refusal::new(cause, undone)
    }
}
