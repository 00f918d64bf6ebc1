//! What every backend must do, each case on an empty store. A new backend is one line in [`BACKENDS`].

mod numbers;
mod sums;

use super::{Backend, sqlite::Sqlite};
use crate::filter::Filter;
use crate::json;
use crate::rollup::{self, Minute};
use crate::row::*;
use crate::store::{Access, Found, Order, Query, SqlLimits, SqlValue};
use crate::time::{DAY_NS, Day, SECOND_NS};
use std::path::Path;
use trunkline_kit::Id;

type Open = fn(&Path, Access) -> Box<dyn Backend>;

const BACKENDS: [(&str, Open); 2] = [
    ("sqlite", |path, access| Box::new(Sqlite::open(path, access).unwrap())),
    ("sqlite, loaded", |path, access| {
        let access = if access == Access::Write { Access::Load } else { access };
        Box::new(Sqlite::open(path, access).unwrap())
    }),
];

/// 2026-11-20T00:00:00Z.
const DAY: i64 = 1_795_132_800_000_000_000;

fn on_each(case: fn(&dyn Fn(Access) -> Box<dyn Backend>)) {
    for (name, open) in BACKENDS {
        println!("{name}");
        let folder = tempfile::tempdir().unwrap();
        case(&|access| open(folder.path(), access));
    }
}

/// A call with everything in it, `n` seconds into the day.
fn call(n: i64) -> Call {
    let start_ns = DAY + n * SECOND_NS + 123_456_789;
    let sip_call_id = format!("{n}@example.com");
    let id = Id::derive(start_ns, sip_call_id.as_bytes());
    let stream = |i: i64, direction| Stream {
        id: Id::derive(start_ns + i + 2 * SECOND_NS, sip_call_id.as_bytes()),
        call: Some(id),
        ssrc: n as u32 * 2 + i as u32,
        src: "192.0.2.1:4000".parse().unwrap(),
        dst: "[2001:db8::2]:4002".parse().unwrap(),
        direction,
        codec: "PCMA, telephone-event".into(),
        clock_rate: 8000,
        payload_types: vec![8, 101],
        ptime_ms: 20.0,
        packets: 100,
        octets: 16_000,
        expected: 105,
        lost: 5,
        missing: 6,
        lost_at_tap: 2,
        lost_at_tap_least: 1,
        recovered: 2,
        duplicates: 1,
        reordered: 2,
        jitter_mean_ms: 0.123_456_789,
        jitter_max_ms: 7.5,
        discarded: 3,
        first_ns: start_ns + i + 2 * SECOND_NS,
        last_ns: start_ns + 9 * SECOND_NS,
        mos: Mos { g107: Some(4.2), wideband: i == 1, vm_f1: Some(4.5), vm_f2: None, vm_adapt: Some(1.0) },
        mos_range: Some(MosRange { low: 3.5, high: 4.25 }),
        burst_ratio: Some(1.5),
        loss_runs: [1, 2, 0, 0, 0, 0, 0, 0, 0, 9],
        delay_histogram: [1, 0, 0, 0, 0, 0, 3],
        talkspurts: 2,
        comfort_noise: 1,
        dtmf: "12#".into(),
        encrypted: true,
        rtcp: RtcpSummary {
            sender_reports: 2,
            lost: Some(-1),
            missing_here: Some(0),
            lost_after_tap: 20,
            passed: 100,
            sent: Some(0),
            ..RtcpSummary::default()
        },
        skew_ppm: Some(-1.5),
        timestamp_jumps: 3,
        sequence_jumps: 1,
        mos_receiver: Some(2.5),
        dscp: 46,
        packet_first: 10,
        packet_last: 999,
        file: 1,
        offset_first: 1000,
        offset_last: 99_999,
    };
    let hosts: Vec<_> = ["198.51.100.1:5060", "[2001:db8::1]:5060"].iter().map(|h| h.parse().unwrap()).collect();
    let message = |i: i64, status| Message {
        at_ns: start_ns + i * 1001,
        packet: i as u64 + 1,
        status,
        method: 1,
        dst: 1,
        flags: Message::SDP,
        text: (0, 2),
        ..Message::default()
    };
    Call {
        id,
        sip_call_id: sip_call_id.clone(),
        state: CallState::Completed,
        from: format!("+4420700{n:04}"),
        to: format!("*21*{n}#"),
        from_uri: format!("sip:+4420700{n:04}@example.com"),
        to_uri: "tel:911".into(),
        shared: (0..n % 3)
            .map(|i| SharedStream { call: id, stream: Id::derive(i, b"s"), sender: Direction::Caller })
            .collect(),
        numbers: if n % 4 == 1 { vec![asserted(&format!("+3312{n}"))] } else { vec![] },
        start_ns,
        ringing_ns: Some(start_ns + SECOND_NS),
        answer_ns: Some(start_ns + 2 * SECOND_NS),
        end_ns: Some(start_ns + 9 * SECOND_NS),
        last_ns: start_ns + 10 * SECOND_NS,
        code: 200,
        reason: "OK".into(),
        hangup: Hangup::Callee,
        src: hosts[0],
        dst: hosts[1],
        user_agent: "Phone 1.0".into(),
        mos: Some(4.2),
        capture: CaptureLedger {
            lost_at_tap: 2,
            lost_at_tap_least: 1,
            lost_before_tap: 2,
            note: "cut".into(),
            mos_range: Some(MosRange { low: 2.5, high: 3.5 }),
            ..CaptureLedger::default()
        },
        verdict: Some(Verdict { kind: "loss".into(), text: "6 packets lost.".into(), packets: vec![5, 3, 900] }),
        ladder: Ladder { hosts, messages: vec![message(0, 0), message(1, 200)], texts: "OK".into(), not_kept: 0 },
        streams: vec![stream(0, Direction::Caller), stream(1, Direction::Callee)],
        files: vec!["/a.pcap".into(), "-".into()],
    }
}

