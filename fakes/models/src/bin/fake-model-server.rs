//! A fake model server as a process: `fake-model-server SCRIPT.yaml [PORT]`. It says where it listens, and stays.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program for tests reads a file and prints"
)]

use std::process::ExitCode;

use fake_models::{Script, Server};
use tokio::runtime::Builder;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, port) = match arguments.as_slice() {
        [file] => (file, "0"),
        [file, port] => (file, port.as_str()),
        _ => return Err("give a script and, if it matters, a port".to_owned()),
    };
    let port = port.parse().map_err(|error| format!("{port} is no port: {error}"))?;
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let script = Script::parse(file, &text).map_err(|error| error.to_string())?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| format!("the asynchronous runtime could not be started: {error}"))?;
    runtime.block_on(async {
        let listening = fake_models::listen_at(&Server::new(script), port).await;
        let listening = listening.map_err(|error| format!("port {port}: {error}"))?;
        println!("{}", listening.base_url());
        std::future::pending().await
    })
}
