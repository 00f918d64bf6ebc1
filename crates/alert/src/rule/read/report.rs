//! Reports.

use super::{CHANNELS_MAX, Keys, Own, Reader};
use crate::rule::report::{Choice, PARTS_MAX, Part, PartOf, Report, TIMES_MAX};
use crate::rule::settings::{PartKind, PartSection, ReportSection};

/// Characters of a title and of a text.
const TITLE_MAX: usize = 200;
const TEXT_MAX: usize = 4096;
/// Graphs that are named by their numbers.
const IDS_MAX: usize = 1000;

/// Keys, and the kinds of sections that have them.
const OF_KINDS: [(&str, &[PartKind]); 8] = [
    ("place", &[PartKind::Graphs, PartKind::Table]),
    ("device", &[PartKind::Graphs, PartKind::Table, PartKind::Devices]),
    ("template", &[PartKind::Graphs, PartKind::Table]),
    ("index", &[PartKind::Graphs, PartKind::Table]),
    ("ids", &[PartKind::Graphs, PartKind::Table]),
    ("values", &[PartKind::Graphs, PartKind::Table]),
    ("by", &[PartKind::Table]),
    ("destination", &[PartKind::Calls]),
];

impl Reader<'_, '_, '_> {
    pub(super) fn report(&mut self, own: &Own<'_>) -> Report {
        let mut section = ReportSection::default();
        let keys = self.section(own, &["section"], &mut section);
        if section.schedule.is_empty() && !keys.has("schedule") {
            self.sheet.wrong(own.at, format!("[{}] needs a schedule: \"Mon 07:00\"", own.section));
        }
        if section.schedule.len() > TIMES_MAX {
            self.sheet.wrong(keys.at("schedule"), format!("more than {TIMES_MAX} times"));
        }
        self.readers(&section.channels, own, &keys);
        self.bounded("title", &section.title, TITLE_MAX, &keys);
        self.bounded("text", &section.text, TEXT_MAX, &keys);
        let inner = self.tables(own, "section");
        if inner.is_empty() {
            self.sheet.wrong(own.at, format!("[{0}] needs a section: [[{0}.section]]", own.section));
        }
        if inner.len() > PARTS_MAX {
            self.sheet.wrong(own.at, format!("more than {PARTS_MAX} sections"));
        }
        let parts = inner.iter().filter_map(|inner| self.part(inner)).collect();
        let ReportSection { schedule, zone, span, channels, title, text } = section;
        let title = if title.trim().is_empty() { own.name.clone() } else { title };
        Report { title, text, schedule, zone, length: span, channels, parts }
    }

    /// A report has pictures and tables, or is JSON: no line, and no argument of a command.
    fn readers(&mut self, channels: &[String], own: &Own<'_>, keys: &Keys) {
        if channels.is_empty() {
            self.sheet.wrong(own.at, format!("[{}] needs channels: [\"NAME\"]", own.section));
        }
        if channels.len() > CHANNELS_MAX {
            self.sheet.wrong(keys.at("channels"), format!("more than {CHANNELS_MAX} channels"));
        }
        for name in channels {
            self.known("channel", name, &self.names.channels, keys.at("channels"));
            if let Some(kind) = self.names.lines.get(name) {
                let what = format!("a report goes by mail, or to a webhook; the channel '{name}' is \"{kind}\"");
                self.sheet.wrong(keys.at("channels"), what);
            }
        }
    }

    fn part(&mut self, own: &Own<'_>) -> Option<Part> {
        let mut section = PartSection::default();
        let keys = self.section(own, &[], &mut section);
        if !keys.has("kind") {
            let kinds: Vec<&str> = PartKind::ALL.iter().map(|kind| kind.name()).collect();
            self.sheet.wrong(own.at, format!("[[{}]] needs a kind, one of {}", own.section, kinds.join(", ")));
            return None;
        }
        for (key, kinds) in OF_KINDS.iter().filter(|(key, kinds)| keys.has(key) && !kinds.contains(&section.kind)) {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            let what = format!("a section \"{}\" has no '{key}'; {} has", section.kind.name(), names.join(", "));
            self.sheet.wrong(keys.at(key), what);
        }
        self.bounded("title", &section.title, TITLE_MAX, &keys);
        if section.ids.len() > IDS_MAX {
            self.sheet.wrong(keys.at("ids"), format!("more than {IDS_MAX} graphs"));
        }
        let names = section.place.split('/').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        let choice = Choice {
            place: names.collect(),
            devices: section.device,
            templates: section.template,
            indexes: section.index,
            ids: section.ids,
        };
        let of = match section.kind {
            PartKind::Graphs => PartOf::Graphs { choice, archive: section.values },
            PartKind::Table => PartOf::Table { choice, by: section.by, archive: section.values },
            PartKind::Alerts => PartOf::Alerts,
            PartKind::Devices => PartOf::Devices { devices: choice.devices },
            PartKind::Calls => PartOf::Calls { destination: section.destination },
            PartKind::Losses => PartOf::Losses,
            PartKind::Charges => PartOf::Charges,
        };
        Some(Part { title: section.title, of, limit: section.limit as usize })
    }

    fn bounded(&mut self, key: &str, text: &str, most: usize, keys: &Keys) {
        if text.chars().count() > most {
            self.sheet.wrong(keys.at(key), format!("more than {most} characters"));
        }
    }
}
