//! One walk over every kind of file of a data folder: each is damaged, and it is looked what `trunkline verify --deep`
//! says of it, what a run on it does, whether the other jobs go on, and whether anything that was acknowledged is gone
//! without a word. docs/damage.md has what came of it.
//!
//! `UPDATE_DAMAGE=1 cargo test -p trunkline --test all damage_walk:: -- --ignored` does all of it and writes
//! docs/damage.md anew. Needs root and iproute2; without, it says so and is skipped.
//!
//! Test group: waits: for programs that start and end.

mod damage;
mod judge;
mod kinds;
mod look;
mod table;
mod world;

use damage::{ALL, Damage};
use judge::{Cell, Judge};
use kinds::{KINDS, Kind};
use std::sync::Mutex;
use table::Table;
use world::World;

/// Walks that go on beside each other: each mostly waits for its run.
const WALKS: usize = 3;

/// The file of a world that stands for a kind.
fn file_of(kind: &Kind, files: &[String]) -> Option<String> {
    let first = |path: &str| KINDS.iter().find(|kind| kind.covers(path)).map(|kind| kind.name);
    files.iter().find(|path| first(path) == Some(kind.name)).cloned()
}

/// Every file is of a kind, and of every kind there is a file.
fn covered(world: &World) {
    world.restore();
    let files = world.files();
    let strays: Vec<_> = files.iter().filter(|path| !KINDS.iter().any(|kind| kind.covers(path))).collect();
    assert!(strays.is_empty(), "files of a kind that damage_walk/kinds.rs does not have: {strays:#?}");
    let absent: Vec<_> =
        KINDS.iter().filter(|kind| !kind.brief && file_of(kind, &files).is_none()).map(|kind| kind.name).collect();
    assert!(absent.is_empty(), "no file of these kinds: {absent:?} in {files:#?}");
}

/// What comes of one damage to the whole folder; none if it changes nothing.
fn damaged(judge: &Judge, kind: &Kind, damage: Damage, runs: bool) -> Option<Cell> {
    let file = file_of(kind, &judge.world.files())?;
    let changed = damage.apply(&judge.world.folder().join(&file));
    changed.then(|| judge.cell(kind, &file, runs))
}

/// All damages of every third kind by `verify`, chosen ones by a run: each comes to what docs/damage.md says.
fn damage_comes_to_what_the_table_says(third: usize) {
    let Some(world) = World::make(&format!("damage{third}")) else { return };
    covered(&world);
    let judge = Judge::new(&world);
    let table = Table::read();
    table.has_all();
    let mut others = Vec::new();
    for kind in KINDS.iter().skip(third).step_by(3) {
        world.restore();
        let file = file_of(kind, &world.files());
        for damage in ALL {
            let runs = kind.often.contains(&damage);
            let cell = damaged(&judge, kind, damage, runs);
            others.extend(table.others(kind, damage, cell.as_ref()));
            match &file {
                Some(file) if !runs => world.put_back(file),
                _ => world.restore(),
            }
        }
    }
    assert!(others.is_empty(), "not as docs/damage.md says: {}", others.join("\n"));
}

// Three walks beside each other: one alone takes eight minutes on a slow machine, and the runner ends it after ten.
#[test]
fn the_first_of_each_three_kinds() {
    damage_comes_to_what_the_table_says(0);
}

#[test]
fn the_second_of_each_three_kinds() {
    damage_comes_to_what_the_table_says(1);
}

#[test]
fn the_third_of_each_three_kinds() {
    damage_comes_to_what_the_table_says(2);
}

/// All damages of all kinds by both, and repairs.
#[test]
#[ignore = "twenty minutes"]
fn the_whole_walk() {
    let cases: Vec<_> = KINDS.iter().flat_map(|kind| ALL.map(|damage| (kind, damage))).collect();
    let (left, found) = (Mutex::new(cases.into_iter()), Mutex::new(Table::default()));
    let walk = |number: usize| {
        let Some(world) = World::make(&format!("walk{number}")) else { return };
        covered(&world);
        let judge = Judge::new(&world);
        loop {
            let next = left.lock().unwrap().next();
            let Some((kind, damage)) = next else { return };
            world.restore();
            let cell = damaged(&judge, kind, damage, true);
            println!("{}, {}: {cell:?}", kind.name, damage.name());
            found.lock().unwrap().put(kind, damage, cell);
        }
    };
    std::thread::scope(|scope| {
        (0..WALKS).for_each(|number| {
            let walk = &walk;
            scope.spawn(move || walk(number));
        });
    });
    let found = found.into_inner().unwrap();
    if found.is_empty() {
        return;
    }
    found.compare_or_write();
}
