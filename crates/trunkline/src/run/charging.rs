//! Charging as a part of a run: one node, or one of several.

use super::config::{self, Settings};
use super::jobs::Opened;
use crate::charge;
use crate::failure::Failure;
use std::sync::Arc;

/// Opens the sockets of one node, or reads what one of several needs.
///
/// # Errors
/// What could not be opened, with what to do about it.
pub fn open(settings: &Settings) -> Result<Option<Opened>, Failure> {
    let (charge, gtpp, folder) = (&settings.charge, &settings.charge_gtpp, &settings.data.folder);
    let serves = !charge.listen.is_empty() || !gtpp.listen.is_empty() || !charge.connect.is_empty();
    if !serves && !settings.directory.servers.is_empty() {
        tracing::warn!("directory: nobody asks its servers, since charge.listen names no address");
    }
    // What does not go with several the configuration has refused.
    if settings.charge_standby.servers.is_empty() {
        let prepared = charge::configured::open(charge, gtpp, &settings.directory, folder)?;
        let opened = |prepared| Opened::new(|settings| Ok(Arc::new(charging_node(prepared, settings)?)));
        return Ok(prepared.map(opened));
    }
    let ready = charge::configured::ready(charge, gtpp, &settings.directory, &settings.charge_standby, folder)?;
    let opened = Opened::new(|settings| Ok(Arc::new(charging_seat(ready, settings)?)));
    let check = |settings: &Settings| charge::configured::try_doors(&settings.charge, &settings.charge_gtpp);
    Ok(Some(Opened { check, ..opened }))
}

/// One of several nodes: it says in the log when it serves.
fn charging_seat(ready: charge::configured::Ready, settings: &Settings) -> Result<charge::here::Running, Failure> {
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
fn charging_node(
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
