//! Commands: a program with arguments and an environment, never through a shell. It cannot be asked to ignore a copy:
//! one whose end was not seen is not started again.

use crate::delivery::{Message, Outcomes, field, json, subject_line, text};
use crate::rule::Text;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

/// Octets of what a program says that are kept.
pub const OUTPUT_OCTETS_MAX: usize = 4096;
/// The environment of a program, beside what a message says.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs a program for a message.
pub async fn run(command: &[Text], message: &Message, time: Duration) -> Outcomes {
    let mut words = command.iter().map(|word| word.with(|name| field(message, name)));
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(words).env_clear().env("PATH", PATH).envs(environment(message)).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Outcomes::Failed(format!("{program}: {error}")),
    };
    let group = child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let ended = async {
        let (status, out, err) = tokio::join!(child.wait(), said(out), said(err));
        (status, [out, err].concat())
    };
    let ended = tokio::time::timeout(time, ended).await;
    if let (Err(_), Some(group)) = (&ended, group) {
        // It, and what it has started: none may have ended meanwhile.
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    match ended {
        Err(_) => Outcomes::InDoubt(format!("{program} did not end within {} s and was killed", time.as_secs())),
        Ok((Err(error), _)) => Outcomes::InDoubt(format!("{program}: {error}")),
        Ok((Ok(status), _)) if status.success() => Outcomes::Delivered,
        Ok((Ok(status), said)) if status.code().is_some() => {
            Outcomes::Failed(format!("{program}: {status}: {}", String::from_utf8_lossy(&said).trim()))
        }
        Ok((Ok(status), _)) => Outcomes::InDoubt(format!("{program}: {status}")),
    }
}

fn environment(message: &Message) -> [(&'static str, String); 6] {
    let first = message.alerts.first();
    [
        ("TRUNKLINE_ALERT_MESSAGE", message.id.clone()),
        ("TRUNKLINE_ALERT_TITLE", subject_line(message)),
        ("TRUNKLINE_ALERT_TEXT", text(message)),
        ("TRUNKLINE_ALERT_STATE", first.map_or("", |alert| alert.kind.name()).to_owned()),
        ("TRUNKLINE_ALERT_SEVERITY", first.map_or("", |alert| alert.severity()).to_owned()),
        // A variable has at most 128 KiB (MAX_ARG_STRLEN of Linux).
        (
            "TRUNKLINE_ALERT_JSON",
            Some(json(message).to_string()).filter(|text| text.len() < 100_000).unwrap_or_default(),
        ),
    ]
}

/// What a program says: the beginning is kept, the rest is read so that it does not wait.
async fn said(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let (mut kept, mut piece) = (Vec::new(), [0; 1024]);
    let Some(mut from) = from else { return kept };
    while let Ok(octets) = from.read(&mut piece).await {
        if octets == 0 {
            break;
        }
        let room = OUTPUT_OCTETS_MAX.saturating_sub(kept.len()).min(octets);
        kept.extend_from_slice(&piece[..room]);
    }
    kept
}
