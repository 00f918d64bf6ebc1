//! Mailbox and gate under loom: the code itself, in every order in which threads can meet. `cargo xtask loom` runs it.
//!
//! A wake-up that is lost shows as a deadlock, which loom finds.
//!
//! That each model can fail is tried by `cargo xtask loom --breaks`, with the breaks of `models/breaks.toml`: a fence
//! left out on either side of the gate, a look or a bell left out, steps in another order.

use crate::sync::Mutex;
use loom::sync::Condvar;
use std::sync::PoisonError;

/// The events of a bell as the waiting thread has them from the kernel: any number of rings is one event.
#[derive(Debug, Default)]
pub(crate) struct Ears {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Ears {
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.heard.notify_one();
    }

    /// Waits until it was rung since the last time.
    #[cfg(test)]
    fn hear(&self) {
        let mut rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        while !*rung {
            rung = self.heard.wait(rung).unwrap_or_else(PoisonError::into_inner);
        }
        *rung = false;
    }
}

#[cfg(test)]
mod tests {
    use crate::bell::Bell;
    use crate::gate::Gate;
    use crate::mailbox::{Mailbox, Waker};
    use crate::options::Limits;
    use loom::thread;
    use std::sync::Arc;

    fn bell() -> Arc<Bell> {
        Arc::new(Bell::new().expect("eventfd"))
    }

    /// Takes so many mails as a serving thread does: a few in a turn, another turn if there are more, then it waits.
    fn take(mailbox: &Mailbox<u8>, bell: &Bell, count: usize) -> Vec<u8> {
        let mut mails = Vec::new();
        while mails.len() < count {
            bell.ears.hear();
            while mailbox.take_mails(1, &mut mails) {}
        }
        mails.into_iter().map(|(_, mail)| mail).collect()
    }

    #[test]
    fn no_mail_stays_behind() {
        loom::model(|| {
            let bell = bell();
            let waker = Waker::new(Arc::from([Mailbox::new(Arc::clone(&bell), 9)]));
            let senders: Vec<_> = [[1, 2], [3, 4]]
                .into_iter()
                .map(|mails| {
                    let waker = waker.clone();
                    thread::spawn(move || mails.into_iter().for_each(|mail| waker.to_thread(0, mail).expect("room")))
                })
                .collect();
            let mails = take(waker.mailbox(0), &bell, 4);
            senders.into_iter().for_each(|sender| sender.join().expect("sent"));
            let of = |sender: [u8; 2]| mails.iter().copied().filter(|mail| sender.contains(mail)).collect::<Vec<_>>();
            assert!(of([1, 2]) == [1, 2] && of([3, 4]) == [3, 4], "not in the order of their sender: {mails:?}");
        });
    }

    #[test]
    fn who_waits_for_room_is_woken() {
        loom::model(|| {
            let bells = vec![bell(), bell()];
            let limits = Limits { connections: 1, ..Limits::default() };
            let gate = Arc::new(Gate::new(&limits, bells.clone()));
            let permit = gate.enter(0).expect("the first one");
            let leaver = thread::spawn(move || drop(permit));
            while gate.enter(1).is_none() {
                if !gate.wait() {
                    bells[1].ears.hear();
                }
            }
            leaver.join().expect("left");
            assert_eq!(gate.open(), 0);
        });
    }

    #[test]
    fn there_are_never_more_than_may_be() {
        loom::model(|| {
            let limits = Limits { connections: 1, ..Limits::default() };
            let gate = Arc::new(Gate::new(&limits, vec![bell(), bell()]));
            let other = Arc::clone(&gate);
            let entering = thread::spawn(move || other.enter(0));
            let mine = gate.enter(1);
            let theirs = entering.join().expect("tried");
            assert!(mine.is_some() != theirs.is_some(), "one place, and one that has it");
            drop((mine, theirs));
            assert_eq!(gate.open(), 0);
        });
    }
}
