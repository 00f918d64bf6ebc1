//! `trunkline alert`: what is an alert now and was one, silences, rules and channels.

mod node;
mod report;

use crate::alert::rules::{self, Wrong};
use crate::failure::Failure;
use crate::moment;
use crate::output::stdout;
use crate::show::table::{self, Column, Row, Table, number, text};
use crate::show::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use node::Place;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::PathBuf;
use trunkline_kit::config::{self as kit, Raw, Value as _};
use trunkline_kit::exit::Exit;

/// The width to which a title is cut before numbers are left out for it.
const TITLE_NARROWEST: usize = 16;
/// Characters of the name of who acknowledged an alert.
const WHO_CHARS_MAX: usize = 16;

/// View, acknowledge and silence alerts
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
#[command(after_help = "Examples:\n  \
    trunkline alert list                               open alerts; exit code 3 if there are any\n  \
    trunkline alert history --limit 20                 resolved alerts\n  \
    trunkline alert show 4f3a2c1d                      one alert: values, notifications, timeline\n  \
    trunkline alert check rules.toml                   all mistakes, with line and column\n  \
    trunkline alert test noc                           a test message to the channel 'noc'\n  \
    trunkline alert acknowledge 4f3a2c1d               the alert is no longer escalated\n  \
    trunkline alert silence 'device = edge-*' --for '2 h' --why 'new firmware'\n  \
    trunkline alert maintenance edge-1 --for '30 min'  silences all alerts of a device\n  \
    trunkline alert silences                           all silences; trunkline alert unsilence ID\n  \
    trunkline alert reports                            send times and last results of reports\n  \
    trunkline alert report weekly -w weekly.html       a report with current data; --send sends it\n\n\
    See docs/manual/alerts.md and docs/manual/reports.md.")]
pub struct Alert {
    /// What to do.
    #[command(subcommand)]
    order: Order,
}

/// What there is.
#[derive(Debug, clap::Subcommand)]
enum Order {
    /// List open alerts; exit code 3 if there are any
    List {
        #[command(flatten)]
        place: Place,
    },
    /// List the alert history, newest first
    History {
        /// Maximum number of alerts
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
        #[command(flatten)]
        place: Place,
    },
    /// Show one alert, open or resolved, with its timeline
    Show {
        /// The identifier, or its beginning or end
        #[arg(value_name = "ID")]
        alert: String,
        #[command(flatten)]
        place: Place,
    },
    /// List the rules with what they watch and the number of subjects
    Rules {
        #[command(flatten)]
        place: Place,
    },
    /// List the channels with the result of the last message
    Channels {
        #[command(flatten)]
        place: Place,
    },
    /// Validate rule files without loading them; exit code 2 if there is a mistake
    Check {
        /// Files, or folders with *.toml files [default: alert/rules in the data folder]
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        place: Place,
    },
    /// Send a test message to a channel
    Test {
        /// The channel
        #[arg(value_name = "CHANNEL")]
        channel: String,
        #[command(flatten)]
        place: Place,
    },
    /// Acknowledge an alert; it is no longer escalated
    Acknowledge {
        /// The identifier, or its beginning or end
        #[arg(value_name = "ID")]
        alert: String,
        #[command(flatten)]
        by: By,
        #[command(flatten)]
        place: Place,
    },
    /// Silence alerts for a time
    Silence(Silence),
    /// Silence all alerts of a device for a time
    Maintenance {
        /// The device
        #[arg(value_name = "DEVICE")]
        device: String,
        #[command(flatten)]
        time: Time,
        #[command(flatten)]
        by: By,
        #[command(flatten)]
        place: Place,
    },
    /// List silences and maintenance windows
    Silences {
        #[command(flatten)]
        place: Place,
    },
    /// End a silence early
    Unsilence {
        /// The identifier, or its beginning or end
        #[arg(value_name = "ID")]
        silence: String,
        #[command(flatten)]
        by: By,
        #[command(flatten)]
        place: Place,
    },
    /// List reports with the next send time and the last result; exit code 3 if sending one failed
    Reports {
        #[command(flatten)]
        place: Place,
    },
    /// Show a report with current data, write it to a file, or send it
    Report(report::Ask),
    /// Reload the rules; if there is a mistake, the previous rules stay active
    Reload {
        #[command(flatten)]
        place: Place,
    },
    /// Show the status of the alert job; exit code 3 if it cannot send notifications
    Status {
        #[command(flatten)]
        place: Place,
    },
}