/// A number beside those of From and To.
fn asserted(number: &str) -> OtherNumber {
    let sent = format!("P-Asserted-Identity: <sip:{number}@example.com>");
    OtherNumber { role: NumberRole::Asserted, number: number.into(), sent }
}

/// The same call as an earlier end of the capture would tell it.
fn begun(call: &Call) -> Call {
    Call {
        state: CallState::Ringing,
        answer_ns: None,
        end_ns: None,
        last_ns: call.start_ns + SECOND_NS,
        code: 180,
        mos: None,
        streams: vec![],
        verdict: None,
        hangup: Hangup::None,
        ..call.clone()
    }
}

fn calls(calls: impl IntoIterator<Item = Call>) -> Rows {
    Rows { calls: calls.into_iter().collect(), ..Rows::default() }
}

fn store(backend: &mut dyn Backend, rows: &Rows) {
    backend.write(rows).unwrap();
    backend.commit().unwrap();
}

fn all(backend: &dyn Backend) -> Vec<Call> {
    backend.calls(&Query { limit: 10_000, order: Order::Oldest, ..Query::default() }).unwrap().rows
}

fn filtered(backend: &dyn Backend, filter: &str) -> Vec<Call> {
    let filter = Some(Filter::parse(filter).unwrap());
    backend.calls(&Query { filter, ..Query::default() }).unwrap().rows
}

fn sums(calls: &[Call]) -> Vec<(i64, Minute)> {
    let mut minutes = std::collections::BTreeMap::<i64, Minute>::new();
    for call in calls {
        minutes.entry(rollup::minute_of(call.start_ns)).or_default().add(&rollup::of(call), 1);
    }
    minutes.into_iter().collect()
}

