//! Filters and summaries over many calls that are written bit by bit, some twice; questions that are stopped.

use super::*;
use crate::search::{Outcome, Search};
use crate::stop::Stop;
use crate::summary::{Summary, SummaryQuery};
use crate::time::MINUTE_NS;
use std::time::Duration;

const FILTERS: [&str; 28] = [
    "state:completed",
    "not state:completed",
    "code:4xx",
    "code>=500 or missing:code",
    "mos<3",
    "mos<3 and duration>=20",
    "not mos<3",
    "has:verdict",
    "verdict:lo*",
    "ua:*9*",
    "ua:nothing",
    "codec:PCMA and jitter>7",
    "lost>5% hangup:callee",
    "pdd<700ms",
    "setup>2.000001s",
    "duration:7s",
    "ip:198.51.100.0/24",
    "ip:198.51.100.7:5060",
    "src:10.0.3.0/24 or dst:10.0.0.9",
    "ip:2001:db8::2",
    "number:*7",
    "number:+331* and mos<3",
    "not number:+33121",
    "caller:+4420700* and not callee:\\*21\\*1*",
    "callee:\\*21\\*77# or caller:+44207000088",
    "ssrc:34",
    "callid:*9@*",
    "start>=2026-11-20T01:00:07 start<2026-11-20T01:00:08.5",
];

/// Calls of every kind, some hundred milliseconds after each other.
fn varied(n: i64) -> Call {
    let full = call(n);
    let ns = |ms: i64| ms * 1_000_000;
    let start_ns = DAY + n * ns(700) + n % 7 * 1001;
    let kinds = [CallState::Completed, CallState::Rejected, CallState::Cancelled, CallState::Answered];
    let state = kinds[(n % 4) as usize];
    let answered = matches!(state, CallState::Completed | CallState::Answered);
    let after = |ms: i64, is: bool| is.then_some(start_ns + ns(ms));
    let host = |a: i64, b: i64| format!("10.0.{a}.{b}:5060").parse().unwrap();
    let mut streams = full.streams.clone();
    streams.iter_mut().for_each(|s| s.jitter_max_ms = (n % 13) as f64 * 1.1);
    Call {
        id: Id::derive(start_ns, &n.to_le_bytes()),
        state,
        start_ns,
        ringing_ns: after(300 + n % 1000, n % 5 > 0),
        answer_ns: after(2000, answered),
        // One ends before it was answered: clocks do such things.
        end_ns: after(if n == 70 { 1 } else { 2000 + n % 60 * 1000 }, answered && n % 9 > 0),
        last_ns: start_ns + ns(70_000),
        code: [200, 486, 487, 200, 503, 0, 603][(n % 7) as usize],
        src: host(n % 5, n % 250),
        dst: host(0, n % 11),
        user_agent: if n % 3 == 0 { String::new() } else { format!("Phone {}", n % 30) },
        mos: answered.then_some(1.5 + (n % 30) as f32 / 10.0),
        verdict: full.verdict.filter(|_| n % 10 == 0),
        ladder: Ladder {
            hosts: vec![host(n % 5, n % 250), "198.51.100.7:5061".parse().unwrap()][..1 + (n % 2) as usize].to_vec(),
            ..Ladder::default()
        },
        streams: if answered { streams } else { vec![] },
        ..full
    }
}

/// Written in the order of their end, in commits of very different size; every sixth first as far as it had come.
fn write_bit_by_bit(b: &mut dyn Backend, calls: &[Call]) {
    let (mut rest, mut size) = (calls, 1);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(size.min(rest.len()));
        let begun = now.iter().step_by(6).map(begun);
        store(b, &super::calls(begun.chain(now.iter().cloned())));
        (rest, size) = (later, size * 5 % 397 + 1);
    }
}

fn summary_of(b: &dyn Backend, filter: &str, span: (i64, i64), buckets: usize) -> Summary {
    let filter = (!filter.is_empty()).then(|| Filter::parse(filter).unwrap());
    let query = SummaryQuery { filter, from_ns: span.0, to_ns: span.1, buckets, ..SummaryQuery::default() };
    b.summary(&query).unwrap()
}

fn assert_summary(b: &dyn Backend, calls: &[Call], filter: &str, span: (i64, i64), buckets: usize) {
    let summary = summary_of(b, filter, span, buckets);
    let parsed = (!filter.is_empty()).then(|| Filter::parse(filter).unwrap());
    let (mut totals, mut expected) = (Minute::default(), summary.buckets.clone());
    expected.iter_mut().for_each(|b| *b = crate::Bucket { at_ns: b.at_ns, ..crate::Bucket::default() });
    let passes = |c: &&Call| parsed.as_ref().is_none_or(|f| f.matches(c)) && (span.0..span.1).contains(&c.start_ns);
    for call in calls.iter().filter(passes) {
        totals.add(&rollup::of(call), 1);
        let at = |bucket: &crate::Bucket| bucket.at_ns <= call.start_ns;
        expected.iter_mut().rfind(|b| at(b)).into_iter().for_each(|b| b.add(&rollup::of(call)));
    }
    assert_eq!(summary.totals, totals, "{filter}");
    assert_eq!(summary.buckets, expected, "{filter}");
    assert_eq!((summary.exact, summary.seen_from_ns, summary.skipped), (true, None, vec![]));
}

