//! The words of `-o`.

use crate::failure::Failure;
use std::path::PathBuf;
use trunkline_kit::nearest;
use trunkline_net::OldestTls;

/// What they say.
#[derive(Debug, Default, PartialEq)]
pub struct Extended {
    /// `maxconns_fast`, unless it was taken back: who is too many is told so at once.
    pub waits: bool,
    /// `idle_timeout`: seconds, 0 for never.
    pub idle_s: u32,
    /// `ssl_chain_cert`
    pub certificate: Option<PathBuf>,
    /// `ssl_key`
    pub key: Option<PathBuf>,
    /// `ssl_ca_cert`
    pub issuers: Option<PathBuf>,
    /// `ssl_verify_mode`
    pub clients: Clients,
    /// `ssl_min_version`
    pub oldest: OldestTls,
    /// What has no meaning here: the word, and why.
    pub meaningless: Vec<(String, &'static str)>,
}

/// Whether clients show a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clients {
    /// They are not asked.
    #[default]
    None,
    /// If they have one, it has to be good.
    Request,
    /// They have to.
    Require,
}

/// memcached's words that are about something that is not here, and why each has no meaning.
const MEANINGLESS: &[(&[&str], &str)] = &[
    (&["slab_reassign", "slab_automove", "slab_automove_ratio", "slab_automove_window", "slab_chunk_max"], SLABS),
    (&["lru_crawler", "lru_crawler_sleep", "lru_crawler_tocrawl"], "what has expired is always taken back"),
    (&["lru_maintainer", "hot_lru_pct", "warm_lru_pct", "hot_max_factor", "warm_max_factor"], LRU),
    (&["temporary_ttl", "inline_ascii_resp", "tail_repair_time"], LRU),
    (&["hashpower", "hashexpand"], "the table grows and shrinks with the items"),
    (&["hash_algorithm"], "keys are hashed by SipHash, against keys that are chosen to collide"),
    (&["track_sizes"], "stats sizes is always there"),
    (&["read_buf_mem_limit", "resp_obj_mem_limit"], "buffers are part of -m"),
    (&["watcher_logbuf_size", "worker_logbuf_size"], "the queue of who watches has a fixed length"),
    (&["modern"], "there is no older way"),
    (&["drop_privileges"], "capabilities are always given up"),
    (&["ssl_keyformat", "ssl_wbuf_size", "ssl_session_cache"], "TLS takes PEM and sizes its buffers itself"),
    (&["ssl_ciphers"], "TLS has good ciphers alone"),
];
const SLABS: &str = "there are no slab classes";
const LRU: &str = "items are evicted by use, without lists";
/// What would be another program if it were left out silently.
const REFUSED: &[(&str, &str)] = &[
    ("ext_path", "there is no external storage"),
    ("proxy_config", "there is no proxy in the server"),
    ("sock_cookie_id", "sockets get no cookie"),
];
const KNOWN: &[&str] = &[
    "maxconns_fast",
    "idle_timeout",
    "ssl_chain_cert",
    "ssl_key",
    "ssl_ca_cert",
    "ssl_verify_mode",
    "ssl_min_version",
];

impl Extended {
    /// Reads them.
    ///
    /// # Errors
    /// A word that is not known, or a value that it cannot have.
    pub fn of(words: &[String]) -> Result<Self, Failure> {
        let mut extended = Extended::default();
        for word in words.iter().filter(|word| !word.is_empty()) {
            extended.take(word).map_err(|why| Failure::Usage(format!("-o {word}: {why}")))?;
        }
        Ok(extended)
    }

    fn take(&mut self, word: &str) -> Result<(), String> {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let needed = || value.filter(|value| !value.is_empty()).ok_or_else(|| "a value is missing".to_owned());
        let number = || needed()?.parse::<u32>().map_err(|_| "a number is needed".to_owned());
        match name {
            "maxconns_fast" => self.waits = false,
            "no_maxconns_fast" => self.waits = true,
            "idle_timeout" => self.idle_s = number()?,
            "ssl_chain_cert" => self.certificate = Some(needed()?.into()),
            "ssl_key" => self.key = Some(needed()?.into()),
            "ssl_ca_cert" => self.issuers = Some(needed()?.into()),
            "ssl_verify_mode" => self.clients = clients(number()?)?,
            "ssl_min_version" => self.oldest = oldest(number()?)?,
            _ => self.other(word, name)?,
        }
        Ok(())
    }

    fn other(&mut self, word: &str, name: &str) -> Result<(), String> {
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return Err((*why).to_owned());
        }
        let bare = name.strip_prefix("no_").unwrap_or(name);
        let why = MEANINGLESS.iter().find(|(names, _)| names.contains(&bare)).map(|(_, why)| *why);
        match why {
            Some(why) => self.meaningless.push((word.to_owned(), why)),
            None => return Err(format!("it is not known{}", nearest::suggestion(name, KNOWN.iter().copied()))),
        }
        Ok(())
    }
}

/// SSL_VERIFY_NONE, _PEER, _FAIL_IF_NO_PEER_CERT and _CLIENT_ONCE, as memcached numbers them.
fn clients(mode: u32) -> Result<Clients, String> {
    match mode {
        0 => Ok(Clients::None),
        1 | 3 => Ok(Clients::Request),
        2 => Ok(Clients::Require),
        _ => Err("0 no certificate, 1 if there is one, 2 required".to_owned()),
    }
}

/// memcached's numbers: 2 is TLS 1.2, 3 is TLS 1.3; what is older is not spoken.
fn oldest(version: u32) -> Result<OldestTls, String> {
    match version {
        2 => Ok(OldestTls::V12),
        3 => Ok(OldestTls::V13),
        _ => Err("2 (TLS 1.2) or 3 (TLS 1.3)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Extended, String> {
        let words: Vec<_> = words.split(',').map(str::to_owned).collect();
        Extended::of(&words).map_err(|failure| match failure {
            Failure::Usage(text) => text,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn words_of_memcached() {
        let all = read("maxconns_fast,idle_timeout=30,ssl_verify_mode=2,ssl_min_version=3,ssl_key=a=b").unwrap();
        assert_eq!((all.waits, all.idle_s, all.clients), (false, 30, Clients::Require));
        assert_eq!((all.oldest, all.key), (OldestTls::V13, Some("a=b".into())));
        let none = read("modern,no_lru_crawler,slab_automove=2,no_maxconns_fast").unwrap();
        assert_eq!((none.waits, none.meaningless.len()), (true, 3));
    }

    #[test]
    fn what_is_wrong_says_where() {
        assert_eq!(read("idle_timeout").unwrap_err(), "-o idle_timeout: a value is missing");
        assert_eq!(read("idle_timeout=x").unwrap_err(), "-o idle_timeout=x: a number is needed");
        assert!(read("ssl_chain_crt=x").unwrap_err().ends_with("did you mean 'ssl_chain_cert'?"));
        assert!(read("ext_path=/x:1g").unwrap_err().ends_with("there is no external storage"));
        assert!(read("ssl_min_version=1").unwrap_err().contains("TLS 1.2"));
    }
}
