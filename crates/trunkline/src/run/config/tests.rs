//! The sections: their defaults, their limits, and the files that are made from them.

use super::check::check;
use super::{Classes, FailureHandling, Ip, Listen, Microburst, Settings, Snap, commented};
use std::path::{Path, PathBuf};
use trunkline_kit::config::{Configuration, Loaded, Mistake, Sources, Value, markdown, read};

fn load(text: &str) -> Result<Loaded<Settings>, Vec<String>> {
    let sources = Sources { file: Some(("t.toml", text)), ..Sources::default() };
    read(&sources, check).map_err(|mistakes| mistakes.iter().map(Mistake::to_string).collect())
}

/// The text of a file of the repository, written anew first where the environment asks for it.
fn file(path: &str, fresh: impl Fn(&str) -> String) -> (String, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    let new = fresh(&old);
    if std::env::var_os("TRUNKLINE_TEST_WRITE").is_some() {
        std::fs::write(&path, &new).unwrap();
    }
    (std::fs::read_to_string(&path).unwrap_or_default(), new)
}

#[test]
fn the_example_is_made_from_the_sections() {
    let (is, should) = file("config/trunkline.toml", |_| commented());
    assert!(is == should, "config/trunkline.toml is old: trunkline config example > config/trunkline.toml");
    assert_eq!(load(&is).unwrap().settings, Settings::default());
    let keys = |line: &str| line.strip_prefix('#').filter(|key| !key.starts_with([' ', '\n'])).map(str::to_owned);
    let set: Vec<String> = is.lines().map(|line| keys(line).unwrap_or_else(|| line.to_owned())).collect();
    assert_eq!(load(&set.join("\n")).unwrap().settings, Settings::default());
}

#[test]
fn the_manual_is_made_from_the_sections() {
    const MARK: &str = "<!-- from here: trunkline config example --markdown -->\n";
    let fresh = |old: &str| {
        let head = old.split(MARK).next().unwrap_or_default();
        format!("{head}{MARK}\n{}", markdown::<Settings>())
    };
    let (is, should) = file("docs/manual/configuration.md", fresh);
    assert!(is == should, "docs/manual/configuration.md is old: run this test with TRUNKLINE_TEST_WRITE=1");
}

#[test]
fn defaults_are_right_and_within_their_limits() {
    assert_eq!(check(&Settings::default()), []);
    let settings = Settings::default();
    for (name, section) in settings.sections() {
        for key in section.keys() {
            assert!(!key.help.is_empty() && key.help.ends_with('.'), "{name}.{}: {}", key.name, key.help);
        }
    }
}

#[test]
fn types_of_its_own_are_read() {
    let text = "[record.sip]\nsnap = \"whole\"\n[record.rtp]\nsnap = \"headers\"\n[record.other]\nsnap = \"128 B\"\n\
        [metrics]\nlisten = \"unix:/run/trunkline/metrics\"\n[record]\nclasses = [\"sip\"]\n";
    let settings = load(text).unwrap().settings;
    let snaps = [settings.record_sip.snap, settings.record_rtp.snap, settings.record_other.snap];
    assert_eq!(snaps, [Snap::Whole, Snap::Headers, Snap::Octets(128)]);
    assert_eq!(settings.metrics.listen, Some(Listen::Unix(PathBuf::from("/run/trunkline/metrics"))));
    assert_eq!(settings.record.classes, [Classes::Sip]);
    for (text, rate) in [
        ("70 %", Microburst::Percent(70.0)),
        ("1.5 Gbit/s", Microburst::BitsPerSecond(1_500_000_000)),
        ("800 kbit/s", Microburst::BitsPerSecond(800_000)),
    ] {
        let settings = load(&format!("capture.microburst = \"{text}\"")).unwrap().settings;
        assert_eq!(settings.capture.microburst, Some(rate));
        let again = load(&format!("capture.microburst = {}", rate.text())).unwrap().settings;
        assert_eq!(again.capture.microburst, Some(rate));
    }
    for text in ["0 %", "101 %", "fast", "7", "1 MB", "99999999 Gbit/s"] {
        assert!(load(&format!("capture.microburst = \"{text}\"")).is_err(), "{text}");
    }
    let settings = load("metrics.listen = \"[::1]:9\"").unwrap().settings;
    assert_eq!(settings.metrics.listen, Some(Listen::Tcp("[::1]:9".parse().unwrap())));
}

