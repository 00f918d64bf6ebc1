//! Commands of the base protocol (RFC 6733 section 5), and those that a server sends within a session: re-authorise and
//! abort (section 8). What must not be in a request is that of the table of section 10.1.

use super::dictionary::avp::*;
use super::enumerated::{DisconnectCause, ReAuthRequestType};
use super::grammar::{command, grammar, group, once, unnamed};
use super::{Avp, Avps, Failure, Header, HostAddress, Key, List, Message, TooLong, Value, Writer, result_code};

group! {
    /// Vendor-Specific-Application-Id (section 6.11): one of the two applications.
    VendorSpecificApplicationId {
        /// The vendor.
        required vendor_id: u32 = VENDOR_ID,
        /// An application of authorisation.
        optional auth_application_id: u32 = AUTH_APPLICATION_ID,
        /// An application of accounting.
        optional acct_application_id: u32 = ACCT_APPLICATION_ID,
    }
}

group! {
    /// Experimental-Result (section 7.6).
    ExperimentalResult {
        /// Whose code it is.
        required vendor_id: u32 = VENDOR_ID,
        /// The code.
        required code: u32 = EXPERIMENTAL_RESULT_CODE,
    }
}

command! {
    /// Capabilities-Exchange-Request (section 5.3.1).
    CapabilitiesExchangeRequest<'a> {
        /// Who asks.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// Its addresses, one at least.
        some host_ip_addresses: HostAddress<'a> = HOST_IP_ADDRESS,
        /// Enterprise number of who made it.
        required vendor_id: u32 = VENDOR_ID,
        /// What it is.
        required product_name: &'a str = PRODUCT_NAME,
        /// Grows with each start.
        optional origin_state_id: u32 = ORIGIN_STATE_ID,
        /// Vendors whose AVPs it knows.
        many supported_vendor_ids: u32 = SUPPORTED_VENDOR_ID,
        /// Applications of authorisation; 4 is credit control.
        many auth_application_ids: u32 = AUTH_APPLICATION_ID,
        /// Security that it offers on this connection; 0 none, 1 TLS.
        many inband_security_ids: u32 = INBAND_SECURITY_ID,
        /// Applications of accounting.
        many acct_application_ids: u32 = ACCT_APPLICATION_ID,
        /// Applications of vendors.
        many vendor_specific_application_ids: VendorSpecificApplicationId = VENDOR_SPECIFIC_APPLICATION_ID,
        /// Its version.
        optional firmware_revision: u32 = FIRMWARE_REVISION,
    }
    forbidden [SESSION_ID, RESULT_CODE, DESTINATION_HOST, DESTINATION_REALM]
}

impl<'a> CapabilitiesExchangeRequest<'a> {
    /// Whether it offers an application, by itself, in one of a vendor, or because it relays all of them.
    pub fn offers(&self, application: u32) -> bool {
        let wanted = |id: u32| id == application || id == super::application::RELAY;
        let of_vendors = |ids: VendorSpecificApplicationId| ids.auth_application_id.is_some_and(wanted);
        self.auth_application_ids.iter().any(wanted) || self.vendor_specific_application_ids.iter().any(of_vendors)
    }
}

command! {
    /// Capabilities-Exchange-Answer (section 5.3.2).
    CapabilitiesExchangeAnswer<'a> {
        /// See [`result_code`].
        required result_code: u32 = RESULT_CODE,
        /// Who answers.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// Its addresses, one at least.
        some host_ip_addresses: HostAddress<'a> = HOST_IP_ADDRESS,
        /// Enterprise number of who made it.
        required vendor_id: u32 = VENDOR_ID,
        /// What it is.
        required product_name: &'a str = PRODUCT_NAME,
        /// Grows with each start.
        optional origin_state_id: u32 = ORIGIN_STATE_ID,
        /// What went wrong, for people.
        optional error_message: &'a str = ERROR_MESSAGE,
        /// AVPs that offended, as groups.
        many failed_avps: &'a [u8] = FAILED_AVP,
        /// Vendors whose AVPs it knows.
        many supported_vendor_ids: u32 = SUPPORTED_VENDOR_ID,
        /// Applications of authorisation.
        many auth_application_ids: u32 = AUTH_APPLICATION_ID,
        /// Security on this connection.
        many inband_security_ids: u32 = INBAND_SECURITY_ID,
        /// Applications of accounting.
        many acct_application_ids: u32 = ACCT_APPLICATION_ID,
        /// Applications of vendors.
        many vendor_specific_application_ids: VendorSpecificApplicationId = VENDOR_SPECIFIC_APPLICATION_ID,
        /// Its version.
        optional firmware_revision: u32 = FIRMWARE_REVISION,
    }
}

