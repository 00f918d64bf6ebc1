//! What a lane counts.

trunkline_kit::counters! {
    /// What polling has done and what has gone wrong.
    pub struct Counts {
        /// cycles begun
        cycles: "trunkline_graph_cycles_total",
        /// cycles in which a device did not answer at all
        cycles_failed: "trunkline_graph_cycles_failed_total",
        /// cycles in which a device was not asked, or too late, because too much was on its way
        cycles_unasked: "trunkline_graph_cycles_unasked_total",
        /// cycles that were due while the one before still ran
        cycles_missed: "trunkline_graph_cycles_missed_total",
        /// cycles that were ended because their time was over
        cycles_cut: "trunkline_graph_cycles_cut_total",
        /// requests sent, those that were sent again included
        requests: "trunkline_graph_requests_total",
        /// requests sent again
        requests_again: "trunkline_graph_requests_again_total",
        /// requests that were given up
        requests_lost: "trunkline_graph_requests_lost_total",
        /// responses taken
        responses: "trunkline_graph_responses_total",
        /// datagrams that are no message of SNMP
        malformed: "trunkline_graph_malformed_datagrams_total",
        /// responses to what nobody waits for any more: late, or a second time
        stray: "trunkline_graph_stray_responses_total",
        /// responses from another address than was asked
        wrong_source: "trunkline_graph_wrong_source_responses_total",
        /// responses whose code, level or time is not right
        unauthentic: "trunkline_graph_unauthentic_responses_total",
        /// responses that said tooBig
        too_big: "trunkline_graph_too_big_responses_total",
        /// responses with another error
        errors: "trunkline_graph_error_responses_total",
        /// reports of version 3
        reports: "trunkline_graph_reports_total",
        /// readings known
        readings: "trunkline_graph_readings_total",
        /// readings unknown, whatever the reason
        unknown: "trunkline_graph_unknown_readings_total",
        /// variables of walks
        walked: "trunkline_graph_walked_variables_total",
        /// walks ended because names did not rise
        walks_looped: "trunkline_graph_walks_looped_total",
        /// devices that have started anew
        restarts: "trunkline_graph_restarts_total",
        /// times that a device had to wait because too much was on its way
        held: "trunkline_graph_held_total",
    }
}
