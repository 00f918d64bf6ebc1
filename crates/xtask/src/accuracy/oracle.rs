//! The oracle's results: `captures/expected.json` (TShark), and the torture captures' lists.

use super::figures::{Figures, Sip, Stream};
use serde_json::Value;
use std::path::Path;

/// A capture and what the oracle found in it.
#[derive(Debug)]
pub struct Expected {
    /// Relative to the shared folder.
    pub file: String,
    /// The oracle's figures.
    pub figures: Figures,
}

/// Reads all results, sorted by file.
///
/// # Errors
/// A file is missing or not as expected.
pub fn read(shared: &Path) -> Result<Vec<Expected>, String> {
    let path = shared.join("captures/expected.json");
    let octets = std::fs::read(&path).map_err(|e| format!("expected.json: {e}"))?;
    let all: Value = serde_json::from_slice(&octets).map_err(|e| format!("expected.json: {e}"))?;
    let all = all.as_object().ok_or("expected.json: not an object")?;
    let mut expected: Vec<Expected> =
        all.iter().map(|(key, value)| Expected { file: format!("captures/{key}"), figures: figures(value) }).collect();
    for name in super::torture::FOLDERS {
        expected.push(torture(shared, name)?);
    }
    expected.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(expected)
}

fn figures(value: &Value) -> Figures {
    let packets = value.pointer("/capinfos/packets").and_then(Value::as_str).and_then(|p| p.parse().ok());
    let heuristic = value.get("rtp_streams_heuristic").and_then(Value::as_array);
    let streams = heuristic.or_else(|| value.get("rtp_streams")?.as_array());
    Figures { packets, sip: sip(value), streams: streams.into_iter().flatten().filter_map(stream).collect() }
}

/// Where no SIP frame was seen there are no messages; where some were but messages were not counted, nothing is known.
fn sip(value: &Value) -> Option<Sip> {
    let Some(sip) = value.get("sip") else {
        let frames = value.pointer("/frames_by_protocol/sip").is_some();
        return (!frames).then(|| Sip { call_ids: Some(0), ..Sip::default() });
    };
    let count = |field: &str| sip.get(field).and_then(Value::as_u64);
    let calls = sip.get("calls").and_then(Value::as_array).into_iter().flatten();
    let state =
        |call: &Value| Some((call.get("call_id")?.as_str()?.to_owned(), call.get("state")?.as_str()?.to_owned()));
    Some(Sip {
        messages: count("messages")?,
        call_ids: count("distinct_call_ids"),
        states: calls.filter_map(state).collect(),
    })
}

fn stream(value: &Value) -> Option<Stream> {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    let jitter = |field: &str| text(field).and_then(|t| t.parse::<f64>().ok());
    let (mean, max) = (jitter("mean_jitter_ms"), jitter("max_jitter_ms"));
    // It prints 0.000 for both where it does not know the clock rate: that is no figure.
    let known = max.is_some_and(|max| max > 0.0);
    Some(Stream {
        name: Stream::name_of(text("ssrc")?, &endpoint(text("src")?), &endpoint(text("dst")?)),
        packets: value.get("packets")?.as_u64()?,
        lost: value.get("lost")?.as_i64()?,
        jitter_mean_ms: mean.filter(|_| known),
        jitter_max_ms: max.filter(|_| known),
        ..Stream::default()
    })
}

/// It writes IPv6 addresses without brackets before the port.
fn endpoint(text: &str) -> String {
    match text.rsplit_once(':') {
        Some((address, port)) if address.contains(':') => format!("[{address}]:{port}"),
        _ => text.to_owned(),
    }
}

/// A torture capture: one message a packet, and one line for each in its list.
fn torture(shared: &Path, name: &str) -> Result<Expected, String> {
    let list = std::fs::read_to_string(shared.join(format!("{name}.tsv"))).map_err(|e| format!("{name}.tsv: {e}"))?;
    let messages = list.lines().skip(1).count() as u64;
    let sip = Some(Sip { messages, ..Sip::default() });
    let figures = Figures { packets: Some(messages), sip, ..Figures::default() };
    Ok(Expected { file: format!("{name}.pcap"), figures })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_record() {
        let value = serde_json::json!({
            "capinfos": {"packets": "691"},
            "rtp_streams": [],
            "rtp_streams_heuristic": [{"ssrc": "0x7C1071F3", "src": "10.0.0.1:2", "dst": "10.0.0.2:4", "packets": 15,
                "lost": -1, "mean_jitter_ms": "0.009", "max_jitter_ms": "0.015"}],
            "sip": {"messages": 3, "distinct_call_ids": 2, "calls": [{"call_id": "a", "state": "answered"}]},
        });
        let figures = figures(&value);
        assert_eq!(figures.packets, Some(691));
        assert_eq!(figures.sip.unwrap().states_in_brief(), "1 answered");
        assert_eq!(figures.streams[0].name, "0x7c1071f3 10.0.0.1:2 -> 10.0.0.2:4");
        assert_eq!((figures.streams[0].lost, figures.streams[0].jitter_max_ms), (-1, Some(0.015)));
    }

    #[test]
    fn addresses_get_their_brackets() {
        assert_eq!(endpoint("2001:db8::1:5060"), "[2001:db8::1]:5060");
        assert_eq!(endpoint("192.0.2.1:5060"), "192.0.2.1:5060");
    }

    #[test]
    fn no_frames_are_no_messages() {
        let none = sip(&serde_json::json!({"frames_by_protocol": {"eth": 1}})).unwrap();
        assert_eq!((none.messages, none.call_ids), (0, Some(0)));
        assert_eq!(sip(&serde_json::json!({"frames_by_protocol": {"sip": 1}})), None);
    }
}
