//! What a file holds, as its header says: data sources, archives, and where everything lies.
//!
//! The format is rrdtool's (`rrd_format.h` of 1.7): C structures as a little-endian machine of 64 bit lays them out.
//!
//! ```text
//! stat_head 128 | ds_def 120 each | rra_def 120 each | live_head 16 (8 before version 3)
//! | pdp_prep 112 each data source | cdp_prep 80 each archive and data source | rra_ptr 8 each archive
//! | rows of 8 each data source, archive by archive
//! ```

use crate::fault::Fault;
use crate::rpn::{COMPACT_OCTETS, Expression, unpack};

/// Data sources of a file.
// Limit: data sources of one round-robin file
// Beyond: the file is refused
// Seen in: the error message
pub const SOURCES_MAX: usize = 1024;
/// Archives of a file.
// Limit: archives of one round-robin file
// Beyond: the file is refused
// Seen in: the error message
pub const ARCHIVES_MAX: usize = 256;
/// Data sources times archives: what a header has room for in `cdp_prep`.
pub const CELLS_MAX: usize = 16 * 1024;
/// Rows of an archive.
// Limit: rows of one archive
// Beyond: the file is refused
// Seen in: the error message
pub const ROWS_MAX: u64 = 1 << 26;
/// Seconds of a step, and of a row.
pub const STEP_S_MAX: u64 = 1 << 32;

pub(crate) const STAT_HEAD: usize = 128;
pub(crate) const DS_DEF: usize = 120;
pub(crate) const RRA_DEF: usize = 120;
pub(crate) const NAME: usize = 20;
pub(crate) const COOKIE: &[u8; 4] = b"RRD\0";
pub(crate) const FLOAT_COOKIE: f64 = 8.642135E130;
/// Places of parameters in the definition of a data source and of an archive.
pub(crate) const DS_PARAMETERS: usize = 40;
pub(crate) const RRA_PARAMETERS: usize = 40;

/// What a data source's readings mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// Counts up, and wraps at 32 or 64 bits.
    Counter,
    /// What is since the last reading.
    Absolute,
    /// Is what it is.
    Gauge,
    /// Counts up or down.
    Derive,
    /// Made of the others.
    Compute,
    /// A counter of fractions; what goes back is a reset.
    DoubleCounter,
    /// As [`SourceKind::Derive`], of fractions.
    DoubleDerive,
}

impl SourceKind {
    /// All of them.
    pub const ALL: [SourceKind; 7] = [
        SourceKind::Counter,
        SourceKind::Absolute,
        SourceKind::Gauge,
        SourceKind::Derive,
        SourceKind::Compute,
        SourceKind::DoubleCounter,
        SourceKind::DoubleDerive,
    ];

    /// Its name in files and definitions.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SourceKind::Counter => "COUNTER",
            SourceKind::Absolute => "ABSOLUTE",
            SourceKind::Gauge => "GAUGE",
            SourceKind::Derive => "DERIVE",
            SourceKind::Compute => "COMPUTE",
            SourceKind::DoubleCounter => "DCOUNTER",
            SourceKind::DoubleDerive => "DDERIVE",
        }
    }

    /// By its name.
    #[must_use]
    pub fn named(name: &str) -> Option<SourceKind> {
        SourceKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// How an archive makes one value of several, or foretells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Consolidation {
    /// The mean.
    Average,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The last one.
    Last,
    /// Foretold by Holt and Winters' way, seasons added.
    HwPredict,
    /// The same, seasons multiplied.
    MhwPredict,
    /// What seasons add.
    Seasonal,
    /// How far values stray, foretold.
    DevPredict,
    /// How far values stray by season.
    DevSeasonal,
    /// Where values strayed too far too often.
    Failures,
}

impl Consolidation {
    /// All of them.
    pub const ALL: [Consolidation; 10] = [
        Consolidation::Average,
        Consolidation::Min,
        Consolidation::Max,
        Consolidation::Last,
        Consolidation::HwPredict,
        Consolidation::MhwPredict,
        Consolidation::Seasonal,
        Consolidation::DevPredict,
        Consolidation::DevSeasonal,
        Consolidation::Failures,
    ];

