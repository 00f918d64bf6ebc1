//! Calls of a store rated by plans, and beside bills and online charges: by the command line, with exit codes.

use crate::gy;
use gy::Node;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use trunkline_kit::Id;
use trunkline_store::row::{Call, CallState, CaptureLedger, Charge, Hangup, Loss, Rows};
use trunkline_store::{Access, Store};

const SECOND: i64 = 1_000_000_000;
/// 2026-11-20T10:00:00Z.
const START: i64 = 1_795_168_800 * SECOND;
const PROFILE: &str = "[numbers]\ncountry = \"33\"\nnational = [\"0\"]\ninternational = [\"00\"]\n[bill]\n\
    caller = \"A\"\ncalled = \"B\"\nbegin = \"start\"\nduration = \"sec\"\namount = \"EUR\"\nfirst-step = 60\n\
    step = 60\nseparator = \";\"\ntime-zone = \"Europe/Paris\"\n";
const PLAN: &str = "[plan]\nname = \"voice\"\ncurrency = \"EUR\"\n[destinations]\nnear = [\"33\"]\nfar = [\"44\"]\n\
    [[version]]\nfrom = \"2026-01-01\"\n[[version.rule]]\nname = \"near\"\ndestinations = [\"near\"]\n\
    unit = \"seconds\"\nstep = 60\nprice = \"2\"\n[[version.rule]]\nname = \"far\"\ndestinations = [\"far\"]\n\
    unit = \"seconds\"\nstep = 60\nprice = \"10\"\n";

/// A call that begins `second` seconds after the start, rings for four and lasts `seconds`.
fn call(number: u32, from: &str, to: &str, second: i64, seconds: i64) -> Call {
    let start_ns = START + second * SECOND;
    let sip_call_id = format!("call-{number}@example");
    Call {
        id: Id::derive(start_ns, sip_call_id.as_bytes()),
        sip_call_id,
        state: CallState::Completed,
        from: from.to_owned(),
        to: to.to_owned(),
        start_ns,
        answer_ns: Some(start_ns + 4 * SECOND),
        end_ns: Some(start_ns + (4 + seconds) * SECOND),
        last_ns: start_ns + (4 + seconds) * SECOND,
        code: 200,
        hangup: Hangup::Caller,
        capture: CaptureLedger { complete: true, ..CaptureLedger::default() },
        ..Call::default()
    }
}

/// Calls every two minutes for two hours, so that something is seen all the time, and some of special kinds.
fn calls() -> Vec<Call> {
    let mut calls: Vec<Call> =
        (0..60).map(|n| call(n, &format!("06100000{n:02}"), "+33123456789", i64::from(n) * 120, 50)).collect();
    let refused = |call: Call| Call { state: CallState::Rejected, answer_ns: None, code: 486, ..call };
    let open = |call: Call| Call { state: CallState::Answered, end_ns: None, ..call };
    calls.push(refused(call(100, "0610000001", "0044207", 7000, 0)));
    calls.push(open(call(101, "0610000002", "0044207", 7010, 30)));
    calls.push(call(102, "0610000003", "0044207", 7020, 130));
    calls.push(call(103, "alice", "0044207", 7030, 60));
    calls.push(call(104, "0610000004", "0049301", 7040, 60));
    calls
}

fn store(folder: &Path, rows: Rows) {
    let mut store = Store::open(&folder.join("store"), Access::Write).expect("a store");
    store.write(&rows).expect("written");
    store.commit().expect("committed");
}

/// A line of the bill for a call: Paris is an hour ahead of Greenwich in November.
fn line(call: &Call, seconds: i64, amount: &str) -> String {
    let at = call.answer_ns.unwrap_or(call.start_ns) / SECOND - 1_795_168_800 + 11 * 3600;
    let clock = format!("{:02}:{:02}:{:02}", at / 3600, at / 60 % 60, at % 60);
    format!("{};{};20/11/2026 {clock};{seconds};{amount}\n", call.from, call.to)
}

fn run(folder: &Path, words: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.arg("charge").args(words).arg("--data").arg(folder).env("TZ", "UTC");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    std::io::Write::write_all(&mut child.stdin.take().expect("input"), input.as_bytes()).expect("written");
    child.wait_with_output().expect("its end")
}

