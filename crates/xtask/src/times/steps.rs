//! The steps of a run, and the CPU seconds that are committed for each.

use super::columns;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A step that took more than this share of its committed CPU seconds is named.
const GROWTH_MAX: f64 = 1.2;
/// CPU seconds below which a step is not named: what small steps take differs from run to run.
const SMALL_S: f64 = 10.0;

/// One step, as `.ci/run` has measured it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    pub name: String,
    pub passed: bool,
    /// Seconds from beginning to end.
    pub wall_s: f64,
    /// User and system seconds of the step and all processes that it waited for.
    pub cpu_s: f64,
}

/// Reads lines of name, `passed` or `FAILED`, wall, user and system seconds, with tabs between.
///
/// # Errors
/// The number of the first line that is no such line, and what is wrong with it.
pub fn parse(text: &str) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let step = step(line).map_err(|what| format!("{}: {what}", index + 1))?;
        if steps.iter().any(|earlier| earlier.name == step.name) {
            return Err(format!("{}: step '{}' is there twice", index + 1, step.name));
        }
        steps.push(step);
    }
    Ok(steps)
}

fn step(line: &str) -> Result<Step, String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, result, wall, user, system] = fields[..] else {
        return Err(format!("{} fields, expected 5: name, result, wall, user and system seconds", fields.len()));
    };
    let passed = match result {
        "passed" => true,
        "FAILED" => false,
        other => return Err(format!("result '{other}', expected passed or FAILED")),
    };
    Ok(Step { name: name.to_owned(), passed, wall_s: seconds(wall)?, cpu_s: seconds(user)? + seconds(system)? })
}

/// A number of seconds; shells of some languages write a comma in it.
fn seconds(text: &str) -> Result<f64, String> {
    let number = text.replace(',', ".").parse().ok();
    number.filter(|s: &f64| s.is_finite() && *s >= 0.0).ok_or_else(|| format!("'{text}' is no number of seconds"))
}

/// Reads the committed table: lines of step and CPU seconds with a tab between; `#` begins a comment.
///
/// # Errors
/// The number of the first line that is no such line, and what is wrong with it.
pub fn parse_table(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let mut table = BTreeMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let wrong = |what: String| format!("{}: {what}", index + 1);
        let (name, cpu) =
            line.split_once('\t').ok_or_else(|| wrong("no tab between step and CPU seconds".to_owned()))?;
        if table.insert(name.to_owned(), seconds(cpu).map_err(wrong)?).is_some() {
            return Err(wrong(format!("step '{name}' is there twice")));
        }
    }
    Ok(table)
}

/// The table to commit after this run.
///
/// # Errors
/// There is no step, or one failed: its times are not those of a whole run.
pub fn table(steps: &[Step]) -> Result<String, String> {
    if let Some(failed) = steps.iter().find(|step| !step.passed) {
        return Err(format!("the table is not written: step '{}' failed, and its times are of less", failed.name));
    }
    if steps.is_empty() {
        return Err("the table is not written: there are no steps".to_owned());
    }
    let mut text = "# CPU seconds of each step of .ci/run: cargo xtask times --write\n".to_owned();
    for step in steps {
        let _ = writeln!(text, "{}\t{:.0}", step.name, step.cpu_s);
    }
    Ok(text)
}

/// The steps as a table for people, with their sum.
pub fn render(steps: &[Step], table: &BTreeMap<String, f64>) -> String {
    let head = ["step", "wall s", "CPU s", "committed CPU s", "result"].map(str::to_owned).to_vec();
    let row = |step: &Step| {
        let committed = table.get(&step.name).map_or_else(|| "-".to_owned(), |cpu| format!("{cpu:.0}"));
        let result = if step.passed { "passed" } else { "FAILED" };
        vec![
            step.name.clone(),
            format!("{:.0}", step.wall_s),
            format!("{:.0}", step.cpu_s),
            committed,
            result.to_owned(),
        ]
    };
    let sum = |of: fn(&Step) -> f64| format!("{:.0}", steps.iter().map(of).fold(0.0, |a, b| a + b));
    let all = vec![
        "all".to_owned(),
        sum(|s| s.wall_s),
        sum(|s| s.cpu_s),
        format!("{:.0}", table.values().fold(0.0, |a, b| a + b)),
    ];
    let rows: Vec<_> = std::iter::once(head).chain(steps.iter().map(row)).chain([all]).collect();
    columns(&rows)
}

