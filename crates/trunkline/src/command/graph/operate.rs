//! Orders to those who run graphs: credentials, devices, searches, imports, and what there is to see.

use super::add::Add;
use super::device::device;
use super::node::Place;
use crate::failure::Failure;
use crate::moment;
use crate::output::stdout;
use crate::show::table::{self, Row, Table, number, text};
use crate::show::text::{Line, Style};
use crate::terminal::Terminal;
use clap::builder::PossibleValuesParser;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trunkline_contract::plain;
use trunkline_kit::exit::Exit;

/// Octets of a file with a secret that are read.
const SECRET_OCTETS_MAX: u64 = 4096;
/// How often it is asked how a search gets on.
const LOOK: Duration = Duration::from_millis(500);
/// The versions of SNMP.
pub const VERSIONS: [&str; 3] = ["1", "2c", "3"];
const AUTHENTICATIONS: [&str; 7] = ["none", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"];
const PRIVACIES: [&str; 5] = ["none", "des", "aes128", "aes192", "aes256"];

/// What those who run graphs are told.
#[derive(Debug, clap::Subcommand)]
pub enum Order {
    /// Create, list and remove credentials of devices
    #[command(subcommand)]
    Credential(Credential),
    /// Add a device and start polling it
    Add(Add),
    /// List the devices
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Show a device with its table rows, data sources and graphs
    Device {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Resume polling of a device
    Enable {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Pause polling of a device; its data is kept
    Disable {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Remove a device with its data and files
    Remove {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Discover a device now: its type and tables
    Explore {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Scan addresses for devices, and add those that answer
    Discover(Discover),
    /// Show the status of the poller
    Status {
        #[command(flatten)]
        place: Place,
    },
    /// Import from another program
    #[command(subcommand)]
    Import(Import),
    /// Print the values of a data source
    Fetch(Fetch),
}

/// A credential.
#[derive(Debug, clap::Subcommand)]
pub enum Credential {
    /// Create or change a credential; the secrets are read from standard input or a file
    #[command(after_help = "Examples:\n  \
        trunkline graph credential add lan < community.txt             the first line is the community\n  \
        trunkline graph credential add core --user poller --authentication sha256 --privacy aes128 \\\n    \
            --secret-file /run/secrets/core            the first line authenticates, the second encrypts")]
    Add {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        /// A user of SNMPv3 [default: a community]
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        /// Authentication protocol
        #[arg(long, value_name = "WORD", requires = "user", default_value = "none",
            value_parser = PossibleValuesParser::new(AUTHENTICATIONS))]
        authentication: String,
        /// Encryption protocol
        #[arg(long, value_name = "WORD", requires = "user", default_value = "none",
            value_parser = PossibleValuesParser::new(PRIVACIES))]
        privacy: String,
        /// contextName
        #[arg(long, value_name = "TEXT", requires = "user", default_value = "")]
        context: String,
        /// The file with the secrets [default: standard input]
        #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        secret_file: Option<PathBuf>,
        #[command(flatten)]
        place: Place,
    },
    /// List the credentials, without their secrets
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Remove a credential that no device uses
    Remove {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: Place,
    },
}

/// A search.
#[derive(Debug, clap::Args)]
pub struct Discover {
    /// 10.0.0.0/24, 10.0.0.1-10.0.0.99, 10.0.0.1, 2001:db8::/112 or 2001:db8::1-2001:db8::9
    #[arg(value_name = "NETWORK")]
    network: String,
    /// Credential [default: the community `public`]
    #[arg(long, value_name = "NAME")]
    credential: Option<String>,
    /// SNMP version [default: 3 for a user, else 2c]
    #[arg(long, value_name = "VERSION", value_parser = PossibleValuesParser::new(VERSIONS))]
    snmp: Option<String>,
    /// UDP port of the SNMP agents
    #[arg(long, value_name = "PORT", default_value_t = 161)]
    port: u16,
    /// Start the scan without waiting for its end
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    place: Place,
}

/// What another program has.
#[derive(Debug, clap::Subcommand)]
pub enum Import {
    /// Import devices, data sources, graphs, trees and templates from Cacti
    #[command(after_help = "Example:\n  \
        mariadb-dump cacti > cacti.sql\n  \
        trunkline graph import cacti --dump cacti.sql --rra /var/lib/cacti/rra\n\n\
        The poller reads the files itself, as its own user.")]
    Cacti {
        /// A dump of its database, by mariadb-dump
        #[arg(long, value_name = "FILE", required_unless_present = "templates", value_hint = clap::ValueHint::FilePath)]
        dump: Option<PathBuf>,
        /// Folder with the round-robin files; they are copied
        #[arg(long, value_name = "DIR", requires = "dump", value_hint = clap::ValueHint::DirPath)]
        rra: Option<PathBuf>,
        /// An export or a package of templates
        #[arg(long, value_name = "FILE", required_unless_present = "dump", value_hint = clap::ValueHint::FilePath)]
        templates: Option<PathBuf>,
        #[command(flatten)]
        place: Place,
    },
}

/// Values.
#[derive(Debug, clap::Args)]
pub struct Fetch {
    /// Number of the data source, from `trunkline graph device`
    #[arg(value_name = "SOURCE")]
    source: u32,
    /// Start: 2026-11-20, 2026-11-20T08:00, or seconds since 1970 [default: a day before --to]
    #[arg(long, value_name = "TIME", value_parser = begin)]
    from: Option<i64>,
    /// End [default: now]
    #[arg(long, value_name = "TIME", value_parser = begin)]
    to: Option<i64>,
    /// Preferred resolution in seconds [default: the finest]
    #[arg(long, value_name = "SECONDS", default_value_t = 1, hide_default_value = true)]
    step: u64,
    /// Consolidation function
    #[arg(long, value_name = "WORD", default_value = "average",
        value_parser = PossibleValuesParser::new(["average", "min", "max", "last"]))]
    function: String,
    #[command(flatten)]
    place: Place,
}

