//! What other threads say on a connection.

use trunkline_net::{Limits, MailboxFull};

use crate::speaker::{World, eventually, options};

#[test]
fn mail_reaches_its_connection_in_order() {
    let world = World::tcp(options(2, Limits::default()));
    let mut clients = [world.client(), world.client(), world.client()];
    clients.iter_mut().for_each(|c| assert_eq!(c.ask("echo 1"), "1\n"));
    let ids = world.seen.ids.lock().expect("lock").clone();
    for n in 0..1000 {
        for (id, _) in &ids {
            world.waker.to_connection(*id, format!("{n}")).expect("room");
        }
    }
    for client in &mut clients {
        for n in 0..1000 {
            assert_eq!(client.line(), format!("mail {n}\n"));
        }
    }
    eventually("counted", || world.server.counts().mails == 3000);
    assert!(world.server.counts().writes < 2000, "{} writes", world.server.counts().writes);
}

#[test]
fn a_connection_that_holds_is_read_after_its_mail() {
    let world = World::tcp(options(1, Limits::default()));
    let mut client = world.client();
    client.say("hold\necho behind\n");
    eventually("accepted", || world.seen.ids.lock().expect("lock").len() == 1);
    eventually("read", || world.server.counts().received_octets >= 17);
    client.say("echo later\n");
    let (id, _) = world.seen.ids.lock().expect("lock")[0];
    world.waker.to_connection(id, "now".to_owned()).expect("room");
    let lines: Vec<String> = (0..3).map(|_| client.line()).collect();
    assert_eq!(lines, ["mail now\n", "behind\n", "later\n"]);
}

#[test]
fn mail_for_a_connection_that_is_gone_comes_back() {
    let world = World::tcp(options(1, Limits::default()));
    let mut client = world.client();
    client.say("close\n");
    assert_eq!(client.line(), "bye\n");
    eventually("closed", || world.server.counts().closed_service == 1);
    let mut next = world.client();
    assert_eq!(next.ask("echo 1"), "1\n");
    let ids = world.seen.ids.lock().expect("lock").clone();
    assert_ne!(ids[0].0, ids[1].0);
    world.waker.to_connection(ids[0].0, "late".to_owned()).expect("room");
    eventually("back", || *world.seen.undelivered.lock().expect("lock") == ["late"]);
    assert_eq!(next.ask("echo 2"), "2\n");
}

#[test]
fn a_full_mailbox_gives_mail_back_and_loses_none_that_it_took() {
    let world = World::tcp(options(1, Limits { mails: 10, ..Limits::default() }));
    let mut client = world.client();
    assert_eq!(client.ask("echo 1"), "1\n");
    let (id, _) = world.seen.ids.lock().expect("lock")[0];
    let (mut taken, mut refused) = (Vec::new(), 0);
    for n in 0..200_000 {
        match world.waker.to_connection(id, n.to_string()) {
            Ok(()) => taken.push(n),
            Err(MailboxFull(mail)) => {
                assert_eq!(mail, n.to_string());
                refused += 1;
            }
        }
        if refused > 100 && taken.len() > 100 {
            break;
        }
    }
    for n in &taken {
        assert_eq!(client.line(), format!("mail {n}\n"));
    }
    assert!(refused > 0);
    assert_eq!(world.server.counts().mails_overflow, refused);
    assert!(world.waker.to_thread(1, String::new()).is_err());
}
