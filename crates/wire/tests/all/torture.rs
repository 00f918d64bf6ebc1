//! RFC 4475 and RFC 5118: every message is recognised, what is invalid is named with the right oddity, and what is
//! valid is not called invalid. Call-ID, CSeq, method and status are compared with those of another decoder.

use std::path::{Path, PathBuf};
use trunkline_wire::sip::{Class, Header, Oddity, StartLine, scan, unfold};

fn shared() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = std::env::var_os("TRUNKLINE_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    dir.join("torture").is_dir().then_some(dir)
}

/// One row of a table of torture messages.
struct Row {
    file: String,
    class: String,
    call_id: String,
    cseq: String,
    method: String,
    status: String,
    octets: Vec<u8>,
}

fn rows(table: &str, folder: &str) -> Vec<Row> {
    let Some(shared) = shared() else {
        println!("SKIPPED: no shared captures");
        return Vec::new();
    };
    let text = std::fs::read_to_string(shared.join("torture").join(table)).unwrap();
    let lines = text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    lines
        .map(|c| Row {
            octets: std::fs::read(shared.join("torture").join(folder).join(&c[1])).unwrap(),
            file: c[1].clone(),
            class: c[2].clone(),
            method: c[7].clone(),
            status: c[8].clone(),
            call_id: c[9].clone(),
            cseq: c[10].clone(),
        })
        .collect()
}

fn all() -> Vec<Row> {
    let mut rows = rows("rfc4475.tsv", "rfc4475");
    rows.extend(self::rows("rfc5118.tsv", "rfc5118"));
    rows
}

/// What each message is a test of: the oddity that must be among those that are named.
const MUST_NAME: &[(&str, Oddity)] = &[
    ("badinv01.dat", Oddity::ExtraSeparators),
    ("clerr.dat", Oddity::ContentLengthTooLong),
    ("ncl.dat", Oddity::ContentLengthInvalid),
    ("scalar02.dat", Oddity::CSeqTooLarge),
    ("scalar02.dat", Oddity::MaxForwardsInvalid),
    ("scalar02.dat", Oddity::ExpiresInvalid),
    ("scalar02.dat", Oddity::ContactExpiresInvalid),
    ("scalarlg.dat", Oddity::CSeqTooLarge),
    ("scalarlg.dat", Oddity::RetryAfterInvalid),
    ("scalarlg.dat", Oddity::WarningInvalid),
    ("quotbal.dat", Oddity::QuoteUnterminated),
    ("ltgtruri.dat", Oddity::RequestUriBrackets),
    ("lwsruri.dat", Oddity::RequestUriSpaces),
    ("lwsstart.dat", Oddity::StartLineSpaces),
    ("trws.dat", Oddity::StartLineSpaces),
    ("escruri.dat", Oddity::RequestUriHeaders),
    ("baddate.dat", Oddity::DateInvalid),
    ("regbadct.dat", Oddity::AddrSpecNeedsBrackets),
    ("badaspec.dat", Oddity::AddrSpecSpaces),
    ("baddn.dat", Oddity::DisplayNameInvalid),
    ("badvers.dat", Oddity::UnknownVersion),
    ("mismatch01.dat", Oddity::CSeqMethodMismatch),
    ("mismatch02.dat", Oddity::CSeqMethodMismatch),
    ("bigcode.dat", Oddity::StatusCodeInvalid),
    ("badbranch.dat", Oddity::ViaBranchEmpty),
    ("insuf.dat", Oddity::CallIdMissing),
    ("insuf.dat", Oddity::FromMissing),
    ("insuf.dat", Oddity::ToMissing),
    ("unkscm.dat", Oddity::UriSchemeUnknown),
    ("novelsc.dat", Oddity::UriSchemeUnknown),
    ("unksm2.dat", Oddity::UriSchemeUnknown),
    ("bext01.dat", Oddity::OptionTagUnknown),
    ("invut.dat", Oddity::ContentTypeUnknown),
    ("regaut01.dat", Oddity::AuthSchemeUnknown),
    ("multi01.dat", Oddity::SingleRepeated),
    ("mcl01.dat", Oddity::ContentLengthRepeated),
    ("bcast.dat", Oddity::ViaBroadcast),
    ("zeromf.dat", Oddity::MaxForwardsZero),
    ("cparam01.dat", Oddity::ContactParamUnknown),
    ("cparam02.dat", Oddity::UriParamUnknown),
    ("regescrt.dat", Oddity::ContactUriHeaders),
    ("sdp01.dat", Oddity::AcceptWithoutSdp),
    ("inv2543.dat", Oddity::ViaBranchOld),
    ("dblreq.dat", Oddity::OctetsAfterBody),
    ("ipv6-bad", Oddity::UriHostInvalid),
    ("ipv6-bug-abnf-3-colons", Oddity::UriHostInvalid),
    ("port-ambiguous", Oddity::UriIpv6Port),
    ("via-received-param-no-delim", Oddity::ViaReceivedUnbracketed),
];