impl<'a> CapabilitiesExchangeAnswer<'a> {
    /// As of the request: whether who answers speaks an application, or relays all of them.
    pub fn offers(&self, application: u32) -> bool {
        let wanted = |id: u32| id == application || id == super::application::RELAY;
        let of_vendors = |ids: VendorSpecificApplicationId| ids.auth_application_id.is_some_and(wanted);
        self.auth_application_ids.iter().any(wanted) || self.vendor_specific_application_ids.iter().any(of_vendors)
    }
}

command! {
    /// Device-Watchdog-Request (section 5.5.1).
    DeviceWatchdogRequest<'a> {
        /// Who asks.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// Grows with each start.
        optional origin_state_id: u32 = ORIGIN_STATE_ID,
    }
    forbidden [SESSION_ID, RESULT_CODE, DESTINATION_HOST, DESTINATION_REALM]
}

command! {
    /// Device-Watchdog-Answer (section 5.5.2).
    DeviceWatchdogAnswer<'a> {
        /// See [`result_code`].
        required result_code: u32 = RESULT_CODE,
        /// Who answers.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// What went wrong, for people.
        optional error_message: &'a str = ERROR_MESSAGE,
        /// AVPs that offended, as groups.
        many failed_avps: &'a [u8] = FAILED_AVP,
        /// Grows with each start.
        optional origin_state_id: u32 = ORIGIN_STATE_ID,
    }
}

command! {
    /// Disconnect-Peer-Request (section 5.4.1).
    DisconnectPeerRequest<'a> {
        /// Who asks.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// Why.
        required disconnect_cause: DisconnectCause = DISCONNECT_CAUSE,
    }
    forbidden [SESSION_ID, RESULT_CODE, DESTINATION_HOST, DESTINATION_REALM]
}

command! {
    /// Disconnect-Peer-Answer (section 5.4.2).
    DisconnectPeerAnswer<'a> {
        /// See [`result_code`].
        required result_code: u32 = RESULT_CODE,
        /// Who answers.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// What went wrong, for people.
        optional error_message: &'a str = ERROR_MESSAGE,
        /// AVPs that offended, as groups.
        many failed_avps: &'a [u8] = FAILED_AVP,
    }
}

command! {
    /// Re-Auth-Request of credit control (RFC 8506 section 5.5): of a session, or of what it names within it.
    ReAuthRequest<'a> {
        /// The session.
        required session_id: &'a str = SESSION_ID,
        /// Who asks: the server.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// The client's realm.
        required destination_realm: &'a str = DESTINATION_REALM,
        /// The client.
        required destination_host: &'a str = DESTINATION_HOST,
        /// 4.
        required auth_application_id: u32 = AUTH_APPLICATION_ID,
        /// What is to be asked again.
        required re_auth_request_type: ReAuthRequestType = RE_AUTH_REQUEST_TYPE,
        /// The subscriber.
        optional user_name: &'a str = USER_NAME,
        /// Grows with each start.
        optional origin_state_id: u32 = ORIGIN_STATE_ID,
        /// The part of the session.
        optional sub_session_id: u64 = CC_SUB_SESSION_ID,
        /// The pool of units.
        optional pool_identifier: u32 = G_S_U_POOL_IDENTIFIER,
        /// The service.
        optional service_identifier: u32 = SERVICE_IDENTIFIER,
        /// The rating group.
        optional rating_group: u32 = RATING_GROUP,
        /// On the way through proxies, as groups.
        many proxy_infos: &'a [u8] = PROXY_INFO,
        /// The relays that it passed.
        many route_records: &'a str = ROUTE_RECORD,
    }
    forbidden [RESULT_CODE]
}

command! {
    /// Re-Auth-Answer (section 8.3.2).
    ReAuthAnswer<'a> {
        /// The session.
        required session_id: &'a str = SESSION_ID,
        /// See [`result_code`]; 2002 says that a CCR follows (RFC 8506 section 5.5).
        optional result_code: u32 = RESULT_CODE,
        /// A result of a vendor, in place of the other one.
        optional experimental_result: ExperimentalResult = EXPERIMENTAL_RESULT,
        /// Who answers.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// The subscriber.
        optional user_name: &'a str = USER_NAME,
        /// Grows with each start.
        optional origin_state_id: u32 = ORIGIN_STATE_ID,
        /// What went wrong, for people.
        optional error_message: &'a str = ERROR_MESSAGE,
        /// AVPs that offended, as groups.
        many failed_avps: &'a [u8] = FAILED_AVP,
        /// Those of the request.
        many proxy_infos: &'a [u8] = PROXY_INFO,
    }
}

