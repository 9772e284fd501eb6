//! A server as a future of this program, for simulated runs: in-memory pipes, no process. A signal ends it at
//! once, as a crash does, or pauses it where it waits until another signal lets it continue; the server
//! itself never sees a signal.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use tokio::io::{DuplexStream, duplex};
use tokio::task::JoinHandle;

use super::drive::Server;
use super::effect::Signal;

/// Size of each pipe, in bytes: that of a Linux pipe.
const PIPE_BYTES: usize = 64 * 1024;

/// Whether a server is paused.
#[derive(Debug, Default)]
struct Hold {
    on: Cell<bool>,
    waiting: RefCell<Option<Waker>>,
}

impl Hold {
    fn set(&self, on: bool) {
        self.on.set(on);
        if !on && let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}

/// A future that is not polled while it is paused.
struct Held<S> {
    server: Pin<Box<S>>,
    hold: Rc<Hold>,
}

impl<S: Future> Future for Held<S> {
    type Output = S::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<S::Output> {
        if self.hold.on.get() {
            self.hold.waiting.replace(Some(context.waker().clone()));
            return Poll::Pending;
        }
        self.server.as_mut().poll(context)
    }
}

/// Runs a server's future on the current `LocalSet`; each spawn makes a new one.
#[derive(Debug)]
pub struct TaskServer<F> {
    serve: F,
    running: Option<JoinHandle<Option<i32>>>,
    hold: Rc<Hold>,
}

impl<F, S> TaskServer<F>
where
    F: FnMut(DuplexStream, DuplexStream) -> io::Result<S>,
    S: Future<Output = Option<i32>> + 'static,
{
    /// `serve` gets the server's input and output, and gives its exit code, if it has one.
    pub fn new(serve: F) -> Self {
        Self { serve, running: None, hold: Rc::default() }
    }
}

impl<F, S> Server for TaskServer<F>
where
    F: FnMut(DuplexStream, DuplexStream) -> io::Result<S>,
    S: Future<Output = Option<i32>> + 'static,
{
    type Out = DuplexStream;
    type In = DuplexStream;

    fn spawn(&mut self) -> io::Result<(DuplexStream, DuplexStream)> {
        let (host_in, server_in) = duplex(PIPE_BYTES);
        let (server_out, host_out) = duplex(PIPE_BYTES);
        let serve = (self.serve)(server_in, server_out)?;
        self.hold = Rc::default();
        let held = Held { server: Box::pin(serve), hold: Rc::clone(&self.hold) };
        self.running = Some(tokio::task::spawn_local(held));
        Ok((host_out, host_in))
    }

    fn signal(&mut self, signal: Signal) {
        match (signal, &self.running) {
            (Signal::Stop, _) => self.hold.set(true),
            (Signal::Continue, _) => self.hold.set(false),
            (Signal::Int | Signal::Term | Signal::Kill, Some(running)) => running.abort(),
            (Signal::Int | Signal::Term | Signal::Kill, None) => {}
        }
    }

    async fn exited(&mut self) -> Option<i32> {
        let Some(running) = &mut self.running else {
            return std::future::pending().await;
        };
        let code = match running.await {
            Ok(code) => code,
            // A panic is a fault of the server's code, not an exit that a host should handle.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => None,
        };
        self.running = None;
        code
    }
}

impl<F> Drop for TaskServer<F> {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.abort();
        }
    }
}
