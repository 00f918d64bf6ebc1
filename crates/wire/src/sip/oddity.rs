//! What can be odd about a message. Nothing here refuses a message: each oddity has a stable name and a sentence, and a
//! class that says how much it matters.

use core::fmt;

/// How much an oddity matters, in the words of RFC 4475.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Worth knowing; the message is well-formed.
    Note,
    /// Well-formed, but an application will not do what it asks, or only in part (RFC 4475 section 3.3).
    Application,
    /// Well-formed, but the transaction layer cannot work with it (RFC 4475 section 3.2).
    Transaction,
    /// Breaks the grammar or a "MUST" of the standard (RFC 4475 section 3.1.2).
    Invalid,
}

/// Makes the enum with its names from one list.
macro_rules! oddities {
    ($($name:ident $text:literal $class:ident $sentence:literal,)+) => {
        /// One thing that is odd about a message.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Oddity { $(#[doc = $sentence] $name,)+ }

        impl Oddity {
            /// All of them.
            pub const ALL: &'static [Oddity] = &[$(Oddity::$name,)+];

            /// Its stable name: filters and alerts use it.
            pub fn name(self) -> &'static str {
                match self { $(Oddity::$name => $text,)+ }
            }

            /// What it means, for people.
            pub fn sentence(self) -> &'static str {
                match self { $(Oddity::$name => $sentence,)+ }
            }

            /// How much it matters.
            pub fn class(self) -> Class {
                match self { $(Oddity::$name => Class::$class,)+ }
            }
        }
    };
}

oddities! {
    StartLineSpaces "start-line-spaces" Invalid "The start line has more spaces than the single ones that RFC 3261 section 7.1 allows",
    RequestUriSpaces "request-uri-spaces" Invalid "The Request-URI has white space in it",
    RequestUriBrackets "request-uri-brackets" Invalid "The Request-URI is enclosed in angle brackets",
    RequestUriHeaders "request-uri-headers" Invalid "The Request-URI has header fields, which are not allowed there (RFC 3261 section 19.1.1)",
    UnknownVersion "unknown-version" Invalid "The protocol version is not SIP/2.0",
    StatusCodeInvalid "status-code-invalid" Invalid "The status code is not a number between 100 and 699",
    StartLineCut "start-line-cut" Note "The start line has no end in what was captured",
    VersionCase "version-case" Note "The protocol version is not written in capitals",
    MethodCase "method-case" Note "The method is a known one in other than capitals; methods are case-sensitive",
    LeadingLineBreaks "leading-line-breaks" Note "Empty lines stand before the start line",
    HeaderWithoutColon "header-without-colon" Invalid "A header line has no colon",
    HeaderNameInvalid "header-name-invalid" Invalid "A header field name is not a token",
    HeaderEndMissing "header-end-missing" Invalid "The empty line that ends the header fields is missing",
    HeaderBeyondReach "header-beyond-reach" Note "Header fields beyond the first 65535 octets were not looked at",
    BareLineFeed "bare-line-feed" Note "Lines end with LF alone where RFC 3261 section 7 asks for CRLF",
    Cut "cut" Note "The message was cut by the capture's snap length or by a gap",
    ContentLengthInvalid "content-length-invalid" Invalid "Content-Length is not a number",
    ContentLengthTooLong "content-length-too-long" Invalid "Content-Length is larger than the body",
    ContentLengthRepeated "content-length-repeated" Application "Content-Length appears more than once",
    ContentLengthMissing "content-length-missing" Note "There is a body but no Content-Length",
    OctetsAfterBody "octets-after-body" Note "Octets follow the body that Content-Length counts; they are ignored (RFC 3261 section 18.3)",
    ContentTypeMissing "content-type-missing" Application "There is a body but no Content-Type",
    ContentTypeUnknown "content-type-unknown" Application "The Content-Type is not one that SIP applications use",
    CSeqInvalid "cseq-invalid" Invalid "CSeq is not a number and a method",
    CSeqTooLarge "cseq-too-large" Invalid "The CSeq number is 2**31 or larger",
    CSeqMethodMismatch "cseq-method-mismatch" Invalid "The method of CSeq differs from that of the request",
    MaxForwardsInvalid "max-forwards-invalid" Invalid "Max-Forwards is not a number between 0 and 255",
    MaxForwardsZero "max-forwards-zero" Application "Max-Forwards is zero: the message goes no further",
    ExpiresInvalid "expires-invalid" Invalid "Expires is not a number of seconds below 2**32",
    ContactExpiresInvalid "contact-expires-invalid" Invalid "The expires parameter of Contact is not a number of seconds below 2**32",
    RetryAfterInvalid "retry-after-invalid" Invalid "Retry-After is not a number of seconds below 2**32",
    WarningInvalid "warning-invalid" Invalid "Warning does not begin with a code of three digits",
    DateInvalid "date-invalid" Invalid "Date is not in the format of RFC 3261 section 20.17, which is always in GMT",
    QuoteUnterminated "quote-unterminated" Invalid "A quoted string is not closed",
    DisplayNameInvalid "display-name-invalid" Invalid "A display name without quotes has characters that need them",
    AngleUnterminated "angle-unterminated" Invalid "An angle bracket is not closed",
    AddrSpecSpaces "addr-spec-spaces" Invalid "White space stands within the angle brackets of an address",
    AddrSpecNeedsBrackets "addr-spec-needs-brackets" Invalid "A URI with a comma, question mark or semicolon stands without angle brackets",
    ExtraSeparators "extra-separators" Invalid "A header field value has separators with nothing between them",
    UriInvalid "uri-invalid" Invalid "A URI has no scheme or an empty part",
    UriHostInvalid "uri-host-invalid" Invalid "The host of a URI is neither a name nor an address",
    UriPortInvalid "uri-port-invalid" Invalid "The port of a URI is not a number below 65536",
    UriCharacterInvalid "uri-character-invalid" Invalid "A URI has a character that must be escaped, or an escape that is none",
    UriSchemeUnknown "uri-scheme-unknown" Application "A URI has a scheme other than sip, sips, tel and urn",
    UriIpv6Port "uri-ipv6-port" Note "An IPv6 address may have swallowed the port: its last group looks like one (RFC 5118 section 4.3)",
    ContactUriHeaders "contact-uri-headers" Application "The URI of Contact has header fields",
    ContactParamUnknown "contact-param-unknown" Note "Contact has a parameter that no standard names",
    UriParamUnknown "uri-param-unknown" Note "A URI has a parameter that no standard names",
    ViaInvalid "via-invalid" Invalid "A Via value has no protocol, transport or host",
    ViaVersion "via-version" Note "A Via value has a protocol version other than SIP/2.0",
    ViaTransportUnknown "via-transport-unknown" Note "A Via value has a transport that is not registered",
    ViaBranchEmpty "via-branch-empty" Transaction "The branch of the topmost Via is the magic cookie alone and identifies no transaction",
    ViaBranchOld "via-branch-old" Note "The topmost Via has no branch with the magic cookie, as in RFC 2543",
    ViaBroadcast "via-broadcast" Application "A Via names a broadcast address",
    ViaReceivedUnbracketed "via-received-unbracketed" Note "The received parameter is an IPv6 address without brackets (RFC 5118 section 4.5)",
    CallIdMissing "call-id-missing" Application "The mandatory Call-ID is missing",
    FromMissing "from-missing" Application "The mandatory From is missing",
    ToMissing "to-missing" Application "The mandatory To is missing",
    CSeqMissing "cseq-missing" Application "The mandatory CSeq is missing",
    ViaMissing "via-missing" Application "The mandatory Via is missing",
    MaxForwardsMissing "max-forwards-missing" Note "Max-Forwards is missing, as in RFC 2543",
    ContactMissing "contact-missing" Application "An INVITE must have a Contact (RFC 3261 section 8.1.1.8)",
    FromTagMissing "from-tag-missing" Note "From has no tag, as in RFC 2543",
    SingleRepeated "single-repeated" Application "A header field that may appear once appears more than once",
    OptionTagUnknown "option-tag-unknown" Application "Require or Proxy-Require names an extension that is not registered",
    AuthSchemeUnknown "auth-scheme-unknown" Application "The authentication scheme is not Digest, Bearer or another registered one",
    AcceptWithoutSdp "accept-without-sdp" Application "The Accept of an INVITE leaves out application/sdp",
}

