//! A damaged log is looked through, and mended by order of a person: what is whole stays, what is gone becomes gaps.
//!
//! A gap has the numbers of the records that are gone, so that none is used again, and where it stands between whole
//! blocks it takes exactly their room, so that each record behind it keeps its [`Place`](crate::Place). A record that
//! is whole and cannot be there becomes zeros in its block. A damaged file stays beside the mended one as
//! `NAME.damaged`. Whatever ends a repair in the middle, another one goes on; after it nothing is left to do.

use core::cmp::Ordering;
use core::ops::{Range, RangeInclusive};

use crate::block::{self, GAP_RECORDS_MAX, HEAD_OCTETS, Head};
use crate::disk::Disk;
use crate::durable::Durable;
use crate::fault::{Fault, Gone, Witness};
use crate::filling::{clear, fill, gaps};
use crate::identity::{self, LogId};
use crate::mark::Mark;
use crate::name::{self, Kind};
use crate::read::{End, SEGMENT_HEAD_OCTETS, Segment, salt_of, segments, whole};
use crate::snapshot::{Keep, Snapshot, openings};
use crate::walk::own;

/// Records that a log has given up at most, now and before: more are not believed.
pub const LOST_MAX: u64 = 1 << 28;
/// What is told of records that are whole and cannot be where they are, and of how many places with such at most.
const UNFIT: &str = "a record that cannot be there";
const ALSO_MAX: usize = 10_000;
/// How names of segments end.
const SEGMENT_END: &str = ".log";
/// Copies of a damaged file that are kept.
const KEPT: u32 = 100;
/// Octets that are written at once.
const PIECE: usize = 1 << 20;
/// Octets of the first block of a segment with which its salt is looked for.
const SOUGHT: usize = 256 << 10;

/// Who is shown records with their numbers: one by one, and none for all of a range that are gone.
pub type Show<'s> = dyn FnMut(RangeInclusive<u64>, Option<&[u8]>) -> Result<(), String> + 's;

/// As [`Show`], of who says as well whether a record can be where it is.
pub type Judge<'s> = dyn FnMut(RangeInclusive<u64>, Option<&[u8]>) -> Result<Judged, String> + 's;

/// What a reader says of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It was taken.
    Taken,
    /// It is whole and cannot be where it is: why. It was taken as one that is gone.
    Unfit(String),
}

/// What is gone of a log.
#[derive(Debug, Default)]
pub struct Survey {
    /// Records that are gone, in order.
    pub lost: Vec<Gone>,
    /// Records that an earlier repair gave up.
    pub given_up: Vec<(u64, u64)>,
    /// The number that the next record gets.
    pub next: u64,
    /// What else is wrong.
    pub also: Vec<Fault>,
    log: Option<LogId>,
    works: Vec<Work>,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Files that were written.
    pub written: Vec<String>,
    /// Damaged ones that were kept, under these names.
    pub kept: Vec<String>,
}

/// What a repair does.
#[derive(Debug)]
enum Work {
    /// A segment whose name is another's gets its own.
    Rename { name: String, first: u64 },
    /// A segment is written anew.
    Mend(Mend),
    /// A segment that is not there is made of a gap, or of nothing.
    Make { first: u64, last: u64 },
    /// A snapshot that is damaged is put aside.
    Aside(String),
}

#[derive(Debug, Default)]
struct Mend {
    name: String,
    first: u64,
    salt: u64,
    /// The log that the salt says.
    log: Option<LogId>,
    /// Gaps between whole blocks: their place, their octets and their records.
    gaps: Vec<(u64, u64, u64, u64)>,
    /// Where the last whole block ends, behind which nothing counts.
    end: u64,
    /// The last record of a gap there.
    tail: Option<(u64, u64)>,
    /// Records of whole blocks that become zeros: where the block is, and they are.
    unfit: Vec<(u64, Range<u64>)>,
}

impl Survey {
    /// Whether nothing is to be done.
    pub fn is_whole(&self) -> bool {
        self.works.is_empty() && self.lost.is_empty() && self.also.is_empty()
    }

    /// How many records are gone.
    pub fn lost(&self) -> u64 {
        self.lost.iter().map(|gone| gone.to - gone.from + 1).sum()
    }
}

