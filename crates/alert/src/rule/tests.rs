//! Files of rules, and what is wrong with them.

use super::*;

fn known() -> Known {
    let series = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let templates = [
        ("interface-traffic".to_owned(), series(&["traffic_in", "traffic_out"])),
        ("host".to_owned(), series(&["up", "load"])),
    ];
    Known { templates: templates.into() }
}

fn wrong(text: &str) -> Vec<String> {
    read(&[("r.toml", text)], &known()).err().into_iter().flatten().map(|mistake| mistake.to_string()).collect()
}

const WHOLE: &str = r#"
[rule.uplink-full]
title = "|device| |index|: |value| bit/s"
template = "interface-traffic"
device = ["edge-*", "core-1"]
index = "Gi*"
tags = "site = north*"
value = "traffic_in,traffic_out,MAX,8,*"
limit = 900_000_000
clear = 8e8
window = "5 min"
minimum = 3
for = "10 min"
clear-for = "10 min"
severity = "critical"
depends = ["router-down"]
valid = "Mon-Fri 08:00-18:00"
zone = "Europe/Paris"
[rule.uplink-full.labels]
team = "network"

[rule.router-down]
template = "host"
value = "up"
condition = "down"
after = "3 min"
depends = ["router-down"]

[rule.bad-calls]
rows = "calls"
filter = "codec:PCMA"
measure = "share"
of = "has:verdict"
group = "src"
limit = 5
minimum = 20

[rule.usual]
template = "interface-traffic"
value = "traffic_in"
condition = "baseline"
limit = 4
floor = 1000

[route.all]
when = "severity = critical"
channels = "noc"
[[route.all.escalate]]
after = "15 min"
channels = ["pager"]

[channel.noc]
kind = "webhook"
url = "https://example.org/hook"
headers = "X-Team: noc"

[channel.pager]
kind = "command"
command = ["page", "|title|"]

[maintenance.night]
when = "site = north"
weekly = "Sun 02:00-04:00"
"#;

#[test]
fn a_whole_file_is_read() {
    let rules = read(&[("r.toml", WHOLE)], &known()).unwrap();
    let rule = &rules.rules["uplink-full"];
    assert_eq!(rule.condition, Condition::High { limit: 9e8, clear: 8e8 });
    assert_eq!((rule.window_s, rule.minimum, rule.for_s, rule.clear_for_s), (300, 3, 600, 600));
    let Watch::Series(watch) = &rule.watch else { panic!("series are watched") };
    let takes =
        |device, index, site| watch.takes("interface-traffic", device, index, |tag| (tag == "site").then_some(site));
    assert!(takes("edge-1", "Gi0/1", "north-2"));
    assert!(!takes("edge-1", "Te0/1", "north") && !takes("core-2", "Gi0/1", "north"));
    assert!(!takes("core-1", "Gi0/1", "south"));
    assert_eq!(rules.rules["router-down"].condition, Condition::Down { after_s: 180 });
    assert_eq!(rules.routes["all"].steps, [Step { after_s: 900, channels: vec!["pager".to_owned()] }]);
    assert!(rules.channels["noc"].knows_copies() && !rules.channels["pager"].knows_copies());
    let site = |name: &str| (name == "site").then_some("north");
    // Sunday, 2026-11-29, 03:00 and 04:00.
    assert!(rules.maintenance["night"].holds(1_795_921_200, site));
    assert!(!rules.maintenance["night"].holds(1_795_924_800, site));
    assert!(!rules.maintenance["night"].holds(1_795_921_200, |_| None));
}

