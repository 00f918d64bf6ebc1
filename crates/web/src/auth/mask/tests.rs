//! What masked rows show: the shape, and that nothing of a number comes through anywhere.

use super::*;
use crate::auth::refusal::Refusal;
use proptest::prelude::*;
use trunkline_store::filter::Filter;
use trunkline_store::row::{Message, NumberRole, OtherNumber, Verdict};

#[test]
fn numbers_and_names_have_their_shapes() {
    for (whole, masked) in [
        ("+442071234534", "+4420*****34"),
        ("442071234534", "4420*****34"),
        ("02071234534", "0207*****34"),
        ("+44-20-7123.4534", "+4420*****34"),
        ("0201234567", "020*****67"),
        ("1234567", "*****67"),
        ("123456", "*****"),
        ("1001", "*****"),
        ("*21#", "*****"),
        ("alice", "a*****"),
        ("Ärztin", "Ä*****"),
        ("+442071234534;phone-context=example.com", "+4420*****34"),
        ("alice:secret", "a*****"),
        ("1a2b3c", "*****"),
        ("anonymous", "anonymous"),
        ("", ""),
    ] {
        assert_eq!(user(whole), masked, "{whole}");
    }
    let scrub = Scrub::of_uris(&[], &[]);
    for (whole, masked) in [
        ("sip:+442071234534@example.com", "sip:+4420*****34@example.com"),
        ("sips:alice@10.0.0.1:5061;transport=tcp", "sips:a*****@10.0.0.1:5061"),
        ("tel:+442071234534", "tel:+4420*****34"),
        ("sip:example.com", "sip:example.com"),
        ("\"Alice 5551234\" <sip:1001@10.0.0.5:5060;line=abc>;+sip.instance=\"<urn:x>\"", "sip:*****@10.0.0.5:5060"),
        ("alice@example.com", "a*****@example.com"),
        ("+442071234534", "+4420*****34"),
        ("<sip:a@b@10.0.0.1>", "sip:a*****@10.0.0.1"),
        ("sip:+442071234534@442071234534.example.com", "sip:+4420*****34@*****.example.com"),
    ] {
        assert_eq!(uri(whole, &scrub), masked, "{whole}");
    }
}

fn a_call(from: &str, to: &str) -> Call {
    let text = format!("odd: {from} and sip:{to}@10.0.0.2");
    Call {
        from: from.to_owned(),
        to: to.to_owned(),
        from_uri: format!("sip:{from}@10.0.0.1"),
        to_uri: format!("tel:{to}"),
        numbers: vec![
            OtherNumber {
                role: NumberRole::Asserted,
                number: "+4989555000111".to_owned(),
                sent: "P-Asserted-Identity: \"Dr. +49-89-555000111\" <tel:+49-89-555000111;ext=5;rn=+4989111222333>"
                    .to_owned(),
            },
            OtherNumber {
                role: NumberRole::DivertedFrom,
                number: "bob".to_owned(),
                sent: "History-Info: <sip:bob@example.com?Reason=SIP>;index=1".to_owned(),
            },
        ],
        sip_call_id: format!("{from}-17@10.0.0.1"),
        reason: format!("{to} is not here"),
        user_agent: format!("Gateway/{from}"),
        verdict: Some(Verdict {
            text: format!(
                "10.0.0.2:40000 refused the call with 404 {to} is not here: it does not know {to}. 987654 packets."
            ),
            ..Verdict::default()
        }),
        files: vec![format!("calls/{from}.pcap")],
        ladder: Ladder {
            messages: vec![Message { text: (0, text.len() as u16), ..Message::default() }],
            texts: text,
            ..Ladder::default()
        },
        streams: vec![Stream {
            dtmf: "4711".to_owned(),
            codec: "PCMA, telephone-event".to_owned(),
            ..Stream::default()
        }],
        ..Call::default()
    }
}

