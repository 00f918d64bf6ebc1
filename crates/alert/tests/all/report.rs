//! Reports as others read them: their text, their HTML by Python's html.parser, their mail by its email package.

use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};
use trunkline_alert::report::{
    AlertFigures, AlertShown, CallDay, CallFigures, ChargeFigures, ChargeSum, DestinationShown, DeviceFigures,
    DeviceShown, Figures, Gathered, GraphFigures, GraphShown, HTML_OCTETS_MAX, LossFigures, LossSum, PICTURES_MAX,
    PICTURES_OCTETS_MAX, Pictures, Ranked, Ranking, RuleSum, Told, document, html, mime, plain,
};
use trunkline_alert::rule::Zone;
use trunkline_kit::config::{Raw, Value as _};

/// 2026-11-23 06:00 UTC.
const END_S: i64 = 1_795_413_600;

/// What Python says; none, said loudly, if it is not there.
fn python(what: &str, octets: &[u8]) -> Option<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report.py");
    let child =
        Command::new("/usr/bin/python3").args([script, what]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        eprintln!("SKIPPED: there is no /usr/bin/python3");
        return None;
    };
    child.stdin.take().unwrap().write_all(octets).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    Some(serde_json::from_slice(&done.stdout).unwrap())
}

fn section(title: &str, figures: Figures) -> Told {
    Told { title: title.to_owned(), figures: Ok(figures) }
}

/// The smallest picture that is one: a pixel.
fn png() -> Vec<u8> {
    let hex = "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a494441\
        54789c636000000002000148afa4710000000049454e44ae426082";
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap()).collect()
}

