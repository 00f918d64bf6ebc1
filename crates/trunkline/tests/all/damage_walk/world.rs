//! The data folder that is damaged: of a run with all jobs on that ended, and one that was killed while calls were up
//! and sessions were charged.

use crate::caches::Cache;
use crate::eventually::eventually;
use crate::wire::{PROGRAM, Running, Wire, text};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use trunkline_store::backend::sqlite::sums::seal_days;

/// The one rule of alerts, and where it lies in the data folder.
pub const ALERTS: &str = "[rule.seen]\ntitle = \"packets are captured\"\n\
    metric = \"trunkline_capture_ring_packets_total\"\ncondition = \"high\"\nlimit = 0\nseverity = \"info\"\n";
pub const RULES: &str = "alert/rules/own.toml";
const TEMPLATES: &str = include_str!("../../../src/demo/graphs.toml");
const PLAN: &str = crate::gy::PLAN;
/// Accounts of the ledger.
pub const ACCOUNTS: u64 = 3;
/// Where the folder lies that is damaged, and the one that it is made of again.
const WORLD: &str = "world";
const BASE: &str = "base";

/// A wire, and what a run on it left behind.
pub struct World {
    pub wire: Wire,
    /// Few packets, for whoever wants to know whether they are captured.
    pub few: PathBuf,
}

impl World {
    /// Makes it; none where there is no right to.
    pub fn make(name: &str) -> Option<World> {
        let wire = Wire::lay(name)?;
        assert!(wire.within(&["ip", "link", "set", "lo", "up"]).status().unwrap().success());
        let few = wire.world("few.pcap", &["--calls", "1", "--seed", "9"]);
        let world = World { wire, few };
        world.given();
        world.first();
        world.beside();
        world.second();
        fs::rename(world.folder(), world.wire.path(BASE)).unwrap();
        Some(world)
    }

    /// The folder with all that is damaged.
    pub fn folder(&self) -> PathBuf {
        self.wire.path(WORLD)
    }

    pub fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// Makes the folder as it was.
    pub fn restore(&self) {
        if self.folder().exists() {
            fs::remove_dir_all(self.folder()).unwrap();
        }
        let (from, to) = (self.wire.path(BASE), self.folder());
        let copied = Command::new("cp").args(["-a", "--sparse=always", text(&from), text(&to)]).status();
        assert!(copied.unwrap().success());
    }

    /// Makes one file as it was.
    pub fn put_back(&self, file: &str) {
        let (from, to) = (self.wire.path(BASE).join(file), self.folder().join(file));
        let copied = Command::new("cp").args(["-a", "--sparse=always", text(&from), text(&to)]).status();
        assert!(copied.unwrap().success());
    }

    /// All files, by their paths below the folder.
    pub fn files(&self) -> Vec<String> {
        let (mut found, mut folders) = (Vec::new(), vec![self.folder()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() {
                    found.push(text(path.strip_prefix(self.folder()).unwrap()).to_owned());
                }
            }
        }
        found.sort();
        found
    }

    /// A run with all jobs on, in the state that it is in: it may have ended before it began.
    pub fn start(&self) -> Running {
        self.wire.begin(&self.data(), &self.wire.path("world.toml"), &self.config(""))
    }

