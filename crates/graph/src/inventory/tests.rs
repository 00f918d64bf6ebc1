//! Orders and what they come to; snapshots; search; rows that are found again.

mod rows;

use super::order::Order;
use super::remap::{Walked, remap};
use super::*;
use crate::exercise;
use crate::template::built_in;

/// An inventory that applies what it is ordered.
#[derive(Default)]
struct House {
    inventory: Inventory,
    entries: Vec<Entry>,
}

impl House {
    fn order(&mut self, order: Order) -> Result<(), Refusal> {
        let changes = self.inventory.order(built_in::library(), &order)?;
        self.apply(changes);
        Ok(())
    }

    fn apply(&mut self, changes: Vec<Change>) {
        for entry in Entry::of_changes(self.inventory.sequence() + 1, 1_790_000_000_000, "operator", changes) {
            assert!(entry.encode().len() <= ENTRY_OCTETS_MAX);
            assert_eq!(Entry::decode(&entry.encode()).as_ref(), Ok(&entry));
            assert_eq!(self.inventory.apply(&entry), Ok(()));
            self.entries.push(entry);
        }
    }

    /// A device of that name with so many interfaces.
    fn device(&mut self, name: &str, interfaces: u32) -> u32 {
        let id = self.inventory.devices().next();
        let template = match self.inventory.named(Kind::DeviceTemplate, "any") {
            Some(id) => id,
            None => {
                let id = self.inventory.templates().next();
                let template = Template { kind: Kind::DeviceTemplate, name: "any".into() };
                self.apply(vec![Change::Template { id, template }]);
                id
            }
        };
        let device = Device { template: Some(template), ..Device::new(name, "192.0.2.1") };
        self.order(Order::Device(None, device)).unwrap();
        let walk: Vec<Walked> = (1..=interfaces).map(interface).collect();
        let changes = remap(&self.inventory, id, "interfaces", &walk).changes;
        self.apply(changes);
        self.order(Order::ApplyTemplate(id)).unwrap();
        id
    }
}

fn interface(number: u32) -> Walked {
    Walked {
        index: vec![number],
        name: format!("Gi0/{number}"),
        second: format!("GigabitEthernet0/{number}"),
        mark: format!("00:00:5e:00:53:{number:02x}"),
        label: format!("uplink {number}"),
        speed: 1_000_000_000,
        fields: vec![("ifType".to_owned(), "6".to_owned())],
    }
}

#[test]
fn a_device_gets_the_graphs_of_its_template_once() {
    let mut house = House::default();
    let device = house.device("edge-1", 2);
    let inventory = &house.inventory;
    // Uptime and latency of the device, traffic, errors, packets and status of both interfaces.
    assert_eq!((inventory.sources_of(device).len(), inventory.graphs_of(device).len()), (2 + 2 * 4, 2 + 2 * 4));
    let titles: Vec<String> =
        inventory.graphs_of(device).iter().map(|id| inventory.title(built_in::library(), *id)).collect();
    assert!(titles.contains(&"edge-1 - Gi0/2 uplink 2 - Traffic".to_owned()), "{titles:?}");
    assert!(titles.contains(&"edge-1 - Uptime".to_owned()), "{titles:?}");
    assert_eq!(inventory.order(built_in::library(), &Order::ApplyTemplate(device)), Ok(Vec::new()));
    // An interface that comes later.
    let changes = remap(inventory, device, "interfaces", &[1, 2, 3].map(interface)).changes;
    house.apply(changes);
    house.order(Order::ApplyTemplate(device)).unwrap();
    assert_eq!(house.inventory.graphs_of(device).len(), 2 + 3 * 4);
}

