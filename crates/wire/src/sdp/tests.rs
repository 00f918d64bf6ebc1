use super::*;

const PHONE: &[u8] = b"v=0\r\no=alice 2890844526 2890844526 IN IP4 192.0.2.10\r\ns=-\r\nc=IN IP4 192.0.2.10\r\nt=0 0\r\n\
    m=audio 49172 RTP/AVP 8 0 101\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\n\
    a=fmtp:101 0-15\r\na=ptime:20\r\na=sendrecv\r\n";

fn odd(text: &[u8]) -> String {
    parse(text).oddities.to_string()
}

#[test]
fn a_telephone() {
    let s = parse(PHONE);
    assert!(s.oddities.is_empty(), "{}", s.oddities);
    let m = &s.media[0];
    assert_eq!(m.rtp().unwrap().to_string(), "192.0.2.10:49172");
    assert_eq!(m.rtcp().unwrap().to_string(), "192.0.2.10:49173");
    assert_eq!(m.format(101).unwrap().fmtp, b"0-15");
    assert_eq!((m.ptime_ms, m.direction, m.kind, m.proto), (Some(20), Direction::SendRecv, Kind::Audio, Proto::Rtp));
    assert_eq!(s.origin().unwrap().session_version, b"2890844526");
    assert_eq!(s.brief(), "192.0.2.10:49172 PCMA PCMU telephone-event sendrecv");
}

#[test]
fn static_payload_types_need_no_rtpmap() {
    let s =
        parse(b"v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 10.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 18 97\r\n");
    assert_eq!((s.media[0].formats[0].name, s.media[0].formats[0].rate), (&b"G729"[..], 8000));
    assert_eq!(s.oddities.to_string(), "sdp-format-unknown");
    assert_eq!(s.brief(), "10.0.0.1:4000 G729 97 sendrecv");
}

#[test]
fn the_brief_names_each_codec_once_and_the_whole_host() {
    let s = parse(
        b"v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 '/**/OR/**/1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 96 97 0\r\n\
          a=rtpmap:96 AMR-WB/16000\r\na=rtpmap:97 amr-wb/16000\r\nm=audio 5000 RTP/AVP 0\r\nc=IN IP4 224.2.1.1/127/3\r\n",
    );
    assert_eq!(s.brief(), "'/**/OR/**/1:4000 AMR-WB PCMU sendrecv; 224.2.1.1:5000 PCMU sendrecv");
}

#[test]
fn media_override_the_session() {
    // RFC 5118 section 4.8, with a hold and a refused stream added.
    let s = parse(
        b"v=0\r\no=bob 280744730 28977631 IN IP4 host.example.com\r\ns=\r\nt=0 0\r\na=sendonly\r\n\
          m=audio 22334 RTP/AVP 0\r\nc=IN IP4 192.0.2.1\r\na=inactive\r\n\
          m=video 6024 RTP/AVP 107\r\nc=IN IP6 2001:db8::1\r\na=rtpmap:107 H263-1998/90000\r\nm=image 0 udptl t38\r\n",
    );
    assert_eq!((s.media[0].direction, s.media[1].direction), (Direction::Inactive, Direction::SendOnly));
    assert!(s.media[0].is_hold() && s.media[1].is_hold() && s.media[2].is_refused());
    assert_eq!(
        s.brief(),
        "192.0.2.1:22334 PCMU inactive; video [2001:db8::1]:6024 H263-1998 sendonly; image ?:0 t38 sendonly"
    );
    assert_eq!((s.media[2].kind, s.media[2].proto), (Kind::Image, Proto::Udptl));
}

