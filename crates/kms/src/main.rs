//! One node of the key service. It is started by a launcher, which hands over configuration and
//! placement on standard input; there are no arguments, since all nodes must measure alike.

use std::process::ExitCode;

use siegel_link::Net;

fn main() -> ExitCode {
    siegel_platform::run_node("siegel-kms", |platform| {
        siegel_kms::serve(platform, Net::new())
    })
}
