//! `trunkline user graphs`: who may see which devices, trees and graphs.

use super::{Opened, Place, failure};
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::table::{self, Row, Table, number, text};
use crate::show::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use clap::builder::PossibleValuesParser;
use serde_json::json;
use std::io::{self, Write};
use trunkline_web::auth::{About, GraphRights, GraphRule, Role, Whose, action};

/// What holds where no rule speaks.
const DEFAULTS: [&str; 3] = ["everything", "nothing", "role"];

/// Manage graph permissions: who may see which devices, trees and graphs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline user graphs default --role viewer nothing           nothing but what is allowed\n  \
    trunkline user graphs allow --role viewer site London         devices of a site, their graphs\n  \
    trunkline user graphs deny --role viewer graph-title '*cpu*'  but not these\n  \
    trunkline user graphs allow --user anna tree 'Customers A*'   what is in these trees\n  \
    trunkline user graphs list\n\n\
    Rules of a user decide before those of their role; within either, what denies. A device, a\n\
    place and a graph are named by number, everything else by a pattern with * and ?.\n\
    Administrators see everything. The settings page of the web shows what somebody sees.\n\
    See docs/manual/web-security.md.")]
pub struct Graphs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List the rules
    List {
        /// Print one JSON object per line: a role or a user with rules
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Add a rule that allows
    Allow(Say),
    /// Add a rule that denies
    Deny(Say),
    /// Remove a rule
    Remove {
        /// Number of the rule, from `list`
        #[arg(value_name = "RULE")]
        rule: i64,
        #[command(flatten)]
        place: Place,
    },
    /// Set what is visible without a matching rule
    Default {
        #[command(flatten)]
        of: Of,
        /// Everything, nothing, or, for a user, the same as the role
        #[arg(value_name = "WHAT", value_parser = PossibleValuesParser::new(DEFAULTS))]
        what: String,
        #[command(flatten)]
        place: Place,
    },
}

/// A rule.
#[derive(Debug, clap::Args)]
struct Say {
    #[command(flatten)]
    of: Of,
    /// What the rule applies to
    #[arg(value_name = "KIND", value_parser = PossibleValuesParser::new(About::ALL.map(|(_, name)| name)))]
    kind: String,
    /// Number of a device, place or graph, else a pattern with * and ?
    #[arg(value_name = "WHICH")]
    value: String,
    #[command(flatten)]
    place: Place,
}

/// Whose rules.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Of {
    /// Role
    #[arg(long, value_name = "ROLE", value_parser = PossibleValuesParser::new(super::roles()))]
    role: Option<String>,
    /// User
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

impl Of {
    fn whose(&self) -> Whose {
        let role = self.role.as_deref().and_then(|role| role.parse::<Role>().ok());
        role.map_or_else(|| Whose::User(self.user.clone().unwrap_or_default()), Whose::Role)
    }
}

impl Graphs {
    /// Does it.
    pub(super) fn run(&self, terminal: &Terminal) -> Result<(), Failure> {
        match &self.what {
            What::List { json, place } => list(&place.open()?, *json, terminal),
            What::Allow(say) => say.set(true),
            What::Deny(say) => say.set(false),
            What::Remove { rule, place } => remove(&place.open()?, *rule),
            What::Default { of, what, place } => {
                let everything = (what != "role").then_some(what == "everything");
                let (opened, whose) = (place.open()?, of.whose());
                let object = format!("{}: default {what}", named(&whose));
                opened.told(action::GRAPH_RIGHTS, &object, opened.desk.set_graph_default(&whose, everything))?;
                let _ = writeln!(io::stderr(), "{object}.");
                Ok(())
            }
        }
    }
}

impl Say {
    fn set(&self, allow: bool) -> Result<(), Failure> {
        let (opened, whose) = (self.place.open()?, self.of.whose());
        let about = About::named(&self.kind).map_err(|e| failure(&e))?;
        let object = format!("{}: {} {} {}", named(&whose), word(allow), self.kind, self.value);
        let set = opened.desk.set_graph_rule(&whose, allow, about, &self.value);
        let rule = opened.told(action::GRAPH_RIGHTS, &object, set)?;
        let _ = writeln!(io::stderr(), "Rule {}: {object}.", rule.id);
        Ok(())
    }
}

fn remove(opened: &Opened, id: i64) -> Result<(), Failure> {
    let (whose, rule) = opened.desk.graph_rule(id).map_err(|e| failure(&e))?;
    let what = format!("{}: {} {} {}", named(&whose), word(rule.allow), rule.about.name(), rule.value);
    opened.told(action::GRAPH_RIGHTS, &format!("{what} is removed"), opened.desk.remove_graph_rule(id))?;
    let _ = writeln!(io::stderr(), "Rule {id} is removed: {what}.");
    Ok(())
}

fn word(allow: bool) -> &'static str {
    if allow { "allow" } else { "deny" }
}

fn named(whose: &Whose) -> String {
    match whose {
        Whose::Role(role) => format!("role {role}"),
        Whose::User(name) => format!("user {name}"),
    }
}

fn default(rights: &GraphRights) -> &'static str {
    match rights.everything {
        Some(true) => "everything",
        Some(false) => "nothing",
        None => "role",
    }
}

fn list(opened: &Opened, json: bool, terminal: &Terminal) -> Result<(), Failure> {
    let all = opened.desk.graph_rights().map_err(|e| failure(&e))?;
    let mut out = stdout();
    if json {
        all.iter().try_for_each(|rights| writeln!(out, "{}", object(rights)))?;
        return Ok(out.flush()?);
    }
    let mut list = Table::new(vec![
        text("WHOSE").cuts(12, Keep::Start),
        number("RULE"),
        text("SAYS"),
        text("KIND"),
        text("WHICH").cuts(12, Keep::Start),
    ]);
    let mut row = |cells: [&str; 5]| {
        let cells = cells.map(|cell| Line::new(terminal).with(Style::Plain, cell)).to_vec();
        list.row(Row { cells, below: Vec::new() });
    };
    for rights in &all {
        let whose = named(&rights.whose);
        for rule in &rights.rules {
            row([&whose, &rule.id.to_string(), word(rule.allow), rule.about.name(), &rule.value]);
        }
        row([&whose, "", "else", default(rights), ""]);
    }
    table::write(&list.lines(terminal), terminal, &mut out)?;
    Ok(out.flush()?)
}

fn object(rights: &GraphRights) -> serde_json::Value {
    let (role, user) = match &rights.whose {
        Whose::Role(role) => (Some(role.name()), None),
        Whose::User(name) => (None, Some(name)),
    };
    let rule = |rule: &GraphRule| {
        let (id, kind) = (rule.id, rule.about.name());
        json!({ "id": id, "allow": rule.allow, "kind": kind, "value": rule.value })
    };
    let rules: Vec<_> = rights.rules.iter().map(rule).collect();
    json!({ "role": role, "user": user, "default": default(rights), "rules": rules })
}
