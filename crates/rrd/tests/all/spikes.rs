//! Planted spikes are found and go, nothing else does; rrdtool reads what is left.

use crate::world;
use std::collections::BTreeMap;
use trunkline_rrd::{Plan, RrdFile, SpikeBound, SpikeSearch, Time, Value, spikes, without};
use world::Rrdtool;

const START_S: i64 = 1_790_035_200;
const MINUTES: i64 = 600;
/// Minutes with a spike: one alone, two beside each other, one near the end.
const PLANTED: [i64; 4] = [100, 250, 251, 595];
const SPIKE: f64 = 1e9;

/// A wave, and never a spike.
fn usual(minute: i64) -> f64 {
    1000.0 + 100.0 * (minute as f64 / 30.0).sin()
}

/// The rows of an archive as rrdtool tells them: when they end, and the value.
fn fetched(rrdtool: &mut Rrdtool, function: &str, step: i64) -> BTreeMap<i64, f64> {
    let end = START_S + MINUTES * 60;
    let said = rrdtool.ask(&format!("fetch f.rrd {function} -r {step} -s {START_S} -e {end}")).unwrap();
    let row = |line: &str| {
        let (time, value) = line.split_once(": ")?;
        Some((time.parse().ok()?, value.trim().trim_start_matches('-').parse().ok()?))
    };
    said.lines().filter_map(row).filter(|(at, _)| *at <= end).collect()
}

#[test]
fn planted_spikes_go_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut rrdtool) = Rrdtool::start(folder.path()) else { return };
    let archives = ["RRA:MAX:0.5:1:1000", "RRA:MAX:0.5:60:100"];
    let lines = ["DS:a:GAUGE:120:U:U", "RRA:AVERAGE:0.5:1:1000", "RRA:AVERAGE:0.5:60:100", archives[0], archives[1]];
    let made = Plan::read(60, lines).unwrap().create(START_S, |_| 0).unwrap();
    let path = folder.path().join("f.rrd");
    RrdFile::create(&path, &made).unwrap();
    let values: Vec<[Value<'static>; 1]> = (1..=MINUTES)
        .map(|minute| [Value::Float(if PLANTED.contains(&minute) { SPIKE } else { usual(minute) })])
        .collect();
    let samples = (1..=MINUTES).zip(&values).map(|(minute, values)| (Time::at(START_S + minute * 60), &values[..]));
    RrdFile::open_to_update(&path).unwrap().update(samples, |at, why| panic!("{at:?}: {why}")).unwrap();
    let before = (fetched(&mut rrdtool, "AVERAGE", 60), fetched(&mut rrdtool, "AVERAGE", 3600));
    assert_eq!((before.0[&(START_S + 6000)], before.1[&(START_S + 7200)] > 1e7), (SPIKE, true));

    for bound in [SpikeBound::Deviations(10.0), SpikeBound::Above(1e6)] {
        let octets = std::fs::read(&path).unwrap();
        let search = SpikeSearch { bound, start_s: 0, end_s: i64::MAX };
        let found = spikes(&octets, &search).unwrap();
        let minutes: Vec<i64> =
            found.iter().filter(|s| s.row_s == 60 && s.ring == 0).map(|s| (s.end_s - START_S) / 60).collect();
        assert_eq!(minutes, PLANTED, "{bound:?}");
        let early = SpikeSearch { end_s: START_S + 200 * 60, ..search };
        assert_eq!(spikes(&octets, &early).unwrap().iter().filter(|s| s.row_s == 60).count(), 2);
        let clean = without(&octets, &found).unwrap();
        assert!(spikes(&clean, &search).unwrap().is_empty(), "{bound:?}");
        std::fs::write(folder.path().join("clean.rrd"), clean).unwrap();
    }
    std::fs::rename(folder.path().join("clean.rrd"), &path).unwrap();

    let after = fetched(&mut rrdtool, "AVERAGE", 60);
    assert_eq!(after.len(), before.0.len());
    for (at, value) in after {
        match PLANTED.contains(&((at - START_S) / 60)) {
            true => assert!(value.is_nan(), "{at}: {value}"),
            false => assert_eq!(value.to_bits(), before.0[&at].to_bits(), "{at}"),
        }
    }
    // Hours with a spike in them are made of the minutes that are left; the others are as they were.
    let hours = fetched(&mut rrdtool, "AVERAGE", 3600);
    for (at, value) in &hours {
        let hour = (at - START_S) / 3600;
        let minutes: Vec<i64> = (hour * 60 - 59..=hour * 60).filter(|minute| !PLANTED.contains(minute)).collect();
        let mean = minutes.iter().map(|minute| usual(*minute)).sum::<f64>() / minutes.len() as f64;
        assert!((value - mean).abs() < 1e-6, "hour {hour}: {value}, not {mean}");
    }
    assert_eq!(hours.len(), 10);
    assert!(fetched(&mut rrdtool, "MAX", 3600).values().all(|value| *value < 1200.0));
}

#[test]
fn a_row_that_is_to_come_has_no_spike_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut rrdtool) = Rrdtool::start(folder.path()) else { return };
    let lines = ["DS:a:GAUGE:120:U:U", "RRA:AVERAGE:0.5:1:1000", "RRA:AVERAGE:0.5:60:100"];
    let made = Plan::read(60, lines).unwrap().create(START_S, |_| 0).unwrap();
    let path = folder.path().join("f.rrd");
    RrdFile::create(&path, &made).unwrap();
    let put = |minutes: std::ops::RangeInclusive<i64>| {
        let value = |minute: i64| if minute == 595 { SPIKE } else { usual(minute) };
        let values: Vec<[Value<'static>; 1]> = minutes.clone().map(|minute| [Value::Float(value(minute))]).collect();
        let samples = minutes.zip(&values).map(|(minute, values)| (Time::at(START_S + minute * 60), &values[..]));
        RrdFile::open_to_update(&path).unwrap().update(samples, |at, why| panic!("{at:?}: {why}")).unwrap();
    };
    put(1..=596);
    let octets = std::fs::read(&path).unwrap();
    let search = SpikeSearch { bound: SpikeBound::Above(1e6), start_s: 0, end_s: i64::MAX };
    let found = spikes(&octets, &search).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    std::fs::write(&path, without(&octets, &found).unwrap()).unwrap();
    put(597..=MINUTES);
    let hours = fetched(&mut rrdtool, "AVERAGE", 3600);
    let last = hours[&(START_S + 36_000)];
    // Of the hour only its last minutes are known: less than half.
    assert!(last.is_nan(), "{last}");
}
