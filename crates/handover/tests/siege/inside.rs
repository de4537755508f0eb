//! A server inside the test process with limits that the test chooses. So a test of a time limit need not wait a
//! minute.

use std::net::Ipv4Addr;
use std::sync::Arc;

use base::Service;
use base::ground::clock::{Clock, SystemClock};
use base::project::settings;
use engine::token::Scope;
use handover::desk::{Desk, DeskSurroundings};
use handover::http::{HttpLimits, ServeOptions, Site};
use handover::reception::Offer;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) const TOKEN: &str = "hnd_inside";
/// The secret of a token of scope `admin`. Its holder may create and revoke tokens.
pub(crate) const ADMIN: &str = "hnd_admin";

pub(crate) struct Inside {
    runtime: Runtime,
    pub(crate) port: u16,
    /// The service behind the server, with which a test changes the store.
    pub(crate) service: Service,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

impl Inside {
    pub(crate) fn start(limits: HttpLimits) -> Self {
        Self::start_at(limits, Arc::new(SystemClock))
    }

    /// Starts a server whose time is that of a clock.
    pub(crate) fn start_at(limits: HttpLimits, clock: Arc<dyn Clock>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (port, service, running) = runtime.block_on(async {
            let store = store::open("memory:", 1).await.unwrap();
            let service = Service::new(store, clock);
            let desk = Desk::new(service.clone(), DeskSurroundings::default());
            for (secret, scope) in [(TOKEN, Scope::Coordinator), (ADMIN, Scope::Admin)] {
                handover::token::keep(desk.service(), "siege", secret, scope, None).await.unwrap();
            }
            let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let wanted = ServeOptions { port: Some(port), offer: Offer::Full, limits };
            let site = Site::new(desk, &settings::ServeSettings::default(), &wanted);
            let stop = async move { drop(stopped.await) };
            (port, service, tokio::spawn(site.run(listener, stop)))
        });
        Self { runtime, port, service, stop: Some(stop), running: Some(running) }
    }

    /// Runs a future on the runtime of the server.
    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(running) = self.running.take() {
            let _ended = self.runtime.block_on(running);
        }
    }
}
