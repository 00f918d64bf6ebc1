//! What the fuzz targets drive.

use crate::account::{Entry, Identity, IdentityKind};
use crate::calendar::Moment;
use crate::compare::{self, BillLine, BillReader, Parties, Party, Profile};
use crate::gateway::{Receiver, receiver};
use crate::money::Money;
use crate::quota::{self, Ask, Mapping, Recent};
use crate::session::{Core, Limits, Restoring, State};
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use std::sync::LazyLock;
use trunkline_kit::config::Place;
use trunkline_wire::gtpp::Message;
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
    let mut restoring = receiver::Restoring::default();
    assert!(read.snapshot(|record| restoring.take(record)).is_ok());
    assert!(restoring.state().is_ok_and(|restored| restored == read));
}

/// Requests of gateways for quota, each behind an octet that says whose it is and its length (two octets, the higher
/// one first): no octets do harm; what is answered can be read; a copy is answered the same or dropped, and nothing is
/// charged for it.
pub fn quota(octets: &[u8]) {
    let mapping = Mapping::default();
    let (mut core, mut recent) = (charged_core(), Recent::new(10));
    let mut rest = octets;
    while let Some((&[who, l1, l2], behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([l1, l2])).min(behind.len());
        let (octets, behind) = behind.split_at(length);
        rest = behind;
        let from = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, who & 1)), u16::from(who));
        let Ok(message) = Message::new(octets) else { continue };
        let Ok(asked) = mapping.profile.read(&message) else { continue };
        let Ok(Ask::Charge(charge)) = quota::ask(&asked, &message, &mapping, from) else { continue };
        let mut say = |core: &mut Core| {
            let request = quota::request(core, &mut recent, &charge, START).ok()?;
            let outcome = core.handle(&request, START);
            if let Some(standing) = outcome.entry.and_then(|_| core.standing(&charge.session, charge.octets)) {
                recent.put(standing.slot, charge.octets, START);
            }
            let mut out = Vec::new();
            quota::tell(&asked, &outcome.answer, &mapping, &mut out).ok()?;
            assert!(Message::new(&out).is_ok_and(|message| mapping.profile.read(&message).is_ok()));
            Some(out)
        };
        let first = say(&mut core);
        let state = core.state().clone();
        let copy = say(&mut core);
        // Who is in no session is told so again, and again it changes nothing.
        assert!(copy.is_none() || copy == first);
        assert!(*core.state() == state);
    }
}

/// The time of requests of gateways.
const START: Moment = 1_795_420_800;

/// A core with an account that pays for a subscriber.
fn charged_core() -> Core {
    const PLAN: &str = "[plan]\nname = \"p\"\ncurrency = \"EUR\"\ntime-zone = \"UTC\"\n[[version]]\n\
        from = \"2026-01-01\"\n[[version.rule]]\nname = \"r\"\nprice = 1\nstep = 1\ntranche = 100\n\
        tranche-least = 1\nvalidity = \"1 h\"\n";
    let mut core = Core::new(Limits::default());
    let plan = core.set_plan(PLAN, START).is_ok();
    let account = core.open_account(1, "p", Money(0), Money(10_000), START).is_ok();
    let names = vec![Identity::new(IdentityKind::Imsi, "7")];
    assert!(plan && account && core.set_subscriber(1, 1, names, START).is_ok());
    core
}

/// A profile of a carrier, a line of two equals signs, and a bill with its titles: no octets do harm; mistakes are told
/// with lines that are there; what is read is the same when it is written plainly and read again.
pub fn bill(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    let (head, lines) = text.split_once("\n==\n").unwrap_or(("", &text));
    let profile = match compare::read_profile("p", head) {
        Ok(profile) => profile,
        Err(mistakes) => {
            let lines = head.split('\n').count();
            let is_there = |place: &Place| matches!(place, Place::File { line, .. } if (1..=lines).contains(line));
            return assert!(!mistakes.is_empty() && mistakes.iter().all(|one| is_there(&one.place)));
        }
    };
    let (mut lines, mut parties) = (lines.split_inclusive('\n'), Parties::default());
    let Ok(mut reader) = BillReader::new(&profile, lines.next().unwrap_or_default()) else { return };
    for (number, line) in (2..).zip(lines) {
        match reader.read(line, &mut parties) {
            Ok(Some(read)) => {
                assert!(read.line == number && read.duration >= 0 && (reader.has_amounts() || read.amount.is_none()));
                again(&read, &parties);
            }
            Ok(None) => assert!(line.trim().is_empty()),
            Err(unread) => assert!(unread.line == number && unread.what.chars().count() < 100),
        }
    }
}

/// A line in plain words: numbers with `+`, a time in Greenwich, seconds, units with all places.
fn again(line: &BillLine, parties: &Parties) {
    static PLAIN: LazyLock<Profile> = LazyLock::new(Profile::default);
    let mut reader = BillReader::new(&PLAIN, "caller,called,begin,duration,amount").expect("they are the columns");
    let (year, month, day) = trunkline_kit::date::of_days(line.begin.div_euclid(86_400_000));
    let ms = line.begin.rem_euclid(86_400_000);
    // Offsets and zones lead a little out of the years that can be written.
    if !(1970..=9999).contains(&year) {
        return;
    }
    let number = |party: Party| party.digits().map(|digits| format!("+{digits}")).unwrap_or_default();
    let amount = line.amount.map(|micros| {
        let (sign, micros) = (if micros < 0 { "-" } else { "" }, micros.unsigned_abs());
        format!("{sign}{}.{:08}", micros / 100_000_000, micros % 100_000_000)
    });
    let text = format!(
        "{},{},{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z,{}.{:03},{}",
        number(line.caller),
        number(line.called),
        ms / 3_600_000,
        ms / 60_000 % 60,
        ms / 1000 % 60,
        ms % 1000,
        line.duration / 1000,
        line.duration % 1000,
        amount.unwrap_or_default()
    );
    let read = reader.read(&text, &mut Parties::default());
    let known = |party: Party| if party.digits().is_some() { party } else { Party::NONE };
    let same = BillLine { line: 2, caller: known(line.caller), called: known(line.called), reference: 0, ..*line };
    assert_eq!(read, Ok(Some(same)), "{text}");
    assert!([line.caller, line.called].iter().all(|party| parties.text(*party).len() <= 4 * 64));
}
