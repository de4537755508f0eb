//! Tests of the MCP server behind a pipe: the server with a toy backend runs in a thread with its own runtime,
//! connected by two sockets.

use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};

use mcp::serve_pipe;
use tokio_util::sync::CancellationToken;

use crate::toy::Toy;
use crate::transcript::PATIENCE;
use crate::transcript::{Server, play};

#[test]
fn openings() {
    play::<Pipe>(include_str!("transcripts/openings.txt"));
}

#[test]
fn malformed() {
    play::<Pipe>(include_str!("transcripts/malformed.txt"));
}

#[test]
fn sizes() {
    play::<Pipe>(include_str!("transcripts/sizes.txt"));
}

#[test]
fn service() {
    play::<Pipe>(include_str!("transcripts/service.txt"));
}

struct Pipe {
    stop: CancellationToken,
    told: mpsc::Receiver<String>,
    ended: mpsc::Receiver<()>,
}

impl Server for Pipe {
    type Input = UnixStream;
    type Output = UnixStream;

    fn start() -> (Self, UnixStream, UnixStream) {
        let (input, far_input) = UnixStream::pair().unwrap();
        let (output, far_output) = UnixStream::pair().unwrap();
        input.set_write_timeout(Some(PATIENCE)).unwrap();
        output.set_read_timeout(Some(PATIENCE)).unwrap();
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let [input, output] = [far_input, far_output].map(|stream| {
                    stream.set_nonblocking(true).unwrap();
                    tokio::net::UnixStream::from_std(stream).unwrap()
                });
                serve_pipe(Arc::new(Toy::new(tell)), input, output, stopped).await;
            });
            drop(runtime);
            let _given_up = end.send(());
        });
        (Self { stop, told, ended }, input, output)
    }

    /// Stops the server by its `stop` future and not by a real signal. So the signal handler is not tested here.
    fn signal(&self, name: &str) {
        assert!(matches!(name, "TERM" | "INT"), "what is {name}?");
        self.stop.cancel();
    }

    fn told(&mut self) -> Option<String> {
        self.told.recv_timeout(PATIENCE).ok()
    }

    /// Tells whether the server ended without a panic. A server thread that panics sends nothing.
    fn ended_well(self) -> bool {
        self.ended.recv_timeout(PATIENCE).is_ok()
    }
}
