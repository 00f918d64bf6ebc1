//! Deliberate breaks (`cargo xtask loom --breaks`): each applies to the sources at exactly one place and names models
//! that are there, and each model is named, so that it has shown that it can fail.

use super::Finding;
use crate::models::breaks::parse;
use crate::models::{MODELS, Models};
use crate::repository::Text;

/// Checks the lists beside the models.
pub fn check(texts: &[Text], findings: &mut Vec<Finding>) {
    for models in &MODELS {
        let of = |path: &str| texts.iter().find(|text| text.path == path).map(|text| text.text.as_str());
        match (of(models.breaks), of(models.source)) {
            (Some(list), Some(source)) => check_list(models, list, source, of, findings),
            _ => findings.push(Finding::new(models.breaks, 0, format!("it or {} is not there", models.source))),
        }
    }
}

fn check_list<'a>(
    models: &Models,
    list: &str,
    source: &str,
    of: impl Fn(&str) -> Option<&'a str>,
    findings: &mut Vec<Finding>,
) {
    let mut find = |text: String| findings.push(Finding::new(models.breaks, 0, text));
    let list = match parse(list) {
        Ok(list) => list,
        Err(reason) => return find(reason),
    };
    let names: Vec<&str> = names(source).collect();
    for one in &list {
        let what = &one.what;
        let path = format!("{}/{}", models.folder, one.file);
        if of(&path).is_none_or(|text| one.applied(text).is_none()) {
            find(format!("'{what}': what it replaces does not stand exactly once in {path}"));
        }
        if one.models.is_empty() {
            find(format!("'{what}': no model is to find it"));
        }
        let unknown = one.models.iter().filter(|name| !names.contains(&name.as_str()));
        unknown.for_each(|name| find(format!("'{what}': there is no model '{name}'")));
    }
    let is_named = |name: &&str| list.iter().any(|one| one.models.iter().any(|model| model == name));
    names.iter().filter(|name| !is_named(name)).for_each(|name| find(format!("no break is found by '{name}'")));
}

/// The models of a source: its tests.
fn names(source: &str) -> impl Iterator<Item = &str> {
    source.split("#[test]").skip(1).filter_map(|rest| rest.trim_start().strip_prefix("fn ")?.split('(').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_that_apply_no_more_and_models_that_never_failed_are_found() {
        let list = "[[break]]\nwhat = 'w'\nfile = 'src/a.rs'\nreplace = 'x'\nby = 'y'\nmodels = ['one', 'none']\n";
        let source = "#[test]\nfn one() {}\n    #[test]\n    fn two() {}\n";
        let told = |text: &'static str| {
            let mut findings = Vec::new();
            check_list(&MODELS[1], list, source, |path| (path == "crates/net/src/a.rs").then_some(text), &mut findings);
            findings.into_iter().map(|finding| finding.text).collect::<Vec<_>>()
        };
        assert_eq!(told("x"), ["'w': there is no model 'none'", "no break is found by 'two'"]);
        assert!(told("xx")[0].contains("exactly once") && told("")[0].contains("exactly once"));
    }
}