#[test]
fn who_is_behind_whom_changes_for_all_together() {
    let mut house = House::default();
    let ids: Vec<u32> = (1..=4).map(|number| house.device(&format!("edge-{number}"), 1)).collect();
    let [a, b, c, d] = ids[..] else { panic!("{ids:?}") };
    let behind = |house: &House| -> Vec<Vec<u32>> {
        ids.iter().map(|id| house.inventory.devices().get(*id).unwrap().behind.clone()).collect()
    };
    house.order(Order::SetBehind(vec![(b, vec![a]), (c, vec![b]), (d, vec![b, c])])).unwrap();
    assert_eq!(behind(&house), [vec![], vec![a], vec![b], vec![b, c]]);
    // The other way round: each of these is wrong before the ones behind it were done.
    house.order(Order::SetBehind(vec![(a, vec![b]), (b, vec![c]), (c, vec![d]), (d, vec![])])).unwrap();
    assert_eq!(behind(&house), [vec![b], vec![c], vec![d], vec![]]);
    // What is told already changes nothing.
    let same = Order::SetBehind(vec![(a, vec![b]), (d, vec![])]);
    let changes = house.inventory.order(built_in::library(), &same).unwrap();
    assert!(changes.is_empty(), "{changes:?}");
    let before = behind(&house);
    let mut wrong = |all: Vec<(u32, Vec<u32>)>| house.order(Order::SetBehind(all)).unwrap_err().to_string();
    assert_eq!(wrong(vec![(d, vec![a])]), "'edge-4' would depend on itself");
    assert_eq!(wrong(vec![(a, vec![]), (b, vec![b])]), "'edge-2' would depend on itself");
    assert_eq!(wrong(vec![(a, vec![]), (b, vec![99])]), "there is no device 99");
    assert_eq!(wrong(vec![(99, vec![a])]), "there is no device 99");
    assert_eq!(wrong(vec![(a, vec![]), (a, vec![d])]), format!("device {a} stands there twice"));
    assert!(wrong(vec![(a, (1..=1025).collect())]).contains("1024"));
    assert_eq!(behind(&house), before);
}

#[test]
fn what_goes_takes_along_what_is_of_it_alone() {
    let mut house = House::default();
    let (one, two) = (house.device("edge-1", 1), house.device("edge-2", 1));
    let inventory = &house.inventory;
    let data = inventory.named(Kind::DataTemplate, "interface-traffic").unwrap();
    let traffic = |device: u32| inventory.source_for(device, data, Some(inventory.rows_of(device)[0])).unwrap();
    let sources = vec![traffic(one), traffic(two)];
    let sum = |sources| Order::Graph { id: None, template: "interfaces-sum".to_owned(), title: None, sources };
    house.order(sum(sources.clone())).unwrap();
    let graph = house.inventory.graphs().iter().next_back().unwrap().0;
    house.order(Order::Tree(None, Tree { name: "all".into(), order: 0 })).unwrap();
    let node = |kind| Order::Node(None, Node { tree: 1, parent: None, order: 0, kind });
    house.order(node(NodeKind::Graph { graph })).unwrap();
    house.order(node(NodeKind::Device { device: one, group: GroupBy::None })).unwrap();
    let behind = Device { behind: vec![one], ..house.inventory.devices().get(two).unwrap().clone() };
    house.order(Order::Device(Some(two), behind.clone())).unwrap();
    let round = Device { behind: vec![two], ..house.inventory.devices().get(one).unwrap().clone() };
    assert!(house.order(Order::Device(Some(one), round)).is_err());

    house.order(Order::RemoveDevices(vec![one])).unwrap();
    let inventory = &house.inventory;
    assert_eq!(inventory.graphs().get(graph).map(|graph| graph.sources.clone()), Some(vec![sources[1]]));
    assert_eq!((inventory.nodes().len(), inventory.rows().len()), (1, 1));
    assert_eq!(inventory.devices().get(two).map(|device| device.behind.clone()), Some(Vec::new()));
    // Its number is not given again, its name may be.
    let again = house.device("edge-1", 1);
    assert_eq!(again, 3);
    house.order(Order::RemoveSources(vec![sources[1]])).unwrap();
    assert!(!house.inventory.graphs().has(graph) && house.inventory.nodes().is_empty());
    assert_eq!(exercise::told(&house.inventory).len(), exercise::told(&house.inventory).len());
}

