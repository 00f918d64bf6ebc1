//! Lines are at most 120 columns wide; rustfmt sees to code, this to comments, prose and what rustfmt leaves alone.

use super::{Finding, lines};
use crate::repository::{Repository, Text};

/// Columns of a line.
const WIDTH_MAX: usize = 120;
/// A line of Rust with this many characters in literals may be wider: breaking a vector or a table makes it no clearer.
const LITERALS_MIN: usize = 40;

/// Finds the lines that are too wide.
pub fn check(text: &Text, findings: &mut Vec<Finding>) {
    if !is_checked(text) {
        return;
    }
    for (number, line) in lines(text).filter(|(_, line)| too_wide(text, line)) {
        let what = format!("{} columns, at most {WIDTH_MAX}", line.chars().count());
        findings.push(Finding::new(&text.path, number, what));
    }
}

/// Breaks wide comments and prose: what is too much goes to the next line of the same paragraph.
///
/// # Errors
/// A file cannot be written.
pub fn fix(repository: &Repository, texts: &[Text]) -> Result<(), String> {
    for text in texts.iter().filter(|t| is_checked(t) && t.text.lines().any(|line| too_wide(t, line))) {
        let broken = spill(text);
        std::fs::write(repository.path(&text.path), broken).map_err(|e| format!("{}: {e}", text.path))?;
    }
    Ok(())
}

fn is_checked(text: &Text) -> bool {
    let kind = text.path.rsplit_once('.').map_or("", |(_, kind)| kind);
    matches!(kind, "rs" | "md") || text.path == "Makefile"
}

fn too_wide(text: &Text, line: &str) -> bool {
    let comment = line.trim_start().trim_start_matches(['/', '!']).trim_start();
    let free = comment.starts_with('|')
        || line.contains("://")
        || (text.path.ends_with(".md") && line.contains("]("))
        || (text.path.ends_with(".rs") && literals(line) >= LITERALS_MIN);
    !free && line.chars().count() > WIDTH_MAX
}

/// Characters between quotes.
fn literals(line: &str) -> usize {
    line.split('"').skip(1).step_by(2).map(str::len).sum()
}

fn spill(text: &Text) -> String {
    let prose = text.path.ends_with(".md");
    let mut rest: Vec<String> = text.text.lines().rev().map(str::to_owned).collect();
    let (mut out, mut fenced) = (String::new(), false);
    while let Some(line) = rest.pop() {
        fenced ^= line.contains("```");
        let begin = beginning(&line, prose);
        match cut(&line, begin.len()) {
            Some((head, tail)) if too_wide(text, &line) && (!begin.is_empty() || prose) && !fenced => {
                out.push_str(head);
                let goes_on = rest.last().is_some_and(|next| continues(next, &begin, prose));
                let next = if goes_on { rest.pop().unwrap_or_default() } else { begin.clone() };
                let next_begin = if goes_on { beginning(&next, prose) } else { begin };
                let more = next.get(next_begin.len()..).unwrap_or_default();
                rest.push(format!("{next_begin}{tail} {more}").trim_end().to_owned());
            }
            _ => out.push_str(&line),
        }
        out.push('\n');
    }
    out
}

/// What each line of the paragraph begins with: indent and comment mark, in a list blanks for the bullet.
fn beginning(line: &str, prose: bool) -> String {
    let indent = line.len() - line.trim_start().len();
    let mark = ["//! ", "/// ", "// "].into_iter().find(|m| line[indent..].starts_with(m));
    let (mark, text) = match mark {
        Some(mark) => (mark, &line[indent + mark.len()..]),
        None if prose => ("", &line[indent..]),
        None => return String::new(),
    };
    let inner = text.len() - text.trim_start().len();
    let bullet = bullet(text.trim_start());
    format!("{}{mark}{}", &line[..indent], " ".repeat(inner + bullet))
}

/// The length of a list's mark: `- `, `* `, `1. `.
fn bullet(text: &str) -> usize {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match text {
        _ if text.starts_with("- ") || text.starts_with("* ") => 2,
        _ if digits > 0 && text[digits..].starts_with(". ") => digits + 2,
        _ => 0,
    }
}

/// Cuts a line before the word that goes over the width.
fn cut(line: &str, begin: usize) -> Option<(&str, &str)> {
    let end = line.char_indices().nth(WIDTH_MAX + 1).map_or(line.len(), |(at, _)| at);
    let at = line[..end].rfind(' ').filter(|at| *at > begin)?;
    Some((&line[..at], line[at..].trim_start()))
}

/// Whether `next` goes on with the paragraph whose lines begin with `begin`.
fn continues(next: &str, begin: &str, prose: bool) -> bool {
    let text = next.get(begin.len()..).unwrap_or_default();
    next.starts_with(begin)
        && beginning(next, prose) == begin
        && bullet(text) == 0
        && !text.trim().is_empty()
        && !text.trim_start().starts_with(['#', '|', '`', '>'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, text: String) -> Text {
        Text { path: path.to_owned(), text }
    }

    #[test]
    fn tables_may_be_wide_and_code_may_not() {
        let wide = |begin: &str| begin.to_owned() + &"x".repeat(WIDTH_MAX);
        assert!(!too_wide(&text("a.md", String::new()), &wide("| ")));
        assert!(too_wide(&text("a.rs", String::new()), &wide("//! ")));
        assert!(!too_wide(&text("a.rs", String::new()), &format!("    (\"{}\"),", wide(""))));
    }

    #[test]
    fn what_is_too_much_goes_to_the_next_line() {
        let words = "word ".repeat(24);
        let broken = spill(&text("a.rs", format!("    /// {words}end\n    /// goes on.\n    fn f() {{}}\n")));
        let lines: Vec<&str> = broken.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1], "    /// word word end goes on.");
        assert!(lines[0].len() <= WIDTH_MAX);
    }

    #[test]
    fn lists_keep_their_indent() {
        let words = "word ".repeat(25);
        let broken = spill(&text("a.md", format!("- {words}end\n- other\n")));
        let lines: Vec<&str> = broken.lines().collect();
        assert_eq!(lines[1], "  word word end");
        assert_eq!(lines[2], "- other");
    }

    #[test]
    fn a_doc_comment_before_code_gets_a_line() {
        let words = "word ".repeat(24);
        let broken = spill(&text("a.rs", format!("//! {words}end\n\nuse x;\n")));
        assert_eq!(broken.lines().nth(1), Some("//! word end"));
        assert_eq!(broken.lines().nth(2), Some(""));
    }
}
