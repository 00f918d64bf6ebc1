use super::*;
use crate::charge::configured::{open, start};
use crate::run::config::{Cdr, Charge, ChargeGtpp, DirectorySection, Door};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;

const PLAN: &str = "[plan]\nname = \"standard\"\n[allowance.gift]\namount = \"1 MiB\"\nlasts = \"7 days\"\n[[version]]\n\
    from = \"2026-01-01\"\nrule = [ { name = \"data\", step = \"1 KiB\", price = 1 } ]\n";

fn node(folder: &Path) -> trunkline_charge::job::Node {
    let listen = vec![Door::Tcp("127.0.0.1:0".parse().unwrap())];
    let (host, realm) = ("ocs.example".to_owned(), "example".to_owned());
    let section = Charge { listen, host, realm, threads: 1, ..Charge::default() };
    let opened = open(&section, &ChargeGtpp::default(), &DirectorySection::default(), folder).unwrap().unwrap();
    start(opened, &section, &Cdr::default(), folder).unwrap()
}

#[test]
fn a_node_is_asked_and_its_ledger_is_read_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let asked = Asked::new(folder.path());
    let status = json!({ "do": "status" });
    assert_eq!(asked.order(&status).unwrap_err().trouble, Trouble::NotFound);
    assert!(!asked.serves());
    let mut node = node(folder.path());
    assert!(asked.serves());
    asked.order(&json!({ "do": "plan", "text": PLAN })).unwrap();
    asked.order(&json!({ "do": "open", "account": 7, "plan": "standard", "balance": 500 })).unwrap();
    let top_up = json!({ "do": "top-up", "account": 7, "amount": 50, "note": "voucher", "key": "k1" });
    let first = asked.order(&top_up).unwrap();
    let second = asked.order(&top_up).unwrap();
    assert_eq!((&first["again"], &second["again"]), (&json!(false), &json!(true)));
    assert_eq!((&first["sequence"], &second["account"]["balance"]), (&second["sequence"], &json!(550)));
    asked.order(&json!({ "do": "buy", "account": 7, "allowance": "gift" })).unwrap();
    let status = asked.order(&status).unwrap();
    assert_eq!((status["accounts"].as_u64(), status["host"].as_str()), (Some(1), Some("ocs.example")));
    // Each reply is read as the web reads it.
    let account: trunkline_web::sources::ChargeAccount =
        serde_json::from_value(asked.order(&json!({ "do": "show-account", "account": 7 })).unwrap()).unwrap();
    assert_eq!((account.balance, account.allowances[0].name.as_deref()), (550, Some("gift")));
    let from = ChargeMark { next: account.up_to + 1, balance: account.balance };
    let part = asked.ledger(7, from, 2, &Cancel::default()).unwrap();
    let lines: Vec<_> = part.lines.iter().map(|line| (line.kind.as_str(), line.amount, line.balance)).collect();
    assert_eq!(lines, [("bought", 0, 550), ("top-up", 50, 550)]);
    assert_eq!((part.lines[1].note.as_deref(), part.lines[0].allowance.as_deref()), (Some("voucher"), Some("gift")));
    let rest = asked.ledger(7, part.next.unwrap(), 100, &Cancel::default()).unwrap();
    assert_eq!((rest.lines.len(), rest.lines[0].balance, rest.next), (1, 500, None));
    assert_eq!(asked.usage(7, from, 0, &Cancel::default()).unwrap().days, []);
    let (text, _) = asked.plan_of_entry(1).unwrap();
    assert_eq!(text, PLAN);
    assert_eq!(asked.plan_of_entry(2).unwrap_err().trouble, Trouble::NotFound);
    let ask = ChargeTryAsk { text: PLAN.to_owned(), from: 0, to: i64::MAX };
    let tried = asked.try_out(&ask, &Progress::default(), &Cancel::default()).unwrap();
    assert_eq!((tried.plan.as_str(), tried.decimals, tried.all.reports), ("standard", 2, 0));
    let wrong = ChargeTryAsk { text: "[plan]".to_owned(), ..ask };
    let refused = asked.try_out(&wrong, &Progress::default(), &Cancel::default()).unwrap_err();
    assert_eq!(refused.trouble, Trouble::Refused);
    for (order, trouble) in [
        (json!({ "do": "show-account", "account": 8 }), Trouble::NotFound),
        (json!({ "do": "adjust", "account": 7, "amount": -100_000 }), Trouble::Conflict),
        (json!({ "do": "nonsense" }), Trouble::Refused),
        (json!({ "do": "top-up", "account": 7, "amount": 51, "key": "k1" }), Trouble::Conflict),
    ] {
        assert_eq!(asked.order(&order).unwrap_err().trouble, trouble, "{order}");
    }
    node.stop().unwrap();
}

