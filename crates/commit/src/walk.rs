//! A log is gone along, segment by segment: the one place that tells records that are gone from an end that a crash cut
//! off. What is behind the last whole block is a cut end only if nothing whole follows it and nobody knows that more
//! was durable.

use core::ops::ControlFlow;

use crate::disk::Disk;
use crate::durable::Durable;
use crate::fault::{Fault, Gone};
use crate::identity::{LogId, head_of};
use crate::name;
use crate::read::{End, Seen, Segment, segments};
use crate::repair::{LOST_MAX, too_many};

/// How often a segment is read in which something is gone: one that is written to may be seen in between.
const READS: usize = 5;

/// How far it came.
pub struct Walked {
    /// The last segment, and where it ends; none if there is no segment.
    pub last: Option<(Segment, End)>,
    /// The number behind the last record that was shown, or the one that was wanted.
    next: u64,
}

impl Walked {
    /// The number behind the last record that was shown, or the one that was wanted.
    pub fn next(&self) -> u64 {
        self.next
    }
}

/// Shows the records from a number on, until `see` breaks off. Those that a repair gave up have no octets, and are no
/// more than a repair gives up.
pub fn walk<D: Disk>(
    disk: &D,
    from: u64,
    durable: &mut Durable,
    see: impl FnMut(u64, &[u8]) -> Result<ControlFlow<()>, Fault>,
) -> Result<Walked, Fault> {
    along(disk, from, durable, see).map_err(|fault| durable.tell(fault))
}

fn along<D: Disk>(
    disk: &D,
    from: u64,
    durable: &mut Durable,
    mut see: impl FnMut(u64, &[u8]) -> Result<ControlFlow<()>, Fault>,
) -> Result<Walked, Fault> {
    let (segments, own) = (segments(disk)?, LogId::said_by(disk)?);
    let mut going = Walked { last: None, next: from };
    let (mut before, mut given_up) = (None::<(String, End)>, 0);
    for (at, (first, name)) in segments.iter().enumerate() {
        if segments.get(at + 1).is_some_and(|(first, _)| *first <= from) {
            continue;
        }
        follows(before.as_ref(), from, *first, name)?;
        let behind = segments.get(at + 1).map(|(first, _)| *first);
        let memory = going.last.take().map_or_else(Vec::new, |(segment, _)| segment.into_memory());
        let segment = load(disk, name, memory, behind, durable.last())?;
        belongs(name, segment.log(), own.as_ref())?;
        let (mut shown, next) = (ControlFlow::Continue(()), &mut going.next);
        let mut one = |number: u64, record: &[u8]| {
            if number >= from && shown.is_continue() {
                shown = see(number, record)?;
                *next = number + 1;
            }
            Ok(shown.is_continue())
        };
        let mut see = |seen: Seen<'_>| {
            let (name, at, behind) = match seen {
                Seen::Record(number, record) => return one(number, record).map(drop),
                Seen::Gap { name, at, next } => (name, at, next),
            };
            let numbers = at.next.max(from)..behind;
            given_up += numbers.end.saturating_sub(numbers.start);
            if given_up > LOST_MAX {
                return Err(too_many(name, at));
            }
            for number in numbers {
                if !one(number, &[])? {
                    break;
                }
            }
            Ok(())
        };
        let (segment, end) = through(disk, segment, &mut see)?;
        before = Some((name.clone(), end));
        going.last = Some((segment, end));
        if shown.is_break() {
            return Ok(going);
        }
    }
    let (name, end) = before.unwrap_or_else(|| (name::segment(from), End { next: from, at: 0 }));
    if durable.check(&name, end).is_err() {
        durable.look_again(disk)?;
        durable.check(&name, end)?;
    }
    Ok(going)
}

/// That a segment is of the log that the newest one says, as far as both say so. Which of the two is to stay is for a
/// person to say, so both are named.
fn belongs(name: &str, of: Option<LogId>, own: Option<&(LogId, String)>) -> Result<(), Fault> {
    let Some((_, newest)) = own.filter(|(log, _)| of.is_some_and(|of| of != *log)) else { return Ok(()) };
    let what = format!(
        "it is a segment of another log than {newest}, the newest one: bring back what belongs together, or move away \
         what does not, which a repair then gives up"
    );
    Err(Fault::damaged(name, 0, what))
}

/// That none of these segments is of another log.
pub fn own<D: Disk>(disk: &D, found: &[(u64, String)]) -> Result<(), Fault> {
    let own = LogId::said_by(disk)?;
    found.iter().try_for_each(|(first, name)| {
        let of = head_of(disk, name)?.and_then(|head| LogId::of_segment(&head, *first));
        belongs(name, of, own.as_ref())
    })
}

/// That a segment begins where the one before it ended, or with what is wanted.
fn follows(before: Option<&(String, End)>, from: u64, first: u64, name: &str) -> Result<(), Fault> {
    let Some((before, end)) = before else {
        let wanted = End { next: from, at: 0 };
        return if first > from { Err(lost(name, wanted, first)) } else { Ok(()) };
    };
    match first.cmp(&end.next) {
        core::cmp::Ordering::Equal => Ok(()),
        core::cmp::Ordering::Greater => Err(lost(before, *end, first)),
        core::cmp::Ordering::Less => {
            let what = format!("it begins with record {first}, and the segment before it ends with {}", end.next - 1);
            Err(Fault::damaged(name, 0, what))
        }
    }
}

/// Reads a segment; one whose head is damaged holds the records from its name up to the next one.
fn load<D: Disk>(disk: &D, name: &str, memory: Vec<u8>, behind: Option<u64>, durable: u64) -> Result<Segment, Fault> {
    Segment::load(disk, name, memory).map_err(|fault| match (fault, name::kind(name)) {
        (Fault::Damaged { .. }, name::Kind::Segment(from)) => {
            let (what, to) = ("the head of the segment is damaged", behind.map_or(durable, |behind| behind - 1));
            let (name, at, resumes, to) = (name.to_owned(), 0, behind, to.max(from));
            Fault::gone(Gone { name, at, what, from, to, last: to, resumes, witnesses: Vec::new() })
        }
        (fault, _) => fault,
    })
}

/// Shows the records of a segment up to where it ends, behind which nothing whole is.
pub fn through<D: Disk>(
    disk: &D,
    mut segment: Segment,
    see: &mut impl FnMut(Seen<'_>) -> Result<(), Fault>,
) -> Result<(Segment, End), Fault> {
    let mut end = segment.begin();
    for left in (0..READS).rev() {
        end = segment.each_from(end, &mut *see)?;
        match segment.ends_at(end) {
            Ok(()) => break,
            Err(fault) if left == 0 => return Err(fault),
            Err(_) => {
                let name = segment.name.clone();
                segment = Segment::load(disk, &name, segment.into_memory())?;
            }
        }
    }
    Ok((segment, end))
}

/// That records are gone between an end and a record that is there.
pub fn lost(name: &str, end: End, resumes: u64) -> Fault {
    if resumes <= end.next {
        return Fault::damaged(name, end.at, format!("no block is there, and record {} is behind it", end.next));
    }
    let (name, from, to) = (name.to_owned(), end.next, resumes - 1);
    let (at, what, resumes, witnesses) = (end.at, "", Some(resumes), Vec::new());
    Fault::gone(Gone { name, at, what, from, to, last: to, resumes, witnesses })
}
