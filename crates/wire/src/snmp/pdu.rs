//! Protocol data units (RFC 1157 section 4.1, RFC 3416 section 3).

use super::ber::{self, Element, Reader, tag};
use super::{ErrorStatus, GenericTrap, Layer, Oid, Problem, SnmpError, Varbinds};

/// The kind of a PDU: its identifier octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The values of these names.
    Get = 0xa0,
    /// The next names and their values.
    GetNext = 0xa1,
    /// The answer.
    Response = 0xa2,
    /// Sets values.
    Set = 0xa3,
    /// A notification of version 1.
    TrapV1 = 0xa4,
    /// Many next names.
    GetBulk = 0xa5,
    /// A notification that is answered.
    Inform = 0xa6,
    /// A notification.
    TrapV2 = 0xa7,
    /// What is wrong with a message of version 3.
    Report = 0xa8,
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pdu<'a> {
    /// All kinds but one have the same shape.
    Exchange(Exchange<'a>),
    /// The Trap-PDU of version 1.
    TrapV1(TrapV1<'a>),
}

/// A request, a response, a notification of version 2 or a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange<'a> {
    /// Any kind but [`Kind::TrapV1`].
    pub kind: Kind,
    /// What a response has in common with its request.
    pub request_id: i32,
    /// `error-status`; of [`Kind::GetBulk`] `non-repeaters`.
    pub error_status: u32,
    /// `error-index`, which counts from 1; of [`Kind::GetBulk`] `max-repetitions`.
    pub error_index: u32,
    /// The variables.
    pub varbinds: Varbinds<'a>,
}

/// The Trap-PDU of version 1 (RFC 1157 section 4.1.6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrapV1<'a> {
    /// The sort of the device, or what defines the trap.
    pub enterprise: Oid<'a>,
    /// The address of the agent.
    pub agent: [u8; 4],
    /// What has happened, as far as the standard has a number for it.
    pub generic: GenericTrap,
    /// What has happened, of the enterprise.
    pub specific: i32,
    /// `sysUpTime`, hundredths of a second.
    pub uptime: u32,
    /// The variables.
    pub varbinds: Varbinds<'a>,
}

impl Kind {
    const ALL: [Kind; 9] = [
        Kind::Get,
        Kind::GetNext,
        Kind::Response,
        Kind::Set,
        Kind::TrapV1,
        Kind::GetBulk,
        Kind::Inform,
        Kind::TrapV2,
        Kind::Report,
    ];

    /// Of an identifier octet.
    fn from_tag(tag: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(tag.wrapping_sub(Kind::Get as u8))).copied()
    }

    /// Whether an answer is expected to it (RFC 3411 section 2.8, the confirmed class).
    pub fn is_confirmed(self) -> bool {
        matches!(self, Kind::Get | Kind::GetNext | Kind::GetBulk | Kind::Set | Kind::Inform)
    }
}

impl<'a> Pdu<'a> {
    pub(super) fn read(element: &Element<'a>) -> Result<Pdu<'a>, SnmpError> {
        let kind = Kind::from_tag(element.tag).ok_or(element.wrong(Layer::Pdu, Problem::Type(element.tag)))?;
        match kind {
            Kind::TrapV1 => TrapV1::read(element.reader()).map(Pdu::TrapV1),
            kind => Exchange::read(kind, element.reader()).map(Pdu::Exchange),
        }
    }

    /// Appends its encoding.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Pdu::Exchange(exchange) => exchange.write(out),
            Pdu::TrapV1(trap) => trap.write(out),
        }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Pdu::Exchange(exchange) => exchange.kind,
            Pdu::TrapV1(_) => Kind::TrapV1,
        }
    }

    /// Its variables.
    pub fn varbinds(&self) -> Varbinds<'a> {
        match self {
            Pdu::Exchange(exchange) => exchange.varbinds,
            Pdu::TrapV1(trap) => trap.varbinds,
        }
    }
}

impl<'a> Exchange<'a> {
    /// A request for the values of names, or for the next ones; `varbinds` are their encodings, each with no value.
    pub fn request(kind: Kind, request_id: i32, varbinds: &'a [u8]) -> Exchange<'a> {
        Exchange { kind, request_id, error_status: 0, error_index: 0, varbinds: Varbinds::new(varbinds) }
    }

    /// What a response says about how it went.
    pub fn status(&self) -> ErrorStatus {
        ErrorStatus::from_number(self.error_status)
    }

    #[inline]
    fn read(kind: Kind, mut reader: Reader<'a>) -> Result<Exchange<'a>, SnmpError> {
        let request_id = reader.number(Layer::Pdu)?;
        let error_status = reader.number(Layer::Pdu)?;
        let error_index = reader.number(Layer::Pdu)?;
        let varbinds = varbinds(&mut reader)?;
        Ok(Exchange { kind, request_id, error_status, error_index, varbinds })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let pdu = ber::open(out, self.kind as u8);
        for number in [self.request_id.into(), self.error_status.into(), self.error_index.into()] {
            ber::write_integer(out, tag::INTEGER, number);
        }
        ber::write(out, tag::SEQUENCE, self.varbinds.octets());
        ber::close(out, pdu);
    }
}

impl<'a> TrapV1<'a> {
    fn read(mut reader: Reader<'a>) -> Result<TrapV1<'a>, SnmpError> {
        let enterprise = reader.expect(Layer::Pdu, tag::OBJECT_IDENTIFIER)?;
        let agent = reader.expect(Layer::Pdu, tag::IP_ADDRESS)?;
        let generic: i32 = reader.number(Layer::Pdu)?;
        let specific = reader.number(Layer::Pdu)?;
        let uptime = reader.expect(Layer::Pdu, tag::TIME_TICKS)?;
        let form = |element: Element<'_>| element.wrong(Layer::Pdu, Problem::Form);
        Ok(TrapV1 {
            enterprise: Oid::new(enterprise.value).ok_or(form(enterprise))?,
            agent: agent.value.try_into().map_err(|_| form(agent))?,
            generic: GenericTrap::from_number(generic),
            specific,
            uptime: ber::integer(uptime.value).map(|ticks| ticks as u32).ok_or(form(uptime))?,
            varbinds: varbinds(&mut reader)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let pdu = ber::open(out, Kind::TrapV1 as u8);
        ber::write(out, tag::OBJECT_IDENTIFIER, self.enterprise.octets());
        ber::write(out, tag::IP_ADDRESS, &self.agent);
        ber::write_integer(out, tag::INTEGER, self.generic.number().into());
        ber::write_integer(out, tag::INTEGER, self.specific.into());
        ber::write_unsigned(out, tag::TIME_TICKS, self.uptime.into());
        ber::write(out, tag::SEQUENCE, self.varbinds.octets());
        ber::close(out, pdu);
    }
}

fn varbinds<'a>(reader: &mut Reader<'a>) -> Result<Varbinds<'a>, SnmpError> {
    Ok(Varbinds::at(reader.expect(Layer::Pdu, tag::SEQUENCE)?.reader()))
}