#[test]
fn gists_say_what_rows_say() {
    on_each(|open| {
        let mut b = open(Access::Write);
        let given: Vec<Call> = (0..3000).map(|n| varied(if n < 2000 { n } else { n + 121_000 })).collect();
        write_bit_by_bit(&mut *b, &given);
        let newest: Vec<Call> = given.iter().rev().cloned().collect();
        let of = |calls: &[Call]| calls.iter().map(|c| c.id).collect::<Vec<_>>();
        for filter in FILTERS {
            let parsed = Filter::parse(filter).unwrap();
            let expected: Vec<Call> = newest.iter().filter(|c| parsed.matches(c)).cloned().collect();
            let query = Query { filter: Some(parsed.clone()), limit: 10_000, ..Query::default() };
            assert!(of(&b.calls(&query).unwrap().rows) == of(&expected), "{filter}");
            let mut query = Query { filter: Some(parsed), limit: 70, order: Order::Oldest, ..Query::default() };
            let mut found = vec![];
            loop {
                let page = b.calls(&query).unwrap();
                found.extend(of(&page.rows));
                query.cursor = page.next;
                if query.cursor.is_none() {
                    break;
                }
            }
            found.reverse();
            assert!(found == of(&expected), "{filter}, oldest first");
        }
        let odd = (DAY + 100_300_400_500, DAY + 1_999_000_000_001);
        for filter in FILTERS.into_iter().chain([""]) {
            for (span, buckets) in
                [((i64::MIN, i64::MAX), 50), (odd, 7), (odd, 1999), ((odd.0, odd.0 + 9), 3), (odd, 0)]
            {
                assert_summary(&*b, &given, filter, span, buckets);
            }
        }
        let all = summary_of(&*b, "", (i64::MIN, i64::MAX), 100);
        assert_eq!((all.from_ns, all.to_ns % MINUTE_NS), (DAY, 0));
        assert!(all.to_ns > newest[0].start_ns && all.to_ns <= newest[0].start_ns + MINUTE_NS);
    });
}

#[test]
fn a_summary_of_nothing_is_empty() {
    on_each(|open| {
        let b = open(Access::Write);
        for (filter, span) in [("", (i64::MIN, i64::MAX)), ("mos<3", (i64::MIN, i64::MAX)), ("", (5, 5)), ("", (9, 3))]
        {
            let summary = summary_of(&*b, filter, span, 10);
            assert_eq!((summary.totals, summary.buckets.len(), summary.exact), (Minute::default(), 0, true));
        }
        assert_eq!(summary_of(&*b, "", (DAY, DAY + 60 * SECOND_NS), 6).buckets.len(), 6);
    });
}

#[test]
fn what_is_stopped_goes_on_where_it_stopped() {
    on_each(|open| {
        let mut b = open(Access::Write);
        let given: Vec<Call> = (0..2500).map(|n| varied(n * 60)).collect();
        write_bit_by_bit(&mut *b, &given);
        for filter in
            ["state:completed", "ssrc:34", "callid:*99@*", "verdict:nothing", "caller:+44* callid:*7@*", "mos<3"]
        {
            for order in [Order::Newest, Order::Oldest] {
                let filter = Filter::parse(filter).unwrap();
                let mut expected: Vec<Id> = given.iter().filter(|c| filter.matches(c)).map(|c| c.id).collect();
                if order == Order::Newest {
                    expected.reverse();
                }
                let stop = Stop::after(Duration::ZERO);
                let mut query = Query { filter: Some(filter), order, limit: 10_000, stop, ..Query::default() };
                let (mut found, mut pages) = (vec![], 0);
                loop {
                    let page = b.calls(&query).unwrap();
                    assert_eq!(page.stopped, page.next.is_some());
                    found.extend(page.rows.iter().map(|c| c.id));
                    pages += 1;
                    query.cursor = page.next.map(|c| c.to_string().parse().unwrap());
                    if query.cursor.is_none() {
                        break;
                    }
                }
                assert!(found == expected);
                assert!(pages > 20, "{pages}");
            }
        }
        let query = |filter: &str| SummaryQuery {
            filter: Some(Filter::parse(filter).unwrap()),
            stop: Stop::after(Duration::ZERO),
            ..SummaryQuery::default()
        };
        for filter in ["state:completed", "ssrc:34"] {
            let part = b.summary(&query(filter)).unwrap();
            let from = part.seen_from_ns.unwrap();
            assert!(!part.exact && from > DAY);
            let parsed = Filter::parse(filter).unwrap();
            let seen = given.iter().filter(|c| c.start_ns >= from && parsed.matches(c)).count();
            assert_eq!(part.totals.started as usize, seen, "{filter}");
        }
        let switch = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let gone = SummaryQuery { stop: Stop::never().or_when(switch), ..query("mos<3") };
        assert!(!b.summary(&gone).unwrap().exact);
    });
}