/// The objects of `--json`, the sums last.
fn objects(output: &Output) -> (Vec<Value>, Value) {
    let text = std::str::from_utf8(&output.stdout).expect("text");
    let mut all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let sums = all.pop().unwrap_or_else(|| panic!("{output:?}"));
    (all, sums["sums"].clone())
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("a path").to_owned()
}

#[test]
fn a_bill_that_agrees_and_one_that_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let calls = calls();
    store(folder.path(), Rows { calls: calls.clone(), ..Rows::default() });
    let profile = file(folder.path(), "profile.toml", PROFILE);
    let plan = file(folder.path(), "plan.toml", PLAN);
    let titles = "A;B;start;sec;EUR\n";
    let right: String = calls[..60].iter().map(|call| line(call, 60, "0.02")).collect();
    let span = ["--from", "2026-11-20T10:00", "--to", "2026-11-20T11:56"];
    let words = [&["compare", "--bill", "-", "--profile", &profile, "--plan", &plan, "--json"], &span[..]].concat();
    // The first 58 calls lie in the span.
    let agrees = run(folder.path(), &words, &format!("{titles}{right}"));
    let (differences, sums) = objects(&agrees);
    assert_eq!((agrees.status.code(), differences.len()), (Some(0), 0), "{differences:?}");
    assert_eq!((sums["agreed"].as_u64(), sums["clock"]["ahead_ms"].as_i64()), (Some(58), Some(0)), "{sums}");
    // Now the whole: one is left out, one comes twice, one is long, one dear, one renumbered, and one was refused.
    let mut lines: Vec<String> = calls[..60].iter().map(|call| line(call, 60, "0.02")).collect();
    lines[5] = String::new();
    lines[7] = lines[7].repeat(2);
    lines[9] = line(&calls[9], 180, "0.06");
    lines[11] = line(&calls[11], 60, "0.05");
    lines[13] = line(&Call { to: "0044209".to_owned(), ..calls[13].clone() }, 60, "0.10");
    let others = [line(&calls[60], 60, "0.10"), line(&calls[61], 60, "0.10"), line(&calls[62], 180, "0.30")];
    let more = [line(&calls[63], 60, "0.10"), line(&calls[64], 60, "x"), line(&calls[64], 60, "")];
    let bill = format!("{titles}{}{}{}", lines.concat(), others.concat(), more.concat());
    let words = ["compare", "--bill", "-", "--profile", &profile, "--plan", &plan, "--json"];
    let differs = run(folder.path(), &words, &bill);
    let (differences, sums) = objects(&differs);
    assert_eq!(differs.status.code(), Some(3), "{differs:?}");
    let told: Vec<(&str, &str)> = differences
        .iter()
        .map(|one| (one["kind"].as_str().expect("a kind"), one["call"]["id"].as_str().unwrap_or("-")))
        .collect();
    let id = |at: usize| calls[at].id.to_string();
    let ids: Vec<String> = [5, 9, 11, 13, 60].map(id).to_vec();
    assert_eq!(
        told,
        [
            ("not-billed", ids[0].as_str()),
            ("twice", &id(7)),
            ("longer", &ids[1]),
            ("other-amount", &ids[2]),
            ("other-number", &ids[3]),
            ("unanswered", &ids[4]),
        ]
    );
    let dispute: Vec<i64> = differences.iter().map(|one| one["dispute_micros"].as_i64().expect("money")).collect();
    assert_eq!(dispute, [-2, 2, 4, 3, 8, 10].map(|cents| cents * 1_000_000));
    assert_eq!((sums["unread"].as_u64(), sums["unpriced"].as_u64()), (Some(1), Some(1)), "{sums}");
    let warned = String::from_utf8_lossy(&differs.stderr).into_owned();
    assert!(warned.contains("no amount: 'x'"), "{warned}");
    // A filter says which calls have to have a line: all lines find their calls, and those of others are left out.
    let filtered = run(folder.path(), &[&words[..], &["from:0610000005"]].concat(), &bill);
    let (differences, sums) = objects(&filtered);
    let told: Vec<_> = differences.iter().map(|one| (&one["kind"], &one["call"]["id"])).collect();
    assert_eq!(told, [(&Value::from("not-billed"), &Value::from(ids[0].as_str()))], "{sums}");
    assert_eq!((sums["lines"].as_u64(), sums["calls"].as_u64()), (Some(0), Some(1)), "{sums}");
    assert!(sums["left_out"].as_u64() > Some(60), "{sums}");
    // As a table and as CSV it is the same.
    let table = run(folder.path(), &["compare", "--bill", "-", "--profile", &profile, "--plan", &plan], &bill);
    let text = String::from_utf8(table.stdout).expect("text");
    assert!(text.contains("not-billed") && text.contains(&ids[4]) && text.contains("+44209"), "{text}");
    let csv = run(folder.path(), &["compare", "--bill", "-", "--profile", &profile, "--csv"], &bill);
    assert_eq!(String::from_utf8(csv.stdout).expect("text").lines().count(), 6);
    // Amounts are read by the profile's minor digits: a plan of another minor unit would be off by a hundred.
    let yen = file(folder.path(), "yen.toml", &PLAN.replace("EUR", "JPY"));
    let refused = run(folder.path(), &["compare", "--bill", "-", "--profile", &profile, "--plan", &yen], &bill);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(why.contains("JPY") && why.contains("minor-digits is 2: set it to 0"), "{why}");
    // A plan is held against amounts: a bill without them is refused, and a number that the plan does not know is told.
    let plain = file(folder.path(), "plain.toml", &PROFILE.replace("amount = \"EUR\"", "amount = \"\""));
    let words = ["compare", "--bill", "-", "--profile", &plain, "--plan", &plan, "--json"];
    let refused = run(folder.path(), &words, "A;B;start;sec\n0610000001;+33123456789;20/11/2026 11:02:04;60\n");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let words =
        ["compare", "--bill", "-", "--profile", &profile, "--plan", &plan, "--json", "from:0610000004", "to:00*"];
    let (differences, _) = objects(&run(folder.path(), &words, &format!("{titles}{}", line(&calls[64], 60, "0.10"))));
    assert_eq!(differences[0]["kind"], "no-price", "{differences:?}");
    // Nothing of another day's bill is as it should be.
    let words = ["compare", "--bill", "-", "--profile", &profile, "--from", "2026-11-18", "--to", "2026-11-18"];
    let other = run(folder.path(), &words, &bill);
    let text = String::from_utf8_lossy(&other.stdout);
    assert!(text.contains("nothing was billed in this time range") && other.status.code() == Some(3), "{text}");
}

