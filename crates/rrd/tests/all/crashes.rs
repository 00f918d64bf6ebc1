//! What was told to be stored is in the files after any end, and every file is whole: after power is lost at any write,
//! with any of the blocks since the last sync kept or not, and after kill -9.

use crate::power;
use std::path::PathBuf;

use power::World;
use proptest::prelude::*;
use trunkline_rrd::{Archive, Made, Options, Plan, Reading, Rows, Time, Value, Writer};

const START_S: i64 = 1_700_000_000;
fn plan() -> Plan {
    let definitions = [
        "DS:in:COUNTER:120:U:U",
        "DS:out:GAUGE:120:U:U",
        "RRA:AVERAGE:0.5:1:40",
        "RRA:MAX:0.5:1:40",
        "RRA:AVERAGE:0.5:5:30",
        "RRA:MAX:0.5:30:30",
    ];
    Plan::read(60, definitions).unwrap()
}

fn made(file: u64) -> Made {
    plan().create(START_S, |rows| file * 7 % rows).unwrap()
}

fn path(file: u64) -> PathBuf {
    PathBuf::from(format!("{file}.rrd"))
}

/// The sample with a number, of a file: times go on unevenly, readings are not always known.
fn sample(file: u64, number: u64) -> (Time, [Reading; 2]) {
    let seconds = START_S + number as i64 * 61 + (file as i64 * 13 + number as i64 * 7) % 40;
    let out = if number % 11 == 3 { Value::Unknown } else { Value::Float((number * file) as f64 / 8.0) };
    (Time::at(seconds), [Value::Unsigned(number * number * 1000), out])
}

/// What a file is after so many samples.
fn expected(file: u64, samples: u64) -> Vec<u8> {
    let Made { mut archive, still } = made(file);
    let mut octets = made(file).octets();
    let mut rows = Rows::default();
    for number in 1..=samples {
        let (time, values) = sample(file, number);
        archive.update(time, &values, &mut rows).unwrap();
    }
    for write in rows.writes(archive.shape()) {
        let words = (0..write.times).flat_map(|_| write.words);
        for (place, word) in words.enumerate() {
            let at = write.at as usize + place * 8;
            octets[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
    }
    let mut live = Vec::new();
    archive.write_live(&mut live);
    octets[still.len()..still.len() + live.len()].copy_from_slice(&live);
    octets
}

/// How many samples are in a file.
fn samples_in(file: u64, octets: &[u8]) -> u64 {
    let last = Archive::open(octets).unwrap().last();
    (0..).take_while(|number| *number == 0 || sample(file, *number).0 <= last).last().unwrap()
}

const FILES: u64 = 4;
const OPTIONS: Options = Options {
    together: 6,
    age_s: 1000,
    waiting_octets_max: 1 << 20,
    header_octets_max: 4000,
    files_per_sync_max: 3,
    redo_octets: 1 << 16,
};

#[derive(Clone, Debug)]
enum Act {
    Put { file: u64, samples: u64 },
    Due,
    All,
    One(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..FILES, 1..9u64).prop_map(|(file, samples)| Act::Put { file, samples }),
        4 => Just(Act::Due),
        1 => Just(Act::All),
        1 => (0..FILES).prop_map(Act::One),
    ]
}

struct Truth {
    put: [u64; FILES as usize],
    stored: [Time; FILES as usize],
}

/// Until the power is lost, if it is.
fn live(writer: &mut Writer<World>, acts: &[Act], truth: &mut Truth) -> Result<(), trunkline_rrd::Fault> {
    for act in acts {
        let flushed = match act {
            Act::Put { file, samples } => {
                for _ in 0..*samples {
                    truth.put[*file as usize] += 1;
                    let (time, values) = sample(*file, truth.put[*file as usize]);
                    writer.put(*file, time, &values, 0).unwrap();
                }
                continue;
            }
            Act::Due => writer.flush_due(0, |file| Some(path(file)))?,
            Act::All => writer.flush_all(|file| Some(path(file)))?,
            Act::One(file) => writer.flush(*file, |file| Some(path(file)))?,
        };
        flushed.stored.iter().for_each(|(file, time)| truth.stored[*file as usize] = *time);
        if let Some((_, fault)) = flushed.failed.into_iter().next() {
            return Err(fault);
        }
    }
    Ok(())
}

fn check(world: &World, truth: &Truth) {
    for file in 0..FILES {
        let octets = world.octets(&path(file));
        let last = Archive::open(&octets).unwrap().last();
        assert!(last >= truth.stored[file as usize], "file {file}: {last:?} of {:?}", truth.stored[file as usize]);
        assert!(octets == expected(file, samples_in(file, &octets)), "file {file} is not whole");
    }
}

/// As a journal does: all samples again, from the first on.
fn replay(writer: &mut Writer<World>, truth: &Truth) -> Result<(), trunkline_rrd::Fault> {
    for file in 0..FILES {
        for number in 1..=truth.put[file as usize] {
            let (time, values) = sample(file, number);
            writer.put(file, time, &values, 0).unwrap();
        }
    }
    writer.flush_all(|file| Some(path(file))).map(drop)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn files_are_whole_after_power_is_lost(
        lives in prop::collection::vec((prop::collection::vec(act(), 1..60), 0..400u32, 0..40u32, any::<u64>()), 1..4)
    ) {
        let world = World::default();
        (0..FILES).for_each(|file| world.put(&path(file), made(file).octets()));
        let mut truth = Truth { put: [0; FILES as usize], stored: [Time::at(START_S); FILES as usize] };
        for (acts, power, power_at_the_start, chance) in lives {
            // The start itself may lose power, too.
            world.last_for(power_at_the_start);
            if let Ok((mut writer, _)) = Writer::open(world.clone(), OPTIONS) {
                world.last_for(power);
                check(&world, &truth);
                if replay(&mut writer, &truth).is_ok() {
                    let _ = live(&mut writer, &acts, &mut truth);
                }
            }
            world.lose_power(chance);
        }
        let (mut writer, _) = Writer::open(world.clone(), OPTIONS).unwrap();
        check(&world, &truth);
        replay(&mut writer, &truth).unwrap();
        for file in 0..FILES {
            prop_assert!(world.octets(&path(file)) == expected(file, truth.put[file as usize]), "file {}", file);
        }
    }
}
