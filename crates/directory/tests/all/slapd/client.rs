//! The engine as the tests hold it.

use crate::eventually::{PATIENCE, awaited};
use crate::slapd::world::Server;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use trunkline_directory::counts::Shown;
use trunkline_directory::*;

pub struct Client {
    pub directory: Directory,
    completions: Receiver<Completion>,
    _running: Running,
}

/// Settings for servers of the test's entries.
pub fn section(servers: &[&Server]) -> DirectorySection {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    DirectorySection {
        servers: servers.iter().map(|server| server.url()).collect(),
        base: "ou=people,dc=example".to_owned(),
        filters: texts(&[
            "(&(objectClass=inetOrgPerson)(mobile={msisdn}))",
            "(employeeNumber={imsi})",
            "(uid={private})",
        ]),
        attributes: texts(&[
            "account = uid required",
            "plan = employeeType required",
            "credit = departmentNumber",
            "msisdn = mobile",
            "imsi = employeeNumber",
        ]),
        remember: Duration::ZERO,
        stale: Duration::ZERO,
        remember_absent: Duration::ZERO,
        timeout: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(10),
        ..DirectorySection::default()
    }
}

impl Client {
    pub fn new(section: &DirectorySection) -> Client {
        let (sender, completions) = channel();
        let tell = move |completion| drop(sender.send(completion));
        let (directory, running) = start(section.options().expect("settings"), Box::new(tell)).expect("it starts");
        Client { directory, completions, _running: running }
    }

    pub fn next(&self) -> Completion {
        self.completions.recv_timeout(PATIENCE).expect("each request has an end")
    }

    pub fn look_up(&self, kind: Kind, text: &str) -> LookedUp {
        self.directory.look_up(Identity::new(kind, text), 7).expect("there is room");
        let completion = self.next();
        assert_eq!(completion.token, 7);
        match completion.ended {
            Ended::LookedUp(looked_up) => looked_up,
            other => panic!("{other:?}"),
        }
    }

    pub fn profile(&self, kind: Kind, text: &str) -> (Profile, Freshness) {
        match self.look_up(kind, text) {
            LookedUp::Found(profile, freshness) => (profile.as_ref().clone(), freshness),
            other => panic!("{text}: {other:?}"),
        }
    }

    pub fn ask(&self, operation: Operation) -> Result<Answer, Failure> {
        self.directory.submit(operation, 8).expect("there is room");
        match self.next().ended {
            Ended::Answered(result) => result,
            other => panic!("{other:?}"),
        }
    }

    pub fn shown(&self) -> Shown {
        self.directory.shown().expect("it runs")
    }

    /// Waits until what is shown is so.
    pub fn until(&self, what: &str, is_so: impl Fn(&Shown) -> bool) -> Shown {
        awaited(what, || {
            let shown = self.shown();
            if is_so(&shown) { Ok(shown) } else { Err(Box::new(shown)) }
        })
    }
}
