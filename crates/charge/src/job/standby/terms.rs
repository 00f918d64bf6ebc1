//! What a node of several keeps of terms, beside its ledger.

use super::Fault;
use std::path::Path;
use trunkline_replica::{Member, Terms, kept};

/// Beside the ledger: what is known of terms.
pub const TERMS: &str = "terms.json";
/// The terms with which a node asked to begin a stream: whether it did is for the stream to say.
const ASKED: &str = "terms.asked.json";

/// What is known of terms; none where this ledger was never on a stream.
pub(super) fn known(ledger: &Path) -> Result<Option<Terms>, Fault> {
    load(ledger, TERMS)
}

/// Keeps what is known of terms. What was asked for has its answer with that.
pub(super) fn keep(ledger: &Path, terms: &Terms) -> Result<(), Fault> {
    store(ledger, TERMS, terms)?;
    forget_asked(ledger)
}

/// What was asked for is nothing any more: a ledger that goes on alone has more than it had then, and a stream that
/// began with it must never have that cut off.
///
/// # Errors
/// The system's: it may be there yet.
pub fn forget_asked(ledger: &Path) -> Result<(), Fault> {
    let path = ledger.join(ASKED);
    kept::remove(&path).map_err(|error| Fault::Io { path, error })
}

/// The terms by which to ask for the lead of a stream that nobody led yet, with a ledger whose next entry is that: kept
/// before they are said, as an acknowledgement may be lost, and then the stream begins with this ledger.
pub(super) fn ask(ledger: &Path, next: u64) -> Result<Terms, Fault> {
    let before = load(ledger, ASKED)?.filter(|asked| asked.newest().first == next);
    let terms = before.unwrap_or_else(|| Member::first_terms(next));
    store(ledger, ASKED, &terms)?;
    Ok(terms)
}

/// The terms that this node asked for, where the stream began by them. Who only asked has written nothing since: with
/// another entry to come next than then, this ledger went on without the stream, and is none of it.
pub(super) fn asked(
    ledger: &Path,
    told: &Terms,
    next: impl FnOnce() -> Result<u64, Fault>,
) -> Result<Option<Terms>, Fault> {
    match load(ledger, ASKED)?.filter(|asked| asked.log == told.log) {
        Some(asked) => Ok((asked.newest().first == next()?).then_some(asked)),
        None => Ok(None),
    }
}

fn load(ledger: &Path, name: &str) -> Result<Option<Terms>, Fault> {
    let path = ledger.join(name);
    kept::load(&path).map_err(|error| Fault::Io { path, error })
}

fn store(ledger: &Path, name: &str, terms: &Terms) -> Result<(), Fault> {
    let path = ledger.join(name);
    kept::store(&path, terms).map_err(|error| Fault::Io { path, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_holds_until_it_is_answered_or_the_ledger_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let terms = ask(folder.path(), 7).unwrap();
        let told = terms.next(20);
        assert_eq!(asked(folder.path(), &told, || Ok(7)).unwrap(), Some(terms.clone()));
        assert_eq!(ask(folder.path(), 7).unwrap(), terms, "asked again, it is the same stream");
        // It went on alone since: another node that led from entry 20 on has nothing to say of that.
        assert_eq!(asked(folder.path(), &told, || Ok(9)).unwrap(), None);
        assert_eq!(asked(folder.path(), &Terms::begin(terms.log ^ 1, 0, 7), || Ok(7)).unwrap(), None);
        keep(folder.path(), &told).unwrap();
        assert_eq!(known(folder.path()).unwrap(), Some(told.clone()));
        assert_eq!(asked(folder.path(), &told, || Ok(7)).unwrap(), None, "it has its answer");
        ask(folder.path(), 7).unwrap();
        forget_asked(folder.path()).unwrap();
        assert!(!folder.path().join(ASKED).exists());
    }
}
