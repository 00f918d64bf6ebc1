//! Files of rules: where they are, and what they may name.

use super::devices::DEVICE_TEMPLATE;
use crate::run::config::Alert;
use std::path::{Path, PathBuf};
use trunkline_alert::rule::{Known, RULE_FILE_OCTETS_MAX, RULE_FILES_MAX, Rules, read};
use trunkline_kit::config::Mistake;
use trunkline_kit::place;

/// Why rules cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    /// A file or folder cannot be read.
    #[error("{0}: {1}")]
    Unreadable(String, String),
    /// Mistakes.
    #[error("rules have mistakes:{}", .0.iter().map(|mistake| format!("\n  {mistake}")).collect::<String>())]
    Mistakes(Vec<Mistake>),
}

/// Where the rules of a data folder are, if the configuration does not say.
pub fn folder(data: &Path) -> PathBuf {
    data.join("alert").join("rules")
}

/// The files and folders of a configuration.
pub fn places(settings: &Alert, data: &Path) -> Vec<PathBuf> {
    if settings.rules.is_empty() { vec![folder(data)] } else { settings.rules.clone() }
}

/// Reads all files of these places; what they name of templates is that of the data folder's graphs.
///
/// # Errors
/// [`Wrong`].
pub fn load(places: &[PathBuf], data: &Path) -> Result<Rules, Wrong> {
    let mut files = Vec::new();
    for path in paths(places, &folder(data))? {
        let name = path.display().to_string();
        let unreadable = |why: String| Wrong::Unreadable(name.clone(), why);
        let text = place::read_text(&path, RULE_FILE_OCTETS_MAX as u64).map_err(|e| unreadable(e.to_string()))?;
        files.push((name, text));
    }
    let texts: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    read(&texts, &known(data)).map_err(Wrong::Mistakes)
}

/// The files of these places; the data folder's own need not be there.
fn paths(places: &[PathBuf], own: &Path) -> Result<Vec<PathBuf>, Wrong> {
    let mut paths = Vec::new();
    for place in places {
        let unreadable = |e: std::io::Error| Wrong::Unreadable(place.display().to_string(), e.to_string());
        if !place.is_dir() {
            paths.extend((place != own || place.exists()).then(|| place.clone()));
            continue;
        }
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(place).map_err(unreadable)? {
            inside.push(entry.map_err(unreadable)?.path());
        }
        inside.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        inside.sort();
        paths.extend(inside);
    }
    match paths.len() > RULE_FILES_MAX {
        true => Err(Wrong::Unreadable("files of rules".to_owned(), format!("more than {RULE_FILES_MAX}"))),
        false => Ok(paths),
    }
}

/// Where templates cannot be read, names of series are not checked: graphs tell what is wrong with those.
fn known(data: &Path) -> Known {
    let Ok(library) = trunkline_graph::job::library(&crate::graph::here::folder(data)) else {
        return Known::default();
    };
    let series = |template: &trunkline_graph::template::DataTemplate| {
        template.series.iter().map(|series| series.name.clone()).collect()
    };
    let mut known = Known::default();
    known.templates.extend(library.data.iter().map(|(name, template)| (name.clone(), series(template))));
    known.templates.insert(DEVICE_TEMPLATE.to_owned(), super::devices::SERIES.map(str::to_owned).to_vec());
    known
}
