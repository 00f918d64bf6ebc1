//! The numbers of graphs are those of `rrdtool xport` and of what `rrdtool graph` prints.

use crate::world;
use std::cell::RefCell;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use trunkline_rrd::graph::{Figures, Sheet, Span};
use trunkline_rrd::rpn::{Calendar, Zone};
use trunkline_rrd::{Consolidation, RrdFile, number_text};
use world::Rrdtool;

const START_S: i64 = 1_700_000_000;
const LAST_S: i64 = START_S + 700 * 60;

/// Two files of steps of one and of five minutes, and of what is not always known.
fn fill(rrdtool: &mut Rrdtool) {
    let rings = "RRA:AVERAGE:0.5:1:300 RRA:AVERAGE:0.5:5:300 RRA:MAX:0.5:1:300 RRA:MAX:0.5:5:300 RRA:MIN:0.5:5:300";
    let sources = "DS:in:GAUGE:600:U:U DS:out:GAUGE:600:U:U";
    rrdtool.ask(&format!("create one.rrd --start {START_S} --step 60 {sources} {rings}")).unwrap();
    rrdtool.ask(&format!("create five.rrd --start {START_S} --step 300 {sources} {rings}")).unwrap();
    let mut chance = 7u64;
    let mut value = || {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (chance >> 40) % 40_000;
        if number < 3000 { "U".to_owned() } else { format!("{}.{}", number as i64 / 10 - 1500, number % 10) }
    };
    for minute in 1..=700 {
        let time = START_S + minute * 60;
        rrdtool.ask(&format!("update one.rrd {time}:{}:{}", value(), value())).unwrap();
        if minute % 5 == 0 {
            rrdtool.ask(&format!("update five.rrd {time}:{}:{}", value(), value())).unwrap();
        }
    }
}

/// What sorts gets no infinite values: rrdtool's order of them depends on what sorts.
fn within(operator: &str) -> &'static str {
    let sorts = ["SORT", "MEDIAN", "PERCENT"].iter().any(|word| operator.contains(word));
    if sorts { ",1e9,MIN,-1e9,MAX" } else { "" }
}

/// An expression that leaves one value. `rows` says which variables may be looked back in.
fn expression(leaves: Vec<&'static str>, rows: bool) -> BoxedStrategy<String> {
    let numbers = (-200i32..200).prop_map(|n| format!("{}", f64::from(n) / 8.0));
    let words =
        vec!["UNKN", "INF", "NEGINF", "TIME", "LTIME", "COUNT", "STEPWIDTH", "NEWDAY", "NEWWEEK", "NEWMONTH", "PREV"];
    let mut leaf = prop_oneof![
        6 => prop::sample::select(leaves).prop_map(str::to_owned),
        2 => numbers,
        1 => prop::sample::select(words).prop_map(str::to_owned),
    ]
    .boxed();
    if rows {
        let looks = vec![
            "PREV(a)",
            "a,180,TREND",
            "a,400,TRENDNAN",
            "c,61,TRENDNAN",
            "600,1200,2,300,a,PREDICT",
            "600,-3,180,a,PREDICTSIGMA",
            "900,1800,2,600,50,a,PREDICTPERC",
            "900,1800,2,600,-30,c,PREDICTPERC",
            "600,-4,200,12.5,a,PREDICTPERC",
        ];
        leaf = prop_oneof![3 => leaf, 2 => prop::sample::select(looks).prop_map(str::to_owned)].boxed();
    }
    let one = prop::sample::select(vec![
        "SIN", "COS", "LOG", "EXP", "SQRT", "ATAN", "FLOOR", "CEIL", "ABS", "UN", "ISINF", "DEG2RAD", "RAD2DEG",
        "DUP,*", "DUP,POP",
    ]);
    let two = prop::sample::select(vec![
        "+",
        "-",
        "*",
        "/",
        "%",
        "LT",
        "LE",
        "GT",
        "GE",
        "EQ",
        "NE",
        "MIN",
        "MAX",
        "MINNAN",
        "MAXNAN",
        "ADDNAN",
        "ATAN2",
        "POW",
        "EXC,-",
        "2,INDEX,+,-",
        "DEPTH,+,+",
        "2,REV,-",
        "2,SORT,-",
    ]);
    let three = prop::sample::select(vec![
        "IF",
        "LIMIT",
        "3,AVG",
        "3,MEDIAN",
        "3,SMIN",
        "3,SMAX",
        "3,STDEV",
        "3,SORT,-,-",
        "3,REV,-,-",
        "50,3,PERCENT",
        "100,3,PERCENT",
        "3,COPY,3,AVG,+,+,+",
    ]);
    leaf.prop_recursive(4, 24, 3, move |inner| {
        prop_oneof![
            (inner.clone(), one.clone()).prop_map(|(a, of)| format!("{a},{of}")),
            (inner.clone(), inner.clone(), two.clone()).prop_map(|(a, b, of)| {
                let within = within(of);
                format!("{a}{within},{b}{within},{of}")
            }),
            (inner.clone(), inner.clone(), inner, three.clone()).prop_map(|(a, b, c, of)| {
                let within = within(of);
                format!("{a}{within},{b}{within},{c}{within},{of}")
            }),
        ]
    })
    .boxed()
}

