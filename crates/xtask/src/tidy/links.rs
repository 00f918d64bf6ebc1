//! Links between the project's documents lead somewhere.

use super::{Finding, lines};
use crate::repository::Text;

/// Documents that a command makes: a link may lead there before it ran.
const MADE: &[&str] =
    &["docs/accuracy.md", "bench/cache.md", "bench/results.md", "bench/live.md", "bench/log.md", "bench/find.md"];

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
}