#[test]
fn what_was_charged_online_beside_the_wire() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut node = Node::start(folder.path());
    let plan = file(folder.path(), "plan.toml", PLAN);
    assert!(run(folder.path(), &["plan", &plan], "").status.success());
    let mut subscribers = "subscriber,account,plan,balance,e164\n".to_owned();
    (0..60).for_each(|n| subscribers += &format!("{},{},voice,0,336100000{n:02}\n", n + 1, n + 1));
    assert!(run(folder.path(), &["import", "-"], &subscribers).status.success());
    node.stop();
    let mut calls: Vec<Call> = calls()[..60].to_vec();
    // It comes from outside, and nobody here pays for it.
    calls.push(call(200, "0044999", "0610000001", 5000, 60));
    let charge = |at: usize| Charge {
        id: Id::derive(calls[at].start_ns, format!("{at}").as_bytes()),
        node: "ocs".to_owned(),
        number: at as u32,
        kind: "session".to_owned(),
        session: format!("gw.example;1;{at};{}", calls[at].sip_call_id),
        msisdn: format!("336100000{at:02}"),
        destination: "33123456789".to_owned(),
        start_ns: calls[at].start_ns,
        end_ns: calls[at].end_ns.expect("an end"),
        seconds: 50,
        money: 2,
        rated: true,
        services: format!("[{{\"rating_group\":{}}}]", if at == 3 { 7 } else { 5 }),
        ..Charge::default()
    };
    let mut charges: Vec<Charge> = (0..60).map(charge).collect();
    // One session has two records, one was charged for longer, one has no call, and lies where packets were lost.
    charges[20] = Charge { seconds: 20, record: Some(1), ..charges[20].clone() };
    let rest = Charge {
        id: Id::derive(charges[20].start_ns, b"rest"),
        number: 120,
        seconds: 30,
        record: Some(2),
        ..charges[20].clone()
    };
    charges[30].seconds = 90;
    let lost = START + 3000 * SECOND;
    let nobody = Charge {
        id: Id::derive(lost, b"nobody"),
        number: 121,
        session: "gw.example;9;9".to_owned(),
        destination: "44207".to_owned(),
        start_ns: lost,
        ..charges[40].clone()
    };
    // Where only the recorder lost packets it was seen that there is no call. Data sessions are no calls.
    let recorder = START + 4500 * SECOND;
    let ghost = Charge {
        id: Id::derive(recorder, b"ghost"),
        number: 122,
        session: "gw.example;9;10".to_owned(),
        start_ns: recorder,
        ..nobody.clone()
    };
    let data = Charge {
        id: Id::derive(recorder, b"data"),
        number: 123,
        session: "pgw.example;1".to_owned(),
        destination: String::new(),
        ..ghost.clone()
    };
    charges.extend([rest, nobody, ghost, data]);
    charges.remove(50);
    let loss = |since_ns: i64, place: &str| {
        let place = place.to_owned();
        Loss { since_ns, at_ns: since_ns + SECOND, place, count: 3, ..Loss::default() }
    };
    // In the early morning there are more of them than the store gives at once.
    let early = START - 4 * 3600 * SECOND;
    let mut losses: Vec<Loss> = (0..10_100).map(|n| loss(early + n * SECOND / 3, "interface")).collect();
    losses.extend([loss(lost, "interface"), loss(recorder, "disk")]);
    store(folder.path(), Rows { calls: calls.clone(), charges, losses, ..Rows::default() });
    let profile = file(folder.path(), "profile.toml", "[numbers]\ncountry = \"33\"\nnational = [\"0\"]\n");
    let words = ["compare", "--profile", &profile, "--from", "2026-11-20", "--to", "2026-11-20", "--json"];
    let output = run(folder.path(), &words, "");
    let (differences, sums) = objects(&output);
    let told: Vec<_> = differences
        .iter()
        .map(|one| (one["kind"].as_str().expect("a kind"), one["sure"].as_bool(), one["why"].as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("not-on-wire", Some(false), Some("lost")),
            ("longer", Some(true), None),
            ("not-on-wire", Some(true), None),
            ("not-billed", Some(true), None),
        ]
    );
    assert_eq!(differences[1]["line"]["session"], "gw.example;1;30;call-30@example");
    assert_eq!((sums["lines"].as_u64(), sums["agreed"].as_u64(), output.status.code()), (Some(61), Some(58), Some(3)));
    assert_eq!(sums["unowed"].as_u64(), Some(1), "{sums}");
    assert!(sums["blind"]["milliseconds"].as_u64() >= Some(3_367_000), "{sums}");
    // A rating group chooses the charges that are calls.
    let (_, sums) = objects(&run(folder.path(), &[&words[..], &["--rating-group", "7"]].concat(), ""));
    assert_eq!((sums["lines"].as_u64(), sums["agreed"].as_u64()), (Some(1), Some(1)), "{sums}");
    // Without the ledger nobody knows who pays.
    std::fs::rename(folder.path().join("charge"), folder.path().join("away")).expect("moved away");
    let (differences, _) = objects(&run(folder.path(), &words, ""));
    let unsure: Vec<_> = differences.iter().filter(|one| one["why"] == "no-payer").collect();
    assert_eq!(unsure.len(), 2, "{differences:?}");
}

