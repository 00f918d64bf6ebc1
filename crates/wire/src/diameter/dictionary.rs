//! The AVPs that charging meets: code, vendor, name, type and M flag, in one table.
//!
//! A client may send any of these in any command of credit control (`*[ AVP ]`); what is not here and has the M flag is
//! DIAMETER_AVP_UNSUPPORTED.

use super::enumerated::*;
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

macro_rules! dictionary {
    ($($name:ident = $vendor:ident $code:literal $text:literal $kind:ident $(($names:path))?, $mandatory:literal;)*) => {
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
                mandatory: $mandatory,
            },)*
        ];

        /// Whether an AVP is sent with the M flag; one that is not known is not.
        #[inline]
        pub const fn is_mandatory(key: Key) -> bool {
            match key {
                $(avp::$name => $mandatory,)*
                _ => false,
            }
        }
    };
}

dictionary! {
    // RFC 6733, RFC 7155, RFC 7683, RFC 8506.
    USER_NAME = IETF 1 "User-Name" Text, true;
    FRAMED_IP_ADDRESS = IETF 8 "Framed-IP-Address" Octets, true;
    FILTER_ID = IETF 11 "Filter-Id" Text, true;
    CLASS = IETF 25 "Class" Octets, true;
    SESSION_TIMEOUT = IETF 27 "Session-Timeout" Unsigned32, true;
    CALLED_STATION_ID = IETF 30 "Called-Station-Id" Text, true;
    PROXY_STATE = IETF 33 "Proxy-State" Octets, true;
    ACCT_SESSION_ID = IETF 44 "Acct-Session-Id" Octets, true;
    ACCT_MULTI_SESSION_ID = IETF 50 "Acct-Multi-Session-Id" Text, true;
    EVENT_TIMESTAMP = IETF 55 "Event-Timestamp" Time, true;
    ACCT_INTERIM_INTERVAL = IETF 85 "Acct-Interim-Interval" Unsigned32, true;
    FRAMED_IPV6_PREFIX = IETF 97 "Framed-IPv6-Prefix" Octets, true;
    HOST_IP_ADDRESS = IETF 257 "Host-IP-Address" Address, true;
    AUTH_APPLICATION_ID = IETF 258 "Auth-Application-Id" Unsigned32, true;
    ACCT_APPLICATION_ID = IETF 259 "Acct-Application-Id" Unsigned32, true;
    VENDOR_SPECIFIC_APPLICATION_ID = IETF 260 "Vendor-Specific-Application-Id" Grouped, true;
    REDIRECT_HOST_USAGE = IETF 261 "Redirect-Host-Usage" Named(names::REDIRECT_HOST_USAGE), true;
    REDIRECT_MAX_CACHE_TIME = IETF 262 "Redirect-Max-Cache-Time" Unsigned32, true;
    SESSION_ID = IETF 263 "Session-Id" Text, true;
    ORIGIN_HOST = IETF 264 "Origin-Host" Identity, true;
    SUPPORTED_VENDOR_ID = IETF 265 "Supported-Vendor-Id" Unsigned32, true;
    VENDOR_ID = IETF 266 "Vendor-Id" Unsigned32, true;
    FIRMWARE_REVISION = IETF 267 "Firmware-Revision" Unsigned32, false;
    RESULT_CODE = IETF 268 "Result-Code" Named(result_code::NAMES), true;
    PRODUCT_NAME = IETF 269 "Product-Name" Text, false;
    SESSION_BINDING = IETF 270 "Session-Binding" Unsigned32, true;
    SESSION_SERVER_FAILOVER = IETF 271 "Session-Server-Failover" Enumerated, true;
    MULTI_ROUND_TIME_OUT = IETF 272 "Multi-Round-Time-Out" Unsigned32, true;
    DISCONNECT_CAUSE = IETF 273 "Disconnect-Cause" Named(DisconnectCause::NAMES), true;
    AUTH_REQUEST_TYPE = IETF 274 "Auth-Request-Type" Enumerated, true;
    AUTH_GRACE_PERIOD = IETF 276 "Auth-Grace-Period" Unsigned32, true;
    AUTH_SESSION_STATE = IETF 277 "Auth-Session-State" Named(names::AUTH_SESSION_STATE), true;
    ORIGIN_STATE_ID = IETF 278 "Origin-State-Id" Unsigned32, true;
    FAILED_AVP = IETF 279 "Failed-AVP" Grouped, true;
    PROXY_HOST = IETF 280 "Proxy-Host" Identity, true;
    ERROR_MESSAGE = IETF 281 "Error-Message" Text, false;
    ROUTE_RECORD = IETF 282 "Route-Record" Identity, true;
    DESTINATION_REALM = IETF 283 "Destination-Realm" Identity, true;
    PROXY_INFO = IETF 284 "Proxy-Info" Grouped, true;
    RE_AUTH_REQUEST_TYPE = IETF 285 "Re-Auth-Request-Type" Named(ReAuthRequestType::NAMES), true;
    ACCOUNTING_SUB_SESSION_ID = IETF 287 "Accounting-Sub-Session-Id" Unsigned64, true;
    AUTHORIZATION_LIFETIME = IETF 291 "Authorization-Lifetime" Unsigned32, true;
    REDIRECT_HOST = IETF 292 "Redirect-Host" Uri, true;
    DESTINATION_HOST = IETF 293 "Destination-Host" Identity, true;
    ERROR_REPORTING_HOST = IETF 294 "Error-Reporting-Host" Identity, false;
    TERMINATION_CAUSE = IETF 295 "Termination-Cause" Named(names::TERMINATION_CAUSE), true;
    ORIGIN_REALM = IETF 296 "Origin-Realm" Identity, true;
    EXPERIMENTAL_RESULT = IETF 297 "Experimental-Result" Grouped, true;
    EXPERIMENTAL_RESULT_CODE = IETF 298 "Experimental-Result-Code" Unsigned32, true;
    INBAND_SECURITY_ID = IETF 299 "Inband-Security-Id" Named(names::INBAND_SECURITY), true;
    DRMP = IETF 301 "DRMP" Enumerated, false;
    CC_CORRELATION_ID = IETF 411 "CC-Correlation-Id" Octets, false;
    CC_INPUT_OCTETS = IETF 412 "CC-Input-Octets" Unsigned64, true;
    CC_MONEY = IETF 413 "CC-Money" Grouped, true;
    CC_OUTPUT_OCTETS = IETF 414 "CC-Output-Octets" Unsigned64, true;
    CC_REQUEST_NUMBER = IETF 415 "CC-Request-Number" Unsigned32, true;
    CC_REQUEST_TYPE = IETF 416 "CC-Request-Type" Named(RequestType::NAMES), true;
    CC_SERVICE_SPECIFIC_UNITS = IETF 417 "CC-Service-Specific-Units" Unsigned64, true;
    CC_SESSION_FAILOVER = IETF 418 "CC-Session-Failover" Named(SessionFailover::NAMES), true;
    CC_SUB_SESSION_ID = IETF 419 "CC-Sub-Session-Id" Unsigned64, true;
    CC_TIME = IETF 420 "CC-Time" Unsigned32, true;
    CC_TOTAL_OCTETS = IETF 421 "CC-Total-Octets" Unsigned64, true;
    CHECK_BALANCE_RESULT = IETF 422 "Check-Balance-Result" Named(CheckBalanceResult::NAMES), true;
    COST_INFORMATION = IETF 423 "Cost-Information" Grouped, true;
    COST_UNIT = IETF 424 "Cost-Unit" Text, true;
    CURRENCY_CODE = IETF 425 "Currency-Code" Unsigned32, true;
    CREDIT_CONTROL = IETF 426 "Credit-Control" Enumerated, true;
    CREDIT_CONTROL_FAILURE_HANDLING = IETF 427 "Credit-Control-Failure-Handling" Named(FailureHandling::NAMES), true;
    DIRECT_DEBITING_FAILURE_HANDLING = IETF 428 "Direct-Debiting-Failure-Handling" Named(DirectDebitingFailureHandling::NAMES), true;
    EXPONENT = IETF 429 "Exponent" Integer32, true;
    FINAL_UNIT_INDICATION = IETF 430 "Final-Unit-Indication" Grouped, true;
    GRANTED_SERVICE_UNIT = IETF 431 "Granted-Service-Unit" Grouped, true;
    RATING_GROUP = IETF 432 "Rating-Group" Unsigned32, true;
    REDIRECT_ADDRESS_TYPE = IETF 433 "Redirect-Address-Type" Named(RedirectAddressType::NAMES), true;
    REDIRECT_SERVER = IETF 434 "Redirect-Server" Grouped, true;
    REDIRECT_SERVER_ADDRESS = IETF 435 "Redirect-Server-Address" Text, true;
    REQUESTED_ACTION = IETF 436 "Requested-Action" Named(RequestedAction::NAMES), true;
    REQUESTED_SERVICE_UNIT = IETF 437 "Requested-Service-Unit" Grouped, true;
    RESTRICTION_FILTER_RULE = IETF 438 "Restriction-Filter-Rule" FilterRule, true;
    SERVICE_IDENTIFIER = IETF 439 "Service-Identifier" Unsigned32, true;
    SERVICE_PARAMETER_INFO = IETF 440 "Service-Parameter-Info" Grouped, false;
    SERVICE_PARAMETER_TYPE = IETF 441 "Service-Parameter-Type" Unsigned32, false;
    SERVICE_PARAMETER_VALUE = IETF 442 "Service-Parameter-Value" Octets, false;
    SUBSCRIPTION_ID = IETF 443 "Subscription-Id" Grouped, true;
    SUBSCRIPTION_ID_DATA = IETF 444 "Subscription-Id-Data" Text, true;
    UNIT_VALUE = IETF 445 "Unit-Value" Grouped, true;
    USED_SERVICE_UNIT = IETF 446 "Used-Service-Unit" Grouped, true;
    VALUE_DIGITS = IETF 447 "Value-Digits" Integer64, true;
    VALIDITY_TIME = IETF 448 "Validity-Time" Unsigned32, true;
    FINAL_UNIT_ACTION = IETF 449 "Final-Unit-Action" Named(FinalUnitAction::NAMES), true;
    SUBSCRIPTION_ID_TYPE = IETF 450 "Subscription-Id-Type" Named(SubscriptionIdType::NAMES), true;
    TARIFF_TIME_CHANGE = IETF 451 "Tariff-Time-Change" Time, true;
    TARIFF_CHANGE_USAGE = IETF 452 "Tariff-Change-Usage" Named(TariffChangeUsage::NAMES), true;
    G_S_U_POOL_IDENTIFIER = IETF 453 "G-S-U-Pool-Identifier" Unsigned32, true;
    CC_UNIT_TYPE = IETF 454 "CC-Unit-Type" Named(UnitType::NAMES), true;
    MULTIPLE_SERVICES_INDICATOR = IETF 455 "Multiple-Services-Indicator" Named(MultipleServicesIndicator::NAMES), true;
    MULTIPLE_SERVICES_CREDIT_CONTROL = IETF 456 "Multiple-Services-Credit-Control" Grouped, true;
    G_S_U_POOL_REFERENCE = IETF 457 "G-S-U-Pool-Reference" Grouped, true;
    USER_EQUIPMENT_INFO = IETF 458 "User-Equipment-Info" Grouped, false;
    USER_EQUIPMENT_INFO_TYPE = IETF 459 "User-Equipment-Info-Type" Named(UserEquipmentInfoType::NAMES), false;
    USER_EQUIPMENT_INFO_VALUE = IETF 460 "User-Equipment-Info-Value" Octets, false;
    SERVICE_CONTEXT_ID = IETF 461 "Service-Context-Id" Text, true;
    OC_SUPPORTED_FEATURES = IETF 621 "OC-Supported-Features" Grouped, false;
    OC_FEATURE_VECTOR = IETF 622 "OC-Feature-Vector" Unsigned64, false;
    OC_OLR = IETF 623 "OC-OLR" Grouped, false;
    OC_SEQUENCE_NUMBER = IETF 624 "OC-Sequence-Number" Unsigned64, false;
    OC_VALIDITY_DURATION = IETF 625 "OC-Validity-Duration" Unsigned32, false;
    OC_REPORT_TYPE = IETF 626 "OC-Report-Type" Named(names::OVERLOAD_REPORT), false;
    OC_REDUCTION_PERCENTAGE = IETF 627 "OC-Reduction-Percentage" Unsigned32, false;
    USER_EQUIPMENT_INFO_EXTENSION = IETF 653 "User-Equipment-Info-Extension" Grouped, false;
    SUBSCRIPTION_ID_EXTENSION = IETF 659 "Subscription-Id-Extension" Grouped, false;
    REDIRECT_SERVER_EXTENSION = IETF 665 "Redirect-Server-Extension" Grouped, false;
    QOS_FINAL_UNIT_INDICATION = IETF 669 "QoS-Final-Unit-Indication" Grouped, false;
    // TS 29.061 clause 16.4.7, TS 32.299 clause 7.2, TS 29.212.
    TGPP_IMSI = TGPP 1 "3GPP-IMSI" Text, true;
    TGPP_CHARGING_ID = TGPP 2 "3GPP-Charging-Id" Octets, true;
    TGPP_PDP_TYPE = TGPP 3 "3GPP-PDP-Type" Named(names::PDP_TYPE), true;
    TGPP_GPRS_NEGOTIATED_QOS_PROFILE = TGPP 5 "3GPP-GPRS-Negotiated-QoS-Profile" Text, true;
    TGPP_IMSI_MCC_MNC = TGPP 8 "3GPP-IMSI-MCC-MNC" Text, true;
    TGPP_GGSN_MCC_MNC = TGPP 9 "3GPP-GGSN-MCC-MNC" Text, true;
    TGPP_NSAPI = TGPP 10 "3GPP-NSAPI" Text, true;
    TGPP_SESSION_STOP_INDICATOR = TGPP 11 "3GPP-Session-Stop-Indicator" Octets, true;
    TGPP_SELECTION_MODE = TGPP 12 "3GPP-Selection-Mode" Text, true;
    TGPP_CHARGING_CHARACTERISTICS = TGPP 13 "3GPP-Charging-Characteristics" Text, true;
    TGPP_SGSN_MCC_MNC = TGPP 18 "3GPP-SGSN-MCC-MNC" Text, true;
    TGPP_RAT_TYPE = TGPP 21 "3GPP-RAT-Type" Octets, true;
    TGPP_USER_LOCATION_INFO = TGPP 22 "3GPP-User-Location-Info" Octets, true;
    TGPP_MS_TIMEZONE = TGPP 23 "3GPP-MS-TimeZone" Octets, true;
    CG_ADDRESS = TGPP 846 "CG-Address" Address, true;
    GGSN_ADDRESS = TGPP 847 "GGSN-Address" Address, true;
    PS_FURNISH_CHARGING_INFORMATION = TGPP 865 "PS-Furnish-Charging-Information" Grouped, true;
    TIME_QUOTA_THRESHOLD = TGPP 868 "Time-Quota-Threshold" Unsigned32, true;
    VOLUME_QUOTA_THRESHOLD = TGPP 869 "Volume-Quota-Threshold" Unsigned32, true;
    TRIGGER_TYPE = TGPP 870 "Trigger-Type" Named(names::TRIGGER), true;
    QUOTA_HOLDING_TIME = TGPP 871 "Quota-Holding-Time" Unsigned32, true;
    REPORTING_REASON = TGPP 872 "3GPP-Reporting-Reason" Named(ReportingReason::NAMES), true;
    SERVICE_INFORMATION = TGPP 873 "Service-Information" Grouped, true;
    PS_INFORMATION = TGPP 874 "PS-Information" Grouped, true;
    IMS_INFORMATION = TGPP 876 "IMS-Information" Grouped, true;
    MMS_INFORMATION = TGPP 877 "MMS-Information" Grouped, true;
    LCS_INFORMATION = TGPP 878 "LCS-Information" Grouped, true;
    POC_INFORMATION = TGPP 879 "PoC-Information" Grouped, true;
    MBMS_INFORMATION = TGPP 880 "MBMS-Information" Grouped, true;
    QUOTA_CONSUMPTION_TIME = TGPP 881 "Quota-Consumption-Time" Unsigned32, true;
    QOS_INFORMATION = TGPP 1016 "QoS-Information" Grouped, true;
    QOS_CLASS_IDENTIFIER = TGPP 1028 "QoS-Class-Identifier" Enumerated, true;
    RAT_TYPE = TGPP 1032 "RAT-Type" Enumerated, false;
    UNIT_QUOTA_THRESHOLD = TGPP 1226 "Unit-Quota-Threshold" Unsigned32, true;
    PDP_ADDRESS = TGPP 1227 "PDP-Address" Address, true;
    SGSN_ADDRESS = TGPP 1228 "SGSN-Address" Address, true;
    SERVICE_SPECIFIC_INFO = TGPP 1249 "Service-Specific-Info" Grouped, true;
    SERVICE_GENERIC_INFORMATION = TGPP 1256 "Service-Generic-Information" Grouped, true;
    SERVICE_SPECIFIC_TYPE = TGPP 1257 "Service-Specific-Type" Unsigned32, true;
    EVENT_CHARGING_TIMESTAMP = TGPP 1258 "Event-Charging-TimeStamp" Time, true;
    TRIGGER = TGPP 1264 "Trigger" Grouped, true;
    BASE_TIME_INTERVAL = TGPP 1265 "Base-Time-Interval" Unsigned32, true;
    ENVELOPE = TGPP 1266 "Envelope" Grouped, true;
    ENVELOPE_END_TIME = TGPP 1267 "Envelope-End-Time" Time, true;
    ENVELOPE_REPORTING = TGPP 1268 "Envelope-Reporting" Named(names::ENVELOPE_REPORTING), true;
    ENVELOPE_START_TIME = TGPP 1269 "Envelope-Start-Time" Time, true;
    TIME_QUOTA_MECHANISM = TGPP 1270 "Time-Quota-Mechanism" Grouped, true;
    TIME_QUOTA_TYPE = TGPP 1271 "Time-Quota-Type" Named(TimeQuotaType::NAMES), true;
    AF_CORRELATION_INFORMATION = TGPP 1276 "AF-Correlation-Information" Grouped, true;
    OFFLINE_CHARGING = TGPP 1278 "Offline-Charging" Grouped, true;
    SMS_INFORMATION = TGPP 2000 "SMS-Information" Grouped, true;
    LOW_BALANCE_INDICATION = TGPP 2020 "Low-Balance-Indication" Named(names::LOW_BALANCE), true;
    REFUND_INFORMATION = TGPP 2022 "Refund-Information" Octets, true;
    CHANGE_CONDITION = TGPP 2037 "Change-Condition" Enumerated, true;
    CHANGE_TIME = TGPP 2038 "Change-Time" Time, true;
    DIAGNOSTICS = TGPP 2039 "Diagnostics" Enumerated, true;
    SERVICE_DATA_CONTAINER = TGPP 2040 "Service-Data-Container" Grouped, true;
    START_TIME = TGPP 2041 "Start-Time" Time, true;
    STOP_TIME = TGPP 2042 "Stop-Time" Time, true;
    TRAFFIC_DATA_VOLUMES = TGPP 2046 "Traffic-Data-Volumes" Grouped, true;
    SERVING_NODE_TYPE = TGPP 2047 "Serving-Node-Type" Named(names::SERVING_NODE), true;
    PDN_CONNECTION_CHARGING_ID = TGPP 2050 "PDN-Connection-Charging-ID" Unsigned32, true;
    DYNAMIC_ADDRESS_FLAG = TGPP 2051 "Dynamic-Address-Flag" Enumerated, true;
    AOC_INFORMATION = TGPP 2054 "AoC-Information" Grouped, true;
    AOC_REQUEST_TYPE = TGPP 2055 "AoC-Request-Type" Enumerated, true;
    NODE_ID = TGPP 2064 "Node-Id" Text, true;
    SGW_CHANGE = TGPP 2065 "SGW-Change" Enumerated, true;
    CHARGING_CHARACTERISTICS_SELECTION_MODE = TGPP 2066 "Charging-Characteristics-Selection-Mode" Enumerated, true;
    SGW_ADDRESS = TGPP 2067 "SGW-Address" Address, true;
    DYNAMIC_ADDRESS_FLAG_EXTENSION = TGPP 2068 "Dynamic-Address-Flag-Extension" Enumerated, true;
    ANNOUNCEMENT_INFORMATION = TGPP 3904 "Announcement-Information" Grouped, true;
}
