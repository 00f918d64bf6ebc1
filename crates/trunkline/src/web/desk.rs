//! The desk where users sign in, as the configuration has it.

use crate::failure::Failure;
use crate::run::config::Settings;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use trunkline_web::auth::{AuthOptions, DESK_FILE, Desk, Role};

/// What the configuration says about sign-in.
pub fn options(settings: &Settings) -> AuthOptions {
    let web = &settings.web;
    let mask_below = Role::ALL.into_iter().find(|role| role.name() == web.mask_below.name());
    AuthOptions {
        mask_below: mask_below.unwrap_or(Role::Support),
        session_idle_s: web.session_idle.as_secs(),
        session_max_s: web.session_max.as_secs(),
        ..AuthOptions::default()
    }
}

/// Opens the desk of a data folder beside the web, or makes it.
///
/// # Errors
/// The data folder is not there, or the desk's file cannot be read and written.
pub fn open(settings: &Settings) -> Result<Desk, Failure> {
    let data = &settings.data.folder;
    if !data.is_dir() {
        let what = "is not there: `trunkline run` or `trunkline read` makes it, --data DIR names another";
        return Err(Failure::Failed(format!("the data folder {} {what}", data.display())));
    }
    let path = data.join(DESK_FILE);
    let desk = Desk::open(&path, &options(settings)).map_err(|e| Failure::Failed(e.to_string()))?;
    hand_over(data, &["desk.sqlite", "desk.sqlite-wal", "desk.sqlite-shm"]);
    Ok(desk)
}

/// What root makes in `web/` of the data folder belongs to whom the data folder belongs: the web is to read and write
/// it without being root.
pub fn hand_over(data: &Path, files: &[&str]) {
    let Ok(owner) = std::fs::metadata(data) else { return };
    if !rustix::process::geteuid().is_root() || owner.uid() == 0 {
        return;
    }
    let folder = data.join("web");
    let paths = files.iter().map(|file| folder.join(file)).chain([folder.clone()]);
    // Where that is not possible, the web says what it cannot read. A link is not followed: the folder may be
    // another's.
    paths.for_each(|path| _ = std::os::unix::fs::lchown(path, Some(owner.uid()), Some(owner.gid())));
}
