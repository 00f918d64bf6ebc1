//! Devices: which there are, how they are, and what is read of one.

use super::asked::Asked;
use super::{DEVICE_ROWS_MAX, Unanswered, View, part};
use crate::inventory::{Device, DeviceState, Version};
use serde_json::{Value, json};

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

/// Devices whose name, address, site or description has all words of `text`, in the order of their names.
pub(super) fn list(view: &View<'_>, asked: Asked<'_>) -> Result<Value, Unanswered> {
    let text = asked.maybe_text("text")?.unwrap_or_default().to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let (wanted, site) = (asked.maybe_text("state")?, asked.maybe_id("site")?);
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
            let is_wanted = || wanted.is_none_or(|wanted| wanted == state(view, *id, device));
            view.sees_device(*id)
                && is_wanted()
                && site.is_none_or(|site| device.site == Some(site))
                && has(*id, device)
        })
        .collect();
    found.sort_by(|a, b| a.1.name.cmp(&b.1.name));
    let total = found.len();
    let devices: Vec<Value> = part(found.into_iter(), asked)?.map(|(id, device)| brief(view, id, device)).collect();
    Ok(json!({ "total": total, "devices": devices }))
}

fn site_name<'v>(view: &View<'v>, device: &Device) -> Option<&'v str> {
    view.inventory.sites().get(device.site?).map(|site| &*site.name)
}

fn brief(view: &View<'_>, id: u32, device: &Device) -> Value {
    let polled = (view.polled)(id).unwrap_or_default();
    let graphs = view.inventory.graphs_of(id).iter().filter(|graph| view.sees_graph(**graph)).count();
    let sources = view.inventory.sources_of(id).iter().filter(|source| view.sees_source(**source)).count();
    json!({
        "id": id, "name": &*device.name, "address": &*device.address, "site": site_name(view, device),
        "state": state(view, id, device), "quiet": device.state == DeviceState::Maintenance,
        "since": polled.since_s, "troubles": polled.troubles,
        "graphs": graphs, "sources": sources,
    })
}

/// The number of a device with that name.
pub(super) fn named(view: &View<'_>, name: &str) -> Result<Value, Unanswered> {
    let id = view.inventory.device_named(name).filter(|id| view.sees_device(*id));
    id.map(|id| json!({ "id": id })).ok_or_else(|| Unanswered::Unknown(format!("there is no device '{name}'")))
}

/// A device with what it says of itself, its rows and data sources.
pub(super) fn show(view: &View<'_>, id: u32) -> Result<Value, Unanswered> {
    let inventory = view.inventory;
    let device = inventory.devices().get(id).filter(|_| view.sees_device(id));
    let device = device.ok_or_else(|| Unanswered::Unknown(format!("there is no device {id}")))?;
    let polled = (view.polled)(id).unwrap_or_default();
    let mut shown = brief(view, id, device);
    let observed = inventory.observed(id).cloned().unwrap_or_default();
    let behind = device
        .behind
        .iter()
        .filter(|id| view.sees_device(**id))
        .filter_map(|id| inventory.devices().get(*id).map(|device| json!({ "id": id, "name": &*device.name })));
    let credential = device.access.credential.and_then(|id| inventory.credentials().get(id));
    let rows = inventory.rows_of(id).iter().filter(|row| view.sees_row(**row));
    let (rows_total, rows) = (rows.clone().count(), rows.take(DEVICE_ROWS_MAX).filter_map(|one| row(view, *one)));
    let fault = |id: u32| polled.faults.iter().find(|(source, _)| *source == id).map(|(_, text)| text.as_str());
    let sources = inventory.sources_of(id).iter().filter(|source| view.sees_source(**source));
    let sources = sources.take(DEVICE_ROWS_MAX).filter_map(|one| source(view, *one, fault(*one)));
    let probes = &device.availability;
    let more = json!({
        "answered": polled.answered_s, "missed": polled.missed, "round_trip_ms": polled.round_trip_ms,
        "template": device.template.and_then(|template| inventory.template_name(template)),
        "version": device.access.version.map(|version| match version {
            Version::V1 => "1",
            Version::V2c => "2c",
            Version::V3 => "3",
        }),
        "port": device.access.port, "credential": credential.map(|credential| &*credential.name),
        "step_s": device.step, "notes": &*device.notes,
        "probes": {
            "of": probes.probes.iter().map(ToString::to_string).collect::<Vec<_>>(), "all": probes.all,
            "failures": probes.failures, "recoveries": probes.recoveries,
        },
        "flapping": polled.flapping,
        "system": {
            "object": &*observed.object, "name": &*observed.name, "description": &*observed.description,
            "location": &*observed.location, "contact": &*observed.contact,
        },
        "behind": behind.collect::<Vec<_>>(),
        "rows_total": rows_total, "rows": rows.collect::<Vec<_>>(),
        "read": sources.collect::<Vec<_>>(),
    });
    if let (Value::Object(shown), Value::Object(more)) = (&mut shown, more) {
        shown.extend(more);
    }
    Ok(shown)
}

fn row(view: &View<'_>, id: u32) -> Option<Value> {
    let row = view.inventory.rows().get(id)?;
    let table = view.inventory.template_name(row.table).unwrap_or_default();
    let title = view.library.tables.get(table).map_or(table, |table| table.title.as_str());
    let index = row.index.as_ref().map(|index| {
        let numbers: Vec<String> = index.iter().map(u32::to_string).collect();
        numbers.join(".")
    });
    Some(json!({
        "id": id, "table": title, "name": &*row.name, "label": &*row.label, "index": index,
        "speed": (row.speed > 0).then_some(row.speed),
    }))
}

/// What is read: as what, how, how often, and when there was something last.
fn source(view: &View<'_>, id: u32, fault: Option<&str>) -> Option<Value> {
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
    Some(json!({
        "id": id, "title": title.filter(|title| !title.is_empty()).unwrap_or_else(|| name.to_owned()),
        "template": name, "how": how, "row": row.map(|row| &*row.name),
        "absent": row.is_some_and(|row| row.index.is_none()), "active": source.active,
        "step_s": step_s, "last": last_s, "silent": is_silent, "fault": fault,
    }))
}

/// How long a file may be behind beside three steps, seconds.
const SILENT_AFTER_S: i64 = 900;