#[test]
fn what_is_no_reply_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("charge")).unwrap();
    let listener = UnixListener::bind(configured::socket(folder.path())).unwrap();
    std::thread::spawn(move || {
        for (stream, reply) in listener.incoming().flatten().zip(["not json\n", "", "{\"error\":\"x\"}\n"]) {
            let _ = (&stream).read(&mut [0; 1024]);
            let _ = (&stream).write_all(reply.as_bytes());
        }
    });
    let asked = Asked::new(folder.path());
    let told: Vec<_> = (0..3).map(|_| asked.order(&json!({ "do": "status" })).unwrap_err().trouble).collect();
    assert_eq!(told, [Trouble::Failed, Trouble::Failed, Trouble::Conflict]);
}

const SECOND: i64 = 1_000_000_000;
/// 2026-11-20T10:00:00Z.
const START: i64 = 1_795_168_800 * SECOND;
const VOICE: &str = "[plan]\nname = \"voice\"\ncurrency = \"EUR\"\n[destinations]\nnear = [\"331\"]\nfar = [\"44\"]\n\
    [[version]]\nfrom = \"2026-01-01\"\n[[version.rule]]\nname = \"near\"\ndestinations = [\"near\"]\n\
    unit = \"seconds\"\nstep = 60\nprice = \"2\"\n";

/// A folder with a ledger of ten accounts and calls: `count` of them a second apart, each from one of twenty numbers.
fn calls_and_ledger(count: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut node = node(folder.path());
    let asked = Asked::new(folder.path());
    asked.order(&json!({ "do": "plan", "text": VOICE })).unwrap();
    for account in 1..=10 {
        asked.order(&json!({ "do": "open", "account": account, "plan": "voice", "balance": 500 })).unwrap();
        let identities = [format!("e164:3361000000{}", account - 1)];
        let subscriber =
            json!({ "do": "subscriber", "subscriber": account, "account": account, "identities": identities });
        asked.order(&subscriber).unwrap();
    }
    node.stop().unwrap();
    let call = |n: u32| {
        let start_ns = START + i64::from(n) * SECOND;
        trunkline_store::row::Call {
            id: trunkline_kit::Id::derive(start_ns, &n.to_le_bytes()),
            sip_call_id: format!("call-{n}@example"),
            state: trunkline_store::row::CallState::Completed,
            from: format!("+336100000{:02}", n % 20),
            to: if n.is_multiple_of(4) { "+4420700000" } else { "+33123456789" }.to_owned(),
            start_ns,
            answer_ns: Some(start_ns + 4 * SECOND),
            end_ns: Some(start_ns + 70 * SECOND),
            last_ns: start_ns + 70 * SECOND,
            capture: trunkline_store::row::CaptureLedger { complete: true, ..Default::default() },
            ..Default::default()
        }
    };
    let mut store = trunkline_store::Store::open(&folder.path().join("store"), trunkline_store::Access::Write).unwrap();
    let calls = (0..count).map(call).collect();
    store.write(&trunkline_store::row::Rows { calls, ..Default::default() }).unwrap();
    store.commit().unwrap();
    folder
}

