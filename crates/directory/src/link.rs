//! A connection while it lives: one task that makes it, reads it and writes it.

use crate::connect::{Dial, Octets};
use crate::operation::Reply;
use crate::pool::Link;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use trunkline_wire::ldap::{Frames, Message, Request};

/// Octets that are read at once.
const READ_OCTETS: usize = 64 * 1024;
/// The identifier of the last request, which has no answer.
const LAST_ID: u32 = i32::MAX as u32;

/// What the engine is told of its connections.
pub(crate) enum Event {
    /// It is ready; what is to be written goes there. Its length is limited by the window of requests.
    Opened(Link, mpsc::UnboundedSender<Vec<u8>>),
    /// Responses came.
    Received(Link, Vec<(u32, Reply)>),
    /// It is no more, or did not come to be.
    Closed(Link, String),
}

/// Makes a connection within a time and serves it until it ends: when the peer ends or breaks it, or when nobody holds
/// its sender any more.
pub(crate) async fn serve(
    dial: Arc<Dial>,
    link: Link,
    connect_timeout: Duration,
    message_octets_max: usize,
    events: mpsc::Sender<Event>,
) {
    let why = match tokio::time::timeout(connect_timeout, dial.open()).await {
        Err(_) => "it was not ready in time".to_owned(),
        Ok(Err(why)) => why,
        Ok(Ok(stream)) => {
            let (sender, output) = mpsc::unbounded_channel();
            if events.send(Event::Opened(link, sender)).await.is_err() {
                return;
            }
            let (reading, writing) = tokio::io::split(stream);
            tokio::select! {
                why = read(reading, link, message_octets_max, &events) => why,
                why = write(writing, output) => why,
            }
        }
    };
    // Nobody listens any more when the engine has ended.
    let _ = events.send(Event::Closed(link, why)).await;
}

/// Reads until it cannot: why.
async fn read(
    mut stream: ReadHalf<Box<dyn Octets>>,
    link: Link,
    octets_max: usize,
    events: &mpsc::Sender<Event>,
) -> String {
    let mut octets = Vec::with_capacity(READ_OCTETS);
    loop {
        octets.reserve(READ_OCTETS / 4);
        match stream.read_buf(&mut octets).await {
            Ok(0) => return "it closed the connection".to_owned(),
            Ok(_) => {}
            Err(error) => return error.to_string(),
        }
        let mut replies = Vec::new();
        let wrong = cut(&mut octets, octets_max, &mut replies).err();
        if !replies.is_empty() && events.send(Event::Received(link, replies)).await.is_err() {
            return String::new();
        }
        if let Some(wrong) = wrong {
            return wrong;
        }
    }
}

/// Takes the whole messages off the front.
fn cut(octets: &mut Vec<u8>, octets_max: usize, replies: &mut Vec<(u32, Reply)>) -> Result<(), String> {
    let mut frames = Frames::new(octets, octets_max);
    while let Some(octets) = frames.next_message().map_err(|error| error.to_string())? {
        let message = Message::new(octets).map_err(|error| error.to_string())?;
        replies.push((message.id, Reply::of(message.response, octets.len())));
    }
    let taken = frames.taken();
    octets.drain(..taken);
    Ok(())
}

/// Writes what comes, all that waits at once, and says good-bye when no more comes.
async fn write(mut stream: WriteHalf<Box<dyn Octets>>, mut output: mpsc::UnboundedReceiver<Vec<u8>>) -> String {
    while let Some(mut octets) = output.recv().await {
        while let Ok(more) = output.try_recv() {
            octets.extend(more);
        }
        if let Err(error) = put(&mut stream, &octets).await {
            return error.to_string();
        }
    }
    let mut octets = Vec::new();
    Request::Unbind.write(LAST_ID, &mut octets);
    let ended = put(&mut stream, &octets).await.and(stream.shutdown().await);
    ended.map_or_else(|error| error.to_string(), |()| "it was closed here".to_owned())
}

async fn put(stream: &mut WriteHalf<Box<dyn Octets>>, octets: &[u8]) -> std::io::Result<()> {
    stream.write_all(octets).await?;
    stream.flush().await
}