#[test]
fn a_filter_does_not_change_what_calls_cost_and_legs_cost_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut node = Node::start(folder.path());
    let capped =
        PLAN.replace("[[version]]", "[cap.day]\nperiod = \"day\"\nlimit = 3\nthen = \"throttle\"\n[[version]]");
    let plan = file(folder.path(), "plan.toml", &capped.replace("price = \"2\"", "price = \"2\"\ncaps = [\"day\"]"));
    assert!(run(folder.path(), &["plan", &plan], "").status.success());
    let subscribers = "subscriber,account,plan,balance,e164\n1,1,voice,0,33610000001\n";
    assert!(run(folder.path(), &["import", "-"], subscribers).status.success());
    node.stop();
    let first = call(1, "0610000001", "+33123456789", 0, 50);
    let second = call(2, "0610000001", "+33123450000", 600, 50);
    // The same call from a second tap, and another leg of it behind a switch.
    let again = Call { id: Id::derive(first.start_ns + 1, b"again"), start_ns: first.start_ns + 1, ..first.clone() };
    let leg = Call { sip_call_id: "leg@example".to_owned(), id: Id::derive(second.start_ns, b"leg"), ..second.clone() };
    let calls = vec![first, second.clone(), again, leg];
    store(folder.path(), Rows { calls, ..Rows::default() });
    let profile = file(folder.path(), "profile.toml", PROFILE);
    let words = ["rate-calls", "--profile", &profile, "--from", "2026-11-20", "--to", "2026-11-20", "--json"];
    let (all, sums) = objects(&run(folder.path(), &words, ""));
    let money: Vec<_> = all.iter().filter_map(|one| one["money"].as_i64()).collect();
    assert_eq!((money, sums["legs"].as_u64(), sums["priced"].as_u64()), (vec![2, 1], Some(2), Some(2)), "{all:?}");
    let (some, _) = objects(&run(folder.path(), &[&words[..], &["to:+33123450000"]].concat(), ""));
    assert!(some.len() == 2 && some.iter().all(|one| all.contains(one)), "{some:?}");
}

