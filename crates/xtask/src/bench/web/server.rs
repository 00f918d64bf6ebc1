//! The servers that are measured: ours over a store, and nginx over a file.

use super::super::{Bench, need};
use super::http::{self, Answer};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// How long a server may take to listen, in steps of 50 ms.
const STEPS_MAX: u32 = 200;
/// Where the API is.
const API: &str = "/api/v1";
/// Kernel ticks of a second, as /proc tells CPU time.
const TICKS: f64 = 100.0;

/// `trunkline web` in a data folder of its own, over a store that lies elsewhere.
pub struct Server {
    child: Child,
    address: SocketAddr,
    link: String,
}

impl Server {
    /// Starts it, and waits until it listens.
    ///
    /// # Errors
    /// It does not.
    pub fn start(bench: &Bench<'_>, store: &Path) -> Result<Self, String> {
        let data = bench.folder.join("data");
        std::fs::create_dir_all(&data).map_err(|e| format!("{}: {e}", data.display()))?;
        let store = store.canonicalize().map_err(|e| format!("{}: {e}", store.display()))?;
        std::os::unix::fs::symlink(store, data.join("store")).map_err(|e| format!("the store: {e}"))?;
        Server::over(bench, &data)
    }

    /// Starts it over a data folder that is there.
    ///
    /// # Errors
    /// It does not listen.
    pub fn over(bench: &Bench<'_>, data: &Path) -> Result<Self, String> {
        let mut add = Command::new(&bench.program);
        let add = add.args(["user", "add", "bench", "--role", "administrator", "--data"]).arg(data).output();
        let add = add.map_err(|e| format!("{}: {e}", bench.program.display()))?;
        let told = String::from_utf8_lossy(&add.stdout).into_owned() + &String::from_utf8_lossy(&add.stderr);
        let link = told.split_once("/link#").and_then(|(_, rest)| rest.split_whitespace().next());
        let link = link.ok_or_else(|| format!("no link: {told}"))?.to_owned();
        let address = free()?;
        let mut web = Command::new(&bench.program);
        web.args(["web", "--listen", &address.to_string(), "--data"]).arg(data);
        let child = web.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|e| format!("{}: {e}", bench.program.display()))?;
        let server = Server { child, address, link };
        wait(address)?;
        Ok(server)
    }

    /// Where it is.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What comes before the paths of its API.
    pub fn base(&self) -> String {
        self.origin() + API
    }

    /// Signs in: the session's cookie, and a token with these rights.
    ///
    /// # Errors
    /// It is refused.
    pub fn sign_in(&self, scopes: &[&str]) -> Result<(String, String), String> {
        let ask = json!({"token": self.link, "name": "bench", "password": "correct horse battery"}).to_string();
        let answer = http::ask(self.address, &format!("POST {API}/session/setup"), &[], &ask)?;
        let cookie = answer.cookie().ok_or("no session")?.to_owned();
        let session: Value = serde_json::from_str(&answer.body).map_err(|e| e.to_string())?;
        let fields = [("Cookie", cookie.as_str()), ("X-CSRF-Token", session["csrf"].as_str().unwrap_or_default())];
        let ask = json!({"name": "bench", "scopes": scopes}).to_string();
        let made = http::ask(self.address, &format!("POST {API}/tokens"), &fields, &ask)?;
        let made: Value = serde_json::from_str(&made.body).map_err(|e| e.to_string())?;
        Ok((cookie, made["secret"].as_str().ok_or("no token")?.to_owned()))
    }

    /// Asks once.
    ///
    /// # Errors
    /// It is refused.
    pub fn get(&self, token: &str, path: &str) -> Result<Answer, String> {
        let bearer = format!("Bearer {token}");
        http::ask(self.address, &format!("GET {API}{path}"), &[("Authorization", &bearer)], "")
    }

    /// Asks once, for JSON.
    ///
    /// # Errors
    /// It is refused, or something else.
    pub fn json(&self, token: &str, path: &str) -> Result<Value, String> {
        serde_json::from_str(&self.get(token, path)?.body).map_err(|e| format!("{path}: {e}"))
    }

    /// CPU time since it began, seconds.
    pub fn cpu_seconds(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        cpu_seconds(&text)
    }

    /// Its highest resident memory, KiB.
    pub fn memory_kib(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// nginx, serving one file.
pub struct Peer {
    child: Child,
    address: SocketAddr,
}

impl Peer {
    /// Starts it in a folder of its own.
    ///
    /// # Errors
    /// It does not listen.
    pub fn start(program: &str, folder: &Path, text: &str) -> Result<Self, String> {
        let failed = |e: std::io::Error| format!("nginx: {e}");
        std::fs::create_dir_all(folder).map_err(failed)?;
        std::fs::write(folder.join("calls.json"), text).map_err(failed)?;
        let (address, place) = (free()?, folder.canonicalize().map_err(failed)?);
        let place = place.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("  {kind}_temp_path {place}/{kind};\n"))
            .concat();
        let configuration = format!(
            "daemon off;\nuser root;\nworker_processes auto;\npid {place}/pid;\nerror_log /dev/null;\n\
             events {{}}\nhttp {{\n  access_log off;\n  keepalive_requests 100000000;\n  sendfile on;\n{temporary}  \
             server {{\n    listen {address};\n    root {place};\n  }}\n}}\n"
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, configuration).map_err(failed)?;
        let file = file.canonicalize().map_err(failed)?;
        let child = Command::new(program).arg("-c").arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let peer = Peer { child: child.map_err(failed)?, address };
        wait(address)?;
        Ok(peer)
    }

    /// What comes before its paths.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Asks a process to end, and waits for it.
fn end(child: &mut Child) {
    let asked = Command::new("kill").arg(child.id().to_string()).status();
    if !asked.is_ok_and(|status| status.success()) {
        let _ = child.kill();
    }
    let _ = child.wait();
}

fn free() -> Result<SocketAddr, String> {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
    socket.map_err(|e| format!("no port: {e}"))
}

fn wait(address: SocketAddr) -> Result<(), String> {
    for _ in 0..STEPS_MAX {
        if TcpStream::connect(address).is_ok() {
            return Ok(());
        }
        need::pause(50);
    }
    Err(format!("nobody listens on {address}"))
}

/// User and system time of /proc/PID/stat.
pub fn cpu_seconds(text: &str) -> f64 {
    let behind_name = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    behind_name.split(' ').skip(11).take(2).filter_map(|word| word.parse::<f64>().ok()).sum::<f64>() / TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_the_fourteenth_and_fifteenth_word() {
        let text = "71 (a) b) S 1 71 71 0 -1 4194560 1000 0 3 0 250 50 0 0 20 0 9 0 100 1 2 3";
        assert_eq!(cpu_seconds(text), 3.0);
        assert_eq!(cpu_seconds(""), 0.0);
    }
}
