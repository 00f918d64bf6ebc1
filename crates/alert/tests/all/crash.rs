//! `kill -9` at any time: every alert that is on disk is told, by one message; what a command may or may not have done
//! is told as in doubt, and not done again.

use crate::world;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use trunkline_alert::Entry;
use trunkline_alert::delivery::Outcomes;
use trunkline_commit::Folder;
use world::{LONG, RULE, Receiver, see, start};

const FOLDER: &str = "TRUNKLINE_ALERT_CRASH_FOLDER";
const PORT: &str = "TRUNKLINE_ALERT_CRASH_PORT";
const LIFE: &str = "TRUNKLINE_ALERT_CRASH_LIFE";
const LIVES: usize = 12;

fn text(port: u16) -> String {
    format!(
        "{RULE}[route.all]\nchannels = [\"hook\", \"run\"]\ngroup = \"subject\"\nwait = \"0 s\"\ninterval = \"0 s\"\n\
         [channel.hook]\nkind = \"webhook\"\nurl = \"http://127.0.0.1:{port}/hook\"\n[channel.run]\nkind = \"command\"\n\
         command = [\"curl\", \"-s\", \"-H\", \"Idempotency-Key: |id|\", \"-d\", \"|subject|\", \
         \"http://127.0.0.1:{port}/run\"]\n"
    )
}

/// A child that does not outlive a test that failed.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// Not a test of its own: what the parent starts and kills.
#[test]
fn child() {
    let variable = |name| std::env::var(name).ok();
    let (Some(folder), Some(port), Some(life)) = (variable(FOLDER), variable(PORT), variable(LIFE)) else { return };
    let alerts = start(Path::new(&folder), &text(port.parse().unwrap()));
    for number in 0u64.. {
        alerts.observe(vec![see(&format!("life-{life}-{number}"), 9.0)]).unwrap();
        // A few wait, so that an end finds messages at all stages.
        alerts.wait_for(LONG, |view| view.engine.fired > number && view.waiting < 10);
    }
}

#[test]
fn what_is_on_disk_is_told_and_nothing_twice() {
    if !Path::new("/usr/bin/curl").exists() {
        eprintln!("SKIPPED: there is no curl");
        return;
    }
    let Some(mut receiver) = Receiver::python(&["webhook"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut random = trunkline_kit::random::Random::new(11, 0);
    // By way and subject: the names of the messages that came, and how many.
    let mut came: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut take = |line: serde_json::Value| {
        let (path, body) = (line["path"].as_str().unwrap().to_owned(), line["body"].as_str().unwrap());
        let subject = match serde_json::from_str::<serde_json::Value>(body) {
            Ok(body) => body["alerts"][0]["labels"]["subject"].as_str().unwrap().to_owned(),
            Err(_) => body.to_owned(),
        };
        came.entry((path, subject)).or_default().push(line["headers"]["idempotency-key"].as_str().unwrap().to_owned());
    };
    for life in 0..LIVES {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "crash::child", "--nocapture"]).env(FOLDER, folder.path());
        child.env(PORT, receiver.port.to_string()).env(LIFE, life.to_string());
        let mut child = Killed(child.stdout(std::process::Stdio::null()).spawn().unwrap());
        for _ in 0..1 + random.below(12) {
            take(receiver.next());
        }
        child.0.kill().unwrap();
        child.0.wait().unwrap();
    }
    let alerts = start(folder.path(), &text(receiver.port));
    assert!(alerts.wait_for(LONG, |view| view.waiting == 0), "{:?}", alerts.view().delivery);
    let subjects: BTreeSet<String> =
        alerts.view().incidents.iter().map(|incident| incident.notice.labels["subject"].clone()).collect();
    // The last thing that the receiver is told.
    alerts.observe(vec![see("end", 9.0)]).unwrap();
    assert!(alerts.wait_for(LONG, |view| view.incidents.len() > subjects.len() && view.waiting == 0));
    drop(alerts);
    for mut ends in [2] {
        while ends > 0 {
            let line = receiver.next();
            ends -=
                i32::from(line["body"].as_str().is_some_and(|body| body == "end" || body.contains("\"end is full")));
            take(line);
        }
    }
    let (doubtful, made) = in_the_log(folder.path());
    let mut missing = BTreeSet::new();
    for subject in &subjects {
        let hook = &came[&("/hook".to_owned(), subject.clone())];
        assert!(hook.iter().all(|name| *name == hook[0]), "{subject} was told by two messages: {hook:?}");
        match came.get(&("/run".to_owned(), subject.clone())) {
            Some(names) => assert_eq!(names.len(), 1, "{subject}: a command ran twice"),
            None => drop(missing.insert(subject.clone())),
        }
    }
    let told: BTreeSet<String> = doubtful.iter().map(|message| made[message].clone()).collect();
    assert!(missing.is_subset(&told), "{missing:?} are not told as in doubt: {told:?}");
    assert!(subjects.len() >= LIVES && told.len() <= LIVES, "{} {told:?}", subjects.len());
    println!("{} alerts, {} commands in doubt, of which {} did not run", subjects.len(), told.len(), missing.len());
}

/// Messages that are left in doubt, and the subject of each message.
fn in_the_log(path: &Path) -> (Vec<String>, BTreeMap<String, String>) {
    let (mut doubtful, mut made) = (Vec::new(), BTreeMap::new());
    let folder = Folder::beside(path).unwrap();
    let read = trunkline_commit::read(&folder, 1, |_, record| {
        for entry in Entry::decode(record).map_err(|error| error.to_string())? {
            match entry {
                Entry::Message(message) => drop(made.insert(message.id, message.alerts[0].labels["subject"].clone())),
                Entry::Outcome(outcome) if matches!(outcome.came, Outcomes::LeftInDoubt(_)) => {
                    doubtful.push(outcome.message);
                }
                _ => {}
            }
        }
        Ok(core::ops::ControlFlow::Continue(()))
    });
    read.unwrap();
    (doubtful, made)
}
