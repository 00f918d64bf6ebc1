//! Servers of NATS for tests: one, or a cluster of three, on ports of the loopback that are free.
#![allow(dead_code, reason = "each test takes what it needs")]

use crate::eventually::awaited;
use crate::ports::free_port;
use serde_json::Value;
use std::io::{Read, Write};
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
    /// Of its monitoring.
    monitor: u16,
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
        let monitor = free_port();
        let listens = format!("listen: \"127.0.0.1:{port}\"\nhttp: \"127.0.0.1:{monitor}\"\n");
        std::fs::write(&config, listens + text).expect("a file");
        let mut nats = Nats { child: None, config, port, monitor };
        nats.again();
        nats
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Waits until each server of a cluster has what the others have of the one stream, and its leader knows that.
    pub fn until_whole(cluster: &[Nats]) {
        awaited("the cluster is whole", || {
            let seen: Vec<Value> = cluster.iter().map(Nats::stream).collect();
            let led = |stream: &&Value| stream["cluster"]["leader"] == stream["of"];
            let current = |replica: &Value| replica["current"] == true && replica["offline"] != true;
            let follow = |stream: &Value| {
                let replicas = stream["cluster"]["replicas"].as_array();
                replicas.is_some_and(|all| all.len() == cluster.len() - 1 && all.iter().all(current))
            };
            let alike = seen.iter().all(|stream| stream["state"]["last_seq"] == seen[0]["state"]["last_seq"]);
            let whole = alike && seen.iter().filter(led).count() == 1 && seen.iter().filter(led).all(follow);
            if whole { Ok(()) } else { Err(seen) }
        });
    }

    /// The one stream as the server's monitoring (`/jsz`) has it, and in `of` the server's name.
    fn stream(&self) -> Value {
        let asks = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.monitor))?;
            stream.write_all(b"GET /jsz?streams=true HTTP/1.0\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        };
        let answer = asks().unwrap_or_default();
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let all: Value = serde_json::from_str(body).unwrap_or_default();
        let mut stream = all["account_details"][0]["stream_detail"][0].clone();
        if stream.is_object() {
            let folder = self.config.parent().and_then(Path::file_name);
            stream["of"] = folder.and_then(std::ffi::OsStr::to_str).unwrap_or_default().into();
        }
        stream
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