/// Looks through all segments of a log, and shows each record with its number, none for those that are gone. Beside a
/// process that writes it, the last records may be missing.
///
/// # Errors
/// The disk fails, records stand twice, more are gone than is believed, or `see` refuses one.
pub fn survey<D: Disk>(disk: &D, keep: Keep, witnesses: &[Witness], see: &mut Show<'_>) -> Result<Survey, Fault> {
    survey_judged(disk, keep, witnesses, &mut |numbers, record| see(numbers, record).map(|()| Judged::Taken))
}

/// The same with a reader who says which records cannot be where they are, though their block is whole: these count as
/// gone, and a repair puts zeros in their place, so that all others of the block stay.
///
/// # Errors
/// As [`survey`].
pub fn survey_judged<D: Disk>(
    disk: &D,
    keep: Keep,
    witnesses: &[Witness],
    see: &mut Judge<'_>,
) -> Result<Survey, Fault> {
    let durable = Durable::of(disk, witnesses)?;
    let (mut found, log) = (candidates(disk)?, LogId::of(disk)?);
    own(disk, &found)?;
    let (survey, next) = (Survey { log, ..Survey::default() }, first_of(disk, keep)?);
    // What a crash left of segments that an opening stands for is a start's to remove.
    let needless = found.windows(2).take_while(|pair| keep == Keep::All && pair[1].0 <= next).count();
    found.drain(..needless);
    let mut looking = Looking { survey, next, log, before: None, gone: 0, see };
    looking.doubles(&mut found)?;
    let mut marked = false;
    for (at, (first, name)) in found.iter().enumerate() {
        let behind = found.get(at + 1).map(|(first, _)| *first);
        looking.missing(*first, name)?;
        looking.before = None;
        marked = looking.segment(disk, name, *first, behind, durable.last())?;
    }
    looking.ending(&durable)?;
    if found.is_empty() {
        looking.nothing();
    }
    let Looking { mut survey, next, .. } = looking;
    survey.next = next;
    survey.also.extend(durable.no_mark(marked));
    for snapshot in Snapshot::all(disk)?.into_iter().chain(openings(disk)?) {
        if let Err(fault) = snapshot.check(disk) {
            survey.also.push(fault);
            survey.works.push(Work::Aside(snapshot.name().to_owned()));
        }
    }
    Ok(survey)
}

/// The first record that there is to be.
fn first_of<D: Disk>(disk: &D, keep: Keep) -> Result<u64, Fault> {
    // One that is damaged stands for nothing: it is put aside, and what it stood for is gone.
    let opening = Snapshot::opening(disk)?.filter(|opening| opening.check(disk).is_ok());
    let opening = opening.map_or(0, |opening| opening.last);
    let whole = Snapshot::all(disk)?.into_iter().rev().find(|snapshot| snapshot.check(disk).is_ok());
    let oldest = whole.map_or(0, |oldest| oldest.last);
    Ok(match keep {
        Keep::All => opening + 1,
        Keep::Needed => {
            let there = segments(disk)?.first().map_or(u64::MAX, |(first, _)| *first);
            there.min(oldest + 1)
        }
    })
}

/// All segments by the number of their first record, which is that of their head where it can be read.
fn candidates<D: Disk>(disk: &D) -> Result<Vec<(u64, String)>, Fault> {
    let mut found = Vec::new();
    for name in disk.list().map_err(Fault::io("the folder"))? {
        let named = match name::kind(&name) {
            Kind::Segment(named) | Kind::Found(named) => Some(named),
            // Somebody gave it a name that none has: its head is believed alone.
            Kind::Foreign if name.ends_with(SEGMENT_END) => None,
            _ => continue,
        };
        let file = disk.open(&name).map_err(Fault::io(&name))?;
        let mut head = [0; SEGMENT_HEAD_OCTETS];
        disk.read(&file, 0, &mut head).map_err(Fault::io(&name))?;
        let told = u64::from_le_bytes(head[16..24].try_into().expect("eight octets"));
        let first = if salt_of(&head, told).is_some() { Some(told) } else { named };
        found.extend(first.map(|first| (first, name)));
    }
    found.sort();
    Ok(found)
}

struct Looking<'s> {
    survey: Survey,
    next: u64,
    log: Option<LogId>,
    /// The segment before, and where its blocks end.
    before: Option<(String, u64)>,
    /// Records that are gone so far, those that an earlier repair gave up among them.
    gone: u64,
    see: &'s mut Judge<'s>,
}

