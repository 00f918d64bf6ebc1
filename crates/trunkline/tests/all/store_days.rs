//! Captures over many days: asked in SQL, bounded, and let go.
//! Test group: waits: syncs hundreds of small files

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

const DAY_S: u64 = 86_400;

/// An INVITE of `caller` a day, at 12:00 UTC, from a day on: pcap, little-endian, Ethernet.
fn capture(first_day: u64, days: u64) -> Vec<u8> {
    let mut octets = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    for n in 0..days {
        let sip = format!(
            "INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bK{n}\r\nFrom: <sip:{caller}@x>;tag=1\r\n\
             To: <sip:b@x>\r\nCall-ID: d{n}\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n",
            caller = if n % 5 == 0 { "+4420700123" } else { "a" }
        );
        let udp = 8 + sip.len() as u16;
        let mut packet = vec![2, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        packet.extend((20 + udp).to_be_bytes());
        packet.extend([0, 1, 0, 0, 0x40, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xc4]);
        packet.extend(udp.to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(sip.as_bytes());
        let at_s = ((first_day + n) * DAY_S + DAY_S / 2) as u32;
        octets.extend([at_s, 0, packet.len() as u32, packet.len() as u32].map(u32::to_le_bytes).concat());
        octets.extend(packet);
    }
    octets
}

fn run(here: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(args).current_dir(here).stdin(Stdio::null()).env_clear().env("TZ", "UTC").env("LANG", "C.UTF-8");
    command.output().unwrap()
}

/// What it printed, with the code that it ends with.
fn told(here: &Path, code: i32, args: &[&str]) -> String {
    let output = run(here, args);
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{out}\n{error}");
    format!("{out}{error}")
}

fn today() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / DAY_S
}

#[test]
fn sql_asks_more_days_than_sqlite_attaches_and_a_part_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let first = today() - 129;
    std::fs::write(here.join("days.pcap"), capture(first, 130)).unwrap();
    run(here, &["read", "days.pcap"]);
    let csv = |options: &[&str], select: &str| {
        let args = [&["sql", "--csv"], options, &[select]].concat();
        told(here, 0, &args).lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(csv(&[], "SELECT count(*), count(DISTINCT start) FROM calls"), ["130,130"]);
    assert_eq!(csv(&[], "SELECT caller, count(*) FROM calls GROUP BY 1 ORDER BY 1 DESC LIMIT 1"), ["a,104"]);
    assert_eq!(csv(&[], "SELECT count(*) FROM losses").len(), 1);
    let days = |options: &[&str]| csv(options, "SELECT count(*) FROM calls").remove(0);
    assert_eq!(days(&["--from", "yesterday", "--to", "yesterday"]), "1");
    assert_eq!(days(&["--from", "-3d", "--to", "-1d"]), "2");
    assert_eq!(days(&["--to", "-3d"]), (130 - 3 - u64::from(is_morning())).to_string());
    assert!(told(here, 2, &["sql", "--from", "soon", "SELECT 1"]).contains("03:10, yesterday"));
    assert!(told(here, 2, &["sql", "--from", "today", "--to", "yesterday", "SELECT 1"]).contains("before --to"));
}

/// Whether today's call is yet to come, by the clock of now.
fn is_morning() -> bool {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() % DAY_S < DAY_S / 2
}

#[test]
fn a_capture_over_many_days_makes_few() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("days.pcap"), capture(15_000, 90)).unwrap();
    let said = told(here, 3, &["read", "days.pcap", "--days-max", "20"]);
    assert!(said.contains("70 days, 2011-02-15 to 2011-04-25, not made: 20 new days are the limit"), "{said}");
    let files = std::fs::read_dir(here.join("trunkline-data/store")).unwrap();
    let octets: Vec<u64> = files.map(|file| file.unwrap().metadata().unwrap().len()).collect();
    assert!(octets.len() == 20 && octets.iter().sum::<u64>() < 20 * 100_000, "{octets:?}");
    assert!(told(here, 0, &["sql", "--csv", "SELECT count(*) FROM calls"]).ends_with("\n20\n"));
}

