//! Filters mean the same in memory and in SQL, on generated calls and filters.

use proptest::prelude::*;
use trunkline_kit::Id;
use trunkline_store::filter::{Kind, fields};
use trunkline_store::rollup::{self, Minute};
use trunkline_store::row::*;
use trunkline_store::{Access, Filter, Order, Query, Store, SummaryQuery};

const DAY: i64 = 1_795_132_800_000_000_000;

fn number() -> impl Strategy<Value = String> {
    prop_oneof!["[0-9]{0,4}", Just("+4420".to_owned()), Just("Alice".to_owned()), "[a-cA-C*\\\\é]{1,3}", "1\0[12]"]
}

fn state() -> impl Strategy<Value = CallState> {
    use CallState::*;
    prop::sample::select(vec![
        Attempted,
        Trying,
        Ringing,
        AuthChallenged,
        Redirected,
        Rejected,
        Cancelled,
        Answered,
        Completed,
        JoinedMidCall,
    ])
}

fn endpoint() -> impl Strategy<Value = trunkline_wire::Endpoint> {
    let texts = ["10.1.0.1:5060", "10.1.255.255:5061", "10.2.0.0:0", "[2001:db8::1]:5060", "[::]:0", "[fe80::1]:9"];
    prop::sample::select(texts.map(|t| t.parse().unwrap()).to_vec())
}

fn score() -> impl Strategy<Value = Option<f32>> {
    prop_oneof![Just(None), (10u32..50).prop_map(|m| Some(m as f32 / 10.0)), (1.0f32..4.6).prop_map(Some)]
}

fn stream() -> impl Strategy<Value = Stream> {
    let codecs = prop::sample::select(vec!["PCMA", "pcmu, telephone-event", "", ", ", "AMR-WB"]);
    (codecs, 0u32..4, endpoint(), endpoint(), 0u64..50, 0u64..100, 0.0..40.0f64, 0.0..40.0f64).prop_map(
        |(codec, ssrc, src, dst, missing, expected, jitter_mean_ms, jitter_max_ms)| Stream {
            codec: codec.into(),
            ssrc,
            src,
            dst,
            missing,
            expected,
            jitter_mean_ms,
            jitter_max_ms: jitter_max_ms.round(),
            ..Stream::default()
        },
    )
}

fn call() -> impl Strategy<Value = Call> {
    let after = || prop::option::of((0i64..200).prop_map(|n| n * 500_000_000));
    let others = prop::collection::vec(number(), 0..3);
    let names = (number(), number(), others, "[a-bA-B]{1,2}", prop::sample::select(vec!["", "Phone", "asterisk 1"]));
    let times = (0i64..200_000, after(), after(), after());
    let ending = (state(), prop::sample::select(vec![0u16, 180, 200, 404, 486, 503, 603]), 0u8..3, score());
    let verdict = prop::option::of(prop::sample::select(vec!["loss", "one-way-audio", ""]));
    let rest = (endpoint(), endpoint(), endpoint(), verdict, prop::collection::vec(stream(), 0..3));
    (names, times, ending, rest).prop_map(
        |(names, (start, ringing, answer, end), ending, (src, dst, hop, verdict, streams))| {
            let start_ns = DAY + start * 1_000_000_000;
            Call {
                from: names.0,
                to: names.1,
                numbers: names.2.into_iter().map(|number| OtherNumber { number, ..OtherNumber::default() }).collect(),
                sip_call_id: names.3,
                user_agent: names.4.into(),
                start_ns,
                ringing_ns: ringing.map(|n| start_ns + n),
                answer_ns: answer.map(|n| start_ns + n),
                end_ns: end.map(|n| start_ns + n),
                last_ns: start_ns + 7_000_000_000,
                state: ending.0,
                code: ending.1,
                hangup: [Hangup::None, Hangup::Caller, Hangup::Callee][usize::from(ending.2)],
                mos: ending.3,
                src,
                dst,
                ladder: Ladder { hosts: vec![hop], ..Ladder::default() },
                verdict: verdict.map(|kind| Verdict { kind: kind.into(), ..Verdict::default() }),
                streams,
                ..Call::default()
            }
        },
    )
}