#[test]
fn all_mistakes_are_told_with_their_places() {
    let text = r#"[rule.a]
template = "interface-trafic"
value = "traffic_in"
limit = 5
clear = 6
[rule.b]
value = "trafic_in,8,*"
condition = "lwo"
[rule.c]
rows = "calls"
filter = "mso<3"
measure = "share"
limit = 1
device = "x"
[route.r]
channels = ["nco"]
[channel.noc]
kind = "mail"
server = "localhost"
from = "x"
to = "a@b"
[rul.x]
"#;
    let wrong = wrong(text);
    for expected in [
        "r.toml:2:12: no data template is called 'interface-trafic'; did you mean 'interface-traffic'?",
        "r.toml:5:9: clear 6 is above the limit 5: it would be bad",
        "r.toml:7:9: unknown series 'trafic_in'; did you mean 'traffic_in'?",
        "r.toml:8:13: condition: unknown word \"lwo\"; did you mean 'low'?",
        "r.toml:9:7: a share needs 'of': what counts",
        "r.toml:14:10: 'device' has no meaning where rows are watched",
        "r.toml:16:12: unknown channel 'nco'; did you mean 'noc'?",
        "r.toml:19:10: [channel.noc] needs a server: \"host:port\"",
        "r.toml:20:8: from: 'x' is no address such as noc@example.org",
        "r.toml:22:2: unknown section [rul.NAME]; did you mean 'rule'?",
    ] {
        assert!(wrong.iter().any(|line| line == expected), "{expected}\nnot in\n{}", wrong.join("\n"));
    }
    assert!(wrong.iter().any(|line| line.starts_with("r.toml:11:10:") && line.contains("'mos'")), "{wrong:?}");
}

#[test]
fn limits_must_make_sense() {
    let rule = |keys: &str| wrong(&format!("[rule.a]\nvalue = \"load\"\n{keys}\n")).join("\n");
    assert!(rule("").contains("needs a limit"));
    assert!(rule("limit = 1\nper = \"1 min\"").contains("condition \"high\" has no 'per'; rise, fall has"));
    assert!(rule("limit = 1\ncondition = \"rise\"").contains("needs a window"));
    assert!(rule("condition = \"low\"\nlimit = 5\nclear = 4").contains("clear 4 is below the limit 5"));
    assert!(rule("condition = \"baseline\"\nlimit = 3\nweeks = 2\nweeks-min = 3").contains("3 weeks are never seen"));
    assert!(rule("limit = 1\nfor = \"1500 ms\"").contains("whole seconds"));
    assert!(rule("limit = 1\nlabels = 3").contains("[rule.a.labels]"));
    let channel = |keys: &str| wrong(&format!("[channel.c]\n{keys}\n")).join("\n");
    assert!(channel("").contains("needs a kind"));
    assert!(channel("kind = \"webhook\"\nurl = \"ftp://x\"").contains("needs a url"));
    assert!(channel("kind = \"webhook\"\nurl = \"http://x/\"\nheaders = \"Host: y\"").contains("the program's to say"));
    assert!(channel("kind = \"command\"\nurl = \"http://x/\"").contains("has no 'url'"));
    let user = "kind = \"mail\"\nserver = \"h:25\"\nfrom = \"a@b\"\nto = \"a@b\"\nuser = \"u\"\n";
    assert!(channel(user).contains("both 'user' and 'password-file'"));
    let bare = format!("{user}password-file = \"p\"\nsecurity = \"none\"");
    assert!(channel(&bare).contains("not sent over a connection without TLS"));
    assert!(
        wrong("[maintenance.m]\nfrom = \"2026-11-23 22:00\"\nto = \"2026-11-23 21:00\"")[0].contains("ends before")
    );
}

const CHANNELS: &str = "[channel.noc]\nkind = \"webhook\"\nurl = \"http://h/\"\n\
    [channel.log]\nkind = \"syslog\"\nserver = \"h:514\"\n";

