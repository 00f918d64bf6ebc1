//! Responses (RFC 4511 section 4), as they are read.

use super::APPLICATION;
use crate::cdr::ber::{BerError, CONTEXT, Element, Elements};
use crate::frames::{self, Framed};
use core::fmt;

/// The name of the response that no request has asked for: the server closes the connection (RFC 4511 section 4.4.1).
pub const NOTICE_OF_DISCONNECTION: &str = "1.3.6.1.4.1.1466.20036";
/// The octet that each message begins with: SEQUENCE.
const SEQUENCE: u8 = 0x30;

/// Why a stream of responses is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseError {
    /// Not the beginning of a message, or an indefinite length: this is no LDAP, or the place in the stream is lost.
    NoMessage(u8),
    /// A message over the limit: its octets.
    TooLong(usize),
    /// An element of the message is not as it has to be.
    Element(BerError),
}

impl fmt::Display for ResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResponseError::NoMessage(octet) => write!(f, "no message begins with 0x{octet:02x}"),
            ResponseError::TooLong(octets) => write!(f, "a message of {octets} octets is over the limit"),
            ResponseError::Element(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ResponseError {}

impl From<BerError> for ResponseError {
    fn from(error: BerError) -> Self {
        ResponseError::Element(error)
    }
}

/// LDAP, as far as a stream of it goes.
#[derive(Clone, Copy, Debug)]
pub struct Stream;

/// The whole messages at the front of what a stream of LDAP has given so far.
pub type Frames<'a> = frames::Frames<'a, Stream>;

impl Framed for Stream {
    type Error = ResponseError;

    fn whole(rest: &[u8], octets_max: usize) -> Result<Option<usize>, ResponseError> {
        let Some((first, rest)) = rest.split_first() else { return Ok(None) };
        if *first != SEQUENCE {
            return Err(ResponseError::NoMessage(*first));
        }
        let Some((length, rest)) = rest.split_first() else { return Ok(None) };
        let (head, octets) = match length {
            0..=0x7f => (2, usize::from(*length)),
            0x81..=0x84 => {
                let count = usize::from(length & 0x7f);
                let Some(length) = rest.get(..count) else { return Ok(None) };
                (2 + count, length.iter().fold(0, |length, octet| length << 8 | usize::from(*octet)))
            }
            _ => return Err(ResponseError::NoMessage(*length)),
        };
        let whole = head + octets;
        if whole > octets_max { Err(ResponseError::TooLong(whole)) } else { Ok(Some(whole)) }
    }
}

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Of the request that it belongs to; 0 where nobody has asked.
    pub id: u32,
    /// What it says.
    pub response: Response<'a>,
}

