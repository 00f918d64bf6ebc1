//! Pools that are more than a ring of servers.

use std::time::Instant;

use trunkline_cache::route::HOLD_OFF;

use crate::route::world::{Cache, Proxy, eventually};

#[test]
fn prefixes_name_pools() {
    let caches = [Cache::start(), Cache::start()];
    let text = "[route]\ndefault = \"main\"\n[pool.main]\nservers = [\"@0\"]\n[pool.users]\nservers = [\"@1\"]\n\
                [prefix]\n\"user:\" = \"users\"\n";
    let proxy = Proxy::start(text, &[caches[0].address, caches[1].address]);
    assert_eq!(proxy.client().ask("set user:1 0 0 1\nu\nset other 0 0 1\no"), "STORED\nSTORED");
    assert_eq!(caches[0].client().ask("get user:1 other"), "VALUE other 0 1\no\nEND");
    assert_eq!(caches[1].client().ask("get user:1 other"), "VALUE user:1 0 1\nu\nEND");
}

#[test]
fn replicas_all_have_what_is_written_and_one_is_enough_to_read() {
    let mut caches: Vec<Option<Cache>> = (0..3).map(|_| Some(Cache::start())).collect();
    let addresses: Vec<_> = caches.iter().flatten().map(|cache| cache.address).collect();
    let text = "[route]\nfailures = 1\n[pool.copies]\nservers = [\"@0\", \"@1\", \"@2\"]\npolicy = \"replicated\"\n\
                miss-next = true\n";
    let proxy = Proxy::start(text, &addresses);
    let mut client = proxy.client();
    assert_eq!(client.ask("set k 0 0 1\n1\nset gone 0 0 1\n1\ndelete gone"), "STORED\nSTORED\nDELETED");
    for cache in caches.iter().flatten() {
        assert_eq!(cache.client().ask("get k gone"), "VALUE k 0 1\n1\nEND");
    }
    // A number is that of the first; the others forget.
    let told = client.ask("gets k");
    let number = told.lines().next().and_then(|line| line.rsplit(' ').next()).unwrap().to_owned();
    assert_eq!(client.ask(&format!("cas k 0 0 1 {number}\n2")), "STORED");
    let second = caches[1].as_ref().unwrap();
    eventually("forgotten", || second.client().ask("get k") == "END");
    // A read that misses asks the next.
    assert_eq!(second.client().ask("set only 0 0 1\n5"), "STORED");
    assert_eq!(client.ask("get only"), "VALUE only 0 1\n5\nEND");
    assert_eq!(client.ask("set k 0 0 1\n3"), "STORED");
    caches[0] = None;
    eventually("the second answers", || client.ask("get k") == "VALUE k 0 1\n3\nEND");
    assert_eq!(client.ask("set k 0 0 1\n4\nget k"), "STORED\nVALUE k 0 1\n4\nEND");
    eventually("counted", || proxy.job.figures().counts.copies_missed > 0);
}

#[test]
fn a_lease_is_won_at_one_replica_alone() {
    let caches = [Cache::start(), Cache::start()];
    let text = "[pool.copies]\nservers = [\"@0\", \"@1\"]\npolicy = \"replicated\"\nmiss-next = true\n";
    let proxy = Proxy::start(text, &[caches[0].address, caches[1].address]);
    assert_eq!(proxy.client().ask("mg k v N30 t"), "VA 0 t30 W");
    assert_eq!(proxy.client().ask("mg k v N30"), "VA 0 Z");
    assert_eq!(caches[1].client().ask("mg k v"), "EN");
}

