//! The section of graphs.

use std::time::Duration;
use trunkline_kit::config::Octets;

trunkline_kit::section! {
    /// Graphs: devices are polled by SNMP and probed otherwise, and what they say is kept in round-robin files in
    /// `graphs/` of the data folder. Which devices, and what lets us in, stands in its inventory:
    /// docs/manual/graphs.md; `trunkline graph serve` runs it without the rest.
    pub struct Graph {
        /// Whether devices are polled.
        enabled: bool = false => Restart;
        /// Whether this program is a device with graphs of its own metrics. It is made where there is none of the
        /// template `program`, whatever that is called; false leaves it out.
        own_device: bool = true => Restart;
        /// Threads that poll, each its own devices.
        lanes: u16 = 1 => Restart, 1 => 64;
        /// Sockets of each thread for IPv4, and as many for IPv6.
        sockets: u16 = 4 => Restart, 1 => 16;
        /// Room of each socket for answers: what it holds decides how many requests are on their way at once.
        socket_buffer: Octets = Octets::mib(4) => Restart, Octets::mib(1) => Octets::gib(1);
        /// After how long a device is looked at again: what it is, and its tables.
        explore_every: Duration = Duration::from_secs(43_200) => Restart,
            Duration::from_secs(60) => Duration::from_secs(2_592_000);
        /// Samples on disk that are not in files yet, at most: beyond it samples are dropped and counted.
        journal: Octets = Octets::gib(4) => Restart, Octets::mib(64) => Octets::gib(1024);
        /// Samples of a file after which it is written.
        write_together: u16 = 30 => Restart, 1 => 10_000;
        /// Or after how long since the first of them. Who looks at a graph sees all of them.
        write_age: Duration = Duration::from_secs(1800) => Restart,
            Duration::from_secs(1) => Duration::from_secs(86_400);
        /// Memory for samples that wait for their files.
        memory: Octets = Octets::mib(512) => Restart, Octets::mib(16) => Octets::gib(64);
        /// Each of the two files through which files are written so that a crash leaves them whole.
        redo: Octets = Octets::mib(64) => Restart, Octets::mib(1) => Octets::gib(4);
    }
}
