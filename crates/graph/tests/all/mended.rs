//! An inventory whose log is damaged is mended: what is left is polled on, and no file of a graph is deleted for want
//! of what is gone.

use std::path::Path;
use trunkline_commit::{Disk, Folder, Keep, repair, survey};
use trunkline_graph::inventory::{Access, Change, Device, Kind, Source, Template};
use trunkline_graph::job::{Graphs, OpenError, Options};

const SEGMENT: &str = "inventory/00000000000000000001.log";

fn open(folder: &Path) -> Result<Graphs, OpenError> {
    Graphs::open(folder, &Options { segment_octets: 1 << 16, ..Options::default() })
}

/// A device that nobody polls.
fn device(id: u32, name: &str) -> Change {
    let device = Device { access: Access { version: None, ..Access::default() }, ..Device::new(name, "127.0.0.1") };
    Change::Device { id, device: Box::new(device) }
}

fn source(id: u32) -> Change {
    Change::Source { id, source: Source { device: id, template: 1, row: None, active: true, arguments: Vec::new() } }
}

/// Where the blocks of the segment begin.
fn blocks(folder: &Path) -> Vec<usize> {
    let (octets, mut at, mut blocks) = (std::fs::read(folder.join(SEGMENT)).unwrap(), 32, Vec::new());
    while octets[at..at + 4] == *b"TLBK" {
        blocks.push(at);
        let length = u32::from_le_bytes(octets[at + 4..at + 8].try_into().unwrap());
        at = (at + 24 + length as usize).next_multiple_of(8);
    }
    blocks
}

fn spoil(folder: &Path, at: usize) {
    let path = folder.join(SEGMENT);
    let mut octets = std::fs::read(&path).unwrap();
    octets[at] ^= 1;
    std::fs::write(path, octets).unwrap();
}

/// Three devices, each of an order of its own; each with a file of its data source.
fn filled(folder: &Path) -> Vec<usize> {
    let graphs = open(folder).unwrap();
    let template = Template { kind: Kind::DataTemplate, name: "icmp".into() };
    let orders = [
        vec![device(1, "first"), Change::Template { id: 1, template }, source(1)],
        vec![device(2, "second"), source(2)],
        vec![device(3, "third"), source(3)],
        vec![Change::SourceGone { id: 2 }, device(1, "renamed")],
    ];
    for changes in orders {
        graphs.handle().change("test", changes).unwrap();
    }
    graphs.stop();
    // The log alone knows it.
    for snapshot in Folder::open(&folder.join("inventory")).unwrap().list().unwrap() {
        if snapshot.ends_with(".snapshot") {
            std::fs::remove_file(folder.join("inventory").join(snapshot)).unwrap();
        }
    }
    for id in 1..=3 {
        let inside = folder.join(id.to_string());
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(inside.join(format!("{id}.rrd")), b"RRD\0").unwrap();
    }
    let blocks = blocks(folder);
    assert_eq!(blocks.len(), 4);
    blocks
}

fn names(graphs: &Graphs) -> Vec<String> {
    graphs.handle().inventory().devices().iter().map(|(_, device)| device.name.to_string()).collect()
}

fn mend(folder: &Path) -> u64 {
    let disk = Folder::open(&folder.join("inventory")).unwrap();
    let found = survey(&disk, Keep::Needed, &[], &mut |_, _| Ok(())).unwrap();
    repair(&disk, &found).unwrap();
    found.lost()
}

#[test]
fn what_is_left_of_an_inventory_goes_on_and_no_file_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let blocks = filled(folder);
    spoil(folder, blocks[1] + 40);
    assert!(open(folder).unwrap_err().is_damage());
    assert_eq!(mend(folder), 1);
    let graphs = open(folder).unwrap();
    // What the last order says of the second device, which is gone, is left out; the rest of it is done.
    assert_eq!(names(&graphs), ["renamed", "third"]);
    assert!(folder.join("1/1.rrd").exists() && folder.join("3/3.rrd").exists() && !folder.join("2/2.rrd").exists());
    assert!(folder.join("aside/2/2.rrd").exists());
    // It is written on, and read again.
    graphs.handle().change("test", vec![device(4, "fourth")]).unwrap();
    graphs.stop();
    let graphs = open(folder).unwrap();
    assert_eq!(names(&graphs), ["renamed", "third", "fourth"]);
}

#[test]
fn an_inventory_whose_end_is_gone_is_written_on_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let blocks = filled(folder);
    spoil(folder, blocks[3] + 40);
    spoil(folder, blocks[2] + 40);
    assert!(open(folder).unwrap_err().is_damage());
    assert_eq!(mend(folder), 2);
    for added in ["fourth", "fifth"] {
        let graphs = open(folder).unwrap();
        let id = graphs.handle().inventory().devices().next();
        graphs.handle().change("test", vec![device(id, added)]).unwrap();
        graphs.stop();
    }
    let graphs = open(folder).unwrap();
    assert_eq!(names(&graphs), ["first", "second", "fourth", "fifth"]);
    assert_eq!(graphs.handle().inventory().sequence(), 6);
    assert!(folder.join("aside/3/3.rrd").exists() && folder.join("2/2.rrd").exists());
}
