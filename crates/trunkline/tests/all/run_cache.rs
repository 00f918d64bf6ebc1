//! A cache beside a capture: it serves, metrics, the log and the pages of another process show it, and it ends with the
//! run. Needs root.
//!
//! Test group: waits: replays captures at their own pace.

use crate::browser;
use crate::wire;
use browser::Shown;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use wire::{PROGRAM, Wire, text};

/// Asks, and reads the last line of the answer.
fn asked(socket: &Path, request: &str, last: &str) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.into_iter().any(|line| line == last), "no '{last}' to {request:?}");
}

fn cache<'a>(page: &'a Value, name: &str) -> &'a Value {
    page["caches"].as_array().unwrap().iter().find(|cache| cache["name"] == name).unwrap_or(&Value::Null)
}

#[test]
fn a_cache_beside_a_capture_is_served_seen_and_ended() {
    let Some(wire) = Wire::lay("cache") else { return };
    let (socket, folder) = (wire.path("cache.sock"), wire.folder.path().display().to_string());
    let config = format!(
        "[capture]\nlanes = 1\nring = \"4 MiB\"\n[record]\nmemory = \"32 MiB\"\n[log]\nstatus-every = \"1 s\"\n\
        [metrics]\nlisten = \"unix:{folder}/metrics\"\n[cache]\nlisten = [\"unix:{folder}/cache.sock\"]\nthreads = 1\n"
    );
    let mut run = wire.run("data", &config);
    asked(&socket, "set a 0 0 1\r\nx\r\nget a b c\r\n", "END");
    wire.until("metrics tell of it", |wire| wire.metric("trunkline_cache_get_keys_total{result=\"miss\"}") == 2.0);

    let file = wire.path("web.toml");
    let caches = format!("[web]\ncaches = [\"unix:{folder}/cache.sock\", \"unix:{folder}/nobody.sock\"]\n");
    std::fs::write(&file, caches).unwrap();
    let mut web = Command::new(PROGRAM);
    web.args(["web", "-c", text(&file), "--data", text(&wire.path("data")), "--listen", "127.0.0.1:0"]);
    let mut web = Shown::start(web);
    let mut browser = web.browser();
    let page = browser.until("/cache", "all three are looked at", |page| page["caches"].as_array().unwrap().len() == 3);
    for name in ["this run", "unix:cache.sock"] {
        let now = &cache(&page, name)["now"];
        assert_eq!((now["gets_total"].as_u64(), now["hits_total"].as_u64()), (Some(3), Some(1)), "{name}: {now}");
        assert!(now["hot_keys"].is_array() && now["slow_commands"].is_array(), "{now}");
    }
    let trouble = cache(&page, "unix:nobody.sock")["trouble"].as_str().unwrap_or_default();
    assert!(trouble.starts_with("unix:nobody.sock: nobody listens there"), "{trouble}");
    assert!(!page.to_string().contains(&folder), "where sockets are is told to nobody: {page}");
    run.hear("| cache gets/s ");
    assert_eq!(run.end().0, 0);
    assert!(!socket.exists(), "it ends with the run");
    browser.until("/cache", "its end is seen", |page| cache(page, "this run").is_null());
    assert_eq!(web.end().0.code(), Some(0));
}

#[test]
fn an_address_that_cannot_be_had_is_told_as_other_mistakes_are() {
    let Some(wire) = Wire::lay("cachetaken") else { return };
    let file = wire.path("run.toml");
    let nowhere = wire.path("nowhere/cache.sock");
    let config = format!("[cache]\nlisten = [\"unix:{}\"]\n[record]\nmemory = \"32 MiB\"\n", text(&nowhere));
    std::fs::write(&file, config).unwrap();
    let mut run = wire.within(&[
        PROGRAM,
        "run",
        "-c",
        text(&file),
        "-i",
        "in",
        "--data",
        text(&wire.path("data")),
        "--seconds",
        "9",
    ]);
    let output = run.stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("cache.listen: cannot listen to") && error.contains(text(&nowhere)), "{error}");
}
