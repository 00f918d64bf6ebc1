//! Figures as a document: headings, tables, pictures, in the words of those who read it.

use super::figures::{
    AlertFigures, AlertShown, CallFigures, ChargeFigures, DeviceFigures, Figures, Gathered, GraphFigures, LossFigures,
    Ranked, Ranking,
};
use super::numbers::{duration, percent, scaled, signed, total, whole};
use crate::rule::Zone;

/// Pictures of a report; further graphs are counted.
// Limit: pictures of one report
// Beyond: further graphs are counted
// Seen in: the report
pub const PICTURES_MAX: usize = 60;
/// Octets of all its pictures: what mail servers take, as base64 is a third longer.
// Limit: size of all pictures of one report
// Beyond: further graphs are counted
// Seen in: the report
pub const PICTURES_OCTETS_MAX: usize = 8 << 20;
/// Characters of a text from outside; what is longer is cut.
const TEXT_MAX: usize = 200;

/// A document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its first line.
    pub title: String,
    /// Of which time it tells.
    pub span: String,
    /// What stands below it; may be empty.
    pub text: String,
    /// Its sections.
    pub sections: Vec<Section>,
    /// Where it comes from.
    pub foot: String,
    /// Octets of pictures (PNG), by number.
    pub pictures: Vec<Vec<u8>>,
}

/// A section.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// What is in it.
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A sentence.
    Note(String),
    /// Numbers that are seen first: what they are, and they.
    Tiles(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// A picture by its number, and its title.
    Picture(usize, String),
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
    /// What is said of rows that are not in it; may be empty.
    pub more: String,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// Whether it has numbers.
    pub is_number: bool,
    /// Whether it is left out where there is no room.
    pub drops: bool,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A severity.
    Severity(String),
    /// A bar, 0 to 1.
    Bar(f64),
}

const fn text(name: &'static str) -> Column {
    Column { name, is_number: false, drops: false }
}

const fn number(name: &'static str) -> Column {
    Column { name, is_number: true, drops: false }
}

const fn dropping(column: Column) -> Column {
    Column { drops: true, ..column }
}

/// A document of what was gathered.
pub fn document(gathered: &Gathered) -> Document {
    let mut pictures = Pictures::default();
    let section = |told: &super::Told| {
        let blocks = match &told.figures {
            Ok(figures) => blocks(figures, &gathered.zone, &mut pictures),
            Err(why) => vec![Block::Note(clean(why))],
        };
        Section { title: clean(&told.title), blocks }
    };
    let sections = gathered.sections.iter().map(section).collect();
    let time = |at_s: i64| minute(&gathered.zone, at_s);
    let zone = gathered.zone.name();
    Document {
        title: clean(&gathered.title),
        span: format!("{} to {} ({zone})", time(gathered.from_s), time(gathered.to_s)),
        text: gathered.text.trim().to_owned(),
        sections,
        foot: format!("Report '{}' of Trunkline, made {} ({zone}).", gathered.report, time(gathered.made_s)),
        pictures: pictures.all,
    }
}

#[derive(Default)]
struct Pictures {
    all: Vec<Vec<u8>>,
    octets: usize,
    left_out: u64,
}

impl Pictures {
    /// Its number, if there is room for it.
    fn put(&mut self, png: &[u8]) -> Option<usize> {
        let fits = self.all.len() < PICTURES_MAX && self.octets + png.len() <= PICTURES_OCTETS_MAX;
        if !fits {
            self.left_out += 1;
            return None;
        }
        self.octets += png.len();
        self.all.push(png.to_vec());
        Some(self.all.len() - 1)
    }
}

fn blocks(figures: &Figures, zone: &Zone, pictures: &mut Pictures) -> Vec<Block> {
    match figures {
        Figures::Graphs(graphs) => of_graphs(graphs, pictures),
        Figures::Table(ranking) => of_table(ranking),
        Figures::Alerts(alerts) => of_alerts(alerts, zone),
        Figures::Devices(devices) => of_devices(devices),
        Figures::Calls(calls) => of_calls(calls),
        Figures::Losses(losses) => of_losses(losses),
        Figures::Charges(charges) => of_charges(charges),
    }
}

