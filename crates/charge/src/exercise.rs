//! What the fuzz targets drive.

use crate::account::Entry;
use crate::session::{Restoring, State};

/// An entry of the ledger: no octets do harm, and one that is read is written as itself, and changes a state that a
/// snapshot tells of.
pub fn entry(octets: &[u8]) {
    let Ok(entry) = Entry::decode(octets) else { return };
    assert_eq!(Entry::decode(&entry.encode()).as_ref(), Ok(&entry));
    let mut state = State::default();
    state.fold(&entry);
    state.fold(&entry);
    assert!(read(&records(&state)).is_some_and(|read| read == state));
}

/// Records of a snapshot, each behind its length (two octets, the higher one first): a state that is read is written
/// as one that is read as the same.
pub fn snapshot(octets: &[u8]) {
    let (mut rest, mut found) = (octets, Vec::new());
    while let Some((length, behind)) = rest.split_first_chunk() {
        let Some((record, behind)) = behind.split_at_checked(usize::from(u16::from_be_bytes(*length))) else { break };
        found.push(record.to_vec());
        rest = behind;
    }
    if let Some(state) = read(&found) {
        assert!(read(&records(&state)).is_some_and(|read| read == state));
    }
}

/// The records of a state.
pub fn records(state: &State) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let put = |record: &[u8]| -> Result<(), core::convert::Infallible> {
        records.push(record.to_vec());
        Ok(())
    };
    let Ok(()) = state.snapshot(put);
    records
}

fn read(records: &[Vec<u8>]) -> Option<State> {
    let mut restoring = Restoring::default();
    records.iter().try_for_each(|record| restoring.take(record)).ok()?;
    restoring.state().ok()
}
