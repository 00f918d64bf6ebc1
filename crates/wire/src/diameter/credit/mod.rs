//! Credit control: CCR and CCA (RFC 8506 section 3) with what Gy adds to them (3GPP TS 32.299 clauses 6.4 and 7.2).

use super::base::ExperimentalResult;
use super::dictionary::avp::*;
use super::enumerated::*;
use super::grammar::{command, grammar, group, once, unnamed};
use super::{Avp, Avps, Failure, Header, Key, List, Message, Time, TooLong, Value, Writer, result_code};

mod service;
mod units;

pub use service::{PsInformation, ServiceInformation, SubscriptionId, UserEquipmentInfo};
pub use units::{
    CostInformation, FinalUnitIndication, GrantedServiceUnit, Money, PoolReference, RedirectServer,
    RequestedServiceUnit, TimeQuotaMechanism, Trigger, UnitValue, UsedServiceUnit,
};

group! {
    /// Multiple-Services-Credit-Control (RFC 8506 section 8.16, TS 32.299 clause 7.2): what is asked for, used and
    /// granted of a rating group or of services.
    MultipleServices<'a> {
        /// What is granted.
        optional granted: GrantedServiceUnit<'a> = GRANTED_SERVICE_UNIT,
        /// What is asked for; empty where the server shall choose.
        optional requested: RequestedServiceUnit<'a> = REQUESTED_SERVICE_UNIT,
        /// What was used since the last report, before and after a change of tariff.
        many used: UsedServiceUnit<'a> = USED_SERVICE_UNIT,
        /// On which side of a change of tariff, where all of it is on one.
        optional tariff_change_usage: TariffChangeUsage = TARIFF_CHANGE_USAGE,
        /// The services; none means all of the rating group.
        many service_identifiers: u32 = SERVICE_IDENTIFIER,
        /// The rating group.
        optional rating_group: u32 = RATING_GROUP,
        /// Pools that the units count in.
        many pool_references: PoolReference<'a> = G_S_U_POOL_REFERENCE,
        /// Seconds until the client asks again; never 0.
        optional validity_time_s: u32 = VALIDITY_TIME,
        /// The result for this group alone.
        optional result_code: u32 = RESULT_CODE,
        /// What comes when these units, the last ones, are used up.
        optional final_unit_indication: FinalUnitIndication<'a> = FINAL_UNIT_INDICATION,
        /// Seconds left at which the client asks for more.
        optional time_quota_threshold_s: u32 = TIME_QUOTA_THRESHOLD,
        /// Octets left at which the client asks for more.
        optional volume_quota_threshold_octets: u32 = VOLUME_QUOTA_THRESHOLD,
        /// Units left at which the client asks for more.
        optional unit_quota_threshold: u32 = UNIT_QUOTA_THRESHOLD,
        /// Seconds without traffic after which the client gives the quota back; 0 never.
        optional quota_holding_time_s: u32 = QUOTA_HOLDING_TIME,
        /// Seconds without traffic that still count as used.
        optional quota_consumption_time_s: u32 = QUOTA_CONSUMPTION_TIME,
        /// Why it is reported.
        many reporting_reasons: ReportingReason = REPORTING_REASON,
        /// What makes the client ask again; in a request, what did.
        optional trigger: Trigger<'a> = TRIGGER,
        /// How time counts.
        optional time_quota_mechanism: TimeQuotaMechanism = TIME_QUOTA_MECHANISM,
        /// What a refund is told by, opaque.
        optional refund_information: &'a [u8] = REFUND_INFORMATION,
    }
}

command! {
    /// Credit-Control-Request (RFC 8506 section 3.1).
    CreditControlRequest<'a> {
        /// The session.
        required session_id: &'a str = SESSION_ID,
        /// Who asks.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// The server's realm.
        required destination_realm: &'a str = DESTINATION_REALM,
        /// 4.
        required auth_application_id: u32 = AUTH_APPLICATION_ID,
        /// What is charged: `32251@3gpp.org` packet switched, `32260@` IMS, `32274@` SMS (TS 32.299 clause 7.1.12).
        required service_context_id: &'a str = SERVICE_CONTEXT_ID,
        /// Initial, update, termination or event.
        required request_type: RequestType = CC_REQUEST_TYPE,
        /// Counts the requests of a session.
        required request_number: u32 = CC_REQUEST_NUMBER,
        /// The server, once it is known.
        optional destination_host: &'a str = DESTINATION_HOST,
        /// The subscriber, where that is no Subscription-Id.
        optional user_name: &'a str = USER_NAME,
        /// A part of the session.
        optional sub_session_id: u64 = CC_SUB_SESSION_ID,
        /// What several sessions belong to.
        optional acct_multi_session_id: &'a str = ACCT_MULTI_SESSION_ID,
        /// Grows with each start.
        optional origin_state_id: u32 = ORIGIN_STATE_ID,
        /// When what is reported happened.
        optional event_timestamp: Time = EVENT_TIMESTAMP,
        /// Who pays: number, IMSI, address.
        many subscription_ids: SubscriptionId<'a> = SUBSCRIPTION_ID,
        /// The service.
        optional service_identifier: u32 = SERVICE_IDENTIFIER,
        /// Why the session ended.
        optional termination_cause: u32 = TERMINATION_CAUSE,
        /// What is asked for, where services are not told apart.
        optional requested: RequestedServiceUnit<'a> = REQUESTED_SERVICE_UNIT,
        /// What an event asks for.
        optional requested_action: RequestedAction = REQUESTED_ACTION,
        /// What was used, where services are not told apart.
        many used: UsedServiceUnit<'a> = USED_SERVICE_UNIT,
        /// Whether the client can tell services apart.
        optional multiple_services_indicator: MultipleServicesIndicator = MULTIPLE_SERVICES_INDICATOR,
        /// Each rating group.
        many services: MultipleServices<'a> = MULTIPLE_SERVICES_CREDIT_CONTROL,
        /// What joins requests of one event.
        optional correlation_id: &'a [u8] = CC_CORRELATION_ID,
        /// The subscriber's equipment.
        optional user_equipment_info: UserEquipmentInfo<'a> = USER_EQUIPMENT_INFO,
        /// On the way through proxies, as groups; the answer repeats them.
        many proxy_infos: &'a [u8] = PROXY_INFO,
        /// The relays that it passed.
        many route_records: &'a str = ROUTE_RECORD,
        /// Whether the client knows overload control (RFC 7683 section 7.1), as a group.
        optional overload_features: &'a [u8] = OC_SUPPORTED_FEATURES,
        /// What the service is.
        optional service_information: ServiceInformation<'a> = SERVICE_INFORMATION,
    }
    // RFC 8506 section 10.1: those that only an answer has.
    forbidden [
        RESULT_CODE, FAILED_AVP, GRANTED_SERVICE_UNIT, COST_INFORMATION, FINAL_UNIT_INDICATION, VALIDITY_TIME,
        CC_SESSION_FAILOVER, CHECK_BALANCE_RESULT, CREDIT_CONTROL_FAILURE_HANDLING, DIRECT_DEBITING_FAILURE_HANDLING,
    ]
}

