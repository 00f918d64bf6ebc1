//! libpcap as a file that is loaded when the first expression needs it: the program starts where it is missing.
//!
//! Loaded by libloading rather than by dlopen(3) itself: it hands out functions with their types, where dlsym(3) has
//! pointers to be cast, and copies what dlerror(3) says.
#![expect(unsafe_code, reason = "loads libpcap")]

use core::ffi::{c_char, c_int, c_uint};
use std::sync::OnceLock;

use super::libpcap::{Handle, Program};

/// What libpcap's file is called: by Debian, by others, and where it was built by hand.
const NAMES: [&str; 3] = ["libpcap.so.0.8", "libpcap.so.1", "libpcap.so"];
/// The command that installs it on Debian and Ubuntu.
pub const INSTALL: &str = "apt-get install libpcap0.8";
const OTHER_NAME: &str = "libpcap0.8t64 on Debian 13 and Ubuntu 24.04";

/// Why there is no libpcap to compile expressions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// It is not installed.
    #[error("the packet filter needs libpcap, which is not installed: {INSTALL} ({OTHER_NAME})")]
    Missing,
    /// It is there and cannot be loaded, as the system's loader says.
    #[error("the packet filter needs libpcap, which cannot be loaded: {0}")]
    Broken(String),
    /// A function is missing in the file of that name.
    #[error("the packet filter needs libpcap, but {library} lacks {symbol}: it is no libpcap, or damaged")]
    Symbol {
        /// The file's name.
        library: String,
        /// The function's name.
        symbol: &'static str,
    },
}

/// libpcap, loaded: the functions that compile an expression, with the types that pcap/pcap.h gives them.
pub(super) struct Library {
    pub(super) name: &'static str,
    pub(super) open_dead: unsafe extern "C" fn(link: c_int, keep: c_int) -> *mut Handle,
    pub(super) compile: unsafe extern "C" fn(
        handle: *mut Handle,
        program: *mut Program,
        text: *const c_char,
        optimize: c_int,
        mask: c_uint,
    ) -> c_int,
    pub(super) error: unsafe extern "C" fn(handle: *mut Handle) -> *const c_char,
    pub(super) free_code: unsafe extern "C" fn(program: *mut Program),
    pub(super) close: unsafe extern "C" fn(handle: *mut Handle),
    /// It is unloaded with this: the functions are there for as long.
    _file: libloading::Library,
}

impl Library {
    /// libpcap, which is loaded once for all threads. Where it is missing it is looked for again next time: it may have
    /// been installed meanwhile.
    pub(super) fn get() -> Result<&'static Library, LibraryError> {
        static LOADED: OnceLock<Library> = OnceLock::new();
        match LOADED.get() {
            Some(library) => Ok(library),
            None => load(&NAMES).map(|library| LOADED.get_or_init(|| library)),
        }
    }
}

/// Loads the first of these files that is there.
fn load(names: &[&'static str]) -> Result<Library, LibraryError> {
    let mut broken = None;
    for &name in names {
        // SAFETY: libpcap and what it needs itself may be loaded and unloaded at any time, from any thread.
        match unsafe { libloading::Library::new(name) } {
            Ok(file) => return functions(name, file),
            Err(error) => broken = broken.or_else(|| why_broken(name, &error)),
        }
    }
    Err(broken.map_or(LibraryError::Missing, LibraryError::Broken))
}

/// What the loader says of a file that is there; none if there is no such file.
fn why_broken(name: &str, error: &libloading::Error) -> Option<String> {
    let said = match error {
        libloading::Error::DlOpen { source } => source.to_string(),
        other => other.to_string(),
    };
    // That a library is missing which it needs itself reads alike, but has the name of that one.
    let is_missing = said.contains(&format!("{name}: ")) && said.ends_with("No such file or directory");
    (!is_missing).then_some(said)
}

fn functions(name: &'static str, file: libloading::Library) -> Result<Library, LibraryError> {
    // SAFETY: these are the types that pcap/pcap.h gives these functions, and the file stays loaded with them.
    unsafe {
        Ok(Library {
            name,
            open_dead: function(name, &file, "pcap_open_dead")?,
            compile: function(name, &file, "pcap_compile")?,
            error: function(name, &file, "pcap_geterr")?,
            free_code: function(name, &file, "pcap_freecode")?,
            close: function(name, &file, "pcap_close")?,
            _file: file,
        })
    }
}

/// A function of a library.
///
/// # Safety
/// `F` is the function's type, and it is not called after the library was unloaded.
unsafe fn function<F: Copy>(name: &str, file: &libloading::Library, symbol: &'static str) -> Result<F, LibraryError> {
    // SAFETY: the type is right, says who calls this; an option of it, because a symbol's address may be zero.
    let found = unsafe { file.get::<Option<F>>(symbol) };
    let function = found.ok().and_then(|found| *found);
    function.ok_or_else(|| LibraryError::Symbol { library: name.to_owned(), symbol })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(names: &[&'static str]) -> LibraryError {
        let Err(error) = load(names) else { unreachable!("{names:?} were loaded") };
        error
    }

    #[test]
    fn a_library_that_is_not_installed_is_named_with_its_package() {
        let error = fails(&["libno-such.so.0.8", "libno-such.so.1"]);
        assert_eq!(error, LibraryError::Missing);
        let text = error.to_string();
        assert!(
            text.starts_with("the packet filter needs libpcap, which is not installed: apt-get install libpcap0.8 ("),
            "{text}"
        );
        assert!(text.contains("libpcap0.8t64") && !text.contains('\n'), "{text}");
        assert_eq!(fails(&[]), LibraryError::Missing);
    }

    #[test]
    fn a_library_without_a_function_is_named_with_it() {
        // The C library is always there, and compiles no filters.
        let error = fails(&["libno-such.so.0.8", "libc.so.6"]);
        assert_eq!(error, LibraryError::Symbol { library: "libc.so.6".to_owned(), symbol: "pcap_open_dead" });
        assert!(error.to_string().contains("libc.so.6 lacks pcap_open_dead"), "{error}");
    }

    #[test]
    fn a_library_that_cannot_be_loaded_is_told_in_the_loaders_words() {
        // A file that is there and no library: this program's own source.
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/filter/library.rs");
        let error = fails(&[path, "libno-such.so.1"]);
        let LibraryError::Broken(said) = &error else { unreachable!("{error:?}") };
        assert!(said.contains("library.rs") && said.contains("ELF"), "{said}");
        assert!(error.to_string().contains("which cannot be loaded: "), "{error}");
    }

    #[test]
    fn it_is_loaded_once() {
        let (one, other) = (Library::get(), Library::get());
        let (Ok(one), Ok(other)) = (one, other) else { unreachable!("libpcap is not installed") };
        assert!(core::ptr::eq(one, other) && NAMES.contains(&one.name), "{}", one.name);
    }
}
