//! Rows are found again, and never taken for others.

use super::*;
use std::collections::{BTreeMap, HashMap};

/// An interface as it truly is.
#[derive(Clone, Debug)]
struct Truth {
    /// Which one it is.
    id: usize,
    walked: Walked,
    there: bool,
}

fn house() -> House {
    let mut house = House::default();
    house.order(Order::Device(None, Device::new("edge-1", "192.0.2.1"))).unwrap();
    house
}

fn walk(house: &mut House, walk: &[Walked]) -> super::super::remap::Remap {
    let remap = remap(&house.inventory, 1, "interfaces", walk);
    house.apply(remap.changes.clone());
    remap
}

fn row_at(house: &House, index: u32) -> Option<u32> {
    let rows = house.inventory.rows().iter();
    let mut here = rows.filter(|(_, row)| row.index.as_deref() == Some(&[index])).map(|(id, _)| id);
    let first = here.next();
    assert_eq!(here.next(), None, "two rows at index {index}");
    first
}

#[test]
fn a_renumbered_table_keeps_its_rows() {
    let mut house = house();
    assert_eq!(walk(&mut house, &[1, 2, 3].map(interface)).new.len(), 3);
    let turned = [(1, 3), (2, 1), (3, 2)].map(|(number, index)| Walked { index: vec![index], ..interface(number) });
    let told = walk(&mut house, &turned);
    assert_eq!((told.moved.len(), told.new.len(), told.gone.len(), told.changes.len()), (3, 0, 0, 3));
    let names: Vec<&str> = house.inventory.rows().iter().map(|(_, row)| &*row.name).collect();
    assert_eq!(names, ["Gi0/1", "Gi0/2", "Gi0/3"]);
    assert_eq!([row_at(&house, 3), row_at(&house, 1), row_at(&house, 2)], [Some(1), Some(2), Some(3)]);
    // Nothing changed: nothing is written.
    assert!(walk(&mut house, &turned).changes.is_empty());
    // One goes, and is back elsewhere.
    assert_eq!(walk(&mut house, &turned[1..]).gone, [1]);
    let back = Walked { index: vec![9], ..interface(1) };
    assert_eq!(walk(&mut house, &[turned[1].clone(), turned[2].clone(), back]).back, [1]);
    assert_eq!(house.inventory.rows().len(), 3);
}

#[test]
fn a_new_name_at_the_same_place_with_the_same_address_is_a_rename() {
    let mut house = house();
    walk(&mut house, &[1, 2].map(interface));
    let renamed = Walked { name: "ge-0/0/1".to_owned(), ..interface(1) };
    let told = walk(&mut house, &[renamed, interface(2)]);
    assert_eq!(told.renamed, [(1, "Gi0/1".into())]);
    assert_eq!(house.inventory.rows().get(1).map(|row| &*row.name), Some("ge-0/0/1"));
    // Another card at the same place is another interface.
    let card = Walked { name: "Te0/2".to_owned(), mark: "00:00:5e:00:53:ff".to_owned(), ..interface(2) };
    let told = walk(&mut house, &[Walked { name: "ge-0/0/1".to_owned(), ..interface(1) }, card]);
    assert_eq!((told.new.len(), told.gone, told.renamed.len()), (1, vec![2], 0));
    // An address that several interfaces have (VLANs of one port) tells nothing.
    let vlan = |number: u32, name: &str| Walked {
        index: vec![number],
        name: name.to_owned(),
        mark: "00:00:5e:00:53:01".to_owned(),
        ..Walked::default()
    };
    let mut house = super::rows::house();
    walk(&mut house, &[vlan(1, "eth0"), vlan(2, "eth0.10")]);
    let told = walk(&mut house, &[vlan(1, "eth0"), vlan(2, "eth0.20")]);
    assert_eq!((told.renamed.len(), told.new.len(), told.gone), (0, 1, vec![2]));
}

/// Some tables call all rows the same. This ends only if no row is compared with all others.
#[test]
fn a_table_of_one_name_alone_is_found_again() {
    const ROWS: u32 = 40_000;
    let row = |number: u32, index: u32| Walked {
        index: vec![index],
        name: "port".to_owned(),
        label: if number.is_multiple_of(2) { format!("label {number}") } else { String::new() },
        mark: if number % 4 == 1 { format!("mark {number}") } else { String::new() },
        ..Walked::default()
    };
    let mut house = house();
    let first: Vec<Walked> = (0..ROWS).map(|number| row(number, number + 1)).collect();
    assert_eq!(walk(&mut house, &first).new.len() as u32, ROWS);
    let names: std::collections::HashSet<&str> = house.inventory.rows().iter().map(|(_, row)| &*row.name).collect();
    assert_eq!(names.len() as u32, ROWS);
    assert!(walk(&mut house, &first).changes.is_empty());
    // Three in four say something of their own, and are found elsewhere; the others are where they were.
    let says = |number: u32| number % 4 != 3;
    let place = |number: u32| if says(number) { ROWS * 2 - number } else { number + 1 };
    let moved: Vec<Walked> = (0..ROWS).map(|number| row(number, place(number))).collect();
    let told = walk(&mut house, &moved);
    assert_eq!((told.new.len(), told.gone.len()), (0, 0));
    assert_eq!(told.moved.len() as u32, ROWS / 4 * 3);
    assert_eq!(told.alike, ["port"]);
}

