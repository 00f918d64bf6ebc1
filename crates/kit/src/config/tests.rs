//! The machinery on a small configuration.

use super::{
    Changes, Configuration, Loaded, Mistake, Objection, Octets, Share, Sources, apply, changes, example, markdown, read,
};
use proptest::prelude::*;
use std::path::PathBuf;
use std::time::Duration;

crate::choices! {
    /// How much is said.
    enum Level {
        /// Little.
        Info = "info",
        /// Much.
        Debug = "debug",
    }
}

crate::section! {
    /// Where packets come from.
    ///
    /// Another paragraph.
    struct Capture {
        /// Interfaces.
        interfaces: Vec<String> = Vec::new() => Restart;
        /// How many lanes.
        lanes: u16 = 0 => Restart, 0 => 64;
        /// The ring of
        /// each lane.
        ring: Octets = Octets::mib(128) => Restart, Octets::mib(1) => Octets::gib(8);
        /// How long a block waits.
        block_timeout: Duration = Duration::from_millis(50) => Restart;
        /// Whether others' packets are seen.
        promiscuous: bool = true => Restart;
    }
}

crate::section! {
    /// A class.
    struct Class {
        /// How long it is kept.
        keep_age: Option<Duration> = None => Running;
        /// How much of it.
        keep: Share = Share::Percent(80.0) => Running;
        /// Where.
        folder: Option<PathBuf> = None => Restart;
        /// How much is said.
        level: Level = Level::Info => Running;
    }
}

crate::configuration! {
    /// All.
    struct Settings {
        /// Capture.
        capture: Capture = "capture",
        /// SIP.
        sip: Class = "record.sip",
        /// RTP.
        rtp: Class = "record.rtp",
    }
}

fn load(text: &str) -> Result<Loaded<Settings>, Vec<String>> {
    let sources = Sources { file: Some(("t.toml", text)), ..Sources::default() };
    read(&sources, |_| Vec::new()).map_err(|mistakes| mistakes.iter().map(Mistake::to_string).collect())
}

fn mistakes(text: &str) -> Vec<String> {
    load(text).unwrap_err()
}

#[test]
fn reads_values_with_their_units() {
    let text = "[capture]\ninterfaces = [\"eth1\", \"eth2\"]\nring = \"64 MiB\"\nblock-timeout = \"10 ms\"\n\
        [record.sip]\nkeep-age = \"30 days\"\nkeep = \"10 GiB\"\nlevel = \"debug\"\n[record]\nrtp.folder = \"/slow\"\n";
    let settings = load(text).unwrap().settings;
    assert_eq!(settings.capture.interfaces, ["eth1", "eth2"]);
    assert_eq!((settings.capture.ring, settings.capture.block_timeout), (Octets::mib(64), Duration::from_millis(10)));
    assert_eq!(settings.sip.keep_age, Some(Duration::from_secs(30 * 86_400)));
    assert_eq!((settings.sip.keep, settings.sip.level), (Share::Octets(Octets::gib(10)), Level::Debug));
    assert_eq!(settings.rtp.folder, Some(PathBuf::from("/slow")));
    assert_eq!(settings.rtp.keep, Share::Percent(80.0));
}

#[test]
fn every_mistake_is_told_at_once_with_its_place_and_the_nearest_name() {
    let text = "lanes = 2\n\
        [captuer]\nlanes = 1\n\
        [capture]\nlanes = 65\nrnig = \"1 MiB\"\nring = \"512 KiB\"\npromiscuous = \"yes\"\nkeep = \"1 %\"\n\
        [record.sip]\nkeep-age = \"30 dais\"\nkeep = \"130 %\"\nlevel = \"debg\"\n\
        [record.spi]\n";
    assert_eq!(
        mistakes(text),
        [
            "t.toml:1:1: 'lanes' stands in no section; it belongs to [capture]",
            "t.toml:2:2: unknown section [captuer]; did you mean 'capture'?",
            "t.toml:5:9: lanes: 65 is out of range: 0 to 64",
            "t.toml:6:1: unknown key 'rnig' in [capture]; did you mean 'ring'?",
            "t.toml:7:8: ring: \"512 KiB\" is out of range: \"1 MiB\" to \"8 GiB\"",
            "t.toml:8:15: promiscuous: expected true or false, not \"yes\"",
            "t.toml:9:1: unknown key 'keep' in [capture]; it belongs to [record.sip]",
            "t.toml:11:12: keep-age: unknown unit 'dais' in \"30 dais\"; did you mean 'days'?",
            "t.toml:12:8: keep: \"130 %\" is not a share from \"0 %\" to \"100 %\"",
            "t.toml:13:9: level: unknown word \"debg\"; did you mean 'debug'?",
            "t.toml:14:9: unknown section [record.spi]; did you mean 'record.sip'?",
        ]
    );
}