#[test]
fn what_is_wrong_is_told_all_at_once() {
    let long = "x".repeat(108);
    let text = format!(
        "[capture]\ninterfaces = [\"eth1\", \"eth1\", \"a/b\"]\nuser = \"no body\"\n\
        [record]\nclasses = []\nflush = \"2 s\"\nsegment-time = \"1 s\"\nvolumes = [\"/a\", \"/a\"]\n\
        slow-tier = \"./trunkline-data\"\nexec = \"gzip\"\n[record.sip]\nsnap = \"12 B\"\n\
        [metrics]\nlisten = \"unix:{long}\"\n[calls]\nenabled = false\n"
    );
    let told = load(&text).unwrap_err().join("\n");
    for part in [
        "t.toml:2:14: 'eth1' is named twice",
        "t.toml:2:14: 'a/b' is no name",
        "t.toml:3:8: 'no body' is no name of a user",
        "t.toml:5:11: no class is left",
        "t.toml:6:9: is longer than segment-time",
        "t.toml:8:11: '/a' is used already",
        "t.toml:9:13: './trunkline-data' is used already",
        "t.toml:10:8: the program needs its whole path",
        "t.toml:12:8: snap: \"12 B\" is out of range",
        "t.toml:14:10: listen: the path of a socket has at most 107 octets, this one 108",
    ] {
        assert!(told.contains(part), "no '{part}' in\n{told}");
    }
    let told = load("[calls]\nenabled = false\n[record]\nenabled = false\n").unwrap_err();
    assert_eq!(told, ["t.toml:2:11: neither calls nor record is enabled: there would be nothing to do"]);
}

#[test]
fn how_browsers_reach_the_web_is_a_scheme_and_a_host() {
    for (text, url) in [
        ("https://voice.example.org", "https://voice.example.org"),
        ("https://Voice.example.org:8443/", "https://voice.example.org:8443"),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
        ("http://localhost:9000", "http://localhost:9000"),
        ("https://voice.example.org:443", "https://voice.example.org"),
        ("http://[::1]:80/", "http://[::1]"),
    ] {
        let settings = load(&format!("web.public-url = \"{text}\"")).unwrap().settings;
        assert_eq!(settings.web.public_url.map(|url| url.0), Some(url.to_owned()));
    }
    for text in [
        "voice.example.org",
        "http://voice.example.org",
        "http://localhost.evil.example",
        "https://",
        "https://:8443",
        "https://voice.example.org/trunkline",
        "https://user@voice.example.org",
        "https://voice.example.org?x",
        "ftp://voice.example.org",
        "https://voice.example.org:x",
        "https://voice.example.org:99999",
        "https://voice.example.org:0",
        "https://voice.example.org:",
        "https://[",
        "https://[::1]x",
    ] {
        let told = load(&format!("web.public-url = \"{text}\"")).unwrap_err().join("\n");
        assert!(told.contains("expected a scheme and a host such as"), "{text}: {told}");
    }
}

#[test]
fn an_identity_provider_is_whole_or_none() {
    let whole = "[web.oidc]\nissuer = \"https://login.example\"\nclient-id = \"x\"\nroles = [\"noc=support\"]\n";
    let oidc = load(whole).unwrap().settings.web_oidc;
    assert_eq!((oidc.roles[0].group.as_str(), oidc.roles[0].role), ("noc", super::Role::Support));
    for (more, part) in [
        ("label = \" \"", "nothing would stand on the button"),
        ("scopes = [\"a b\"]", "a scope is a word"),
        ("scopes = [\"\"]", "a scope is a word"),
    ] {
        let told = load(&format!("{whole}{more}\n")).unwrap_err().join("\n");
        assert!(told.contains(part), "{told}");
    }
    let told = load("[web.oidc]\nissuer = \"http://login.example\"\n").unwrap_err().join("\n");
    assert!(told.contains("needs client-id") && told.contains("does not begin with https://"), "{told}");
}

