//! Plan files: every mistake at once, each with its place.

use trunkline_charge::tariff::{Context, Outcome, Plmn, read};

#[test]
fn every_mistake_is_told_at_once_with_its_place() {
    let text = r#"
[plan]
nmae = "x"
currency = "euro"
time-zone = "Europe/Pari"
holidays = ["2026-02-30"]

[networks]
home = ["208011234"]

[destinations]
all = ["+33"]

[allowance.data]
amount = "0"

[cap.spend]

[[version]]
from = "tomorrow"

[[version.rule]]
name = "data"
step = 10
first-step = 15
price = "1.2345678"
allowances = ["dta"]
networks = ["hmoe"]
days = ["workday"]
times = ["8-18"]
last = "redirect"

[tarif]
"#;
    let mistakes = read("plan.toml", text).expect_err("mistakes");
    let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    for part in [
        "plan.toml:3:1: unknown key 'nmae' in [plan]; did you mean 'name'?",
        "plan.toml:5:13: no time zone 'Europe/Pari'; did you mean 'Europe/Paris'?",
        "'2026-02-30' is no date",
        "plan.toml:33:2: unknown section [tarif]",
    ] {
        assert!(told.iter().any(|line| line.contains(part)), "{part}\n{}", told.join("\n"));
    }
    // Without a zone nothing else can be read; with it, the rest is told.
    let told = read("p", &text.replace("Pari\"", "Paris\"")).expect_err("mistakes");
    let told: Vec<String> = told.iter().map(ToString::to_string).collect();
    for part in [
        "currency: three capital letters",
        "'208011234': five or six digits",
        "'+33': 1 to 15 digits",
        "[allowance.data] needs an amount",
        "[cap.spend] needs a limit",
        "from: \"2026-01-01\"",
        "first-step is a multiple of step",
        "price: '1.2345678' is no price",
        "there is no 'dta'; did you mean 'data'?",
        "no set 'hmoe'; did you mean 'home'?",
        "no day 'workday'",
        "'8-18' is no time of the day",
        "redirect = \"URL\" says where to",
    ] {
        assert!(told.iter().any(|line| line.contains(part)), "{part}\n{}", told.join("\n"));
    }
}

#[test]
fn the_first_rule_that_fits_holds() {
    let text = r#"
[plan]
name = "x"
[networks]
home = ["20801", "20802"]
eu = ["26201"]
[destinations]
france = ["33"]
mobile = ["336", "337"]
[[version]]
from = "2026-01-01"
rule = [
  { name = "free", rating-groups = [7], outcome = "free" },
  { name = "mobile", destinations = ["mobile"], unit = "seconds", price = 2 },
  { name = "france", destinations = ["france"], unit = "seconds", price = 1 },
  { name = "home", networks = ["home"], apns = ["internet"], price = 1 },
  { name = "lte", networks = ["eu"], rats = [6], price = 2 },
  { name = "eu", networks = ["eu"], price = 3 },
  { name = "far", networks = ["other"], outcome = "blocked" },
]
"#;
    let plan = read("p", text).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    let network = |digits| Context { network: Plmn::read(digits), apn: "internet", ..Context::default() };
    let at = plan.versions[0].from;
    let name = |context: &Context<'_>| plan.rule(context, at).map(|rule| rule.name.as_str());
    assert_eq!(name(&Context { rating_group: Some(7), ..network("20801") }), Some("free"));
    assert_eq!(name(&Context { destination: "33612345678", ..network("20801") }), Some("mobile"));
    assert_eq!(name(&Context { destination: "33112345678", ..Context::default() }), Some("france"));
    assert_eq!(name(&network("20802")), Some("home"));
    assert_eq!(name(&Context { apn: "ims", ..network("20801") }), None);
    assert_eq!(name(&Context { rat: Some(6), ..network("26201") }), Some("lte"));
    assert_eq!(name(&network("26201")), Some("eu"));
    assert_eq!(name(&network("310410")), Some("far"));
    assert_eq!(name(&Context::default()), None);
    assert_eq!(plan.rule(&network("310410"), at).map(|rule| rule.outcome), Some(Outcome::Blocked));
    assert!(plan.rule(&network("20801"), at - 1).is_none());
}

/// The plan of the manual, as it stands there.
#[test]
fn the_plan_of_the_manual_is_whole() {
    let manual = include_str!("../../../../docs/manual/tariffs.md");
    let text = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let plan = read("tariffs.md", text).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    assert_eq!((plan.name.as_str(), plan.versions.len(), plan.versions[0].rules.len()), ("standard", 2, 8));
    let winter = plan.versions[0].from;
    let call = Context { destination: "33612345678", ..Context::default() };
    let name = |context: &Context<'_>, at| plan.rule(context, at).map(|rule| rule.name.clone());
    // 2026-01-05 is a Monday; Paris is an hour ahead.
    let monday = winter + 4 * 86_400;
    assert_eq!(name(&call, monday + 12 * 3600).as_deref(), Some("calls by day"));
    assert_eq!(name(&call, monday + 21 * 3600).as_deref(), Some("calls"));
    assert_eq!(plan.next_change(&call, monday + 12 * 3600, monday + 86_400), Some(monday + 20 * 3600));
}
