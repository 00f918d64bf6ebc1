//! The AVPs that charging meets: code, vendor, name, type and M flag, in one table.
//!
//! A client may send any of these in any command of credit control (`*[ AVP ]`); what is not here and has the M flag is
//! DIAMETER_AVP_UNSUPPORTED.

use super::enumerated::{DirectDebitingFailureHandling as DirectDebiting, *};
use super::result_code;
use core::fmt;

/// The vendor of the IETF's own AVPs: none.
const IETF: u32 = 0;
/// 3GPP's enterprise number.
pub const TGPP: u32 = 10_415;

/// Which AVP: a code in the space of a vendor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Enterprise number of IANA's registry; 0 is the IETF, and no Vendor-Id on the wire.
    pub vendor: u32,
    /// The AVP code.
    pub code: u32,
}

impl Key {
    /// Of the IETF.
    pub const fn ietf(code: u32) -> Key {
        Key { vendor: IETF, code }
    }
}

/// The name, or what there is of the number.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (find(*self), self.vendor) {
            (Some(definition), _) => f.write_str(definition.name),
            (None, IETF) => write!(f, "AVP {}", self.code),
            (None, vendor) => write!(f, "AVP {} of vendor {vendor}", self.code),
        }
    }
}

/// The type of an AVP's data (RFC 6733 sections 4.2 and 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OctetString.
    Octets,
    /// UTF8String.
    Text,
    /// DiameterIdentity.
    Identity,
    /// DiameterURI.
    Uri,
    /// IPFilterRule.
    FilterRule,
    /// Unsigned32.
    Unsigned32,
    /// Unsigned64.
    Unsigned64,
    /// Integer32.
    Integer32,
    /// Integer64.
    Integer64,
    /// Time.
    Time,
    /// Address.
    Address,
    /// Enumerated, with values that are not named here.
    Enumerated,
    /// Enumerated (or a number that is a code), with the names of its values.
    Named(&'static [(u32, &'static str)]),
    /// Grouped.
    Grouped,
}

impl Format {
    /// Data octets that every value of the type has at least.
    pub const fn least_octets(self) -> usize {
        match self {
            Format::Unsigned32 | Format::Integer32 | Format::Time | Format::Enumerated | Format::Named(_) => 4,
            Format::Unsigned64 | Format::Integer64 => 8,
            // A family and an IPv4 address.
            Format::Address => 6,
            Format::Octets | Format::Text | Format::Grouped => 0,
            Format::Identity | Format::Uri | Format::FilterRule => 0,
        }
    }
}

/// What is known of an AVP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its code and vendor.
    pub key: Key,
    /// Its name in the specification.
    pub name: &'static str,
    /// Its type.
    pub format: Format,
    /// Whether it is sent with the M flag.
    pub mandatory: bool,
}

impl Definition {
    /// Whether it is a group.
    pub fn is_group(&self) -> bool {
        self.format == Format::Grouped
    }
}

/// What is known of an AVP; none if nothing is.
pub fn find(key: Key) -> Option<&'static Definition> {
    let at = TABLE.binary_search_by_key(&key, |definition| definition.key).ok()?;
    Some(&TABLE[at])
}

/// The column of the M flag.
macro_rules! mandatory {
    (M) => {
        true
    };
    (-) => {
        false
    };
}

