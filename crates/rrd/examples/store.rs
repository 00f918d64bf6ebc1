//! Measures how many values a second go to round-robin files, ours and through rrdcached, in the same folder.
//!
//! ```text
//! cargo run --release -p trunkline-rrd --example store -- \
//!     FOLDER [FILES] [TOGETHER] [cacti|minutes] [ours|rrdcached]...
//! ```
//!
//! Each way makes FILES files of two data sources and updates each with 3 times TOGETHER samples, so many at once: ours
//! through `Writer`, rrdcached by UPDATE commands on its socket and FLUSHALL. What is told is values, seconds that
//! passed, and seconds of CPU of whoever wrote: this process, or rrdcached without who asks it.

use std::io::{BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use trunkline_rrd::{Folder, Options, Plan, Reading, Time, Value, Writer};

const START_S: i64 = 1_700_000_000;

struct Profile {
    step_s: i64,
    definitions: &'static [&'static str],
}

/// Cacti's five minutes: averages and maxima of 600, 700, 775 and 797 rows.
const CACTI: Profile = Profile {
    step_s: 300,
    definitions: &[
        "DS:traffic_in:COUNTER:600:0:U",
        "DS:traffic_out:COUNTER:600:0:U",
        "RRA:AVERAGE:0.5:1:600",
        "RRA:AVERAGE:0.5:6:700",
        "RRA:AVERAGE:0.5:24:775",
        "RRA:AVERAGE:0.5:288:797",
        "RRA:MAX:0.5:1:600",
        "RRA:MAX:0.5:6:700",
        "RRA:MAX:0.5:24:775",
        "RRA:MAX:0.5:288:797",
    ],
};

/// Minutes for two days, then five for two weeks, thirty for three months, two hours for two years, days for ten.
const MINUTES: Profile = Profile {
    step_s: 60,
    definitions: &[
        "DS:traffic_in:COUNTER:120:0:U",
        "DS:traffic_out:COUNTER:120:0:U",
        "RRA:AVERAGE:0.5:1m:2d",
        "RRA:AVERAGE:0.5:5m:2w",
        "RRA:AVERAGE:0.5:30m:90d",
        "RRA:AVERAGE:0.5:2h:730d",
        "RRA:AVERAGE:0.5:1d:3650d",
        "RRA:MAX:0.5:1m:2d",
        "RRA:MAX:0.5:5m:2w",
        "RRA:MAX:0.5:30m:90d",
        "RRA:MAX:0.5:2h:730d",
        "RRA:MAX:0.5:1d:3650d",
    ],
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, otherwise: usize| arguments.get(place).map_or(Ok(otherwise), |text| text.parse());
    let Some(folder) = arguments.first().map(PathBuf::from) else {
        return Err("usage: store FOLDER [FILES] [TOGETHER] [cacti|minutes] [ours|rrdcached]...".into());
    };
    let (files, together) = (number(1, 10_000)?, number(2, 30)?);
    let profile = if arguments.get(3).is_some_and(|name| name == "minutes") { &MINUTES } else { &CACTI };
    let ways = arguments.get(4..).filter(|ways| !ways.is_empty());
    let ways = ways.map_or(vec!["ours", "rrdcached"], |ways| ways.iter().map(String::as_str).collect());
    for way in ways {
        let folder = folder.join(way);
        create(&folder, files, profile)?;
        let samples = together * 3;
        let (seconds, cpu) = match way {
            "ours" => ours(&folder, files, together, samples, profile)?,
            _ => rrdcached(&folder, files, together, samples, profile)?,
        };
        let values = (files * samples * 2) as f64;
        println!(
            "{way}: {values} values to {files} files, {seconds:.2} s, {cpu:.2} s of CPU: {:.0} values/s, {:.0} a CPU second",
            values / seconds,
            values / cpu
        );
    }
    Ok(())
}

fn name(file: usize) -> PathBuf {
    PathBuf::from(format!("{:03}/{file}.rrd", file / 1000))
}

fn create(folder: &Path, files: usize, profile: &Profile) -> Result<(), Box<dyn std::error::Error>> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    let plan = Plan::read(profile.step_s as u64, profile.definitions.iter().copied())?;
    for file in 0..files {
        let path = folder.join(name(file));
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(path, plan.create(START_S, |rows| (file as u64 * 2_654_435_761) % rows)?.octets())?;
    }
    rustix::fs::syncfs(std::fs::File::open(folder)?)?;
    Ok(())
}

