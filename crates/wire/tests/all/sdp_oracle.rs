//! Session descriptions against another parser (sdp-types): where it accepts one, both must have read the same.

use std::path::{Path, PathBuf};
use trunkline_wire::{sdp, sip};

fn seeds(kind: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(shared.join("fuzz-seeds").join(kind)) else { return Vec::new() };
    entries.filter_map(|e| std::fs::read(e.ok()?.path()).ok()).collect()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

fn compare(octets: &[u8]) -> bool {
    let Ok(theirs) = sdp_types::Session::parse(octets) else { return false };
    let ours = sdp::parse(octets);
    let shown = text(octets);
    assert_eq!(text(ours.name), theirs.session_name, "{shown}");
    assert_eq!(ours.media.len(), theirs.medias.len().min(sdp::MEDIA_MAX), "{shown}");
    match ours.origin() {
        Some(origin) => {
            let username = theirs.origin.username.as_deref().unwrap_or("-");
            assert_eq!(
                (text(origin.username).as_str(), text(origin.session_id)),
                (username, theirs.origin.sess_id),
                "{shown}"
            );
        }
        // What they fill in where there is none.
        None => assert_eq!(theirs.origin.sess_id, "0", "{shown}"),
    }
    for (a, b) in ours.media.iter().zip(&theirs.medias) {
        assert_eq!(
            (a.port, text(a.kind_text), text(a.proto_text)),
            (b.port, b.media.clone(), b.proto.clone()),
            "{shown}"
        );
        assert_eq!(a.port_count, b.num_ports.unwrap_or(1), "{shown}");
        let formats: Vec<String> = a.formats.iter().map(|f| text(f.text)).collect();
        let theirs_formats: Vec<&str> = b.fmt.split(' ').filter(|f| !f.is_empty()).take(sdp::FORMATS_MAX).collect();
        assert_eq!(formats, theirs_formats, "{shown}");
        let connection = b.connections.last().or(theirs.connection.as_ref());
        // They leave what follows a slash to the caller; it is a time to live and a count only if it is numbers.
        let host = connection.map(|c| match c.connection_address.split_once('/') {
            Some((host, rest)) if rest.bytes().all(|o| o.is_ascii_digit() || o == b'/') => host.to_owned(),
            _ => c.connection_address.clone(),
        });
        assert_eq!(a.connection.map(|c| text(c.host)), host, "{shown}");
        let has = |name: &str| b.attributes.iter().any(|x| x.attribute == name);
        assert_eq!(a.rtcp_mux, has("rtcp-mux"), "{shown}");
        let candidates = b.attributes.iter().filter(|x| x.attribute == "candidate").count();
        assert!(a.candidates.len() <= candidates, "{shown}");
        for map in b.attributes.iter().filter(|x| x.attribute == "rtpmap") {
            let Some((pt, encoding)) = map.value.as_deref().unwrap_or_default().split_once(' ') else { continue };
            // The last one of a payload type counts, and only if the media line lists it.
            let Some(format) = a.formats.iter().find(|f| f.text == pt.as_bytes()) else { continue };
            let same = b.attributes.iter().filter(|x| {
                x.attribute == "rtpmap" && x.value.as_deref().unwrap_or_default().starts_with(&format!("{pt} "))
            });
            if same.count() == 1 {
                assert_eq!(text(format.name), encoding.trim().split('/').next().unwrap(), "{shown}");
            }
        }
    }
    true
}

#[test]
fn both_read_the_same() {
    let mut bodies = seeds("sdp");
    for message in seeds("sip") {
        bodies.extend(sip::scan(&message, true).and_then(|m| m.sdp().map(<[u8]>::to_vec)));
    }
    let compared = bodies.iter().filter(|b| compare(b)).count();
    println!("{compared} of {} session descriptions were read by both", bodies.len());
    assert!(bodies.is_empty() || compared > 50, "{compared}");
}
