//! What is told, as JSON.

use super::super::import::Imported;
use super::super::scan::ScanShown;
use super::super::{Despiked, DeviceShown, Handle, Status};
use crate::inventory::{DeviceState, Inventory, Version};
use crate::poller::Change;
use serde_json::{Map, Value, json};
use trunkline_rrd::Series;

pub fn credentials(inventory: &Inventory) -> Value {
    let uses = |id: u32| inventory.devices().iter().filter(|(_, device)| device.access.credential == Some(id)).count();
    let told = inventory.credentials().iter().map(|(id, credential)| {
        json!({ "name": &*credential.name, "kind": credential.login.describe(), "devices": uses(id) })
    });
    json!({ "credentials": told.collect::<Vec<_>>() })
}

pub fn devices(handle: &Handle) -> Value {
    let inventory = handle.inventory();
    let told = inventory.devices().iter().map(|(id, _)| outline(handle, &inventory, id));
    json!({ "devices": told.collect::<Vec<_>>() })
}

fn outline(handle: &Handle, inventory: &Inventory, id: u32) -> Value {
    let Some(device) = inventory.devices().get(id) else { return Value::Null };
    let shown = handle.device(id);
    let credential = device.access.credential.and_then(|id| inventory.credentials().get(id));
    json!({
        "device": id,
        "name": &*device.name,
        "address": &*device.address,
        "port": device.access.port,
        "version": device.access.version.map(version),
        "credential": credential.map(|credential| &*credential.name),
        "template": device.template.and_then(|id| inventory.template_name(id)),
        "state": match device.state {
            DeviceState::Active => "active",
            DeviceState::Maintenance => "maintenance",
            DeviceState::Disabled => "disabled",
        },
        "health": health(shown.as_ref()),
        "since_ms": shown.as_ref().map(|shown| shown.since_ms).filter(|since| *since > 0),
        "answered_ms": shown.as_ref().and_then(|shown| shown.answered_ms),
        "sources": inventory.sources_of(id).len(),
        "graphs": inventory.graphs_of(id).len(),
    })
}

fn version(version: Version) -> &'static str {
    match version {
        Version::V1 => "1",
        Version::V2c => "2c",
        Version::V3 => "3",
    }
}

fn health(shown: Option<&DeviceShown>) -> &'static str {
    match shown {
        None => "not polled",
        Some(DeviceShown { refused: Some(_), is_by_probes: false, .. }) => "refused",
        Some(DeviceShown { health: Some(Change::Up), .. }) => "up",
        Some(DeviceShown { health: Some(Change::Down), .. }) => "down",
        Some(_) => "unknown",
    }
}

pub fn device(handle: &Handle, id: u32) -> Value {
    let (inventory, library) = (handle.inventory(), handle.library());
    let mut told = outline(handle, &inventory, id);
    let name = |id: &u32| inventory.devices().get(*id).map(|device| &*device.name);
    told["behind"] = inventory.devices().get(id).iter().flat_map(|d| &d.behind).filter_map(name).collect();
    if let Some(device) = inventory.devices().get(id) {
        let probes = &device.availability;
        told["probes"] = json!({
            "of": probes.probes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "all": probes.all,
            "failures": probes.failures,
            "recoveries": probes.recoveries,
        });
    }
    if let Some(observed) = inventory.observed(id) {
        told["observed"] = json!({
            "object": &*observed.object,
            "name": &*observed.name,
            "description": &*observed.description,
            "location": &*observed.location,
            "contact": &*observed.contact,
        });
    }
    if let Some(shown) = handle.device(id) {
        told["polling"] = json!({
            "missed": shown.missed,
            "restarts": shown.restarts,
            "explored": shown.is_explored,
            "unfound": shown.unfound,
            "unexplored": shown.unexplored,
            "refused": shown.refused.map(|cause| format!("{cause:?}")),
            "rows_stale": shown.is_stale,
            "sources": shown.sources,
            "unreadable": shown.unreadable,
            "probed": shown.probed,
            "flapping": shown.is_flapping,
            "faults_total": shown.faults_total,
        });
        let template = |source: u32| inventory.template_name(inventory.sources().get(source)?.template);
        let fault = |(source, text): &(Option<u32>, String)| {
            let template = source.and_then(template);
            json!({ "source": source, "template": template, "text": text })
        };
        told["faults"] = shown.faults.iter().map(fault).collect();
    }
    let row = |id: &u32| {
        let row = inventory.rows().get(*id)?;
        let fields = inventory.fields(row.device, Some(*id));
        Some(json!({
            "row": id,
            "table": inventory.template_name(row.table),
            "name": &*row.name,
            "label": &*row.label,
            "index": fields.get("index"),
            "speed": row.speed,
        }))
    };
    let source = |id: &u32| {
        let source = inventory.sources().get(*id)?;
        Some(json!({
            "source": id,
            "template": inventory.template_name(source.template),
            "row": source.row.and_then(|row| inventory.rows().get(row)).map(|row| &*row.name),
            "active": source.active,
            "how": library.data.get(inventory.template_name(source.template)?).map(|data| data.source.name()),
            "file": handle.file(*id),
        }))
    };
    let graph = |id: &u32| json!({ "graph": id, "title": inventory.title(&library, *id) });
    told["rows"] = inventory.rows_of(id).iter().filter_map(row).collect();
    told["data_sources"] = inventory.sources_of(id).iter().filter_map(source).collect();
    told["graph_list"] = inventory.graphs_of(id).iter().map(graph).collect();
    told
}