command! {
    /// Abort-Session-Request (section 8.5.1).
    AbortSessionRequest<'a> {
        /// The session.
        required session_id: &'a str = SESSION_ID,
        /// Who asks: the server.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// The client's realm.
        required destination_realm: &'a str = DESTINATION_REALM,
        /// The client.
        required destination_host: &'a str = DESTINATION_HOST,
        /// 4.
        required auth_application_id: u32 = AUTH_APPLICATION_ID,
        /// The subscriber.
        optional user_name: &'a str = USER_NAME,
        /// Grows with each start.
        optional origin_state_id: u32 = ORIGIN_STATE_ID,
        /// On the way through proxies, as groups.
        many proxy_infos: &'a [u8] = PROXY_INFO,
        /// The relays that it passed.
        many route_records: &'a str = ROUTE_RECORD,
    }
    forbidden [RESULT_CODE]
}

command! {
    /// Abort-Session-Answer (section 8.5.2).
    AbortSessionAnswer<'a> {
        /// The session.
        required session_id: &'a str = SESSION_ID,
        /// See [`result_code`].
        optional result_code: u32 = RESULT_CODE,
        /// A result of a vendor, in place of the other one.
        optional experimental_result: ExperimentalResult = EXPERIMENTAL_RESULT,
        /// Who answers.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// The subscriber.
        optional user_name: &'a str = USER_NAME,
        /// Grows with each start.
        optional origin_state_id: u32 = ORIGIN_STATE_ID,
        /// What went wrong, for people.
        optional error_message: &'a str = ERROR_MESSAGE,
        /// AVPs that offended, as groups.
        many failed_avps: &'a [u8] = FAILED_AVP,
        /// Those of the request.
        many proxy_infos: &'a [u8] = PROXY_INFO,
    }
}

command! {
    /// An answer with the E bit, of any command (section 7.2): it need not have the form of its command.
    ErrorAnswer<'a> {
        /// The session, if the request had one.
        optional session_id: &'a str = SESSION_ID,
        /// Who answers: the server, or an agent on the way.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// See [`result_code`].
        required result_code: u32 = RESULT_CODE,
        /// Grows with each start.
        optional origin_state_id: u32 = ORIGIN_STATE_ID,
        /// What went wrong, for people.
        optional error_message: &'a str = ERROR_MESSAGE,
        /// Who met the error, where that is not who answers.
        optional error_reporting_host: &'a str = ERROR_REPORTING_HOST,
        /// AVPs that offended, as groups.
        many failed_avps: &'a [u8] = FAILED_AVP,
        /// A result of a vendor.
        optional experimental_result: ExperimentalResult = EXPERIMENTAL_RESULT,
        /// Those of the request.
        many proxy_infos: &'a [u8] = PROXY_INFO,
    }
}

/// The answer to a request that is refused as a whole: of any command (section 7.2). A protocol error sets the E bit.
///
/// # Errors
/// It does not fit into a message; `out` is as it was.
pub fn refuse(
    request: &Message<'_>,
    origin_host: &str,
    origin_realm: &str,
    failure: &Failure<'_>,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    refuse_with(request, origin_host, origin_realm, failure, |_| {}, out)
}

/// The same with AVPs behind it.
///
/// # Errors
/// As [`refuse`].
pub fn refuse_with(
    request: &Message<'_>,
    origin_host: &str,
    origin_realm: &str,
    failure: &Failure<'_>,
    more: impl FnOnce(&mut Writer<'_>),
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let mut header = request.header.answer();
    if result_code::is_protocol_error(failure.result) {
        header.flags |= super::flag::ERROR;
    }
    let mut writer = Writer::new(out, &header);
    if let Some(session) = request.avps().find(SESSION_ID) {
        writer.copy(session.octets());
    }
    writer.unsigned32(RESULT_CODE, failure.result);
    writer.text(ORIGIN_HOST, origin_host);
    writer.text(ORIGIN_REALM, origin_realm);
    if header.application != super::application::BASE {
        writer.unsigned32(AUTH_APPLICATION_ID, header.application);
    }
    echo(request, &mut writer);
    failure.write(&mut writer);
    more(&mut writer);
    writer.finish()
}

/// What an answer of credit control repeats of its request (RFC 8506 section 3.2), and Proxy-Info (RFC 6733 section
/// 6.2), as far as they can be read.
fn echo(request: &Message<'_>, writer: &mut Writer<'_>) {
    for avp in request.avps().map_while(Result::ok) {
        if matches!(avp.key, CC_REQUEST_TYPE | CC_REQUEST_NUMBER | PROXY_INFO) {
            writer.copy(avp.octets());
        }
    }
}
