//! `trunkline store forget`: a number leaves rows, alerts and the web's desk, and a receipt says what was done, what is
//! left to do, and where nothing was done.

mod elsewhere;
mod spelled;

use super::open;
use crate::alert::here;
use crate::asking::Node;
use crate::failure::Failure;
use crate::output::stdout;
use crate::retention;
use crate::retention::clock::{Clock, Moment};
use crate::run::config::Settings;
use crate::run::now_ns;
use crate::search;
use crate::show::figure;
use crate::show::text::clean;
use crate::web::desk;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use trunkline_commit::Redacted;
use trunkline_kit::Id;
use trunkline_kit::exit::Exit;
use trunkline_kit::forgotten::Forgotten;
use trunkline_store::key::day_of;
use trunkline_store::removal::{Chosen, Class, Gone};
use trunkline_store::time::rfc3339;
use trunkline_web::auth::{DESK_FILE, Desk, NumberAtDesk, OPEN_DESK_FILE};

/// How long alerts that run may take: their log is written anew.
const PATIENCE: Duration = Duration::from_secs(120);

/// What was done, or would be.
struct Receipt {
    number: Forgotten,
    at_ns: i64,
    dry_run: bool,
    /// Rows that name it and may leave.
    found: Chosen,
    /// Rows that left.
    gone: Option<Gone>,
    /// Rows that keep-at-least protects.
    protected: u64,
    /// Where nothing is kept of alerts, or of the web, none.
    alerts: Option<Redacted>,
    desk: Option<NumberAtDesk>,
    /// What is still there, a line each.
    trouble: Vec<String>,
}

pub fn forget(number: &str, settings: &Settings, dry_run: bool, json: bool) -> Result<Exit, Failure> {
    let wrong = || Failure::Usage(format!("'{number}' is not a number: write it as it stands in calls, no pattern"));
    let names: Vec<Forgotten> = spelled::forms(number).iter().filter_map(|name| Forgotten::new(name)).collect();
    let (first, others) = names.split_first().ok_or_else(wrong)?;
    let data = &settings.data.folder;
    let mut store = open(settings, dry_run)?;
    let mut number = first.clone();
    let (mut found, mut skipped) = store.chosen_of(number.name()).map_err(search::failure)?;
    for other in others {
        if found.is_empty() {
            number = other.clone();
            (found, skipped) = store.chosen_of(number.name()).map_err(search::failure)?;
        }
    }
    // Where nothing is found in any form, the receipt is about what was asked for.
    number = if found.is_empty() { first.clone() } else { number };
    let at_ns = now_ns();
    let rules = retention::rules(settings, data);
    let moment = Moment::now();
    let mut clock = Clock::open(data, &moment);
    let now = clock.look(&moment);
    let protected = protected(&mut found, |class, id| rules.protects(class, day_of(id), now));
    let same = match spelled::with_the_other_prefix(number.name()) {
        Some(other) => (store.chosen_of(&other).map_err(search::failure)?.0.len(), other),
        None => Default::default(),
    };
    let gone = if dry_run { None } else { Some(store.remove_rows(&found).map_err(search::failure)?) };
    let doubt = (!now.is_believed).then(|| clock.doubt(&moment));
    let trouble = skipped.into_iter().map(|day| format!("{}: skipped", day.why)).chain(doubt).collect();
    let (alerts, desk) = Default::default();
    let mut receipt = Receipt { number, at_ns, dry_run, found, gone, protected, alerts, desk, trouble };
    receipt.of_days(data);
    receipt.of_alerts(data);
    receipt.of_desk(settings);
    receipt.trouble.extend(elsewhere::waiting(data, &receipt.number));
    let (rows, other) = same;
    receipt.trouble.extend((rows > 0).then(|| {
        let rows = figure::of(rows as u64, "row names", "rows name");
        format!("{rows} {other}, the same number dialled from another country or network: forget that, too")
    }));
    let mut out = stdout();
    match json {
        true => writeln!(out, "{}", json!({ "receipt": receipt.as_json(data) }))?,
        false => receipt.lines(data).iter().try_for_each(|line| writeln!(out, "{line}"))?,
    }
    out.flush()?;
    receipt.trouble.iter().try_for_each(|why| writeln!(std::io::stderr(), "trunkline: {why}"))?;
    Ok(if receipt.trouble.is_empty() && protected == 0 { Exit::Done } else { Exit::Degraded })
}

impl Receipt {
    /// What others hold of days.
    fn of_days(&mut self, data: &Path) {
        let left = self.gone.map(|gone| gone.unsettled).filter(|days| *days > 0);
        self.trouble.extend(left.map(|days| {
            let (store, logs) = (data.join("store"), figure::of(days, "day's log has", "days' logs have"));
            format!("{}: {logs} what was before until nobody reads: do it again later", store.display())
        }));
    }