    /// A command on the data folder.
    pub fn ask(&self, words: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(words).args(["--data", text(&self.data())]).env("TZ", "UTC").env("NO_COLOR", "1");
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn told(&self, words: &[&str]) -> String {
        let done = self.ask(words);
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    fn config(&self, more: &str) -> String {
        let (second, metrics) = (self.folder().join("second"), self.wire.path("metrics"));
        format!(
            "[capture]\nlanes = 1\nmicroburst = \"1 kbit/s\"\n\
             [record]\nmemory = \"16 MiB\"\nflush = \"200 ms\"\nvolumes = [\"{}\"]\n\
             [calls]\ncheckpoint-every = \"1 s\"\n\
             [cache]\nlisten = [\"127.0.0.1:11311\"]\n\
             [charge]\nlisten = [\"127.0.0.1:13868\"]\nhost = \"ocs.demo\"\nrealm = \"demo\"\n\
             [charge.gtpp]\nlisten = [\"udp:127.0.0.1:13386\"]\n\
             [cdr]\nfile-records = 100000\nflush = \"1 s\"\n\
             [graph]\nenabled = true\nredo = \"1 MiB\"\n\
             [alert]\nenabled = true\nevery = \"1 s\"\n\
             [web]\nenabled = true\nlisten = \"127.0.0.1:8443\"\ntls = \"self-signed\"\n\
             [metrics]\nlisten = \"unix:{}\"\n{more}",
            text(&second),
            text(&metrics)
        )
    }

    /// What people write.
    fn given(&self) {
        for (path, content) in [(RULES, ALERTS), ("graphs/templates/own.toml", TEMPLATES)] {
            let path = self.data().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    fn begun(&self, more: &str) -> Running {
        let mut running = self.wire.begin(&self.data(), &self.wire.path("world.toml"), &self.config(more));
        assert!(running.hears("running: "), "{:#?}", running.said);
        running
    }

    /// A run that ends as it should.
    fn first(&self) {
        let running = self.begun("");
        let plan = self.wire.path("plan.toml");
        fs::write(&plan, PLAN).unwrap();
        self.told(&["charge", "plan", text(&plan)]);
        for account in 1..=ACCOUNTS {
            let (number, identity) = (account.to_string(), format!("imsi:{}", crate::gy::imsi(account)));
            self.told(&["charge", "account", &number, "--plan", "standard"]);
            self.told(&["charge", "subscriber", &number, "--account", &number, &identity]);
            self.told(&["charge", "top-up", &number, "500000"]);
        }
        self.charged("first");
        let packets = self.wire.world("first.pcap", &["--calls", "4", "--seed", "4"]);
        self.wire.replay(&packets, "max");
        self.wire.until("graphs know this program", |wire| wire.metric("trunkline_graph_samples_total") > 0.0);
        self.wire.until("an alert fires", |wire| wire.metric("trunkline_alert_fired_alerts_total") > 0.0);
        assert_eq!(running.end().0, 0);
    }

    /// What other commands put into the folder: an older day with its checksums, a pin, users, a cache's image.
    fn beside(&self) {
        let old = self.wire.world("old.pcap", &["--calls", "3", "--seed", "5"]);
        self.told(&["read", text(&old)]);
        seal_days(&self.data().join("store"), i64::MAX).unwrap();
        self.told(&["packets", "pin", "--from", "2020-01-01", "--to", "2020-01-02", "--note", "kept"]);
        self.told(&["user", "add", "anna", "--role", "administrator"]);
        let mut cache = Cache::start(&["-m", "16", "-e", text(&self.data().join("cache.image"))]);
        let mut client = cache.client();
        (0..500).for_each(|key| client.set(&format!("k{key}"), 0, 0, b"the value of an item"));
        drop(client);
        cache.end();
    }

    /// A run that compresses what the first one recorded, and is killed while calls and sessions are up.
    fn second(&self) {
        let mut running = self.begun("[record.sip]\ncompress = \"zstd\"\n");
        eventually("a segment is compressed", || self.files().iter().any(|path| path.ends_with(".pcapng.zst")));
        let packets = self.wire.world("second.pcap", &["--calls", "4", "--seed", "6"]);
        self.wire.replay(&packets, "max");
        self.wire.until("calls are stored", |wire| wire.metric("trunkline_calls_finished_calls_total") > 0.0);
        self.told(&["user", "add", "berta", "--role", "support"]);
        self.charged("second");
        self.until_there("charge/cdr", ".ber.part");
        let written = "trunkline_spool_written_octets_total";
        let before = self.wire.metric(written);
        self.wire.replay(&self.few, "max");
        self.wire.until("packets are on disk", |wire| wire.metric(written) > before + 10_000.0);
        running.child.kill().unwrap();
        running.child.wait().unwrap();
    }

    fn until_there(&self, folder: &str, end: &str) {
        eventually(end, || {
            let mut files = fs::read_dir(self.data().join(folder)).unwrap();
            files.any(|file| file.unwrap().file_name().to_string_lossy().ends_with(end))
        });
    }

    /// Sessions of all accounts; some stay open.
    fn charged(&self, origin: &str) {
        let (from, to) = (crate::gy::imsi(1), crate::gy::imsi(ACCOUNTS));
        let who = format!("{from}..{to}");
        let of = ["charge", "load", "127.0.0.1:13868", "--closed", "2", "--updates", "2", "--duration", "300ms"];
        let words = [&[PROGRAM][..], &of, &["--subscribers", &who, "--subscription", "imsi", "--leave"]].concat();
        let done = self.wire.within(&[&words[..], &["--origin", origin]].concat()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}
