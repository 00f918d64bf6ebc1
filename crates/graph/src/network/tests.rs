use super::*;
use crate::inventory::around::{
    Address, Addresses, Hardware, Neighbour, Neighbours, OwnAddress, Station, Stations, StationsOf,
};
use crate::inventory::remap::{Walked, remap};
use crate::inventory::{Change, Device, Entry};

/// `a`, `b`, .. `z`, `n27`, ..
fn name(id: u32) -> String {
    match id {
        1..=26 => char::from(b'a' + id as u8 - 1).to_string(),
        _ => format!("n{id}"),
    }
}

/// Devices `a`, `b`, .. with interfaces `1` to `4` of hardware addresses of their own.
fn devices(count: u32) -> Inventory {
    let mut inventory = Inventory::default();
    for id in 1..=count {
        let device = Box::new(Device::new(&name(id), &name(id)));
        apply(&mut inventory, vec![Change::Device { id, device }]);
        let walked = |port: u32| Walked {
            index: vec![port],
            name: port.to_string(),
            second: format!("port {port}"),
            mark: format!("02:00:00:00:{id:02x}:{port:02x}"),
            ..Walked::default()
        };
        let walk: Vec<Walked> = (1..=4).map(walked).collect();
        let changes = remap(&inventory, id, "interfaces", &walk).changes;
        apply(&mut inventory, changes);
    }
    inventory
}

fn apply(inventory: &mut Inventory, changes: Vec<Change>) {
    for entry in Entry::of_changes(inventory.sequence() + 1, 0, "test", changes) {
        inventory.apply(&entry).unwrap();
    }
}

fn row(inventory: &Inventory, device: u32, port: usize) -> u32 {
    inventory.rows_of(device)[port - 1]
}

/// `(own port, name of the neighbour, its port)`; port 0 is none that is known.
fn sees(inventory: &mut Inventory, device: u32, seen: &[(usize, &str, &str)]) {
    let one = |(port, name, far): &(usize, &str, &str)| Neighbour {
        row: (*port > 0).then(|| row(inventory, device, *port)),
        name: (*name).into(),
        far_port: (*far).into(),
        ..Neighbour::default()
    };
    let all = seen.iter().map(one).collect();
    let neighbours = Box::new(Neighbours { all, ..Neighbours::default() });
    apply(inventory, vec![Change::Neighbours { device, neighbours }]);
}

/// Links as `a1-b2`, with what one side alone tells in brackets.
fn links(inventory: &Inventory) -> Vec<String> {
    let network = inventory.network();
    let end = |end: &End| {
        let name = match end.node {
            Node::Device(id) => inventory.devices().get(id).unwrap().name.to_string(),
            Node::Stranger(number) => format!("({})", network.stranger(number).unwrap().name),
        };
        format!("{name}{}", interface(inventory, end.row).unwrap_or("?"))
    };
    let mut links: Vec<String> = network
        .links()
        .iter()
        .map(|link| {
            let [a, b] = &link.ends;
            let both = if a.tells && b.tells { "" } else { " one-sided" };
            format!("{}-{}{both}", end(a), end(b))
        })
        .collect();
    links.sort();
    links
}

#[test]
fn several_links_between_two_are_joined_end_by_end() {
    let mut inventory = devices(2);
    sees(&mut inventory, 1, &[(1, "b", "1"), (2, "b", "2"), (3, "b", "3")]);
    sees(&mut inventory, 2, &[(2, "a", "2"), (1, "a", "1")]);
    assert_eq!(links(&inventory), ["a1-b1", "a2-b2", "a3-b3 one-sided"]);
    // An end that does not say where it leads to is joined with the one that is left.
    sees(&mut inventory, 2, &[(2, "a", "2"), (1, "a", "1"), (3, "a", "unheard of")]);
    assert_eq!(links(&inventory), ["a1-b1", "a2-b2", "a3-b3"]);
}

