//! `trunkline charge load`: how fast a charging server answers, and whether it charges every octet once.

mod peer;

use super::server::Server;
use crate::failure::Failure;
use crate::output::stdout;
use crate::terminal::Terminal;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use trunkline_kit::exit::Exit;
use trunkline_wire::diameter::{Frames, Message, PORT};

/// How long connecting and the exchange of capabilities may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);

/// Play sessions against a charging server, and tell how fast and how right it answers
#[derive(Debug, clap::Args)]
pub struct Load {
    /// Whom to load: HOST or HOST:PORT
    #[arg(value_name = "ADDRESS")]
    target: Server,
    /// Origin-Realm of the clients
    #[arg(long, value_name = "REALM", default_value = "load.example")]
    realm: String,
}

impl Load {
    /// Asks the server for its capabilities.
    pub fn run(&self, _terminal: &Terminal) -> Result<Exit, Failure> {
        let failed = |e: std::io::Error| Failure::Failed(format!("{}: {e}", self.target));
        let mut socket = TcpStream::connect_timeout(&self.target.address(PORT)?, CONNECT_PATIENCE).map_err(failed)?;
        socket.set_read_timeout(Some(CONNECT_PATIENCE)).map_err(failed)?;
        let me = peer::Identity { host: format!("load-0.{}", self.realm), realm: self.realm.clone(), state: 1 };
        let mut octets = Vec::new();
        me.ask_capabilities(socket.local_addr().map_err(failed)?.ip(), 1, &mut octets);
        socket.write_all(&octets).map_err(failed)?;
        let mut room = [0; 4096];
        let length = socket.read(&mut room).map_err(failed)?;
        let told = Frames::new(&room[..length], length).next_message().ok().flatten();
        let answer = told.and_then(|octets| Message::new(octets).ok()).map(|message| peer::capabilities(&message));
        let server = answer.unwrap_or_else(|| Err("no answer of Diameter".to_owned()));
        let (host, realm) = server.map_err(|why| Failure::Failed(format!("{}: {why}", self.target)))?;
        writeln!(stdout(), "{host} of {realm}")?;
        Ok(Exit::Done)
    }
}
