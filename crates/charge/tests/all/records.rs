//! Records out of a ledger: what they say, and that each is there once after any end.

use crate::recorded;
use proptest::prelude::*;
use recorded::network::{NOW, Network, asked};
use recorded::world::{End, World};
use recorded::{CUTS, Life, closed, contents, expected, fold, network, settings, source};
use std::sync::Arc;
use trunkline_charge::account::{Effect, Entry};
use trunkline_charge::cdr::{Cuts, Fold, Kind, Opening, packets};
use trunkline_charge::job::records::{Cursor, Failure, Files, Form, Open, Report, Series, Settings, Step, checkpoint};
use trunkline_charge::session::Kind as Asks;
use trunkline_charge::trust::Trust;
use trunkline_charge::units::Amounts;
use trunkline_commit::{Disk, Folder};
use trunkline_wire::cdr::PgwRecord;
use trunkline_wire::cdr::file::{Closure, Lost, RecordHeader, Records};

#[test]
fn a_session_has_one_record_that_tells_what_it_used_and_cost() {
    let mut network = network();
    network.initial("s", vec![asked(1, None, Some(0)), asked(3, None, Some(0))]);
    network.now += 60;
    network.update("s", 1, vec![asked(1, Some(10_000), Some(0)), asked(3, Some(5_000), None)]);
    network.now += 60;
    network.end("s", 2, vec![asked(1, Some(1_500), None), asked(99, Some(77), None)]);
    let records = fold(&network.entries, Cuts::default());
    let [cdr] = &records[..] else { panic!("{records:?}") };
    assert_eq!((cdr.number, cdr.kind, cdr.cause, cdr.sequence, cdr.duration_s()), (1, Kind::Session, 0, None, 120));
    assert_eq!((&*cdr.opening.session, cdr.opening.subscriber, cdr.opening.account), ("s", 1, 1));
    let used: Vec<_> = cdr.services.iter().map(|s| (s.key.rating_group, s.rated, s.used.octets, s.money.0)).collect();
    // 12 steps of 1.5 minor units; what has no rule is told, and paid by nobody.
    assert_eq!(used, [(Some(1), true, 11_500, 18), (Some(3), true, 5_000, 0), (Some(99), false, 77, 0)]);
    assert_eq!((cdr.money().0, cdr.used().octets), (18, 16_577));
}

#[test]
fn records_are_cut_by_volume_time_and_services_and_numbered() {
    let mut network = network();
    network.initial("s", vec![asked(1, None, Some(0))]);
    network.update("s", 1, vec![asked(1, Some(70_000), Some(0))]);
    network.now += 3600;
    network.update("s", 2, vec![asked(1, Some(1_000), Some(0))]);
    network.update("s", 3, vec![asked(1, Some(1), None), asked(3, Some(1), None), asked(11, Some(1), None)]);
    network.end("s", 4, vec![]);
    let records = fold(&network.entries, CUTS);
    let told: Vec<_> = records.iter().map(|cdr| (cdr.number, cdr.sequence, cdr.cause, cdr.used().octets)).collect();
    assert_eq!(told, [(1, Some(1), 16, 70_000), (2, Some(2), 17, 1_000), (3, Some(3), 19, 3), (4, Some(4), 0, 0)]);
    assert!(records.windows(2).all(|pair| pair[0].ended == pair[1].began));
}

#[test]
fn ends_events_and_strays_are_told_apart() {
    let mut network = network();
    network.trust(Trust { refunds: vec!["gw.example".to_owned()], ..Trust::default() });
    let event = |network: &mut Network, name: &str, kind| {
        let mut request = network.request(name, kind, 0, vec![asked(10, None, Some(2))]);
        request.correlation = (*b"order 1").into();
        request.services[0].requested = Some(Amounts { service_units: 2, ..Amounts::default() });
        network.send(&request);
    };
    event(&mut network, "debit", Asks::DirectDebit);
    event(&mut network, "price", Asks::PriceEnquiry);
    event(&mut network, "refund", Asks::Refund);
    network.update("nobody", 7, vec![asked(1, Some(5), None), asked(2, Some(6), None)]);
    network.initial("aborted", vec![asked(1, None, Some(0))]);
    let entry = network.core.abort("aborted", network.now);
    network.entry(entry);
    network.end("aborted", 1, vec![]);
    network.initial("silent", vec![asked(1, None, Some(0))]);
    network.timeout(network.now + 100_000);
    let records = fold(&network.entries, CUTS);
    let told: Vec<_> = records.iter().map(|cdr| (&*cdr.opening.session, cdr.kind, cdr.cause, cdr.money().0)).collect();
    let expected = [
        ("debit", Kind::Event, 0, 20),
        ("refund", Kind::Event, 0, -20),
        ("nobody", Kind::Stray, 4, 0),
        ("aborted", Kind::Session, 20, 0),
        ("silent", Kind::Session, 4, 0),
    ];
    assert_eq!(told, expected);
    assert_eq!((records[2].services.len(), records[2].used().octets), (2, 11));
}

