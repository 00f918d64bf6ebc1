//! Orders of commands, and what becomes of them.

use super::super::import::{self, Sources};
use super::super::scan::Range;
use super::super::{Done, Handle, NoSpikes, Reloaded};
use super::{Service, absent, told, wrong};
use crate::answer::Added;
use crate::inventory::order::Order as Wanted;
use crate::inventory::{
    Authentication, Availability, Credential, Device, DeviceState, Inventory, Kind, Login, Privacy, Secret, Version,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use trunkline_contract::{Cause, Refusal};
use trunkline_rrd::{Consolidation, Question, SpikeBound, SpikeSearch};

/// Who the entries name.
const BY: &str = "operator";

/// What is asked.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Order {
    /// A credential is made, or is another from now on.
    Credential { name: String, login: LoginSaid },
    /// It goes.
    RemoveCredential { name: String },
    /// Credentials, without what is secret.
    Credentials {},
    /// A device is made.
    Add {
        name: String,
        address: String,
        port: Option<u16>,
        credential: Option<String>,
        version: Option<VersionSaid>,
        template: Option<String>,
        step: Option<u32>,
        #[serde(default)]
        notes: String,
        /// `icmp`, `snmp`, `tcp:PORT`, `udp:PORT`.
        #[serde(default)]
        probes: Vec<String>,
        /// Whether all of them must answer.
        #[serde(default)]
        all: bool,
        failures: Option<u16>,
        recoveries: Option<u16>,
        /// What data sources are told, by name.
        #[serde(default)]
        arguments: BTreeMap<String, String>,
    },
    /// How it is told whether a device is up is another way from now on.
    Probes {
        name: String,
        probes: Vec<String>,
        #[serde(default)]
        all: bool,
        failures: Option<u16>,
        recoveries: Option<u16>,
    },
    /// A device gets the graphs of a graph template, and their data sources; of one row, or of all that it is for.
    Attach {
        name: String,
        graph: String,
        row: Option<String>,
        #[serde(default)]
        arguments: BTreeMap<String, String>,
    },
    /// What a data source is told, in place of what it was told before.
    Arguments { source: u32, arguments: BTreeMap<String, String> },
    /// Templates are read anew.
    Reload {},
    /// Devices.
    Devices {},
    /// A device with its rows, data sources and graphs.
    Device { name: String },
    /// A device is polled, is polled and does not alarm, or is not polled.
    State { name: String, state: StateSaid },
    /// Through which devices a device is reached: while they are down, it does not alarm.
    Behind { name: String, behind: Vec<String> },
    /// A device goes, with its files.
    Remove { name: String },
    /// A device is looked at now.
    Explore { name: String },
    /// Devices are looked for by their addresses.
    Discover { network: String, credential: Option<String>, version: Option<VersionSaid>, port: Option<u16> },
    /// How that gets on.
    Discovery {},
    /// How it goes.
    Status {},
    /// What Cacti has is taken over: files by their whole paths.
    ImportCacti { dump: Option<PathBuf>, rra: Option<PathBuf>, templates: Option<PathBuf> },
    /// Rows of a file; times in seconds since 1970.
    Fetch {
        source: u32,
        from: i64,
        to: i64,
        #[serde(default = "finest")]
        step: u64,
        function: Option<String>,
    },
    /// Spikes of a data source are told, and go where `apply` says so; times in seconds since 1970.
    Spikes {
        source: u32,
        from: i64,
        to: i64,
        above: Option<f64>,
        deviations: Option<f64>,
        #[serde(default)]
        apply: bool,
    },
}

fn finest() -> u64 {
    1
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) enum VersionSaid {
    #[serde(rename = "none")]
    Without,
    #[serde(rename = "1")]
    One,
    #[serde(rename = "2c")]
    TwoC,
    #[serde(rename = "3")]
    Three,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StateSaid {
    Active,
    Maintenance,
    Disabled,
}

/// What a credential says. Nothing prints it.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum LoginSaid {
    Community {
        community: String,
    },
    User {
        user: String,
        #[serde(default)]
        authentication: String,
        #[serde(default)]
        password: String,
        #[serde(default)]
        privacy: String,
        #[serde(default)]
        privacy_password: String,
        #[serde(default)]
        context: String,
    },
}

impl core::fmt::Debug for LoginSaid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("***")
    }
}

pub(super) fn login(said: LoginSaid) -> Result<Login, Refusal> {
    let secret = |text: String| Secret::new(text.as_bytes());
    match said {
        LoginSaid::Community { community } => Ok(Login::Community { community: secret(community) }),
        LoginSaid::User { user, authentication, password, privacy, privacy_password, context } => Ok(Login::User {
            user: user.into(),
            authentication: authentication_of(&authentication)?,
            authentication_password: secret(password),
            privacy: privacy_of(&privacy)?,
            privacy_password: secret(privacy_password),
            context: context.into(),
        }),
    }
}