fn gathered() -> Gathered {
    let graph = |id: u32, title: &str| GraphShown { id, title: title.to_owned(), png: png(), trouble: None };
    let row = |title: &str, series: &str, p95: f64| Ranked {
        graph: 3,
        title: title.to_owned(),
        series: series.to_owned(),
        unit: "bit/s".to_owned(),
        base: 1000,
        p95: Some(p95),
        mean: Some(p95 / 2.0),
        max: Some(p95 * 1.25),
        total: Some(p95 * 302_400.0),
    };
    let alert = |title: &str, severity: &str, began_s: i64, ended_s: Option<i64>| AlertShown {
        title: title.to_owned(),
        rule: "full".to_owned(),
        severity: severity.to_owned(),
        began_s,
        ended_s,
        in_span_s: ended_s.unwrap_or(END_S) - began_s,
    };
    let device = |name: &str, down_s: i64| DeviceShown {
        device: name.to_owned(),
        up_percent: 100.0 - down_s as f64 / 6048.0,
        down_s,
        times_down: 2,
        longest_s: down_s / 2,
        unknown_s: 60,
    };
    let sections = vec![
        section(
            "Uplinks <of> \"the\" network & more",
            Figures::Graphs(GraphFigures {
                graphs: vec![
                    graph(3, "edge-1 - Gi0/1 <script>alert(1)</script>"),
                    graph(4, "edge-2 - \"Gi0/2\" 'x' onerror=alert(1) \u{202e}evil"),
                    GraphShown { id: 5, title: "edge-3".to_owned(), png: vec![], trouble: Some("no file".to_owned()) },
                ],
                more: 7,
            }),
        ),
        section(
            "Busiest",
            Figures::Table(Ranking {
                by: "p95",
                rows: vec![row("edge-1 - Gi0/1", "In", 812_345_678.0), row("edge-1 - Gi0/1", "Out", 412_345_678.0)],
                more: 12,
                unknown: 1,
                beyond: 0,
            }),
        ),
        section(
            "Alerts",
            Figures::Alerts(AlertFigures {
                count: 3,
                open: 1,
                severities: vec![("critical".to_owned(), 1), ("warning".to_owned(), 2)],
                rules: vec![RuleSum {
                    rule: "full".to_owned(),
                    severity: "critical".to_owned(),
                    count: 3,
                    open_s: 7300,
                    longest_s: 3700,
                }],
                more_rules: 0,
                longest: Some(alert("edge-1 Gi0/1 is full", "critical", END_S - 90_000, Some(END_S - 86_300))),
                alerts: vec![
                    alert("edge-2 is <b>slow</b>", "warning", END_S - 100, None),
                    alert("edge-1 Gi0/1 is full", "critical", END_S - 90_000, Some(END_S - 86_300)),
                ],
                more: 1,
                is_cut: false,
            }),
        ),
        section(
            "Availability",
            Figures::Devices(DeviceFigures {
                count: 40,
                always_up: 38,
                devices: vec![device("edge-1", 6048), device("edge-2", 42)],
                more: 0,
            }),
        ),
        section(
            "Calls",
            Figures::Calls(CallFigures {
                calls: 12_345,
                answered: 9_000,
                failed: 300,
                answered_percent: Some(74.2),
                duration_mean_s: Some(93.4),
                mos_mean: Some(4.12),
                mos_count: 8_000,
                mos_low: Some(80),
                days: vec![
                    CallDay {
                        date: "2026-11-22".to_owned(),
                        calls: 12_000,
                        answered: 8_800,
                        answered_percent: Some(74.0),
                        mos_mean: Some(4.1),
                    },
                    CallDay {
                        date: "2026-11-23".to_owned(),
                        calls: 345,
                        answered: 200,
                        answered_percent: Some(58.0),
                        mos_mean: None,
                    },
                ],
                destination: "the address that they were sent to".to_owned(),
                destinations: vec![DestinationShown {
                    name: "192.0.2.10".to_owned(),
                    calls: 1000,
                    failed: 250,
                    answered_percent: Some(60.0),
                }],
                looked_at: None,
                skipped: 1,
            }),
        ),
        section(
            "Losses",
            Figures::Losses(LossFigures {
                places: vec![LossSum {
                    place: "ring".to_owned(),
                    source: "eth0 lane 1".to_owned(),
                    count: 1_234,
                    times: 3,
                }],
                more: 0,
                skipped: 0,
            }),
        ),
        section(
            "Charges",
            Figures::Charges(ChargeFigures {
                kinds: vec![ChargeSum {
                    kind: "session".to_owned(),
                    records: 17,
                    octets: 5_000_000_000,
                    seconds: 4000,
                    service_units: 2,
                    money: 12_345,
                    short: 0,
                    unrated: 1,
                }],
                skipped: 0,
            }),
        ),
        Told { title: "Elsewhere".to_owned(), figures: Err("No graphs run here.".to_owned()) },
    ];
    Gathered {
        report: "weekly".to_owned(),
        title: "Network of the week \u{2013} K\u{f6}ln".to_owned(),
        text: "What happened.\n\nSecond <paragraph>\nin two lines.".to_owned(),
        from_s: END_S - 7 * 86_400,
        to_s: END_S,
        made_s: END_S + 12,
        zone: Zone::of(&Raw::Text("Europe/Berlin".to_owned())).unwrap(),
        sections,
    }
}

/// The text that is read, as a whole. `UPDATE_REPORT=1` writes what it is now.
#[test]
fn the_text_of_a_report() {
    let text = plain(&document(&gathered()));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report.txt");
    if std::env::var_os("UPDATE_REPORT").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(path).unwrap());
}

