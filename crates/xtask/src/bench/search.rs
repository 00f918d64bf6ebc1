//! How fast calls are found and summed up in a store of ten million, each kind of filter, cold and warm.

use super::calls::{self, Calls, DAYS, MANY};
use super::example::{self, number};
use super::log::median;
use super::table::grouped;
use super::{Bench, Outcome, need};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Warm runs of each question, after one that is not counted.
const RUNS: usize = 5;
/// The longest that a page may take, warm, milliseconds; and a question that only rows can answer, which is stopped.
const BUDGET_MS: f64 = 200.0;
const STOPPED_MS: f64 = 1000.0;

/// What was asked, and how it went.
struct Answer {
    name: String,
    filter: String,
    /// First page and summary after the page cache was emptied; none where that is not allowed.
    cold: Option<[Value; 2]>,
    pages: Vec<Value>,
    summaries: Vec<Value>,
}

/// Makes the store, asks, and takes it away.
///
/// # Errors
/// The store cannot be made or asked.
pub fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    let Calls { folder, program, made } = match calls::store(bench, if bench.quick { MANY / 10 } else { MANY })? {
        Ok(store) => store,
        Err(skipped) => return Ok(skipped),
    };
    eprintln!("bench: {made}");
    let is_root = need::missing(Some("empty the page cache"), &[]).is_none();
    // What is not on the disk yet stays in the page cache.
    let _ = Command::new("sync").status();
    let mut answers = vec![];
    for (name, filter) in questions(&program)? {
        let answer = ask(&program, &folder, name, filter, is_root)?;
        eprintln!("bench: {}: {:?} {:?}", answer.name, answer.pages.last(), answer.summaries.last());
        answers.push(answer);
    }
    let well = answers.iter().all(Answer::is_well);
    Ok(Outcome::Measured(markdown(&made, &answers, is_root), well))
}