/// A time: a date, a date with a time, or seconds since 1970.
pub fn begin(text: &str) -> Result<i64, String> {
    text.parse().or_else(|_| moment::span(text, &TimeZone::system()).map(|(ns, _)| ns.div_euclid(1_000_000_000)))
}

/// Refuses a span that ends before it begins.
///
/// # Errors
/// It does.
pub fn ends_after(from: i64, to: i64) -> Result<(), Failure> {
    match from < to {
        true => Ok(()),
        false => Err(Failure::Usage("the span ends before it begins: --to is to be later than --from".to_owned())),
    }
}

impl Order {
    /// Has it done.
    ///
    /// # Errors
    /// What they say against it; the poller is not running.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        match self {
            Order::Credential(credential) => credential.run(terminal),
            Order::Add(add) => add.run(),
            Order::List { place } => {
                let reply = place.ask(&json!({ "do": "devices" }))?;
                tell(place, &reply, |reply, out| devices(reply, terminal, out))
            }
            Order::Device { name, place } => {
                let reply = place.ask(&json!({ "do": "device", "name": name }))?;
                tell(place, &reply, |reply, out| device(reply, terminal, out))
            }
            Order::Enable { name, place } => state(place, name, "active"),
            Order::Disable { name, place } => state(place, name, "disabled"),
            Order::Remove { name, place } => done(place, &json!({ "do": "remove", "name": name }), "removed"),
            Order::Explore { name, place } => {
                done(place, &json!({ "do": "explore", "name": name }), "is being discovered")
            }
            Order::Discover(discover) => discover.run(),
            Order::Status { place } => status(place),
            Order::Import(Import::Cacti { dump, rra, templates, place }) => {
                import(place, dump.as_deref(), rra.as_deref(), templates.as_deref())
            }
            Order::Fetch(fetch) => fetch.run(terminal),
        }
    }
}