#[test]
fn rows_leave_by_age_and_who_asks_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("days.pcap"), capture(today() - 40, 41)).unwrap();
    run(here, &["read", "days.pcap"]);
    let rules =
        "[store.calls]\nkeep-age = \"30 days\"\n[store.losses]\nkeep-age = \"1 day\"\nkeep-at-least = \"1 day\"\n";
    std::fs::write(here.join("t.toml"), rules).unwrap();
    let calls = || told(here, 0, &["sql", "--csv", "SELECT count(*) FROM calls"]).lines().nth(1).unwrap().to_owned();
    let dry = told(here, 0, &["store", "prune", "-c", "t.toml", "--dry-run"]);
    assert!(
        dry.contains(" calls: 1 row, ") && dry.contains("keep-age\n") && dry.contains("10 rows would leave"),
        "{dry}"
    );
    assert_eq!(calls(), "41");
    assert!(told(here, 0, &["store", "prune", "-c", "t.toml", "--json"]).contains(r#""rows":10"#));
    assert_eq!(calls(), "31");
    assert!(told(here, 0, &["store", "prune", "-c", "t.toml"]).contains("0 rows left"));
    let least = "[store]\nlimit = \"1 kB\"\n[store.calls]\nkeep-at-least = \"20 days\"\n";
    std::fs::write(here.join("least.toml"), least).unwrap();
    let said = told(here, 3, &["store", "prune", "-c", "least.toml"]);
    assert!(said.contains("more stay than sizes allow") && said.contains("keep-at-least"), "{said}");
    assert_eq!(calls(), "21");
    std::fs::write(here.join("wrong.toml"), "[store.calls]\nkeep-age = \"1 day\"\nkeep-at-least = \"2 days\"\n")
        .unwrap();
    let said = told(here, 2, &["store", "prune", "-c", "wrong.toml"]);
    assert!(said.contains("is shorter than keep-at-least"), "{said}");
    // Calls of days 20, 25, 30, 35 and 40 name the number; of today's 21 these are 20 days old or less.
    let dry = told(here, 0, &["store", "forget", "4420700123", "--dry-run"]);
    assert!(dry.contains("5 calls with their streams would leave"), "{dry}");
    let said = told(here, 3, &["store", "forget", "+4420700123", "-c", "least.toml"]);
    assert!(said.contains("0 calls") && said.contains("5 rows are protected"), "{said}");
    let receipt = told(here, 0, &["store", "forget", "+4420700123", "--json"]);
    assert!(receipt.contains(r#""removed":{"calls":5,"#), "{receipt}");
    assert_eq!(calls(), "16");
    assert!(told(here, 2, &["store", "forget", "+44*"]).contains("no pattern"));
}

/// The time of the last look, as another start of the machine noted it, `days` before now.
fn note_clock(here: &Path, days: u64) {
    let at_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() - days * DAY_S;
    let text = format!("trunkline-retention-clock 1\nat {at_s}000000000\nsince-boot 5000000000\nboot another\n");
    let spool = here.join("trunkline-data/spool");
    std::fs::create_dir_all(&spool).unwrap();
    std::fs::write(spool.join("retention.clock"), trunkline_kit::sealed::seal(&text, "sum ")).unwrap();
}

#[test]
fn a_clock_that_leapt_ends_nothing_until_somebody_says_that_it_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("days.pcap"), capture(today() - 40, 41)).unwrap();
    run(here, &["read", "days.pcap"]);
    let rules = "[store.calls]\nkeep-age = \"30 days\"\nkeep-at-least = \"1 day\"\n";
    std::fs::write(here.join("t.toml"), rules).unwrap();
    note_clock(here, 8);
    let said = told(here, 3, &["store", "prune", "-c", "t.toml"]);
    assert!(said.contains("0 rows left") && said.contains("the clock is in doubt: it says 20"), "{said}");
    assert!(said.contains("trunkline store prune --clock-is-right"), "{said}");
    let json = told(here, 3, &["store", "prune", "-c", "t.toml", "--dry-run", "--json"]);
    assert!(json.contains(r#""clock_in_doubt":true"#), "{json}");
    // Nothing that has a minimum age is old enough by a clock in doubt, whoever asks.
    let forgotten = told(here, 3, &["store", "forget", "+4420700123", "-c", "t.toml", "--dry-run"]);
    assert!(forgotten.contains("9 rows are protected") && forgotten.contains("in doubt"), "{forgotten}");
    let said = told(here, 0, &["store", "prune", "-c", "t.toml", "--clock-is-right", "--dry-run"]);
    assert!(said.contains("10 rows would leave"), "{said}");
    assert!(told(here, 3, &["store", "prune", "-c", "t.toml"]).contains("0 rows left"), "a dry run notes nothing");
    assert!(told(here, 0, &["store", "prune", "-c", "t.toml", "--clock-is-right"]).contains("10 rows left"));
    assert!(told(here, 0, &["store", "prune", "-c", "t.toml"]).contains("0 rows left"), "it was noted");
    // A week off is nobody's mistake; a note that is damaged is a doubt.
    note_clock(here, 6);
    told(here, 0, &["store", "prune", "-c", "t.toml"]);
    std::fs::write(here.join("trunkline-data/spool/retention.clock"), "nonsense\n").unwrap();
    assert!(told(here, 3, &["store", "prune", "-c", "t.toml"]).contains("retention.clock: its checksum"));
    let verified = told(here, 3, &["verify"]);
    assert!(verified.contains("retention.clock") && verified.contains("its checksum is wrong"), "{verified}");
    told(here, 0, &["store", "prune", "-c", "t.toml", "--clock-is-right"]);
}

#[test]
fn doctor_says_for_how_many_days_the_rules_and_the_disk_keep_each_class() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("days.pcap"), capture(today() - 9, 9)).unwrap();
    run(here, &["read", "days.pcap"]);
    let rules = "[store]\nlimit = \"300 kB\"\n[store.calls]\nkeep-age = \"3650 days\"\n[store.charges]\nkeep-at-least = \"1095 days\"\n";
    std::fs::write(here.join("t.toml"), rules).unwrap();
    let output = run(here, &["doctor", "-c", "t.toml", "-i", "lo", "--seconds", "1", "--no-disk", "--json"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |name: &str| said.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {said}"));
    let calls = line("store.calls");
    assert!(calls.contains("a day (7 whole days): kept for "), "{calls}");
    assert!(calls.contains("by store.limit, not for the 3,650 days of keep-age"), "{calls}");
    assert!(line("store.charges").contains("keep-at-least 1,095 days needs"), "{said}");
}

const HOOK: &str = "[rule.r]\nvalue = \"v\"\nlimit = 1\n";

/// How often a text stands in the octets of all files below a folder.
fn stands(folder: &Path, text: &str) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let octets = if path.is_dir() { Vec::new() } else { std::fs::read(&path).unwrap_or_default() };
        count += if path.is_dir() { stands(&path, text) } else { 0 };
        count += octets.windows(text.len()).filter(|part| *part == text.as_bytes()).count();
    }
    count
}

/// A log of alerts that was left with an alert of a number, and a desk whose audit log names it.
fn alerts_and_audit(data: &Path, number: &str) {
    use trunkline_alert::job::{Alerts, Seen};
    use trunkline_alert::rule::{Known, read};
    let rules = read(&[("r.toml", HOOK)], &Known::default()).unwrap();
    let alerts = Alerts::start(&data.join("alert"), rules).unwrap();
    let at_s = i64::try_from(today() * DAY_S).unwrap();
    let (rule, subject, value) = ("r".to_owned(), number.to_owned(), Some(9.0));
    alerts.observe(vec![Seen { rule, subject, at_s, value, samples: 1, ..Seen::default() }]).unwrap();
    assert!(alerts.wait_for(std::time::Duration::from_secs(60), |view| view.incidents.len() == 1));
    drop(alerts);
    use trunkline_web::auth::{AuditEntry, AuthOptions, DESK_FILE, Desk};
    let desk = Desk::open(&data.join(DESK_FILE), &AuthOptions::default()).unwrap();
    let (user, action, outcome) = (Some("ann".to_owned()), "calls.export".to_owned(), "ok".to_owned());
    let object = format!("number:{number} one-way");
    desk.audit(&AuditEntry { at_ns: 1, user, address: None, action, object, outcome }).unwrap();
}

/// What erasures are reported to leave behind elsewhere: entries of an audit log, copies in logs that are only appended
/// to, free pages of a database, its journal (docs/decisions/0079).
#[test]
fn a_number_leaves_alerts_and_the_audit_log_and_the_receipt_says_what_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (here, number) = (folder.path(), "+4420700123");
    std::fs::write(here.join("days.pcap"), capture(today() - 5, 6)).unwrap();
    run(here, &["read", "days.pcap"]);
    let data = here.join("trunkline-data");
    alerts_and_audit(&data, number);
    std::fs::create_dir_all(data.join("captures")).unwrap();
    std::fs::write(data.join("captures/a.pcap"), "").unwrap();
    let before = stands(&data, "4420700123");
    let dry = told(here, 0, &["store", "forget", number, "--dry-run"]);
    assert!(dry.contains("2 calls with their streams would leave"), "{dry}");
    assert!(dry.contains("audit log: would be made unreadable in 1 entry; 0 saved filters would leave"), "{dry}");
    assert!(dry.contains("alerts: would be made unreadable in "), "{dry}");
    assert!(before > 4 && stands(&data, "4420700123") == before);
    let receipt = told(here, 0, &["store", "forget", number, "--json"]);
    let receipt: serde_json::Value = serde_json::from_str(&receipt).unwrap();
    let receipt = &receipt["receipt"];
    assert_eq!(receipt["removed"]["calls"], 2, "{receipt}");
    assert_eq!((&receipt["audit"]["entries"], &receipt["audit"]["filters"]), (&1.into(), &0.into()), "{receipt}");
    assert!(receipt["alerts"]["records"].as_u64() > Some(0), "{receipt}");
    // Only what is there is named: captures, and neither a packet log nor a ledger.
    assert_eq!(receipt["not_touched"].as_array().map(Vec::len), Some(1), "{receipt}");
    assert!(receipt["not_touched"][0]["look"].as_str().is_some_and(|look| look.starts_with("ls -l ")), "{receipt}");
    assert_eq!(stands(&data, "4420700123"), 0);
    told(here, 0, &["verify", "--deep"]);
    let again = told(here, 0, &["store", "forget", number]);
    assert!(again.contains("0 calls") && again.contains("made unreadable in 0 records"), "{again}");
}

