//! Who pays and what the service is (RFC 8506 section 8.46, TS 32.299 clauses 7.2.158 and 7.2.192).

use super::super::HostAddress;
use super::*;

group! {
    /// Subscription-Id (RFC 8506 section 8.46).
    SubscriptionId<'a> {
        /// What kind of name.
        required kind: SubscriptionIdType = SUBSCRIPTION_ID_TYPE,
        /// The name; an E.164 number without `+`.
        required name: &'a str = SUBSCRIPTION_ID_DATA,
    }
}

group! {
    /// User-Equipment-Info (RFC 8506 section 8.49).
    UserEquipmentInfo<'a> {
        /// What kind of number.
        required kind: UserEquipmentInfoType = USER_EQUIPMENT_INFO_TYPE,
        /// The number.
        required value: &'a [u8] = USER_EQUIPMENT_INFO_VALUE,
    }
}

group! {
    /// Service-Information (TS 32.299 clause 7.2.192).
    ServiceInformation<'a> {
        /// Who pays, where it stands here.
        many subscription_ids: SubscriptionId<'a> = SUBSCRIPTION_ID,
        /// Of packet switched services.
        optional ps: PsInformation<'a> = PS_INFORMATION,
        /// Of the IMS, as a group.
        optional ims: &'a [u8] = IMS_INFORMATION,
        /// Of short messages, as a group.
        optional sms: &'a [u8] = SMS_INFORMATION,
    }
}

group! {
    /// PS-Information (TS 32.299 clause 7.2.158), as far as tariffs and records look at it.
    PsInformation<'a> {
        /// Charging-Id of the bearer, four octets.
        optional charging_id: &'a [u8] = TGPP_CHARGING_ID,
        /// Charging-Id of the connection.
        optional connection_charging_id: u32 = PDN_CONNECTION_CHARGING_ID,
        /// The node's own name.
        optional node_id: &'a str = NODE_ID,
        /// 0 IPv4, 2 IPv6, 3 both (TS 29.061 clause 16.4.7.2).
        optional pdp_type: u32 = TGPP_PDP_TYPE,
        /// The subscriber's addresses.
        many pdp_addresses: HostAddress<'a> = PDP_ADDRESS,
        /// SGSN, S-GW or ePDG.
        many sgsn_addresses: HostAddress<'a> = SGSN_ADDRESS,
        /// GGSN or P-GW.
        many ggsn_addresses: HostAddress<'a> = GGSN_ADDRESS,
        /// The charging gateway.
        optional charging_gateway: HostAddress<'a> = CG_ADDRESS,
        /// Network of the subscriber: MCC and MNC in digits.
        optional imsi_mcc_mnc: &'a str = TGPP_IMSI_MCC_MNC,
        /// Network of the gateway.
        optional ggsn_mcc_mnc: &'a str = TGPP_GGSN_MCC_MNC,
        /// The bearer's number at the subscriber.
        optional nsapi: &'a str = TGPP_NSAPI,
        /// The APN.
        optional called_station_id: &'a str = CALLED_STATION_ID,
        /// The last bearer of the session has ended.
        optional session_stop_indicator: &'a [u8] = TGPP_SESSION_STOP_INDICATOR,
        /// How the APN was chosen.
        optional selection_mode: &'a str = TGPP_SELECTION_MODE,
        /// Four hexadecimal digits.
        optional charging_characteristics: &'a str = TGPP_CHARGING_CHARACTERISTICS,
        /// Network where the subscriber is: roaming.
        optional sgsn_mcc_mnc: &'a str = TGPP_SGSN_MCC_MNC,
        /// Time zone and daylight saving, two octets.
        optional ms_timezone: &'a [u8] = TGPP_MS_TIMEZONE,
        /// Where the subscriber is (TS 29.061 clause 16.4.7.2).
        optional user_location_info: &'a [u8] = TGPP_USER_LOCATION_INFO,
        /// Radio access, one octet; 6 is E-UTRAN (TS 29.061 clause 16.4.7.2).
        optional rat_type: &'a [u8] = TGPP_RAT_TYPE,
        /// Quality of the bearer, as a group.
        optional qos_information: &'a [u8] = QOS_INFORMATION,
        /// What the serving nodes are, in the order of their addresses.
        many serving_node_types: u32 = SERVING_NODE_TYPE,
        /// When the session began.
        optional start_time: Time = START_TIME,
        /// When it ended.
        optional stop_time: Time = STOP_TIME,
        /// Why this is reported.
        many change_conditions: u32 = CHANGE_CONDITION,
        /// The subscriber's equipment, where it stands here.
        optional user_equipment_info: UserEquipmentInfo<'a> = USER_EQUIPMENT_INFO,
    }
}
