//! docs/accuracy.md: a summary, each difference with its explanation, and the figures file by file.

use super::compare::{Comparison, Difference};
use super::figures::{Sip, Stream};
use super::notes::Whose;
use super::seeds::Seeds;
use super::torture::Judged;
use std::fmt::Write as _;

/// Where it is written.
pub const PATH: &str = "docs/accuracy.md";

/// A figure that is counted over all files: its name, and which differences belong to it.
const KINDS: &[(&str, &str)] = &[
    ("files read without crash or hang", "reading"),
    ("packets of the file", "packets"),
    ("SIP messages", "sip messages"),
    ("distinct Call-IDs", "call-ids"),
    ("states of calls", "state "),
    ("RTP streams found", "stream 0x"),
    ("packets of streams", "stream packets "),
    ("losses of streams", "stream lost "),
    ("mean jitter of streams", "jitter mean "),
    ("highest jitter of streams", "jitter max "),
    ("rtpproxy's own expectations", "rtpproxy "),
];

/// All that was found.
pub struct Found<'a> {
    /// Capture by capture.
    pub comparisons: &'a [Comparison],
    /// Torture message by torture message.
    pub torture: &'a [Judged],
    /// The fuzz seeds.
    pub seeds: &'a Seeds,
}

/// A line per figure: how many were compared, and how many differ.
pub fn summary(found: &Found<'_>) -> String {
    let comparisons = found.comparisons;
    let mut out = String::new();
    for (name, begin) in KINDS {
        let found: Vec<&Difference> = of_kind(comparisons, begin).collect();
        let count = |whose| found.iter().filter(|d| d.note.as_ref().map(|n| n.whose) == whose).count();
        let _ = writeln!(
            out,
            "{name:33} {:>6} compared, {:>4} differ: {} theirs, {} definition, {} ours, {} unexplained",
            compared(comparisons, begin),
            found.len(),
            count(Some(Whose::Theirs)),
            count(Some(Whose::Definition)),
            count(Some(Whose::Ours)),
            count(None)
        );
    }
    let misjudged = found.torture.iter().filter(|m| !m.agrees()).count();
    let _ = writeln!(out, "{:33} {:>6} compared, {misjudged:>4} differ", TORTURE, found.torture.len());
    let _ = writeln!(out, "{:33} {:>6} read,     {:>4} failed", SEEDS, found.seeds.files, found.seeds.failures.len());
    out
}

const TORTURE: &str = "torture messages judged";
const SEEDS: &str = "fuzz seeds read as captures";

/// The whole document.
pub fn markdown(found: &Found<'_>) -> String {
    let mut out = String::from(HEAD);
    summary_table(&mut out, found);
    differences(&mut out, found.comparisons);
    torture(&mut out, found.torture);
    seeds(&mut out, found.seeds);
    voice_files(&mut out, found.comparisons);
    streams(&mut out, found.comparisons);
    other_files(&mut out, found.comparisons);
    out
}

const HEAD: &str = "\
# Accuracy

Made by `make accuracy`: do not edit. Every capture of the reference folder is read by `trunkline read --json`, and the
figures are put beside those of TShark 4.0 (with its RTP heuristics on for the voice captures) and of rtpproxy's own
tests. What differs is explained in [accuracy-notes.toml](accuracy-notes.toml); an unexplained difference fails the
command, and so does an explanation that is no longer needed. Jitter counts as the same within 0.002 ms (TShark prints
three decimals), beside rtpproxy within one unit of the RTP timestamp (it cuts arrival times to whole ones).

Whose a difference is: *theirs* where the other program is wrong or cannot do it, *definition* where both are right and
count different things, *ours* where we are wrong or do not do it yet.

";

fn summary_table(out: &mut String, found: &Found<'_>) {
    let comparisons = found.comparisons;
    out.push_str("| figure | compared | same | theirs | definition | ours | unexplained |\n");
    out.push_str("|---|---:|---:|---:|---:|---:|---:|\n");
    for (name, begin) in KINDS {
        let found: Vec<&Difference> = of_kind(comparisons, begin).collect();
        let count = |whose| found.iter().filter(|d| d.note.as_ref().map(|n| n.whose) == whose).count();
        let all = compared(comparisons, begin);
        let _ = writeln!(
            out,
            "| {name} | {all} | {} | {} | {} | {} | {} |",
            all.saturating_sub(found.len()),
            count(Some(Whose::Theirs)),
            count(Some(Whose::Definition)),
            count(Some(Whose::Ours)),
            count(None)
        );
    }
    let (messages, same) = (found.torture.len(), found.torture.iter().filter(|m| m.agrees()).count());
    let _ = writeln!(out, "| {TORTURE} | {messages} | {same} | 0 | 0 | {} | 0 |", messages - same);
    let (files, failed) = (found.seeds.files, found.seeds.failures.len());
    let _ = writeln!(out, "| {SEEDS} | {files} | {} | 0 | 0 | {failed} | 0 |", files.saturating_sub(failed));
}

