//! What `rrdtool -` is to draw: one line of text for each picture.

use super::evaluate::{consolidation, constant};
use super::plan::{Plan, Planned};
use super::{Ask, Files, NoPicture};
use crate::template::{ItemKind, LegendWord, Severity};
use core::fmt::Write as _;

/// The format of a drawn picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Portable Network Graphics.
    Png,
    /// Scalable Vector Graphics.
    Svg,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Png => "PNG",
            Format::Svg => "SVG",
        }
    }
}

/// The line, without its end. What has no file is unknown. The zone is that of whoever draws it: it stands in the
/// picture.
///
/// # Errors
/// A threshold cannot be computed.
pub fn script(plan: &Plan, ask: &Ask, format: Format, zone: &str, files: &dyn Files) -> Result<String, NoPicture> {
    let mut line = Words("graphv -".to_owned());
    head(plan, ask, format, &mut line);
    line.option("--watermark", format_args!("Times are of {zone}"));
    let known = definitions(plan, ask, files, &mut line);
    for (number, item) in plan.items.iter().enumerate() {
        draw(plan, number, item, known, &mut line);
    }
    for threshold in &plan.thresholds {
        let value = constant(&threshold.value)?;
        let color = match threshold.severity {
            Severity::Warning => "d98e04",
            Severity::Critical => "c8102e",
        };
        if value.is_finite() {
            line.word(&format!("HRULE:{value}#{color}:{}:dashes=6,3", text(&threshold.label)));
        }
    }
    if !known {
        // rrdtool draws nothing where there is nothing to draw.
        line.word("HRULE:0#00000000");
        line.word("COMMENT:No data yet.");
    }
    Ok(line.0)
}

fn head(plan: &Plan, ask: &Ask, format: Format, line: &mut Words) {
    let (start, end) = (ask.start_s - ask.shift_s, ask.end_s - ask.shift_s);
    line.option("--imgformat", format.name());
    line.option("--start", start);
    line.option("--end", end);
    line.option("--width", ask.width.max(10));
    line.option("--height", plan.height);
    line.option("--base", plan.base);
    line.option("--title", &plan.title);
    line.option("--vertical-label", &plan.unit);
    if let Some(lower) = plan.lower {
        line.option("--lower-limit", lower);
    }
    if let Some(upper) = plan.upper {
        line.option("--upper-limit", upper);
    }
    if plan.rigid {
        line.word("--rigid");
    }
    if plan.logarithmic {
        line.word("--logarithmic");
    }
}

/// Whether there is any file. What has none is computed to be unknown of one that has: rrdtool takes no expression
/// without a file.
fn definitions(plan: &Plan, ask: &Ask, files: &dyn Files, line: &mut Words) -> bool {
    let found: Vec<Option<String>> =
        plan.taken.iter().map(|taken| taken.source.and_then(|source| files.path(source))).collect();
    let Some(first) = found.iter().position(Option::is_some) else { return false };
    for (taken, path) in plan.taken.iter().zip(&found) {
        if let Some(path) = path {
            let function = consolidation(ask.function.unwrap_or(taken.function)).name();
            line.word(&format!("DEF:{}={}:{}:{function}", taken.name, text(path), taken.series));
        }
    }
    for (taken, _) in plan.taken.iter().zip(&found).filter(|(_, path)| path.is_none()) {
        line.word(&format!("CDEF:{}={},POP,UNKN", taken.name, plan.taken[first].name));
    }
    for (name, text) in &plan.computed {
        line.word(&format!("CDEF:{name}={text}"));
    }
    for (name, text) in &plan.values {
        line.word(&format!("VDEF:{name}={text}"));
    }
    true
}

