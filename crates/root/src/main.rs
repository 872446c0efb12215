//! The measured root binary.

use siegel_link::Net;

fn main() -> std::process::ExitCode {
    siegel_platform::run_node("siegel-root", |platform| {
        siegel_root::serve(platform, Net::new())
    })
}
