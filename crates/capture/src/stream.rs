//! The octets of a file as they are inside: read plain or decompressed, as the content says.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use crate::lz4::Lz4;

/// Octets of compressed input that are read at once.
const COMPRESSED_OCTETS: usize = 128 << 10;
/// Octets of a file's beginning that tell its compression.
const HEAD_OCTETS: usize = 4096;

/// A file's content.
pub(crate) enum Stream {
    Plain(Raw),
    Gzip(Box<MultiGzDecoder<BufReader<Raw>>>),
    Zstd(Box<ZstdDecoder<'static, BufReader<Raw>>>),
    Lz4(Box<Lz4<BufReader<Raw>>>),
}

/// What is around a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
    Lz4,
}

impl Stream {
    /// Opens a file by its name; `-` is standard input.
    pub(crate) fn open(path: &Path) -> io::Result<Stream> {
        Stream::of(Raw::open(path)?)
    }

    /// Of octets that are in memory.
    pub(crate) fn of_octets(octets: Vec<u8>) -> io::Result<Stream> {
        let total = octets.len() as u64;
        Stream::of(Raw { total: Some(total), ..Raw::new(Input::Octets(Cursor::new(octets))) })
    }

    fn of(mut raw: Raw) -> io::Result<Stream> {
        let compression = compression_of(raw.look()?);
        let buffered = |raw| BufReader::with_capacity(COMPRESSED_OCTETS, raw);
        Ok(match compression {
            Compression::None => Stream::Plain(raw),
            Compression::Gzip => Stream::Gzip(Box::new(MultiGzDecoder::new(buffered(raw)))),
            Compression::Zstd => Stream::Zstd(Box::new(ZstdDecoder::with_buffer(buffered(raw))?)),
            Compression::Lz4 => Stream::Lz4(Box::new(Lz4::new(buffered(raw))?)),
        })
    }

    fn raw(&self) -> &Raw {
        match self {
            Stream::Plain(raw) => raw,
            Stream::Gzip(d) => d.get_ref().get_ref(),
            Stream::Zstd(d) => d.get_ref().get_ref(),
            Stream::Lz4(d) => d.get_ref().get_ref(),
        }
    }

    /// The compression's name, if there is one.
    pub(crate) fn compression(&self) -> Option<&'static str> {
        match self {
            Stream::Plain(_) => None,
            Stream::Gzip(_) => Some("gzip"),
            Stream::Zstd(_) => Some("zstd"),
            Stream::Lz4(_) => Some("lz4"),
        }
    }

    /// Octets read from the file, before decompression.
    pub(crate) fn octets_read(&self) -> u64 {
        self.raw().read
    }

    /// Octets of the file, where that is known.
    pub(crate) fn octets_total(&self) -> Option<u64> {
        self.raw().total
    }

    /// Whether it can be opened a second time.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.raw().total.is_some()
    }

    /// Whether more octets may be long in coming, so that those that came are better handed on.
    pub(crate) fn is_slow(&self) -> bool {
        matches!(self, Stream::Plain(raw) if raw.total.is_none())
    }

    /// Goes on at an offset; false where that is not possible.
    pub(crate) fn seek(&mut self, offset: u64) -> io::Result<bool> {
        match self {
            Stream::Plain(raw) if raw.total.is_some() => raw.seek(offset).map(|()| true),
            _ => Ok(false),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(raw) => raw.read(out),
            Stream::Gzip(decoder) => decoder.read(out),
            Stream::Zstd(decoder) => decoder.read(out),
            Stream::Lz4(decoder) => decoder.read(out),
        }
    }
}

/// Tells the compression by content. Frames to be skipped (the same magic numbers in zstd and lz4) may come first.
fn compression_of(mut head: &[u8]) -> Compression {
    let mut skipped = false;
    loop {
        match head {
            [0x1f, 0x8b, 8, ..] => return Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => return Compression::Zstd,
            [0x04, 0x22, 0x4d, 0x18, ..] | [0x02, 0x21, 0x4c, 0x18, ..] => return Compression::Lz4,
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, rest @ ..] => {
                skipped = true;
                let octets = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
                head = rest.get(octets..).unwrap_or_default();
            }
            // pzstd and the seekable format of zstd write such frames, few write them for lz4.
            _ if skipped => return Compression::Zstd,
            _ => return Compression::None,
        }
    }
}

/// Where the octets come from.
enum Input {
    File(File),
    Octets(Cursor<Vec<u8>>),
}

/// A file's octets as they lie on disk, counted. The beginning that was looked at is read again.
pub(crate) struct Raw {
    input: Input,
    head: Vec<u8>,
    head_at: usize,
    read: u64,
    total: Option<u64>,
}

impl Raw {
    fn new(input: Input) -> Raw {
        Raw { input, head: Vec::new(), head_at: 0, read: 0, total: None }
    }

    fn open(path: &Path) -> io::Result<Raw> {
        if path == Path::new("-") {
            // Not through `Stdin`: its buffer would copy every octet once more.
            let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
            return Ok(Raw::new(Input::File(file)));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let total = metadata.is_file().then_some(metadata.len());
        Ok(Raw { total, ..Raw::new(Input::File(file)) })
    }

    /// The first octets, as many as come at once, at least 16 if there are so many.
    fn look(&mut self) -> io::Result<&[u8]> {
        let mut head = vec![0; HEAD_OCTETS];
        let mut have = 0;
        while have < 16 {
            match self.input.read(&mut head[have..]) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        head.truncate(have);
        self.head = head;
        Ok(&self.head)
    }

    fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.head_at = self.head.len();
        self.read = offset;
        match &mut self.input {
            Input::File(file) => file.seek(SeekFrom::Start(offset)),
            Input::Octets(octets) => octets.seek(SeekFrom::Start(offset)),
        }?;
        Ok(())
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::File(file) => file.read(out),
            Input::Octets(octets) => octets.read(out),
        }
    }
}

impl Read for Raw {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let head = &self.head[self.head_at..];
        let n = if head.is_empty() {
            self.input.read(out)?
        } else {
            let n = head.len().min(out.len());
            out[..n].copy_from_slice(&head[..n]);
            self.head_at += n;
            n
        };
        self.read += n as u64;
        Ok(n)
    }
}