    /// Its name in files and definitions.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Consolidation::Average => "AVERAGE",
            Consolidation::Min => "MIN",
            Consolidation::Max => "MAX",
            Consolidation::Last => "LAST",
            Consolidation::HwPredict => "HWPREDICT",
            Consolidation::MhwPredict => "MHWPREDICT",
            Consolidation::Seasonal => "SEASONAL",
            Consolidation::DevPredict => "DEVPREDICT",
            Consolidation::DevSeasonal => "DEVSEASONAL",
            Consolidation::Failures => "FAILURES",
        }
    }

    /// By its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Consolidation> {
        Consolidation::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether it makes a row of nothing but the values of its time; the others foretell, and rrdtool alone updates
    /// them.
    #[must_use]
    pub fn is_plain(self) -> bool {
        matches!(self, Consolidation::Average | Consolidation::Min | Consolidation::Max | Consolidation::Last)
    }
}

/// A data source.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Its name, 1 to 19 letters, digits, `_` and `-`.
    pub name: String,
    /// What its readings mean.
    pub kind: SourceKind,
    /// Seconds after which a reading comes too late, and what is between is unknown.
    pub heartbeat_s: u64,
    /// A rate below it is unknown, unless it is NaN.
    pub min: f64,
    /// A rate above it is unknown, unless it is NaN.
    pub max: f64,
    /// What a computed one is made of.
    pub computed: Option<Expression>,
}

/// An archive: a ring of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Ring {
    /// How its rows are made.
    pub consolidation: Consolidation,
    /// How many it has.
    pub rows: u64,
    /// Steps of the file in one row.
    pub steps_per_row: u64,
    /// How much of a row may be unknown, 0 to 1.
    pub unknown_share_max: f64,
    /// Where its first row is in the file.
    pub at: u64,
    /// All its parameters as they are in the file.
    pub parameters: [u64; 10],
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The format's version, as in the file.
    pub version: String,
    /// Seconds from one primary value to the next.
    pub step_s: u64,
    /// Its data sources, in their order.
    pub sources: Vec<Source>,
    /// Its archives, in their order.
    pub rings: Vec<Ring>,
    /// Octets of the header that updates do not change.
    pub still_octets: usize,
    /// Octets of the whole header.
    pub header_octets: usize,
    /// Octets that the file has at least.
    pub file_octets: u64,
    /// Words of the part of the header that updates change.
    pub(crate) live: Live,
    /// How many data sources are read, not computed.
    pub(crate) read: usize,
    /// The first archive that foretells.
    pub(crate) foretells: Option<usize>,
}

/// Where things are in the part of the header that updates change, in words of eight octets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Live {
    /// Before version 3 there are no microseconds.
    pub has_microseconds: bool,
    pub sources: usize,
    pub rings: usize,
}

/// Words of a data source's preparation: four of text, ten of numbers.
pub(crate) const PDP_WORDS: usize = 14;
pub(crate) const CDP_WORDS: usize = 10;

impl Live {
    pub fn head(&self) -> usize {
        1 + usize::from(self.has_microseconds)
    }

    pub fn pdp(&self, source: usize) -> usize {
        self.head() + source * PDP_WORDS
    }

    pub fn cdp(&self, ring: usize, source: usize) -> usize {
        self.pdp(self.sources) + (ring * self.sources + source) * CDP_WORDS
    }

    pub fn row(&self, ring: usize) -> usize {
        self.cdp(self.rings, 0) + ring
    }

    pub fn words(&self) -> usize {
        self.row(self.rings)
    }
}

impl Shape {
    /// How many octets the beginning of a file must be for [`Shape::read`]: asked with the first 128 of them.
    ///
    /// # Errors
    /// [`Fault::Format`]: it is no such file, or it is one of another machine, or beyond a limit.
    pub fn header_octets(begin: &[u8]) -> Result<usize, Fault> {
        let head = Head::read(begin)?;
        let live = Live { has_microseconds: head.version >= 3, sources: head.sources, rings: head.rings };
        Ok(STAT_HEAD + head.sources * DS_DEF + head.rings * RRA_DEF + live.words() * 8)
    }

    /// How many octets of the header updates do not change.
    pub(crate) fn still_octets_of(begin: &[u8]) -> Result<usize, Fault> {
        let head = Head::read(begin)?;
        Ok(STAT_HEAD + head.sources * DS_DEF + head.rings * RRA_DEF)
    }

