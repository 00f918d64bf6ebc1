//! Plain English in documents and strings: phrases that were replaced by the word of the field do not come back, and
//! paragraphs are wrapped once.

use super::{Finding, lines};
use crate::repository::Text;

/// A phrase and the words to use instead. Both are lower case, with single blanks.
struct Phrase(&'static str, &'static str);

/// Banned in documents, comments and strings.
const EVERYWHERE: &[Phrase] = &[
    Phrase("how it is:", "state:"),
    Phrase("keeping back", "silencing, or suppressing"),
    Phrase("taking care of", "acknowledging"),
    Phrase("in its own right", "leave it out"),
    Phrase("thereof", "of it"),
];
/// Banned in documents.
const DOCUMENTS: &[Phrase] = &[
    Phrase("how it stood", "history"),
    Phrase("take care of", "acknowledge"),
    Phrase("takes care of", "acknowledges"),
    Phrase("taken care of", "acknowledged"),
    Phrase("took care of", "acknowledged"),
    Phrase("keep back", "silence, or suppress"),
    Phrase("keeps back", "silences, or suppresses"),
    Phrase("kept back", "silenced, or suppressed"),
    Phrase("holds it back", "delays it"),
    Phrase("what may come", "pending"),
    Phrase("alerts that are over", "resolved alerts"),
    Phrase("read them again", "reload them"),
    Phrase("have them read again", "reload them"),
    Phrase("came of it", "the result"),
    Phrase("comes of it", "the result"),
    Phrase("what came of", "the result of"),
    Phrase("holds from now on", "is in force at once"),
    Phrase("calls begin", "new calls per second"),
    Phrase("packets that are missing", "lost packets"),
    Phrase("what never came", "lost packets"),
    Phrase("came unevenly", "arrived with jitter"),
    Phrase("in the mean", "on average"),
    Phrase("in runs of", "in bursts of"),
    Phrase("nobody runs", "is not running"),
    Phrase("what mends", "what fixes"),
    Phrase("somebody looks", "a page shows it"),
    Phrase("has the whole of it", "see"),
    Phrase("whoever", "anyone who, or the name of the role"),
    Phrase("those who", "the name of the role: users, clients, readers"),
    Phrase("those whom", "the name of the role: users, clients, owners"),
    Phrase("strangers", "unknown senders, or untrusted input"),
];
/// Banned in what people read in the pages and of the command line: strings, the text of elements and the help of
/// commands. Comments may say them.
const STRINGS: &[Phrase] = &[
    Phrase("take care of", "acknowledge"),
    Phrase("takes care of", "acknowledges"),
    Phrase("taken care of", "acknowledged"),
    Phrase("take care", "acknowledge"),
    Phrase("keep back", "silence"),
    Phrase("keeps back", "silences"),
    Phrase("kept back", "suppressed"),
    Phrase("keep alerts back", "silence alerts"),
    Phrase("keeps alerts back", "silences alerts"),
    Phrase("alerts that are over", "alert history"),
    Phrase("calls that are over", "ended calls"),
    Phrase("told by route", "notified"),
    Phrase("judged last", "last value"),
    Phrase("stand for it", "depends on"),
    Phrase("read them again", "reload"),
    Phrase("came of it", "result"),
    Phrase("comes of it", "result"),
    Phrase("calls pass the filter", "calls match"),
    Phrase("that is all.", "end of list"),
    Phrase("in the mean", "average"),
    Phrase("never came", "lost"),
    Phrase("in runs of", "in bursts of"),
    Phrase("came unevenly", "arrived unevenly"),
    Phrase("on its way", "network path"),
    Phrase("on their way", "in flight"),
    Phrase("the call's minutes", "during the call"),
    Phrase("by themselves as soon as", "when"),
    Phrase("calls up", "active calls"),
    Phrase("calls begin", "new calls per second"),
    Phrase("packets that are missing", "lost packets"),
    Phrase("given up at", "expires at"),
    Phrase("look again", "refresh"),
    Phrase("as it holds", "current"),
    Phrase("holds from now on", "replaces it at once"),
    Phrase("nobody can know", "say what is not modelled"),
    Phrase("wire against bill", "reconciliation"),
    Phrase("one graph of these", "combine these graphs"),
    Phrase("do not poll", "pause polling"),
    Phrase("up while it answers", "up/down check"),
    Phrase("say how it is told", "set"),
    Phrase("bring a plan", "load a tariff plan"),
    Phrase("nobody runs", "is not running"),
    Phrase("nobody looks after", "is not running, or is off"),
    Phrase("serves here", "is running"),
    Phrase("has the whole of it", "see"),
    Phrase("an answer about", "unexpected reply from"),
    Phrase("because the operator says so", "by hand"),
    Phrase("those who wonder", "reason"),
    Phrase("how they become one", "aggregation"),
    Phrase("behind whom", "upstream devices, or dependencies"),
    Phrase("up and down by turns", "flapping"),
    Phrase("let us in", "accept the credential"),
    Phrase("lets us in", "accepts the credential"),
    Phrase("how it goes", "status"),
    Phrase("is called so", "matches"),
    Phrase("under way", "running"),
    Phrase("whoever", "anyone who, or the name of the role"),
];
/// Documents that a command or a test makes from other text, and those that quote what was written long ago.
const NOT_WRITTEN: &[&str] = &["docs/accuracy.md", "docs/damage.md", "CHANGELOG.md", "STYLE.md"];
/// Where commands are, whose doc comments are their help.
const HELP: &str = "crates/trunkline/src/command";
/// What follows is made from the configuration's sections.
const MADE_FROM_HERE: &str = "<!-- from here:";
/// A line before the end of a paragraph that could take the next word and stay this short was wrapped twice.
const SHORT_MAX: usize = 90;

