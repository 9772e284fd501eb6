//! The reference page of `hostcheck` in the book is what its command line says.
//! `UPDATE_REFERENCE=1 cargo test -p hostcheck --test reference` writes it anew.

#![expect(clippy::disallowed_methods, reason = "the test reads and writes the page")]

#[path = "../../docs/command_line.rs"]
mod command_line;

#[test]
fn the_page_of_hostcheck() {
    let text = "# hostcheck\n\nThe commands of the harness. [Scenarios and seeds](../scenarios.md) and [Test your own \
                server](../own-server.md) tell how they are used. In a checkout `cargo run --release --` stands for `hostcheck`.\n\n";
    let page = command_line::commands(hostcheck::command::command_line());
    command_line::hold("hostcheck.md", &format!("{text}{page}"));
}