fn authentication_of(word: &str) -> Result<Authentication, Refusal> {
    Ok(match word {
        "" | "none" => Authentication::None,
        "md5" => Authentication::Md5,
        "sha1" => Authentication::Sha1,
        "sha224" => Authentication::Sha224,
        "sha256" => Authentication::Sha256,
        "sha384" => Authentication::Sha384,
        "sha512" => Authentication::Sha512,
        _ => return Err(wrong(format!("'{word}' is no way to authenticate"))),
    })
}

fn privacy_of(word: &str) -> Result<Privacy, Refusal> {
    Ok(match word {
        "" | "none" => Privacy::None,
        "des" => Privacy::Des,
        "aes128" => Privacy::Aes128,
        "aes192" => Privacy::Aes192,
        "aes256" => Privacy::Aes256,
        "aes192-c" => Privacy::Aes192Cisco,
        "aes256-c" => Privacy::Aes256Cisco,
        _ => return Err(wrong(format!("'{word}' is no way to encrypt"))),
    })
}

/// Reads what a command says.
pub(super) fn read(order: Value) -> Result<Order, Refusal> {
    serde_json::from_value(order).map_err(wrong)
}

/// Does it; what is told then.
pub(super) fn carry_out(service: &Service, order: Order) -> Result<Value, Refusal> {
    let Service { handle, scan, .. } = service;
    let inventory = handle.inventory();
    match order {
        Order::Credential { name, login: said } => {
            let known = inventory.named(Kind::Credential, &name);
            let credential = Credential { name: name.into(), login: login(said)? };
            let done = handle.order(BY, Wanted::Credential(known, credential))?;
            Ok(json!({ "sequence": done.sequence, "made": known.is_none() }))
        }
        Order::RemoveCredential { name } => {
            let id = inventory.named(Kind::Credential, &name).ok_or_else(|| absent("credential", &name))?;
            done(handle.order(BY, Wanted::RemoveCredential(id))?)
        }
        Order::Credentials {} => Ok(told::credentials(&inventory)),
        Order::Add {
            name,
            address,
            port,
            credential,
            version,
            template,
            step,
            notes,
            probes,
            all,
            failures,
            recoveries,
            arguments,
        } => {
            let mut device = Device::new(&name, &address);
            device.access = access(&inventory, credential.as_deref(), version, port)?;
            device.availability = availability(&probes, all, (failures, recoveries), device.access.version.is_some())?;
            device.step = step;
            device.notes = notes.into();
            let arguments = boxed(arguments);
            let (id, done) = handle.add_device(BY, Added { device, template, arguments })?;
            Ok(json!({ "sequence": done.sequence, "device": id }))
        }
        Order::Probes { name, probes, all, failures, recoveries } => {
            let id = named(&inventory, &name)?;
            let device = inventory.devices().get(id).cloned().ok_or_else(|| absent("device", &name))?;
            let by_snmp = device.access.version.is_some();
            let availability = availability(&probes, all, (failures, recoveries), by_snmp)?;
            done(handle.order(BY, Wanted::Device(Some(id), Device { availability, ..device }))?)
        }
        Order::Attach { name, graph, row, arguments } => {
            let device = named(&inventory, &name)?;
            let row = row.map(|row| row_named(&inventory, device, &row)).transpose()?;
            let sources = handle.attach(BY, device, &graph, row, &boxed(arguments))?;
            Ok(json!({ "device": device, "data_sources": sources }))
        }
        Order::Arguments { source, arguments } => done(handle.set_arguments(BY, source, boxed(arguments))?),
        Order::Reload {} => reload(handle),
        Order::Devices {} => Ok(told::devices(handle)),
        Order::Device { name } => Ok(told::device(handle, named(&inventory, &name)?)),
        Order::State { name, state } => {
            let state = match state {
                StateSaid::Active => DeviceState::Active,
                StateSaid::Maintenance => DeviceState::Maintenance,
                StateSaid::Disabled => DeviceState::Disabled,
            };
            done(handle.order(BY, Wanted::SetState(vec![named(&inventory, &name)?], state))?)
        }
        Order::Behind { name, behind } => {
            let id = named(&inventory, &name)?;
            let behind = behind.iter().map(|name| named(&inventory, name)).collect::<Result<Vec<u32>, Refusal>>()?;
            done(handle.order(BY, Wanted::SetBehind(vec![(id, behind)]))?)
        }
        Order::Remove { name } => done(handle.order(BY, Wanted::RemoveDevices(vec![named(&inventory, &name)?]))?),
        Order::Explore { name } => done(handle.explore(named(&inventory, &name)?)?),
        Order::Discover { network, credential, version, port } => {
            let access = access(&inventory, credential.as_deref(), version, port)?;
            let range = Range::parse(&network).map_err(wrong)?;
            scan.begin(range, access).map_err(|why| Refusal::new(Cause::Conflict, why))?;
            Ok(told::discovery(&scan.shown()))
        }
        Order::Discovery {} => Ok(told::discovery(&scan.shown())),
        Order::Status {} => Ok(told::status(&handle.status())),
        Order::ImportCacti { dump, rra, templates } => {
            let sources = Sources { dump, rra, templates };
            let imported = import::cacti(handle, &sources).map_err(wrong)?;
            Ok(told::imported(&imported))
        }
        Order::Fetch { source, from, to, step, function } => fetch(handle, source, (from, to), step, function),
        Order::Spikes { source, from, to, above, deviations, apply } => {
            let bound = match (above, deviations) {
                (Some(value), None) => SpikeBound::Above(value),
                (None, Some(deviations)) if deviations > 0.0 => SpikeBound::Deviations(deviations),
                _ => return Err(wrong("a spike is above a value, or by some deviations")),
            };
            let search = SpikeSearch { bound, start_s: from, end_s: to };
            let found = handle.spikes(source, search, apply).map_err(|why| match why {
                NoSpikes::NoFile(_) => Refusal::new(Cause::NotFound, why),
                why => wrong(why),
            })?;
            Ok(told::spikes(&found))
        }
    }
}