#[test]
fn a_cache_listens_where_it_is_said() {
    let text = "[cache]\nlisten = [\"127.0.0.1:11211\", \"udp:[::1]:11211\", \"unix:/run/c.sock\"]\nunix-mode = \"770\"\n\
        memory = \"1 GiB\"\n[web]\ncaches = [\"10.0.0.5\", \"unix:/run/cache.sock\"]\n";
    let settings = load(text).unwrap().settings;
    let doors: Vec<String> = settings.cache.listen.iter().map(ToString::to_string).collect();
    assert_eq!(doors, ["127.0.0.1:11211", "udp:[::1]:11211", "unix:/run/c.sock"]);
    assert_eq!((settings.cache.unix_mode.0, settings.cache.memory.0), (0o770, 1 << 30));
    let caches: Vec<String> = settings.web.caches.iter().map(ToString::to_string).collect();
    assert_eq!(caches, ["10.0.0.5:11211", "unix:/run/cache.sock"]);
    let text = "[cache]\nlisten = [\"tls:0.0.0.0:11212\", \"udp:1.2.3.4:1\", \"udp:1.2.3.4:1\"]\nkey = \"/k\"\n\
        accounts = \"/a\"\nclient-certificates = \"require\"\nmemory = \"1 MiB\"\nitem-size = \"2 MiB\"\n";
    let told = load(text).unwrap_err().join("\n");
    for part in [
        "t.toml:2:10: 'udp:1.2.3.4:1' is named twice",
        "t.toml:2:10: a tls: address needs both certificate and key",
        "t.toml:4:12: nobody can sign in by UDP",
        "t.toml:5:23: goes with client-issuers",
        "t.toml:7:13: is larger than all of the memory",
    ] {
        assert!(told.contains(part), "no '{part}' in\n{told}");
    }
    let told = load("[cache]\ncertificate = \"/c\"\nkey = \"/k\"\n").unwrap_err().join("\n");
    assert!(told.contains("t.toml:2:15: certificate and key are not used"), "{told}");
    for wrong in ["listen = \"11211\"", "listen = \"unix:\"", "listen = \"tcp:1.2.3.4:5\"", "unix-mode = \"1777\""] {
        assert!(load(&format!("[cache]\n{wrong}\n")).unwrap_err()[0].contains("expected"), "{wrong}");
    }
    assert!(load("web.caches = \"a:b\"").unwrap_err()[0].contains("a cache such as"));
}

#[test]
fn charging_needs_a_name_and_doors_that_diameter_has() {
    let text = "[charge]\nlisten = [\"127.0.0.1:3868\", \"tls:[::1]:5868\"]\nhost = \"ocs.example\"\nrealm = \"example\"\n\
        certificate = \"/c\"\nkey = \"/k\"\naddresses = [\"192.0.2.1\"]\nfailure-handling = \"continue\"\n";
    let charge = load(text).unwrap().settings.charge;
    assert_eq!((charge.listen.len(), charge.failure_handling), (2, FailureHandling::Continue));
    assert_eq!(charge.addresses, [Ip("192.0.2.1".parse().unwrap())]);
    let text =
        "[charge]\nlisten = [\"127.0.0.1:3868\", \"127.0.0.1:3868\", \"udp:127.0.0.1:1\", \"tls:127.0.0.1:2\"]\n";
    let told = load(text).unwrap_err().join("\n");
    for part in [
        "'127.0.0.1:3868' is named twice",
        "Diameter goes over TCP or TLS, not over udp:127.0.0.1:1",
        "charging needs a name (Origin-Host)",
        "charging needs a realm (Origin-Realm)",
        "a tls: address needs both certificate and key",
    ] {
        assert!(told.contains(part), "no '{part}' in\n{told}");
    }
    assert!(load("[charge]\ncertificate = \"/c\"\n").unwrap_err()[0].contains("is not used"));
    assert!(load("[charge]\naddresses = [\"ocs\"]\n").unwrap_err()[0].contains("an address such as"));
}

