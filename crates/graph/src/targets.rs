//! What is asked of a device, out of the inventory and the templates: the way from names that stay to the places where
//! they are found at present.

pub mod probes;

use crate::inventory::{self, Authentication, Availability, Device, Inventory, Login, Privacy, Probe, Version};
use crate::poller::{self, Security, User};
use crate::reads::{Recipe, SeriesRead};
use crate::template::{DataTemplate, Library, Oid, Reading, Series, Source};
use std::collections::HashMap;
use trunkline_wire::snmp::ObjectId;
use trunkline_wire::snmp::usm::{AuthProtocol, MasterKey, PrivacyProtocol};

/// What public agents let in.
const PUBLIC: &[u8] = b"public";
/// Seconds between two cycles of a device without data sources: whether it is up is still told.
pub const STEP_IDLE_S: u32 = 60;

/// What is asked of a device by SNMP. Its address is still to be looked up.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The device.
    pub device: u32,
    /// An address, or a name that is looked up.
    pub host: Box<str>,
    /// The port of its agent.
    pub port: u16,
    /// What lets us in.
    pub access: poller::Access,
    /// How it is polled.
    pub settings: poller::Settings,
    /// What is read, source by source.
    pub recipes: Vec<Recipe>,
    /// Data sources that cannot be read now: their row is not there, or what they need is not known.
    pub unreadable: u32,
}

/// Keys made of passwords, which takes a while (RFC 3414 section A.2), by credential.
#[derive(Debug, Default)]
pub struct Keys {
    made: HashMap<u32, (Login, poller::Access)>,
}

impl Keys {
    /// What lets us in by a credential; none if it is not for SNMP, or its passwords are too short.
    fn access(&mut self, id: u32, login: &Login, version: Version) -> Option<poller::Access> {
        if let Login::Community { community } = login {
            return Some(community_access(version, community.expose()));
        }
        if self.made.get(&id).is_none_or(|(before, _)| before != login) {
            let access = user_access(login)?;
            self.made.insert(id, (login.clone(), access));
        }
        self.made.get(&id).map(|(_, access)| access.clone())
    }
}

fn community_access(version: Version, community: &[u8]) -> poller::Access {
    match version {
        Version::V1 => poller::Access::V1(community.to_vec()),
        Version::V2c | Version::V3 => poller::Access::V2c(community.to_vec()),
    }
}

fn user_access(login: &Login) -> Option<poller::Access> {
    let Login::User { user, authentication, authentication_password, privacy, privacy_password, context } = login
    else {
        return None;
    };
    let security = match auth_protocol(*authentication) {
        None => Security::NoAuthNoPriv,
        Some(protocol) => {
            let key = MasterKey::new(protocol, authentication_password.expose()).ok()?;
            match privacy_protocol(*privacy) {
                None => Security::AuthNoPriv(key),
                Some(cipher) => {
                    Security::AuthPriv(key, cipher, MasterKey::new(protocol, privacy_password.expose()).ok()?)
                }
            }
        }
    };
    let user = User { name: user.as_bytes().to_vec(), context: context.as_bytes().to_vec(), security };
    Some(poller::Access::V3(Box::new(user)))
}

fn auth_protocol(authentication: Authentication) -> Option<AuthProtocol> {
    Some(match authentication {
        Authentication::None => return None,
        Authentication::Md5 => AuthProtocol::Md5,
        Authentication::Sha1 => AuthProtocol::Sha1,
        Authentication::Sha224 => AuthProtocol::Sha224,
        Authentication::Sha256 => AuthProtocol::Sha256,
        Authentication::Sha384 => AuthProtocol::Sha384,
        Authentication::Sha512 => AuthProtocol::Sha512,
    })
}

