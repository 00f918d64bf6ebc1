//! Servers of NATS for tests: one, or a cluster of three, on ports of the loopback that are free.
#![allow(dead_code, reason = "each test takes what it needs")]

use crate::eventually::awaited;
use crate::ports::free_port;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PROGRAM: &str = "nats-server";

/// Whether there is one; a test that lacks it says so and is through.
pub fn is_there() -> bool {
    let there = Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !there {
        eprintln!("SKIPPED: no {PROGRAM} (scripts/setup test)");
    }
    there
}

/// A server.
pub struct Nats {
    child: Option<Child>,
    config: PathBuf,
    pub port: u16,
}

impl Nats {
    /// One server that keeps what it has in a folder.
    pub fn start(folder: &Path) -> Nats {
        let port = free_port();
        let text = format!("jetstream {{ store_dir: \"{}\" }}\n", folder.join("js").display());
        Nats::of(folder, port, &text)
    }

    /// Three servers of one cluster.
    pub fn cluster(folder: &Path) -> Vec<Nats> {
        let routes: Vec<u16> = (0..3).map(|_| free_port()).collect();
        let all: Vec<String> = routes.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        let server = |(at, route): (usize, &u16)| {
            let folder = folder.join(format!("server-{at}"));
            std::fs::create_dir_all(&folder).expect("a folder");
            let text = format!(
                "server_name: server-{at}\njetstream {{ store_dir: \"{}\" }}\n\
                 cluster {{ name: tests, listen: \"127.0.0.1:{route}\", routes: [{}] }}\n",
                folder.join("js").display(),
                all.join(", ")
            );
            Nats::of(&folder, free_port(), &text)
        };
        routes.iter().enumerate().map(server).collect()
    }

    fn of(folder: &Path, port: u16, text: &str) -> Nats {
        let config = folder.join("nats.conf");
        std::fs::write(&config, format!("listen: \"127.0.0.1:{port}\"\n{text}")).expect("a file");
        let mut nats = Nats { child: None, config, port };
        nats.again();
        nats
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("killed");
            child.wait().expect("its end");
        }
    }

    /// Starts it again at its place.
    pub fn again(&mut self) {
        let mut command = Command::new(PROGRAM);
        command.arg("-c").arg(&self.config).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn().expect("the server"));
        awaited("it listens", || TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}
