//! Real tonic over TCP loopback and over pipes.

mod depot;
mod sessions;
mod world;
