//! Exit codes of the program (DESIGN section 4).

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All was done.
    Done = 0,
    /// It could not be done.
    Failed = 1,
    /// The command line was wrong.
    Usage = 2,
    /// It was done, but something was lost or is unhealthy.
    Degraded = 3,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}
