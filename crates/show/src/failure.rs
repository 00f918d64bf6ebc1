//! Why a command ended without doing what it was asked to.

use std::io;
use trunkline_kit::exit::Exit;

/// A failure, told apart by what the program does about it.
#[derive(Debug)]
pub enum Failure {
    /// The command line was wrong: the text says where. Exit code 2.
    Usage(String),
    /// It could not be done: what, where, what to do. Exit code 1.
    Failed(String),
    /// What is on disk is damaged: what can be said was said, and of the rest from where to where nothing can. Exit
    /// code 3.
    Damaged(String),
    /// Nobody reads the output any more (`| head`): the end, and nothing to say about it.
    NobodyReads,
}

impl Failure {
    /// Tells the person at standard error, and gives the exit code.
    pub fn tell(&self) -> Exit {
        match self {
            Failure::Usage(text) => say(text, Exit::Usage),
            Failure::Failed(text) => say(text, Exit::Failed),
            Failure::Damaged(text) => say(text, Exit::Degraded),
            Failure::NobodyReads => Exit::Done,
        }
    }
}

fn say(text: &str, exit: Exit) -> Exit {
    use io::Write;
    // Texts quote file names and captures: lines are kept, anything else that could drive the terminal is not.
    let lines: Vec<_> = text.lines().map(|line| crate::text::clean(line, false)).collect();
    let _ = writeln!(io::stderr(), "trunkline: {}", lines.join("\n"));
    exit
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::NobodyReads,
            _ => Failure::Failed(format!("cannot write to standard output: {error}")),
        }
    }
}
