//! One call: by identifier, its beginning or Call-ID; messages, intervals, packets; and what a masked viewer sees.

use crate::client::text;
use crate::eventually::eventually;
use crate::world::{PCAP, World, call};
use trunkline_web::auth::Role;

#[test]
fn a_call_has_several_names() {
    let world = World::new();
    let client = world.signed_in(Role::Support);
    let id = call(1).id.to_string();
    for name in [id.as_str(), &id[..18], &id.replace('-', ""), "1%40example.com"] {
        assert_eq!(client.get(&format!("/calls/{name}")).ok(200)["id"], id, "{name}");
    }
    let several = client.get(&format!("/calls/{}", &id[..6])).problem(300, "ambiguous");
    assert!(several["candidates"].as_array().unwrap().len() > 1);
    for none in ["ffffffff", "nobody@nowhere", "%00", "a'b", &"x".repeat(600), "%ff%fe"] {
        assert!([400, 404].contains(&client.get(&format!("/calls/{none}")).status), "{none}");
    }
}

#[test]
fn its_messages_intervals_and_packets() {
    let world = World::new();
    let client = world.signed_in(Role::Support);
    let (one, three) = (call(1).id, call(3).id);
    let messages = client.get(&format!("/calls/{one}/messages")).ok(200);
    assert!(messages["messages"][0]["text"].as_str().unwrap().starts_with("INVITE "));
    assert!(messages["messages"][1]["text"].is_null());
    let intervals = client.get(&format!("/calls/{one}/intervals")).ok(200);
    assert_eq!(intervals["streams"][0]["intervals"][0]["packets"], 50);
    let pcap = client.get(&format!("/calls/{one}/pcap"));
    assert_eq!((pcap.status, pcap.body.as_slice()), (200, PCAP));
    assert_eq!(pcap.header("content-type"), "application/x-pcapng");
    assert_eq!(pcap.header("content-disposition"), format!("attachment; filename=\"call-{one}.pcapng\""));
    client.get(&format!("/calls/{three}/pcap")).problem(404, "not-found");
    for path in ["messages", "pcap"] {
        world.signed_in(Role::Viewer).get(&format!("/calls/{one}/{path}")).problem(403, "forbidden");
    }
    let audit = world.signed_in(Role::Administrator).get("/audit").ok(200).to_string();
    assert!(audit.contains("call.messages") && audit.contains("call.packets") && audit.contains(&one.to_string()));
}

#[test]
fn a_download_that_nobody_waits_for_ends() {
    let world = World::new();
    let client = world.signed_in(Role::Support);
    let endless = call(7).id;
    let mut stream = std::net::TcpStream::connect(client.address).unwrap();
    let (host, cookie) = (client.address, client.cookie_field());
    let ask = format!("GET /api/v1/calls/{endless}/pcap HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n");
    std::io::Write::write_all(&mut stream, ask.as_bytes()).unwrap();
    std::io::Read::read_exact(&mut stream, &mut [0; 1000]).unwrap();
    drop(stream);
    eventually("it ends", || world.packets.cancelled.load(std::sync::atomic::Ordering::SeqCst) == 1);
}

#[test]
fn messages_that_nobody_waits_for_are_not_read_any_more() {
    let world = World::new();
    let client = world.signed_in(Role::Support);
    let (endless, one) = (call(7).id, call(1).id);
    let (host, cookie) = (client.address, client.cookie_field());
    let ask = format!("GET /api/v1/calls/{endless}/messages HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n");
    let held: Vec<_> = (0..6)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(client.address).unwrap();
            std::io::Write::write_all(&mut stream, ask.as_bytes()).unwrap();
            stream
        })
        .collect();
    let reading = || world.packets.reading.load(std::sync::atomic::Ordering::SeqCst);
    eventually("all turns are taken", || reading() == 6);
    client.get(&format!("/calls/{one}/messages")).problem(503, "busy");
    drop(held);
    eventually("the work ends", || reading() == 0);
    eventually("the turns come back", || client.get(&format!("/calls/{one}/messages")).status == 200);
}

#[test]
fn a_masked_viewer_sees_no_number_anywhere() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let number = call(1).from;
    let id = call(1).id;
    for path in [
        "/calls?limit=1000".to_owned(),
        format!("/calls/{id}"),
        "/registrations".to_owned(),
        "/events".to_owned(),
        "/streams".to_owned(),
    ] {
        let answer = viewer.get(&path);
        let body = text(&answer.body);
        assert_eq!(answer.status, 200, "{path}");
        assert!(!body.contains("071000") && !body.contains("2079000") && !body.contains("\"12#\""), "{path}: {body}");
    }
    assert!(viewer.get(&format!("/calls/{id}")).ok(200)["from"].as_str().unwrap().contains('*'));
    let encoded = number.replace('+', "%2B");
    assert_eq!(viewer.get(&format!("/calls?filter=caller%3A{encoded}")).ok(200)["calls"].as_array().unwrap().len(), 1);
    for asked in ["caller%3A%2B4420*", "not%20number%3A*1", "callid%3A1*"] {
        viewer.get(&format!("/calls?filter={asked}")).problem(403, "forbidden");
        viewer.get(&format!("/calls/summary?filter={asked}")).problem(403, "forbidden");
    }
    viewer.get("/registrations?q=%2B442").problem(403, "forbidden");
    viewer.get("/registrations?q=198.51.100.7").ok(200);
    let support = world.signed_in(Role::Support);
    assert_eq!(support.get(&format!("/calls/{id}")).ok(200)["from"], number);
}
