//! The two messages inside the handshake. Binary, length-prefixed, nothing optional.

use siegel_attest::{CHALLENGE_LEN, EVIDENCE_MAX, KEM_KEY_MAX, Role};
use siegel_ident::ClusterId;
use siegel_ident::lp::{Reader, Writer};

use crate::SessionError;

const VERSION: u8 = 1;

/// Most bytes of evidence that a proof carries: reports of real TEEs bring certificates and
/// collateral along.
pub(crate) const CARRIED_MAX: usize = 128 * 1024;
/// Most bytes of an [`Auth`]. A peer that is not authenticated yet makes us hold no more (I14).
pub(crate) const PROOF_MAX: usize = 4 + CARRIED_MAX + 64;

const _: () = assert!(
    EVIDENCE_MAX <= CARRIED_MAX,
    "a proof must carry any evidence"
);

/// Who a side says it is, and its challenge to the other. Proved by [`Auth`].
pub(crate) struct Hello {
    pub(crate) role: Role,
    /// Present only from a KMS node that has been founded.
    pub(crate) deployment: Option<ClusterId>,
    pub(crate) signing_key: [u8; 32],
    pub(crate) kem_key: Vec<u8>,
    pub(crate) challenge: [u8; CHALLENGE_LEN],
}

impl Hello {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        Writer::new()
            .u8(VERSION)
            .u8(role_to_u8(self.role))
            .bytes(
                self.deployment
                    .as_ref()
                    .map_or(&[], |id| id.as_bytes().as_slice()),
            )
            .fixed(&self.signing_key)
            .bytes(&self.kem_key)
            .fixed(&self.challenge)
            .finish()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, SessionError> {
        let mut r = Reader::new(bytes);
        if r.u8("version")? != VERSION {
            return Err(SessionError::Field { field: "version" });
        }
        let role = role_from_u8(r.u8("role")?).ok_or(SessionError::Field { field: "role" })?;
        let deployment = match r.bytes("deployment", siegel_ident::Digest::LEN)? {
            [] => None,
            id => Some(ClusterId::try_from_slice(id).ok_or(SessionError::Field {
                field: "deployment",
            })?),
        };
        let signing_key = r.array("signing_key")?;
        let kem_key = r.bytes("kem_key", KEM_KEY_MAX)?.to_vec();
        let challenge = r.array("challenge")?;
        r.finish()?;
        if deployment.is_some() && role != Role::KmsPeer {
            return Err(SessionError::Field {
                field: "deployment",
            });
        }
        if kem_key.len() < 3 {
            return Err(SessionError::Field { field: "kem_key" });
        }
        Ok(Self {
            role,
            deployment,
            signing_key,
            kem_key,
            challenge,
        })
    }
}

/// The proof of a [`Hello`]: evidence (empty if vouched) and a signature over this channel.
pub(crate) struct Auth {
    pub(crate) evidence: Vec<u8>,
    pub(crate) signature: [u8; 64],
}

impl Auth {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        Writer::new()
            .bytes(&self.evidence)
            .fixed(&self.signature)
            .finish()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, SessionError> {
        let mut r = Reader::new(bytes);
        let evidence = r.bytes("evidence", CARRIED_MAX)?.to_vec();
        let signature = r.array("signature")?;
        r.finish()?;
        Ok(Self {
            evidence,
            signature,
        })
    }
}

fn role_to_u8(role: Role) -> u8 {
    match role {
        // Never on a session: `Identity::new` refuses it, and `role_from_u8` does not know 0.
        Role::KmsBundle => 0,
        Role::KmsPeer => 1,
        Role::Root => 2,
        Role::Worker => 3,
    }
}

fn role_from_u8(byte: u8) -> Option<Role> {
    match byte {
        1 => Some(Role::KmsPeer),
        2 => Some(Role::Root),
        3 => Some(Role::Worker),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hello() -> Hello {
        Hello {
            role: Role::KmsPeer,
            deployment: Some(ClusterId::from_bytes([1; 32])),
            signing_key: [2; 32],
            kem_key: vec![0, 2, 3],
            challenge: [4; 32],
        }
    }

    // I14: every cut and every extra byte; and what parses has one spelling.
    #[test]
    fn i14_strict() {
        let bytes = hello().to_bytes();
        assert_eq!(
            Hello::parse(&bytes).map(|h| h.to_bytes()).ok(),
            Some(bytes.clone())
        );
        for cut in 0..bytes.len() {
            assert!(Hello::parse(&bytes[..cut]).is_err());
        }
        assert!(Hello::parse(&[&bytes[..], &[0]].concat()).is_err());
        let mut wrong = bytes.clone();
        wrong[0] = 2;
        assert!(matches!(
            Hello::parse(&wrong),
            Err(SessionError::Field { field: "version" })
        ));
        for role in [0, 4, 255] {
            wrong = bytes.clone();
            wrong[1] = role;
            assert!(matches!(
                Hello::parse(&wrong),
                Err(SessionError::Field { field: "role" })
            ));
        }
        // Only a KMS node has a cluster of its own.
        let workload = Hello {
            role: Role::Worker,
            ..hello()
        }
        .to_bytes();
        assert!(matches!(
            Hello::parse(&workload),
            Err(SessionError::Field {
                field: "deployment"
            })
        ));
        let short = Hello {
            kem_key: vec![0, 2],
            ..hello()
        }
        .to_bytes();
        assert!(matches!(
            Hello::parse(&short),
            Err(SessionError::Field { field: "kem_key" })
        ));
        let long = Hello {
            kem_key: vec![0; KEM_KEY_MAX + 1],
            ..hello()
        }
        .to_bytes();
        assert!(matches!(Hello::parse(&long), Err(SessionError::Shape(_))));
        let auth = Auth {
            evidence: vec![0; CARRIED_MAX + 1],
            signature: [0; 64],
        }
        .to_bytes();
        assert!(matches!(Auth::parse(&auth), Err(SessionError::Shape(_))));
        let auth = Auth {
            evidence: vec![5; 9],
            signature: [6; 64],
        }
        .to_bytes();
        assert_eq!(
            Auth::parse(&auth).map(|a| a.to_bytes()).ok(),
            Some(auth.clone())
        );
        for cut in 0..auth.len() {
            assert!(Auth::parse(&auth[..cut]).is_err());
        }
        assert!(Auth::parse(&[&auth[..], &[0]].concat()).is_err());
    }

    proptest! {
        #[test]
        fn i14_hostile_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(hello) = Hello::parse(&bytes) {
                prop_assert_eq!(hello.to_bytes(), bytes.clone());
            }
            if let Ok(auth) = Auth::parse(&bytes) {
                prop_assert_eq!(auth.to_bytes(), bytes);
            }
        }
    }
}