fn privacy_protocol(privacy: Privacy) -> Option<PrivacyProtocol> {
    Some(match privacy {
        Privacy::None => return None,
        Privacy::Des => PrivacyProtocol::Des,
        Privacy::Aes128 => PrivacyProtocol::Aes128,
        Privacy::Aes192 => PrivacyProtocol::Aes192,
        Privacy::Aes256 => PrivacyProtocol::Aes256,
        Privacy::Aes192Cisco => PrivacyProtocol::Aes192Cisco,
        Privacy::Aes256Cisco => PrivacyProtocol::Aes256Cisco,
    })
}

/// What lets us in to a device that is asked so; none if nothing does, or it is not asked by SNMP.
pub fn access_of(inventory: &Inventory, keys: &mut Keys, access: &inventory::Access) -> Option<poller::Access> {
    let version = access.version?;
    match access.credential.and_then(|id| Some((id, inventory.credentials().get(id)?))) {
        Some((id, credential)) => keys.access(id, &credential.login, version),
        None => Some(community_access(version, PUBLIC)),
    }
}

/// What is asked of a device; none if it is not polled by SNMP, or nothing lets us in.
pub fn plan(inventory: &Inventory, library: &Library, keys: &mut Keys, id: u32) -> Option<Plan> {
    use crate::inventory::DeviceState;
    let device = inventory.devices().get(id).filter(|device| device.state != DeviceState::Disabled)?;
    let access = access_of(inventory, keys, &device.access)?;
    let (mut recipes, mut unreadable, mut step_s) = (Vec::new(), 0, None);
    for source in inventory.sources_of(id) {
        match recipe(inventory, library, *source) {
            Found::Read(recipe, step) => {
                step_s = Some(step_s.map_or(step, |least: u32| least.min(step)));
                recipes.push(recipe);
            }
            Found::Absent => unreadable += 1,
            Found::Elsewhere => {}
        }
    }
    let step_s = device.step.or(step_s).unwrap_or(STEP_IDLE_S);
    let settings = settings(device, step_s);
    let Device { address, access: how, .. } = device;
    Some(Plan { device: id, host: address.clone(), port: how.port, access, settings, recipes, unreadable })
}

/// How a device is polled: what the inventory says of it, within what a cycle can hold.
fn settings(device: &Device, step_s: u32) -> poller::Settings {
    let few = |number: u16| u8::try_from(number).unwrap_or(u8::MAX);
    let Device { access, availability, .. } = device;
    let by_snmp = availability.probes.contains(&Probe::Snmp {});
    // Where other probes have a say, they count rounds; what polling says is of each cycle.
    let is_one_of_several = by_snmp && availability.probes.iter().any(|probe| *probe != Probe::Snmp {});
    let counted = if is_one_of_several { at_once(availability) } else { availability.clone() };
    let defaults = poller::Settings::default();
    poller::Settings {
        step_s,
        varbinds_max: access.objects_max,
        tries: access.retries.saturating_add(1),
        first_timeout_ms: access.timeout_ms,
        timeout_ms_max: access.timeout_ms.max(defaults.timeout_ms_max),
        failures_to_down: if by_snmp { few(counted.failures) } else { defaults.failures_to_down },
        successes_to_up: if by_snmp { few(counted.recoveries) } else { defaults.successes_to_up },
        ..defaults
    }
}

/// One answer or silence tells: who is told of it counts.
fn at_once(availability: &Availability) -> Availability {
    Availability { failures: 1, recoveries: 1, ..availability.clone() }
}

enum Found {
    /// It is read so, every so many seconds.
    Read(Recipe, u32),
    /// It would be, but it is not there.
    Absent,
    /// It is not read by SNMP, or is not read.
    Elsewhere,
}