fn of_graphs(graphs: &GraphFigures, pictures: &mut Pictures) -> Vec<Block> {
    let before = pictures.left_out;
    let mut blocks = Vec::new();
    for graph in &graphs.graphs {
        match &graph.trouble {
            Some(why) => blocks.push(Block::Note(format!("{}: no picture: {}", clean(&graph.title), clean(why)))),
            None => blocks.extend(pictures.put(&graph.png).map(|at| Block::Picture(at, clean(&graph.title)))),
        }
    }
    if graphs.graphs.is_empty() {
        blocks.push(Block::Note("No graph is chosen by this section.".to_owned()));
    }
    let left_out = pictures.left_out - before;
    if left_out > 0 {
        let what = plural(left_out, "picture is", "pictures are");
        blocks.push(Block::Note(format!("{what} left out: a mail has room for {PICTURES_MAX} and 8 MiB.")));
    }
    if graphs.more > 0 {
        let what = plural(graphs.more, "further graph is", "further graphs are");
        blocks.push(Block::Note(format!("{what} chosen and not shown.")));
    }
    blocks
}

fn of_table(ranking: &Ranking) -> Vec<Block> {
    let greatest = |row: &Ranked| figure(row, ranking.by).unwrap_or(0.0);
    let top = ranking.rows.first().map_or(0.0, greatest);
    let head =
        [text("graph"), dropping(text("")), number("95th percentile"), number("mean"), number("most"), number("total")];
    let row = |row: &Ranked| {
        let by = |value: Option<f64>| Cell::Text(scaled(value, &row.unit, row.base));
        let name = [clean(&row.title), clean(&row.series)].into_iter().filter(|part| !part.is_empty());
        vec![
            Cell::Text(name.collect::<Vec<_>>().join(", ")),
            Cell::Bar(if top > 0.0 { (greatest(row) / top).clamp(0.0, 1.0) } else { 0.0 }),
            by(row.p95),
            by(row.mean),
            by(row.max),
            Cell::Text(total(row.total, &row.unit)),
        ]
    };
    if ranking.rows.is_empty() {
        let why = match ranking.unknown {
            0 => "No graph is chosen by this section.",
            _ => "No data of these graphs in this period.",
        };
        return vec![Block::Note(why.to_owned())];
    }
    let by = match ranking.by {
        "mean" => "mean",
        "max" => "greatest value",
        "total" => "total",
        _ => "95th percentile",
    };
    let mut more = vec![format!("The greatest by {by} first.")];
    if ranking.more > 0 {
        more.push(format!("{} not shown.", plural(ranking.more, "further series is", "further series are")));
    }
    if ranking.unknown > 0 {
        more.push(format!("No data of {} in this period.", whole(ranking.unknown)));
    }
    if ranking.beyond > 0 {
        more.push(format!("{} not looked at.", plural(ranking.beyond, "further graph was", "further graphs were")));
    }
    let rows = ranking.rows.iter().map(row).collect();
    vec![Block::Table(Table { columns: head.to_vec(), rows, more: more.join(" ") })]
}

/// A figure by its name.
pub fn figure(row: &Ranked, by: &str) -> Option<f64> {
    match by {
        "mean" => row.mean,
        "max" => row.max,
        "total" => row.total,
        _ => row.p95,
    }
}

fn of_alerts(alerts: &AlertFigures, zone: &Zone) -> Vec<Block> {
    let mut blocks = Vec::new();
    if alerts.is_cut {
        blocks.push(Block::Note(
            "There were more alerts than the history keeps: the oldest ones of this period are not counted.".to_owned(),
        ));
    }
    if alerts.count == 0 {
        blocks.push(Block::Note("No alerts.".to_owned()));
        return blocks;
    }
    let mut tiles = vec![("alerts".to_owned(), whole(alerts.count))];
    tiles.extend(alerts.severities.iter().map(|(name, count)| (clean(name), whole(*count))));
    tiles.push(("not over".to_owned(), whole(alerts.open)));
    blocks.push(Block::Tiles(tiles));
    if let Some(longest) = &alerts.longest {
        let title = clean(&longest.title);
        blocks.push(Block::Note(format!("The longest, {}: {title}", duration(longest.in_span_s))));
    }
    let head = [text("rule"), text("severity"), number("alerts"), number("open for"), number("longest")];
    let rows = alerts.rules.iter().map(|rule| {
        vec![
            Cell::Text(clean(&rule.rule)),
            Cell::Severity(clean(&rule.severity)),
            Cell::Text(whole(rule.count)),
            Cell::Text(duration(rule.open_s)),
            Cell::Text(duration(rule.longest_s)),
        ]
    });
    blocks.push(Block::Table(Table { columns: head.to_vec(), rows: rows.collect(), more: beyond(alerts.more_rules) }));
    let head = [text("began"), dropping(text("severity")), text("alert"), number("took")];
    let row = |alert: &AlertShown| {
        let took = match alert.ended_s {
            Some(ended_s) => duration(ended_s - alert.began_s),
            None => "not over".to_owned(),
        };
        let severity = Cell::Severity(clean(&alert.severity));
        vec![Cell::Text(minute(zone, alert.began_s)), severity, Cell::Text(clean(&alert.title)), Cell::Text(took)]
    };
    let rows = alerts.alerts.iter().map(row).collect();
    blocks.push(Block::Table(Table { columns: head.to_vec(), rows, more: beyond(alerts.more) }));
    blocks
}

