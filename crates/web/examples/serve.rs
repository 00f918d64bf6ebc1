//! Serves a data folder on an address, without a capture: `cargo run -p trunkline-web --example serve -- DATA
//! [ADDRESS]`.

use std::error::Error;
use std::io;
use trunkline_web::{Mode, Options, Server, Sources};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let data = arguments.next().ok_or("which data folder?")?;
    let mut options = Options::new(&data, Mode::Open);
    if let Some(address) = arguments.next() {
        options.listen = address.parse()?;
    }
    let handle = Server::bind(options)?.serve(Sources::of_store(format!("{data}/store")))?;
    println!("{}", handle.link().unwrap_or_else(|| handle.url()));
    println!("Enter ends it.");
    io::stdin().read_line(&mut String::new())?;
    handle.stop();
    Ok(())
}
