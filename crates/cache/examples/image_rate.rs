//! How fast an image is written and read: `image_rate FILE MIB VALUE_OCTETS THREADS`.
//!
//! Fills a store of MIB with items of VALUE_OCTETS, writes it to FILE, reads it into another one, and says how long
//! each took. On a RAM disk the sync costs next to nothing.

use std::path::Path;
use std::time::Instant;
use trunkline_cache::job::ImageFile;
use trunkline_cache::store::{Decision, Put, Rules, Store, Touch, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = || words.next().ok_or("image_rate FILE MIB VALUE_OCTETS THREADS");
    let path = word()?;
    let (mib, octets, threads): (u64, usize, usize) = (word()?.parse()?, word()?.parse()?, word()?.parse()?);
    let rules = Rules { limit_octets: mib << 20, ..Rules::default() };
    let (before, value) = (Store::new(rules), vec![b'x'; octets]);
    let mut writer = before.writer();
    let items = (mib << 20) * 9 / 10 / (octets as u64 + 60);
    for n in 0..items {
        let key = format!("k{n:031}");
        writer.change(key.as_bytes(), Value::Octets(&value), 10, |_, _| (Decision::Put(Put::default()), ()))?;
        if n % 3 == 0 {
            writer.read(key.as_bytes(), 10, Touch::Yes, |_| ());
        }
    }
    drop(writer);
    let began = Instant::now();
    let saved = ImageFile::claim(Path::new(&path))?.save(&before, 10, threads, &mut |_, _| ())?;
    tell("written", saved.items, saved.octets, began);
    drop(before);
    let after = Store::new(rules);
    let file = ImageFile::claim(Path::new(&path))?;
    let began = Instant::now();
    let recalled = file.load(&after, threads, &mut |_, _| ())?.ok_or("no image")?;
    tell("read", recalled.items, recalled.octets, began);
    file.take_away()?;
    Ok(())
}

fn tell(what: &str, items: u64, octets: u64, began: Instant) {
    let seconds = began.elapsed().as_secs_f64();
    let mib = octets as f64 / f64::from(1 << 20);
    println!("{what}: {items} items, {mib:.0} MiB, {seconds:.2} s, {:.0} MiB/s", mib / seconds);
}
