//! What the fuzz targets drive.

use crate::account::Entry;
use crate::gateway::{Receiver, receiver};
use crate::session::{Restoring, State};
use core::time::Duration;
use trunkline_wire::{Address, Endpoint};

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

/// Messages to a gateway, each behind an octet that says whose it is and its length (two octets, the higher one first):
/// no octets do harm; entries are read as they were written and make the same state and the same billing; what is
/// answered can be read.
pub fn gateway(octets: &[u8]) {
    let (mut gateway, mut read) = (Receiver::default(), receiver::State::default());
    let mut rest = octets;
    while let Some((&[who, l1, l2], behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([l1, l2])).min(behind.len());
        let (message, behind) = behind.split_at(length);
        rest = behind;
        let (from, now) = (Endpoint::new(Address::v4([10, 0, 0, who & 1]), 3386), Duration::from_secs(who.into()));
        if let Some(outcome) = gateway.handle(from, message, now) {
            let entry = receiver::Entry::decode(&outcome.entry.encode());
            assert_eq!(entry.as_ref(), Some(&outcome.entry));
            assert_eq!(entry.map(|entry| read.fold(&entry)), Some(outcome.passed));
        }
        if who & 2 != 0 {
            gateway.durable(read.sequence());
        }
        while let Some(sent) = gateway.poll() {
            assert!(trunkline_wire::gtpp::Message::new(&sent.octets).is_ok_and(|message| message.body().is_ok()));
        }
        if who & 4 != 0 {
            gateway.handle_timeout(now);
        }
    }
    assert!(*gateway.state() == read);
}
