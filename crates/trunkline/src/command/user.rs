//! `trunkline user`: who may sign in, from the shell.

mod graphs;

use crate::failure::Failure;
use crate::output::stdout;
use crate::rights;
use crate::run::config::{self, Given, Settings};
use crate::run::now_ns;
use crate::show::table::{self, Row, Table, text};
use crate::show::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use crate::web::{desk, serve};
use clap::builder::PossibleValuesParser;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::json;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use trunkline_kit::exit::Exit;
use trunkline_store::time::rfc3339;
use trunkline_web::auth::{AuditEntry, Desk, LinkKind, NewUser, Refusal, Role, User, action};

/// Octets of a password that are read.
const PASSWORD_OCTETS_MAX: u64 = 4096;

/// Create, list and remove web users, and create one-time links
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline user add anna --role support     prints a link to set the password\n  \
    trunkline user link anna                   a new link\n  \
    trunkline user link                        the link to create the first administrator\n  \
    trunkline user list --data /var/lib/trunkline\n\n\
    Works while the web runs, and without it. Run it as the user that the web runs as.")]
pub struct Manage {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Create a user; prints a link to set the password
    Add {
        /// Name to sign in with
        #[arg(value_name = "NAME")]
        name: String,
        /// Role; each role includes the rights of the roles before it
        #[arg(long, default_value = "viewer", value_parser = PossibleValuesParser::new(roles()))]
        role: String,
        /// Full name
        #[arg(long, value_name = "TEXT", default_value = "")]
        display_name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Print a link to set a new password; without NAME, the link to create the first administrator
    Link {
        /// User name
        #[arg(value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// List the users
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Remove a user, with sessions, links and tokens
    Remove {
        /// User name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Manage graph permissions: who may see which devices, trees and graphs
    Graphs(graphs::Graphs),
    /// Set a user's password from standard input; the user must change it, and sessions end
    Password {
        /// User name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: Place,
    },
}

/// Where the users are.
#[derive(Clone, Debug, clap::Args)]
struct Place {
    /// Configuration file [default: /etc/trunkline/trunkline.toml if it is there]
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Data folder, instead of the configuration's
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: Option<PathBuf>,
}

fn roles() -> [&'static str; 4] {
    Role::ALL.map(Role::name)
}

impl Manage {
    /// Does it.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        match &self.what {
            What::Add { name, role, display_name, place } => place.open()?.add(name, role, display_name),
            What::Link { name, place } => place.open()?.link(name.as_deref()),
            What::List { json, place } => place.open()?.list(*json, terminal),
            What::Remove { name, place } => place.open()?.remove(name),
            What::Password { name, place } => place.open()?.password(name),
            What::Graphs(graphs) => graphs.run(terminal),
        }?;
        Ok(Exit::Done)
    }
}

impl Place {
    fn open(&self) -> Result<Opened, Failure> {
        let data = self.data.iter().map(|d| ("data", "folder", d.to_string_lossy().into_owned(), "--data"));
        let settings = config::load(&Given { file: self.config.clone(), options: data.collect() })?.settings;
        rights::write_as_owner(&settings.data.folder, &["web"])?;
        let desk = desk::open(&settings)?;
        Ok(Opened { desk, settings })
    }
}

struct Opened {
    desk: Desk,
    settings: Settings,
}

impl Opened {
    fn add(&self, name: &str, role: &str, display_name: &str) -> Result<(), Failure> {
        let role = Role::ALL.into_iter().find(|known| known.name() == role).unwrap_or(Role::Viewer);
        let made = self.desk.add_user(&NewUser { name, display_name, role, password: None }, now_ns());
        let user = self.told(action::USER_ADD, name, made)?;
        self.print_link(&LinkKind::SetPassword(user.name), "Link to choose the password; it works once")
    }

    fn link(&self, name: Option<&str>) -> Result<(), Failure> {
        if let Some(name) = name {
            let user = self.desk.user(name, now_ns()).map_err(|e| failure(&e))?;
            return self.print_link(&LinkKind::SetPassword(user.name), "Link to set the password; it works once");
        }
        if self.desk.has_administrator(now_ns()).map_err(|e| failure(&e))? {
            let what = "an administrator exists already: name the user whose password the link sets";
            return Err(Failure::Usage(what.to_owned()));
        }
        self.print_link(&LinkKind::FirstAdministrator, "Link to create the first administrator; it works once")
    }