/// A set of oddities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Oddities(u128);

impl Oddities {
    /// None.
    pub const NONE: Oddities = Oddities(0);

    /// Whether nothing was odd.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Adds one.
    #[inline]
    pub fn insert(&mut self, oddity: Oddity) {
        self.0 |= 1 << (oddity as u32);
    }

    /// Adds one if `odd`.
    #[inline]
    pub(crate) fn insert_if(&mut self, odd: bool, oddity: Oddity) {
        // A branch that is nearly never taken costs less than two words made for nothing.
        if odd {
            self.insert(oddity);
        }
    }

    /// Takes one away.
    #[inline]
    pub(crate) fn remove(&mut self, oddity: Oddity) {
        self.0 &= !(1 << (oddity as u32));
    }

    /// Whether one is among them.
    #[inline]
    pub fn contains(self, oddity: Oddity) -> bool {
        self.0 & (1 << (oddity as u32)) != 0
    }

    /// Both sets together.
    #[must_use]
    pub fn union(self, other: Oddities) -> Oddities {
        Oddities(self.0 | other.0)
    }

    /// The gravest class; none when nothing was odd.
    pub fn class(self) -> Option<Class> {
        self.into_iter().map(Oddity::class).max()
    }

    /// Whether the message breaks the grammar or a "MUST" of the standard.
    pub fn is_invalid(self) -> bool {
        self.class() == Some(Class::Invalid)
    }
}

impl IntoIterator for Oddities {
    type Item = Oddity;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        Iter(self.0)
    }
}

/// The oddities of a set, in the order of the list.
#[derive(Clone, Debug)]
pub struct Iter(u128);

impl Iterator for Iter {
    type Item = Oddity;

    fn next(&mut self) -> Option<Oddity> {
        let index = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        Oddity::ALL.get(index).copied()
    }
}

/// Names, with ", " between them.
impl fmt::Display for Oddities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, oddity) in self.into_iter().enumerate() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_fit_the_set() {
        assert!(Oddity::ALL.len() <= 128);
        let names: HashSet<_> = Oddity::ALL.iter().map(|o| o.name()).collect();
        assert_eq!(names.len(), Oddity::ALL.len());
        for oddity in Oddity::ALL {
            assert!(oddity.name().chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            assert!(!oddity.sentence().ends_with('.'));
        }
    }

    #[test]
    fn a_set_lists_what_was_put_in() {
        let mut set = Oddities::NONE;
        set.insert(Oddity::Cut);
        set.insert(Oddity::CSeqInvalid);
        assert_eq!(set.to_string(), "cut, cseq-invalid");
        assert_eq!(set.class(), Some(Class::Invalid));
        assert_eq!(set.len(), 2);
    }
}
