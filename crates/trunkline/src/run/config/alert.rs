//! The section of alerts.

use std::path::PathBuf;
use std::time::Duration;

trunkline_kit::section! {
    /// Alerts: rules over series of graphs, over rows of calls, losses and charges as they come, and over the program's
    /// own metrics; people are told by webhook, mail, syslog or a command: docs/manual/alerts.md. States and messages
    /// are kept in `alert/` of the data folder.
    pub struct Alert {
        /// Whether rules are looked at.
        enabled: bool = false => Restart;
        /// Files of rules, routes and channels, and folders of which all files `*.toml` are; none is the folder
        /// `alert/rules` of the data folder. They are read again at SIGHUP, and by `trunkline alert reload`.
        rules: Vec<PathBuf> = Vec::new() => Restart;
        /// How often the program's own metrics are shown to rules, and whether devices are up.
        every: Duration = Duration::from_secs(10) => Restart,
            Duration::from_secs(1) => Duration::from_secs(300);
    }
}

trunkline_kit::section! {
    /// Which alerts that are over are remembered.
    pub struct AlertHistory {
        /// When they leave; `none` when there are too many.
        keep_age: Option<Duration> = None => Restart;
        /// How many are remembered; beyond, the oldest leaves.
        keep_entries: u32 = 2_000 => Restart, 10 => 20_000;
    }
}
