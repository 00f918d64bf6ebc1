//! A client of Gy as a process that does what it is told, a line each way: words in, JSON out.

use super::recorder::PATIENCE;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// The process; it ends with its owner.
pub struct Driven {
    child: Child,
    told: ChildStdin,
    says: Receiver<String>,
}

impl Driven {
    /// Starts it, and waits until its connections stand.
    pub fn start(command: &mut Command) -> Driven {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the client");
        let (told, says) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
        let (line, lines) = channel();
        std::thread::spawn(move || {
            let heard = BufReader::new(says).lines().map_while(Result::ok).try_for_each(|text| line.send(text));
            // Who does not ask any more has ended it.
            drop(heard);
        });
        let mut driven = Driven { child, told, says: lines };
        let ready = driven.answer("its start");
        assert_eq!(ready["ready"], true, "{ready}");
        driven
    }

    /// What it makes of a line.
    pub fn ask(&mut self, words: &str) -> Value {
        writeln!(self.told, "{words}").expect("a client that listens");
        self.answer(words)
    }

    fn answer(&mut self, to: &str) -> Value {
        let said = self.says.recv_timeout(PATIENCE).unwrap_or_else(|why| panic!("no answer to {to}: {why}"));
        serde_json::from_str(&said).unwrap_or_else(|why| panic!("{to}: {said}: {why}"))
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
