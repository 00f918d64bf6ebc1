//! Others beside ours: Cacti's spine for polling, with MariaDB as it needs it; rrdcached for storing.

use super::super::example;
use super::super::{Bench, need};
use super::node::{Farm, Size};
use super::process::Process;
use super::{remove, unpacked};
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Devices that spine polls.
const DEVICES: usize = 1000;
const INTERFACES: usize = 50;
/// Its threads.
pub const THREADS: u32 = 10;
/// Times that it polls all; the one with the least time counts.
const ROUNDS: u32 = 3;
/// Files that are updated, and samples at once.
const FILES: &str = "20000";
const TOGETHER: &str = "30";

/// What polled or stored how much.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    pub values: f64,
    pub seconds: f64,
    pub cpu_s: f64,
}

/// Both peers, and ours where it does the same as one of them; or why it could not be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Peers {
    pub spine: Result<Done, String>,
    /// Values to files: rrdcached, then ours.
    pub storing: Result<[Done; 2], String>,
}

/// Runs them on the first processor, what they poll is on the second one.
pub fn measure(bench: &Bench<'_>) -> Result<Peers, String> {
    let spine = spine(bench);
    remove(&bench.folder.join("spine"))?;
    let storing = storing(bench);
    remove(&bench.folder.join("storing"))?;
    let peers = Peers { spine, storing };
    eprintln!("bench: graph: {peers:?}");
    Ok(peers)
}

/// A database server with Cacti's tables, in a folder.
struct Database {
    process: Process,
    socket: PathBuf,
}

impl Database {
    fn start(folder: &Path, schema: &Path) -> Result<Database, String> {
        let data = folder.join("db");
        let socket = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?.join("socket");
        let installed = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--user=root"])
            .arg(format!("--datadir={}", data.display()))
            .output()
            .map_err(|e| format!("mariadb-install-db: {e}"))?;
        if !installed.status.success() {
            return Err(format!("mariadb-install-db: {}", String::from_utf8_lossy(&installed.stderr)));
        }
        let words = [
            "--no-defaults".to_owned(),
            format!("--datadir={}", data.display()),
            format!("--socket={}", socket.display()),
            format!("--pid-file={}", socket.with_file_name("pid").display()),
            "--skip-networking".to_owned(),
            "--user=root".to_owned(),
            // As Cacti's manual recommends it: what is polled goes to a table in memory.
            "--max-heap-table-size=2G".to_owned(),
            "--innodb-flush-log-at-trx-commit=2".to_owned(),
            "--innodb-buffer-pool-size=1G".to_owned(),
        ];
        let process = Process::start("0", Path::new("/usr/sbin/mariadbd"), &words)?;
        let database = Database { process, socket };
        let begun = Instant::now();
        while database.ask("select 1", "mysql").is_err() {
            if begun.elapsed().as_secs() > 60 {
                return Err("mariadbd does not answer".to_owned());
            }
            need::pause(100);
        }
        database.ask("create database cacti", "mysql")?;
        let schema = std::fs::read_to_string(schema).map_err(|e| format!("{}: {e}", schema.display()))?;
        database.ask(&schema, "cacti")?;
        Ok(database)
    }

    fn ask(&self, text: &str, database: &str) -> Result<String, String> {
        let path = self.socket.with_file_name("asked.sql");
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        let input = File::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut client = Command::new("mariadb");
        client.arg("--no-defaults").arg("-S").arg(&self.socket).args(["-uroot", "-N", "-B", database]);
        let done = client.stdin(Stdio::from(input)).output().map_err(|e| format!("mariadb: {e}"))?;
        if !done.status.success() {
            return Err(format!("mariadb: {}", String::from_utf8_lossy(&done.stderr)));
        }
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }
}

/// What spine reads of a farm: two counters of each interface, as many names in a request as its agents answer.
fn rows(port: u16) -> String {
    let mut text = format!("set @port = {port};\ndelete from host;\ndelete from poller_item;\n");
    let _ = write!(
        text,
        "insert into host (id, description, hostname, snmp_community, snmp_version, snmp_port, snmp_timeout, \
         availability_method, max_oids, device_threads, disabled, status) select seq, concat('d', seq), \
         concat('127.64.', seq div 256, '.', seq mod 256), 'public', 2, @port, 500, 0, 50, 1, '', 3 \
         from seq_1_to_{DEVICES};\n\
         insert into poller_item (local_data_id, poller_id, host_id, action, present, hostname, snmp_community, \
         snmp_version, snmp_port, snmp_timeout, rrd_name, rrd_path, rrd_num, rrd_step, rrd_next_step, arg1) \
         select h.id * 1000 + i.seq, 1, h.id, 0, 1, h.hostname, 'public', 2, @port, 500, \
         if(d.seq = 1, 'traffic_in', 'traffic_out'), concat('/', h.id, '/', i.seq, '.rrd'), 2, 300, 0, \
         concat('.1.3.6.1.2.1.31.1.1.1.', if(d.seq = 1, 6, 10), '.', i.seq) \
         from host h, seq_1_to_{INTERFACES} i, seq_1_to_2 d;\n\
         replace into settings (name, value) values ('poller_interval', '300'), ('log_verbosity', '1'), \
         ('max_threads', '{THREADS}');\nupdate poller set threads = {THREADS} where id = 1;\n"
    );
    text
}

