//! Variable bindings: pairs of a name and a value (RFC 3416 section 3).

use super::ber::{self, Reader, tag};
use super::{Layer, Oid, Problem, SnmpError, Value};

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Varbind<'a> {
    /// Its name.
    pub name: Oid<'a>,
    /// Its value.
    pub value: Value<'a>,
}

/// The variables of a PDU where they lie. Ends behind the first that cannot be located; one whose value alone is wrong
/// is an error, and the next follows.
#[derive(Clone, Copy, Debug)]
pub struct Varbinds<'a> {
    reader: Reader<'a>,
}

impl<'a> Varbinds<'a> {
    /// Of the encodings of variables one behind the other, without the sequence around them: what [`write_varbind`]
    /// appends.
    pub fn new(octets: &'a [u8]) -> Varbinds<'a> {
        Varbinds { reader: Reader::new(octets, 0) }
    }

    pub(super) fn at(reader: Reader<'a>) -> Varbinds<'a> {
        Varbinds { reader }
    }

    /// The encodings of those that were not taken yet.
    pub fn octets(&self) -> &'a [u8] {
        self.reader.rest()
    }
}

impl PartialEq for Varbinds<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.octets() == other.octets()
    }
}

impl<'a> Iterator for Varbinds<'a> {
    type Item = Result<Varbind<'a>, SnmpError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_at_end() {
            return None;
        }
        let pair = self.reader.expect(Layer::Varbind, tag::SEQUENCE);
        if pair.is_err() {
            self.reader = Reader::new(&[], self.reader.at());
        }
        Some(pair.and_then(|pair| read(pair.reader())))
    }
}

#[inline]
fn read(mut pair: Reader<'_>) -> Result<Varbind<'_>, SnmpError> {
    let name = pair.expect(Layer::Varbind, tag::OBJECT_IDENTIFIER)?;
    let oid = Oid::new(name.value).ok_or(name.wrong(Layer::Varbind, Problem::Form))?;
    let value = Value::read(&pair.element(Layer::Varbind)?)?;
    Ok(Varbind { name: oid, value })
}

/// Appends the encoding of a variable.
pub fn write_varbind(name: Oid<'_>, value: &Value<'_>, out: &mut Vec<u8>) {
    let pair = ber::open(out, tag::SEQUENCE);
    ber::write(out, tag::OBJECT_IDENTIFIER, name.octets());
    value.write(out);
    ber::close(out, pair);
}
