//! Units of service: asked for, granted, used, and what they cost (RFC 8506 section 8).

use super::*;

group! {
    /// Unit-Value (section 8.8): digits times ten to the power of the exponent.
    UnitValue {
        /// The significant digits.
        required digits: i64 = VALUE_DIGITS,
        /// The power of ten; 0 if not said.
        optional exponent: i32 = EXPONENT,
    }
}

group! {
    /// CC-Money (section 8.22).
    Money {
        /// How much.
        required value: UnitValue = UNIT_VALUE,
        /// ISO 4217; 978 is the euro.
        optional currency_code: u32 = CURRENCY_CODE,
    }
}

group! {
    /// Cost-Information (section 8.7).
    CostInformation<'a> {
        /// How much.
        required value: UnitValue = UNIT_VALUE,
        /// ISO 4217.
        required currency_code: u32 = CURRENCY_CODE,
        /// For what, in words.
        optional unit: &'a str = COST_UNIT,
    }
}

group! {
    /// Requested-Service-Unit (section 8.18); empty where the server shall choose.
    RequestedServiceUnit<'a> {
        /// Seconds.
        optional time_s: u32 = CC_TIME,
        /// Money.
        optional money: Money = CC_MONEY,
        /// Octets of both directions.
        optional total_octets: u64 = CC_TOTAL_OCTETS,
        /// Octets from the subscriber.
        optional input_octets: u64 = CC_INPUT_OCTETS,
        /// Octets to the subscriber.
        optional output_octets: u64 = CC_OUTPUT_OCTETS,
        /// Units of the service.
        optional service_specific_units: u64 = CC_SERVICE_SPECIFIC_UNITS,
        /// What a client repeats of its request, opaque.
        many classes: &'a [u8] = CLASS,
    }
}

impl RequestedServiceUnit<'_> {
    /// Whether the server shall choose what and how much.
    pub fn is_empty(&self) -> bool {
        *self == RequestedServiceUnit { classes: self.classes, ..RequestedServiceUnit::default() }
    }
}

group! {
    /// Granted-Service-Unit (section 8.17).
    GrantedServiceUnit<'a> {
        /// When the tariff changes while these units are used.
        optional tariff_time_change: Time = TARIFF_TIME_CHANGE,
        /// Seconds.
        optional time_s: u32 = CC_TIME,
        /// Money.
        optional money: Money = CC_MONEY,
        /// Octets of both directions.
        optional total_octets: u64 = CC_TOTAL_OCTETS,
        /// Octets from the subscriber.
        optional input_octets: u64 = CC_INPUT_OCTETS,
        /// Octets to the subscriber.
        optional output_octets: u64 = CC_OUTPUT_OCTETS,
        /// Units of the service.
        optional service_specific_units: u64 = CC_SERVICE_SPECIFIC_UNITS,
        /// What the client repeats, opaque.
        many classes: &'a [u8] = CLASS,
    }
}

group! {
    /// Used-Service-Unit (section 8.19, TS 32.299 clause 7.2): what was used since the last report.
    UsedServiceUnit<'a> {
        /// Why these units are reported.
        optional reporting_reason: ReportingReason = REPORTING_REASON,
        /// Before or after the change of tariff.
        optional tariff_change_usage: TariffChangeUsage = TARIFF_CHANGE_USAGE,
        /// Seconds.
        optional time_s: u32 = CC_TIME,
        /// Money.
        optional money: Money = CC_MONEY,
        /// Octets of both directions.
        optional total_octets: u64 = CC_TOTAL_OCTETS,
        /// Octets from the subscriber.
        optional input_octets: u64 = CC_INPUT_OCTETS,
        /// Octets to the subscriber.
        optional output_octets: u64 = CC_OUTPUT_OCTETS,
        /// Units of the service.
        optional service_specific_units: u64 = CC_SERVICE_SPECIFIC_UNITS,
        /// When each of the events happened.
        many event_times: Time = EVENT_CHARGING_TIMESTAMP,
        /// What the server gave, opaque.
        many classes: &'a [u8] = CLASS,
    }
}

group! {
    /// G-S-U-Pool-Reference (section 8.30).
    PoolReference<'a> {
        /// The pool.
        required identifier: u32 = G_S_U_POOL_IDENTIFIER,
        /// What is counted.
        required unit_type: UnitType = CC_UNIT_TYPE,
        /// How much of the pool a unit is.
        required value: UnitValue = UNIT_VALUE,
        /// Opaque.
        many classes: &'a [u8] = CLASS,
    }
}

group! {
    /// Redirect-Server (section 8.37).
    RedirectServer<'a> {
        /// What kind of address.
        required address_type: RedirectAddressType = REDIRECT_ADDRESS_TYPE,
        /// The address.
        required address: &'a str = REDIRECT_SERVER_ADDRESS,
    }
}

group! {
    /// Final-Unit-Indication (section 8.34): what comes when the last units are used up.
    FinalUnitIndication<'a> {
        /// What the client does then.
        required action: FinalUnitAction = FINAL_UNIT_ACTION,
        /// What the subscriber may still reach.
        many restriction_filter_rules: &'a str = RESTRICTION_FILTER_RULE,
        /// The same by the names of rules that the client has.
        many filter_ids: &'a str = FILTER_ID,
        /// Where the subscriber is sent.
        optional redirect_server: RedirectServer<'a> = REDIRECT_SERVER,
    }
}

group! {
    /// Trigger (TS 32.299 clause 7.2.234); without types it disarms all.
    Trigger<'a> {
        /// What makes the client ask again.
        many types: u32 = TRIGGER_TYPE,
    }
}

group! {
    /// Time-Quota-Mechanism (TS 32.299 clause 7.2.222).
    TimeQuotaMechanism {
        /// How time counts.
        required quota_type: TimeQuotaType = TIME_QUOTA_TYPE,
        /// Seconds of the interval.
        required base_time_interval_s: u32 = BASE_TIME_INTERVAL,
    }
}