/// How a data source is read at present.
fn recipe(inventory: &Inventory, library: &Library, id: u32) -> Found {
    let Some(source) = inventory.sources().get(id).filter(|source| source.active) else { return Found::Elsewhere };
    let name = inventory.template_name(source.template).unwrap_or_default();
    let Some(template) = library.data.get(name) else { return Found::Absent };
    if !matches!(template.source, Source::Snmp) {
        return Found::Elsewhere;
    }
    let row = source.row.map(|row| inventory.rows().get(row).and_then(|row| row.index.as_deref()));
    let index = match row {
        Some(None) => return Found::Absent,
        Some(Some(index)) => index,
        None => &[],
    };
    let series: Option<Vec<SeriesRead>> =
        template.series.iter().map(|series| series_read(inventory, id, series, index)).collect();
    match (series, step(inventory, library, id)) {
        (Some(series), Some(step)) => Found::Read(Recipe { id, of_row: source.row.is_some(), series }, step),
        _ => Found::Absent,
    }
}

fn series_read(inventory: &Inventory, source: u32, series: &Series, index: &[u32]) -> Option<SeriesRead> {
    let fields = inventory.fields_of_source(source)?;
    let object = |reading: &Reading| -> Option<ObjectId> {
        let oid = match reading {
            Reading::Object(oid) => oid.with(index)?,
            Reading::Name(name) => Oid::parse(&crate::template::expand(name, |field| fields.get(field)))?,
        };
        ObjectId::from_arcs(oid.arcs()).ok()
    };
    let reads: Vec<ObjectId> = series.read.iter().filter_map(object).collect();
    let factor = series.factor(|field| fields.get(field));
    (!reads.is_empty()).then(|| SeriesRead { reads, factor, is_counter: series.is_counter() })
}

/// Seconds between two readings of a data source: the device's own word, else its template's.
pub fn step(inventory: &Inventory, library: &Library, source: u32) -> Option<u32> {
    let source = inventory.sources().get(source)?;
    let own = inventory.devices().get(source.device)?.step;
    own.or_else(|| library.step(inventory.template_name(source.template)?))
}

