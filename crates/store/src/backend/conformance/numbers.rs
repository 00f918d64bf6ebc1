//! What an index of numbers and Call-IDs can get wrong.

use super::*;

/// Numbers of every kind, many of which begin alike: digits to E.164's fifteen and beyond, names, what SIP allows.
const NUMBERS: [&str; 32] = [
    "",
    "0",
    "+",
    "00",
    "+44",
    "+442071234567",
    "+4420712345678",
    "+44207123456",
    "+442071234567890",
    "+4420712345678901",
    "+4420712345678902",
    "+4420712345678901;ext=1",
    "123456789012345",
    "1234567890123456",
    "123456789012345678901234567890",
    "*21*1#",
    "#31#",
    "alice",
    "Alice",
    "ALICE.SMITH@home",
    "alice.smith",
    "aliceb",
    "p",
    "q",
    "sip-user-1001",
    "sip-user-1002",
    "anonymous",
    "\u{e9}l\u{e8}ve",
    "\u{c9}l\u{e8}ve",
    "\u{1f4de}",
    "1\u{0}2",
    "1\u{0}",
];

/// A filter on one field that means this text, every character as it is; with `*` all that begins so.
fn by_text(field: &str, text: &str, tail: &str) -> String {
    if text.is_empty() && tail.is_empty() {
        return format!("{field}:\"\"");
    }
    let escaped: String = text.chars().flat_map(|c| ['\\', c]).collect();
    format!("{field}:{escaped}{tail}")
}

/// All filters on numbers find what they find in memory, one page after the other, each call once.
fn assert_numbers_are_found(b: &dyn Backend, texts: &[&str]) {
    let calls = all(b);
    for text in texts {
        for (tail, cut) in [("", 0), ("*", 0), ("*", 1), ("*", 2), ("*", 9)] {
            let count = text.chars().count();
            let beginning: String = text.chars().take(count.saturating_sub(cut)).collect();
            for field in ["caller", "callee", "number"] {
                let filter = by_text(field, &beginning, tail);
                let parsed = Filter::parse(&filter).unwrap();
                let expected: Vec<Id> = calls.iter().filter(|c| parsed.matches(c)).map(|c| c.id).collect();
                for (order, limit) in [(Order::Oldest, 10_000), (Order::Newest, 7)] {
                    let mut query = Query { filter: Some(parsed.clone()), order, limit, ..Query::default() };
                    let mut found = vec![];
                    loop {
                        let page = b.calls(&query).unwrap();
                        found.extend(page.rows.iter().map(|c| c.id));
                        query.cursor = page.next;
                        // Of the newest only the first pages: the rest is the same.
                        if query.cursor.is_none() || found.len() > 20 {
                            break;
                        }
                    }
                    let mut expected = expected.clone();
                    if order == Order::Newest {
                        expected.reverse();
                        expected.truncate(found.len().max(20));
                    }
                    assert_eq!(found, expected, "{filter}");
                }
            }
        }
    }
}

#[test]
fn numbers_of_every_kind_are_found() {
    on_each(|open| {
        let mut b = open(Access::Write);
        // Each number as caller and as callee, from the first second of the day to its last.
        let given = (0..96).map(|n| {
            let (from, to) = (NUMBERS[n % 32].to_owned(), NUMBERS[(n * 7 + n / 32) % 32].to_owned());
            let numbers = (0..n % 3).map(|k| asserted(NUMBERS[(n * 5 + k) % 32])).collect();
            Call { from, to, numbers, ..begun(&call(if n == 95 { 86_399 } else { n as i64 * 300 })) }
        });
        let given: Vec<Call> = given.collect();
        for part in given.chunks(10) {
            store(&mut *b, &calls(part.iter().cloned()));
        }
        assert_numbers_are_found(&*b, &NUMBERS);
        for call in &given {
            assert_eq!(b.call(&call.sip_call_id).unwrap(), Found::One(Box::new(call.clone())));
        }
    });
}

#[test]
fn a_number_is_found_beside_from_and_to() {
    on_each(|open| {
        let mut b = open(Access::Write);
        store(&mut *b, &calls((0..50).map(call)));
        for (filter, found) in [
            ("number:+33129", 1),
            // As it stands on a bill.
            ("number:\"+33 12-9\"", 1),
            ("number:+33*", 13),
            ("number:*1249", 1),
            ("caller:+33*", 0),
            ("callee:+33129", 0),
            ("number:+33* and not number:+33121", 12),
            ("number:+33128", 0),
        ] {
            assert_eq!(filtered(&*b, filter).len(), found, "{filter}");
        }
    });
}

