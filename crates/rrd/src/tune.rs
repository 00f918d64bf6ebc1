//! Changes of what a file holds: bounds, heartbeat, name and type of a data source, rows of an archive.

use crate::archive::Archive;
use crate::create::bound;
use crate::fault::Fault;
use crate::file::check_size;
use crate::number::UNKNOWN;
use crate::shape::{
    DS_DEF, DS_PARAMETERS, NAME, ROWS_MAX, RRA_DEF, STAT_HEAD, Shape, SourceKind, is_source_name, word,
};

/// A change, as `rrdtool tune` and `rrdtool resize` make it.
#[derive(Clone, Debug, PartialEq)]
pub enum Tune {
    /// Another heartbeat of a data source, in seconds.
    Heartbeat(String, u64),
    /// Another lower bound, or `U` for none.
    Min(String, String),
    /// Another upper bound, or `U` for none.
    Max(String, String),
    /// Another type; the last reading is forgotten. A computed one stays one, and no other becomes one.
    Kind(String, SourceKind),
    /// Another name.
    Rename(String, String),
    /// Another number of rows of an archive: the oldest go, or unknown ones are put before them.
    Rows(usize, u64),
}

/// A whole file with changes.
///
/// # Errors
/// [`Fault`]: it is no such file, or a change cannot be; the text says which.
pub fn tune(octets: &[u8], changes: &[Tune]) -> Result<Vec<u8>, Fault> {
    let mut octets = octets.to_vec();
    for change in changes {
        let archive = Archive::open(&octets)?;
        if (octets.len() as u64) < archive.shape().file_octets {
            return Err(Fault::format(octets.len() as u64, "the file ends here, before its last row"));
        }
        octets = match change {
            Tune::Rows(ring, rows) => resized(&archive, &octets, *ring, *rows)?,
            change => changed(&archive, octets, change)?,
        };
    }
    Archive::open(&octets)?;
    Ok(octets)
}

fn changed(archive: &Archive, mut octets: Vec<u8>, change: &Tune) -> Result<Vec<u8>, Fault> {
    let shape = archive.shape();
    let (Tune::Heartbeat(name, _)
    | Tune::Min(name, _)
    | Tune::Max(name, _)
    | Tune::Kind(name, _)
    | Tune::Rename(name, _)) = change
    else {
        return Ok(octets);
    };
    let source = shape.source(name).ok_or_else(|| Fault::asked(format!("there is no data source '{name}'")))?;
    let computed = shape.sources[source].kind == SourceKind::Compute;
    if computed && !matches!(change, Tune::Rename(..)) {
        return Err(Fault::asked(format!("'{name}' is computed: it has no bounds and stays so")));
    }
    let definition = &mut octets[STAT_HEAD + source * DS_DEF..][..DS_DEF];
    let number = |text: &String| bound(text).map_err(Fault::Asked);
    match change {
        Tune::Heartbeat(_, seconds) => put(definition, 0, *seconds),
        Tune::Min(_, text) => put(definition, 8, number(text)?.to_bits()),
        Tune::Max(_, text) => put(definition, 16, number(text)?.to_bits()),
        Tune::Rename(_, new) => rename(shape, definition, new)?,
        Tune::Kind(_, SourceKind::Compute) => return Err(Fault::asked("no data source becomes a computed one")),
        Tune::Kind(_, kind) if *kind != shape.sources[source].kind => {
            write_text(&mut definition[NAME..2 * NAME], kind.name());
            let last = shape.still_octets + shape.live.pdp(source) * 8;
            octets[last..last + 5].copy_from_slice(b"UNKN\0");
        }
        Tune::Kind(..) | Tune::Rows(..) => {}
    }
    Ok(octets)
}

fn put(definition: &mut [u8], parameter: usize, value: u64) {
    definition[DS_PARAMETERS + parameter..][..8].copy_from_slice(&value.to_le_bytes());
}

fn rename(shape: &Shape, definition: &mut [u8], new: &str) -> Result<(), Fault> {
    if !is_source_name(new) || shape.source(new).is_some() {
        return Err(Fault::asked(format!("'{new}' is no name of a data source, or is one already")));
    }
    write_text(&mut definition[..NAME], new);
    Ok(())
}

fn write_text(room: &mut [u8], text: &str) {
    room.fill(0);
    room[..text.len()].copy_from_slice(text.as_bytes());
}

/// The newest row is the last one in the ring then.
fn resized(archive: &Archive, octets: &[u8], number: usize, rows: u64) -> Result<Vec<u8>, Fault> {
    let shape = archive.shape();
    let ring = shape.rings.get(number).ok_or_else(|| Fault::asked(format!("there is no archive {number}")))?;
    if !(1..=ROWS_MAX).contains(&rows) || !ring.consolidation.is_plain() {
        return Err(Fault::asked(format!("archive {number} cannot have {rows} rows")));
    }
    let row_octets = shape.sources.len() * 8;
    check_size(shape.file_octets - ring.rows * row_octets as u64 + rows * row_octets as u64)?;
    let (begin, end) = (ring.at as usize, ring.at as usize + ring.rows as usize * row_octets);
    let row = |place: u64| &octets[begin + (place % ring.rows) as usize * row_octets..][..row_octets];
    let oldest = archive.row(number) + 1;
    let mut out = octets[..begin].to_vec();
    let unknown = UNKNOWN.to_le_bytes().repeat(shape.sources.len());
    (ring.rows..rows).for_each(|_| out.extend_from_slice(&unknown));
    (ring.rows.saturating_sub(rows)..ring.rows).for_each(|place| out.extend_from_slice(row(oldest + place)));
    out.extend_from_slice(&octets[end..]);
    let definition = STAT_HEAD + shape.sources.len() * DS_DEF + number * RRA_DEF;
    debug_assert_eq!(word(&out, definition + 24), ring.rows);
    out[definition + 24..definition + 32].copy_from_slice(&rows.to_le_bytes());
    let pointer = shape.still_octets + shape.live.row(number) * 8;
    out[pointer..pointer + 8].copy_from_slice(&(rows - 1).to_le_bytes());
    Ok(out)
}