    /// Through who runs alerts, where somebody does; else in their folder, which nobody may have open.
    fn of_alerts(&mut self, data: &Path) {
        let (folder, node) = (here::folder(data), Node::new(here::socket(data), "alert job", PATIENCE));
        if !folder.is_dir() {
            return;
        }
        let write = !self.dry_run;
        let done = match node.serves() {
            true => {
                let order = json!({ "do": "forget-number", "number": self.number.name(), "write": write });
                node.ask(&order).map_err(|why| why.to_string()).map(|reply| {
                    let of = |key: &str| reply.get(key).and_then(Value::as_u64).unwrap_or_default();
                    Redacted { records: of("records"), files: of("files"), kept: of("kept") }
                })
            }
            false => trunkline_alert::job::forget_number(&folder, &self.number, write).map_err(|why| why.to_string()),
        };
        match done {
            Ok(done) => self.alerts = Some(done),
            Err(why) => self.trouble.push(format!("{}: {why}", folder.display())),
        }
        if let Some(kept) = self.alerts.map(|done| done.kept).filter(|kept| *kept > 0) {
            let files = figure::of(kept, "damaged file that a repair kept was", "damaged files that repairs kept were");
            self.trouble.push(format!("{}: {files} not looked at", folder.display()));
        }
    }

    /// Beside a web that runs, or without one: the file has a writer at a time.
    fn of_desk(&mut self, settings: &Settings) {
        let data = &settings.data.folder;
        for file in [DESK_FILE, OPEN_DESK_FILE] {
            let path = data.join(file);
            if !path.is_file() {
                continue;
            }
            let who = format!("shell (uid {})", rustix::process::getuid().as_raw());
            let done = Desk::open(&path, &desk::options(settings)).and_then(|desk| match self.dry_run {
                true => desk.number_at_desk(&self.number),
                false => desk.forget_number(&self.number, &who, self.at_ns),
            });
            desk::hand_over(data);
            match done {
                Ok(done) => {
                    let sum = self.desk.get_or_insert_default();
                    sum.entries += done.entries;
                    sum.filters += done.filters;
                    if done.in_journal {
                        let why = "its journal has what was before until nobody reads: do it again later";
                        self.trouble.push(format!("{}: {why}", path.display()));
                    }
                }
                Err(why) => self.trouble.push(format!("{}: {why}", path.display())),
            }
        }
    }

    fn as_json(&self, data: &Path) -> Value {
        let found = json!({"calls": self.found.calls.len(), "registrations": self.found.registrations.len(),
            "events": self.found.events.len(), "charges": self.found.charges.len()});
        let gone = self.gone.map(|gone| {
            json!({"calls": gone.calls, "streams": gone.streams, "intervals": gone.intervals, "events": gone.events,
                "charges": gone.charges, "days": gone.days})
        });
        let not_touched = elsewhere::places(data, &self.number);
        let not_touched: Vec<Value> = not_touched
            .map(|place| json!({"what": place.what, "path": place.path.display().to_string(), "look": place.look}))
            .collect();
        json!({"number": self.number.name(), "at": rfc3339(self.at_ns), "dry_run": self.dry_run, "found": found,
            "removed": gone, "protected_rows": self.protected,
            "alerts": self.alerts.map(|done| json!({"records": done.records, "files": done.files})),
            "audit": self.desk.map(|done| json!({"entries": done.entries, "filters": done.filters})),
            "left": self.trouble, "not_touched": not_touched})
    }

    fn lines(&self, data: &Path) -> Vec<String> {
        let (what, made) = match self.dry_run {
            true => ("would leave", "would be made unreadable"),
            false => ("left", "made unreadable"),
        };
        // What left, not what was found: another one may do the same.
        let found = &self.found;
        let others = (found.registrations.len() + found.events.len()) as u64;
        let found = (found.calls.len() as u64, others, found.charges.len() as u64);
        let (calls, others, charges) = self.gone.map_or(found, |gone| (gone.calls, gone.events, gone.charges));
        let mut lines = vec![
            format!("receipt: {}, {}", clean(self.number.name(), false), rfc3339(self.at_ns)),
            format!("{} with their streams {what}", figure::of(calls, "call", "calls")),
            format!("{} {what}", figure::of(others, "registration or event", "registrations and events")),
            format!("{} {what}", figure::of(charges, "charge", "charges")),
        ];
        if self.protected > 0 {
            let rows = figure::of(self.protected, "row is protected", "rows are protected");
            lines.push(format!("{rows} by keep-at-least"));
        }
        lines.push(match self.alerts {
            Some(done) => format!("alerts: {made} in {}", figure::of(done.records, "record", "records")),
            None => "alerts: none are kept, or see below".to_owned(),
        });
        lines.push(match self.desk {
            Some(done) => {
                let entries = figure::of(done.entries, "entry", "entries");
                let filters = figure::of(done.filters, "saved filter", "saved filters");
                format!("audit log: {made} in {entries}; {filters} {what}")
            }
            None => "audit log: none is kept, or see below".to_owned(),
        });
        let places = elsewhere::places(data, &self.number);
        lines.extend(
            places.map(|place| format!("not touched: {}, {}: {}", place.what, place.path.display(), place.look)),
        );
        lines
    }
}

/// Takes out what may not leave yet; how many rows.
fn protected(chosen: &mut Chosen, stays: impl Fn(Class, Id) -> bool) -> u64 {
    let before = chosen.len();
    let retain = |ids: &mut BTreeSet<Id>, class: Class| ids.retain(|id| !stays(class, *id));
    retain(&mut chosen.calls, Class::Calls);
    retain(&mut chosen.registrations, Class::Events);
    retain(&mut chosen.events, Class::Events);
    retain(&mut chosen.charges, Class::Charges);
    (before - chosen.len()) as u64
}
