//! What became of each test, from the JUnit files of the runners (nextest, vitest, node), and from nextest's list of
//! all tests.

use super::columns;
use roxmltree::{Document, Node};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

/// How a test that lacks a tool says so and ends: a line of its own, with the reason behind.
const SKIPPED: &str = "SKIPPED: ";
/// How a test says that it left out a part and tested the rest.
const IN_PART: &str = "SKIPPED IN PART: ";
/// Why a test has no result although nobody told the runner to leave it out.
const LOST: &str = "listed and not run";

/// One test.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its crate, or the name of its file of results.
    pub of: String,
    /// The program or the file of results that holds it, and its name there.
    pub name: String,
    pub seconds: f64,
    pub outcome: Outcome,
}

/// What became of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// It passed and left out a part; why.
    PassedInPart(String),
    /// It did not run, or ended because a tool is missing; why.
    Skipped(String),
    Failed,
}

/// Reads a JUnit file. `name` stands for the tests that belong to no crate.
///
/// # Errors
/// The place and what is wrong there.
pub fn parse(name: &str, text: &str) -> Result<Vec<Case>, String> {
    let document = Document::parse(text).map_err(|error| format!("{}: {error}", error.pos().row))?;
    let root = document.root_element();
    let nextest = root.attribute("name") == Some("nextest-run");
    if !matches!(root.tag_name().name(), "testsuites" | "testsuite") {
        return Err(format!("1: <{}>, expected <testsuites>", root.tag_name().name()));
    }
    let nodes = root.descendants().filter(|node| node.has_tag_name("testcase"));
    let mut cases = nodes.map(|node| case(name, nextest, node)).collect::<Result<Vec<_>, _>>()?;
    let untold = failures_untold(root, &cases);
    cases.extend((0..untold).map(|_| Case {
        of: name.to_owned(),
        name: format!("{name}: a failure that the file counts and that none of its tests has"),
        seconds: 0.0,
        outcome: Outcome::Failed,
    }));
    match cases.is_empty() {
        true => Err("1: there is no test in it".to_owned()),
        false => Ok(cases),
    }
}

/// Failures that the file counts and no test in it has. nextest and vitest count in attributes of the root: there are
/// more if a file of tests could not be loaded, or if a test failed first and passed then, and may not. node says of a
/// test with subtests only how these ended; that it failed itself shows in the sum at the end alone, a comment that
/// counts each test with a failed subtest, too.
fn failures_untold(root: Node<'_, '_>, cases: &[Case]) -> usize {
    let told = count(cases.iter())[1];
    let number = |key: &str| root.attribute(key).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
    let of_root = (number("failures") + number("errors")).saturating_sub(told);
    let comments = root.children().filter(Node::is_comment).filter_map(|comment| comment.text());
    let failed = comments.filter_map(|text| text.trim().strip_prefix("fail ")?.parse::<usize>().ok()).sum::<usize>();
    let has_failed = |suite: &Node<'_, '_>| suite.descendants().any(|node| node.has_tag_name("failure"));
    let suites = root.descendants().filter(|node| node.has_tag_name("testsuite")).filter(has_failed).count();
    of_root.max(failed.saturating_sub(suites + told))
}

fn case(name: &str, nextest: bool, node: Node<'_, '_>) -> Result<Case, String> {
    let row = node.document().text_pos_at(node.range().start).row;
    let attribute = |key: &str| node.attribute(key).ok_or_else(|| format!("{row}: a testcase without '{key}'"));
    let (program, test) = (node.attribute("classname").unwrap_or_default(), attribute("name")?);
    // nextest's programs are called crate, crate::test or crate::bin/program.
    let of = if nextest { program.split("::").next().unwrap_or(program) } else { name };
    let time = node.attribute("time").unwrap_or("0");
    let seconds = time.parse().map_err(|_| format!("{row}: '{time}' is no number of seconds"))?;
    let full = match nextest {
        true => format!("{program} {test}"),
        false => {
            let suites = node.ancestors().filter(|suite| suite.has_tag_name("testsuite"));
            let mut path: Vec<&str> = suites.filter_map(|suite| suite.attribute("name")).collect();
            path.reverse();
            path.push(test);
            format!("{name}: {}", path.join(" > "))
        }
    };
    // node gives a file of tests a line of its own if it ended before one of them had: well, as far as node knows.
    let outcome = match outcome(node) {
        Outcome::Passed if !nextest && test.ends_with(".test.mjs") => Outcome::Failed,
        other => other,
    };
    Ok(Case { of: of.to_owned(), name: full, seconds, outcome })
}