/// Checks the words of one file, and the wrapping of a document.
pub fn check(text: &Text, findings: &mut Vec<Finding>) {
    if is_document(&text.path) {
        let prose = prose(&text.text);
        find(&text.path, &prose, EVERYWHERE, findings);
        find(&text.path, &prose, DOCUMENTS, findings);
        check_wrapping(text, findings);
    } else if text.path.ends_with(".md") && is_decision(&text.path) {
        let title: Vec<(usize, &str)> = lines(text).take(1).collect();
        find(&text.path, &title, EVERYWHERE, findings);
        find(&text.path, &title, DOCUMENTS, findings);
        check_wrapping(text, findings);
    } else if is_source(&text.path) {
        let product: Vec<(usize, &str)> = lines(text).take_while(|(_, line)| line.trim() != "#[cfg(test)]").collect();
        find(&text.path, &product, EVERYWHERE, findings);
        if !is_test(&text.path) {
            let help = text.path.starts_with(HELP);
            let strings: Vec<(usize, &str)> = product.into_iter().filter(|(_, line)| is_read(line, help)).collect();
            find(&text.path, &strings, STRINGS, findings);
        }
    }
}

/// Tests of pages, and Rust modules of tests, hold what is not shown to anybody.
fn is_test(path: &str) -> bool {
    path.contains(".test.")
        || path.contains("/tests")
        || path.contains("/schema.ts")
        || path.starts_with("crates/xtask/")
}

/// Whether people who use the program read of a line: it is no comment. Where clap makes help of doc comments, they do.
fn is_read(line: &str, is_help: bool) -> bool {
    let line = line.trim_start();
    (is_help && line.starts_with("/// "))
        || !(line.starts_with("//") || line.starts_with("/*") || line.starts_with("* "))
}

/// A document for people who use or change the program. Of a decision only the title is checked, since its body stays
/// as it was written.
fn is_document(path: &str) -> bool {
    let chosen = path.starts_with("docs/") || !path.contains('/');
    path.ends_with(".md") && chosen && !is_decision(path) && !NOT_WRITTEN.contains(&path)
}

fn is_decision(path: &str) -> bool {
    path.starts_with("docs/decisions/") && !path.ends_with("/README.md")
}

fn is_source(path: &str) -> bool {
    let rust = path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs");
    let pages = path.starts_with("ui/src/") && (path.ends_with(".ts") || path.ends_with(".tsx"));
    (rust || pages) && !path.starts_with("crates/xtask/src/tidy/plain")
}

/// The lines of a document that a person wrote as prose: no code blocks, no output, nothing that was made.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    text.lines()
        .enumerate()
        .take_while(|(_, line)| !line.starts_with(MADE_FROM_HERE))
        .filter(|(_, line)| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fenced && !fence
        })
        .map(|(index, line)| (index + 1, line))
        .collect()
}

/// Finds banned phrases, also those that a line break, a comment mark or a string's continuation parts.
fn find(path: &str, lines: &[(usize, &str)], phrases: &[Phrase], findings: &mut Vec<Finding>) {
    let (mut joined, mut begins) = (String::new(), Vec::new());
    for (number, line) in lines {
        begins.push((joined.len(), *number));
        let line = line.trim().trim_start_matches(['/', '!']).trim_end_matches('\\');
        for word in without_targets(line).split_whitespace() {
            joined.push_str(&word.to_lowercase());
            joined.push(' ');
        }
        if line.is_empty() {
            joined.push_str("\n ");
        }
    }
    for Phrase(banned, instead) in phrases {
        for (at, _) in joined.match_indices(banned).filter(|(at, _)| alone(&joined, *at, banned.len())) {
            let line = begins.iter().rev().find(|(begin, _)| *begin <= at).map_or(0, |(_, number)| *number);
            findings.push(Finding::new(path, line, format!("'{banned}' is not plain: say \"{instead}\"")));
        }
    }
}