#[test]
fn who_has_the_alerts_open_and_answers_nobody_is_told_and_nothing_is_written_there() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("days.pcap"), capture(today() - 1, 2)).unwrap();
    run(here, &["read", "days.pcap"]);
    let data = here.join("trunkline-data");
    alerts_and_audit(&data, "+4420700123");
    let held = trunkline_commit::Folder::open(&data.join("alert")).unwrap();
    let said = told(here, 3, &["store", "forget", "+4420700123"]);
    let who = format!("trunkline-data/alert: process {} holds the file `lock` in it", std::process::id());
    assert!(said.contains(&who), "{said}");
    assert!(stands(&data.join("alert"), "4420700123") > 0);
    drop(held);
    told(here, 0, &["store", "forget", "+4420700123"]);
    assert_eq!(stands(&data, "4420700123"), 0);
}

/// Whatever is in it: who reads line by line, a terminal and a spreadsheet take a row for a row, and nothing of it, nor
/// of a column's name, for an order.
#[test]
fn csv_of_sql_is_a_line_a_row_and_no_order() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("days.pcap"), capture(today() - 1, 1)).unwrap();
    run(here, &["read", "days.pcap"]);
    let select = "SELECT 'a' || char(13, 10) || '=1+1' || char(27) || ']0;x' || char(7, 155) || '1m' AS \"=cmd()\", \
        char(10) || '@SUM(1)' AS \"a\u{1b}[2J\n+x\", char(9) || '-x;\"=y' AS \"+44 20\", -1.5 AS \"c\td\" FROM calls";
    let said = told(here, 0, &["sql", "--csv", select]);
    let right = "'=cmd(),a\u{fffd}[2J +x,'+44 20,c d\n\
        a  =1+1\u{fffd}]0;x\u{fffd}\u{fffd}1m,' @SUM(1),\"' -x;'\"\"=y\",-1.5\n";
    assert_eq!(said, right);
}