#[test]
fn a_call_comes_back_to_the_last_digit() {
    on_each(|open| {
        let given = [call(1), begun(&call(2)), Call { start_ns: DAY, id: Id::derive(DAY, b""), ..Call::default() }];
        let mut b = open(Access::Write);
        store(&mut *b, &calls(given.clone()));
        let mut back = all(&*b);
        back.sort_by_key(|c| given.iter().position(|g| g.id == c.id));
        assert_eq!(back, given);
        let text = |c: &Call| {
            let mut out = String::new();
            json::call_with_ladder(&mut out, c);
            out
        };
        assert_eq!(back.iter().map(text).collect::<Vec<_>>(), given.iter().map(text).collect::<Vec<_>>());
    });
}

#[test]
fn the_same_again_changes_nothing() {
    on_each(|open| {
        let rows = calls((0..50).map(call));
        let mut b = open(Access::Write);
        store(&mut *b, &rows);
        let before = (all(&*b), b.minutes(i64::MIN, i64::MAX).unwrap());
        store(&mut *b, &rows);
        drop(b);
        let mut b = open(Access::Write);
        store(&mut *b, &rows);
        assert_eq!((all(&*b), b.minutes(i64::MIN, i64::MAX).unwrap()), before);
        assert_eq!((b.written().calls_new, b.written().calls_known), (0, 50));
    });
}

#[test]
fn more_completes_and_less_takes_nothing_away() {
    on_each(|open| {
        let whole = call(7);
        let mut b = open(Access::Write);
        for (row, expected) in
            [(begun(&whole), begun(&whole)), (whole.clone(), whole.clone()), (begun(&whole), whole.clone())]
        {
            store(&mut *b, &calls([row]));
            assert_eq!(all(&*b), std::slice::from_ref(&expected));
            assert_eq!(b.minutes(i64::MIN, i64::MAX).unwrap(), sums(&[expected]));
        }
        let mut fewer_streams = whole.clone();
        fewer_streams.last_ns += 1;
        fewer_streams.streams.truncate(1);
        store(&mut *b, &calls([fewer_streams.clone()]));
        assert_eq!(all(&*b), [fewer_streams]);
    });
}

#[test]
fn calls_of_one_nanosecond_all_stay() {
    on_each(|open| {
        // The same number for all: the octets of the identifier that make it are the same.
        let same = |n: u8| {
            let mut id = *Id::derive(DAY, b"x").octets();
            id[8] = 0x80 | n;
            Call { id: Id::from_octets(id), sip_call_id: n.to_string(), ..begun(&call(0)) }
        };
        let mut b = open(Access::Write);
        let given: Vec<Call> = (0..20).map(|n| Call { start_ns: DAY, ..same(n) }).collect();
        store(&mut *b, &calls(given.clone()));
        store(&mut *b, &calls(given.iter().rev().cloned()));
        assert_eq!(all(&*b).len(), 20);
        for call in &given {
            assert_eq!(b.call(&call.id.to_string()).unwrap(), Found::One(Box::new(call.clone())));
        }
    });
}

#[test]
fn a_stream_moves_to_its_call() {
    on_each(|open| {
        let c = call(3);
        // The second stream begins after midnight, its call before.
        let mut late = call(86_399);
        late.streams.iter_mut().for_each(|s| {
            s.first_ns = DAY + DAY_NS + 5;
            s.id = Id::derive(s.first_ns, &s.ssrc.to_le_bytes());
        });
        for whole in [c, late] {
            let alone = Rows {
                streams: whole.streams.iter().map(|s| Stream { call: None, ..s.clone() }).collect(),
                ..Rows::default()
            };
            let mut b = open(Access::Write);
            store(&mut *b, &alone);
            let found = |b: &dyn Backend| b.streams_without_call(&Query::default()).unwrap().rows.len();
            assert_eq!(found(&*b), 2);
            store(&mut *b, &calls([whole.clone()]));
            assert_eq!(found(&*b), 0);
            store(&mut *b, &alone);
            assert_eq!(found(&*b), 0, "a later read without the signalling does not take it away");
            assert_eq!(b.call(&whole.id.to_string()).unwrap(), Found::One(Box::new(whole)));
        }
    });
}

