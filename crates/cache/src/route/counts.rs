//! What a proxy counts.

trunkline_kit::counters! {
    /// Sums over the threads of a proxy.
    pub struct Counts {
        /// commands of one key, a get of several keys as so many
        requests: "trunkline_cache_route_requests_total",
        /// requests that were answered without asking a server: errors, version, stats, barriers
        local: "trunkline_cache_route_local_answers_total",
        /// reads that found something
        hits: "trunkline_cache_route_hits_total",
        /// reads that found nothing
        misses: "trunkline_cache_route_misses_total",
        /// requests answered with an error because no server could be asked
        unavailable: "trunkline_cache_route_unavailable_requests_total",
        /// reads answered with a miss because no server could be asked
        dead_reads: "trunkline_cache_route_dead_reads_total",
        /// requests that went to a gutter pool
        gutter: "trunkline_cache_route_gutter_requests_total",
        /// requests that went to the next replica because one was gone or had nothing
        next_replica: "trunkline_cache_route_next_replica_requests_total",
        /// copies of writes that a replica did not get because it was gone
        copies_missed: "trunkline_cache_route_missed_copies_total",
        /// reads that missed in a cold pool and were looked for in its warm one
        warm_reads: "trunkline_cache_route_warm_reads_total",
        /// items brought from a warm pool to a cold one
        warmed: "trunkline_cache_route_warmed_items_total",
        /// reads not looked for in a warm pool because the key was deleted just now
        held_off: "trunkline_cache_route_held_off_reads_total",
        /// requests refused because too many waited for a server
        queue_overflow: "trunkline_cache_route_queue_requests_overflow_total",
        /// requests refused because answers that wait for clients took too much memory
        memory_overflow: "trunkline_cache_route_memory_requests_overflow_total",
        /// values refused because they were larger than allowed
        too_large: "trunkline_cache_route_too_large_values_total",
        /// clients closed because of a line that was too long, or because they spoke the binary protocol
        refused_clients: "trunkline_cache_route_refused_clients_total",
    }
}

trunkline_kit::counters! {
    /// Of one server.
    pub struct Tally {
        /// requests sent to the server
        sent: "trunkline_cache_route_server_requests_total",
        /// requests whose key went in the get of the request before
        joined: "trunkline_cache_route_server_joined_requests_total",
        /// answers that came from the server
        answered: "trunkline_cache_route_server_answers_total",
        /// answers of the server that were errors
        refused: "trunkline_cache_route_server_errors_total",
        /// requests that the server did not answer
        failed: "trunkline_cache_route_server_failed_requests_total",
        /// connections given up because an answer did not come in time
        late: "trunkline_cache_route_server_timeouts_total",
        /// connections that ended or failed while something waited on them
        lost: "trunkline_cache_route_server_lost_connections_total",
        /// connections to the server that did not come about
        undialled: "trunkline_cache_route_server_undialled_connections_total",
        /// connections given up because what came was no answer
        broken: "trunkline_cache_route_server_broken_connections_total",
        /// times that the server was found to be out
        outs: "trunkline_cache_route_server_outs_total",
    }
}
