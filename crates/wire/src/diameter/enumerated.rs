//! Values of Enumerated AVPs, with the names of their specifications.

use super::{Avp, Failure, Key, Value, Writer};
use core::fmt;

/// An enumeration: numbers with their names. Reading a number that it has not is DIAMETER_INVALID_AVP_VALUE.
macro_rules! enumerated {
    ($(#[$doc:meta])* $type:ident { $($(#[$default:meta])* $name:ident = $number:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$default])* #[doc = $text] $name = $number,)*
        }

        impl $type {
            /// Numbers and names.
            pub const NAMES: &'static [(u32, &'static str)] = &[$(($number, $text)),*];

            /// The value with that number.
            #[inline]
            pub const fn from_number(number: u32) -> Option<$type> {
                match number {
                    $($number => Some($type::$name),)*
                    _ => None,
                }
            }

            /// The number of the wire.
            #[inline]
            pub const fn number(self) -> u32 {
                self as u32
            }
        }

        /// The name in the specification.
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $($type::$name => $text,)*
                })
            }
        }

        impl<'a> Value<'a> for $type {
            #[inline]
            fn read(avp: &Avp<'a>) -> Result<Self, Failure<'a>> {
                $type::from_number(avp.unsigned32()?).ok_or_else(|| avp.wrong_value())
            }

            #[inline]
            fn write(&self, key: Key, writer: &mut Writer<'_>) {
                writer.unsigned32(key, self.number());
            }
        }
    };
}

enumerated! {
    /// CC-Request-Type (RFC 8506 section 8.3).
    RequestType {
        #[default]
        Initial = 1 "INITIAL_REQUEST",
        Update = 2 "UPDATE_REQUEST",
        Termination = 3 "TERMINATION_REQUEST",
        Event = 4 "EVENT_REQUEST",
    }
}

enumerated! {
    /// CC-Session-Failover (RFC 8506 section 8.4).
    SessionFailover {
        #[default]
        NotSupported = 0 "FAILOVER_NOT_SUPPORTED",
        Supported = 1 "FAILOVER_SUPPORTED",
    }
}

enumerated! {
    /// Check-Balance-Result (RFC 8506 section 8.6).
    CheckBalanceResult {
        #[default]
        EnoughCredit = 0 "ENOUGH_CREDIT",
        NoCredit = 1 "NO_CREDIT",
    }
}

enumerated! {
    /// Credit-Control-Failure-Handling (RFC 8506 section 8.14).
    FailureHandling {
        #[default]
        Terminate = 0 "TERMINATE",
        Continue = 1 "CONTINUE",
        RetryAndTerminate = 2 "RETRY_AND_TERMINATE",
    }
}

enumerated! {
    /// Direct-Debiting-Failure-Handling (RFC 8506 section 8.15).
    DirectDebitingFailureHandling {
        #[default]
        TerminateOrBuffer = 0 "TERMINATE_OR_BUFFER",
        Continue = 1 "CONTINUE",
    }
}

enumerated! {
    /// Tariff-Change-Usage (RFC 8506 section 8.27).
    TariffChangeUsage {
        #[default]
        Before = 0 "UNIT_BEFORE_TARIFF_CHANGE",
        After = 1 "UNIT_AFTER_TARIFF_CHANGE",
        Indeterminate = 2 "UNIT_INDETERMINATE",
    }
}

enumerated! {
    /// CC-Unit-Type (RFC 8506 section 8.32).
    UnitType {
        #[default]
        Time = 0 "TIME",
        Money = 1 "MONEY",
        TotalOctets = 2 "TOTAL-OCTETS",
        InputOctets = 3 "INPUT-OCTETS",
        OutputOctets = 4 "OUTPUT-OCTETS",
        ServiceSpecificUnits = 5 "SERVICE-SPECIFIC-UNITS",
    }
}

enumerated! {
    /// Final-Unit-Action (RFC 8506 section 8.35).
    FinalUnitAction {
        #[default]
        Terminate = 0 "TERMINATE",
        Redirect = 1 "REDIRECT",
        RestrictAccess = 2 "RESTRICT_ACCESS",
    }
}