fn sample(file: usize, number: usize, step_s: i64) -> (Time, [u64; 2]) {
    let count = (number * (1000 + file % 977) * 60) as u64;
    (Time::at(START_S + number as i64 * step_s + (file % 20) as i64), [count, count / 3])
}

fn ours(
    folder: &Path,
    files: usize,
    together: usize,
    samples: usize,
    profile: &Profile,
) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let options = Options { together, waiting_octets_max: 4 << 30, ..Options::default() };
    let (mut writer, _) = Writer::open(Folder::open(folder)?, options)?;
    let (begun, cpu) = (Instant::now(), cpu_s("self")?);
    for number in 1..=samples {
        for file in 0..files {
            let (time, [into, out]) = sample(file, number, profile.step_s);
            let values: [Reading; 2] = [Value::Unsigned(into), Value::Unsigned(out)];
            writer.put(file as u64, time, &values, 0)?;
        }
        let flushed = writer.flush_due(0, |file| Some(name(file as usize)))?;
        assert!(flushed.failed.is_empty() && flushed.refused.is_empty(), "{:?}", flushed.failed);
    }
    let flushed = writer.flush_all(|file| Some(name(file as usize)))?;
    assert!(flushed.failed.is_empty() && flushed.refused.is_empty(), "{:?}", flushed.failed);
    let result = (begun.elapsed().as_secs_f64(), cpu_s("self")? - cpu);
    let counters = writer.counters();
    assert_eq!(counters.values_stored_total as usize, files * samples * 2);
    eprintln!("{counters:?}");
    Ok(result)
}

struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One thread writes, and files are written when we say so.
fn rrdcached(
    folder: &Path,
    files: usize,
    together: usize,
    samples: usize,
    profile: &Profile,
) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let folder = folder.canonicalize()?;
    let socket = folder.join("socket");
    let daemon = Command::new("rrdcached")
        .args(["-g", "-w", "86400", "-f", "172800", "-t", "1", "-b"])
        .arg(&folder)
        .arg("-p")
        .arg(folder.join("pid"))
        .arg("-l")
        .arg(format!("unix:{}", socket.display()))
        .stdout(Stdio::null())
        .spawn()?;
    let daemon = Daemon(daemon);
    let stream = loop {
        match UnixStream::connect(&socket) {
            Ok(stream) => break stream,
            Err(_) => std::thread::yield_now(),
        }
    };
    let (mut ask, mut answers) = (stream.try_clone()?, BufReader::new(stream));
    let process = daemon.0.id().to_string();
    let (begun, cpu) = (Instant::now(), cpu_s(&process)?);
    for round in 0..samples / together {
        for file in 0..files {
            let mut command = format!("UPDATE {}", name(file).display());
            for number in round * together + 1..=(round + 1) * together {
                let (time, [into, out]) = sample(file, number, profile.step_s);
                command.push_str(&format!(" {}:{into}:{out}", time.seconds));
            }
            command.push('\n');
            ask.write_all(command.as_bytes())?;
            expect(&mut answers, "0 ")?;
        }
        ask.write_all(b"FLUSHALL\n")?;
        expect(&mut answers, "0 ")?;
        // A flush of one file comes back when it is written.
        for file in 0..files {
            ask.write_all(format!("FLUSH {}\n", name(file).display()).as_bytes())?;
            expect(&mut answers, "0 ")?;
        }
    }
    Ok((begun.elapsed().as_secs_f64(), cpu_s(&process)? - cpu))
}

fn expect(answers: &mut impl std::io::BufRead, what: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut line = String::new();
    answers.read_line(&mut line)?;
    if line.starts_with(what) { Ok(()) } else { Err(format!("rrdcached said {line}").into()) }
}

/// Of a process, with all its threads.
fn cpu_s(process: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, rest) = stat.rsplit_once(')').ok_or("a stat without a name")?;
    let ticks: Vec<u64> = rest.split(' ').skip(12).take(2).filter_map(|ticks| ticks.parse().ok()).collect();
    Ok(ticks.iter().sum::<u64>() as f64 / rustix::param::clock_ticks_per_second() as f64)
}
