//! A program that is run for what it says: never through a shell, in an environment of its own, bounded in time and in
//! what it says, and gone with all that it has started when its time is over.

use crate::untrusted::without_nul;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// Where programs are looked for.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long what a program has left behind may hold its output after it has ended.
const LEFT_BEHIND: Duration = Duration::from_millis(500);

/// What is run, and within which bounds.
#[derive(Clone, Debug)]
pub struct Program {
    /// Program and arguments.
    pub words: Vec<String>,
    /// Its environment, beside `PATH`.
    pub environment: Vec<(&'static str, String)>,
    /// How long it may take.
    pub time: Duration,
    /// Octets of its output that are kept, and as many of its errors.
    pub octets_max: usize,
    /// Whether it is ended when it says more; else the rest is read and forgotten.
    pub ends_beyond: bool,
}

/// A program that has ended by itself.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// What it said.
    pub output: Vec<u8>,
    /// What it said of errors.
    pub errors: Vec<u8>,
}

/// Why a program has not ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// It could not be started.
    #[error("{0}")]
    Start(io::Error),
    /// Its time was over, and it was ended.
    #[error("did not end within {} s and was killed", .0.as_secs_f64())]
    Time(Duration),
    /// It said too much, and was ended.
    #[error("said more than {0} octets and was killed")]
    Output(usize),
    /// It cannot be known how it ended.
    #[error("{0}")]
    Lost(io::Error),
}

impl Fault {
    /// It cannot be started with these words and this environment, however often that is tried: they are too long, or
    /// no words.
    pub fn is_for_ever(&self) -> bool {
        let kinds = [io::ErrorKind::ArgumentListTooLong, io::ErrorKind::InvalidInput];
        matches!(self, Fault::Start(error) if kinds.contains(&error.kind()))
    }
}

/// All processes of a program that has not ended: they end with this.
struct Group(Option<Pid>);

impl Group {
    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            // None of them may be left.
            let _gone = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a program to its end. Whoever gives up waiting ends it, too.
///
/// # Errors
/// It did not end by itself. It is gone then.
pub async fn run(program: &Program) -> Result<Ended, Fault> {
    let (name, arguments) = program.words.split_first().ok_or_else(|| Fault::Start(io::ErrorKind::NotFound.into()))?;
    let mut command = Command::new(&*without_nul(name));
    command.args(arguments.iter().map(|word| without_nul(word).into_owned())).env_clear().env("PATH", PATH);
    command.envs(program.environment.iter().map(|(name, value)| (name, without_nul(value).into_owned())));
    command.process_group(0).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Fault::Start)?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let ended = timeout(program.time, followed(&mut child, &mut group, program)).await;
    let fault = match ended {
        Ok(Ok(ended)) => return Ok(ended),
        Ok(Err(fault)) => fault,
        Err(_) => Fault::Time(program.time),
    };
    group.kill();
    // Nothing but the kernel can keep it now, which is not waited for any longer than for others.
    let _reaped = timeout(LEFT_BEHIND, child.wait()).await;
    Err(fault)
}

async fn followed(child: &mut Child, group: &mut Group, program: &Program) -> Result<Ended, Fault> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let status = {
        let said = async { tokio::try_join!(said(out, &mut output, program), said(err, &mut errors, program)) };
        tokio::pin!(said);
        let mut is_silent = false;
        let status = loop {
            tokio::select! {
                status = child.wait() => break status.map_err(Fault::Lost)?,
                said = &mut said, if !is_silent => {
                    said?;
                    is_silent = true;
                }
            }
        };
        if is_silent {
            // Nobody of it is known to be left, and its number may be another's.
            group.0 = None;
        } else {
            tokio::select! {
                said = &mut said => {
                    group.0 = None;
                    said?;
                }
                () = sleep(LEFT_BEHIND) => group.kill(),
            }
        }
        status
    };
    Ok(Ended { status, output, errors })
}

/// What a program says: the beginning is kept.
async fn said(
    from: Option<impl AsyncRead + Unpin>,
    kept: &mut Vec<u8>,
    Program { octets_max, ends_beyond, .. }: &Program,
) -> Result<(), Fault> {
    let mut piece = vec![0; 16 << 10];
    let Some(mut from) = from else { return Ok(()) };
    while let Ok(octets @ 1..) = from.read(&mut piece).await {
        let room = octets_max.saturating_sub(kept.len());
        kept.extend_from_slice(&piece[..room.min(octets)]);
        if room < octets && *ends_beyond {
            return Err(Fault::Output(*octets_max));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn shell(text: &str) -> Program {
        Program {
            words: vec!["sh".to_owned(), "-c".to_owned(), text.to_owned()],
            environment: vec![("WORD", "a b".to_owned())],
            time: Duration::from_secs(60),
            octets_max: 1000,
            ends_beyond: false,
        }
    }

    fn ran(program: &Program) -> Result<Ended, Fault> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(program))
    }

    /// Whether a process is there that has not ended.
    fn lives(id: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    #[test]
    fn what_it_says_is_kept_and_its_environment_is_its_own() {
        let ended = ran(&shell("echo $WORD; echo oh >&2; env | grep -c =; exit 3")).unwrap();
        let lines: Vec<&str> = core::str::from_utf8(&ended.output).unwrap().lines().collect();
        assert_eq!((lines[0], ended.errors.as_slice(), ended.status.code()), ("a b", &b"oh\n"[..], Some(3)));
        // WORD, PATH, and PWD and what else a shell sets by itself.
        assert!(lines[1].parse::<u32>().unwrap() <= 6, "{lines:?}");
        let mut none = shell("");
        none.words = vec!["no-such-program".to_owned()];
        assert!(matches!(ran(&none), Err(Fault::Start(_))));
    }

    #[test]
    fn it_goes_with_all_that_it_has_started() {
        let mut hangs = shell("sleep 600 & echo $!; echo $$; sleep 600");
        hangs.time = Duration::from_millis(300);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ids");
        hangs.words[2] = format!("sleep 600 & echo $! $$ > {}; sleep 600", file.display());
        assert!(matches!(ran(&hangs), Err(Fault::Time(_))));
        let ids = std::fs::read_to_string(file).unwrap();
        let begun = Instant::now();
        // Whoever was started by it is reaped by the system's first process, when that comes to it.
        while ids.split_whitespace().any(lives) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{ids}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_it_leaves_behind_does_not_hold_its_answer() {
        let ended = ran(&shell("echo 5; sleep 600 &")).unwrap();
        assert_eq!(ended.output, b"5\n");
    }

    #[test]
    fn what_is_too_much_is_cut_or_ends_it() {
        let mut loud = shell("head -c 10000000 /dev/zero");
        assert_eq!(ran(&loud).unwrap().output.len(), 1000);
        loud.words[2] = "cat /dev/zero".to_owned();
        loud.ends_beyond = true;
        assert!(matches!(ran(&loud), Err(Fault::Output(1000))));
    }

    #[test]
    fn nul_is_passed_on_as_a_sign_and_what_is_too_long_never_starts() {
        let said = ran(&shell("printf '%s' \"a\0b\"")).unwrap();
        assert_eq!(String::from_utf8(said.output).unwrap(), "a\u{fffd}b");
        let mut long = shell("true");
        long.words.push("x".repeat(1 << 20));
        assert!(ran(&long).unwrap_err().is_for_ever());
        let missing = Program { words: vec!["/nowhere/at/all".to_owned()], ..shell("") };
        assert!(!ran(&missing).unwrap_err().is_for_ever());
    }
}
