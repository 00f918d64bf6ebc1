//! A terminal as SVG: a cell a character, strokes drawn as lines, so that no font can break a column.

use super::ansi::{Class, Piece};
use std::fmt::Write;

/// Size of the font, and of a cell, in the picture's units.
const FONT: f64 = 14.0;
const CELL: f64 = 8.4;
const LINE: f64 = 19.0;
/// Room around the text.
const MARGIN: f64 = 18.0;

/// Colours of both schemes: the page that shows the picture decides.
const STYLE: &str = "\
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1f2328 }
text, path { white-space: pre }
path { stroke: #1f2328; fill: none }
rect { fill: #f6f8fa; stroke: #d1d9e0 }
.b { font-weight: 600 } .d { fill: #59636e } path.d { stroke: #c4ccd4; fill: none }
.s { fill: #0a6c7d } .m { fill: #8250df } .g { fill: #1a7f37 } .w { fill: #8a5d00 }
.r { fill: #cf222e; font-weight: 600 }
path.s { stroke: #0a6c7d } path.m { stroke: #8250df } path.g { stroke: #1a7f37 }
path.w { stroke: #8a5d00 } path.r { stroke: #cf222e }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } path { stroke: #e6edf3 } rect { fill: #0d1117; stroke: #3d444d }
.d { fill: #9198a1 } path.d { stroke: #3d444d }
.s { fill: #56d4dd } .m { fill: #d2a8ff } .g { fill: #56d364 } .w { fill: #e3b341 } .r { fill: #ff7b72 }
path.s { stroke: #56d4dd } path.m { stroke: #d2a8ff } path.g { stroke: #56d364 }
path.w { stroke: #e3b341 } path.r { stroke: #ff7b72 }
}
path.s, path.m, path.g, path.w, path.r, path.b { fill: none }
";

/// The picture of a command and what it printed.
pub fn picture(command: &str, lines: &[Vec<Piece>]) -> String {
    let prompt = vec![
        Piece { class: Class::Dim, text: "$ ".to_owned() },
        Piece { class: Class::Bold, text: command.to_owned() },
    ];
    let all: Vec<&Vec<Piece>> = std::iter::once(&prompt).chain(lines).collect();
    let columns = all.iter().map(|line| line.iter().map(|p| p.text.chars().count()).sum::<usize>()).max().unwrap_or(0);
    let width = columns as f64 * CELL + 2.0 * MARGIN;
    let height = all.len() as f64 * LINE + 2.0 * MARGIN;
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.0}\" role=\"img\">"
    );
    let _ = writeln!(svg, "<title>{} in a terminal</title>\n<style>\n{STYLE}</style>", escape(command));
    let _ = writeln!(
        svg,
        "<rect x=\"0.5\" y=\"0.5\" width=\"{:.1}\" height=\"{:.1}\" rx=\"8\"/>",
        width - 1.0,
        height - 1.0
    );
    for (i, line) in all.iter().enumerate() {
        let mut column = 0;
        for piece in *line {
            for run in runs(&piece.text) {
                draw(&mut svg, piece.class, &run, column, i);
                column += run.chars().count();
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Parts of a text that are drawn alike: words, blanks, and strokes of one kind.
fn runs(text: &str) -> Vec<String> {
    let kind = |c: char| match c {
        ' ' => 1,
        '│' | '║' | '─' | '═' | '╌' | '┼' | '╪' => c as u32,
        c if c.is_ascii() => 0,
        _ => 2,
    };
    let mut runs: Vec<String> = Vec::new();
    for c in text.chars() {
        match runs.last_mut() {
            Some(run) if run.chars().last().is_some_and(|last| kind(last) == kind(c)) => run.push(c),
            _ => runs.push(c.to_string()),
        }
    }
    runs
}

fn draw(svg: &mut String, class: Class, run: &str, column: usize, line: usize) {
    let cells = run.chars().count() as f64;
    let (x, y) = (MARGIN + column as f64 * CELL, MARGIN + line as f64 * LINE);
    let (middle, right, width) = (y + LINE / 2.0, x + cells * CELL, cells * CELL);
    let mut path = |d: String| _ = writeln!(svg, "<path{} d=\"{d}\"/>", attribute(class));
    // A stroke fills its cells: the lanes are unbroken.
    let down = |x: f64| format!("M{x:.1} {y:.1}v{LINE:.1}");
    let across = |y: f64| format!("M{x:.1} {y:.1}H{right:.1}");
    match run.chars().next() {
        None | Some(' ') => {}
        Some('│') => (0..cells as usize).for_each(|i| path(down(x + (i as f64 + 0.5) * CELL))),
        Some('║') => {
            path(format!("{}{}", down(x + CELL / 2.0 - 1.5), down(x + CELL / 2.0 + 1.5)));
        }
        Some('─') => path(across(middle)),
        Some('═') => path(format!("{}{}", across(middle - 1.5), across(middle + 1.5))),
        Some('┼') => path(format!("{}{}", across(middle), down(x + CELL / 2.0))),
        Some('╪') => path(format!("{}{}{}", across(middle - 1.5), across(middle + 1.5), down(x + CELL / 2.0))),
        Some('╌') => {
            let dashes =
                (0..cells as usize).map(|i| format!("M{:.1} {middle:.1}h{:.1}", x + i as f64 * CELL, CELL * 0.6));
            path(dashes.collect());
        }
        Some(_) => {
            let baseline = y + LINE / 2.0 + FONT * 0.35;
            let _ = writeln!(
                svg,
                "<text{} x=\"{x:.1}\" y=\"{baseline:.1}\" textLength=\"{width:.1}\">{}</text>",
                attribute(class),
                escape(run)
            );
        }
    }
}

fn attribute(class: Class) -> &'static str {
    match class {
        Class::Plain => "",
        Class::Bold => " class=\"b\"",
        Class::Dim => " class=\"d\"",
        Class::Signal => " class=\"s\"",
        Class::Media => " class=\"m\"",
        Class::Good => " class=\"g\"",
        Class::Warn => " class=\"w\"",
        Class::Bad => " class=\"r\"",
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_has_its_cell() {
        let line = vec![Piece { class: Class::Signal, text: "│── INVITE ─>│ <a&b>".to_owned() }];
        let svg = picture("trunkline call 01", &[line]);
        assert!(svg.contains(">INVITE</text>") && svg.contains("&lt;a&amp;b&gt;") && !svg.contains('─'), "{svg}");
        let cell = |n: f64| format!("x=\"{:.1}\"", MARGIN + n * CELL);
        assert!(svg.contains(&cell(4.0)), "INVITE begins in the fifth cell: {svg}");
        assert_eq!(
            svg,
            picture("trunkline call 01", &[vec![Piece { class: Class::Signal, text: "│── INVITE ─>│ <a&b>".into() }]])
        );
    }

    #[test]
    fn runs_keep_every_character() {
        let text = "▶ 10:00 │───>│ ║═══ ╌╌ →";
        assert_eq!(runs(text).concat(), text);
    }
}
