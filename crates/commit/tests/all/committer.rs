//! Threads append to one log; each is told when its records are durable. On a real folder.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};

use trunkline_commit::{Committer, Disk, Folder, Log, Options, Progress, Refused};

const OPTIONS: Options = Options { segment_octets: 64 << 10, waiting_octets: 1 << 20 };

fn opened(path: &std::path::Path, see: impl FnMut(u64, &[u8]) -> Result<(), String>) -> Log<Folder> {
    Log::open(Arc::new(Folder::open(path).unwrap()), OPTIONS, |_| Ok(()), see).unwrap()
}

#[test]
fn threads_append_and_all_that_was_told_is_there() {
    const THREADS: u64 = 4;
    const RECORDS: u64 = 2000;
    let folder = tempfile::tempdir().unwrap();
    let told = Arc::new((Mutex::new(0), Condvar::new()));
    let tell = Arc::clone(&told);
    let committer = Committer::start(opened(folder.path(), |_, _| Ok(())), OPTIONS, move |progress| match progress {
        Progress::Durable(last) => {
            *tell.0.lock().unwrap() = last;
            tell.1.notify_all();
        }
        other => panic!("{other:?}"),
    });
    let committer = committer.unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (committer, told) = (&committer, &told);
            scope.spawn(move || {
                for record in 0..RECORDS {
                    let octets = (thread * RECORDS + record).to_le_bytes();
                    let last = committer.append([&octets[..], b"and its second"].into_iter()).unwrap();
                    if record % 100 == 99 {
                        let durable = told.0.lock().unwrap();
                        drop(told.1.wait_while(durable, |durable| *durable < last).unwrap());
                    }
                }
            });
        }
    });
    assert_eq!(committer.durable(), THREADS * RECORDS * 2);
    assert_eq!(committer.counts().records, THREADS * RECORDS * 2);
    assert!(committer.counts().groups < THREADS * RECORDS, "{:?}", committer.counts());
    assert!(committer.counts().segments > 1);
    assert_eq!(committer.waiting(), trunkline_commit::Waiting::default());
    drop(committer);
    let (mut seen, mut second, mut next) = (BTreeSet::new(), false, 1);
    drop(opened(folder.path(), |number, record| {
        assert_eq!(number, next);
        next += 1;
        match second {
            true => assert_eq!(record, b"and its second"),
            false => assert!(seen.insert(u64::from_le_bytes(record.try_into().unwrap()))),
        }
        second = !second;
        Ok(())
    }));
    assert_eq!(seen, (0..THREADS * RECORDS).collect());
}

#[test]
fn one_process_at_a_time_has_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let first = Folder::open(folder.path()).unwrap();
    let refused = || {
        let error = Folder::open(folder.path()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ResourceBusy);
        error.to_string()
    };
    let own = format!("process {} holds the file `lock` in it", std::process::id());
    assert_eq!(refused(), own);
    drop(first);
    Folder::open(folder.path()).unwrap();
}

/// A folder whose writes wait, or fail, and in which no segment can be made, as the test says.
#[derive(Debug)]
struct Moody {
    folder: Folder,
    /// Files that may still be made.
    makes: AtomicU64,
    held: Mutex<bool>,
    let_go: Condvar,
    fails: AtomicBool,
    panics: AtomicBool,
}

impl Moody {
    fn new(path: &std::path::Path) -> Moody {
        let folder = Folder::open(path).unwrap();
        let (held, let_go, makes) = (Mutex::new(false), Condvar::new(), AtomicU64::new(2));
        Moody { folder, makes, held, let_go, fails: AtomicBool::new(false), panics: AtomicBool::new(false) }
    }

    fn hold(&self, held: bool) {
        *self.held.lock().unwrap() = held;
        self.let_go.notify_all();
    }
}

impl Disk for Moody {
    type File = std::fs::File;

    fn list(&self) -> std::io::Result<Vec<String>> {
        self.folder.list()
    }

    fn make(&self, name: &str, octets: u64) -> std::io::Result<Self::File> {
        let left = self.makes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map_err(|_| std::io::ErrorKind::StorageFull)?;
        self.folder.make(name, octets)
    }

    fn open(&self, name: &str) -> std::io::Result<Self::File> {
        self.folder.open(name)
    }

    fn read(&self, file: &Self::File, at: u64, into: &mut [u8]) -> std::io::Result<usize> {
        self.folder.read(file, at, into)
    }

