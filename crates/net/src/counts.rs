//! What a server counts. Each thread owns its counts and lays them down once a round; they are added up on demand.

use std::sync::{Mutex, PoisonError};

use crate::errands::Undialled;
use crate::service::Cause;

trunkline_kit::counters! {
    /// Sums over the threads of a server. `accepted` and `dialled` together are the sum of all `refused_`
    /// and `closed_` of connections, and of those that are open.
    pub struct Counts {
        /// connections taken from the kernel
        accepted: "trunkline_net_accepted_connections_total",
        /// connections refused because their network is not allowed
        refused_network: "trunkline_net_refused_network_connections_total",
        /// connections refused because there were too many
        refused_full: "trunkline_net_refused_full_connections_total",
        /// connections refused because their address had too many
        refused_address: "trunkline_net_refused_address_connections_total",
        /// connections refused because too many handshakes of TLS were going on
        refused_handshakes: "trunkline_net_refused_handshakes_connections_total",
        /// connections refused because the system could not take them in
        refused_system: "trunkline_net_refused_system_connections_total",
        /// connections closed because the peer ended
        closed_peer: "trunkline_net_closed_peer_connections_total",
        /// connections closed because they failed: reset, timed out, unreachable
        closed_failed: "trunkline_net_closed_failed_connections_total",
        /// connections closed by the service
        closed_service: "trunkline_net_closed_service_connections_total",
        /// connections closed because nothing came or went for too long
        closed_idle: "trunkline_net_closed_idle_connections_total",
        /// connections closed because the peer did not read
        closed_stalled: "trunkline_net_closed_stalled_connections_total",
        /// connections closed because of input that was too long
        closed_input: "trunkline_net_closed_input_connections_total",
        /// connections closed because the service said more than there was room for
        closed_output: "trunkline_net_closed_output_connections_total",
        /// connections closed because too much was held for all of them
        closed_memory: "trunkline_net_closed_memory_connections_total",
        /// connections closed because the peer broke TLS after the handshake
        closed_tls: "trunkline_net_closed_tls_connections_total",
        /// connections closed because the server was stopped
        closed_stopped: "trunkline_net_closed_stopped_connections_total",
        /// connections closed because their handshake of TLS failed
        closed_handshake: "trunkline_net_closed_handshake_connections_total",
        /// connections closed because their handshake of TLS took too long
        closed_handshake_late: "trunkline_net_closed_handshake_late_connections_total",
        /// connections that we were to make to others
        dialled: "trunkline_net_dialled_connections_total",
        /// connections to others that did not come about: nobody listens there, or there is no way
        closed_undialled: "trunkline_net_closed_undialled_connections_total",
        /// connections to others that did not come about in time
        closed_undialled_late: "trunkline_net_closed_undialled_late_connections_total",
        /// connections to others that were not made because there were too many, or the system had no room
        closed_undialled_full: "trunkline_net_closed_undialled_full_connections_total",
        /// connections dialled that got no TLS: another one is there than was meant, or it speaks none
        closed_undialled_tls: "trunkline_net_closed_undialled_tls_connections_total",
        /// handshakes of TLS completed
        handshakes: "trunkline_net_tls_handshakes_total",
        /// connections given to a thread other than the one that accepted them
        moved: "trunkline_net_moved_connections_total",
        /// calls of accept that failed: out of descriptors or memory, or the connection was gone already
        accept_errors: "trunkline_net_accept_errors_total",
        /// times that accepting stopped until there was room
        accept_pauses: "trunkline_net_accept_pauses_total",
        /// rounds of threads: waits for events
        rounds: "trunkline_net_thread_rounds_total",
        /// calls that read from connections
        reads: "trunkline_net_stream_reads_total",
        /// octets read from connections, encryption included
        received_octets: "trunkline_net_stream_received_octets_total",
        /// calls that wrote to connections
        writes: "trunkline_net_stream_writes_total",
        /// octets written to connections, encryption included
        sent_octets: "trunkline_net_stream_sent_octets_total",
        /// turns that ended so that others have theirs, with something left to do
        yields: "trunkline_net_stream_yields_total",
        /// times that a peer did not take all that was said to it at once
        stuck: "trunkline_net_stream_stuck_total",
        /// messages taken from other threads
        mails: "trunkline_net_mail_messages_total",
        /// messages for connections that were gone
        mails_undelivered: "trunkline_net_mail_undelivered_messages_total",
        /// messages given back to their senders because too many waited
        mails_overflow: "trunkline_net_mail_messages_overflow_total",
        /// datagrams received, those dropped by us included
        datagrams: "trunkline_net_udp_received_datagrams_total",
        /// octets of datagrams received
        datagram_octets: "trunkline_net_udp_received_octets_total",
        /// calls that received datagrams
        datagram_reads: "trunkline_net_udp_reads_total",
        /// datagrams dropped because their network is not allowed
        datagrams_refused: "trunkline_net_udp_refused_network_datagrams_total",
        /// datagrams dropped because they were longer than allowed
        datagrams_truncated: "trunkline_net_udp_truncated_datagrams_total",
        /// datagrams dropped by the kernel because the socket's buffer was full
        datagrams_overflow: "trunkline_net_udp_received_datagrams_overflow_total",
        /// calls to receive datagrams that failed
        datagram_read_errors: "trunkline_net_udp_read_errors_total",
        /// datagrams sent
        replies: "trunkline_net_udp_sent_datagrams_total",
        /// octets of datagrams sent
        reply_octets: "trunkline_net_udp_sent_octets_total",
        /// calls that sent datagrams
        reply_writes: "trunkline_net_udp_writes_total",
        /// waits for room to send datagrams
        reply_waits: "trunkline_net_udp_send_waits_total",
        /// datagrams dropped because there was no room to send them in time
        replies_overflow: "trunkline_net_udp_sent_datagrams_overflow_total",
        /// datagrams that the system refused to send
        replies_failed: "trunkline_net_udp_send_failed_datagrams_total",
        /// replies that were longer than they may be, and were not sent
        replies_too_long: "trunkline_net_udp_too_long_replies_total",
        /// pieces of several datagrams that the kernel refused to cut up, sent one by one
        segmentation_refused: "trunkline_net_udp_segmentation_refused_total",
        /// threads that could not be kept on their processor
        unpinned: "trunkline_net_thread_unpinned_total",
    }
}

