//! What the terminal can show: its width, colours, characters, and the person's time zone.

use jiff::tz::TimeZone;
use std::env;
use std::io::IsTerminal;

/// Columns that are assumed where there is no terminal to ask: a pipe or a file.
pub const WIDTH_WITHOUT_TERMINAL: usize = 120;
/// Narrower terminals are treated as this wide; lines then break where the terminal breaks them.
pub const WIDTH_MIN: usize = 60;

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What lines are made for.
#[derive(Clone, Debug)]
pub struct Terminal {
    /// Columns.
    pub width: usize,
    /// Lines; none where standard output is no terminal.
    pub height: Option<usize>,
    /// Whether styles are written.
    pub colour: bool,
    /// Whether the locale's character set is UTF-8; else everything is ASCII.
    pub unicode: bool,
    /// The zone that times are shown in.
    pub zone: TimeZone,
}

impl Terminal {
    /// That of standard output.
    pub fn of_stdout(colour: Colour) -> Self {
        let terminal = std::io::stdout().is_terminal();
        Terminal {
            width: width(),
            height: height(),
            colour: uses_colour(colour, terminal),
            unicode: is_utf8(),
            zone: TimeZone::system(),
        }
    }

    /// Chooses between a character and what stands for it in ASCII.
    pub fn glyph(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}

/// COLUMNS wins (tests and scripts set it), then the terminal, then a width for where there is none.
fn width() -> usize {
    let asked = env::var("COLUMNS").ok().and_then(|text| text.trim().parse::<usize>().ok()).filter(|n| *n > 0);
    // Behind `| head` or `| less` the output still ends on the terminal that standard error shows.
    let found = || {
        let size = terminal_size::terminal_size_of(std::io::stdout());
        let size = size.or_else(|| terminal_size::terminal_size_of(std::io::stderr()));
        size.map(|(terminal_size::Width(columns), _)| usize::from(columns)).filter(|n| *n > 0)
    };
    asked.or_else(found).unwrap_or(WIDTH_WITHOUT_TERMINAL).max(WIDTH_MIN)
}

fn height() -> Option<usize> {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map(|(_, terminal_size::Height(lines))| usize::from(lines)).filter(|n| *n > 0)
}

fn uses_colour(colour: Colour, terminal: bool) -> bool {
    match colour {
        Colour::Always => true,
        Colour::Never => false,
        // https://no-color.org: present and not empty.
        Colour::Auto => terminal && !is_set("NO_COLOR") && env::var("TERM").as_deref() != Ok("dumb"),
    }
}

fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// POSIX: the first of LC_ALL, LC_CTYPE and LANG that is set and not empty decides.
fn is_utf8() -> bool {
    let decides = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(|name| is_set(name));
    let locale = decides.and_then(|name| env::var(name).ok()).unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}
