//! Whether the clock that stamps packets follows a reference (adjtimex(2)).
#![expect(unsafe_code, reason = "calls the C library")]

/// What the kernel says of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synchronisation {
    /// Whether something keeps it right: NTP or PTP.
    pub is_kept: bool,
    /// How far off it may be, microseconds.
    pub error_us_max: u64,
}

/// Asks; none if it may not be asked. Needs no capability.
pub fn synchronisation() -> Option<Synchronisation> {
    // SAFETY: a struct of whole numbers; with `modes` 0 nothing is set.
    let mut timex: libc::timex = unsafe { core::mem::zeroed() };
    // SAFETY: the struct lives through the call.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    let is_kept = state != libc::TIME_ERROR && timex.status & libc::STA_UNSYNC == 0;
    #[allow(clippy::unnecessary_fallible_conversions, reason = "32 bits on some machines")]
    let error_us_max = u64::try_from(timex.maxerror).unwrap_or(0);
    (state >= 0).then_some(Synchronisation { is_kept, error_us_max })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernel_answers() {
        // In a sandbox the call may be forbidden.
        println!("{:?}", super::synchronisation());
    }
}
