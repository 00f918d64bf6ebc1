//! How fast the packet log is written, beside fio on the same file system in the same run.

use super::example::{self, number};
use super::need;
use super::table::grouped;
use super::{Bench, Outcome};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Rounds: fio, then each of our loads.
const ROUNDS: usize = 5;
/// Octets that each run writes, MiB.
const MIB: u64 = 2048;
/// What must be reached of fio's rate, percent.
const BUDGET_PERCENT: f64 = 90.0;
/// What an index may have of the packets, percent.
const INDEX_PERCENT: f64 = 1.0;
/// Calls that are up in the synthetic traffic: two streams each.
const CALLS: &str = "500";

/// Makes fio's C library ask for large pages, as our blocks do.
const LARGE_PAGES: &[(&str, &str)] = &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")];

/// What a lane records.
struct Load {
    name: &'static str,
    /// Octets of each frame; 0 as the calls have them.
    octets: &'static str,
}

const LOADS: &[Load] = &[
    Load { name: "1,000 G.711 streams, frames of 214 octets", octets: "0" },
    Load { name: "1,000 streams, frames of 1,514 octets", octets: "1514" },
];

/// Writes with fio and with the recorder in turn.
///
/// # Errors
/// A program failed.
pub fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    if let Some(why) = need::missing(None, &[("fio", "fio")]) {
        return Ok(Outcome::Skipped(why));
    }
    let mib = if bench.quick { MIB / 8 } else { MIB };
    if let Some(why) = need::no_room(&bench.folder, (mib << 20) * 2) {
        return Ok(Outcome::Skipped(why));
    }
    let program = example::build(bench, "log_rate")?;
    let (mut theirs, mut large, mut ours) = (Vec::new(), Vec::new(), vec![Vec::new(); LOADS.len()]);
    for _ in 0..if bench.quick { 2 } else { ROUNDS } {
        theirs.push(fio(&bench.folder, mib, &[])?);
        large.push(fio(&bench.folder, mib, LARGE_PAGES)?);
        for (load, runs) in LOADS.iter().zip(&mut ours) {
            runs.push(record(&program, &bench.folder, mib, load)?);
        }
    }
    let fio = median(theirs.iter().map(|run| run.mib_per_second));
    let well = ours.iter().all(|runs| median(rates(runs)) * 100.0 >= fio * BUDGET_PERCENT);
    Ok(Outcome::Measured(markdown(&theirs, &large, &ours, mib), well))
}

/// One run of fio.
struct Fio {
    mib_per_second: f64,
    cpu_seconds: f64,
}

/// Sequential writes past the page cache, with what is best for it: io_uring, room allocated beforehand.
fn fio(folder: &Path, mib: u64, environment: &[(&str, &str)]) -> Result<Fio, String> {
    let output = Command::new("fio")
        .envs(environment.iter().copied())
        .args(["--name=log", "--rw=write", "--bs=1M", "--direct=1", "--ioengine=io_uring", "--iodepth=4"])
        .args(["--fallocate=native", "--end_fsync=1", "--output-format=json", &format!("--size={mib}M")])
        .arg(format!("--directory={}", folder.display()))
        .output()
        .map_err(|e| format!("fio: {e}"))?;
    let _ = std::fs::remove_file(folder.join("log.0.0"));
    let told: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("fio: {e}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let job = told.pointer("/jobs/0").ok_or("fio told no job")?;
    let write = job.get("write").ok_or("fio wrote nothing")?;
    let seconds = number(job, "job_runtime") / 1e3;
    let run = Fio {
        mib_per_second: number(write, "bw_bytes") / f64::from(1 << 20),
        cpu_seconds: (number(job, "usr_cpu") + number(job, "sys_cpu")) / 100.0 * seconds,
    };
    eprintln!("bench: fio: {:.0} MiB/s", run.mib_per_second);
    Ok(run)
}

/// One run of ours; what was written is deleted.
fn record(program: &Path, folder: &Path, mib: u64, load: &Load) -> Result<Value, String> {
    let data = folder.join("data");
    std::fs::create_dir_all(&data).map_err(|e| format!("{}: {e}", data.display()))?;
    let told =
        example::run(program, &[data.as_os_str(), mib.to_string().as_ref(), CALLS.as_ref(), load.octets.as_ref()]);
    let _ = std::fs::remove_dir_all(&data);
    let told = told?;
    eprintln!("bench: log: {told}");
    if number(&told, "lost") > 0.0 {
        return Err(format!("the log lost packets: {told}"));
    }
    Ok(told)
}

fn rates(runs: &[Value]) -> impl Iterator<Item = f64> + '_ {
    runs.iter().map(|run| number(run, "mib_per_second"))
}

