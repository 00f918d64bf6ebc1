//! What strangers try: forged headers, other sites, paths, large and slow requests, values that are code elsewhere.
//!
//! Test group: waits: for clients that are given up.

use crate::client::{parse, raw, text};
use crate::eventually::{PATIENCE, eventually};
use crate::world::{Made, World};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use trunkline_web::auth::Role;

#[test]
fn nobody_sees_anything_without_signing_in() {
    let world = World::new();
    let stranger = world.stranger();
    let document = crate::schema::document();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let path = path.strip_prefix("/api/v1").unwrap().replace(['{', '}', '*'], "");
            if path == "/session" || path.starts_with("/session/") {
                continue;
            }
            let body = (method != "get" && method != "delete").then_some(&b"{}"[..]);
            let answer = stranger.ask(&method.to_uppercase(), &path, body);
            assert!(answer.status == 401 || path.ends_with("openapi.json"), "{method} {path}: {}", answer.status);
        }
    }
}

#[test]
fn another_sites_page_changes_nothing() {
    let world = World::new();
    let engineer = world.signed_in(Role::Engineer);
    let body = json!({"name": "x"});
    let own = format!("http://{}", engineer.address);
    engineer.with("Origin", &own).with("Sec-Fetch-Site", "same-origin").put("/aliases/10.0.0.1", &body).ok(200);
    for (name, value) in [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ] {
        engineer.with(name, value).put("/aliases/10.0.0.2", &body).problem(403, "csrf");
    }
    let mut blind = engineer.clone();
    for csrf in [None, Some("guess".to_owned()), Some(String::new())] {
        blind.csrf = csrf;
        blind.put("/aliases/10.0.0.2", &body).problem(403, "csrf");
        blind.delete("/aliases/10.0.0.1").problem(403, "csrf");
    }
    // A form of another site cannot send JSON; what it can send is not read.
    engineer.with("Content-Type", "text/plain").put("/aliases/10.0.0.2", &body).problem(400, "bad-parameter");
    world
        .stranger()
        .with("Origin", "https://evil.example")
        .post("/session", &json!({"name": "a", "password": "b"}))
        .problem(403, "csrf");
    assert_eq!(engineer.get("/aliases").ok(200)["aliases"].as_array().unwrap().len(), 1);
}

#[test]
fn a_session_that_was_planted_does_not_become_real() {
    let world = World::new();
    let boss = world.signed_in(Role::Administrator);
    boss.post("/users", &json!({"name": "eve", "role": "viewer", "password": "eve's own password"})).ok(201);
    let mut victim = world.stranger();
    victim.cookie = Some("planted-by-somebody-else".to_owned());
    let answer = victim.post("/session", &json!({"name": "eve", "password": "eve's own password"}));
    answer.ok(200);
    assert_ne!(answer.cookie().unwrap(), "planted-by-somebody-else");
    victim.get("/calls").problem(401, "signed-out");
}

#[test]
fn forwarding_headers_of_strangers_are_nothing() {
    let nets = |o: &mut trunkline_web::Options| o.networks = vec!["127.0.0.0/8".parse().unwrap()];
    let world = World::made(Made { options: Box::new(nets), ..Made::default() });
    let viewer = world.signed_in(Role::Viewer);
    viewer.with("X-Forwarded-For", "203.0.113.7").get("/calls").ok(200);
    let https = world.stranger().with("X-Forwarded-Proto", "https").get("/session");
    assert_eq!(https.header("strict-transport-security"), "");

    let elsewhere = |o: &mut trunkline_web::Options| o.networks = vec!["10.0.0.0/8".parse().unwrap()];
    let world = World::made(Made { options: Box::new(elsewhere), ..Made::default() });
    let client = world.stranger();
    for path in ["/session", "//metrics", "//", "/openapi.json"] {
        client.get(path).problem(403, "network");
        client.with("X-Forwarded-For", "10.1.2.3").with("Forwarded", "for=10.1.2.3").get(path).problem(403, "network");
    }
}