fn texts(c: &Call) -> Vec<String> {
    let mut all = vec![c.from.clone(), c.to.clone(), c.from_uri.clone(), c.to_uri.clone(), c.sip_call_id.clone()];
    all.extend([c.reason.clone(), c.user_agent.clone(), c.capture.note.clone(), c.ladder.texts.clone()]);
    all.extend(c.verdict.iter().map(|v| v.text.clone()));
    all.extend(c.files.iter().cloned());
    all.extend(c.numbers.iter().flat_map(|one| [one.number.clone(), one.sent.clone()]));
    all.extend(c.streams.iter().flat_map(|s| [s.codec.clone(), s.dtmf.clone()]));
    all
}

#[test]
fn a_masked_call_reads_well() {
    let mut c = a_call("+442071234534", "+390612345678");
    call(&mut c);
    let sentence = c.verdict.as_ref().map(|v| v.text.as_str());
    let expected = "10.0.0.2:40000 refused the call with 404 +3906*****78 is not here: it does not know +3906*****78. \
                    987654 packets.";
    assert_eq!(sentence, Some(expected));
    assert_eq!(c.reason, "+3906*****78 is not here");
    assert_eq!(c.ladder.text_of(&c.ladder.messages[0]), "odd: +4420*****34 and sip:+3906*****78@10.0.0.2");
    assert_eq!(c.sip_call_id, "*****@10.0.0.1");
    assert_eq!(c.streams[0].dtmf, "hidden");
    assert_eq!(c.streams[0].codec, "PCMA, telephone-event");
    assert_eq!(c.from_uri, "sip:+4420*****34@10.0.0.1");
}

#[test]
fn numbers_beside_from_and_to_are_masked_everywhere() {
    let mut c = a_call("anonymous", "+390612345678");
    c.reason = "forwarded by bob, 089555000111 on behalf of +49 89 555 000 111".to_owned();
    c.verdict = Some(Verdict { text: format!("Refused: {}", c.reason), ..Verdict::default() });
    let (_, _, brief) = brief(&c);
    call(&mut c);
    for text in texts(&c).iter().chain(&brief) {
        assert!(!["55500", "555 000", "11122", "bob"].iter().any(|part| text.contains(part)), "{text}");
    }
    let numbers: Vec<_> = c.numbers.iter().map(|one| (one.number.as_str(), one.sent.as_str())).collect();
    assert_eq!(
        numbers,
        [("+4989*****11", "P-Asserted-Identity: tel:+4989*****11"), ("b*****", "History-Info: sip:b*****@example.com")]
    );
}

#[test]
fn short_extensions_and_names_go_from_sentences_too() {
    let mut c = a_call("1001", "alice");
    call(&mut c);
    for text in texts(&c) {
        assert!(!text.contains("1001") && !text.contains("alice"), "{text}");
    }
    // A user part that is like an octet of an address does not spoil addresses.
    let mut c = a_call("100", "x");
    c.reason = "ask 10.0.0.100, not 100.".to_owned();
    call(&mut c);
    assert_eq!(c.reason, "ask 10.0.0.100, not *****.");
}

#[test]
fn numbers_of_others_go_from_what_came_over_the_wire() {
    let scrub = Scrub::of_uris(&[], &[]);
    for (text, masked) in [
        ("Moved to 02079460000", "Moved to *****"),
        ("call 020 7946 0000 instead", "call ***** instead"),
        ("+44 (0)20 7946-0000", "+*****"),
        ("see sip:bob@example.com", "see sip:b*****@example.com"),
        ("tel:+1-201-555-0123!", "tel:*****!"),
        ("٠١٢٣٤٥٦٧٨", "*****"),
        ("Q.850;cause=16;text=\"Normal\"", "Q.850;cause=16;text=\"Normal\""),
        ("FPBX-16.0.40.7(18.16.0)", "FPBX-16.0.40.7(18.16.0)"),
        ("at 10.20.30.40:50604 and [2001:db8::1234]:5060", "at 10.20.30.40:50604 and [2001:db8::1234]:5060"),
    ] {
        let found = scrub.text(Kind::Wire, text);
        // A name before an @ is known to nobody: stars alone.
        assert_eq!(found, masked.replace("b*****@", "*****@"), "{text}");
    }
    assert_eq!(scrub.text(Kind::Sentence, "lost 123456 of 1234567"), "lost 123456 of *****");
}

