//! Measurements beside other programs, in one run on one machine: `cargo xtask bench [--quick] [read] [live] ...`.

mod cache;
mod calls;
mod charge;
mod example;
mod find;
mod graph;
mod live;
mod log;
mod machine;
mod measure;
mod need;
mod read;
mod route;
mod search;
mod table;
mod web;
mod wire;
mod world;

use crate::repository::{self, Repository};
use std::path::{Path, PathBuf};

/// Where captures, packet logs and data folders lie meanwhile; ignored by git, deleted at the end.
const FOLDER: &str = "bench/work";

/// What a benchmark is run with.
pub struct Bench<'a> {
    /// The project.
    pub repository: &'a Repository,
    /// The release program.
    pub program: PathBuf,
    /// Where everything lies meanwhile.
    pub folder: PathBuf,
    /// A tenth of everything, to try the machinery.
    pub quick: bool,
}

/// What a benchmark found.
pub enum Outcome {
    /// The document without its head, and whether our programs did what they must.
    Measured(String, bool),
    /// Why it was left out.
    Skipped(String),
}

/// A benchmark by its name.
struct Kind {
    name: &'static str,
    title: &'static str,
    /// The document, below the project's folder.
    document: &'static str,
    /// Other programs of this benchmark whose versions are told, with the argument that makes them tell it.
    beside: &'static [[&'static str; 2]],
    run: fn(&Bench<'_>) -> Result<Outcome, String>,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "read",
        title: "Reading captures",
        document: "bench/results.md",
        beside: &[["tshark", "--version"], ["sngrep", "-V"], ["tcpdump", "--version"]],
        run: read::run,
    },
    Kind {
        name: "live",
        title: "Capturing at the highest rate",
        document: "bench/live.md",
        beside: &[["tcpdump", "--version"], ["dumpcap", "--version"], ["netsniff-ng", "--version"]],
        run: live::run,
    },
    Kind {
        name: "log",
        title: "Writing the packet log",
        document: "bench/log.md",
        beside: &[["fio", "--version"]],
        run: log::run,
    },
    Kind {
        name: "find",
        title: "Finding packets in a day's log",
        document: "bench/find.md",
        beside: &[["tcpdump", "--version"]],
        run: find::run,
    },
    Kind {
        name: "search",
        title: "Finding calls among ten million",
        document: "bench/search.md",
        beside: &[],
        run: search::run,
    },
    Kind {
        name: "web",
        title: "The web over a store of calls",
        document: "bench/web.md",
        beside: &[["nginx", "-v"], ["chromium", "--version"]],
        run: web::run,
    },
    Kind {
        name: "cache",
        title: "The cache beside memcached",
        document: "bench/cache.md",
        beside: &[["memcached", "-V"]],
        run: cache::run,
    },
    Kind {
        name: "route",
        title: "The proxy of the cache beside twemproxy",
        document: "bench/route.md",
        beside: &[["memcached", "-V"], ["nutcracker", "-V"]],
        run: route::run,
    },
    Kind { name: "charge", title: "Charging", document: "bench/charge.md", beside: &[], run: charge::run },
    Kind {
        name: "graph",
        title: "Graphs",
        document: "bench/graph.md",
        beside: &[["rrdcached", "-h"], ["mariadb", "--version"]],
        run: graph::run,
    },
];

/// Measures, and writes the documents (not with `--quick`); true if every program of ours did what it must.
///
/// # Errors
/// A wrong option, the program cannot be built, or what is measured cannot be made.
pub fn command(repository: &Repository, options: &[String]) -> Result<bool, String> {
    let quick = options.iter().any(|o| o == "--quick");
    let names: Vec<&String> = options.iter().filter(|o| *o != "--quick").collect();
    if let Some(wrong) = names.iter().find(|name| KINDS.iter().all(|kind| kind.name != name.as_str())) {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        return Err(format!("there is no benchmark '{wrong}'; there are {}, and --quick", known.join(", ")));
    }
    measure::check_time()?;
    let (program, folder) = (build(repository)?, repository.path(FOLDER));
    let bench = Bench { repository, program, folder, quick };
    let mut well = true;
    for kind in KINDS.iter().filter(|kind| names.is_empty() || names.iter().any(|name| *name == kind.name)) {
        well &= one(&bench, kind)?;
    }
    Ok(well)
}

fn one(bench: &Bench<'_>, kind: &Kind) -> Result<bool, String> {
    std::fs::create_dir_all(&bench.folder).map_err(|e| format!("{FOLDER}: {e}"))?;
    let outcome = (kind.run)(bench);
    std::fs::remove_dir_all(&bench.folder).map_err(|e| format!("{FOLDER}: {e}"))?;
    match outcome? {
        Outcome::Skipped(why) => {
            println!("skipped: bench {}: {why}", kind.name);
            Ok(true)
        }
        Outcome::Measured(body, well) => {
            let text = head(kind, &machine::describe(&bench.program, kind.beside)) + &body;
            let text = table::wrapped(&text);
            print!("{text}");
            if !bench.quick {
                let path = bench.repository.path(kind.document);
                std::fs::write(path, text).map_err(|e| format!("{}: {e}", kind.document))?;
            }
            Ok(well)
        }
    }
}

fn head(kind: &Kind, machine: &[String]) -> String {
    let lines: String = machine.iter().map(|line| format!("- {line}\n")).collect();
    format!(
        "# {}\n\nMade by `make bench BENCH={}`: do not edit. What is measured and how: \
         [docs/manual/benchmarks.md](../docs/manual/benchmarks.md).\n\n{lines}",
        kind.title, kind.name
    )
}

/// Builds the release program, or takes the one that `TRUNKLINE` names.
///
/// # Errors
/// It does not build.
pub fn build(repository: &Repository) -> Result<PathBuf, String> {
    if let Some(program) = std::env::var_os("TRUNKLINE") {
        return Ok(program.into());
    }
    build_release(repository, &["--package", "trunkline"], Path::new("trunkline"))
}

/// Builds something as a release; where `made` lies below the folder of releases.
///
/// # Errors
/// It does not build.
pub fn build_release(repository: &Repository, what: &[&str], made: &Path) -> Result<PathBuf, String> {
    let status = repository::cargo()
        .args(["build", "--quiet", "--locked", "--release"])
        .args(what)
        .current_dir(repository.path(""))
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if !status.success() {
        return Err(format!("{} does not build", what.join(" ")));
    }
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let target = here.ancestors().nth(2).ok_or("no target folder")?;
    Ok(target.join("release").join(made))
}
