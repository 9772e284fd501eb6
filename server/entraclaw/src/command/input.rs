//! The input of a session, which ends when the host closes it or when this process is asked to stop.
//! So both ends take the same way, on which open streams get their answers. It must never end for another reason.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// A reader that ends early once `stop` is ready.
pub(super) struct Input<R> {
    reader: R,
    /// Taken when it was ready, for a future must not be polled again after that.
    stop: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl<R> Input<R> {
    pub(super) fn new(reader: R, stop: impl Future<Output = ()> + 'static) -> Self {
        Self { reader, stop: Some(Box::pin(stop)) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stops = self.stop.as_mut().is_none_or(|stop| stop.as_mut().poll(context).is_ready());
        if stops {
            self.stop = None;
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.reader).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_was_read_before_the_stop_is_kept_and_the_end_stays() {
        let (stop, stopped) = oneshot::channel::<()>();
        let (mut host, pipe) = tokio::io::duplex(64);
        let mut input = Input::new(pipe, async {
            let _ = stopped.await;
        });
        let mut chunk = [0; 8];
        tokio::io::AsyncWriteExt::write_all(&mut host, b"a line").await.unwrap();
        assert_eq!(input.read(&mut chunk).await.unwrap(), 6);
        let waits = tokio::time::timeout(std::time::Duration::from_millis(1), input.read(&mut chunk)).await;
        assert!(waits.is_err(), "an open pipe without a line is no end");
        stop.send(()).unwrap();
        assert_eq!(input.read(&mut chunk).await.unwrap(), 0);
        assert_eq!(input.read(&mut chunk).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_closed_pipe_ends_it_without_a_stop() {
        let (host, pipe) = tokio::io::duplex(64);
        drop(host);
        let mut input = Input::new(pipe, std::future::pending());
        assert_eq!(input.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
