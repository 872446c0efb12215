//! Real tonic over TCP loopback and over pipes.

mod depot;
mod purpose;
mod raw;
mod sessions;
mod world;