impl Looking<'_> {
    /// Records are gone, and who reads is told so.
    fn lose(&mut self, gone: Gone) -> Result<(), Fault> {
        self.believe(&gone)?;
        let refused = |why| Fault::Refused { number: gone.from, why };
        (self.see)(gone.from..=gone.to, None).map_err(refused)?;
        self.next = gone.to + 1;
        self.survey.lost.push(gone);
        Ok(())
    }

    /// That not more is gone than is believed.
    fn believe(&mut self, gone: &Gone) -> Result<(), Fault> {
        self.gone = self.gone.saturating_add((gone.to - gone.from).saturating_add(1));
        if self.gone > LOST_MAX {
            let what =
                format!("records {} to {} are gone, and {LOST_MAX} of a log can be given up", gone.from, gone.to);
            return Err(Fault::damaged(&gone.name, gone.at, what));
        }
        Ok(())
    }

    /// Of two that begin with one record the one that has its name counts, if the other one only came here by a repair
    /// that was ended.
    fn doubles(&mut self, found: &mut Vec<(u64, String)>) -> Result<(), Fault> {
        let named: Vec<u64> =
            found.iter().filter(|(first, name)| *name == name::segment(*first)).map(|(first, _)| *first).collect();
        found.retain(|(first, name)| {
            let left = *name == name::found(*first) && named.contains(first);
            if left {
                self.survey.works.push(Work::Aside(name.clone()));
            }
            !left
        });
        match found.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(()),
            Some(pair) => {
                Err(Fault::damaged(&pair[1].1, 0, format!("it begins with the same record as {}", pair[0].1)))
            }
        }
    }

    /// Where records are gone behind the last that were whole.
    fn place(&self) -> (String, u64, &'static str) {
        let there = self.before.clone().map(|(name, at)| (name, at, ""));
        there.unwrap_or_else(|| (name::segment(self.next), 0, "the segment is not there"))
    }

    /// A segment is missing before this one.
    fn missing(&mut self, first: u64, name: &str) -> Result<(), Fault> {
        if first < self.next {
            let what = format!("it begins with record {first}, and others end with {}", self.next - 1);
            return Err(Fault::damaged(name, 0, what));
        }
        if first > self.next {
            let (from, to, resumes) = (self.next, first - 1, Some(first));
            self.survey.works.push(Work::Make { first: from, last: to });
            let ((name, at, what), witnesses) = (self.place(), Vec::new());
            self.lose(Gone { name, at, what, from, to, last: to, resumes, witnesses })?;
        }
        Ok(())
    }

    /// Looks through one; whether it was made beside a mark.
    fn segment<D: Disk>(
        &mut self,
        disk: &D,
        name: &str,
        first: u64,
        behind: Option<u64>,
        durable: u64,
    ) -> Result<bool, Fault> {
        let octets = whole(disk, name, Vec::new()).map_err(Fault::io(name))?;
        let known = octets.first_chunk().and_then(|head| salt_of(head, first));
        let sought = known.or_else(|| seek_salt(&octets, first));
        let (new, _) = identity::segment(self.log, first, || disk.salt());
        let (sought, is_new) = (sought.unwrap_or(new), sought == Some(new) || sought.is_none());
        let named = self.log.filter(|_| is_new);
        let segment = Segment::of(name, octets, sought, first);
        let mut mend = Mend { name: name.to_owned(), first, salt: sought, log: named, ..Mend::default() };
        let end = self.blocks(&segment, &mut mend)?;
        (mend.end, self.before) = (end.at, Some((name.to_owned(), end.at)));
        // What a crash cut off is a start's to wipe: only what is behind a damaged place, or should have been there.
        let to = behind.map_or(durable, |behind| behind - 1);
        let falls_short = to >= self.next;
        if falls_short && self.next == first {
            mend.tail = Some((first, to));
            let (at, what) = match known {
                None => (0, "the head of the segment is damaged"),
                Some(_) => (end.at, "no block is whole"),
            };
            let (name, resumes, witnesses) = (name.to_owned(), behind, Vec::new());
            self.lose(Gone { name, at, what, from: first, to, last: to, resumes, witnesses })?;
        }
        let dirty = falls_short && !segment.is_clean_after(end);
        if known.is_none() || !mend.gaps.is_empty() || !mend.unfit.is_empty() || mend.tail.is_some() || dirty {
            if known.is_none() && mend.tail.is_none() {
                self.survey.also.push(Fault::damaged(name, 0, "the head of the segment is damaged"));
            }
            self.survey.works.push(Work::Mend(mend));
        } else if name::kind(name) != Kind::Segment(first) {
            self.survey.also.push(Fault::damaged(name, 0, format!("it begins with record {first}")));
            self.survey.works.push(Work::Rename { name: name.to_owned(), first });
        }
        Ok(segment.is_marked())
    }

    /// Shows the whole blocks of a segment; where they end.
    fn blocks(&mut self, segment: &Segment, mend: &mut Mend) -> Result<End, Fault> {
        let mut end = segment.begin();
        loop {
            while let Some((head, records)) = segment.block(end)? {
                self.block(&head, records, (&segment.name, end), mend)?;
                end = End { next: head.next(), at: end.at + head.block_octets() as u64 };
            }
            let Some(resumes) = segment.resumes(end) else { return Ok(end) };
            if resumes.next < end.next {
                let what = format!("records from {} on stand twice", resumes.next);
                return Err(Fault::damaged(&segment.name, resumes.at, what));
            }
            // Damage leaves the room of the blocks that had them at least: what is behind less was never written so.
            let room = (resumes.at - end.at) / HEAD_OCTETS as u64;
            if room == 0 || resumes.next - end.next > room.saturating_mul(u64::from(GAP_RECORDS_MAX)) {
                let what = format!("record {} is where record {} should be", resumes.next, end.next);
                return Err(Fault::damaged(&segment.name, resumes.at, what));
            }
            let count = resumes.next - end.next;
            mend.gaps.push((end.at, resumes.at - end.at, end.next, count));
            if count > 0 {
                let (name, from, to) = (segment.name.clone(), end.next, resumes.next - 1);
                let (what, resumes, witnesses) = ("", Some(resumes.next), Vec::new());
                self.lose(Gone { name, at: end.at, what, from, to, last: to, resumes, witnesses })?;
            }
            end = resumes;
        }
    }

    fn block(&mut self, head: &Head, records: &[u8], (name, at): (&str, End), mend: &mut Mend) -> Result<(), Fault> {
        if head.gap {
            self.next = head.next();
            return if head.count > 0 { self.gave_up(head, name, at) } else { Ok(()) };
        }
        let (mut number, mut seen, mut unfit) = (head.first, Ok(()), Vec::new());
        let mut begins = at.at + HEAD_OCTETS as u64;
        let whole = head.each(records, |record| {
            begins += block::record_octets(0) as u64;
            let place = begins..begins + record.len() as u64;
            if seen.is_ok() {
                match (self.see)(number..=number, Some(record)) {
                    Ok(Judged::Taken) => {}
                    Ok(Judged::Unfit(why)) => unfit.push((number, why, place.clone())),
                    Err(why) => seen = Err(Fault::Refused { number, why }.of_block(name, at.at)),
                }
            }
            (number, begins) = (number + 1, place.end);
        });
        self.next = head.next();
        seen?;
        whole.map_err(|_| Fault::damaged(name, at.at, "the records of a block do not follow each other"))?;
        unfit.into_iter().try_for_each(|(number, why, place)| {
            mend.unfit.push((at.at, place));
            self.unfit(number, why, (name, at))
        })
    }

    /// A record that cannot be where it is. Those that follow each other are told together: a segment that came here
    /// from elsewhere can have millions.
    fn unfit(&mut self, number: u64, why: String, (name, at): (&str, End)) -> Result<(), Fault> {
        self.gone = self.gone.saturating_add(1);
        let (from, to, last, resumes, witnesses) = (number, number, number, Some(number + 1), Vec::new());
        let gone = Gone { name: name.to_owned(), at: at.at, what: UNFIT, from, to, last, resumes, witnesses };
        if self.gone > LOST_MAX {
            return Err(too_many(name, End { next: number, at: at.at }));
        }
        let before = self.survey.lost.last_mut();
        if let Some(before) = before.filter(|gone| gone.what == UNFIT && gone.name == name && gone.to + 1 == number) {
            (before.to, before.last, before.resumes) = (to, last, resumes);
            return Ok(());
        }
        match self.survey.also.len().cmp(&ALSO_MAX) {
            Ordering::Less => self.survey.also.push(Fault::Refused { number, why }.of_block(name, at.at)),
            Ordering::Equal => self.survey.also.push(Fault::damaged(name, at.at, "and more like these from here on")),
            Ordering::Greater => {}
        }
        self.survey.lost.push(gone);
        Ok(())
    }

    /// Records that an earlier repair gave up.
    fn gave_up(&mut self, head: &Head, name: &str, at: End) -> Result<(), Fault> {
        let (from, to) = (head.first, head.next() - 1);
        match self.survey.given_up.last_mut().filter(|(_, last)| last + 1 == from) {
            Some((_, last)) => *last = to,
            None => self.survey.given_up.push((from, to)),
        }
        self.gone = self.gone.saturating_add(u64::from(head.count));
        if self.gone > LOST_MAX {
            return Err(too_many(name, at));
        }
        (self.see)(from..=to, None).map(drop).map_err(|why| Fault::Refused { number: from, why })
    }

    /// There is no segment: where a snapshot stands for all that was, none of its records is gone, and the next one
    /// has no place.
    fn nothing(&mut self) {
        let first = self.next;
        if first > 1 && self.survey.lost.is_empty() {
            self.survey.also.push(Fault::damaged(&name::segment(first), 0, "there is no segment"));
            self.survey.works.push(Work::Make { first, last: first - 1 });
        }
    }

    /// The log ends before what is known to have been durable.
    fn ending(&mut self, durable: &Durable) -> Result<(), Fault> {
        let (name, at, _) = self.place();
        let Err(Fault::Gone(gone)) = durable.check(&name, End { next: self.next, at }) else { return Ok(()) };
        self.survey.works.push(Work::Make { first: gone.from, last: gone.to });
        self.lose(*gone)
    }
}

