//! The commands that are rare: they ask about the server, or change how it goes.
//!
//! Where memcached sets something that does not exist here, the answer is the one that a memcached without it gives:
//!
//! | command | answer here | why |
//! |---|---|---|
//! | `slabs reassign` | `CLIENT_ERROR slab reassignment disabled` | there are no slabs: memory goes where it is needed |
//! | `slabs automove` | `ERROR` | the same |
//! | `lru tune`, `lru mode`, `lru temp_ttl` | `ERROR` | there are no hot, warm and cold lists to tune |
//! | `lru_crawler enable`, `crawl` | `OK` | what has expired is always taken back within seconds |
//! | `lru_crawler disable` | `ERROR failed to stop lru crawler thread` | it cannot be turned off |
//! | `lru_crawler sleep`, `tocrawl` | `ERROR` | there is nothing to slow down |
//! | `extstore ...` | `ERROR` | nothing lies on disk |
//! | `misbehave`, `debugtime` | `ERROR` | as in any build that is not for debugging |

use super::connection::State;
use super::walk::Walking;
use super::watch::Kind;
use super::{Call, Go, Service, say};
use crate::protocol::number;
use crate::protocol::text::{BAD_FORMAT, ERROR};
use crate::protocol::words::Words;
use std::sync::atomic::Ordering;

/// Highest level of `verbosity`.
const VERBOSITY_MAX: u32 = 2;
/// Megabytes that `cache_memlimit` takes at most.
const MEMLIMIT_MEGABYTES_MAX: u32 = 1_000_000_000;
/// Megabytes below which memcached does not go.
const MEMLIMIT_MEGABYTES_MIN: u32 = 8;
/// Slab classes that a list of classes may name.
const CLASSES_MAX: u32 = 63;

impl Service {
    /// Carries out a command that is none of the others.
    pub(super) fn rare(&mut self, words: &Words<'_>, call: &mut Call<'_>) -> (Go, State) {
        let quiet = words.quiet();
        match words.at(0) {
            b"version" => {
                call.out.extend_from_slice(b"VERSION ");
                say(call.out, self.shared.settings.version.as_bytes());
            }
            b"quit" => return (Go::Close(0), State::Ready),
            b"stats" => return self.stats(words, call),
            b"verbosity" => answer(quiet, self.verbosity(words), call),
            b"cache_memlimit" => answer(quiet, self.memory_limit(words), call),
            b"watch" => return self.watch(words, call),
            b"lru_crawler" => return self.crawler(words, call),
            b"slabs" if words.count() == 4 && words.at(1) == b"reassign" => {
                say(call.out, b"CLIENT_ERROR slab reassignment disabled");
            }
            b"shutdown" => return self.shutdown(words, call),
            b"refresh_certs" => match self.shared.host.refresh_certificates() {
                Ok(()) => answer(quiet, b"OK", call),
                Err(text) => say(call.out, text.as_bytes()),
            },
            // A browser, or somebody who makes one speak to us: not a word to it.
            word if http(words) && !matches!(word[0], b'g' | b's' | b'a' | b'c' | b'i' | b'd' | b't') => {
                return (Go::Close(0), State::Ready);
            }
            _ => say(call.out, ERROR),
        }
        (Go::On(0), State::Ready)
    }

    fn verbosity(&self, words: &Words<'_>) -> &'static [u8] {
        if !matches!(words.count(), 2 | 3) {
            return ERROR;
        }
        match number::unsigned_32(words.at(1)) {
            Some(level) => {
                self.shared.verbosity.store(level.min(VERBOSITY_MAX), Ordering::Relaxed);
                b"OK"
            }
            None => BAD_FORMAT,
        }
    }

    fn memory_limit(&self, words: &Words<'_>) -> &'static [u8] {
        if !matches!(words.count(), 2 | 3) {
            return ERROR;
        }
        match number::unsigned_32(words.at(1)) {
            None => ERROR,
            Some(0..MEMLIMIT_MEGABYTES_MIN) => b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m",
            Some(MEMLIMIT_MEGABYTES_MAX..) => b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes",
            Some(megabytes) => {
                self.shared.store.set_limit(u64::from(megabytes) << 20);
                b"OK"
            }
        }
    }

    fn watch(&self, words: &Words<'_>, call: &mut Call<'_>) -> (Go, State) {
        let kinds = words.from(1).iter().map(|word| Kind::of(word));
        let kinds = kinds.collect::<Option<Vec<_>>>();
        let text: &[u8] = match kinds {
            _ if !self.shared.settings.watch_enabled => b"CLIENT_ERROR watch commands not allowed",
            None => ERROR,
            Some(kinds) => {
                let wanted = kinds.iter().fold(0, |all, kind| all | *kind as u32);
                let wanted = if words.count() == 1 { Kind::Fetchers as u32 } else { wanted };
                match self.shared.watchers.enter(wanted) {
                    Some(number) => {
                        self.shared.tell_store();
                        say(call.out, b"OK");
                        return (Go::On(0), State::Watching(number));
                    }
                    None => b"WATCHER_TOO_MANY log watcher limit reached",
                }
            }
        };
        say(call.out, text);
        (Go::On(0), State::Ready)
    }

    fn crawler(&self, words: &Words<'_>, call: &mut Call<'_>) -> (Go, State) {
        let text: &[u8] = match (words.at(1), words.count()) {
            (b"metadump", 3) if !self.may_dump() => b"ERROR metadump not allowed",
            (b"metadump" | b"crawl", 3) if !names_classes(words.at(2)) => b"BADCLASS invalid class id",
            (b"metadump", 3) => return (Go::On(0), Walking::metadump()),
            (b"crawl", 3) | (b"enable", 2) => b"OK",
            (b"disable", 2) => b"ERROR failed to stop lru crawler thread",
            _ => ERROR,
        };
        say(call.out, text);
        (Go::On(0), State::Ready)
    }

    fn shutdown(&self, words: &Words<'_>, call: &mut Call<'_>) -> (Go, State) {
        let text: &[u8] = match (words.count(), words.at(1)) {
            _ if !self.shared.settings.shutdown_enabled => b"ERROR: shutdown not enabled",
            (1, _) | (2, b"graceful") => {
                self.shared.host.shut_down(words.count() == 2);
                return (Go::Close(0), State::Ready);
            }
            _ => b"CLIENT_ERROR invalid shutdown mode",
        };
        say(call.out, text);
        (Go::On(0), State::Ready)
    }
}

fn answer(quiet: bool, text: &[u8], call: &mut Call<'_>) {
    // That words are missing is said in any case.
    if !quiet || text == ERROR {
        say(call.out, text);
    }
}

/// `all`, or numbers of slab classes parted by commas: all items are told for any of them.
fn names_classes(list: &[u8]) -> bool {
    let class = |word: &[u8]| number::unsigned_32(word).is_some_and(|class| (1..=CLASSES_MAX).contains(&class));
    matches!(list, b"all" | b"hash") || list.split(|&o| o == b',').filter(|w| !w.is_empty()).all(class)
}

fn http(words: &Words<'_>) -> bool {
    words.from(0).last().is_some_and(|last| last.starts_with(b"HTTP/"))
}
