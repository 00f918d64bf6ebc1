//! What the system says about this process.

use super::Thread;
use std::fs;
use std::time::Duration;
use trunkline_kit::metrics::{Kind, Sample};

/// Threads that are looked at.
pub const THREADS_MAX: usize = 1024;
/// Open files that are counted.
pub const FILES_MAX: usize = 1 << 16;

/// The threads of this process with their processor times.
pub fn threads() -> Vec<Thread> {
    let ticks = rustix::param::clock_ticks_per_second();
    let Ok(folder) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let files = folder.take(THREADS_MAX).filter_map(Result::ok).map(|entry| entry.path().join("stat"));
    // A thread may end while it is looked at.
    let mut threads: Vec<Thread> = files.filter_map(|file| thread(&fs::read_to_string(file).ok()?, ticks)).collect();
    threads.sort_by_key(|thread| thread.id);
    threads
}

/// Memory of this process that is in use, octets; 0 if the system does not say.
pub fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    resident_of(&text, rustix::param::page_size())
}

/// What Prometheus's clients tell of any process, by the names that they give it. What the system does not say is not
/// among it: a process that has changed its user may not be allowed to count its own files.
pub fn samples() -> Vec<Sample> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (stat, system, limits) = (read("/proc/self/stat"), read("/proc/stat"), read("/proc/self/limits"));
    let whole = whole(&stat, &system, rustix::param::clock_ticks_per_second());
    let open = fs::read_dir("/proc/self/fd").ok().map(|files| files.take(FILES_MAX).count().saturating_sub(1) as f64);
    let gauge = |name, help, value: Option<f64>| value.map(|value| Sample::gauge(name, help, value));
    let seconds = whole.as_ref().map(|whole| Sample {
        kind: Kind::Counter,
        ..Sample::gauge("process_cpu_seconds_total", "processor time, user and system, seconds", whole.cpu_seconds)
    });
    let of = |how: fn(&Whole) -> f64| whole.as_ref().map(how);
    let resident = resident() as f64;
    [
        seconds,
        gauge("process_resident_memory_bytes", "memory in use, octets", Some(resident).filter(|r| *r > 0.0)),
        gauge("process_virtual_memory_bytes", "address space, octets", of(|w| w.address_space)),
        gauge("process_threads", "threads", of(|w| w.threads)),
        gauge("process_start_time_seconds", "when it began, seconds since 1970", of(|w| w.start_seconds)),
        gauge("process_open_fds", "files open", open),
        gauge("process_max_fds", "files that may be open", files_max(&limits)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The process as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Whole {
    cpu_seconds: f64,
    threads: f64,
    start_seconds: f64,
    address_space: f64,
}

/// Of its own `stat` (proc_pid_stat(5): fields 14, 15, 20, 22 and 23) and the system's, which says when that began.
fn whole(stat: &str, system: &str, ticks: u64) -> Option<Whole> {
    let rest = stat.get(stat.rfind(')')?.checked_add(1)?..)?;
    let fields: Vec<f64> = rest.split_whitespace().skip(1).map(|field| field.parse().unwrap_or_default()).collect();
    // The first of these is field 4.
    let field = |number: usize| fields.get(number - 4).copied();
    let ticks = Some(ticks as f64).filter(|ticks| *ticks > 0.0)?;
    let began: f64 = system.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(Whole {
        cpu_seconds: (field(14)? + field(15)?) / ticks,
        threads: field(20)?,
        start_seconds: began + field(22)? / ticks,
        address_space: field(23)?,
    })
}

/// A line of `limits` (proc_pid_limits(5)): the soft one; none if there is no limit.
fn files_max(limits: &str) -> Option<f64> {
    limits.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_whitespace().next()?.parse().ok()
}

/// A line of `stat` (proc_pid_stat(5)): the name stands in parentheses and may hold some itself.
fn thread(text: &str, ticks: u64) -> Option<Thread> {
    let (head, rest) = text.split_at_checked(text.rfind(')')?)?;
    let (id, name) = head.split_once(" (")?;
    let mut fields = rest.split_whitespace().skip(12).map(str::parse::<u64>);
    let (user, system) = (fields.next()?.ok()?, fields.next()?.ok()?);
    let ms = u128::from(user).checked_add(u128::from(system))?.checked_mul(1000)?.checked_div(u128::from(ticks))?;
    let cpu = Duration::from_millis(u64::try_from(ms).ok()?);
    Some(Thread { id: id.trim().parse().ok()?, name: name.to_owned(), cpu })
}

/// The second field of `statm` counts pages.
fn resident_of(text: &str, page: usize) -> u64 {
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default().saturating_mul(u64::try_from(page).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        let text = "4242 (a) b (c)) R 1 4242 4242 0 -1 4194304 100 0 0 0 150 25 0 0 20 0 1 0 5 1 2 3\n";
        let cpu = Duration::from_millis(1750);
        assert_eq!(thread(text, 100), Some(Thread { id: 4242, name: "a) b (c)".to_owned(), cpu }));
        for broken in
            ["", "1 (x", "1 (x) R", "x (y) R 1 2 3 4 5 6 7 8 9 10 11 12 13", "1 (x) R 0 0 0 0 0 0 0 0 0 0 - 2"]
        {
            assert_eq!(thread(broken, 100), None);
        }
        assert_eq!((resident_of("100 25 3", 4096), resident_of("", 4096)), (102_400, 0));
    }

    #[test]
    fn reads_the_process_as_a_whole() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 25 0 0 20 0 9 0 3000 123456 25 18446744073709551615\n";
        let system = "cpu  1 2 3\nbtime 1795000000\nprocesses 9\n";
        let expected =
            Whole { cpu_seconds: 1.75, threads: 9.0, start_seconds: 1_795_000_030.0, address_space: 123_456.0 };
        assert_eq!(whole(stat, system, 100), Some(expected));
        for (stat, system) in [("", system), ("7 (a) S 1 2", system), (stat, ""), (stat, "btime x")] {
            assert_eq!(whole(stat, system, 100), None);
        }
        let limits = "Limit   Soft Limit  Hard Limit  Units\nMax open files            1024     524288     files\n";
        assert_eq!((files_max(limits), files_max("Max open files unlimited unlimited")), (Some(1024.0), None));
    }

    #[test]
    fn tells_of_itself_by_the_names_that_all_use() {
        let samples = samples();
        let value = |name: &str| match samples.iter().find(|s| s.name == name).unwrap().value {
            trunkline_kit::metrics::Number::Real(value) => value,
            trunkline_kit::metrics::Number::Whole(value) => value as f64,
        };
        assert!(value("process_threads") >= 1.0 && value("process_open_fds") >= 3.0);
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        let begun = value("process_start_time_seconds");
        assert!(begun <= now + 2.0 && begun > now - 86_400.0, "{begun} is not before {now}");
        assert_eq!(samples.len(), 7);
    }

    #[test]
    fn finds_itself() {
        let name = std::thread::current().name().unwrap().chars().take(15).collect::<String>();
        assert!(threads().iter().any(|thread| thread.name == name), "{name}: {:?}", threads());
        assert!(resident() > 100_000);
    }
}