/// That a log has given up more records than is believed.
pub fn too_many(name: &str, at: End) -> Fault {
    let what = format!("the records from {} on were given up, and {LOST_MAX} of a log can be", at.next);
    Fault::damaged(name, at.at, what)
}

/// The salt of a segment whose head is damaged: the octets where it stood, or those with one changed, if a block fits
/// it.
fn seek_salt(octets: &[u8], first: u64) -> Option<u64> {
    let stood: [u8; 8] = *octets.get(8..16)?.first_chunk()?;
    let block = octets.get(SEGMENT_HEAD_OCTETS..)?;
    let salt = u64::from_le_bytes(stood);
    let head = Head::of(block).filter(|head| head.first == first && head.octets <= SOUGHT);
    let fits = |salt: &u64| head.is_some_and(|head| head.records(block, *salt).is_some());
    let changed = (0..8).flat_map(|at| (1..=255_u64).map(move |by| salt ^ by << (at * 8)));
    let begin = || Segment::of("", octets.to_vec(), salt, first);
    std::iter::once(salt).chain(changed).find(fits).or_else(|| {
        let segment = begin();
        segment.resumes(segment.begin()).map(|_| salt)
    })
}

/// Mends a log that nobody else has open, as a survey says that was made of it.
///
/// # Errors
/// The disk fails; another survey and repair go on.
pub fn repair<D: Disk>(disk: &D, survey: &Survey) -> Result<Repaired, Fault> {
    let mut done = Repaired::default();
    // A name that is another segment's is freed before that one is written.
    for work in &survey.works {
        if let Work::Rename { name, first } | Work::Mend(Mend { name, first, .. }) = work
            && let Some(found) = misplaced(name, *first)
        {
            disk.rename(name, &found).map_err(Fault::io(name))?;
        }
    }
    for work in &survey.works {
        match work {
            Work::Rename { name, first } => {
                let (found, own) = (misplaced(name, *first), name::segment(*first));
                let from = found.as_ref().unwrap_or(name);
                disk.rename(from, &own).map_err(Fault::io(from))?;
                done.written.push(own);
            }
            Work::Mend(mend) => mend_segment(disk, mend, &mut done)?,
            Work::Make { first, last } => {
                let (salt, head) = identity::segment(survey.log, *first, || disk.salt());
                let (name, mut octets) = (name::segment(*first), head.to_vec());
                octets.extend(gaps(*first, *last, salt));
                put(disk, &name, &octets)?;
                done.written.push(name);
            }
            Work::Aside(name) => {
                let aside = free(disk, name)?;
                disk.rename(name, &aside).map_err(Fault::io(name))?;
                done.kept.push(aside);
            }
        }
    }
    if !survey.is_whole() {
        Mark::set(disk, survey.next - 1)?;
    }
    Ok(done)
}

