//! `trunkline config`: the configuration with all its keys, checked, and as it takes effect.

use crate::failure::Failure;
use crate::output::stdout;
use crate::run::config::{Given, Settings, load, mistakes};
use crate::show::table::{self, Row, Table, text};
use crate::show::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use trunkline_kit::config::{Effective, Mistake, Place, markdown};
use trunkline_kit::exit::Exit;

/// Print, check or explain the configuration
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline config example > trunkline.toml   every key with its default, commented\n  \
    trunkline config check trunkline.toml       all mistakes, with line and column\n  \
    trunkline config show -c trunkline.toml     effective values and their sources\n\n\
    A key is set by the command line, else by the environment, else by the file, else by its default.\n\
    TRUNKLINE_RECORD__SIP__KEEP_AGE='30 days' is keep-age of [record.sip].")]
pub struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print every key with its default, commented
    Example {
        /// Print it as the tables of the manual
        #[arg(long)]
        markdown: bool,
    },
    /// Validate a file together with the environment; exit code 2 if there is a mistake
    Check {
        /// The file; - is standard input
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
        /// Print one JSON object per mistake
        #[arg(long)]
        json: bool,
    },
    /// Print the effective values and their sources
    Show {
        /// The file
        #[arg(short = 'c', long = "config", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// Print one JSON object per key
        #[arg(long)]
        json: bool,
        /// Print only values that differ from the default
        #[arg(long)]
        changed: bool,
    },
}

impl Config {
    /// Does it.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        match &self.what {
            What::Example { markdown: true } => print(&markdown::<Settings>()),
            What::Example { markdown: false } => print(&crate::run::config::commented()),
            What::Check { file, json } => check(file, *json),
            What::Show { file, json, changed } => show(file.clone(), *json, *changed, terminal),
        }
    }
}

fn print(text: &str) -> Result<Exit, Failure> {
    let mut out = stdout();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Exit::Done)
}

fn check(file: &std::path::Path, json: bool) -> Result<Exit, Failure> {
    let given = Given { file: Some(file.to_owned()), ..Given::default() };
    if json {
        let mistakes = mistakes(&given)?;
        let lines: Vec<String> = mistakes.iter().map(|mistake| as_json(mistake) + "\n").collect();
        print(&lines.concat())?;
        return Ok(if mistakes.is_empty() { Exit::Done } else { Exit::Usage });
    }
    let loaded = load(&given)?;
    let set = loaded.effective().iter().filter(|effective| effective.origin.is_some()).count();
    print(&format!("{}: no mistakes; keys set: {set}\n", file.display()))
}

/// `{"source":"file","path":..,"line":..,"column":..,"what":..}`.
fn as_json(mistake: &Mistake) -> String {
    let mut object = place(Some(&mistake.place));
    object["what"] = json!(mistake.what);
    object.to_string()
}

fn place(place: Option<&Place>) -> serde_json::Value {
    match place {
        Some(Place::File { path, line, column }) => {
            json!({"source": "file", "path": path, "line": line, "column": column})
        }
        Some(Place::Environment(name)) => json!({"source": "environment", "variable": name}),
        Some(Place::CommandLine(option)) => json!({"source": "command-line", "option": option}),
        Some(Place::Default(_)) | None => json!({"source": "default"}),
    }
}

fn show(file: Option<PathBuf>, json: bool, changed: bool, terminal: &Terminal) -> Result<Exit, Failure> {
    let loaded = load(&Given { file, ..Given::default() })?;
    let mut keys = loaded.effective();
    keys.retain(|key| !changed || key.origin.is_some());
    if json {
        let line = |key: &Effective| {
            let mut object = json!({"key": key.key, "value": key.text});
            object["from"] = place(key.origin.as_ref());
            object.to_string() + "\n"
        };
        return print(&keys.iter().map(line).collect::<String>());
    }
    let columns = vec![text("KEY"), text("VALUE").cuts(12, Keep::Start), text("FROM").cuts(12, Keep::End)];
    let mut rows = Table::new(columns);
    for key in &keys {
        let from = key.origin.as_ref().map_or_else(|| "default".to_owned(), Place::to_string);
        let (value, origin) =
            if key.origin.is_some() { (Style::Bold, Style::Plain) } else { (Style::Plain, Style::Dim) };
        let cell = |style: Style, text: &str| Line::new(terminal).with(style, text);
        let cells = vec![cell(Style::Plain, &key.key), cell(value, &key.text), cell(origin, &from)];
        rows.row(Row { cells, below: Vec::new() });
    }
    let mut out = stdout();
    table::write(&rows.lines(terminal), terminal, &mut out)?;
    out.flush()?;
    Ok(Exit::Done)
}