/// Alerts to silence.
#[derive(Debug, clap::Args)]
struct Silence {
    /// Label tests, all must match: 'device = edge-*', 'rule != power', 'severity = info, warning'
    #[arg(value_name = "TEST", required = true)]
    tests: Vec<String>,
    #[command(flatten)]
    time: Time,
    #[command(flatten)]
    by: By,
    #[command(flatten)]
    place: Place,
}

/// How long.
#[derive(Debug, clap::Args)]
struct Time {
    /// Duration: '30 min', '2 h', '3 days'
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    for_s: i64,
    /// Start: 2026-11-20, 2026-11-20T08:00, or seconds since 1970 [default: now]
    #[arg(long, value_name = "TIME", value_parser = begin)]
    from: Option<i64>,
    /// Reason
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
}

/// Who.
#[derive(Debug, clap::Args)]
struct By {
    /// Name of the operator [default: the user of this machine]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl By {
    fn name(&self) -> String {
        let user = || std::env::var("USER").ok().filter(|name| !name.is_empty());
        self.by.clone().or_else(user).unwrap_or_else(|| "operator".to_owned())
    }
}

fn seconds(text: &str) -> Result<i64, String> {
    let time = std::time::Duration::of(&Raw::Text(text.to_owned()))?;
    i64::try_from(time.as_secs()).ok().filter(|seconds| *seconds > 0).ok_or_else(|| "a second at least".to_owned())
}

fn begin(text: &str) -> Result<i64, String> {
    text.parse().or_else(|_| moment::span(text, &TimeZone::system()).map(|(ns, _)| ns.div_euclid(1_000_000_000)))
}

impl Alert {
    /// Does what the subcommand says.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        match &self.order {
            Order::List { place } => list(place, terminal),
            Order::History { limit, place } => {
                let reply = place.ask(&json!({ "do": "history", "limit": limit }))?;
                tell(place, &reply, |reply, out| history(reply, terminal, out))
            }
            Order::Show { alert, place } => {
                let reply = place.ask(&json!({ "do": "alert", "alert": alert }))?;
                tell(place, &reply, |reply, out| show(reply, terminal, out))
            }
            Order::Rules { place } => {
                let reply = place.ask(&json!({ "do": "rules" }))?;
                tell(place, &reply, |reply, out| shown_rules(reply, terminal, out))
            }
            Order::Channels { place } => {
                let reply = place.ask(&json!({ "do": "channels" }))?;
                tell(place, &reply, |reply, out| channels(reply, terminal, out))
            }
            Order::Check { files, place } => check(files, place),
            Order::Test { channel, place } => test(channel, place),
            Order::Acknowledge { alert, by, place } => {
                let reply = place.ask(&json!({ "do": "acknowledge", "alert": alert, "by": by.name() }))?;
                tell(place, &reply, |reply, out| writeln!(out, "{} is acknowledged", said(&reply["alert"])))
            }
            Order::Silence(Silence { tests, time, by, place }) => silence(tests, time, by, place),
            Order::Maintenance { device, time, by, place } => silence(&[format!("device = {device}")], time, by, place),
            Order::Silences { place } => {
                let reply = place.ask(&json!({ "do": "silences" }))?;
                tell(place, &reply, |reply, out| silences(reply, terminal, out))
            }
            Order::Unsilence { silence, by, place } => {
                let reply = place.ask(&json!({ "do": "unsilence", "silence": silence, "by": by.name() }))?;
                tell(place, &reply, |reply, out| writeln!(out, "{} is over", said(&reply["silence"])))
            }
            Order::Reports { place } => report::list(place, terminal),
            Order::Report(ask) => ask.run(),
            Order::Reload { place } => {
                let reply = place.ask(&json!({ "do": "reload" }))?;
                tell(place, &reply, |reply, out| writeln!(out, "{} rules", said(&reply["rules"])))
            }
            Order::Status { place } => status(place),
        }
    }
}