/// The middle one; of an even number the lower of the two.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

fn markdown(theirs: &[Fio], large: &[Fio], ours: &[Vec<Value>], mib: u64) -> String {
    let of = |runs: &[Value], name: &str| median(runs.iter().map(|run| number(run, name)));
    let fio = median(theirs.iter().map(|run| run.mib_per_second));
    let mut out = format!(
        "\n{mib} MiB a run, fio and ours in turn {} times, the medians. fio writes blocks of 1 MiB with O_DIRECT and \
         io_uring, four at a time; ours takes packets that lie in memory through decoding, index and segments to the \
         disk, by one lane. Both until all is synchronised.\n\n",
        theirs.len()
    );
    out.push_str("| what | MiB/s | of fio's | million packets/s | CPU s per GiB |\n|---|---:|---:|---:|---:|\n");
    for (name, runs) in [("fio --rw=write --direct=1", theirs), ("the same, its memory in large pages", large)] {
        let rate = median(runs.iter().map(|run| run.mib_per_second));
        let cpu = median(runs.iter().map(|run| run.cpu_seconds)) * 1024.0 / mib as f64;
        let _ = writeln!(out, "| {name} | {rate:.0} | {:.0} % | | {cpu:.2} |", rate * 100.0 / fio.max(1.0));
    }
    for (load, runs) in LOADS.iter().zip(ours) {
        let (rate, seconds, packets) = (of(runs, "mib_per_second"), of(runs, "seconds"), of(runs, "packets"));
        let cpu = of(runs, "process_ns") * packets / 1e9 / (of(runs, "file_octets") / f64::from(1 << 30)).max(1e-9);
        let _ = writeln!(
            out,
            "| {} | {rate:.0} | {:.0} % | {:.2} | {cpu:.2} |",
            load.name,
            rate * 100.0 / fio.max(1.0),
            packets / seconds / 1e6
        );
    }
    out.push_str("\n| nanoseconds of CPU a packet | decoding | with recording and indexing, lane | all threads | index of the packets |\n");
    out.push_str("|---|---:|---:|---:|---:|\n");
    for (load, runs) in LOADS.iter().zip(ours) {
        let percent = of(runs, "index_octets") * 100.0 / of(runs, "octets").max(1.0);
        let _ = writeln!(
            out,
            "| {} ({} packets) | {:.0} | {:.0} | {:.0} | {percent:.2} % |",
            load.name,
            grouped(of(runs, "packets") as u64),
            of(runs, "decode_ns"),
            of(runs, "lane_ns"),
            of(runs, "process_ns"),
        );
    }
    budget(&mut out, fio, ours);
    out
}

fn budget(out: &mut String, fio: f64, ours: &[Vec<Value>]) {
    let verdict = |met: bool| if met { "met" } else { "**missed**" };
    let rate = ours.iter().all(|runs| median(rates(runs)) * 100.0 >= fio * BUDGET_PERCENT);
    let percent = |run: &Value| number(run, "index_octets") * 100.0 / number(run, "octets").max(1.0);
    let index = ours.iter().flatten().all(|run| percent(run) <= INDEX_PERCENT);
    let _ = writeln!(
        out,
        "\nBudget: {BUDGET_PERCENT:.0} % of fio's rate ({}), an index of at most {INDEX_PERCENT:.0} % of the packets ({}).",
        verdict(rate),
        verdict(index)
    );
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.0);
        assert_eq!(median([].into_iter()), 0.0);
    }
}
