//! Leases of the meta protocol, as "Scaling Memcache at Facebook" (Nishtala et al., NSDI 2013, 3.2.1) uses them:
//! docs/manual/cache.md has the same commands. Each script is played to memcached, too, with the same answers.

use crate::memcached::directed::both;
use crate::memcached::ours::Ours;
use trunkline_cache::protocol::Now;
use trunkline_cache::service::{Next, Settings};

/// Of a hundred clients that miss at once, one is told to make the value; the others are told that somebody does.
#[test]
fn of_a_herd_one_wins() {
    let mut ours = Ours::new();
    let now = ours.now();
    let mut clients: Vec<_> = (0..100).map(|name| ours.service.accepted(name)).collect();
    let mut ask = |client: usize, text: &str, now: Now| {
        let mut out = Vec::new();
        let taken = ours.service.octets(&mut clients[client], text.as_bytes(), &mut out, now);
        assert_eq!((taken.octets, taken.next), (text.len(), Next::More));
        String::from_utf8(out).unwrap()
    };
    let told: Vec<_> = (0..100).map(|client| ask(client, "mg herd s v N30 t\r\n", now)).collect();
    assert_eq!(told[0], "VA 0 s0 t30 W\r\n\r\n");
    assert!(told[1..].iter().all(|line| line == "VA 0 s0 t30 Z\r\n\r\n"), "{told:?}");
    assert_eq!(ask(0, "ms herd 5 T100\r\nfresh\r\n", now), "HD\r\n");
    assert!((0..100).all(|client| ask(client, "mg herd s v N30 t\r\n", now) == "VA 5 s5 t100\r\nfresh\r\n"));
    // Who won and never came back holds up nobody for longer than N says.
    assert_eq!(ask(1, "mg lost v N30\r\n", now), "VA 0 W\r\n\r\n");
    let later = Now { second: now.second + 31, ..now };
    assert_eq!(ask(2, "mg lost v N30\r\n", later), "VA 0 W\r\n\r\n");
}

#[test]
fn a_herd_is_told_the_same_by_memcached() {
    let herd = "mg herd s v N30 t\r\n".repeat(100);
    both(Settings::default(), &[], &[herd.as_bytes(), b"ms herd 5 T100\r\nfresh\r\n", herd.as_bytes()]);
}

/// Who makes a value from what was read before a delete does not store it: its token is of another item.
#[test]
fn a_stale_set_is_refused_after_a_delete() {
    both(
        Settings::default(),
        &[],
        &[
            // The lease: a place holder, and its number as the token.
            b"mg k s c v N30\r\n",
            b"md k\r\nms k 5 C@LAST-NUMBER-TOLD-@@ T100\r\nstale\r\nmg k v\r\n",
            // Somebody else has the next lease before the first one comes.
            b"mg k s c v N30\r\n",
            b"ms k 5 C@NUMBER-TOLD-BEFORE@ T100\r\nstale\r\nmg k v\r\n",
            b"mg k c\r\n",
            b"ms k 5 C@LAST-NUMBER-TOLD-@@ T100\r\nfresh\r\nmg k v t\r\n",
        ],
    );
}

/// After an invalidation the old value is served while one client makes the new one; what was made before it comes
/// late, is taken, and stays stale.
#[test]
fn stale_values_are_served_while_one_makes_them_anew() {
    both(
        Settings::default(),
        &[],
        &[
            b"ms k 3 T300 c\r\nold\r\n",
            b"md k I T30\r\n",
            b"mg k v c s t\r\n",
            b"mg k v s t\r\nmg k v s t\r\n",
            b"ms k 3 C@LAST-NUMBER-TOLD-@@ T300\r\nnew\r\nmg k v s t\r\n",
            // Two invalidations, and a value that was made between them.
            b"md k I T30\r\nmg k v c\r\n",
            b"md k I T30\r\nmg k c v\r\n",
            b"ms k 4 I C@NUMBER-TOLD-BEFORE@ T300\r\nlate\r\nmg k v t\r\nmg k v\r\n",
            b"ms k 4 C@NUMBER-TOLD-BEFORE@ T300\r\nlate\r\n",
        ],
    );
}

/// Near the end of its life a value is served to all, and one of them makes it anew (early recache).
#[test]
fn a_value_is_made_anew_before_it_ends() {
    both(
        Settings::default(),
        &[],
        &[
            b"ms r 3 T20\r\nold\r\n",
            b"mg r v R10 t\r\nmg r v R30 t\r\nmg r v R30 t\r\nmg r v t\r\n",
            b"ms r 3 T90\r\nnew\r\nmg r v R30 t\r\n",
        ],
    );
}
