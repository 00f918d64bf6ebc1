//! What is odd about SIP messages, a file each: `cargo run -p trunkline-wire --example sip_oddities FILE...` prints for
//! each its name, the gravest class and the names of the oddities, with tabs between them.

use std::path::Path;
use trunkline_wire::sip::{Class, Oddities, scan};

fn main() -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        let path = Path::new(&path);
        let octets = std::fs::read(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match scan(&octets, true) {
            Some(message) => {
                let odd = message.validate();
                println!("{name}\t{}\t{odd}", class(odd));
            }
            None => println!("{name}\tnot SIP\t"),
        }
    }
    Ok(())
}

fn class(odd: Oddities) -> &'static str {
    match odd.class() {
        None => "nothing odd",
        Some(Class::Note) => "note",
        Some(Class::Application) => "application",
        Some(Class::Transaction) => "transaction",
        Some(Class::Invalid) => "invalid",
    }
}