/// As it stands in a SIP address, but for its scheme: the number is who is before the host, never the port.
#[test]
fn a_number_with_a_host_is_forgotten_and_a_port_is_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("days.pcap"), capture(today() - 1, 2)).unwrap();
    run(here, &["read", "days.pcap"]);
    let data = here.join("trunkline-data");
    for given in ["4420700123@pbx.example:5060", "<+44-20-700123@[2001:db8::1]>;tag=x"] {
        let said = told(here, 0, &["store", "forget", given, "--dry-run"]);
        assert!(said.contains("receipt: 4420700123, ") && said.contains("\n1 call with their streams would"), "{said}");
    }
    let said = told(here, 2, &["store", "forget", "pbx.example:5060"]);
    assert!(said.contains("'pbx.example:5060' is not a number"), "{said}");
    told(here, 0, &["store", "forget", "4420700123@pbx.example:5060"]);
    assert_eq!(stands(&data, "4420700123"), 0);
}

/// A limit on the size of files (ulimit -f) ends no command without a word, and what is done again is finished.
#[test]
fn a_number_is_forgotten_beside_a_limit_on_files_or_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("days.pcap"), capture(today() - 5, 6)).unwrap();
    run(here, &["read", "days.pcap"]);
    let limited = "ulimit -f 16; exec \"$0\" store forget tel:+44-20700123";
    let program = env!("CARGO_BIN_EXE_trunkline");
    let output = Command::new("sh").args(["-c", limited, program]).current_dir(here).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && error.contains(".sqlite: "), "{:?} {error}", output.status);
    told(here, 0, &["store", "forget", "<tel:+44-20700123>"]);
    assert_eq!(stands(&here.join("trunkline-data"), "4420700123"), 0);
    assert!(told(here, 0, &["sql", "--csv", "SELECT count(*) FROM calls"]).ends_with("\n4\n"));
}
