//! The object identifiers of the templates that come with the program, against modules that others compiled: those of
//! the IETF (Debian's python3-pysnmp4-mibs, as files) and those of net-snmp (snmptranslate).

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use trunkline_graph::template::{Oid, built_in};

const MODULES: &str = "/usr/lib/python3/dist-packages/pysnmp_mibs";

/// Each object identifier with the name that stands behind it, and whether another number follows.
fn named() -> Vec<(Oid, String, String, usize)> {
    let mut found = Vec::new();
    for (file, text) in built_in::FILES {
        for (number, line) in text.lines().enumerate() {
            let mut quoted = line.split('"');
            let Some(oid) =
                quoted.find_map(|part| Oid::parse(part.split(" *").next()?).filter(|_| part.starts_with("1.3.")))
            else {
                continue;
            };
            let Some((_, name)) = line.split_once("# ") else { panic!("{file}:{}: {line}: no name", number + 1) };
            found.extend(name.split_once("::").map(|(module, name)| (oid, module.to_owned(), name.to_owned(), number)));
        }
    }
    found
}

/// `ifName = MibTableColumn((1, 3, 6, ..), ..)` of a compiled module, by name.
fn compiled(module: &str) -> Option<HashMap<String, Oid>> {
    let text = std::fs::read_to_string(Path::new(MODULES).join(format!("{module}.py"))).ok()?;
    let mut objects = HashMap::new();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(" = ") else { continue };
        let Some(numbers) = rest.split_once("((").and_then(|(_, rest)| rest.split_once(')')) else { continue };
        let arcs: Option<Vec<u32>> = numbers.0.split(',').map(|arc| arc.trim().parse().ok()).collect();
        objects.extend(arcs.and_then(|arcs| Oid::new(&arcs)).map(|oid| (name.to_owned(), oid)));
    }
    Some(objects)
}

#[test]
fn each_is_that_of_its_name_in_modules_of_the_ietf() {
    if !Path::new(MODULES).exists() {
        eprintln!("SKIPPED: {MODULES} is not there: apt-get install python3-pysnmp4-mibs");
        return;
    }
    let (mut checked, mut modules) = (0, HashMap::new());
    for (oid, module, name, line) in named() {
        let objects = modules.entry(module.clone()).or_insert_with(|| compiled(&module));
        let Some(objects) = objects else { continue };
        let object = objects.get(&name).unwrap_or_else(|| panic!("line {}: {module}::{name}: unknown", line + 1));
        let scalar = object.with(&[0]);
        assert!(oid == *object || Some(&oid) == scalar.as_ref(), "{module}::{name} is {object}, not {oid}");
        checked += 1;
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn each_is_that_of_its_name_in_modules_of_net_snmp() {
    if Command::new("snmptranslate").arg("-V").output().is_err() {
        eprintln!("SKIPPED: snmptranslate is not there: apt-get install snmp");
        return;
    }
    let mut checked = 0;
    for (oid, module, name, _) in named() {
        if !["UCD-SNMP-MIB", "UCD-DISKIO-MIB", "NET-SNMP-MIB"].contains(&module.as_str()) {
            continue;
        }
        let told = Command::new("snmptranslate").args(["-m", "ALL", "-On", &format!("{module}::{name}")]).output();
        let told = String::from_utf8(told.unwrap().stdout).unwrap();
        // Without the module's file nothing is told: Debian has it in libsnmp-base.
        let Some(object) = Oid::parse(told.trim()) else { continue };
        let scalar = object.with(&[0]);
        assert!(oid == object || Some(&oid) == scalar.as_ref(), "{module}::{name} is {object}, not {oid}");
        checked += 1;
    }
    if checked == 0 {
        eprintln!("SKIPPED: snmptranslate knows no module: apt-get install libsnmp-base");
        return;
    }
    assert!(checked > 40, "{checked}");
}

/// Metrics of the program are those that its crates count.
#[test]
fn metrics_of_the_program_are_there() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut texts = String::new();
    let mut folders = vec![crates];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            match path.extension().and_then(|e| e.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("rs") => texts.push_str(&std::fs::read_to_string(path).unwrap()),
                _ => {}
            }
        }
    }
    let program = built_in::FILES.iter().find(|(file, _)| *file == "program.toml").unwrap().1;
    let metrics: Vec<&str> = program.split('"').filter(|word| word.starts_with("trunkline_")).collect();
    assert!(metrics.len() > 5);
    for metric in metrics {
        assert!(texts.contains(&format!("\"{metric}\"")), "{metric}");
    }
}
