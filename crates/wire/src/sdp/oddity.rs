//! What can be odd about a session description.

use core::fmt;

/// Makes the enum with its names from one list.
macro_rules! oddities {
    ($($name:ident $text:literal $sentence:literal,)+) => {
        /// One thing that is odd about a session description.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Oddity { $(#[doc = $sentence] $name,)+ }

        impl Oddity {
            /// All of them.
            pub const ALL: &'static [Oddity] = &[$(Oddity::$name,)+];

            /// Its stable name.
            pub fn name(self) -> &'static str {
                match self { $(Oddity::$name => $text,)+ }
            }

            /// What it means, for people.
            pub fn sentence(self) -> &'static str {
                match self { $(Oddity::$name => $sentence,)+ }
            }
        }
    };
}

oddities! {
    VersionMissing "sdp-version-missing" "The description does not begin with v=0",
    LineInvalid "sdp-line-invalid" "A line is not a letter, an equals sign and a value",
    BareLineFeed "sdp-bare-line-feed" "Lines end with LF alone where RFC 8866 section 5 asks for CRLF",
    OriginInvalid "sdp-origin-invalid" "The origin does not have its six parts",
    ConnectionInvalid "sdp-connection-invalid" "A connection line does not have its three parts",
    ConnectionName "sdp-connection-name" "A connection line names a host instead of an address",
    ConnectionMissing "sdp-connection-missing" "A media description has no connection line, and the session has none",
    MediaInvalid "sdp-media-invalid" "A media line lacks its port, transport or formats",
    PortInvalid "sdp-port-invalid" "The port of a media line is not a number below 65536",
    FormatInvalid "sdp-format-invalid" "A format of RTP media is not a payload type below 128",
    RtpmapInvalid "sdp-rtpmap-invalid" "An rtpmap has no payload type, name or clock rate",
    RtpmapStray "sdp-rtpmap-stray" "An rtpmap or fmtp is for a format that the media line does not list",
    FormatUnknown "sdp-format-unknown" "A dynamic payload type has no rtpmap",
    CandidateInvalid "sdp-candidate-invalid" "A candidate lacks one of its parts",
    TooMany "sdp-too-many" "There are more media, formats, candidates or sources than are kept",
}

/// A set of oddities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Oddities(u32);

impl Oddities {
    /// Whether nothing was odd.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds one.
    pub fn insert(&mut self, oddity: Oddity) {
        self.0 |= 1 << (oddity as u32);
    }

    /// Adds one if `odd`.
    pub(super) fn insert_if(&mut self, odd: bool, oddity: Oddity) {
        if odd {
            self.insert(oddity);
        }
    }

    /// Whether one is among them.
    pub fn contains(self, oddity: Oddity) -> bool {
        self.0 & (1 << (oddity as u32)) != 0
    }

    /// The oddities, in the order of the list.
    pub fn iter(self) -> impl Iterator<Item = Oddity> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let index = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            Oddity::ALL.get(index).copied()
        })
    }
}

/// Names, with ", " between them.
impl fmt::Display for Oddities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, oddity) in self.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            f.write_str(oddity.name())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Oddities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}
