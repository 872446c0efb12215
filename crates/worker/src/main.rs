//! The measured worker binary.

use siegel_link::Net;

fn main() -> std::process::ExitCode {
    siegel_platform::run_node("siegel-worker", |platform| {
        siegel_worker::serve(platform, Net::new())
    })
}