#[test]
fn a_trusted_proxy_names_the_client() {
    let proxied = |o: &mut trunkline_web::Options| {
        o.networks = vec!["10.0.0.0/8".parse().unwrap()];
        o.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
    };
    let world = World::made(Made { options: Box::new(proxied), ..Made::default() });
    let client = world.stranger();
    client.with("X-Forwarded-For", "10.1.2.3").get("/session").ok(200);
    client.with("X-Forwarded-For", "10.1.2.3, 203.0.113.7").get("/session").problem(403, "network");
    client.with("X-Forwarded-For", "nonsense").get("/session").problem(403, "network");
    let plain = client.with("X-Forwarded-For", "10.1.2.3").with("X-Forwarded-Proto", "http");
    plain.post("/session", &json!({"name": "a", "password": "b"})).problem(403, "forbidden");
    let https = client.with("X-Forwarded-For", "10.1.2.3").with("X-Forwarded-Proto", "https");
    assert_eq!(https.get("/session").header("strict-transport-security"), "", "that is the proxy's to say");
    let token = world.handle.link().unwrap().split_once('#').unwrap().1.to_owned();
    let set_up =
        https.post("/session/setup", &json!({"token": token, "name": "ann", "password": crate::world::PASSWORD}));
    set_up.ok(200);
    assert!(
        set_up.header("set-cookie").starts_with("__Host-trunkline=")
            && set_up.header("set-cookie").contains("; Secure")
    );
}

#[test]
fn a_proxy_that_is_not_configured_is_not_this_machine() {
    let world = World::new();
    let who = json!({"name": "a", "password": "b"});
    for (name, value) in [
        ("X-Forwarded-For", "203.0.113.9"),
        ("X-Forwarded-Proto", "https"),
        ("X-Real-IP", "203.0.113.9"),
        ("Forwarded", "for=203.0.113.9"),
        ("Via", "1.1 proxy"),
    ] {
        let refused = world.stranger().with(name, value).post("/session", &who);
        assert!(refused.problem(403, "forbidden")["detail"].as_str().unwrap().contains("web.trusted_proxies"));
    }
    let trusted = |o: &mut trunkline_web::Options| o.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
    let world = World::made(Made { options: Box::new(trusted), ..Made::default() });
    world.stranger().post("/session", &who).problem(403, "forbidden");
}

#[test]
fn a_strangers_name_for_this_machine_is_not_served() {
    let world = World::new();
    for (host, status) in [("evil.example", 421), ("evil.example:8080", 421), ("localhost:1", 200), ("[::1]", 200)] {
        for path in ["/metrics", "/healthz", "/api/v1/session", "/"] {
            let ask = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            let answer = raw(world.handle.address(), ask.as_bytes());
            assert!(answer.starts_with(format!("HTTP/1.1 {status} ").as_bytes()), "{host} {path}");
        }
    }
    let named = |o: &mut trunkline_web::Options| o.hosts = vec!["pbx.example".to_owned()];
    let world = World::made(Made { options: Box::new(named), ..Made::default() });
    let ask = b"GET /api/v1/session HTTP/1.1\r\nHost: pbx.example\r\nConnection: close\r\n\r\n";
    assert!(raw(world.handle.address(), ask).starts_with(b"HTTP/1.1 200 "));
}

/// RFC 9112 section 3.2. Two readers of one request that take different hosts are how caches and proxies are fooled
/// (CVE-2022-1705 and its kind).
#[test]
fn a_request_names_one_host() {
    let world = World::new();
    for (head, status) in [
        ("HTTP/1.1\r\n", 400),
        ("HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n", 400),
        ("HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\n", 400),
        ("HTTP/1.1\r\nHost: localhost evil.example\r\n", 400),
        ("HTTP/1.1\r\nHost: ann@localhost\r\n", 400),
        ("HTTP/1.1\r\nHost: localhost/x\r\n", 400),
        ("HTTP/1.1\r\nHost: localhost\r\n", 200),
        ("HTTP/1.0\r\n", 200),
        ("HTTP/1.0\r\nHost: localhost\r\n", 200),
        ("HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n", 400),
    ] {
        for path in ["/metrics", "/api/v1/session", "/", "http://localhost/healthz"] {
            let answer = raw(world.handle.address(), format!("GET {path} {head}Connection: close\r\n\r\n").as_bytes());
            let answer = parse(&answer, false).unwrap();
            assert_eq!(answer.status, status, "{path} {head}");
            if status == 400 {
                assert!(text(&answer.body).contains("\"parameter\":\"Host\""), "{path} {head}");
            }
        }
    }
}