fn outcome(node: Node<'_, '_>) -> Outcome {
    let child = |names: &[&str]| node.children().find(|child| names.iter().any(|name| child.has_tag_name(*name)));
    if child(&["failure", "error"]).is_some() {
        return Outcome::Failed;
    }
    if let Some(skipped) = child(&["skipped"]) {
        // node says "true" where no reason was given.
        let reason = skipped.attribute("message").filter(|message| !matches!(*message, "" | "true"));
        return Outcome::Skipped(reason.unwrap_or("no reason given").to_owned());
    }
    let printed = |mark: &str| {
        let outputs = node.children().filter(|c| c.has_tag_name("system-out") || c.has_tag_name("system-err"));
        outputs.filter_map(|output| output.text()).find_map(|text| reason(text, mark))
    };
    match (printed(SKIPPED), printed(IN_PART)) {
        (Some(reason), _) => Outcome::Skipped(reason),
        (None, Some(reason)) => Outcome::PassedInPart(reason),
        (None, None) => Outcome::Passed,
    }
}

/// The rest of the first line that begins with `mark`. A machine with one processor has `test NAME ... ` before it.
fn reason(text: &str, mark: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let line = match line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            Some((_, rest)) => rest,
            None => line,
        };
        Some(line.strip_prefix(mark)?.trim().to_owned())
    })
}

/// The tests of nextest's list (`cargo nextest list --message-format json`) that are not among `ran`.
///
/// # Errors
/// The place and what is wrong there.
pub fn not_run(text: &str, ran: &[Case]) -> Result<Vec<Case>, String> {
    let list: Value = serde_json::from_str(text).map_err(|error| format!("{}: {error}", error.line()))?;
    let suites = list.get("rust-suites").and_then(Value::as_object).ok_or("1: no object 'rust-suites'")?;
    let ran: HashSet<&str> = ran.iter().map(|case| case.name.as_str()).collect();
    let mut unrun = Vec::new();
    for (program, suite) in suites {
        let tests = suite.get("testcases").and_then(Value::as_object);
        let tests = tests.ok_or_else(|| format!("1: 'rust-suites' '{program}': no object 'testcases'"))?;
        // A filter of the runner's configuration leaves out all of it.
        let is_listed = suite.get("status").is_none_or(|status| status == "listed");
        let left_out = (!is_listed).then(|| ("*".to_owned(), Value::Null));
        for (test, said) in tests.iter().chain(left_out.iter().map(|(test, said)| (test, said))) {
            let name = format!("{program} {test}");
            if ran.contains(name.as_str()) {
                continue;
            }
            let ignored = said.get("ignored") == Some(&Value::Bool(true));
            let reason = if ignored { "marked #[ignore]: run by hand" } else { LOST };
            let of = program.split("::").next().unwrap_or(program).to_owned();
            unrun.push(Case { of, name, seconds: 0.0, outcome: Outcome::Skipped(reason.to_owned()) });
        }
    }
    Ok(unrun)
}

/// How many of these tests should have run.
pub fn lost(unrun: &[Case]) -> usize {
    unrun.iter().filter(|case| case.outcome == Outcome::Skipped(LOST.to_owned())).count()
}

/// `N passed, N failed, N skipped`; `lost` is added to those that failed.
pub fn sum(cases: &[Case], lost: usize) -> String {
    let [passed, failed, skipped] = count(cases.iter());
    format!("{passed} passed, {} failed, {skipped} skipped", failed + lost)
}

fn count<'a>(cases: impl Iterator<Item = &'a Case>) -> [usize; 3] {
    let mut counts = [0; 3];
    for case in cases {
        counts[match case.outcome {
            Outcome::Passed | Outcome::PassedInPart(_) => 0,
            Outcome::Failed => 1,
            Outcome::Skipped(_) => 2,
        }] += 1;
    }
    counts
}

/// A table of crates, slowest first; the slowest tests; what was skipped and why; what failed.
pub fn render(cases: &[Case], slowest: usize) -> String {
    let mut crates: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        crates.entry(&case.of).or_default().push(case);
    }
    let total = |cases: &[&Case]| cases.iter().map(|case| case.seconds).sum::<f64>();
    let mut sorted: Vec<_> = crates.into_iter().map(|(of, cases)| (of, total(&cases), cases)).collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut rows = vec![["tests", "s", "passed", "failed", "skipped"].map(str::to_owned).to_vec()];
    rows.extend(sorted.iter().map(|(of, seconds, cases)| {
        let counts = count(cases.iter().copied()).map(|n| n.to_string());
        [(*of).to_owned(), format!("{seconds:.1}")].into_iter().chain(counts).collect()
    }));
    let mut text = columns(&rows);
    render_slowest(cases, slowest, &mut text);
    let in_part = |case: &Case| match &case.outcome {
        Outcome::PassedInPart(reason) => Some(reason.clone()),
        _ => None,
    };
    let skipped = |case: &Case| match &case.outcome {
        Outcome::Skipped(reason) => Some(reason.clone()),
        _ => None,
    };
    render_grouped(cases, "skipped", skipped, &mut text);
    render_grouped(cases, "passed, and skipped in part", in_part, &mut text);
    for case in cases.iter().filter(|case| case.outcome == Outcome::Failed) {
        let _ = writeln!(text, "failed: {}", case.name);
    }
    text
}

