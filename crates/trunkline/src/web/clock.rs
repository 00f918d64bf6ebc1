//! Steps of clocks, as the web has them.

use trunkline_lane::clock::Leap;
use trunkline_web::sources::ClockStep;

/// A step: in this file or between these two, or of the running capture.
pub fn step(leap: &Leap, files: Vec<String>) -> ClockStep {
    ClockStep {
        what: leap.kind.name().to_owned(),
        at_ns: leap.before_ns,
        by_s: leap.by_ns as f64 / 1e9,
        text: leap.what(),
        why: leap.why(),
        packet: leap.files.map(|_| leap.number),
        files,
    }
}
