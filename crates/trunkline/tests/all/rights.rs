//! Who may read and write what commands make: root's commands in a service's data folder write as the service, nothing
//! is open to everybody whatever the umask, and links lead nowhere.
//!
//! Reports: files that root's command made and the service could not write afterwards (voipmonitor's spool, Cacti's
//! rra, Asterisk's recordings); recordings that everybody on the machine could read.

use crate::eventually::eventually;
use crate::wire::{PROGRAM, Wire, text};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const NOFOLLOW: rustix::fs::AtFlags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
/// The user of a service: nobody's number.
const SERVICE: u32 = 65_534;

/// Runs with a umask that forbids nothing.
fn openly(words: &[&str]) -> Output {
    let line = "umask 0; exec \"$0\" \"$@\"";
    Command::new("sh").args(["-c", line, PROGRAM]).args(words).env("NO_COLOR", "1").output().unwrap()
}

/// The same, which has to succeed.
fn done(words: &[&str]) {
    let output = openly(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn all_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut at = 0;
    while let Some(path) = found.get(at).cloned() {
        at += 1;
        if path.symlink_metadata().unwrap().is_dir() {
            found.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found
}

/// A capture that root alone may read, and the data folder of a service in a folder that all may pass; none if it is
/// not root that tests.
fn service(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can make files of others");
        return None;
    }
    std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let (capture, data) = (folder.join("root/office.pcap"), folder.join("data"));
    std::fs::create_dir(folder.join("root")).unwrap();
    std::fs::set_permissions(folder.join("root"), Permissions::from_mode(0o700)).unwrap();
    done(&["sim", "--calls", "3", "--seed", "7", "-w", text(&capture)]);
    std::fs::create_dir(&data).unwrap();
    chown(&data, Some(SERVICE), Some(SERVICE)).unwrap();
    Some((capture, data))
}

/// Everything is the service's, and nothing is open to others.
fn is_of_service(data: &Path) {
    for path in all_in(&data.join("store")).into_iter().chain(all_in(&data.join("packets"))) {
        let about = path.symlink_metadata().unwrap();
        assert_eq!((about.uid(), about.gid()), (SERVICE, SERVICE), "{}", path.display());
        assert_eq!(about.mode() & 0o027, 0, "{}: {:o}", path.display(), about.mode());
    }
}

#[test]
fn what_root_makes_in_the_folder_of_a_service_is_the_services() {
    let folder = tempfile::tempdir().unwrap();
    let Some((capture, data)) = service(folder.path()) else { return };
    done(&["read", text(&capture), "--data", text(&data), "--record"]);
    is_of_service(&data);
    let days = all_in(&data.join("store")).len();
    assert!(days > 1, "a day of the store and its folder");
    done(&["packets", "pin", "--data", text(&data), "--from", "2026-01-01", "--to", "2026-01-01"]);
    done(&["packets", "repair", "--data", text(&data)]);
    done(&["store", "prune", "--data", text(&data)]);
    is_of_service(&data);
    done(&["user", "add", "ann", "--role", "viewer", "--data", text(&data)]);
    for path in all_in(&data.join("web")) {
        let about = path.metadata().unwrap();
        assert_eq!((about.uid(), about.mode() & 0o077), (SERVICE, 0), "{}", path.display());
    }
    // What root's commands made before they knew better is the service's with the next one.
    let day = all_in(&data.join("store")).into_iter().find(|p| p.extension().is_some_and(|e| e == "sqlite")).unwrap();
    chown(&day, Some(0), Some(0)).unwrap();
    chown(data.join("store"), Some(0), Some(0)).unwrap();
    done(&["store", "prune", "--dry-run", "--data", text(&data)]);
    assert_eq!(day.metadata().unwrap().uid(), 0, "a dry run changes nothing");
    done(&["read", text(&capture), "--data", text(&data)]);
    is_of_service(&data);
}

/// Who may write the data folder puts links there, and waits for root.
#[test]
fn a_link_in_the_folder_of_a_service_leads_root_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let Some((capture, data)) = service(folder.path()) else { return };
    let precious = folder.path().join("root/precious");
    std::fs::create_dir(&precious).unwrap();
    std::fs::write(precious.join("file"), "precious").unwrap();
    let whole = || {
        let file = precious.join("file");
        let owner = |path: &Path| path.metadata().unwrap().uid();
        assert_eq!(std::fs::read(&file).unwrap(), b"precious");
        assert_eq!((owner(&precious), owner(&file), std::fs::read_dir(&precious).unwrap().count()), (0, 0, 1));
    };
    symlink(&precious, data.join("store")).unwrap();
    let refused = openly(&["read", text(&capture), "--data", text(&data)]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("data/store/") && said.contains("unable to open"), "{said}");
    whole();
    // A second name of a file of root's: it stays root's.
    std::fs::remove_file(data.join("store")).unwrap();
    std::fs::create_dir(data.join("store")).unwrap();
    chown(data.join("store"), Some(SERVICE), Some(SERVICE)).unwrap();
    std::fs::hard_link(precious.join("file"), data.join("store/other")).unwrap();
    symlink(precious.join("file"), data.join("store/link")).unwrap();
    done(&["read", text(&capture), "--data", text(&data)]);
    whole();
}

/// Indexes are made where they are missing, by commands that only read.
#[test]
fn an_index_that_root_makes_is_the_services_and_a_link_in_its_place_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let Some((capture, data)) = service(folder.path()) else { return };
    done(&["read", text(&capture), "--data", text(&data), "--record"]);
    let precious = folder.path().join("root/precious");
    std::fs::write(&precious, "precious").unwrap();
    let all = all_in(&data.join("packets"));
    let segment = all.iter().find(|path| path.extension().is_some_and(|e| e == "pcapng")).unwrap();
    let (index, part) = (segment.with_extension("idx"), segment.with_extension("idx.part"));
    let (out, named) = (folder.path().join("root/out.pcapng"), format!("{}.idx", text(segment)));
    let extract = ["extract", "udp", "--data", text(&data), "-w", text(&out)];
    let make = ["packets", "index", text(segment), "--data", text(&data)];
    for words in [&extract[..], &make[..]] {
        for trap in ["link", "pipe"] {
            let _ = std::fs::remove_file(&index);
            let place = if words == extract { part.clone() } else { PathBuf::from(format!("{named}.part")) };
            match trap {
                "link" => symlink(&precious, &place).unwrap(),
                _ => assert!(Command::new("mkfifo").arg(&place).status().unwrap().success()),
            }
            rustix::fs::chownat(rustix::fs::CWD, &place, Some(rustix::fs::Uid::from_raw(SERVICE)), None, NOFOLLOW)
                .unwrap();
            done(words);
            assert_eq!(std::fs::read(&precious).unwrap(), b"precious", "{words:?}, {trap}");
            is_of_service(&data);
        }
    }
    assert!(index.exists() || Path::new(&named).exists());
    // Where the owner may not write there is no index, and no file of root's.
    let locked = segment.parent().unwrap();
    let _ = std::fs::remove_file(&index);
    chown(locked, Some(0), Some(0)).unwrap();
    done(&extract);
    assert!(!index.exists());
}

