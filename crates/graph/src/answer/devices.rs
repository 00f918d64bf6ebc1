//! Devices: which there are, how they are, and what is read of one.

use super::{DEVICE_ROWS_MAX, LIMIT, PART_MAX, Part, Unanswered, View, part_of};
use crate::inventory::{Device, DeviceState, Version};
use trunkline_contract::graph::{
    GraphDevice, GraphDeviceBrief, GraphDevices, GraphNeighbour, GraphProbes, GraphRead, GraphRow, GraphSystem,
    NamedDevice,
};

/// How a device is, in a word: up, down, unknown, disabled.
pub(super) fn state(view: &View<'_>, id: u32, device: &Device) -> &'static str {
    if device.state == DeviceState::Disabled {
        return "disabled";
    }
    match (view.polled)(id).and_then(|polled| polled.up) {
        Some(true) => "up",
        Some(false) => "down",
        None => "unknown",
    }
}

/// Which devices.
pub(super) struct Wanted<'w> {
    /// Words of their name, address, site, description or notes.
    pub text: Option<&'w str>,
    /// How they are.
    pub state: Option<&'w str>,
    /// Their site.
    pub site: Option<u32>,
}

/// Devices that are wanted, in the order of their names.
pub(super) fn list(view: &View<'_>, wanted: &Wanted<'_>, part: Part) -> Result<GraphDevices, Unanswered> {
    let (offset, limit) = part_of(part, PART_MAX, LIMIT)?;
    let text = wanted.text.unwrap_or_default().to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let has = |id: u32, device: &Device| {
        let observed = view.inventory.observed(id);
        let site = site_name(view, device).unwrap_or_default();
        let about = observed.map(|observed| &*observed.description).unwrap_or_default();
        let all = [&device.name, &device.address, site, about, &device.notes].join("\n").to_lowercase();
        words.iter().all(|word| all.contains(word))
    };
    let mut found: Vec<(u32, &Device)> = view
        .inventory
        .devices()
        .iter()
        .filter(|(id, device)| {
            let is_wanted = || wanted.state.is_none_or(|wanted| wanted == state(view, *id, device));
            view.sees_device(*id)
                && is_wanted()
                && wanted.site.is_none_or(|site| device.site == Some(site))
                && has(*id, device)
        })
        .collect();
    found.sort_by(|a, b| a.1.name.cmp(&b.1.name));
    let total = found.len() as u64;
    let part = found.into_iter().skip(offset).take(limit);
    Ok(GraphDevices { total, devices: part.map(|(id, device)| brief(view, id, device)).collect() })
}

fn site_name<'v>(view: &View<'v>, device: &Device) -> Option<&'v str> {
    view.inventory.sites().get(device.site?).map(|site| &*site.name)
}

fn brief(view: &View<'_>, id: u32, device: &Device) -> GraphDeviceBrief {
    let polled = (view.polled)(id).unwrap_or_default();
    let graphs = view.inventory.graphs_of(id).iter().filter(|graph| view.sees_graph(**graph)).count();
    let sources = view.inventory.sources_of(id).iter().filter(|source| view.sees_source(**source)).count();
    GraphDeviceBrief {
        id,
        name: device.name.to_string(),
        address: device.address.to_string(),
        site: site_name(view, device).map(str::to_owned),
        state: state(view, id, device).to_owned(),
        quiet: device.state == DeviceState::Maintenance,
        since: polled.since_s,
        troubles: polled.troubles,
        graphs: graphs as u64,
        sources: sources as u64,
    }
}

/// The number of a device with that name.
pub(super) fn named(view: &View<'_>, name: &str) -> Result<NamedDevice, Unanswered> {
    let id = view.inventory.device_named(name).filter(|id| view.sees_device(*id));
    id.map(|id| NamedDevice { id }).ok_or_else(|| Unanswered::Unknown(format!("there is no device '{name}'")))
}

