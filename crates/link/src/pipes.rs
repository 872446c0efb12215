//! In-memory connections between the nodes of one process.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::DuplexStream;
use tokio::sync::mpsc;

use crate::PipeName;

/// Connections that wait to be accepted.
const BACKLOG: usize = 64;
/// Bytes in flight per direction.
const BUFFER: usize = 256 * 1024;

/// The pipes of one process, by name. Clones share them.
#[derive(Clone, Default)]
pub struct Pipes(Arc<Mutex<BTreeMap<PipeName, mpsc::Sender<DuplexStream>>>>);

impl Pipes {
    /// No pipes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts listening; the name is free again when the receiver is dropped.
    pub(crate) fn listen(&self, name: &PipeName) -> io::Result<mpsc::Receiver<DuplexStream>> {
        let mut pipes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pipes
            .get(name)
            .is_some_and(|listener| !listener.is_closed())
        {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let (sender, receiver) = mpsc::channel(BACKLOG);
        pipes.insert(name.clone(), sender);
        Ok(receiver)
    }

    /// Connects to the listener of this name.
    pub(crate) async fn connect(&self, name: &PipeName) -> io::Result<DuplexStream> {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let listener = {
            let pipes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            pipes.get(name).cloned().ok_or_else(refused)?
        };
        let (ours, theirs) = tokio::io::duplex(BUFFER);
        listener.send(theirs).await.map_err(|_| refused())?;
        Ok(ours)
    }
}
