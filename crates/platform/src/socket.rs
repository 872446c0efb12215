//! Messages on the launcher's socket: a u32 big-endian length, then the protobuf message.

use std::io::{Error, ErrorKind, Read, Result, Write};

use prost::Message;

/// Longest message, bytes. A start message is a few KiB, evidence at most 16 KiB.
pub const MAX_MESSAGE: usize = 1 << 20;

/// Sends one message.
pub fn write_message<M: Message>(mut to: impl Write, message: &M) -> Result<()> {
    let body = message.encode_to_vec();
    if body.len() > MAX_MESSAGE {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            "message too long for the launcher socket",
        ));
    }
    // One write, so that two messages never interleave inside one another.
    let mut framed = Vec::with_capacity(4 + body.len());
    framed.extend_from_slice(&(body.len() as u32).to_be_bytes());
    framed.extend_from_slice(&body);
    to.write_all(&framed)?;
    to.flush()
}

/// Receives one message; `None` if the other side has closed between two messages.
pub fn read_message<M: Message + Default>(mut from: impl Read) -> Result<Option<M>> {
    let mut length = [0u8; 4];
    let first = loop {
        match from.read(&mut length) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if first == 0 {
        return Ok(None);
    }
    let (_, rest) = length.split_at_mut(first);
    from.read_exact(rest)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_MESSAGE {
        let text = format!("message of {length} bytes, at most {MAX_MESSAGE} are allowed");
        return Err(Error::new(ErrorKind::InvalidData, text));
    }
    let mut body = vec![0u8; length];
    from.read_exact(&mut body)?;
    M::decode(body.as_slice())
        .map(Some)
        .map_err(|e| Error::new(ErrorKind::InvalidData, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use siegel_wire::v1;

    #[test]
    fn round_trip_and_clean_end() {
        let mut bytes = Vec::new();
        let sent = v1::Quote {
            evidence: vec![7; 300],
        };
        write_message(&mut bytes, &sent).unwrap();
        let mut from = bytes.as_slice();
        assert_eq!(read_message::<v1::Quote>(&mut from).unwrap(), Some(sent));
        assert_eq!(read_message::<v1::Quote>(&mut from).unwrap(), None);
    }

    // I14: catches an allocation of what a length prefix claims, and a cut message taken as an end.
    #[test]
    fn refuses_huge_and_cut_messages() {
        let huge = read_message::<v1::Quote>(&[0xff, 0xff, 0xff, 0xff, 0][..]).unwrap_err();
        assert_eq!(huge.kind(), ErrorKind::InvalidData);
        for cut in [&[0u8][..], &[0, 0, 0, 3, 10][..]] {
            let error = read_message::<v1::Quote>(cut).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        }
    }
}