#[test]
fn other_rows_come_back_and_keep_what_saw_more() {
    on_each(|open| {
        let whole = call(5);
        let alone = Stream { call: None, ..whole.streams[0].clone() };
        let interval = StreamInterval {
            stream: alone.id,
            index: 1,
            packets: 500,
            mos: Some(4.0),
            transit: Some(Transit { min_ms: -1.5, mean_ms: 2.25, max_ms: 70.0 }),
            round_trip_ms: Some(38.5),
            ..Default::default()
        };
        let registration = Registration {
            id: Id::derive(DAY + 1, b"r"),
            aor: "sip:1@example.com".into(),
            start_ns: DAY + 1,
            end_ns: Some(DAY + 2),
            code: 403,
            reason: "Forbidden".into(),
            requests: 2,
            verdict: whole.verdict.clone(),
            ..Registration::default()
        };
        let event = SipEvent {
            id: Id::derive(DAY + 1, b"e"),
            method: "OPTIONS".into(),
            start_ns: DAY + 1,
            ..Default::default()
        };
        let loss = Loss { since_ns: DAY, at_ns: DAY + 9, place: "interface".into(), source: "/a".into(), count: 3 };
        let charge = Charge {
            id: Id::derive(DAY + 1, b"c"),
            node: "ocs1".into(),
            number: u32::MAX,
            session: "pgw;1;2".into(),
            account: 17,
            msisdn: "442079460000".into(),
            start_ns: DAY + 1,
            end_ns: DAY + 9,
            record: Some(2),
            octets: 1 << 40,
            money: -500,
            services: "[{\"rating_group\":1}]".into(),
            file: "ocs1_-_42".into(),
            ..Charge::default()
        };
        let more = Rows {
            streams: vec![alone.clone()],
            intervals: vec![interval],
            registrations: vec![registration.clone()],
            events: vec![SipEvent { end_ns: Some(DAY + 4), code: 200, ..event.clone() }],
            losses: vec![loss.clone()],
            charges: vec![charge.clone()],
            ..Rows::default()
        };
        let less = Rows {
            streams: vec![Stream { packets: 3, last_ns: alone.last_ns - 1, ..alone }],
            intervals: vec![StreamInterval { packets: 4, ..interval }],
            registrations: vec![Registration { end_ns: None, code: 0, ..registration }],
            events: vec![event],
            losses: vec![Loss { at_ns: DAY + 1, count: 1, ..loss }],
            charges: vec![charge],
            ..Rows::default()
        };
        let mut b = open(Access::Write);
        for (rows, expected) in [(&less, &less), (&more, &more), (&more, &more), (&less, &more)] {
            store(&mut *b, rows);
            let q = Query::default();
            let back = Rows {
                calls: vec![],
                streams: b.streams_without_call(&q).unwrap().rows,
                intervals: b.intervals(interval.stream).unwrap(),
                registrations: b.registrations(&q).unwrap().rows,
                events: b.events(&q).unwrap().rows,
                losses: b.losses(&q).unwrap().rows,
                charges: b.charges(&q).unwrap().rows,
            };
            assert_eq!(&back, expected);
        }
    });
}

