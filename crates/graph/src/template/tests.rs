//! What files say, what is wrong with them, and what comes with the program.

use super::*;
use trunkline_kit::config::Mistake;

fn parsed(text: &str) -> Result<Library, Vec<Mistake>> {
    read(&[("t.toml", text)], built_in::library())
}

fn mistakes(text: &str) -> String {
    let mistakes = parsed(text).unwrap_err();
    mistakes.iter().map(|mistake| format!("{mistake}\n")).collect()
}

fn oid(text: &str) -> Oid {
    Oid::parse(text).unwrap()
}

#[test]
fn what_comes_with_the_program_has_no_mistake() {
    let read = read(built_in::FILES, &Library::default());
    let told = read.as_ref().err().into_iter().flatten().map(|mistake| format!("{mistake}\n"));
    assert_eq!(told.collect::<String>(), "");
    let library = read.unwrap_or_default();
    assert!(library.data.len() >= 40 && library.graphs.len() >= 60, "{} {}", library.data.len(), library.graphs.len());
    assert_eq!(&library, built_in::library());
    // Each data template is drawn by a graph.
    for name in library.data.keys() {
        assert!(library.graphs.values().any(|graph| graph.data().contains(&name.as_str())), "{name} is in no graph");
    }
}

#[test]
fn what_is_written_is_read_as_the_same() {
    let text = write(built_in::library());
    let again = read(&[("all.toml", &text)], &Library::default());
    assert_eq!(
        again.as_ref().map_err(|wrong| wrong.iter().map(ToString::to_string).collect::<Vec<_>>()),
        Ok(built_in::library())
    );
}

#[test]
fn interfaces_are_known_by_name_and_counters_of_64_bits_come_first() {
    let library = built_in::library();
    let table = &library.tables["interfaces"];
    assert_eq!(table.names[0], RowName::Column(oid("1.3.6.1.2.1.31.1.1.1.1")));
    assert_eq!(table.row_column(), Some(&oid("1.3.6.1.2.1.2.2.1.1")));
    assert_eq!(table.speeds[0], (oid("1.3.6.1.2.1.31.1.1.1.15"), 1e6));
    let traffic = &library.data["interface-traffic"].series[0];
    let read = ["1.3.6.1.2.1.31.1.1.1.6", "1.3.6.1.2.1.2.2.1.10"].map(|text| Reading::Object(oid(text)));
    assert_eq!((traffic.name.as_str(), &traffic.read[..], traffic.max), ("traffic_in", &read[..], Bound::Speed));
    assert_eq!(library.step("interface-traffic"), Some(60));
    assert_eq!(library.device_for(&oid("1.3.6.1.4.1.9.1.516")).map(|(name, _)| name), Some("cisco"));
    assert_eq!(library.device_for(&oid("1.3.6.1.4.1.8072.3.2.10")).map(|(name, _)| name), Some("net-snmp"));
    assert_eq!(library.device_for(&oid("1.3.6.1.4.1.99999")), None);
}

/// RFC 3433 section 4: a value of 100 with precision 1 and scale milli(8) is 0.01 of the unit.
#[test]
fn sensors_have_units_and_decimals() {
    let series = &built_in::library().data["sensor-temperature"].series[0];
    let factor = |scale: &'static str, precision: &'static str| {
        let factor = series.factor(|field| match field {
            "sensorScale" => Some(scale),
            "sensorPrecision" => Some(precision),
            _ => None,
        });
        factor.map(|factor| format!("{factor:e}"))
    };
    assert_eq!(factor("9", "0").as_deref(), Some("1e0"));
    assert_eq!(factor("8", "1").as_deref(), Some("1e-4"));
    assert_eq!(factor("10", "-2").as_deref(), Some("1e5"));
    assert_eq!([factor("0", "0"), factor("18", "0"), factor("9", "10"), factor("x", "0")], [None, None, None, None]);
    assert_eq!(series.factor(|_| None), None);
}