#[test]
fn clients_that_go_on_with_each_others_sessions_are_sets() {
    let text = "[charge]\nfailover = [\"pgw1.example pgw2.example\", \"a b c\"]\nrefund-peers = [\"shop.example\"]\n\
        agents = [\"dra.example\"]\n";
    let charge = load(text).unwrap().settings.charge;
    let sets: Vec<usize> = charge.failover.iter().map(|together| together.0.len()).collect();
    assert_eq!((sets, charge.refund_peers.len(), charge.agents.len()), (vec![2, 3], 1, 1));
    assert_eq!(charge.failover[0].text(), "\"pgw1.example pgw2.example\"");
    let defaults = Settings::default().charge;
    assert!(defaults.failover.is_empty() && defaults.refund_peers.is_empty() && defaults.agents.is_empty());
    let many = (0..65).map(|n| format!("pgw{n}")).collect::<Vec<_>>().join(" ");
    for wrong in ["alone.example", "", &many] {
        let told = load(&format!("[charge]\nfailover = [\"{wrong}\"]\n")).unwrap_err();
        assert!(told.len() == 1 && told[0].contains("the Origin-Hosts of 2 to 64 clients"), "{told:?}");
    }
}

/// Zero for how long or how much is kept has everything leave at once: nobody means that.
#[test]
fn zero_and_contradictions_of_retention_are_refused_with_the_place_and_what_to_write() {
    let told = |text: &str| match load(text) {
        Ok(_) => Vec::new(),
        Err(mistakes) => mistakes,
    };
    let such = "for no limit, or a ";
    for (section, key, value, what) in [
        ("record", "limit", "0 %", "is zero: nothing could be kept; write a share such as \"80 %\""),
        ("record", "limit", "0 B", "is zero: nothing could be kept; write a share such as"),
        ("store", "limit", "0 %", "is zero: nothing could be kept; write a share such as \"15 %\""),
        ("record.sip", "keep-age", "0 s", such),
        ("record.rtp", "keep-age", "0 days", such),
        ("record.rtp", "keep-age", "1 ns", "is less than 1 s: all of it would leave at once"),
        ("alert.history", "keep-age", "999 ms", "is less than 1 s: all of it would leave at once"),
        ("record.other", "keep-size", "0 B", such),
        ("store.calls", "keep-age", "0 s", such),
        ("store.streams", "keep-size", "0 B", such),
        ("store.intervals", "keep-age", "0 s", such),
        ("store.events", "keep-at-least", "0 s", "it would protect nothing; write \"none\""),
        ("store.losses", "keep-age", "0 s", such),
        ("store.charges", "keep-size", "0 MiB", such),
        ("web.audit", "keep-age", "0 s", such),
        ("web.audit", "keep-at-least", "0 s", "it would protect nothing"),
        ("web.captures", "keep-age", "0 s", such),
        ("alert.history", "keep-age", "0 s", such),
        ("cdr", "keep", "0 s", such),
        ("cdr", "cut-volume", "0 B", "write \"none\" for never"),
        ("web", "keep-free", "100 %", "write less, such as \"5 %\""),
        ("store", "limit", "101 %", "is not a share from"),
        ("record", "limit", "-1 %", ""),
        ("store.calls", "keep-age", "-1 days", ""),
        ("record.sip", "keep-size", "-1 GiB", ""),
    ] {
        let found = told(&format!("[{section}]\n{key} = \"{value}\"\n"));
        assert_eq!(found.len(), 1, "{section}.{key} = {value}: {found:?}");
        assert!(found[0].contains(":2:") && found[0].contains(what), "{found:?}");
    }
    for (section, least) in [("store.calls", "8 days"), ("web.audit", "401 days")] {
        let found = told(&format!("[{section}]\nkeep-age = \"7 days\"\nkeep-at-least = \"{least}\"\n"));
        assert!(found.len() == 1 && found[0].contains("is shorter than keep-at-least"), "{found:?}");
    }
    let least = "[record]\nlimit = \"0.1 %\"\n[record.sip]\nkeep-age = \"none\"\n[store.calls]\n\
        keep-age = \"1 s\"\nkeep-at-least = \"1 s\"\nkeep-size = \"1 B\"\n";
    assert_eq!(told(least), Vec::<String>::new());
}
