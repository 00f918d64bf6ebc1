//! What may not leave: ranges of time that somebody pinned, in a small text file that all processes share.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use trunkline_kit::{place, sealed};

use crate::disk::{commit_file, sync_folder_of};
use crate::name;

/// Pins kept; more are refused.
// Limit: pins of the packet log
// Beyond: a further pin is refused
// Seen in: the error message
pub const PINS_MAX: usize = 10_000;
/// Octets of the file at most: 6 KiB a pin.
const OCTETS_MAX: u64 = 64 << 20;
/// First line of the file; of an earlier version, which had no checksum at its end.
const HEAD: &str = "trunkline pins 2";
const HEAD_BEFORE: &str = "trunkline pins 1";
/// Before the checksum (FNV-1a) of all octets before this line, which is the last.
const CHECK: &str = "check ";
/// How the file ends that only one process at a time has; once there were pins, it is there.
const LOCK: &str = "lock";
/// Stands for all classes.
const ALL: &str = "*";

/// A range of time whose segments stay, whatever the limits say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Its number, for [`Pins::unpin`].
    pub id: u32,
    /// Its class, or all.
    pub class: Option<String>,
    /// From and to, nanoseconds since 1970; both belong to it.
    pub span_ns: (i64, i64),
    /// Why, in one line.
    pub note: String,
}

/// The file of pins.
#[derive(Clone, Debug)]
pub struct Pins {
    path: PathBuf,
}

impl Pin {
    /// Whether a segment of this class and time is pinned by it.
    pub fn holds(&self, class: &str, span_ns: (i64, i64)) -> bool {
        self.is_of(class) && span_ns.0 <= self.span_ns.1 && self.span_ns.0 <= span_ns.1
    }
}

impl Pin {
    fn is_of(&self, class: &str) -> bool {
        self.class.as_ref().is_none_or(|c| c == class)
    }
}

impl Pins {
    /// The pins in this file; it need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Pins {
        Pins { path: path.into() }
    }

    /// All pins, in the order of their numbers.
    ///
    /// # Errors
    /// The file cannot be read, is gone or damaged: whoever would delete must not go on then.
    pub fn list(&self) -> io::Result<Vec<Pin>> {
        let lock = name::with(&self.path, LOCK);
        match self.read()? {
            Some(pins) => Ok(pins),
            None if !lock.exists() => Ok(Vec::new()),
            None => {
                let what = "it is gone, and what was pinned is not known: pin it again, or remove";
                Err(self.wrong(&format!("{what} {} if there is nothing to pin", lock.display())))
            }
        }
    }

    /// What the file says; none if there is none.
    fn read(&self) -> io::Result<Option<Vec<Pin>>> {
        let text = match place::read_text(&self.path, OCTETS_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(self.wrong("it is no text")),
            text => text.map_err(|error| self.wrong(&error.to_string()))?,
        };
        let line = |number: usize| self.wrong(&format!("line {} is no pin", number + 1));
        let text = match text.lines().next() {
            Some(HEAD) => sealed::open(&text, CHECK).ok_or_else(|| self.wrong("its checksum is wrong"))?,
            Some(HEAD_BEFORE) => &text,
            _ => return Err(line(0)),
        };
        let lines = text.lines().enumerate().skip(1);
        lines.map(|(number, text)| parse(text).ok_or_else(|| line(number))).collect::<io::Result<_>>().map(Some)
    }

    fn wrong(&self, what: &str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", self.path.display()))
    }

    /// Pins a range of time, of one class or all.
    ///
    /// # Errors
    /// The class has blanks, there are too many pins, or the file cannot be written.
    pub fn pin(&self, class: Option<&str>, span_ns: (i64, i64), note: &str) -> io::Result<Pin> {
        let invalid = |text: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        if class.is_some_and(|c| c.is_empty() || c == ALL || c.contains(char::is_whitespace)) {
            return invalid("a class is one word");
        }
        let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
        self.change(|pins| {
            if pins.len() >= PINS_MAX {
                return invalid("too many pins");
            }
            let id = pins.iter().map(|p| p.id).max().unwrap_or(0).saturating_add(1);
            let span_ns = (span_ns.0.min(span_ns.1), span_ns.0.max(span_ns.1));
            let pin = Pin { id, class: class.map(str::to_owned), span_ns, note };
            pins.push(pin.clone());
            Ok(pin)
        })
    }

    /// Takes a pin out; none if there is no such pin.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn unpin(&self, id: u32) -> io::Result<Option<Pin>> {
        self.change(|pins| {
            let at = pins.iter().position(|p| p.id == id);
            Ok(at.map(|at| pins.remove(at)))
        })
    }

    /// Changes the file while no other process does.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Pin>) -> io::Result<T>) -> io::Result<T> {
        std::fs::create_dir_all(self.path.parent().unwrap_or(Path::new(".")))?;
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(name::with(&self.path, LOCK))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        let mut pins = self.read()?.unwrap_or_default();
        let changed = change(&mut pins)?;
        let lines = pins.iter().map(|p| {
            let class = p.class.as_deref().unwrap_or(ALL);
            format!("{} {} {} {class} {}\n", p.id, p.span_ns.0, p.span_ns.1, p.note)
        });
        let text = lines.fold(format!("{HEAD}\n"), |text, line| text + &line);
        let text = sealed::seal(&text, CHECK);
        if text.len() as u64 > OCTETS_MAX {
            return Err(self.wrong(&format!("pins and their notes have at most {OCTETS_MAX} octets together")));
        }
        commit_file(&self.path, text.as_bytes())?;
        sync_folder_of(&self.path)?;
        Ok(changed)
    }
}