#[test]
fn other_rows_are_masked_as_well() {
    let number = "+442071234534";
    let mut r = Registration {
        user: number.to_owned(),
        aor: format!("sip:{number}@example.com"),
        contact: format!("<sip:{number}@10.0.0.1:5060>"),
        sip_call_id: format!("{number}@host"),
        reason: format!("no {number}"),
        verdict: Some(Verdict { text: format!("Registration of {number} failed"), ..Verdict::default() }),
        ..Registration::default()
    };
    registration(&mut r);
    assert_eq!(r.aor, "sip:+4420*****34@example.com");
    assert_eq!(r.verdict.as_ref().map(|v| v.text.as_str()), Some("Registration of +4420*****34 failed"));
    assert!(!format!("{r:?}").contains("7123"), "{r:?}");
    let mut e = SipEvent {
        from: number.to_owned(),
        to: "1001".to_owned(),
        sip_call_id: format!("x{number}x"),
        reason: "for 1001".to_owned(),
        ..SipEvent::default()
    };
    event(&mut e);
    assert!(!format!("{e:?}").contains("7123") && !format!("{e:?}").contains("1001"), "{e:?}");
    let mut up = CallUp { from: number.to_owned(), sip_call_id: format!("{number}@x"), ..CallUp::default() };
    call_up(&mut up);
    assert!(!format!("{up:?}").contains("7123"), "{up:?}");
}

#[test]
fn masked_viewers_ask_for_whole_numbers_alone() {
    let check = |text: &str| check_filter(&Filter::parse(text).unwrap());
    for text in [
        "caller:+442071234534",
        "number:1001 or callee:alice",
        "not caller:1",
        "ua:*Asterisk*",
        "callid:abc@x",
        "mos<3 and code:5xx and verdict:* and codec:AMR*",
        "ua:\"FPBX-16.0.40.7(18.16.0)\"",
    ] {
        assert!(check(text).is_ok(), "{text}");
    }
    assert_eq!(check("number:1001 or (not callee:alice)"), Ok(vec!["1001".to_owned(), "alice".to_owned()]));
    for text in [
        "caller:+4420*",
        "callee:*34",
        "number:*",
        "not caller:*4*",
        "mos<3 or (code:5xx and caller:4*)",
        "callid:44*",
        "ua:*4420*",
        "ua:4*",
        "(not (not (not from:*7)))",
    ] {
        assert!(matches!(check(text), Err(Refusal::Forbidden(_))), "{text}");
    }
    assert!(names_numbers("mos<3 and caller:1001") && names_numbers("callid:x") && names_numbers("("));
    assert!(!names_numbers("mos<3 and ip:10.0.0.0/8"));
    for (text, passes) in
        [("", true), ("10.0.0.1", true), ("10.0.0.0/8 [::1]:5060", true), ("4420", false), ("10.0.0.1 a", false)]
    {
        assert_eq!(check_search(text).is_ok(), passes, "{text}");
    }
}

/// Five digits of a number that follow each other in a text, whatever separators are between.
fn leaks(text: &str, number: &str) -> bool {
    let digits: Vec<char> = number.chars().filter(char::is_ascii_digit).collect();
    let bare: String = text.chars().filter(|c| !" -.()/".contains(*c)).collect();
    digits.windows(5).any(|w| bare.contains(&w.iter().collect::<String>()))
}

