//! Drives the reader with any octets and asserts what must always hold.

use super::{CANDIDATES_MAX, FORMATS_MAX, MEDIA_MAX, Outline, SSRCS_MAX, Session, parse};

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
    if let Some(outline) = Outline::of(octets).filter(|o| o.says_all(&session)) {
        moved(&session, outline);
    }
}

/// The same section at another endpoint says the same.
fn moved(session: &Session<'_>, outline: Outline<'_>) {
    let mut body = b"v=0\r\no=x 9 9 IN IP4 host\r\nc=IN IP4 198.51.100.7\r\nm=audio 7".to_vec();
    body.extend_from_slice(outline.section);
    let (other, again) = (parse(&body), Outline::of(&body).expect("still usual"));
    assert!(again.says_all(&other) && again.section == outline.section);
    let (a, b) = (&session.media[0], &other.media[0]);
    assert_eq!(a.rtp(), Some(outline.endpoint));
    assert_eq!(b.rtp(), Some(again.endpoint));
    assert_eq!((a.kind, a.proto, a.direction, a.is_encrypted()), (b.kind, b.proto, b.direction, b.is_encrypted()));
    assert_eq!((&a.formats, &a.candidates, a.ptime_ms), (&b.formats, &b.candidates, b.ptime_ms));
    assert_eq!(session.oddities, other.oddities);
}
