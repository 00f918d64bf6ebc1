//! Nanoseconds per scan of typical messages: `cargo run --release -p trunkline-wire --example sip_speed`.

use std::hint::black_box;
use std::time::Instant;
use trunkline_wire::sdp;
use trunkline_wire::sip::stream::Splitter;
use trunkline_wire::sip::{Header, looks_like_sip, scan};

const INVITE: &str = "INVITE sip:+442079460123@proxy.example.com;user=phone SIP/2.0\r\n\
Via: SIP/2.0/UDP 192.0.2.10:5060;branch=z9hG4bK-524287-1---8d0c5e5cbd6b3a3f;rport\r\n\
Max-Forwards: 70\r\n\
Contact: <sip:alice@192.0.2.10:5060;transport=udp>\r\n\
To: <sip:+442079460123@proxy.example.com>\r\n\
From: \"Alice\" <sip:alice@proxy.example.com>;tag=9fxced76sl\r\n\
Call-ID: 3848276298220188511@alice-pc.example.com\r\n\
CSeq: 1 INVITE\r\n\
Allow: INVITE, ACK, CANCEL, OPTIONS, BYE, REFER, NOTIFY, INFO\r\n\
Content-Type: application/sdp\r\n\
Supported: replaces, timer\r\n\
User-Agent: Example Phone 5.5.1\r\n\
Allow-Events: hold, talk, conference\r\n\
Content-Length: 233\r\n\r\n";

const SDP: &str = "v=0\r\no=alice 2890844526 2890844526 IN IP4 192.0.2.10\r\ns=-\r\nc=IN IP4 192.0.2.10\r\nt=0 0\r\n\
m=audio 49172 RTP/AVP 8 0 101\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\n\
a=fmtp:101 0-15\r\na=ptime:20\r\na=sendrecv\r\n";

const RINGING: &str = "SIP/2.0 180 Ringing\r\n\
Via: SIP/2.0/UDP 192.0.2.10:5060;branch=z9hG4bK-524287-1---8d0c5e5c\r\n\
To: <sip:bob@example.com>;tag=314159\r\n\
From: \"Alice\" <sip:alice@example.com>;tag=9fxced76sl\r\n\
Call-ID: 3848276298220188511@alice-pc\r\n\
CSeq: 1 INVITE\r\n\
Contact: <sip:bob@192.0.2.20:5060>\r\n\
Content-Length: 0\r\n\r\n";

fn time<T>(what: &str, mut f: impl FnMut() -> T) {
    let rounds = 200_000u32;
    let mut best = f64::MAX;
    for _ in 0..9 {
        let start = Instant::now();
        for _ in 0..rounds {
            black_box(f());
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(rounds));
    }
    println!("{what:<44} {best:>8.1} ns");
}

fn main() {
    let invite = format!("{INVITE}{SDP}");
    let (invite, ringing) = (invite.as_bytes(), RINGING.as_bytes());
    let mut rtp = vec![0x80, 8, 1, 2];
    rtp.resize(172, 0xd5);
    time(&format!("scan INVITE, {} octets", invite.len()), || scan(black_box(invite), true));
    time(&format!("scan 180, {} octets", ringing.len()), || scan(black_box(ringing), true));
    time("looks_like_sip RTP", || looks_like_sip(black_box(&rtp)));
    time("looks_like_sip DNS", || looks_like_sip(black_box(b"\x41\x42\x01\x00\x00\x01\x00\x00")));
    time("looks_like_sip HTTP", || looks_like_sip(black_box(b"GET /index.html HTTP/1.1\r\nHost: example.com\r\n\r\n")));
    time("looks_like_sip INVITE", || looks_like_sip(black_box(invite)));
    time("scan INVITE, Call-ID, CSeq, tags, top Via", || {
        let m = scan(black_box(invite), true).unwrap();
        let branch = m.top_via().and_then(|v| v.branch()).map(<[u8]>::len);
        (
            m.call_id().len(),
            m.cseq().map(|c| c.number),
            m.from().tag(),
            m.to().tag().is_some(),
            branch,
            m.header(Header::UserAgent),
        )
    });
    time("validate INVITE", || scan(black_box(invite), true).unwrap().validate());
    time("SDP, 12 lines", || sdp::parse(black_box(SDP.as_bytes())));
    let mut splitter = Splitter::new(true);
    time("stream, INVITE whole in one push", || {
        let mut seen = 0;
        splitter.push(0, 0u32, black_box(invite), &mut |f| seen += f.message.len());
        seen
    });
}