    fn write(&self, file: &Self::File, at: u64, octets: &[u8]) -> std::io::Result<()> {
        drop(self.let_go.wait_while(self.held.lock().unwrap(), |held| *held).unwrap());
        self.folder.write(file, at, octets)
    }

    fn sync(&self, file: &Self::File) -> std::io::Result<()> {
        assert!(!self.panics.load(Ordering::SeqCst), "a defect of this program");
        match self.fails.load(Ordering::SeqCst) {
            true => Err(std::io::Error::other("a sector that is gone")),
            false => self.folder.sync(file),
        }
    }

    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.folder.rename(from, to)
    }

    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.folder.remove(name)
    }

    fn salt(&self) -> u64 {
        self.folder.salt()
    }
}

#[test]
fn a_disk_that_lags_is_full_or_fails_is_told_and_nothing_is_taken_that_may_be_lost() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Moody::new(folder.path()));
    let log = Log::open(Arc::clone(&disk), OPTIONS, |_| Ok(()), |_, _| Ok(())).unwrap();
    let (sender, told) = channel();
    let committer = Committer::start(log, OPTIONS, move |progress| {
        let text = match progress {
            Progress::Durable(last) => last.to_string(),
            Progress::Room(fault) => format!("room: {fault}"),
            Progress::Closed(fault) => format!("closed: {fault}"),
        };
        let _the_test_has_failed = sender.send(text);
    });
    let committer = committer.unwrap();
    let record = vec![7; 40_000];
    let one = || std::iter::once(&record[..]);

    // It lags: so much waits and no more; what waits is written in the end.
    disk.hold(true);
    let taken = (0..100).map_while(|_| committer.append(one()).ok()).count();
    assert_eq!((taken, committer.append(one())), (26, Err(Refused::Waiting)));
    disk.makes.store(1000, Ordering::SeqCst);
    disk.hold(false);
    assert_eq!(told.iter().find(|text| *text == taken.to_string()), Some(taken.to_string()));

    // It is full: what is begun waits, then nothing is taken, then it goes on by itself.
    disk.makes.store(0, Ordering::SeqCst);
    committer.append(one()).unwrap();
    let full = told.iter().find(|text| {
        let _taken_or_refused = committer.append(one());
        text.starts_with("room")
    });
    assert!(full.unwrap().contains("next.log.part: "));
    assert_eq!(committer.append(one()), Err(Refused::Room));
    disk.makes.store(1000, Ordering::SeqCst);
    let last = told.iter().find(|text| !text.starts_with("room")).unwrap();
    assert!(last.parse::<usize>().unwrap() > taken);

    // It fails: it is over.
    disk.fails.store(true, Ordering::SeqCst);
    while committer.append(one()).is_ok() {}
    let closed = told.iter().find(|text| text.starts_with("closed")).unwrap();
    assert!(closed.ends_with("a sector that is gone"), "{closed}");
    assert_eq!(committer.append(one()), Err(Refused::Closed));
    assert_eq!(committer.append(std::iter::once(&vec![0; 70_000][..])), Err(Refused::Closed));
}

#[test]
fn a_writer_that_panics_is_told_and_nothing_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Moody::new(folder.path()));
    disk.makes.store(1000, Ordering::SeqCst);
    let log = Log::open(Arc::clone(&disk), OPTIONS, |_| Ok(()), |_, _| Ok(())).unwrap();
    let (sender, told) = channel();
    let tell = move |progress: Progress<'_>| {
        if let Progress::Closed(fault) = progress {
            let _the_test_has_failed = sender.send(fault.to_string());
        }
    };
    let committer = Committer::start(log, OPTIONS, tell).unwrap();
    disk.panics.store(true, Ordering::SeqCst);
    committer.append(std::iter::once(&b"a"[..])).unwrap();
    assert_eq!(told.recv().unwrap(), "the thread that writes the log has failed");
    assert_eq!(committer.append(std::iter::once(&b"b"[..])), Err(Refused::Closed));
}

#[test]
fn a_record_that_no_block_has_room_for_is_refused_and_those_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let committer = Committer::start(opened(folder.path(), |_, _| Ok(())), OPTIONS, |_| {}).unwrap();
    let long = vec![0; 64 << 10];
    assert_eq!(committer.append([b"short", &long[..]].into_iter()), Err(Refused::Long));
    assert_eq!(committer.append(std::iter::once(&b"short"[..])), Ok(1));
}