#[test]
fn refusals_say_what_is_wrong() {
    let mut house = House::default();
    let device = house.device("edge-1", 1);
    let wrong = |house: &mut House, order| house.order(order).unwrap_err().to_string();
    let named = |name: &str| Order::Device(None, Device::new(name, "192.0.2.1"));
    assert_eq!(wrong(&mut house, named("edge-1")), "a device 'edge-1' exists already");
    assert_eq!(wrong(&mut house, named(" ")), "the name of a device has 1 to 255 octets");
    assert_eq!(wrong(&mut house, Order::RemoveDevices(vec![9])), "there is no device 9");
    assert_eq!(wrong(&mut house, Order::RemoveDevices(vec![device, device])), "1 stands there twice");
    assert_eq!(wrong(&mut house, Order::SetState(vec![7], DeviceState::Disabled)), "there is no device 7");
    let address = Order::Device(None, Device::new("x", "not an address"));
    assert!(wrong(&mut house, address).contains("'not an address' is no address"));
    let graphs = |template: &str, row| Order::AddGraphs { device, template: template.to_owned(), row };
    assert_eq!(wrong(&mut house, graphs("nothing", None)), "there is no graph template 'nothing'");
    assert!(wrong(&mut house, graphs("interface-bits", Some(77))).contains("not for that row"));
    let source = house.inventory.sources_of(device)[0];
    let order = |sources| Order::Graph { id: None, template: "uptime".to_owned(), title: None, sources };
    assert_eq!(wrong(&mut house, order(vec![])), "a graph needs a data source");
    assert_eq!(wrong(&mut house, order(vec![source, source])), "a graph has each data source once");
    let other = *house.inventory.sources_of(device).last().unwrap();
    assert!(wrong(&mut house, order(vec![other])).contains("does not show"));
    let order = Entry { sequence: 77, at_ms: 0, by: "x".into(), changes: Vec::new() };
    assert!(house.inventory.clone().apply(&order).unwrap_err().to_string().contains("entry 77 follows entry"));
}

#[test]
fn folders_have_their_order_and_are_never_in_themselves() {
    let mut house = House::default();
    house.order(Order::Tree(None, Tree { name: "sites".into(), order: 0 })).unwrap();
    let folder =
        |name: &str, parent, order| Node { tree: 1, parent, order, kind: NodeKind::Folder { name: name.into() } };
    house.order(Order::Node(None, folder("north", None, 2))).unwrap();
    house.order(Order::Node(None, folder("south", None, 1))).unwrap();
    house.order(Order::Node(None, folder("inner", Some(1), 0))).unwrap();
    assert_eq!(house.inventory.children(1, None), [2, 1]);
    assert!(house.order(Order::Node(Some(1), folder("north", Some(3), 0))).is_err());
    assert!(house.order(Order::Node(Some(1), folder("south", None, 0))).is_err());
    house.order(Order::Node(Some(2), folder("south", Some(3), 0))).unwrap();
    assert!(read_again(&house.inventory));
    house.order(Order::RemoveNode(1)).unwrap();
    assert!(house.inventory.nodes().is_empty());
}

#[test]
fn rules_take_graphs_now_and_later() {
    let mut house = House::default();
    house.device("edge-1", 2);
    house.device("core-1", 1);
    let template = house.inventory.named(Kind::GraphTemplate, "interface-bits");
    let filter = Filter { device: "edge*".into(), template, row: "uplink ?".into(), ..Filter::default() };
    assert_eq!(filter.graphs(&house.inventory, 100).len(), 2);
    house.device("EDGE-2", 3);
    assert_eq!(filter.graphs(&house.inventory, 100).len(), 5);
    assert_eq!(filter.graphs(&house.inventory, 4).len(), 4);
}