    /// Reads what the header at a file's beginning says, and checks that it can be so.
    ///
    /// # Errors
    /// [`Fault::Format`] with its place.
    pub fn read(octets: &[u8]) -> Result<Shape, Fault> {
        let head = Head::read(octets)?;
        let header_octets = Shape::header_octets(octets)?;
        if octets.len() < header_octets {
            return Err(Fault::format(octets.len() as u64, format!("the header has {header_octets} octets")));
        }
        let definitions = &octets[STAT_HEAD..];
        let (sources, rest) = definitions.split_at(head.sources * DS_DEF);
        let sources = read_sources(sources)?;
        let mut rings = Vec::with_capacity(head.rings);
        let (mut at, place) = (header_octets as u64, STAT_HEAD + head.sources * DS_DEF);
        for (number, definition) in rest.chunks_exact(RRA_DEF).take(head.rings).enumerate() {
            let place = (place + number * RRA_DEF) as u64;
            let ring = read_ring(definition, at, head.step_s).map_err(|what| Fault::format(place, what))?;
            at += ring.rows * head.sources as u64 * 8;
            rings.push(ring);
        }
        let live = Live { has_microseconds: head.version >= 3, sources: head.sources, rings: head.rings };
        let version = String::from_utf8_lossy(&octets[4..8]).into_owned();
        let still_octets = header_octets - live.words() * 8;
        let read = sources.iter().filter(|source| source.kind != SourceKind::Compute).count();
        let foretells = rings.iter().position(|ring| !ring.consolidation.is_plain());
        Ok(Shape {
            version,
            step_s: head.step_s,
            sources,
            rings,
            still_octets,
            header_octets,
            file_octets: at,
            live,
            read,
            foretells,
        })
    }

    /// The number of a data source.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<usize> {
        self.sources.iter().position(|source| source.name == name)
    }

    /// The data sources that readings are for: all but the computed ones.
    pub fn read_sources(&self) -> impl Iterator<Item = usize> {
        (0..self.sources.len()).filter(|number| self.sources[*number].kind != SourceKind::Compute)
    }

    /// Seconds of a row of an archive.
    #[must_use]
    pub fn row_s(&self, ring: usize) -> u64 {
        self.rings[ring].steps_per_row * self.step_s
    }
}

struct Head {
    version: u32,
    sources: usize,
    rings: usize,
    step_s: u64,
}

impl Head {
    fn read(octets: &[u8]) -> Result<Head, Fault> {
        let Some(head) = octets.get(..STAT_HEAD) else {
            return Err(Fault::format(octets.len() as u64, "too short for a round-robin file"));
        };
        if &head[..4] != COOKIE {
            return Err(Fault::format(0, format!("not a round-robin file: it begins with {:02x?}", &head[..4])));
        }
        let digits = &head[4..8];
        let version = core::str::from_utf8(digits).ok().and_then(|text| text.parse::<u32>().ok());
        let Some(version @ 1..=5) = version.filter(|_| head[8] == 0) else {
            return Err(Fault::format(4, format!("version '{}' is not known", digits.escape_ascii())));
        };
        check_float_cookie(head)?;
        let (sources, rings, step_s) = (word(head, 24), word(head, 32), word(head, 40));
        let within = |count: u64, max: usize| usize::try_from(count).ok().filter(|count| (1..=max).contains(count));
        let sources = within(sources, SOURCES_MAX)
            .ok_or_else(|| Fault::format(24, format!("{sources} data sources, 1 to {SOURCES_MAX} can be")))?;
        let rings = within(rings, ARCHIVES_MAX)
            .ok_or_else(|| Fault::format(32, format!("{rings} archives, 1 to {ARCHIVES_MAX} can be")))?;
        if !(1..=STEP_S_MAX).contains(&step_s) {
            return Err(Fault::format(40, format!("a step of {step_s} s, 1 to {STEP_S_MAX} can be")));
        }
        if sources * rings > CELLS_MAX {
            return Err(Fault::format(24, format!("{sources} data sources in {rings} archives: too many cells")));
        }
        Ok(Head { version, sources, rings, step_s })
    }
}