#[test]
fn a_neighbour_is_the_device_that_alone_has_what_it_is_known_by() {
    let mut inventory = devices(3);
    let neighbour = |chassis: &str, address: Option<&str>| Neighbour {
        chassis: chassis.into(),
        addresses: address.map(|text| Address(text.parse().unwrap())).into_iter().collect(),
        ..Neighbour::default()
    };
    let told = |inventory: &mut Inventory, neighbour: Neighbour| {
        let neighbours = Box::new(Neighbours { all: vec![neighbour], ..Neighbours::default() });
        apply(inventory, vec![Change::Neighbours { device: 1, neighbours }]);
        links(inventory)
    };
    // By the hardware address of one of its interfaces, and by where it is managed.
    assert_eq!(told(&mut inventory, neighbour("02:00:00:00:02:03", None)), ["a?-b? one-sided"]);
    let own = |address: &str| {
        let address = Address(address.parse().unwrap());
        Box::new(Addresses { all: vec![OwnAddress { address, prefix: None, row: None }], left_out: 0 })
    };
    apply(&mut inventory, vec![Change::Addresses { device: 3, addresses: own("10.0.0.3") }]);
    assert_eq!(told(&mut inventory, neighbour("of nobody", Some("10.0.0.3"))), ["a?-c? one-sided"]);
    // Two have it: then it is somebody else. A device that sees itself has no link.
    apply(&mut inventory, vec![Change::Addresses { device: 2, addresses: own("10.0.0.3") }]);
    assert_eq!(told(&mut inventory, neighbour("of nobody", Some("10.0.0.3"))), ["a?-()? one-sided"]);
    assert!(told(&mut inventory, Neighbour { name: "A".into(), ..Neighbour::default() }).is_empty());
    // With a device all that it told is gone.
    sees(&mut inventory, 2, &[(1, "c", "1")]);
    assert_eq!(links(&inventory).len(), 1);
    apply(&mut inventory, vec![Change::DeviceGone { id: 2 }]);
    assert!(links(&inventory).is_empty() && inventory.around(2).is_none());
}

#[test]
fn ways_of_the_same_length_are_all_counted_and_the_first_are_told() {
    // a and f, between them b, c, d and e, each beside both, and a longer way over g and h.
    let mut inventory = devices(8);
    sees(&mut inventory, 1, &[(0, "b", ""), (0, "c", ""), (0, "d", ""), (0, "e", ""), (0, "g", "")]);
    sees(&mut inventory, 6, &[(0, "b", ""), (0, "c", ""), (0, "d", ""), (0, "e", ""), (0, "h", "")]);
    sees(&mut inventory, 7, &[(0, "h", "")]);
    let network = inventory.network();
    let through = |ways: &Ways| -> Vec<Node> { ways.ways.iter().map(|way| way[1]).collect() };
    let all = network.ways(&[1], &[6], &|_| true);
    assert_eq!((all.total, through(&all)), (4, [2, 3, 4, 5].map(Node::Device).to_vec()));
    let without = network.ways(&[1], &[6], &|device| !(2..=5).contains(&device));
    assert_eq!(without.ways, [[1, 7, 8, 6].map(Node::Device).to_vec()]);
    assert_eq!(network.ways(&[1, 3], &[3], &|_| true).ways, [vec![Node::Device(3)]]);
    assert_eq!(network.ways(&[1], &[], &|_| true), Ways::default());

    // Forty in a row, two abreast: more ways than can be told, and counted at once.
    let mut ladder = devices(40);
    for step in (1..=37u32).step_by(2) {
        let names: Vec<String> = [step + 2, step + 3].map(name).to_vec();
        let seen: Vec<(usize, &str, &str)> = names.iter().map(|name| (0, &**name, "")).collect();
        sees(&mut ladder, step, &seen);
        sees(&mut ladder, step + 1, &seen);
    }
    let ways = ladder.network().ways(&[1], &[39], &|_| true);
    assert_eq!((ways.total, ways.ways.len()), (1 << 18, WAYS_MAX));
}

#[test]
fn devices_are_behind_those_that_are_a_step_nearer() {
    // a is where polling begins; b and c below it, d below both, e below d; f behind somebody who is not polled, who is
    // beside b and c; g and h know each other alone.
    let mut inventory = devices(8);
    sees(&mut inventory, 1, &[(1, "b", "1"), (2, "c", "1")]);
    sees(&mut inventory, 2, &[(2, "d", "1"), (3, "somebody", "")]);
    sees(&mut inventory, 3, &[(2, "d", "2"), (3, "somebody", ""), (4, "b", "4")]);
    sees(&mut inventory, 4, &[(3, "e", "1")]);
    sees(&mut inventory, 6, &[(1, "somebody", "")]);
    sees(&mut inventory, 7, &[(1, "h", "1")]);
    let network = inventory.network();
    let all = [(2, vec![1]), (3, vec![1]), (4, vec![2, 3]), (5, vec![4]), (6, vec![2, 3])];
    assert_eq!(network.reached_through(&[1], &|_| true), all);
    // From two of them what is between is behind either; what somebody does not see is on no way.
    assert_eq!(network.reached_through(&[1, 4], &|_| true)[..2], [(2, vec![1, 4]), (3, vec![1, 4])]);
    let without = network.reached_through(&[1], &|device| device != 3);
    assert_eq!(without, [(2, vec![1]), (4, vec![2]), (5, vec![4]), (6, vec![2])]);
    assert!(network.reached_through(&[], &|_| true).is_empty());
}

