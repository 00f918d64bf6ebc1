//! What people and programs want to be changed, in JSON.

use super::asked::Asked;
use super::{Unanswered, arranging, behind};
use crate::inventory::order::Order;
use crate::inventory::{
    Access, Authentication, Availability, Credential, Device, DeviceState, Inventory, Kind, Login, PROBES_MAX, Privacy,
    Secret, Version,
};
use crate::template::Library;
use serde_json::Value;

/// Arguments of data sources that one order says.
const ARGUMENTS_MAX: usize = 32;
/// Things that one order is for.
const IDS_MAX: usize = 10_000;

/// Reads an order: `set-state`, `set-behind`, `learn-behind`, `remove-devices`, `add-credential`, `remove-credential`,
/// `remove-graphs`; of trees and their places `tree`, `remove-tree`, `place`, `rename-place`, `move-place`,
/// `remove-place`; of graphs of many data sources and their titles `graph`. What `add-device` wants is read by
/// [`added`].
///
/// # Errors
/// It is not understood; the text names the member and never what stood in it.
pub fn order(inventory: &Inventory, library: &Library, wanted: &Value) -> Result<Order, Unanswered> {
    let asked = Asked(wanted);
    match asked.text("do")? {
        "add-device" => Ok(Order::Device(None, added(inventory, wanted)?.device)),
        "set-state" => Ok(Order::SetState(asked.ids("devices", IDS_MAX)?, state(asked.text("state")?)?)),
        "set-behind" => Ok(Order::SetBehind(vec![(asked.id("device")?, asked.ids("behind", IDS_MAX)?)])),
        "learn-behind" => behind::order(inventory, asked),
        "remove-devices" => Ok(Order::RemoveDevices(asked.ids("devices", IDS_MAX)?)),
        "add-credential" => {
            let name = asked.text("name")?.into();
            Ok(Order::Credential(None, Credential { name, login: login(asked)? }))
        }
        "remove-credential" => Ok(Order::RemoveCredential(asked.id("id")?)),
        "remove-graphs" => Ok(Order::RemoveGraphs(asked.ids("graphs", IDS_MAX)?)),
        "graph" => arranging::graph(inventory, library, asked),
        "tree" => arranging::tree(inventory, asked),
        "remove-tree" => Ok(Order::RemoveTree(asked.id("id")?)),
        "place" => arranging::place(inventory, asked),
        "rename-place" => arranging::rename_place(inventory, asked),
        "move-place" => arranging::move_place(asked),
        "remove-place" => Ok(Order::RemoveNode(asked.id("id")?)),
        other => Err(Unanswered::Asked(format!("'{other}' is no order"))),
    }
}

fn state(word: &str) -> Result<DeviceState, Unanswered> {
    match word {
        "active" => Ok(DeviceState::Active),
        "maintenance" => Ok(DeviceState::Maintenance),
        "disabled" => Ok(DeviceState::Disabled),
        _ => Err(Unanswered::Asked("\"state\" is active, maintenance or disabled".to_owned())),
    }
}

/// A device that somebody wants, with what is not of the device itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// The device, without its template.
    pub device: Device,
    /// The name of its template; none is the one for what it is.
    pub template: Option<String>,
    /// What its data sources are told, by name.
    pub arguments: Vec<(Box<str>, Box<str>)>,
}

/// Reads the order `add-device`.
///
/// # Errors
/// As [`order`].
pub fn added(inventory: &Inventory, wanted: &Value) -> Result<Added, Unanswered> {
    let asked = Asked(wanted);
    let arguments = asked.texts_by_name("arguments", ARGUMENTS_MAX)?;
    let template = asked.maybe_text("template")?.map(str::to_owned);
    Ok(Added { device: device(inventory, asked)?, template, arguments })
}

