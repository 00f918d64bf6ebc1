//! Numbers that go by while a side is not to send, on hold or in a fax, are no loss: some senders count on.

use super::{Evidence, FAX};
use crate::signalling::Change;
use crate::stream::Gap;
use crate::tap::Blind;
use smallvec::SmallVec;
use trunkline_store::row::{Direction, Stream};

/// A side may stop sending so long before the change is answered, and begin so long after the next one, nanoseconds.
const NEAR_NS: i64 = 1_000_000_000;

/// Shorter ones are loss, nanoseconds.
const HELD_MIN_NS: i64 = 2_000_000_000;

/// Numbers that go on at the pace of packets: one in this time at least, nanoseconds.
const STEP_NS_MAX: i64 = 100_000_000;

/// As many numbers as this are more than those of packets that were lost near the beginning and the end of a hold, with
/// one in 10 ms: they went by in it, whatever the clock of the capture says of its length.
const NEAR_NUMBERS_MAX: u32 = 200;

/// From when to when a party (0 the caller) is not to send audio, as it was agreed; nanoseconds since 1970.
fn spans(changes: &[Change], party: usize) -> SmallVec<[(i64, i64); 2]> {
    spans_without(changes, |change| {
        let [own, other] = [change.parties[party], change.parties[1 - party]];
        own.sends && other.receives && other.endpoint.is_some() && !own.fax && !other.fax
    })
}

/// From when to when something is not so that was agreed before, or from the first change on.
fn spans_without(changes: &[Change], is_so: impl Fn(&Change) -> bool) -> SmallVec<[(i64, i64); 2]> {
    let mut spans: SmallVec<[(i64, i64); 2]> = SmallVec::new();
    let mut since = None;
    for change in changes {
        match (since, is_so(change)) {
            (None, false) => since = Some(change.at_ns),
            (Some(from), true) => {
                spans.push((from, change.at_ns));
                since = None;
            }
            _ => {}
        }
    }
    spans.extend(since.map(|from| (from, i64::MAX)));
    spans
}

/// From when to when neither side is to send, nanoseconds since 1970.
pub fn silences(changes: &[Change]) -> SmallVec<[(i64, i64); 2]> {
    if changes.len() < 2 {
        return SmallVec::new();
    }
    let [caller, callee] = [spans(changes, 0), spans(changes, 1)];
    let common = |(from, to): &(i64, i64)| {
        let (from, to) = (*from, *to);
        let parts = callee.iter().map(move |(since, until)| (from.max(*since), to.min(*until)));
        parts.filter(|(from, to)| from < to)
    };
    caller.iter().flat_map(common).collect()
}

/// From when to when one side at least is not to send: the other one may, and many do not.
pub fn holds(changes: &[Change]) -> SmallVec<[(i64, i64); 2]> {
    if changes.len() < 2 {
        return SmallVec::new();
    }
    let mut holds = spans(changes, 0);
    holds.extend(spans(changes, 1));
    holds
}

/// Whether a time begins where a span begins, and ends where it ends: that was signalled, and is no chance.
pub fn fills((since_ns, until_ns): (i64, i64), (from, to): (i64, i64)) -> bool {
    let is_near = |a: i64, b: i64| a.abs_diff(b) <= NEAR_NS as u64;
    until_ns - since_ns >= HELD_MIN_NS && is_near(since_ns, from) && is_near(until_ns, to)
}

/// Whether a time is nearly all of a span.
pub fn is_nearly((from, to): (i64, i64), time_ns: i64) -> bool {
    to - from >= HELD_MIN_NS && time_ns >= to - from - 2 * NEAR_NS
}

/// Whether a time at which the tap seemed blind lies in such a span.
pub fn covers((from, to): (i64, i64), blind: &Blind) -> bool {
    blind.since_ns >= from.saturating_sub(NEAR_NS) && blind.until_ns <= to.saturating_add(NEAR_NS)
}

/// A gap takes most of a span, and begins and ends near it: some go on to send on hold, and may lose packets then.
fn is_within(gap: &Gap, (from, to): (i64, i64)) -> bool {
    let common = gap.to_ns.min(to).saturating_sub(gap.from_ns.max(from));
    let is_near = gap.from_ns >= from.saturating_sub(NEAR_NS) && gap.to_ns <= to.saturating_add(NEAR_NS);
    let length = gap.to_ns.saturating_sub(gap.from_ns);
    is_near && counts_on(gap) && common > length.max(to.saturating_sub(from)) / 2
}

