//! The text commands: the line, and what it asks for.

use super::connection::State;
use super::counters::Count;
use super::{Call, Go, Service, say};
use crate::protocol::binary::Status;
use crate::protocol::text::{self, Command, LINE_OCTETS_MAX, Refused};
use crate::store::{Decision, Marks, Value};

impl Service {
    /// The command that `input` begins with.
    #[inline]
    pub(super) fn text(&mut self, input: &[u8], state: &mut State, call: &mut Call<'_>) -> Go {
        let Some(end) = memchr::memchr(b'\n', input) else { return self.endless(input, state, call) };
        let line = text::line(&input[..end]);
        match text::parse(line) {
            Ok(Command::Get(get)) => {
                let keys = line.len() - get.keys.len();
                self.get(&get, &input[keys..], Some(end - keys), state, call).after(keys)
            }
            Ok(command) => {
                let (go, next) = self.command(&command, &input[end + 1..], call);
                if !matches!(next, State::Ready) {
                    *state = next;
                }
                go.after(end + 1)
            }
            Err(refused) => {
                *state = refuse(&refused, call);
                Go::On(end + 1)
            }
        }
    }

    /// What has no end yet: a get of many keys is begun, anything else is waited for up to a limit.
    fn endless(&mut self, input: &[u8], state: &mut State, call: &mut Call<'_>) -> Go {
        if input.len() <= LINE_OCTETS_MAX {
            return Go::Wait(0);
        }
        let list = memchr::memrchr(b' ', input).map_or(&[][..], |blank| &input[..=blank]);
        let list = text::line(list);
        match text::parse(list) {
            Ok(Command::Get(get)) => {
                let keys = list.len() - get.keys.len();
                self.get(&get, &input[keys..], None, state, call).after(keys)
            }
            _ => Go::Close(input.len()),
        }
    }

    /// Carries out all but gets; what comes behind the line begins `input`.
    fn command(&mut self, command: &Command<'_>, input: &[u8], call: &mut Call<'_>) -> (Go, State) {
        match command {
            Command::Set(set) => return self.set(set, input, call),
            Command::Meta(command) => return self.meta(command, input, call),
            Command::Rare(words) => return self.rare(words, call),
            Command::Get(_) => {}
            &Command::Delta { key, delta, up, quiet } => self.delta(key, delta, up, quiet, call),
            &Command::Delete { key, quiet } => {
                let status = self.delete(key, 0, call);
                if !quiet {
                    say(call.out, if status == Status::Done { b"DELETED" } else { b"NOT_FOUND" });
                }
            }
            &Command::Touch { key, expiry, quiet } => {
                let found = self.touch(key, call.now.expires(expiry), call);
                if !quiet {
                    say(call.out, if found { b"TOUCHED" } else { b"NOT_FOUND" });
                }
            }
            &Command::Flush { delay, quiet } => {
                let answer: &[u8] = match self.may_flush() {
                    true => b"OK",
                    false => b"CLIENT_ERROR flush_all not allowed",
                };
                self.flush(if delay > 0 { call.now.expires(delay) } else { 0 }, call);
                if !quiet {
                    say(call.out, answer);
                }
            }
        }
        (Go::On(0), State::Ready)
    }

    /// Removes an item, if its number is `cas` or `cas` is 0.
    pub(super) fn delete(&mut self, key: &[u8], cas: u64, call: &Call<'_>) -> Status {
        self.shared.deleted(key);
        self.hot.see(key, call.now);
        let changed = self.writer.change(key, Value::None, call.now.second, |old, _| match old {
            None => (Decision::Keep, Status::NotFound),
            Some(old) if cas != 0 && cas != old.cas() => (Decision::Keep, Status::Exists),
            Some(_) => (Decision::Delete, Status::Done),
        });
        let status = changed.map_or(Status::NotFound, |changed| changed.told);
        match status {
            Status::Done => self.counters.add(Count::DeleteHit, 1),
            Status::NotFound => self.counters.add(Count::DeleteMiss, 1),
            _ => {}
        }
        status
    }

    fn touch(&mut self, key: &[u8], expiry: u32, call: &Call<'_>) -> bool {
        self.hot.see(key, call.now);
        let marks = Marks { expiry: Some(expiry), touch: true, ..Marks::default() };
        let changed = self.writer.change(key, Value::None, call.now.second, |old, _| {
            (if old.is_some() { Decision::Mark(marks) } else { Decision::Keep }, old.is_some())
        });
        let found = changed.is_ok_and(|changed| changed.told);
        self.counters.add(if found { Count::TouchHit } else { Count::TouchMiss }, 1);
        found
    }

    /// Forgets all items a second before `at`, as memcached does, at once where it is 0; counted in any case, carried
    /// out if it is allowed.
    pub(super) fn flush(&mut self, at: u32, call: &Call<'_>) {
        self.counters.add(Count::Flush, 1);
        if self.may_flush() {
            let second = call.now.second;
            self.shared.store.flush(if at == 0 { second } else { at - 1 }, second);
        }
    }
}

fn refuse(refused: &Refused, call: &mut Call<'_>) -> State {
    if !refused.quiet {
        say(call.out, refused.text);
    }
    if refused.swallow > 0 { State::Swallow(refused.swallow) } else { State::Ready }
}