/// What a segment is called until it has its own name; none if it has it, or this one.
fn misplaced(name: &str, first: u64) -> Option<String> {
    let placed = matches!(name::kind(name), Kind::Segment(named) | Kind::Found(named) if named == first);
    (!placed).then(|| name::found(first))
}

fn mend_segment<D: Disk>(disk: &D, mend: &Mend, done: &mut Repaired) -> Result<(), Fault> {
    let (from, own) =
        (misplaced(&mend.name, mend.first).unwrap_or_else(|| mend.name.clone()), name::segment(mend.first));
    let mut octets = whole(disk, &from, Vec::new()).map_err(Fault::io(&from))?;
    keep(disk, &own, &octets, done)?;
    let end = usize::try_from(mend.end).unwrap_or(usize::MAX).min(octets.len());
    octets[end..].fill(0);
    octets.resize(octets.len().max(SEGMENT_HEAD_OCTETS), 0);
    let (_, head) = identity::segment(mend.log, mend.first, || mend.salt);
    octets[..SEGMENT_HEAD_OCTETS].copy_from_slice(&head);
    for (block, record) in &mend.unfit {
        clear(&mut octets, *block, record, mend.salt);
    }
    for gap in &mend.gaps {
        fill(&mut octets, *gap, mend.salt);
    }
    if let Some((first, last)) = mend.tail {
        octets.truncate(SEGMENT_HEAD_OCTETS);
        octets.extend(gaps(first, last, mend.salt));
    }
    put(disk, &own, &octets)?;
    if from != own {
        disk.remove(&from).map_err(Fault::io(&from))?;
    }
    done.written.push(own);
    Ok(())
}