/// What differs from the committed table: a line for each step that takes more, is new, or did not run.
pub fn compare(steps: &[Step], table: &BTreeMap<String, f64>, file: &str) -> Vec<String> {
    let mut notices = Vec::new();
    for step in steps {
        let now = step.cpu_s;
        match table.get(&step.name) {
            None => notices.push(format!(
                "step '{}' took {now:.0} CPU s and is not in {file}: cargo xtask times --write adds it",
                step.name
            )),
            Some(before) if now >= SMALL_S && now > before * GROWTH_MAX => {
                let more =
                    if *before > 0.0 { format!("{:.0} % more", (now / before - 1.0) * 100.0) } else { "more".into() };
                notices.push(format!(
                    "step '{}' took {now:.0} CPU s, {more} than the {before:.0} s of {file}; \
                     if that is expected: cargo xtask times --write",
                    step.name
                ));
            }
            Some(_) => {}
        }
    }
    let ran = |name: &String| steps.iter().any(|step| step.name == *name);
    notices.extend(
        table
            .keys()
            .filter(|name| !ran(name))
            .map(|name| format!("step '{name}' of {file} did not run; if it is gone: cargo xtask times --write")),
    );
    notices
}

/// The steps that failed although no test did.
pub fn unexplained(steps: &[Step], test_failed: bool) -> Vec<&str> {
    steps.iter().filter(|step| !step.passed && !test_failed).map(|step| step.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &str = "build\tpassed\t400.1\t600,5\t100.0\ntest\tFAILED\t500\t800\t12\nshell\tpassed\t1\t1\t0.5\n";

    #[test]
    fn steps_are_read_and_shown() {
        let steps = parse(STEPS).unwrap();
        assert_eq!(steps[0], Step { name: "build".into(), passed: true, wall_s: 400.1, cpu_s: 700.5 });
        assert!(!steps[1].passed);
        let table = parse_table("# CPU seconds\nbuild\t690\n").unwrap();
        assert_eq!(
            render(&steps, &table),
            "step   wall s  CPU s  committed CPU s  result\n\
             build     400    700              690  passed\n\
             test      500    812                -  FAILED\n\
             shell       1      2                -  passed\n\
             all       901   1514              690\n"
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        assert_eq!(
            parse("a\tpassed\t1\t2\n").unwrap_err(),
            "1: 4 fields, expected 5: name, result, wall, user and system seconds"
        );
        assert_eq!(
            parse("a\tpassed\t1\t2\t3\nb\tlost\t1\t2\t3").unwrap_err(),
            "2: result 'lost', expected passed or FAILED"
        );
        assert_eq!(parse("a\tpassed\t1\t-2\t3").unwrap_err(), "1: '-2' is no number of seconds");
        assert_eq!(parse("a\tpassed\t1\t2\t3\na\tpassed\t1\t2\t3").unwrap_err(), "2: step 'a' is there twice");
        assert_eq!(parse_table("# x\nbuild 3").unwrap_err(), "2: no tab between step and CPU seconds");
        assert_eq!(parse_table("build\tlong").unwrap_err(), "1: 'long' is no number of seconds");
    }

    #[test]
    fn a_step_that_grew_by_more_than_a_fifth_is_named() {
        let steps = parse(STEPS).unwrap();
        let table = parse_table("build\t690\ntest\t655\nshell\t0.1\nfuzz\t3\n").unwrap();
        assert_eq!(
            compare(&steps, &table, ".ci/times.tsv"),
            [
                "step 'test' took 812 CPU s, 24 % more than the 655 s of .ci/times.tsv; if that is expected: \
                 cargo xtask times --write",
                "step 'fuzz' of .ci/times.tsv did not run; if it is gone: cargo xtask times --write",
            ]
        );
        let none = compare(&steps[2..], &BTreeMap::new(), "t");
        assert_eq!(none, ["step 'shell' took 2 CPU s and is not in t: cargo xtask times --write adds it"]);
    }

    #[test]
    fn the_table_is_of_a_run_that_passed() {
        let mut steps = parse(STEPS).unwrap();
        assert!(table(&steps).unwrap_err().contains("step 'test' failed"));
        steps[1].passed = true;
        let written = parse_table(&table(&steps).unwrap()).unwrap();
        assert_eq!(written.get("test"), Some(&812.0));
        assert_eq!(compare(&steps, &written, "t"), Vec::<String>::new());
        assert!(table(&[]).is_err());
    }

    #[test]
    fn a_failed_step_is_counted_unless_a_test_explains_it() {
        let steps = parse(STEPS).unwrap();
        assert_eq!(unexplained(&steps, false), ["test"]);
        assert!(unexplained(&steps, true).is_empty());
    }
}
