//! Expressions that choose packets: pcap-filter(7), compiled by libpcap, which is loaded when it is needed.
//!
//! A [`Filter`] is made once and matches from any number of threads; what it compiles to is run here, or by the kernel.
//! **VLAN tags.** Linux takes the outermost tag out of a frame before any capture sees it. libpcap knows that when it
//! captures itself, and compiles `vlan` to a question about the tag set aside; so with tcpdump on an interface `port
//! 5060` matches tagged frames as well, and with tcpdump on the file made of them it does not. Both are kept here:
//! [`Filter::matches`] is what `tcpdump -r` does, and [`Filter::matches_live`] and the kernel's program are what
//! `tcpdump -i` does: an expression that does not say `vlan` looks past the outermost tag, one that says it sees the
//! frame with its tag in place.

use core::fmt;

use crate::bpf::{self, ABS, H, IND, Instruction, JA, JMP, LD, LDX, MSH, Plain, RET, View};

mod libpcap;
mod library;

use library::Library;
pub use library::{INSTALL, LibraryError};

/// Octets of an expression.
// Limit: length of a capture filter
// Beyond: the filter is refused
// Seen in: the error message
pub const EXPRESSION_OCTETS_MAX: usize = 64 << 10;
/// Link type of Ethernet.
const ETHERNET: u16 = 1;
/// Types of the tags that Linux takes out of a frame (IEEE 802.1Q and 802.1ad).
const TAGS: [u32; 2] = [0x8100, 0x88a8];

/// The language: a name to compile by.
#[derive(Clone, Copy, Debug)]
pub struct Expression;

/// A compiled expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    text: String,
    link: u16,
    program: Vec<Instruction>,
    says_vlan: bool,
}

/// Why an expression is not one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// The expression.
    pub text: String,
    /// The octet of it from which on it makes no sense, where that can be told.
    pub place: Option<usize>,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong where an expression cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The expression, in libpcap's words.
    Expression(String),
    /// There is no libpcap: the expression may be right.
    Library(LibraryError),
}

/// The name of libpcap's file, which compiles expressions. It is loaded if that was not done yet.
///
/// # Errors
/// It is not installed, or not usable.
pub fn library() -> Result<&'static str, LibraryError> {
    Library::get().map(|library| library.name)
}

impl Expression {
    /// Compiles an expression for packets of a link type (LINKTYPE_ number of the pcap registry). An empty one matches
    /// everything. A host's name in it is looked up, and that may take seconds.
    ///
    /// # Errors
    /// It is not in the language of pcap-filter(7), or not one that makes sense for this link type; or there is no
    /// libpcap.
    pub fn compile(text: &str, link: u16) -> Result<Filter, FilterError> {
        let error = |fault, place| FilterError { text: text.to_owned(), place, fault };
        if text.len() > EXPRESSION_OCTETS_MAX {
            return Err(error(Fault::Expression(format!("longer than {EXPRESSION_OCTETS_MAX} octets")), None));
        }
        let program = libpcap::compile(text, link).map_err(|fault| error(fault, place(text, link)))?;
        Ok(Filter { text: text.to_owned(), link, program, says_vlan: says(text, "vlan") })
    }
}

impl Filter {
    /// The expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The link type it was compiled for.
    pub fn link(&self) -> u16 {
        self.link
    }

    /// Whether a packet matches, as it lies in a file: `octets` of `wire` octets were captured. What the expression
    /// looks at beyond the captured octets does not match.
    pub fn matches(&self, octets: &[u8], wire: u32) -> bool {
        bpf::run(&self.program, &Plain { octets, wire }) != 0
    }

    /// Whether a packet matches as it would in a live capture: an expression without `vlan` looks past the outermost
    /// tag.
    pub fn matches_live(&self, octets: &[u8], wire: u32) -> bool {
        let is_tagged = || bpf::big_endian(octets, 12, 2).is_some_and(|t| TAGS.contains(&t));
        if self.link == ETHERNET && !self.says_vlan && is_tagged() {
            return bpf::run(&self.program, &Untagged { octets, wire }) != 0;
        }
        self.matches(octets, wire)
    }

    /// The program for the kernel, that sees a frame without its outermost tag.
    pub(crate) fn for_kernel(&self) -> Result<Vec<Instruction>, FilterError> {
        let fault = |fault: &str| Fault::Expression(fault.to_owned());
        let error = |what: &str| FilterError { text: self.text.clone(), place: None, fault: fault(what) };
        let mut program = self.program.clone();
        if program.iter().any(|i| i.code == JMP | JA && (i.k as i32) < 0) {
            return Err(error("'protochain' cannot be asked of the kernel"));
        }
        if self.link == ETHERNET && self.says_vlan {
            let unseen = || error("asks for octets 12 to 15 together with others, which the kernel sets aside");
            let tagged = program.iter().map(behind_tag).collect::<Option<Vec<_>>>().ok_or_else(unseen)?;
            let head = [
                Instruction { code: LD | ABS, jt: 0, jf: 0, k: bpf::VLAN_PRESENT },
                Instruction { code: JMP | bpf::JEQ, jt: 0, jf: 1, k: 0 },
                Instruction { code: JMP | JA, jt: 0, jf: 0, k: tagged.len() as u32 },
            ];
            program = head.into_iter().chain(tagged).chain(program).collect();
        }
        if program.len() > bpf::INSTRUCTIONS_MAX {
            return Err(error("too long for the kernel"));
        }
        Ok(program)
    }
}

