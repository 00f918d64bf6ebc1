//! What an installation of Cacti has is taken over: templates into a file of their own, then its round-robin files to
//! their places, then what the inventory is to have.

use super::{Handle, Undone};
use crate::cacti::{DumpReader, Import, Options, RraFile, Tables, convert, exchange};
use crate::files;
use crate::inventory::Change;
use crate::template::{Library, read, write};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::sync_channel;
use trunkline_rrd::RrdFile;

/// Who the entries name.
const BY: &str = "cacti";
/// Where templates go.
const TEMPLATES: &str = "cacti.toml";
/// Octets of the dump that are read at once.
const PIECE_OCTETS: usize = 1 << 20;
/// Octets of an export of templates.
const EXPORT_OCTETS_MAX: u64 = 64 << 20;
/// Files whose refusal is told; further ones are counted.
const REFUSED_MAX: usize = 100;
/// Where Debian has Cacti.
const PATH_CACTI: &str = "/usr/share/cacti/site";

/// What is taken over.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// A dump of its database (mariadb-dump).
    pub dump: Option<PathBuf>,
    /// The folder with its round-robin files.
    pub rra: Option<PathBuf>,
    /// An export or a package of its templates.
    pub templates: Option<PathBuf>,
}

/// What was taken over.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The number of the last entry.
    pub sequence: u64,
    /// Changes of the inventory.
    pub changes: usize,
    /// Templates of all kinds.
    pub templates: usize,
    /// The file that has them.
    pub template_file: Option<PathBuf>,
    /// Round-robin files.
    pub files: u64,
    /// Those that were not taken, and why; the last line may tell how many more.
    pub refused: Vec<String>,
    /// What is not taken over, and why; each once, with how often it was so.
    pub told: BTreeMap<String, u64>,
}

/// Takes over what the files have: all of it, or nothing but templates.
///
/// # Errors
/// A file cannot be read, or is none of Cacti; the inventory does not take it.
pub fn cacti(handle: &Handle, sources: &Sources) -> Result<Imported, String> {
    let mut options = Options { path_cacti: PATH_CACTI.to_owned(), ..Options::default() };
    let mut imported = Imported::default();
    let mut library = Library::default();
    if let Some(path) = &sources.templates {
        let read = exchange(&text_of(path)?).map_err(|why| format!("{}: {why}", path.display()))?;
        options.queries = read.queries;
        let import = convert(&read.tables, &options, &handle.inventory());
        // Of an export only templates are taken.
        library.merge(import.library);
        imported.told.extend(import.told);
        imported.told.extend(read.told.into_iter().map(|told| (told, 1)));
    }
    let mut tables = None;
    if let Some(path) = &sources.dump {
        let read = tables_of(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let import = convert(&read, &options, &handle.inventory());
        library.merge(import.library);
        imported.told.extend(import.told);
        tables = Some(read);
    }
    if sources.dump.is_none() && sources.templates.is_none() {
        return Err("nothing to import: give a dump, or an export of templates".to_owned());
    }
    imported.templates = library.profiles.len()
        + library.tables.len()
        + library.data.len()
        + library.graphs.len()
        + library.devices.len();
    if imported.templates > 0 {
        imported.template_file = Some(keep_templates(handle, library)?);
    }
    let Some(tables) = tables else { return Ok(imported) };
    // The numbers of what is taken over are the next ones, and files are named by them: nothing comes between.
    let (told, comes) = sync_channel(1);
    let (folder, rra) = (handle.folder().to_owned(), sources.rra.clone());
    let done = handle.make(BY, move |inventory| {
        let mut import = convert(&tables, &options, inventory);
        let placed = place(&folder, rra.as_deref(), &import);
        let changes = core::mem::take(&mut import.changes);
        // Whoever asked is there.
        let _ = told.send((placed, import.files, changes.len()));
        changes
    });
    let made = comes.try_recv();
    match (done, made) {
        (Ok(done), Ok((placed, files, changes))) => {
            imported.sequence = done.sequence;
            imported.changes = changes;
            (imported.files, imported.refused) = (placed.paths.len() as u64, placed.refused);
            let has_file = |source: &u32| handle.file(*source).is_some_and(|file| file.exists());
            handle.shared().said.add(files.iter().map(|file| file.source).filter(has_file));
            Ok(imported)
        }
        (done, made) => {
            // They are of nobody.
            let paths = made.map(|(placed, ..)| placed.paths).unwrap_or_default();
            paths.iter().for_each(|path| drop(std::fs::remove_file(path)));
            Err(done.err().unwrap_or(Undone::Over).to_string())
        }
    }
}

fn text_of(path: &Path) -> Result<String, String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let mut text = String::new();
    let octets = File::open(path).map_err(failed)?.take(EXPORT_OCTETS_MAX + 1).read_to_string(&mut text);
    match octets.map_err(failed)? as u64 > EXPORT_OCTETS_MAX {
        true => Err(format!("{}: an export has at most {EXPORT_OCTETS_MAX} octets", path.display())),
        false => Ok(text),
    }
}