/// The cookie is a double that lies at 16 where doubles are aligned to eight octets, at 12 where to four.
fn check_float_cookie(head: &[u8]) -> Result<(), Fault> {
    let ours = FLOAT_COOKIE.to_le_bytes();
    let theirs = FLOAT_COOKIE.to_be_bytes();
    let found = |at: usize, cookie: [u8; 8]| head[at..at + 8] == cookie;
    let what = if found(16, ours) {
        return if word(head, 24) >> 32 == 0 || word(head, 32) >> 32 == 0 {
            Ok(())
        } else {
            Err(Fault::format(24, "made by a machine of 32 bit: counts have four octets"))
        };
    } else if found(16, theirs) || found(12, theirs) {
        "made by a big-endian machine"
    } else if found(12, ours) {
        "made by a machine of 32 bit: its numbers are aligned to four octets"
    } else {
        return Err(Fault::format(16, format!("the float cookie is {:02x?}: an unknown machine", &head[16..24])));
    };
    Err(Fault::format(16, format!("{what}; `rrdtool dump` there and `rrdtool restore` here make a file of this one")))
}

fn read_sources(definitions: &[u8]) -> Result<Vec<Source>, Fault> {
    let mut sources: Vec<Source> = Vec::new();
    for (number, definition) in definitions.chunks_exact(DS_DEF).enumerate() {
        let place = (STAT_HEAD + number * DS_DEF) as u64;
        let source = read_source(definition, number).map_err(|what| Fault::format(place, what))?;
        sources.push(source);
    }
    Ok(sources)
}

fn read_source(definition: &[u8], number: usize) -> Result<Source, String> {
    let name = text(&definition[..NAME])?;
    if !is_source_name(&name) {
        return Err(format!("'{}' is no name of a data source", name.escape_debug()));
    }
    let kind = text(&definition[NAME..2 * NAME])?;
    let kind = SourceKind::named(&kind).ok_or_else(|| format!("data source type '{}'", kind.escape_debug()))?;
    let parameters = &definition[DS_PARAMETERS..];
    if kind == SourceKind::Compute {
        let mut packed = [0; COMPACT_OCTETS];
        packed.copy_from_slice(parameters);
        let computed = Some(unpack(&packed, number)?);
        return Ok(Source { name, kind, heartbeat_s: word(parameters, 0), min: f64::NAN, max: f64::NAN, computed });
    }
    let bound = |at: usize| f64::from_bits(word(parameters, at));
    Ok(Source { name, kind, heartbeat_s: word(parameters, 0), min: bound(8), max: bound(16), computed: None })
}

fn read_ring(definition: &[u8], at: u64, step_s: u64) -> Result<Ring, String> {
    let name = text(&definition[..NAME])?;
    let consolidation =
        Consolidation::named(&name).ok_or_else(|| format!("consolidation function '{}'", name.escape_debug()))?;
    let (rows, steps_per_row) = (word(definition, 24), word(definition, 32));
    if !(1..=ROWS_MAX).contains(&rows) {
        return Err(format!("{rows} rows, 1 to {ROWS_MAX} can be"));
    }
    if steps_per_row == 0 || steps_per_row.checked_mul(step_s).is_none_or(|row_s| row_s > STEP_S_MAX) {
        return Err(format!("a row of {steps_per_row} steps of {step_s} s, at most {STEP_S_MAX} s can be"));
    }
    let mut parameters = [0; 10];
    for (number, parameter) in parameters.iter_mut().enumerate() {
        *parameter = word(definition, RRA_PARAMETERS + number * 8);
    }
    let unknown_share_max = f64::from_bits(parameters[0]);
    Ok(Ring { consolidation, rows, steps_per_row, unknown_share_max, at, parameters })
}

/// What may be a data source's name.
pub(crate) fn is_source_name(name: &str) -> bool {
    let of_name = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'_' || octet == b'-';
    !name.is_empty() && name.len() < NAME && name.bytes().all(of_name)
}

/// A C string in its room.
fn text(octets: &[u8]) -> Result<String, String> {
    let end = octets.iter().position(|octet| *octet == 0).ok_or("a name without an end")?;
    core::str::from_utf8(&octets[..end]).map(str::to_owned).map_err(|_| "a name that is no text".to_owned())
}

/// The little-endian word at a place that is there.
pub(crate) fn word(octets: &[u8], at: usize) -> u64 {
    octets.get(at..at + 8).and_then(|w| w.try_into().ok()).map_or(0, u64::from_le_bytes)
}