/// The data template of a data source.
pub fn template<'l>(inventory: &Inventory, library: &'l Library, source: u32) -> Option<&'l DataTemplate> {
    library.data.get(inventory.template_name(inventory.sources().get(source)?.template)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use crate::inventory::order::Order;
    use crate::inventory::remap::{Walked, remap};
    use crate::inventory::{Change, Credential, DeviceState, Entry, Kind, Secret};
    use crate::template::built_in;

    struct House(Inventory);

    impl House {
        fn apply(&mut self, changes: Vec<Change>) {
            for entry in Entry::of_changes(self.0.sequence() + 1, 0, "test", changes) {
                self.0.apply(&entry).unwrap();
            }
        }

        fn order(&mut self, order: Order) {
            let changes = self.0.order(built_in::library(), &order).unwrap();
            self.apply(changes);
        }

        /// A device with one interface, which is found there.
        fn walk(&mut self, index: u32, speed: u64) {
            let row = Walked { index: vec![index], name: "Gi0/1".into(), speed, ..Walked::default() };
            let changes = remap(&self.0, 1, "interfaces", &[row]).changes;
            self.apply(changes);
        }

        fn traffic(&self) -> u32 {
            let is_traffic = |source: &&u32| {
                template(&self.0, built_in::library(), **source) == built_in::library().data.get("interface-traffic")
            };
            *self.0.sources_of(1).iter().find(is_traffic).unwrap()
        }

        fn plan(&self) -> Plan {
            plan(&self.0, built_in::library(), &mut Keys::default(), 1).unwrap()
        }

        fn reads(&self) -> Vec<String> {
            let (plan, traffic) = (self.plan(), self.traffic());
            let recipe = plan.recipes.iter().find(|recipe| recipe.id == traffic).unwrap();
            recipe.series[0].reads.iter().map(|oid| oid.to_string().trim_start_matches('.').to_owned()).collect()
        }
    }

    fn house() -> House {
        let mut house = House(Inventory::default());
        let template = crate::inventory::Template { kind: Kind::DeviceTemplate, name: "any".into() };
        house.apply(vec![Change::Template { id: 1, template }]);
        let device = Device { template: Some(1), ..Device::new("edge-1", "192.0.2.1") };
        house.order(Order::Device(None, device));
        house.walk(7, 1_000_000_000);
        house.order(Order::ApplyTemplate(1));
        house
    }

    #[test]
    fn a_row_is_read_where_it_is_and_its_series_stays() {
        let mut house = house();
        assert_eq!(house.reads(), ["1.3.6.1.2.1.31.1.1.1.6.7", "1.3.6.1.2.1.2.2.1.10.7"]);
        let before = house.traffic();
        house.walk(12, 1_000_000_000);
        assert_eq!((house.reads()[0].as_str(), house.traffic()), ("1.3.6.1.2.1.31.1.1.1.6.12", before));
        // One that is not there at present is not asked for.
        let changes = remap(&house.0, 1, "interfaces", &[]).changes;
        house.apply(changes);
        let plan = house.plan();
        assert!(plan.unreadable > 0 && plan.recipes.iter().all(|recipe| !recipe.of_row));
    }

    #[test]
    fn the_step_is_the_shortest_or_the_devices_own() {
        let mut house = house();
        assert_eq!(house.plan().settings.step_s, 60);
        let device = Device { step: Some(10), ..house.0.devices().get(1).unwrap().clone() };
        house.order(Order::Device(Some(1), device));
        assert_eq!(house.plan().settings.step_s, 10);
        let made = files::definition(&house.0, built_in::library(), house.traffic()).unwrap();
        assert_eq!((made.step_s, made.lines[0].as_str()), (10, "DS:traffic_in:COUNTER:20:0:125000000"));
        house.order(Order::SetState(vec![1], DeviceState::Disabled));
        assert!(plan(&house.0, built_in::library(), &mut Keys::default(), 1).is_none());
    }

    #[test]
    fn a_file_follows_the_speed_of_its_row_and_takes_values_by_name() {
        use trunkline_rrd::{Archive, Plan as Made, Tune};
        let mut house = house();
        let traffic = house.traffic();
        let made = files::definition(&house.0, built_in::library(), traffic).unwrap();
        let lines = made.lines.iter().map(String::as_str);
        let archive = |lines: Vec<&str>| {
            let made = Made::read(60, lines).unwrap().create(1_700_000_000, |_| 0).unwrap();
            Archive::open(&made.octets()).unwrap()
        };
        let there = archive(lines.clone().collect());
        assert_eq!(files::changes(&house.0, built_in::library(), traffic, &there), []);
        house.walk(7, 10_000_000_000);
        let changes = files::changes(&house.0, built_in::library(), traffic, &there);
        assert_eq!(changes[0], Tune::Max("traffic_in".into(), "1250000000".into()));
        assert_eq!(changes.len(), 2);
        let names = ["traffic_in", "traffic_out"];
        assert_eq!(files::order(&there, &names), Ok(files::Order::Same));
        let mut turned: Vec<&str> = lines.collect();
        turned.swap(0, 1);
        assert_eq!(files::order(&archive(turned), &names), Ok(files::Order::Other([1, 0].into())));
        assert!(files::order(&there, &["traffic_in"]).is_err() && files::order(&there, &["a", "b"]).is_err());
    }

    #[test]
    fn credentials_let_in_by_their_version() {
        let mut house = house();
        assert_eq!(house.plan().access, poller::Access::V2c(b"public".to_vec()));
        let login = Login::Community { community: Secret::new(b"other words") };
        house.order(Order::Credential(None, Credential { name: "lan".into(), login }));
        let mut device = house.0.devices().get(1).unwrap().clone();
        device.access.credential = Some(1);
        device.access.version = Some(Version::V1);
        house.order(Order::Device(Some(1), device));
        assert_eq!(house.plan().access, poller::Access::V1(b"other words".to_vec()));
    }
}