#[test]
fn pages_follow_each_other_over_days() {
    on_each(|open| {
        let given: Vec<Call> = (0..40).map(|n| call(n * 20_000)).collect();
        let registrations = given.iter().map(|c| Registration { id: c.id, start_ns: c.start_ns, ..Default::default() });
        let mut b = open(Access::Write);
        let rows = Rows { registrations: registrations.collect(), ..calls(given.clone()) };
        store(&mut *b, &rows);
        assert!(b.days().unwrap().len() > 8, "more days than are open at once");
        for (order, limit) in [(Order::Newest, 7), (Order::Oldest, 1), (Order::Newest, 40)] {
            let mut query = Query { order, limit, ..Query::default() };
            let (mut got, mut registered) = (vec![], vec![]);
            loop {
                let page = b.calls(&query).unwrap();
                assert!(page.rows.len() == limit || page.next.is_none());
                got.extend(page.rows);
                let Some(next) = page.next else { break };
                query.cursor = Some(next.to_string().parse().unwrap());
            }
            query.cursor = None;
            loop {
                let page = b.registrations(&query).unwrap();
                registered.extend(page.rows.into_iter().map(|r| r.id));
                query.cursor = page.next;
                if query.cursor.is_none() {
                    break;
                }
            }
            let mut expected = given.clone();
            if order == Order::Newest {
                expected.reverse();
            }
            assert_eq!(registered, expected.iter().map(|c| c.id).collect::<Vec<_>>());
            assert_eq!(got, expected);
        }
        let between = Query { from_ns: given[3].start_ns, to_ns: given[6].start_ns, ..Query::default() };
        assert_eq!(b.calls(&between).unwrap().rows.len(), 3);
        assert_eq!(b.registrations(&between).unwrap().rows.len(), 3);
        assert_eq!(filtered(&*b, "start>=2026-11-21 start<2026-11-22").len(), 4);
    });
}

#[test]
fn filters_find_by_index_and_without() {
    on_each(|open| {
        let mut b = open(Access::Write);
        store(&mut *b, &calls((0..300).map(call)));
        for (filter, count) in [
            ("caller:+44207000042", 1),
            ("caller:+442070000*", 100),
            ("caller:+442070000* or callee:nothing", 100),
            ("caller:+44207000042 and mos<3", 0),
            ("caller:*0042", 1),
            ("callee:\\*21\\*17#", 1),
            ("number:*7#", 30),
            ("callid:17@EXAMPLE.com", 1),
            ("callid:1*@example.com callee:*3#", 11),
            ("ip:198.51.100.0/24 caller:*1", 30),
            ("ip:2001:db8::2 and ssrc:34", 1),
            ("not ip:192.0.2.1", 0),
            ("verdict:loss codec:pcma lost>5% jitter:7.5ms ua:phone*", 100),
        ] {
            assert_eq!(filtered(&*b, filter).len(), count, "{filter}");
        }
    });
}

#[test]
fn a_call_is_found_by_its_names() {
    on_each(|open| {
        let mut b = open(Access::Write);
        let given: Vec<Call> = (0..30).map(|n| call(n * 9000)).collect();
        store(&mut *b, &calls(given.clone()));
        let id = given[17].id.to_string();
        for name in [id.as_str(), &id[..20], &id.replace('-', "").to_uppercase()[..14], &given[17].sip_call_id] {
            assert_eq!(b.call(name).unwrap(), Found::One(Box::new(given[17].clone())), "{name}");
        }
        let Found::Many(many) = b.call(&id[..4]).unwrap() else { panic!() };
        let newest: Vec<_> =
            given.iter().rev().map(|c| (c.id, c.start_ns)).filter(|(i, _)| i.to_string()[..4] == id[..4]).collect();
        assert_eq!(many, newest[..newest.len().min(20)]);
        for name in ["", "zz", "ffffffff", "17@example.co", "0000"] {
            assert_eq!(b.call(name).unwrap(), Found::None, "{name}");
        }
        for call in &given {
            assert_eq!(b.call_by_id(call.id).unwrap().as_deref(), Some(call));
        }
        assert_eq!(b.call_by_id(Id::derive(given[17].start_ns, b"another")).unwrap(), None);
        assert_eq!(b.call_by_id(Id::default()).unwrap(), None);
    });
}