enumerated! {
    /// Redirect-Address-Type (RFC 8506 section 8.38).
    RedirectAddressType {
        #[default]
        Ipv4 = 0 "IPv4 Address",
        Ipv6 = 1 "IPv6 Address",
        Url = 2 "URL",
        SipUri = 3 "SIP URI",
    }
}

enumerated! {
    /// Multiple-Services-Indicator (RFC 8506 section 8.40).
    MultipleServicesIndicator {
        #[default]
        NotSupported = 0 "MULTIPLE_SERVICES_NOT_SUPPORTED",
        Supported = 1 "MULTIPLE_SERVICES_SUPPORTED",
    }
}

enumerated! {
    /// Requested-Action (RFC 8506 section 8.41).
    RequestedAction {
        #[default]
        DirectDebiting = 0 "DIRECT_DEBITING",
        RefundAccount = 1 "REFUND_ACCOUNT",
        CheckBalance = 2 "CHECK_BALANCE",
        PriceEnquiry = 3 "PRICE_ENQUIRY",
    }
}

enumerated! {
    /// Subscription-Id-Type (RFC 8506 section 8.47).
    SubscriptionIdType {
        #[default]
        E164 = 0 "END_USER_E164",
        Imsi = 1 "END_USER_IMSI",
        SipUri = 2 "END_USER_SIP_URI",
        Nai = 3 "END_USER_NAI",
        Private = 4 "END_USER_PRIVATE",
    }
}

enumerated! {
    /// User-Equipment-Info-Type (RFC 8506 section 8.50).
    UserEquipmentInfoType {
        #[default]
        Imeisv = 0 "IMEISV",
        Mac = 1 "MAC",
        Eui64 = 2 "EUI64",
        ModifiedEui64 = 3 "MODIFIED_EUI64",
    }
}

enumerated! {
    /// Reporting-Reason (TS 32.299 clause 7.2.175).
    ReportingReason {
        #[default]
        Threshold = 0 "THRESHOLD",
        QuotaHoldingTime = 1 "QHT",
        Final = 2 "FINAL",
        QuotaExhausted = 3 "QUOTA_EXHAUSTED",
        ValidityTime = 4 "VALIDITY_TIME",
        OtherQuotaType = 5 "OTHER_QUOTA_TYPE",
        RatingConditionChange = 6 "RATING_CONDITION_CHANGE",
        ForcedReauthorisation = 7 "FORCED_REAUTHORISATION",
        PoolExhausted = 8 "POOL_EXHAUSTED",
    }
}

enumerated! {
    /// Time-Quota-Type (TS 32.299 clause 7.2.223).
    TimeQuotaType {
        #[default]
        DiscreteTimePeriod = 0 "DISCRETE_TIME_PERIOD",
        ContinuousTimePeriod = 1 "CONTINUOUS_TIME_PERIOD",
    }
}

enumerated! {
    /// Disconnect-Cause (RFC 6733 section 5.4.3).
    DisconnectCause {
        #[default]
        Rebooting = 0 "REBOOTING",
        Busy = 1 "BUSY",
        DoNotWantToTalkToYou = 2 "DO_NOT_WANT_TO_TALK_TO_YOU",
    }
}

enumerated! {
    /// Re-Auth-Request-Type (RFC 6733 section 8.12).
    ReAuthRequestType {
        #[default]
        AuthorizeOnly = 0 "AUTHORIZE_ONLY",
        AuthorizeAuthenticate = 1 "AUTHORIZE_AUTHENTICATE",
    }
}

