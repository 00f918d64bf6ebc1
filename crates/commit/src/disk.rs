//! What the log needs of a disk: a folder of files. The real one is [`crate::Folder`]; tests have one that loses power.

use std::io;

/// A folder of files. Names are plain, without folders.
pub trait Disk {
    /// An open file.
    type File;

    /// The names of all files.
    ///
    /// # Errors
    /// The system's.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes a file of so many zeros, in place of one that has this name; they are on stable storage after it. May be
    /// slow.
    ///
    /// # Errors
    /// The system's; StorageFull above all.
    fn make(&self, name: &str, octets: u64) -> io::Result<Self::File>;

    /// Opens a file for reading and writing.
    ///
    /// # Errors
    /// The system's.
    fn open(&self, name: &str) -> io::Result<Self::File>;

    /// Reads what is at a place, as much as `into` takes or there is; how much it was.
    ///
    /// # Errors
    /// The system's.
    fn read(&self, file: &Self::File, at: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Writes all of it at a place. It may be lost until [`Disk::sync`].
    ///
    /// # Errors
    /// The system's.
    fn write(&self, file: &Self::File, at: u64, octets: &[u8]) -> io::Result<()>;

    /// Puts what was written on stable storage, with the file's length.
    ///
    /// # Errors
    /// The system's: what was written since the last one may be lost for good.
    fn sync(&self, file: &Self::File) -> io::Result<()>;

    /// Gives a file another name, in place of one that has it; that is on stable storage after it, and so is what was
    /// removed before.
    ///
    /// # Errors
    /// The system's: it has the one name or the other.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. It may come back until the next [`Disk::rename`].
    ///
    /// # Errors
    /// The system's.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// A number that nobody outside can know: the salt of a file's checksums.
    fn salt(&self) -> u64;
}
