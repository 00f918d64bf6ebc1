//! What can be wrong with a capture file: one line each, with the file, the place and what it is.

use core::fmt;
use std::path::PathBuf;

use trunkline_wire::pcap::PcapError;
use trunkline_wire::pcapng::PcapngError;

/// What went wrong in which file, and where. All packets before that place were handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file, as it was named.
    pub path: PathBuf,
    /// Where, octets from the beginning; in a compressed file, of what is inside.
    pub offset: u64,
    /// Whether the offset is one inside the decompressed stream.
    pub decompressed: bool,
    /// What.
    pub fault: FileFault,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// It cannot be opened or read: what the system says.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// It is something else: what it looks like.
    #[error("not a capture file: it looks like {0}")]
    NotACapture(&'static str),
    /// It is compressed, and what is inside is no capture: the compression, and what the inside looks like.
    #[error("not a capture file: it is {0}, with what looks like {1} inside")]
    NotACaptureInside(&'static str, &'static str),
    /// It ends inside a record: the octets that the record needs at least, and those that are there.
    #[error("cut short in a packet: {has} of {needs} octets are there")]
    CutInPacket {
        /// Octets that the record needs.
        needs: u64,
        /// Octets that are left in the file.
        has: u64,
    },
    /// It ends inside a block of pcapng.
    #[error("cut short in a block: {has} of {needs} octets are there")]
    CutInBlock {
        /// Octets that the block needs.
        needs: u64,
        /// Octets that are left in the file.
        has: u64,
    },
    /// Its compression is damaged or cut short: which, and what the decompressor says.
    #[error("the {0} compression is damaged: {1}")]
    Compression(&'static str, String),
    /// More is inside than may be: octets that came out, and octets of the file that were read for them.
    #[error("more is inside of its compression than may be: {inside} octets came out of {read}")]
    Expands {
        /// Octets that came out.
        inside: u64,
        /// Octets that were read of the file.
        read: u64,
    },
    /// Its pcap records are damaged.
    #[error("{0}")]
    Pcap(#[from] PcapError),
    /// Its pcapng blocks are damaged.
    #[error("{0}")]
    Pcapng(#[from] PcapngError),
    /// Standard input was named more than once.
    #[error("standard input can be read only once")]
    StandardInputTwice,
    /// There are more files than one source takes.
    #[error("not read: more than {0} files")]
    TooManyFiles(usize),
    /// What cannot be read twice was asked for again.
    #[error("cannot be read again: not a file on disk")]
    NotRepeatable,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match (&self.fault, self.offset, self.decompressed) {
            (FileFault::Unreadable(_) | FileFault::NotACapture(_) | FileFault::NotACaptureInside(..), 0, _)
            | (FileFault::StandardInputTwice | FileFault::TooManyFiles(_) | FileFault::NotRepeatable, ..) => {
                write!(f, "{path}: {}", self.fault)
            }
            (fault, offset, false) => write!(f, "{path}: at octet {offset}: {fault}"),
            (fault, offset, true) => write!(f, "{path}: at octet {offset} of the decompressed stream: {fault}"),
        }
    }
}

impl std::error::Error for FileError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_one_line_with_file_place_and_cause() {
        let mut error = FileError {
            path: "a.pcap.gz".into(),
            offset: 40,
            decompressed: true,
            fault: FileFault::CutInPacket { needs: 76, has: 20 },
        };
        let text =
            "a.pcap.gz: at octet 40 of the decompressed stream: cut short in a packet: 20 of 76 octets are there";
        assert_eq!(error.to_string(), text);
        error = FileError { offset: 0, fault: FileFault::NotACapture("an ELF program"), ..error };
        assert_eq!(error.to_string(), "a.pcap.gz: not a capture file: it looks like an ELF program");
    }
}