fn rate_ask(filter: Option<&str>) -> ChargeRateAsk {
    ChargeRateAsk {
        profile: String::new(),
        plan: None,
        plan_name: None,
        span_ns: (START, START + 7200 * SECOND),
        filter: filter.map(|text| trunkline_store::filter::Filter::parse(text).unwrap()),
        rating_group: None,
        service: None,
    }
}

#[test]
fn calls_are_rated_and_added_up() {
    let folder = calls_and_ledger(400);
    let asked = Asked::new(folder.path());
    let rate = |ask: &ChargeRateAsk| {
        let mut all = Vec::new();
        let done = asked.rate_calls(ask, &mut |call| all.push(call.clone()), &Progress::default(), &Cancel::default());
        done.map(|sums| (all, sums))
    };
    let (all, sums) = rate(&rate_ask(None)).unwrap();
    // Ten of twenty numbers are nobody's. Of the others a fourth or so go to 44, which no rule prices.
    let count = |outcome: &str| all.iter().filter(|call| call.outcome == outcome).count() as u64;
    assert_eq!((all.len(), sums.priced + sums.no_rule, sums.nobody_pays), (400, 200, 200));
    assert_eq!((sums.priced, sums.no_rule), (count("priced"), count("no-rule")));
    let [near, far] =
        ["near", "far"].map(|name| sums.destinations.iter().find(|t| t.name.as_deref() == Some(name)).unwrap());
    assert_eq!((near.calls, near.money, near.without_price), (sums.priced, 4 * sums.priced as i64, 0));
    assert_eq!((far.calls, far.without_price), (0, sums.no_rule));
    assert_eq!(
        (sums.prefixes[0].name.as_deref(), sums.sums[0].money, sums.accounts.len()),
        (Some("331"), near.money, 10)
    );
    // A filter tells some of them, at the same prices.
    let (some, filtered) = rate(&rate_ask(Some("to:+33123456789"))).unwrap();
    assert!(some.len() == 300 && some.iter().all(|call| all.contains(call)));
    assert_eq!(filtered.priced, sums.priced);
    // A text in place of the plan of its name, and a name that is none.
    let dearer = VOICE.replace("price = \"2\"", "price = \"5\"");
    let (other, by_text) = rate(&ChargeRateAsk { plan: Some((dearer, 0)), ..rate_ask(None) }).unwrap();
    assert_eq!((by_text.sums[0].money, by_text.other_plan, by_text.nobody_pays), (10 * sums.priced as i64, 200, 0));
    assert!(other.iter().all(|call| call.plan.as_deref() == Some("voice") && call.plan_version.is_none()));
    let gone = rate(&ChargeRateAsk { plan_name: Some("gone".to_owned()), ..rate_ask(None) }).unwrap_err();
    assert_eq!(gone.trouble, Trouble::Refused);
}