    fn print_link(&self, kind: &LinkKind, what: &str) -> Result<(), Failure> {
        let of = match kind {
            LinkKind::SetPassword(name) | LinkKind::SignIn(name) => name,
            LinkKind::FirstAdministrator => "",
        };
        let secret = self.told(action::LINK_MAKE, of, self.desk.make_link(kind, now_ns()))?;
        let _ = writeln!(io::stderr(), "{what}:");
        let mut out = stdout();
        writeln!(out, "{}link#{}", serve::url(&self.settings), secret.expose())?;
        Ok(out.flush()?)
    }

    fn list(&self, json: bool, terminal: &Terminal) -> Result<(), Failure> {
        let users = self.desk.users(now_ns()).map_err(|e| failure(&e))?;
        let mut out = stdout();
        if json {
            users.iter().try_for_each(|user| writeln!(out, "{}", object(user)))?;
            return Ok(out.flush()?);
        }
        if users.is_empty() {
            let _ = writeln!(io::stderr(), "No users yet: `trunkline user link` prints the link to create the first.");
            return Ok(());
        }
        let mut list = Table::new(vec![
            text("NAME").cuts(12, Keep::Start),
            text("ROLE"),
            text("CALLED").cuts(12, Keep::Start).drops(2),
            text("SIGNED IN"),
            text("STATE"),
        ]);
        for user in &users {
            let at = user.last_sign_in_ns.map(|at| crate::show::figure::full(at, &terminal.zone));
            let at = at.as_deref().unwrap_or("never");
            let cells = [&user.name, user.role.name(), &user.display_name, at, state(user)];
            let cells = cells.map(|cell| Line::new(terminal).with(Style::Plain, cell)).to_vec();
            list.row(Row { cells, below: Vec::new() });
        }
        table::write(&list.lines(terminal), terminal, &mut out)?;
        Ok(out.flush()?)
    }

    fn remove(&self, name: &str) -> Result<(), Failure> {
        self.told(action::USER_REMOVE, name, self.desk.remove_user(name))?;
        let _ = writeln!(io::stderr(), "{name} is removed.");
        Ok(())
    }

    fn password(&self, name: &str) -> Result<(), Failure> {
        // Who does not exist is not asked.
        self.desk.user(name, now_ns()).map_err(|e| failure(&e))?;
        let password = read_password()?;
        self.told(action::PASSWORD, name, self.desk.set_password(name, &password))?;
        let told = "is set and must be changed at the next sign-in; all sessions were ended";
        let _ = writeln!(io::stderr(), "The password of {name} {told}.");
        Ok(())
    }

    /// Writes into the audit log what was done, and how it ended.
    fn told<T>(&self, action: &str, object: &str, done: Result<T, Refusal>) -> Result<T, Failure> {
        let entry = AuditEntry {
            at_ns: now_ns(),
            user: Some(format!("shell (uid {})", rustix::process::getuid().as_raw())),
            address: None,
            action: action.to_owned(),
            object: object.to_owned(),
            outcome: trunkline_web::auth::audit::outcome(&done),
        };
        self.desk.audit(&entry).map_err(|e| failure(&e))?;
        done.map_err(|e| failure(&e))
    }
}

/// What was refused, by whose mistake it was.
fn failure(refusal: &Refusal) -> Failure {
    match refusal {
        Refusal::BadValue { .. } => Failure::Usage(refusal.to_string()),
        _ => Failure::Failed(refusal.to_string()),
    }
}

fn state(user: &User) -> &'static str {
    match user {
        User { disabled: true, .. } => "locked",
        User { oidc: true, .. } => "identity provider",
        User { has_password: false, .. } => "has no password yet",
        User { must_change_password: true, .. } => "must change the password",
        _ => "",
    }
}

fn object(user: &User) -> serde_json::Value {
    json!({
        "name": user.name, "display_name": user.display_name, "role": user.role.name(), "locked": user.disabled,
        "last_sign_in": user.last_sign_in_ns.map(rfc3339), "has_password": user.has_password,
        "must_change_password": user.must_change_password, "oidc": user.oidc,
    })
}

/// A line of standard input; where that is a terminal, it is asked for and not shown.
fn read_password() -> Result<String, Failure> {
    let stdin = io::stdin();
    let shown = stdin.is_terminal().then(|| tcgetattr(&stdin).ok()).flatten();
    if let Some(shown) = &shown {
        let _ = write!(io::stderr(), "New password: ");
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        let _ = tcsetattr(&stdin, OptionalActions::Flush, &hidden);
    }
    let mut line = String::new();
    let read = io::Read::take(stdin.lock(), PASSWORD_OCTETS_MAX).read_line(&mut line);
    if let Some(shown) = &shown {
        let _ = tcsetattr(&stdin, OptionalActions::Flush, shown);
        let _ = writeln!(io::stderr());
    }
    read.map_err(|e| Failure::Failed(format!("the password cannot be read: {e}")))?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}
