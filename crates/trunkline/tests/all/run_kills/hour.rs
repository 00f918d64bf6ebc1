//! How long recovery takes after a kill at the end of an hour of a thousand calls at a time, of which not one is in the
//! store yet: the worst that a checkpoint can say.
//!
//! Signalling is that of a thousand calls. Media is that of `HOUR_MEDIA` calls at a time (default 25), as an hour of a
//! thousand has 80 GB: what that would take is told beside it. Live capture goes on meanwhile.
//!
//! `cargo test -p trunkline --test all an_hour_of_a_thousand -- --ignored --nocapture`

use super::*;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const HOUR_S: u64 = 3600;
const AT_A_TIME: u64 = 1000;
/// Mean length of a call.
const CALL_S: u64 = 180;
const SIGNALLING_MAX: Duration = Duration::from_secs(20);
const MEDIA_MAX: Duration = Duration::from_secs(300);

fn media_at_a_time() -> u64 {
    std::env::var("HOUR_MEDIA").map_or(25, |number| number.parse().unwrap())
}

/// An hour with so many calls at a time.
fn hour(wire: &Wire, name: &str, at_a_time: u64, seed: u64, more: &[&str]) -> PathBuf {
    let (calls, rate) = ((at_a_time * HOUR_S / CALL_S).to_string(), (at_a_time as f64 / CALL_S as f64).to_string());
    let (mean, seed) = (format!("duration.mean_s={CALL_S}"), seed.to_string());
    let words = ["--calls", &calls, "--rate", &rate, "--seed", &seed, "--set", &mean, "--set", "duration.max_s=1800"];
    wire.world(name, &[&words[..], more].concat())
}

/// Octets of the segments of a log.
fn octets(data: &Path) -> u64 {
    log_files(data, "pcapng").iter().map(|path| path.metadata().unwrap().len()).sum()
}

#[test]
#[ignore = "ten minutes and several GB of disk"]
fn an_hour_of_a_thousand_calls_is_recovered_in_time() {
    let Some(wire) = Wire::lay("hour") else { return };
    let with_media = media_at_a_time();
    let worlds = [
        hour(&wire, "signalling.pcap", AT_A_TIME - with_media, 71, &["--no-media"]),
        hour(&wire, "media.pcap", with_media, 72, &[]),
    ];
    let live = wire.world("live.pcap", &["--calls", "300", "--rate", "1", "--seed", "73"]);
    let (capture, data) = (wire.path("hour.pcap"), wire.path("data"));
    let mut first = trunkline_capture::FileSource::open(&worlds);
    let mut batch = trunkline_capture::Batch::default();
    assert!(first.fill(&mut batch));
    let now_ns = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
    let hour_ns = HOUR_S as i64 * 1_000_000_000;
    // Calls begin within an hour that ends now; what they have later is cut off by the kill.
    let begins_ns = now_ns() - hour_ns - 120_000_000_000;
    let at_ns = begins_ns + hour_ns;
    shifted(&worlds, &capture, begins_ns - batch.packets[0].at_ns, at_ns);
    worlds.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    trunkline(&["read", "--record", "--no-store", "--data", text(&data), text(&capture)]);
    let written = octets(&data);
    let body = format!("trunkline-checkpoint 1\nat {at_ns}\nfrom {begins_ns}\nopen {AT_A_TIME}\nended 0\n");
    let sum = trunkline_kit::hash::fnv1a(body.as_bytes());
    std::fs::create_dir_all(data.join("spool")).unwrap();
    std::fs::write(data.join("spool/calls.checkpoint"), format!("{body}sum {sum:016x}\n")).unwrap();

    let mut sends = replay(&wire, &live, "1x");
    let begun = Instant::now();
    let mut running = wire.run("data", &config(&wire, ""));
    running.hear("recovery: signalling read");
    let signalling = begun.elapsed();
    running.hear("recovery: media read");
    let media = begun.elapsed();
    let lost = |w: &Wire| {
        let dropped = |lane: u32| w.metric(&format!("trunkline_capture_ring_dropped_packets_total{{lane=\"{lane}\"}}"));
        dropped(0) + dropped(1)
    };
    let (captured, dropped, pauses) = (captured(&wire), lost(&wire), wire.metric("trunkline_recovery_pauses_total"));
    let packets = wire.metric("trunkline_recovery_packets_total");
    let _ = sends.kill();
    sends.wait().unwrap();
    let told: Vec<_> = running.said.iter().filter(|line| line.contains("recovery:")).cloned().collect();
    let (code, said) = running.end();
    println!("{}", told.join("\n"));
    println!(
        "{written} octets of segments, {packets} packets read in two passes; media of {with_media} calls at a time\n\
         rows of calls after {:.1} s, figures of media after {:.1} s; media of {AT_A_TIME} at a time: {:.0} s\n\
         live meanwhile: {captured} packets captured, {dropped} dropped, {pauses} pauses of the reading",
        signalling.as_secs_f64(),
        media.as_secs_f64(),
        signalling.as_secs_f64() + (media - signalling).as_secs_f64() * AT_A_TIME as f64 / with_media as f64,
    );
    assert_eq!((code, dropped), (0, 0.0), "{said:#?}");
    assert!(captured > 0.0 && signalling <= SIGNALLING_MAX && media <= MEDIA_MAX, "{signalling:?}, {media:?}");
    let calls = trunkline(&["sql", "--data", text(&data), "--json", "SELECT count(*) AS n FROM calls"]);
    let rows = serde_json::from_str::<Value>(calls.trim()).unwrap()["n"].as_u64().unwrap();
    assert!(rows >= AT_A_TIME * HOUR_S / CALL_S * 9 / 10, "{rows} rows");
}
