//! A small installation of 0.8.8: archives in the place of profiles, trees by keys, an export with the same.

use super::*;
use crate::exercise;
use crate::inventory::{DeviceState, Entry, Inventory, Login, NodeKind, Privacy, Version};
use crate::template::{Archive, Reading, SeriesKind, Source};

const DUMP: &str = include_str!("tests/old.sql");
const EXPORT: &str = include_str!("tests/old.xml");

fn imported() -> (Import, Inventory) {
    let (mut reader, mut tables) = (DumpReader::default(), Tables::default());
    for piece in DUMP.as_bytes().chunks(1000) {
        reader.feed(piece, |row| tables.take(row));
    }
    assert_eq!(reader.end().1, 0);
    let import =
        convert(&tables, &Options { path_cacti: "/cacti/".to_owned(), ..Options::default() }, &Inventory::default());
    let mut inventory = Inventory::default();
    for entry in Entry::of_changes(1, 0, "import", import.changes.clone()) {
        assert_eq!(inventory.apply(&entry), Ok(()));
    }
    (import, inventory)
}

fn device<'i>(inventory: &'i Inventory, name: &str) -> &'i crate::inventory::Device {
    inventory.device_named(name).and_then(|id| inventory.devices().get(id)).unwrap()
}

#[test]
fn devices_with_what_they_are_asked_with() {
    let (_, inventory) = imported();
    let (edge, old) = (device(&inventory, "edge-1"), device(&inventory, "old-1"));
    assert_eq!((&*edge.address, edge.access.version, edge.access.port), ("192.0.2.1", Some(Version::V2c), 1161));
    assert_eq!((old.access.version, old.state), (Some(Version::V1), DeviceState::Disabled));
    let login = |device: &crate::inventory::Device| {
        let id = device.access.credential.unwrap();
        inventory.credentials().get(id).unwrap().login.clone()
    };
    let Login::Community { community } = login(edge) else { panic!() };
    assert_eq!(community.expose(), b"it's secret");
    // Devices with the same community share it.
    assert_eq!(
        (inventory.credentials().len(), edge.access.credential),
        (2, device(&inventory, "edge-2").access.credential)
    );
    let Login::User { user, context, privacy, .. } = login(device(&inventory, "v3")) else { panic!() };
    // The key is made in Cisco's way there, which is another one than net-snmp's.
    assert_eq!((&*user, &*context, privacy), ("reader", "vrf", Privacy::Aes256Cisco));
}

#[test]
fn data_sources_become_those_of_rows_by_name() {
    let (import, inventory) = imported();
    let edge = inventory.device_named("edge-1").unwrap();
    let names: Vec<&str> = inventory.rows_of(edge).iter().map(|id| &*inventory.rows().get(*id).unwrap().name).collect();
    assert_eq!(names, ["Gi0/1", "Gi0/2"]);
    let row = inventory.rows().get(inventory.rows_of(edge)[1]).unwrap();
    assert_eq!((row.index.as_deref(), &*row.label, row.speed), (Some(&[2][..]), "to core", 1_000_000_000));
    let files: Vec<(&str, u32, usize)> =
        import.files.iter().map(|file| (file.path.as_str(), file.local_data_id, file.series.len())).collect();
    assert_eq!(
        files,
        [
            ("<path_rra>/edge1_traffic_in_1.rrd", 1, 2),
            ("<path_rra>/edge1_traffic_in_2.rrd", 2, 2),
            ("<path_rra>/edge1_oid_3.rrd", 3, 1),
            ("<path_rra>/edge1_oid_4.rrd", 4, 1),
            ("<path_rra>/edge1_load_5.rrd", 5, 3),
        ]
    );
    // Two data sources of a generic object say which one, and read it through copies of one template.
    let oid = |at: usize| {
        inventory.fields_of_source(import.files[at].source).unwrap().get("argument.oid").unwrap().to_owned()
    };
    assert_eq!((oid(2), oid(3)), ("1.3.6.1.4.1.9.2.1.58.0".to_owned(), "1.3.6.1.2.1.1.3.0".to_owned()));
    assert!(inventory.sources().get(import.files[0].source).unwrap().active);
}

#[test]
fn templates_read_what_cacti_read() {
    let (import, _) = imported();
    let library = &import.library;
    let traffic = &library.data["cacti-interface-traffic"];
    let read = |at: usize| {
        traffic.series[at].read.iter().map(|read| match read {
            Reading::Object(oid) => oid.to_string(),
            Reading::Name(name) => name.clone(),
        })
    };
    // The graphs of 64 and of 32 bits read the same: the wider counter is tried first.
    assert_eq!(read(0).collect::<Vec<_>>(), ["1.3.6.1.2.1.31.1.1.1.6", "1.3.6.1.2.1.2.2.1.10"]);
    assert_eq!((traffic.series[0].kind, traffic.table.as_deref()), (SeriesKind::Counter, Some("interfaces")));
    let profile = &library.profiles[&traffic.profile];
    assert_eq!(profile.archives, [Archive::Rows { steps: 1, rows: 600 }, Archive::Rows { steps: 6, rows: 700 }]);
    assert_eq!((profile.step, profile.functions.len()), (300, 2));
    let Source::Script { command, .. } = &library.data["cacti-load"].source else { panic!() };
    let command: Vec<String> = command.iter().map(ToString::to_string).collect();
    assert_eq!(command, ["perl", "/cacti/scripts/load.pl", "|address|", "|argument.port|", "15", "|argument.passwd|"]);
}

