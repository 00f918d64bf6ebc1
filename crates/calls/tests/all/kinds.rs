//! Each kind of verdict has all that belongs to it (docs/adding/verdict.md): a rule, a weight that the pages know as
//! well, two simulated cases, and its entry in the manual.

use std::path::PathBuf;
use trunkline_calls::verdict::{KINDS, RULES, Weight, weight_of};
use trunkline_sim::Kind;
use trunkline_sim::faults::{FAULTS, NEAR_MISSES, REGISTRATION_FAULTS, REGISTRATION_NEAR_MISSES};

/// Kinds that need a tap of their own: their cases are in `tap.rs` and `reported.rs`.
const OF_THE_TAP: [&str; 2] = ["not-captured", "media-not-captured"];

fn file(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn name_of(kind: Kind) -> String {
    serde_json::to_value(kind).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn every_kind_of_a_rule_has_a_weight_and_every_weight_a_rule() {
    for kind in RULES.iter().flat_map(|(kinds, ..)| kinds.iter()) {
        assert!(weight_of(kind).is_some(), "{kind} is not in KINDS");
    }
    for (at, (kind, _)) in KINDS.iter().enumerate() {
        let of_rule = RULES.iter().any(|(kinds, ..)| kinds.contains(kind));
        assert!(of_rule || *kind == "registration-failed", "{kind} has no rule");
        assert!(!KINDS[..at].iter().any(|(known, _)| known == kind), "{kind} is there twice");
    }
}

#[test]
fn the_pages_weigh_each_kind_the_same() {
    let words = file("ui/src/pages/call/words.ts");
    let (_, rest) = words.split_once("WEIGHTS: Record<string, \"bad\" | \"warn\" | \"note\"> = {").unwrap();
    let (table, _) = rest.split_once("};").unwrap();
    let told: Vec<&str> = table.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let weight = |weight: &Weight| match weight {
        Weight::Bad => "bad",
        Weight::Warn => "warn",
        Weight::Note => "note",
    };
    let ours: Vec<String> = KINDS.iter().map(|(kind, w)| format!("\"{kind}\": \"{}\",", weight(w))).collect();
    assert_eq!(told, ours, "words.ts");
}

#[test]
fn every_kind_is_in_the_manual() {
    let manual = file("docs/manual/verdicts.md");
    for (kind, _) in KINDS {
        let entry = manual
            .lines()
            .filter(|line| line.starts_with('|'))
            .find(|line| line.split('|').nth(1).is_some_and(|names| names.contains(&format!("`{kind}`"))));
        let cells: Vec<&str> = entry.unwrap_or_else(|| panic!("{kind} is not in the manual")).split('|').collect();
        assert!(cells.len() == 5 && cells[1..4].iter().all(|cell| !cell.trim().is_empty()), "{kind}: {cells:?}");
    }
}

#[test]
fn every_kind_has_a_simulated_case_and_one_that_only_comes_close() {
    let planted = || FAULTS.iter().chain(&NEAR_MISSES).chain(&REGISTRATION_FAULTS).chain(&REGISTRATION_NEAR_MISSES);
    for (kind, _) in KINDS.iter().filter(|(kind, _)| !OF_THE_TAP.contains(kind)) {
        for near_miss in [false, true] {
            let found = planted().any(|p| p.near_miss == near_miss && name_of(p.kind) == *kind);
            assert!(found, "{kind} has no simulated case with near_miss: {near_miss}");
        }
    }
    for planted in planted() {
        assert!(weight_of(&name_of(planted.kind)).is_some(), "{planted:?} is no kind of verdict");
    }
}