#[test]
fn secrets_are_never_printed() {
    let mut house = House::default();
    let secret = || Secret::new(b"very-secret-words");
    let user = Login::User {
        user: "operator".into(),
        authentication: Authentication::Sha256,
        authentication_password: secret(),
        privacy: Privacy::Aes128,
        privacy_password: secret(),
        context: "".into(),
    };
    for (name, login) in
        [("v2", Login::Community { community: secret() }), ("v3", user), ("t", Login::Token { token: secret() })]
    {
        house.order(Order::Credential(None, Credential { name: name.into(), login })).unwrap();
    }
    let printed = format!("{:?} {:?}", house.inventory, house.entries);
    assert!(!printed.contains("very-secret") && !printed.contains("[118, 101"), "{printed}");
    let described = house.inventory.credentials().iter().map(|(_, c)| c.login.describe()).collect::<Vec<_>>();
    assert_eq!(described, ["community", "user operator, sha256, aes128", "token"]);
    // A device that has one keeps it, of a kind that fits.
    let version = |version, credential| {
        let access = Access { version: Some(version), credential: Some(credential), ..Access::default() };
        Order::Device(None, Device { access, ..Device::new("d", "192.0.2.9") })
    };
    assert!(house.order(version(Version::V3, 1)).is_err());
    house.order(version(Version::V3, 2)).unwrap();
    let refused = house.order(Order::RemoveCredential(2)).unwrap_err();
    assert_eq!(refused.to_string(), "credential 'v3' is used by device 'd'");
    let short = Login::User {
        user: "u".into(),
        authentication: Authentication::Md5,
        authentication_password: Secret::new(b"short"),
        privacy: Privacy::None,
        privacy_password: Secret::default(),
        context: "".into(),
    };
    assert!(house.order(Order::Credential(None, Credential { name: "x".into(), login: short })).is_err());
}

fn read_again(inventory: &Inventory) -> bool {
    let mut restoring = Restoring::default();
    exercise::told(inventory).iter().all(|record| restoring.take(record).is_ok())
        && restoring.inventory().as_ref() == Ok(inventory)
}

#[test]
fn a_snapshot_tells_all_and_a_cut_one_is_refused() {
    let mut house = House::default();
    let device = house.device("edge-1", 3);
    house.device("edge-2", 1);
    house.order(Order::RemoveDevices(vec![device])).unwrap();
    assert!(read_again(&house.inventory));
    let records = exercise::told(&house.inventory);
    let mut restoring = Restoring::default();
    assert!(records[..records.len() - 1].iter().all(|record| restoring.take(record).is_ok()));
    assert_eq!(restoring.inventory(), Err(NoSnapshot));
    // What goes on from it is what goes on from the entries.
    let mut read = Restoring::default();
    assert!(records.iter().all(|record| read.take(record).is_ok()));
    let mut other = House { inventory: read.inventory().unwrap(), entries: Vec::new() };
    other.device("edge-3", 2);
    house.device("edge-3", 2);
    assert_eq!(other.inventory, house.inventory);
    let mut all = Inventory::default();
    assert!(house.entries.iter().all(|entry| all.apply(entry).is_ok()));
    assert_eq!(all, house.inventory);
}

#[test]
fn graphs_are_found_by_their_titles() {
    let mut house = House::default();
    let library = built_in::library();
    let device = house.device("edge-1", 12);
    house.device("core-1", 1);
    let mut search = Search::of(&house.inventory, library);
    assert_eq!(search.find("EDGE-1 traffic", 100).total, 12);
    assert_eq!(search.find("traffic \"gi0/1 \"", 100).total, 2);
    assert_eq!(search.find("traffic gi0/1 -core", 100).total, 4);
    assert_eq!(search.find("", 3), Found { graphs: vec![1, 2, 3], total: house.inventory.graphs().len() });
    assert_eq!(search.find("nothing of that kind", 100), Found::default());
    // A word that begins comes before one that goes on.
    let found = search.find("0/1", 1000);
    assert_eq!(search.find("uplink 1 traffic -core", 1).graphs.len(), 1);
    assert!(found.total > 0);
    // It follows.
    let before = house.entries.len();
    let renamed = Device { name: "border-1".into(), ..house.inventory.devices().get(device).unwrap().clone() };
    house.order(Order::Device(Some(device), renamed)).unwrap();
    house.order(Order::RemoveDevices(vec![2])).unwrap();
    for entry in &house.entries[before..] {
        search.follow(&house.inventory, library, entry);
    }
    assert_eq!((search.find("edge-1", 10).total, search.find("core-1", 10).total), (0, 0));
    assert_eq!(search.find("border-1 traffic", 100).total, 12);
    assert_eq!(search.len(), house.inventory.graphs().len());
    assert!(!search.is_empty());
}

