//! What is known of the machine. What could not be found out is none: no finding is made of it.

use super::mirror::Mirror;
use std::path::PathBuf;
use std::time::Duration;
use trunkline_capture::filter::LibraryError;
use trunkline_capture::live::clock::Synchronisation;
use trunkline_capture::live::ethtool::Settings as Driver;
use trunkline_store::removal::Class;
use trunkline_store::retention::Rules;

/// Everything.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The machine.
    pub machine: Machine,
    /// The interfaces that were looked at.
    pub interfaces: Vec<Interface>,
    /// Interfaces that were asked for and are not there, and those that are.
    pub missing: Vec<String>,
    /// The names of all interfaces.
    pub names: Vec<String>,
    /// The data folder and the further volumes.
    pub folders: Vec<Folder>,
    /// What the last days of the store brought; none where there is no whole day.
    pub rows: Option<Rows>,
    /// What the configuration wants of all this.
    pub wanted: Wanted,
}

/// What the configuration wants.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Whether interfaces were named: then one that gives nothing is worth a word.
    pub named: bool,
    /// Lanes, 0 for as many as fit.
    pub lanes: u16,
    /// Octets of each lane's ring.
    pub ring: u64,
    /// Octets between rings and disks.
    pub memory: u64,
    /// Whether AF_XDP is asked for.
    pub xdp: bool,
    /// Whether the network card is to stamp packets.
    pub hardware_timestamps: bool,
    /// Whether packets are filtered before they are captured.
    pub filter: bool,
    /// Whether packets are recorded.
    pub record: bool,
    /// Whether devices are polled and probed.
    pub graphs: bool,
    /// How many percent of a volume the log may fill, or octets.
    pub limit: Option<trunkline_kit::config::Share>,
    /// Octets of the largest segment of a class that is compressed; none if no class is.
    pub compressed_segment: Option<u64>,
}

/// The machine.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The kernel's version as it names itself.
    pub kernel: String,
    /// This program, for the line that gives it capabilities.
    pub program: PathBuf,
    /// Capabilities.
    pub capabilities: Capabilities,
    /// Whether the kernel has AF_PACKET.
    pub packet_sockets: Option<bool>,
    /// Whether the kernel has AF_XDP.
    pub xdp_sockets: Option<bool>,
    /// Whether io_uring works here, or why not.
    pub io_uring: Option<Result<(), String>>,
    /// Whether ICMP echo requests can be sent over IPv4 and over IPv6, or why not.
    pub echo: Option<[Result<(), String>; 2]>,
    /// `bpf_jit_enable`: whether filters become machine code.
    pub filters_compiled: Option<bool>,
    /// libpcap's file, which compiles filters, or why there is none.
    pub libpcap: Option<Result<&'static str, LibraryError>>,
    /// Memory that is available, octets; less where a control group limits it.
    pub memory_available: Option<u64>,
    /// RLIMIT_MEMLOCK in octets; none is unlimited or unknown.
    pub locked_max: Option<u64>,
    /// Processors that this program may use.
    pub processors: usize,
    /// How the processors choose their speed.
    pub governor: Option<String>,
    /// Whether the clock follows a reference.
    pub clock: Option<Synchronisation>,
    /// What the clock is read from, and what else it could be.
    pub clock_source: Option<(String, Vec<String>)>,
}

/// Capabilities of this process that capture needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// CAP_NET_RAW.
    pub net_raw: bool,
    /// CAP_NET_ADMIN.
    pub net_admin: bool,
    /// CAP_IPC_LOCK.
    pub ipc_lock: bool,
    /// CAP_BPF, or CAP_SYS_ADMIN, which holds it.
    pub bpf: bool,
    /// CAP_PERFMON, or CAP_SYS_ADMIN.
    pub perfmon: bool,
}

/// One interface.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Whether it is up.
    pub is_up: bool,
    /// Whether it has a carrier.
    pub has_carrier: Option<bool>,
    /// Its speed in Mbit/s.
    pub speed_mbit: Option<u64>,
    /// Whether it sends and receives at once.
    pub full_duplex: Option<bool>,
    /// Its longest packet.
    pub mtu: Option<u32>,
    /// What its driver tells.
    pub driver: Driver,
    /// What it counted while it was watched.
    pub watched: Option<Watched>,
    /// What its packets look like, if any were looked at.
    pub mirror: Option<Mirror>,
    /// Why none were looked at.
    pub not_looked: Option<String>,
}

/// What an interface counted in some seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// For how long.
    pub time: Duration,
    /// Packets received.
    pub packets: u64,
    /// Octets received.
    pub octets: u64,
    /// Lost by the card for want of room (`rx_missed_errors`, `rx_fifo_errors`, `rx_over_errors`).
    pub missed: u64,
    /// Dropped by the kernel before anyone saw them (`rx_dropped`).
    pub dropped: u64,
    /// Damaged on the way (`rx_crc_errors`, `rx_frame_errors`).
    pub damaged: u64,
    /// Too long or too short (`rx_length_errors`).
    pub length: u64,
}

impl Watched {
    /// Packets in a second.
    pub fn packets_per_second(&self) -> f64 {
        per_second(self.packets, self.time)
    }

    /// Octets in a second.
    pub fn octets_per_second(&self) -> f64 {
        per_second(self.octets, self.time)
    }
}

fn per_second(n: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 { n as f64 / seconds } else { 0.0 }
}

/// Rows that the store got a day, lately, and for how long they stay.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// For how long.
    pub rules: Rules,
    /// Whole days that were looked at.
    pub days: u32,
    /// Octets a day of each class, in the order of `Class::ALL`.
    pub classes: [u64; Class::ALL.len()],
    /// Octets a day of the files: with what is around the rows.
    pub octets: u64,
}

/// A folder that is written to.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    /// The folder, or the one above it that is there.
    pub path: PathBuf,
    /// Its file system: `ext4`.
    pub file_system: Option<String>,
    /// Octets that it holds.
    pub size: u64,
    /// Octets that are free for this user.
    pub free: u64,
    /// Octets of the packet log that is there already: retention makes room of it.
    pub log: u64,
    /// How fast it took what was written to it, or why nothing could be.
    pub speed: Option<Result<Speed, String>>,
}

/// What a measurement of a disk gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Octets in a second.
    pub octets_per_second: f64,
    /// Octets that were written.
    pub octets: u64,
    /// The longest wait for one block.
    pub slowest: Duration,
    /// Whether the page cache was bypassed (O_DIRECT).
    pub direct: bool,
}
