//! What the kernel says of itself and of this process.

use crate::doctor::facts::{Capabilities, Machine};
use rustix::process::{Resource, getrlimit};
use rustix::thread::CapabilitySet;
use std::fs;
use std::path::PathBuf;
use trunkline_capture::filter;
use trunkline_capture::live::clock;
use trunkline_graph::job::EchoSockets;

/// Asks about everything.
pub fn machine() -> Machine {
    Machine {
        kernel: line("/proc/sys/kernel/osrelease").unwrap_or_default(),
        program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("trunkline")),
        capabilities: capabilities(),
        packet_sockets: has_protocol("PACKET"),
        xdp_sockets: has_protocol("XDP"),
        io_uring: Some(io_uring::IoUring::new(2).map(drop).map_err(|e| e.to_string())),
        echo: Some(EchoSockets::open().rights().map(|right| right.map(drop).map_err(str::to_owned))),
        filters_compiled: line("/proc/sys/net/core/bpf_jit_enable").map(|text| text != "0"),
        libpcap: Some(filter::library()),
        memory_available: memory_available(),
        locked_max: getrlimit(Resource::Memlock).current,
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        clock: clock::synchronisation(),
        clock_source: clock_source(),
    }
}

/// The first line of a file, if it can be read.
pub fn line(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.lines().next().unwrap_or_default().trim().to_owned())
}

fn capabilities() -> Capabilities {
    let Ok(sets) = rustix::thread::capabilities(None) else { return Capabilities::default() };
    let has = |set: CapabilitySet| sets.effective.contains(set);
    let admin = has(CapabilitySet::SYS_ADMIN);
    Capabilities {
        net_raw: has(CapabilitySet::NET_RAW),
        net_admin: has(CapabilitySet::NET_ADMIN),
        ipc_lock: has(CapabilitySet::IPC_LOCK),
        bpf: has(CapabilitySet::BPF) || admin,
        perfmon: has(CapabilitySet::PERFMON) || admin,
    }
}

/// Whether the kernel knows this family of sockets.
fn has_protocol(name: &str) -> Option<bool> {
    let text = fs::read_to_string("/proc/net/protocols").ok()?;
    Some(text.lines().any(|line| line.split_whitespace().next() == Some(name)))
}

/// What is available to all, or what the control group of this process leaves, if that is less.
fn memory_available() -> Option<u64> {
    let all = available_of(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = group_path(&group).and_then(|path| {
        let number = |file: &str| line(&format!("/sys/fs/cgroup{path}/{file}"))?.parse::<u64>().ok();
        Some(number("memory.max")?.saturating_sub(number("memory.current")?))
    });
    Some(limit.map_or(all, |limit| limit.min(all)))
}

/// `MemAvailable:   21934 kB` in octets.
fn available_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The path in the one hierarchy of version 2: `0::/system.slice/trunkline.service`.
fn group_path(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("0::")).map(|path| path.trim_end_matches('/'))
}

fn clock_source() -> Option<(String, Vec<String>)> {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let available = line(&format!("{folder}/available_clocksource")).unwrap_or_default();
    let current = line(&format!("{folder}/current_clocksource"))?;
    Some((current, available.split_whitespace().map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        assert_eq!(available_of("MemTotal: 5 kB\nMemAvailable:   21934 kB\n"), Some(21934 * 1024));
        assert_eq!(available_of("MemTotal: 5 kB\n"), None);
        assert_eq!(group_path("1:name=systemd:/x\n0::/system.slice/a.service\n"), Some("/system.slice/a.service"));
        assert_eq!(group_path("0::/\n"), Some(""));
    }

    #[test]
    fn this_machine_has_a_kernel() {
        let machine = machine();
        assert!(!machine.kernel.is_empty() && machine.processors > 0, "{machine:?}");
        assert!(machine.memory_available.is_some_and(|octets| octets > 1 << 20), "{machine:?}");
    }
}
