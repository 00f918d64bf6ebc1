use super::*;
use crate::identity::Kind;
use crate::memory::Bounded;
use crate::operation::Entry;

const SECOND: u64 = 1000;

fn look_ups(base: &str) -> LookUps<u32> {
    let field = |name: &str, attribute: &str, is_required| Field {
        name: name.to_owned(),
        attribute: attribute.to_owned(),
        is_required,
    };
    let options = LookUpOptions {
        templates: vec![Template::new(base, "(mobile={msisdn})").expect("a filter")],
        scope: Scope::Subtree,
        fields: vec![field("plan", "tlPlan", true)],
        fresh: Duration::from_secs(60),
        stale: Duration::from_secs(600),
        absent: Duration::from_secs(10),
        time_limit_seconds: 1,
    };
    LookUps::new(options, Box::new(Bounded::new(100, 1 << 20)))
}

fn identity() -> Identity {
    Identity::new(Kind::Msisdn, "4420")
}

fn found(plan: &str) -> Result<Answer, Failure> {
    let attributes = vec![("tlPlan".to_owned(), vec![plan.as_bytes().to_vec()])];
    Ok(Answer { entries: vec![Entry { name: "uid=a".to_owned(), attributes }], ..Answer::default() })
}

fn said(code: u32) -> Result<Answer, Failure> {
    Ok(Answer { code, ..Answer::default() })
}

fn plan(looked_up: &LookedUp) -> (&str, Freshness) {
    match looked_up {
        LookedUp::Found(profile, freshness) => (profile.one("plan").expect("it is required"), *freshness),
        other => panic!("{other:?}"),
    }
}

/// Asks, and answers if it has to.
fn round(look_ups: &mut LookUps<u32>, now_ms: u64, result: Result<Answer, Failure>) -> LookedUp {
    match look_ups.look_up(now_ms, &identity(), 0) {
        Step::Known(_, looked_up) => looked_up,
        Step::Waits => panic!("nobody else has asked"),
        Step::Ask(_) => look_ups.answered(now_ms, &identity(), result).1,
    }
}

#[test]
fn many_look_ups_of_one_identity_are_one_search() {
    let mut look_ups = look_ups("dc=a");
    let Step::Ask(Operation::Search(search)) = look_ups.look_up(0, &identity(), 1) else { panic!("it is new") };
    assert_eq!((search.filter.to_string().as_str(), search.size_limit), ("(mobile=4420)", 2));
    assert_eq!(search.attributes, ["tlPlan"]);
    for token in 2..5 {
        assert_eq!(look_ups.look_up(0, &identity(), token), Step::Waits);
    }
    let (tokens, looked_up) = look_ups.answered(0, &identity(), found("gold"));
    assert_eq!((tokens, plan(&looked_up)), (vec![1, 2, 3, 4], ("gold", Freshness::Asked)));
    assert_eq!((look_ups.counts.searches, look_ups.counts.joined), (1, 3));
    assert!(look_ups.answered(0, &identity(), found("gold")).0.is_empty());
}

#[test]
fn a_profile_is_remembered_for_its_time_and_stands_in_after_it() {
    let mut look_ups = look_ups("dc=a");
    assert_eq!(plan(&round(&mut look_ups, 0, found("gold"))).1, Freshness::Asked);
    let down = || Err(Failure::Unreachable("gone".into()));
    assert_eq!(plan(&round(&mut look_ups, 59 * SECOND, down())), ("gold", Freshness::Remembered));
    assert_eq!(plan(&round(&mut look_ups, 60 * SECOND, down())), ("gold", Freshness::Stale));
    assert_eq!(plan(&round(&mut look_ups, 600 * SECOND, said(code::UNAVAILABLE))), ("gold", Freshness::Stale));
    assert_eq!(round(&mut look_ups, 660 * SECOND, down()), LookedUp::Failed(down().expect_err("down").into()));
    assert_eq!(plan(&round(&mut look_ups, 70 * SECOND, found("lead"))), ("lead", Freshness::Asked));
    assert_eq!((look_ups.counts.stale, look_ups.counts.remembered), (2, 1));
}

