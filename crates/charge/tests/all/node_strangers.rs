//! Strangers over the wire: sessions and refunds of others, by a peer's own name, by another's, and through agents.

use crate::eventually::awaited;
use crate::served;
use served::{Ccr, Client, World, read, start};
use trunkline_wire::diameter::credit::{CreditControlRequest, RequestedServiceUnit, SubscriptionId};
use trunkline_wire::diameter::enumerated::{RequestType, RequestedAction, SubscriptionIdType};
use trunkline_wire::diameter::{Header, List, application, command};

const IMSI: &str = "001010000000001";

fn world(folder: &std::path::Path) -> World {
    let world = start(folder, |_| {});
    world.fill(1, 10_000);
    world
}

fn data(session: &str, number: u32, kind: RequestType) -> Ccr<'_> {
    let used = (kind != RequestType::Initial).then_some(1024);
    Ccr { session, number, kind, imsi: IMSI, used, asks: kind != RequestType::Termination }
}

/// An event of one service unit of rating group 1, and its way.
struct Event<'a> {
    session: &'a str,
    host: &'a str,
    number: u32,
    action: RequestedAction,
    octets: u64,
    route: &'a [&'a str],
}

impl Event<'_> {
    fn octets(&self, identifier: u32) -> Vec<u8> {
        let requested = RequestedServiceUnit { total_octets: Some(self.octets), ..RequestedServiceUnit::default() };
        let services = [trunkline_wire::diameter::credit::MultipleServices {
            rating_group: Some(1),
            requested: Some(requested),
            ..Default::default()
        }];
        let ccr = CreditControlRequest {
            session_id: self.session,
            origin_host: self.host,
            origin_realm: "example.org",
            destination_realm: "example.org",
            auth_application_id: application::CREDIT_CONTROL,
            service_context_id: "32251@3gpp.org",
            request_type: RequestType::Event,
            request_number: self.number,
            requested_action: Some(self.action),
            subscription_ids: List::Values(&[SubscriptionId { kind: SubscriptionIdType::Imsi, name: IMSI }]),
            services: List::Values(&services),
            route_records: List::Values(self.route),
            ..CreditControlRequest::default()
        };
        let header = Header::request(command::CREDIT_CONTROL, application::CREDIT_CONTROL);
        let mut out = Vec::new();
        ccr.write(&Header { hop_by_hop: identifier, end_to_end: identifier, ..header }, &mut out).expect("it fits");
        out
    }
}

fn result(client: &mut Client, octets: &[u8]) -> u32 {
    read(&client.ask(octets)).0
}

#[test]
fn sessions_of_others_are_not_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = world(folder.path());
    let (mut good, mut evil) = (Client::new(world.address, "good"), Client::new(world.address, "evil"));
    assert_eq!(good.charge(&data("good;1;1", 0, RequestType::Initial)).0, 2001);
    assert_eq!(evil.charge(&data("good;1;1", 1, RequestType::Update)).0, 5002);
    assert_eq!(evil.charge(&data("good;1;1", 1, RequestType::Termination)).0, 5002);
    assert_eq!(evil.charge(&data("good;1;1", 0, RequestType::Initial)).0, 5012);
    assert_eq!(good.charge(&data("good;1;1", 1, RequestType::Update)).0, 2001, "it goes on");
    // By the other's name it is refused, and its connection stays.
    evil.host = "good".to_owned();
    assert_eq!(evil.charge(&data("good;1;1", 2, RequestType::Termination)).0, 5004);
    assert_eq!(evil.charge(&data("good;1;2", 0, RequestType::Initial)).0, 5004);
    // The same host at another connection, as after a failure.
    let mut second = Client::new(world.address, "good");
    assert_eq!(second.charge(&data("good;1;1", 2, RequestType::Termination)).0, 2001);
    awaited("what was refused is counted", || {
        let counts = world.node.counts();
        let counted = (counts.foreign, counts.origins_refused);
        if counted == (3, 2) { Ok(()) } else { Err(counted) }
    });
}

