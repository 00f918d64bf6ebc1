//! Files are rrdtool's octet by octet: made, updated, asked and described.

use crate::world;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use trunkline_rrd::{
    Archive, Consolidation, Plan, Question, Refused, RrdFile, SourceKind, Time, Tune, Value, facts, number_text,
};
use world::Rrdtool;

const START_S: i64 = 1_700_000_000;

#[derive(Clone, Debug)]
struct World {
    step_s: u64,
    definitions: Vec<String>,
    kinds: Vec<&'static str>,
    samples: Vec<Sample>,
    /// Samples of one command.
    together: usize,
    questions: Vec<(usize, i64, i64, u64)>,
}

#[derive(Clone, Debug)]
struct Sample {
    after_s: u64,
    hundredths: u32,
    values: Vec<String>,
}

fn source(number: usize, step_s: u64) -> impl Strategy<Value = (String, &'static str)> {
    let kinds = prop::sample::select(vec!["COUNTER", "GAUGE", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE"]);
    let bound = prop_oneof![3 => Just(None), 1 => (1u32..2000).prop_map(Some)];
    (kinds, 1..4u64, bound.clone(), bound).prop_map(move |(kind, beats, min, max)| {
        let min = min.map_or("U".to_owned(), |min| format!("-{min}.5"));
        let max = max.map_or("U".to_owned(), |max| format!("{max}"));
        (format!("DS:d{number}:{kind}:{}:{min}:{max}", beats * step_s), kind)
    })
}

fn sources(step_s: u64) -> impl Strategy<Value = (Vec<String>, Vec<&'static str>)> {
    let expressions = prop::sample::select(vec![
        "d0,8,*",
        "d0,UN,7,d0,IF",
        "d0,DUP,+,100,MIN,-3,MAX",
        "d0,UNKN,d0,3,AVG",
        "d0,10,LT,d0,INF,IF",
        "d0,SQRT,d0,ADDNAN,2,/,FLOOR",
        "d0,ABS,NEGINF,MAXNAN,17,%",
    ]);
    (source(0, step_s), source(1, step_s), source(2, step_s), 0..4usize, expressions).prop_map(
        |(a, b, c, count, expression)| {
            let mut all = vec![a];
            if count == 1 || count == 3 {
                all.push((format!("DS:sum:COMPUTE:{expression}"), "COMPUTE"));
            }
            if count >= 2 {
                all.push(b);
            }
            if count == 3 {
                all.push(c);
            }
            all.into_iter().unzip()
        },
    )
}

fn ring() -> impl Strategy<Value = String> {
    let functions = prop::sample::select(vec!["AVERAGE", "MIN", "MAX", "LAST"]);
    let share = prop::sample::select(vec!["0", "0.3", "0.5", "0.99"]);
    let steps = prop_oneof![Just(1u32), 1..8u32];
    (functions, share, steps, 1..30u32)
        .prop_map(|(function, share, steps, rows)| format!("RRA:{function}:{share}:{steps}:{rows}"))
}

fn reading(kind: &'static str) -> BoxedStrategy<String> {
    let counter = prop_oneof![
        6 => (0u64..5000).prop_map(|n| n.to_string()),
        2 => (4_294_967_000u64..4_294_967_296).prop_map(|n| n.to_string()),
        2 => (u64::MAX - 500..=u64::MAX).prop_map(|n| n.to_string()),
        1 => any::<u64>().prop_map(|n| n.to_string()),
        1 => "[0-9]{1,29}",
    ];
    let signed = prop_oneof![
        6 => (-5000i64..5000).prop_map(|n| n.to_string()),
        1 => any::<i64>().prop_map(|n| n.to_string()),
    ];
    let float = prop_oneof![
        4 => (-2000i32..2000).prop_map(|n| format!("{}", f64::from(n) / 16.0)),
        2 => any::<f64>().prop_filter("size", |n| (1e-290..1e290).contains(&n.abs())).prop_map(|n| format!("{n:e}")),
        2 => "-?[0-9]{1,12}\\.[0-9]{1,12}",
        1 => prop::sample::select(vec!["inf", "-inf", "0", "-0", "+5", "1e3", "nan"]).prop_map(str::to_owned),
    ];
    let known = match kind {
        "COUNTER" => counter.boxed(),
        "DERIVE" => signed.boxed(),
        _ => float.boxed(),
    };
    prop_oneof![8 => known, 1 => Just("U".to_owned())].boxed()
}

fn sample(kinds: Vec<&'static str>, step_s: u64) -> impl Strategy<Value = Sample> {
    let after = prop_oneof![
        6 => 1..=step_s,
        4 => Just(step_s),
        3 => step_s..step_s * 4,
        1 => step_s * 4..step_s * 80,
    ];
    let hundredths = prop_oneof![4 => Just(0u32), 1 => 0..100u32];
    let values: Vec<_> = kinds.into_iter().filter(|kind| *kind != "COMPUTE").map(reading).collect();
    (after, hundredths, values).prop_map(|(after_s, hundredths, values)| Sample { after_s, hundredths, values })
}

fn a_world() -> impl Strategy<Value = World> {
    prop::sample::select(vec![1u64, 7, 60, 300]).prop_flat_map(|step_s| {
        (sources(step_s), prop::collection::vec(ring(), 1..5)).prop_flat_map(move |((sources, kinds), rings)| {
            let definitions: Vec<String> = sources.into_iter().chain(rings).collect();
            let samples = prop::collection::vec(sample(kinds.clone(), step_s), 1..60);
            let question = (0..4usize, -100..100i64, 0..200i64, 1..2000u64);
            let questions = prop::collection::vec(question, 3);
            (samples, 1..20usize, questions).prop_map(move |(samples, together, questions)| World {
                step_s,
                definitions: definitions.clone(),
                kinds: kinds.clone(),
                samples,
                together,
                questions,
            })
        })
    })
}

/// Times as text, and as they are.
fn times(world: &World) -> Vec<String> {
    let mut now = START_S;
    let time = |sample: &Sample| {
        now += sample.after_s as i64;
        if sample.hundredths == 0 { now.to_string() } else { format!("{now}.{:02}", sample.hundredths) }
    };
    world.samples.iter().map(time).collect()
}

fn create(rrdtool: &mut Rrdtool, folder: &Path, world: &World) {
    let (theirs, ours) = (folder.join("theirs.rrd"), folder.join("ours.rrd"));
    let definitions = world.definitions.join(" ");
    let command = format!("create theirs.rrd --start {START_S} --step {} {definitions}", world.step_s);
    rrdtool.ask(&command).unwrap();
    let like = Archive::open(&std::fs::read(&theirs).unwrap()).unwrap();
    let mut rows = (0..).map(|ring| like.row(ring));
    let plan = Plan::read(world.step_s, world.definitions.iter().map(String::as_str)).unwrap();
    let made = plan.create(START_S, |_| rows.next().unwrap()).unwrap();
    RrdFile::create(&ours, &made).unwrap();
    same(folder, "create");
}

/// Both files, octet by octet.
fn same(folder: &Path, when: &str) {
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let (theirs, ours) = (read("theirs.rrd"), read("ours.rrd"));
    if theirs == ours {
        return;
    }
    let first = theirs.iter().zip(&ours).position(|(a, b)| a != b).unwrap_or(theirs.len().min(ours.len()));
    let (a, b) = (Archive::open(&theirs).unwrap(), Archive::open(&ours).unwrap());
    for (theirs, ours) in facts(&a, "x").iter().zip(facts(&b, "x")) {
        if theirs.to_string() != ours.to_string() {
            eprintln!("rrdtool: {theirs}\nours:    {ours}");
        }
    }
    let around = |octets: &[u8]| format!("{:02x?}", &octets[first / 8 * 8..(first / 8 * 8 + 8).min(octets.len())]);
    panic!("{when}: octet {first} of {}: {} and {}", theirs.len(), around(&theirs), around(&ours));
}

fn update(rrdtool: &mut Rrdtool, folder: &Path, world: &World) {
    let times = times(world);
    let all: Vec<_> = world.samples.iter().zip(&times).collect();
    for batch in all.chunks(world.together) {
        for (sample, time) in batch {
            let text = format!("{time}:{}", sample.values.join(":"));
            rrdtool.ask(&format!("update theirs.rrd {text}")).unwrap_or_else(|e| panic!("{text}: {e}"));
        }
        let values: Vec<Vec<Value<'_>>> =
            batch.iter().map(|(sample, _)| sample.values.iter().map(|text| Value::Text(text)).collect()).collect();
        let samples = batch.iter().zip(&values).map(|((_, time), values)| (Time::parse(time).unwrap(), &values[..]));
        let mut file = RrdFile::open_to_update(&folder.join("ours.rrd")).unwrap();
        file.update(samples, |time, why| panic!("{time:?}: {why}")).unwrap();
        drop(file);
        same(folder, &format!("update until {}", batch.last().unwrap().1));
    }
}

fn ask(rrdtool: &mut Rrdtool, folder: &Path, world: &World) {
    let file = RrdFile::open(&folder.join("ours.rrd")).unwrap();
    let last = file.archive().last().seconds;
    assert_eq!(rrdtool.ask("last theirs.rrd").unwrap().trim(), last.to_string());
    let told: String = facts(file.archive(), "theirs.rrd").iter().map(|fact| format!("{fact}\n")).collect();
    assert_eq!(told, rrdtool.ask("info theirs.rrd").unwrap());
    for (function, from, length, step_s) in &world.questions {
        let consolidation = Consolidation::ALL[*function];
        let step = world.step_s as i64;
        let (start_s, end_s) = (last + from * step, last + (from + length) * step);
        let command = format!("fetch theirs.rrd {} --start {start_s} --end {end_s} -r {step_s}", consolidation.name());
        let question = Question { consolidation, start_s, end_s, step_s: *step_s };
        let theirs = rrdtool.ask(&command);
        match (file.fetch(&question), theirs) {
            (Ok(series), Ok(text)) => assert_eq!(fetched(&series), text.replace("-nan", "nan"), "{command}"),
            (Err(_), Err(_)) => {}
            (ours, theirs) => panic!("{command}: {ours:?} and {theirs:?}"),
        }
    }
}

/// As `rrdtool fetch` prints it.
fn fetched(series: &trunkline_rrd::Series) -> String {
    let mut text = String::from("           ");
    series.names.iter().for_each(|name| text.push_str(&format!("{name:>20}")));
    text.push_str("\n\n");
    for (row, values) in series.values.chunks(series.names.len()).enumerate() {
        let time = series.start_s + (row as i64 + 1) * series.step_s;
        text.push_str(&format!("{time:>10}:"));
        values.iter().for_each(|v| text.push_str(&format!(" {}", number_text(*v).replace("NaN", "nan"))));
        text.push('\n');
    }
    text
}

#[test]
fn files_of_random_samples_are_those_of_rrdtool() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut rrdtool) = Rrdtool::start(folder.path()) else { return };
    let rrdtool = std::cell::RefCell::new(&mut rrdtool);
    let mut runner =
        TestRunner::new(Config { cases: 2000, failure_persistence: None, max_shrink_iters: 400, ..Config::default() });
    let result = runner.run(&a_world(), |world| {
        let rrdtool = &mut **rrdtool.borrow_mut();
        create(rrdtool, folder.path(), &world);
        update(rrdtool, folder.path(), &world);
        ask(rrdtool, folder.path(), &world);
        let _ = &world.kinds;
        Ok(())
    });
    result.unwrap();
}

