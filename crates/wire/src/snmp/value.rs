//! Values of variables (RFC 2578 section 7.1, RFC 3416 section 3).

use super::ber::{self, Element, tag};
use super::{Layer, Oid, Problem, SnmpError};

/// What stands in an Opaque of net-snmp's: a context-specific tag in two octets, then the length.
const OPAQUE_COUNTER64: [u8; 2] = [0x9f, 0x76];
const OPAQUE_FLOAT: [u8; 2] = [0x9f, 0x78];
const OPAQUE_DOUBLE: [u8; 2] = [0x9f, 0x79];
const OPAQUE_INTEGER64: [u8; 2] = [0x9f, 0x7a];
const OPAQUE_UNSIGNED64: [u8; 2] = [0x9f, 0x7b];

/// The value of a variable, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// INTEGER and Integer32. Field: up to 64 bits, because agents send more than 32.
    Integer(i64),
    /// OCTET STRING: text or octets, which only its definition in a MIB tells apart.
    OctetString(&'a [u8]),
    /// Nothing: what requests carry.
    Null,
    /// OBJECT IDENTIFIER.
    ObjectId(Oid<'a>),
    /// IPv4.
    IpAddress([u8; 4]),
    /// Rises and begins again at 0.
    Counter32(u32),
    /// Rises and falls; Unsigned32 and UInteger32, too.
    Gauge32(u32),
    /// Hundredths of a second.
    TimeTicks(u32),
    /// Any other encoding, as octets.
    Opaque(&'a [u8]),
    /// Field: net-snmp's Opaque with a float in it.
    Float(f32),
    /// Field: net-snmp's Opaque with a double in it.
    Double(f64),
    /// Field: net-snmp's Opaque with an integer of 64 bits in it.
    Integer64(i64),
    /// Field: net-snmp's Opaque with an unsigned number of 64 bits in it.
    Unsigned64(u64),
    /// Rises and begins again at 0; not in version 1.
    Counter64(u64),
    /// There is no such variable at all; not in version 1, as the two below.
    NoSuchObject,
    /// There is, but not with this index.
    NoSuchInstance,
    /// No name follows.
    EndOfMibView,
}

impl<'a> Value<'a> {
    /// Reads what an element holds.
    ///
    /// # Errors
    /// [`Layer::Value`]: a type that is not SNMP's, or contents that are not of the type.
    #[inline]
    pub(super) fn read(element: &Element<'a>) -> Result<Value<'a>, SnmpError> {
        let octets = element.value;
        let value = match element.tag {
            tag::INTEGER => ber::integer(octets).map(Value::Integer),
            tag::OCTET_STRING => Some(Value::OctetString(octets)),
            // Field: what these say lies in their tag, whatever their contents.
            tag::NULL => Some(Value::Null),
            tag::NO_SUCH_OBJECT => Some(Value::NoSuchObject),
            tag::NO_SUCH_INSTANCE => Some(Value::NoSuchInstance),
            tag::END_OF_MIB_VIEW => Some(Value::EndOfMibView),
            tag::OBJECT_IDENTIFIER => Oid::new(octets).map(Value::ObjectId),
            tag::IP_ADDRESS => octets.try_into().ok().map(Value::IpAddress),
            tag::COUNTER32 => unsigned32(octets).map(Value::Counter32),
            tag::GAUGE32 | tag::UINTEGER32 => unsigned32(octets).map(Value::Gauge32),
            tag::TIME_TICKS => unsigned32(octets).map(Value::TimeTicks),
            tag::OPAQUE => Some(opaque(octets).unwrap_or(Value::Opaque(octets))),
            tag::COUNTER64 => ber::unsigned(octets).map(Value::Counter64),
            other => return Err(element.wrong(Layer::Value, Problem::Type(other))),
        };
        value.ok_or(element.wrong(Layer::Value, Problem::Form))
    }

    /// Appends its encoding.
    pub fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Value::Integer(number) => ber::write_integer(out, tag::INTEGER, number),
            Value::OctetString(octets) => ber::write(out, tag::OCTET_STRING, octets),
            Value::Null => ber::write(out, tag::NULL, &[]),
            Value::ObjectId(name) => ber::write(out, tag::OBJECT_IDENTIFIER, name.octets()),
            Value::IpAddress(octets) => ber::write(out, tag::IP_ADDRESS, &octets),
            Value::Counter32(number) => ber::write_unsigned(out, tag::COUNTER32, number.into()),
            Value::Gauge32(number) => ber::write_unsigned(out, tag::GAUGE32, number.into()),
            Value::TimeTicks(number) => ber::write_unsigned(out, tag::TIME_TICKS, number.into()),
            Value::Opaque(octets) => ber::write(out, tag::OPAQUE, octets),
            Value::Float(number) => write_opaque(out, OPAQUE_FLOAT, &number.to_be_bytes()),
            Value::Double(number) => write_opaque(out, OPAQUE_DOUBLE, &number.to_be_bytes()),
            Value::Integer64(number) => write_opaque(out, OPAQUE_INTEGER64, &number.to_be_bytes()),
            Value::Unsigned64(number) => {
                let mut octets = [0; 9];
                octets[1..].copy_from_slice(&number.to_be_bytes());
                write_opaque(out, OPAQUE_UNSIGNED64, &octets);
            }
            Value::Counter64(number) => ber::write_unsigned(out, tag::COUNTER64, number),
            Value::NoSuchObject => ber::write(out, tag::NO_SUCH_OBJECT, &[]),
            Value::NoSuchInstance => ber::write(out, tag::NO_SUCH_INSTANCE, &[]),
            Value::EndOfMibView => ber::write(out, tag::END_OF_MIB_VIEW, &[]),
        }
    }

    /// Whether it says that there is no value.
    pub fn is_exception(&self) -> bool {
        matches!(self, Value::NoSuchObject | Value::NoSuchInstance | Value::EndOfMibView)
    }

    /// The name of its type in the standard.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Integer(_) => "INTEGER",
            Value::OctetString(_) => "OCTET STRING",
            Value::Null => "NULL",
            Value::ObjectId(_) => "OBJECT IDENTIFIER",
            Value::IpAddress(_) => "IpAddress",
            Value::Counter32(_) => "Counter32",
            Value::Gauge32(_) => "Gauge32",
            Value::TimeTicks(_) => "TimeTicks",
            Value::Opaque(_) => "Opaque",
            Value::Float(_) => "Float",
            Value::Double(_) => "Double",
            Value::Integer64(_) => "Integer64",
            Value::Unsigned64(_) => "Unsigned64",
            Value::Counter64(_) => "Counter64",
            Value::NoSuchObject => "noSuchObject",
            Value::NoSuchInstance => "noSuchInstance",
            Value::EndOfMibView => "endOfMibView",
        }
    }
}