fn stations(inventory: &mut Inventory, device: u32, known: &[(&str, u8)], learned: &[(usize, &[u8])]) {
    let hardware = |last: u8| Hardware([6, 0, 0, 0, 0, last]);
    let station =
        |(text, last): &(&str, u8)| Station { hardware: hardware(*last), address: Address(text.parse().unwrap()) };
    let behind = |(port, all): &(usize, &[u8])| StationsOf {
        row: row(inventory, device, *port),
        all: all.iter().map(|last| hardware(*last)).collect(),
    };
    let stations = Stations {
        known: known.iter().map(station).collect(),
        learned: learned.iter().map(behind).collect(),
        left_out: 0,
    };
    apply(inventory, vec![Change::Stations { device, stations: Box::new(stations) }]);
}

#[test]
fn the_port_with_fewest_behind_it_is_nearest_and_links_are_no_place() {
    let mut inventory = devices(4);
    // The router `a` knows addresses; `b` has a link to `c`, `d` tells nobody anything.
    stations(&mut inventory, 1, &[("10.0.0.7", 7), ("10.0.0.8", 8), ("10.0.0.9", 9)], &[]);
    stations(&mut inventory, 2, &[], &[(1, &[7, 8, 9, 10]), (2, &[7, 8])]);
    stations(&mut inventory, 3, &[("10.0.0.7", 7)], &[(3, &[7])]);
    stations(&mut inventory, 4, &[], &[(4, &[7, 8, 9])]);
    sees(&mut inventory, 2, &[(2, "c", "1")]);
    let near = |inventory: &Inventory, address: &str, visible: Visible<'_>| -> Vec<String> {
        let (places, _) = inventory.network().near(address.parse().unwrap(), visible);
        let told = |place: &Place| format!("{} {:?}", name(place.device), place.how);
        places.iter().map(told).collect()
    };
    assert_eq!(near(&inventory, "10.0.0.7", &|_| true), ["c Port(1)", "d Port(3)", "b Port(4)"]);
    assert_eq!(near(&inventory, "10.0.0.8", &|_| true), ["d Port(3)", "b Port(4)"]);
    // Who may not see the router knows of the one address that a switch tells itself.
    assert_eq!(near(&inventory, "10.0.0.8", &|device| device != 1), [""; 0]);
    assert_eq!(near(&inventory, "10.0.0.7", &|device| device != 1), ["c Port(1)", "d Port(3)", "b Port(4)"]);
    // A port that is gone is none.
    let gone = row(&inventory, 3, 3);
    apply(&mut inventory, vec![Change::RowGone { id: gone }]);
    assert_eq!(near(&inventory, "10.0.0.7", &|_| true)[0], "d Port(3)");
    // Who answers for everybody is nobody's place.
    let all: Vec<String> = (0..40).map(|last| format!("10.0.1.{last}")).collect();
    let proxy: Vec<(&str, u8)> = all.iter().map(|address| (&**address, 7)).collect();
    stations(&mut inventory, 1, &proxy, &[]);
    assert_eq!(near(&inventory, "10.0.1.5", &|_| true), [""; 0]);
}

#[test]
fn a_phone_that_tells_where_it_is_by_lldp_is_behind_that_port() {
    let mut inventory = devices(2);
    let phone = Neighbour {
        row: Some(row(&inventory, 1, 3)),
        chassis: "192.0.2.7".into(),
        name: "SEP0200".into(),
        addresses: vec![Address("2001:db8::7".parse().unwrap())],
        ..Neighbour::default()
    };
    let neighbours = Box::new(Neighbours { all: vec![phone], ..Neighbours::default() });
    apply(&mut inventory, vec![Change::Neighbours { device: 1, neighbours }]);
    for address in ["192.0.2.7", "2001:db8::7"] {
        let (places, total) = inventory.network().near(address.parse().unwrap(), &|_| true);
        assert_eq!((places[0].how, places[0].row, total), (How::Next, Some(row(&inventory, 1, 3)), 1));
    }
    assert_eq!(inventory.network().near("192.0.2.7".parse().unwrap(), &|device| device != 1).1, 0);
}
