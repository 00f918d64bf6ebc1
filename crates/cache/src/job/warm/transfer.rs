//! One pass over what a peer has: its keys as it lists them, batches of those that are not here, their values.

use super::stream::Incoming;
use super::{Broken, Clock, Ending, Progress, WarmUp, pause};
use crate::peer::{DUMPS, Listed, Nonsense, Told, Value, ask, listed, told};
use crate::store::{Draft, Refused, Standing, Store, Touch, Writer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Keys that are asked for at once.
const KEYS_MAX: usize = 128;
/// Octets that are asked for at once, of more than one key.
const BATCH_OCTETS_MAX: u64 = 1 << 20;

/// What a pass is made with.
pub struct Transfer<'a> {
    warm_up: &'a WarmUp,
    store: &'a Arc<Store>,
    writer: Writer,
    clock: Clock,
    progress: &'a Progress,
    ended: &'a AtomicBool,
    /// Items that had been evicted when it began.
    evicted: u64,
    /// When what came so far may have come, at the rate.
    due: Instant,
}

impl From<Nonsense> for Broken {
    fn from(nonsense: Nonsense) -> Self {
        Broken::Peer(nonsense.to_string())
    }
}

impl<'a> Transfer<'a> {
    /// Before the first pass.
    pub fn new(
        warm_up: &'a WarmUp,
        store: &'a Arc<Store>,
        clock: Clock,
        progress: &'a Progress,
        ended: &'a AtomicBool,
    ) -> Self {
        let (evicted, due) = (store.counts().evicted, Instant::now());
        Transfer { warm_up, store, writer: store.writer(), clock, progress, ended, evicted, due }
    }

    /// A pass: up to the end of the peer's list.
    pub fn run(&mut self) -> Result<(), Broken> {
        let mut list = self.connect()?;
        let mut first = self.list(&mut list)?;
        let mut values = self.connect()?;
        let mut keys = Vec::with_capacity(KEYS_MAX);
        loop {
            let is_end = self.gather(&mut list, first.take(), &mut keys)?;
            self.may_go_on()?;
            if !keys.is_empty() {
                self.fetch(&mut values, &keys)?;
                keys.clear();
            }
            if is_end {
                return Ok(());
            }
        }
    }

