//! Arguments in, exit code out.

mod begin;
mod check;
mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("handover: {error:#}");
            // A wrong address or an unreadable file is the caller's to mend; a fault is not.
            match error.chain().find_map(|cause| cause.downcast_ref::<store::Fault>()) {
                None | Some(store::Fault::Url { .. }) => ExitCode::from(2),
                Some(_) => ExitCode::from(3),
            }
        }
    }
}
