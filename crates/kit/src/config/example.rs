//! The commented example and the manual's table, from the declaration.

use super::section::{Apply, Configuration, Key};
use core::fmt::Write as _;

/// Columns of the example's comments.
const WIDTH: usize = 100;

/// A file with every section and every key, each commented out with its default. Prose is behind `# `, a key behind
/// `#`.
pub fn example<C: Configuration>() -> String {
    let mut out = String::new();
    for (name, section) in C::default().sections() {
        comment(&mut out, &section.help());
        let _ = writeln!(out, "[{name}]");
        for key in section.keys() {
            out.push('\n');
            comment(&mut out, &key.help);
            comment(&mut out, &facts(&key));
            let _ = writeln!(out, "#{} = {}", key.name, key.default);
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// The same for the manual: a heading and a table for each section.
pub fn markdown<C: Configuration>() -> String {
    let mut out = String::new();
    for (name, section) in C::default().sections() {
        let _ = writeln!(out, "## [{name}]\n");
        wrapped(&mut out, "", &section.help());
        let _ = writeln!(out, "\n| key | default | what it is |\n|---|---|---|");
        for key in section.keys() {
            let text = format!("{} {}", key.help.replace("\n\n", " "), facts(&key)).replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | `{}` | {text} |", key.name, key.default);
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// `A size such as "128 MiB", "1 MiB" to "8 GiB". Takes effect at the next start.`
fn facts(key: &Key) -> String {
    let mut text = capital(&key.kind);
    if let Some((min, max)) = &key.limits {
        let _ = write!(text, "; {min} to {max}");
    }
    text.push_str(match key.apply {
        Apply::Running => ". Takes effect on SIGHUP.",
        Apply::Restart => ". Takes effect at the next start.",
    });
    text
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn comment(out: &mut String, text: &str) {
    wrapped(out, "# ", text);
}

/// Breaks each paragraph at spaces; every line begins with `begin`.
fn wrapped(out: &mut String, begin: &str, text: &str) {
    for paragraph in text.lines() {
        let mut line = begin.trim_end().to_owned();
        for (i, word) in paragraph.split_whitespace().enumerate() {
            if i > 0 && line.chars().count() + 1 + word.chars().count() > WIDTH {
                let _ = writeln!(out, "{line}");
                line = begin.trim_end().to_owned();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        let _ = writeln!(out, "{line}");
    }
}
