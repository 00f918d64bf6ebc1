//! Data templates.

use super::{Keys, Own, Reader};
use crate::template::settings::{DataSection, SeriesSection, SourceKind};
use crate::template::{
    ARGUMENT_PREFIX, DataTemplate, HTTP_READS, ICMP_READS, Oid, PORT_READS, Piece, READS_MAX, Reading, SERIES_MAX,
    SERIES_NAME_MAX, Series, Source, Text,
};
use trunkline_kit::nearest::suggestion;

impl Reader<'_, '_, '_> {
    pub(super) fn data_template(&mut self, own: &Own<'_>) -> Option<DataTemplate> {
        let mut section = DataSection::default();
        let keys = self.section(own, &["series"], &mut section);
        let table = (!section.table.is_empty()).then(|| section.table.clone());
        if let Some(table) = &table {
            self.known("table", table, self.names.tables(), keys.at("table"));
        }
        self.known("profile", &section.profile, self.names.profiles(), keys.at("profile"));
        self.conditions(&section, table.as_deref(), &keys);
        self.misplaced(&section, own, &keys);
        let step = section.step.map(|step| self.seconds(step, keys.at("step")));
        let title = self.text(&section.title, table.as_deref(), keys.at("title"));
        let series = self.all_series(own, section.source, table.as_deref());
        let source = self.source(&section, table.as_deref(), &keys);
        let DataSection { only, matches, profile, .. } = section;
        Some(DataTemplate { title, source, table, only, matches, profile, step, series })
    }

    fn conditions(&mut self, section: &DataSection, table: Option<&str>, keys: &Keys) {
        let known = self.names.fields(table);
        for condition in section.only.iter().filter(|condition| !known.contains(&condition.field.as_str())) {
            let hint = suggestion(&condition.field, known.iter().copied());
            self.sheet.wrong(keys.at("only"), format!("unknown field '{}'{hint}", condition.field));
        }
        if table.is_none() && !section.only.is_empty() {
            self.sheet.wrong(keys.at("only"), "'only' chooses rows: it needs a table".to_owned());
        }
    }

    /// Keys that the source does not have, and those that it needs.
    fn misplaced(&mut self, section: &DataSection, own: &Own<'_>, keys: &Keys) {
        let source = section.source;
        let paged = matches!(source, SourceKind::Json | SourceKind::Prometheus | SourceKind::Http);
        let ported = matches!(source, SourceKind::Tcp | SourceKind::Udp);
        let timed = paged || ported || matches!(source, SourceKind::Script | SourceKind::Icmp);
        let has = [
            ("command", source == SourceKind::Script),
            ("url", paged),
            ("timeout", timed),
            ("count", source == SourceKind::Icmp),
            ("port", ported),
            ("request", source == SourceKind::Udp),
        ];
        for (key, may) in has {
            if keys.has(key) && !may {
                self.sheet.wrong(keys.at(key), format!("source \"{}\" has no '{key}'", source.name()));
            }
        }
        if source == SourceKind::Script && section.command.is_empty() {
            self.sheet.wrong(own.at, format!("[{}] needs a command: [\"program\", \"argument\"]", own.section));
        }
        if ported && section.port.0.is_empty() {
            self.sheet.wrong(own.at, format!("[{}] needs a port: 1 to 65535", own.section));
        }
        if paged && section.url.is_empty() {
            self.sheet.wrong(own.at, format!("[{}] needs a url: \"http://|address|/metrics\"", own.section));
        }
    }

    fn source(&mut self, section: &DataSection, table: Option<&str>, keys: &Keys) -> Source {
        let timeout = section.timeout;
        let url = self.text(&section.url, table, keys.at("url"));
        if !url.is_empty() && !section.url.starts_with("http://") && !section.url.starts_with("https://") {
            self.sheet.wrong(keys.at("url"), "a url begins with http:// or https://".to_owned());
        }
        match section.source {
            SourceKind::Snmp => Source::Snmp,
            SourceKind::Script => {
                let command: Vec<Text> =
                    section.command.iter().map(|word| self.text(word, table, keys.at("command"))).collect();
                Source::Script { command, timeout }
            }
            SourceKind::Json => Source::Json { url, timeout },
            SourceKind::Prometheus => Source::Prometheus { url, timeout },
            SourceKind::Icmp => Source::Icmp { count: section.count, timeout },
            SourceKind::Tcp => Source::Tcp { port: self.text(&section.port.0, table, keys.at("port")), timeout },
            SourceKind::Udp => {
                let port = self.text(&section.port.0, table, keys.at("port"));
                Source::Udp { port, request: self.text(&section.request, table, keys.at("request")), timeout }
            }
            SourceKind::Http => Source::Http { url, timeout },
            SourceKind::Program => Source::Program,
        }
    }

    fn all_series(&mut self, own: &Own<'_>, source: SourceKind, table: Option<&str>) -> Vec<Series> {
        let mut all: Vec<Series> = Vec::new();
        for inner in self.tables(own, "series") {
            let series = self.series(&inner, source, table);
            if all.iter().any(|other| other.name == series.name) {
                self.sheet.wrong(inner.at, format!("a series '{}' exists already", series.name));
            }
            all.push(series);
        }
        match all.len() {
            0 => self.sheet.wrong(own.at, format!("[{0}] needs series: [[{0}.series]]", own.section)),
            1..=SERIES_MAX => {}
            _ => self.sheet.wrong(own.at, format!("more than {SERIES_MAX} series")),
        }
        all
    }

    fn series(&mut self, own: &Own<'_>, source: SourceKind, table: Option<&str>) -> Series {
        let mut section = SeriesSection::default();
        let keys = self.section(own, &[], &mut section);
        let inside = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if !(1..=SERIES_NAME_MAX).contains(&section.name.len()) || !section.name.bytes().all(inside) {
            let rule = format!("1 to {SERIES_NAME_MAX} letters, digits, '_' and '-'");
            self.sheet.wrong(keys.at("name"), format!("the name of a series is {rule}"));
        }
        for (key, field) in
            [("factor-of", &section.factor_of), ("decimals-of", &section.decimals_of), ("scale-of", &section.scale_of)]
        {
            if let Some(field) = field {
                let known = self.names.fields(table);
                self.known("field", field, known.iter().copied(), keys.at(key));
            }
        }
        let read = self.readings(&section.read, source, &keys);
        let heartbeat = section.heartbeat.map(|time| self.seconds(time, keys.at("heartbeat")));
        let SeriesSection { name, label, kind, min, max, factor, factor_of, decimals_of, scale_of, .. } = section;
        let series = Series { name, label, kind, read, min, max, heartbeat, factor, factor_of, decimals_of, scale_of };
        self.series_holds_together(&series, table, &keys);
        series
    }

    fn series_holds_together(&mut self, series: &Series, table: Option<&str>, keys: &Keys) {
        let multiplied = series.factor.0 != 1.0
            || [&series.factor_of, &series.decimals_of, &series.scale_of].into_iter().any(Option::is_some);
        if multiplied && series.is_counter() {
            let what = "a counter is stored as read; multiply it in a graph's cdef";
            self.sheet.wrong(keys.at("factor"), what.to_owned());
        }
        if series.factor.0 == 0.0 {
            self.sheet.wrong(keys.at("factor"), "a factor is not zero".to_owned());
        }
        if let (Some(min), super::super::Bound::Number(max)) = (series.min, series.max)
            && min >= max
        {
            self.sheet.wrong(keys.at("max"), format!("max {max} is not above min {min}"));
        }
        if series.max == super::super::Bound::Speed && table.is_none() {
            self.sheet.wrong(keys.at("max"), "\"speed\" is that of a row: it needs a table".to_owned());
        }
    }

    fn readings(&mut self, texts: &[String], source: SourceKind, keys: &Keys) -> Vec<Reading> {
        match texts.len() {
            0 => self.sheet.wrong(keys.at("read"), "a series needs read: where it is read".to_owned()),
            1..=READS_MAX => {}
            _ => self.sheet.wrong(keys.at("read"), format!("more than {READS_MAX} ways to read a series")),
        }
        texts.iter().filter_map(|text| self.reading(text, source, keys.at("read"))).collect()
    }

    fn reading(&mut self, text: &str, source: SourceKind, at: usize) -> Option<Reading> {
        let names: &[&str] = match source {
            SourceKind::Snmp => {
                if is_argument(text) {
                    return Some(Reading::Name(text.to_owned()));
                }
                let oid = Oid::parse(text);
                if oid.is_none() {
                    self.sheet.wrong(at, format!("'{text}' is no object identifier such as \"1.3.6.1.2.1.1.3.0\""));
                }
                return oid.map(Reading::Object);
            }
            SourceKind::Icmp => &ICMP_READS,
            SourceKind::Tcp | SourceKind::Udp => &PORT_READS,
            SourceKind::Http => &HTTP_READS,
            SourceKind::Json if !text.is_empty() && !text.starts_with('/') => {
                self.sheet.wrong(at, format!("'{text}' is no JSON pointer such as \"/load/0\" (RFC 6901)"));
                return None;
            }
            SourceKind::Prometheus | SourceKind::Program if !super::check::is_metric(text) => {
                let what = format!("'{text}' is no metric such as \"up\" or \"node_load1{{job=\\\"a\\\"}}\"");
                self.sheet.wrong(at, what);
                return None;
            }
            SourceKind::Script if text.is_empty() || text.contains([' ', ':']) => {
                self.sheet.wrong(at, format!("'{text}' is no name in a program's answer"));
                return None;
            }
            _ => &[],
        };
        (names.is_empty() || self.known("value", text, names.iter().copied(), at))
            .then(|| Reading::Name(text.to_owned()))
    }
}

/// Whether a text is what a data source itself says: `|argument.oid|`.
fn is_argument(text: &str) -> bool {
    matches!(Text::parse(text).pieces(), [Piece::Field(name)] if name.starts_with(ARGUMENT_PREFIX))
}