trunkline_kit::gauges! {
    /// How much a server holds now.
    pub struct Gauges {
        /// connections that came and are open, handshakes included
        connections: "trunkline_net_open_connections",
        /// connections to others, those on their way included
        dialled_connections: "trunkline_net_open_dialled_connections",
        /// handshakes of TLS that go on
        handshakes: "trunkline_net_open_tls_handshakes",
        /// connections with TLS, handshakes included
        tls_connections: "trunkline_net_open_tls_connections",
        /// octets held for TLS connections, about
        tls_octets: "trunkline_net_tls_held_octets",
        /// octets held for connections: input that was not taken, output that is stuck
        held_octets: "trunkline_net_stream_held_octets",
    }
}

impl Counts {
    /// Counts a connection that is closed.
    pub(crate) fn closed(&mut self, cause: Cause) {
        *match cause {
            Cause::Peer => &mut self.closed_peer,
            Cause::Failed => &mut self.closed_failed,
            Cause::Service => &mut self.closed_service,
            Cause::Idle => &mut self.closed_idle,
            Cause::Stalled => &mut self.closed_stalled,
            Cause::Input => &mut self.closed_input,
            Cause::Output => &mut self.closed_output,
            Cause::Memory => &mut self.closed_memory,
            Cause::Tls => &mut self.closed_tls,
            Cause::Stopped => &mut self.closed_stopped,
            Cause::Undialled(Undialled::Refused | Undialled::Unreachable) => &mut self.closed_undialled,
            Cause::Undialled(Undialled::Tls(_)) => &mut self.closed_undialled_tls,
            Cause::Undialled(Undialled::Late) => &mut self.closed_undialled_late,
            Cause::Undialled(Undialled::Full | Undialled::System) => &mut self.closed_undialled_full,
        } += 1;
    }

    /// Connections that were refused before a service saw them.
    pub fn refused(&self) -> u64 {
        let limits = self.refused_network + self.refused_full + self.refused_address;
        limits + self.refused_handshakes + self.refused_system
    }

    /// Connections that were taken in or dialled and are closed, those that did not get through their handshake or did
    /// not come about included.
    pub fn closed_in_all(&self) -> u64 {
        let by_peer = self.closed_peer + self.closed_failed + self.closed_tls;
        let by_us = self.closed_service + self.closed_stopped;
        let by_time = self.closed_idle + self.closed_stalled;
        let by_size = self.closed_input + self.closed_output + self.closed_memory;
        let undialled = self.closed_undialled + self.closed_undialled_late + self.closed_undialled_full;
        let undialled = undialled + self.closed_undialled_tls;
        let handshakes = self.closed_handshake + self.closed_handshake_late;
        by_peer + by_us + by_time + by_size + handshakes + undialled
    }
}

/// What a thread shows of itself, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Cell(Mutex<Shown>);

/// Counts of a thread and what it holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) counts: Counts,
    pub(crate) held_octets: usize,
    pub(crate) tls_connections: usize,
    pub(crate) dialled_connections: usize,
}

impl Cell {
    /// By the thread that owns it, once a round: nobody else holds the lock but to copy.
    pub(crate) fn show(&self, shown: Shown) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = shown;
    }

    pub(crate) fn read(&self) -> Shown {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
