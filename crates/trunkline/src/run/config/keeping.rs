//! What settings of retention get wrong: zero, or next to nothing, where it would have everything leave at once, and
//! what contradicts.

use super::check::Objections;
use super::{RetainedClass, Settings};
use std::time::Duration;
use trunkline_kit::config::{Octets, Share};

/// Nobody keeps anything for less: it is a unit that was mistaken.
const AGE_MIN: Duration = Duration::from_secs(1);

/// All that is wrong with how long and how much is kept.
pub fn check(settings: &Settings, wrong: &mut Objections) {
    recorded(settings, wrong);
    stored(settings, wrong);
    let audit = &settings.web_audit;
    age("web.audit", "keep-age", audit.keep_age, "400 days", wrong);
    at_least("web.audit", (audit.keep_age, audit.keep_at_least), wrong);
    age("web.captures", "keep-age", settings.web_captures.keep_age, "1 day", wrong);
    age("alert.history", "keep-age", settings.alert_history.keep_age, "400 days", wrong);
    let cut = settings.cdr.cut_volume;
    wrong.unless(cut.is_none_or(|cut| cut.0 > 0), "cdr", "cut-volume", || {
        "is zero: each report would end a record; write \"none\" for never, or how much, such as \"1 GiB\"".to_owned()
    });
    let free = settings.web.keep_free;
    wrong.unless(!is_all(free), "web", "keep-free", || {
        "is all of the disk: nothing could be brought or extracted; write less, such as \"5 %\"".to_owned()
    });
}

fn recorded(settings: &Settings, wrong: &mut Objections) {
    let classes = [
        ("record.sip", &settings.record_sip),
        ("record.rtp", &settings.record_rtp),
        ("record.other", &settings.record_other),
    ];
    for (section, class) in classes {
        age(section, "keep-age", class.keep_age, "30 days", wrong);
        size(section, class.keep_size, wrong);
    }
    limit("record", settings.record.limit, "80 %", wrong);
}

fn stored(settings: &Settings, wrong: &mut Objections) {
    let classes: [(&'static str, &RetainedClass); 6] = [
        ("store.calls", &settings.store_calls),
        ("store.streams", &settings.store_streams),
        ("store.intervals", &settings.store_intervals),
        ("store.events", &settings.store_events),
        ("store.losses", &settings.store_losses),
        ("store.charges", &settings.store_charges),
    ];
    for (section, class) in classes {
        age(section, "keep-age", class.keep_age, "30 days", wrong);
        size(section, class.keep_size, wrong);
        at_least(section, (class.keep_age, class.keep_at_least), wrong);
    }
    limit("store", settings.store.limit, "15 %", wrong);
}

/// A time after which something leaves.
fn age(section: &'static str, key: &'static str, age: Option<Duration>, such: &str, wrong: &mut Objections) {
    wrong.unless(age.is_none_or(|age| age >= AGE_MIN), section, key, || {
        let what = if age.is_some_and(|age| age.is_zero()) { "is zero" } else { "is less than 1 s" };
        format!("{what}: all of it would leave at once; write \"none\" for no limit, or a time such as \"{such}\"")
    });
}

fn size(section: &'static str, size: Option<Octets>, wrong: &mut Objections) {
    wrong.unless(size.is_none_or(|size| size.0 > 0), section, "keep-size", || {
        "is zero: all of it would leave at once; write \"none\" for no limit, or a size such as \"100 GiB\"".to_owned()
    });
}

/// How long something may not leave, beside when it does.
fn at_least(section: &'static str, (age, least): (Option<Duration>, Option<Duration>), wrong: &mut Objections) {
    wrong.unless(least.is_none_or(|least| !least.is_zero()), section, "keep-at-least", || {
        "is zero: it would protect nothing; write \"none\" for that, or a time such as \"90 days\"".to_owned()
    });
    // A keep-age of zero is told by itself, and one near to it.
    let contradict = age.filter(|age| *age >= AGE_MIN).zip(least).is_some_and(|(age, least)| age < least);
    wrong.unless(!contradict, section, "keep-age", || "is shorter than keep-at-least".to_owned());
}

fn limit(section: &'static str, share: Share, such: &str, wrong: &mut Objections) {
    let is_zero = match share {
        Share::Percent(percent) => percent <= 0.0,
        Share::Octets(octets) => octets.0 == 0,
    };
    wrong.unless(!is_zero, section, "limit", || {
        format!("is zero: nothing could be kept; write a share such as \"{such}\" or a size such as \"500 GiB\"")
    });
}

fn is_all(share: Share) -> bool {
    matches!(share, Share::Percent(percent) if percent >= 100.0)
}
