//! Graphs in numbers beside `rrdtool xport` of definitions that are written here by hand, and pictures by rrdtool.

use crate::house;
use house::House;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use trunkline_graph::inventory::order::Order;
use trunkline_graph::job::{Drawing, DrawingOptions, NotDrawn};
use trunkline_graph::picture::{Ask, Files as _, Format, NoPicture, Picture, Plan, csv, picture, script};
use trunkline_graph::template::Function;

/// The last sample of files, a multiple of all steps.
const END_S: i64 = 1_790_035_200;

/// What rrdtool says to lines; none, and said aloud, where it is not installed.
fn rrdtool(folder: &Path, line: &str) -> Option<String> {
    let child = Command::new("rrdtool")
        .arg("-")
        .current_dir(folder)
        .env("TZ", "UTC")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            eprintln!("SKIPPED: rrdtool: {error}; scripts/setup test installs it");
            return None;
        }
    };
    writeln!(child.stdin.take().unwrap(), "{line}").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.contains("ERROR"), "{line}: {text}");
    Some(text)
}

/// The rows of `rrdtool xport`: when each ends, and its values.
fn xport(folder: &Path, ask: &Ask, definitions: &str) -> Option<Vec<(i64, Vec<f64>)>> {
    let Ask { start_s, end_s, width, .. } = ask;
    let text =
        rrdtool(folder, &format!("xport --showtime --start {start_s} --end {end_s} --maxrows {width} {definitions}"))?;
    let rows = text.split("<row>").skip(1).map(|row| {
        let inside = |tag: &str| -> Vec<&str> {
            let tag = format!("<{tag}>");
            row.split(&tag).skip(1).map(|rest| rest.split('<').next().unwrap()).collect()
        };
        let values = inside("v").into_iter().map(|v| if v == "NaN" { f64::NAN } else { v.parse().unwrap() });
        (inside("t")[0].parse().unwrap(), values.collect())
    });
    Some(rows.collect())
}

/// Two interfaces with counters of different rates and a hole, and a third one without a file.
fn world(folder: &Path) -> (House, Vec<u32>) {
    let mut house = House::new(folder);
    let device = house.device("edge-1", 3);
    let sources: Vec<u32> = (0..3).map(|at| house.source(device, "interface-traffic", at)).collect();
    for (place, source) in sources.iter().enumerate().take(2) {
        let start_s = END_S - 3 * 86_400;
        let mut counts = [1u64 << 40, 77];
        let samples = (1..=3 * 1440).map(|minute| {
            let wave = ((minute as f64 / 97.0).sin() + 1.2) * 4e6;
            counts[0] += wave as u64 * (place as u64 + 1) + minute % 13;
            counts[1] += (minute * 1013) % 900_001;
            let hole = (2000..2030).contains(&minute) && place == 0;
            (start_s + minute as i64 * 60, vec![(!hole).then_some(counts[0]), Some(counts[1])])
        });
        house.file(*source, start_s, samples.collect::<Vec<_>>());
    }
    (house, sources)
}

fn seen(house: &House, graph: u32, ask: &Ask) -> Picture {
    let plan = Plan::new(&house.inventory, &house.library, graph).unwrap();
    picture(&plan, ask, END_S, house).unwrap()
}

fn assert_same(picture: &Picture, xport: &[(i64, Vec<f64>)], what: &str) {
    assert!(picture.rows.abs_diff(xport.len()) <= 1, "{what}: {} rows, xport has {}", picture.rows, xport.len());
    let mut known = 0;
    for (end_s, values) in xport {
        let row = (end_s - picture.start_s) / picture.step_s - 1;
        assert_eq!((end_s - picture.start_s) % picture.step_s, 0, "{what}");
        for (drawn, value) in picture.drawn.iter().zip(values) {
            let ours = drawn.values[row as usize];
            // xport writes eleven digits.
            let near = (ours - value).abs() <= value.abs() * 1e-9;
            assert!(near || (ours.is_nan() && value.is_nan()), "{what} at {end_s}: {ours} and {value}");
            known += usize::from(!value.is_nan());
        }
        assert_eq!(picture.drawn.len(), values.len());
    }
    assert!(known > 30, "{what}: {known} known values");
}