/// Counter32, Gauge32 and TimeTicks.
///
/// Field: four octets without the zero in front that the number would need, and numbers that look negative, are taken
/// as what their 32 bits say, as net-snmp does.
#[inline]
fn unsigned32(octets: &[u8]) -> Option<u32> {
    let number = ber::integer(octets)?;
    match number {
        0..=0xffff_ffff => Some(number as u32),
        _ => i32::try_from(number).ok().map(|number| number as u32),
    }
}

/// Field: what net-snmp puts into an Opaque; none if it is something else.
fn opaque<'a>(octets: &[u8]) -> Option<Value<'a>> {
    let (tag, rest) = octets.split_first_chunk::<2>()?;
    let (length, contents) = rest.split_first()?;
    if usize::from(*length) != contents.len() {
        return None;
    }
    match *tag {
        OPAQUE_COUNTER64 | OPAQUE_UNSIGNED64 => ber::unsigned(contents).map(Value::Unsigned64),
        OPAQUE_FLOAT => contents.try_into().ok().map(|octets| Value::Float(f32::from_be_bytes(octets))),
        OPAQUE_DOUBLE => contents.try_into().ok().map(|octets| Value::Double(f64::from_be_bytes(octets))),
        OPAQUE_INTEGER64 => ber::integer(contents).map(Value::Integer64),
        _ => None,
    }
}

fn write_opaque(out: &mut Vec<u8>, tag: [u8; 2], contents: &[u8]) {
    let element = ber::open(out, tag::OPAQUE);
    out.extend_from_slice(&tag);
    out.push(contents.len() as u8);
    out.extend_from_slice(contents);
    ber::close(out, element);
}
