//! An inventory with round-robin files whose values are known.

#![allow(dead_code, reason = "not every test needs all of it")]

use serde::Deserialize;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use trunkline_contract::graph::{GraphScope, Question, Told};
use trunkline_contract::plain;
use trunkline_graph::answer::{Unanswered, View, answer};
use trunkline_graph::inventory::order::Order;
use trunkline_graph::inventory::remap::{Walked, remap};
use trunkline_graph::inventory::{Change, Device, Entry, Inventory, Kind, Template};
use trunkline_graph::job::{Handle, Pages};
use trunkline_graph::picture::Files;
use trunkline_graph::scope::Scope;
use trunkline_graph::template::{Function, Library, SeriesKind, built_in, read};
use trunkline_rrd::{Fault, Plan, Question as Rows, RrdFile, Series, Time, Value};

/// A question, its name in `do`.
pub fn question(asked: &Json) -> Result<Question, Unanswered> {
    Question::deserialize(asked).map_err(|error| Unanswered::Asked(error.to_string()))
}

/// What is told, without its name.
pub fn told(told: &Told) -> Json {
    let Json::Object(told) = plain(told).unwrap() else { panic!("{told:?}") };
    told.into_iter().next().unwrap().1
}

/// Asks in JSON.
pub fn ask(view: &View<'_>, asked: &Json) -> Result<Json, Unanswered> {
    Ok(told(&answer(view, &question(asked)?)?))
}

/// Asks those who poll in JSON.
pub fn ask_pages(handle: &Handle, asked: &Json) -> Result<Json, Unanswered> {
    let scope = Option::<GraphScope>::deserialize(&asked["scope"]).unwrap();
    Ok(told(&Pages::new(handle.clone()).ask(scope.as_ref(), &question(asked)?)?))
}

/// A scope of JSON.
pub fn scope(scope: &Json) -> Scope {
    Scope::read(&GraphScope::deserialize(scope).unwrap()).unwrap()
}

/// The inventory and its folder.
pub struct House {
    pub inventory: Inventory,
    pub library: Library,
    pub folder: PathBuf,
}

impl House {
    pub fn new(folder: &Path) -> House {
        House { inventory: Inventory::default(), library: built_in::library().clone(), folder: folder.to_owned() }
    }

    /// With more templates.
    pub fn with(folder: &Path, templates: &str) -> House {
        let mut house = House::new(folder);
        let own = read(&[("own.toml", templates)], &house.library);
        house.library.merge(own.unwrap_or_else(|mistakes| panic!("{mistakes:?}")));
        house
    }

    pub fn order(&mut self, order: Order) {
        let changes = self.inventory.order(&self.library, &order).unwrap();
        self.apply(changes);
    }

    pub fn apply(&mut self, changes: Vec<Change>) {
        for entry in Entry::of_changes(self.inventory.sequence() + 1, 1_790_000_000_000, "operator", changes) {
            self.inventory.apply(&entry).unwrap();
        }
    }

    /// The number that stands for a device template.
    pub fn template(&mut self, name: &str) -> u32 {
        if let Some(id) = self.inventory.named(Kind::DeviceTemplate, name) {
            return id;
        }
        let id = self.inventory.templates().next();
        self.apply(vec![Change::Template { id, template: Template { kind: Kind::DeviceTemplate, name: name.into() } }]);
        id
    }

    /// A device of that name with so many interfaces, their data sources and graphs.
    pub fn device(&mut self, name: &str, interfaces: u32) -> u32 {
        let id = self.inventory.devices().next();
        let template = self.template("any");
        self.order(Order::Device(None, Device { template: Some(template), ..Device::new(name, "192.0.2.1") }));
        let walk: Vec<Walked> = (1..=interfaces).map(interface).collect();
        let changes = remap(&self.inventory, id, "interfaces", &walk).changes;
        self.apply(changes);
        self.order(Order::ApplyTemplate(id));
        id
    }

    /// The data source of a template for an interface (from 0 on) of a device.
    pub fn source(&self, device: u32, data: &str, interface: usize) -> u32 {
        let data = self.inventory.named(Kind::DataTemplate, data).unwrap();
        self.inventory.source_for(device, data, Some(self.inventory.rows_of(device)[interface])).unwrap()
    }

    /// The first graph with a data source of that graph template.
    pub fn graph(&self, template: &str, source: u32) -> u32 {
        let template = self.inventory.named(Kind::GraphTemplate, template).unwrap();
        let mut graphs = self.inventory.graphs().iter();
        graphs.find(|(_, graph)| graph.template == template && graph.sources.contains(&source)).unwrap().0
    }

    /// Makes the file of a data source as its templates say, with samples: seconds, and a value for each series.
    pub fn file(&self, source: u32, start_s: i64, samples: impl IntoIterator<Item = (i64, Vec<Option<u64>>)>) {
        let found = self.inventory.sources().get(source).unwrap();
        let template = &self.library.data[self.inventory.template_name(found.template).unwrap()];
        let profile = &self.library.profiles[&template.profile];
        let step = template.step.unwrap_or(profile.step);
        let mut plan = Plan::new(step.into()).unwrap();
        for series in &template.series {
            let kind = match series.kind {
                SeriesKind::Gauge => "GAUGE",
                _ => "COUNTER",
            };
            plan.define(&format!("DS:{}:{kind}:{}:0:U", series.name, step * 2)).unwrap();
        }
        for (steps, rows) in profile.archives(step) {
            for function in &profile.functions {
                let name = if *function == Function::Max { "MAX" } else { "AVERAGE" };
                plan.define(&format!("RRA:{name}:0.5:{steps}:{rows}")).unwrap();
            }
        }
        let path = self.folder.join(format!("{}/{source}.rrd", found.device));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        RrdFile::create(&path, &plan.create(start_s, |_| 0).unwrap()).unwrap();
        let texts: Vec<(i64, Vec<String>)> = samples
            .into_iter()
            .map(|(at, values)| (at, values.iter().map(|v| v.map_or("U".to_owned(), |v| v.to_string())).collect()))
            .collect();
        let values: Vec<(Time, Vec<Value<'_>>)> =
            texts.iter().map(|(at, texts)| (Time::at(*at), texts.iter().map(|t| Value::Text(t)).collect())).collect();
        let mut file = RrdFile::open_to_update(&path).unwrap();
        let samples = values.iter().map(|(at, values)| (*at, &values[..]));
        file.update(samples, |at, why| panic!("{at:?}: {why}")).unwrap();
    }
}

impl Files for House {
    fn path(&self, source: u32) -> Option<String> {
        let device = self.inventory.sources().get(source)?.device;
        let path = format!("{device}/{source}.rrd");
        self.folder.join(&path).exists().then_some(path)
    }

    fn rows(&self, source: u32, question: &Rows) -> Result<Series, Fault> {
        let path = self.path(source).ok_or(std::io::ErrorKind::NotFound).map_err(std::io::Error::from)?;
        RrdFile::open(&self.folder.join(path))?.fetch(question)
    }

    fn last_s(&self, source: u32) -> Option<i64> {
        Some(RrdFile::open(&self.folder.join(self.path(source)?)).ok()?.archive().last().seconds)
    }
}

fn interface(number: u32) -> Walked {
    Walked {
        index: vec![number],
        name: format!("Gi0/{number}"),
        second: format!("GigabitEthernet0/{number}"),
        mark: format!("00:00:5e:00:53:{number:02x}"),
        label: format!("uplink: {number} 'a' \"b\" \\ 95%"),
        speed: 1_000_000_000,
        fields: vec![("ifType".to_owned(), "6".to_owned())],
    }
}
