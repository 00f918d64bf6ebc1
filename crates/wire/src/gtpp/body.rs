//! What a message says (TS 32.295 clause 6.2).

use super::records::DataRecordPacket;
use super::{GtppError, Message, SequenceNumbers, cause, element, message_type};
use crate::Address;

/// A Data Record Transfer Request: what is to be done with which packets (clause 6.2.4.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferCommand<'a> {
    /// Store these records.
    Send {
        /// Whether another gateway may have them already: store them apart until they are released or cancelled.
        possibly_duplicated: bool,
        /// The records; none is the empty packet, which asks whether its sequence number came before.
        packet: Option<DataRecordPacket<'a>>,
    },
    /// Forget the packets of these sequence numbers that were sent as possibly duplicated.
    Cancel(SequenceNumbers<'a>),
    /// Treat them as sent.
    Release(SequenceNumbers<'a>),
}

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Are you there?
    EchoRequest,
    /// Yes.
    EchoResponse {
        /// Changes when the peer restarts.
        restart_counter: u8,
    },
    /// The header's version is the highest one known.
    VersionNotSupported,
    /// A node is up, again.
    NodeAliveRequest {
        /// Its address.
        address: Address,
        /// Its address of the other family.
        alternate: Option<Address>,
    },
    /// Noted.
    NodeAliveResponse,
    /// Send to another gateway.
    RedirectionRequest {
        /// Why.
        cause: u8,
        /// Which one.
        recommended: Option<Address>,
        /// Its address of the other family.
        alternate: Option<Address>,
    },
    /// Whether that will be done.
    RedirectionResponse {
        /// See [`cause`].
        cause: u8,
    },
    /// Records.
    DataRecordTransferRequest(TransferCommand<'a>),
    /// What became of records.
    DataRecordTransferResponse {
        /// See [`cause`].
        cause: u8,
        /// The requests that it answers.
        requests: SequenceNumbers<'a>,
    },
    /// A message of another type.
    Other(u8),
}

impl<'a> Message<'a> {
    /// What it says.
    ///
    /// # Errors
    /// An element that it must have is missing or wrong, or one cannot be located.
    pub fn body(&self) -> Result<Body<'a>, GtppError> {
        // What stands behind the elements that count has to be located as well.
        self.elements().try_for_each(|element| element.map(|_| ()))?;
        let octet = |kind| self.elements().need(kind).and_then(|e| e.octet());
        Ok(match self.header.kind {
            message_type::ECHO_REQUEST => Body::EchoRequest,
            message_type::ECHO_RESPONSE => Body::EchoResponse { restart_counter: octet(element::RECOVERY)? },
            message_type::VERSION_NOT_SUPPORTED => Body::VersionNotSupported,
            message_type::NODE_ALIVE_REQUEST => {
                let (address, alternate) = self.addresses(element::NODE_ADDRESS)?;
                Body::NodeAliveRequest { address: address.ok_or(GtppError::Missing(element::NODE_ADDRESS))?, alternate }
            }
            message_type::NODE_ALIVE_RESPONSE => Body::NodeAliveResponse,
            message_type::REDIRECTION_REQUEST => {
                let (recommended, alternate) = self.addresses(element::RECOMMENDED_NODE_ADDRESS)?;
                Body::RedirectionRequest { cause: octet(element::CAUSE)?, recommended, alternate }
            }
            message_type::REDIRECTION_RESPONSE => Body::RedirectionResponse { cause: octet(element::CAUSE)? },
            message_type::DATA_RECORD_TRANSFER_REQUEST => Body::DataRecordTransferRequest(self.transfer()?),
            message_type::DATA_RECORD_TRANSFER_RESPONSE => Body::DataRecordTransferResponse {
                cause: octet(element::CAUSE)?,
                requests: self.elements().need(element::REQUESTS_RESPONDED)?.sequence_numbers()?,
            },
            kind => Body::Other(kind),
        })
    }

    /// The first and the second address of a type.
    fn addresses(&self, kind: u8) -> Result<(Option<Address>, Option<Address>), GtppError> {
        let mut found = self.elements().flatten().filter(|e| e.kind == kind).map(|e| e.address());
        Ok((found.next().transpose()?, found.next().transpose()?))
    }

    fn transfer(&self) -> Result<TransferCommand<'a>, GtppError> {
        let numbers = |kind| self.elements().need(kind).and_then(|e| e.sequence_numbers());
        let command = self.elements().need(element::PACKET_TRANSFER_COMMAND)?.octet()?;
        Ok(match command {
            TransferCommand::SEND | TransferCommand::SEND_POSSIBLY_DUPLICATED => TransferCommand::Send {
                possibly_duplicated: command == TransferCommand::SEND_POSSIBLY_DUPLICATED,
                packet: DataRecordPacket::parse(self.elements().need(element::DATA_RECORD_PACKET)?.value)?,
            },
            TransferCommand::CANCEL => TransferCommand::Cancel(numbers(element::CANCELLED_PACKETS)?),
            TransferCommand::RELEASE => TransferCommand::Release(numbers(element::RELEASED_PACKETS)?),
            _ => return Err(GtppError::Wrong(element::PACKET_TRANSFER_COMMAND)),
        })
    }
}

impl TransferCommand<'_> {
    /// Send data record packet.
    pub const SEND: u8 = 1;
    /// Send possibly duplicated data record packet.
    pub const SEND_POSSIBLY_DUPLICATED: u8 = 2;
    /// Cancel data record packet.
    pub const CANCEL: u8 = 3;
    /// Release data record packet.
    pub const RELEASE: u8 = 4;
}

impl Body<'_> {
    /// Whether a response accepts its request; none of what is no response or has no cause.
    pub fn accepts(&self) -> Option<bool> {
        match self {
            Body::RedirectionResponse { cause } | Body::DataRecordTransferResponse { cause, .. } => {
                Some(cause::is_acceptance(*cause))
            }
            _ => None,
        }
    }
}
