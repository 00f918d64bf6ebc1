//! Files of this machine as browsers see them: by name, never by where they are. Who may know more has a shell.

use crate::auth::mask::HIDDEN;
use std::path::{Path, PathBuf};

/// Folders above the data folder that are looked for.
const FORMS_MAX: usize = 2;

/// What calls files of this machine by names.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The data folder, as it was given and as the system calls it.
    data: Vec<PathBuf>,
}

impl Paths {
    /// With a data folder, below which names begin.
    pub fn of(data: &Path) -> Self {
        let mut forms = vec![data.to_owned()];
        forms.extend(std::fs::canonicalize(data).ok());
        forms.dedup();
        forms.truncate(FORMS_MAX);
        Paths { data: forms }
    }

    /// Names for files or folders: relative to the data folder where they are in it; else the last part of the path, or
    /// as many of its parts as tell it from the others. What is no absolute path stays.
    pub fn names<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let all: Vec<&str> = paths.into_iter().collect();
        let of = |path: &&str| -> String {
            if !path.starts_with('/') {
                return (*path).to_owned();
            }
            if let Some(name) = self.below(path) {
                return name.to_string_lossy().into_owned();
            }
            let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
            let others = || all.iter().filter(|other| other != &path);
            let tells = |last: &usize| {
                let end = format!("/{}", parts[parts.len() - last..].join("/"));
                !others().any(|other| other.trim_end_matches('/').ends_with(&end))
            };
            // Never the whole of it, also where it lies in the uppermost folder.
            let last = (1..parts.len()).find(tells).unwrap_or(parts.len().saturating_sub(1).max(1)).min(parts.len());
            parts[parts.len() - last..].join("/")
        };
        all.iter().map(of).collect()
    }

    /// What a path is below the data folder.
    fn below<'a>(&self, path: &'a str) -> Option<&'a Path> {
        let below = self.data.iter().find_map(|data| Path::new(path).strip_prefix(data).ok());
        below.filter(|name| !name.as_os_str().is_empty())
    }

    /// The files of a call, by names.
    pub fn call(&self, call: &mut trunkline_store::row::Call) {
        call.files = self.names(call.files.iter().map(String::as_str));
    }

    /// A sentence in which files that are known are called by their names, and all others by the last part.
    pub fn sentence(&self, text: &str, known: &[String]) -> String {
        let names = self.names(known.iter().map(String::as_str));
        let mut pairs: Vec<(&String, String)> =
            known.iter().zip(names).filter(|(path, _)| path.starts_with('/')).collect();
        pairs.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        named(&pairs.iter().fold(text.to_owned(), |text, (path, name)| text.replace(path.as_str(), name)))
    }
}

/// A sentence in which each absolute path is its last part. A word that has a slash inside, right behind a path, is
/// taken for a part of it: names of folders may hold blanks.
pub fn named(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(c) = rest.chars().next() {
        let begins = c == '/' && before.is_none_or(is_before) && rest[1..].starts_with(is_of_name);
        if !begins {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            before = Some(c);
            continue;
        }
        let mut end = word_end(rest);
        while let Some(next) = rest[end..].strip_prefix(' ') {
            let length = word_end(next);
            if length == 0 || next.starts_with('/') || !next[..length].contains('/') {
                break;
            }
            end += 1 + length;
        }
        // Who says of a file what is wrong with it ends its name by a colon.
        let path = Some(rest[..end].trim_end_matches([':', '.', '/'])).filter(|path| !path.is_empty());
        let path = path.unwrap_or(&rest[..end]);
        let name = path.rsplit('/').find(|name| !name.is_empty()).unwrap_or(HIDDEN);
        out.push_str(name);
        before = name.chars().last();
        rest = &rest[path.len()..];
    }
    out
}

fn is_before(c: char) -> bool {
    c.is_whitespace() || "'\"`([{<=,;".contains(c)
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "._-+@~".contains(c)
}

/// Where a word ends.
fn word_end(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || "'\"`)]}>,;".contains(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_by_as_little_as_tells_them_apart() {
        let paths = Paths::of(Path::new("/var/lib/trunkline"));
        let names = |all: &[&str]| paths.names(all.iter().copied());
        assert_eq!(names(&["/var/lib/trunkline/captures/a.pcap", "/srv/ann/b.pcap"]), ["captures/a.pcap", "b.pcap"]);
        assert_eq!(names(&["/mnt/a/x/log", "/mnt/b/x/log", "/mnt/log2"]), ["a/x/log", "b/x/log", "log2"]);
        assert_eq!(names(&["a.pcap", "-", "sip/2026/x"]), ["a.pcap", "-", "sip/2026/x"]);
        assert_eq!(names(&["/var/lib/trunkline", "/data"]), ["trunkline", "data"]);
        assert_eq!(names(&["/a/b", "/a/b"]), ["b", "b"]);
        assert_eq!(names(&["/", "/x/y/"]), ["", "y"]);
    }

    #[test]
    fn sentences_lose_the_way_to_a_file() {
        for (text, told) in [
            ("/srv/ann/a.pcap: at octet 7: cut short", "a.pcap: at octet 7: cut short"),
            ("cannot open '/var/lib/x y/z.idx'", "cannot open 'z.idx'"),
            ("'/srv/ann/my calls/may/a.pcap' is gone", "'a.pcap' is gone"),
            ("/srv/ann/my calls/may/a.pcap has changed", "a.pcap has changed"),
            ("lost 3 packets/s: ring", "lost 3 packets/s: ring"),
            ("host 10.1.0.0/16 and/or 2001:db8::/32", "host 10.1.0.0/16 and/or 2001:db8::/32"),
            ("/data.", "data."),
            ("/.. and /./ and /:", ".. and . and /:"),
            ("a / b", "a / b"),
            ("(see /etc/trunkline/trunkline.toml)", "(see trunkline.toml)"),
            ("x=/a/b, /c/d; /e", "x=b, d; e"),
            ("/ü/é: x", "é: x"),
        ] {
            assert_eq!(named(text), told, "{text}");
        }
        let paths = Paths::of(Path::new("/data"));
        let known = ["/srv/ann/x y z.pcap".to_owned(), "/data/captures/b.pcap".to_owned()];
        let told = paths.sentence("/srv/ann/x y z.pcap and /data/captures/b.pcap", &known);
        assert_eq!(told, "x y z.pcap and captures/b.pcap");
    }
}