const BITS: &str = "CDEF:bits_in=in,8,* CDEF:bits_out=out,8,* XPORT:bits_in:a XPORT:bits_out:b";

#[test]
fn numbers_are_those_of_xport() {
    let folder = tempfile::tempdir().unwrap();
    let (house, sources) = world(folder.path());
    let graph = house.graph("interface-bits", sources[0]);
    let file = house.path(sources[0]).unwrap();
    for (hours, width, function) in
        [(6, 400, None), (48, 700, None), (72, 100, None), (24, 200, Some(Function::Max)), (2000, 500, None)]
    {
        let ask = Ask { function, ..Ask::new(END_S - hours * 3600, END_S, width).unwrap() };
        let cf = if function.is_some() { "MAX" } else { "AVERAGE" };
        let definitions = format!("DEF:in={file}:traffic_in:{cf} DEF:out={file}:traffic_out:{cf} {BITS}");
        let Some(rows) = xport(folder.path(), &ask, &definitions) else { return };
        let picture = seen(&house, graph, &ask);
        assert_same(&picture, &rows, &format!("{hours} h in {width}"));
        assert!(picture.rows <= width as usize + 2, "{} rows in {width} columns", picture.rows);
    }
}

#[test]
fn sums_and_the_greatest_are_those_of_xport() {
    let folder = tempfile::tempdir().unwrap();
    let (mut house, sources) = world(folder.path());
    for (template, word) in [("interfaces-sum", "ADDNAN"), ("interfaces-max", "MAXNAN")] {
        let of = sources.clone();
        house.order(Order::Graph { id: None, template: template.to_owned(), title: None, sources: of });
        let graph = house.graph(template, sources[0]);
        let ask = Ask::new(END_S - 48 * 3600, END_S, 300).unwrap();
        let mut definitions = String::new();
        for (place, source) in sources.iter().enumerate().take(2) {
            let file = house.path(*source).unwrap();
            definitions += &format!("DEF:i{place}={file}:traffic_in:AVERAGE DEF:o{place}={file}:traffic_out:AVERAGE ");
        }
        definitions += &format!("CDEF:in=i0,i1,{word} CDEF:out=o0,o1,{word} {BITS}");
        let Some(rows) = xport(folder.path(), &ask, &definitions) else { return };
        // The third interface has no file: it adds nothing.
        let picture = seen(&house, graph, &ask);
        assert_same(&picture, &rows, template);
        assert_eq!(picture.without_file, [sources[2]]);
    }
}

const MEANS: &str = r#"
[graph.mean]
title = "Mean of |device|"
aggregate = "mean"
[graph.mean.series]
in = "interface-traffic.traffic_in"
[[graph.mean.item]]
value = "in"
color = "3fa34d"

[graph.each]
title = "Each of |device|"
aggregate = "stacked"
[graph.each.series]
in = "interface-traffic.traffic_in"
[graph.each.cdef]
share = "in,8,*,|speed|,/,100,*"
[graph.each.vdef]
most = "share,MAXIMUM"
[[graph.each.item]]
kind = "area"
value = "share"
color = "3fa34d"
label = "In"
[[graph.each.threshold]]
value = "|speed|,0.8,*"
severity = "critical"
label = "80 %"
"#;