#[test]
fn all_mistakes_are_told_together_with_their_places() {
    let told = mistakes(
        r#"
[dat.x]
[table.t]
names = ["1.3.6.1.2.1.31.1.1.1.1"]
speed = ["1.3.6.1.2.1.2.2.1.5"]
[table.t.fields]
name = "1.3.6.1.2.1.2.2.1.2"
kind = "1.3.x"
[data.d]
title = "|nmae|"
table = "interfacs"
profile = "minut"
timeout = "5 s"
[[data.d.series]]
name = "a name that is too long"
kind = "conter"
read = ["1.3.6.1.2.1.2.2.1.10"]
[[data.d.series]]
name = "b"
kind = "counter"
factor = 8
read = ["ifInOctets"]
max = "sped"
[graph.g]
title = "g"
lower = 5
upper = 1.5
[graph.g.series]
in = "d.c"
out = "interface-trafic.traffic_in"
[graph.g.cdef]
bits = "inn,8,*"
one = "two,1,+"
two = "one,1,+"
[graph.g.vdef]
top = "in,MAXIMUN"
[[graph.g.item]]
value = "bit"
stack = true
[[graph.g.item]]
kind = "comment"
color = "xyz"
"#,
    );
    for what in [
        "t.toml:2:2: unknown section [dat.NAME]; did you mean 'data'?",
        "t.toml:5:1: unknown key 'speed' in [table.t]; did you mean 'speeds'?",
        "t.toml:7:1: a field 'name' exists already: name it otherwise",
        "t.toml:8:8: kind: an object identifier of a column",
        "unknown table 'interfacs'; did you mean 'interfaces'?",
        "unknown profile 'minut'; did you mean 'minute'?",
        "source \"snmp\" has no 'timeout'",
        "the name of a series is 1 to 19 letters, digits, '_' and '-'",
        "unknown word \"conter\"; did you mean 'counter'?",
        "a counter is stored as read",
        "'ifInOctets' is no object identifier",
        "expected a number, \"speed\" or \"none\", not \"sped\"",
        "upper 1.5 is not above lower 5",
        "unknown series 'c'; did you mean 'b'?",
        "unknown data template 'interface-trafic'; did you mean 'interface-traffic'?",
        "bits: unknown word 'inn'; did you mean 'in'?",
        "one: it needs itself",
        "top: unknown function 'MAXIMUN'; did you mean 'MAXIMUM'?",
        "there is nothing before it to stand on",
        "expected a colour",
    ] {
        assert!(told.contains(what), "{what}\nis not in\n{told}");
    }
}

#[test]
fn the_manual_shows_what_is_read() {
    let manual = include_str!("../../../../docs/manual/graphs.md");
    let example = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let library = parsed(example).unwrap();
    assert_eq!(library.graphs["traffic"].data(), ["traffic"]);
    assert_eq!(library.devices["router"].graphs, ["traffic"]);
}

#[test]
fn names_of_two_files_are_told() {
    let file = "[profile.p]\narchives = [\"1 min for 1 day\"]\n";
    let wrong = read(&[("a.toml", file), ("b.toml", file)], &Library::default()).unwrap_err();
    assert_eq!(wrong[0].to_string(), "b.toml:1:1: another file has [profile.p], too");
    // What comes with the program may be replaced.
    let own = "[profile.minute]\narchives = [\"2 steps for 10 rows\"]\n";
    let read = parsed(own).unwrap();
    assert_eq!(read.profiles["minute"].archives(60), [(2, 10)]);
}

#[test]
fn sources_of_other_kinds() {
    let library = parsed(
        r#"
[data.disk]
source = "script"
command = ["check_disk", "--host", "|address|"]
[[data.disk.series]]
name = "free"
read = ["free"]
[data.api]
source = "json"
url = "https://|address|/state"
timeout = "1500 ms"
[[data.api.series]]
name = "load"
read = ["/load/0"]
[data.node]
source = "prometheus"
url = "http://|address|:9100/metrics"
[[data.node.series]]
name = "idle"
kind = "dcounter"
read = ['node_cpu_seconds_total{cpu="0",mode="idle"}']
"#,
    )
    .unwrap();
    let Source::Script { command, .. } = &library.data["disk"].source else { panic!() };
    assert_eq!(command[2].with(|_| Some("192.0.2.1")), "192.0.2.1");
    assert!(matches!(&library.data["api"].source, Source::Json { timeout, .. } if timeout.as_millis() == 1500));
    let again = read(&[("t.toml", &write(&library))], built_in::library()).unwrap();
    assert_eq!(again, library);
    assert!(
        mistakes("[data.x]\nsource = \"json\"\n[[data.x.series]]\nname = \"a\"\nread = [\"a/b\"]\n")
            .contains("'a/b' is no JSON pointer")
    );
    assert!(
        mistakes("[data.x]\nsource = \"icmp\"\n[[data.x.series]]\nname = \"a\"\nread = [\"los\"]\n")
            .contains("unknown value 'los'; did you mean 'loss'?")
    );
}

proptest::proptest! {
    /// No text does harm, and one that is read is written as itself.
    #[test]
    fn no_text_does_harm(start in 0usize..20_000, length in 0usize..200, with in "[a-z0-9=\\[\\]\"., |\n]{0,12}") {
        let all = built_in::FILES[1].1;
        let cut = all.floor_char_boundary_of(start);
        let end = all.floor_char_boundary_of(cut + length);
        let text = format!("{}{with}{}", &all[..cut], &all[end..]);
        if let Ok(library) = parsed(&text) {
            proptest::prop_assert_eq!(read(&[("t.toml", &write(&library))], built_in::library()), Ok(library));
        }
    }
}

trait Boundary {
    fn floor_char_boundary_of(&self, at: usize) -> usize;
}

impl Boundary for str {
    fn floor_char_boundary_of(&self, at: usize) -> usize {
        (0..=at.min(self.len())).rev().find(|at| self.is_char_boundary(*at)).unwrap_or(0)
    }
}
