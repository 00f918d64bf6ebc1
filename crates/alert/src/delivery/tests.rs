//! What is told when, without a channel: time and outcomes are the tests'.

use super::*;
use crate::rule::{Known, read};

const RULES: &str = "[route.all]\nchannels = [\"a\", \"run\"]\ngroup = \"site\"\nwait = \"30 s\"\ninterval = \"5 min\"\n\
    [[route.all.escalate]]\nafter = \"15 min\"\nchannels = \"b\"\n\
    [channel.a]\nkind = \"webhook\"\nurl = \"http://h/\"\nretry-for = \"1 h\"\n\
    [channel.b]\nkind = \"webhook\"\nurl = \"http://h/\"\n[channel.run]\nkind = \"command\"\ncommand = \"x\"\n";

fn delivery() -> Delivery {
    Delivery::new(Arc::new(read(&[("r.toml", RULES)], &Known::default()).unwrap()))
}

fn notice(incident: &str, site: &str, kind: Kind, at_s: i64) -> Notice {
    Notice {
        incident: incident.to_owned(),
        kind,
        title: incident.to_owned(),
        text: String::new(),
        at_s,
        began_s: at_s,
        value: None,
        limit: None,
        condition: String::new(),
        figures: String::new(),
        flapping: false,
        routes: Vec::new(),
        labels: [("site".to_owned(), site.to_owned())].into(),
    }
}

/// Does what is to be done until a time, all of it delivered at once; what was sent: when, where, and of how many.
fn run(delivery: &mut Delivery, from_s: i64, to_s: i64) -> Vec<(i64, String, usize)> {
    let mut sent = Vec::new();
    for now_s in from_s..to_s {
        while delivery.poll_timeout().is_some_and(|due_s| due_s <= now_s) {
            delivery.handle_timeout(now_s).iter().flatten().for_each(|entry| delivery.apply(entry));
            while let Some(send) = delivery.poll_send() {
                sent.push((now_s, send.message.channel.clone(), send.message.alerts.len()));
                let outcome = delivery.outcome(&send.message.id, Outcomes::Delivered, now_s);
                delivery.apply(&outcome);
            }
        }
    }
    sent
}

fn at(sent: &[(i64, String, usize)], channel: &str) -> Vec<(i64, usize)> {
    sent.iter().filter(|(_, name, _)| name == channel).map(|(at_s, _, alerts)| (*at_s, *alerts)).collect()
}

#[test]
fn alerts_that_come_together_are_one_message() {
    let mut delivery = delivery();
    for number in 0..60 {
        delivery.apply(&Entry::Notice(notice(&format!("n{number}"), "north", Kind::Fired, number / 10)));
    }
    delivery.apply(&Entry::Notice(notice("s", "south", Kind::Fired, 10)));
    let sent = run(&mut delivery, 10, 200);
    assert_eq!(at(&sent, "a"), [(30, MESSAGE_ALERTS_MAX), (40, 1)]);
    // The next message of a group has its interval to wait.
    delivery.apply(&Entry::Notice(notice("s", "south", Kind::Resolved, 200)));
    delivery.apply(&Entry::Notice(notice("t", "south", Kind::Fired, 210)));
    assert_eq!(at(&run(&mut delivery, 210, 600), "a"), [(340, 2)]);
}

#[test]
fn what_was_over_before_it_was_told_is_not_told() {
    let mut delivery = delivery();
    for (kind, at_s) in [(Kind::Fired, 0), (Kind::Suppressed, 10)] {
        delivery.apply(&Entry::Notice(notice("x", "north", kind, at_s)));
    }
    assert_eq!(run(&mut delivery, 10, 1000), []);
    delivery.apply(&Entry::Notice(notice("x", "north", Kind::Resumed, 1000)));
    assert_eq!(at(&run(&mut delivery, 1000, 1100), "a"), [(1030, 1)]);
    delivery.apply(&Entry::Notice(notice("y", "south", Kind::Fired, 2000)));
    delivery.apply(&Entry::Notice(notice("y", "south", Kind::Resolved, 2010)));
    assert_eq!(at(&run(&mut delivery, 2010, 2500), "a"), []);
}

#[test]
fn what_nobody_acknowledges_is_escalated_once() {
    let mut delivery = delivery();
    delivery.apply(&Entry::Notice(notice("x", "north", Kind::Fired, 0)));
    delivery.apply(&Entry::Notice(notice("y", "north", Kind::Fired, 0)));
    run(&mut delivery, 0, 100);
    let who = "noc".to_owned();
    delivery.apply(&Entry::Acknowledged(Acknowledged { incident: "y".to_owned(), who, at_s: 100 }));
    assert_eq!(at(&run(&mut delivery, 100, 5000), "b"), [(900, 1)]);
}