#[derive(Clone, Debug)]
struct Asked {
    definitions: Vec<String>,
    exports: Vec<&'static str>,
    start_s: i64,
    end_s: i64,
    step_s: u64,
    width: u32,
}

fn asked() -> impl Strategy<Value = Asked> {
    let function = || prop::sample::select(vec!["AVERAGE", "MAX", "MIN"]);
    let options = prop_oneof![
        3 => Just(String::new()),
        1 => (1..2000u32).prop_map(|step| format!(":step={step}")),
        1 => function().prop_map(|function| format!(":reduce={function}")),
    ];
    let span = (0..600i64, 1..40_000i64, prop_oneof![Just(1u64), 1..3000u64], 10..500u32);
    let mixed = (function(), function(), options.clone(), expression(vec!["a", "b"], false)).prop_map(
        |(first, second, options, text)| {
            vec![
                format!("DEF:a=one.rrd:in:{first}{options}"),
                format!("DEF:b=five.rrd:out:{second}"),
                // It is of both, and ends in no number.
                format!("CDEF:x=a,b,+,0,*,{text},EXC,POP"),
                "CDEF:y=x,a,ADDNAN,2,*,DUP,+".to_owned(),
            ]
        },
    );
    let alone = (function(), options, expression(vec!["a", "c"], true)).prop_map(|(function, options, text)| {
        vec![
            format!("DEF:a=one.rrd:in:{function}{options}"),
            format!("DEF:c=one.rrd:out:{function}{options}"),
            format!("CDEF:x=a,0,*,{text},EXC,POP"),
            "CDEF:y=x,PREV,ADDNAN,c,+".to_owned(),
        ]
    });
    (span, prop_oneof![mixed, alone]).prop_map(|((from, length, step_s, width), definitions)| Asked {
        exports: if definitions[1].starts_with("DEF:b") { vec!["a", "b", "x", "y"] } else { vec!["a", "c", "x", "y"] },
        definitions,
        start_s: LAST_S - from * 60 - length,
        end_s: LAST_S - from * 60,
        step_s,
        width,
    })
}

fn figures(folder: &Path, asked: &Asked, calendar: Calendar<'_>) -> Figures {
    let sheet = Sheet::read(asked.definitions.iter().map(String::as_str)).unwrap();
    let span = Span::of_width(asked.start_s, asked.end_s, asked.width, asked.step_s);
    sheet.calculate(&span, calendar, |file, question| RrdFile::open(&folder.join(file))?.fetch(question)).unwrap()
}

/// The numbers of an answer in XML, as they were printed: in JSON infinite ones are null.
fn exported(answer: &str) -> (i64, i64, i64, Vec<String>) {
    let between = |text: &str, tag: &str| -> Vec<String> {
        let (begin, end) = (format!("<{tag}>"), format!("</{tag}>"));
        let parts = text.split(&begin).skip(1).filter_map(|part| part.split_once(&end));
        parts.map(|(part, _)| part.to_owned()).collect()
    };
    let meta = |key: &str| between(answer, key)[0].parse().unwrap();
    let value = |text: String| if text.ends_with("NaN") || text.ends_with("nan") { "NaN".to_owned() } else { text };
    (meta("start"), meta("end"), meta("step"), between(answer, "v").into_iter().map(value).collect())
}

