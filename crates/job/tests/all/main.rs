//! Jobs of a run: the job of docs/adding/job.md, beside others.

mod heartbeat;

use heartbeat::Heartbeat;
use std::sync::{Arc, Mutex};
use trunkline_job::{Around, Figure, Job, Jobs};
use trunkline_kit::metrics::Sample;

/// What a job was asked, in order.
type Asked = Arc<Mutex<Vec<String>>>;

/// A job that notes what it is asked, and has something to complain about.
struct Noting {
    name: &'static str,
    asked: Asked,
}

impl Noting {
    fn note(&self, what: &str) {
        self.asked.lock().unwrap().push(format!("{} {what}", self.name));
    }
}

impl Job for Noting {
    fn name(&self) -> &'static str {
        self.name
    }

    fn connect(&self, around: &Around<'_>) -> Result<(), String> {
        self.note(if around.jobs.get::<Heartbeat>().is_some() { "sees the heartbeat" } else { "is alone" });
        (around.samples)().map(drop).ok_or_else(|| "no metrics".to_owned())
    }

    fn samples(&self) -> Vec<Sample> {
        Vec::new()
    }

    fn unhealthy(&self) -> Vec<String> {
        vec![format!("{} is not well", self.name)]
    }

    fn reload(&self) {
        self.note("reloads");
    }

    fn ending(&self) {
        self.note("is told of the end");
    }

    fn stop(&self) -> Vec<String> {
        self.note("stops");
        vec![format!("{} lost something", self.name)]
    }
}

fn jobs() -> (Jobs, Asked) {
    let (mut jobs, asked) = (Jobs::default(), Asked::default());
    jobs.add(Arc::new(Noting { name: "first", asked: Arc::clone(&asked) }));
    jobs.add(Arc::new(Heartbeat::default()));
    jobs.add(Arc::new(Noting { name: "last", asked: Arc::clone(&asked) }));
    (jobs, asked)
}

#[test]
fn each_is_asked_for_its_part() {
    let (jobs, _) = jobs();
    (0..3).for_each(|_| jobs.look_after());
    let beats = vec![Figure::PerSecond("beats/s", 3)];
    assert_eq!(jobs.figures(), [("first", Vec::new()), ("heartbeat", beats), ("last", Vec::new())]);
    let names: Vec<_> = jobs.samples().iter().map(|sample| sample.name).collect();
    assert_eq!(names, ["trunkline_heartbeat_beats_total"]);
    assert_eq!(jobs.unhealthy(), ["first is not well", "last is not well"]);
    assert!(jobs.get::<Heartbeat>().is_some());
}

#[test]
fn they_stop_in_the_opposite_order() {
    let (jobs, asked) = jobs();
    assert_eq!(jobs.connect(Arc::new(|| Some(Vec::new()))), Ok(()));
    jobs.reload();
    jobs.ending();
    assert_eq!(jobs.stop(), ["last lost something", "first lost something"]);
    let wanted = [
        "first sees the heartbeat",
        "last sees the heartbeat",
        "first reloads",
        "last reloads",
        "first is told of the end",
        "last is told of the end",
        "last stops",
        "first stops",
    ];
    assert_eq!(*asked.lock().unwrap(), wanted);
}

#[test]
fn what_cannot_be_connected_is_told() {
    let (jobs, asked) = jobs();
    assert_eq!(jobs.connect(Arc::new(|| None)), Err("no metrics".to_owned()));
    assert_eq!(*asked.lock().unwrap(), ["first sees the heartbeat"], "the others are not asked");
}

/// The guide shows the job that is built and tried here.
#[test]
fn the_guide_shows_this_job() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = std::fs::read_to_string(root.join("docs/adding/job.md")).unwrap();
    let shown = guide.split("```rust\n").nth(1).and_then(|rest| rest.split("```\n").next()).unwrap();
    assert_eq!(shown, include_str!("heartbeat.rs"));
}
