//! Files that a cache reads at its start: who may sign in, and what TLS shows and asks for.

use std::path::{Path, PathBuf};
use trunkline_cache::job::Certificates;
use trunkline_cache::service::TlsSettings;
use trunkline_net::{ClientCertificates, ClientTls, OldestTls, Tls, issuers};

/// Octets of a file of certificates, keys or accounts.
const FILE_OCTETS_MAX: u64 = 1 << 20;

/// The files of TLS.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// The certificate with its chain, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// Whether clients show a certificate.
    pub clients: Clients,
    /// The oldest version that is spoken.
    pub oldest: OldestTls,
}

/// Whether clients show a certificate, and whose signature makes it good.
#[derive(Clone, Debug)]
pub enum Clients {
    /// They are not asked.
    None,
    /// If they have one, it has to be good.
    Request(PathBuf),
    /// They have to.
    Require(PathBuf),
}

impl Encryption {
    /// Reads them.
    ///
    /// # Errors
    /// Which file cannot be used, and why.
    pub fn load(&self) -> Result<Tls, String> {
        let good = |path: &Path| issuers(&read(path)?).map_err(|e| format!("{}: {e}", path.display()));
        let asked = match &self.clients {
            Clients::None => ClientCertificates::None,
            Clients::Request(path) => ClientCertificates::Request(good(path)?),
            Clients::Require(path) => ClientCertificates::Require(good(path)?),
        };
        let (certificate, key) = (read(&self.certificate)?, read(&self.key)?);
        Tls::new(&certificate, &key, &asked, self.oldest).map_err(|e| format!("TLS: {e}"))
    }

    /// As `stats settings` tells it.
    pub fn told(&self) -> TlsSettings {
        let text = |path: &Path| Some(path.to_string_lossy().into_owned());
        let (issuers, verify_mode) = match &self.clients {
            Clients::None => (None, 0),
            Clients::Request(path) => (text(path), 1),
            Clients::Require(path) => (text(path), 2),
        };
        let only_13 = self.oldest == OldestTls::V13;
        TlsSettings { certificate: text(&self.certificate), key: text(&self.key), issuers, verify_mode, only_13 }
    }

    /// What reads the pair again, for `refresh_certs` and SIGHUP.
    pub fn again(&self, tls: Tls) -> Certificates {
        let (certificate, key) = (self.certificate.clone(), self.key.clone());
        Certificates(Box::new(move || {
            let pair = read(&certificate).and_then(|certificate| Ok((certificate, read(&key)?)));
            let (certificate, key) = pair.map_err(|_| "Error loading the certificate or its key".to_owned())?;
            tls.replace(&certificate, &key).map_err(|e| e.to_string())
        }))
    }
}

/// How TLS is spoken with servers that are connected to: whose certificates are good, and what is shown to them.
///
/// # Errors
/// What cannot be read, or used.
pub fn called(good: &Path, own: Option<(&Path, &Path)>) -> Result<ClientTls, String> {
    let good = issuers(&read(good)?).map_err(|e| format!("{}: {e}", good.display()))?;
    let own = own.map(|(certificate, key)| Ok::<_, String>((read(certificate)?, read(key)?))).transpose()?;
    let own = own.as_ref().map(|(certificate, key)| (certificate.as_slice(), key.as_slice()));
    ClientTls::new(good, own).map_err(|e| format!("TLS: {e}"))
}

/// `user:password`, a line each; lines that are empty are passed over.
///
/// # Errors
/// The file cannot be read, a line is something else, or nobody is in it.
pub fn accounts(path: &Path) -> Result<Vec<(String, String)>, String> {
    let text = String::from_utf8(read(path)?).map_err(|_| format!("{}: not text", path.display()))?;
    let mut accounts = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let account = line.split_once(':').filter(|(user, password)| !user.is_empty() && !password.is_empty());
        let Some((user, password)) = account else {
            return Err(format!("{}:{}: a line is user:password", path.display(), number + 1));
        };
        accounts.push((user.to_owned(), password.to_owned()));
    }
    if accounts.is_empty() { Err(format!("{}: nobody is in it", path.display())) } else { Ok(accounts) }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let wrong = |why: String| format!("{}: {why}", path.display());
    let octets = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.len();
    if octets > FILE_OCTETS_MAX {
        return Err(wrong("larger than 1 MiB".to_owned()));
    }
    std::fs::read(path).map_err(|e| wrong(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn accounts_are_lines() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "anna:secret:with colon\n\nben:x\n").unwrap();
        let known = accounts(file.path()).unwrap();
        assert_eq!(known[0], ("anna".to_owned(), "secret:with colon".to_owned()));
        assert_eq!(known.len(), 2);
        writeln!(file, "nobody").unwrap();
        let text = accounts(file.path()).unwrap_err();
        assert!(text.ends_with(":4: a line is user:password"), "{text}");
        assert!(accounts(Path::new("/nowhere/at/all")).is_err());
    }
}