/// A process that does not outlive the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// Whether it is root that tests, and the user of services has a name here.
fn nobody_is_known() -> bool {
    let id = Command::new("id").args(["-u", "nobody"]).output();
    let known = id.is_ok_and(|id| id.stdout == format!("{SERVICE}\n").as_bytes());
    if !known {
        println!("SKIPPED: there is no user nobody");
    }
    known
}

/// What root opened for the service is no file of root's: its group reaches it, and it can remove it.
#[test]
fn sockets_are_the_services_once_root_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let Some((_, data)) = service(folder.path()) else { return };
    if !nobody_is_known() {
        return;
    }
    let run = folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    chown(&run, Some(SERVICE), Some(SERVICE)).unwrap();
    let at = |name: &str| text(&run.join(name)).to_owned();
    let (cache, page) = (at("cache"), |name: &str| format!("unix:{}", at(name)));
    let charge = ["charge", "serve", "--host", "ocs.demo", "--realm", "demo", "--listen", "127.0.0.1:0"];
    for (words, sockets) in [
        (vec!["cache", "-u", "nobody", "-s", &cache, "--metrics", &page("m1")], vec![cache.clone(), at("m1")]),
        (vec!["graph", "serve", "--user", "nobody", "--data", text(&data), "--metrics", &page("m2")], vec![at("m2")]),
        (
            [&charge[..], &["--user", "nobody", "--data", text(&data), "--metrics", &page("m3")]].concat(),
            vec![at("m3"), text(&data.join("charge/control.sock")).to_owned()],
        ),
    ] {
        let mut command = Command::new(PROGRAM);
        let mut serving = Serving(command.args(&words).stderr(Stdio::null()).spawn().unwrap());
        let owner = |path: &String| Path::new(path).symlink_metadata().map(|about| (about.uid(), about.gid())).ok();
        eventually(&format!("{words:?}"), || sockets.iter().all(|path| owner(path) == Some((SERVICE, SERVICE))));
        let pid = rustix::process::Pid::from_child(&serving.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(serving.0.wait().unwrap().success(), "{words:?}");
        assert!(sockets.iter().all(|path| !Path::new(path).exists()), "{words:?}");
    }
}

#[test]
fn sockets_of_a_run_are_the_services() {
    let Some(wire) = Wire::lay("rights") else { return };
    if !nobody_is_known() {
        return;
    }
    std::fs::set_permissions(wire.folder.path(), Permissions::from_mode(0o755)).unwrap();
    let (data, folder) = (wire.path("data"), wire.folder.path().display());
    std::fs::create_dir(&data).unwrap();
    chown(&data, Some(SERVICE), Some(SERVICE)).unwrap();
    let config = format!(
        "[capture]\nlanes = 1\nring = \"4 MiB\"\nuser = \"nobody\"\n[metrics]\nlisten = \"unix:{folder}/metrics\"\n\
        [cache]\nlisten = [\"unix:{folder}/cache.sock\"]\nthreads = 1\n[charge]\nlisten = [\"127.0.0.1:13869\"]\n\
        host = \"ocs.demo\"\nrealm = \"demo\"\n"
    );
    let running = wire.run("data", &config);
    for path in [wire.path("metrics"), wire.path("cache.sock"), data.join("charge/control.sock"), data.join("run.lock")]
    {
        let about = path.symlink_metadata().unwrap();
        assert_eq!((about.uid(), about.gid()), (SERVICE, SERVICE), "{}", path.display());
    }
    let (code, said) = running.end();
    assert_eq!(code, 0, "{said:#?}");
}

#[test]
fn nothing_is_open_to_everybody_whatever_the_umask() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    done(&["sim", "--calls", "3", "--seed", "7", "-w", text(&at("office.pcap"))]);
    done(&["read", text(&at("office.pcap")), "--data", text(&at("data")), "--record"]);
    done(&["man", text(&at("man1"))]);
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
    for path in all_in(&at("data")).into_iter().chain([at("office.pcap")]) {
        assert_eq!(mode(&path) & 0o027, 0, "{}: {:o}", path.display(), mode(&path));
    }
    assert_eq!(mode(&at("man1/trunkline.1")) & 0o044, 0o044, "manual pages are for everybody");
}