/// Prints a reply as JSON, or as it is told.
///
/// # Errors
/// It cannot be written.
pub fn tell<T: Serialize>(
    place: &Place,
    reply: &T,
    print: impl FnOnce(&T, &mut dyn Write) -> io::Result<()>,
) -> Result<Exit, Failure> {
    let mut out = stdout();
    if place.is_json() {
        writeln!(out, "{}", plain(reply).map_err(|refusal| Failure::Failed(refusal.text))?)?;
    } else {
        print(reply, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn done(place: &Place, order: &Value, what: &str) -> Result<Exit, Failure> {
    let reply = place.ask(order)?;
    let name = order["name"].as_str().unwrap_or_default();
    tell(place, &reply, |_, out| writeln!(out, "{name} {what}"))
}

fn state(place: &Place, name: &str, state: &str) -> Result<Exit, Failure> {
    done(place, &json!({ "do": "state", "name": name, "state": state }), state)
}

/// A text of a reply; a number as one.
pub fn said(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub fn cells(terminal: &Terminal, texts: &[String]) -> Row {
    let cells = texts.iter().map(|text| Line::new(terminal).with(Style::Plain, text)).collect();
    Row { cells, below: Vec::new() }
}

/// A table of the objects of a list, by the keys of its columns.
///
/// # Errors
/// It cannot be written.
pub fn list(
    rows: &Value,
    columns: Vec<table::Column>,
    keys: &[&str],
    terminal: &Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = Table::new(columns);
    for row in rows.as_array().into_iter().flatten() {
        let texts: Vec<String> = keys.iter().map(|key| said(&row[*key])).collect();
        table.row(cells(terminal, &texts));
    }
    table::write(&table.lines(terminal), terminal, out)
}

impl Credential {
    fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        match self {
            Credential::Add { name, user, authentication, privacy, context, secret_file, place } => {
                let secrets = secrets(secret_file.as_deref())?;
                let mut lines = secrets.lines();
                let mut next = || lines.next().unwrap_or_default();
                let login = match user {
                    None => json!({ "community": next() }),
                    Some(user) => {
                        let password = if authentication == "none" { "" } else { next() };
                        let privacy_password = if privacy == "none" { "" } else { next() };
                        json!({
                            "user": user,
                            "authentication": authentication,
                            "password": password,
                            "privacy": privacy,
                            "privacy_password": privacy_password,
                            "context": context,
                        })
                    }
                };
                let reply = place.ask(&json!({ "do": "credential", "name": name, "login": login }))?;
                let what = if reply["made"] == true { "made" } else { "changed" };
                tell(place, &reply, |_, out| writeln!(out, "{name} {what}"))
            }
            Credential::List { place } => {
                let reply = place.ask(&json!({ "do": "credentials" }))?;
                let columns = vec![text("credential"), text("kind"), number("devices")];
                tell(place, &reply, |reply, out| {
                    list(&reply["credentials"], columns, &["name", "kind", "devices"], terminal, out)
                })
            }
            Credential::Remove { name, place } => {
                done(place, &json!({ "do": "remove-credential", "name": name }), "removed")
            }
        }
    }
}

/// The secrets of a file, or of standard input; never of the command line, which others see.
fn secrets(file: Option<&Path>) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match file {
        Some(path) => std::fs::File::open(path).and_then(|file| file.take(SECRET_OCTETS_MAX).read_to_string(&mut text)),
        None => io::stdin().lock().take(SECRET_OCTETS_MAX).read_to_string(&mut text),
    };
    let from = file.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string());
    read.map_err(|e| Failure::Failed(format!("{from}: {e}")))?;
    if text.lines().next().unwrap_or_default().is_empty() {
        return Err(Failure::Failed(format!("{from}: its first line is to be the secret, and is empty")));
    }
    Ok(text)
}

fn devices(reply: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let columns = vec![
        text("device"),
        text("address"),
        text("state"),
        text("health"),
        text("template").drops(1),
        number("sources"),
        number("graphs"),
    ];
    let keys = ["name", "address", "state", "health", "template", "sources", "graphs"];
    list(&reply["devices"], columns, &keys, terminal, out)
}

impl Discover {
    fn run(&self) -> Result<Exit, Failure> {
        let Discover { network, credential, snmp, port, no_wait, place } = self;
        let node = place.node();
        let order = json!({
            "do": "discover",
            "network": network,
            "credential": credential,
            "version": snmp,
            "port": port,
        });
        let mut reply = node.ask(&order)?;
        while !no_wait && reply["running"] == true {
            std::thread::park_timeout(LOOK);
            reply = node.ask(&json!({ "do": "discovery" }))?;
        }
        tell(place, &reply, |reply, out| {
            for name in reply["added"].as_array().into_iter().flatten() {
                writeln!(out, "{}", said(name))?;
            }
            for failure in reply["failures"].as_array().into_iter().flatten() {
                writeln!(out, "{}", said(failure))?;
            }
            let count = |key: &str| said(&reply[key]);
            let added = reply["added"].as_array().map_or(0, Vec::len);
            writeln!(
                out,
                "{} of {} addresses scanned, {} answered, {added} added, {} already known, {} rejected the credential",
                count("asked"),
                count("of"),
                count("answered"),
                count("known"),
                count("refused")
            )
        })
    }
}

/// Those that are unhealthy end with exit code 3.
fn status(place: &Place) -> Result<Exit, Failure> {
    let reply = place.ask(&json!({ "do": "status" }))?;
    let dropped = reply["journal"]["dropped"].as_u64().unwrap_or(0) > 0;
    let is_sound = !dropped && reply["troubles"].as_array().is_none_or(Vec::is_empty);
    tell(place, &reply, |reply, out| {
        let of = |path: &str| said(reply.pointer(path).unwrap_or(&Value::Null));
        writeln!(
            out,
            "devices   {} polled of {}, {} up, {} down, {} reject the credential, {} disabled",
            of("/devices/polled"),
            of("/devices/all"),
            of("/devices/up"),
            of("/devices/down"),
            of("/devices/refused"),
            of("/devices/disabled")
        )?;
        writeln!(
            out,
            "polling   {:.1} samples/s of {} data sources, {} missed cycles, {} requests in flight",
            reply["samples_per_s"].as_f64().unwrap_or(0.0),
            of("/sources_polled"),
            of("/cycles_missed"),
            of("/outstanding")
        )?;
        writeln!(
            out,
            "probing   {} devices, {} data sources, {} faults, {} flapping, {} in flight",
            of("/probes/devices"),
            of("/probes/sources"),
            of("/probes/faults"),
            of("/devices/flapping"),
            of("/probes/outstanding")
        )?;
        if reply["realtime"]["samples"].as_u64() > Some(0) {
            writeln!(
                out,
                "real time {} data sources watched, {} samples so far, {} times rejected",
                of("/realtime/sources"),
                of("/realtime/samples"),
                of("/realtime/refused")
            )?;
        }
        writeln!(
            out,
            "journal   record {} on disk, {} in files, {} octets not read yet, {} samples dropped",
            of("/journal/durable"),
            of("/journal/filed"),
            of("/journal/behind_octets"),
            of("/journal/dropped")
        )?;
        writeln!(
            out,
            "files     {} samples stored, {} too late, {} rejected, {} lost",
            of("/files/samples_stored"),
            of("/files/samples_past"),
            of("/files/samples_refused"),
            of("/files/samples_lost")
        )?;
        for trouble in reply["troubles"].as_array().into_iter().flatten() {
            writeln!(out, "trouble   {}", said(trouble))?;
        }
        Ok(())
    })?;
    Ok(if is_sound { Exit::Done } else { Exit::Degraded })
}

fn import(place: &Place, dump: Option<&Path>, rra: Option<&Path>, templates: Option<&Path>) -> Result<Exit, Failure> {
    // They may stand in another folder than we do.
    let whole = |path: Option<&Path>| {
        let whole = path
            .map(|path| std::fs::canonicalize(path).map_err(|e| Failure::Failed(format!("{}: {e}", path.display()))));
        whole.transpose()
    };
    let order = json!({
        "do": "import-cacti",
        "dump": whole(dump)?,
        "rra": whole(rra)?,
        "templates": whole(templates)?,
    });
    let reply = place.ask(&order)?;
    let refused = reply["files_refused"].as_array().map_or(0, Vec::len);
    tell(place, &reply, |reply, out| {
        writeln!(
            out,
            "{} changes of the inventory, {} templates, {} files",
            said(&reply["changes"]),
            said(&reply["templates"]),
            said(&reply["files"])
        )?;
        for file in reply["files_refused"].as_array().into_iter().flatten() {
            writeln!(out, "refused  {}", said(file))?;
        }
        for (told, count) in reply["told"].as_object().into_iter().flatten() {
            writeln!(out, "{count} x  {told}")?;
        }
        Ok(())
    })?;
    Ok(if refused == 0 { Exit::Done } else { Exit::Degraded })
}

impl Fetch {
    fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let now = jiff::Timestamp::now().as_second();
        let to = self.to.unwrap_or(now);
        let from = self.from.unwrap_or(to - 86_400);
        ends_after(from, to)?;
        let order = json!({
            "do": "fetch",
            "source": self.source,
            "from": from,
            "to": to,
            "step": self.step,
            "function": self.function,
        });
        let reply = self.place.ask(&order)?;
        tell(&self.place, &reply, |reply, out| {
            let names: Vec<String> = reply["names"].as_array().into_iter().flatten().map(said).collect();
            let titles: Vec<String> = [vec!["time".to_owned()], names].concat();
            let columns = titles.iter().enumerate().map(|(at, _)| if at == 0 { text("") } else { number("") });
            let mut table = Table::with_titles(columns.collect(), &titles);
            for row in reply["rows"].as_array().into_iter().flatten() {
                let time = row[0].as_i64().and_then(|s| jiff::Timestamp::from_second(s).ok());
                let mut texts = vec![time.map_or_else(String::new, |time| time.to_string())];
                texts.extend(row[1].as_array().into_iter().flatten().map(said));
                table.row(cells(terminal, &texts));
            }
            table::write(&table.lines(terminal), terminal, out)
        })
    }
}