#[test]
fn a_browser() {
    let s = parse(
        b"v=0\r\no=- 20518 0 IN IP4 203.0.113.141\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=ice-lite\r\n\
          m=audio 54400 UDP/TLS/RTP/SAVPF 111 0\r\nc=IN IP4 203.0.113.141\r\na=rtcp:54401 IN IP4 203.0.113.142\r\n\
          a=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;useinbandfec=1\r\na=mid:0\r\na=rtcp-mux\r\n\
          a=fingerprint:sha-1 99:41\r\na=ice-ufrag:074c6550\r\n\
          a=candidate:0 1 UDP 2122194687 192.0.2.4 61665 typ host\r\n\
          a=candidate:1 2 UDP 1685987071 203.0.113.141 54401 typ srflx raddr 192.0.2.4 rport 61666\r\n\
          a=candidate:2 1 udp 1 f1e2-b3.local 9 typ host\r\na=candidate:3 1 UDP\r\n\
          a=ssrc:1732846380 cname:EocUG1f0fcg/yvY7\r\na=ssrc:1732846380 msid:x\r\n",
    );
    let m = &s.media[0];
    assert_eq!((s.bundle, s.ice_lite, m.mid), (&b"0 1"[..], true, &b"0"[..]));
    assert_eq!((m.formats[0].rate, m.formats[0].channels), (48000, 2));
    assert!(m.is_encrypted() && m.security.fingerprint && !m.security.crypto);
    assert_eq!(m.rtcp(), m.rtp());
    assert_eq!(m.rtcp.unwrap().0, 54401);
    assert_eq!(m.candidates.len(), 3);
    assert_eq!(m.candidates[1].kind, CandidateKind::ServerReflexive);
    assert_eq!(m.candidates[1].endpoint().unwrap().to_string(), "203.0.113.141:54401");
    assert_eq!(m.candidates[2].endpoint(), None);
    assert_eq!(m.ssrcs, [1732846380]);
    assert_eq!(s.oddities.to_string(), "sdp-candidate-invalid");
}

#[test]
fn names_what_is_odd() {
    for (text, names) in [
        (&b"v=0\no=- 1 1 IN IP4 a\ns=-\n"[..], "sdp-bare-line-feed"),
        (b"", "sdp-version-missing, sdp-origin-invalid"),
        (b"v=0\r\no=-\r\nm =video 1 RTP/AVP 31\r\n", "sdp-line-invalid, sdp-origin-invalid"),
        (b"v=0\r\no=- 1 1 IN IP4 a\r\nc=IN IP4 sip.example.com\r\nm=audio x RTP/AVP 0\r\n", "sdp-connection-name, sdp-port-invalid"),
        (b"v=0\r\no=- 1 1 IN IP4 a\r\nc=IN IP4\r\nm=audio 1 RTP/AVP\r\n", "sdp-connection-invalid, sdp-connection-missing, sdp-media-invalid"),
        (b"v=0\r\no=- 1 1 IN IP4 a\r\nc=IN IP4 1.2.3.4/127\r\nm=audio 1 RTP/AVP 31 300\r\na=rtpmap:31 LPC\r\na=rtpmap:5 X/1\r\n",
         "sdp-format-invalid, sdp-rtpmap-invalid, sdp-rtpmap-stray"),
    ] {
        assert_eq!(odd(text), names, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn addresses_are_read_as_the_standard_library_reads_them() {
    for text in [
        "0.0.0.0",
        "255.255.255.255",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "01.2.3.4",
        "1..2.3",
        "::1",
        "::ffff:1.2.3.4",
        "a",
        "1.2.3.4 ",
    ] {
        assert_eq!(parse::host(text.as_bytes()).address, text.parse().ok(), "{text}");
    }
}

#[test]
fn limits_hold() {
    let mut text = String::from("v=0\r\no=- 1 1 IN IP4 1.1.1.1\r\nc=IN IP4 1.1.1.1\r\n");
    for _ in 0..=MEDIA_MAX {
        text.push_str("m=audio 1 RTP/AVP 0\r\n");
    }
    let s = parse(text.as_bytes());
    assert_eq!((s.media.len(), s.oddities.to_string().as_str()), (MEDIA_MAX, "sdp-too-many"));
}

#[test]
fn who_begins_is_said_of_a_section_or_of_all() {
    let roles = |session: &str, media: &str| {
        let text = format!(
            "v=0\r\no=- 1 1 IN IP4 1.1.1.1\r\nc=IN IP4 1.1.1.1\r\n{session}m=audio 1 RTP/AVP 0\r\n{media}m=video 1 RTP/AVP 31\r\n"
        );
        let setups: Vec<_> = parse(text.as_bytes()).media.iter().map(|m| m.security.setup.map(Setup::name)).collect();
        (setups[0], setups[1])
    };
    assert_eq!(roles("", "a=setup:active \r\n"), (Some("active"), None));
    assert_eq!(roles("a=setup:actpass\r\n", "a=setup:passive\r\n"), (Some("passive"), Some("actpass")));
    assert_eq!(roles("a=setup:holdconn\r\n", "a=setup:other\r\n"), (Some("holdconn"), Some("holdconn")));
}
