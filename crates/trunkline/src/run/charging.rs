//! Charging as a part of a run: one node, or one of several.

use super::config::{self, Settings};
use crate::charge;
use crate::failure::Failure;

/// One of several nodes: it says in the log when it serves.
pub fn charging_seat(ready: charge::configured::Ready, settings: &Settings) -> Result<charge::here::Running, Failure> {
    let tells: fn(&charge::seat::Setup, Option<&trunkline_charge::job::Node>) = |setup, node| match node {
        None => tracing::info!("charging: {} is on standby", setup.standby.node),
        Some(node) => charge::configured::told(&setup.charge, &setup.gtpp, node)
            .iter()
            .for_each(|line| tracing::info!("charging: {line}")),
    };
    let setup = charge::seat::Setup {
        charge: settings.charge.clone(),
        gtpp: settings.charge_gtpp.clone(),
        cdr: cdr_of(settings),
        standby: settings.charge_standby.clone(),
        ready,
        data: settings.data.folder.clone(),
        tells,
    };
    charge::seat::Seat::start(setup).map(charge::here::Running::of)
}

/// Without a store there is nowhere for rows.
pub fn cdr_of(settings: &Settings) -> config::Cdr {
    config::Cdr { rows: settings.cdr.rows && settings.store.enabled, ..settings.cdr.clone() }
}

/// Reads the ledger, serves, and says in the log where.
///
/// # Errors
/// As [`charge::configured::start`].
pub fn charging_node(
    prepared: charge::configured::Prepared,
    settings: &Settings,
) -> Result<charge::here::Running, Failure> {
    let cdr = cdr_of(settings);
    let node = charge::configured::start(prepared, &settings.charge, &cdr, &settings.data.folder)?;
    for line in charge::configured::told(&settings.charge, &settings.charge_gtpp, &node) {
        tracing::info!("charging: {line}");
    }
    if charge::configured::open_to_all(&settings.charge) {
        tracing::warn!("charging accepts any client; restrict it with charge.allow or charge.peers");
    }
    if charge::gtpp::open_to_all(&settings.charge_gtpp) {
        tracing::warn!("charging accepts GTP' from any address; restrict it with charge.gtpp.allow");
    }
    Ok(charge::here::Running::new(node))
}
