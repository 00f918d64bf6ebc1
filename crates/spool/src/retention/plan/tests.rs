use proptest::prelude::*;

use super::*;

const HOUR: i64 = 3_600_000_000_000;

fn segment(class: usize, volume: usize, last_hour: i64, octets: u64) -> Stored {
    Stored { class, volume, last_ns: last_hour * HOUR, octets, held: false, age_max: None }
}

fn hours(hours: u64) -> Option<Duration> {
    Some(Duration::from_secs(hours * 3600))
}

fn volumes(count: usize) -> Vec<VolumeRule> {
    vec![VolumeRule::default(); count]
}

fn room(octets: u64) -> VolumeRule {
    VolumeRule { octets: Some(octets), ..VolumeRule::default() }
}

fn taken(steps: &[Step]) -> Vec<(usize, Action, Reason)> {
    steps.iter().map(|s| (s.segment, s.action, s.reason)).collect()
}

#[test]
fn age_counts_from_the_last_record_and_by_class() {
    let stored = [segment(0, 0, 1, 5), segment(1, 0, 1, 5), segment(0, 0, 9, 5)];
    let age = |age| ClassRule { age, ..ClassRule::default() };
    let rules = Rules { classes: vec![age(hours(10)), age(None)], volumes: volumes(1), slow: None };
    assert_eq!(taken(&plan(&stored, &rules, Some(12 * HOUR))), [(0, Action::Delete, Reason::Age)]);
    assert!(plan(&stored, &rules, Some(11 * HOUR)).is_empty());
    assert!(plan(&stored, &rules, None).is_empty());
}

#[test]
fn what_was_committed_just_now_is_young_whatever_the_clock_says() {
    let young = Stored { age_max: hours(2), ..segment(0, 0, 1, 5) };
    let rule = ClassRule { age: hours(10), ..ClassRule::default() };
    let rules = Rules { classes: vec![rule], volumes: volumes(1), slow: None };
    assert!(plan(&[young], &rules, Some(1_000_000 * HOUR)).is_empty());
}

#[test]
fn a_class_keeps_its_size() {
    let stored: Vec<Stored> = (0..10).map(|h| segment(h as usize % 2, 0, h, 10)).collect();
    let rule = ClassRule { octets: Some(25), ..ClassRule::default() };
    let rules = Rules { classes: vec![rule, ClassRule::default()], volumes: volumes(1), slow: None };
    let steps = taken(&plan(&stored, &rules, Some(0)));
    assert_eq!(steps, [0, 2, 4].map(|i| (i, Action::Delete, Reason::ClassOctets)));
}

#[test]
fn without_ages_the_oldest_of_all_makes_room() {
    let stored: Vec<Stored> = (0..6).map(|h| segment(h as usize % 3, 0, h, 10)).collect();
    let rules = Rules {
        classes: vec![ClassRule::default(); 3],
        volumes: vec![VolumeRule { octets: None, free: Some(5), keep_free: 20 }],
        slow: None,
    };
    assert_eq!(taken(&plan(&stored, &rules, None)), [0, 1].map(|i| (i, Action::Delete, Reason::FreeSpace)));
}

#[test]
fn classes_give_up_the_same_share_of_their_age() {
    let age = |h| ClassRule { age: hours(h), ..ClassRule::default() };
    let stored = [segment(0, 0, 20, 10), segment(1, 0, 93, 10), segment(1, 0, 99, 10), segment(0, 0, 100, 10)];
    let rules = Rules { classes: vec![age(900), age(10)], volumes: vec![room(25)], slow: None };
    // 80 of 900 hours are less than 7 of 10, and than 1 of 10.
    let steps = taken(&plan(&stored, &rules, Some(100 * HOUR)));
    assert_eq!(steps, [(1, Action::Delete, Reason::VolumeOctets), (2, Action::Delete, Reason::VolumeOctets)]);
}

#[test]
fn the_slow_volume_takes_what_the_fast_has_no_room_for() {
    let stored = [segment(0, 1, 1, 10), segment(0, 1, 2, 10), segment(0, 0, 3, 10), segment(0, 0, 4, 10)];
    let rules = |fast: u64, slow: u64| Rules {
        classes: vec![ClassRule::default()],
        volumes: vec![room(fast), room(slow)],
        slow: Some(1),
    };
    let for_room = |action| (action, Reason::VolumeOctets);
    let of = |steps: Vec<Step>| taken(&steps).into_iter().map(|(i, a, r)| (i, (a, r))).collect::<Vec<_>>();
    assert_eq!(of(plan(&stored, &rules(10, 30), None)), [(2, for_room(Action::Move))]);
    assert_eq!(of(plan(&stored, &rules(10, 20), None)), [(0, for_room(Action::Delete)), (2, for_room(Action::Move))]);
    // No room at all there: what would be moved is deleted.
    let all = [0, 1, 2].map(|i| (i, for_room(Action::Delete)));
    assert_eq!(of(plan(&stored, &rules(10, 0), None)), all);
}

#[test]
fn moves_by_age() {
    let stored = [segment(0, 0, 1, 10), segment(0, 0, 9, 10), segment(0, 1, 0, 10)];
    let rule = ClassRule { move_after: hours(5), ..ClassRule::default() };
    let rules = Rules { classes: vec![rule], volumes: volumes(2), slow: Some(1) };
    assert_eq!(taken(&plan(&stored, &rules, Some(10 * HOUR))), [(0, Action::Move, Reason::Age)]);
}