fn two_files(rrdtool: &mut Rrdtool, folder: &Path) {
    let definitions = "DS:a:COUNTER:120:0:U DS:b:GAUGE:120:U:100 RRA:AVERAGE:0.5:1:10 RRA:MAX:0.5:3:8";
    rrdtool.ask(&format!("create theirs.rrd --start {START_S} --step 60 {definitions}")).unwrap();
    let samples: String = (1..40).map(|n| format!(" {}:{}:{}", START_S + n * 60, n * n * 100, n)).collect();
    rrdtool.ask(&format!("update theirs.rrd{samples}")).unwrap();
    std::fs::copy(folder.join("theirs.rrd"), folder.join("ours.rrd")).unwrap();
}

#[test]
fn changes_are_those_that_tune_makes() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut rrdtool) = Rrdtool::start(folder.path()) else { return };
    two_files(&mut rrdtool, folder.path());
    let command =
        "--heartbeat a:300 --minimum a:-5.5 --maximum b:U --data-source-type a:DERIVE --data-source-rename b:c";
    rrdtool.ask(&format!("tune theirs.rrd {command}")).unwrap();
    let changes = [
        Tune::Heartbeat("a".to_owned(), 300),
        Tune::Min("a".to_owned(), "-5.5".to_owned()),
        Tune::Max("b".to_owned(), "U".to_owned()),
        Tune::Kind("a".to_owned(), SourceKind::Derive),
        Tune::Rename("b".to_owned(), "c".to_owned()),
    ];
    RrdFile::tune(&folder.path().join("ours.rrd"), &changes).unwrap();
    same(folder.path(), "tune");
    let told = |change: Tune| RrdFile::tune(&folder.path().join("ours.rrd"), &[change]).unwrap_err().to_string();
    assert!(told(Tune::Heartbeat("z".to_owned(), 1)).contains("no data source 'z'"));
    assert!(told(Tune::Rename("a".to_owned(), "c".to_owned())).contains("is one already"));
    assert!(told(Tune::Rows(7, 5)).contains("no archive 7"));
    same(folder.path(), "changes that cannot be");
}

