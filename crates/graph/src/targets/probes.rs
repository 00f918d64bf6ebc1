//! What is asked of a device otherwise than by SNMP, out of the inventory and the templates.

use super::STEP_IDLE_S;
use crate::inventory::{Availability, DeviceState, Inventory, Probe};
use crate::poller::Sample;
use crate::probe::{self, Check};
use crate::reads::{Taken, value};
use crate::template::{ARGUMENT_PREFIX, DataTemplate, Library, Source};
use std::collections::HashMap;
use std::net::IpAddr;
use trunkline_rrd::Value;

/// What is asked of a device. Its address is still to be looked up.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The device.
    pub device: u32,
    /// An address, or a name that is looked up.
    pub host: Box<str>,
    /// The port of its agent, by which its name is looked up, too.
    pub port: u16,
    /// What is tried to see whether it is up.
    pub availability: Availability,
    /// Whether that tells people whether it is up; else polling by SNMP does.
    pub decides: bool,
    /// Seconds between two rounds of it.
    pub step_s: u32,
    /// What is read.
    pub sources: Vec<probe::Source>,
    /// How what is read goes into files.
    pub written: HashMap<u32, Vec<Written>>,
    /// Data sources that cannot be read at present, and why.
    pub unreadable: Vec<(u32, String)>,
}

/// How a series goes into its file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written {
    /// What each number is multiplied with; none while that is not known.
    pub factor: Option<f64>,
    /// Whether it counts.
    pub is_counter: bool,
}

impl Plan {
    /// The device, at this address.
    pub fn target(&self, address: IpAddr) -> probe::Target {
        probe::Target {
            id: self.device,
            address,
            availability: self.availability.clone(),
            step_s: self.step_s,
            sources: self.sources.clone(),
            is_counted: true,
        }
    }

    /// Whether ICMP echo is among it.
    pub fn wants_echo(&self) -> bool {
        let by_source = self.sources.iter().any(|source| matches!(source.check, Check::Icmp { .. }));
        by_source || self.availability.probes.contains(&Probe::Icmp {})
    }
}

/// What is asked of a device; none if nothing is, or it is disabled.
pub fn plan(inventory: &Inventory, library: &Library, id: u32) -> Option<Plan> {
    let device = inventory.devices().get(id).filter(|device| device.state != DeviceState::Disabled)?;
    let (mut sources, mut written, mut unreadable) = (Vec::new(), HashMap::new(), Vec::new());
    let mut step_s: Option<u32> = None;
    for source in inventory.sources_of(id).iter().copied() {
        let Some(found) = found(inventory, library, source) else { continue };
        let step = super::step(inventory, library, source);
        step_s = step_s.into_iter().chain(step).min();
        if matches!(found.source, Source::Snmp) {
            continue;
        }
        match read(inventory, source, found, step) {
            Ok((read, series)) => {
                sources.push(read);
                written.insert(source, series);
            }
            Err(why) => unreadable.push((source, why)),
        }
    }
    let by_snmp = device.access.version.is_some();
    let mut availability = device.availability.clone();
    // Who has no agent cannot answer by it.
    availability.probes.retain(|probe| by_snmp || *probe != Probe::Snmp {});
    let others = availability.probes.iter().any(|probe| *probe != Probe::Snmp {});
    if by_snmp && !others {
        if sources.is_empty() && unreadable.is_empty() {
            return None;
        }
        // Polling has counted already.
        availability = super::at_once(&availability);
    }
    Some(Plan {
        device: id,
        host: device.address.clone(),
        port: device.access.port,
        availability,
        decides: others || !by_snmp,
        step_s: device.step.or(step_s).unwrap_or(STEP_IDLE_S),
        sources,
        written,
        unreadable,
    })
}

/// The template of a data source that is to be read.
fn found<'l>(inventory: &Inventory, library: &'l Library, source: u32) -> Option<&'l DataTemplate> {
    let active = inventory.sources().get(source)?.active;
    super::template(inventory, library, source).filter(|_| active)
}

type Read = (probe::Source, Vec<Written>);

/// How a data source is read, or why it cannot be.
fn read(inventory: &Inventory, id: u32, template: &DataTemplate, step_s: Option<u32>) -> Result<Read, String> {
    let row = inventory.sources().get(id).and_then(|source| inventory.rows().get(source.row?));
    if row.is_some_and(|row| row.index.is_none()) {
        return Err("the device does not have its row at present".to_owned());
    }
    let fields = inventory.fields_of_source(id).ok_or("its device is not there")?;
    let field = |name: &str| fields.get(name);
    let unsaid = |name: &String| field(&format!("{ARGUMENT_PREFIX}{name}")).is_none();
    // A program may have arguments that are nothing.
    let is_needed = !matches!(template.source, Source::Script { .. });
    if let Some(name) = template.arguments().into_iter().find(unsaid).filter(|_| is_needed) {
        return Err(format!("its argument '{name}' is not said: trunkline graph argument {id} {name}=.."));
    }
    let step_s = step_s.ok_or("its profile is not there")?;
    let source = probe::Source::of(id, step_s, template, field).ok_or("it is read by SNMP")?;
    let source = source.and_then(|source| source.check().map(|()| source)).map_err(|why| why.to_string())?;
    let written =
        |series: &crate::template::Series| Written { factor: series.factor(field), is_counter: series.is_counter() };
    Ok((source, template.series.iter().map(written).collect()))
}

