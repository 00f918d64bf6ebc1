//! What the system says about this process.

use super::Thread;
use std::fs;
use std::time::Duration;

/// Threads that are looked at.
pub const THREADS_MAX: usize = 1024;

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
    fn finds_itself() {
        let name = std::thread::current().name().unwrap().chars().take(15).collect::<String>();
        assert!(threads().iter().any(|thread| thread.name == name), "{name}: {:?}", threads());
        assert!(resident() > 100_000);
    }
}
