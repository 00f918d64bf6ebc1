//! What senders of records are told by a node that serves quota alone: that it is there, and takes no records.

use trunkline_wire::gtpp::{Body, Header, Message, Version, Writer, cause, element, message_type};

/// The answer to a message; none where there is none to give.
pub(super) fn answer(octets: &[u8], restart_counter: u8) -> Option<Vec<u8>> {
    let message = match Message::new(octets) {
        Ok(message) => message,
        Err(trunkline_wire::gtpp::GtppError::Version(_)) => return version_not_supported(octets),
        Err(_) => return None,
    };
    let Header { version, kind, sequence } = message.header;
    let header = |kind| Header { version, kind, sequence };
    let refused = cause::SERVICE_NOT_SUPPORTED;
    if kind == message_type::DATA_RECORD_TRANSFER_REQUEST {
        let header = header(message_type::DATA_RECORD_TRANSFER_RESPONSE);
        return said(header, |w| w.cause(refused).sequence_numbers(element::REQUESTS_RESPONDED, &[sequence]));
    }
    match message.body() {
        Ok(Body::EchoRequest) => said(header(message_type::ECHO_RESPONSE), |w| w.recovery(restart_counter)),
        Ok(Body::NodeAliveRequest { .. }) => said(header(message_type::NODE_ALIVE_RESPONSE), |w| w),
        Ok(Body::RedirectionRequest { .. }) => said(header(message_type::REDIRECTION_RESPONSE), |w| w.cause(refused)),
        _ => None,
    }
}

/// Two that know no version of each other do not go on for ever.
fn version_not_supported(octets: &[u8]) -> Option<Vec<u8>> {
    let &[_, kind, _, _, s1, s2] = octets.first_chunk()?;
    let not_supported = message_type::VERSION_NOT_SUPPORTED;
    let header = Header { version: Version::HIGHEST, kind: not_supported, sequence: u16::from_be_bytes([s1, s2]) };
    if kind == not_supported { None } else { said(header, |w| w) }
}

fn said(header: Header, what: impl FnOnce(Writer<'_>) -> Writer<'_>) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    what(Writer::new(&mut octets, &header)).finish().ok()?;
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(header: Header, what: impl FnOnce(Writer<'_>) -> Writer<'_>) -> Option<(u8, u16)> {
        let octets = answer(&said(header, what).unwrap(), 9)?;
        let header = Message::new(&octets).unwrap().header;
        Some((header.kind, header.sequence))
    }

    #[test]
    fn records_are_refused_and_echoes_answered() {
        let header = |kind| Header { version: Version::V2, kind, sequence: 77 };
        assert_eq!(told(header(1), |w| w), Some((2, 77)));
        assert_eq!(told(header(240), |w| w.empty_packet(false)), Some((241, 77)));
        // Answers are not answered, nor is what cannot be read.
        assert_eq!(told(header(2), |w| w.recovery(1)), None);
        assert_eq!(answer(b"", 9), None);
        let strange = answer(&[0xff, 1, 0, 0, 0, 5], 9).unwrap();
        assert_eq!(Message::new(&strange).unwrap().header.sequence, 5);
        assert_eq!(answer(&[0xff, 3, 0, 0, 0, 5], 9), None);
    }
}
