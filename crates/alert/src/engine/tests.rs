//! States beside a plain reference, baselines over simulated weeks, dependencies, restarts.

use super::*;
use crate::delivery::{Kind, Notice};
use crate::rule::{Known, Place, read};
use proptest::prelude::*;

fn rules(text: &str) -> Arc<Rules> {
    Arc::new(read(&[("r.toml", text)], &Known::default()).unwrap_or_else(|wrong| panic!("{wrong:?}")))
}

fn show(engine: &mut Engine, rule: &str, subject: &str, at_s: i64, value: Option<f64>) -> Vec<Entry> {
    let mut out = Vec::new();
    let fields = [("site", "north")];
    let device = subject.split(' ').next().unwrap_or_default();
    engine.observe(&Observation { rule, subject, device, fields: &fields, at_s, value, samples: 1 }, &mut out);
    out
}

fn pass(engine: &mut Engine, now_s: i64) -> Vec<Entry> {
    let mut out = Vec::new();
    engine.handle_timeout(now_s, &mut out);
    out
}

fn notices(entries: &[Entry]) -> Vec<&Notice> {
    let notices = entries.iter().filter_map(|entry| match entry {
        Entry::Notice(notice) => Some(notice),
        _ => None,
    });
    notices.collect()
}

/// The kind and the subject of what is told.
fn told(entries: &[Entry]) -> Vec<(Kind, String)> {
    notices(entries).iter().map(|notice| (notice.kind, notice.labels["subject"].clone())).collect()
}

fn state(engine: &Engine, rule: &str, subject: &str) -> State {
    engine.standing(rule).find(|standing| standing.subject == subject).map_or(State::Ok, |standing| standing.state)
}

/// A new engine that reads what the other one wrote, as it would after a restart: a snapshot or the entries.
fn restarted(rules: &Arc<Rules>, engine: &Engine, log: &[Entry], by_snapshot: bool, now_s: i64) -> Engine {
    let mut again = Engine::new(Arc::clone(rules));
    let mut records = Vec::new();
    match by_snapshot {
        true => engine.snapshot(|entry| records.push(entry)),
        false => records.extend_from_slice(log),
    }
    for entry in &records {
        let read = Entry::decode(&Entry::encode(core::slice::from_ref(entry))).unwrap();
        assert_eq!(core::slice::from_ref(entry), read);
        again.apply(&read[0]);
    }
    again.resume(now_s);
    again
}

/// All values so far, and what they say by the words of the rule: everything is computed anew each time.
struct Slowly {
    values: Vec<(i64, Option<f64>)>,
    opinions: Vec<Opinion>,
    open: bool,
    /// Where the alert began or ended last.
    since: usize,
}

impl Slowly {
    fn take(&mut self, rule: &Rule, at_s: i64, value: Option<f64>) -> bool {
        self.values.push((at_s, value));
        let inside = |at: i64| if rule.window_s == 0 { at == at_s } else { at > at_s - rule.window_s };
        let window: Vec<f64> = self.values.iter().filter(|(at, _)| inside(*at)).filter_map(|(_, v)| *v).collect();
        let mean = window.iter().sum::<f64>() / window.len() as f64;
        let Condition::High { limit, clear } = rule.condition else { panic!("only high is compared") };
        self.opinions.push(match () {
            () if window.is_empty() || (window.len() as u64) < rule.minimum => Opinion::None,
            () if mean > limit => Opinion::Bad,
            () if mean <= clear => Opinion::Good,
            () => Opinion::Between,
        });
        let now = self.opinions.len() - 1;
        let lasted = |from: usize, s: i64| at_s - self.values[from].0 >= s;
        let moves = (self.since..=now).any(|from| {
            let all = &self.opinions[from..=now];
            match self.open {
                false => {
                    all[0] == Opinion::Bad
                        && all.last() == Some(&Opinion::Bad)
                        && all.iter().all(|o| matches!(o, Opinion::Bad | Opinion::None))
                        && lasted(from, rule.for_s)
                }
                true => all.iter().all(|o| *o == Opinion::Good) && lasted(from, rule.clear_for_s),
            }
        });
        if moves {
            (self.open, self.since) = (!self.open, now + 1);
        }
        self.open
    }
}

