//! What the fuzz target drives: orders, as far as they need nobody who runs.

use super::super::scan::{ADDRESSES_MAX, Range};
use super::orders::{Order, availability, login, read};
use super::wrong;
use crate::answer::{RealtimeAsk, Unanswered, View, added, answer, ask_of, order};
use crate::exercise::house;
use crate::inventory::order::Order as Wanted;
use crate::inventory::{Entry, Inventory, Search};
use crate::picture::Files;
use crate::scope::{Scope, Seen};
use crate::template::built_in;
use std::sync::LazyLock;
use trunkline_contract::Refusal;
use trunkline_contract::graph::{Ask, GraphScope, Question};
use trunkline_rrd::{Fault as NoRows, Question as Rows, Series};

/// Lines of what is asked: no octets do harm; a range holds as many addresses as it may; what pages order is what the
/// inventory takes or refuses with a word.
pub fn orders(octets: &[u8]) {
    static HOUSE: LazyLock<Inventory> = LazyLock::new(house);
    for line in octets.split(|octet| *octet == b'\n') {
        let Ok(ask) = serde_json::from_slice::<Ask>(line) else { continue };
        let done = match ask {
            Ask::Question { scope, question } => asked(&HOUSE, scope.as_ref(), &question).map_err(Refusal::from),
            Ask::Change { order: wanted, .. } => ordered(&HOUSE, &wanted).map_err(Refusal::from),
            Ask::Operate(order) => read(order).and_then(operated),
            Ask::Picture { span, .. } => ask_of(&span).map(drop).map_err(Refusal::from),
        };
        done.err().into_iter().for_each(|refusal| assert!(!refusal.text.is_empty()));
    }
}

fn operated(order: Order) -> Result<(), Refusal> {
    match order {
        Order::Discover { network, .. } => Range::parse(&network).map(|range| range.check()).map_err(no_range),
        Order::Credential { login: said, .. } => login(said).map(|_| ()),
        Order::Add { probes, all, failures, recoveries, .. }
        | Order::Probes { probes, all, failures, recoveries, .. } => {
            availability(&probes, all, (failures, recoveries), true).map(|_| ())
        }
        _ => Ok(()),
    }
}

fn no_range(why: String) -> Refusal {
    assert!(why.contains(&ADDRESSES_MAX.to_string()) || why.contains("is none of"));
    wrong(why)
}

fn asked(inventory: &Inventory, scope: Option<&GraphScope>, question: &Question) -> Result<(), Unanswered> {
    static SEARCH: LazyLock<Search> = LazyLock::new(Search::default);
    let (library, polled) = (built_in::library(), &|_| None);
    let scope = scope.map(Scope::read).transpose().map_err(Unanswered::Asked)?;
    let seen = scope.as_ref().map(|scope| Seen::of(scope, inventory, library, &SEARCH));
    let (seen, scope) = (seen.as_ref(), scope.as_ref());
    if let Question::Realtime { graph, step, span } = question {
        return RealtimeAsk::new(*graph, *step, *span).map(drop);
    }
    let view = View { inventory, library, search: &SEARCH, files: &Nothing, polled, now_s: 1, seen, scope };
    answer(&view, question).map(drop)
}

fn ordered(inventory: &Inventory, wanted: &serde_json::Value) -> Result<(), Unanswered> {
    let library = built_in::library();
    let order = match wanted["do"] == "add-device" {
        true => Wanted::Device(None, added(inventory, wanted)?.device),
        false => order(inventory, library, wanted)?,
    };
    // What makes no sense is refused with a word.
    let changes = inventory.order(library, &order).map_err(|refusal| Unanswered::Asked(refusal.to_string()))?;
    let mut inventory = inventory.clone();
    for entry in Entry::of_changes(inventory.sequence() + 1, 0, "exercise", changes) {
        assert_eq!(inventory.apply(&entry), Ok(()));
    }
    Ok(())
}

/// No files.
struct Nothing;

impl Files for Nothing {
    fn path(&self, _: u32) -> Option<String> {
        None
    }

    fn rows(&self, _: u32, _: &Rows) -> Result<Series, NoRows> {
        Err(NoRows::Locked)
    }

    fn last_s(&self, _: u32) -> Option<i64> {
        None
    }
}
