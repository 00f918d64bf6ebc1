//! `trunkline store`: which rows leave, and how.

mod forget;

use crate::failure::Failure;
use crate::output::stdout;
use crate::retention::clock::{self, Clock, Moment};
use crate::retention::{self, Keeper};
use crate::rights;
use crate::run::config::{self, Given, Settings};
use crate::search;
use crate::show::figure;
use crate::stop::Stop;
use crate::web::desk;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use trunkline_kit::exit::Exit;
use trunkline_store::retention::Now;
use trunkline_store::{Access, Store as Rows};
use trunkline_web::auth::{DESK_FILE, Desk};

/// Delete rows of the store: by age and size, or all rows of a number
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline store prune --dry-run             what [store] of the configuration would delete\n  \
    trunkline store prune --data /var/lib/trunkline\n  \
    trunkline store forget +44207001234         delete a number from rows, alerts and audit log\n\n\
    Exit code 3: something could not be deleted; a line says what.")]
pub struct Store {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Remove the rows that [store] of the configuration keeps no longer, and entries of the audit log that [web.audit]
    /// does; `trunkline run` does it every hour, the web for its log
    Prune {
        #[command(flatten)]
        place: Place,
        /// Only show what would be deleted
        #[arg(long)]
        dry_run: bool,
        /// Trust the machine's clock, although it does not continue from the last prune
        #[arg(long)]
        clock_is_right: bool,
        /// Print one JSON object per day and class, then a summary
        #[arg(long)]
        json: bool,
    },
    /// Remove all rows that name a number, with or without `+`, make it unreadable in alerts and the audit log, and
    /// print a receipt
    Forget {
        /// The number, as it stands in From, To or another header; not a pattern
        #[arg(value_name = "NUMBER")]
        number: String,
        #[command(flatten)]
        place: Place,
        /// Only show what would be deleted
        #[arg(long)]
        dry_run: bool,
        /// Print the receipt as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
struct Place {
    /// Configuration file [default: /etc/trunkline/trunkline.toml if it is there]
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Data folder, instead of the configuration's
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: Option<PathBuf>,
}

impl Place {
    fn settings(&self) -> Result<Settings, Failure> {
        let data = self.data.as_ref().map(|folder| folder.to_string_lossy().into_owned());
        let options = data.into_iter().map(|folder| ("data", "folder", folder, "--data")).collect();
        Ok(config::load(&Given { file: self.config.clone(), options })?.settings)
    }
}

impl Store {
    /// Removes and tells.
    pub fn run(&self) -> Result<Exit, Failure> {
        match &self.what {
            What::Prune { place, dry_run, clock_is_right, json } => {
                prune(&place.settings()?, *dry_run, *clock_is_right, *json)
            }
            What::Forget { number, place, dry_run, json } => {
                forget::forget(number, &place.settings()?, *dry_run, *json)
            }
        }
    }
}

/// The store that is there already.
fn open(settings: &Settings, dry_run: bool) -> Result<Rows, Failure> {
    let folder = settings.data.folder.join("store");
    if !folder.is_dir() {
        return Err(Failure::Failed(format!("no store in {}", settings.data.folder.display())));
    }
    if !dry_run {
        rights::write_as_owner(&settings.data.folder, &["store", "web", "alert", "spool"])?;
    }
    Rows::open(&folder, if dry_run { Access::Read } else { Access::Write }).map_err(search::failure)
}

/// The time, and why it is in doubt. What is believed is noted.
fn believed(data: &Path, dry_run: bool, is_right: bool) -> Result<(Now, Option<String>), Failure> {
    let moment = Moment::now();
    let mut clock = Clock::open(data, &moment);
    let looked = clock.look(&moment);
    let now = Now { is_believed: looked.is_believed || is_right, ..looked };
    if now.is_believed && !dry_run {
        clock.note(&moment).map_err(|e| Failure::Failed(format!("{}: {e}", clock::path(data).display())))?;
    }
    Ok((now, (!now.is_believed).then(|| clock.doubt(&moment))))
}

/// Audit entries that left, or would; none where there is no web.
fn audit(settings: &Settings, now: Now, dry_run: bool) -> Result<u64, String> {
    let path = settings.data.folder.join(DESK_FILE);
    if !path.is_file() {
        return Ok(0);
    }
    let believed_ns = now.is_believed.then_some(now.ns);
    let left = Desk::open(&path, &desk::options(settings)).and_then(|desk| match dry_run {
        true => desk.audit_to_trim(believed_ns),
        false => desk.trim_audit(believed_ns),
    });
    desk::hand_over(&settings.data.folder);
    left.map_err(|why| format!("{}: {why}", path.display()))
}

fn prune(settings: &Settings, dry_run: bool, clock_is_right: bool, json: bool) -> Result<Exit, Failure> {
    let mut store = open(settings, dry_run)?;
    let data = &settings.data.folder;
    let (now, doubt) = believed(data, dry_run, clock_is_right)?;
    let mut keeper = Keeper::new(&data.join("store"), retention::rules(settings, data));
    let planned = keeper.plan(&store, now).map_err(search::failure)?;
    let audit = audit(settings, now, dry_run);
    let stop = Stop::on_signals();
    let left = match dry_run {
        true => retention::Left::default(),
        false => retention::leave(&mut store, &planned.plan, &stop.flag()).map_err(search::failure)?,
    };
    let (mut out, done) = (stdout(), if dry_run { "would leave" } else { "left" });
    for leave in planned.plan.leave.iter().filter(|_| json || dry_run) {
        let (day, class, why) = (leave.day.to_string(), leave.class.name(), leave.why.name());
        if json {
            let line = json!({"day": day, "class": class, "rows": leave.rows, "octets": leave.octets, "why": why});
            writeln!(out, "{line}")?;
        } else {
            let rows = figure::of(leave.rows, "row", "rows");
            writeln!(out, "{day} {class}: {rows}, {}: {why}", figure::octets(leave.octets))?;
        }
    }
    let planned_rows: u64 = planned.plan.leave.iter().map(|leave| leave.rows).sum();
    let rows = if dry_run { planned_rows } else { left.gone.rows() };
    let trouble: Vec<String> = (planned.skipped.iter().map(|day| day.why.clone()))
        .chain(left.failed.iter().cloned())
        .chain(retention::contradiction(&planned.plan))
        .chain(audit.as_ref().err().cloned())
        .chain(doubt)
        .collect();
    if json {
        let summary = json!({
            "dry_run": dry_run, "rows": rows, "days": left.gone.days, "octets_before": planned.octets,
            "octets_freed": left.octets, "octets_over": planned.plan.over_octets,
            "days_ahead": planned.plan.days_ahead, "clock_in_doubt": !now.is_believed,
            "audit_entries": audit.unwrap_or_default(), "stopped": stop.is_asked(), "trouble": trouble,
        });
        writeln!(out, "{}", json!({ "summary": summary }))?;
    } else {
        let (rows, octets) = (figure::of(rows, "row", "rows"), figure::octets(planned.octets));
        let freed = if dry_run { String::new() } else { format!(", {} freed", figure::octets(left.octets)) };
        writeln!(out, "{rows} {done}{freed}; the store had {octets}")?;
        let entries = audit.unwrap_or_default();
        if entries > 0 {
            writeln!(out, "{} of the audit log {done}", figure::of(entries, "entry", "entries"))?;
        }
    }
    out.flush()?;
    trouble.iter().try_for_each(|why| writeln!(std::io::stderr(), "trunkline: {why}"))?;
    Ok(if trouble.is_empty() && !stop.is_asked() { Exit::Done } else { Exit::Degraded })
}
