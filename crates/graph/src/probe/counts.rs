//! What probes count.

trunkline_kit::counters! {
    /// What probing has done and what has gone wrong.
    pub struct Counts {
        /// rounds of probes begun
        rounds: "trunkline_graph_probe_rounds_total",
        /// rounds of probes that were due while the one before still ran
        missed: "trunkline_graph_probe_missed_rounds_total",
        /// times that a round had to wait because too much was on its way
        held: "trunkline_graph_probe_held_rounds_total",
        /// ICMP echo requests sent
        echoes: "trunkline_graph_probe_echo_requests_total",
        /// ICMP echo requests without an answer in time
        echoes_lost: "trunkline_graph_probe_echo_lost_total",
        /// ICMP echo requests that could not be sent from here
        echoes_unsent: "trunkline_graph_probe_echo_unsent_total",
        /// ICMP messages that answer none of ours, answer it late or from elsewhere
        stray: "trunkline_graph_probe_stray_messages_total",
        /// ports, programs and pages that were tried
        tries: "trunkline_graph_probe_tries_total",
        /// ports, programs and pages that did not answer in time
        timeouts: "trunkline_graph_probe_timeouts_total",
        /// readings known
        readings: "trunkline_graph_probe_readings_total",
        /// readings unknown, whatever the reason
        unknown: "trunkline_graph_probe_unknown_readings_total",
        /// readings that were not taken because the device is down
        down: "trunkline_graph_probe_down_rounds_total",
    }
}
