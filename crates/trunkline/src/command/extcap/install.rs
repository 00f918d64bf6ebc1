//! `trunkline extcap-install`: tells Wireshark where the program is.

use crate::failure::Failure;
use std::fs::{self};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use trunkline_kit::exit::Exit;
use trunkline_kit::place;

/// Wireshark's folder of a user's own extcap programs, below the home folder; since Wireshark 4.2.
const FOLDER: &str = ".local/lib/wireshark/extcap";
/// The program that is put there.
const NAME: &str = "trunkline-extcap";
/// Stands in what we have written.
const MARK: &str = "# Made by `trunkline extcap-install`.";

/// Install the packet log in Wireshark, as interfaces "Trunkline: a call", "time range" and "live"
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline extcap-install --data /var/lib/trunkline\n  \
    trunkline extcap-install --data DIR --data DIR /usr/lib/x86_64-linux-gnu/wireshark/extcap\n\n\
    The folder is named by `tshark -G folders`. Wireshark before 4.2 knows no folder of your own: name the one\n\
    it has, or point WIRESHARK_EXTCAP_DIR to another.")]
pub struct Install {
    /// Wireshark's folder of extcap programs [default: ~/.local/lib/wireshark/extcap]
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: Option<PathBuf>,
    /// Data folder to offer in Wireshark; repeat the option for more
    #[arg(long = "data", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: Vec<PathBuf>,
}

impl Install {
    /// Writes a small program into the folder.
    pub fn run(&self) -> Result<Exit, Failure> {
        let folder = match &self.folder {
            Some(folder) => folder.clone(),
            None => std::env::var_os("HOME")
                .map(|home| PathBuf::from(home).join(FOLDER))
                .ok_or_else(|| Failure::Usage("there is no HOME: name Wireshark's folder".to_owned()))?,
        };
        let program = std::env::current_exe().map_err(|e| Failure::Failed(format!("where am I? {e}")))?;
        let data = self.data.iter().map(|d| absolute(d)).collect::<Result<Vec<_>, _>>()?;
        let data = std::env::join_paths(&data)
            .map_err(|_| Failure::Usage("a data folder with a colon in its name cannot be told".to_owned()))?;
        let path = folder.join(NAME);
        let failed = |e: io::Error| Failure::Failed(format!("cannot write {}: {e}", path.display()));
        if fs::read(&path).is_ok_and(|old| !old.windows(MARK.len()).any(|w| w == MARK.as_bytes())) {
            return Err(Failure::Failed(format!("{} is something else: remove it first", path.display())));
        }
        fs::create_dir_all(&folder).map_err(failed)?;
        place::replace(&path, &script(&program, data.as_bytes()), 0o755).map_err(failed)?;
        writeln!(io::stdout(), "{}", path.display())?;
        let _ = writeln!(io::stderr(), "trunkline: look with `tshark -D`, or into Wireshark's list of interfaces");
        Ok(Exit::Done)
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))
}

/// A script that calls the program: it knows what a link could not, the data folder.
fn script(program: &Path, data: &[u8]) -> Vec<u8> {
    let mut out = format!("#!/bin/sh\n{MARK}\nexec ").into_bytes();
    quote(program.as_os_str().as_bytes(), &mut out);
    out.extend(b" extcap");
    if !data.is_empty() {
        out.extend(b" --default-data ");
        quote(data, &mut out);
    }
    out.extend(b" \"$@\"\n");
    out
}

/// As one word of the shell.
fn quote(word: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for octet in word {
        match octet {
            b'\'' => out.extend(b"'\\''"),
            octet => out.push(*octet),
        }
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_shell() {
        let text = String::from_utf8(script(Path::new("/o'r/$x"), b"/a b")).unwrap();
        assert!(text.ends_with("exec '/o'\\''r/$x' extcap --default-data '/a b' \"$@\"\n"), "{text}");
        assert!(!String::from_utf8(script(Path::new("/x"), b"")).unwrap().contains("default-data"));
    }
}
