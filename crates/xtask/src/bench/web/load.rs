//! wrk: so many connections that ask one thing again and again, and how long each answer took.

use std::path::Path;
use std::process::Command;

/// Connections where it is many that ask.
pub const CONNECTIONS: u32 = 8;

/// Between two requests of a connection where a person's looks are kept in the audit log: less than the 3,000 a minute
/// that one user may make.
const PACE: &str = "function delay() return 30 end\n";

/// What wrk is run with.
pub struct Load<'a> {
    /// What comes before all paths.
    pub base: String,
    /// Of whom signs in; empty where nobody has to.
    pub token: &'a str,
    /// Connections, which ask at the same time.
    pub connections: u32,
    /// How long, seconds.
    pub seconds: u32,
    /// And before that, not counted.
    pub seconds_warm: u32,
    /// A file for wrk's script, where requests are paced.
    pub script: &'a Path,
}

/// How it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As often as it is answered.
    Plain,
    /// The same, and the answer may be compressed.
    Compressed,
    /// With a pause before each request.
    Paced,
}

/// What wrk told.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Requests that were answered.
    pub requests: u64,
    /// A second.
    pub rate: f64,
    /// Half of the answers took no longer, milliseconds.
    pub p50_ms: f64,
    /// 99 of 100.
    pub p99_ms: f64,
    /// Requests without an answer, and answers that are not 2xx.
    pub failed: u64,
}

impl Load<'_> {
    /// Asks for a path for some seconds; not more often than a user may where that is `paced`.
    ///
    /// # Errors
    /// wrk failed, or told something else.
    pub fn run(&self, path: &str, how: How, seconds: u32) -> Result<Loaded, String> {
        let mut wrk = Command::new("wrk");
        // One thread: the processors are for who answers.
        wrk.args(["-t1", "--latency", &format!("-c{}", self.connections), &format!("-d{seconds}s")]);
        if !self.token.is_empty() {
            wrk.args(["-H", &format!("Authorization: Bearer {}", self.token)]);
        }
        match how {
            How::Plain => {}
            How::Compressed => _ = wrk.args(["-H", "Accept-Encoding: gzip"]),
            How::Paced => {
                std::fs::write(self.script, PACE).map_err(|e| format!("{}: {e}", self.script.display()))?;
                wrk.arg("-s").arg(self.script);
            }
        }
        let output = wrk.arg(format!("{}{path}", self.base)).output().map_err(|e| format!("wrk: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        parse(&text).ok_or_else(|| format!("wrk told {text}"))
    }
}

/// What `wrk --latency` prints.
fn parse(text: &str) -> Option<Loaded> {
    let after = |begin: &str| text.lines().find_map(|line| line.trim().strip_prefix(begin)).map(str::trim);
    let first = |line: &str| line.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    let requests = text.lines().find(|line| line.contains(" requests in "))?;
    let errors = after("Socket errors:").unwrap_or_default();
    let not_answered: f64 = errors.split([',', ' ']).filter_map(|word| word.parse::<f64>().ok()).sum();
    let refused = after("Non-2xx or 3xx responses:").and_then(first).unwrap_or(0.0);
    Some(Loaded {
        requests: first(requests)? as u64,
        rate: after("Requests/sec:").and_then(first)?,
        p50_ms: after("50%").and_then(milliseconds)?,
        p99_ms: after("99%").and_then(milliseconds)?,
        failed: (not_answered + refused) as u64,
    })
}

fn milliseconds(text: &str) -> Option<f64> {
    [("us", 0.001), ("ms", 1.0), ("s", 1000.0)]
        .into_iter()
        .find_map(|(unit, of)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_wrk_prints() {
        let text = "Running 5s test @ http://127.0.0.1:1/x\n  1 threads and 8 connections\n  Thread Stats   Avg\n    \
                    Latency     1.34ms    2.11ms  43.00ms   91.17%\n  Latency Distribution\n     50%  626.00us\n     \
                    75%    1.15ms\n     90%    3.20ms\n     99%    1.02s\n  53461 requests in 5.00s, 38.02MB read\n  \
                    Socket errors: connect 0, read 1, write 0, timeout 2\n  Non-2xx or 3xx responses: 7\n\
                    Requests/sec:  10689.69\nTransfer/sec:      7.60MB\n";
        let loaded = Loaded { requests: 53_461, rate: 10_689.69, p50_ms: 0.626, p99_ms: 1020.0, failed: 10 };
        assert_eq!(parse(text), Some(loaded));
        assert_eq!(parse("unable to connect"), None);
    }
}