#[test]
fn rows_of_an_archive_grow_and_shrink_as_resize_makes_them() {
    for (rows, how) in [(25, "GROW 15"), (4, "SHRINK 6")] {
        let folder = tempfile::tempdir().unwrap();
        let Some(mut rrdtool) = Rrdtool::start(folder.path()) else { return };
        two_files(&mut rrdtool, folder.path());
        rrdtool.ask(&format!("resize theirs.rrd 0 {how}")).unwrap();
        RrdFile::tune(&folder.path().join("ours.rrd"), &[Tune::Rows(0, rows)]).unwrap();
        let mut fetch = |file: &str| {
            let times = format!("--start {} --end {}", START_S - 600, START_S + 3000);
            ["AVERAGE", "MAX"].map(|function| rrdtool.ask(&format!("fetch {file} {function} -r 60 {times}")).unwrap())
        };
        assert_eq!(fetch("ours.rrd"), fetch("resize.rrd"), "{how}");
        for file in ["ours.rrd", "resize.rrd"] {
            rrdtool.ask(&format!("update {file} {}:500000:7", START_S + 2500)).unwrap();
        }
        let last = |file: &str| RrdFile::open(&folder.path().join(file)).unwrap().archive().last();
        assert_eq!(last("ours.rrd"), last("resize.rrd"));
    }
}