fn series() -> impl Strategy<Value = Vec<(i64, Option<f64>)>> {
    let value = prop_oneof![8 => (0..12i32).prop_map(|v| Some(f64::from(v))), 1 => Just(None)];
    prop::collection::vec((1..90i64, value), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_alert_is_open_when_the_words_of_the_rule_say_so(
        series in series(), window in 0..200i64, minimum in 0..4u32, wait in 0..150i64, clear_for in 0..150i64,
        clear in 3..=6i32,
    ) {
        let text = format!(
            "[rule.r]\nvalue = \"v\"\nlimit = 6\nclear = {clear}\nwindow = \"{window} s\"\nminimum = {minimum}\n\
             for = \"{wait} s\"\nclear-for = \"{clear_for} s\"\nflaps = 0\nunknown-after = \"7 days\"\n",
        );
        let rules = rules(&text);
        let (mut engine, mut at_s) = (Engine::new(Arc::clone(&rules)), 1_000_000);
        let mut slowly = Slowly { values: Vec::new(), opinions: Vec::new(), open: false, since: 0 };
        for (step, value) in series {
            at_s += step;
            show(&mut engine, "r", "s", at_s, value);
            pass(&mut engine, at_s);
            let open = engine.standing("r").any(|standing| standing.incident.is_some());
            prop_assert_eq!(open, slowly.take(&rules.rules["r"], at_s, value), "at {}", at_s);
        }
    }

    #[test]
    fn a_restart_neither_forgets_nor_alarms_again(
        series in series(), restarts in prop::collection::vec(any::<u8>(), 120), wait in 0..100i64,
        clear_for in 0..100i64,
    ) {
        let rules = rules(&format!(
            "[rule.r]\nvalue = \"v\"\nlimit = 6\nclear = 4\nfor = \"{wait} s\"\nclear-for = \"{clear_for} s\"\n\
             flaps = 3\nunknown-after = \"7 days\"\n[rule.b]\nvalue = \"v\"\ncondition = \"baseline\"\nlimit = 2\n",
        ));
        let (mut once, mut again) = (Engine::new(Arc::clone(&rules)), Engine::new(Arc::clone(&rules)));
        let (mut log, mut at_s) = (Vec::new(), 1_000_000);
        for ((step, value), restart) in series.into_iter().zip(restarts) {
            at_s += step;
            let steady = [show(&mut once, "r", "s", at_s, value), pass(&mut once, at_s)].concat();
            show(&mut once, "b", "s", at_s, value);
            let broken = [show(&mut again, "r", "s", at_s, value), pass(&mut again, at_s)].concat();
            log.extend(show(&mut again, "b", "s", at_s, value));
            prop_assert_eq!(notices(&steady), notices(&broken));
            log.extend(broken);
            if restart < 60 {
                again = restarted(&rules, &again, &log, restart % 2 == 0, at_s);
            }
        }
    }
}

#[test]
fn no_value_is_unknown_and_an_alert_stays_open_meanwhile() {
    let rules =
        rules("[rule.r]\nvalue = \"v\"\nlimit = 5\nunknown-after = \"10 min\"\ntitle = \"|subject|: |value|\"\n");
    let mut engine = Engine::new(rules);
    let fired = show(&mut engine, "r", "s", 60, Some(7.25));
    assert_eq!(notices(&fired)[0].title, "s: 7.25");
    assert_eq!(notices(&fired)[0].labels["site"], "north");
    assert_eq!(pass(&mut engine, 600), []);
    assert_eq!(engine.poll_timeout(), Some(660));
    assert_eq!(told(&pass(&mut engine, 660)), [(Kind::Unknown, "s".to_owned())]);
    assert_eq!(state(&engine, "r", "s"), State::Unknown);
    assert_eq!(told(&show(&mut engine, "r", "s", 700, Some(8.0))), [(Kind::Resumed, "s".to_owned())]);
    assert_eq!(told(&show(&mut engine, "r", "s", 760, Some(1.0))), [(Kind::Resolved, "s".to_owned())]);
    // What was well is unknown without a word.
    assert_eq!(told(&pass(&mut engine, 5000)), []);
    assert_eq!(state(&engine, "r", "s"), State::Unknown);
}

#[test]
fn rates_and_changes_are_those_of_the_window() {
    let rules = rules(
        "[rule.rise]\nvalue = \"v\"\ncondition = \"rise\"\nlimit = 10\nper = \"1 min\"\nwindow = \"5 min\"\n\
         [rule.fall]\nvalue = \"v\"\ncondition = \"fall\"\nlimit = 10\nper = \"1 min\"\nwindow = \"5 min\"\n\
         [rule.flap]\nvalue = \"v\"\ncondition = \"flapping\"\nlimit = 2\nwindow = \"5 min\"\n",
    );
    let mut engine = Engine::new(rules);
    // 20 in two minutes is just the limit, 22 is more.
    for (at_s, value, rising) in [(0, 100.0, false), (60, 110.0, false), (120, 122.0, true), (180, 122.0, false)] {
        show(&mut engine, "rise", "s", at_s, Some(value));
        show(&mut engine, "fall", "s", at_s, Some(-value));
        assert_eq!(state(&engine, "rise", "s") == State::Firing, rising, "{at_s}");
        assert_eq!(state(&engine, "fall", "s") == State::Firing, rising, "{at_s}");
    }
    let flapping: Vec<bool> = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        .iter()
        .enumerate()
        .map(|(at, value)| {
            show(&mut engine, "flap", "s", at as i64 * 60, Some(*value));
            state(&engine, "flap", "s") == State::Firing
        })
        .collect();
    assert_eq!(flapping, [false, false, false, false, true, false, false, false, false]);
}

#[test]
fn what_flaps_is_damped() {
    let rules = rules("[rule.r]\nvalue = \"v\"\nlimit = 5\nflaps = 3\nflap-window = \"1 h\"\n");
    let mut engine = Engine::new(rules);
    let mut all = Vec::new();
    for minute in 0..120 {
        let value = if minute < 60 && minute % 2 == 0 { 9.0 } else { 1.0 };
        all.extend(show(&mut engine, "r", "s", minute * 60, Some(value)));
        all.extend(pass(&mut engine, minute * 60));
    }
    let all = notices(&all);
    // Of thirty alerts three are told, and the last one is over after an hour without another.
    let fired: Vec<bool> = all.iter().filter(|n| n.kind == Kind::Fired).map(|n| n.flapping).collect();
    assert_eq!(fired, [false, false, true]);
    assert_eq!(all.last().map(|n| (n.kind, n.at_s)), Some((Kind::Resolved, 119 * 60)));
}

const NETWORK: &str = "[rule.down]\nvalue = \"up\"\ncondition = \"down\"\nafter = \"3 min\"\nfor = \"1 min\"\n\
    depends = [\"down\"]\n[rule.full]\nvalue = \"v\"\nlimit = 90\ndepends = [\"down\"]\n";

/// A router with a hundred switches behind it, and one of them with two routers.
fn network() -> (Engine, Vec<String>) {
    let mut engine = Engine::new(rules(NETWORK));
    let switches: Vec<String> = (0..100).map(|number| format!("switch-{number}")).collect();
    switches.iter().for_each(|switch| engine.set_parents(switch, &["router-1"]));
    engine.set_parents("switch-0", &["router-1", "router-2"]);
    (engine, switches)
}

/// A minute: who answers, and who does not.
fn minute(engine: &mut Engine, at_s: i64, dead: &dyn Fn(&str) -> bool, all: &[String]) -> Vec<(Kind, String)> {
    let mut out = Vec::new();
    for device in all.iter().map(String::as_str).chain(["router-1", "router-2"]) {
        out.extend(show(engine, "down", device, at_s, (!dead(device)).then_some(1.0)));
    }
    (0..60).for_each(|second| out.extend(pass(engine, at_s + second)));
    told(&out)
}

#[test]
fn a_dead_router_does_not_alarm_its_hundred_switches() {
    let (mut engine, switches) = network();
    let mut all = Vec::new();
    for at in 0..30 {
        // The router dies and all behind it with it; when it is back, two switches are still down.
        let dead = |device: &str| match at {
            2..15 => device == "router-1" || device.starts_with("switch") && device != "switch-0",
            15.. => matches!(device, "switch-7" | "switch-8"),
            _ => false,
        };
        let told = minute(&mut engine, at * 60, &dead, &switches);
        all.extend(told.into_iter().map(|(kind, subject)| (at, kind, subject)));
        if at == 10 {
            let kept = engine.standing("down").filter(|s| s.state == State::Suppressed(Block::Dependency)).count();
            assert_eq!(kept, 99);
        }
    }
    let text = |kind, subject: &str| (kind, subject.to_owned());
    let told: Vec<_> = all.iter().map(|(_, kind, subject)| (*kind, subject.clone())).collect();
    assert_eq!(
        told,
        [
            text(Kind::Fired, "router-1"),
            text(Kind::Resolved, "router-1"),
            text(Kind::Fired, "switch-7"),
            text(Kind::Fired, "switch-8")
        ]
    );
    // After their own time, not at once.
    assert!(all[2].0 >= 16, "{all:?}");
}

#[test]
fn a_device_with_two_ways_is_cut_off_when_both_are_dead() {
    let (mut engine, _) = network();
    let all = ["switch-0".to_owned()];
    let mut at = 0;
    let mut run = |minutes: i64, dead: &dyn Fn(&str) -> bool, engine: &mut Engine| {
        let mut told = Vec::new();
        for _ in 0..minutes {
            told.extend(minute(engine, at * 60, dead, &all));
            at += 1;
        }
        told.into_iter().filter(|(_, subject)| subject == "switch-0").map(|(kind, _)| kind).collect::<Vec<_>>()
    };
    run(2, &|_| false, &mut engine);
    assert_eq!(run(10, &|device| device != "router-2", &mut engine), [Kind::Fired]);
    assert_eq!(run(10, &|_| true, &mut engine), [Kind::Suppressed]);
    assert_eq!(run(10, &|device| device != "router-2", &mut engine), [Kind::Resumed]);
    assert_eq!(run(2, &|_| false, &mut engine), [Kind::Resolved]);
}

#[test]
fn an_alert_waits_while_it_is_found_out_whether_a_device_on_its_way_is_in_trouble() {
    let text = "[rule.down]\nvalue = \"up\"\ncondition = \"low\"\nlimit = 1\ndepends = [\"down\"]\n\
        [rule.other]\nvalue = \"up\"\ncondition = \"low\"\nlimit = 1\ndepends = [\"other\"]\n";
    let mut engine = Engine::new(rules(text));
    let devices = ["router", "switch-1", "switch-2", "port"];
    engine.set_parents("switch-1", &["router"]);
    engine.set_parents("switch-2", &["router"]);
    engine.set_parents("port", &["switch-1"]);
    devices.iter().for_each(|device| drop(show(&mut engine, "down", device, 0, Some(1.0))));
    let doubt = |rule: &str, device: &str| BTreeSet::from([(rule.to_owned(), device.to_owned())]);
    // The switches and what is behind one are seen to be down first; the router is dead, too, and not asked yet.
    engine.set_doubted(doubt("down", "router"));
    let mut out = Vec::new();
    for device in &devices[1..] {
        out.extend(show(&mut engine, "down", device, 60, Some(0.0)));
    }
    (61..90).for_each(|second| out.extend(pass(&mut engine, second)));
    assert_eq!(told(&out), []);
    out.extend(show(&mut engine, "down", "router", 90, Some(0.0)));
    engine.set_doubted(BTreeSet::new());
    out.extend(pass(&mut engine, 91));
    assert_eq!(told(&out), [(Kind::Fired, "router".to_owned())]);
    let kept = |engine: &Engine| {
        engine.standing("down").filter(|standing| standing.state == State::Suppressed(Block::Dependency)).count()
    };
    assert_eq!(kept(&engine), 3);

    // A switch that died alone is an alert as soon as the router has answered. What another rule waits for is nothing
    // to this one.
    for device in devices {
        drop(show(&mut engine, "down", device, 120, Some(1.0)));
    }
    engine.set_doubted(doubt("down", "router"));
    assert_eq!(told(&show(&mut engine, "down", "switch-1", 180, Some(0.0))), []);
    engine.set_doubted(doubt("other", "router"));
    assert_eq!(told(&pass(&mut engine, 181)), [(Kind::Fired, "switch-1".to_owned())]);
}

#[test]
fn other_rules_are_kept_back_too_and_rings_of_devices_do_no_harm() {
    let (mut engine, _) = network();
    engine.set_parents("router-1", &["switch-1"]);
    engine.set_parents("switch-1", &["router-1"]);
    let router = ["switch-1".to_owned()];
    (0..10).for_each(|at| drop(minute(&mut engine, at * 60, &|device| at > 0 && device == "switch-1", &router)));
    assert_eq!(state(&engine, "down", "switch-1"), State::Firing);
    show(&mut engine, "full", "switch-1 Gi0/1", 600, Some(99.0));
    assert_eq!(state(&engine, "full", "switch-1 Gi0/1"), State::Suppressed(Block::Dependency));
    show(&mut engine, "full", "switch-0 Gi0/1", 600, Some(99.0));
    assert_eq!(state(&engine, "full", "switch-0 Gi0/1"), State::Firing);
}

#[test]
fn maintenance_and_the_time_of_the_week_keep_back() {
    // 1970-01-01 was a Thursday.
    let rules = rules(
        "[rule.r]\nvalue = \"v\"\nlimit = 5\nfor = \"2 min\"\n\
         [rule.day]\nvalue = \"v\"\nlimit = 5\nvalid = \"Thu 01:00-02:00\"\n\
         [maintenance.m]\nwhen = \"site = north\"\nfrom = \"1970-01-01 00:10\"\nto = \"1970-01-01 00:20\"\n",
    );
    let mut engine = Engine::new(rules);
    let mut all = Vec::new();
    for minute in 0..130 {
        for rule in ["r", "day"] {
            all.extend(show(&mut engine, rule, "s", minute * 60, Some(9.0)));
        }
        all.extend(pass(&mut engine, minute * 60 + 1));
    }
    let told: Vec<(String, Kind, i64)> =
        notices(&all).iter().map(|n| (n.labels["rule"].clone(), n.kind, n.at_s / 60)).collect();
    let told: Vec<(&str, Kind, i64)> = told.iter().map(|(rule, kind, at)| (rule.as_str(), *kind, *at)).collect();
    assert_eq!(
        told,
        [
            ("r", Kind::Fired, 2),
            ("r", Kind::Suppressed, 10),
            ("r", Kind::Resumed, 22),
            ("day", Kind::Fired, 60),
            ("day", Kind::Suppressed, 120)
        ]
    );
}

/// Eight weeks around the change of the clocks: traffic follows the clock on the wall, busy from 8 to 18.
#[test]
fn a_baseline_follows_the_clock_on_the_wall() {
    let rules = rules(
        "[rule.r]\nvalue = \"v\"\ncondition = \"baseline\"\nlimit = 4\nfloor = 20\nweeks = 3\nweeks-min = 2\n\
         zone = \"Europe/Berlin\"\n",
    );
    let zone = rules.rules["r"].zone.clone();
    let mut engine = Engine::new(Arc::clone(&rules));
    let mut random = trunkline_kit::random::Random::new(3, 0);
    // Monday, 2026-10-05, 00:00 in Berlin; clocks go back on October 25th.
    let (begin, mut log, mut fired) = (1_791_151_200, Vec::new(), Vec::new());
    for step in 0..8 * 7 * 24 * 4i64 {
        let at_s = begin + step * 900;
        let hour = zone.place(at_s).hour() % 24;
        let usual = if (8..18).contains(&hour) { 1000.0 } else { 100.0 };
        // In the seventh week, one night hour is as busy as a day.
        let odd = (6 * 7 * 96 + 8..6 * 7 * 96 + 12).contains(&step);
        let value = if odd { 1000.0 } else { usual } + random.unit() * 20.0 - 10.0;
        let entries = show(&mut engine, "r", "s", at_s, Some(value));
        fired.extend(notices(&entries).iter().filter(|n| n.kind == Kind::Fired).map(|n| n.at_s));
        log.extend(entries);
        if step == 6 * 7 * 96 {
            // What was learned survives.
            engine = restarted(&rules, &engine, &log, false, at_s);
        }
    }
    // The seventh Monday 02:00: after the change an hour later by UTC.
    assert_eq!(fired, [begin + 6 * 7 * 86_400 + 2 * 3600]);
    let hours = log.iter().filter(|entry| matches!(entry, Entry::Hour(_))).count();
    assert!((1340..=1344).contains(&hours), "{hours}");
}

/// Mean and deviation beside the formula over all values.
#[test]
fn a_baseline_is_mean_and_deviation_of_the_weeks_before() {
    let mut baseline = Baseline::default();
    let mut random = trunkline_kit::random::Random::new(5, 0);
    let place = |week| Place { week, minute: 3 * 60 };
    let mut weeks: Vec<Vec<f64>> = Vec::new();
    for week in 0..6 {
        let values: Vec<f64> = (0..20).map(|_| 1e6 + random.unit()).collect();
        values.iter().for_each(|value| drop(baseline.learn(place(week), *value, 4)));
        weeks.push(values);
    }
    let all: Vec<f64> = weeks[2..6].concat();
    let mean = all.iter().sum::<f64>() / 80.0;
    let deviation = (all.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 79.0).sqrt();
    let usual = baseline.usual(place(6), 4, 4).unwrap();
    assert!((usual.mean - mean).abs() < 1e-6 && (usual.deviation - deviation).abs() < 1e-6, "{usual:?}");
    assert_eq!(baseline.usual(place(6), 6, 6), None);
}

#[test]
fn what_cannot_be_followed_is_counted() {
    let mut engine = Engine::new(rules("[rule.r]\nvalue = \"v\"\nlimit = 5\nwindow = \"7 days\"\n"));
    show(&mut engine, "none", "s", 5, Some(1.0));
    show(&mut engine, "r", "s", 5, Some(1.0));
    show(&mut engine, "r", "s", 5, Some(1.0));
    (6..6 + WINDOW_POINTS_MAX as i64).for_each(|at_s| drop(show(&mut engine, "r", "s", at_s, Some(1.0))));
    let counts = engine.counts();
    assert_eq!((counts.strays, counts.late, counts.window_overflow), (1, 1, 1));
    let mut out = Vec::new();
    show(&mut engine, "r", "s", 5000, Some(1e9));
    engine.forget("r", "s", 5001, &mut out);
    assert_eq!((told(&out), engine.subjects()), (vec![(Kind::Resolved, "s".to_owned())], 0));
}

/// Other rules than before, as after a reload.
fn reloaded(engine: Engine, rules: &Arc<Rules>, now_s: i64) -> Engine {
    let mut again = Engine::new(Arc::clone(rules));
    again.go_on_from(engine, now_s);
    again
}

const WINDOWS: &str = "[rule.flap]\nvalue = \"v\"\ncondition = \"flapping\"\nlimit = 2\nwindow = \"5 min\"\n\
    [rule.rise]\nvalue = \"v\"\ncondition = \"rise\"\nlimit = 0\nwindow = \"5 min\"\nclear-for = \"2 min\"\n\
    [rule.mean]\nvalue = \"v\"\nlimit = 0.1\nwindow = \"5 min\"\n\
    [rule.last]\nvalue = \"v\"\nlimit = 0.4\nwindow = \"5 min\"\nfunction = \"last\"\n";

/// Each rule of [`WINDOWS`] has an alert at 240.
fn alarmed(rules: &Arc<Rules>) -> (Engine, Vec<Entry>) {
    let (mut engine, mut log) = (Engine::new(Arc::clone(rules)), Vec::new());
    for (minute, value) in [0.0, 1.0, 0.0, 0.0, 1.0].into_iter().enumerate() {
        for rule in rules.rules.keys() {
            log.extend(show(&mut engine, rule, "s", minute as i64 * 60, Some(value)));
        }
    }
    for rule in rules.rules.keys() {
        assert_eq!(state(&engine, rule, "s"), State::Firing, "{rule}");
    }
    (engine, log)
}

#[test]
fn after_a_restart_a_window_is_not_good_before_it_was_seen_whole() {
    let rules = rules(WINDOWS);
    for by_snapshot in [true, false] {
        let (engine, log) = alarmed(&rules);
        let mut engine = restarted(&rules, &engine, &log, by_snapshot, 250);
        // Values that do not move, and are small: nothing of it is bad. The first is at 300.
        for at_s in [300, 360, 420, 480, 540, 599] {
            for rule in ["flap", "rise", "mean"] {
                assert_eq!(told(&show(&mut engine, rule, "s", at_s, Some(0.0))), [], "{rule} at {at_s}");
                assert_eq!(state(&engine, rule, "s"), State::Firing, "{rule} at {at_s}");
            }
        }
        assert_eq!(told(&pass(&mut engine, 599)), []);
        for rule in ["flap", "mean"] {
            assert_eq!(told(&show(&mut engine, rule, "s", 600, Some(0.0))), [(Kind::Resolved, "s".to_owned())]);
        }
        show(&mut engine, "rise", "s", 600, Some(0.0));
        assert_eq!(state(&engine, "rise", "s"), State::Clearing);
        // What looks at the last value alone has seen all with it.
        assert_eq!(told(&show(&mut engine, "last", "s", 300, Some(0.0))), [(Kind::Resolved, "s".to_owned())]);
    }
}

#[test]
fn after_a_restart_a_window_can_be_bad_at_once_and_what_cleared_clears_on() {
    let rules = rules(WINDOWS);
    let (mut engine, _) = alarmed(&rules);
    (5..9).for_each(|minute| drop(show(&mut engine, "rise", "s", minute * 60, Some(1.0))));
    show(&mut engine, "rise", "s", 540, Some(1.0));
    assert_eq!(state(&engine, "rise", "s"), State::Clearing);
    let mut engine = restarted(&rules, &engine, &[], true, 550);
    show(&mut engine, "rise", "s", 600, Some(1.0));
    assert_eq!(state(&engine, "rise", "s"), State::Clearing, "nothing is bad, and not all was seen");
    show(&mut engine, "rise", "s", 660, Some(2.0));
    assert_eq!(state(&engine, "rise", "s"), State::Firing);
}

#[test]
fn a_reload_that_changes_nothing_of_a_rule_changes_nothing_of_its_subjects() {
    let old = rules(WINDOWS);
    let (mut engine, _) = alarmed(&old);
    show(&mut engine, "mean", "well", 240, Some(0.0));
    engine.set_maintained(BTreeSet::from(["worked-at".to_owned()]));
    let counts = engine.counts();
    let ids = |engine: &Engine| {
        let all = old.rules.keys().flat_map(|rule| engine.standing(rule)).map(|standing| standing.incident);
        all.collect::<Vec<_>>()
    };
    let before = ids(&engine);
    let new = rules(
        &WINDOWS.replace("[rule.mean]", "[rule.mean]\nseverity = \"critical\"").replace("limit = 2", "limit = 1"),
    );
    let mut engine = reloaded(engine, &new, 250);
    assert_eq!((ids(&engine), engine.counts()), (before, counts));
    assert_eq!((engine.subjects(), engine.watched("mean")), (5, 2));
    // The window has its last alert of before as long as it lasts, and no longer.
    (5..9).for_each(|minute| assert_eq!(told(&show(&mut engine, "mean", "s", minute * 60, Some(0.0))), []));
    let over = show(&mut engine, "mean", "s", 540, Some(0.0));
    assert_eq!(told(&over), [(Kind::Resolved, "s".to_owned())]);
    assert_eq!(notices(&over)[0].labels["severity"], "critical");
    // Another limit is another rule.
    assert_eq!(told(&show(&mut engine, "flap", "s", 300, Some(1.0))), []);
    // What is worked at is so.
    show(&mut engine, "last", "worked-at", 300, Some(1.0));
    assert_eq!(state(&engine, "last", "worked-at"), State::Suppressed(Block::Maintenance));
}

#[test]
fn what_was_forgotten_stays_forgotten_over_a_restart() {
    let rules = rules(&format!("{NETWORK}[rule.usual]\nvalue = \"v\"\ncondition = \"baseline\"\nlimit = 2\n"));
    let (mut engine, mut log) = (Engine::new(Arc::clone(&rules)), Vec::new());
    for (rule, at_s) in [("full", 60), ("down", 60), ("usual", 60), ("usual", 7200)] {
        log.extend(show(&mut engine, rule, "gone", at_s, Some(99.0)));
        log.extend(show(&mut engine, rule, "stays", at_s, Some(99.0)));
    }
    ["full", "down", "usual"].iter().for_each(|rule| engine.forget(rule, "gone", 7300, &mut log));
    for by_snapshot in [true, false] {
        let again = restarted(&rules, &engine, &log, by_snapshot, 7400);
        let known = ["full", "down", "usual"].map(|rule| {
            let all = again.followed(rule, "", 10).into_iter().map(|standing| standing.subject);
            all.collect::<Vec<_>>()
        });
        assert_eq!(known, [["stays"], ["stays"], ["stays"]], "{by_snapshot}");
        assert_eq!(again.subjects(), 3);
    }
    // A log that was written before this was said.
    let mut old = serde_json::to_value(log.iter().find(|entry| matches!(entry, Entry::Standing(_)))).unwrap();
    assert_eq!(old["standing"].as_object_mut().unwrap().remove("is_gone"), None);
    assert!(serde_json::from_value::<Entry>(old).is_ok());
}

#[test]
fn a_rule_without_words_of_its_own_says_value_and_limit() {
    let rules = rules(
        "[rule.low]\nvalue = \"v\"\ncondition = \"low\"\nlimit = 15\n\
         [rule.large]\nvalue = \"v\"\nlimit = 900_000_000\ntitle = \"|subject|: |value|bit/s of |limit|bit/s\"\n\
         [rule.rise]\nvalue = \"v\"\ncondition = \"rise\"\nlimit = 0\nwindow = \"5 min\"\n",
    );
    let mut engine = Engine::new(rules);
    let mut line = |rule: &str, at_s, value| {
        let entries = show(&mut engine, rule, "box", at_s, Some(value));
        notices(&entries).first().map(|notice| (notice.line(), notice.title.clone(), notice.limit))
    };
    let told = |line: &str, title: &str, limit| Some((line.to_owned(), title.to_owned(), Some(limit)));
    assert_eq!(line("low", 60, 12.5), told("low: box: 12.5 (condition: less than 15)", "low: box", 15.0));
    assert_eq!(line("low", 120, 18.0), told("low: box: 18 (condition: less than 15)", "low: box", 15.0));
    let large = "box: 22.15 Gbit/s of 900 Mbit/s";
    assert_eq!(line("large", 60, 22_145_713_975.0), told(large, large, 900e6));
    line("rise", 60, 0.0);
    let rise = "rise: box: 3 (condition: rising by more than 0 in 60 s)";
    assert_eq!(line("rise", 120, 3.0), told(rise, "rise: box", 0.0));
}
