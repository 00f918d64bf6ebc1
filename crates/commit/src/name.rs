//! How files are named: by the number of a record, so that their order by name is that of the records.

/// A segment with records from this number on.
pub fn segment(first: u64) -> String {
    format!("{first:020}.log")
}

/// A snapshot of all records up to this number.
pub fn snapshot(last: u64) -> String {
    format!("{last:020}.snapshot")
}

/// A snapshot that the records behind it begin with.
pub fn opening(last: u64) -> String {
    format!("{last:020}.opening")
}

/// A snapshot that is being written.
pub fn unfinished(last: u64) -> String {
    format!("{last:020}.snapshot.part")
}

/// A segment with records from this number on that had another's name.
pub fn found(first: u64) -> String {
    format!("{first:020}.log.found")
}

/// The segment that is being made.
pub const NEXT: &str = "next.log.part";

/// What a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A segment, and the number of its first record.
    Segment(u64),
    /// A segment that a repair was ended with before it got its name, and the number of its first record.
    Found(u64),
    /// A snapshot, and the number of the last record that it stands for.
    Snapshot(u64),
    /// A snapshot that the records after this number begin with: those up to it were given up.
    Opening(u64),
    /// A snapshot or a mark that was not finished, or a segment not used yet.
    Unfinished,
    /// Somebody else's.
    Foreign,
}

/// What a file is.
pub fn kind(name: &str) -> Kind {
    if let Some(stem) = name.strip_suffix(".snapshot.part") {
        return number(stem).map_or(Kind::Foreign, |_| Kind::Unfinished);
    }
    if name == NEXT || name == crate::mark::UNFINISHED {
        return Kind::Unfinished;
    }
    if let Some(stem) = name.strip_suffix(".log") {
        return first(stem).map_or(Kind::Foreign, Kind::Segment);
    }
    if let Some(stem) = name.strip_suffix(".log.found") {
        return first(stem).map_or(Kind::Foreign, Kind::Found);
    }
    if let Some(stem) = name.strip_suffix(".opening") {
        return number(stem).map_or(Kind::Foreign, Kind::Opening);
    }
    name.strip_suffix(".snapshot").and_then(number).map_or(Kind::Foreign, Kind::Snapshot)
}

/// The number of a first record: there is none before 1.
fn first(stem: &str) -> Option<u64> {
    number(stem).filter(|first| *first > 0)
}

/// A number; there is one behind each.
fn number(stem: &str) -> Option<u64> {
    let plain = stem.len() == 20 && stem.bytes().all(|octet| octet.is_ascii_digit());
    plain.then(|| stem.parse().ok()).flatten().filter(|number| *number < u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_was_made_of() {
        assert_eq!(kind(&segment(1)), Kind::Segment(1));
        assert_eq!(kind(&segment(u64::MAX - 1)), Kind::Segment(u64::MAX - 1));
        assert_eq!(kind(&snapshot(7)), Kind::Snapshot(7));
        assert_eq!(kind(&opening(7)), Kind::Opening(7));
        assert_eq!(kind(&found(7)), Kind::Found(7));
        assert_eq!(kind(&unfinished(7)), Kind::Unfinished);
        assert_eq!(kind(NEXT), Kind::Unfinished);
        let beyond = [segment(0), found(0), segment(u64::MAX), snapshot(u64::MAX), opening(u64::MAX)];
        beyond.iter().for_each(|name| assert_eq!(kind(name), Kind::Foreign, "{name}"));
        for foreign in ["1.log", "+0000000000000000001.log", "99999999999999999999.log", "lock", ".log", "x.snapshot"] {
            assert_eq!(kind(foreign), Kind::Foreign, "{foreign}");
        }
    }
}
