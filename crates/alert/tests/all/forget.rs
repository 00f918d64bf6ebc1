//! A number that is to be forgotten leaves the log of alerts, what is open, over and waiting, and what is shown.

use crate::world::{LONG, RULE, see, start};
use std::path::Path;
use trunkline_alert::job::{Seen, forget_number};
use trunkline_commit::{Folder, Keep, survey};
use trunkline_kit::forgotten::Forgotten;

const NUMBER: &str = "44207001234";

fn text() -> String {
    format!(
        "{RULE}[route.all]\nchannels = \"hook\"\nwait = \"0 s\"\n[channel.hook]\nkind = \"webhook\"\n\
         url = \"http://127.0.0.1:9/\"\n"
    )
}

/// How often the number stands in the octets of the folder.
fn stands(folder: &Path) -> usize {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file());
    let count = |octets: Vec<u8>| octets.windows(NUMBER.len()).filter(|part| *part == NUMBER.as_bytes()).count();
    files.map(|path| count(std::fs::read(path).unwrap())).sum()
}

fn is_whole(folder: &Path) -> bool {
    let disk = Folder::beside(folder).unwrap();
    survey(&disk, Keep::Needed, &[], &mut |_, _| Ok(())).unwrap().is_whole()
}

fn named(subject: &str) -> Seen {
    Seen { fields: vec![("caller".to_owned(), format!("+{NUMBER}"))], ..see(subject, 9.0) }
}

#[test]
fn a_number_leaves_alerts_that_run() {
    let folder = tempfile::tempdir().unwrap();
    let alerts = start(folder.path(), &text());
    let subjects = [see(&format!("+{NUMBER}"), 9.0), see("+442070012345", 9.0), named("trunk-1")];
    alerts.observe(subjects.to_vec()).unwrap();
    assert!(alerts.wait_for(LONG, |view| view.incidents.len() == 3 && view.waiting > 0));
    let number = Forgotten::new("+44207001234").unwrap();
    let before = stands(folder.path());
    let found = alerts.forget_number(&number, false).unwrap();
    assert!(found.records > 1 && before > 4 && stands(folder.path()) == before, "{found:?} {before}");
    assert!(alerts.forget_number(&number, true).unwrap().records >= found.records);
    // What is left of the digits is the longer number.
    assert!(alerts.wait_for(LONG, |view| view.incidents.len() == 2 && view.past.len() == 1));
    let view = alerts.view();
    let shown = format!("{view:?}").replace("442070012345", "");
    assert!(!shown.contains(NUMBER), "{shown}");
    assert!(view.engine.fired == 3 && view.fault.is_none(), "{:?}", view.engine);
    assert!(is_whole(folder.path()));
    assert_eq!(alerts.forget_number(&number, true).unwrap().records, 0, "it is done, and done again nothing is left");
    // It goes on, and a new alert of the number is a new one.
    alerts.observe(vec![see("+442070012345", 1.0), see(&format!("+{NUMBER}"), 9.0)]).unwrap();
    assert!(alerts.wait_for(LONG, |view| view.engine.fired == 4 && view.past.len() == 2));
    drop(alerts);
    assert!(is_whole(folder.path()));
    let again = start(folder.path(), &text());
    assert_eq!((again.view().incidents.len(), again.view().past.len()), (2, 2));
}

#[test]
fn a_number_leaves_alerts_that_nobody_runs() {
    let folder = tempfile::tempdir().unwrap();
    let number = Forgotten::new(NUMBER).unwrap();
    let alerts = start(folder.path(), &text());
    alerts.observe(vec![see(&format!("+{NUMBER}"), 9.0), named("trunk-1")]).unwrap();
    assert!(alerts.wait_for(LONG, |view| view.incidents.len() == 2 && view.waiting > 0));
    assert!(forget_number(folder.path(), &number, true).is_err(), "somebody has it");
    let looked = forget_number(folder.path(), &number, false).unwrap();
    drop(alerts);
    let found = forget_number(folder.path(), &number, true).unwrap();
    assert!(found.records >= looked.records && found.records > 1, "{found:?} {looked:?}");
    assert!(stands(folder.path()) == 0 && is_whole(folder.path()));
    let again = start(folder.path(), &text());
    assert!(again.wait_for(LONG, |view| view.incidents.len() == 1 && view.past.len() == 1), "{:?}", again.view());
}