fn of_devices(devices: &DeviceFigures) -> Vec<Block> {
    if devices.count == 0 {
        return vec![Block::Note(
            "No data of these devices in this period: availability is recorded while alerts and graphs run together."
                .to_owned(),
        )];
    }
    let tiles = [("devices", devices.count), ("up all the time", devices.always_up)];
    let tiles = tiles.map(|(name, count)| (name.to_owned(), whole(count)));
    let mut blocks = vec![Block::Tiles(tiles.to_vec())];
    if devices.devices.is_empty() {
        return blocks;
    }
    let head = [
        text("device"),
        number("up"),
        number("down for"),
        number("times"),
        number("longest"),
        dropping(number("not known")),
    ];
    let rows = devices.devices.iter().map(|device| {
        vec![
            Cell::Text(clean(&device.device)),
            Cell::Text(percent(Some(device.up_percent))),
            Cell::Text(duration(device.down_s)),
            Cell::Text(whole(device.times_down)),
            Cell::Text(duration(device.longest_s)),
            Cell::Text(duration(device.unknown_s)),
        ]
    });
    let more = match devices.more {
        0 => String::new(),
        more => format!("{} not up all the time, either.", plural(more, "further device was", "further devices were")),
    };
    blocks.push(Block::Table(Table { columns: head.to_vec(), rows: rows.collect(), more }));
    blocks
}

fn of_calls(calls: &CallFigures) -> Vec<Block> {
    let mut blocks = Vec::new();
    if calls.calls == 0 {
        blocks.push(Block::Note("No calls in this period.".to_owned()));
        blocks.extend(skipped(calls.skipped));
        return blocks;
    }
    let low = match calls.mos_low {
        Some(low) if calls.mos_count > 0 => percent(Some(low as f64 * 100.0 / calls.mos_count as f64)),
        _ => super::numbers::UNKNOWN.to_owned(),
    };
    let mean = calls.mos_mean.map_or_else(|| super::numbers::UNKNOWN.to_owned(), |mos| format!("{mos:.2}"));
    let took = calls
        .duration_mean_s
        .map_or_else(|| super::numbers::UNKNOWN.to_owned(), |seconds| duration(seconds.round() as i64));
    let tiles = [
        ("calls", whole(calls.calls)),
        ("answered", percent(calls.answered_percent)),
        ("mean duration", took),
        ("mean MOS", mean),
        ("MOS below 3.6", low),
    ];
    blocks.push(Block::Tiles(tiles.map(|(name, value)| (name.to_owned(), value)).to_vec()));
    blocks.push(Block::Note(format!(
        "Answered is of seizures (ASR, ITU-T E.425); shares of MOS are of {} calls with a score.",
        whole(calls.mos_count)
    )));
    let most = calls.days.iter().map(|day| day.calls).max().unwrap_or(0).max(1);
    let head =
        [text("day"), dropping(text("")), number("calls"), number("answered"), number("share"), number("mean MOS")];
    let rows = calls.days.iter().map(|day| {
        let mos = day.mos_mean.map_or_else(|| super::numbers::UNKNOWN.to_owned(), |mos| format!("{mos:.2}"));
        vec![
            Cell::Text(day.date.clone()),
            Cell::Bar(day.calls as f64 / most as f64),
            Cell::Text(whole(day.calls)),
            Cell::Text(whole(day.answered)),
            Cell::Text(percent(day.answered_percent)),
            Cell::Text(mos),
        ]
    });
    blocks.push(Block::Table(Table { columns: head.to_vec(), rows: rows.collect(), more: String::new() }));
    if !calls.destinations.is_empty() {
        let head = [text("destination"), number("calls"), number("failed"), number("failed share"), number("answered")];
        let rows = calls.destinations.iter().map(|to| {
            vec![
                Cell::Text(clean(&to.name)),
                Cell::Text(whole(to.calls)),
                Cell::Text(whole(to.failed)),
                Cell::Text(percent((to.calls > 0).then(|| to.failed as f64 * 100.0 / to.calls as f64))),
                Cell::Text(percent(to.answered_percent)),
            ]
        });
        let of = calls.looked_at.map(|count| format!(" They are from the last {} of these.", whole(count)));
        let more = format!("Most rejected calls (4xx, 5xx, 6xx), by {}.{}", calls.destination, of.unwrap_or_default());
        blocks.push(Block::Table(Table { columns: head.to_vec(), rows: rows.collect(), more }));
    } else if calls.failed == 0 {
        blocks.push(Block::Note("No rejected calls.".to_owned()));
    }
    blocks.extend(skipped(calls.skipped));
    blocks
}

