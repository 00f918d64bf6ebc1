//! Pages of python's own server, with and without TLS.

use crate::probes::world::{probing, real, see, source, target};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use trunkline_graph::job::{Probing, ProbingOptions};
use trunkline_graph::poller::{Reading, Unknown};
use trunkline_graph::probe::{Check, PageKind, Source};

/// Serves what stands in its folder; `/auth` says who asks, `/slow` never ends, `/long` has nine million octets.
const SERVER: &str = r#"
import http.server, ssl, sys, threading
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *a): pass
    def do_GET(self):
        if self.path == '/auth':
            said, accept = self.headers['Authorization'], self.headers['Accept']
            body = ('{"said": "%s", "accept": %d}' % (said, len(accept))).encode()
        elif self.path == '/long':
            body = b'1' * 9000000
        elif self.path == '/slow':
            self.send_response(200); self.end_headers(); self.wfile.write(b'x'); self.wfile.flush()
            threading.Event().wait(); return
        else:
            return super().do_GET()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
server.daemon_threads = True
server.handle_error = lambda *a: None
if len(sys.argv) > 1:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(folder: &Path, arguments: &[&str]) -> Option<Server> {
        if !Path::new("/usr/bin/python3").exists() {
            eprintln!("SKIPPED: there is no python3");
            return None;
        }
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", SERVER]).args(arguments).current_dir(folder).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Some(Server { child, port: line.trim().parse().unwrap() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn page(id: u32, kind: PageKind, url: String, reads: &[&str]) -> Source {
    source(id, 60, Check::Page { kind, url, timeout: Duration::from_secs(2) }, reads)
}

const UNKNOWN: Reading = Reading::Unknown(Unknown::AgentError);

#[test]
fn pages_are_read_and_bounded() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.json"), r#"{"load": [0.5, 2], "name": "x", "up": true}"#).unwrap();
    let metrics = "# TYPE a_total counter\na_total{code=\"200\"} 5\na_total{code=\"500\"} 2\nbroken{\n";
    std::fs::write(folder.path().join("metrics"), metrics).unwrap();
    let Some(server) = Server::start(folder.path(), &[]) else { return };
    let url = |path: &str| format!("http://127.0.0.1:{}{path}", server.port);
    let login = format!("http://noc:a%40b@127.0.0.1:{}/auth", server.port);
    let whole = ["up", "status", "octets", "time-connect", "time-first-octet", "time-total", "certificate-left"];
    let sources = vec![
        page(10, PageKind::Json, url("/a.json"), &["/load/1", "/load/0", "/up", "/name", "/gone"]),
        page(11, PageKind::Prometheus, url("/metrics"), &["a_total", "a_total{code=\"500\"}", "b"]),
        page(12, PageKind::Http, url("/metrics"), &whole),
        page(13, PageKind::Http, url("/gone"), &whole[..2]),
        page(14, PageKind::Json, url("/gone"), &["/a"]),
        page(15, PageKind::Http, url("/long"), &whole[..2]),
        page(16, PageKind::Json, url("/slow"), &["/a"]),
        page(17, PageKind::Http, "http://127.0.0.1:1/".to_owned(), &whole[..2]),
        page(18, PageKind::Json, login, &["/said", "/accept"]),
        page(19, PageKind::Json, url("/metrics"), &["/a"]),
    ];
    let seen = crate::probes::world::once(sources);
    let integer = Reading::Integer;
    let [omitted, no_number] = [Unknown::Omitted, Unknown::NoNumber].map(Reading::Unknown);
    assert_eq!(seen.of(10)[0], [integer(2), Reading::Real(0.5), integer(1), no_number, omitted]);
    assert_eq!(seen.of(11)[0], [Reading::Counter64(7), Reading::Counter64(2), omitted]);
    assert_eq!(seen.fault(11), Some("1 lines are no metrics"));
    let readings = seen.of(12)[0];
    assert_eq!(readings[..3], [integer(1), integer(200), integer(metrics.len() as i64)]);
    assert!(
        real(readings[3]) <= real(readings[4]) && real(readings[4]) <= real(readings[5]) && real(readings[5]) < 2.0
    );
    assert_eq!(readings[6], omitted);
    assert_eq!((seen.of(13)[0], seen.fault(13)), (&[integer(0), integer(404)][..], Some("status 404")));
    assert_eq!((seen.of(14)[0], seen.fault(14)), (&[UNKNOWN][..], Some("status 404")));
    assert_eq!(seen.of(15)[0], [integer(0), UNKNOWN]);
    assert_eq!(seen.fault(15), Some("the answer has more than 8388608 octets"));
    assert_eq!(seen.of(16)[0], [Reading::Unknown(Unknown::Timeout)]);
    assert_eq!(seen.fault(16), Some("no whole answer within 2 s"));
    assert_eq!(seen.of(17)[0], [integer(0), UNKNOWN]);
    assert!(seen.fault(17).unwrap().contains("refused"));
    // What was said of who asks is no number, but what was accepted is: application/json.
    assert_eq!(seen.of(18)[0], [no_number, integer(16)]);
    assert_eq!(seen.of(19)[0], [Reading::Unknown(Unknown::Malformed)]);
}

#[test]
fn pages_with_tls_say_until_when_their_certificate_holds() {
    let folder = tempfile::tempdir().unwrap();
    let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    parameters.not_after = rcgen::date_time_ymd(2099, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap().pem();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("certificate"), &certificate).unwrap();
    std::fs::write(at("key"), key.serialize_pem()).unwrap();
    let Some(server) = Server::start(folder.path(), &[&at("certificate"), &at("key")]) else { return };
    let url = format!("https://localhost:{}/key", server.port);
    let source = || page(10, PageKind::Http, url.clone(), &["up", "certificate-left"]);
    let issuers = Some(certificate.into_bytes());
    let mut trusting = Probing::new(ProbingOptions { issuers, ..ProbingOptions::default() }).unwrap();
    trusting.add(target(1, "127.0.0.1", &[], vec![source()])).unwrap();
    let seen = see(&mut trusting, |seen| !seen.of(10).is_empty());
    assert_eq!(seen.of(10)[0][0], Reading::Integer(1));
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    // `date -u -d 2099-01-01 +%s`
    let left = 4_070_908_800 - since.as_secs() as i64;
    assert!((real(seen.of(10)[0][1]) - left as f64).abs() <= 120.0);
    // Nobody vouches for it: it is not up, and that is why.
    let mut careful = probing();
    careful.add(target(1, "127.0.0.1", &[], vec![source()])).unwrap();
    let seen = see(&mut careful, |seen| !seen.of(10).is_empty());
    assert_eq!(seen.of(10)[0], [Reading::Integer(0), UNKNOWN]);
    assert!(seen.fault(10).unwrap().contains("certificate"), "{:?}", seen.fault(10));
}
