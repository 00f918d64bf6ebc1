//! Wire against bill in a world whose truth is known: a carrier whose clock is off, which rounds up, forgets lines,
//! sends some twice, and writes other numbers and amounts; a capture with gaps.

use core::cell::Cell;
use proptest::prelude::*;
use std::collections::BTreeMap;
use trunkline_charge::compare::{
    Basis, BillLine, Cover, KINDS, Kind, Owed, Parties, Party, Report, Rules, Seen, Undone, Why, WireCall, compare,
};
use trunkline_charge::numbers::Numbers;
use trunkline_charge::rate::price_of_call;
use trunkline_charge::tariff::{self, Context, Plan};
use trunkline_kit::Id;
use trunkline_kit::random::Random;

const START: i64 = 1_795_132_800_000;
const MINUTE: i64 = 60_000;

fn id(number: u64) -> Id {
    Id::from_octets(u128::from(number).to_be_bytes())
}

fn plan() -> Plan {
    let text = "[plan]\nname = \"carrier\"\ncurrency = \"EUR\"\n[destinations]\nfar = [\"44\"]\nnear = [\"33\"]\n\
        [[version]]\nfrom = \"2026-01-01\"\n[[version.rule]]\nname = \"far\"\ndestinations = [\"far\"]\n\
        unit = \"seconds\"\nstep = 60\nprice = \"3.5\"\n[[version.rule]]\nname = \"near\"\ndestinations = [\"near\"]\n\
        unit = \"seconds\"\nstep = 60\nprice = \"1\"\n";
    tariff::read("plan", text).expect("a plan")
}

fn to(called: &str) -> Context<'_> {
    Context { destination: called, ..Context::default() }
}

fn rules(plan: Option<&Plan>) -> Rules<'_> {
    Rules {
        begin: 10_000,
        duration: 2000,
        first: 60,
        step: 60,
        ahead: None,
        plan,
        rating_group: None,
        span_of_bill: false,
    }
}

fn covered(calls: &[WireCall]) -> Cover {
    let mut cover = Cover::new(3_600_000);
    let mut starts: Vec<i64> = calls.iter().flat_map(|call| [call.start, call.answer + call.duration]).collect();
    starts.sort_unstable();
    starts.into_iter().for_each(|at| cover.saw(at));
    cover
}

fn run(calls: &[WireCall], lines: &[BillLine], plan: Option<&Plan>, cover: &Cover) -> Report {
    compare(calls.to_vec(), lines.to_vec(), &rules(plan), cover, (i64::MIN, i64::MAX), &|| true).expect("not too much")
}

/// What a world did to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Right,
    Forgotten,
    Twice,
    Long,
    Short,
    Renumbered,
    Dear,
    Refused,
}

struct World {
    calls: Vec<WireCall>,
    lines: Vec<BillLine>,
    deeds: Vec<Deed>,
    ghosts: usize,
}

fn rounded(ms: i64) -> i64 {
    (ms + 59_999) / 60_000 * 60_000
}

/// A day of a carrier's: `ahead` is its clock.
fn world(seed: u64, count: u64, ahead: i64, plan: &Plan) -> World {
    let mut chance = Random::new(seed, 0);
    let mut world = World { calls: Vec::new(), lines: Vec::new(), deeds: Vec::new(), ghosts: 0 };
    for number in 0..count {
        let call = call(&mut chance, number, count);
        let deed = deed(&mut chance);
        let called = call.called.digits().expect("digits");
        let billed = match deed {
            Deed::Long => rounded(call.duration) + 120_000,
            Deed::Short => rounded(call.duration) - 60_000,
            _ => rounded(call.duration),
        };
        let price = price_of_call(plan, &to(&called), call.answer / 1000, (billed / 1000) as u64).expect("a price");
        let line = BillLine {
            line: number as u32 * 2 + 2,
            caller: call.caller,
            called: if deed == Deed::Renumbered { Party::number(&format!("44{number:09}")) } else { call.called },
            begin: call.answer + ahead + i64::from(chance.below(3000)) - 1500,
            duration: billed,
            amount: Some(if deed == Deed::Dear { price + 5_000_000 } else { price }),
            reference: 0,
        };
        if deed == Deed::Renumbered {
            // Another number has another price, by the length that is billed.
            let digits = line.called.digits().expect("digits");
            let price = price_of_call(plan, &to(&digits), call.answer / 1000, (billed / 1000) as u64);
            world.lines.push(BillLine { amount: price, ..line });
        } else if deed != Deed::Forgotten {
            world.lines.push(line);
        }
        if deed == Deed::Twice {
            world.lines.push(BillLine { line: line.line + 1, ..line });
        }
        let seen = if deed == Deed::Refused { Seen::Refused } else { Seen::Whole };
        world.calls.push(WireCall { seen, ..call });
        world.deeds.push(deed);
        if number % 50 == 7 {
            world.ghosts += 1;
            let (caller, called) = (format!("39{number:08}"), format!("44999{number:06}"));
            let (caller, called) = (Party::number(&caller), Party::number(&called));
            world.lines.push(BillLine { line: 1_000_000 + number as u32, caller, called, ..line });
        }
    }
    world
}

