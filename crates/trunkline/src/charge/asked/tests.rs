use super::*;
use crate::charge::configured::{open, start};
use crate::run::config::{Cdr, Charge, ChargeGtpp, DirectorySection, Door};
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