#[test]
fn absence_is_remembered_for_its_own_time() {
    let mut look_ups = look_ups("dc=a");
    assert_eq!(round(&mut look_ups, 0, said(code::SUCCESS)), LookedUp::Absent);
    assert_eq!(round(&mut look_ups, 9 * SECOND, found("gold")), LookedUp::Absent);
    assert_eq!(look_ups.counts.remembered_absent, 1);
    assert_eq!(plan(&round(&mut look_ups, 10 * SECOND, found("gold"))).1, Freshness::Asked);
    // A subscriber that is gone is gone, however long the profile would stand in.
    assert_eq!(round(&mut look_ups, 100 * SECOND, said(code::SUCCESS)), LookedUp::Absent);
    assert!(matches!(round(&mut look_ups, 111 * SECOND, Err(Failure::TimedOut)), LookedUp::Failed(_)));
}

#[test]
fn what_is_forgotten_is_asked_anew() {
    let mut look_ups = look_ups("dc=a");
    round(&mut look_ups, 0, found("gold"));
    look_ups.forget(&identity());
    assert!(matches!(look_ups.look_up(1, &identity(), 0), Step::Ask(_)));
    // The profile changes while it is searched: what is found may be that from before.
    look_ups.forget(&identity());
    assert_eq!(plan(&look_ups.answered(2, &identity(), found("gold")).1).1, Freshness::Asked);
    assert_eq!(plan(&round(&mut look_ups, 3, found("lead"))), ("lead", Freshness::Asked));
}

#[test]
fn a_clock_that_is_set_back_makes_nothing_fresh() {
    let mut look_ups = look_ups("dc=a");
    round(&mut look_ups, 1000 * SECOND, found("gold"));
    assert_eq!(plan(&round(&mut look_ups, 990 * SECOND, found("lead"))), ("lead", Freshness::Asked));
}

#[test]
fn what_is_neither_found_nor_absent_is_told() {
    let why = |result| match round(&mut look_ups("dc=a"), 0, result) {
        LookedUp::Failed(why) => why,
        other => panic!("{other:?}"),
    };
    let urls = || vec!["ldap://elsewhere".to_owned()];
    let referred = |code| Ok(Answer { code, referrals: urls(), ..Answer::default() });
    assert_eq!(why(referred(code::REFERRAL)), Why::Referred(urls()));
    assert_eq!(why(referred(code::SUCCESS)), Why::Referred(urls()));
    assert_eq!(why(said(code::SIZE_LIMIT_EXCEEDED)), Why::Ambiguous);
    assert_eq!(why(said(code::NO_SUCH_OBJECT)), Why::Refused(32, "noSuchObject (32)".to_owned()));
    let two =
        found("gold").map(|answer| Answer { entries: [answer.entries.clone(), answer.entries].concat(), ..answer });
    assert_eq!(why(two), Why::Ambiguous);
    let bare = Ok(Answer { entries: vec![Entry::default()], ..Answer::default() });
    assert!(matches!(why(bare), Why::Incomplete(_)));
    let in_base = round(&mut look_ups("uid={msisdn},dc=a"), 0, said(code::NO_SUCH_OBJECT));
    assert_eq!(in_base, LookedUp::Absent);
}

#[test]
fn what_can_be_no_identity_is_not_asked() {
    let mut look_ups = look_ups("dc=a");
    let long = "4".repeat(256);
    for text in ["", "44\0", &long] {
        let step = look_ups.look_up(0, &Identity::new(Kind::Msisdn, text), 7);
        assert_eq!(step, Step::Known(7, LookedUp::Failed(Why::Unfit)));
    }
    let step = look_ups.look_up(0, &Identity::new(Kind::Imsi, "26201"), 7);
    assert_eq!(step, Step::Known(7, LookedUp::Failed(Why::NoFilter)));
    assert_eq!((look_ups.counts.unfit, look_ups.counts.searches), (4, 0));
}
