//! Templates as a file that is read as the same.

use super::settings::{DataSection, GraphSection, ItemSection, Port, ProfileSection, SeriesSection, TableSection};
use super::settings::{DeviceSection, ThresholdSection};
use super::{
    Archive, DataTemplate, Definition, GraphTemplate, Item, Library, Profile, Reading, RowName, Series, Source,
};
use super::{DeviceTemplate, Number, Oid, SourceKind, Table, Threshold};
use core::fmt::Write as _;
use std::time::Duration;
use trunkline_kit::config::{Section, Value, quoted};

/// Writes all templates of a library; only what differs from what is meant without it.
pub fn write(library: &Library) -> String {
    let mut out = String::new();
    for (name, profile) in &library.profiles {
        head(&mut out, &format!("[profile.{name}]"));
        write_profile(&mut out, profile);
    }
    for (name, table) in &library.tables {
        head(&mut out, &format!("[table.{name}]"));
        write_table(&mut out, name, table);
    }
    for (name, template) in &library.data {
        head(&mut out, &format!("[data.{name}]"));
        write_data(&mut out, name, template);
    }
    for (name, template) in &library.graphs {
        head(&mut out, &format!("[graph.{name}]"));
        write_graph(&mut out, name, template);
    }
    for (name, template) in &library.devices {
        head(&mut out, &format!("[device.{name}]"));
        write_device(&mut out, template);
    }
    out
}

fn head(out: &mut String, text: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(text);
    out.push('\n');
}

/// The keys of a section that are not as they are without being told.
fn keys<S: Section + Default>(out: &mut String, section: &S) {
    let default = S::default();
    for key in section.keys() {
        match (section.text(&key.name), default.text(&key.name)) {
            (Some(text), before) if before.as_ref() != Some(&text) => line(out, &key.name, &text),
            _ => {}
        }
    }
}

fn line(out: &mut String, key: &str, text: &str) {
    // Writing to a text does not fail.
    let _ = writeln!(out, "{key} = {text}");
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}

fn write_profile(out: &mut String, profile: &Profile) {
    let archives: Vec<Archive> = profile.archives.clone();
    keys(
        out,
        &ProfileSection {
            title: profile.title.clone(),
            step: seconds(profile.step),
            heartbeat: profile.heartbeat.map(seconds),
            unknown: Number(profile.unknown),
            functions: profile.functions.clone(),
            archives,
        },
    );
}

fn write_table(out: &mut String, name: &str, table: &Table) {
    let row_name = |name: &RowName| match name {
        RowName::Column(oid) => oid.to_string(),
        RowName::Index => "index".to_owned(),
    };
    let speed = |(oid, unit): &(Oid, f64)| if *unit == 1.0 { oid.to_string() } else { format!("{oid} * {unit}") };
    keys(
        out,
        &TableSection {
            title: table.title.clone(),
            rows: table.rows.clone(),
            names: table.names.iter().map(row_name).collect(),
            labels: table.labels.clone(),
            speeds: table.speeds.iter().map(speed).collect(),
        },
    );
    if !table.fields.is_empty() {
        head(out, &format!("[table.{name}.fields]"));
        for (field, oid) in &table.fields {
            line(out, field, &oid.text());
        }
    }
}

fn write_data(out: &mut String, name: &str, template: &DataTemplate) {
    let mut section = DataSection {
        title: template.title.to_string(),
        table: template.table.clone().unwrap_or_default(),
        only: template.only.clone(),
        matches: template.matches.clone(),
        profile: template.profile.clone(),
        step: template.step.map(seconds),
        ..DataSection::default()
    };
    match &template.source {
        Source::Snmp => {}
        Source::Script { command, timeout } => {
            section.source = SourceKind::Script;
            section.command = command.iter().map(ToString::to_string).collect();
            section.timeout = *timeout;
        }
        Source::Json { url, timeout } => page(&mut section, SourceKind::Json, url.to_string(), *timeout),
        Source::Prometheus { url, timeout } => page(&mut section, SourceKind::Prometheus, url.to_string(), *timeout),
        Source::Http { url, timeout } => page(&mut section, SourceKind::Http, url.to_string(), *timeout),
        Source::Icmp { count, timeout } => {
            section.source = SourceKind::Icmp;
            section.count = *count;
            section.timeout = *timeout;
        }
        Source::Tcp { port, timeout } => {
            (section.source, section.port, section.timeout) = (SourceKind::Tcp, Port(port.to_string()), *timeout);
        }
        Source::Udp { port, request, timeout } => {
            (section.source, section.port, section.timeout) = (SourceKind::Udp, Port(port.to_string()), *timeout);
            section.request = request.to_string();
        }
        Source::Program => section.source = SourceKind::Program,
    }
    keys(out, &section);
    for series in &template.series {
        head(out, &format!("[[data.{name}.series]]"));
        write_series(out, series);
    }
}

