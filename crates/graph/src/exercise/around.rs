//! What is around a device, as an agent may tell it.

use super::{change, house};
use crate::discovery::{AROUND_OCTETS_MAX, Around, columns_around};
use crate::inventory::Inventory;
use crate::inventory::around::surroundings;
use crate::poller::WalkEnd;
use crate::template::Oid;
use std::sync::LazyLock;
use trunkline_wire::snmp::{ObjectId, Value};

/// Cells of columns, each behind four octets: the column, how many octets of the index (an arc each, 255 stands for one
/// of 32 bits), the kind of the value, its octets. No agent does harm; what comes of it is what the inventory takes,
/// and said again it changes nothing.
pub fn around(octets: &[u8]) {
    static HOUSE: LazyLock<Inventory> = LazyLock::new(house);
    let (mut found, columns) = (Around::default(), columns_around());
    let mut rest = octets;
    while let Some((&[column, index, kind, length], behind)) = rest.split_first_chunk() {
        let (index, behind) = behind.split_at(usize::from(index).min(behind.len()));
        let (value, behind) = behind.split_at(usize::from(length).min(behind.len()));
        rest = behind;
        let root = &columns[usize::from(column) % columns.len()];
        let index: Vec<u32> = index.iter().map(|arc| if *arc == 255 { u32::MAX } else { (*arc).into() }).collect();
        cell(&mut found, root, &index, kind, value);
    }
    columns.iter().for_each(|root| found.ended(root, WalkEnd::Done(1)));
    let (told, broken) = found.found();
    assert!(broken.is_empty() && octets.len() < AROUND_OCTETS_MAX / 64);
    let mut inventory = HOUSE.clone();
    let first = surroundings(&inventory, 1, &told);
    change(&mut inventory, first.changes);
    let again = surroundings(&inventory, 1, &told);
    assert_eq!((again.changes, again.left_out), (Vec::new(), first.left_out));
    // Walked again, nothing is left of it.
    columns.iter().for_each(|root| found.again(root));
    assert_eq!(found.found().1.len(), 4);
}

fn cell(found: &mut Around, root: &Oid, index: &[u32], kind: u8, octets: &[u8]) {
    let number = octets.iter().take(8).fold(0u64, |number, octet| number << 8 | u64::from(*octet));
    let name = index.iter().fold("1.3".to_owned(), |name, arc| format!("{name}.{arc}")).parse::<ObjectId>().ok();
    let value = match (kind % 6, &name) {
        (0, _) => Value::Integer(number as i64),
        (1, _) => Value::OctetString(octets),
        (2, _) => Value::IpAddress((number as u32).to_be_bytes()),
        (3, Some(name)) => Value::ObjectId(name.as_oid()),
        (4, _) => Value::Gauge32(number as u32),
        _ => Value::Null,
    };
    found.take(root, index, &value);
}
