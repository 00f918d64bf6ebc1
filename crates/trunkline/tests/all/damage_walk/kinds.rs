//! Every kind of file of a data folder. A file that no kind covers fails the test: whoever adds a kind of file adds a
//! line here, and has the walk say what its damage comes to.

use super::damage::{ALL, Damage};

/// What can be done about damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mend {
    /// Nothing has to be done: it is made anew, or is not needed.
    Itself,
    /// A command of trunkline, to which the data folder is added.
    Command(&'static [&'static str]),
    /// The file is removed: what it belongs to makes it anew.
    Remove,
    /// The folder that it lies in is moved away: the job begins anew without what was in it.
    Aside,
    /// A backup alone.
    Backup,
}

impl Mend {
    /// As the table says it.
    pub fn words(self) -> String {
        match self {
            Mend::Itself => "nothing has to be done".to_owned(),
            Mend::Command(words) => format!("`trunkline {}`", words.join(" ")),
            Mend::Remove => "remove the file".to_owned(),
            Mend::Aside => "move its folder away: the job begins anew without what was in it".to_owned(),
            Mend::Backup => "a backup".to_owned(),
        }
    }
}

/// A kind of file.
#[derive(Debug)]
pub struct Kind {
    /// Its name in the table.
    pub name: &'static str,
    /// Its path: `*` stands for a part of a name, `**` for any folders and names.
    pub pattern: &'static str,
    /// It is there for a moment only, and not in the folder of the walk.
    pub brief: bool,
    /// Damages of which it is chance what is seen of them: there are no checksums where they fall.
    pub chance: &'static [Damage],
    /// Damages that the test which runs each time has a run start on.
    pub often: &'static [Damage],
    pub mend: Mend,
    /// What the columns do not say: why it is not checked, why nothing is told, what is lost.
    pub note: &'static str,
}

const fn kind(name: &'static str, pattern: &'static str, mend: Mend, note: &'static str) -> Kind {
    Kind { name, pattern, brief: false, chance: &[], often: &[], mend, note }
}

impl Kind {
    const fn brief(self) -> Kind {
        Kind { brief: true, ..self }
    }

    const fn chance(self, chance: &'static [Damage]) -> Kind {
        Kind { chance, ..self }
    }

    const fn often(self, often: &'static [Damage]) -> Kind {
        Kind { often, ..self }
    }

    /// Whether a file is of this kind, by its path below the folder of the world.
    pub fn covers(&self, path: &str) -> bool {
        is_like(path, self.pattern)
    }
}

const FLIPS: &[Damage] = &[Damage::Middle, Damage::End];

/// Of marks: two sectors that take turns.
const MARK: &str = "one of its two copies is whole: it counts, as after a crash, and nothing is told";

/// Of logs with snapshots.
const SNAPSHOT: &str = "where it is gone, nothing is missing as long as a snapshot has all that was in it";

