//! The contract, spelled out once; every text must also be JSON to a reader that we did not write.

use super::*;
use crate::row::{CaptureLedger, Message, OtherNumber, SharedStream};
use serde_json::Value;

fn sample() -> Call {
    let start = 1_767_323_045_678_901_234;
    let id = Id::derive(start, b"a84b4c76e66710@pc33.example.com");
    let stream = Stream {
        id: Id::derive(start + 5_000_000_000, b"stream"),
        call: Some(id),
        ssrc: 0x3a98_0074,
        src: "10.0.0.1:4000".parse().unwrap(),
        dst: "[2001:db8::2]:4002".parse().unwrap(),
        direction: Direction::Caller,
        codec: "PCMA, telephone-event".into(),
        clock_rate: 8000,
        payload_types: vec![8, 101],
        ptime_ms: 20.0,
        packets: 3001,
        octets: 480_160,
        expected: 3000,
        lost: -1,
        duplicates: 1,
        jitter_mean_ms: 0.123_46,
        jitter_max_ms: 3.0,
        first_ns: start + 5_000_000_000,
        last_ns: start + 65_000_000_000,
        mos: Mos { g107: Some(4.4), vm_f1: Some(4.5), ..Mos::default() },
        ..Stream::default()
    };
    Call {
        id,
        sip_call_id: "a84b4c76e66710@pc33.example.com".into(),
        state: CallState::Completed,
        from: "alice".into(),
        to: "b\"o\\b\u{1}\n".into(),
        from_uri: "sip:alice@example.com".into(),
        to_uri: "sip:bob@example.com".into(),
        numbers: vec![OtherNumber {
            role: NumberRole::DivertedFrom,
            number: "+44201".into(),
            sent: "Diversion: <tel:+44-201>".into(),
        }],
        start_ns: start,
        ringing_ns: Some(start + 1_234_567_890),
        answer_ns: Some(start + 5_000_000_000),
        end_ns: Some(start + 65_000_400_000),
        last_ns: start + 65_100_000_000,
        code: 200,
        reason: "OK".into(),
        hangup: Hangup::Callee,
        src: "10.0.0.1:5060".parse().unwrap(),
        dst: "10.0.0.2:5060".parse().unwrap(),
        mos: Some(4.4),
        capture: CaptureLedger { complete: true, lost_before_tap: 3, ..CaptureLedger::default() },
        verdict: Some(Verdict { kind: "loss".into(), text: "Lost.".into(), packets: vec![1, 22] }),
        ladder: Ladder {
            hosts: vec!["10.0.0.1:5060".parse().unwrap(), "10.0.0.2:5060".parse().unwrap()],
            messages: vec![Message {
                at_ns: start,
                packet: 1,
                method: 1,
                flags: 1,
                text: (0, 3),
                ..Message::default()
            }],
            texts: "sdp".into(),
            not_kept: 2,
        },
        streams: vec![stream],
        shared: vec![SharedStream { call: Id::default(), stream: id, sender: Direction::Callee }],
        files: vec!["/tmp/a.pcap".into()],
        ..Call::default()
    }
}

#[test]
fn a_call_is_exactly_this() {
    let (mut ours, c) = (String::new(), sample());
    call(&mut ours, &c);
    let expected = format!(
        r#"{{"id":"{}","sip_call_id":"a84b4c76e66710@pc33.example.com","state":"completed","from":"alice","to":"b\"o\\b\u0001\n","from_uri":"sip:alice@example.com","to_uri":"sip:bob@example.com","numbers":[{{"role":"diverted-from","number":"+44201","sent":"Diversion: <tel:+44-201>"}}],"start":"2026-01-02T03:04:05.678901Z","answer":"2026-01-02T03:04:10.678901Z","end":"2026-01-02T03:05:10.679301Z","pdd_ms":1234.568,"setup_ms":5000,"duration_ms":60000.4,"code":200,"reason":"OK","hangup":"callee","src":"10.0.0.1:5060","dst":"10.0.0.2:5060","user_agent":null,"mos":4.4,"mos_range":null,"capture":{{"complete":true,"lost_at_tap":0,"lost_at_tap_least":0,"lost_before_tap":3,"note":null}},"verdict":"Lost.","verdict_kind":"loss","verdict_packets":[1,22],"streams":[{{"ssrc":"0x3a980074","src":"10.0.0.1:4000","dst":"[2001:db8::2]:4002","direction":"caller","codec":"PCMA, telephone-event","clock_rate":8000,"packets":3001,"expected":3000,"lost":-1,"missing":0,"recovered":0,"duplicates":1,"reordered":0,"jitter_mean_ms":0.123,"jitter_max_ms":3,"first":"2026-01-02T03:04:10.678901Z","last":"2026-01-02T03:05:10.678901Z","mos":{{"g107":4.4,"scale":"narrowband","vm_f1":4.5,"vm_f2":null,"vm_adapt":null}},"mos_range":null,"lost_at_tap":0,"lost_at_tap_least":0,"loss_runs":[0,0,0,0,0,0,0,0,0,0],"delay_histogram":[0,0,0,0,0,0,0],"id":"{}","call":"{}","payload_types":[8,101],"ptime_ms":20,"octets":480160,"discarded":0,"burst_ratio":null,"talkspurts":0,"comfort_noise":0,"dtmf":null,"encrypted":false,"rtcp":{{"sender_reports":0,"receiver_reports":0,"lost":null,"fraction_max":0,"jitter_max_ms":null,"round_trip_ms":null,"sent":null,"missing_here":null,"lost_after_tap":0,"passed":0}},"skew_ppm":null,"timestamp_jumps":0,"sequence_jumps":0,"mos_receiver":null,"dscp":0,"packet_first":0,"packet_last":0}}],"shared_streams":[{{"call":"{}","id":"{}","direction":"callee"}}],"ringing":"2026-01-02T03:04:06.913469Z","last":"2026-01-02T03:05:10.778901Z","messages":3,"files":["/tmp/a.pcap"]}}"#,
        c.id,
        c.streams[0].id,
        c.id,
        Id::default(),
        c.id
    );
    assert_eq!(ours, expected);
}

#[test]
fn all_rows_are_json_to_another_reader() {
    let mut texts = vec![];
    let mut text = |write: &dyn Fn(&mut String)| {
        let mut out = String::new();
        write(&mut out);
        texts.push(out);
    };
    text(&|o| call(o, &sample()));
    text(&|o| call_with_ladder(o, &sample()));
    text(&|o| call(o, &Call::default()));
    text(&|o| stream(o, &Stream { jitter_mean_ms: f64::NAN, jitter_max_ms: 1e300, ..Stream::default() }));
    text(&|o| registration(o, &Registration::default()));
    text(&|o| event(o, &SipEvent::default()));
    let delay = Delay { min_ms: 0.0, mean_ms: 4.5, max_ms: f64::INFINITY };
    for delay in [None, Some(delay)] {
        text(&|o| interval(o, &StreamInterval { mos: Some(1.0), ..StreamInterval::default() }, delay));
    }
    text(&|o| loss(o, &Loss::default()));
    for text in texts {
        let parsed: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert!(parsed.is_object());
    }
}

#[test]
fn an_answered_call_without_end_lasts_to_its_last_packet() {
    let mut c = sample();
    c.end_ns = None;
    let mut out = String::new();
    call(&mut out, &c);
    let v: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&v["end"], v["duration_ms"].as_f64()), (&Value::Null, Some(60100.0)));
    c.answer_ns = None;
    assert_eq!(duration_ns(&c), None);
}