proptest! {
    #[test]
    fn no_number_comes_through(
        from in "[+]?[0-9]{1,20}",
        to in "[+]?[0-9]{0,4}[-. ]?[0-9]{0,9}|[a-z]{1,6}[0-9]{0,12}",
        before in "[a-zA-Z0-9 .:@<>/+*-]{0,20}",
        after in "[a-zA-Z0-9 .:@<>/+*-]{0,20}",
        apart in "[ .-]{0,1}",
    ) {
        let mut c = a_call(&from, &to);
        let spelled: String = from.chars().flat_map(|c| [c.to_string(), apart.clone()]).collect();
        c.reason = format!("{before}{spelled}{after}");
        c.user_agent = format!("{after}{from}{before}");
        c.capture.note = format!("{before}{to}{after}");
        if let Some(verdict) = &mut c.verdict {
            verdict.text = format!("refused with {} {spelled} {before}{to}{after}", c.reason);
        }
        // What has the shape of an address is one: see `addresses_stay`.
        prop_assume!(!format!("{before}{after}{apart}").contains(['.', ':']));
        call(&mut c);
        for text in texts(&c) {
            // The hosts of the URIs are shown; their digits are not the number's.
            let text = text.replace("10.0.0.1", "host").replace("10.0.0.2:40000", "host").replace("10.0.0.2", "host");
            for number in [&from, &to] {
                prop_assert!(!leaks(&text, number), "{number} in {text}");
            }
        }
    }

    #[test]
    fn what_is_shown_of_a_number_is_bounded(number in "[+]?[0-9]{1,30}") {
        let masked = user(&number);
        let shown = masked.chars().filter(char::is_ascii_digit).count();
        let all = number.chars().filter(char::is_ascii_digit).count();
        prop_assert!(shown <= HEAD_DIGITS_MAX + TAIL_DIGITS && (shown == 0 || all - shown >= HIDDEN_DIGITS_MIN));
        prop_assert!(masked.contains(HIDDEN));
    }

    #[test]
    fn addresses_stay(address in any::<[u8; 4]>(), port in any::<u16>(), number in "[0-9]{8,12}") {
        let shown = format!("{}:{port}", std::net::Ipv4Addr::from(address));
        let scrub = Scrub::of_uris(&[&number], &[]);
        let text = scrub.text(Kind::Wire, &format!("sent to {shown} by {number}."));
        prop_assert_eq!(text, format!("sent to {shown} by {}.", user(&number)));
    }

    #[test]
    fn no_text_makes_it_panic(a in ".{0,40}", b in ".{0,40}", flags in any::<(u32, u16)>()) {
        let mut c = a_call(&a, &b);
        c.ladder.messages.push(Message { text: flags, ..Message::default() });
        c.from_uri = b.clone();
        call(&mut c);
        let mut again = c.clone();
        call(&mut again);
        let mut r = Registration { user: a.clone(), contact: b.clone(), aor: a, ..Registration::default() };
        registration(&mut r);
        let _ = names_numbers(&b);
    }
}

#[test]
fn long_texts_cost_no_more_than_their_beginning() {
    for text in ["@", "1", "1.1.1.", "sip:a@", "tel:1 ", "[::1]:", "1 "].map(|part| part.repeat(60_000)) {
        let scrub = Scrub::of_uris(&[&text], &[&text]);
        assert!(scrub.text(Kind::Wire, &text).chars().count() <= 3 * 512 + 3);
        let mut c = Call { from: text.clone(), to_uri: text.clone(), reason: text.clone(), ..Call::default() };
        (c.user_agent, c.sip_call_id) = (text.clone(), text.clone());
        c.verdict = Some(Verdict { text: format!("refused with 503 {text}. It says: {text}."), ..Verdict::default() });
        call(&mut c);
        assert_eq!(brief(&c).2.is_some(), c.verdict.is_some());
    }
}

#[test]
fn what_is_cut_off_leaves_no_part_of_a_name() {
    let scrub = Scrub::of_uris(&["bartholomew"], &[]);
    for blanks in 480..520 {
        let text = scrub
            .text(Kind::Wire, &("x ".repeat(blanks / 2) + &" ".repeat(blanks % 2) + "bartholomew@a.example and so on"));
        assert!(!text.contains("bart"), "{text}");
        let text = scrub.text(Kind::Wire, &("x ".repeat(blanks / 2) + &" ".repeat(blanks % 2) + "020 7946 0000 is it"));
        assert!(!text.contains("02"), "{text}");
    }
}

#[test]
fn what_a_sentence_quotes_is_hidden_as_on_the_wire() {
    let scrub = Scrub::of_uris(&["1001"], &[]);
    let text =
        "10.0.0.2 refused the call with 403 No. It says: Warning 399 \"ask alice.smith@corp, 020 7946 0000 or 20012\".";
    let told = scrub.sentence(text, "No", "No");
    assert!(told.starts_with("10.0.0.2 refused the call with 403 No. It says: Warning 399"), "{told}");
    for secret in ["alice", "7946", "20012"] {
        assert!(!told.contains(secret), "{told}");
    }
}