/// Export has a printer of its own, whose last digit may be off by one; what `PRINT` prints is compared exactly.
fn is_printed(ours: &str, theirs: &str) -> bool {
    let near = |ours: f64, theirs: f64| (ours - theirs).abs() <= 2e-10 * ours.abs() + 1e-300;
    ours == theirs || matches!((ours.parse(), theirs.parse()), (Ok(ours), Ok(theirs)) if near(ours, theirs))
}

/// None where rrdtool cannot put rows together: fewer are there than it leaves out at the ends.
fn answered(rrdtool: &mut Rrdtool, command: &str) -> Option<String> {
    match rrdtool.ask(command) {
        Ok(answer) => Some(answer),
        Err(error) if error.starts_with("SANITY CHECK") => None,
        Err(error) => panic!("{command}: {error}"),
    }
}

fn compare(rrdtool: &mut Rrdtool, folder: &Path, asked: &Asked, calendar: Calendar<'_>) {
    let ours = figures(folder, asked, calendar);
    let exports: String = asked.exports.iter().map(|name| format!(" XPORT:{name}:{name}")).collect();
    let head = format!("-s {} -e {} --step {}", asked.start_s, asked.end_s, asked.step_s);
    let definitions = asked.definitions.join(" ");
    let command = format!("xport {head} -m {} {definitions}{exports}", asked.width);
    let Some(answer) = answered(rrdtool, &command) else { return };
    let (start_s, end_s, step_s, values) = exported(&answer);
    let table = ours.table(&asked.exports).unwrap();
    assert_eq!((table.start_s + table.step_s, table.end_s, table.step_s), (start_s, end_s, step_s), "{command}");
    let mut ours: Vec<String> = table.values.iter().map(|value| number_text(*value)).collect();
    if [",-3,180,", ",-4,200,"].iter().any(|shifts| command.contains(shifts)) {
        // A shift of nothing looks at the row ahead (rrdtool 1.7), which for the last row is behind its memory.
        ours.truncate(ours.len() - table.columns);
    }
    assert!(values.len() >= ours.len(), "{command}");
    for (place, (ours, theirs)) in ours.iter().zip(&values).enumerate() {
        assert!(is_printed(ours, theirs), "{command}: value {place} is {ours}, and {theirs} of rrdtool");
    }
}

#[test]
fn tables_of_random_expressions_are_those_of_xport() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut rrdtool) = Rrdtool::start(folder.path()) else { return };
    fill(&mut rrdtool);
    let rrdtool = RefCell::new(&mut rrdtool);
    let config = Config { cases: 1500, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let result = TestRunner::new(config).run(&asked(), |asked| {
        compare(&mut rrdtool.borrow_mut(), folder.path(), &asked, Calendar::utc(0));
        Ok(())
    });
    result.unwrap();
}

const MEASURES: [&str; 14] = [
    "MAXIMUM",
    "MINIMUM",
    "AVERAGE",
    "STDEV",
    "FIRST",
    "LAST",
    "TOTAL",
    "LSLSLOPE",
    "LSLINT",
    "LSLCORREL",
    "95,PERCENT",
    "12.5,PERCENT",
    "95,PERCENTNAN",
    "33,PERCENTNAN",
];

/// As `%.10le` prints it.
fn printed(value: f64) -> String {
    number_text(value).replace("NaN", "nan")
}

