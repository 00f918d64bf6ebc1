//! What `scripts/strip` leaves of a program: the code in one file, names and lines in another that is found by itself.

use std::backtrace::Backtrace;
use std::path::Path;
use std::process::{Command, Output};

/// Says to a copy of this test that it is to print where it is.
const ASKED: &str = "TRUNKLINE_TEST_BACKTRACE";
/// The sign that stands before and after the backtrace.
const SIGN: &str = "--backtrace--";

/// Run again, by a program without symbols.
#[test]
fn prints_where_it_is() {
    if std::env::var_os(ASKED).is_some() {
        println!("{SIGN}\n{}\n{SIGN}", Backtrace::force_capture());
    }
}

fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn backtrace(program: &Path) -> String {
    let mut command = Command::new(program);
    let output = output(command.args(["prints_where_it_is", "--nocapture"]).env(ASKED, "1"));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split(SIGN).nth(1).unwrap().to_owned()
}

#[test]
fn symbols_are_beside_the_program_and_are_found() {
    let strip = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/strip");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (program, symbols) = (folder.path().join("program"), folder.path().join("program.debug"));
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let whole = program.metadata().unwrap().len();
    // Built without debug information it has names and no lines.
    let place = if backtrace(&program).contains("stripped.rs:") { "stripped.rs:" } else { "" };
    output(Command::new(&strip).arg(&program));
    let stripped = program.metadata().unwrap().len();
    assert!(stripped < whole * 9 / 10 && symbols.metadata().unwrap().len() > whole / 10, "{stripped} of {whole}");
    let known = |text: &str| text.contains("prints_where_it_is") && text.contains(place);
    let text = backtrace(&program);
    assert!(known(&text), "{text}");
    // Once more changes nothing.
    output(Command::new(&strip).arg(&program));
    assert_eq!(program.metadata().unwrap().len(), stripped);
    // What a machine shows that has the program alone.
    std::fs::remove_file(&symbols).unwrap();
    let text = backtrace(&program);
    assert!(!text.contains("prints_where_it_is") && text.contains("<unknown>"), "{text}");
    // Its symbols cannot be had back: that is told.
    assert!(!Command::new(&strip).arg(&program).output().unwrap().status.success());
}
