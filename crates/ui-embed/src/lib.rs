//! The files of the web UI, inside the program. `ui/dist` is built from `ui/` (`make ui`) and not committed; a program
//! that was built without it knows no file.
#![forbid(unsafe_code)]

const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The octets of a file by its path below `ui/dist` ("index.html", "assets/index-1a2b3c.js").
pub fn file(path: &str) -> Option<&'static [u8]> {
    FILES.binary_search_by(|(name, _)| (*name).cmp(path)).ok().map(|at| FILES[at].1)
}

/// The paths of all files, in order; none if the UI was not built.
pub fn paths() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_path() {
        for path in paths() {
            assert!(file(path).is_some(), "{path}");
        }
        assert_eq!(file("no such file"), None);
    }
}
