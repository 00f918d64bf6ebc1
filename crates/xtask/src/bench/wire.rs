//! A wire of our own: two interfaces at the ends of a veth pair, in a network namespace of its own.

use super::example::last_json;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The end that is sent to.
pub const OUT: &str = "out";
/// The end that is captured at.
pub const IN: &str = "in";
/// The processor that the sender stays on; lanes take the last ones.
const SENDER: &str = "0";

/// The wire; it is taken away when this is dropped.
pub struct Wire {
    name: String,
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

/// What a sender put onto the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sent {
    /// Frames that the interface took.
    pub packets: u64,
    /// Octets of these.
    pub octets: u64,
    /// How long it took.
    pub seconds: f64,
}

impl Sent {
    /// Frames a second.
    pub fn rate(&self) -> f64 {
        self.packets as f64 / self.seconds.max(1e-9)
    }

    /// Bits of frames a second.
    pub fn bits(&self) -> f64 {
        self.octets as f64 * 8.0 / self.seconds.max(1e-9)
    }
}

impl Wire {
    /// Lays it.
    ///
    /// # Errors
    /// There are no network namespaces or veth pairs here, or the right to make them is missing.
    pub fn lay() -> Result<Wire, String> {
        let name = format!("trunkline-bench-{}", std::process::id());
        ip(&["netns", "add", &name])?;
        let wire = Wire { name };
        // Else the kernel sends packets of its own.
        let quiet = ["sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"];
        wire.within(&quiet).status().map_err(|e| e.to_string())?;
        ip(&["-n", &wire.name, "link", "add", OUT, "type", "veth", "peer", "name", IN])?;
        for end in [OUT, IN] {
            ip(&["-n", &wire.name, "link", "set", end, "up"])?;
        }
        Ok(wire)
    }

    /// A command that runs in the namespace; `ip netns exec` becomes it.
    pub fn within(&self, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).args(words);
        command
    }

    /// The command that puts a capture onto the wire, at a pace as `trunkline replay` takes it.
    pub fn sender(&self, program: &Path, file: &Path, pace: &str) -> Command {
        let mut command = self.within(&["taskset", "-c", SENDER]);
        command.arg(program).arg("replay").arg(file).args(["-i", OUT, "--json", "--pace", pace]);
        command
    }

    /// Puts a capture onto the wire.
    ///
    /// # Errors
    /// It cannot be sent.
    pub fn send(&self, program: &Path, file: &Path, pace: &str) -> Result<Sent, String> {
        let output = self.sender(program, file, pace).output().map_err(|e| format!("ip: {e}"))?;
        sent(&output.stdout)
            .ok_or_else(|| format!("trunkline replay: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }

    /// Frames that the pair itself dropped since it was laid, at either end: they came to nobody who captures.
    pub fn dropped(&self) -> u64 {
        let output = Command::new("ip").args(["-n", &self.name, "-s", "-j", "link", "show"]).output();
        let links: Value = output.ok().and_then(|o| serde_json::from_slice(&o.stdout).ok()).unwrap_or_default();
        let count = |link: &Value, way: &str| link["stats64"][way]["dropped"].as_u64().unwrap_or(0);
        let of = |name: &str, way: &str| {
            links.as_array().into_iter().flatten().filter(|l| l["ifname"] == name).map(|l| count(l, way)).sum::<u64>()
        };
        of(OUT, "tx") + of(IN, "rx")
    }
}

/// What `trunkline replay --json` says.
pub fn sent(output: &[u8]) -> Option<Sent> {
    let told = last_json(output)?;
    let count = |name: &str| told.get(name).and_then(Value::as_u64);
    Some(Sent { packets: count("packets")?, octets: count("octets")?, seconds: told.get("seconds")?.as_f64()? })
}

fn ip(words: &[&str]) -> Result<(), String> {
    let done = Command::new("ip").args(words).output().map_err(|e| format!("ip: {e}"))?;
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()) }
}