fn compare_prints(rrdtool: &mut Rrdtool, folder: &Path, asked: &Asked, line: &str) {
    let functions = ["AVERAGE", "MIN", "MAX", "LAST"];
    let mut asked = asked.clone();
    for (number, measure) in MEASURES.iter().enumerate() {
        asked.definitions.push(format!("VDEF:v{number}={line},{measure}"));
    }
    asked.definitions.push("CDEF:z=a,v0,v1,-,/,v2,+".to_owned());
    let ours = figures(folder, &asked, Calendar::utc(0));
    let mut command = format!("graph /dev/null -s {} -e {}", asked.start_s, asked.end_s);
    command.push_str(&format!(" --step {} -w {} {}", asked.step_s, asked.width.max(10), asked.definitions.join(" ")));
    let mut expected = Vec::new();
    let known = ours.line(line).unwrap().values.iter().any(|value| !value.is_nan());
    for (number, measure) in MEASURES.iter().enumerate() {
        // Of nothing known rrdtool takes what is before its memory.
        if !known && measure.ends_with("NAN") {
            continue;
        }
        let measured = ours.measured(&format!("v{number}")).unwrap();
        command.push_str(&format!(" PRINT:v{number}:%.10le"));
        expected.push(printed(measured.value));
        if let Some(at_s) = measured.at_s {
            command.push_str(&format!(" PRINT:v{number}:%s:strftime"));
            expected.push(at_s.to_string());
        }
    }
    for (line, function) in [line, "z", "a"].iter().flat_map(|line| functions.map(|function| (line, function))) {
        command.push_str(&format!(" PRINT:{line}:{function}:%.10le"));
        expected.push(printed(ours.summary(line, Consolidation::named(function).unwrap()).unwrap()));
    }
    let Some(answer) = answered(rrdtool, &command) else { return };
    let theirs: Vec<String> = answer.lines().skip(1).map(|line| line.replace("-nan", "nan")).collect();
    assert_eq!(expected, theirs, "{command}");
}

#[test]
fn figures_of_random_lines_are_those_that_graph_prints() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut rrdtool) = Rrdtool::start(folder.path()) else { return };
    fill(&mut rrdtool);
    let rrdtool = RefCell::new(&mut rrdtool);
    let config = Config { cases: 400, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let result = TestRunner::new(config).run(&asked(), |asked| {
        compare_prints(&mut rrdtool.borrow_mut(), folder.path(), &asked, "a");
        Ok(())
    });
    result.unwrap();
}

#[test]
fn lines_are_shifted_by_whole_steps() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut rrdtool) = Rrdtool::start(folder.path()) else { return };
    fill(&mut rrdtool);
    for shift in [3600, 3599, -1830, 61] {
        let definitions = [
            format!("DEF:a=one.rrd:in:AVERAGE:start={}:end={}", LAST_S - 9000, LAST_S),
            "DEF:b=one.rrd:in:AVERAGE".to_owned(),
            "VDEF:high=b,MAXIMUM".to_owned(),
            format!("SHIFT:a:{shift}"),
            "CDEF:x=a,b,-".to_owned(),
            "VDEF:m=x,STDEV".to_owned(),
            "SHIFT:a:-300".to_owned(),
            "CDEF:y=a,b,+".to_owned(),
        ];
        let asked = Asked {
            definitions: definitions.to_vec(),
            exports: vec![],
            start_s: LAST_S - 9000,
            end_s: LAST_S,
            step_s: 1,
            width: 400,
        };
        compare_prints(&mut rrdtool, folder.path(), &asked, "x");
        compare_prints(&mut rrdtool, folder.path(), &asked, "y");
    }
}

struct East;

impl Zone for East {
    fn ahead_s(&self, _: i64) -> i64 {
        5 * 3600 + 45 * 60
    }
}

#[test]
fn days_are_those_where_the_people_are() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut rrdtool) = Rrdtool::start_in(folder.path(), "ABC-5:45") else { return };
    fill(&mut rrdtool);
    let asked = Asked {
        definitions: vec![
            "DEF:a=one.rrd:in:AVERAGE".to_owned(),
            "CDEF:x=LTIME,NEWDAY,7,*,+,NEWWEEK,3,*,+,NEWMONTH,+,NEWYEAR,+,a,0,*,ADDNAN".to_owned(),
        ],
        exports: vec!["x"],
        start_s: LAST_S - 40_000,
        end_s: LAST_S,
        step_s: 1,
        width: 500,
    };
    compare(&mut rrdtool, folder.path(), &asked, Calendar { zone: &East, first_weekday: 0, now_s: 0 });
}