#[test]
fn calls_cost_what_the_plans_of_their_callers_say_however_often_it_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut node = Node::start(folder.path());
    let plan = file(folder.path(), "plan.toml", PLAN);
    assert!(run(folder.path(), &["plan", &plan], "").status.success());
    let mut subscribers = "subscriber,account,plan,balance,e164\n".to_owned();
    (0..50).for_each(|n| subscribers += &format!("{},{},voice,0,336100000{n:02}\n", n + 1, n + 1));
    assert!(run(folder.path(), &["import", "-"], &subscribers).status.success());
    store(folder.path(), Rows { calls: calls(), ..Rows::default() });
    let profile = file(folder.path(), "profile.toml", PROFILE);
    let words = ["rate-calls", "--profile", &profile, "--from", "2026-11-20", "--to", "2026-11-20", "--json"];
    let beside = run(folder.path(), &words, "");
    let (rated, sums) = objects(&beside);
    // Ten callers are nobody's; of the others one call is up, one has no rule, and "alice" is no number.
    let count = |key: &str| sums[key].as_u64().expect("a count");
    assert_eq!((count("priced"), count("nobody_pays"), count("nobody_pays_numbers")), (51, 10, 10), "{sums}");
    assert_eq!((count("open"), count("no_rule"), count("not_understood"), count("unanswered")), (1, 1, 1, 1), "{sums}");
    let money: i64 = rated.iter().filter_map(|one| one["money"].as_i64()).sum();
    assert_eq!((rated.len(), money, beside.status.code()), (64, 50 * 2 + 30, Some(3)));
    node.stop();
    let again = run(folder.path(), &words, "");
    assert_eq!(again.stdout, beside.stdout);
    // Spans that follow each other tell each call once, also the one that rings from one into the other.
    let parts = [["2026-11-20T00:00", "2026-11-20T11:58:02"], ["2026-11-20T11:58:02", "2026-11-21T00:00"]];
    let told = parts.map(|[from, to]| {
        let words = ["rate-calls", "--profile", &profile, "--from", from, "--to", to, "--json"];
        objects(&run(folder.path(), &words, "")).0
    });
    assert_eq!(told.concat(), rated);
    // A part of the day has the same prices.
    let words =
        ["rate-calls", "--profile", &profile, "--from", "2026-11-20T11:00", "--to", "2026-11-20T11:30", "--json"];
    let (part, _) = objects(&run(folder.path(), &words, ""));
    assert!(part.len() > 10 && part.iter().all(|one| rated.contains(one)), "{part:?}");
    let table =
        run(folder.path(), &["rate-calls", "--profile", &profile, "--from", "2026-11-20", "--to", "2026-11-20"], "");
    assert!(String::from_utf8(table.stdout).expect("text").contains("51 calls rated for 50 accounts"));
}