fn call(chance: &mut Random, number: u64, count: u64) -> WireCall {
    // Few callers and fewer numbers, so that pairs of them come again and again.
    let caller = Party::number(&format!("336{:08}", chance.below(count as u32 / 8 + 1)));
    let called = format!("{}{:07}", ["33", "44"][chance.below(2) as usize], chance.below(40));
    let start = START + (number as i64) * 86_400_000 / count as i64 + i64::from(chance.below(400));
    let answer = start + 2000 + i64::from(chance.below(15_000));
    // Never near a whole minute, nor the same as another one's: what a tolerance decides has tests of its own.
    let duration = MINUTE * (2 + i64::from(chance.below(9))) + 10_000 + i64::from(chance.below(40_000));
    let (called, reference, owed) = (Party::number(&called), number + 1, Owed::Yes);
    WireCall { id: id(number), caller, called, start, answer, duration, seen: Seen::Whole, owed, reference }
}

fn deed(chance: &mut Random) -> Deed {
    match chance.below(100) {
        0..4 => Deed::Forgotten,
        4..8 => Deed::Twice,
        8..12 => Deed::Long,
        12..16 => Deed::Short,
        16..20 => Deed::Renumbered,
        20..24 => Deed::Dear,
        24..28 => Deed::Refused,
        _ => Deed::Right,
    }
}

#[test]
fn what_a_carrier_did_is_found_and_nothing_else() {
    let plan = plan();
    for (seed, ahead) in [(1, 0), (2, 37_250), (3, -3_600_000), (4, 6500), (5, 90_000)] {
        let world = world(seed, 4000, ahead, &plan);
        let report = run(&world.calls, &world.lines, Some(&plan), &covered(&world.calls));
        assert!((report.clock.ahead - ahead).abs() < 500, "{:?}", report.clock);
        assert_eq!(report.clock.basis, Basis::Answer);
        let count = |deed| world.deeds.iter().filter(|one| **one == deed).count() as u64;
        let found = |kind: Kind| report.sums[kind as usize].count;
        let expected = [
            (Kind::NotBilled, count(Deed::Forgotten)),
            (Kind::NotOnWire, world.ghosts as u64),
            (Kind::Longer, count(Deed::Long)),
            (Kind::Shorter, count(Deed::Short)),
            (Kind::Twice, count(Deed::Twice)),
            (Kind::OtherNumber, count(Deed::Renumbered)),
            (Kind::OtherAmount, count(Deed::Dear)),
            (Kind::Unanswered, count(Deed::Refused)),
        ];
        for (kind, expected) in expected {
            assert_eq!(found(kind), expected, "seed {seed}: {kind:?}");
        }
        assert_eq!(report.agreed, count(Deed::Right) + count(Deed::Twice), "seed {seed}");
        assert_eq!((report.unsure(), report.inexact, report.unpriced, report.legs), (0, 0, 0, 0));
        each_is_of_its_call(&world, &report);
        let dear = report.sums[Kind::OtherAmount as usize];
        assert_eq!((dear.over, dear.under), (count(Deed::Dear) as i64 * 5_000_000, 0));
    }
}

/// Each difference is of the call that it was done to.
fn each_is_of_its_call(world: &World, report: &Report) {
    let deeds: BTreeMap<Id, Deed> = world.calls.iter().map(|call| call.id).zip(world.deeds.iter().copied()).collect();
    for one in &report.findings {
        let Some(call) = one.call else { continue };
        let call = &report.calls[call as usize];
        let expected = match one.kind {
            Kind::NotBilled => Deed::Forgotten,
            Kind::Longer => Deed::Long,
            Kind::Shorter => Deed::Short,
            Kind::OtherNumber => Deed::Renumbered,
            Kind::OtherAmount => Deed::Dear,
            Kind::Unanswered => Deed::Refused,
            Kind::NotOnWire | Kind::Twice | Kind::NoPrice => continue,
        };
        assert_eq!(deeds[&call.id], expected, "{one:?}");
        if let Some(line) = one.line {
            assert_eq!(u64::from(report.lines[line as usize].line / 2 - 1) + 1, call.reference);
        }
    }
}

