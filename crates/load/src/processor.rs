//! The processor time of a process (proc(5), /proc/PID/stat).

use std::time::Duration;

/// User and system time so far.
///
/// # Errors
/// There is no such process, told for a person.
pub fn time_of(pid: u32) -> Result<Duration, String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|e| format!("--pid {pid}: {e}"))?;
    let ticks = ticks(&text).ok_or_else(|| format!("--pid {pid}: /proc says nothing of its time"))?;
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// Fields 14 and 15. The name before them stands in parentheses and may hold anything.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    user.checked_add(system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_after_a_strange_name() {
        assert_eq!(ticks("12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20"), Some(300));
        assert_eq!(ticks("12 (a) S 1"), None);
        assert!(time_of(std::process::id()).is_ok() && time_of(u32::MAX).is_err());
    }
}
