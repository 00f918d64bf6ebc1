//! What is wrong with a configuration, and where.

use core::fmt;

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the file: its name as it was given, line and column (characters) from 1.
    File {
        /// The name.
        path: String,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// In the environment: the variable.
    Environment(String),
    /// On the command line: the option.
    CommandLine(String),
    /// Nowhere: the default of this key.
    Default(String),
}

/// `trunkline.toml:12:3`, `TRUNKLINE_LOG__LEVEL`, `--interface`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { path, line, column } => write!(f, "{path}:{line}:{column}"),
            Place::Environment(name) | Place::CommandLine(name) | Place::Default(name) => f.write_str(name),
        }
    }
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// Where.
    pub place: Place,
    /// What, and the nearest right name where a name is wrong.
    pub what: String,
}

/// `trunkline.toml:12:3: unknown key 'snpa' in [record.sip]; did you mean 'snap'?`
impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}