#[test]
fn the_order_of_what_comes_in_does_not_matter() {
    let plan = plan();
    let mut world = world(9, 1500, 12_000, &plan);
    let cover = covered(&world.calls);
    let first = run(&world.calls, &world.lines, Some(&plan), &cover);
    let mut chance = Random::new(77, 0);
    for _ in 0..3 {
        world.calls.sort_by_cached_key(|_| chance.number());
        world.lines.sort_by_cached_key(|_| chance.number());
        let again = run(&world.calls, &world.lines, Some(&plan), &cover);
        assert_eq!((&again.findings, &again.sums), (&first.findings, &first.sums));
    }
}

fn one(number: u64, start: i64, duration: i64) -> WireCall {
    let (caller, called) = (Party::number("33612"), Party::number("44207"));
    let (start, reference, owed) = (START + start, number, Owed::Yes);
    let answer = start + 5000;
    WireCall { id: id(number), caller, called, start, answer, duration, seen: Seen::Whole, owed, reference }
}

fn line(number: u32, begin: i64, duration: i64) -> BillLine {
    let (caller, called) = (Party::number("33612"), Party::number("44207"));
    BillLine { line: number, caller, called, begin: START + begin, duration, amount: Some(10_000_000), reference: 0 }
}

#[test]
fn what_cannot_be_said_is_not_said() {
    let mut calls = vec![one(1, 0, 30_000), one(2, 2 * 3_600_000, 30_000), one(3, 2 * 3_600_000 + 60_000, 30_000)];
    calls[1].seen = Seen::Open;
    calls[2].seen = Seen::Unclear;
    let lines = [
        line(2, 3_600_000, 60_000),
        line(3, 2 * 3_600_000 + 5000, 240_000),
        line(4, 2 * 3_600_000 + 65_000, 60_000),
        line(5, 5000, 60_000),
        line(6, 9 * 3_600_000, 60_000),
    ];
    let mut cover = Cover::new(1_800_000);
    calls.iter().for_each(|call| cover.saw(call.start));
    let report = run(&calls, &lines, None, &cover);
    let told: Vec<_> = report.findings.iter().map(|one| (one.kind, one.unsure)).collect();
    assert_eq!(
        told,
        [
            (Kind::NotOnWire, Some(Why::Silent)),
            (Kind::Longer, Some(Why::NoEnd)),
            (Kind::Unanswered, Some(Why::Partly)),
            (Kind::NotOnWire, Some(Why::Silent)),
        ]
    );
    assert_eq!((report.certain(), report.unsure(), report.agreed), (0, 4, 1));
    // The same with a capture that saw something all the time, and lost packets once.
    let mut cover = Cover::new(1_800_000);
    (0..600).for_each(|minute| cover.saw(START + minute * MINUTE));
    cover.lost(START + 3_595_000, START + 3_596_000);
    let report = run(&calls, &lines, None, &cover);
    let told: Vec<_> = report.findings.iter().map(|one| (one.kind, one.unsure)).collect();
    assert_eq!((told[0], told[3]), ((Kind::NotOnWire, Some(Why::Lost)), (Kind::NotOnWire, None)));
}

#[test]
fn spans_that_follow_each_other_tell_each_difference_once() {
    let plan = plan();
    let world = world(11, 2000, 20_000, &plan);
    let cover = covered(&world.calls);
    let whole = run(&world.calls, &world.lines, Some(&plan), &cover);
    let mut sums = [0; KINDS];
    let (mut billed, mut agreed) = (0, 0);
    for hour in -1..26 {
        let from = START + hour * 3_600_000;
        let (calls, lines) = (world.calls.clone(), world.lines.clone());
        let part =
            compare(calls, lines, &rules(Some(&plan)), &cover, (from, from + 3_600_000), &|| true).expect("a part");
        for (sum, of) in sums.iter_mut().zip(part.sums) {
            *sum += of.count;
        }
        (billed, agreed) = (billed + part.billed, agreed + part.agreed);
    }
    assert_eq!(sums.to_vec(), whole.sums.iter().map(|sum| sum.count).collect::<Vec<_>>());
    assert_eq!((billed, agreed), (world.lines.len() as u64, whole.agreed));
}