#[test]
fn rows_of_one_name_are_told_apart_by_what_else_they_say() {
    let mut house = house();
    let twin = |index: u32, second: &str| Walked {
        index: vec![index],
        name: "eth0".to_owned(),
        second: second.to_owned(),
        ..Walked::default()
    };
    walk(&mut house, &[twin(1, "slot 1"), twin(2, "slot 2")]);
    let names: Vec<&str> = house.inventory.rows().iter().map(|(_, row)| &*row.name).collect();
    assert_eq!(names, ["eth0 (slot 1)", "eth0 (slot 2)"]);
    // One is left, at the other's place: it is still itself.
    let told = walk(&mut house, &[twin(2, "slot 1")]);
    assert_eq!((told.moved, told.gone, told.new.len()), (vec![1], vec![2], 0));
    let told = walk(&mut house, &[twin(1, "slot 2")]);
    assert_eq!((told.back, told.gone), (vec![2], vec![1]));
    // Those that are alike in all go by their index, and that is told.
    let told = walk(&mut house, &[twin(5, "slot 3"), twin(6, "slot 3")]);
    assert_eq!((told.alike, told.new.len()), (vec!["eth0".to_owned()], 2));
    assert!(walk(&mut house, &[twin(6, "slot 3"), twin(5, "slot 3")]).changes.is_empty());
}

#[test]
fn what_agents_say_does_no_harm() {
    let mut house = house();
    let odd = |index: Vec<u32>, name: &str| Walked { index, name: name.to_owned(), ..Walked::default() };
    let told = walk(
        &mut house,
        &[
            odd(vec![1], "  Gi0/1\0"),
            odd(vec![2], ""),
            odd(vec![], "x"),
            odd(vec![3], &"n".repeat(400)),
            odd(vec![4], "a\u{7}b"),
        ],
    );
    assert_eq!((told.new.len(), told.left_out), (4, 1));
    let names: Vec<String> = house.inventory.rows().iter().map(|(_, row)| row.name.to_string()).collect();
    assert_eq!(names, ["Gi0/1".to_owned(), "2".to_owned(), "n".repeat(255), "a b".to_owned()]);
}

/// Which one it is of, and whether it is renamed or replaced.
const EVENT: (core::ops::Range<usize>, proptest::bool::Any) = (0..9, proptest::bool::ANY);

proptest::proptest! {
    /// Interfaces come, go, are renumbered at any time, renamed while they stay, and others take their place; names
    /// are never given to another one. Then no series ever gets numbers of another one, and each that is not renamed
    /// keeps its own for ever.
    #[test]
    fn series_never_swap(
        kinds in proptest::collection::vec((0u8..4, proptest::bool::ANY), 2..9),
        steps in proptest::collection::vec(
            (proptest::collection::vec((0u8..6, 0u32..1000), 9), proptest::option::of(EVENT)),
            1..12,
        ),
    ) {
        let mut truths: Vec<Truth> = kinds.iter().enumerate().map(|(at, kind)| truth(at as u32, *kind)).collect();
        let (mut house, mut owners, mut kept) = (house(), HashMap::new(), BTreeMap::new());
        for (at, (changes, event)) in [(vec![(0, 0); 9], None)].into_iter().chain(steps).enumerate() {
            match event.filter(|(number, _)| *number < truths.len()) {
                Some((number, true)) => {
                    // Renamed: it stays where it is, and so does all else in this step.
                    truths[number].walked.name = format!("renamed{at}");
                    kept.remove(&truths[number].id);
                }
                Some((number, false)) if number >= 2 => replace(&mut truths[number], at),
                _ => shuffle(&mut truths, &changes),
            }
            let rows: Vec<Walked> = truths.iter().filter(|t| t.there).map(|t| t.walked.clone()).collect();
            walk(&mut house, &rows);
            for truth in truths.iter().filter(|truth| truth.there) {
                let row = row_at(&house, truth.walked.index[0]).expect("each row is there");
                let owner = *owners.entry(row).or_insert(truth.id);
                proptest::prop_assert_eq!(owner, truth.id, "row {} is taken for another one", row);
                let before = *kept.entry(truth.id).or_insert(row);
                proptest::prop_assert_eq!(before, row, "{:?} lost its series", truth);
            }
        }
    }
}

/// Kind 2 shares its address, kind 3 its name. The two first ones are always there, with the shared address.
fn truth(number: u32, (kind, label): (u8, bool)) -> Truth {
    let name = if kind == 3 { "same".to_owned() } else { format!("if{number}") };
    let mark = if kind == 2 || number < 2 { "shared".to_owned() } else { format!("mark{number}") };
    let label = if label { format!("label{number}") } else { String::new() };
    let second = format!("second{number}");
    let walked = Walked { index: vec![number + 1], name, second, mark, label, ..Walked::default() };
    Truth { id: number as usize, walked, there: true }
}

/// Another interface takes the place, with what people wrote about it, and with an address of its own unless many have
/// that one.
fn replace(truth: &mut Truth, at: usize) {
    truth.id = at * 100 + truth.id % 100;
    truth.walked.name = format!("other{at}");
    truth.walked.second = format!("other second{at}");
    if truth.walked.mark != "shared" {
        truth.walked.mark = format!("other mark{at}");
    }
}

fn shuffle(truths: &mut [Truth], changes: &[(u8, u32)]) {
    let mut order: Vec<usize> = (0..truths.len()).collect();
    order.sort_by_key(|number| changes[*number].1);
    for (place, number) in order.into_iter().enumerate() {
        truths[number].there = number < 2 || changes[number].0 != 1;
        if changes[0].0 != 0 {
            truths[number].walked.index = vec![place as u32 + 1];
        }
    }
}
