//! Real tonic over TCP loopback and over pipes.

mod depot;
mod expiry;
mod purpose;
mod raw;
mod sessions;
mod world;
