//! A document as HTML that mail clients keep: tables, styles in the elements themselves, no script and nothing from
//! elsewhere. What follows the room and dark screens is in a style sheet that clients may leave out.

use super::document::{Block, Cell, Column, Document, Table};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use core::fmt::Write as _;

/// Octets of a report's HTML, pictures aside; rows beyond are counted.
// Limit: size of a report's HTML without pictures
// Beyond: further rows are counted
// Seen in: the report
pub const HTML_OCTETS_MAX: usize = 1 << 20;
/// Octets that are left for the headings and the end of a document.
const END_OCTETS: usize = 64 << 10;

const FONT: &str = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const SHEET: &str = "\
:root{color-scheme:light dark;supported-color-schemes:light dark}\
@media (max-width:600px){\
.drop{display:none!important}.card{padding:14px 12px!important}.page{padding:6px!important}\
.row{display:flex!important;flex-wrap:wrap}\
.row>*{flex:1 1 0;min-width:0;border-bottom:0!important;padding:2px 4px!important}\
.row>*:first-child{flex:1 0 100%;padding-top:8px!important}.row{border-bottom:1px solid #e2e5ea;padding-bottom:6px}\
.row>.num{text-align:left!important}.rows{display:block!important}}\
@media (prefers-color-scheme:dark){\
.back{background:#14171c!important}.card{background:#1d2129!important;border-color:#333a45!important}\
.ink{color:#e6e9ee!important}.soft{color:#a3acb9!important}.line{border-color:#333a45!important}\
.row{border-color:#333a45!important}.tile{background:#262c36!important}.bar{background:#5b9bd5!important}\
.track{background:#333a45!important}.critical{color:#ff8a80!important}.warning{color:#f2c14e!important}\
.info{color:#8ab8e8!important}.shot{background:#fff!important}}";

/// Where pictures are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pictures<'a> {
    /// In other parts of the same mail, `cid:N.ID`.
    Parts(&'a str),
    /// In the page itself.
    Inside,
}

/// A page.
pub fn html(document: &Document, pictures: Pictures<'_>) -> String {
    let mut page = Page { out: String::new(), taken: 0, pictures };
    page.head(document);
    for section in &document.sections {
        page.section(&section.title, &section.blocks, document);
    }
    page.foot(document);
    page.out
}

struct Page<'a> {
    out: String,
    /// Octets of pictures inside, which have a bound of their own.
    taken: usize,
    pictures: Pictures<'a>,
}

