//! The checkpoint: a small file that says from where the packet log has to be read after a program that ended without
//! warning, so that no call is lost.
//!
//! ```text
//! trunkline-checkpoint 1
//! at 1795181123000000000          when it was written, nanoseconds since 1970
//! from 1795181003000000000        all that began before is in the store
//! open 12                         calls that were not closed
//! ended 0                         1 if the program ended as it should
//! joined 019b...                  of these, one that was joined in mid-call; a line each
//! sum 51a3...                     FNV-1a of all octets before this line
//! ```
//!
//! It is replaced as a whole (written beside, synced, renamed), so that a crash leaves the old one.

use std::io;
use std::path::{Path, PathBuf};
use trunkline_kit::Id;
use trunkline_kit::{place, sealed};

/// Calls joined in mid-call that a checkpoint names; further ones are not recovered, and counted.
// Limit: calls joined in mid-call that a checkpoint names
// Beyond: further ones are not continued
// Seen in: `trunkline_recovery_overflow_total`
pub const JOINED_MAX: usize = 10_000;
/// Octets of a file: one that has more is none of ours.
const OCTETS_MAX: u64 = 1 << 20;
const HEAD: &str = "trunkline-checkpoint 1";
const NAME: &str = "calls.checkpoint";
/// Before the checksum.
const SUM: &str = "sum ";

/// What it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// When it was written, nanoseconds since 1970.
    pub at_ns: i64,
    /// All rows of what began before are in the store, or wait for it in the journal.
    pub from_ns: i64,
    /// Calls that were not closed.
    pub open: u64,
    /// The program ended as it should: nothing came after it.
    pub ended: bool,
    /// Open calls that were joined in mid-call.
    pub joined: Vec<Id>,
}

/// What a data folder has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// None: no run wrote one yet.
    Nothing,
    /// What it says.
    Whole(Checkpoint),
    /// It cannot be read, or its checksum is wrong: why.
    Damaged(String),
}

/// Where it lies in a data folder.
pub fn path(data: &Path) -> PathBuf {
    data.join("spool").join(NAME)
}

impl Checkpoint {
    /// Reads that of a data folder.
    pub fn load(data: &Path) -> Found {
        match place::read_own(&path(data), OCTETS_MAX) {
            Ok(None) => Found::Nothing,
            Ok(Some(octets)) => {
                Checkpoint::parse(&octets).map_or_else(|why| Found::Damaged(why.to_owned()), Found::Whole)
            }
            Err(error) => Found::Damaged(error.to_string()),
        }
    }

    /// Puts it in place of the one that is there.
    ///
    /// # Errors
    /// Those of the disk; then the old one is still there.
    pub fn store(&self, data: &Path) -> io::Result<()> {
        let folder = data.join("spool");
        std::fs::create_dir_all(&folder)?;
        place::replace(&folder.join(NAME), self.text().as_bytes(), place::PRIVATE)
    }

    fn text(&self) -> String {
        let Checkpoint { at_ns, from_ns, open, ended, joined } = self;
        let mut text = format!("{HEAD}\nat {at_ns}\nfrom {from_ns}\nopen {open}\nended {}\n", u8::from(*ended));
        for id in joined.iter().take(JOINED_MAX) {
            text.push_str(&format!("joined {:032x}\n", u128::from_be_bytes(*id.octets())));
        }
        sealed::seal(&text, SUM)
    }

    fn parse(octets: &[u8]) -> Result<Checkpoint, &'static str> {
        let text = core::str::from_utf8(octets).map_err(|_| "it is not text")?;
        let body = sealed::open(text, SUM).ok_or("its checksum is wrong or missing")?;
        let mut lines = body.lines();
        if lines.next() != Some(HEAD) {
            return Err("it is of another version");
        }
        let mut found = Checkpoint::default();
        for line in lines {
            let (key, value) = line.split_once(' ').ok_or("a line is wrong")?;
            let number = || value.parse::<i64>().map_err(|_| "a number is wrong");
            match key {
                "at" => found.at_ns = number()?,
                "from" => found.from_ns = number()?,
                "open" => found.open = number()?.unsigned_abs(),
                "ended" => found.ended = value == "1",
                "joined" => {
                    let id = u128::from_str_radix(value, 16).map_err(|_| "an identifier is wrong")?;
                    found.joined.push(Id::from_octets(id.to_be_bytes()));
                }
                _ => return Err("a line is wrong"),
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        let joined = (0..3).map(|n| Id::derive(1_795_181_123_000_000_000 + n, b"a call")).collect();
        Checkpoint { at_ns: 1_795_181_123_000_000_007, from_ns: -5, open: 12, ended: true, joined }
    }

    #[test]
    fn what_was_stored_is_loaded_and_nothing_is_left_beside() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(Checkpoint::load(data.path()), Found::Nothing);
        let first = checkpoint();
        first.store(data.path()).unwrap();
        assert_eq!(Checkpoint::load(data.path()), Found::Whole(first.clone()));
        let second = Checkpoint { joined: Vec::new(), ended: false, ..first };
        second.store(data.path()).unwrap();
        assert_eq!(Checkpoint::load(data.path()), Found::Whole(second));
        assert_eq!(std::fs::read_dir(data.path().join("spool")).unwrap().count(), 1);
    }

    #[test]
    fn any_change_and_any_cut_is_noticed() {
        let data = tempfile::tempdir().unwrap();
        checkpoint().store(data.path()).unwrap();
        let whole = std::fs::read(path(data.path())).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(Checkpoint::parse(&changed).is_err(), "octet {at}");
            assert!(Checkpoint::parse(&whole[..at]).is_err(), "cut at {at}");
        }
    }

    /// A crash before the rename leaves what is being written; a link there leads nowhere.
    #[test]
    fn a_crash_leaves_the_old_one_and_a_link_is_not_followed() {
        let data = tempfile::tempdir().unwrap();
        let first = checkpoint();
        first.store(data.path()).unwrap();
        let (part, elsewhere) = (place::beside(&path(data.path())), data.path().join("elsewhere"));
        std::fs::write(&part, "trunkline-check").unwrap();
        assert_eq!(Checkpoint::load(data.path()), Found::Whole(first.clone()));
        std::fs::remove_file(&part).unwrap();
        std::fs::write(&elsewhere, "precious").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &part).unwrap();
        first.store(data.path()).unwrap();
        assert_eq!(std::fs::read(&elsewhere).unwrap(), b"precious");
        std::fs::remove_file(path(data.path())).unwrap();
        std::os::unix::fs::symlink(&elsewhere, path(data.path())).unwrap();
        assert!(matches!(Checkpoint::load(data.path()), Found::Damaged(_)));
    }
}
