//! Ports that are chosen before the processes start: the members of a Raft group must know each
//! other's addresses at birth.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

use crate::FleetError;

/// Below the range from which Linux takes the ports of outgoing connections (32768 and up): nothing
/// takes such a port by accident between our look and the child's bind.
const FROM: u16 = 20_000;
const TO: u16 = 29_999;

/// A TCP port of 127.0.0.1 that is free now. Each call gives another one; several fleets on one
/// machine start at different places.
pub fn free_port() -> Result<u16, FleetError> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let span = TO - FROM + 1;
    let offset = (std::process::id() % u32::from(span)) as u16;
    for _ in 0..span {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) % span;
        // 37 is coprime to the span: neighbours by pid do not walk side by side.
        let at = (u32::from(offset) * 37 + u32::from(step)) % u32::from(span);
        let port = FROM + at as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(FleetError::NoPort { from: FROM, to: TO })
}
