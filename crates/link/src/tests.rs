//! Real tonic over TCP loopback and over pipes.

mod depot;
mod expiry;
mod purpose;
mod raw;
mod relay;
mod roles;
mod sessions;
mod stale;
mod world;