#[test]
fn it_ends_wherever_it_is_given_up() {
    let plan = plan();
    let world = world(12, 300, 20_000, &plan);
    let cover = covered(&world.calls);
    let given_up = |most: usize| {
        let asked = Cell::new(0);
        let goes_on = || asked.replace(asked.get() + 1) < most;
        let (calls, lines) = (world.calls.clone(), world.lines.clone());
        let done = compare(calls, lines, &rules(Some(&plan)), &cover, (i64::MIN, i64::MAX), &goes_on);
        (asked.get(), done)
    };
    let (asked, done) = given_up(usize::MAX);
    let done = done.expect("nobody gave it up");
    assert!(!done.findings.is_empty());
    // Each step asks for each of its calls or lines: no step is long between two questions.
    assert!(asked > 3 * (world.calls.len() + world.lines.len()), "{asked}");
    for most in (0..asked).step_by(asked / 100) {
        let (times, done) = given_up(most);
        assert_eq!((times, done.expect_err("it was given up")), (most + 1, Undone::GivenUp));
    }
}

#[test]
fn two_calls_at_once_get_the_lines_of_their_lengths() {
    // Both begin within the tolerance: only the best of all ways gives each its own.
    let calls = [one(1, 0, 50_000), one(2, 4000, 170_000)];
    let lines = [line(2, 6000, 180_000), line(3, 7000, 60_000)];
    let report = run(&calls, &lines, None, &covered(&calls));
    assert_eq!((report.agreed, report.findings.len()), (2, 0), "{:?}", report.findings);
}

#[test]
fn legs_of_a_call_are_not_billed_and_references_are_believed() {
    let leg = WireCall { id: id(9), reference: 9, ..one(1, 40, 50_000) };
    let calls = [one(1, 0, 50_000), leg, one(3, 600_000, 50_000)];
    let named = BillLine { reference: 3, caller: Party::NONE, called: Party::NONE, ..line(3, 3_000_000, 60_000) };
    let report = run(&calls, &[line(2, 5000, 60_000), named], None, &covered(&calls));
    assert_eq!((report.agreed, report.legs, report.findings.len()), (2, 1, 0), "{:?}", report.findings);
    let without = run(&calls[..2], &[], None, &covered(&calls));
    assert_eq!((without.sums[Kind::NotBilled as usize].count, without.answered, without.legs), (1, 1, 1));
    // The same Call-ID from two taps, though one of them writes the number in another way.
    let copy = WireCall { id: id(8), called: Party::number("7"), ..one(1, 20, 50_000) };
    let copies = run(&[calls[0], copy], &[], None, &covered(&calls));
    assert_eq!((copies.sums[Kind::NotBilled as usize].count, copies.legs), (1, 1));
    // Another one that begins with it and lasts longer is a call.
    let other = WireCall { id: id(7), reference: 7, ..one(1, 20, 90_000) };
    assert_eq!(run(&[calls[0], other], &[], None, &covered(&calls)).sums[Kind::NotBilled as usize].count, 2);
}

#[test]
fn numbers_that_are_not_understood_give_no_certain_dispute() {
    let mut parties = Parties::default();
    let vague = parties.of("0612", &Numbers::default());
    let calls = [
        WireCall { caller: vague, ..one(1, 0, 50_000) },
        WireCall { caller: vague, ..one(2, 600_000, 50_000) },
        one(3, 1_200_000, 50_000),
        one(4, 1_800_000, 50_000),
    ];
    let far = Party::number("49301");
    let lines = [
        line(2, 5000, 60_000),
        BillLine { caller: vague, called: far, ..line(3, 1_205_000, 60_000) },
        BillLine { called: far, caller: Party::number("999"), ..line(4, 605_000, 60_000) },
    ];
    let report = run(&calls, &lines, None, &covered(&calls));
    let told: Vec<_> = report.findings.iter().map(|one| (one.kind, one.unsure)).collect();
    let unsure = Some(Why::NoNumbers);
    assert_eq!(
        told,
        [
            (Kind::OtherNumber, unsure),
            (Kind::NotBilled, unsure),
            (Kind::NotOnWire, unsure),
            (Kind::NotBilled, unsure),
            (Kind::NotOnWire, unsure),
            (Kind::NotBilled, None),
        ]
    );
    assert_eq!(report.not_understood, (2, 1));
    // Who withholds the number has called, whatever the bill says who it was.
    let withheld = WireCall { caller: parties.of("anonymous", &Numbers::default()), ..one(1, 0, 50_000) };
    let report = run(&[withheld], &lines[..1], None, &covered(&calls));
    assert_eq!((report.agreed, report.findings.len()), (1, 0), "{:?}", report.findings);
}

