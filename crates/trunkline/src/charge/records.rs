//! From `[cdr]` of the configuration to records of a charging node.

use super::configured::{addresses, folder};
use super::rows::{Rows, To};
use crate::failure::Failure;
use crate::run::config::{Cdr, Charge, Format};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trunkline_charge::cdr::{Cuts, Node, table};
use trunkline_charge::job::ForwardSetup;
use trunkline_charge::job::records::{Form, Settings, Setup, Told};
use trunkline_commit::Folder;

/// The record files in a data folder.
pub fn files(data: &Path) -> PathBuf {
    folder(data).join("cdr")
}

/// How records are made; none where none are wanted.
///
/// # Errors
/// The folder cannot be had.
pub fn setup(charge: &Charge, cdr: &Cdr, data: &Path) -> Result<Option<Setup<Folder>>, Failure> {
    if cdr.formats.is_empty() {
        return Ok(None);
    }
    of_several(charge, cdr, data).map(Some)
}

/// How records are made by a node of several: also where this one asks for none, as another may.
///
/// # Errors
/// The folder cannot be had.
pub fn of_several(charge: &Charge, cdr: &Cdr, data: &Path) -> Result<Setup<Folder>, Failure> {
    let path = files(data);
    let disk = Folder::open(&path).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))?;
    Ok(with(charge, cdr, disk))
}

fn with(charge: &Charge, cdr: &Cdr, disk: Folder) -> Setup<Folder> {
    let cuts = Cuts {
        octets: cdr.cut_volume.map_or(0, |volume| volume.0),
        seconds: seconds(cdr.cut_time),
        services: cdr.cut_services,
    };
    Setup { disk: Arc::new(disk), settings: settings(charge, cdr), cuts, behind_max: cdr.behind.into() }
}

/// Who makes them.
pub fn node(charge: &Charge, cdr: &Cdr) -> Node {
    let name = if cdr.node.is_empty() { &charge.host } else { &cdr.node };
    let address = addresses(charge).into_iter().next().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    Node::new(name, address)
}

/// How records are sent on to charging gateways; none where they are not.
pub fn forwarding(cdr: &Cdr, data: &Path) -> Option<ForwardSetup> {
    let gateways: Vec<SocketAddr> = cdr.send.iter().map(|gateway| gateway.0).collect();
    let any = if gateways.first()?.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let from = cdr.send_from.map_or(any, |from| from.0);
    Some(ForwardSetup { folder: files(data), gateways, from, t3: cdr.send_wait, n3: cdr.send_tries })
}

/// Begins to bring rows into the store; none where none are wanted.
///
/// # Errors
/// The system has no thread left.
pub fn rows(cdr: &Cdr, data: &Path, told: &Arc<Told>, to: To) -> Result<Option<Rows>, Failure> {
    if !cdr.rows {
        return Ok(None);
    }
    let rows = Rows::start(files(data), to, Arc::clone(told));
    rows.map(Some).map_err(|e| Failure::Failed(format!("no thread for rows: {e}")))
}

fn settings(charge: &Charge, cdr: &Cdr) -> Settings {
    let forms = [(Format::Ber, Form::Ber), (Format::Csv, Form::Csv)].into_iter();
    let wanted = |(format, form)| cdr.formats.contains(&format).then_some(form);
    Settings {
        node: node(charge, cdr),
        forms: forms.filter_map(wanted).chain(cdr.rows.then_some(Form::Rows)).collect(),
        octets: cdr.file_size.0,
        records: cdr.file_records,
        seconds: seconds(cdr.file_time),
        flush_s: seconds(cdr.flush),
        keep_s: cdr.keep.map(|time| time.as_secs()),
        table_head: table::head(),
        private: None,
    }
}

fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}