#[test]
fn registrations_and_events_are_found_by_text() {
    on_each(|open| {
        let mut b = open(Access::Write);
        let at = |n: i64| DAY + n * 40 * SECOND_NS;
        let code = |n: i64| [200, 403, 0, 200][(n % 4) as usize];
        let registration = |n: i64| Registration {
            id: Id::derive(at(n), &n.to_le_bytes()),
            user: format!("+4420{n:04}"),
            aor: format!("sip:+4420{n:04}@example.com"),
            user_agent: if n % 2 == 0 { "Yealink T46".into() } else { String::new() },
            start_ns: at(n),
            code: code(n),
            src: format!("10.0.{}.{}:5060", n / 250, n % 250).parse().unwrap(),
            ..Registration::default()
        };
        let event = |n: i64| SipEvent {
            id: Id::derive(at(n), &n.to_be_bytes()),
            method: ["OPTIONS", "NOTIFY", "X'Y"][(n % 3) as usize].into(),
            from: format!("pbx{n}"),
            start_ns: at(n),
            code: code(n),
            ..SipEvent::default()
        };
        let registrations: Vec<_> = (0..3000).map(registration).collect();
        let events: Vec<_> = (0..3000).map(event).collect();
        store(&mut *b, &Rows { registrations: registrations.clone(), events: events.clone(), ..Rows::default() });
        for (text, state, order, stop) in [
            ("", None, Order::Newest, Stop::never()),
            ("+44200", Some(Outcome::Ok), Order::Oldest, Stop::never()),
            ("yea* *t46", Some(Outcome::Failed), Order::Newest, Stop::after(Duration::ZERO)),
            ("10.0.3.0/24", None, Order::Oldest, Stop::after(Duration::ZERO)),
            ("+442017* 10.0.6.0/24", Some(Outcome::Unanswered), Order::Newest, Stop::never()),
            ("nobody", None, Order::Newest, Stop::never()),
        ] {
            let terms = crate::search::Terms::parse(text);
            let wanted =
                |r: &&Registration| terms.match_registration(r) && state.is_none_or(|s| s == Outcome::of(r.code));
            let mut expected: Vec<Id> = registrations.iter().filter(wanted).map(|r| r.id).collect();
            if order == Order::Newest {
                expected.reverse();
            }
            let mut search = Search { text: text.into(), state, order, limit: 100, stop, ..Search::default() };
            let mut found = vec![];
            loop {
                let page = b.search_registrations(&search).unwrap();
                found.extend(page.rows.iter().map(|r| r.id));
                search.cursor = page.next;
                if search.cursor.is_none() {
                    break;
                }
            }
            assert!(found == expected, "{text}");
            let search = Search { stop: Stop::never(), ..search };
            let counts = b.count_registrations(&search).unwrap();
            let of =
                |o| registrations.iter().filter(|r| terms.match_registration(r) && Outcome::of(r.code) == o).count();
            let expected = [Outcome::Ok, Outcome::Failed, Outcome::Unanswered].map(|o| of(o) as u64);
            assert_eq!([counts.ok, counts.failed, counts.unanswered], expected);
            assert!(counts.exact);
        }
        let by_method = |method: &str, text: &str| {
            let search = Search { method: method.into(), text: text.into(), limit: 5000, ..Search::default() };
            let counts = b.count_events(&search).unwrap();
            assert_eq!(counts.ok + counts.failed + counts.unanswered, counts.methods.iter().map(|m| m.1).sum::<u64>());
            (b.search_events(&search).unwrap().rows.len(), counts.methods.len())
        };
        assert_eq!(by_method("", ""), (3000, 3));
        assert_eq!(by_method("notify", ""), (1000, 1));
        assert_eq!(by_method("notify", "pbx100"), (5, 1));
        assert_eq!(by_method("x' OR 1 --", ""), (0, 0));
        let some = b.count_events(&Search { stop: Stop::after(Duration::ZERO), ..Search::default() }).unwrap();
        let seen = events.iter().filter(|e| e.start_ns >= some.seen_from_ns.unwrap()).count() as u64;
        let counted = some.ok + some.failed + some.unanswered;
        assert!(!some.exact && counted >= seen && counted <= seen + 1 && counted < 3000);
    });
}