/// A line without the targets of its links, which hold names of files and headings.
fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |whole, part| whole + "] " + part.split_once(')').map_or("", |(_, rest)| rest))
}

/// Whether no letter or digit touches the phrase.
fn alone(text: &str, at: usize, length: usize) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + length..].chars().next();
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// A line of prose is broken where the next word does not fit, not somewhere before.
fn check_wrapping(text: &Text, findings: &mut Vec<Finding>) {
    let prose = prose(&text.text);
    for pair in prose.windows(2) {
        let [(number, line), (next_number, next)] = pair else { continue };
        let word = next.split_whitespace().next().unwrap_or_default();
        let follows = *next_number == number + 1 && is_prose(line) && is_prose(next) && !is_item(next);
        let fits = line.chars().count() + 1 + word.chars().count() <= SHORT_MAX;
        if follows && fits && !word.contains(['[', '!']) && !next.contains("](") {
            let what = format!("the line ends early, '{word}' fits behind it: wrap the paragraph once, at 120 columns");
            findings.push(Finding::new(&text.path, *number, what));
        }
    }
}

fn is_prose(line: &str) -> bool {
    let text = line.trim_start();
    !text.is_empty()
        && line.len() - text.len() < 4
        && !text.starts_with(['#', '|', '<', '>'])
        && !text.starts_with("![")
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let text = line.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.starts_with("- ") || text.starts_with("* ") || (digits > 0 && text[digits..].starts_with(". "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check(&Text { path: path.to_owned(), text: text.to_owned() }, &mut findings);
        findings.iter().map(|f| format!("{}: {}", f.line, f.text.split('\'').nth(1).unwrap_or_default())).collect()
    }

    #[test]
    fn a_riddle_in_a_document_is_found_across_lines_and_not_in_output() {
        let text = "# A\n\nThe page shows what is kept\nback, and Whoever asks.\n\n```\nkept back\n```\n";
        assert_eq!(found("docs/manual/a.md", text), ["3: kept back", "4: whoever", "3: back,"]);
        assert_eq!(found("docs/manual/a.md", "Silenced [alerts](a/whoever.md), whoevers.\n"), Vec::<String>::new());
        assert_eq!(found("docs/accuracy.md", "Whoever\n"), Vec::<String>::new());
    }

    #[test]
    fn a_decision_has_a_plain_title_and_keeps_its_body() {
        assert_eq!(found("docs/decisions/0001-a.md", "# 0001: Whoever asks\n\nWhoever asks.\n"), ["1: whoever"]);
    }

    #[test]
    fn strings_and_comments_are_checked_before_the_tests() {
        let code = "/// Is in its own\n/// right.\nfn a() {\n    f(\"How \\\n        it is: bad\");\n}\n#[cfg(test)]\n// thereof\n";
        assert_eq!(found("crates/alert/src/a.rs", code), ["4: how it is:", "1: in its own right"]);
        assert_eq!(found("crates/alert/tests/all/a.rs", code), Vec::<String>::new());
    }

    #[test]
    fn a_riddle_that_people_read_is_found_and_comments_may_have_it() {
        let page = "// What is kept back.\n/** Who takes care of it. */\n<button>\n  Keep\n  back\n</button>\nx(\"As it holds\");\n";
        assert_eq!(found("ui/src/pages/a.tsx", page), ["4: keep back", "7: as it holds"]);
        assert_eq!(found("ui/src/pages/a.test.ts", page), Vec::<String>::new());
        let code = "/// Nobody runs graphs there\nfn a() {\n    f(\"{} never \\\n        came\");\n}\n";
        assert_eq!(found("crates/calls/src/a.rs", code), ["3: never came"]);
        assert_eq!(found("crates/trunkline/src/command/a.rs", code), ["3: never came", "1: nobody runs"]);
    }

    #[test]
    fn a_paragraph_that_was_wrapped_twice_is_found() {
        let long = "word ".repeat(20);
        assert_eq!(found("README.md", &format!("{long}\nshort\nagain\n\n- one\n- two\n| a |\n")), ["2: again"]);
        assert_eq!(found("README.md", &format!("{long}\n{long}\nend\n")), Vec::<String>::new());
    }
}