pub fn discovery(shown: &ScanShown) -> Value {
    let ScanShown { is_running, network, asked, of, answered, added, known, refused, failures } = shown;
    json!({
        "running": is_running,
        "network": network,
        "asked": asked,
        "of": of,
        "answered": answered,
        "added": added,
        "known": known,
        "refused": refused,
        "failures": failures,
    })
}

pub fn status(status: &Status) -> Value {
    let counters = |list: Vec<trunkline_kit::counters::Counted>| -> Map<String, Value> {
        list.into_iter().map(|one| (one.name.to_owned(), one.value.into())).collect()
    };
    let files = &status.files.counters;
    json!({
        "sequence": status.sequence,
        "inventory_copies": status.inventory_copies,
        "devices": {
            "all": status.devices,
            "polled": status.polled,
            "up": status.up,
            "down": status.down,
            "refused": status.refused,
            "disabled": status.disabled,
            "flapping": status.flapping,
            "explored": status.explored,
            "without_address": status.nameless,
            "without_credential": status.unasked,
        },
        "sources": status.sources,
        "sources_polled": status.sources_polled,
        "graphs": status.graphs,
        "samples_per_s": status.samples_per_s,
        "samples_stale": status.stale_samples,
        "samples_silent": status.silent_samples,
        "outstanding": status.outstanding,
        "cycles_missed": status.polls.cycles_missed,
        "journal": {
            "durable": status.journal.durable,
            "filed": status.journal.filed,
            "behind_octets": status.journal.behind_octets,
            "samples": status.journal.samples,
            "dropped": status.journal.dropped,
        },
        "probes": {
            "devices": status.probes.devices,
            "sources": status.probes.sources,
            "faults": status.probes.faults,
            "outstanding": status.probes.outstanding.iter().sum::<usize>(),
            "counts": counters(status.probes.counts.list()),
        },
        "realtime": {
            "sources": status.realtime_sources,
            "samples": status.realtime.samples,
            "refused": status.realtime.refused,
        },
        "files": {
            "made": status.files.files_made,
            "removed": status.files.files_removed,
            "swept": status.files.files_swept,
            "aside": status.files.files_aside,
            "waiting_octets": status.files.waiting_octets,
            "samples_lost": status.files.samples_lost,
            "samples_stored": files.samples_stored_total,
            "values_stored": files.values_stored_total,
            "samples_past": files.samples_past_total,
            "samples_refused": files.samples_refused_total,
            "files_written": files.files_written_total,
            "files_locked": files.files_locked_total,
        },
        "polls": counters(status.polls.list()),
        "sockets": counters(status.sockets.list()),
        "troubles": status.troubles,
    })
}

pub fn imported(imported: &Imported) -> Value {
    let Imported { sequence, changes, templates, template_file, files, refused, told } = imported;
    json!({
        "sequence": sequence,
        "changes": changes,
        "templates": templates,
        "template_file": template_file,
        "files": files,
        "files_refused": refused,
        "told": told,
    })
}

pub fn series(series: &Series) -> Value {
    let width = series.names.len().max(1);
    let number = |value: &f64| if value.is_nan() { Value::Null } else { json!(value) };
    let row = |(at, values): (usize, &[f64])| {
        let time = series.start_s + (at as i64 + 1) * series.step_s;
        json!([time, values.iter().map(number).collect::<Vec<_>>()])
    };
    let rows: Vec<Value> = series.values.chunks(width).enumerate().map(row).collect();
    json!({ "step": series.step_s, "names": series.names, "rows": rows })
}

/// What is unknown is null.
pub fn spikes(found: &Despiked) -> Value {
    let number = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
    let spikes = found.spikes.iter().map(|spike| {
        json!({
            "series": spike.series, "function": spike.function.to_lowercase(), "row": spike.row_s,
            "end": spike.end_s, "value": number(spike.value), "becomes": number(spike.becomes),
        })
    });
    json!({ "spikes": spikes.collect::<Vec<_>>(), "backup": found.backup })
}