#[test]
fn reports_are_read_whole() {
    let text = format!(
        "[report.weekly]\nschedule = [\"Mon 07:00\", \"1st 06:00\"]\nzone = \"Europe/Berlin\"\nspan = \"1 week\"\n\
         channels = \"noc\"\n[[report.weekly.section]]\nkind = \"table\"\nplace = \"Backbone / Amsterdam\"\n\
         device = \"edge-*\"\nby = \"total\"\nlimit = 20\n[[report.weekly.section]]\nkind = \"calls\"\n\
         destination = \"callee/5\"\n{CHANNELS}"
    );
    let rules = read(&[("r.toml", &text)], &known()).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let report = &rules.reports["weekly"];
    assert_eq!(report.schedule_text(), "mon 07:00, 1st 06:00 Europe/Berlin");
    assert_eq!((report.title.as_str(), report.length.to_string().as_str()), ("weekly", "1 week"));
    let PartOf::Table { choice, by, archive } = &report.parts[0].of else { panic!("{:?}", report.parts) };
    assert_eq!(
        (choice.place.as_slice(), *by, *archive),
        (["Backbone", "Amsterdam"].map(str::to_owned).as_slice(), By::Total, None)
    );
    assert_eq!((report.parts[0].limit, report.parts[1].limit), (20, 10));
    assert!(matches!(report.parts[1].of, PartOf::Calls { destination: Destination::Number(5) }));
}

#[test]
fn all_mistakes_of_reports_are_told_with_their_places() {
    let text = format!(
        "{CHANNELS}[report.a]\nschedule = \"Mon 25:00\"\nspan = \"1 fortnight\"\nchannels = [\"nco\", \"log\"]\nzne = 1\n\
         [[report.a.section]]\nkind = \"graphs\"\nby = \"p95\"\nlimit = 0\n[[report.a.section]]\nkind = \"call\"\n\
         [[report.a.section]]\ntitle = \"x\"\n[report.b]\nchannels = \"noc\"\n"
    );
    let told = wrong(&text);
    for expected in [
        ":8:12: schedule: expected a list, each of it a time such as \"Mon 07:00\"",
        ":9:8: span: expected a length such as",
        ":10:12: unknown channel 'nco'; did you mean 'noc'?",
        ":10:12: a report goes by mail, or to a webhook; the channel 'log' is \"syslog\"",
        ":11:1: unknown key 'zne' in [report.a]; did you mean 'zone'?",
        ":14:6: a section \"graphs\" has no 'by'; table has",
        ":15:9: limit: ",
        ":17:8: kind: ",
        "[[report.a.section]] needs a kind, one of graphs, table",
        "[report.b] needs a schedule",
        "[report.b] needs a section: [[report.b.section]]",
    ] {
        assert!(told.iter().any(|one| one.contains(expected)), "{expected}: {told:#?}");
    }
}

#[test]
fn routes_of_a_rule_are_those_that_its_labels_do_not_rule_out() {
    let text = "[rule.a]\nvalue = \"v\"\nlimit = 1\n[rule.a.labels]\nteam = \"core\"\n\
        [rule.b]\nrows = \"losses\"\nlimit = 1\nseverity = \"critical\"\n\
        [rule.c]\nvalue = \"v\"\nlimit = 1\nroutes = \"crit\"\n\
        [route.all]\nchannels = \"c\"\n[route.crit]\nwhen = \"severity = critical\"\nchannels = \"c\"\n\
        [route.edge]\nwhen = [\"device = edge-*\", \"team != access\"]\nchannels = \"c\"\n\
        [route.access]\nwhen = \"team = access\"\nchannels = \"c\"\n[route.b]\nwhen = \"rule = b\"\nchannels = \"c\"\n\
        [channel.c]\nkind = \"webhook\"\nurl = \"http://h/\"\n";
    let rules = read(&[("r.toml", text)], &Known::default()).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let routes = |name: &str| rules.routes_of(name, &rules.rules[name]);
    assert_eq!(routes("a"), ["all", "edge"]);
    // Rows have no device; of whose team they are nobody knows before there is one.
    assert_eq!(routes("b"), ["access", "all", "b", "crit"]);
    assert_eq!(routes("c"), ["crit"]);
}
