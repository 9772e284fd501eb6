//! The reference pages of `hostcheck` and `simulation` in the book are what their command lines say.
//! `UPDATE_REFERENCE=1 cargo test -p simulation --test reference` writes them anew.

#![expect(clippy::disallowed_methods, reason = "the test reads and writes the pages")]

#[path = "../../../docs/command_line.rs"]
mod command_line;

#[test]
fn the_page_of_hostcheck() {
    let text = "# hostcheck\n\nThe commands of the judge of any MCP server. [Test your own server](../own-server.md) tells how they are \
                used. `cargo install --path scenarios/hostcheck` installs it, without a server of ours.\n\n";
    let page = command_line::commands(hostcheck::command::command_line());
    command_line::hold("hostcheck.md", &format!("{text}{page}"));
}

#[test]
fn the_page_of_the_simulation() {
    let text = "# simulation\n\nThe commands of the harness: those that play scenarios, and those of [hostcheck](hostcheck.md). [Scenarios \
                and seeds](../scenarios.md) tells how they are used. In a checkout `cargo run --release --` stands for `simulation`.\n\n";
    let page = command_line::commands(simulation::command::command_line());
    command_line::hold("simulation.md", &format!("{text}{page}"));
}
