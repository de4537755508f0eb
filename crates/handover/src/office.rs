//! Opens everything that an interface (MCP, HTTP, command line) needs: the store, the `desk` that answers requests, and
//! the folder of live sessions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::desk::{Desk, DeskSurroundings};
use base::error::Error;
use base::ground::clock::{ServerClock, SystemClock};
use base::ground::digest::sha256;
use base::ground::random;
use base::live::LiveSessions;
use base::project::place::{self, StorePlace};
use base::service::Service;
use runner::claim::open::RunSite;

/// The folder in which the processes of this machine keep their session files, which show that they are alive.
const LIVE: &str = "live";

#[derive(Debug)]
pub struct Office {
    pub desk: Desk,
    pub place: StorePlace,
    /// The folder in which the processes of this machine keep their session files, which show that they are alive.
    pub live: PathBuf,
    /// The folder with the files that belong to this machine, such as its token.
    pub state: PathBuf,
    /// Messages for a person about changes that were made while the store was opened.
    pub notes: Vec<String>,
}

/// The reason why an [`Office`], the opened store with its folders, cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OfficeClosed {
    #[error(transparent)]
    Lost(#[from] place::Lost),
    #[error(transparent)]
    Foreign(#[from] place::ForeignStore),
    #[error("create the folder of the store")]
    Folder(#[source] std::io::Error),
    // The message leaves out the store's URL, because the URL may contain a password.
    #[error("open the store")]
    Store(#[source] store::Fault),
    #[error(transparent)]
    Random(#[from] Error),
    #[error("read the settings")]
    Settings(#[source] base::project::trust::Untrusted),
}

impl Office {
    /// Returns the service, the place of the store and the folders that a runner (a process that starts agents'
    /// programs) needs.
    pub fn run_site(&self) -> RunSite<'_> {
        RunSite { service: self.desk.service(), place: &self.place, state: &self.state, live: &self.live }
    }
}

impl OfficeClosed {
    /// Tells whether the settings name a store that no person has accepted on this machine.
    pub fn is_unaccepted(&self) -> bool {
        matches!(self, Self::Lost(place::Lost::Unaccepted(_)))
    }

    /// Tells whether a rule refused to open the store. Then a person must accept this store or name another one.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Lost(place::Lost::Unaccepted(_))
                | Self::Foreign(place::ForeignStore::Tracked { .. } | place::ForeignStore::Owner { .. })
        )
    }
}

/// Opens the store for the current folder, and creates the store on first use. If opening the store changed something,
/// prints notes about the changes to standard error.
pub async fn open(named: Option<&str>) -> Result<Office, OfficeClosed> {
    let office = open_from(named, None).await?;
    for note in &office.notes {
        eprintln!("handover: {note}");
    }
    Ok(office)
}

/// Opens the store as if the process was started in `folder`. Prints nothing.
pub async fn open_from(named: Option<&str>, folder: Option<&Path>) -> Result<Office, OfficeClosed> {
    let place = find_from(named, folder)?;
    let notes = place::judge(&place).await?;
    place::prepare(&place).map_err(OfficeClosed::Folder)?;
    let store = store::open(&place.store, random::store_seed()?).await.map_err(OfficeClosed::Store)?;
    let settings = match &place.root {
        Some(root) => {
            base::project::trust::basics(root, place::data_folder().as_deref()).map_err(OfficeClosed::Settings)?
        }
        None => base::project::settings::Settings::default(),
    };
    let worktrees = settings.worktrees.as_ref().map(|path| match &place.root {
        Some(root) => root.join(path),
        None => path.clone(),
    });
    let state = state(&place);
    let live = live_sessions(&place, &state, &*store).await.map_err(OfficeClosed::Store)?;
    let clock = ServerClock::measured_by(&*store).await.map_err(OfficeClosed::Store)?;
    let surroundings = DeskSurroundings {
        root: place.root.clone(),
        worktrees,
        state: Some(state.clone()),
        data: place::data_folder(),
        store: Some(base::project::place::absolute(&place.store)),
        binary: None,
    };
    let mut service = Service::new(store, Arc::new(SystemClock)).with_lifetimes(settings.approvals.lifetimes());
    if let Some(clock) = clock {
        service = service.with_server_clock(Arc::new(clock));
    }
    let folder = live.folder().to_owned();
    let desk = Desk::new(service.with_live(Arc::new(live)), surroundings);
    Ok(Office { desk, live: folder, state, place, notes })
}

/// Returns the sessions of this machine that use this store. For a store in a file, the session files are in
/// `live/NAME` in the folder of that file, where `NAME` is the name of the file. So exactly the processes that open the
/// same file see each other, also through a link or from a container. For a database server, the session files of all
/// the user's clones of the project are in the user's data folder, in a subfolder whose name comes from the identity
/// that the server gives to the store.
async fn live_sessions(
    place: &StorePlace,
    state: &Path,
    store: &dyn store::Store,
) -> Result<LiveSessions, store::Fault> {
    let shared = state.join(LIVE);
    let folder = match (store.server_identity().await?, place::data_folder()) {
        (Some(identity), data) => {
            let host = data.map_or_else(|| state.to_owned(), |data| data.join("handover"));
            host.join(LIVE).join(sha256(identity.as_bytes()))
        }
        (None, _) => beside(&place.store, state),
    };
    Ok(LiveSessions::new(folder, Some(shared)))
}

/// Returns the folder of the session files: `live/NAME` in the folder of the store's file, where `NAME` is the name of
/// that file. Symbolic links in the path of the store's file are followed first.
fn beside(store: &str, state: &Path) -> PathBuf {
    let file = std::fs::canonicalize(store.strip_prefix("sqlite:").unwrap_or(store)).ok();
    let parts = file.as_deref().and_then(|file| Some((file.parent()?, file.file_name()?)));
    // A store in memory has no file, so its folder is called `memory`.
    parts.map_or_else(|| state.join(LIVE).join("memory"), |(folder, name)| folder.join(LIVE).join(name))
}

/// Returns the store that applies in the current folder, without opening it.
pub fn find(named: Option<&str>) -> Result<StorePlace, OfficeClosed> {
    find_from(named, None)
}

/// Returns the store that applies in `folder`, without opening it.
pub fn find_from(named: Option<&str>, folder: Option<&Path>) -> Result<StorePlace, OfficeClosed> {
    let folder =
        folder.map_or_else(std::env::current_dir, |folder| Ok(folder.to_owned())).map_err(OfficeClosed::Folder)?;
    let data = place::data_folder();
    Ok(place::find(place::StartSurroundings { named, folder: &folder, data: data.as_deref() })?)
}

/// Returns the folder that contains one folder of session files per store. Does not open a store.
pub fn live_folder(place: &StorePlace) -> PathBuf {
    let state = state(place);
    if place.store.contains("://") {
        return place::data_folder().map_or(state, |data| data.join("handover")).join(LIVE);
    }
    let file = std::fs::canonicalize(place.store.strip_prefix("sqlite:").unwrap_or(&place.store)).ok();
    file.as_deref().and_then(Path::parent).unwrap_or(&state).join(LIVE)
}

/// Returns the folder of this machine's state files. For a store in a file it is the file's folder, so that all
/// processes that open the file share it. For a database server it is in the project or in the user's data folder.
fn state(place: &StorePlace) -> PathBuf {
    if !place.store.contains("://") && place.store != "memory:" {
        let file = Path::new(place.store.strip_prefix("sqlite:").unwrap_or(&place.store));
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        return std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    }
    match &place.root {
        Some(root) => root.join(place::FOLDER).join("state"),
        None => place::data_folder().map_or_else(std::env::temp_dir, |data| data.join("handover")),
    }
}
