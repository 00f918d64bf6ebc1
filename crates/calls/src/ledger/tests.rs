use super::*;
use trunkline_capture::LossPlace;

const MS: i64 = 1_000_000;

/// A call of ten seconds with a stream each way; 5 packets of the caller's are missing at 4 s, and 3 at 8 s.
fn call() -> Call {
    let of =
        |direction, missing| Stream { direction, missing, expected: 500, packets: 500 - missing, ..Stream::default() };
    Call {
        state: CallState::Completed,
        answer_ns: Some(0),
        end_ns: Some(10_000 * MS),
        last_ns: 10_000 * MS,
        streams: vec![of(Direction::Caller, 8), of(Direction::Callee, 0)],
        ..Call::default()
    }
}

fn evidence(lane: Option<u16>) -> Vec<Evidence> {
    let gaps = vec![Gap::new(4000 * MS, 4120 * MS, 5), Gap::new(8000 * MS, 8080 * MS, 3)];
    vec![Evidence { gaps, lane, ..Evidence::default() }, Evidence { lane, ..Evidence::default() }]
}

fn loss(place: LossPlace, file: u32, at_ms: i64, packets: u64) -> CaptureLoss {
    CaptureLoss { since_ns: (at_ms - 50) * MS, at_ns: at_ms * MS, packets, file, place }
}

fn ledger_of(mut call: Call, evidence: &[Evidence], reports: &[CaptureLoss]) -> CaptureLedger {
    let mut losses = Losses::default();
    reports.iter().for_each(|l| losses.keep(*l));
    let facts = Facts { invite_seen: true, ..Facts::default() };
    let case = Case { facts: &facts, evidence, files: &[0], deadline_ns: 15_000 * MS, at_end: false };
    ledger(&mut call, &case, &losses);
    call.capture
}

#[test]
fn what_was_not_recorded_was_analysed() {
    let reports = [
        loss(LossPlace::Buffer, file_of_lane(3), 4100, 40),
        loss(LossPlace::Disk, file_of_lane(3), 5000, 2),
        loss(LossPlace::Rule, file_of_lane(3), 5000, 1000),
        loss(LossPlace::Disk, file_of_lane(4), 5000, 7),
    ];
    let mut sound = call();
    sound.streams[0].missing = 0;
    let ledger =
        ledger_of(sound, &[Evidence { lane: Some(3), ..Evidence::default() }, evidence(Some(3)).remove(1)], &reports);
    assert_eq!((ledger.complete, ledger.lost_at_tap), (true, 0));
    assert_eq!(ledger.note, "42 packets of this lane were not recorded while the call was up");
}

#[test]
fn drops_of_another_lane_or_time_are_none_of_the_calls() {
    let all = |reports: &[CaptureLoss]| {
        let ledger = ledger_of(call(), &evidence(Some(3)), reports);
        assert_eq!((ledger.lost_at_tap + ledger.lost_before_tap, ledger.lost_at_tap_least), (8, 0));
        ledger
    };
    let (mine, other) = (file_of_lane(3), file_of_lane(4));
    assert!(all(&[loss(LossPlace::Ring, other, 4100, 99)]).complete);
    // An interface's card may have lost of any of its lanes, and of no other's.
    assert!(all(&[loss(LossPlace::Card, file_of_lanes(0, 3), 4100, 99)]).complete);
    assert_eq!(all(&[loss(LossPlace::Card, file_of_lanes(2, 2), 4100, 99)]).lost_at_tap, 5);
    assert!(all(&[loss(LossPlace::Ring, mine, 11_000, 99)]).complete);
    // In its lane, but nothing is missing then; and then as much as was dropped, at most.
    let quiet = all(&[loss(LossPlace::Ring, mine, 6000, 99)]);
    assert_eq!((quiet.complete, quiet.lost_at_tap), (false, 0));
    assert_eq!(all(&[loss(LossPlace::Ring, mine, 4100, 99)]).lost_at_tap, 5);
    assert_eq!(all(&[loss(LossPlace::Interface, mine, 4100, 2), loss(LossPlace::Ring, mine, 8050, 2)]).lost_at_tap, 4);
    assert_eq!(all(&[loss(LossPlace::Ring, mine, 4100, 2), loss(LossPlace::Ring, mine, 4110, 2)]).lost_at_tap, 4);
}

#[test]
fn a_receivers_report_decides_up_to_its_time() {
    let (mut call, mut evidence) = (call(), evidence(None));
    // At 5 s it had lost two of the five that are missing here.
    (call.streams[0].rtcp.lost, call.streams[0].rtcp.missing_here) = (Some(2), Some(5));
    evidence[0].reported_ns = Some(5000 * MS);
    let reports = [loss(LossPlace::Interface, 0, 4100, 99)];
    assert_eq!(ledger_of(call.clone(), &evidence, &reports).lost_at_tap, 3);
    let reports = [loss(LossPlace::Interface, 0, 4100, 99), loss(LossPlace::Interface, 0, 8050, 99)];
    let ledger = ledger_of(call, &evidence, &reports);
    assert_eq!((ledger.lost_at_tap, ledger.lost_at_tap_least, ledger.lost_before_tap), (6, 3, 2));
}

#[test]
fn files_one_after_the_other_carry_a_call_and_files_beside_it_do_not() {
    let mut evidence = evidence(None);
    evidence[0].files = (1, 3);
    for (file, lost) in [(1, 5), (2, 5), (3, 5), (4, 0)] {
        assert_eq!(ledger_of(call(), &evidence, &[loss(LossPlace::Interface, file, 4100, 9)]).lost_at_tap, lost);
    }
}
