//! What a node counts.

trunkline_kit::counters! {
    /// Of all connections of a thread, or of all threads.
    pub struct Counts {
        /// messages of Diameter that came
        messages: "trunkline_charge_messages_total",
        /// peers whose capabilities were taken
        peers_opened: "trunkline_charge_peers_opened_total",
        /// peers whose capabilities were refused, or that did not begin with them
        peers_refused: "trunkline_charge_peers_refused_total",
        /// peers whose certificate was for another name than they said
        peers_misnamed: "trunkline_charge_peers_misnamed_total",
        /// connections to peers that were begun by this node
        calls: "trunkline_charge_calls_total",
        /// of these, those that came to nothing before the peer had taken who we are
        calls_failed: "trunkline_charge_calls_failed_total",
        /// peers that did not answer the watchdog once
        peers_suspect: "trunkline_charge_peers_suspect_total",
        /// peers that were given up: no capabilities, or no answer to the watchdog
        peers_lost: "trunkline_charge_peers_lost_total",
        /// streams of octets that were no Diameter, or whose messages were too long
        streams_broken: "trunkline_charge_streams_broken_total",
        /// messages that were refused: broken, for others, or of what is not served here
        messages_refused: "trunkline_charge_messages_refused_total",
        /// credit-control requests that begin a session
        initial: "trunkline_charge_requests_initial_total",
        /// credit-control requests of a session
        update: "trunkline_charge_requests_update_total",
        /// credit-control requests that end a session
        terminate: "trunkline_charge_requests_terminate_total",
        /// credit-control requests of one event
        event: "trunkline_charge_requests_event_total",
        /// requests that were copies: their answer was given again
        copies: "trunkline_charge_requests_copies_total",
        /// answers that granted or took what was asked
        answered_success: "trunkline_charge_answers_success_total",
        /// answers that refused for the subscriber's sake: no money, no service, no such subscriber
        answered_refused: "trunkline_charge_answers_refused_total",
        /// answers that the disk was behind or full, or memory was
        answered_busy: "trunkline_charge_answers_busy_total",
        /// requests that were answered 3004 because answers that wait for the disk hold too much memory
        pending_full: "trunkline_charge_pending_full_total",
        /// reports of usage without a session that were answered 3004: their connection had too many in a minute
        strays_refused: "trunkline_charge_strays_refused_total",
        /// requests for a session that another client opened: it was neither changed nor told of
        foreign: "trunkline_charge_requests_foreign_total",
        /// requests that named another Origin-Host than their peer's, which is no agent
        origins_refused: "trunkline_charge_origins_refused_total",
        /// requests to give back that a peer brought that may not
        refunds_refused: "trunkline_charge_refunds_refused_total",
        /// answers to what was wrong with a request
        answered_failed: "trunkline_charge_answers_failed_total",
        /// questions to clients (RAR, ASR) that were sent
        pushed: "trunkline_charge_pushes_total",
        /// questions to clients that were answered
        pushes_answered: "trunkline_charge_pushes_answered_total",
        /// questions to clients that were not answered in time, or had no way to them
        pushes_lost: "trunkline_charge_pushes_lost_total",
        /// messages of GTP' that came
        gtpp_messages: "trunkline_charge_gtpp_messages_total",
        /// gateways with sessions that cannot be asked: too many are known
        gtpp_unreached: "trunkline_charge_gtpp_unreached_total",
        /// messages of GTP' that a stream took no more
        gtpp_lost: "trunkline_charge_gtpp_lost_total",
        /// requests for a subscriber's profile by GTP'
        quota_profiles: "trunkline_charge_quota_profiles_total",
        /// messages of gateways that had a version above 0
        quota_versions: "trunkline_charge_quota_versions_total",
        /// messages of gateways that were dropped: an element that they must have was missing
        quota_missing: "trunkline_charge_quota_missing_total",
        /// messages of gateways that were dropped: an element of another length or form than it may have
        quota_broken: "trunkline_charge_quota_broken_total",
        /// requests of gateways for what is not served here, and answers to what was not asked
        quota_unserved: "trunkline_charge_quota_unserved_total",
        /// copies of requests that were dropped, as later ones of their session were answered
        quota_late: "trunkline_charge_quota_late_total",
        /// requests of gateways that were dropped for want of room
        quota_dropped: "trunkline_charge_quota_dropped_total",
        /// subscribers that the directory has, or had within the time that it is remembered
        profiles_found: "trunkline_charge_profiles_found_total",
        /// subscribers that the directory does not have
        profiles_absent: "trunkline_charge_profiles_absent_total",
        /// subscribers of which the directory said nothing, or nothing that could be used
        profiles_failed: "trunkline_charge_profiles_failed_total",
        /// requests that were decided by what the ledger knew, because the directory said nothing
        profiles_stood_in: "trunkline_charge_profiles_stood_in_total",
        /// requests that were refused for what the directory says, or does not say
        profiles_refused: "trunkline_charge_profiles_refused_total",
        /// what those who operate the node asked
        control: "trunkline_charge_control_total",
    }
}

impl Counts {
    /// An answer to a credit-control request.
    pub(super) fn answered(&mut self, code: u32) {
        use crate::session::code::{TOO_BUSY, UNKNOWN_SESSION, USER_UNKNOWN};
        *match code {
            TOO_BUSY => &mut self.answered_busy,
            2000..3000 => &mut self.answered_success,
            4000..5000 | USER_UNKNOWN | UNKNOWN_SESSION => &mut self.answered_refused,
            _ => &mut self.answered_failed,
        } += 1;
    }
}