proptest::proptest! {
    /// A search finds what a plain look at each title finds, whatever was changed before.
    #[test]
    fn a_search_is_a_look_at_each_title(
        titles in proptest::collection::vec(("[a-c ]{0,6}", 0u32..8), 0..40),
        words in proptest::collection::vec("-?[a-cA-C]{1,2}", 0..3),
    ) {
        let (mut search, mut plain) = (Search::default(), std::collections::BTreeMap::new());
        for (title, id) in &titles {
            if title.len() == 6 {
                search.remove(*id);
                plain.remove(id);
            } else {
                search.put(*id, title);
                plain.insert(*id, title.clone());
            }
        }
        let takes = |title: &String| words.iter().all(|word| match word.strip_prefix('-') {
            Some(word) => !title.contains(&word.to_lowercase()),
            None => title.contains(&word.to_lowercase()),
        });
        let wanted: Vec<u32> = plain.iter().filter(|(_, title)| takes(title)).map(|(id, _)| *id).collect();
        let mut found = search.find(&words.join(" "), 100);
        found.graphs.sort_unstable();
        proptest::prop_assert_eq!(found, Found { total: wanted.len(), graphs: wanted });
    }

    /// Orders in any order: what is planned is applied, a snapshot tells all, and what finds things again is as it
    /// would be made anew.
    #[test]
    fn what_is_ordered_can_be_applied(orders in proptest::collection::vec((0u8..12, 0u32..6, 0u32..6), 0..40)) {
        let mut house = House::default();
        for (what, a, b) in orders {
            let name = format!("n{a}");
            let order = match what {
                0 | 1 => {
                    let behind = (b > 3).then_some(a).into_iter().collect();
                    Order::Device((a > 3).then_some(b), Device { behind, ..Device::new(&name, "::1") })
                }
                2 => Order::RemoveDevices(vec![a]),
                3 => Order::Site(None, Site { name: name.into(), ..Site::default() }),
                4 => Order::RemoveSite(a),
                5 => Order::AddGraphs { device: a, template: "uptime".to_owned(), row: None },
                6 => Order::RemoveGraphs(vec![a, b]),
                7 => Order::RemoveSources(vec![a]),
                8 => Order::Tree(None, Tree { name: name.into(), order: b }),
                9 => {
                    let kind = NodeKind::Folder { name: name.into() };
                    Order::Node(None, Node { tree: a, parent: (b > 0).then_some(b), order: b, kind })
                }
                10 => Order::Node(None, Node { tree: a, parent: None, order: b, kind: NodeKind::Graph { graph: b } }),
                _ => {
                    if house.inventory.devices().has(a) {
                        let walk: Vec<Walked> = (1..=b).map(interface).collect();
                        let changes = remap(&house.inventory, a, "interfaces", &walk).changes;
                        house.apply(changes);
                    }
                    Order::AddGraphs { device: a, template: "interface-bits".to_owned(), row: None }
                }
            };
            // A refusal is an answer, too; what is accepted must be applied.
            let _ = house.order(order);
        }
        proptest::prop_assert!(read_again(&house.inventory));
        let mut again = Inventory::default();
        for entry in &house.entries {
            proptest::prop_assert_eq!(again.apply(entry), Ok(()));
        }
        proptest::prop_assert_eq!(again, house.inventory);
    }
}