/// Ends work the `at`th time that it tells how far it is; whether it was still under way then.
fn ended_at<T: std::fmt::Debug>(
    at: u64,
    run: impl FnOnce(&crate::charge::bill::Waiting<'_>) -> Result<T, crate::charge::bill::Failed>,
) -> bool {
    let (switch, told) = (std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)), std::cell::Cell::new(0));
    let tell = |_: crate::charge::bill::Step, _: u64| {
        assert!(told.get() <= at, "it goes on after it was ended");
        told.set(told.get() + 1);
        switch.store(told.get() > at, Ordering::Relaxed);
    };
    let stop = trunkline_store::Stop::never().or_when(switch.clone());
    match run(&crate::charge::bill::Waiting { stop, tell: &tell }) {
        Ok(_) => {
            assert!(told.get() <= at, "nobody wanted it");
            false
        }
        Err(crate::charge::bill::Failed::GivenUp) => true,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_comparison_ends_wherever_it_is() {
    use crate::charge::bill::compared::{self, Tolerance};
    let folder = calls_and_ledger(5000);
    let store = trunkline_store::Store::open(&folder.path().join("store"), trunkline_store::Access::Read).unwrap();
    let profile = trunkline_charge::compare::Profile::default();
    let line = |n: u32| {
        format!(
            "+336100000{:02},+33123456789,2026-11-20T{:02}:{:02}:{:02}Z,66,0.02\n",
            n % 20,
            10 + n / 3600,
            n / 60 % 60,
            n % 60
        )
    };
    let bill = "caller,called,begin,duration,amount\n".to_owned() + &(0..5000).map(line).collect::<String>();
    let which = crate::charge::bill::Which {
        filter: rate_ask(Some("to:+33123456789")).filter,
        from_ns: START,
        to_ns: START + 7200 * SECOND,
    };
    let tolerance = Tolerance::default();
    let run = |waiting: &crate::charge::bill::Waiting<'_>| {
        let lines = compared::bill(&mut bill.as_bytes(), &profile, &tolerance, waiting)?;
        compared::against(&store, lines, &profile, None, &tolerance, &which, waiting)
    };
    let online = |waiting: &crate::charge::bill::Waiting<'_>| {
        let lines = compared::charged(&store, (which.from_ns, which.to_ns), &profile, &tolerance, waiting)?;
        let lines = compared::with_payers(lines, folder.path(), &tolerance, waiting)?;
        compared::against(&store, lines, &profile, None, &tolerance, &which, waiting)
    };
    let of_bill = (0..).take_while(|at| ended_at(*at, run)).count();
    let of_online = (0..).take_while(|at| ended_at(*at, online)).count();
    // The bill, the filter and the calls tell by the thousand, and each step besides.
    assert!(of_bill >= 4 + 4 + 4 + 2 && of_online >= 1 + 1 + 4 + 4 + 2, "{of_bill} {of_online}");
    let few = Tolerance { items_max: 3000, ..Tolerance::default() };
    let waiting = crate::charge::bill::Waiting { stop: trunkline_store::Stop::never(), tell: &|_, _| {} };
    let refused = |tolerance: &Tolerance| {
        let lines = compared::charged(&store, (which.from_ns, which.to_ns), &profile, tolerance, &waiting)?;
        let lines = compared::with_payers(lines, folder.path(), tolerance, &waiting)?;
        compared::against(&store, lines, &profile, None, tolerance, &which, &waiting)
    };
    let why = |tolerance: &Tolerance| refused(tolerance).unwrap_err().to_string();
    assert_eq!(why(&few), "the filter wants more than 3000 calls: choose a shorter time");
    assert_eq!(
        why(&Tolerance { payers_max: 7, ..tolerance.clone() }),
        "the ledger has more than 7 accounts and subscribers"
    );
}

#[test]
fn a_rating_ends_wherever_it_is() {
    use crate::charge::bill::rated::{self, By};
    let folder = calls_and_ledger(5000);
    let store = trunkline_store::Store::open(&folder.path().join("store"), trunkline_store::Access::Read).unwrap();
    let disk = Folder::beside(&configured::ledger(folder.path())).unwrap();
    let (by, numbers) = (By::plans(Default::default()), trunkline_charge::numbers::Numbers::default());
    let which = crate::charge::bill::Which {
        filter: rate_ask(Some("to:+33123456789")).filter,
        from_ns: START,
        to_ns: START + 7200 * SECOND,
    };
    let run = |waiting: &crate::charge::bill::Waiting<'_>| {
        let rater = rated::rater(&disk, &[], &by, waiting)?;
        rated::rate(&store, rater, (&numbers, &by), &which, waiting, &mut |_| true).map(drop)
    };
    let asked = (0..).take_while(|at| ended_at(*at, run)).count();
    assert!(asked >= 1 + 4 + 5, "{asked}");
}
