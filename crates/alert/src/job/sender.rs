//! The thread that tells people: attempts of different channels go on beside each other.

use super::shelf::Shelf;
use super::{Fault, command, mail, syslog, webhook};
use crate::delivery::{Message, Outcomes, Send};
use crate::rule::{Channel, Rules, Way};
use rustls::ClientConfig;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use trunkline_kit::{secret, tls};

/// The way to the thread. What waits is bounded: of each channel one message is on its way.
pub struct Sender {
    sends: Option<UnboundedSender<Send>>,
    thread: Option<JoinHandle<()>>,
}

/// A channel with what its files hold.
pub struct Ready {
    pub channel: Channel,
    /// A password, or the value of an `Authorization` header field.
    pub secret: Option<String>,
    pub tls: Option<Arc<ClientConfig>>,
    /// Where reports are.
    pub shelf: Shelf,
}

/// Whether an attempt has come so far that its receiver may have the message.
#[derive(Debug, Default)]
pub struct Handed(AtomicBool);

impl Handed {
    /// From now on it may.
    pub fn over(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// What failed: it is in doubt if the receiver may have it.
    pub fn failed(&self, why: impl ToString) -> Outcomes {
        if self.is_over() { Outcomes::InDoubt(why.to_string()) } else { Outcomes::Failed(why.to_string()) }
    }
}

impl Sender {
    /// Reads the files of all channels and starts the thread; `tell` is told what came of each attempt.
    pub fn start(
        rules: &Rules,
        shelf: &Shelf,
        tell: impl Fn(String, Outcomes) + std::marker::Send + 'static,
    ) -> Result<Sender, Fault> {
        let mut channels = BTreeMap::new();
        for (name, channel) in &rules.channels {
            let ready = ready(channel, shelf).map_err(|why| Fault::Channel(name.clone(), why))?;
            channels.insert(name.clone(), ready);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Fault::Thread)?;
        let (sends, taken) = unbounded_channel();
        let run = move || {
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, serve(channels, taken, tell));
        };
        let thread = std::thread::Builder::new().name("alert-send".to_owned()).spawn(run).map_err(Fault::Thread)?;
        Ok(Sender { sends: Some(sends), thread: Some(thread) })
    }

    /// Makes an attempt.
    pub fn send(&self, send: Send) {
        // Where the thread has ended, the attempt is in doubt at the next start.
        if let Some(sends) = &self.sends {
            let _ended = sends.send(send);
        }
    }
}

/// What is on its way then is in doubt: the next start sees to it.
impl Drop for Sender {
    fn drop(&mut self) {
        self.sends = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

async fn serve(
    channels: BTreeMap<String, Ready>,
    mut taken: UnboundedReceiver<Send>,
    tell: impl Fn(String, Outcomes) + 'static,
) {
    let channels: BTreeMap<String, Rc<Ready>> =
        channels.into_iter().map(|(name, ready)| (name, Rc::new(ready))).collect();
    let tell = Rc::new(tell);
    while let Some(Send { message, .. }) = taken.recv().await {
        let Some(ready) = channels.get(&message.channel).map(Rc::clone) else {
            tell(message.id.clone(), Outcomes::GivenUp(format!("there is no channel '{}'", message.channel)));
            continue;
        };
        let tell = Rc::clone(&tell);
        tokio::task::spawn_local(async move {
            let came = attempt(&ready, &message).await;
            tell(message.id, came);
        });
    }
}

async fn attempt(ready: &Ready, message: &Message) -> Outcomes {
    let time = Duration::from_secs(u64::try_from(ready.channel.timeout_s).unwrap_or(1));
    if let Way::Command { command } = &ready.channel.way {
        return command::run(command, message, time).await;
    }
    let handed = Handed::default();
    let told = async {
        match &ready.channel.way {
            Way::Webhook { .. } => webhook::post(ready, message, &handed).await,
            Way::Mail { .. } => mail::send(ready, message, &handed).await,
            _ => syslog::send(ready, message, &handed).await,
        }
    };
    tokio::time::timeout(time, told).await.unwrap_or_else(|_| handed.failed("no answer in time"))
}

fn ready(channel: &Channel, shelf: &Shelf) -> Result<Ready, String> {
    let (secret, issuers, uses_tls) = match &channel.way {
        Way::Webhook { url, authorization_file, issuers, .. } => {
            (authorization_file.as_deref(), issuers.as_deref(), url.starts_with("https:"))
        }
        Way::Mail { password_file, issuers, security, .. } => {
            (password_file.as_deref(), issuers.as_deref(), *security != crate::rule::SecurityKind::None)
        }
        Way::Syslog { issuers, transport, .. } => (None, issuers.as_deref(), *transport == crate::rule::Transport::Tls),
        Way::Command { .. } => (None, None, false),
    };
    let file = |path: &Path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let issuers = issuers.map(file).transpose()?;
    let tls = uses_tls.then(|| tls::client(issuers.as_deref())).transpose()?;
    let (channel, secret, shelf) = (channel.clone(), secret.map(first_line).transpose()?, shelf.clone());
    Ok(Ready { channel, secret, tls, shelf })
}

fn first_line(path: &Path) -> Result<String, String> {
    let octets = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let line = secret::first_line(&octets).and_then(|line| core::str::from_utf8(line).ok());
    line.map(str::to_owned).ok_or_else(|| format!("{}: its first line is empty, or no text", path.display()))
}