/// Prints a reply as JSON, or as it is told.
fn tell(
    place: &Place,
    reply: &Value,
    plain: impl FnOnce(&Value, &mut dyn Write) -> io::Result<()>,
) -> Result<Exit, Failure> {
    let mut out = stdout();
    if place.json {
        writeln!(out, "{reply}")?;
    } else {
        plain(reply, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn list(place: &Place, terminal: &Terminal) -> Result<Exit, Failure> {
    let reply = place.ask(&json!({ "do": "list" }))?;
    let open = reply["alerts"].as_array().map_or(0, Vec::len);
    tell(place, &reply, |reply, out| {
        if open > 0 {
            table::write(&open_alerts(reply, terminal), terminal, out)?;
        }
        let pending = reply["pending"].as_array().map_or(0, Vec::len);
        writeln!(out, "{open} open alerts, {pending} pending or suppressed")?;
        match reply["fault"].as_str() {
            Some(fault) => writeln!(out, "no notifications are sent, because the alert log cannot be written: {fault}"),
            None => Ok(()),
        }
    })?;
    Ok(if open == 0 && reply["fault"].is_null() { Exit::Done } else { Exit::Degraded })
}

fn open_alerts(reply: &Value, terminal: &Terminal) -> Vec<Line> {
    let mut table = Table::new(vec![
        text("id"),
        text("severity"),
        text("state"),
        text("since"),
        number("value"),
        number("limit").drops(1),
        text("alert").cuts(TITLE_NARROWEST, Keep::Start),
    ]);
    for alert in reply["alerts"].as_array().into_iter().flatten() {
        let short = short_id(&alert["id"]);
        let keys = [said(&alert["severity"]), state(alert), time(&alert["began"])];
        let rest = [figure(&alert["value"]), figure(&alert["limit"]), said(&alert["title"])];
        table.row(cells(terminal, &[vec![short], keys.into(), rest.into()].concat()));
    }
    table.lines(terminal)
}

/// The state of an alert, and who acknowledged it.
fn state(alert: &Value) -> String {
    let (state, by) = (said(&alert["state"]), said(&alert["acknowledged"]["by"]));
    match by.char_indices().nth(WHO_CHARS_MAX) {
        _ if by.is_empty() => state,
        Some((end, _)) => format!("{state}, acked by {}..", &by[..end]),
        None => format!("{state}, acked by {by}"),
    }
}

/// The end of an identifier, by which an alert can be named.
fn short_id(id: &Value) -> String {
    said(id).rsplit('-').next().unwrap_or_default().to_owned()
}

/// What is known of an alert, then its course.
fn show(alert: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", said(&alert["title"]))?;
    if let Some(text) = alert["text"].as_str().filter(|text| !text.is_empty()) {
        writeln!(out, "{text}")?;
    }
    let limit = match &alert["limit"] {
        Value::Null => String::new(),
        limit => format!(" (limit {})", figure(limit)),
    };
    let state = match alert["kept_back_by"].as_str() {
        Some(by) => format!("{}, suppressed by {by}", said(&alert["state"])),
        None => said(&alert["state"]),
    };
    let about = [
        ("id", said(&alert["id"])),
        ("rule", said(&alert["rule"])),
        ("condition", said(&alert["condition"])),
        ("severity", said(&alert["severity"])),
        ("state", state),
        ("began", time(&alert["began"])),
        ("ended", time(&alert["ended"])),
        ("value", format!("{}{limit}", figure(&alert["value"]))),
        ("acknowledged by", said(&alert["acknowledged"]["by"])),
    ];
    for (what, told) in about.iter().filter(|(_, told)| !told.is_empty()) {
        writeln!(out, "{what:<17}{told}")?;
    }
    let shown = ["rule", "severity"];
    for (name, value) in
        alert["labels"].as_object().into_iter().flatten().filter(|(name, _)| !shown.contains(&&***name))
    {
        writeln!(out, "{:<10}{name} = {}", "label", said(value))?;
    }
    writeln!(out)?;
    let columns = vec![text("at"), text("what"), text("to").drops(1), number("value"), text("why")];
    rows(&alert["course"], columns, terminal, out, |step| {
        let what = match step["what"].as_str() {
            Some("state") => said(&step["state"]),
            Some("acknowledged") => format!("acknowledged by {}", said(&step["by"])),
            _ => format!("{} ({})", said(&step["outcome"]), tries(&step["attempts"])),
        };
        let why = if step["kept_back_by"].is_null() { said(&step["why"]) } else { said(&step["kept_back_by"]) };
        vec![time(&step["at"]), what, said(&step["channel"]), figure(&step["value"]), why]
    })
}

fn tries(attempts: &Value) -> String {
    match attempts.as_u64() {
        Some(1) => "1 try".to_owned(),
        attempts => format!("{} tries", attempts.unwrap_or_default()),
    }
}

fn history(reply: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let columns = vec![text("id"), text("severity"), text("began"), text("ended"), number("value"), text("alert")];
    rows(&reply["alerts"], columns, terminal, out, |alert| {
        vec![
            short_id(&alert["id"]),
            said(&alert["severity"]),
            time(&alert["began"]),
            time(&alert["ended"]),
            figure(&alert["value"]),
            said(&alert["title"]),
        ]
    })
}

fn shown_rules(reply: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let columns =
        vec![text("rule"), text("severity"), number("subjects"), number("alerts"), text("watches"), text("bad is")];
    let keys = ["rule", "severity", "subjects", "alerts", "watches", "condition"];
    rows(&reply["rules"], columns, terminal, out, |rule| keys.iter().map(|key| said(&rule[*key])).collect())
}

fn channels(reply: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let columns = vec![text("channel"), text("kind"), text("to"), text("last"), text("outcome"), text("why")];
    rows(&reply["channels"], columns, terminal, out, |channel| {
        let last = &channel["last"];
        let outcome = [&last["outcome"], &last["why"]].map(said);
        let named = ["channel", "kind", "to"].map(|key| said(&channel[key]));
        [named.to_vec(), vec![time(&last["at"])], outcome.to_vec()].concat()
    })
}

fn silences(reply: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let columns =
        vec![text("silence"), text("of"), text("from"), text("until"), text("holds"), text("by"), text("why")];
    let joined = |tests: &Value| {
        let tests: Vec<String> = tests.as_array().into_iter().flatten().map(said).collect();
        if tests.is_empty() { "everything".to_owned() } else { tests.join(" and ") }
    };
    let all =
        reply["silences"].as_array().into_iter().flatten().chain(reply["windows"].as_array().into_iter().flatten());
    let all: Value = all.cloned().collect();
    rows(&all, columns, terminal, out, |one| {
        let id = said(&one["silence"]);
        let name = id.rsplit('-').next().filter(|id| !id.is_empty()).map_or_else(|| said(&one["name"]), str::to_owned);
        let weekly: Vec<String> = one["weekly"].as_array().into_iter().flatten().map(said).collect();
        let from = if weekly.is_empty() { time(&one["from"]) } else { weekly.join(", ") };
        let (holds, by, why) = (said(&one["holds"]), said(&one["by"]), said(&one["why"]));
        vec![name, joined(&one["when"]), from, time(&one["until"]), holds, by, why]
    })
}

fn silence(tests: &[String], time: &Time, by: &By, place: &Place) -> Result<Exit, Failure> {
    let Time { for_s, from, why } = time;
    let order = json!({ "do": "silence", "when": tests, "from_s": from, "for_s": for_s, "by": by.name(), "why": why });
    let reply = place.ask(&order)?;
    tell(place, &reply, |reply, out| {
        writeln!(out, "{} is active until {}", said(&reply["silence"]), self::time(&reply["until"]))
    })
}

/// One that was not delivered ends with exit code 1.
fn test(channel: &str, place: &Place) -> Result<Exit, Failure> {
    let reply = place.ask(&json!({ "do": "test", "channel": channel }))?;
    let (outcome, why) = (said(&reply["outcome"]), said(&reply["why"]));
    tell(place, &reply, |_, out| match why.is_empty() {
        true => writeln!(out, "{channel}: {outcome}"),
        false => writeln!(out, "{channel}: {outcome}: {why}"),
    })?;
    Ok(if outcome == "delivered" { Exit::Done } else { Exit::Failed })
}

fn status(place: &Place) -> Result<Exit, Failure> {
    let reply = place.ask(&json!({ "do": "status" }))?;
    tell(place, &reply, |reply, out| {
        for (key, what) in [("rules", "rules"), ("channels", "channels"), ("alerts", "alerts")] {
            writeln!(out, "{what:<10}{}", said(&reply[key]))?;
        }
        writeln!(out, "{:<10}{} wait", "messages", said(&reply["messages_waiting"]))?;
        for rule in reply["rules_without_subject"].as_array().into_iter().flatten() {
            writeln!(out, "the rule '{}' has no data yet", said(rule))?;
        }
        match reply["fault"].as_str() {
            Some(fault) => writeln!(out, "no notifications are sent, because the alert log cannot be written: {fault}"),
            None => Ok(()),
        }
    })?;
    Ok(if reply["fault"].is_null() { Exit::Done } else { Exit::Degraded })
}

fn check(files: &[PathBuf], place: &Place) -> Result<Exit, Failure> {
    let places = if files.is_empty() { vec![rules::folder(&place.data)] } else { files.to_vec() };
    let mut out = stdout();
    let exit = match rules::load(&places, &place.data) {
        Err(wrong @ Wrong::Unreadable(..)) => return Err(Failure::Failed(wrong.to_string())),
        Err(Wrong::Mistakes(mistakes)) => {
            for mistake in &mistakes {
                match (&mistake.place, place.json) {
                    (kit::Place::File { path, line, column }, true) => {
                        let told = json!({ "file": path, "line": line, "column": column, "what": mistake.what });
                        writeln!(out, "{told}")?;
                    }
                    _ => writeln!(out, "{mistake}")?,
                }
            }
            Exit::Usage
        }
        Ok(read) => {
            let counts = [
                ("rules", read.rules.len()),
                ("routes", read.routes.len()),
                ("channels", read.channels.len()),
                ("maintenance windows", read.maintenance.len()),
                ("reports", read.reports.len()),
            ];
            if !place.json {
                let told: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
                writeln!(out, "{}: no mistake", told.join(", "))?;
            }
            Exit::Done
        }
    };
    out.flush()?;
    Ok(exit)
}

/// A table with a row for each object of a list.
fn rows(
    list: &Value,
    columns: Vec<Column>,
    terminal: &Terminal,
    out: &mut dyn Write,
    texts: impl Fn(&Value) -> Vec<String>,
) -> io::Result<()> {
    let mut table = Table::new(columns);
    for one in list.as_array().into_iter().flatten() {
        table.row(cells(terminal, &texts(one)));
    }
    table::write(&table.lines(terminal), terminal, out)
}

fn cells(terminal: &Terminal, texts: &[String]) -> Row {
    let cells = texts.iter().map(|text| Line::new(terminal).with(Style::Plain, text)).collect();
    Row { cells, below: Vec::new() }
}

/// A text of a reply; a number as one, yes and no as words.
fn said(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(holds) => (if *holds { "yes" } else { "no" }).to_owned(),
        other => other.to_string(),
    }
}

/// A number with as many places as people read.
fn figure(value: &Value) -> String {
    value.as_f64().map_or_else(String::new, |number| {
        let text = format!("{number:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    })
}

/// Seconds since 1970, where people are.
fn time(value: &Value) -> String {
    let zone = TimeZone::system();
    let time = value.as_i64().and_then(|s| Timestamp::from_second(s).ok());
    time.map_or_else(String::new, |time| time.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples::terminal;

    #[test]
    fn a_long_title_is_cut_before_numbers_and_who_takes_care_are_left_out() {
        let title =
            "uplink-full: a subject whose name goes on for longer than any terminal is wide, and then some more";
        let alert = |by: Value| {
            json!({ "id": "0199-7fd2", "severity": "critical", "state": "firing", "began": 1_791_151_200, "value": 950,
                "limit": 900, "title": title, "acknowledged": by })
        };
        let long = json!({ "by": "somebody-with-a-long-name", "at": 0 });
        let reply = json!({ "alerts": [alert(json!({ "by": "anna", "at": 0 })), alert(long), alert(Value::Null)] });
        let lines: Vec<String> =
            open_alerts(&reply, &terminal(110)).iter().map(|line| line.text().to_owned()).collect();
        assert!(lines[0].contains("value") && lines[0].contains("limit"), "{lines:?}");
        assert!(lines[1].contains("firing, acked by anna ") && lines[1].contains("950"), "{lines:?}");
        assert!(lines[2].contains("firing, acked by somebody-with-a-.. "), "{lines:?}");
        assert!(lines.iter().all(|line| line.trim_end().chars().count() <= 110), "{lines:?}");
    }
}