#[test]
fn a_fold_goes_on_from_its_octets_and_numbers_begin_again_after_the_last() {
    let mut network = network();
    for session in 0..40 {
        network.initial(&format!("s{session}"), vec![asked(1, None, Some(0))]);
        network.update(&format!("s{session}"), 1, vec![asked(1, Some(40_000), Some(0))]);
        if session % 3 == 0 {
            network.end(&format!("s{session}"), 2, vec![asked(1, Some(30_000), None)]);
        }
    }
    for cut in 0..network.entries.len() {
        let (mut whole, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let mut fold = Fold::new(CUTS, 0);
        network.entries[..cut].iter().for_each(|entry| fold.take(entry, source(entry.sequence), &mut before));
        let mut octets = Vec::new();
        let put = |piece: &[u8]| {
            octets.extend_from_slice(piece);
            Ok::<(), ()>(())
        };
        fold.put(put).unwrap();
        let mut again = Fold::read(&octets).unwrap();
        assert_eq!(again, fold);
        assert!(octets.is_empty() || Fold::read(&octets[..octets.len() - 1]).is_err() || fold.open().0 == 0);
        network.entries[cut..].iter().for_each(|entry| again.take(entry, source(entry.sequence), &mut after));
        let mut plain = Fold::new(CUTS, 0);
        network.entries.iter().for_each(|entry| plain.take(entry, source(entry.sequence), &mut whole));
        before.extend(after);
        assert_eq!(before, whole);
    }
    let mut octets = Vec::new();
    let fold = Fold::new(CUTS, 0);
    fold.put(|piece| {
        octets.extend_from_slice(piece);
        Ok::<(), ()>(())
    })
    .unwrap();
    // The number stands behind cuts and entry: 1 there becomes the last of 32 bits.
    let at = octets.len() - 3;
    octets.splice(at..=at, [0xff, 0xff, 0xff, 0xff, 0x0f]);
    let mut last = Fold::read(&octets).unwrap();
    assert_eq!(last.number(), u32::MAX);
    let mut out = Vec::new();
    network.entries.iter().for_each(|entry| last.take(entry, source(entry.sequence), &mut out));
    assert_eq!(out.iter().take(3).map(|ended| ended.number).collect::<Vec<_>>(), [u32::MAX, 0, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn each_record_is_in_one_file_after_any_end(
        lives in prop::collection::vec((0u32..60, 0u32..120, any::<bool>(), any::<u64>(), 0i64..40), 1..8),
        records in 1u32..12,
        back in 0i64..1_000_000,
    ) {
        let mut life = Life::new();
        let mut now = NOW;
        for (requests, operations, power, seed, step) in lives {
            life.go_on(requests);
            life.files.ends_after(operations);
            if let Ok(mut files) = life.open(settings(records)) {
                for at in 0..20 {
                    files.want_checkpoint();
                    // The clock goes on, stands, and once goes back.
                    now += if at == 7 { -back } else { step };
                    if files.step(life.durable(), now).is_err() {
                        break;
                    }
                    life.go_on(requests % 5);
                }
            }
            life.files.again(if power { End::Power } else { End::Killed }, seed);
        }
        life.go_on(13);
        let mut files = life.open(settings(records)).unwrap();
        files.end(life.durable(), now).unwrap();
        let (written, tables, _) = closed(&life.files);
        let (should, text) = expected(&life.network.entries);
        prop_assert_eq!(written, should);
        prop_assert_eq!(tables, text);
        // And once more nothing is written.
        let names = life.files.list().unwrap().len();
        life.open(settings(records)).unwrap().end(life.durable(), now).unwrap();
        prop_assert_eq!(life.files.list().unwrap().len(), names);
    }
}

#[test]
fn a_disk_that_fails_loses_nothing_and_the_file_tells() {
    let mut life = Life::new();
    life.go_on(80);
    let mut files = life.open(settings(1000)).unwrap();
    assert_eq!(files.step(life.durable(), NOW), Ok(Step::Rests));
    files.step(life.durable(), NOW + 6).unwrap();
    for operations in 0..12 {
        let now = NOW + 20 + i64::from(operations) * 20;
        life.go_on(40);
        files.step(life.durable(), now).unwrap();
        life.files.ends_after(operations);
        let failed = files.step(life.durable(), now + 6);
        life.files.again(End::Killed, 1);
        if let Err(why) = failed {
            assert!(matches!(why, Failure::Files(_)), "{why}");
        }
        files.step(life.durable(), now + 7).unwrap();
    }
    files.end(life.durable(), NOW + 2000).unwrap();
    let (written, _, closures) = closed(&life.files);
    assert_eq!(written, expected(&life.network.entries).0);
    assert!(closures.contains(&Closure::FileSystemError) && *closures.last().unwrap() != Closure::FileSystemError);
}

#[test]
fn files_are_closed_by_count_and_time_and_forgotten_when_they_are_old() {
    let mut life = Life::new();
    let keeps = Settings { keep_s: Some(100_000), ..settings(5) };
    let mut files = life.open(keeps.clone()).unwrap();
    for step in 0..30 {
        life.go_on(20);
        files.step(life.durable(), NOW + step).unwrap();
    }
    files.end(life.durable(), NOW + 30).unwrap();
    let mut files = life.open(Settings { records: 1000, ..keeps.clone() }).unwrap();
    life.go_on(80);
    for at in [40, 60, 1000] {
        files.step(life.durable(), NOW + at).unwrap();
    }
    let closures = closed(&life.files).2;
    assert!(closures.contains(&Closure::Count) && closures.contains(&Closure::Time), "{closures:?}");
    life.go_on(80);
    files.end(life.durable(), NOW + 200_000).unwrap();
    let names = life.files.list().unwrap();
    let left: Vec<_> = names.iter().filter(|name| name.ends_with(".ber")).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn an_open_file_that_is_gone_is_told_as_lost() {
    let mut life = Life::new();
    life.go_on(80);
    let mut files = life.open(settings(1000)).unwrap();
    files.step(life.durable(), NOW).unwrap();
    files.step(life.durable(), NOW + 10).unwrap();
    let gone = Cursor::load(&*life.files).unwrap().unwrap().open.unwrap().records;
    drop(files);
    life.files.lose("open-0.ber.part");
    let mut files = life.open(settings(1000)).unwrap();
    let mut report = Report::default();
    files.tell(&mut report);
    assert_eq!(report.lost, u64::from(gone));
    life.go_on(40);
    files.end(life.durable(), NOW + 20).unwrap();
    let name = life.files.list().unwrap().into_iter().find(|name| name.ends_with(".ber")).unwrap();
    let octets = contents(&life.files, &name);
    assert_eq!(Records::check(&octets).unwrap().lost, Lost::of(u64::from(gone)));
}

#[test]
fn an_open_file_of_more_than_2_gib_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Folder::open(folder.path()).unwrap());
    let octets = vec![3 << 30, 40];
    let open = Open { opened: NOW, appended: NOW, records: 1, octets: octets.clone(), ..Open::default() };
    let cursor = Cursor { next: 1, open: Some(open), note: [1].into(), ..Cursor::default() };
    cursor.save(&*disk).unwrap();
    // Files with holes, the second longer than what counts of it.
    for (name, octets) in [("open-0.ber.part", 3 << 30), ("open-0.csv.part", 41)] {
        std::fs::File::create(folder.path().join(name)).unwrap().set_len(octets).unwrap();
    }
    let series = Series::open(Arc::clone(&disk), settings(1000)).unwrap();
    assert_eq!((series.cursor().open.as_ref().unwrap().octets.clone(), series.cursor().lost), (octets, 0));
    assert_eq!(std::fs::metadata(folder.path().join("open-0.csv.part")).unwrap().len(), 40);
}

/// A ledger, and the files with the records of all of it.
fn recorded() -> Life {
    let mut life = Life::new();
    life.go_on(200);
    life.open(settings(5)).unwrap().end(life.durable(), NOW).unwrap();
    life
}

#[test]
fn what_cannot_be_gone_on_with_is_refused() {
    let life = recorded();
    // Another ledger.
    let other = Life::new();
    let refused = Files::open(Arc::clone(&other.ledger), Arc::clone(&life.files), settings(5), CUTS).err().unwrap();
    assert!(refused.contains("record"), "{refused}");
    life.files.spoil("checkpoint", 15);
    // Without its checkpoint it reads the ledger again.
    life.open(settings(5)).unwrap();
    life.files.spoil("cursor", 20);
    let refused = life.open(settings(5)).err().unwrap();
    assert!(refused.contains("cursor is damaged"), "{refused}");
    life.files.lose("cursor");
    let refused = life.open(settings(5)).err().unwrap();
    assert!(refused.contains("no cursor"), "{refused}");
}

/// Its entries are as many, of the same sessions, at other times: counts say nothing, the last entry does.
#[test]
fn records_of_another_ledger_are_not_gone_on_with() {
    let life = recorded();
    let mut other = Life::new();
    other.network.now += 1;
    other.go_on(400);
    let before = closed(&life.files);
    let opened = Files::open(Arc::clone(&other.ledger), Arc::clone(&life.files), settings(5), CUTS);
    let refused = opened.err().unwrap();
    assert!(refused.starts_with("records were made of another ledger, by the checkpoint: entry "), "{refused}");
    assert_eq!(closed(&life.files), before);
    let found = checkpoint::load_of(&*other.ledger, &*life.files);
    assert_eq!(found.err(), Some(checkpoint::Unusable::Another(refused)));
    life.open(settings(5)).unwrap();
}

#[test]
fn what_was_set_holds_from_the_next_entry_on() {
    let mut life = Life::new();
    life.go_on(60);
    let never = Cuts::default();
    let of = |life: &Life, cuts| {
        Files::open(Arc::clone(&life.ledger), Arc::clone(&life.files), settings(1000), cuts).unwrap()
    };
    let mut files = of(&life, never);
    files.step(life.durable(), NOW).unwrap();
    files.step(life.durable(), NOW + 10).unwrap();
    drop(files);
    life.go_on(140);
    drop(of(&life, CUTS));
    let mut files = of(&life, CUTS);
    files.end(life.durable(), NOW + 20).unwrap();
    let (written, ..) = closed(&life.files);
    let read = |octets: &Vec<u8>| PgwRecord::read(octets).unwrap().octets();
    let used: u64 = written.iter().map(read).map(|(up, down)| up + down).sum();
    let whole: u64 = fold(&life.network.entries, never).iter().map(|cdr| cdr.used().octets).sum();
    let open: u64 = fold(&life.network.entries, CUTS).iter().map(|cdr| cdr.used().octets).sum();
    // Octets of sessions that are open stand in no record, but for what was cut.
    assert!(used >= whole && used >= open && written.len() > fold(&life.network.entries, never).len());
}

#[test]
fn records_of_others_are_kept_as_they_came() {
    let mut life = Life::new();
    life.go_on(80);
    let (records, _) = expected(&life.network.entries);
    let forms = Settings { forms: vec![Form::Ber], private: Some("dup".to_owned()), ..settings(1000) };
    let world = Arc::new(World::default());
    let mut series = Series::open(Arc::clone(&world), forms.clone()).unwrap();
    assert!(series.note().is_empty());
    let header: RecordHeader = packets::header();
    assert!(series.append_received(&header, &records[0], NOW));
    assert!(series.append_received(&header, &records[1], NOW));
    assert!(series.append_received(&header, b"of another kind", NOW));
    assert!(!series.append_received(&header, &[0; 70_000], NOW));
    series.commit(b"so far").unwrap();
    drop(series);
    let mut series = Series::open(Arc::clone(&world), forms).unwrap();
    assert_eq!(series.note(), b"so far");
    let name = series.close(Closure::Manual, NOW).unwrap().unwrap().name;
    assert!(name.ends_with(".dup"), "{name}");
    let octets = contents(&world, &format!("{name}.ber"));
    let header = Records::check(&octets).unwrap();
    let kept: Vec<_> = Records::new(&octets, &header).map(|record| record.unwrap().1).collect();
    assert_eq!(header.closure, Closure::Manual);
    assert_eq!(kept, [&records[0][..], &records[1][..], b"of another kind"]);
}

#[test]
fn a_refund_in_the_session_of_its_debit_has_a_record_of_its_own() {
    let mut network = network();
    network.trust(Trust { refunds: vec!["gw.example".to_owned()], ..Trust::default() });
    network.initial("s", vec![asked(1, None, Some(0)), asked(3, None, Some(0))]);
    network.end("s", 1, vec![asked(1, Some(10_000), None), asked(3, Some(10_000), None)]);
    network.now += 7;
    let refund = network.request("s", Asks::Refund, 2, vec![asked(1, None, None)]);
    network.send(&refund);
    let records = fold(&network.entries, CUTS);
    let told: Vec<_> = records.iter().map(|cdr| (&*cdr.opening.session, cdr.kind, cdr.money().0)).collect();
    assert_eq!(told, [("s", Kind::Session, 15), ("s", Kind::Event, -15)]);
    let Opening { origin, subscriber, account, at, .. } = &records[1].opening;
    assert_eq!((&**origin, *subscriber, *account, *at), ("gw.example", 1, 1, network.now));
}

#[test]
fn money_of_records_is_that_of_the_ledger() {
    let mut life = Life::new();
    life.go_on(500);
    let entries = &life.network.entries;
    let charged = |entry: &Entry| -> i64 {
        let money = |effect: &Effect| match effect {
            Effect::Charged { charge, .. } => charge.money.0,
            Effect::Refunded { refund, .. } => -refund.money.0,
            _ => 0,
        };
        entry.effects.iter().map(money).sum()
    };
    let all = Cuts { seconds: 1, ..CUTS };
    let records: i64 = fold(entries, all).iter().map(|cdr| cdr.money().0).sum();
    assert_eq!(records, entries.iter().map(charged).sum::<i64>(), "with a record for each request all is told");
}