#[test]
fn only_what_is_committed_is_seen_and_a_day_can_be_dropped() {
    on_each(|open| {
        let mut b = open(Access::Write);
        b.write(&calls([call(1)])).unwrap();
        assert_eq!(all(&*open(Access::Read)), []);
        b.commit().unwrap();
        let reader = open(Access::Read);
        assert_eq!(all(&*reader), [call(1)]);
        b.drop_day(Day::of(DAY)).unwrap();
        assert_eq!(all(&*reader), []);
        store(&mut *b, &calls([call(2)]));
        assert_eq!(all(&*reader), [call(2)], "not the file that was dropped");
    });
}

#[test]
fn sql_sees_all_days_and_changes_nothing() {
    on_each(|open| {
        let mut b = open(Access::Write);
        store(&mut *b, &calls((0..20).map(|n| call(n * 20_000))));
        let run = |text: &str, limits: SqlLimits| {
            let mut rows = vec![];
            let done = b.sql(text, &limits, &mut |names, values| {
                rows.push((names.to_vec(), values.to_vec()));
                true
            });
            (rows, done)
        };
        let one = |text: &str| run(text, SqlLimits::default()).0.pop().map(|(_, values)| values);
        assert_eq!(one("SELECT count(*) FROM calls"), Some(vec![SqlValue::Whole(20)]));
        let text = |t: &str| SqlValue::Text(t.into());
        assert_eq!(
            one("SELECT c.start, state, c.src, reason, from_uri, s.codec, s.call = c.id, pdd, user_agent, verdict \
                 FROM calls c JOIN streams s ON s.call = c.id ORDER BY c.start_ns DESC LIMIT 1"),
            Some(vec![
                text("2026-11-24T09:33:20.123456Z"),
                text("completed"),
                text("198.51.100.1:5060"),
                text("OK"),
                text("sip:+4420700380000@example.com"),
                text("PCMA, telephone-event"),
                SqlValue::Whole(1),
                SqlValue::Real(1.0),
                text("Phone 1.0"),
                text("6 packets lost."),
            ])
        );
        for table in crate::schema::TABLES {
            assert!(run(&format!("SELECT * FROM {}", table.name), SqlLimits::default()).1.is_ok(), "{}", table.name);
        }
        for (wrong, why) in [
            ("DELETE FROM calls", "cannot modify"),
            ("DELETE FROM d0.calls", "only SELECT"),
            ("DROP TABLE d0.calls", "only SELECT"),
            ("ATTACH 'x.db' AS x", "only SELECT"),
            ("PRAGMA writable_schema = 1", "only SELECT"),
            ("CREATE TEMP TABLE x (y)", "only SELECT"),
            ("SELECT 1; SELECT 2", "one statement"),
            ("SELECT 1; DELETE FROM calls", "cannot modify"),
            ("SELECT load_extension('x')", "not authorized"),
            ("SELECT nosuch FROM calls", "no such column: nosuch"),
            ("SELEC", "syntax error"),
            ("", "only SELECT"),
        ] {
            let why_not = run(wrong, SqlLimits::default()).1.map(|_| ()).expect_err(wrong).to_string();
            assert!(why_not.contains(why), "{wrong}: {why_not}");
        }
        let two = SqlLimits { rows_max: 2, ..SqlLimits::default() };
        assert_eq!(run("SELECT id FROM calls", two).1.map(|d| (d.rows, d.cut)).unwrap(), (2, true));
        let quick = SqlLimits { time_max: std::time::Duration::from_millis(50), ..SqlLimits::default() };
        let endless = "WITH RECURSIVE n (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
        assert!(run(endless, quick).1.unwrap_err().to_string().contains("took longer"));
        let first_day = SqlLimits { to_ns: DAY + DAY_NS, ..SqlLimits::default() };
        assert_eq!(run("SELECT count(*) FROM calls", first_day).0[0].1, [SqlValue::Whole(5)]);
        assert_eq!(all(&*b).len(), 20);
        let nothing = SqlLimits { to_ns: 0, ..SqlLimits::default() };
        assert_eq!(run("SELECT count(*), max(start) FROM calls", nothing).0[0].1, [SqlValue::Whole(0), SqlValue::Null]);
    });
}
