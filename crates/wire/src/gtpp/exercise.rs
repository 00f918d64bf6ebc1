//! Drives the readers with any octets and asserts what must always hold.

use super::profile::{FIELDS, Profile};
use super::{Body, Frames, Message, TransferCommand};

/// A stream of messages, and the whole as one datagram.
pub fn gtpp(octets: &[u8]) {
    let mut frames = Frames::new(octets, 1 << 14);
    let mut taken = 0;
    while let Ok(Some(octets)) = frames.next_message() {
        taken += octets.len();
        message(octets);
    }
    assert!(frames.taken() == taken && taken <= octets.len());
    message(octets);
}

fn message(octets: &[u8]) {
    let Ok(message) = Message::new(octets) else { return };
    let located: usize = message.elements().flatten().map(|element| element.value.len()).sum();
    assert!(located < octets.len() && !message.to_string().is_empty());
    match message.body() {
        Ok(Body::DataRecordTransferRequest(TransferCommand::Send { packet: Some(packet), .. })) => {
            assert_eq!(packet.records().count(), usize::from(packet.count));
        }
        Ok(Body::DataRecordTransferResponse { requests, .. }) => assert_eq!(requests.iter().count(), requests.len()),
        Ok(_) => {}
        Err(error) => assert!(error.cause() >= 192),
    }
    if let Ok(quota) = Profile::default().read(&message) {
        let _ = quota.to_string();
        for (field, ..) in FIELDS {
            let read = (quota.number(*field).is_ok(), quota.text(*field).is_ok());
            assert!(quota.octets(*field).is_some() || read == (true, true));
        }
        assert!(quota.role.needs().iter().all(|field| quota.octets(*field).is_some()));
    }
}
