//! What the fuzz targets drive.

use crate::delivery::Delivery;
use crate::engine::Engine;
use crate::entry::Entry;
use crate::report::Books;
use crate::rule::{Known, Rules, read};
use std::sync::{Arc, LazyLock};

static RULES: LazyLock<Arc<Rules>> = LazyLock::new(|| {
    let text = "[rule.r]\nvalue = \"v\"\nlimit = 1\n[rule.b]\nvalue = \"v\"\nlimit = 1\ncondition = \"baseline\"\n\
        [route.a]\nchannels = \"c\"\n[channel.c]\nkind = \"webhook\"\nurl = \"http://h/\"\n";
    Arc::new(read(&[("r.toml", text)], &Known::default()).unwrap_or_default())
});

/// A record of the log: no octets do harm, one that is read is written as itself, and what it tells can be told again.
pub fn entries(octets: &[u8]) {
    let Ok(entries) = Entry::decode(octets) else { return };
    assert_eq!(Entry::decode(&Entry::encode(&entries)).as_ref(), Ok(&entries));
    let (mut engine, mut delivery) = (Engine::new(Arc::clone(&RULES)), Delivery::new(Arc::clone(&RULES)));
    let mut books = Books::default();
    for entry in &entries {
        engine.apply(entry);
        delivery.apply(entry);
        books.apply(entry);
    }
    engine.resume(1_000_000);
    delivery.resume(1_000_000);
    let mut again = Vec::new();
    engine.snapshot(|entry| again.push(entry));
    delivery.snapshot(|entry| again.push(entry));
    books.snapshot(|entry| again.push(entry));
    engine.handle_timeout(2_000_000, &mut Vec::new());
    for record in delivery.handle_timeout(2_000_000) {
        assert_eq!(Entry::decode(&Entry::encode(&record)).as_ref(), Ok(&record));
    }
    for entry in &again {
        let record = Entry::encode(core::slice::from_ref(entry));
        assert_eq!(Entry::decode(&record).as_deref(), Ok(core::slice::from_ref(entry)));
    }
}

/// Files of rules: no text does harm.
pub fn rules(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    if let Err(mistakes) = read(&[("r.toml", text)], &Known::default()) {
        assert!(!mistakes.is_empty());
    }
}

/// Lines of orders, as the control socket takes them.
pub fn control(octets: &[u8]) {
    crate::job::control::exercise::orders(octets);
}

/// What a server of mail says.
pub fn smtp(octets: &[u8]) {
    crate::job::mail::exercise(octets);
}