/// As rrdtool tells and fetches it.
fn same_answers(rrdtool: &mut Rrdtool, folder: &Path, name: &str, functions: &[Consolidation]) {
    let file = RrdFile::open(&folder.join(name)).unwrap();
    let told: String = facts(file.archive(), name).iter().map(|fact| format!("{fact}\n")).collect();
    assert_eq!(told, rrdtool.ask(&format!("info {name}")).unwrap());
    for consolidation in functions {
        let (start_s, end_s) = (START_S - 3000, START_S + 90_000);
        let question = Question { consolidation: *consolidation, start_s, end_s, step_s: 1 };
        let command = format!("fetch {name} {} --start {start_s} --end {end_s} -r 1", consolidation.name());
        let theirs = rrdtool.ask(&command).unwrap().replace("-nan", "nan");
        assert_eq!(fetched(&file.fetch(&question).unwrap()), theirs, "{command}");
    }
}

#[test]
fn files_that_foretell_are_read_and_not_updated() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut rrdtool) = Rrdtool::start(folder.path()) else { return };
    for predict in ["HWPREDICT:60:0.1:0.0035:24", "MHWPREDICT:60:0.1:0.0035:24"] {
        let definitions = format!("DS:a:GAUGE:600:U:U RRA:AVERAGE:0.5:1:80 RRA:{predict}");
        rrdtool.ask(&format!("create hw.rrd --start {START_S} --step 300 {definitions}")).unwrap();
        for n in 1..200 {
            let value = 100.0 + f64::from(n % 24) * 7.5 + if n % 50 == 0 { 900.0 } else { 0.0 };
            rrdtool.ask(&format!("update hw.rrd {}:{value}", START_S + i64::from(n) * 300)).unwrap();
        }
        let predicted = if predict.starts_with('M') { Consolidation::MhwPredict } else { Consolidation::HwPredict };
        let functions = [
            Consolidation::Average,
            predicted,
            Consolidation::Seasonal,
            Consolidation::DevSeasonal,
            Consolidation::DevPredict,
            Consolidation::Failures,
        ];
        same_answers(&mut rrdtool, folder.path(), "hw.rrd", &functions);
        let path = folder.path().join("hw.rrd");
        let before = std::fs::read(&path).unwrap();
        let mut told = Vec::new();
        let samples = [(Time::at(START_S + 90_000), &[Value::Unsigned(5)][..])];
        RrdFile::open_to_update(&path).unwrap().update(samples, |_, why| told.push(why)).unwrap();
        let kind = predicted.name();
        assert_eq!(told, [Refused::Kind { archive: 1, kind }]);
        assert!(std::fs::read(&path).unwrap() == before);
    }
}

