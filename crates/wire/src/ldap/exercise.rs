//! Drives the readers with any octets and asserts what must always hold.

use super::{Filter, Frames, Message, Request, Scope, Search, Stream};
use crate::frames::Framed;

/// A stream of responses, and the same octets as the text of a filter.
pub fn ldap(octets: &[u8]) {
    let mut frames = Frames::new(octets, 1 << 16);
    let mut taken = 0;
    while let Ok(Some(message)) = frames.next_message() {
        taken += message.len();
        let _ = Message::new(message).map(|message| format!("{message:?}"));
    }
    assert!(frames.taken() == taken && taken <= octets.len());
    let _ = Message::new(octets);
    if let Some(filter) = core::str::from_utf8(octets).ok().and_then(|text| text.parse::<Filter>().ok()) {
        shown_and_read_again(&filter);
    }
}

fn shown_and_read_again(filter: &Filter) {
    assert_eq!(filter.to_string().parse().as_ref(), Ok(filter));
    let search = Search {
        base: String::new(),
        scope: Scope::Base,
        size_limit: 0,
        time_limit_seconds: 0,
        filter: filter.clone(),
        attributes: Vec::new(),
    };
    let mut out = Vec::new();
    Request::Search(&search).write(1, &mut out);
    assert_eq!(Stream::whole(&out, usize::MAX), Ok(Some(out.len())));
}
