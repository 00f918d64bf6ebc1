//! A real file system that runs full. Needs root: `cargo test -p trunkline-spool --test all small_disk:: -- --ignored`.

use crate::eventually::{PATIENCE, eventually};
use crate::support;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use support::{KINDS, Pattern, extra, files, first_number, mend, options, prefix_from, volume};
use trunkline_spool::{Direct, Options, Priority, Spool, State, repair};

/// A file system of 96 MiB in a file, mounted as long as this lives.
struct Mounted {
    folder: tempfile::TempDir,
}

impl Mounted {
    fn new() -> Mounted {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(96 << 20).unwrap();
        std::fs::create_dir(folder.path().join("mounted")).unwrap();
        let mounted = Mounted { folder };
        run("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]);
        run("mount", &["-o", "loop", image.to_str().unwrap(), mounted.path().to_str().unwrap()]);
        mounted
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

fn run(program: &str, arguments: &[&str]) {
    assert!(Command::new(program).args(arguments).status().unwrap().success(), "{program}");
}

#[test]
#[ignore = "needs root, to mount a file system"]
fn a_file_system_that_runs_full() {
    for direct in [Direct::Auto, Direct::Off] {
        let mounted = Mounted::new();
        let ballast = mounted.path().join("ballast");
        std::fs::write(&ballast, vec![1; 40 << 20]).unwrap();
        let options = Options { direct, ..options(volume(&mounted.path())).memory(32 << 20) };
        let (spool, _) = Spool::open(options).unwrap();
        let (mut writer, mut pattern) = (spool.writer(Priority::Highest, 0), Pattern::new(9));
        append_until_full(&spool, &mut writer, &mut pattern);
        std::fs::remove_file(&ballast).unwrap();
        eventually("it begins", || writer.begin(Path::new("b.seg")).is_ok());
        for _ in 0..1000 {
            pattern.append(&mut writer, 0).unwrap();
        }
        writer.seal(vec![extra(b"index")]);
        assert!(spool.settle(PATIENCE));
        let stats = spool.close(PATIENCE).stats;
        assert_eq!(stats.counts.appended_octets, stats.counts.written_octets + stats.counts.lost_octets);
        repair(&mounted.path(), KINDS, Duration::ZERO, &mut mend).unwrap();
        assert_eq!(records(&mounted.path()) + stats.counts.lost_records, pattern.records());
    }
}

fn append_until_full(spool: &Spool, writer: &mut trunkline_spool::Writer, pattern: &mut Pattern) {
    let began = Instant::now();
    writer.begin(Path::new("a.seg")).unwrap();
    while writer.is_open() && began.elapsed() < PATIENCE {
        for _ in 0..5000 {
            let _ = pattern.append(writer, 0);
        }
        writer.flush();
        assert!(spool.settle(PATIENCE));
    }
    assert_eq!(spool.stats().volumes[0].state, State::Full);
}

fn records(folder: &Path) -> u64 {
    let segments = files(folder).into_iter().filter(|f| f.contains(".seg"));
    let whole = segments.map(|name| {
        let octets = std::fs::read(folder.join(&name)).unwrap();
        let found = prefix_from(9, first_number(&octets).unwrap(), &octets);
        assert_eq!(found.octets, octets.len() as u64, "{name}");
        found.records
    });
    whole.sum()
}