fn spine(bench: &Bench<'_>) -> Result<Done, String> {
    let (program, schema) = (unpacked(bench, "usr/sbin/spine"), unpacked(bench, "usr/share/doc/cacti/cacti.sql"));
    for needed in [&program, &schema, Path::new("/usr/sbin/mariadbd")] {
        if !needed.exists() {
            return Err(format!("{} is not there: scripts/setup bench", needed.display()));
        }
    }
    let folder = bench.folder.join("spine");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let farm = Farm::start(bench, "1", Size { devices: DEVICES, interfaces: INTERFACES, dead_permille: 0 }, None)?;
    let database = Database::start(&folder, &schema)?;
    database.ask(&rows(farm.port), "cacti")?;
    let configuration = folder.join("spine.conf");
    let socket = database.socket.display();
    let text = format!("DB_Host {socket}\nDB_Database cacti\nDB_User root\nDB_Pass\nDB_Port 3306\n");
    std::fs::write(&configuration, text).map_err(|e| format!("{}: {e}", configuration.display()))?;
    let mut best: Option<Done> = None;
    for _ in 0..ROUNDS {
        database.ask("delete from poller_output", "cacti")?;
        let costs = folder.join("costs");
        let (begun, before) = (Instant::now(), database.process.cpu_seconds());
        let done = Command::new("time")
            .args(["-q", "-f", super::super::measure::FORMAT, "-o"])
            .arg(&costs)
            .args(["taskset", "-c", "0"])
            .arg(&program)
            .arg("-C")
            .arg(&configuration)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map_err(|e| format!("time: {e}"))?;
        let seconds = begun.elapsed().as_secs_f64();
        let text = std::fs::read_to_string(&costs).map_err(|e| format!("time's output: {e}"))?;
        let own = super::super::measure::parse(&text).ok_or_else(|| format!("spine: {done}: {text}"))?;
        let stored = database.ask("select count(*) from poller_output where output != 'U'", "cacti")?;
        let values: f64 = stored.parse().map_err(|_| format!("mariadb told {stored}"))?;
        if values < (DEVICES * INTERFACES * 2) as f64 {
            return Err(format!("spine read {values} values of {}", DEVICES * INTERFACES * 2));
        }
        let round = Done { values, seconds, cpu_s: own.cpu_seconds() + database.process.cpu_seconds() - before };
        best = Some(best.filter(|best| best.seconds <= round.seconds).unwrap_or(round));
    }
    best.ok_or_else(|| "spine was not run".to_owned())
}

/// `crates/rrd/examples/store.rs`: the same values to the same files, by rrdcached and by our writer.
fn storing(bench: &Bench<'_>) -> Result<[Done; 2], String> {
    if !need::has("rrdcached") {
        return Err("apt-get install rrdcached".to_owned());
    }
    let program = example::build(bench, "trunkline-rrd", "store")?;
    let folder = bench.folder.join("storing");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let files = if bench.quick { "1000" } else { FILES };
    let one = |way: &str| {
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(&program).arg(&folder).args([files, TOGETHER, "cacti", way]);
        let done = command.stderr(Stdio::null()).output().map_err(|e| format!("taskset: {e}"))?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        stored(&text).ok_or_else(|| format!("{way}: {}: {text}", done.status))
    };
    Ok([one("rrdcached")?, one("ours")?])
}

/// `ours: 3600000 values to 20000 files, 3.40 s, 1.56 s of CPU: ...`
fn stored(text: &str) -> Option<Done> {
    let line = text.lines().last()?;
    let before = |word: &str| line.split(word).next()?.trim_end().rsplit([' ', ',']).next()?.parse::<f64>().ok();
    Some(Done { values: before(" values to")?, seconds: before(" s,")?, cpu_s: before(" s of CPU")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_example_tells() {
        let text =
            "x\nours: 3600000 values to 20000 files, 3.40 s, 1.56 s of CPU: 1058824 values/s, 2307692 a CPU second\n";
        assert_eq!(stored(text), Some(Done { values: 3_600_000.0, seconds: 3.4, cpu_s: 1.56 }));
        assert_eq!(stored("no"), None);
    }
}
