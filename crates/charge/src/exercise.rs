//! What the fuzz targets drive.

use crate::account::{Effect, Entry, Identity, IdentityKind, Octets, slots_by};
use crate::calendar::Moment;
use crate::cdr::{Cuts, Fold, Source};
use crate::compare::{self, BillLine, BillReader, Parties, Party, Profile};
use crate::gateway::{Receiver, receiver};
pub use crate::job::exercise_control as control;
use crate::job::records::Cursor;
use crate::money::Money;
use crate::quota::{self, Ask, Mapping, Recent};
use crate::session::{Core, Limits, Restoring, State};
use crate::tariff::{self, Context, Plmn};
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
    let found: Vec<Vec<u8>> = framed(octets).map(<[u8]>::to_vec).collect();
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

/// That a state is read as it is written.
pub(crate) fn again_as_state(state: &State) {
    assert!(read(&records(state)).is_some_and(|read| read == *state));
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
pub(crate) const START: Moment = 1_795_420_800;

/// A core with an account that pays for a subscriber.
pub(crate) fn charged_core() -> Core {
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

/// A plan of any text: mistakes are told with places that are there; what is read holds what it may, chooses a rule of
/// the version of its time, and the same one until it says that another one holds.
pub fn plan(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    let plan = match tariff::read("p", text) {
        Ok(plan) => plan,
        Err(mistakes) => {
            let lines = text.split('\n').count();
            let is_there = |place: &Place| match place {
                Place::File { line, column, .. } => {
                    let of = text.split('\n').nth(line.saturating_sub(1)).unwrap_or_default();
                    (1..=lines).contains(line) && (1..=of.chars().count() + 1).contains(column)
                }
                _ => false,
            };
            // A plan without a zone has mistakes elsewhere.
            return mistakes.iter().for_each(|one| assert!(is_there(&one.place), "{one}"));
        }
    };
    assert!((1..=tariff::NAME_OCTETS_MAX).contains(&plan.name.len()) && plan.currency.len() == 3);
    assert!(plan.versions.is_sorted_by(|one, next| one.from < next.from));
    let context = Context {
        rating_group: Some(10),
        apn: "internet",
        network: Plmn::read("20801"),
        destination: "33123",
        ..Context::default()
    };
    let mut at = plan.versions[0].from.clamp(0, 4_000_000_000);
    for _ in 0..8 {
        let holds = plan.rule(&context, at).map(|rule| rule.name.clone());
        let until = at.saturating_add(400 * 86_400);
        let Some(next) = plan.next_change(&context, at, until) else { break };
        assert!(next > at && next <= until);
        assert_eq!(plan.rule(&context, next - 1).map(|rule| rule.name.clone()), holds, "{at} {next}");
        at = next;
    }
}

/// The state of records: open ones (octets behind their length, two octets, the higher one first), entries that go on,
/// each behind its length; and the same octets as a cursor. What is read is written as what is read as the same, and
/// each record that ends has the next number.
pub fn records_state(octets: &[u8]) {
    if let Some(cursor) = Cursor::read(octets) {
        let mut again = Vec::new();
        cursor.put(&mut again);
        assert_eq!(Cursor::read(&again).as_ref(), Some(&cursor));
    }
    let mut parts = framed(octets);
    let Some(first) = parts.next().filter(|octets| slots(octets).is_some_and(|slots| slots <= u64::from(SLOTS))) else {
        return;
    };
    let Ok(mut fold) = Fold::read(first) else { return };
    again_as_fold(&fold);
    let mut source = Source::default();
    for entry in parts.filter_map(|part| Entry::decode(part).ok()) {
        // Entries come in their order, and name slots that can be: who reads them has looked.
        let slots = SLOTS.min(slots_by(entry.sequence));
        if entry.sequence < fold.entry() || entry.effects.iter().filter_map(Effect::slot).any(|slot| slot >= slots) {
            continue;
        }
        let (mut ended, first, before) = (Vec::new(), fold.number(), fold.records());
        source.entry = entry.sequence;
        fold.take(&entry, source, &mut ended);
        let numbers = (0..ended.len()).map(|at| first.wrapping_add(at as u32));
        assert!(ended.iter().map(|one| one.number).eq(numbers));
        assert_eq!(fold.records(), before + ended.len() as u64);
        again_as_fold(&fold);
    }
}

/// Slots of sessions that are followed: the list of pages up to the highest there is takes 25 MB, each time.
const SLOTS: u32 = 1 << 16;

/// The slots that open records say there are, behind what else they begin with.
fn slots(mut octets: &[u8]) -> Option<u64> {
    let _: (Cuts, (u64, (u32, u64))) = Octets::take(&mut octets)?;
    Octets::take(&mut octets)
}

fn again_as_fold(fold: &Fold) {
    let mut octets = Vec::new();
    let put = |piece: &[u8]| -> Result<(), core::convert::Infallible> {
        octets.extend_from_slice(piece);
        Ok(())
    };
    let Ok(()) = fold.put(put);
    assert_eq!(Fold::read(&octets).as_ref(), Ok(fold));
}

fn framed(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let (length, behind) = rest.split_first_chunk()?;
        let (part, behind) = behind.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        rest = behind;
        Some(part)
    })
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
