//! The program where libpcap is not installed: in a root of its own, which has the program and what it is linked to.
//!
//! Skipped, with the reason printed, where the process may not change its root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline");
/// What is said of an expression that libpcap would have to compile.
const SAID: &str = "the packet filter needs libpcap, which is not installed: apt-get install libpcap0.8 \
    (libpcap0.8t64 on Debian 13 and Ubuntu 24.04)\n";
/// An expression that libpcap has to compile, and one that trunkline answers by itself.
const COMPILED: &str = "udp[8:4] > 0";
const PLAIN: &str = "udp port 5060";
/// What changes the root directory: as root, and as somebody else.
const WAYS: [&[&str]; 2] = [&["chroot"], &["unshare", "--map-root-user", "chroot"]];

/// A folder to be the root directory of the program.
struct Root {
    folder: TempDir,
    /// What changes the root directory: one of [`WAYS`].
    by: &'static [&'static str],
}

impl Root {
    /// Without libpcap; none, and the reason is printed, where the root cannot be changed.
    fn without_libpcap() -> Option<Root> {
        // Beside the program, so that it can be linked instead of copied.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let program = folder.path().join("trunkline");
        fs::hard_link(PROGRAM, &program).or_else(|_| fs::copy(PROGRAM, &program).map(drop)).unwrap();
        for file in linked() {
            let copy = folder.path().join(file.strip_prefix("/").unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(&file, &copy).unwrap();
        }
        let mut root = Root { folder, by: &[] };
        for by in WAYS {
            root.by = by;
            match root.command(&["--version"]).output() {
                // 125: the root was not changed.
                Ok(output) if output.status.code() == Some(125) || said(&output).contains("unshare failed") => {}
                Ok(_) => return Some(root),
                Err(why) => println!("{}: {why}", by[0]),
            }
        }
        println!("SKIPPED: the root directory cannot be changed");
        None
    }

    fn command(&self, args: &[&str]) -> Command {
        let [by, options @ ..] = self.by else { unreachable!("nothing changes the root") };
        let mut command = Command::new(by);
        command.args(options).arg(self.folder.path()).arg("/trunkline").args(args).stdin(Stdio::null());
        let mut path = std::env::var_os("PATH").unwrap_or_default();
        path.push(":/usr/sbin:/sbin");
        command.env_clear().env("PATH", path).env("TZ", "UTC").env("COLUMNS", "100");
        command
    }

    fn run(&self, args: &[&str], code: i32) -> Output {
        let output = self.command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", said(&output));
        output
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Files of the libraries that the program is linked to, and of its loader.
fn linked() -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(PROGRAM).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_program_is_not_linked_to_libpcap() {
    let files = linked();
    let has = |name: &str| files.iter().any(|file| file.to_string_lossy().contains(name));
    assert!(has("libc.so") && !has("pcap"), "{files:?}");
}

#[test]
fn a_filter_fails_with_one_sentence_and_all_else_works() {
    let Some(root) = Root::without_libpcap() else { return };
    root.run(&["--version"], 0);
    root.run(&["sim", "--calls", "5", "--seed", "3", "-w", "world.pcap"], 0);
    root.run(&["read", "world.pcap", "--data", "data"], 0);
    root.run(&["extract", "-r", "world.pcap", "-w", "plain.pcap", PLAIN], 0);
    assert!(root.path("plain.pcap").metadata().unwrap().len() > 100);
    for expression in [COMPILED, &format!("inner {PLAIN} and {COMPILED}")] {
        let output = root.run(&["extract", "-r", "world.pcap", "-w", "compiled.pcap", expression], 1);
        assert_eq!((said(&output), output.stdout), (format!("trunkline: {SAID}"), Vec::new()));
        assert!(!root.path("compiled.pcap").exists());
    }
    // As Wireshark asks whether a filter is right: what is wrong with it stands at standard output.
    let asked = ["extcap", "--extcap-interface", "trunkline-live", "--extcap-capture-filter", COMPILED];
    assert_eq!(String::from_utf8_lossy(&root.run(&asked, 0).stdout), SAID);
    // Where libpcap is installed the same works.
    let mut command = Command::new(PROGRAM);
    command.args(["extract", "-r", "world.pcap", "-w", "compiled.pcap", COMPILED]).current_dir(root.folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(root.path("compiled.pcap").metadata().unwrap().len() > 100);
}

#[test]
fn packets_that_libpcap_would_have_to_test_are_left_out_with_the_reason() {
    let Some(root) = Root::without_libpcap() else { return };
    root.run(&["sim", "--calls", "5", "--seed", "3", "-w", "world.pcap"], 0);
    // Of another link type: 802.11, where even plain words are libpcap's.
    let mut octets = fs::read(root.path("world.pcap")).unwrap();
    octets[20..24].copy_from_slice(&105u32.to_le_bytes());
    fs::write(root.path("wireless.pcap"), octets).unwrap();
    let output = root.run(&["extract", "-r", "wireless.pcap", "-w", "plain.pcap", PLAIN], 3);
    assert!(said(&output).contains(&format!("packets of link type 105 were left out: {SAID}")), "{}", said(&output));
}

#[test]
fn doctor_tells_it() {
    let Some(root) = Root::without_libpcap() else { return };
    let found = |args: &[&str]| -> serde_json::Value {
        let all = [&["doctor", "--seconds", "1", "--no-disk", "--json"][..], args].concat();
        let output = root.command(&all).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut findings = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        findings.find(|finding| finding["check"] == "libpcap").unwrap_or_else(|| unreachable!("{text} {output:?}"))
    };
    let finding = found(&[]);
    assert_eq!(finding["state"], "warn");
    assert_eq!(finding["fix"], "sudo apt-get install libpcap0.8");
    assert_eq!(finding["seen"], "filters do not work: libpcap is not installed");
    fs::write(root.path("filtered.toml"), "[capture]\nfilter = \"udp\"\n").unwrap();
    assert_eq!(found(&["-c", "filtered.toml"])["state"], "bad");
    // What it warns of.
    if Path::new("/sys/class/net/lo").exists() {
        let output = root.run(&["run", "-c", "filtered.toml", "-i", "lo", "--data", "data"], 1);
        assert!(said(&output).contains(SAID.trim_end()), "{}", said(&output));
    }
}