/// The torture messages, one by one.
fn torture(out: &mut String, messages: &[Judged]) {
    out.push_str(
        "\n## RFC 4475 and RFC 5118, message by message\n\n\
         Nothing is refused: what is invalid is read as far as it goes and named. What the standards call valid may\n\
         still get a note; *transaction*, *application*, *backward* and *ambiguous* messages are well-formed, with\n\
         something that one layer stumbles over.\n\n\
         | standard | message | title | it says | we say | because of |\n|---|---|---|---|---|---|\n",
    );
    for m in messages {
        let says = if m.agrees() { m.ours.clone() } else { format!("**{}**", m.ours) };
        let place = format!("{}, {}", m.standard, m.section);
        let cells = [place.as_str(), &m.file, &m.title, &m.theirs].map(cell);
        let _ = writeln!(out, "| {} | {says} | {} |", cells.join(" | "), cell(&m.oddities));
    }
}

/// What was said about the fuzz seeds.
fn seeds(out: &mut String, seeds: &Seeds) {
    out.push_str(
        "\n## Fuzz seeds given as captures\n\nEach is read by a process of its own, which must end within 20 s with \
         exit code 0 or 3 and say one line.\n\n| files | said |\n|---:|---|\n",
    );
    for (said, files) in &seeds.said {
        let _ = writeln!(out, "| {files} | {} |", cell(said));
    }
    for failure in &seeds.failures {
        let _ = writeln!(out, "| 1 | **{}** |", cell(failure));
    }
}

fn of_kind<'a>(comparisons: &'a [Comparison], begin: &'a str) -> impl Iterator<Item = &'a Difference> {
    comparisons.iter().flat_map(|c| &c.differences).filter(move |d| d.what.starts_with(begin))
}

/// How many figures of a kind were compared, those that only one side has included.
fn compared(comparisons: &[Comparison], begin: &str) -> usize {
    let read = || comparisons.iter().filter(|c| c.ours.failure.is_none());
    let differ = |begin: &'static str| of_kind(comparisons, begin).count();
    let pairs = || read().flat_map(|c| c.theirs.streams.iter().filter_map(|t| Some((t, ours_of(c, t)?))));
    let sip = || read().filter_map(|c| c.theirs.sip.as_ref());
    match begin {
        "reading" => comparisons.len(),
        "packets" => read().filter(|c| c.theirs.packets.is_some()).count(),
        "sip messages" => sip().count(),
        "call-ids" => sip().filter(|s| s.call_ids.is_some()).count(),
        "state " => {
            let ours_only = of_kind(comparisons, begin).filter(|d| d.theirs == "no call").count();
            sip().map(|s| s.states.len()).sum::<usize>() + ours_only
        }
        "stream 0x" => pairs().count() + differ("stream 0x"),
        "jitter mean " | "jitter max " => pairs().filter(|(t, _)| t.jitter_max_ms.is_some()).count(),
        "rtpproxy " => super::rtpproxy::COMPARED,
        _ => pairs().count(),
    }
}

fn ours_of<'a>(comparison: &'a Comparison, theirs: &Stream) -> Option<&'a Stream> {
    comparison.ours.figures.streams.iter().find(|o| o.name == theirs.name)
}

/// Every difference, by explanation: those that share one stand together.
fn differences(out: &mut String, comparisons: &[Comparison]) {
    out.push_str("\n## Differences\n\n");
    if comparisons.iter().all(|c| c.differences.is_empty()) {
        out.push_str("None.\n");
        return;
    }
    out.push_str("| file | figure | theirs | ours | whose | why |\n|---|---|---:|---:|---|---|\n");
    for comparison in comparisons {
        for d in &comparison.differences {
            let (whose, why) = match &d.note {
                Some(note) => (note.whose.to_string(), note.why.as_str()),
                None => ("**unexplained**".to_owned(), ""),
            };
            let cells = [short(&comparison.file), &d.what, &d.theirs, &d.ours].map(cell);
            let _ = writeln!(out, "| {} | {whose} | {} |", cells.join(" | "), cell(why));
        }
    }
}