#[test]
fn broken_syntax_is_told_with_the_rest() {
    let text = "[capture]\nring = 64 MiB\nlanes = 1\nlanes = 2\ninterfaces = [\"a\", 1]\n[[record.sip]]\nkeep = 5\n\
        [record.rtp\n";
    let all = mistakes(text).join("\n");
    assert!(all.contains("t.toml:2:8: ") && all.contains("stands in quotes: \"64 MiB\""), "{all}");
    assert!(all.contains("t.toml:4:1: 'lanes' is given a second time"), "{all}");
    assert!(all.contains("t.toml:5:14: interfaces: expected a text, not the number 1"), "{all}");
    assert!(all.contains("t.toml:8:"), "{all}");
    assert_eq!(all.matches("t.toml:2:").count(), 1, "{all}");
}

#[test]
fn columns_are_characters() {
    assert_eq!(
        mistakes("capture = { lanes = \"ü\", rnig = 1 }")[0],
        "t.toml:1:21: lanes: expected a whole number, not \"ü\""
    );
    assert!(mistakes("capture = { lanes = \"ü\", rnig = 1 }")[1].starts_with("t.toml:1:26: unknown key"));
}

#[test]
fn the_environment_wins_over_the_file_and_the_command_line_over_both() {
    let environment: Vec<(String, String)> = [
        ("TRUNKLINE_CAPTURE__LANES", "3"),
        ("TRUNKLINE_CAPTURE__BLOCK_TIMEOUT", "20 ms"),
        ("TRUNKLINE_CAPTURE__INTERFACES", "eth1, eth2"),
        ("TRUNKLINE_RECORD__SIP__LEVEL", "debug"),
        ("TRUNKLINE_PAGER", "less"),
        ("OTHER__LANES", "9"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    let sources = Sources {
        file: Some(("t.toml", "[capture]\nlanes = 2\nring = \"2 MiB\"\n")),
        environment: &environment,
        prefix: "TRUNKLINE_",
        options: &[("capture", "interfaces", "eth9".to_owned(), "--interface")],
    };
    let loaded = read::<Settings>(&sources, |_| Vec::new()).unwrap();
    assert_eq!(loaded.settings.capture.interfaces, ["eth9"]);
    assert_eq!((loaded.settings.capture.lanes, loaded.settings.sip.level), (3, Level::Debug));
    assert_eq!(loaded.settings.capture.block_timeout, Duration::from_millis(20));
    let from = |key: &str| loaded.effective().into_iter().find(|e| e.key == key).unwrap().origin.map(|o| o.to_string());
    assert_eq!(from("capture.interfaces").as_deref(), Some("--interface"));
    assert_eq!(from("capture.lanes").as_deref(), Some("TRUNKLINE_CAPTURE__LANES"));
    assert_eq!(from("capture.ring").as_deref(), Some("t.toml:3:8"));
    assert_eq!(from("capture.promiscuous"), None);
}

#[test]
fn mistakes_of_the_environment_are_told_too() {
    let environment: Vec<(String, String)> = [
        ("TRUNKLINE_CAPTURE__LANES", "many"),
        ("TRUNKLINE_CAPTURE__LANS", "1"),
        ("TRUNKLINE_RECORD__SPI__LEVEL", "info"),
        ("TRUNKLINE_CAPTURE_BLOCK_TIMEOUT", "1 s"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    let sources = Sources { environment: &environment, prefix: "TRUNKLINE_", ..Sources::default() };
    let told: Vec<String> =
        read::<Settings>(&sources, |_| Vec::new()).unwrap_err().iter().map(Mistake::to_string).collect();
    assert_eq!(
        told,
        [
            "TRUNKLINE_CAPTURE_BLOCK_TIMEOUT: two underscores stand between section and key: \
             TRUNKLINE_CAPTURE__BLOCK_TIMEOUT",
            "TRUNKLINE_CAPTURE__LANES: lanes: expected a whole number from 0 to 65535, not \"many\"",
            "TRUNKLINE_CAPTURE__LANS: unknown key 'lans' in [capture]; did you mean 'lanes'?",
            "TRUNKLINE_RECORD__SPI__LEVEL: unknown section [record.spi]; did you mean 'record.sip'?",
        ]
    );
}

#[test]
fn objections_name_the_place_of_the_value() {
    let check = |settings: &Settings| {
        let what = format!("{} lanes are odd", settings.capture.lanes);
        vec![Objection { section: "capture", key: "lanes", what }]
    };
    let sources = Sources { file: Some(("t.toml", "[capture]\nlanes = 3")), ..Sources::default() };
    assert_eq!(read(&sources, check).unwrap_err()[0].to_string(), "t.toml:2:9: 3 lanes are odd");
    assert_eq!(read(&Sources::default(), check).unwrap_err()[0].to_string(), "capture.lanes: 0 lanes are odd");
}

#[test]
fn the_example_is_the_defaults_once_its_keys_are_no_comments() {
    let text = example::<Settings>();
    assert_eq!(load(&text).unwrap().settings, Settings::default());
    let uncommented: Vec<&str> =
        text.lines().map(|l| l.strip_prefix('#').filter(|l| !l.starts_with(' ')).unwrap_or(l)).collect();
    let loaded = load(&uncommented.join("\n")).unwrap();
    assert_eq!(loaded.settings, Settings::default());
    assert!(loaded.effective().iter().all(|e| e.origin.is_some()));
    assert!(text.contains("# The ring of each lane.\n# A size such as \"128 MiB\"; \"1 MiB\" to \"8 GiB\"."), "{text}");
    assert!(text.starts_with("# Where packets come from.\n#\n# Another paragraph.\n[capture]\n"), "{text}");
    assert!(markdown::<Settings>().contains("| `lanes` | `0` | How many lanes. A whole number; 0 to 64."));
}

#[test]
fn changes_are_sorted_by_when_they_take_effect() {
    let old = Settings::default();
    let new = load("[capture]\nlanes = 2\n[record.rtp]\nkeep-age = \"1 day\"\n").unwrap().settings;
    let changes: Changes = changes(&old, &new);
    assert_eq!(changes.restart.len(), 1);
    assert_eq!((changes.restart[0].key.as_str(), changes.restart[0].to.as_str()), ("capture.lanes", "2"));
    assert_eq!(
        (changes.running[0].key.as_str(), changes.running[0].from.as_str()),
        ("record.rtp.keep-age", "\"none\"")
    );
    let mut running = old.clone();
    apply(&mut running, &new);
    assert_eq!((running.rtp.keep_age, running.capture.lanes), (new.rtp.keep_age, 0));
}

#[test]
fn a_file_that_is_too_long_is_not_read() {
    let all = mistakes(&"#".repeat(super::FILE_OCTETS_MAX + 1));
    assert!(all[0].contains("longer"), "{all:?}");
    let many: String = (0..500).map(|i| format!("[x{i}]\n")).collect();
    assert_eq!(mistakes(&many).len(), super::MISTAKES_MAX);
}

#[test]
fn a_large_file_of_mistakes_takes_no_longer_than_another() {
    for text in ["[x]\n", "=\n", "a=[", "a.", "x={a=", "[[x]]\n", "a=1 ", "é"] {
        assert!(!mistakes(&text.repeat(super::FILE_OCTETS_MAX / text.len())).is_empty(), "{text}");
    }
    let sections: String = (0..80_000).map(|i| format!("[x{i}]\n")).collect();
    assert_eq!(mistakes(&sections).len(), super::MISTAKES_MAX);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}", mess in "[\\[\\]a-z.=\"0-9\n{},'# -]{0,200}") {
        let _ = load(&text);
        let _ = load(&mess);
        let _ = load(&format!("[capture]\n{mess}"));
    }

    #[test]
    fn what_is_written_is_read(lanes in 0u16..=64, ring in 1u64..=8192, name in "\\PC{0,20}", ms in 0u64..100_000_000) {
        let mut settings = Settings::default();
        settings.capture.lanes = lanes;
        settings.capture.ring = Octets::mib(ring);
        settings.capture.interfaces = vec![name];
        settings.capture.block_timeout = Duration::from_millis(ms);
        let keys = |(name, section): (&'static str, &dyn super::Section)| {
            let keys: Vec<String> =
                section.keys().iter().map(|k| format!("{} = {}\n", k.name, section.text(&k.name).unwrap())).collect();
            format!("[{name}]\n{}", keys.concat())
        };
        let text: String = settings.sections().into_iter().map(keys).collect();
        prop_assert_eq!(load(&text).unwrap().settings, settings);
    }
}