#[test]
fn classes_are_those_of_the_standards() {
    for row in all() {
        let odd = scan(&row.octets, true).unwrap_or_else(|| panic!("{} is not recognised", row.file)).validate();
        println!("{:<14} {:<30} {odd}", row.class, row.file);
        assert_eq!(odd.is_invalid(), row.class == "invalid", "{} ({}): {odd}", row.file, row.class);
        match row.class.as_str() {
            "transaction" => assert_eq!(odd.class(), Some(Class::Transaction), "{}", row.file),
            "valid" => assert!(odd.class() <= Some(Class::Note), "{}: {odd}", row.file),
            "application" => assert!(!odd.is_empty(), "{}", row.file),
            _ => {}
        }
    }
}

#[test]
fn each_message_is_named_for_what_it_tests() {
    let rows = all();
    for row in &rows {
        let odd = scan(&row.octets, true).unwrap().validate();
        for (_, oddity) in MUST_NAME.iter().filter(|(file, _)| *file == row.file) {
            assert!(odd.contains(*oddity), "{}: {} is not among {odd}", row.file, oddity.name());
        }
        if row.class == "invalid" {
            assert!(MUST_NAME.iter().any(|(file, _)| *file == row.file), "{} has no expectation", row.file);
        }
    }
}

#[test]
fn columns_are_those_of_the_other_decoder() {
    // The other decoder calls these data; RFC 4475 sections 3.1.2.8-10, 16 and 19 call them malformed SIP, and so do
    // we.
    const DATA: [&str; 5] = ["lwsruri.dat", "lwsstart.dat", "trws.dat", "badvers.dat", "bigcode.dat"];
    for row in all() {
        let m = scan(&row.octets, true).unwrap();
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        if DATA.contains(&row.file.as_str()) {
            assert_eq!((row.method.as_str(), row.status.as_str()), ("", ""));
            assert!(m.call_id().starts_with(row.file.trim_end_matches(".dat").as_bytes()));
            continue;
        }
        assert_eq!(text(m.call_id()), row.call_id, "{}", row.file);
        let (method, status) = match m.start() {
            StartLine::Request { method_name, .. } => (text(method_name), String::new()),
            StartLine::Response { status, .. } => (String::new(), status.to_string()),
        };
        assert_eq!((method, status), (row.method, row.status), "{}", row.file);
        let cseq = row.cseq.replace("\\r\\n", "\r\n");
        assert_eq!(text(m.header(Header::CSeq).unwrap()), cseq, "{}", row.file);
    }
}

#[test]
fn values_of_the_tortuous_invite() {
    let rows = all();
    let Some(row) = rows.iter().find(|r| r.file == "wsinv.dat") else { return };
    let m = scan(&row.octets, true).unwrap();
    assert_eq!(m.to().tag(), Some(&b"1918181833n"[..]));
    assert_eq!(m.from().tag(), Some(&b"98asjd8"[..]));
    assert_eq!(m.max_forwards(), Some(68));
    assert_eq!(
        m.vias().map(|v| v.branch().unwrap()).collect::<Vec<_>>(),
        [&b"390skdjuw"[..], b"z9hG4bK9ikj8", b"z9hG4bK30239"]
    );
    assert_eq!(m.contact().unwrap().q_thousandths(), Some(330));
    assert_eq!(m.header(Header::Subject), Some(&b""[..]));
    let framed = m.header_named("NewFangledHeader").unwrap();
    assert_eq!(&*unfold(framed), b"newfangled value continued newfangled value");
    assert_eq!(m.sdp().unwrap().len(), 150);
}

#[test]
fn parts_of_the_binary_multipart() {
    let rows = all();
    let Some(row) = rows.iter().find(|r| r.file == "mpart01.dat") else { return };
    let m = scan(&row.octets, true).unwrap();
    let boundary = m.content_type().unwrap().boundary().unwrap();
    let parts: Vec<_> = trunkline_wire::multipart::parts(m.body(), boundary).collect();
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[0].body, b"Hello");
    assert!(parts[1].content_type().unwrap().is("application", "octet-stream"));
    // A DER sequence of 0x152 octets behind its four octets of tag and length.
    assert_eq!(parts[1].body.len(), 4 + 0x152);
    assert_eq!(m.sdp(), None);
}
