//! A device as its managers see it: a datagram in, a datagram out.

use super::ber::{self, tag};
use super::mib::{Absent, View};
use super::{Farm, Fault};
use crate::random::Random;

/// What lets a manager in by versions 1 and 2c.
pub const COMMUNITY: &[u8] = b"public";
/// Octets of the longest answer.
const OCTETS_MAX: usize = 1472;
/// The same of a device with [`Fault::TooBig`].
const SHORT_OCTETS_MAX: usize = 484;
/// Questions and answers in a hundred that are lost by [`Fault::Lossy`].
const LOST_PERCENT: u64 = 20;
/// Octets of an answer beside its variables, at most.
const BESIDE_OCTETS: usize = 64;
const SLOW_MS: std::ops::RangeInclusive<i64> = 300..=900;
const SOUND_MS: u32 = 1;

mod kind {
    pub const GET: u8 = 0xa0;
    pub const GET_NEXT: u8 = 0xa1;
    pub const RESPONSE: u8 = 0xa2;
    pub const GET_BULK: u8 = 0xa5;
}

mod status {
    pub const NO_ERROR: u32 = 0;
    pub const TOO_BIG: u32 = 1;
    pub const NO_SUCH_NAME: u32 = 2;
}

/// What a device says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Silence,
    /// What was appended, after so many milliseconds.
    After(u32),
}

/// A question.
struct Request<'a> {
    kind: u8,
    id: i64,
    /// Of `GetBulk`: non-repeaters and max-repetitions.
    numbers: [i64; 2],
    variables: &'a [u8],
    /// Octets that the variables of the answer may take.
    room: usize,
}

impl Farm {
    /// What a device answers to a datagram at a moment. The answer is appended. `luck`, another one for each datagram,
    /// decides what is lost and how long it takes.
    pub fn answer(&self, device: usize, datagram: &[u8], at_ms: i64, luck: u64, out: &mut Vec<u8>) -> Answer {
        if device >= self.settings().devices {
            return Answer::Silence;
        }
        let view = View::new(self, device, at_ms);
        let from = out.len();
        if !self.is_reached(device, at_ms) || view.message(datagram, luck, out).is_none() {
            out.truncate(from);
            return Answer::Silence;
        }
        match view.fate_of(luck) {
            Some(ms) => Answer::After(ms),
            None => {
                out.truncate(from);
                Answer::Silence
            }
        }
    }
}