#[test]
fn calls_that_need_no_line_and_calls_that_were_not_asked_for() {
    let at = |number, owed| WireCall { owed, ..one(number, number as i64 * 600_000, 50_000) };
    let calls = [at(1, Owed::Yes), at(2, Owed::No), at(3, Owed::Unknown), at(4, Owed::LeftOut), at(5, Owed::LeftOut)];
    let lines = [
        line(4, 4 * 600_000 + 5000, 600_000),
        line(5, 4 * 600_000 + 5500, 600_000),
        BillLine { amount: None, ..line(6, 6 * 600_000, 0) },
    ];
    let report = run(&calls, &lines, None, &covered(&calls));
    let told: Vec<_> = report.findings.iter().map(|one| (one.kind, one.unsure)).collect();
    assert_eq!(told, [(Kind::NotBilled, None), (Kind::NotBilled, Some(Why::NoPayer))]);
    assert_eq!((report.unowed, report.left_out, report.answered, report.attempts), (1, 2, 3, 1));
    // A leg that was asked for asks for the call.
    let leg = WireCall { id: id(9), reference: 9, ..one(4, 4 * 600_000 + 20, 50_000) };
    let report = run(&[calls[3], leg], &lines[..1], None, &covered(&calls));
    let told: Vec<_> = report.findings.iter().map(|one| one.kind).collect();
    assert_eq!((told, report.legs), (vec![Kind::Longer], 1));
}

#[test]
fn the_days_of_a_bill_are_those_of_its_clock() {
    // Calls around midnight; the bill has the day after it, and its clock is eight seconds ahead.
    let calls: Vec<WireCall> = (0..40)
        .map(|n| WireCall {
            called: Party::number(&format!("4420{n}")),
            ..one(n, n as i64 * 60_000 - 20 * 60_000, 50_000)
        })
        .map(|call| WireCall { start: call.start - 7000, answer: call.answer - 7000, ..call })
        .collect();
    let line_of = |call: &WireCall| BillLine { called: call.called, ..line(1, call.answer - START + 8000, 60_000) };
    let all: Vec<BillLine> = calls.iter().map(line_of).collect();
    let of_day: Vec<BillLine> = all.iter().filter(|line| line.begin >= START).copied().collect();
    assert_eq!(of_day.len(), 20, "the twentieth call begins here before midnight");
    let rules = Rules { span_of_bill: true, ..rules(None) };
    let day = (START, START + 86_400_000);
    let report = compare(calls.clone(), of_day, &rules, &covered(&calls), day, &|| true).expect("a report");
    assert_eq!((report.agreed, report.findings.len(), report.answered), (20, 0, 20), "{:?}", report.findings);
    assert_eq!((report.clock.ahead, report.span.0), (8000, START - 8000));
    let report = compare(calls.clone(), all, &rules, &covered(&calls), day, &|| true).expect("a report");
    assert_eq!((report.agreed, report.outside), (20, 20));
}

#[test]
fn amounts_are_held_to_what_the_bill_writes() {
    let (plan, calls) = (plan(), [one(1, 0, 50_000), one(2, 600_000, 50_000), one(3, 1_200_000, 50_000)]);
    let asks = |number: u32, amount| BillLine {
        amount: Some(amount),
        ..line(number, i64::from(number - 1) * 600_000 + 5000, 60_000)
    };
    // 3.5 minor units are right. In whole ones 4 is as good as it gets, in tenths 3.9 is another amount.
    let report =
        run(&calls, &[asks(1, 4_000_000), asks(2, 3_000_000), asks(3, 4_000_000)], Some(&plan), &covered(&calls));
    assert_eq!((report.agreed, report.deviations), (3, (3, 500_000)));
    let report =
        run(&calls, &[asks(1, 3_900_000), asks(2, 3_500_000), asks(3, 5_500_000)], Some(&plan), &covered(&calls));
    assert_eq!(report.sums[Kind::OtherAmount as usize].over, 2_400_000);
    assert_eq!((report.agreed, report.deviations), (1, (0, 0)));
    // Another number costs what it costs more; one without a price is no agreement.
    let near = BillLine { called: Party::number("33123"), ..asks(1, 1_000_000) };
    let nowhere = BillLine { called: Party::number("99"), ..asks(2, 1_000_000) };
    let report = run(&calls[..2], &[near, nowhere], Some(&plan), &covered(&calls));
    let told: Vec<_> = report.findings.iter().map(|one| (one.kind, one.dispute)).collect();
    assert_eq!(told, [(Kind::OtherNumber, Some(-2_500_000)), (Kind::OtherNumber, None), (Kind::NoPrice, None)]);
    let report = run(&calls[..2], &[near, nowhere], None, &covered(&calls));
    assert!(report.findings.iter().all(|one| one.dispute.is_none()), "{:?}", report.findings);
}