/// The captures in which either side found signalling.
fn voice_files(out: &mut String, comparisons: &[Comparison]) {
    out.push_str("\n## Signalling, file by file\n\nOne figure where both agree, *theirs / ours* where not.\n\n");
    out.push_str("| file | packets | SIP messages | Call-IDs | calls |\n|---|---:|---:|---:|---|\n");
    let none = Sip::default();
    for c in comparisons {
        let (theirs, ours) = (c.theirs.sip.as_ref(), c.ours.figures.sip.as_ref().unwrap_or(&none));
        if ours.messages == 0 && theirs.is_none_or(|t| t.messages == 0) {
            continue;
        }
        let figure = |of: fn(&Sip) -> String| pair(theirs.map(of), Some(of(ours)));
        let cells = [
            cell(short(&c.file)),
            pair(c.theirs.packets, c.ours.figures.packets),
            figure(|s| s.messages.to_string()),
            figure(|s| s.call_ids.map_or("-".to_owned(), |count| count.to_string())),
            figure(Sip::states_in_brief),
        ];
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

/// Every RTP stream that either side found.
fn streams(out: &mut String, comparisons: &[Comparison]) {
    out.push_str(
        "\n## RTP, stream by stream\n\n| file | stream | packets | lost | mean jitter, ms | highest jitter, ms |\n",
    );
    out.push_str("|---|---|---:|---:|---:|---:|\n");
    for c in comparisons {
        let ours_only = c.ours.figures.streams.iter().filter(|o| !c.theirs.streams.iter().any(|t| t.name == o.name));
        let both = c.theirs.streams.iter().map(|t| (Some(t), ours_of(c, t)));
        for (theirs, ours) in both.chain(ours_only.map(|o| (None, Some(o)))) {
            let name = theirs.or(ours).map_or("", |s| s.name.as_str());
            let jitter = |of: fn(&Stream) -> Option<f64>| jitter_pair(theirs.and_then(of), ours.and_then(of));
            let cells = [
                cell(short(&c.file)),
                cell(name),
                pair(theirs.map(|s| s.packets), ours.map(|s| s.packets)),
                pair(theirs.map(|s| s.lost), ours.map(|s| s.lost)),
                jitter(|s| s.jitter_mean_ms),
                jitter(|s| s.jitter_max_ms),
            ];
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
}

/// All the files, with what was said about the broken ones.
fn other_files(out: &mut String, comparisons: &[Comparison]) {
    out.push_str("\n## Every file\n\n| file | format | packets | said |\n|---|---|---:|---|\n");
    for c in comparisons {
        let said = c.ours.failure.as_ref().or(c.ours.error.as_ref()).map_or("", String::as_str);
        let cells = [
            cell(short(&c.file)),
            cell(&c.ours.format),
            pair(c.theirs.packets, c.ours.figures.packets),
            cell(&without_folder(said)),
        ];
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

fn pair<T: PartialEq + ToString>(theirs: Option<T>, ours: Option<T>) -> String {
    let text = |value: &Option<T>| value.as_ref().map_or("-".to_owned(), ToString::to_string);
    if theirs == ours { cell(&text(&ours)) } else { cell(&format!("{} / {}", text(&theirs), text(&ours))) }
}

fn jitter_pair(theirs: Option<f64>, ours: Option<f64>) -> String {
    let same = matches!((theirs, ours), (Some(t), Some(o)) if (t - o).abs() <= super::compare::JITTER_SAME_MS);
    let text = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.3}"));
    if same { text(theirs) } else { pair(Some(text(theirs)), Some(text(ours))) }
}

/// The file without the folder that nearly all share.
fn short(file: &str) -> &str {
    file.strip_prefix("captures/").unwrap_or(file)
}

/// A message without the absolute path of the machine that made the table.
fn without_folder(said: &str) -> String {
    let words =
        said.split(' ').map(|word| if word.starts_with('/') { word.rsplit('/').next().unwrap_or(word) } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// A text as a cell of a table: one line, no bars, nothing that Markdown would read.
fn cell(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_one_figure() {
        assert_eq!(pair(Some(1), Some(1)), "1");
        assert_eq!(pair(Some(1), Some(2)), "1 / 2");
        assert_eq!(pair(None, Some(2)), "- / 2");
        assert_eq!(jitter_pair(Some(1.0), Some(1.0004)), "1.000");
        assert_eq!(jitter_pair(None, Some(1.0)), "- / 1.000");
    }

    #[test]
    fn cells_hold_no_markup() {
        assert_eq!(cell("a|b\n<c>"), "a\\|b &lt;c>");
        assert_eq!(without_folder("/a/b/c.pcap: offset 24"), "c.pcap: offset 24");
    }
}