impl Page<'_> {
    fn put(&mut self, text: core::fmt::Arguments<'_>) {
        // Writing to a text does not fail.
        let _ = self.out.write_fmt(text);
    }

    fn is_full(&self) -> bool {
        self.out.len() - self.taken > HTML_OCTETS_MAX - END_OCTETS
    }

    fn head(&mut self, document: &Document) {
        let title = escaped(&document.title);
        self.put(format_args!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"supported-color-schemes\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>{SHEET}</style>\n</head>\n\
             <body class=\"back\" style=\"margin:0;padding:0;background:#f1f3f6;{FONT}\">\n\
             <table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\">\
             <tr><td align=\"center\" class=\"page\" style=\"padding:16px\">\n\
             <table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\" \
             style=\"max-width:860px\">\n"
        ));
        self.card_begins();
        self.put(format_args!(
            "<h1 class=\"ink\" style=\"margin:0 0 4px;font-size:22px;line-height:1.3;color:#1d2430;\
             overflow-wrap:anywhere\">{title}</h1>\n\
             <p class=\"soft\" style=\"margin:0;font-size:14px;color:#5b6472\">{}</p>\n",
            escaped(&document.span)
        ));
        for paragraph in document.text.split("\n\n").map(str::trim).filter(|text| !text.is_empty()) {
            self.put(format_args!(
                "<p class=\"ink\" style=\"margin:10px 0 0;font-size:14px;line-height:1.5;color:#1d2430;\
                 overflow-wrap:anywhere\">{}</p>\n",
                escaped(paragraph).replace('\n', "<br>\n")
            ));
        }
        self.card_ends();
    }

    fn card_begins(&mut self) {
        self.put(format_args!(
            "<tr><td class=\"card\" style=\"padding:18px 22px;background:#ffffff;border:1px solid #e2e5ea;\
             border-radius:8px\">\n"
        ));
    }

    fn card_ends(&mut self) {
        self.put(format_args!(
            "</td></tr>\n<tr><td style=\"height:12px;font-size:0;line-height:0\">&nbsp;</td></tr>\n"
        ));
    }

    fn section(&mut self, title: &str, blocks: &[Block], document: &Document) {
        self.card_begins();
        self.put(format_args!(
            "<h2 class=\"ink\" style=\"margin:0 0 10px;font-size:17px;line-height:1.3;color:#1d2430;\
             overflow-wrap:anywhere\">{}</h2>\n",
            escaped(title)
        ));
        for block in blocks {
            if self.is_full() {
                self.note("The rest of this section is left out: the mail would be too long.");
                break;
            }
            match block {
                Block::Note(text) => self.note(text),
                Block::Tiles(tiles) => self.tiles(tiles),
                Block::Table(table) => self.table(table),
                Block::Picture(number, title) => self.picture(*number, title, document),
            }
        }
        self.card_ends();
    }

    fn note(&mut self, text: &str) {
        self.put(format_args!(
            "<p class=\"soft\" style=\"margin:6px 0;font-size:13px;line-height:1.5;color:#5b6472;\
             overflow-wrap:anywhere\">{}</p>\n",
            escaped(text)
        ));
    }

    /// Blocks in a line, as many as there is room for.
    fn tiles(&mut self, tiles: &[(String, String)]) {
        self.put(format_args!("<div style=\"margin:0 0 8px;font-size:0\">"));
        for (name, value) in tiles {
            self.put(format_args!(
                "<div class=\"tile\" style=\"display:inline-block;vertical-align:top;margin:0 8px 8px 0;\
                 padding:8px 14px;background:#f1f3f6;border-radius:6px\">\
                 <div class=\"ink\" style=\"font-size:19px;line-height:1.3;font-weight:600;color:#1d2430\">{}</div>\
                 <div class=\"soft\" style=\"font-size:12px;line-height:1.4;color:#5b6472\">{}</div></div>",
                escaped(value),
                escaped(name)
            ));
        }
        self.put(format_args!("</div>\n"));
    }

    fn table(&mut self, table: &Table) {
        self.put(format_args!(
            "<table class=\"rows\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\" \
             style=\"margin:12px 0 4px;border-collapse:collapse;font-size:13px;line-height:1.4\">\n\
             <thead class=\"rows\"><tr class=\"row\">"
        ));
        for column in &table.columns {
            let (class, align) = side(column, "soft line");
            self.put(format_args!(
                "<th scope=\"col\" class=\"{class}\" align=\"{align}\" style=\"padding:4px 10px 4px 0;\
                 border-bottom:2px solid #e2e5ea;color:#5b6472;font-weight:600;text-align:{align}\">{}</th>",
                escaped(column.name)
            ));
        }
        self.put(format_args!("</tr></thead>\n<tbody class=\"rows\">\n"));
        let mut left_out = 0;
        for row in &table.rows {
            if self.is_full() {
                left_out += 1;
                continue;
            }
            self.put(format_args!("<tr class=\"row\">"));
            for (column, cell) in table.columns.iter().zip(row) {
                self.cell(column, cell);
            }
            self.put(format_args!("</tr>\n"));
        }
        self.put(format_args!("</tbody></table>\n"));
        if left_out > 0 {
            self.note(&format!("{left_out} further rows are left out: the mail would be too long."));
        }
        if !table.more.is_empty() {
            self.note(&table.more);
        }
    }

    fn cell(&mut self, column: &Column, cell: &Cell) {
        let (class, align) = side(column, "ink line");
        let wrap = if column.is_number { "white-space:nowrap" } else { "overflow-wrap:anywhere" };
        let width = if matches!(cell, Cell::Bar(_)) { " width=\"120\"" } else { "" };
        self.put(format_args!(
            "<td class=\"{class}\" align=\"{align}\"{width} style=\"padding:5px 10px 5px 0;\
             border-bottom:1px solid #e2e5ea;color:#1d2430;text-align:{align};{wrap}\">"
        ));
        match cell {
            Cell::Text(text) => self.put(format_args!("{}", escaped(text))),
            Cell::Severity(name) => {
                let (class, color) = match name.as_str() {
                    "critical" => ("critical", "#b3261e"),
                    "info" => ("info", "#2b6cb0"),
                    _ => ("warning", "#8a5a00"),
                };
                self.put(format_args!(
                    "<span class=\"{class}\" style=\"color:{color};font-weight:600\">{}</span>",
                    escaped(name)
                ));
            }
            Cell::Bar(share) => {
                let percent = (share.clamp(0.0, 1.0) * 100.0).round();
                self.put(format_args!(
                    "<div class=\"track\" style=\"width:110px;height:8px;background:#e2e5ea;border-radius:4px\">\
                     <div class=\"bar\" style=\"width:{percent}%;height:8px;background:#2b6cb0;border-radius:4px\">\
                     </div></div>"
                ));
            }
        }
        self.put(format_args!("</td>"));
    }

    fn picture(&mut self, number: usize, title: &str, document: &Document) {
        let Some(png) = document.pictures.get(number) else { return };
        let source = match self.pictures {
            Pictures::Parts(id) => format!("cid:{number}.{id}"),
            Pictures::Inside => format!("data:image/png;base64,{}", STANDARD.encode(png)),
        };
        self.taken += source.len();
        let size =
            size(png).map(|(width, height)| format!(" width=\"{width}\" height=\"{height}\"")).unwrap_or_default();
        self.put(format_args!(
            "<p style=\"margin:0 0 12px\"><img class=\"shot\" src=\"{source}\" alt=\"{}\"{size} \
             style=\"display:block;max-width:100%;height:auto;border:0;border-radius:4px\"></p>\n",
            escaped(title)
        ));
    }

    fn foot(&mut self, document: &Document) {
        self.put(format_args!(
            "<tr><td class=\"soft\" style=\"padding:2px 6px 16px;font-size:12px;line-height:1.5;color:#5b6472\">{}\
             </td></tr>\n</table>\n</td></tr></table>\n</body>\n</html>\n",
            escaped(&document.foot)
        ));
    }
}

/// The class and the side of a column.
fn side(column: &Column, class: &str) -> (String, &'static str) {
    let number = if column.is_number { " num" } else { "" };
    let drop = if column.drops { " drop" } else { "" };
    (format!("{class}{number}{drop}"), if column.is_number { "right" } else { "left" })
}

/// The size of a picture, as its header says it (PNG, section 11.2.1).
fn size(png: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_be_bytes(png.get(at..at + 4)?.try_into().ok()?));
    (png.get(12..16)? == b"IHDR").then_some(())?;
    number(16).zip(number(20))
}

/// A text in HTML, and between quotes of an attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            // What is no text in HTML, and what turns the direction of what follows.
            letter if letter.is_control() => out.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            letter => out.push(letter),
        }
    }
    out
}
