//! Everything a door needs, opened: the store, the desk, and where this machine's signs of life are kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::SystemClock;
use crate::desk::{Desk, Surroundings};
use crate::error::Error;
use crate::place::{self, Place};
use crate::random;
use crate::service::Service;

#[derive(Debug)]
pub struct Office {
    pub desk: Desk,
    pub place: Place,
    /// Where processes of this machine show that they live.
    pub live: PathBuf,
    /// Where this machine keeps its token and whatever else is its own.
    pub state: PathBuf,
}

/// Why an office could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum Closed {
    #[error(transparent)]
    Lost(#[from] place::Lost),
    #[error("the folder of the store cannot be made")]
    Folder(#[source] std::io::Error),
    // Without its name: a URL may hold a password.
    #[error("open the store")]
    Store(#[source] store::Fault),
    #[error(transparent)]
    Random(#[from] Error),
    #[error("read the settings")]
    Settings(#[source] crate::settings::Unreadable),
}

/// Opens the store that is meant here; it is made on first use.
pub async fn open(named: Option<&str>) -> Result<Office, Closed> {
    let place = find(named)?;
    place::prepare(&place).map_err(Closed::Folder)?;
    let store = store::open(&place.store, random::store_seed()?).await.map_err(Closed::Store)?;
    let settings = crate::settings::read(place.root.as_deref()).map_err(Closed::Settings)?;
    let worktrees = settings.worktrees.as_ref().map(|path| match &place.root {
        Some(root) => root.join(path),
        None => path.clone(),
    });
    let state = state(&place);
    let surroundings = Surroundings {
        root: place.root.clone(),
        worktrees,
        state: Some(state.clone()),
        data: data_folder(),
        store: Some(crate::runner::open::absolute(&place.store)),
        binary: None,
    };
    let desk = Desk::new(Service::new(store, Arc::new(SystemClock)), surroundings);
    Ok(Office { desk, live: state.join("live"), state, place })
}

/// Where this user's store is, from here.
pub fn find(named: Option<&str>) -> Result<Place, Closed> {
    let folder = std::env::current_dir().map_err(Closed::Folder)?;
    let data = data_folder();
    Ok(place::find(place::Surroundings { named, folder: &folder, data: data.as_deref() })?)
}

/// The user's data folder, when there is one.
pub fn data_folder() -> Option<PathBuf> {
    let data = std::env::var_os("XDG_DATA_HOME").filter(|data| !data.is_empty()).map(PathBuf::from);
    data.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share")))
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
        None => data_folder().map_or_else(std::env::temp_dir, |data| data.join("handover")),
    }
}
