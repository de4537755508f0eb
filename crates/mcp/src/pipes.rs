//! Reads standard input and writes standard output without a helper thread, because passing data between threads takes
//! longer than a trivial call.
//!
//! Shells and Python start servers with pipes, Node with sockets. If the stream is a pipe, this process opens it a
//! second time, so that it becomes non-blocking only for this process. A socket cannot be opened a second time. It is
//! made non-blocking directly, which is safe because no other process writes to it. For anything else, such as a file,
//! a thread reads and writes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) enum PipeInput {
    Pipe(tokio::net::unix::pipe::Receiver),
    Socket(tokio::net::UnixStream),
    Thread(tokio::io::Stdin),
}

pub(super) enum PipeOutput {
    Pipe(tokio::net::unix::pipe::Sender),
    Socket(tokio::net::UnixStream),
    Thread(tokio::io::Stdout),
}

/// Returns standard input and output. The caller must be inside a Tokio runtime with I/O enabled.
pub(super) fn standard() -> (PipeInput, PipeOutput) {
    let input = direct::input().unwrap_or_else(|| PipeInput::Thread(tokio::io::stdin()));
    let output = direct::output().unwrap_or_else(|| PipeOutput::Thread(tokio::io::stdout()));
    (input, output)
}

mod direct {
    use std::fs::{File, OpenOptions};
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream;

    use tokio::net::unix::pipe;

    use super::{PipeInput, PipeOutput};

    enum FoundPipe {
        /// A pipe. The value is the path under which this process can open the pipe a second time.
        Pipe(&'static str),
        Socket(OwnedFd),
    }

    pub(super) fn input() -> Option<PipeInput> {
        match find(std::io::stdin().as_fd(), "/proc/self/fd/0")? {
            FoundPipe::Pipe(path) => {
                let file = File::open(path).ok()?;
                pipe::Receiver::from_owned_fd(file.into()).ok().map(PipeInput::Pipe)
            }
            FoundPipe::Socket(socket) => stream(socket).map(PipeInput::Socket),
        }
    }

    pub(super) fn output() -> Option<PipeOutput> {
        match find(std::io::stdout().as_fd(), "/proc/self/fd/1")? {
            FoundPipe::Pipe(path) => {
                let file = OpenOptions::new().write(true).open(path).ok()?;
                pipe::Sender::from_owned_fd(file.into()).ok().map(PipeOutput::Pipe)
            }
            FoundPipe::Socket(socket) => stream(socket).map(PipeOutput::Socket),
        }
    }

    fn find(stream: BorrowedFd<'_>, path: &'static str) -> Option<FoundPipe> {
        let own = stream.try_clone_to_owned().ok()?;
        let file = File::from(own);
        let kind = file.metadata().ok()?.file_type();
        if kind.is_socket() {
            return Some(FoundPipe::Socket(file.into()));
        }
        // Only Linux has paths for open pipes (`/proc/self/fd/0`). On other systems a thread reads and writes.
        (kind.is_fifo() && cfg!(target_os = "linux")).then_some(FoundPipe::Pipe(path))
    }

    fn stream(socket: OwnedFd) -> Option<tokio::net::UnixStream> {
        let socket = UnixStream::from(socket);
        socket.set_nonblocking(true).ok()?;
        tokio::net::UnixStream::from_std(socket).ok()
    }
}

impl AsyncRead for PipeInput {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(cx, buffer),
            Self::Socket(socket) => Pin::new(socket).poll_read(cx, buffer),
            Self::Thread(input) => Pin::new(input).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for PipeOutput {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_write(cx, bytes),
            Self::Socket(socket) => Pin::new(socket).poll_write(cx, bytes),
            Self::Thread(output) => Pin::new(output).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_flush(cx),
            Self::Socket(socket) => Pin::new(socket).poll_flush(cx),
            Self::Thread(output) => Pin::new(output).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_shutdown(cx),
            Self::Socket(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Thread(output) => Pin::new(output).poll_shutdown(cx),
        }
    }
}
