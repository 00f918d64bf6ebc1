//! Clients that people use, as Debian packages them, do what their users do: against our cache and against memcached,
//! with the same results (`tests/clients`). Of Debian 12 are Python's, PHP's, Perl's, Ruby's, Go's and Java's.
//!
//! Test group: waits: for clients in other languages.

use crate::memcached;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server that ends with the test.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn ours() -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
        command.args(["cache", "-l", "127.0.0.1", "-p", "-1", "-t", "2", "-m", "64"]);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|l| l.strip_prefix("trunkline cache: TCP ").map(str::to_owned));
        // Goes on reading, so that the server never waits for a full pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Server { child, address: said.expect("the server says where it listens") }
    }

    fn memcached() -> Server {
        let (child, address) = memcached::start("64", false).expect("looked for before");
        Server { child, address }
    }
}

/// Whether a command runs and succeeds.
fn works(command: &[&str]) -> bool {
    let mut run = Command::new(command[0]);
    run.args(&command[1..]).env("GO111MODULE", "off").env("GOPATH", "/usr/share/gocode");
    run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    run.status().is_ok_and(|status| status.success())
}

/// What a script prints against two servers.
fn said(command: &[&str], servers: &[Server; 2]) -> String {
    let mut run = Command::new(command[0]);
    run.args(&command[1..]).args(servers.iter().map(|server| &server.address));
    // What Debian packages of Go is found without modules, and without asking anybody.
    run.env("GO111MODULE", "off").env("GOPATH", "/usr/share/gocode");
    let output = run.stdin(Stdio::null()).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {out}{error}");
    out.into_owned()
}

/// Runs a script against both; `there` succeeds where the client is installed.
fn same(there: &[&str], program: &[&str], script: &str) {
    for needed in [there, &["memcached", "-V"][..]] {
        if !works(needed) {
            // Who changes something tests what there is; what goes in was tested with all of them.
            assert!(
                std::env::var_os("CI").is_none(),
                "{script}: '{}' does not work: scripts/setup test",
                needed.join(" ")
            );
            return eprintln!("SKIPPED: {script}: '{}' does not work", needed.join(" "));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/clients").join(script);
    let command = [program, &[path.to_str().unwrap()]].concat();
    let ours = said(&command, &[Server::ours(), Server::ours()]);
    let theirs = said(&command, &[Server::memcached(), Server::memcached()]);
    assert_eq!(ours, theirs, "{script}: ours, then memcached's");
    assert!(ours.lines().count() >= 10 && ours.lines().last().is_some_and(|l| l.contains("end")), "{script}: {ours}");
}

#[test]
fn pymemcache() {
    same(&["/usr/bin/python3", "-c", "import pymemcache"], &["/usr/bin/python3"], "use_pymemcache.py");
}

#[test]
fn pylibmc() {
    same(&["/usr/bin/python3", "-c", "import pylibmc"], &["/usr/bin/python3"], "use_pylibmc.py");
}

#[test]
fn python_memcached() {
    same(&["/usr/bin/python3", "-c", "import memcache"], &["/usr/bin/python3"], "use_memcache.py");
}

#[test]
fn php_memcached() {
    same(&["php", "-r", "exit(class_exists('Memcached') ? 0 : 1);"], &["php"], "memcached.php");
}

#[test]
fn cache_memcached_fast() {
    same(&["/usr/bin/perl", "-MCache::Memcached::Fast", "-e", "1"], &["/usr/bin/perl"], "fast.pl");
}

#[test]
fn dalli() {
    same(&["/usr/bin/ruby", "-rdalli", "-e", "1"], &["/usr/bin/ruby"], "dalli.rb");
}

#[test]
fn gomemcache() {
    if !works(&["go", "version"]) {
        return eprintln!("SKIPPED: gomemcache.go: there is no Go");
    }
    same(&["go", "list", "github.com/bradfitz/gomemcache/memcache"], &["go", "run"], "gomemcache.go");
}

#[test]
fn spymemcached() {
    let classes = ["-cp", "/usr/share/java/spymemcached.jar"];
    let there = [&["javap"][..], &classes, &["net.spy.memcached.MemcachedClient"]].concat();
    same(&there, &[&["java"][..], &classes].concat(), "spymemcached.java");
}
