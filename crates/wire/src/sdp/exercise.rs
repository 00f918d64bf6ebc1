//! Drives the reader with any octets and asserts what must always hold.

use super::{CANDIDATES_MAX, FORMATS_MAX, MEDIA_MAX, SSRCS_MAX, parse};

/// A session description.
pub fn sdp(octets: &[u8]) {
    let session = parse(octets);
    assert!(session.media.len() <= MEDIA_MAX);
    for media in &session.media {
        assert!(media.formats.len() <= FORMATS_MAX && media.candidates.len() <= CANDIDATES_MAX);
        assert!(media.ssrcs.len() <= SSRCS_MAX);
        assert!(media.rtp().is_none_or(|e| e.port == media.port));
        assert!(!media.rtcp_mux || media.rtcp() == media.rtp());
        assert!(media.formats.iter().all(|f| f.payload_type.is_none_or(|p| p < 128 && media.format(p).is_some())));
    }
    let _ = (session.origin(), session.oddities.to_string());
    assert_eq!(session.brief().is_empty(), session.media.is_empty());
    assert_eq!(session, parse(octets));
}