/// A device with what it says of itself, its rows and data sources.
pub(super) fn show(view: &View<'_>, id: u32) -> Result<GraphDevice, Unanswered> {
    let inventory = view.inventory;
    let device = inventory.devices().get(id).filter(|_| view.sees_device(id));
    let device = device.ok_or_else(|| Unanswered::Unknown(format!("there is no device {id}")))?;
    let polled = (view.polled)(id).unwrap_or_default();
    let behind = device.behind.iter().filter(|id| view.sees_device(**id));
    let behind = behind.filter(|id| inventory.devices().has(**id)).map(|id| neighbour(view, *id));
    let credential = device.access.credential.and_then(|id| inventory.credentials().get(id));
    let rows = inventory.rows_of(id).iter().filter(|row| view.sees_row(**row));
    let (rows_total, rows) = (rows.clone().count(), rows.take(DEVICE_ROWS_MAX).filter_map(|one| row(view, *one)));
    let fault = |id: u32| polled.faults.iter().find(|(source, _)| *source == id).map(|(_, text)| text.as_str());
    let sources = inventory.sources_of(id).iter().filter(|source| view.sees_source(**source));
    let sources = sources.take(DEVICE_ROWS_MAX).filter_map(|one| source(view, *one, fault(*one)));
    let template = device.template.and_then(|template| inventory.template_name(template));
    Ok(GraphDevice {
        brief: brief(view, id, device),
        answered: polled.answered_s,
        missed: polled.missed,
        round_trip_ms: polled.round_trip_ms,
        template: template.map(str::to_owned),
        version: device.access.version.map(|version| version_name(version).to_owned()),
        port: device.access.port,
        credential: credential.map(|credential| credential.name.to_string()),
        step_s: device.step,
        notes: device.notes.to_string(),
        probes: probes(device),
        flapping: polled.flapping,
        system: system(view, id),
        behind: behind.collect(),
        rows_total: rows_total as u64,
        rows: rows.collect(),
        read: sources.collect(),
    })
}

/// A device by its number and its name.
pub(super) fn neighbour(view: &View<'_>, id: u32) -> GraphNeighbour {
    let name = view.inventory.devices().get(id).map(|device| device.name.to_string());
    GraphNeighbour { id, name: name.unwrap_or_default() }
}

fn version_name(version: Version) -> &'static str {
    match version {
        Version::V1 => "1",
        Version::V2c => "2c",
        Version::V3 => "3",
    }
}

fn probes(device: &Device) -> GraphProbes {
    let probes = &device.availability;
    GraphProbes {
        of: probes.probes.iter().map(ToString::to_string).collect(),
        all: probes.all,
        failures: probes.failures,
        recoveries: probes.recoveries,
    }
}

fn system(view: &View<'_>, id: u32) -> GraphSystem {
    let Some(observed) = view.inventory.observed(id) else { return GraphSystem::default() };
    GraphSystem {
        object: observed.object.to_string(),
        name: observed.name.to_string(),
        description: observed.description.to_string(),
        location: observed.location.to_string(),
        contact: observed.contact.to_string(),
    }
}

fn row(view: &View<'_>, id: u32) -> Option<GraphRow> {
    let row = view.inventory.rows().get(id)?;
    let table = view.inventory.template_name(row.table).unwrap_or_default();
    let title = view.library.tables.get(table).map_or(table, |table| table.title.as_str());
    let index = row.index.as_ref().map(|index| {
        let numbers: Vec<String> = index.iter().map(u32::to_string).collect();
        numbers.join(".")
    });
    Some(GraphRow {
        id,
        table: title.to_owned(),
        name: row.name.to_string(),
        label: row.label.to_string(),
        index,
        speed: (row.speed > 0).then_some(row.speed),
    })
}

/// What is read: as what, how, how often, and when there was something last.
fn source(view: &View<'_>, id: u32, fault: Option<&str>) -> Option<GraphRead> {
    let source = view.inventory.sources().get(id)?;
    let name = view.inventory.template_name(source.template).unwrap_or_default();
    let template = view.library.data.get(name);
    let fields = view.inventory.fields_of_source(id)?;
    let title = template.map(|template| template.title.with(|field| fields.get(field)));
    let how = template.map(|template| template.source.name());
    let row = source.row.and_then(|row| view.inventory.rows().get(row));
    let device = view.inventory.devices().get(source.device)?;
    let step_s = device.step.or_else(|| view.library.step(name));
    let last_s = view.files.last_s(id);
    // Files are written a few minutes after what they hold was read.
    let is_silent =
        step_s.zip(last_s).is_some_and(|(step_s, last_s)| view.now_s - last_s > i64::from(step_s) * 3 + SILENT_AFTER_S);
    Some(GraphRead {
        id,
        title: title.filter(|title| !title.is_empty()).unwrap_or_else(|| name.to_owned()),
        template: name.to_owned(),
        how: how.map(str::to_owned),
        row: row.map(|row| row.name.to_string()),
        absent: row.is_some_and(|row| row.index.is_none()),
        active: source.active,
        step_s,
        last: last_s,
        silent: is_silent,
        fault: fault.map(str::to_owned),
    })
}

/// How long a file may be behind beside three steps, seconds.
const SILENT_AFTER_S: i64 = 900;