fn any_stored() -> impl Strategy<Value = Vec<Stored>> {
    let one =
        (0..3usize, 0..3usize, 0..300i64, 1..50u64, prop::bool::weighted(0.2), prop::option::weighted(0.2, 0..300u64));
    prop::collection::vec(one, 0..60).prop_map(|list| {
        let stored = |(class, volume, last, octets, held, age): (_, _, _, _, _, Option<u64>)| Stored {
            held,
            age_max: age.map(|h| Duration::from_secs(h * 3600)),
            ..segment(class, volume, last, octets)
        };
        list.into_iter().map(stored).collect()
    })
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let class = (prop::option::of(0..300u64), prop::option::of(0..600u64), prop::option::of(0..300u64));
    let classes = prop::collection::vec(class, 3);
    let volumes = prop::collection::vec((prop::option::of(0..600u64), prop::option::of(0..200u64), 0..400u64), 3);
    (classes, volumes, prop::option::of(Just(2usize))).prop_map(|(classes, volumes, slow)| Rules {
        classes: classes
            .into_iter()
            .map(|(age, octets, moves)| ClassRule {
                age: age.and_then(hours),
                octets,
                move_after: moves.and_then(hours),
            })
            .collect(),
        volumes: volumes.into_iter().map(|(octets, free, keep_free)| VolumeRule { octets, free, keep_free }).collect(),
        slow,
    })
}

/// Octets that a class or volume holds after the steps.
fn after(stored: &[Stored], steps: &[Step], slow: Option<usize>, of: impl Fn(&Stored) -> bool) -> u64 {
    let after = |(i, s): (usize, &Stored)| match steps.iter().find(|step| step.segment == i).map(|step| step.action) {
        None => Some(*s),
        Some(Action::Move) => Some(Stored { volume: slow.unwrap(), ..*s }),
        Some(Action::Delete) => None,
    };
    stored.iter().enumerate().filter_map(after).filter(of).map(|s| s.octets).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn keeps_to_the_rules(stored in any_stored(), rules in any_rules(), now in prop::option::of(0..400i64)) {
        let now = now.map(|h| h * HOUR);
        let steps = plan(&stored, &rules, now);
        let step_of = |i: usize| steps.iter().find(|s| s.segment == i);
        for step in &steps {
            let this = stored[step.segment];
            prop_assert!(!this.held, "held");
            prop_assert!(step.action == Action::Delete || rules.slow.is_some_and(|s| s != this.volume));
            prop_assert!(step.reason != Reason::Age || now.is_some());
            // The oldest first: what is older, in the same class and place, does not stay where it is.
            for (i, older) in stored.iter().enumerate() {
                let same = (older.class, older.volume) == (this.class, this.volume) && older.age_max.is_none();
                if same && !older.held && older.last_ns < this.last_ns {
                    prop_assert!(step_of(i).is_some(), "{i} is older than {}", step.segment);
                }
            }
        }
        for (class, rule) in rules.classes.iter().enumerate() {
            let Some(limit) = rule.octets else { continue };
            let of = |s: &Stored| s.class == class;
            let octets = after(&stored, &steps, rules.slow, of);
            let held = after(&stored, &steps, rules.slow, |s| of(s) && s.held);
            prop_assert!(octets <= limit || octets == held, "class {class}: {octets} > {limit}");
            let others = octets_of(&stored, &steps, |s, step| {
                of(s) && step.action == Action::Delete && step.reason == Reason::Age
            });
            let before = stored.iter().filter(|s| of(s)).map(|s| s.octets).sum::<u64>() - others.iter().sum::<u64>();
            let gone = octets_of(&stored, &steps, |s, step| of(s) && step.reason == Reason::ClassOctets);
            is_not_too_much(&gone, before.saturating_sub(limit))?;
        }
        for (volume, rule) in rules.volumes.iter().enumerate() {
            let of = |s: &Stored| s.volume == volume;
            let before: u64 = stored.iter().filter(|s| of(s)).map(|s| s.octets).sum();
            let octets = after(&stored, &steps, rules.slow, of);
            let held = after(&stored, &steps, rules.slow, |s| of(s) && s.held);
            let is_free = rule.free.is_none_or(|free| free + before >= rule.keep_free + octets);
            let has_room = rule.octets.is_none_or(|limit| octets <= limit) && is_free;
            prop_assert!(has_room || octets == held, "volume {volume}: {octets} of {before}, {held} held");
            if rules.slow.is_none() {
                let is_room = |r: Reason| matches!(r, Reason::VolumeOctets | Reason::FreeSpace);
                let gone = octets_of(&stored, &steps, |s, step| of(s) && is_room(step.reason));
                let others: u64 = octets_of(&stored, &steps, |s, step| of(s) && !is_room(step.reason)).iter().sum();
                let too_much = rule.octets.map_or(0, |limit| (before - others).saturating_sub(limit));
                let lacking = rule.free.map_or(0, |free| rule.keep_free.saturating_sub(free + others));
                is_not_too_much(&gone, too_much.max(lacking))?;
            }
        }
    }
}

fn octets_of(stored: &[Stored], steps: &[Step], of: impl Fn(&Stored, &Step) -> bool) -> Vec<u64> {
    let these = steps.iter().filter(|step| of(&stored[step.segment], step));
    these.map(|step| stored[step.segment].octets).collect()
}

/// Without the last one, too little would have gone.
fn is_not_too_much(gone: &[u64], needed: u64) -> Result<(), TestCaseError> {
    let largest = gone.iter().max().copied().unwrap_or(0);
    prop_assert!(gone.is_empty() || gone.iter().sum::<u64>() - largest < needed, "{gone:?} for {needed}");
    Ok(())
}
