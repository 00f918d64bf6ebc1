//! Sites, rows, data sources, graphs, and the names that numbers stand for.

use trunkline_kit::{octet_fields, octet_words};

/// What a number or a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A device.
    Device,
    /// A site.
    Site,
    /// A credential.
    Credential,
    /// A tree.
    Tree,
    /// A device template.
    DeviceTemplate,
    /// A data template.
    DataTemplate,
    /// A graph template.
    GraphTemplate,
    /// A table.
    Table,
    /// A field of rows.
    Field,
}

impl Kind {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Device => "device",
            Kind::Site => "site",
            Kind::Credential => "credential",
            Kind::Tree => "tree",
            Kind::DeviceTemplate => "device template",
            Kind::DataTemplate => "data template",
            Kind::GraphTemplate => "graph template",
            Kind::Table => "table",
            Kind::Field => "field",
        }
    }
}

/// A name of the library of templates, which a number stands for here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// What is named.
    pub kind: Kind,
    /// The name.
    pub name: Box<str>,
}

/// A place where devices stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Site {
    /// Its name, unique.
    pub name: Box<str>,
    /// Its address, for people.
    pub address: Box<str>,
    /// Degrees north and east.
    pub position: Option<(f64, f64)>,
    /// For people.
    pub notes: Box<str>,
}

/// A row of a table of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The device.
    pub device: u32,
    /// The table, by the number that stands for its name.
    pub table: u32,
    /// What it is called here, unique in its table.
    pub name: Box<str>,
    /// How it is known again.
    pub identity: Identity,
    /// What people wrote about it (ifAlias).
    pub label: Box<str>,
    /// Where it is found at present; none if the device does not have it at present.
    pub index: Option<Box<[u32]>>,
    /// Bit/s; 0 is unknown.
    pub speed: u64,
    /// What else is known about it, by the numbers that stand for the fields' names.
    pub fields: Vec<(u32, Box<str>)>,
}

/// How a row is known again when its index is another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The name that the device gives it (ifName).
    pub name: Box<str>,
    /// Another name (ifDescr).
    pub second: Box<str>,
    /// What is built in (ifPhysAddress).
    pub mark: Box<str>,
    /// Whether another row had the same name at some time: then the name alone tells nothing.
    pub shared: bool,
}

/// One round-robin file, and what is written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The device.
    pub device: u32,
    /// The data template, by the number that stands for its name.
    pub template: u32,
    /// The row; none is the device itself.
    pub row: Option<u32>,
    /// Whether it is read.
    pub active: bool,
    /// What is read where that differs for this one: `name=value` of a script's fields, of a URL.
    pub arguments: Vec<(Box<str>, Box<str>)>,
}

/// A graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The graph template, by the number that stands for its name.
    pub template: u32,
    /// Its title, with fields between bars; none is the template's.
    pub title: Option<Box<str>>,
    /// Its data sources. Of an aggregate they are in its order.
    pub sources: Vec<u32>,
}

octet_fields! {
    Template { kind, name }
    Site { name, address, position, notes }
    Row { device, table, name, identity, label, index, speed, fields }
    Identity { name, second, mark, shared }
    Source { device, template, row, active, arguments }
    Graph { template, title, sources }
}
octet_words! {
    Kind {
        1 => Device, 2 => Site, 3 => Credential, 4 => Tree, 5 => DeviceTemplate, 6 => DataTemplate,
        7 => GraphTemplate, 8 => Table, 9 => Field,
    }
}