/// The first kind that covers a path counts.
pub const KINDS: &[Kind] = &[
    kind(
        "packets: segment",
        "*/packets/**.pcapng",
        Mend::Backup,
        "a run reads segments only as far as calls are recovered from them; whoever reads one later is told; \
         where it is gone, its index tells `verify` so",
    ),
    kind("packets: compressed segment", "*/packets/**.pcapng.zst", Mend::Backup, "as above"),
    kind(
        "packets: segment of a crash",
        "*/packets/**.pcapng.part",
        Mend::Itself,
        "a start keeps the whole frames in it; it has no checksums before that",
    ),
    kind(
        "packets: index",
        "*/packets/**.idx",
        Mend::Command(&["packets", "repair"]),
        "segments are read without, slower",
    ),
    kind(
        "packets: note of volumes",
        "data/packets/volumes",
        Mend::Itself,
        "put aside as `volumes.damaged`, folders that it still names stay noted; where it is gone, those that \
         the configuration names are noted again",
    )
    .often(&[Damage::Middle]),
    kind("packets: pins", "data/packets/pins", Mend::Backup, "while it is damaged or gone retention deletes nothing")
        .often(&[Damage::Removed]),
    kind(
        "packets: microbursts",
        "data/packets/bursts/*.jsonl",
        Mend::Itself,
        "text, a line for each burst, without checksums",
    ),
    kind(
        "calls: checkpoint",
        "data/spool/calls.checkpoint",
        Mend::Itself,
        "damaged: the packet log of `calls.recover` is read; gone: as in a new folder, and calls that were up \
         at a kill are lost without a word",
    )
    .often(&[Damage::Empty]),
    kind(
        "rows: time of retention",
        "data/spool/retention.clock",
        Mend::Command(&["store", "prune", "--clock-is-right"]),
        "damaged: nothing leaves because of its age until the clock has gone on for a day, or the command says that it \
         is right; gone: as in a new folder, the clock of the next look is believed",
    )
    .often(&[Damage::Middle]),
    kind(
        "rows: journal",
        "data/spool/rows.journal",
        Mend::Itself,
        "no rows wait in that of the walk; damaged rows in it are counted, told and kept aside (tests of \
         `run::rows`)",
    ),
    kind("store: sums of a day", "data/store/*.sums", Mend::Remove, "the rows are whole: a run has no need of it"),
    kind(
        "store: a day that is over",
        "data/store/2026-0*.sqlite",
        Mend::Backup,
        "a run does not read it; whoever reads it is told, and the other days are read",
    ),
    kind(
        "store: today",
        "data/store/*.sqlite",
        Mend::Backup,
        "no checksums while it is written: a flip in a row is seen by nobody; where SQLite finds it damaged, \
         its rows are refused, counted and told, and the packet log still has them; where it is gone, there \
         is a new one",
    )
    .chance(&ALL)
    .often(&[Damage::Zeros]),
    kind(
        "store: SQLite's log of a day",
        "data/store/*.sqlite-wal",
        Mend::Backup,
        "SQLite takes a log that is damaged or gone for one that a crash cut off: rows of the last commits \
         can be lost without a word",
    )
    .chance(&ALL),
    kind(
        "store: SQLite's shared memory of a day",
        "data/store/*.sqlite-shm",
        Mend::Itself,
        "made anew from SQLite's log",
    )
    .chance(&ALL),
    kind("charging: ledger", "data/charge/ledger/*.log", Mend::Command(&["charge", "repair"]), "")
        .often(&[Damage::Middle]),
    kind("charging: mark of the ledger", "data/charge/ledger/durable", Mend::Itself, MARK),
    kind(
        "charging: log of GTP'",
        "data/charge/gateway/*.log",
        Mend::Aside,
        "in the walk nothing came by GTP': where it is gone, nothing is lost",
    )
    .often(&[Damage::Zeros]),
    kind("charging: mark of GTP'", "data/charge/gateway/durable", Mend::Itself, MARK),
    kind(
        "charging: records, BER",
        "data/charge/cdr/*.ber",
        Mend::Backup,
        "closed files are for others: a run does not read them again; `trunkline charge records` tells; the \
         format has no checksums",
    )
    .chance(FLIPS),
    kind(
        "charging: records, CSV",
        "data/charge/cdr/*.csv",
        Mend::Backup,
        "closed files are for others; text without checksums",
    ),
    kind(
        "charging: records being written",
        "data/charge/cdr/open-*.part",
        Mend::Backup,
        "a start cuts what lies behind the cursor; a flip before that is seen where the file is read",
    )
    .chance(FLIPS),
    kind("charging: rows of records", "data/charge/cdr/*.rows", Mend::Itself, "there until the store has them").brief(),
    kind(
        "store: SQLite's journal of a day",
        "data/store/*.sqlite-journal",
        Mend::Itself,
        "there while `trunkline read` loads a day",
    )
    .brief(),
    kind(
        "charging: checkpoint of records",
        "data/charge/cdr/checkpoint",
        Mend::Itself,
        "open records are made again from the ledger",
    ),
    kind(
        "charging: cursor of records",
        "data/charge/cdr/cursor",
        Mend::Aside,
        "no records are written, the ledger keeps everything: with the files elsewhere all are written again",
    )
    .often(&[Damage::Removed]),
    kind(
        "charging: cursor of received records",
        "data/charge/received/cursor",
        Mend::Remove,
        "only where no records were received, as here, nothing comes twice then",
    )
    .often(&[Damage::Half]),
    kind(
        "graphs: round-robin file",
        "data/graphs/*/*.rrd",
        Mend::Remove,
        "rrdtool's format has no checksums; one that is gone is made anew without a word, and its past is \
         lost",
    ),
    kind("graphs: inventory", "data/graphs/inventory/*.log", Mend::Command(&["repair"]), SNAPSHOT)
        .chance(&[Damage::Removed])
        .often(&[Damage::Middle]),
    kind(
        "graphs: snapshot of the inventory",
        "data/graphs/inventory/*.snapshot",
        Mend::Itself,
        "the log has all that is in it as long as its first segment is there, as here: it is read from there, and \
         the damage told; else graphs stop, and `trunkline repair` gives up what the snapshot stood for",
    ),
    kind("graphs: mark of the inventory", "data/graphs/inventory/durable", Mend::Itself, MARK),
    kind("graphs: journal of samples", "data/graphs/journal/*.log", Mend::Command(&["repair"]), SNAPSHOT)
        .chance(&[Damage::Removed]),
    kind(
        "graphs: snapshot of the journal",
        "data/graphs/journal/*.snapshot",
        Mend::Itself,
        "the log has all that is in it as long as its first segment is there, as here: it is read from there, and \
         the damage told; else graphs stop, and `trunkline repair` gives up what the snapshot stood for",
    ),
    kind("graphs: mark of the journal", "data/graphs/journal/durable", Mend::Itself, MARK),
    kind(
        "graphs: redo file",
        "data/graphs/redo.*",
        Mend::Itself,
        "repeated at a start, for what a crash tore; a damaged last entry looks like an end",
    )
    .chance(&[Damage::Middle, Damage::End, Damage::Half]),
    kind(
        "graphs: templates",
        "data/graphs/templates/*.toml",
        Mend::Backup,
        "of people: what can still be read is not known to be damaged; without a file, what is built in holds",
    ),
    kind("alerts: log", "data/alert/*.log", Mend::Command(&["repair"]), "").often(&[Damage::Half]),
    kind("alerts: mark of the log", "data/alert/durable", Mend::Itself, MARK),
    kind("alerts: rules", "data/alert/rules/*.toml", Mend::Backup, "of people: as templates"),
    kind(
        "web: users",
        "data/web/desk.sqlite",
        Mend::Aside,
        "no checksums, as it is written all the time; where all users are gone, the log says that there is \
         none",
    )
    .chance(FLIPS)
    .often(&[Damage::Half]),
    kind("web: SQLite's log of users", "data/web/desk.sqlite-wal", Mend::Backup, "as that of a day").chance(&ALL),
    kind(
        "web: SQLite's shared memory of users",
        "data/web/desk.sqlite-shm",
        Mend::Itself,
        "made anew from SQLite's log",
    )
    .chance(&ALL),
    kind("web: certificate", "data/web/self-signed.pem", Mend::Itself, "there is a new one, which browsers ask about"),
    kind(
        "cache: image",
        "data/cache.image",
        Mend::Remove,
        "`trunkline run` has no image: that of `trunkline cache -e` is checked by whoever begins with it",
    ),
    kind("any log: segment that is prepared", "data/**/next.log.part", Mend::Itself, "nothing is in it"),
    kind("locks", "data/**lock", Mend::Itself, "nothing is in them, or the number of a process"),
];

/// Whether a path is like a pattern.
fn is_like(path: &str, pattern: &str) -> bool {
    let Some((before, behind)) = pattern.split_once('*') else { return path == pattern };
    let Some(rest) = path.strip_prefix(before) else { return false };
    let (any, behind) = behind.strip_prefix('*').map_or((false, behind), |behind| (true, behind));
    let end = if any { rest.len() } else { rest.find('/').unwrap_or(rest.len()) };
    (0..=end).filter(|at| rest.is_char_boundary(*at)).any(|at| is_like(&rest[at..], behind))
}

#[test]
fn patterns_are_what_they_say() {
    for (path, pattern, is) in [
        ("a/b.log", "a/*.log", true),
        ("a/c/b.log", "a/*.log", false),
        ("a/c/b.log", "a/**.log", true),
        ("a/b.log", "a/b.log", true),
        ("a/b.logs", "a/*.log", false),
        ("data/run.lock", "data/**lock", true),
    ] {
        assert_eq!(is_like(path, pattern), is, "{path} {pattern}");
    }
}