/// Before version 3 the last update has no microseconds.
#[test]
fn files_of_the_first_version_are_read_and_updated() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut rrdtool) = Rrdtool::start(folder.path()) else { return };
    two_files(&mut rrdtool, folder.path());
    let octets = std::fs::read(folder.path().join("theirs.rrd")).unwrap();
    let after_time = Archive::open(&octets).unwrap().shape().still_octets + 8;
    let mut first = [&octets[..after_time], &octets[after_time + 8..]].concat();
    first[4..8].copy_from_slice(b"0001");
    for name in ["theirs.rrd", "ours.rrd"] {
        std::fs::write(folder.path().join(name), &first).unwrap();
    }
    same_answers(&mut rrdtool, folder.path(), "ours.rrd", &[Consolidation::Average, Consolidation::Max]);
    let more = [(2400, ".5", ["700000", "3"]), (2460, "", ["800000", "U"]), (3011, ".25", ["9", "1"])];
    for (after_s, fraction, values) in more {
        let time = format!("{}{fraction}", START_S + after_s);
        rrdtool.ask(&format!("update theirs.rrd {time}:{}", values.join(":"))).unwrap();
        let values = values.map(Value::Text);
        let samples = [(Time::parse(&time).unwrap(), &values[..])];
        let mut file = RrdFile::open_to_update(&folder.path().join("ours.rrd")).unwrap();
        file.update(samples, |time, why| panic!("{time:?}: {why}")).unwrap();
        drop(file);
        same(folder.path(), &time);
    }
}

#[test]
fn files_of_other_machines_are_refused_with_what_they_are() {
    let made = Plan::read(60, ["DS:a:GAUGE:120:U:U", "RRA:AVERAGE:0.5:1:10"]).unwrap().create(START_S, |_| 0).unwrap();
    let told = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut octets = made.octets();
        change(&mut octets);
        Archive::open(&octets).unwrap_err().to_string()
    };
    assert!(told(&|octets| octets[16..24].reverse()).contains("big-endian"));
    let of_32_bit = |octets: &mut Vec<u8>| {
        octets.drain(12..16);
    };
    assert!(told(&of_32_bit).contains("32 bit"));
    assert!(told(&|octets| octets[7] = b'9').contains("version '0009'"));
    assert!(told(&|octets| octets[0] = b'X').contains("octet 0: not a round-robin file"));
    assert!(told(&|octets| octets.truncate(300)).contains("the header has"));
    assert!(told(&|octets| octets[24] = 0).contains("0 data sources"));
    let pointer = made.archive.shape().header_octets - 8;
    assert!(told(&|octets| octets[pointer] = 10).contains("archive 0 is at row 10 of 10"));
}

#[test]
fn a_pipe_in_place_of_a_file_holds_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("a.rrd");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for told in [RrdFile::open(&pipe).unwrap_err(), RrdFile::open_to_update(&pipe).unwrap_err()] {
        assert!(told.to_string().ends_with("it is not a file"), "{told}");
    }
}
