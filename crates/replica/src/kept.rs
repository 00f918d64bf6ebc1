//! What a node keeps of terms, beside its log: a small file, replaced as a whole.

use crate::terms::{Term, Terms};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self};
use std::path::Path;
use trunkline_kit::place;

/// The terms of a file; none if it is not there: the log was never on a stream.
///
/// # Errors
/// It cannot be read, or is not ours.
pub fn load(path: &Path) -> io::Result<Option<Terms>> {
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let strange = || io::Error::new(io::ErrorKind::InvalidData, "it does not hold the terms of a log");
    let value: Value = serde_json::from_slice(&text).map_err(|_| strange())?;
    terms(&value).map(Some).ok_or_else(strange)
}

fn terms(value: &Value) -> Option<Terms> {
    let log = u128::from_str_radix(value.get("log")?.as_str()?, 16).ok()?;
    let begun = u32::try_from(value.get("begun")?.as_u64()?).ok()?;
    let term = |pair: &Value| Some(Term { number: pair.get(0)?.as_u64()?, first: pair.get(1)?.as_u64()? });
    let list: Vec<Term> = value.get("terms")?.as_array()?.iter().map(term).collect::<Option<_>>()?;
    let sound = list.iter().all(|term| term.first > 0) && list.windows(2).all(|two| two[0].number < two[1].number);
    (sound && !list.is_empty()).then_some(Terms { log, begun, list })
}

/// Puts them in place of what was there; they are on stable storage after it.
///
/// # Errors
/// The system's: what was there stays, or they are there.
pub fn store(path: &Path, terms: &Terms) -> io::Result<()> {
    let list: Vec<Value> = terms.list.iter().map(|term| json!([term.number, term.first])).collect();
    let value = json!({ "log": format!("{:032x}", terms.log), "begun": terms.begun, "terms": list });
    place::replace(path, format!("{value}\n").as_bytes(), place::PRIVATE)
}

/// Removes them for good, if they are there.
///
/// # Errors
/// The system's: they may be there yet.
pub fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("terms.json");
        assert!(load(&path).unwrap().is_none());
        let terms = Terms::begin(u128::MAX - 5, 1_700_000_000, 3).next(9);
        store(&path, &terms).unwrap();
        store(&path, &terms.next(12)).unwrap();
        assert_eq!(load(&path).unwrap(), Some(terms.next(12)));
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert!(load(&path).unwrap().is_none());
        for wrong in ["", "{}", r#"{"log":"1","begun":1,"terms":[]}"#, r#"{"log":"x","begun":1,"terms":[[1,1]]}"#] {
            std::fs::write(&path, wrong).unwrap();
            assert_eq!(load(&path).unwrap_err().kind(), io::ErrorKind::InvalidData, "{wrong}");
        }
    }
}