/// A value that a field of this kind takes.
fn value(kind: Kind) -> BoxedStrategy<String> {
    let one_of = |values: &[&'static str]| prop::sample::select(values.to_vec()).prop_map(str::to_owned).boxed();
    let duration = || one_of(&["0", "2s", "10", "1m", "500ms", "7"]);
    match kind {
        Kind::Text => prop_oneof![
            "[0-9aAbB]{1,2}\\*?",
            "\\*[0-9aAé]{0,2}",
            Just("+4420*".into()),
            Just("\\\\*".into()),
            Just("*".into()),
            Just("pcm*".into()),
            Just("\"\"".into()),
            Just("loss".into()),
            Just("\"1\0\"".into()),
            Just("a*e".into()),
        ]
        .boxed(),
        // A whole name, or its beginning.
        Kind::Name(names) => (prop::sample::select(names.to_vec()), 0usize..3)
            .prop_map(|(name, length)| if length == 0 { name.to_owned() } else { format!("{}*", &name[..length]) })
            .boxed(),
        Kind::Code => one_of(&["200", "4xx", "5xx", "404"]),
        Kind::Score => {
            prop_oneof![(10u32..50).prop_map(|m| format!("{}.{}", m / 10, m % 10)), Just("3.456".to_owned())].boxed()
        }
        Kind::Seconds | Kind::Milliseconds => duration(),
        Kind::Percent => (0u32..60).prop_map(|share| format!("{share}%")).boxed(),
        Kind::Time => one_of(&["2026-11-20", "2026-11-21", "2026-11-20T10:00", "2026-11-22T01:00:07Z"]),
        Kind::Address => one_of(&[
            "10.1.0.0/16",
            "10.0.0.0/8",
            "0.0.0.0/0",
            "::/0",
            "2001:db8::1",
            "10.1.0.1:5060",
            "10.1.*",
            "fe80::/10",
            "::",
        ]),
        Kind::Ssrc => (0u32..5).prop_map(|ssrc| ssrc.to_string()).boxed(),
    }
}

/// A test of any field that there is, so that a new one is compared, too.
fn test() -> impl Strategy<Value = String> {
    prop::sample::select(fields()).prop_flat_map(|help| {
        let operators: &[&str] = if help.kind.is_ordered() { &[":", "!=", "<", "<=", ">", ">="] } else { &[":", "!="] };
        (prop::sample::select(operators), value(help.kind))
            .prop_map(move |(operator, value)| format!("{}{operator}{value}", help.name))
    })
}

fn filter() -> impl Strategy<Value = String> {
    test().prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|f| format!("not ({f})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} and {b}")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a} or {b})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn memory_and_sql_agree(
        mut calls in prop::collection::vec(call(), 1..40),
        filters in prop::collection::vec(filter(), 40),
    ) {
        for (n, call) in calls.iter_mut().enumerate() {
            call.id = Id::derive(call.start_ns, &n.to_le_bytes());
            for (i, stream) in call.streams.iter_mut().enumerate() {
                stream.id = Id::derive(call.start_ns, &(n, i).0.wrapping_mul(10).wrapping_add(i).to_be_bytes());
                stream.call = Some(call.id);
                stream.first_ns = call.start_ns;
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path(), Access::Write).unwrap();
        store.write(&Rows { calls: calls.clone(), ..Rows::default() }).unwrap();
        store.commit().unwrap();
        for text in filters {
            let filter = Filter::parse(&text).unwrap_or_else(|e| panic!("{e}\n{}", e.caret(&text)));
            let mut expected: Vec<Id> = calls.iter().filter(|c| filter.matches(c)).map(|c| c.id).collect();
            for (order, limit) in [(Order::Newest, 1000), (Order::Oldest, 3)] {
                let mut query = Query { filter: Some(filter.clone()), order, limit, ..Query::default() };
                let mut found = vec![];
                loop {
                    let page = store.calls(&query).unwrap();
                    prop_assert_eq!(&page.skipped, &[]);
                    found.extend(page.rows.iter().map(|c| c.id));
                    query.cursor = page.next;
                    if query.cursor.is_none() { break; }
                }
                expected.sort();
                found.sort();
                prop_assert_eq!(&found, &expected, "{}", text);
            }
            let part = (DAY + 7_777_000_000_123, DAY + 99_999_000_000_000, 2000);
            for (from_ns, to_ns, buckets) in [(i64::MIN, i64::MAX, 40), part] {
                let wanted = Some(filter.clone());
                let query = SummaryQuery { filter: wanted, from_ns, to_ns, buckets, ..Default::default() };
                let summary = store.summary(&query).unwrap();
                let mut totals = Minute::default();
                let mut bad = 0;
                for call in calls.iter().filter(|c| (from_ns..to_ns).contains(&c.start_ns) && filter.matches(c)) {
                    totals.add(&rollup::of(call), 1);
                    let bucket = summary.buckets.iter().rfind(|b| b.at_ns <= call.start_ns).unwrap();
                    prop_assert!(bucket.calls > 0);
                    bad += u64::from(rollup::of(call).bad > 0);
                }
                prop_assert_eq!(summary.totals, totals, "{}", text);
                prop_assert_eq!(summary.buckets.iter().map(|b| b.calls).sum::<u64>(), totals.started as u64);
                prop_assert_eq!(summary.buckets.iter().map(|b| b.bad).sum::<u64>(), bad);
                prop_assert!(summary.exact && summary.buckets.len() <= buckets);
            }
        }
    }
}