/// What a server says. Texts that are no UTF-8 are errors, values are octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response<'a> {
    /// Whether the client is who it says.
    Bind(Outcome<'a>),
    /// An entry that was found.
    Entry(Entry<'a>),
    /// Where else to search: URLs.
    Reference(Vec<&'a str>),
    /// The search is done.
    Done(Outcome<'a>),
    /// The entry is changed or not.
    Modify(Outcome<'a>),
    /// The answer to an extended request.
    Extended {
        /// Whether it was carried out.
        outcome: Outcome<'a>,
        /// Its name.
        name: Option<&'a str>,
        /// What comes back.
        value: Option<&'a [u8]>,
    },
    /// Something on the way that is not the end: RFC 4511 section 4.13.
    Intermediate,
    /// An answer to what is never asked here, by its tag.
    Other(u8),
}

/// How a request went (RFC 4511 section 4.1.9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// One of [`code`](super::code).
    pub code: u32,
    /// The nearest entry there is, of names that are none.
    pub matched: &'a str,
    /// What the server adds, for people.
    pub text: &'a str,
    /// Where else to ask: URLs.
    pub referrals: Vec<&'a str>,
}

/// An entry that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its distinguished name.
    pub name: &'a str,
    /// What was asked for of it.
    pub attributes: Vec<Attribute<'a>>,
}

/// An attribute with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its name, with options if there are any.
    pub name: &'a str,
    /// Its values, in no order.
    pub values: Vec<&'a [u8]>,
}

impl<'a> Message<'a> {
    /// Reads one whole message.
    ///
    /// # Errors
    /// Which element is not as it has to be.
    pub fn new(octets: &'a [u8]) -> Result<Message<'a>, ResponseError> {
        let mut elements = required(&mut Elements::new(octets), BerError::Cut)?.elements();
        let id = required(&mut elements, BerError::Missing(0))?.number()?;
        let operation = required(&mut elements, BerError::Missing(1))?;
        if operation.class != APPLICATION {
            return Err(BerError::Kind.into());
        }
        Ok(Message { id, response: Response::read(&operation)? })
    }
}

impl<'a> Response<'a> {
    fn read(operation: &Element<'a>) -> Result<Response<'a>, BerError> {
        let mut elements = operation.elements();
        Ok(match operation.tag {
            1 => Response::Bind(Outcome::read(&mut elements)?),
            4 => Response::Entry(Entry::read(&mut elements)?),
            5 => Response::Done(Outcome::read(&mut elements)?),
            7 => Response::Modify(Outcome::read(&mut elements)?),
            19 => Response::Reference(texts(elements)?),
            24 => Self::read_extended(&mut elements)?,
            25 => Response::Intermediate,
            tag => Response::Other(tag),
        })
    }

    fn read_extended(elements: &mut Elements<'a>) -> Result<Response<'a>, BerError> {
        let outcome = Outcome::read(elements)?;
        let (mut name, mut value) = (None, None);
        for element in elements {
            let element = element?;
            match element.context() {
                Some(10) => name = Some(element.text()?),
                Some(11) => value = Some(element.value),
                _ => {}
            }
        }
        Ok(Response::Extended { outcome, name, value })
    }
}

impl<'a> Outcome<'a> {
    /// Reads it, and a referral behind it if there is one.
    fn read(elements: &mut Elements<'a>) -> Result<Outcome<'a>, BerError> {
        let code = required(elements, BerError::Missing(0))?.number()?;
        let matched = required(elements, BerError::Missing(1))?.text()?;
        let text = required(elements, BerError::Missing(2))?.text()?;
        let rest = *elements;
        let referrals = match elements.next().transpose()? {
            Some(element) if element.class == CONTEXT && element.tag == 3 => texts(element.elements())?,
            _ => {
                *elements = rest;
                Vec::new()
            }
        };
        Ok(Outcome { code, matched, text, referrals })
    }
}

impl<'a> Entry<'a> {
    fn read(elements: &mut Elements<'a>) -> Result<Entry<'a>, BerError> {
        let name = required(elements, BerError::Missing(0))?.text()?;
        let list = required(elements, BerError::Missing(1))?.elements();
        let attributes = list.map(|attribute| Attribute::read(&attribute?)).collect::<Result<_, _>>()?;
        Ok(Entry { name, attributes })
    }

    /// The values of an attribute by its name, whatever the case of its letters; none if it is not there.
    pub fn values(&self, name: &str) -> &[&'a [u8]] {
        let found = self.attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name));
        found.map_or(&[], |attribute| &attribute.values)
    }
}

impl<'a> Attribute<'a> {
    fn read(element: &Element<'a>) -> Result<Attribute<'a>, BerError> {
        let mut elements = element.elements();
        let name = required(&mut elements, BerError::Missing(0))?.text()?;
        let values = required(&mut elements, BerError::Missing(1))?.elements();
        Ok(Attribute { name, values: values.map(|value| Ok(value?.value)).collect::<Result<_, BerError>>()? })
    }
}

fn required<'a>(elements: &mut Elements<'a>, missing: BerError) -> Result<Element<'a>, BerError> {
    elements.next().unwrap_or(Err(missing))
}

fn texts(elements: Elements<'_>) -> Result<Vec<&str>, BerError> {
    elements.map(|element| element?.text()).collect()
}