fn draw(plan: &Plan, number: usize, item: &Planned, known: bool, line: &mut Words) {
    let color = item.color.map(|color| format!("#{color}")).unwrap_or_default();
    let label = if color.is_empty() && item.kind != ItemKind::Comment { String::new() } else { text(&item.label) };
    let stack = if item.stack { ":STACK" } else { "" };
    let lengths: Vec<String> = item.dashes.iter().map(u32::to_string).collect();
    let dashes = if lengths.is_empty() { String::new() } else { format!(":dashes={}", lengths.join(",")) };
    let value = &item.value;
    let of_number = value.parse::<f64>().is_ok();
    if !known && !of_number && item.kind != ItemKind::Comment {
        return;
    }
    match item.kind {
        ItemKind::Line => line.word(&format!("LINE{}:{value}{color}:{label}{stack}{dashes}", item.width)),
        ItemKind::Area => line.word(&format!("AREA:{value}{color}:{label}{stack}")),
        ItemKind::Tick => line.word(&format!("TICK:{value}{}:{}:{label}", shown(&color), item.width)),
        ItemKind::Hrule => line.word(&format!("HRULE:{value}{}:{label}{dashes}", shown(&color))),
        ItemKind::Vrule => line.word(&format!("VRULE:{value}{}:{label}{dashes}", shown(&color))),
        ItemKind::Comment => line.word(&format!("COMMENT:{label} ")),
        ItemKind::Print => {
            let text = format!("{} {}", text(&item.label), format_text(&item.format));
            let is_value = plan.values.iter().any(|(name, _)| name == value);
            match is_value {
                true => line.word(&format!("GPRINT:{value}:{}", text.trim_start())),
                false => {
                    let function = consolidation(item.function).name();
                    line.word(&format!("GPRINT:{value}:{function}:{}", text.trim_start()));
                }
            }
        }
    }
    let is_line = !plan.values.iter().any(|(name, _)| name == value);
    for word in item.numbers.iter().filter(|_| is_line) {
        print_number(plan, number, item, *word, line);
    }
    if item.line_end {
        line.word("COMMENT:\\l");
    }
}

/// Rules and marks have no meaning without a colour: black.
fn shown(color: &str) -> &str {
    if color.is_empty() { "#000000" } else { color }
}

fn print_number(plan: &Plan, number: usize, item: &Planned, word: LegendWord, line: &mut Words) {
    let (value, format) = (&item.value, format_text(&item.format));
    let name = format!("legend{0}{0}{number}{1}", plan.mark, word as u8);
    match word {
        LegendWord::Last => line.word(&format!("GPRINT:{value}:LAST:Last {format}")),
        LegendWord::Average => line.word(&format!("GPRINT:{value}:AVERAGE:Average {format}")),
        LegendWord::Min => line.word(&format!("GPRINT:{value}:MIN:Min {format}")),
        LegendWord::Max => line.word(&format!("GPRINT:{value}:MAX:Max {format}")),
        LegendWord::P95 => {
            line.word(&format!("VDEF:{name}={value},95,PERCENTNAN"));
            line.word(&format!("GPRINT:{name}:95 % {format}").replace("95 % ", "95 %% "));
        }
        LegendWord::Total => {
            line.word(&format!("VDEF:{name}={value},TOTAL"));
            line.word(&format!("GPRINT:{name}:Total {format}"));
        }
    }
}

/// A text that stands between colons.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            ':' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

/// A format's own `\` and `:` are texts, its `%` are not.
fn format_text(format: &str) -> String {
    text(format)
}

/// Words of a line as `rrdtool -` parts them: at blanks, unless they stand between quotes.
struct Words(String);

impl Words {
    fn word(&mut self, word: &str) {
        self.0.push_str(" '");
        for letter in word.chars() {
            match letter {
                '\'' => self.0.push_str("'\"'\"'"),
                letter if letter.is_control() => self.0.push(' '),
                letter => self.0.push(letter),
            }
        }
        self.0.push('\'');
    }

    fn option(&mut self, name: &str, value: impl core::fmt::Display) {
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = write!(text, "{value}");
        self.word(name);
        self.word(&text);
    }
}