/// Keeps a copy of what a file holds, unless there is one.
fn keep<D: Disk>(disk: &D, name: &str, octets: &[u8], done: &mut Repaired) -> Result<(), Fault> {
    let aside = free(disk, name)?;
    let before = (1..).map(|number| kept(name, number)).take_while(|kept| *kept != aside).last();
    if let Some(before) = before
        && whole(disk, &before, Vec::new()).map_err(Fault::io(&before))? == octets
    {
        return Ok(());
    }
    put(disk, &aside, octets)?;
    done.kept.push(aside);
    Ok(())
}

/// A name beside a file under which nothing is kept yet.
fn free<D: Disk>(disk: &D, name: &str) -> Result<String, Fault> {
    let names = disk.list().map_err(Fault::io("the folder"))?;
    let free = (1..=KEPT).map(|number| kept(name, number)).find(|kept| !names.contains(kept));
    free.ok_or_else(|| Fault::Option(format!("{name}: {KEPT} damaged copies are kept already, put some elsewhere")))
}

fn kept(name: &str, number: u32) -> String {
    if number == 1 { format!("{name}.damaged") } else { format!("{name}.damaged-{number}") }
}

/// Writes a file in place of what has its name; where that fails, as the disk is full, nothing new is left there.
pub(crate) fn put<D: Disk>(disk: &D, name: &str, octets: &[u8]) -> Result<(), Fault> {
    put_in_place(disk, name, octets).inspect_err(|_| {
        // If this fails, too, the next start does it.
        let _ = disk.remove(name::NEXT);
    })
}

fn put_in_place<D: Disk>(disk: &D, name: &str, octets: &[u8]) -> Result<(), Fault> {
    let file = disk.make(name::NEXT, 0).map_err(Fault::io(name::NEXT))?;
    for (at, piece) in (0..).zip(octets.chunks(PIECE)) {
        disk.write(&file, at * PIECE as u64, piece).map_err(Fault::io(name))?;
    }
    disk.sync(&file).and_then(|()| disk.rename(name::NEXT, name)).map_err(Fault::io(name))
}
