//! Where a process listens.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// `127.0.0.1:1234`, or `pipe:kms-1` inside one process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endpoint {
    /// A TCP address. Port 0 lets the system choose when listening.
    Tcp(SocketAddr),
    /// A pipe of this process.
    Pipe(PipeName),
}

/// The name of a pipe: 1 to 64 letters, digits, `-` or `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PipeName(String);

/// A text that is no endpoint.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an endpoint: expected \"127.0.0.1:1234\" or \"pipe:name\", got {0:?}")]
pub struct EndpointParseError(String);

impl FromStr for Endpoint {
    type Err = EndpointParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("pipe:") {
            Some(name) => name.parse().map(Self::Pipe),
            None => text.parse().map(Self::Tcp).map_err(|_| shown(text)),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Pipe(name) => write!(f, "pipe:{}", name.0),
        }
    }
}

impl FromStr for PipeName {
    type Err = EndpointParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let good = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if (1..=64).contains(&text.len()) && text.bytes().all(good) {
            Ok(Self(text.to_owned()))
        } else {
            Err(shown(text))
        }
    }
}

fn shown(text: &str) -> EndpointParseError {
    EndpointParseError(text.chars().take(80).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        for good in ["127.0.0.1:80", "[::1]:0", "pipe:kms-1"] {
            assert_eq!(good.parse::<Endpoint>().unwrap().to_string(), good);
        }
        for bad in [
            "",
            "pipe:",
            "pipe:a b",
            "pipe:a/b",
            "localhost:80",
            "127.0.0.1",
            "kms-1",
        ] {
            assert!(bad.parse::<Endpoint>().is_err(), "{bad}");
        }
    }
}