/// The values of a sample; none if it is of other series than these.
pub fn taken(written: &[Written], sample: &Sample<'_>) -> Option<Taken> {
    if written.len() != sample.readings.len() {
        return None;
    }
    let series = || written.iter().zip(sample.readings);
    let one = |(written, reading): (&Written, &crate::poller::Reading)| match written.factor {
        Some(factor) => value(reading, factor, written.is_counter),
        None => Value::Unknown,
    };
    let values: Vec<Value<'static>> = series().map(one).collect();
    // What counts there has begun again: what lies between is unknown, and no spike.
    let breaks = sample.is_restarted && written.iter().any(|written| written.is_counter);
    let level = |(at, written): (usize, &Written)| if written.is_counter { Value::Unknown } else { values[at] };
    let before = breaks.then(|| written.iter().enumerate().map(level).collect());
    Some(Taken { values, before, asks_anew: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::order::Order;
    use crate::inventory::{Access, Change, Device, Entry};
    use crate::journal::Records;
    use crate::poller::{Now, Reading};
    use crate::probe::{Limits, Outcome, Prober};
    use crate::targets::{Keys, plan as polled};
    use crate::template::built_in;
    use std::net::Ipv4Addr;

    struct House(Inventory);

    impl House {
        fn order(&mut self, order: Order) -> Vec<Change> {
            let changes = self.0.order(built_in::library(), &order).unwrap();
            self.apply(&changes);
            changes
        }

        fn apply(&mut self, changes: &[Change]) {
            for entry in Entry::of_changes(self.0.sequence() + 1, 0, "test", changes.to_vec()) {
                self.0.apply(&entry).unwrap();
            }
        }

        /// As the owner of the inventory does it.
        fn furnish(&mut self, said: &[u32]) {
            let changes = self.0.furnish(built_in::library(), 1, &|source| said.contains(&source)).unwrap();
            self.apply(&changes);
        }

        fn plan(&self) -> Option<Plan> {
            plan(&self.0, built_in::library(), 1)
        }

        fn source(&self, template: &str) -> u32 {
            let is_it = |source: &&u32| {
                let source = self.0.sources().get(**source).unwrap();
                self.0.template_name(source.template) == Some(template)
            };
            *self.0.sources_of(1).iter().find(is_it).unwrap()
        }
    }

    /// A device without SNMP that is probed so.
    fn service(probes: &[&str]) -> House {
        let mut house = House(Inventory::default());
        let availability = Availability::said(probes, true, Some(3), None, false).unwrap();
        let access = Access { version: None, ..Access::default() };
        let device = Device { access, availability, ..Device::new("db-1", "192.0.2.7") };
        house.order(Order::AddDevice(device, "tcp-service".to_owned()));
        house.furnish(&[]);
        house
    }

    fn port(house: &House, number: &str) -> Order {
        Order::SetArguments(house.source("tcp-port"), vec![("port".into(), number.into())])
    }

    #[test]
    fn a_device_without_snmp_is_probed_as_its_template_says_once_its_arguments_are_known() {
        let mut house = service(&["icmp", "tcp:5432"]);
        let plan = house.plan().unwrap();
        assert!(
            plan.decides
                && plan.wants_echo()
                && polled(&house.0, built_in::library(), &mut Keys::default(), 1).is_none()
        );
        assert_eq!((plan.availability.failures, plan.availability.all, plan.step_s), (3, true, 60));
        let [(source, why)] = &plan.unreadable[..] else { panic!("{plan:?}") };
        assert!(*source == house.source("tcp-port") && why.contains("'port'"), "{why}");
        house.order(port(&house, "no number"));
        assert!(house.plan().unwrap().unreadable[0].1.contains("1 to 65535"));
        house.order(port(&house, "5432"));
        let plan = house.plan().unwrap();
        assert!(plan.unreadable.is_empty() && plan.sources.len() == 2 && plan.written.len() == 2);
        house.order(Order::SetState(vec![1], DeviceState::Disabled));
        assert!(house.plan().is_none());
    }

    #[test]
    fn graphs_come_with_the_first_word_and_once() {
        let mut house = service(&[]);
        assert_eq!((house.0.sources_of(1).len(), house.0.graphs_of(1).len()), (2, 0));
        let said = [house.source("tcp-port")];
        house.furnish(&said);
        house.furnish(&said);
        assert_eq!(house.0.graphs_of(1).len(), 1);
        house.furnish(&[house.source("icmp"), said[0]]);
        assert_eq!(house.0.graphs_of(1).len(), 2);
    }

    #[test]
    fn with_snmp_polling_tells_unless_others_have_a_say() {
        let mut house = House(Inventory::default());
        house.order(Order::AddDevice(Device::new("edge-1", "2001:db8::1"), "any".to_owned()));
        // Nothing is asked of it otherwise.
        assert!(house.plan().is_none());
        house.furnish(&[]);
        let plan = house.plan().unwrap();
        assert!(!plan.decides && plan.availability.failures == 1, "polling has counted");
        let failures = |house: &House| {
            let plan = polled(&house.0, built_in::library(), &mut Keys::default(), 1).unwrap();
            plan.settings.failures_to_down
        };
        assert_eq!(failures(&house), 2);
        let availability = Availability::said(&["snmp", "icmp"], false, Some(4), None, true).unwrap();
        let device = Device { availability, ..house.0.devices().get(1).unwrap().clone() };
        house.order(Order::Device(Some(1), device));
        let plan = house.plan().unwrap();
        assert!(plan.decides && plan.availability.failures == 4);
        assert_eq!(failures(&house), 1, "each cycle is told, and counted here");
        assert_eq!(house.0.fields(1, None).get("host"), Some("[2001:db8::1]"));
    }

    #[test]
    fn what_counts_has_an_unknown_before_it_where_it_began_again() {
        let written =
            [Written { factor: Some(0.5), is_counter: false }, Written { factor: Some(1.0), is_counter: true }];
        let readings = [Reading::Integer(3), Reading::Counter64(70)];
        let sample = |is_restarted| Sample { device: 1, source: 5, unix_ms: 1000, is_restarted, readings: &readings };
        let values = vec![Value::Float(1.5), Value::Unsigned(70)];
        assert_eq!(taken(&written, &sample(false)), Some(Taken { values: values.clone(), ..Taken::default() }));
        let before = Some(vec![Value::Float(1.5), Value::Unknown]);
        assert_eq!(taken(&written, &sample(true)), Some(Taken { values, before, asks_anew: false }));
        assert_eq!(taken(&written[..1], &sample(false)), None);
    }

    /// A day of a device whose port is shut for an hour: what goes to the journal.
    fn a_day(house: &House) -> (Vec<u8>, usize) {
        let plan = house.plan().unwrap();
        let mut prober = Prober::new(&Limits::default(), 7);
        let now = |s: u64| Now { steady_ns: s * 1_000_000_000, unix_ms: 1_790_000_000_000 + s as i64 * 1000 };
        prober.add(plan.target(Ipv4Addr::LOCALHOST.into()), now(0)).unwrap();
        let (mut records, mut downs) = (Records::default(), 0);
        for s in 0..86_400 {
            prober.handle_timeout(now(s));
            let is_shut = (3600..7200).contains(&s);
            for order in prober.orders() {
                if let crate::probe::Order::Connect { ticket, .. } = order {
                    let outcome = if is_shut { Outcome::Failed("no route".to_owned()) } else { Outcome::Answered };
                    prober.handle(ticket, outcome, now(s));
                }
            }
            for sample in prober.samples() {
                let taken = taken(&plan.written[&sample.source], &sample).unwrap();
                records.put(sample.source, sample.unix_ms, &taken.values);
            }
            let is_down = |event: &&crate::probe::Event| {
                matches!(event, crate::probe::Event::Health { change: crate::poller::Change::Down, .. })
            };
            downs += prober.events().iter().filter(is_down).count();
            prober.clear();
        }
        (records.records().flatten().copied().collect(), downs)
    }

    #[test]
    fn a_day_is_the_same_octet_for_octet_whenever_it_is_played() {
        let mut house = service(&["tcp:5432"]);
        house.order(port(&house, "5432"));
        let (first, downs) = a_day(&house);
        assert!(a_day(&house).0 == first && downs == 1);
        let (mut ups, mut shut) = (0, 0);
        crate::journal::each(&first, |source, _, values| {
            let is_port = source == house.source("tcp-port");
            ups += usize::from(is_port && values[0] == Value::Signed(1));
            shut += usize::from(is_port && values[0] == Value::Signed(0));
        })
        .unwrap();
        assert!((1439..=1441).contains(&(ups + shut)) && (59..=61).contains(&shut), "{ups} {shut}");
    }
}
