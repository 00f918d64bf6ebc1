//! What is known of each input file, and what reading counts.

use std::path::PathBuf;

use crate::error::FileError;

/// Octets of decryption secrets kept of one file. More are counted and left out.
// Limit: decryption secrets kept of one capture file
// Beyond: further secrets are left out
// Seen in: `trunkline_capture_dropped_secret_blocks_total`
pub const SECRETS_OCTETS_MAX: usize = 1 << 20;

/// One input file: what it is and how far it was read.
#[derive(Clone, Debug, Default)]
pub struct InputFile {
    /// Its path, as it was named; `-` is standard input.
    pub path: PathBuf,
    /// Its format in words ("pcap, little-endian, microseconds, in gzip"), empty before it is known.
    pub format: String,
    /// What was read of it so far.
    pub read: Tally,
    /// Octets of the file; 0 where that is not known.
    pub octets_total: u64,
    /// What ended it early.
    pub error: Option<FileError>,
    /// Decryption secrets that it holds.
    pub secrets: Vec<Secrets>,
}

/// Figures of what was read of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Octets captured of them.
    pub captured_octets: u64,
    /// Octets that they had on the wire.
    pub wire_octets: u64,
    /// The earliest time, nanoseconds since 1970, UTC; `None` while there is no packet.
    pub first_ns: Option<i64>,
    /// The latest time.
    pub last_ns: Option<i64>,
    /// Packets that the capturing side says it lost.
    pub lost: u64,
    /// Blocks of pcapng that hold no packets: name resolution.
    pub name_blocks: u64,
    /// Blocks of decryption secrets.
    pub secret_blocks: u64,
    /// Blocks of secrets that were left out because of [`SECRETS_OCTETS_MAX`].
    pub secret_blocks_dropped: u64,
    /// Other blocks that were passed over: custom, journal, unknown.
    pub other_blocks: u64,
    /// Octets read from the file, before decompression.
    pub octets_read: u64,
}

/// Secrets that decrypt packets (pcapng draft section 4.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secrets {
    /// Their type: 0x544c534b is a TLS key log, 0x57474b4c WireGuard's.
    pub kind: u32,
    /// The secrets.
    pub octets: Vec<u8>,
}

trunkline_kit::counters! {
    /// What reading files counts.
    pub struct ReadCounters {
        /// packets read from capture files
        packets: "trunkline_capture_packets_total",
        /// octets of captured packets read from capture files
        captured_octets: "trunkline_capture_packet_octets_total",
        /// octets read from capture files, before decompression
        file_octets: "trunkline_capture_file_octets_total",
        /// packets that the capture files say were lost at the tap
        lost: "trunkline_capture_lost_packets_total",
        /// capture files read to their end or to their damage
        files: "trunkline_capture_files_total",
        /// capture files that are damaged or no captures
        files_broken: "trunkline_capture_broken_files_total",
        /// capture files begun late because more overlap in time than are merged at once
        files_late: "trunkline_capture_late_files_total",
        /// packets copied to merge files that overlap in time
        merged: "trunkline_capture_merged_packets_total",
        /// name resolution blocks passed over
        name_blocks: "trunkline_capture_name_blocks_total",
        /// decryption secrets blocks found
        secret_blocks: "trunkline_capture_secret_blocks_total",
        /// decryption secrets blocks left out for their size
        secret_blocks_dropped: "trunkline_capture_dropped_secret_blocks_total",
        /// custom, journal and unknown blocks passed over
        other_blocks: "trunkline_capture_other_blocks_total",
    }
}

impl ReadCounters {
    /// Adds what a file's figures grew by.
    pub(crate) fn grow(&mut self, old: &Tally, new: &Tally) {
        self.packets += new.packets - old.packets;
        self.captured_octets += new.captured_octets - old.captured_octets;
        self.file_octets += new.octets_read.saturating_sub(old.octets_read);
        self.lost = self.lost.saturating_add(new.lost.saturating_sub(old.lost));
        self.name_blocks += new.name_blocks - old.name_blocks;
        self.secret_blocks += new.secret_blocks - old.secret_blocks;
        self.secret_blocks_dropped += new.secret_blocks_dropped - old.secret_blocks_dropped;
        self.other_blocks += new.other_blocks - old.other_blocks;
    }
}
