//! Causes (TS 32.295 clause 6.2.4.6, TS 29.060 clause 7.7.1).

macro_rules! causes {
    ($($name:ident = $code:literal $text:literal;)*) => {
        $(#[doc = $text] pub const $name: u8 = $code;)*

        /// The cause in words.
        pub const fn name(cause: u8) -> Option<&'static str> {
            Some(match cause {
                $($code => $text,)*
                _ => return None,
            })
        }
    };
}

causes! {
    SYSTEM_FAILURE = 59 "System failure";
    TRANSMIT_BUFFERS_FILLING = 60 "The transmit buffers are becoming full";
    RECEIVE_BUFFERS_FILLING = 61 "The receive buffers are becoming full";
    ANOTHER_NODE_GOES_DOWN = 62 "Another node is about to go down";
    THIS_NODE_GOES_DOWN = 63 "This node is about to go down";
    REQUEST_ACCEPTED = 128 "Request accepted";
    CDR_DECODING_ERROR = 177 "CDR decoding error";
    INVALID_MESSAGE_FORMAT = 193 "Invalid message format";
    VERSION_NOT_SUPPORTED = 198 "Version not supported";
    NO_RESOURCES = 199 "No resources available";
    SERVICE_NOT_SUPPORTED = 200 "Service not supported";
    MANDATORY_INCORRECT = 201 "Mandatory IE incorrect";
    MANDATORY_MISSING = 202 "Mandatory IE missing";
    OPTIONAL_INCORRECT = 203 "Optional IE incorrect";
    REJECTED_SYSTEM_FAILURE = 204 "System failure";
    DUPLICATES_ALREADY_FULFILLED = 252 "Request related to possibly duplicated packets already fulfilled";
    ALREADY_FULFILLED = 253 "Request already fulfilled";
    SEQUENCE_NUMBERS_INCORRECT = 254 "Sequence numbers of released/cancelled packets IE incorrect";
    NOT_FULFILLED = 255 "Request not fulfilled";
}

/// Whether a response accepts its request (TS 29.060 clause 7.7.1): 128 to 191.
pub const fn is_acceptance(cause: u8) -> bool {
    cause >= 128 && cause < 192
}