fn of_losses(losses: &LossFigures) -> Vec<Block> {
    let mut blocks = Vec::new();
    if losses.places.is_empty() {
        blocks.push(Block::Note("No known packet loss of the capture.".to_owned()));
    } else {
        let head = [text("place"), text("of"), number("packets"), number("times")];
        let rows = losses.places.iter().map(|loss| {
            let texts = [clean(&loss.place), clean(&loss.source), whole(loss.count), whole(loss.times)];
            texts.map(Cell::Text).to_vec()
        });
        blocks.push(Block::Table(Table { columns: head.to_vec(), rows: rows.collect(), more: beyond(losses.more) }));
    }
    blocks.extend(skipped(losses.skipped));
    blocks
}

fn of_charges(charges: &ChargeFigures) -> Vec<Block> {
    let mut blocks = Vec::new();
    if charges.kinds.is_empty() {
        blocks.push(Block::Note("No charging records in this period.".to_owned()));
    } else {
        let head = [
            text("records of"),
            number("records"),
            number("data"),
            number("time"),
            dropping(number("units")),
            number("debited"),
            number("not paid"),
            dropping(number("unrated")),
        ];
        let rows = charges.kinds.iter().map(|sum| {
            let texts = [
                clean(&sum.kind),
                whole(sum.records),
                scaled(Some(sum.octets as f64), "B", 1000),
                duration(i64::try_from(sum.seconds).unwrap_or(i64::MAX)),
                whole(sum.service_units),
                signed(sum.money),
                signed(sum.short),
                whole(sum.unrated),
            ];
            texts.map(Cell::Text).to_vec()
        });
        let more = "Money is in minor units of the accounts' currencies, such as cents.".to_owned();
        blocks.push(Block::Table(Table { columns: head.to_vec(), rows: rows.collect(), more }));
    }
    blocks.extend(skipped(charges.skipped));
    blocks
}

fn skipped(days: u64) -> Option<Block> {
    let what = plural(days, "day of the store", "days of the store");
    (days > 0).then(|| Block::Note(format!("{what} could not be read: what is in it is not counted.")))
}

fn beyond(more: u64) -> String {
    if more == 0 { String::new() } else { format!("And {} more.", whole(more)) }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", whole(count), if count == 1 { one } else { many })
}

fn minute(zone: &Zone, at_s: i64) -> String {
    zone.written(at_s)[..16].to_owned()
}

/// A text from outside in one line, not too long, without what turns the direction of what follows.
fn clean(text: &str) -> String {
    let turns = |c: &char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let line = text.chars().filter(|c| !turns(c)).map(|c| if c.is_control() { ' ' } else { c });
    let mut cut: String = line.take(TEXT_MAX).collect();
    if text.chars().nth(TEXT_MAX).is_some() {
        cut.push_str(" ..");
    }
    cut.trim().to_owned()
}