/// An instruction on a frame with its tag, as one on the frame whose tag the kernel has set aside.
fn behind_tag(i: &Instruction) -> Option<Instruction> {
    let width = match i.code & 0x18 {
        bpf::H => 2,
        bpf::B => 1,
        _ => 4,
    };
    let (class, mode) = (i.code & 7, i.code & 0xe0);
    let extension = |k| Some(Instruction { code: LD | ABS, k, ..*i });
    match (class, mode) {
        (LD | LDX, ABS) if i.k < 12 => (i.k + width <= 12).then_some(*i),
        (LD, ABS) if i.k == 12 && i.code & 0x18 == H => extension(bpf::VLAN_PROTOCOL),
        (LD, ABS) if i.k == 14 && i.code & 0x18 == H => extension(bpf::VLAN_TAG),
        // The header length of IPv4 behind an untagged frame's type: never asked of a tagged one.
        (LDX, MSH) if i.k < 16 => Some(Instruction { code: RET, jt: 0, jf: 0, k: 0 }),
        // Beyond that header, so beyond the tag.
        (LD, IND) if i.k >= 14 => Some(Instruction { k: i.k - 4, ..*i }),
        (LD, ABS) | (LDX, MSH) if i.k >= 16 => Some(Instruction { k: i.k - 4, ..*i }),
        (LD, ABS | IND) | (LDX, MSH) => None,
        _ => Some(*i),
    }
}

/// A tagged frame as if it had no outermost tag.
struct Untagged<'a> {
    octets: &'a [u8],
    wire: u32,
}

impl View for Untagged<'_> {
    fn load(&self, offset: u32, width: u32) -> Option<u32> {
        let offset = offset as usize;
        let end = offset.checked_add(width as usize)?;
        if end <= 12 {
            return bpf::big_endian(self.octets, offset, width);
        }
        if offset >= 12 {
            return bpf::big_endian(self.octets, offset.checked_add(4)?, width);
        }
        (offset..end).try_fold(0, |n, o| {
            let octet = self.octets.get(if o < 12 { o } else { o + 4 })?;
            Some(n << 8 | u32::from(*octet))
        })
    }

    fn length(&self) -> u32 {
        self.wire.saturating_sub(4)
    }
}

/// Whether a word stands in the expression.
fn says(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_')).any(|w| w == word)
}

/// The first word of an expression that no longer makes sense: the shortest beginning after which libpcap says
/// something else than that the end came too early.
fn place(text: &str, link: u16) -> Option<usize> {
    /// Words beyond which nobody looks.
    const WORDS_MAX: usize = 200;
    let whole = libpcap::compile(text, link).err()?;
    let Fault::Expression(said) = &whole else { return None };
    // A name that is not known is named; looking for it would ask for it again and again.
    if let Some(word) = said.split('\'').nth(1).filter(|word| !word.is_empty()) {
        return text.find(word);
    }
    let mut at = 0;
    for word in text.split_inclusive(char::is_whitespace).take(WORDS_MAX) {
        let begin = at;
        at += word.len();
        // The error that the whole has is had from the word on that brings it.
        let beginning = text.get(..at)?;
        let same = libpcap::compile(beginning, link).err().is_some_and(|fault| fault == whole);
        if same && still_fails(text, at, link) {
            return Some(begin + (word.len() - word.trim_start().len()));
        }
    }
    None
}

/// Whether an expression that goes on fails as it is: one that is only unfinished can be finished by a word.
fn still_fails(text: &str, at: usize, link: u16) -> bool {
    let beginning = text.get(..at).unwrap_or(text);
    ["5060", "host 10.0.0.1", "10.0.0.1", "0", "port 1)"]
        .iter()
        .all(|word| libpcap::compile(&format!("{beginning} {word}"), link).is_err())
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault::Expression(fault) = &self.fault else { return self.fault.fmt(f) };
        match self.place.and_then(|at| self.text.get(at..)).and_then(|rest| rest.split_whitespace().next()) {
            Some(word) => write!(f, "filter '{}': {fault} at '{word}'", self.text),
            None => write!(f, "filter '{}': {fault}", self.text),
        }
    }
}

impl std::error::Error for FilterError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Expression(said) => f.write_str(said),
            Fault::Library(why) => why.fmt(f),
        }
    }
}