/// Attempts by an outcome each, with the seconds between them.
fn attempts(delivery: &mut Delivery, channel: &str, came: &dyn Fn() -> Outcomes) -> Vec<i64> {
    let mut at = Vec::new();
    for now_s in 0..10_000 {
        delivery.handle_timeout(now_s).iter().flatten().for_each(|entry| delivery.apply(entry));
        while let Some(send) = delivery.poll_send() {
            let here = send.message.channel == channel;
            at.extend(here.then_some(now_s));
            let came = if here { came() } else { Outcomes::Delivered };
            let outcome = delivery.outcome(&send.message.id, came, now_s);
            delivery.apply(&outcome);
        }
    }
    at
}

#[test]
fn attempts_are_made_again_after_longer_and_longer_until_it_is_too_late() {
    let mut delivery = delivery();
    delivery.apply(&Entry::Notice(notice("x", "north", Kind::Fired, 0)));
    let at = attempts(&mut delivery, "a", &|| Outcomes::Failed("no".to_owned()));
    let waits: Vec<i64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits[..8], [5, 10, 20, 40, 80, 160, 300, 300]);
    assert_eq!((at[0], at.last().map(|last| (3600..4200).contains(&(last - 30)))), (31, Some(true)));
    assert_eq!(delivery.counts().given_up, 1);
    assert_eq!(delivery.waiting(), 0);
}

#[test]
fn what_is_in_doubt_is_asked_again_only_where_a_copy_is_known() {
    for (channel, attempted) in [("a", true), ("run", false)] {
        let mut delivery = delivery();
        delivery.apply(&Entry::Notice(notice("x", "north", Kind::Fired, 0)));
        let at = attempts(&mut delivery, channel, &|| Outcomes::InDoubt("?".to_owned()));
        assert_eq!(at.len() > 1, attempted, "{channel}");
        assert_eq!(delivery.counts().left_in_doubt, 1);
    }
}

#[test]
fn a_snapshot_is_all_that_was_known() {
    let mut delivery = delivery();
    for number in 0..100 {
        delivery.apply(&Entry::Notice(notice(&format!("n{number}"), "north", Kind::Fired, number)));
        let entries: Vec<Entry> = delivery.handle_timeout(number).concat();
        entries.iter().for_each(|entry| delivery.apply(entry));
    }
    let snapshot = |delivery: &Delivery| {
        let mut all = Vec::new();
        delivery.snapshot(|entry| all.push(entry));
        all
    };
    let all = snapshot(&delivery);
    let mut again = Delivery::new(Arc::clone(&delivery.rules));
    all.iter().for_each(|entry| again.apply(entry));
    assert_eq!(snapshot(&again), all);
    assert_eq!(again.handle_timeout(1000), delivery.handle_timeout(1000));
}

#[test]
fn too_many_messages_are_counted() {
    let mut delivery = delivery();
    let text = RULES.replace("group = \"site\"", "group = \"subject\"");
    delivery.rules = Arc::new(read(&[("r.toml", &text)], &Known::default()).unwrap());
    for number in 0..MESSAGES_MAX / 2 + 5 {
        let id = format!("m{number}");
        for channel in ["a", "run"] {
            let message = Message::new("all", core::slice::from_ref(&id), channel, &[], 0, 5, None);
            delivery.apply(&Entry::Message(message));
        }
    }
    assert_eq!((delivery.waiting(), delivery.counts().messages_overflow), (MESSAGES_MAX, 10));
}

#[test]
fn the_course_of_an_alert_tells_who_was_told_and_who_has_it() {
    let mut delivery = delivery();
    delivery.apply(&Entry::Notice(notice("n", "north", Kind::Fired, 0)));
    let failed = || Outcomes::Failed("busy".to_owned());
    for (now_s, came) in [(30, failed()), (35, failed()), (50, Outcomes::Delivered)] {
        while delivery.poll_timeout().is_some_and(|due_s| due_s <= now_s) {
            delivery.handle_timeout(now_s).iter().flatten().for_each(|entry| delivery.apply(entry));
            while let Some(send) = delivery.poll_send() {
                let came = if send.message.channel == "a" { came.clone() } else { Outcomes::Delivered };
                let outcome = delivery.outcome(&send.message.id, came, now_s);
                delivery.apply(&outcome);
            }
        }
    }
    let acknowledged = Acknowledged { incident: "n".to_owned(), who: "anna".to_owned(), at_s: 60 };
    delivery.apply(&Entry::Acknowledged(acknowledged));
    delivery.apply(&Entry::Notice(notice("n", "north", Kind::Resolved, 100)));
    let over = delivery.past().next().unwrap();
    let told = |step: &Step| match &step.what {
        Happened::Stands { state, .. } => format!("{} {state}", step.at_s),
        Happened::Acknowledged { by } => format!("{} by {by}", step.at_s),
        Happened::Told { channel, attempts, outcome, .. } => format!("{} {channel} {attempts} {outcome}", step.at_s),
    };
    let course: Vec<String> = over.incident.course.steps().iter().map(told).collect();
    assert_eq!(course, ["0 firing", "50 a 3 delivered", "30 run 1 delivered", "60 by anna", "100 resolved"]);
}