fn questions(program: &Path) -> Result<Vec<(String, String)>, String> {
    let output = Command::new(program).arg("questions").output().map_err(|e| format!("{}: {e}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().filter_map(|line| line.split_once('\t')).map(|(n, f)| (n.to_owned(), f.to_owned())).collect())
}

fn ask(program: &Path, folder: &Path, name: String, filter: String, is_root: bool) -> Result<Answer, String> {
    let one = |kind: &str| example::run(program, &[kind.as_ref(), folder.as_os_str(), name.as_ref()]);
    let cold = match is_root {
        true => Some([cold(program).and_then(|()| one("page"))?, cold(program).and_then(|()| one("summary"))?]),
        false => None,
    };
    let several = |kind: &str| -> Result<Vec<Value>, String> {
        one(kind)?;
        (0..RUNS).map(|_| one(kind)).collect()
    };
    let (pages, summaries) = (several("page")?, several("summary")?);
    Ok(Answer { name, filter, cold, pages, summaries })
}

/// Empties the page cache, and brings back the program, which is not what is measured.
fn cold(program: &Path) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("the page cache cannot be emptied: {e}");
    std::fs::write("/proc/sys/vm/drop_caches", "3").map_err(failed)?;
    let _ = Command::new(program).arg("questions").output();
    Ok(())
}

impl Answer {
    /// Only rows can say: the first page was given up.
    fn is_stopped(&self) -> bool {
        self.pages.iter().any(|page| page["stopped"] == true)
    }

    fn page_ms(&self) -> f64 {
        median(self.pages.iter().map(|page| number(page, "ms")))
    }

    fn next_ms(&self) -> Option<f64> {
        let all: Vec<f64> = self.pages.iter().filter_map(|page| page["next_ms"].as_f64()).collect();
        (!all.is_empty()).then(|| median(all.into_iter()))
    }

    fn summary_ms(&self) -> f64 {
        median(self.summaries.iter().map(|summary| number(summary, "ms")))
    }

    fn is_well(&self) -> bool {
        // A step is begun before the time is over, and ends after it.
        let most = if self.is_stopped() { STOPPED_MS * 1.1 } else { BUDGET_MS };
        self.page_ms() <= most && self.next_ms().is_none_or(|ms| ms <= most)
    }
}

fn markdown(made: &Value, answers: &[Answer], is_root: bool) -> String {
    let calls = number(made, "calls");
    let mut out = format!(
        "\n{} calls over {DAYS} days, {:.1} GiB ({:.0} octets a call; every seventh has two streams), written in \
         {:.0} s. Each question is asked in a store that is opened for it, of all days: the first page of 50, the next \
         one, and the summary in 120 buckets. Milliseconds; warm is the median of {RUNS}.{}\n\n",
        grouped(calls as u64),
        number(made, "octets") / f64::from(1 << 30),
        number(made, "octets") / calls.max(1.0),
        number(made, "seconds"),
        if is_root { " Cold: the page cache was emptied." } else { " Not cold: only root may empty the page cache." },
    );
    out.push_str("| asked | filter | calls | first page | next page | summary | first page, cold | summary, cold |\n");
    out.push_str("|---|---|---:|---:|---:|---:|---:|---:|\n");
    answers.iter().for_each(|answer| line(&mut out, answer));
    let missed: Vec<&str> = answers.iter().filter(|a| !a.is_well()).map(|a| a.name.as_str()).collect();
    let met = if missed.is_empty() { "met".to_owned() } else { format!("**missed**: {}", missed.join(", ")) };
    let _ = writeln!(
        out,
        "\n*: stopped after {STOPPED_MS:.0} ms; what was found until then is told, and the page goes on from there.\n\n\
         Budget: first and next page after {BUDGET_MS:.0} ms, warm, or stopped ({met})."
    );
    out
}

fn line(out: &mut String, answer: &Answer) {
    let mark = |is_cut: bool| if is_cut { "*" } else { "" };
    let cut = answer.summaries.iter().any(|summary| summary["exact"] == false);
    let calls = answer.summaries.last().map_or(0.0, |summary| number(summary, "calls"));
    let filter = if answer.filter.is_empty() { String::new() } else { format!("`{}`", answer.filter) };
    let next = answer.next_ms().map_or(String::new(), |ms| format!("{ms:.1}{}", mark(answer.is_stopped())));
    let cold = |of: usize, field: &str, is: bool| {
        let cold = answer.cold.as_ref().and_then(|cold| cold.get(of));
        cold.map_or(String::new(), |cold| format!("{:.0}{}", number(cold, "ms"), mark(cold[field] == is)))
    };
    let _ = writeln!(
        out,
        "| {} | {filter} | {}{} | {:.1}{} | {next} | {:.1}{} | {} | {} |",
        answer.name,
        grouped(calls as u64),
        mark(cut),
        answer.page_ms(),
        mark(answer.is_stopped()),
        answer.summary_ms(),
        mark(cut),
        cold(0, "stopped", true),
        cold(1, "exact", false),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_stopped_is_marked_and_what_is_slow_is_missed() {
        let answer = |ms: f64, stopped: bool| Answer {
            name: "x".into(),
            filter: "mos<1".into(),
            cold: None,
            pages: vec![json!({"ms": ms, "next_ms": null, "rows": 0, "stopped": stopped})],
            summaries: vec![json!({"ms": 1.0, "calls": 12345, "exact": !stopped})],
        };
        assert!(answer(199.0, false).is_well() && !answer(201.0, false).is_well());
        assert!(answer(1001.0, true).is_well() && !answer(1200.0, true).is_well());
        let made = json!({"calls": 10, "octets": 5000, "seconds": 1});
        let text = markdown(&made, &[answer(201.0, false), answer(1001.0, true)], false);
        assert!(text.contains("| x | `mos<1` | 12,345* | 1001.0* |  | 1.0* |  |  |"), "{text}");
        assert!(text.contains("**missed**: x)"), "{text}");
    }
}
