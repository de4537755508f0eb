//! Everything a door needs, opened: the store, the desk, and where this machine's signs of life are kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::{ServerClock, SystemClock};
use crate::desk::{Desk, Surroundings};
use crate::digest::sha256;
use crate::error::Error;
use crate::live::LiveSessions;
use crate::place::{self, Place};
use crate::random;
use crate::service::Service;

/// Where processes of this machine show that they live.
const LIVE: &str = "live";

#[derive(Debug)]
pub struct Office {
    pub desk: Desk,
    pub place: Place,
    /// Where processes of this machine show that they live.
    pub live: PathBuf,
    /// Where this machine keeps its token and whatever else is its own.
    pub state: PathBuf,
    /// What opening changed, for a person.
    pub notes: Vec<String>,
}

/// Why an office could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum Closed {
    #[error(transparent)]
    Lost(#[from] place::Lost),
    #[error(transparent)]
    Foreign(#[from] place::ForeignStore),
    #[error("the folder of the store cannot be made")]
    Folder(#[source] std::io::Error),
    // Without its name: a URL may hold a password.
    #[error("open the store")]
    Store(#[source] store::Fault),
    #[error(transparent)]
    Random(#[from] Error),
    #[error("read the settings")]
    Settings(#[source] crate::trust::Untrusted),
}

impl Closed {
    /// Whether the settings name a store that nobody accepted.
    pub fn is_unaccepted(&self) -> bool {
        matches!(self, Self::Lost(place::Lost::Unaccepted(_)))
    }

    /// Whether a rule refused the store: a person accepts it, or names another one.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Lost(place::Lost::Unaccepted(_))
                | Self::Foreign(place::ForeignStore::Tracked { .. } | place::ForeignStore::Owner { .. })
        )
    }
}

/// Opens the store that is meant here; it is made on first use.
pub async fn open(named: Option<&str>) -> Result<Office, Closed> {
    let office = open_from(named, None).await?;
    for note in &office.notes {
        eprintln!("handover: {note}");
    }
    Ok(office)
}

/// The same, as if started in a folder.
pub async fn open_from(named: Option<&str>, folder: Option<&Path>) -> Result<Office, Closed> {
    let place = find_from(named, folder)?;
    let notes = place::judge(&place).await?;
    place::prepare(&place).map_err(Closed::Folder)?;
    let store = store::open(&place.store, random::store_seed()?).await.map_err(Closed::Store)?;
    let settings = match &place.root {
        Some(root) => crate::trust::basics(root, place::data_folder().as_deref()).map_err(Closed::Settings)?,
        None => crate::settings::Settings::default(),
    };
    let worktrees = settings.worktrees.as_ref().map(|path| match &place.root {
        Some(root) => root.join(path),
        None => path.clone(),
    });
    let state = state(&place);
    let live = live_sessions(&place, &state, &*store).await.map_err(Closed::Store)?;
    let clock = ServerClock::measured_by(&*store).await.map_err(Closed::Store)?;
    let surroundings = Surroundings {
        root: place.root.clone(),
        worktrees,
        state: Some(state.clone()),
        data: place::data_folder(),
        store: Some(crate::place::absolute(&place.store)),
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

/// The sessions of this host that use this store. Beside a file they lie in a folder named after it, so that all who open the
/// file meet, and only they: through a link, from a container, beside another store. All clones of a user that share a
/// server meet in the user's folder, under the name that the server gives the store.
async fn live_sessions(place: &Place, state: &Path, store: &dyn store::Store) -> Result<LiveSessions, store::Fault> {
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

/// A folder beside the store's file and named after it, where links lead to.
fn beside(store: &str, state: &Path) -> PathBuf {
    let file = std::fs::canonicalize(store.strip_prefix("sqlite:").unwrap_or(store)).ok();
    let parts = file.as_deref().and_then(|file| Some((file.parent()?, file.file_name()?)));
    // A store in memory has no file.
    parts.map_or_else(|| state.join(LIVE).join("memory"), |(folder, name)| folder.join(LIVE).join(name))
}

/// Where this user's store is, from here.
pub fn find(named: Option<&str>) -> Result<Place, Closed> {
    find_from(named, None)
}

/// The same, as if started in a folder.
pub fn find_from(named: Option<&str>, folder: Option<&Path>) -> Result<Place, Closed> {
    let folder = folder.map_or_else(std::env::current_dir, |folder| Ok(folder.to_owned())).map_err(Closed::Folder)?;
    let data = place::data_folder();
    Ok(place::find(place::Surroundings { named, folder: &folder, data: data.as_deref() })?)
}

/// Returns the folder in which each store's processes have a folder of their own, without opening the store.
pub fn live_folder(place: &Place) -> PathBuf {
    let state = state(place);
    if place.store.contains("://") {
        return place::data_folder().map_or(state, |data| data.join("handover")).join(LIVE);
    }
    let file = std::fs::canonicalize(place.store.strip_prefix("sqlite:").unwrap_or(&place.store)).ok();
    file.as_deref().and_then(Path::parent).unwrap_or(&state).join(LIVE)
}

/// A file's signs of life lie beside it, so that all who open it meet. Those of a server's lie with the project or the user.
fn state(place: &Place) -> PathBuf {
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
