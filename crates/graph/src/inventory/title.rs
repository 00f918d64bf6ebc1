//! Titles: what fields of a device and of a row hold.

use super::{Inventory, Kind};
use crate::template::{ARGUMENT_PREFIX, Library, Text};
use core::fmt::Write as _;

/// What can be asked for by the name of a field: of a device, and of a row of it.
pub struct Fields<'i> {
    inventory: &'i Inventory,
    device: u32,
    row: Option<u32>,
    source: Option<u32>,
    index: String,
    speed: String,
    /// Where it is not as the address is.
    host: Option<String>,
}

impl<'i> Fields<'i> {
    /// What the field of that name holds; none if there is no such field, or nothing in it.
    pub fn get(&self, name: &str) -> Option<&str> {
        let device = self.inventory.devices.get(self.device)?;
        let observed = self.inventory.observed(self.device);
        let text: &str = match name {
            "device" => &device.name,
            "address" => &device.address,
            "host" => self.host.as_deref().unwrap_or(&device.address),
            "site" => self.inventory.sites.get(device.site?).map(|site| &*site.name)?,
            "description" => &observed?.description,
            "location" => &observed?.location,
            "contact" => &observed?.contact,
            _ => return self.of_source(name).or_else(|| self.of_row(name)),
        };
        Some(text).filter(|text| !text.is_empty())
    }

    fn of_source(&self, name: &str) -> Option<&str> {
        let name = name.strip_prefix(ARGUMENT_PREFIX)?;
        let arguments = &self.inventory.sources.get(self.source?)?.arguments;
        arguments.iter().find(|(argument, _)| **argument == *name).map(|(_, value)| &**value)
    }

    fn of_row(&self, name: &str) -> Option<&str> {
        let row = self.inventory.rows.get(self.row?)?;
        let text: &str = match name {
            "name" => &row.name,
            "label" => &row.label,
            "index" => &self.index,
            "speed" => &self.speed,
            _ => {
                let field = self.inventory.named(Kind::Field, name)?;
                &row.fields.iter().find(|(id, _)| *id == field)?.1
            }
        };
        Some(text).filter(|text| !text.is_empty())
    }
}

impl Inventory {
    /// The fields of a device, or of a row of it.
    pub fn fields(&self, device: u32, row: Option<u32>) -> Fields<'_> {
        let (mut index, mut speed) = (String::new(), String::new());
        if let Some(row) = row.and_then(|row| self.rows.get(row)) {
            for (place, number) in row.index.iter().flatten().enumerate() {
                let point = if place > 0 { "." } else { "" };
                // Writing to a text does not fail.
                let _ = write!(index, "{point}{number}");
            }
            if row.speed > 0 {
                speed = row.speed.to_string();
            }
        }
        let host = self.devices.get(device).and_then(|device| in_brackets(&device.address));
        Fields { inventory: self, device, row, source: None, index, speed, host }
    }

    /// The fields that a graph's texts have: those of the device and row of its first data source.
    pub fn fields_of_graph(&self, graph: u32) -> Option<Fields<'_>> {
        self.fields_of_source(*self.graphs.get(graph)?.sources.first()?)
    }

    /// The fields of a data source: those of its device and row, and its arguments.
    pub fn fields_of_source(&self, source: u32) -> Option<Fields<'_>> {
        let found = self.sources.get(source)?;
        Some(Fields { source: Some(source), ..self.fields(found.device, found.row) })
    }

    /// The title of a graph: its own, else its template's, else the template's name.
    pub fn title(&self, library: &Library, graph: u32) -> String {
        let (Some(own), Some(fields)) = (self.graphs.get(graph), self.fields_of_graph(graph)) else {
            return String::new();
        };
        let name = self.template_name(own.template).unwrap_or_default();
        let title = match (&own.title, library.graphs.get(name)) {
            (Some(title), _) => Text::parse(title).with(|field| fields.get(field)),
            (None, Some(template)) => template.title.with(|field| fields.get(field)),
            (None, None) => String::new(),
        };
        if title.is_empty() { name.to_owned() } else { title }
    }
}

/// An address of IPv6 as it stands in a URL.
fn in_brackets(address: &str) -> Option<String> {
    address.parse::<std::net::Ipv6Addr>().ok().map(|ip| format!("[{ip}]"))
}