/// The numbers of a sender that go on while it sends nothing.
fn counts_on(gap: &Gap) -> bool {
    gap.to_ns.saturating_sub(gap.from_ns) >= HELD_MIN_NS && gap.step_ns() <= STEP_NS_MAX
}

/// Takes such numbers out of what is expected and missing of a stream; and those that go by until the answer at
/// `answer_ns`, if that is given: gateways let who called through when somebody answers.
pub fn leave_out(stream: &mut Stream, evidence: &Evidence, changes: &[Change], answer_ns: Option<i64>) {
    let party = match stream.direction {
        Direction::Caller => 0,
        Direction::Callee => 1,
        Direction::Unknown => return,
    };
    if stream.missing == 0 || stream.codec == FAX {
        return;
    }
    let changes = if changes.len() < 2 { &[] } else { changes };
    let waits = |gap: &Gap| counts_on(gap) && answer_ns.is_some_and(|at_ns| gap.to_ns <= at_ns.saturating_add(NEAR_NS));
    let spans = spans(changes, party);
    // Who holds the other one need not send, and may count on as well.
    let mut holds = self::spans(changes, 1 - party);
    // Where another one was in the place of either for a while, as a server that plays music is.
    holds.extend(spans_without(changes, |change| change.parties[party].endpoint == Some(stream.src)));
    holds.extend(spans_without(changes, |change| change.parties[1 - party].endpoint == Some(stream.dst)));
    let fills_any = |gap: &Gap, spans: &[(i64, i64)]| spans.iter().any(|s| fills((gap.from_ns, gap.to_ns), *s));
    let held = |gap: &&Gap| {
        let goes_by = gap.missing >= NEAR_NUMBERS_MAX && fills_any(gap, &spans);
        goes_by
            || waits(gap)
            || spans.iter().any(|span| is_within(gap, *span))
            || (counts_on(gap) || gap.missing >= NEAR_NUMBERS_MAX) && fills_any(gap, &holds)
    };
    let (mut packets, mut runs) = (0, 0);
    for gap in evidence.gaps.iter().filter(held).filter(|gap| gap.missing > 0) {
        let missing = u64::from(gap.missing);
        let run = &mut stream.loss_runs[gap.missing.min(10) as usize - 1];
        *run = run.saturating_sub(1);
        packets += missing;
        runs += 1;
    }
    let packets = packets.min(stream.missing);
    if packets == 0 {
        return;
    }
    stream.missing -= packets;
    stream.expected = stream.expected.saturating_sub(packets);
    stream.lost = stream.lost.saturating_sub(i64::try_from(packets).unwrap_or(i64::MAX));
    (stream.mos.g107, stream.burst_ratio) = evidence.scoring.left_out(packets, runs);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signalling::Said;
    use trunkline_wire::Endpoint;

    const SECOND: i64 = 1_000_000_000;

    /// Each second and whether the caller sends, the callee receives, and whether it is a fax.
    fn changes(all: &[(i64, bool, bool, bool)]) -> Vec<Change> {
        let said = |sends, receives, fax| Said {
            endpoint: "192.0.2.1:4000".parse().ok(),
            sends,
            receives,
            fax,
            ..Said::default()
        };
        let change = |(second, sends, receives, fax): &(i64, bool, bool, bool)| Change {
            at_ns: second * SECOND,
            hosts: Default::default(),
            parties: [said(*sends, true, *fax), said(true, *receives, *fax)],
            by: 1,
            tag: 0,
        };
        all.iter().map(change).collect()
    }

    #[test]
    fn a_side_is_not_to_send_while_it_is_held_or_faxes() {
        let held =
            changes(&[(0, true, true, false), (5, true, false, false), (9, true, true, false), (20, true, true, true)]);
        assert_eq!(spans(&held, 0)[..], [(5 * SECOND, 9 * SECOND), (20 * SECOND, i64::MAX)]);
        assert_eq!(spans(&held, 1)[..], [(20 * SECOND, i64::MAX)]);
    }

    #[test]
    fn numbers_that_go_by_meanwhile_are_neither_expected_nor_missing() {
        let held = changes(&[(0, true, true, false), (5, false, true, false), (9, true, true, false)]);
        let stream = |gaps: &[(i64, i64, u32)]| {
            let gaps: Vec<Gap> = gaps
                .iter()
                .map(|(from, to, missing)| Gap::new(from * SECOND / 10, to * SECOND / 10, *missing))
                .collect();
            let missing = gaps.iter().map(|gap| u64::from(gap.missing)).sum();
            let mut stream = Stream {
                direction: Direction::Caller,
                expected: 1000,
                missing,
                lost: missing as i64,
                ..Stream::default()
            };
            for gap in &gaps {
                stream.loss_runs[gap.missing.min(10) as usize - 1] += 1;
            }
            leave_out(&mut stream, &Evidence { gaps, ..Evidence::default() }, &held, None);
            (stream.expected, stream.missing, stream.lost, stream.loss_runs[2], stream.loss_runs[9])
        };
        assert_eq!(stream(&[(45, 95, 250), (30, 31, 3)]), (750, 3, 3, 1, 0));
        // The clock was set forward by an hour meanwhile; and what is lost at both ends of a long hold is lost.
        let long = changes(&[(0, true, true, false), (5, false, true, false), (3609, true, true, false)]);
        for (missing, left) in [(199, 199), (200, 0), (500, 0)] {
            let gaps = vec![Gap::new(5 * SECOND, 3609 * SECOND, missing)];
            let missing = missing.into();
            let mut stream = Stream { direction: Direction::Caller, expected: 1000, missing, ..Stream::default() };
            stream.loss_runs[9] = 1;
            leave_out(&mut stream, &Evidence { gaps, ..Evidence::default() }, &long, None);
            assert_eq!((stream.missing, stream.expected), (left, 1000 - missing + left));
        }
        // It began well before, or went on well after.
        assert_eq!(stream(&[(30, 90, 300)]), (1000, 300, 300, 0, 1));
        assert_eq!(stream(&[(50, 120, 350)]), (1000, 350, 350, 0, 1));
    }

    #[test]
    fn numbers_that_go_by_until_the_answer_are_not_missing() {
        let agreed = changes(&[(1, true, true, false)]);
        // Answered at 30 s; silent for long and just until then, for a moment, and beyond it.
        for (from, to, left) in [(2, 30, 0), (2, 31, 0), (29, 30, 50), (2, 33, 1000)] {
            for (direction, answer_ns) in [(Direction::Caller, Some(30 * SECOND)), (Direction::Callee, None)] {
                let missing = if left == 50 { 50 } else { 1000 };
                let mut stream = Stream { direction, expected: 3000, missing, ..Stream::default() };
                let gap = Gap::new(from * SECOND, to * SECOND, missing as u32);
                leave_out(&mut stream, &Evidence { gaps: vec![gap], ..Evidence::default() }, &agreed, answer_ns);
                let expected = if answer_ns.is_some() { left } else { missing };
                assert_eq!((stream.missing, stream.expected), (expected, 3000 - missing + expected), "{from} {to}");
            }
        }
    }

    #[test]
    fn numbers_of_a_sender_that_another_one_stands_in_for_are_no_loss() {
        let [own, other]: [Endpoint; 2] = ["192.0.2.1:4000", "192.0.2.9:20000"].map(|end| end.parse().unwrap());
        for (src, missing) in [(own, 0), (other, 200)] {
            let dst = "192.0.2.1:4000".parse().unwrap();
            let mut moved = changes(&[(0, true, true, false), (5, true, true, false), (9, true, true, false)]);
            moved[1].parties[0].endpoint = Some(other);
            let gap = Gap::new(5 * SECOND, 9 * SECOND, 200);
            let mut stream =
                Stream { direction: Direction::Caller, src, dst, expected: 1000, missing: 200, ..Stream::default() };
            leave_out(&mut stream, &Evidence { gaps: vec![gap], ..Evidence::default() }, &moved, None);
            assert_eq!((stream.missing, stream.expected), (missing, 800 + missing));
        }
    }
}
