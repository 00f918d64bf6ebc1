//! From `[charge.gtpp]` of the configuration to what a node serves by GTP'.

use super::configured;
use crate::failure::Failure;
use crate::run::config::{Charge, ChargeGtpp, Door};
use std::path::{Path, PathBuf};
use trunkline_charge::job::{GatewayPlace, GtppSetup, ReceivedSetup, read_mapping};
use trunkline_charge::quota::Mapping;
use trunkline_net::{Listen, Networks};

/// Its log and the files of received records, in what of a data folder is charging's.
const LOG: &str = "gateway";
const RECEIVED: &str = "received";

/// What a node serves by GTP'; none where it names no address.
///
/// # Errors
/// The profile cannot be read.
pub fn setup(charge: &Charge, gtpp: &ChargeGtpp, data: &Path) -> Result<Option<GtppSetup>, Failure> {
    if gtpp.listen.is_empty() {
        return Ok(None);
    }
    let listen = |door: &Door| match door {
        Door::Udp(address) => Ok(Listen::Udp { address: *address }),
        Door::Tcp(address) => Ok(Listen::Tcp { address: *address, tls: None }),
        door => Err(Failure::Failed(format!("charge.gtpp.listen: GTP' does not listen at {door}"))),
    };
    let mapping = gtpp
        .profile
        .as_deref()
        .map_or_else(|| Ok(Mapping::default()), |path| read_mapping(path).map_err(Failure::Failed))?;
    let networks = || Networks::only(gtpp.allow.iter().map(|network| network.0).collect());
    let folder = configured::folder(data);
    Ok(Some(GtppSetup {
        listens: gtpp.listen.iter().map(listen).collect::<Result<_, _>>()?,
        allow: if gtpp.allow.is_empty() { Networks::all() } else { networks() },
        mapping: Mapping { copies: gtpp.copies, ..mapping },
        redirect_to: gtpp.redirect_to.map(|ip| ip.0),
        place: Some(GatewayPlace { log: folder.join(LOG), files: folder.join(RECEIVED), node: charge.host.clone() }),
    }))
}

/// What one of several nodes serves while it leads: records of others are entries of the ledger, too.
///
/// # Errors
/// As [`setup`].
pub fn of_several(charge: &Charge, gtpp: &ChargeGtpp, data: &Path) -> Result<Option<GtppSetup>, Failure> {
    Ok(setup(charge, gtpp, data)?.map(|setup| GtppSetup { place: None, ..setup }))
}

/// The files of received records in a data folder.
pub fn received_files(data: &Path) -> PathBuf {
    configured::folder(data).join(RECEIVED)
}

/// The log of the charging gateway in a data folder.
pub fn log(data: &Path) -> PathBuf {
    configured::folder(data).join(LOG)
}

/// Where each of several nodes writes records of others; none where none are taken.
pub fn received(charge: &Charge, gtpp: &ChargeGtpp, data: &Path) -> Option<ReceivedSetup> {
    let files = received_files(data);
    (!gtpp.listen.is_empty()).then(|| ReceivedSetup { files, node: charge.host.clone() })
}

/// Whether whoever reaches it may speak: a warning for that.
pub fn open_to_all(gtpp: &ChargeGtpp) -> bool {
    let reached = gtpp.listen.iter().any(|door| match door {
        Door::Udp(address) | Door::Tcp(address) | Door::Tls(address) => !address.ip().is_loopback(),
        Door::Unix(_) => false,
    });
    reached && gtpp.allow.is_empty()
}