impl View<'_> {
    /// How long the answer takes; none if it, or the question, is lost.
    fn fate_of(&self, luck: u64) -> Option<u32> {
        let mut random = Random::of(self.farm.settings().seed ^ luck, self.device as u64);
        match self.fault {
            Some(Fault::Lossy) => (random.below(100) >= LOST_PERCENT).then_some(SOUND_MS),
            Some(Fault::Slow) => Some(random.between(*SLOW_MS.start(), *SLOW_MS.end()) as u32),
            _ => Some(SOUND_MS),
        }
    }

    fn message(&self, datagram: &[u8], luck: u64, out: &mut Vec<u8>) -> Option<()> {
        let mut message = ber::take_of(&mut &*datagram, tag::SEQUENCE)?;
        let version = ber::take_integer(&mut message)?;
        let speaks = match self.fault {
            Some(Fault::VersionOne) => version == 0,
            _ if self.farm.speaks_version_three_alone(self.device) => version == 3,
            _ => matches!(version, 0 | 1 | 3),
        };
        if !speaks {
            return None;
        }
        if version == 3 {
            return self.secured(datagram, luck, out);
        }
        let community = ber::take_of(&mut message, tag::OCTET_STRING)?;
        if community != COMMUNITY {
            return None;
        }
        let begun = out.len();
        ber::put_integer(out, tag::INTEGER, version);
        ber::put(out, tag::OCTET_STRING, community);
        self.answer_pdu(message, version, self.octets_max().saturating_sub(BESIDE_OCTETS), None, out)?;
        ber::wrap(out, begun, tag::SEQUENCE);
        Some(())
    }

    /// Appends the PDU that answers another one; with that error if there is one.
    pub(super) fn answer_pdu(
        &self,
        mut asked: &[u8],
        version: i64,
        room: usize,
        error: Option<u32>,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let (kind, mut body) = ber::take(&mut asked)?;
        if kind == kind::GET_BULK && version == 0 {
            return None;
        }
        let id = ber::take_integer(&mut body)?;
        let numbers = [ber::take_integer(&mut body)?, ber::take_integer(&mut body)?];
        let request = Request { kind, id, numbers, variables: ber::take_of(&mut body, tag::SEQUENCE)?, room };
        self.respond(&request, version == 0, error, out)
    }

    pub(super) fn octets_max(&self) -> usize {
        if self.fault == Some(Fault::TooBig) { SHORT_OCTETS_MAX } else { OCTETS_MAX }
    }

    /// Appends the PDU of the answer.
    fn respond(
        &self,
        request: &Request<'_>,
        is_first_version: bool,
        error: Option<u32>,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let mut variables = Vec::with_capacity(1024);
        let mut said = match request.kind {
            kind::GET => self.get_all(request.variables, is_first_version, &mut variables)?,
            kind::GET_NEXT => self.get_next(request.variables, is_first_version, &mut variables)?,
            kind::GET_BULK => self.get_bulk(request, &mut variables)?,
            _ => return None,
        };
        // As RFC 3416 section 4.2.1: what does not fit is told with no variables; version 1 gives back what it got.
        if variables.len() > request.room {
            said = (status::TOO_BIG, 0);
            variables.clear();
        }
        if let Some(error) = error {
            said = (error, 0);
            variables.clear();
            variables.extend_from_slice(request.variables);
        }
        if is_first_version && said.0 != status::NO_ERROR {
            variables.clear();
            variables.extend_from_slice(request.variables);
        }
        let begun = out.len();
        ber::put_integer(out, tag::INTEGER, request.id);
        ber::put_integer(out, tag::INTEGER, said.0.into());
        ber::put_integer(out, tag::INTEGER, said.1.into());
        ber::put(out, tag::SEQUENCE, &variables);
        ber::wrap(out, begun, kind::RESPONSE);
        Some(())
    }

    /// Error status and index.
    fn get_all(&self, mut asked: &[u8], is_first_version: bool, out: &mut Vec<u8>) -> Option<(u32, u32)> {
        let (mut name, mut place) = (Vec::new(), 0);
        while !asked.is_empty() {
            place += 1;
            let mut variable = ber::take_of(&mut asked, tag::SEQUENCE)?;
            let contents = ber::take_of(&mut variable, tag::OBJECT_IDENTIFIER)?;
            ber::arcs(contents, &mut name)?;
            let from = out.len();
            ber::put(out, tag::OBJECT_IDENTIFIER, contents);
            let value = out.len();
            let absent = self.get(&name, out).err();
            // Version 1 has no counters of 64 bits.
            if is_first_version && (absent.is_some() || out.get(value) == Some(&tag::COUNTER64)) {
                return Some((status::NO_SUCH_NAME, place));
            }
            match absent {
                Some(Absent::Object) => ber::put(out, tag::NO_SUCH_OBJECT, &[]),
                Some(Absent::Instance) => ber::put(out, tag::NO_SUCH_INSTANCE, &[]),
                None => {}
            }
            ber::wrap(out, from, tag::SEQUENCE);
        }
        Some((status::NO_ERROR, 0))
    }

    fn get_next(&self, mut asked: &[u8], is_first_version: bool, out: &mut Vec<u8>) -> Option<(u32, u32)> {
        let (mut name, mut place) = (Vec::new(), 0);
        while !asked.is_empty() {
            place += 1;
            let mut variable = ber::take_of(&mut asked, tag::SEQUENCE)?;
            ber::arcs(ber::take_of(&mut variable, tag::OBJECT_IDENTIFIER)?, &mut name)?;
            if !self.put_next(&mut name, is_first_version, out) && is_first_version {
                return Some((status::NO_SUCH_NAME, place));
            }
        }
        Some((status::NO_ERROR, 0))
    }

    /// Appends the next variable; one that says so if there is none.
    fn put_next(&self, name: &mut Vec<u32>, is_first_version: bool, out: &mut Vec<u8>) -> bool {
        let from = out.len();
        while self.next(name) {
            ber::put_name(out, name);
            let value = out.len();
            let is_there = self.get(name, out).is_ok();
            if is_there && !(is_first_version && out.get(value) == Some(&tag::COUNTER64)) {
                ber::wrap(out, from, tag::SEQUENCE);
                return true;
            }
            out.truncate(from);
        }
        ber::put_name(out, name);
        ber::put(out, tag::END_OF_MIB_VIEW, &[]);
        ber::wrap(out, from, tag::SEQUENCE);
        false
    }

    /// As many as fit.
    fn get_bulk(&self, request: &Request<'_>, out: &mut Vec<u8>) -> Option<(u32, u32)> {
        let [once, repetitions] = request.numbers.map(|number| number.max(0));
        let (mut asked, mut repeated, mut place) = (request.variables, Vec::new(), 0);
        while !asked.is_empty() {
            let mut variable = ber::take_of(&mut asked, tag::SEQUENCE)?;
            let mut name = Vec::new();
            ber::arcs(ber::take_of(&mut variable, tag::OBJECT_IDENTIFIER)?, &mut name)?;
            place += 1;
            if place <= once {
                self.put_next(&mut name, false, out);
            } else {
                repeated.push(name);
            }
        }
        for _ in 0..repetitions {
            let mut goes_on = false;
            for name in &mut repeated {
                let from = out.len();
                goes_on |= self.put_next(name, false, out);
                if out.len() > request.room {
                    out.truncate(from);
                    return Some((status::NO_ERROR, 0));
                }
            }
            if !goes_on {
                break;
            }
        }
        Some((status::NO_ERROR, 0))
    }
}