command! {
    /// Credit-Control-Answer (RFC 8506 section 3.2).
    CreditControlAnswer<'a> {
        /// The session.
        required session_id: &'a str = SESSION_ID,
        /// See [`result_code`]; none only where an answer to another vendor's client has an experimental one.
        optional result_code: u32 = RESULT_CODE,
        /// A result of a vendor, in place of the other one.
        optional experimental_result: ExperimentalResult = EXPERIMENTAL_RESULT,
        /// Who answers.
        required origin_host: &'a str = ORIGIN_HOST,
        /// Its realm.
        required origin_realm: &'a str = ORIGIN_REALM,
        /// 4.
        required auth_application_id: u32 = AUTH_APPLICATION_ID,
        /// That of the request.
        required request_type: RequestType = CC_REQUEST_TYPE,
        /// That of the request.
        required request_number: u32 = CC_REQUEST_NUMBER,
        /// The subscriber.
        optional user_name: &'a str = USER_NAME,
        /// Whether another server may go on with the session.
        optional session_failover: SessionFailover = CC_SESSION_FAILOVER,
        /// That of the request.
        optional sub_session_id: u64 = CC_SUB_SESSION_ID,
        /// Grows with each start.
        optional origin_state_id: u32 = ORIGIN_STATE_ID,
        /// When the answer was made.
        optional event_timestamp: Time = EVENT_TIMESTAMP,
        /// What is granted, where services are not told apart.
        optional granted: GrantedServiceUnit<'a> = GRANTED_SERVICE_UNIT,
        /// Each rating group.
        many services: MultipleServices<'a> = MULTIPLE_SERVICES_CREDIT_CONTROL,
        /// What an event costs.
        optional cost_information: CostInformation<'a> = COST_INFORMATION,
        /// Whether the balance is low: 1 yes (TS 32.299 clause 7.2.90A).
        optional low_balance_indication: u32 = LOW_BALANCE_INDICATION,
        /// What comes when these units, the last ones, are used up.
        optional final_unit_indication: FinalUnitIndication<'a> = FINAL_UNIT_INDICATION,
        /// Whether the balance is enough for an event.
        optional check_balance_result: CheckBalanceResult = CHECK_BALANCE_RESULT,
        /// What the client does when no server answers.
        optional failure_handling: FailureHandling = CREDIT_CONTROL_FAILURE_HANDLING,
        /// The same of a direct debit.
        optional direct_debiting_failure_handling: DirectDebitingFailureHandling = DIRECT_DEBITING_FAILURE_HANDLING,
        /// Seconds until the client asks again, where services are not told apart.
        optional validity_time_s: u32 = VALIDITY_TIME,
        /// Other servers to ask.
        many redirect_hosts: &'a str = REDIRECT_HOST,
        /// For what they are to be asked.
        optional redirect_host_usage: u32 = REDIRECT_HOST_USAGE,
        /// Seconds that this stands.
        optional redirect_max_cache_time_s: u32 = REDIRECT_MAX_CACHE_TIME,
        /// Those of the request, as groups.
        many proxy_infos: &'a [u8] = PROXY_INFO,
        /// What went wrong, for people.
        optional error_message: &'a str = ERROR_MESSAGE,
        /// AVPs that offended, as groups.
        many failed_avps: &'a [u8] = FAILED_AVP,
        /// What the server knows of overload control (RFC 7683 section 7.1), as a group.
        optional overload_features: &'a [u8] = OC_SUPPORTED_FEATURES,
        /// How much less is to be sent.
        optional overload_report: OverloadReport = OC_OLR,
        /// What the service is told.
        optional service_information: ServiceInformation<'a> = SERVICE_INFORMATION,
    }
}

group! {
    /// OC-OLR (RFC 7683 section 7.3).
    OverloadReport {
        /// Grows with each report.
        required sequence_number: u64 = OC_SEQUENCE_NUMBER,
        /// 0 of the host, 1 of the realm.
        required report_type: u32 = OC_REPORT_TYPE,
        /// Percent of the requests that are to be left out.
        optional reduction_percent: u32 = OC_REDUCTION_PERCENTAGE,
        /// Seconds that it stands: 30 if not said, 0 ends it, 86,400 at most.
        optional validity_s: u32 = OC_VALIDITY_DURATION,
    }
}
