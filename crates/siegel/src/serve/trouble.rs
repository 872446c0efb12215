//! Why a part cannot start: a wrong command line (exit 2), or something that may pass (exit 1).

use std::fmt::Display;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;

use siegel_rekor::RekorError;
use siegel_translog::ProofError;
use tokio::net::TcpListener;

use crate::failure::Failure;

const ADDRESS: &str = "an address is 127.0.0.1:8090; port 0 takes any that is free";

/// Listens, and says where: a port of 0 is any free one.
pub(super) async fn listen(address: &str) -> Result<(TcpListener, SocketAddr), Failure> {
    let bad = |why: &dyn Display| bad_address(address, why);
    let mut addresses = tokio::net::lookup_host(address)
        .await
        .map_err(|why| bad(&why))?;
    let at = addresses
        .next()
        .ok_or_else(|| bad(&"it names no address"))?;
    let listener = TcpListener::bind(at)
        .await
        .map_err(|why| unheard(address, &why))?;
    let at = listener
        .local_addr()
        .map_err(|why| unheard(address, &why))?;
    Ok((listener, at))
}

pub(super) fn bad_address(address: &str, why: &dyn Display) -> Failure {
    let message = format!("cannot listen on {address:?}: {why}");
    Failure::usage("bad-address", "--listen", message, ADDRESS)
}

/// An address that is not this machine's is a wrong use; a port that somebody else has is none.
pub(super) fn unheard(address: &str, why: &std::io::Error) -> Failure {
    let help = match why.kind() {
        ErrorKind::AddrNotAvailable => return bad_address(address, why),
        ErrorKind::AddrInUse => {
            "another program holds the port: end it, or choose another with --listen"
        }
        _ => "choose another port with --listen; those below 1024 are the administrator's",
    };
    let message = format!("cannot listen on {address}: {why}");
    Failure::failed("cannot-listen", "--listen", message, help)
}

/// Which file or folder of a part could not be opened, and by which option it was named.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) part: &'static str,
    pub(super) option: &'static str,
    pub(super) path: &'a Path,
}

impl Opening<'_> {
    /// What the command line names and cannot be used is a wrong use; what another process holds, what
    /// is lost or damaged, and a full disk are not.
    pub(super) fn failed(self, why: RekorError) -> Failure {
        let Self { part, option, path } = self;
        let at = format!("{option} {}", path.display());
        let usage = |code: &str, help: &str| Failure::usage(code, &at, &why, help);
        match &why {
            RekorError::Key { .. } => usage(
                "bad-key",
                "name the key file that this command made, or a path where there is none: one is made there",
            ),
            RekorError::Io { .. } => usage(
                "cannot-open",
                "name a file in a folder that exists, and a folder that can be made: both must be readable \
                 and writable by you",
            ),
            RekorError::Proof(_) | RekorError::Request(_) => Failure::usage(
                "bad-name",
                "--name or --log",
                &why,
                "a name is one word without '+': w1.example.org",
            ),
            RekorError::OldFormat(_) => usage("old-format", "name another folder"),
            RekorError::StateLost { .. } | RekorError::KeyLost { .. } => Failure::failed(
                "state-lost",
                &at,
                &why,
                "choose a --key file and a --state folder that are not there yet",
            )
            .under("I1"),
            RekorError::NotOwn { why: form, .. }
                if matches!(
                    **form,
                    ProofError::CheckpointSignature { .. } | ProofError::Field { .. }
                ) =>
            {
                Failure::failed(
                    "damaged",
                    &at,
                    &why,
                    "is --key the key that this folder was made with? Else restore the folder",
                )
            }
            RekorError::NotOwn { .. } => Failure::failed(
                "damaged",
                &at,
                &why,
                "restore this file from a copy of the newest state",
            ),
            RekorError::Damaged(_) if part == "log" => Failure::failed(
                "damaged",
                &at,
                &why,
                "restore what it names from a copy of the newest state; nothing was changed here",
            ),
            RekorError::Damaged(_) => Failure::failed(
                "damaged",
                &at,
                &why,
                "is --name the name that it was made under? Else choose a --key file and a folder that are not \
                 there yet: an old copy would have forgotten what was seen since",
            ),
            _ => Failure::failed(&format!("serve-{part}"), &at, &why, ""),
        }
    }
}
