//! The simulated devices that the program serves are read by net-snmp's own programs.

use crate::eventually::eventually;
use crate::ports::free_port;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Child, Command, Stdio};

fn farm(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(["graph", "farm"]).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn get(device: u8, port: u16, name: &str) -> Option<String> {
    let address = format!("127.64.0.{}:{port}", device + 1);
    let run = Command::new("snmpget")
        .args(["-v", "2c", "-c", "public", "-t", "0.3", "-r", "2", "-Oqv", &address, name])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout).trim().trim_matches('"').to_owned();
    run.status.success().then_some(text)
}

fn end(child: Child) -> (Option<i32>, String) {
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn devices_answer_on_their_own_addresses_until_it_ends() {
    if Command::new("snmpget").arg("-V").output().is_err() {
        eprintln!("SKIPPED: snmp is not installed");
        return;
    }
    let port = free_port();
    let child = farm(&["--devices", "40", "--interfaces", "3", "--json", "--port", &port.to_string()]).spawn().unwrap();
    eventually("it answers", || get(0, port, ".1.3.6.1.2.1.1.5.0").is_some());
    assert_eq!(get(0, port, ".1.3.6.1.2.1.1.5.0").as_deref(), Some("core-0.farm.example"));
    assert_eq!(get(1, port, ".1.3.6.1.2.1.1.5.0").as_deref(), Some("dist-1.farm.example"));
    assert_eq!(get(1, port, ".1.3.6.1.2.1.2.1.0").as_deref(), Some("3"));
    // A counter goes on from question to question; a device that is dead says nothing.
    let counted = || get(1, port, ".1.3.6.1.2.1.31.1.1.1.6.1").unwrap().parse::<u64>().unwrap();
    let first = counted();
    let goes_on = std::iter::repeat_with(counted).take(200).any(|count| count > first);
    assert!(goes_on);
    assert_eq!(get(20, port, ".1.3.6.1.2.1.1.5.0"), None);
    let (code, told) = end(child);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(code, Some(0));
    assert!(told["questions"].as_u64() > told["answers"].as_u64() && told["answers"].as_u64() > Some(5), "{told}");
}

#[test]
fn what_is_wrong_is_told() {
    let port = free_port();
    let taken = UdpSocket::bind((Ipv4Addr::new(127, 64, 0, 2), port)).unwrap();
    let run = farm(&["--devices", "2", "--port", &port.to_string()]).output().unwrap();
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(1));
    assert!(told.contains(&format!("device 1, {}", taken.local_addr().unwrap())), "{told}");
    for wrong in [["--devices", "0"], ["--interfaces", "0"], ["--dead-permille", "1001"]] {
        assert_eq!(farm(&wrong).output().unwrap().status.code(), Some(2), "{wrong:?}");
    }
}
