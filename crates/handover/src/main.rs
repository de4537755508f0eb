//! Arguments in, exit code out.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(cli::run())) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("handover: {error:#}");
            // A wrong address or an unreadable file is the caller's to mend; a fault is not.
            match error.downcast_ref::<store::Fault>() {
                None | Some(store::Fault::Url { .. }) => ExitCode::from(2),
                Some(_) => ExitCode::from(3),
            }
        }
    }
}