#[test]
fn means_leave_out_what_is_unknown_and_stacks_stand_on_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, sources) = world(folder.path());
    let mut house = House::with(folder.path(), MEANS);
    house.inventory = plain.inventory;
    let ask = Ask::new(END_S - 48 * 3600, END_S, 300).unwrap();
    let graph = |house: &mut House, template: &str| {
        let of = sources[..2].to_vec();
        house.order(Order::Graph { id: None, template: template.to_owned(), title: None, sources: of });
        house.graph(template, sources[0])
    };
    let mean = graph(&mut house, "mean");
    let files: Vec<String> = sources.iter().filter_map(|source| house.path(*source)).collect();
    let definitions = format!(
        "DEF:a={}:traffic_in:AVERAGE DEF:b={}:traffic_in:AVERAGE CDEF:m=a,b,2,AVG XPORT:m:m",
        files[0], files[1]
    );
    let Some(rows) = xport(folder.path(), &ask, &definitions) else { return };
    assert_same(&seen(&house, mean, &ask), &rows, "mean");

    let each = graph(&mut house, "each");
    let definitions = format!(
        "DEF:a={}:traffic_in:AVERAGE DEF:b={}:traffic_in:AVERAGE CDEF:x=a,8,*,1000000000,/,100,* \
         CDEF:y=b,8,*,1000000000,/,100,* XPORT:x:x XPORT:y:y",
        files[0], files[1]
    );
    let rows = xport(folder.path(), &ask, &definitions).unwrap();
    let picture = seen(&house, each, &ask);
    assert_same(&picture, &rows, "stacked");
    let shown: Vec<(&str, bool)> = picture.drawn.iter().map(|drawn| (drawn.label.as_str(), drawn.stack)).collect();
    assert_eq!(shown, [("In Gi0/1", false), ("In Gi0/2", true)]);
    assert_ne!(picture.drawn[0].color, picture.drawn[1].color);
    assert_eq!((picture.thresholds[0].0, picture.thresholds[0].3.as_str()), (8e8, "80 %"));
}

#[test]
fn figures_of_the_legend_are_those_of_rrdtool() {
    let folder = tempfile::tempdir().unwrap();
    let (house, sources) = world(folder.path());
    let ask = Ask::new(END_S - 48 * 3600, END_S, 400).unwrap();
    let picture = seen(&house, house.graph("interface-bits", sources[0]), &ask);
    let file = house.path(sources[0]).unwrap();
    let line = format!(
        "graph /dev/null --start {} --end {} --width 400 DEF:in={file}:traffic_in:AVERAGE CDEF:b=in,8,* \
         VDEF:p=b,95,PERCENTNAN VDEF:t=b,TOTAL PRINT:b:LAST:%.4lf PRINT:b:AVERAGE:%.4lf PRINT:b:MIN:%.4lf \
         PRINT:b:MAX:%.4lf PRINT:p:%.4lf PRINT:t:%.4lf",
        ask.start_s, ask.end_s
    );
    let Some(text) = rrdtool(folder.path(), &line) else { return };
    let theirs: Vec<f64> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    let f = picture.drawn[0].figures;
    let ours = [f.last, f.average, f.min, f.max, f.p95, f.total];
    assert_eq!(theirs.len(), 6, "{text}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((ours - theirs).abs() <= theirs.abs() * 1e-9 + 1e-4, "{ours} and {theirs}");
    }
}

#[test]
fn what_is_shifted_stands_at_the_times_of_the_span() {
    let folder = tempfile::tempdir().unwrap();
    let (house, sources) = world(folder.path());
    let graph = house.graph("interface-bits", sources[1]);
    let now = Ask::new(END_S - 6 * 3600, END_S, 400).unwrap();
    let before = Ask::new(END_S - 30 * 3600, END_S - 24 * 3600, 400).unwrap();
    let (shifted, old) = (seen(&house, graph, &now.shifted(86_400).unwrap()), seen(&house, graph, &before));
    assert_eq!(shifted.drawn, old.drawn);
    assert_eq!(shifted.start_s, old.start_s + 86_400);
    assert!(now.shifted(i64::MAX / 2).is_err() && now.shifted(now.start_s + 1).is_err());
}

#[test]
fn what_was_never_read_is_unknown_and_never_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (house, sources) = world(folder.path());
    let ask = Ask::new(END_S - 3600, END_S, 100).unwrap();
    let picture = seen(&house, house.graph("interface-bits", sources[2]), &ask);
    assert_eq!(picture.without_file, [sources[2]]);
    assert!(picture.rows >= 100 && picture.drawn.len() == 2);
    assert!(picture.drawn.iter().all(|drawn| drawn.values.iter().all(|value| value.is_nan())));
    assert!(picture.drawn[0].figures.average.is_nan());
    let text = csv(&picture);
    assert!(text.starts_with("time,In,Out\r\n") && text.lines().nth(1).unwrap().ends_with(",,"), "{text}");
    assert!(matches!(Plan::new(&house.inventory, &house.library, 99_999), Err(NoPicture::Unknown(99_999))));
    assert!(Ask::new(END_S, END_S, 100).is_err() && Ask::new(0, END_S, 0).is_err());
}