#[test]
fn graphs_are_computed_as_before() {
    let (import, inventory) = imported();
    let graph = &import.library.graphs["cacti-interface-traffic-bits-sec"];
    let computed: Vec<String> = graph.computed.iter().map(|c| format!("{}={}", c.name, c.text)).collect();
    assert_eq!(
        computed,
        [
            "traffic_in_c=traffic_in,8,*",
            // Its greatest value is printed: that of the archives of maxima.
            "traffic_in_max_c=traffic_in_max,8,*",
            "traffic_out_c=traffic_out,8,*",
            "traffic_in_c_2=traffic_in,UN,0,traffic_in,IF,traffic_out,UN,0,traffic_out,IF,+",
        ]
    );
    let values: Vec<&str> = graph.values.iter().map(|value| value.text.as_str()).collect();
    assert_eq!(values, ["traffic_in_c,95,PERCENT"]);
    assert_eq!(graph.items.len(), 6);
    assert_eq!((graph.items[0].color.map(|c| c.to_string()).as_deref(), graph.base), (Some("00cf00"), 1000));
    let titles: Vec<String> = inventory.graphs().iter().map(|(id, _)| inventory.title(&import.library, id)).collect();
    assert_eq!(titles, ["edge-1 - Traffic - Gi0/1", "edge-1 - to core, by hand", "edge-1 - Load"]);
}

#[test]
fn trees_by_keys() {
    let (_, inventory) = imported();
    let names = |ids: Vec<u32>| -> Vec<String> {
        let name = |id: u32| match &inventory.nodes().get(id).unwrap().kind {
            NodeKind::Graph { graph } => format!("graph {graph}"),
            _ => inventory.node_name(inventory.nodes().get(id).unwrap()).unwrap().to_owned(),
        };
        ids.into_iter().map(name).collect()
    };
    let top = inventory.children(1, None);
    assert_eq!(names(top.clone()), ["North", "edge-2"]);
    assert_eq!(names(inventory.children(1, Some(top[0]))), ["edge-1", "graph 1"]);
}

/// Each thing that is not taken over is told.
#[test]
fn nothing_is_dropped_silently() {
    let (import, inventory) = imported();
    let told: String = import.told.iter().map(|(told, count)| format!("{count} {told}\n")).collect();
    for what in [
        "1 data source 6 (<path_rra>/gone_7.rrd) is of no device",
        "1 graph 4 'By hand': it has no template that is taken over",
        "2 rows of table 'user_auth' are not imported",
        "1 graph items of type 40 have no counterpart",
        "1 data query 'Mystery': its file mystery.xml was not given",
        "1 a device 'edge-1' exists already: another one is called 'edge-1 #2'",
        "1 nodes of trees are left out whose device, site or graph is not imported",
        "1 data template 'Load': its program wants snmp_community of a device",
        "1 data template 'Load': its program wants passwd of a device",
        "say their 'passwd', a credential: it is left out",
        "say their 'port', a credential: it is left out",
    ] {
        assert!(told.contains(what), "{what}\nis not in\n{told}");
    }
    assert!(inventory.device_named("edge-1 #2").is_some());
    assert!(!told.contains("secret"), "{told}");
}

/// What lets somebody in goes to credentials, and nowhere else: arguments of programs are seen by all.
#[test]
fn secrets_are_not_shown() {
    let mut tables = Tables::default();
    let mut reader = DumpReader::default();
    let mut shown = String::new();
    for piece in DUMP.as_bytes().chunks(100) {
        reader.feed(piece, |row| {
            shown += &format!("{row:?}");
            tables.take(row);
        });
        shown += &format!("{reader:?}");
    }
    shown += &format!("{tables:?} {:?}", tables.rows("host").collect::<Vec<_>>());
    let exchange = Exchange { tables, ..Exchange::default() };
    let import = convert(&exchange.tables, &Options::default(), &Inventory::default());
    shown += &format!("{exchange:?} {:?} {:?} {:?}", import.library, import.changes, import.told);
    assert!(shown.contains("edge-1") && shown.contains("snmp_community"));
    for secret in ["secret", "password-1", "password-2"] {
        let at = shown.find(secret).map(|at| shown.get(at.saturating_sub(200)..at + 20));
        assert_eq!(at, None);
    }
}

#[test]
fn an_export_becomes_the_same_templates() {
    let read = exchange(EXPORT).unwrap();
    let import = convert(&read.tables, &Options::default(), &Inventory::default());
    let graph = &import.library.graphs["cacti-interface-traffic-bits-sec"];
    assert_eq!(graph.computed[0].text, "traffic_in,8,*");
    assert_eq!(graph.items[0].color.map(|color| color.to_string()).as_deref(), Some("00cf0080"));
    let traffic = &import.library.data["cacti-interface-traffic"];
    assert_eq!(import.library.profiles[&traffic.profile].archives, [Archive::Rows { steps: 1, rows: 600 }]);
    assert_eq!(import.library.devices["cacti-router"].graphs, ["cacti-interface-traffic-bits-sec"]);
    exercise::xml(EXPORT.as_bytes());
    assert_eq!(exchange("<a/>").unwrap_err(), "<a> is neither an export of Cacti (<cacti>) nor a package (<xml>)");
    assert!(exchange("<cacti>\n<b>").unwrap_err().starts_with("line 2"));
}