#[test]
fn a_page_is_well_formed_and_nothing_from_outside_is_html() {
    let document = document(&gathered());
    let page = html(&document, Pictures::Inside);
    assert_eq!(page, html(&document, Pictures::Inside));
    let Some(told) = python("page", page.as_bytes()) else { return };
    assert_eq!(told["wrong"], serde_json::json!([]));
    assert_eq!(told["active"], 0, "no script, and no attribute that is one");
    let tags: Vec<&str> = told["tags"].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap()).collect();
    let ours = "body br div h1 h2 head html img meta p span style table tbody td th thead title tr";
    assert_eq!(tags.join(" "), ours);
    let text = told["text"].as_str().unwrap();
    for whole in [
        "Network of the week \u{2013} K\u{f6}ln",
        "Uplinks <of> \"the\" network & more",
        "Second <paragraph>",
        "2026-11-16 07:00 to 2026-11-23 07:00 (Europe/Berlin)",
        "edge-2 is <b>slow</b>",
        "7 further graphs are chosen and not shown.",
        "No graphs run here.",
        "1 day of the store could not be read: what is in it is not counted.",
    ] {
        assert!(text.contains(whole), "{whole}: {text}");
    }
    let sources = told["sources"].as_array().unwrap();
    assert_eq!(sources.len(), 2);
    assert!(sources[0][0].as_str().unwrap().starts_with("data:image/png;base64,iVBOR"));
    assert_eq!(sources[0][1], "edge-1 - Gi0/1 <script>alert(1)</script>");
    assert_eq!(sources[1][1], "edge-2 - \"Gi0/2\" 'x' onerror=alert(1) evil", "nothing turns what follows");
    let rows = told["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row[0] == "edge-1 - Gi0/1, In").unwrap();
    let numbers: Vec<&str> = row.as_array().unwrap().iter().skip(2).map(|cell| cell.as_str().unwrap()).collect();
    assert_eq!(numbers, ["812.3 Mbit/s", "406.2 Mbit/s", "1.015 Gbit/s", "30.71 TB"]);
}

#[test]
fn a_mail_is_read_by_pythons_email() {
    let document = document(&gathered());
    let body = mime(&document, "weekly-1@trunkline");
    let letter = format!("From: <a@example.org>\r\nMessage-ID: <1@example.org>\r\nSubject: x\r\n{body}");
    let Some(told) = python("mail", letter.as_bytes()) else { return };
    assert_eq!((&told["defects"], &told["dots"], &told["bare"]), (&0.into(), &0.into(), &0.into()));
    assert!(told["longest"].as_u64() < Some(200), "{}", told["longest"]);
    let types = ["multipart/alternative", "text/plain", "multipart/related", "text/html", "image/png", "image/png"];
    assert_eq!(told["types"], serde_json::json!(types));
    assert_eq!(told["text"].as_str().unwrap().replace("\r\n", "\n"), plain(&document));
    assert_eq!(told["page"]["wrong"], serde_json::json!([]));
    for (number, image) in told["images"].as_array().unwrap().iter().enumerate() {
        assert_eq!(image["is_png"], true);
        let id = image["id"].as_str().unwrap().trim_matches(['<', '>']).to_owned();
        assert_eq!(told["page"]["sources"][number][0], format!("cid:{id}"));
    }
}

#[test]
fn what_is_too_long_is_counted() {
    let mut long = gathered();
    let shown = |number: u32| GraphShown { id: number, title: format!("g{number}"), png: png(), trouble: None };
    let row = |number: u32| Ranked { title: format!("row {number} {}", "<".repeat(500)), ..Ranked::default() };
    let mut large = shown(1000);
    large.png = vec![7; PICTURES_OCTETS_MAX];
    let graphs = core::iter::once(large).chain((0..100).map(shown)).collect();
    long.sections = vec![
        section("Graphs", Figures::Graphs(GraphFigures { graphs, more: 0 })),
        section(
            "Rows",
            Figures::Table(Ranking { by: "p95", rows: (0..20_000).map(row).collect(), ..Ranking::default() }),
        ),
        section("Behind", Figures::Losses(LossFigures::default())),
    ];
    let document = document(&long);
    assert_eq!(document.pictures.len(), 1, "the large one took the room");
    let page = html(&document, Pictures::Parts("x"));
    assert!(page.len() <= HTML_OCTETS_MAX, "{}", page.len());
    assert!(page.contains("further rows are left out") && page.contains("100 pictures are left out"));
    assert!(plain(&document).len() < 1 << 20);
    let Some(told) = python("page", page.as_bytes()) else { return };
    assert_eq!(told["wrong"], serde_json::json!([]));
    long.sections.remove(1);
    let Figures::Graphs(graphs) = long.sections[0].figures.as_mut().unwrap() else { return };
    graphs.graphs.remove(0);
    assert_eq!(trunkline_alert::report::document(&long).pictures.len(), PICTURES_MAX);
}