#[test]
fn pictures_are_drawn_by_rrdtool() {
    let folder = tempfile::tempdir().unwrap();
    let (mut house, sources) = world(folder.path());
    let of = sources.clone();
    house.order(Order::Graph { id: None, template: "interfaces-sum".to_owned(), title: None, sources: of });
    let drawing = Drawing::new(DrawingOptions::of(folder.path().to_owned()));
    let ask = Ask::new(END_S - 86_400, END_S, 400).unwrap();
    let graphs: Vec<u32> = house.inventory.graphs().iter().map(|(id, _)| id).collect();
    let mut drawn = 0;
    for graph in graphs {
        let plan = Plan::new(&house.inventory, &house.library, graph).unwrap();
        for (format, begins) in [(Format::Png, &b"\x89PNG\r\n\x1a\n"[..]), (Format::Svg, &b"<?xml"[..])] {
            let line = script(&plan, &ask, format, "UTC", &house).unwrap();
            match drawing.draw(&line, "UTC") {
                Ok(octets) => assert!(octets.starts_with(begins), "{line}"),
                Err(NotDrawn::Missing) => return eprintln!("SKIPPED: no rrdtool; scripts/setup test installs it"),
                Err(error) => panic!("{line}: {error}"),
            }
            drawn += 1;
        }
    }
    let counters = drawing.counters();
    assert_eq!((counters.drawn, counters.started, counters.failed), (drawn, 1, 0));
    assert!(matches!(drawing.draw("graphv - nonsense", "UTC"), Err(NotDrawn::Refused(_))));
    assert_eq!((drawing.counters().refused, drawing.counters().started), (1, 1));

    // Elsewhere the same moment is another hour: it stands at the axis, and the zone below.
    let plan = Plan::new(&house.inventory, &house.library, 1).unwrap();
    let mut seen = Vec::new();
    for zone in ["UTC", "Asia/Kolkata", "America/New_York", "UTC"] {
        let line = script(&plan, &ask, Format::Png, zone, &house).unwrap();
        seen.push(drawing.draw(&line, zone).unwrap());
    }
    assert!(seen[0] == seen[3] && seen[0] != seen[1] && seen[1] != seen[2]);
    // As many children as can be, whatever the zones are: two at a time, the others ended.
    assert_eq!((drawing.counters().started, drawing.counters().failed), (4, 0));
}

#[test]
fn a_child_that_is_silent_or_goes_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    // Written by another process: a file that is open for writing here, or in a child just forked, cannot be run.
    let program = |name: &str, text: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "cat >$0 && chmod 755 $0", name]).current_dir(folder.path()).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        writeln!(shell.stdin.take().unwrap(), "#!/bin/sh\n{text}").unwrap();
        assert!(shell.wait().unwrap().success());
        folder.path().join(name).into_os_string()
    };
    let options = |program| DrawingOptions { program, ..DrawingOptions::of(folder.path().to_owned()) };
    let silent = Drawing::new(DrawingOptions {
        timeout: Duration::from_millis(50),
        ..options(program("silent", "while read line; do :; done"))
    });
    for _ in 0..2 {
        let drawn = silent.draw("graphv -", "UTC");
        assert!(matches!(drawn, Err(NotDrawn::Late(_))), "{drawn:?}");
    }
    assert_eq!((silent.counters().timed_out, silent.counters().started), (2, 2));
    let once = Drawing::new(options(program("once", "read line; printf 'image = BLOB_SIZE:2\\nhiOK u:0 s:0 r:0\\n'")));
    assert_eq!(once.draw("graphv -", "UTC").unwrap(), b"hi");
    assert!(matches!(once.draw("graphv -", "UTC"), Err(NotDrawn::Failed(_))));
    assert_eq!(once.draw("graphv -", "UTC").unwrap(), b"hi");
    let missing = Drawing::new(options("/nowhere/rrdtool".into()));
    let error = missing.draw("graphv -", "UTC").unwrap_err();
    assert!(error.to_string().contains("not installed"), "{error}");
}