#[test]
fn a_gutter_stands_in_for_a_server_that_is_gone() {
    let (main, spare) = (Cache::start(), Cache::start());
    let address = main.address;
    let text = "[route]\ndefault = \"main\"\nfailures = 1\nretry = \"50 ms\"\nretry-max = \"50 ms\"\n\
                [pool.main]\nservers = [\"@0\"]\ngutter = \"spare\"\ngutter-ttl = \"7 s\"\n\
                [pool.spare]\nservers = [\"@1\"]\n";
    let proxy = Proxy::start(text, &[address, spare.address]);
    let mut client = proxy.client();
    assert_eq!(client.ask("set k 0 0 1\n1"), "STORED");
    drop(main);
    eventually("it is gone", || client.ask("get k") == "END");
    assert_eq!(client.ask("set k 9 5000 1\n2\nms m 1 T0\n3\nget k"), "STORED\nHD\nVALUE k 9 1\n2\nEND");
    for key in ["k", "m"] {
        let told = client.ask(&format!("mg {key} t"));
        let left: u32 = told.strip_prefix("HD t").and_then(|left| left.parse().ok()).expect(&told);
        assert!((1..=7).contains(&left), "{told}");
    }
    eventually("counted", || proxy.job.figures().counts.gutter >= 5);
    // It is back, empty.
    let back = Cache::at(address);
    let stored = "VALUE k 0 1\n4\nEND";
    eventually("asked again", || client.ask("set k 0 0 1\n4") == "STORED" && back.client().ask("get k") == stored);
}

const WARM: &str = "[route]\ndefault = \"cold\"\n[pool.cold]\nservers = [\"@0\"]\nwarm = \"old\"\n\
                    [pool.old]\nservers = [\"@1\"]\n";

#[test]
fn a_cold_pool_is_warmed_by_what_it_is_asked_for() {
    let (cold, warm) = (Cache::start(), Cache::start());
    let proxy = Proxy::start(WARM, &[cold.address, warm.address]);
    let mut client = proxy.client();
    assert_eq!(warm.client().ask("set k 7 100 2\nhi\nset for-ever 0 0 1\nx"), "STORED\nSTORED");
    assert_eq!(client.ask("get k none for-ever"), "VALUE k 7 2\nhi\nVALUE for-ever 0 1\nx\nEND");
    let told = cold.client().ask("mg k t f v");
    let left: u32 = told.split(' ').nth(2).and_then(|word| word[1..].parse().ok()).expect(&told);
    assert!((90..=100).contains(&left) && told.ends_with("f7\nhi"), "{told}");
    assert_eq!(cold.client().ask("mg for-ever t"), "HD t-1");
    eventually("counted", || proxy.job.figures().counts.warmed == 2);
    // Now it has it itself.
    assert_eq!(warm.client().ask("delete k"), "DELETED");
    assert_eq!(client.ask("get k"), "VALUE k 7 2\nhi\nEND");
    assert_eq!(client.ask("mg none v k\ngets none"), "EN knone\nEND");
}

#[test]
fn what_was_deleted_is_not_brought_back_for_a_while() {
    let (cold, warm) = (Cache::start(), Cache::start());
    let proxy = Proxy::start(WARM, &[cold.address, warm.address]);
    let mut client = proxy.client();
    assert_eq!(warm.client().ask("set k 0 0 3\nold"), "STORED");
    let before = Instant::now();
    assert_eq!(client.ask("delete k"), "NOT_FOUND");
    // The warm one forgets, too; and should somebody have stored it there meanwhile, it is held off.
    eventually("forgotten", || warm.client().ask("get k") == "END");
    assert_eq!(warm.client().ask("set k 0 0 3\nold"), "STORED");
    let (told, warmed) = (proxy.client().ask("get k"), proxy.job.figures().counts.warmed);
    // Two seconds later it comes; a machine that stood still for so long has nothing to show.
    assert!((told.as_str(), warmed) == ("END", 0) || before.elapsed() >= HOLD_OFF, "{told}, {warmed}");
    eventually("brought", || client.ask("get k") == "VALUE k 0 3\nold\nEND");
    // What is set in the cold pool is not old any more, whatever the warm one had.
    assert_eq!(client.ask("set k 0 0 3\nnew"), "STORED");
    eventually("forgotten again", || warm.client().ask("get k") == "END");
}