    fn connect(&self) -> Result<Incoming<'a>, Broken> {
        Ok(Incoming::new((self.warm_up.connect)()?, self.ended))
    }

    /// Asks for the list of keys; returns its first line.
    fn list(&self, list: &mut Incoming<'_>) -> Result<Option<Listed>, Broken> {
        let mut refused = String::new();
        for dump in DUMPS {
            list.say(dump)?;
            match listed(list.line()?)? {
                Listed::Refused(text) => refused = text,
                Listed::Busy => return Err(Broken::Peer("its list of keys is made for somebody else".to_owned())),
                first => return Ok(Some(first)),
            }
        }
        Err(Broken::End(Ending::Refused(refused)))
    }

    /// Takes keys from the list, as many as are asked for at once. Whether the list has ended.
    fn gather(
        &mut self,
        list: &mut Incoming<'_>,
        mut first: Option<Listed>,
        keys: &mut Vec<Vec<u8>>,
    ) -> Result<bool, Broken> {
        let mut octets = 0;
        while keys.len() < KEYS_MAX && octets < BATCH_OCTETS_MAX {
            let next = match first.take() {
                Some(first) => first,
                None => listed(list.line()?)?,
            };
            match next {
                Listed::End => return Ok(true),
                Listed::Key(key, size) if !self.is_here(&key) => {
                    octets += size;
                    keys.push(key);
                }
                Listed::Key(..) => self.skip(),
                Listed::Busy | Listed::Refused(_) => return Err(Nonsense.into()),
            }
        }
        Ok(false)
    }

    fn is_here(&mut self, key: &[u8]) -> bool {
        let now = self.clock.now().second;
        self.writer.read(key, now, Touch::No, |_| ()).is_some()
    }

    fn skip(&self) {
        self.progress.skipped.fetch_add(1, Relaxed);
    }

    /// Whether it makes sense to go on.
    fn may_go_on(&mut self) -> Result<(), Broken> {
        // So that memory which the store has given up can go.
        self.writer.rest();
        let ending = if self.ended.load(Relaxed) {
            Ending::Stopped
        } else if !self.store.notes_changes() {
            Ending::Overtaken
        } else if self.store.counts().evicted > self.evicted {
            Ending::Full
        } else {
            return Ok(());
        };
        Err(Broken::End(ending))
    }

    /// Asks for all keys at once, and takes the answers, which come in the same order.
    fn fetch(&mut self, values: &mut Incoming<'_>, keys: &[Vec<u8>]) -> Result<(), Broken> {
        let mut questions = Vec::with_capacity(KEYS_MAX * 64);
        let asked: Vec<_> = keys.iter().filter(|key| ask(key, &mut questions)).collect();
        (asked.len()..keys.len()).for_each(|_| self.skip());
        // Time to live counts from before the question, so that nothing lives longer than at the peer.
        let (second, began) = (self.clock.now().second, Instant::now());
        values.say(&questions)?;
        let mut octets = 0;
        for key in asked {
            match told(values.line()?)? {
                Told::Miss => self.skip(),
                Told::Value(value) if value.key != *key => return Err(Nonsense.into()),
                Told::Value(value) => {
                    octets += u64::from(value.octets);
                    self.take(values, &value, second)?;
                }
            }
        }
        self.keep_to_rate(octets, began)
    }

    /// Takes a value, and adds it unless a client was faster.
    fn take(&mut self, values: &mut Incoming<'_>, value: &Value, second: u32) -> Result<(), Broken> {
        let mut draft = self.writer.draft(value.key.len(), u64::from(value.octets));
        let mut missing = value.octets as usize;
        while missing > 0 {
            let octets = values.octets(missing)?;
            missing -= octets.len();
            if let Ok(begun) = &mut draft
                && let Err(refused) = begun.append(&mut self.writer, octets)
            {
                draft = Err(refused);
            }
        }
        if !values.line()?.is_empty() {
            return Err(Nonsense.into());
        }
        // What is stale is made anew by somebody; it is not worth a place here.
        let is_gone = value.stale || value.seconds == Some(0);
        let added = if is_gone { Ok(false) } else { draft.and_then(|draft| self.add(value, draft, second)) };
        match added {
            Ok(true) => {
                self.progress.items.fetch_add(1, Relaxed);
                self.progress.octets.fetch_add(u64::from(value.octets), Relaxed);
            }
            Ok(false) | Err(Refused::TooLarge) => self.skip(),
            Err(Refused::NoMemory) => return Err(Broken::End(Ending::Full)),
        }
        Ok(())
    }

    fn add(&mut self, value: &Value, draft: Draft, second: u32) -> Result<bool, Refused> {
        let now = self.clock.now().second;
        let expiry = value.seconds.map_or(0, |seconds| second.saturating_add(seconds).max(1));
        let (flags, binary_key) = (value.flags, value.binary_key);
        let standing = Standing { flags, expiry, binary_key, birth: now, ..Standing::default() };
        self.writer.restore(&value.key, crate::store::Value::Draft(draft), now, &standing)
    }

    /// Waits until what came since `began`, and before, may have come.
    fn keep_to_rate(&mut self, octets: u64, began: Instant) -> Result<(), Broken> {
        let takes = Duration::from_secs_f64(octets as f64 / self.warm_up.octets_per_s.max(1) as f64);
        // What was not used of the rate is not saved up.
        self.due = self.due.max(began) + takes;
        let ends = pause(self.due.saturating_duration_since(Instant::now()), self.ended);
        if ends { Err(Broken::End(Ending::Stopped)) } else { Ok(()) }
    }
}