fn done(done: Done) -> Result<Value, Refusal> {
    Ok(json!({ "sequence": done.sequence }))
}

fn named(inventory: &Inventory, name: &str) -> Result<u32, Refusal> {
    inventory.device_named(name).ok_or_else(|| absent("device", name))
}

/// How a device is asked; the version follows from the credential where it is not said.
fn access(
    inventory: &Inventory,
    credential: Option<&str>,
    version: Option<VersionSaid>,
    port: Option<u16>,
) -> Result<crate::inventory::Access, Refusal> {
    let mut access = crate::inventory::Access::default();
    if let Some(name) = credential {
        let id = inventory.named(Kind::Credential, name).ok_or_else(|| absent("credential", name))?;
        let is_user = inventory.credentials().get(id).is_some_and(|c| matches!(c.login, Login::User { .. }));
        access.credential = Some(id);
        access.version = Some(if is_user { Version::V3 } else { Version::V2c });
    }
    access.version = match version {
        None => access.version,
        Some(VersionSaid::Without) => None,
        Some(VersionSaid::One) => Some(Version::V1),
        Some(VersionSaid::TwoC) => Some(Version::V2c),
        Some(VersionSaid::Three) => Some(Version::V3),
    };
    access.port = port.unwrap_or(access.port);
    Ok(access)
}

pub(super) fn availability(
    probes: &[String],
    all: bool,
    (failures, recoveries): (Option<u16>, Option<u16>),
    by_snmp: bool,
) -> Result<Availability, Refusal> {
    let said = Availability::said(probes, all, failures, recoveries, by_snmp);
    said.map_err(wrong)
}

fn boxed(arguments: BTreeMap<String, String>) -> Vec<(Box<str>, Box<str>)> {
    arguments.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// The row of that name, in whatever table.
fn row_named(inventory: &Inventory, device: u32, name: &str) -> Result<u32, Refusal> {
    let is_it = |row: &&u32| inventory.rows().get(**row).is_some_and(|row| *row.name == *name);
    inventory.rows_of(device).iter().find(is_it).copied().ok_or_else(|| absent("row", name))
}

/// All mistakes are told together.
fn reload(handle: &Handle) -> Result<Value, Refusal> {
    let read = handle.reload().map_err(wrong)?;
    let Reloaded { data, graphs, devices, changed } = read;
    Ok(json!({
        "data_templates": data,
        "graph_templates": graphs,
        "device_templates": devices,
        "changed": changed,
    }))
}

fn fetch(
    handle: &Handle,
    source: u32,
    (from, to): (i64, i64),
    step: u64,
    function: Option<String>,
) -> Result<Value, Refusal> {
    let name = function.map_or_else(|| "AVERAGE".to_owned(), |name| name.to_uppercase());
    let consolidation =
        Consolidation::named(&name).ok_or_else(|| wrong(format!("'{name}' is none of average, min, max, last")))?;
    if !handle.inventory().sources().has(source) {
        return Err(absent("data source", &source.to_string()));
    }
    let question = Question { consolidation, start_s: from, end_s: to, step_s: step };
    let series = handle.fetch(source, &question).map_err(|fault| match fault {
        trunkline_rrd::Fault::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Refusal::new(Cause::NotFound, format!("data source {source} has no sample yet"))
        }
        fault => wrong(fault),
    })?;
    Ok(told::series(&series))
}