fn device(inventory: &Inventory, asked: Asked<'_>) -> Result<Device, Unanswered> {
    let mut device = Device::new(asked.text("name")?, asked.text("address")?);
    let version = match asked.maybe_text("version")? {
        None | Some("2c") => Some(Version::V2c),
        Some("1") => Some(Version::V1),
        Some("3") => Some(Version::V3),
        Some("none") => None,
        Some(_) => return Err(Unanswered::Asked("\"version\" is 1, 2c, 3 or none".to_owned())),
    };
    let port = asked.maybe_id("port")?.unwrap_or(161);
    let port = u16::try_from(port).ok().filter(|port| *port > 0);
    let port = port.ok_or_else(|| Unanswered::Asked("\"port\" is 1 to 65535".to_owned()))?;
    let named = |kind: Kind, key: &str| match asked.maybe_text(key)? {
        None => Ok(None),
        Some(name) => inventory
            .named(kind, name)
            .map(Some)
            .ok_or_else(|| Unanswered::Asked(format!("there is no {} '{name}'", kind.name()))),
    };
    device.access = Access { version, port, credential: named(Kind::Credential, "credential")?, ..Access::default() };
    device.site = named(Kind::Site, "site")?;
    device.notes = asked.maybe_text("notes")?.unwrap_or_default().into();
    let all = match asked.maybe_text("probes_needed")? {
        None | Some("any") => false,
        Some("all") => true,
        Some(_) => return Err(Unanswered::Asked("\"probes_needed\" is any or all".to_owned())),
    };
    let rounds = |key: &str| match asked.maybe_id(key)?.map(u16::try_from) {
        None => Ok(None),
        Some(Ok(rounds)) => Ok(Some(rounds)),
        Some(Err(_)) => Err(Unanswered::Asked(format!("\"{key}\" is a number of rounds"))),
    };
    let probes = asked.texts("probes", PROBES_MAX)?;
    let said = Availability::said(&probes, all, rounds("failures")?, rounds("recoveries")?, version.is_some());
    device.availability = said.map_err(Unanswered::Asked)?;
    device.step = asked.maybe_id("step_s")?;
    Ok(device)
}

fn login(asked: Asked<'_>) -> Result<Login, Unanswered> {
    let secret = |key: &str| asked.text(key).map(|text| Secret::new(text.as_bytes()));
    let maybe = |key: &str| -> Result<Secret, Unanswered> {
        Ok(asked.maybe_text(key)?.map(|text| Secret::new(text.as_bytes())).unwrap_or_default())
    };
    match asked.text("kind")? {
        "community" => Ok(Login::Community { community: secret("community")? }),
        "user" => Ok(Login::User {
            user: asked.text("user")?.into(),
            authentication: authentication(asked.maybe_text("authentication")?.unwrap_or("none"))?,
            authentication_password: maybe("authentication_password")?,
            privacy: privacy(asked.maybe_text("privacy")?.unwrap_or("none"))?,
            privacy_password: maybe("privacy_password")?,
            context: asked.maybe_text("context")?.unwrap_or_default().into(),
        }),
        "password" => Ok(Login::Password { user: asked.text("user")?.into(), password: secret("password")? }),
        "token" => Ok(Login::Token { token: secret("token")? }),
        _ => Err(Unanswered::Asked("\"kind\" is community, user, password or token".to_owned())),
    }
}

fn authentication(word: &str) -> Result<Authentication, Unanswered> {
    Ok(match word {
        "none" => Authentication::None,
        "md5" => Authentication::Md5,
        "sha1" => Authentication::Sha1,
        "sha224" => Authentication::Sha224,
        "sha256" => Authentication::Sha256,
        "sha384" => Authentication::Sha384,
        "sha512" => Authentication::Sha512,
        _ => {
            let all = "\"authentication\" is none, md5, sha1, sha224, sha256, sha384 or sha512";
            return Err(Unanswered::Asked(all.to_owned()));
        }
    })
}

fn privacy(word: &str) -> Result<Privacy, Unanswered> {
    Ok(match word {
        "none" => Privacy::None,
        "des" => Privacy::Des,
        "aes128" => Privacy::Aes128,
        "aes192" => Privacy::Aes192,
        "aes256" => Privacy::Aes256,
        _ => return Err(Unanswered::Asked("\"privacy\" is none, des, aes128, aes192 or aes256".to_owned())),
    })
}