#[test]
fn a_row_that_changes_its_numbers_is_found_by_the_new_ones() {
    on_each(|open| {
        let whole = call(7);
        let mut b = open(Access::Write);
        let numbers = vec![asserted("+4930222")];
        let first = Call { from: "+4930111".into(), to: "bob".into(), numbers, ..begun(&whole) };
        // In one transaction with its first version, or in the next.
        for commit in [true, false] {
            b.write(&calls([first.clone(), call(8)])).unwrap();
            if commit {
                b.commit().unwrap();
            }
            store(&mut *b, &calls([whole.clone()]));
            for gone in ["caller:+4930111", "caller:+4930*", "callee:bob", "number:*0111", "number:+4930222"] {
                assert_eq!(filtered(&*b, gone), [], "{gone}");
            }
            for there in [&*format!("caller:{}", whole.from), "callee:\\*21\\*7#", "callid:7@example.com"] {
                assert_eq!(filtered(&*b, there), std::slice::from_ref(&whole), "{there}");
            }
            assert_eq!(b.call("7@example.com").unwrap(), Found::One(Box::new(whole.clone())));
            b.drop_day(Day::of(DAY)).unwrap();
        }
    });
}

#[test]
fn many_commits_and_large_ones_are_searched_alike() {
    on_each(|open| {
        // Calls of three seconds: all in one part of the day. Half of them in one transaction, the rest a few at a
        // time, some of them twice.
        let given: Vec<Call> = (0..6000)
            .map(|n: i64| {
                let start_ns = DAY + 43_200 * SECOND_NS + n * 500_000 + n % 7;
                let id = Id::derive(start_ns, &n.to_le_bytes());
                let (from, to) = (format!("+4420{:05}", n * 7919 % 6000), format!("sip-user-{}", n % 900));
                let sip_call_id = format!("Call-{}", n % 3000);
                Call { id, start_ns, last_ns: start_ns, from, to, sip_call_id, ..Call::default() }
            })
            .collect();
        let mut b = open(Access::Write);
        store(&mut *b, &calls(given[..3000].iter().cloned()));
        for n in 0..120 {
            let first = 3000 + n * 25 - if n % 5 == 0 { 13 } else { 0 };
            store(&mut *b, &calls(given[first..3000 + n * 25 + 25].iter().cloned()));
        }
        assert_eq!(b.written().calls_new, 6000);
        assert_numbers_are_found(&*b, &["+442000042", "+442003999", "+442005999", "sip-user-7", "sip-user-899"]);
        assert_eq!(filtered(&*b, "callid:call-17").len(), 2);
        assert_eq!(filtered(&*b, "callid:CALL-2999 caller:+4420*").len(), 2);
        let Found::Many(two) = b.call("Call-2999").unwrap() else { panic!() };
        assert_eq!(two, [5999, 2999].map(|n: usize| (given[n].id, given[n].start_ns)));
        assert_eq!(b.call("call-2999").unwrap(), Found::None, "the name of a call is its Call-ID as it is");
        for range in [0..1, 2999..3001, 100..5000] {
            let (from_ns, to_ns) = (given[range.start].start_ns, given[range.end].start_ns);
            let filter = Some(Filter::parse("callee:sip-user-1*").unwrap());
            let query = Query { filter, from_ns, to_ns, limit: 10_000, ..Query::default() };
            let expected = given[range].iter().filter(|c| c.to.starts_with("sip-user-1")).count();
            assert_eq!(b.calls(&query).unwrap().rows.len(), expected);
        }
    });
}

#[test]
fn a_search_sees_one_moment_while_another_writes() {
    on_each(|open| {
        let mut writer = open(Access::Write);
        store(&mut *writer, &calls((0..40).map(|n| begun(&call(n)))));
        let reader = open(Access::Read);
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 40..300 {
                    store(&mut *writer, &calls([begun(&call(n))]));
                }
                done.store(true, std::sync::atomic::Ordering::Release);
            });
            let mut seen = 40;
            while !done.load(std::sync::atomic::Ordering::Acquire) {
                assert_eq!(filtered(&*reader, "caller:+44207000017").len(), 1);
                assert!(matches!(reader.call("39@example.com").unwrap(), Found::One(_)));
                let query =
                    Query { filter: Some(Filter::parse("caller:+44*").unwrap()), limit: 400, ..Query::default() };
                let now = reader.calls(&query).unwrap().rows.len();
                assert!(now >= seen, "{now} after {seen}");
                seen = now;
            }
        });
        assert_eq!(filtered(&*reader, "caller:+44207000299").len(), 1);
    });
}