fn tables_of(path: &Path) -> io::Result<Tables> {
    let (mut file, mut piece) = (File::open(path)?, vec![0; PIECE_OCTETS]);
    let (mut reader, mut tables) = (DumpReader::default(), Tables::default());
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(octets) => reader.feed(&piece[..octets], |row| tables.take(row)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    match reader.end() {
        (0, _) => Err(io::Error::other("no row is in it that could be read: is it a dump of mariadb-dump?")),
        _ => Ok(tables),
    }
}

/// Writes templates beside those that were taken over before, and has them hold from now on.
fn keep_templates(handle: &Handle, library: Library) -> Result<PathBuf, String> {
    let folder = handle.folder().join("templates");
    let path = folder.join(TEMPLATES);
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let before = match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let known = handle.library();
    let mut all = match &before {
        Some(text) => read(&[(TEMPLATES, text)], &known).map_err(|_| format!("{}: has mistakes", path.display()))?,
        None => Library::default(),
    };
    all.merge(library);
    replace(&path, &write(&all)).map_err(failed)?;
    match handle.reload() {
        Ok(_) => Ok(path),
        Err(why) => {
            // The next start is to find what this one found.
            let restored = match before {
                Some(text) => replace(&path, &text),
                None => std::fs::remove_file(&path),
            };
            let restored = restored.err().map_or_else(String::new, |error| format!("; {}", failed(error)));
            Err(format!("templates do not fit together: {why}{restored}"))
        }
    }
}

/// On stable storage before it has the name.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let part = path.with_extension("part");
    std::fs::write(&part, text)?;
    File::open(&part)?.sync_all()?;
    std::fs::rename(&part, path)
}

/// Round-robin files that were copied, and why others were not.
#[derive(Debug, Default)]
struct Placed {
    paths: Vec<PathBuf>,
    refused: Vec<String>,
}

/// Copies round-robin files to the places that their data sources will have below a folder.
fn place(folder: &Path, rra: Option<&Path>, import: &Import) -> Placed {
    let mut placed = Placed::default();
    let Some(rra) = rra else { return placed };
    let of = |change: &Change| match change {
        Change::Source { id, source } => Some((*id, source.device)),
        _ => None,
    };
    let devices: HashMap<u32, u32> = import.changes.iter().filter_map(of).collect();
    let mut more = 0u64;
    for file in &import.files {
        let to = devices.get(&file.source).map(|device| files::path(*device, file.source));
        let copied = to.ok_or_else(|| "its data source is not imported".to_owned()).and_then(|to| {
            let to = folder.join(to);
            copy(&from(rra, file)?, &to, &file.series).map(|()| to)
        });
        match copied {
            Ok(to) => placed.paths.push(to),
            Err(why) if placed.refused.len() < REFUSED_MAX => placed.refused.push(format!("{}: {why}", file.path)),
            Err(_) => more += 1,
        }
    }
    if more > 0 {
        placed.refused.push(format!("{more} more"));
    }
    placed
}

/// Where a file is, which Cacti calls `<path_rra>/..`; never outside of the folder.
fn from(rra: &Path, file: &RraFile) -> Result<PathBuf, String> {
    let within = file.path.strip_prefix("<path_rra>/").map(PathBuf::from);
    let within = within.or_else(|| Path::new(&file.path).file_name().map(PathBuf::from));
    let within = within.filter(|path| path.components().all(|part| matches!(part, Component::Normal(_))));
    within.map(|within| rra.join(within)).ok_or_else(|| "its name leads out of the folder".to_owned())
}

fn copy(from: &Path, to: &Path, series: &[String]) -> Result<(), String> {
    let names: Vec<&str> = series.iter().map(String::as_str).collect();
    // The lock is held while it is copied: nobody writes half of it meanwhile.
    let checked = RrdFile::open(from).map_err(|fault| fault.to_string())?;
    files::order(checked.archive(), &names)?;
    if to.exists() {
        return Err(format!("{} exists already", to.display()));
    }
    let folder = to.parent().unwrap_or(Path::new("."));
    let part = to.with_extension("part");
    let copied = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::copy(from, &part))
        .and_then(|_| File::open(&part)?.sync_all())
        .and_then(|()| std::fs::rename(&part, to))
        .and_then(|()| File::open(folder)?.sync_all());
    copied.map_err(|error| error.to_string())
}