fn render_slowest(cases: &[Case], slowest: usize, text: &mut String) {
    let mut sorted: Vec<&Case> = cases.iter().collect();
    sorted.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let _ = writeln!(text, "\nslowest tests, s");
    for case in sorted.iter().take(slowest) {
        let _ = writeln!(text, "{:>8.1}  {}", case.seconds, case.name);
    }
}

/// The tests with a reason, below it.
fn render_grouped(cases: &[Case], what: &str, reason: impl Fn(&Case) -> Option<String>, text: &mut String) {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for case in cases {
        if let Some(reason) = reason(case) {
            groups.entry(reason).or_default().push(&case.name);
        }
    }
    for (reason, names) in groups {
        let _ = writeln!(text, "\n{what}: {reason} ({})", names.len());
        names.iter().for_each(|name| {
            let _ = writeln!(text, "  {name}");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXTEST: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="5" skipped="0" failures="1" errors="0" time="0.309">
  <testsuite name="trunkline-wire" tests="2" failures="0">
    <testcase name="sip::parses" classname="trunkline-wire" time="0.041"><system-out>
running 1 test
test sip::parses ... ok
</system-out><system-err></system-err></testcase>
    <testcase name="sip::late" classname="trunkline-wire" time="1.5"><flakyFailure type="x">no</flakyFailure></testcase>
  </testsuite>
  <testsuite name="trunkline-wire::all" tests="3" failures="1">
    <testcase name="cdr::oracle" classname="trunkline-wire::all" time="0.067"><system-out>
running 1 test
SKIPPED: no tshark &amp; no capinfos
test cdr::oracle ... ok
</system-out></testcase>
    <testcase name="cdr::part" classname="trunkline-wire::all" time="2"><system-err>more
SKIPPED IN PART: no Go
</system-err></testcase>
    <testcase name="cdr::bad" classname="trunkline-wire::all" time="0.16"><failure message="left != right"
      type="test failure with exit code 101">left</failure><system-out>SKIPPED: no</system-out></testcase>
  </testsuite>
</testsuites>"#;

    const NODE: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<testsuites>
  <testsuite name="alerts" time="3.1" tests="2" failures="1" skipped="1">
    <testcase name="silence" time="2.0" classname="test"><failure type="testCodeFailure">no</failure></testcase>
    <testcase name="mail" time="0.1" classname="test"><skipped type="skipped" message="no mail server"/></testcase>
  </testsuite>
  <testcase name="later" time="0" classname="test"><skipped type="skipped" message="true"/></testcase>
  <testsuite name="mine" time="0.5" tests="1" failures="0">
    <testcase name="own" time="0.1" classname="test"/>
  </testsuite>
  <!-- tests 6 -->
  <!-- fail 3 -->
</testsuites>"#;

    #[test]
    fn outcomes_are_read() {
        let cases = parse("rust", NEXTEST).unwrap();
        assert_eq!(cases[0].of, "trunkline-wire");
        assert_eq!(
            (cases[2].of.as_str(), cases[2].name.as_str()),
            ("trunkline-wire", "trunkline-wire::all cdr::oracle")
        );
        let outcomes: Vec<_> = cases.iter().map(|case| case.outcome.clone()).collect();
        let skipped = Outcome::Skipped("no tshark & no capinfos".to_owned());
        let in_part = Outcome::PassedInPart("no Go".to_owned());
        assert_eq!(outcomes, [Outcome::Passed, Outcome::Passed, skipped, in_part, Outcome::Failed]);
        assert_eq!(sum(&cases, 0), "3 passed, 1 failed, 1 skipped");
        assert_eq!(sum(&cases, 2), "3 passed, 3 failed, 1 skipped");
    }

    #[test]
    fn tests_of_pages_are_of_their_file() {
        let cases = parse("browser", NODE).unwrap();
        assert!(cases.iter().all(|case| case.of == "browser"));
        assert_eq!(cases[1].outcome, Outcome::Skipped("no mail server".to_owned()));
        assert_eq!(cases[2].outcome, Outcome::Skipped("no reason given".to_owned()));
        assert_eq!((cases[0].name.as_str(), cases[2].name.as_str()), ("browser: alerts > silence", "browser: later"));
        // 'silence', 'alerts' for it, and 'mine', which the file does not say.
        assert_eq!(cases[4].name, "browser: a failure that the file counts and that none of its tests has");
        assert_eq!(sum(&cases, 0), "1 passed, 2 failed, 2 skipped");
    }

    #[test]
    fn a_file_that_ended_before_its_tests_has_failed() {
        let text = "<testsuites><testcase name='/ui/e2e/all.test.mjs' time='0.1' classname='test'/></testsuites>";
        assert_eq!(sum(&parse("browser", text).unwrap(), 0), "0 passed, 1 failed, 0 skipped");
    }

    #[test]
    fn a_line_of_one_processor_has_the_test_before_it() {
        let line = "test cdr::oracle ... SKIPPED: no tshark\nok\n";
        assert_eq!(reason(line, SKIPPED).as_deref(), Some("no tshark"));
        assert_eq!(reason("it says SKIPPED: no\nskipped: no", SKIPPED), None);
    }

    #[test]
    fn tests_that_did_not_run_are_skipped() {
        let list = r#"{"rust-suites": {"trunkline-wire::all": {"testcases": {
            "cdr::bad": {"ignored": false}, "cdr::long": {"ignored": true}, "cdr::lost": {"ignored": false}}}, "trunkline-wire::cut": {"status": "skipped", "testcases": {}}}}"#;
        let unrun = not_run(list, &parse("rust", NEXTEST).unwrap()).unwrap();
        let shown: Vec<_> = unrun.iter().map(|case| (case.name.as_str(), case.outcome.clone())).collect();
        let skipped = |reason: &str| Outcome::Skipped(reason.to_owned());
        assert_eq!(
            shown,
            [
                ("trunkline-wire::all cdr::long", skipped("marked #[ignore]: run by hand")),
                ("trunkline-wire::all cdr::lost", skipped("listed and not run")),
                ("trunkline-wire::cut *", skipped("listed and not run")),
            ]
        );
        assert_eq!(lost(&unrun), 2);
        assert!(not_run("{\n}", &[]).unwrap_err().starts_with("1: no object 'rust-suites'"));
    }

    #[test]
    fn failures_that_only_the_root_counts_are_failures() {
        let report = |counts: &str, inside: &str| {
            let text = format!("<testsuites {counts}><testcase name='a'>{inside}</testcase></testsuites>");
            sum(&parse("x", &text).unwrap(), 0)
        };
        assert_eq!(report("failures='0' errors='1'", ""), "1 passed, 1 failed, 0 skipped");
        assert_eq!(report("failures='1' errors='0'", "<failure/>"), "0 passed, 1 failed, 0 skipped");
        assert_eq!(report("failures='1'", "<flakyFailure/>"), "1 passed, 1 failed, 0 skipped");
        assert_eq!(report("", ""), "1 passed, 0 failed, 0 skipped");
        assert_eq!(parse("x", "<testsuites tests='0'/>").unwrap_err(), "1: there is no test in it");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        assert!(parse("x", "<testsuites>\n<testcase></b>").unwrap_err().starts_with("2: expected 'testcase' tag"));
        assert_eq!(parse("x", "<html/>").unwrap_err(), "1: <html>, expected <testsuites>");
        let unnamed = "<testsuites>\n<testcase time='1'/></testsuites>";
        assert_eq!(parse("x", unnamed).unwrap_err(), "2: a testcase without 'name'");
        let long = "<testsuites>\n\n<testcase name='a' time='long'/></testsuites>";
        assert_eq!(parse("x", long).unwrap_err(), "3: 'long' is no number of seconds");
    }

    #[test]
    fn the_report_names_the_slowest_and_what_was_skipped() {
        let shown = render(&parse("rust", NEXTEST).unwrap(), 2);
        assert_eq!(
            shown,
            "tests             s  passed  failed  skipped\n\
             trunkline-wire  3.8       3       1        1\n\
             \n\
             slowest tests, s\n     \
             2.0  trunkline-wire::all cdr::part\n     \
             1.5  trunkline-wire sip::late\n\
             \n\
             skipped: no tshark & no capinfos (1)\n  \
             trunkline-wire::all cdr::oracle\n\
             \n\
             passed, and skipped in part: no Go (1)\n  \
             trunkline-wire::all cdr::part\n\
             failed: trunkline-wire::all cdr::bad\n"
        );
    }
}