#[test]
fn those_of_a_set_and_agents_go_on_with_sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = world(folder.path());
    let (mut one, mut two) = (Client::new(world.address, "pair1"), Client::new(world.address, "pair2"));
    assert_eq!(one.charge(&data("pair1;1", 0, RequestType::Initial)).0, 2001);
    assert_eq!(two.charge(&data("pair1;1", 1, RequestType::Update)).0, 2001);
    // Begun directly, and gone on with over an agent that offers Relay; Origin-Host stays.
    let mut dra = Client::relay(world.address, "dra", "example.org");
    dra.host = "pair1".to_owned();
    assert_eq!(dra.charge(&data("pair1;1", 2, RequestType::Update)).0, 2001);
    // A proxy that offers credit control itself, and adds Route-Record.
    let mut proxy = Client::of(world.address, "proxy", "example.org");
    let debit = |host, route, number| {
        let (session, action) = ("pair1;event", RequestedAction::DirectDebiting);
        Event { session, host, number, action, octets: 1024, route }.octets(100 + number)
    };
    assert_eq!(result(&mut proxy, &debit("pair1", &["pair1"], 0)), 2001);
    assert_eq!(result(&mut proxy, &debit("pair1", &[], 1)), 5004);
    assert_eq!(two.charge(&data("pair1;1", 3, RequestType::Termination)).0, 2001);
}

#[test]
fn refunds_are_for_who_is_named_and_of_what_it_debited() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = world(folder.path());
    let (mut shop, mut evil) = (Client::new(world.address, "shop"), Client::new(world.address, "evil"));
    let event = |host, session, number, action, octets, route| {
        Event { session, host, number, action, octets, route }.octets(1000 + number)
    };
    let (debit, refund) = (RequestedAction::DirectDebiting, RequestedAction::RefundAccount);
    let much = 100 << 30;
    for session in ["evil;r;0", "evil;r;1", "evil;r;2"] {
        assert_eq!(result(&mut evil, &event("evil", session, 0, refund, much, &[])), 5003);
    }
    let named = event("shop", "evil;r;3", 0, refund, much, &["shop"]);
    assert_eq!(result(&mut evil, &named), 5003, "an agent that is not named");
    assert_eq!(result(&mut shop, &event("shop", "shop;r;0", 0, refund, much, &[])), 5012);
    assert_eq!(world.balance(1), (10_000, 0));
    assert_eq!(result(&mut shop, &event("shop", "shop;1", 0, debit, 1 << 20, &[])), 2001);
    let (debited, _) = world.balance(1);
    assert!(debited < 10_000, "{debited}");
    assert_eq!(result(&mut evil, &event("evil", "shop;1", 1, refund, 1 << 20, &[])), 5003);
    let once = event("shop", "shop;1", 1, refund, much, &[]);
    let first = shop.ask(&once);
    assert_eq!((read(&first).0, world.balance(1)), (2001, (10_000, 0)));
    // The same with the T flag set, over a second connection: the same answer, but for the Hop-by-Hop Identifier.
    let mut again = once.clone();
    again[4] |= 0x10;
    let mut second = Client::new(world.address, "shop");
    assert_eq!(second.ask(&again), first);
    assert_eq!(result(&mut shop, &event("shop", "shop;1", 2, refund, 1, &[])), 5012);
    assert_eq!(world.balance(1), (10_000, 0));
    awaited("what was refused is counted", || {
        let refused = world.node.counts().refunds_refused;
        if refused == 5 { Ok(()) } else { Err(refused) }
    });
    drop(world);
    let world = start(folder.path(), |_| {});
    let mut shop = Client::new(world.address, "shop");
    assert_eq!(result(&mut shop, &once), 2001, "after a restart it is the same answer");
    assert_eq!(result(&mut shop, &event("shop", "shop;1", 3, refund, 1, &[])), 5012);
    assert_eq!(world.balance(1), (10_000, 0));
}