/// Names of numbers that are shown and passed on, never decided upon.
pub(super) mod names {
    /// Termination-Cause (RFC 6733 section 8.15).
    pub const TERMINATION_CAUSE: &[(u32, &str)] = &[
        (1, "DIAMETER_LOGOUT"),
        (2, "DIAMETER_SERVICE_NOT_PROVIDED"),
        (3, "DIAMETER_BAD_ANSWER"),
        (4, "DIAMETER_ADMINISTRATIVE"),
        (5, "DIAMETER_LINK_BROKEN"),
        (6, "DIAMETER_AUTH_EXPIRED"),
        (7, "DIAMETER_USER_MOVED"),
        (8, "DIAMETER_SESSION_TIMEOUT"),
    ];
    /// Redirect-Host-Usage (RFC 6733 section 6.13).
    pub const REDIRECT_HOST_USAGE: &[(u32, &str)] = &[
        (0, "DONT_CACHE"),
        (1, "ALL_SESSION"),
        (2, "ALL_REALM"),
        (3, "REALM_AND_APPLICATION"),
        (4, "ALL_APPLICATION"),
        (5, "ALL_HOST"),
        (6, "ALL_USER"),
    ];
    /// Inband-Security-Id (RFC 6733 section 6.10).
    pub const INBAND_SECURITY: &[(u32, &str)] = &[(0, "NO_INBAND_SECURITY"), (1, "TLS")];
    /// Auth-Session-State (RFC 6733 section 8.11).
    pub const AUTH_SESSION_STATE: &[(u32, &str)] = &[(0, "STATE_MAINTAINED"), (1, "NO_STATE_MAINTAINED")];
    /// OC-Report-Type (RFC 7683 section 7.6).
    pub const OVERLOAD_REPORT: &[(u32, &str)] = &[(0, "HOST_REPORT"), (1, "REALM_REPORT")];
    /// 3GPP-PDP-Type (TS 29.061 clause 16.4.7.2).
    pub const PDP_TYPE: &[(u32, &str)] = &[(0, "IPv4"), (1, "PPP"), (2, "IPv6"), (3, "IPv4v6")];
    /// Trigger-Type (TS 32.299 clause 7.2.235).
    pub const TRIGGER: &[(u32, &str)] = &[
        (1, "CHANGE_IN_SGSN_IP_ADDRESS"),
        (2, "CHANGE_IN_QOS"),
        (3, "CHANGE_IN_LOCATION"),
        (4, "CHANGE_IN_RAT"),
        (5, "CHANGE_IN_UE_TIMEZONE"),
        (10, "CHANGEINQOS_TRAFFIC_CLASS"),
        (11, "CHANGEINQOS_RELIABILITY_CLASS"),
        (12, "CHANGEINQOS_DELAY_CLASS"),
        (13, "CHANGEINQOS_PEAK_THROUGHPUT"),
        (14, "CHANGEINQOS_PRECEDENCE_CLASS"),
        (15, "CHANGEINQOS_MEAN_THROUGHPUT"),
        (16, "CHANGEINQOS_MAXIMUM_BIT_RATE_FOR_UPLINK"),
        (17, "CHANGEINQOS_MAXIMUM_BIT_RATE_FOR_DOWNLINK"),
        (30, "CHANGEINLOCATION_MCC"),
        (31, "CHANGEINLOCATION_MNC"),
        (32, "CHANGEINLOCATION_RAC"),
        (33, "CHANGEINLOCATION_LAC"),
        (34, "CHANGEINLOCATION_CellId"),
        (35, "CHANGEINLOCATION_TAC"),
        (36, "CHANGEINLOCATION_ECGI"),
        (61, "CHANGE_IN_SERVING_NODE"),
    ];
    /// Serving-Node-Type (TS 32.299 clause 7.2.198).
    pub const SERVING_NODE: &[(u32, &str)] =
        &[(0, "SGSN"), (1, "PMIPSGW"), (2, "GTPSGW"), (3, "ePDG"), (4, "hSGW"), (5, "MME")];
    /// Low-Balance-Indication (TS 32.299 clause 7.2.90A).
    pub const LOW_BALANCE: &[(u32, &str)] = &[(0, "NOT-APPLICABLE"), (1, "YES")];
    /// Envelope-Reporting (TS 32.299 clause 7.2.64).
    pub const ENVELOPE_REPORTING: &[(u32, &str)] = &[
        (0, "DO_NOT_REPORT_ENVELOPES"),
        (1, "REPORT_ENVELOPES"),
        (2, "REPORT_ENVELOPES_WITH_VOLUME"),
        (3, "REPORT_ENVELOPES_WITH_EVENTS"),
        (4, "REPORT_ENVELOPES_WITH_VOLUME_AND_EVENTS"),
    ];
}