/// Two readers of one request that take its body to end elsewhere are how one client's request becomes another's
/// (CVE-2019-16276, CVE-2021-33197 and their kind): what is coded otherwise than in chunks is refused, and nothing
/// behind such a body is a request.
#[test]
fn a_body_ends_in_one_place() {
    let world = World::new();
    let answers = |head: &str, body: &str| {
        let request = format!("POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\n{head}\r\n{body}");
        text(&raw(world.handle.address(), request.as_bytes()))
    };
    let behind = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let chunks = format!("2\r\n{{}}\r\n0\r\n\r\n{behind}");
    for coding in [
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity, chunked\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
        "Transfer-Encoding: chunked;x=y\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "Transfer-Encoding: , chunked\r\n",
    ] {
        for length in ["", "Content-Length: 2\r\n"] {
            for head in [format!("{coding}{length}"), format!("{length}{coding}")] {
                let told = answers(&head, &chunks);
                assert!(
                    told.starts_with("HTTP/1.1 400 ") && told.matches("HTTP/1.1 ").count() == 1,
                    "{head:?}: {told}"
                );
            }
        }
    }
    // In chunks it is read, also beside a length, and the connection ends with its answer.
    for head in ["Transfer-Encoding: chunked\r\n", "Transfer-Encoding: CHUNKED\r\nContent-Length: 2\r\n"] {
        let told = answers(&format!("Content-Type: application/json\r\n{head}"), &chunks);
        assert!(told.starts_with("HTTP/1.1 4") && told.contains("connection: close\r\n"), "{head:?}: {told}");
        assert_eq!(told.matches("HTTP/1.1 ").count(), 1, "{head:?}: {told}");
        assert!(!told.contains("Transfer-Encoding"), "{head:?}: {told}");
    }
    // Without a coding what is behind is a request of its own.
    let told = answers("Content-Type: application/json\r\nContent-Length: 2\r\n", &format!("{{}}{behind}"));
    assert_eq!(told.matches("HTTP/1.1 ").count(), 2, "{told}");
}

#[test]
fn no_path_leaves_the_pages() {
    let world = World::new();
    for path in [
        "/../Cargo.toml",
        "/..%2f..%2fetc/passwd",
        "/assets/../../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/%00",
        "/api/v1/../../etc/passwd",
        "/.git/config",
        "/desk.sqlite",
    ] {
        let answer = raw(
            world.handle.address(),
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes(),
        );
        let shown = text(&answer);
        assert!(
            !shown.contains("root:") && !shown.contains("[package]") && !shown.contains("SQLite"),
            "{path}: {shown}"
        );
        let answer = parse(&answer, false).unwrap();
        assert!(
            answer.status == 404 || answer.status == 400 || answer.header("content-type").starts_with("text/html"),
            "{path}"
        );
    }
}

#[test]
fn large_requests_are_refused_and_do_not_hurt() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let body = json!({"text": "x".repeat(70_000)});
    viewer.put("/filters/x", &body).problem(413, "too-large");
    let address = world.handle.address();
    let head = format!("GET /api/v1/session HTTP/1.1\r\nHost: localhost\r\nX-Long: {}\r\n\r\n", "a".repeat(100_000));
    assert!(text(&raw(address, head.as_bytes())).starts_with("HTTP/1.1 431"));
    let many: String = (0..500).map(|n| format!("X-{n}: y\r\n")).collect();
    let head = format!("GET /api/v1/session HTTP/1.1\r\nHost: localhost\r\n{many}\r\n");
    assert!(text(&raw(address, head.as_bytes())).starts_with("HTTP/1.1 431"));
    let deep = format!("{{\"text\": {}1{}}}", "[".repeat(20_000), "]".repeat(20_000));
    viewer.ask("PUT", "/filters/x", Some(deep.as_bytes())).problem(400, "bad-parameter");
    let nested = "(".repeat(3000);
    viewer.get(&format!("/calls?filter={nested}")).problem(400, "bad-filter");
    for length in ["99999999999", "18446744073709551613"] {
        let told = format!(
            "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        let answer = text(&raw(address, told.as_bytes()));
        assert!(answer.starts_with("HTTP/1.1 413 "), "{length}: {answer}");
        // Behind another one of the same connection, too.
        let two = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n{told}");
        let answer = text(&raw(address, two.as_bytes()));
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("HTTP/1.1 413 "), "{length}: {answer}");
    }
    // What 64 bits do not hold is a head that is refused as a whole.
    for length in ["18446744073709551615", "99999999999999999999999999"] {
        let request = format!("POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
        let answer = text(&raw(address, request.as_bytes()));
        assert!(["HTTP/1.1 431 ", "HTTP/1.1 400 "].iter().any(|begin| answer.starts_with(begin)), "{length}: {answer}");
    }
    for length in ["-1", "0x10", "5, 99999999999999999999999999", "1e30"] {
        let request = format!("POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
        assert!(text(&raw(address, request.as_bytes())).starts_with("HTTP/1.1 400 "), "{length}");
    }
    viewer.get("/calls").ok(200);
}

#[test]
fn what_is_not_http_is_refused() {
    let world = World::new();
    let address = world.handle.address();
    for octets in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"SSH-2.0-OpenSSH_9.0\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
    ] {
        let answer = text(&raw(address, octets));
        let refused = answer.is_empty() || answer.starts_with("HTTP/1.1 400") || answer.starts_with("HTTP/1.1 405");
        assert!(refused, "{:?}: {answer}", text(octets));
    }
    world.stranger().get("/session").ok(200);
}

