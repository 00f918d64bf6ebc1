//! Links between the project's documents lead somewhere: to a file that exists, and to a heading that it has.

use super::{Finding, lines};
use crate::repository::Text;
use std::collections::BTreeMap;

/// Documents that a command makes: a link may lead there before it ran.
const MADE: &[&str] =
    &["docs/accuracy.md", "bench/cache.md", "bench/results.md", "bench/live.md", "bench/log.md", "bench/find.md"];

/// The manual, and the page that lists its pages.
const MANUAL: &str = "docs/manual/";
const CONTENTS: &str = "docs/manual/README.md";

/// Checks that the manual's table of contents lists each page.
pub fn check_contents(texts: &[Text], findings: &mut Vec<Finding>) {
    let Some(contents) = texts.iter().find(|t| t.path == CONTENTS) else { return };
    let listed: Vec<&str> = contents.text.lines().flat_map(targets).collect();
    for page in texts.iter().filter(|t| t.path != CONTENTS) {
        let name = page.path.strip_prefix(MANUAL).filter(|name| name.ends_with(".md"));
        if name.is_some_and(|name| !listed.contains(&name)) {
            findings.push(Finding::new(&page.path, 0, format!("{CONTENTS} does not list this page")));
        }
    }
}

/// Checks the relative links of a Markdown file against the files of the repository.
pub fn check(text: &Text, paths: &[String], findings: &mut Vec<Finding>) {
    if !text.path.ends_with(".md") {
        return;
    }
    let folder = text.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    for (number, line) in lines(text) {
        for target in
            targets(line).filter(|t| !t.contains("://") && !t.starts_with(['#', '<']) && !t.starts_with("mailto:"))
        {
            let file = target.split('#').next().unwrap_or(target).trim_end_matches('/');
            let resolved = resolve(folder, file);
            let inside = format!("{resolved}/");
            if !MADE.contains(&resolved.as_str()) && !paths.iter().any(|p| *p == resolved || p.starts_with(&inside)) {
                findings.push(Finding::new(&text.path, number, format!("the link to '{target}' leads nowhere")));
            }
        }
    }
}

/// Checks that what stands behind `#` in a link is a heading of the document that it names.
pub fn check_headings(texts: &[Text], findings: &mut Vec<Finding>) {
    let documents: Vec<&Text> = texts.iter().filter(|t| t.path.ends_with(".md")).collect();
    let headings: BTreeMap<&str, Vec<String>> = documents.iter().map(|t| (t.path.as_str(), headings(t))).collect();
    for text in &documents {
        let folder = text.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (number, line) in lines(text) {
            for (target, heading) in targets(line).filter(|t| !t.contains("://")).filter_map(|t| t.split_once('#')) {
                let path = if target.is_empty() { text.path.clone() } else { resolve(folder, target) };
                if headings.get(path.as_str()).is_some_and(|all| !all.iter().any(|h| h == heading)) {
                    let what = format!("{path} has no heading for '#{heading}'");
                    findings.push(Finding::new(&text.path, number, what));
                }
            }
        }
    }
}

/// The headings of a document as links name them: lower case, `-` for blanks, no punctuation, a number from the second
/// of the same name on.
fn headings(text: &Text) -> Vec<String> {
    let (mut found, mut fenced) = (Vec::<String>::new(), false);
    for (_, line) in lines(text) {
        fenced ^= line.starts_with("```");
        if fenced || !line.starts_with('#') {
            continue;
        }
        let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
        let title: String = line.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect();
        let name = title.replace(' ', "-");
        let same = found.iter().filter(|f| **f == name || f.strip_prefix(&format!("{name}-")).is_some_and(is_number));
        let copies = same.count();
        found.push(if copies == 0 { name } else { format!("{name}-{copies}") });
    }
    found
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// The targets of the links of a line: what stands in `](...)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, _)| line[at + 2..].split([')', ' ']).next()).filter(|t| !t.is_empty())
}

/// `path` as seen from `folder`, relative to the root.
fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
    for part in path.split('/').filter(|p| !p.is_empty() && *p != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_resolved_from_their_folder() {
        let paths = ["docs/a.md".to_owned(), "README.md".to_owned()];
        let count = |line: &str| {
            let mut findings = Vec::new();
            check(&Text { path: "docs/b.md".to_owned(), text: line.to_owned() }, &paths, &mut findings);
            findings.len()
        };
        assert_eq!(count("[a](a.md) [r](../README.md#top) [d](../docs/) [w](https://example.org/x)"), 0);
        assert_eq!(count("[a](c.md)"), 1);
    }

    #[test]
    fn a_page_that_the_contents_do_not_list_is_found() {
        let text = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let texts =
            [text(CONTENTS, "- [A](a.md), [C](c.md)\n"), text("docs/manual/a.md", ""), text("docs/manual/b.md", "")];
        let mut findings = Vec::new();
        check_contents(&texts, &mut findings);
        assert_eq!(findings.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["docs/manual/b.md"]);
    }

    #[test]
    fn a_link_to_a_heading_that_was_renamed_is_found() {
        let text = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let count = |link: &str| {
            let texts = [text("docs/a.md", "# A\n\n## By GTP': it\n\n## Twice\n\n## Twice\n"), text("b.md", link)];
            let mut findings = Vec::new();
            check_headings(&texts, &mut findings);
            findings.len()
        };
        assert_eq!(count("[a](docs/a.md#by-gtp-it) [b](docs/a.md#twice-1) [c](https://example.org/a.md#x)"), 0);
        assert_eq!(count("[a](docs/a.md#gone)"), 1);
        assert_eq!(count("## Here\n[a](#here) [b](#there)"), 1);
    }
}
