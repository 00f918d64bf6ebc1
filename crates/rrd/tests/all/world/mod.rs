//! The oracle: one `rrdtool -` process, asked over a pipe.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub struct Rrdtool {
    child: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Rrdtool {
    /// In a folder; none, and said aloud, where rrdtool is not installed.
    pub fn start(folder: &Path) -> Option<Rrdtool> {
        Rrdtool::start_in(folder, "UTC")
    }

    /// The same, elsewhere.
    pub fn start_in(folder: &Path, zone: &str) -> Option<Rrdtool> {
        let child = Command::new("rrdtool")
            .arg("-")
            .current_dir(folder)
            .env("TZ", zone)
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => {
                eprintln!("SKIPPED: rrdtool: {error}; scripts/setup test installs it");
                return None;
            }
        };
        let ask = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Some(Rrdtool { child, ask, answers })
    }

    /// What it answers: the lines before OK, or what stands behind ERROR.
    pub fn ask(&mut self, command: &str) -> Result<String, String> {
        assert!(!command.contains('\n'), "one line a command: {command}");
        let ask = self.ask.as_mut().unwrap();
        writeln!(ask, "{command}").unwrap();
        ask.flush().unwrap();
        let (mut answer, mut line) = (String::new(), String::new());
        loop {
            line.clear();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "rrdtool ended at: {command}");
            if line.starts_with("OK u:") {
                return Ok(answer);
            }
            if let Some(error) = line.strip_prefix("ERROR: ") {
                if error.starts_with("SANITY CHECK") {
                    // This one ends its line twice.
                    let mut empty = String::new();
                    self.answers.read_line(&mut empty).unwrap();
                    assert_eq!(empty.trim(), "");
                }
                return Err(error.trim_end().to_owned());
            }
            answer.push_str(&line);
        }
    }
}

impl Drop for Rrdtool {
    fn drop(&mut self) {
        self.ask = None;
        let _ = self.child.wait();
    }
}
