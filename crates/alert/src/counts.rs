//! What is counted.

trunkline_kit::counters! {
    /// What rules saw and said.
    pub struct EngineCounts {
        /// values and measurements that rules were shown
        observations: "trunkline_alert_observations_total",
        /// changes of a subject's state
        transitions: "trunkline_alert_transitions_total",
        /// alerts that began
        fired: "trunkline_alert_fired_alerts_total",
        /// alerts that were over
        resolved: "trunkline_alert_resolved_alerts_total",
        /// alerts that a maintenance window, a dependency or the time of the week kept back
        suppressed: "trunkline_alert_suppressed_alerts_total",
        /// observations of subjects beyond those that can be followed
        subjects_overflow: "trunkline_alert_subjects_overflow_total",
        /// values that left a window before their time because it held too many
        window_overflow: "trunkline_alert_window_values_overflow_total",
        /// subjects beyond those whose usual values can be remembered
        baselines_overflow: "trunkline_alert_baselines_overflow_total",
        /// observations that came with a time before the last one of their subject and were left out
        late: "trunkline_alert_late_observations_total",
        /// observations for rules that there are not
        strays: "trunkline_alert_stray_observations_total",
    }
}

trunkline_kit::counters! {
    /// What was told.
    pub struct DeliveryCounts {
        /// messages that were made
        messages: "trunkline_alert_messages_total",
        /// attempts to deliver one
        attempts: "trunkline_alert_attempts_total",
        /// messages that were delivered
        delivered: "trunkline_alert_delivered_messages_total",
        /// attempts that failed and are made again
        retried: "trunkline_alert_failed_attempts_total",
        /// messages that were given up: refused, or tried for too long
        given_up: "trunkline_alert_given_up_messages_total",
        /// attempts whose outcome is not known, made again under the same name
        repeated_in_doubt: "trunkline_alert_repeated_in_doubt_messages_total",
        /// messages whose outcome is not known, and that are not sent again
        left_in_doubt: "trunkline_alert_left_in_doubt_messages_total",
        /// messages given up because too many wait
        messages_overflow: "trunkline_alert_messages_overflow_total",
        /// alerts that no route takes
        unrouted: "trunkline_alert_unrouted_alerts_total",
        /// steps of escalation
        escalated: "trunkline_alert_escalations_total",
    }
}

trunkline_kit::counters! {
    /// Reports.
    pub struct ReportCounts {
        /// reports that were made for a time of their schedule, or for somebody
        made: "trunkline_alert_reports_total",
        /// reports that could not be made and are tried again
        failed: "trunkline_alert_reports_failed_total",
        /// times of schedules for which no report was made, as they were more than a day ago
        missed: "trunkline_alert_reports_missed_total",
    }
}
