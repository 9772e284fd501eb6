//! Wraps both kinds of server, a task and a process, in one type.

use std::io;

use futures_util::future::LocalBoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use super::drive::Server;
use super::effect::Signal;
use super::process::ProcessServer;
use super::task::TaskServer;

/// Makes the future of a server from its input and output; it resolves with the exit code, if there is one.
pub type Serve =
    Box<dyn FnMut(DuplexStream, DuplexStream) -> io::Result<LocalBoxFuture<'static, Option<i32>>>>;

/// A server that runs as a future in this thread or as a process.
pub enum AnyServer {
    /// A future.
    Task(TaskServer<Serve>),
    /// A process.
    Process(Box<ProcessServer>),
}

impl AnyServer {
    /// The end of what the server wrote to stderr; empty for a future.
    pub fn stderr(&self) -> String {
        match self {
            Self::Task(_) => String::new(),
            Self::Process(server) => server.stderr(),
        }
    }
}

impl From<ProcessServer> for AnyServer {
    fn from(server: ProcessServer) -> Self {
        Self::Process(Box::new(server))
    }
}

impl From<Serve> for AnyServer {
    fn from(serve: Serve) -> Self {
        Self::Task(TaskServer::new(serve))
    }
}

impl Server for AnyServer {
    type Out = Box<dyn AsyncRead + Unpin>;
    type In = Box<dyn AsyncWrite + Unpin>;

    fn spawn(&mut self) -> io::Result<(Self::Out, Self::In)> {
        match self {
            Self::Task(server) => {
                let (output, input) = server.spawn()?;
                Ok((Box::new(output), Box::new(input)))
            }
            Self::Process(server) => {
                let (output, input) = server.spawn()?;
                Ok((Box::new(output), Box::new(input)))
            }
        }
    }

    fn signal(&mut self, signal: Signal) {
        match self {
            Self::Task(server) => server.signal(signal),
            Self::Process(server) => server.signal(signal),
        }
    }

    async fn exited(&mut self) -> Option<i32> {
        match self {
            Self::Task(server) => server.exited().await,
            Self::Process(server) => server.exited().await,
        }
    }
}