/// Ranges of time of one class that are pinned: sorted, and none touches another.
#[derive(Debug, Default)]
pub(super) struct Pinned(Vec<(i64, i64)>);

impl Pinned {
    /// What these pins hold of a class.
    pub(super) fn of(pins: &[Pin], class: &str) -> Pinned {
        let mut spans: Vec<(i64, i64)> = pins.iter().filter(|p| p.is_of(class)).map(|p| p.span_ns).collect();
        spans.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for span in spans {
            match joined.last_mut() {
                Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
                _ => joined.push(span),
            }
        }
        Pinned(joined)
    }

    /// Whether any of this range is pinned.
    pub(super) fn holds(&self, span_ns: (i64, i64)) -> bool {
        let next = self.0.partition_point(|pinned| pinned.1 < span_ns.0);
        self.0.get(next).is_some_and(|pinned| pinned.0 <= span_ns.1)
    }
}

fn parse(line: &str) -> Option<Pin> {
    let mut fields = line.splitn(5, ' ');
    let id = fields.next()?.parse().ok()?;
    let span_ns = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let class = fields.next().filter(|c| !c.is_empty())?;
    let class = (class != ALL).then(|| class.to_owned());
    Some(Pin { id, class, span_ns, note: fields.next()?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_of_pins_holds_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::new(folder.path().join("pins"));
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pins.path, pipe, rustix::fs::Mode::RUSR, 0).unwrap();
        assert!(pins.list().unwrap_err().to_string().ends_with("pins: it is not a file"));
        std::fs::remove_file(&pins.path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &pins.path).unwrap();
        assert!(pins.pin(None, (0, 1), "").unwrap_err().to_string().ends_with("pins: it is not a file"));
        std::fs::remove_file(&pins.path).unwrap();
        std::fs::File::create(&pins.path).unwrap().set_len(1 << 40).unwrap();
        assert!(pins.list().unwrap_err().to_string().ends_with("pins: it has more than 67108864 octets"));
    }

    #[test]
    fn pins_are_kept_and_taken_out() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::new(folder.path().join("packets/pins"));
        assert_eq!(pins.list().unwrap(), []);
        let first = pins.pin(None, (20, 10), "court order\n 7").unwrap();
        let second = pins.pin(Some("sip"), (30, 40), "").unwrap();
        assert_eq!(first.note, "court order 7");
        assert_eq!(pins.list().unwrap(), [first.clone(), second.clone()]);
        assert!(first.holds("rtp", (0, 10)) && first.holds("sip", (20, 30)) && !first.holds("sip", (21, 30)));
        assert!(second.holds("sip", (0, 100)) && !second.holds("rtp", (0, 100)));
        assert_eq!(pins.unpin(1).unwrap(), Some(first));
        assert_eq!(pins.unpin(1).unwrap(), None);
        assert_eq!(pins.list().unwrap(), [second]);
        assert!(pins.pin(Some("a b"), (0, 0), "").is_err());
    }

    #[test]
    fn ranges_joined_hold_what_each_pin_holds() {
        let pin = |id, class: Option<&str>, span_ns| Pin {
            id,
            class: class.map(str::to_owned),
            span_ns,
            note: String::new(),
        };
        let pins = [
            pin(1, None, (10, 20)),
            pin(2, Some("sip"), (15, 30)),
            pin(3, Some("sip"), (40, 40)),
            pin(4, None, (0, 3)),
        ];
        for class in ["sip", "rtp"] {
            let pinned = Pinned::of(&pins, class);
            for from in -1..45 {
                for to in from..46 {
                    let any = pins.iter().any(|p| p.holds(class, (from, to)));
                    assert_eq!(pinned.holds((from, to)), any, "{class} {from} {to}");
                }
            }
        }
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pins");
        for text in ["", "trunkline pins 1\n1 2 x * \n", "trunkline pins 1\n1 2", "other\n", "trunkline pins 2\n"] {
            std::fs::write(&path, text).unwrap();
            assert!(Pins::new(&path).list().is_err(), "{text:?}");
        }
        std::fs::write(&path, "trunkline pins 1\n1 2 3 * kept\n").unwrap();
        assert_eq!(Pins::new(&path).list().unwrap().len(), 1, "of an earlier version");
    }

    #[test]
    fn any_flip_and_any_cut_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pins");
        let pins = Pins::new(&path);
        pins.pin(Some("sip"), (10, 20), "court order").unwrap();
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            for damaged in [&damaged[..], &whole[..at]] {
                std::fs::write(&path, damaged).unwrap();
                let error = pins.list().unwrap_err();
                assert!(error.to_string().contains("pins: "), "octet {at}: {error}");
            }
        }
        std::fs::remove_file(&path).unwrap();
        assert!(pins.list().unwrap_err().to_string().contains("it is gone"));
        pins.pin(None, (1, 2), "again").unwrap();
        assert_eq!(pins.list().unwrap().len(), 1);
    }
}