fn page(section: &mut DataSection, source: SourceKind, url: String, timeout: Duration) {
    section.source = source;
    section.url = url;
    section.timeout = timeout;
}

fn write_series(out: &mut String, series: &Series) {
    let reading = |reading: &Reading| match reading {
        Reading::Object(oid) => oid.to_string(),
        Reading::Name(name) => name.clone(),
    };
    keys(
        out,
        &SeriesSection {
            name: series.name.clone(),
            label: series.label.clone(),
            kind: series.kind,
            read: series.read.iter().map(reading).collect(),
            min: series.min,
            max: series.max,
            heartbeat: series.heartbeat.map(seconds),
            factor: series.factor,
            factor_of: series.factor_of.clone(),
            decimals_of: series.decimals_of.clone(),
            scale_of: series.scale_of.clone(),
        },
    );
}

fn write_graph(out: &mut String, name: &str, template: &GraphTemplate) {
    keys(
        out,
        &GraphSection {
            title: template.title.to_string(),
            unit: template.unit.clone(),
            base: template.base,
            lower: template.lower,
            upper: template.upper,
            rigid: template.rigid,
            logarithmic: template.logarithmic,
            width: template.width,
            height: template.height,
            aggregate: template.aggregate,
        },
    );
    let definition = |d: &Definition| match d.function {
        super::Function::Average => format!("{}.{}", d.data, d.series),
        function => format!("{}.{} {}", d.data, d.series, function.name()),
    };
    let texts = |list: &[super::Expression]| list.iter().map(|e| (e.name.clone(), e.text.clone())).collect();
    let definitions = template.definitions.iter().map(|d| (d.name.clone(), definition(d))).collect();
    write_texts(out, name, "series", definitions);
    write_texts(out, name, "cdef", texts(&template.computed));
    write_texts(out, name, "vdef", texts(&template.values));
    for item in &template.items {
        head(out, &format!("[[graph.{name}.item]]"));
        write_item(out, item);
    }
    for threshold in &template.thresholds {
        head(out, &format!("[[graph.{name}.threshold]]"));
        write_threshold(out, threshold);
    }
}

fn write_texts(out: &mut String, graph: &str, section: &str, texts: Vec<(String, String)>) {
    if !texts.is_empty() {
        head(out, &format!("[graph.{graph}.{section}]"));
    }
    for (name, text) in texts {
        line(out, &name, &quoted(&text));
    }
}

fn write_item(out: &mut String, item: &Item) {
    keys(
        out,
        &ItemSection {
            kind: item.kind,
            value: item.value.clone(),
            color: item.color,
            width: item.width,
            stack: item.stack,
            dashes: item.dashes.clone(),
            label: item.legend.label.to_string(),
            legend: item.legend.numbers.clone(),
            function: item.legend.function,
            format: item.legend.format.clone(),
            line_end: item.legend.line_end,
        },
    );
}

fn write_threshold(out: &mut String, threshold: &Threshold) {
    keys(
        out,
        &ThresholdSection {
            value: threshold.value.clone(),
            side: threshold.side,
            severity: threshold.severity,
            label: threshold.label.to_string(),
        },
    );
}

fn write_device(out: &mut String, template: &DeviceTemplate) {
    keys(
        out,
        &DeviceSection {
            title: template.title.clone(),
            matches: template.matches.clone(),
            data: template.data.clone(),
            graphs: template.graphs.clone(),
        },
    );
}
