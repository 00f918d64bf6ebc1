//! Expressions are taken and refused as rrdtool takes and refuses them.

use std::process::Command;
use trunkline_graph::template::{built_in, check_computed, check_value};

struct Rrdtool(tempfile::TempDir);

impl Rrdtool {
    fn new() -> Option<Rrdtool> {
        if Command::new("rrdtool").output().is_err() {
            eprintln!("SKIPPED: rrdtool is not there: apt-get install rrdtool");
            return None;
        }
        let rrdtool = Rrdtool(tempfile::tempdir().unwrap());
        let made = "create t.rrd --start 1700000040 --step 60 DS:a:GAUGE:120:U:U RRA:AVERAGE:0.5:1:10";
        assert!(rrdtool.run(&made.split(' ').collect::<Vec<_>>()).0);
        assert!(rrdtool.run(&["update", "t.rrd", "1700000100:5", "1700000160:7"]).0);
        Some(rrdtool)
    }

    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let ran = Command::new("rrdtool").args(arguments).current_dir(self.0.path()).output().unwrap();
        (ran.status.success(), String::from_utf8_lossy(&ran.stderr).into_owned())
    }

    /// Whether it takes expressions, drawn over three steps.
    fn takes(&self, expressions: &[&str]) -> (bool, String) {
        let definitions = ["DEF:a=t.rrd:a:AVERAGE", "DEF:b=t.rrd:a:AVERAGE"];
        let drawn = expressions
            .iter()
            .filter(|e| e.starts_with("CDEF"))
            .map(|e| format!("LINE1:{}#ff0000", e.trim_start_matches("CDEF:").split('=').next().unwrap_or_default()));
        let drawn: Vec<String> = drawn.collect();
        let mut arguments = vec!["graph", "-", "--start", "1700000040", "--end", "1700000220"];
        arguments.extend(definitions);
        arguments.extend(expressions);
        arguments.extend(drawn.iter().map(String::as_str));
        self.run(&arguments)
    }
}

#[test]
fn computed_expressions() {
    let Some(rrdtool) = Rrdtool::new() else { return };
    for text in [
        "a,8,*",
        "a,b,+,2,/",
        "a,UN,0,a,IF",
        "a,b,2,AVG",
        "a,b,2,SMIN",
        "a,b,2,SMAX",
        "a,b,2,MEDIAN",
        "a,b,2,STDEV",
        "a,b,2,SORT,POP",
        "a,b,2,REV,-",
        "a,DUP,*",
        "a,b,EXC,-",
        "a,b,2,COPY,+,-,+",
        "a,b,1,INDEX,+,-",
        "a,b,95,2,PERCENT",
        "a,120,TREND",
        "a,120,TRENDNAN",
        "PREV(a)",
        "a,PREV,+",
        "a,COUNT,+",
        "a,TIME,+",
        "a,LTIME,+",
        "a,NOW,+",
        "a,STEPWIDTH,+",
        "a,NEWDAY,+",
        "a,UNKN,+",
        "a,INF,+",
        "a,NEGINF,+",
        "a,0,10,LIMIT",
        "a,b,ADDNAN",
        "a,b,MINNAN",
        "a,b,MAXNAN",
        "a,ABS",
        "a,b,POW",
        "a,b,%",
        "a,SIN,COS,LOG,EXP,SQRT,ATAN",
        "a,b,ATAN2",
        "a,FLOOR,CEIL",
        "a,DEG2RAD,RAD2DEG",
        "60,1,120,a,PREDICT",
        "60,-2,120,a,PREDICT",
        "60,1,120,a,PREDICTSIGMA",
        "a,ISINF",
        "-1.5e3,a,*",
        "a,DEPTH,+",
        "a,b,2,1,ROLL,-",
        "1,2,3,IF",
        "NEWWEEK,a,+",
        "NEWMONTH,a,+",
        "NEWYEAR,a,+",
        "1,2,+",
        "a,b",
        "a,+",
        "a,8,MUL",
        "",
        "a,b,3,AVG",
        "a,IF",
        "a,POP",
        "8,*",
        "c,8,*",
        "a,8,*,",
    ] {
        let (taken, why) = rrdtool.takes(&[&format!("CDEF:x={text}")]);
        let ours = check_computed(text, &["a", "b"]);
        assert_eq!(ours.is_ok(), taken, "'{text}': rrdtool: {why}; ours: {ours:?}");
    }
}

#[test]
fn values_of_all_times() {
    let Some(rrdtool) = Rrdtool::new() else { return };
    for text in [
        "a,MAXIMUM",
        "a,MINIMUM",
        "a,AVERAGE",
        "a,STDEV",
        "a,LAST",
        "a,FIRST",
        "a,TOTAL",
        "a,95,PERCENT",
        "a,95,PERCENTNAN",
        "a,LSLSLOPE",
        "a,LSLINT",
        "a,LSLCORREL",
        "a,MAX",
        "c,MAXIMUM",
        "a",
        "a,PERCENT",
    ] {
        let (taken, why) = rrdtool.takes(&[&format!("VDEF:x={text}"), "CDEF:y=a,1,*"]);
        let ours = check_value(text, &["a", "b"]);
        assert_eq!(ours.is_ok(), taken, "'{text}': rrdtool: {why}; ours: {ours:?}");
    }
}

/// What comes with the program, each series in the place of a data source, each field in that of a number.
#[test]
fn rrdtool_takes_the_expressions_that_come_with_the_program() {
    let Some(rrdtool) = Rrdtool::new() else { return };
    for (name, graph) in &built_in::library().graphs {
        let filled = |text: &str| trunkline_graph::template::expand(text, |_| Some("1000"));
        let series = graph.definitions.iter().map(|d| format!("DEF:{}=t.rrd:a:AVERAGE", d.name));
        let computed = graph.computed.iter().map(|c| format!("CDEF:{}={}", c.name, filled(&c.text)));
        let values = graph.values.iter().map(|v| format!("VDEF:{}={}", v.name, v.text));
        let all: Vec<String> = series.chain(computed).chain(values).collect();
        let (taken, why) = rrdtool.takes(&all.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(taken, "{name}: {why}");
    }
}