#[test]
fn lines_that_a_lost_call_may_have_had_are_not_certain() {
    let calls = [one(1, 600_000, 50_000), WireCall { seen: Seen::Refused, ..one(2, 900_000, 0) }];
    let lines = [line(2, 605_000, 60_000), line(3, 606_000, 60_000), line(4, 905_000, 60_000)];
    let mut cover = covered(&calls);
    let kinds = |report: &Report| report.findings.iter().map(|one| (one.kind, one.unsure)).collect::<Vec<_>>();
    let report = run(&calls, &lines, None, &cover);
    assert_eq!(kinds(&report), [(Kind::Twice, None), (Kind::Unanswered, None)]);
    cover.lost(START + 600_000, START + 910_000);
    let report = run(&calls, &lines, None, &cover);
    assert_eq!(kinds(&report), [(Kind::Twice, Some(Why::Lost)), (Kind::Unanswered, Some(Why::Lost))]);
}

#[test]
fn rounding_up_is_not_longer() {
    let rules = Rules { first: 30, step: 6, ..rules(None) };
    for (ms, seconds) in [(0, 0), (1, 30), (30_000, 30), (30_001, 36), (36_000, 36), (36_500, 42)] {
        assert_eq!(rules.billed(ms), seconds, "{ms}");
    }
    // 60.05 s here may be 59.98 s there: with steps of a minute both lines agree.
    let calls = [one(1, 0, 60_050)];
    for (billed, findings) in [(60_000, 0), (120_000, 0), (180_000, 1), (59_000, 1)] {
        let report = run(&calls, &[line(2, 5000, billed)], None, &covered(&calls));
        assert_eq!(report.findings.len(), findings, "{billed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Whatever comes in: each line is told once or agrees; each call that was answered has a line, is a leg of another
    /// one, is told, or need not be billed.
    #[test]
    fn nothing_is_left_out(
        calls in proptest::collection::vec((0i64..60, 0i64..30, 0u64..3, 0u8..4), 0..12),
        lines in proptest::collection::vec((0i64..60, 0i64..30, 0u64..3, 0u64..12), 0..12),
    ) {
        let calls: Vec<WireCall> = calls.iter().enumerate().map(|(at, (start, duration, number, seen))| {
            let seen = [Seen::Whole, Seen::Open, Seen::Refused, Seen::Unclear][usize::from(*seen)];
            let called = Party::number(&format!("4420{number}"));
            WireCall { called, seen, ..one(at as u64 + 1, start * 1000, duration * 10_000) }
        }).collect();
        let lines: Vec<BillLine> = lines.iter().enumerate().map(|(at, (begin, duration, number, reference))| {
            let called = Party::number(&format!("4420{number}"));
            BillLine { called, reference: *reference, ..line(at as u32, begin * 1000, duration * 10_000) }
        }).collect();
        let report = run(&calls, &lines, None, &covered(&calls));
        let mut told: Vec<u32> = report.findings.iter().filter_map(|one| one.line).collect();
        told.dedup();
        told.sort_unstable();
        told.dedup();
        prop_assert_eq!(told.len() as u64 + report.agreed, lines.len() as u64);
        let count = |kind: Kind| report.findings.iter().filter(|one| one.kind == kind).count() as u64;
        let without = count(Kind::NotOnWire) + count(Kind::Twice) + count(Kind::Unanswered);
        let answered = calls.iter().filter(|call| matches!(call.seen, Seen::Whole | Seen::Open)).count() as u64;
        let paired = lines.len() as u64 - without;
        prop_assert_eq!(paired + report.legs + count(Kind::NotBilled) + report.exempt, answered);
        prop_assert_eq!(report.answered, answered - report.legs);
    }
}