/// A client that sends an octet a second, and others that are served meanwhile.
#[test]
fn slow_clients_are_dropped_and_hold_nobody_up() {
    let world = World::made(Made { options: Box::new(|o| o.header_time = Duration::from_secs(2)), ..Made::default() });
    let address = world.handle.address();
    let slow = std::thread::spawn(move || {
        let began = Instant::now();
        let streams: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut open = streams;
        for octet in b"GET /api/v1/session HTTP/1.1\r\nHost: localhost\r\n".iter().cycle() {
            open.retain_mut(|stream| {
                stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
                let written = stream.write_all(&[*octet]);
                let ended = match stream.read(&mut [0; 512]) {
                    Ok(0) => true,
                    Err(e) => e.kind() == std::io::ErrorKind::ConnectionReset,
                    Ok(_) => false,
                };
                written.is_ok() && !ended
            });
            if open.is_empty() || began.elapsed() > PATIENCE {
                return (open.len(), began.elapsed());
            }
            std::thread::park_timeout(Duration::from_millis(200));
        }
        unreachable!()
    });
    let stranger = world.stranger();
    let served = (0..40).map(|_| stranger.get("/session").status).filter(|status| *status == 200).count();
    assert_eq!(served, 40);
    let (left, took) = slow.join().unwrap();
    assert_eq!(left, 0, "still open after {took:?}");
}

#[test]
fn one_address_cannot_take_all_places() {
    let world = World::new();
    let address = world.handle.address();
    let held: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(address).unwrap()).collect();
    let has_ended = |stream: &TcpStream| match stream.peek(&mut [0; 16]) {
        Ok(octets) => octets == 0,
        Err(e) => e.kind() == std::io::ErrorKind::ConnectionReset,
    };
    // Once one that came after them is refused, all are taken or refused.
    let last = TcpStream::connect(address).unwrap();
    last.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(has_ended(&last));
    held.iter().for_each(|stream| stream.set_nonblocking(true).unwrap());
    let refused = held.iter().filter(|stream| has_ended(stream)).count();
    assert_eq!(refused, 400 - trunkline_web::server::CONNECTIONS_PER_ADDRESS_MAX);
    drop(held);
    let again = || std::panic::catch_unwind(|| world_answers(address)).is_ok();
    eventually("there is a place again", again);
}

fn world_answers(address: std::net::SocketAddr) {
    crate::client::Client::new(address).get("/session").ok(200);
}

#[test]
fn every_answer_carries_the_headers_that_keep_browsers_safe() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    for path in ["//", "//calls", "/calls", "/nothing", "//assets/none.js", "//metrics", "/session"] {
        let answer = viewer.get(path);
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"), "{path}");
        assert!(!policy.contains("unsafe-"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "same-origin", "{path}");
        if path.starts_with("/c") || path.starts_with("/s") {
            assert_eq!(answer.header("cache-control"), "no-store", "{path}");
        }
    }
}