impl From<LibraryError> for Fault {
    fn from(why: LibraryError) -> Fault {
        Fault::Library(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP datagram from 10.0.0.1 to 10.0.0.2, ports 5060, behind these tags.
    fn frame(tags: &[(u16, u16)]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        for (kind, tag) in tags {
            frame.extend([kind.to_be_bytes(), tag.to_be_bytes()].concat());
        }
        frame.extend([0x08, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x13, 0xc4, 0x13, 0xc4, 0, 8, 0, 0]);
        frame
    }

    fn both(text: &str, frame: &[u8]) -> (bool, bool) {
        let filter = Expression::compile(text, ETHERNET).unwrap();
        (filter.matches(frame, frame.len() as u32), filter.matches_live(frame, frame.len() as u32))
    }

    #[test]
    fn matches_as_tcpdump_does() {
        let plain = frame(&[]);
        assert_eq!(both("", &plain), (true, true));
        assert_eq!(both("udp port 5060 and net 10.0.0.0/24", &plain), (true, true));
        assert_eq!(both("tcp", &plain), (false, false));
        assert_eq!(both("greater 43", &plain), (false, false));
        assert_eq!(both("vlan", &plain), (false, false));
        let filter = Expression::compile("udp port 5060", ETHERNET).unwrap();
        assert!(!filter.matches(&plain[..35], 42));
    }

    #[test]
    fn a_tag_is_looked_past_only_live() {
        let tagged = frame(&[(0x8100, 100)]);
        assert_eq!(both("port 5060", &tagged), (false, true));
        assert_eq!(both("vlan 100 and port 5060", &tagged), (true, true));
        assert_eq!(both("vlan 101", &tagged), (false, false));
        let twice = frame(&[(0x88a8, 7), (0x8100, 100)]);
        assert_eq!(both("vlan 7 and vlan 100 and port 5060", &twice), (true, true));
        assert_eq!(both("port 5060", &twice), (false, false));
    }

    /// The kernel's view of a frame: the outermost tag is set aside.
    struct Stripped<'a>(&'a [u8]);

    impl View for Stripped<'_> {
        fn load(&self, offset: u32, width: u32) -> Option<u32> {
            let kind = bpf::big_endian(self.0, 12, 2)?;
            let is_tagged = TAGS.contains(&kind);
            match offset {
                bpf::VLAN_PRESENT => Some(u32::from(is_tagged)),
                bpf::VLAN_PROTOCOL => Some(kind),
                bpf::VLAN_TAG => bpf::big_endian(self.0, 14, 2),
                _ if is_tagged => Untagged { octets: self.0, wire: 0 }.load(offset, width),
                _ => bpf::big_endian(self.0, offset as usize, width),
            }
        }

        fn length(&self) -> u32 {
            self.0.len() as u32
        }
    }

    #[test]
    fn the_kernel_program_is_the_live_one() {
        let frames =
            [frame(&[]), frame(&[(0x8100, 100)]), frame(&[(0x8100, 101)]), frame(&[(0x88a8, 7), (0x8100, 100)])];
        let texts = [
            "port 5060",
            "vlan 100 and port 5060",
            "vlan 7 and vlan 100 and udp",
            "not vlan",
            "port 5060 or (vlan and port 5060)",
            "vlan and ether host 02:02:02:02:02:02",
            "vlan and host 10.0.0.1 and udp[0:2] = 5060",
        ];
        for text in texts {
            let filter = Expression::compile(text, ETHERNET).unwrap();
            let kernel = filter.for_kernel().unwrap();
            for frame in &frames {
                let live = filter.matches_live(frame, frame.len() as u32);
                assert_eq!(bpf::run(&kernel, &Stripped(frame)) != 0, live, "{text} {frame:?}");
            }
        }
    }

    #[test]
    fn says_where_it_stopped_understanding() {
        let error = Expression::compile("udp and prot 5060 or tcp", ETHERNET).unwrap_err();
        assert_eq!(error.place, Some(8), "{error}");
        assert!(error.to_string().contains("at 'prot'"), "{error}");
        let error = Expression::compile("udp and port no-such-service", ETHERNET).unwrap_err();
        assert_eq!(error.place, Some(13), "{error}");
        assert!(Expression::compile("port 5060 and", ETHERNET).is_err());
        assert!(Expression::compile("(port 5060", ETHERNET).is_err());
        assert!(Expression::compile("port 99999", ETHERNET).is_err());
        assert!(Expression::compile("a\0b", ETHERNET).is_err());
    }

    #[test]
    fn a_missing_library_is_told_and_the_expression_is_not_blamed() {
        let fault = Fault::Library(LibraryError::Missing);
        let error = FilterError { text: "udp".to_owned(), place: None, fault };
        assert_eq!(error.to_string(), LibraryError::Missing.to_string());
    }

    #[test]
    fn may_be_shared_by_threads() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<Filter>();
    }
}