macro_rules! dictionary {
    ($($name:ident = $vendor:ident $code:literal $text:literal $kind:ident $(($names:path))?, $flag:tt;)*) => {
        /// The keys, by name.
        pub mod avp {
            use super::{IETF, Key, TGPP};
            $(#[doc = $text] pub const $name: Key = Key { vendor: $vendor, code: $code };)*
        }

        /// All of them, by vendor and code.
        pub const TABLE: &[Definition] = &[
            $(Definition {
                key: avp::$name,
                name: $text,
                format: Format::$kind $(($names))?,
                mandatory: mandatory!($flag),
            },)*
        ];

        /// Whether an AVP is sent with the M flag; one that is not known is not.
        #[inline]
        pub const fn is_mandatory(key: Key) -> bool {
            match key {
                $(avp::$name => mandatory!($flag),)*
                _ => false,
            }
        }
    };
}

dictionary! {
    // RFC 6733, RFC 7155, RFC 7683, RFC 8506.
    USER_NAME = IETF 1 "User-Name" Text, M;
    FRAMED_IP_ADDRESS = IETF 8 "Framed-IP-Address" Octets, M;
    FILTER_ID = IETF 11 "Filter-Id" Text, M;
    CLASS = IETF 25 "Class" Octets, M;
    SESSION_TIMEOUT = IETF 27 "Session-Timeout" Unsigned32, M;
    CALLED_STATION_ID = IETF 30 "Called-Station-Id" Text, M;
    PROXY_STATE = IETF 33 "Proxy-State" Octets, M;
    ACCT_SESSION_ID = IETF 44 "Acct-Session-Id" Octets, M;
    ACCT_MULTI_SESSION_ID = IETF 50 "Acct-Multi-Session-Id" Text, M;
    EVENT_TIMESTAMP = IETF 55 "Event-Timestamp" Time, M;
    ACCT_INTERIM_INTERVAL = IETF 85 "Acct-Interim-Interval" Unsigned32, M;
    FRAMED_IPV6_PREFIX = IETF 97 "Framed-IPv6-Prefix" Octets, M;
    HOST_IP_ADDRESS = IETF 257 "Host-IP-Address" Address, M;
    AUTH_APPLICATION_ID = IETF 258 "Auth-Application-Id" Unsigned32, M;
    ACCT_APPLICATION_ID = IETF 259 "Acct-Application-Id" Unsigned32, M;
    VENDOR_SPECIFIC_APPLICATION_ID = IETF 260 "Vendor-Specific-Application-Id" Grouped, M;
    REDIRECT_HOST_USAGE = IETF 261 "Redirect-Host-Usage" Named(names::REDIRECT_HOST_USAGE), M;
    REDIRECT_MAX_CACHE_TIME = IETF 262 "Redirect-Max-Cache-Time" Unsigned32, M;
    SESSION_ID = IETF 263 "Session-Id" Text, M;
    ORIGIN_HOST = IETF 264 "Origin-Host" Identity, M;
    SUPPORTED_VENDOR_ID = IETF 265 "Supported-Vendor-Id" Unsigned32, M;
    VENDOR_ID = IETF 266 "Vendor-Id" Unsigned32, M;
    FIRMWARE_REVISION = IETF 267 "Firmware-Revision" Unsigned32, -;
    RESULT_CODE = IETF 268 "Result-Code" Named(result_code::NAMES), M;
    PRODUCT_NAME = IETF 269 "Product-Name" Text, -;
    SESSION_BINDING = IETF 270 "Session-Binding" Unsigned32, M;
    SESSION_SERVER_FAILOVER = IETF 271 "Session-Server-Failover" Enumerated, M;
    MULTI_ROUND_TIME_OUT = IETF 272 "Multi-Round-Time-Out" Unsigned32, M;
    DISCONNECT_CAUSE = IETF 273 "Disconnect-Cause" Named(DisconnectCause::NAMES), M;
    AUTH_REQUEST_TYPE = IETF 274 "Auth-Request-Type" Enumerated, M;
    AUTH_GRACE_PERIOD = IETF 276 "Auth-Grace-Period" Unsigned32, M;
    AUTH_SESSION_STATE = IETF 277 "Auth-Session-State" Named(names::AUTH_SESSION_STATE), M;
    ORIGIN_STATE_ID = IETF 278 "Origin-State-Id" Unsigned32, M;
    FAILED_AVP = IETF 279 "Failed-AVP" Grouped, M;
    PROXY_HOST = IETF 280 "Proxy-Host" Identity, M;
    ERROR_MESSAGE = IETF 281 "Error-Message" Text, -;
    ROUTE_RECORD = IETF 282 "Route-Record" Identity, M;
    DESTINATION_REALM = IETF 283 "Destination-Realm" Identity, M;
    PROXY_INFO = IETF 284 "Proxy-Info" Grouped, M;
    RE_AUTH_REQUEST_TYPE = IETF 285 "Re-Auth-Request-Type" Named(ReAuthRequestType::NAMES), M;
    ACCOUNTING_SUB_SESSION_ID = IETF 287 "Accounting-Sub-Session-Id" Unsigned64, M;
    AUTHORIZATION_LIFETIME = IETF 291 "Authorization-Lifetime" Unsigned32, M;
    REDIRECT_HOST = IETF 292 "Redirect-Host" Uri, M;
    DESTINATION_HOST = IETF 293 "Destination-Host" Identity, M;
    ERROR_REPORTING_HOST = IETF 294 "Error-Reporting-Host" Identity, -;
    TERMINATION_CAUSE = IETF 295 "Termination-Cause" Named(names::TERMINATION_CAUSE), M;
    ORIGIN_REALM = IETF 296 "Origin-Realm" Identity, M;
    EXPERIMENTAL_RESULT = IETF 297 "Experimental-Result" Grouped, M;
    EXPERIMENTAL_RESULT_CODE = IETF 298 "Experimental-Result-Code" Unsigned32, M;
    INBAND_SECURITY_ID = IETF 299 "Inband-Security-Id" Named(names::INBAND_SECURITY), M;
    DRMP = IETF 301 "DRMP" Enumerated, -;
    CC_CORRELATION_ID = IETF 411 "CC-Correlation-Id" Octets, -;
    CC_INPUT_OCTETS = IETF 412 "CC-Input-Octets" Unsigned64, M;
    CC_MONEY = IETF 413 "CC-Money" Grouped, M;
    CC_OUTPUT_OCTETS = IETF 414 "CC-Output-Octets" Unsigned64, M;
    CC_REQUEST_NUMBER = IETF 415 "CC-Request-Number" Unsigned32, M;
    CC_REQUEST_TYPE = IETF 416 "CC-Request-Type" Named(RequestType::NAMES), M;
    CC_SERVICE_SPECIFIC_UNITS = IETF 417 "CC-Service-Specific-Units" Unsigned64, M;
    CC_SESSION_FAILOVER = IETF 418 "CC-Session-Failover" Named(SessionFailover::NAMES), M;
    CC_SUB_SESSION_ID = IETF 419 "CC-Sub-Session-Id" Unsigned64, M;
    CC_TIME = IETF 420 "CC-Time" Unsigned32, M;
    CC_TOTAL_OCTETS = IETF 421 "CC-Total-Octets" Unsigned64, M;
    CHECK_BALANCE_RESULT = IETF 422 "Check-Balance-Result" Named(CheckBalanceResult::NAMES), M;
    COST_INFORMATION = IETF 423 "Cost-Information" Grouped, M;
    COST_UNIT = IETF 424 "Cost-Unit" Text, M;
    CURRENCY_CODE = IETF 425 "Currency-Code" Unsigned32, M;
    CREDIT_CONTROL = IETF 426 "Credit-Control" Enumerated, M;
    CREDIT_CONTROL_FAILURE_HANDLING = IETF 427 "Credit-Control-Failure-Handling" Named(FailureHandling::NAMES), M;
    DIRECT_DEBITING_FAILURE_HANDLING = IETF 428 "Direct-Debiting-Failure-Handling" Named(DirectDebiting::NAMES), M;
    EXPONENT = IETF 429 "Exponent" Integer32, M;
    FINAL_UNIT_INDICATION = IETF 430 "Final-Unit-Indication" Grouped, M;
    GRANTED_SERVICE_UNIT = IETF 431 "Granted-Service-Unit" Grouped, M;
    RATING_GROUP = IETF 432 "Rating-Group" Unsigned32, M;
    REDIRECT_ADDRESS_TYPE = IETF 433 "Redirect-Address-Type" Named(RedirectAddressType::NAMES), M;
    REDIRECT_SERVER = IETF 434 "Redirect-Server" Grouped, M;
    REDIRECT_SERVER_ADDRESS = IETF 435 "Redirect-Server-Address" Text, M;
    REQUESTED_ACTION = IETF 436 "Requested-Action" Named(RequestedAction::NAMES), M;
    REQUESTED_SERVICE_UNIT = IETF 437 "Requested-Service-Unit" Grouped, M;
    RESTRICTION_FILTER_RULE = IETF 438 "Restriction-Filter-Rule" FilterRule, M;
    SERVICE_IDENTIFIER = IETF 439 "Service-Identifier" Unsigned32, M;
    SERVICE_PARAMETER_INFO = IETF 440 "Service-Parameter-Info" Grouped, -;
    SERVICE_PARAMETER_TYPE = IETF 441 "Service-Parameter-Type" Unsigned32, -;
    SERVICE_PARAMETER_VALUE = IETF 442 "Service-Parameter-Value" Octets, -;
    SUBSCRIPTION_ID = IETF 443 "Subscription-Id" Grouped, M;
    SUBSCRIPTION_ID_DATA = IETF 444 "Subscription-Id-Data" Text, M;
    UNIT_VALUE = IETF 445 "Unit-Value" Grouped, M;
    USED_SERVICE_UNIT = IETF 446 "Used-Service-Unit" Grouped, M;
    VALUE_DIGITS = IETF 447 "Value-Digits" Integer64, M;
    VALIDITY_TIME = IETF 448 "Validity-Time" Unsigned32, M;
    FINAL_UNIT_ACTION = IETF 449 "Final-Unit-Action" Named(FinalUnitAction::NAMES), M;
    SUBSCRIPTION_ID_TYPE = IETF 450 "Subscription-Id-Type" Named(SubscriptionIdType::NAMES), M;
    TARIFF_TIME_CHANGE = IETF 451 "Tariff-Time-Change" Time, M;
    TARIFF_CHANGE_USAGE = IETF 452 "Tariff-Change-Usage" Named(TariffChangeUsage::NAMES), M;
    G_S_U_POOL_IDENTIFIER = IETF 453 "G-S-U-Pool-Identifier" Unsigned32, M;
    CC_UNIT_TYPE = IETF 454 "CC-Unit-Type" Named(UnitType::NAMES), M;
    MULTIPLE_SERVICES_INDICATOR = IETF 455 "Multiple-Services-Indicator" Named(MultipleServicesIndicator::NAMES), M;
    MULTIPLE_SERVICES_CREDIT_CONTROL = IETF 456 "Multiple-Services-Credit-Control" Grouped, M;
    G_S_U_POOL_REFERENCE = IETF 457 "G-S-U-Pool-Reference" Grouped, M;
    USER_EQUIPMENT_INFO = IETF 458 "User-Equipment-Info" Grouped, -;
    USER_EQUIPMENT_INFO_TYPE = IETF 459 "User-Equipment-Info-Type" Named(UserEquipmentInfoType::NAMES), -;
    USER_EQUIPMENT_INFO_VALUE = IETF 460 "User-Equipment-Info-Value" Octets, -;
    SERVICE_CONTEXT_ID = IETF 461 "Service-Context-Id" Text, M;
    OC_SUPPORTED_FEATURES = IETF 621 "OC-Supported-Features" Grouped, -;
    OC_FEATURE_VECTOR = IETF 622 "OC-Feature-Vector" Unsigned64, -;
    OC_OLR = IETF 623 "OC-OLR" Grouped, -;
    OC_SEQUENCE_NUMBER = IETF 624 "OC-Sequence-Number" Unsigned64, -;
    OC_VALIDITY_DURATION = IETF 625 "OC-Validity-Duration" Unsigned32, -;
    OC_REPORT_TYPE = IETF 626 "OC-Report-Type" Named(names::OVERLOAD_REPORT), -;
    OC_REDUCTION_PERCENTAGE = IETF 627 "OC-Reduction-Percentage" Unsigned32, -;
    USER_EQUIPMENT_INFO_EXTENSION = IETF 653 "User-Equipment-Info-Extension" Grouped, -;
    SUBSCRIPTION_ID_EXTENSION = IETF 659 "Subscription-Id-Extension" Grouped, -;
    REDIRECT_SERVER_EXTENSION = IETF 665 "Redirect-Server-Extension" Grouped, -;
    QOS_FINAL_UNIT_INDICATION = IETF 669 "QoS-Final-Unit-Indication" Grouped, -;
    // TS 29.061 clause 16.4.7, TS 32.299 clause 7.2, TS 29.212.
    TGPP_IMSI = TGPP 1 "3GPP-IMSI" Text, M;
    TGPP_CHARGING_ID = TGPP 2 "3GPP-Charging-Id" Octets, M;
    TGPP_PDP_TYPE = TGPP 3 "3GPP-PDP-Type" Named(names::PDP_TYPE), M;
    TGPP_GPRS_NEGOTIATED_QOS_PROFILE = TGPP 5 "3GPP-GPRS-Negotiated-QoS-Profile" Text, M;
    TGPP_IMSI_MCC_MNC = TGPP 8 "3GPP-IMSI-MCC-MNC" Text, M;
    TGPP_GGSN_MCC_MNC = TGPP 9 "3GPP-GGSN-MCC-MNC" Text, M;
    TGPP_NSAPI = TGPP 10 "3GPP-NSAPI" Text, M;
    TGPP_SESSION_STOP_INDICATOR = TGPP 11 "3GPP-Session-Stop-Indicator" Octets, M;
    TGPP_SELECTION_MODE = TGPP 12 "3GPP-Selection-Mode" Text, M;
    TGPP_CHARGING_CHARACTERISTICS = TGPP 13 "3GPP-Charging-Characteristics" Text, M;
    TGPP_SGSN_MCC_MNC = TGPP 18 "3GPP-SGSN-MCC-MNC" Text, M;
    TGPP_RAT_TYPE = TGPP 21 "3GPP-RAT-Type" Octets, M;
    TGPP_USER_LOCATION_INFO = TGPP 22 "3GPP-User-Location-Info" Octets, M;
    TGPP_MS_TIMEZONE = TGPP 23 "3GPP-MS-TimeZone" Octets, M;
    CALLED_PARTY_ADDRESS = TGPP 832 "Called-Party-Address" Text, M;
    CG_ADDRESS = TGPP 846 "CG-Address" Address, M;
    GGSN_ADDRESS = TGPP 847 "GGSN-Address" Address, M;
    PS_FURNISH_CHARGING_INFORMATION = TGPP 865 "PS-Furnish-Charging-Information" Grouped, M;
    TIME_QUOTA_THRESHOLD = TGPP 868 "Time-Quota-Threshold" Unsigned32, M;
    VOLUME_QUOTA_THRESHOLD = TGPP 869 "Volume-Quota-Threshold" Unsigned32, M;
    TRIGGER_TYPE = TGPP 870 "Trigger-Type" Named(names::TRIGGER), M;
    QUOTA_HOLDING_TIME = TGPP 871 "Quota-Holding-Time" Unsigned32, M;
    REPORTING_REASON = TGPP 872 "3GPP-Reporting-Reason" Named(ReportingReason::NAMES), M;
    SERVICE_INFORMATION = TGPP 873 "Service-Information" Grouped, M;
    PS_INFORMATION = TGPP 874 "PS-Information" Grouped, M;
    IMS_INFORMATION = TGPP 876 "IMS-Information" Grouped, M;
    MMS_INFORMATION = TGPP 877 "MMS-Information" Grouped, M;
    LCS_INFORMATION = TGPP 878 "LCS-Information" Grouped, M;
    POC_INFORMATION = TGPP 879 "PoC-Information" Grouped, M;
    MBMS_INFORMATION = TGPP 880 "MBMS-Information" Grouped, M;
    QUOTA_CONSUMPTION_TIME = TGPP 881 "Quota-Consumption-Time" Unsigned32, M;
    ADDRESS_DATA = TGPP 897 "Address-Data" Text, M;
    QOS_INFORMATION = TGPP 1016 "QoS-Information" Grouped, M;
    QOS_CLASS_IDENTIFIER = TGPP 1028 "QoS-Class-Identifier" Enumerated, M;
    RAT_TYPE = TGPP 1032 "RAT-Type" Enumerated, -;
    RECIPIENT_ADDRESS = TGPP 1201 "Recipient-Address" Grouped, M;
    UNIT_QUOTA_THRESHOLD = TGPP 1226 "Unit-Quota-Threshold" Unsigned32, M;
    PDP_ADDRESS = TGPP 1227 "PDP-Address" Address, M;
    SGSN_ADDRESS = TGPP 1228 "SGSN-Address" Address, M;
    SERVICE_SPECIFIC_INFO = TGPP 1249 "Service-Specific-Info" Grouped, M;
    SERVICE_GENERIC_INFORMATION = TGPP 1256 "Service-Generic-Information" Grouped, M;
    SERVICE_SPECIFIC_TYPE = TGPP 1257 "Service-Specific-Type" Unsigned32, M;
    EVENT_CHARGING_TIMESTAMP = TGPP 1258 "Event-Charging-TimeStamp" Time, M;
    TRIGGER = TGPP 1264 "Trigger" Grouped, M;
    BASE_TIME_INTERVAL = TGPP 1265 "Base-Time-Interval" Unsigned32, M;
    ENVELOPE = TGPP 1266 "Envelope" Grouped, M;
    ENVELOPE_END_TIME = TGPP 1267 "Envelope-End-Time" Time, M;
    ENVELOPE_REPORTING = TGPP 1268 "Envelope-Reporting" Named(names::ENVELOPE_REPORTING), M;
    ENVELOPE_START_TIME = TGPP 1269 "Envelope-Start-Time" Time, M;
    TIME_QUOTA_MECHANISM = TGPP 1270 "Time-Quota-Mechanism" Grouped, M;
    TIME_QUOTA_TYPE = TGPP 1271 "Time-Quota-Type" Named(TimeQuotaType::NAMES), M;
    AF_CORRELATION_INFORMATION = TGPP 1276 "AF-Correlation-Information" Grouped, M;
    OFFLINE_CHARGING = TGPP 1278 "Offline-Charging" Grouped, M;
    SMS_INFORMATION = TGPP 2000 "SMS-Information" Grouped, M;
    LOW_BALANCE_INDICATION = TGPP 2020 "Low-Balance-Indication" Named(names::LOW_BALANCE), M;
    REFUND_INFORMATION = TGPP 2022 "Refund-Information" Octets, M;
    RECIPIENT_INFO = TGPP 2026 "Recipient-Info" Grouped, M;
    CHANGE_CONDITION = TGPP 2037 "Change-Condition" Enumerated, M;
    CHANGE_TIME = TGPP 2038 "Change-Time" Time, M;
    DIAGNOSTICS = TGPP 2039 "Diagnostics" Enumerated, M;
    SERVICE_DATA_CONTAINER = TGPP 2040 "Service-Data-Container" Grouped, M;
    START_TIME = TGPP 2041 "Start-Time" Time, M;
    STOP_TIME = TGPP 2042 "Stop-Time" Time, M;
    TRAFFIC_DATA_VOLUMES = TGPP 2046 "Traffic-Data-Volumes" Grouped, M;
    SERVING_NODE_TYPE = TGPP 2047 "Serving-Node-Type" Named(names::SERVING_NODE), M;
    PDN_CONNECTION_CHARGING_ID = TGPP 2050 "PDN-Connection-Charging-ID" Unsigned32, M;
    DYNAMIC_ADDRESS_FLAG = TGPP 2051 "Dynamic-Address-Flag" Enumerated, M;
    AOC_INFORMATION = TGPP 2054 "AoC-Information" Grouped, M;
    AOC_REQUEST_TYPE = TGPP 2055 "AoC-Request-Type" Enumerated, M;
    NODE_ID = TGPP 2064 "Node-Id" Text, M;
    SGW_CHANGE = TGPP 2065 "SGW-Change" Enumerated, M;
    CHARGING_CHARACTERISTICS_SELECTION_MODE = TGPP 2066 "Charging-Characteristics-Selection-Mode" Enumerated, M;
    SGW_ADDRESS = TGPP 2067 "SGW-Address" Address, M;
    DYNAMIC_ADDRESS_FLAG_EXTENSION = TGPP 2068 "Dynamic-Address-Flag-Extension" Enumerated, M;
    ANNOUNCEMENT_INFORMATION = TGPP 3904 "Announcement-Information" Grouped, M;
}
