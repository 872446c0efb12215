//! Small secrets on a session, sealed to the receiver's per-boot key on top of the session's own
//! encryption, so that suite 2 protects them against a recorder of the Noise channel.

use rand_core::CryptoRng;
use siegel_ident::lp::{Reader, Writer};
use siegel_ident::{SecretBytes, Transcript};

use crate::{KemPrivate, KemPublic, OpenError, SealError, Suite, kem, stream};

/// The most plaintext bytes of one box.
pub const MAX_BOX: usize = 16 * 1024 * 1024;

const VERSION: u8 = 1;

/// Length in bytes of the box of `len` bytes of plaintext: it depends on nothing else (I12).
pub const fn sealed_box_len(suite: Suite, len: usize) -> usize {
    1 + 2 + 4 + suite.enc_len() + 4 + len + stream::TAG
}

/// Seals `plaintext` to `to`. It opens only under the same `info`.
///
/// Layout (LP): version u8, suite u16, encapsulated key, ciphertext.
pub fn seal_box(
    rng: &mut impl CryptoRng,
    to: &KemPublic,
    info: &Transcript,
    plaintext: &[u8],
) -> Result<Vec<u8>, SealError> {
    if plaintext.len() > MAX_BOX {
        return Err(SealError::TooLong {
            len: plaintext.len() as u64,
            max: MAX_BOX as u64,
        });
    }
    let info = hpke_info(to.suite(), info);
    let wrapped = kem::seal(rng, to, info.as_bytes(), |_| Vec::new(), plaintext)?;
    Ok(Writer::new()
        .u8(VERSION)
        .u16(to.suite().number())
        .bytes(&wrapped.enc)
        .bytes(&wrapped.ciphertext)
        .finish())
}

/// Opens a box that was sealed to this key under this `info`.
pub fn open_box(
    key: &KemPrivate,
    info: &Transcript,
    bytes: &[u8],
) -> Result<SecretBytes, OpenError> {
    let mut r = Reader::new(bytes);
    let version = r.u8("version")?;
    if version != VERSION {
        return Err(OpenError::Version {
            got: version,
            known: VERSION,
        });
    }
    let number = r.u16("suite")?;
    let suite = Suite::from_number(number).ok_or(OpenError::UnknownSuite(number))?;
    if suite != key.suite() {
        return Err(OpenError::WrongSuite {
            expected: key.suite(),
            got: suite,
        });
    }
    let enc = r.bytes("encapsulated key", suite.enc_len())?;
    let ciphertext = r.bytes("ciphertext", MAX_BOX + stream::TAG)?;
    r.finish()?;
    kem::open(key, enc, hpke_info(suite, info).as_bytes(), &[], ciphertext)
}

fn hpke_info(suite: Suite, info: &Transcript) -> Transcript {
    Transcript::new("siegel/sealed-box/v1")
        .u64(suite.number().into())
        .field(info.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive_kem;
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;
    use siegel_ident::{RunId, Secret};

    use crate::grant::{GrantRole, grant_info};

    fn pair(seed: u8, suite: Suite) -> (KemPrivate, KemPublic) {
        derive_kem(suite, &Secret::new([seed; 32]))
    }

    fn boxed(suite: Suite, info: &Transcript, plaintext: &[u8]) -> Vec<u8> {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        seal_box(&mut rng, &pair(1, suite).1, info, plaintext).unwrap()
    }

    #[test]
    fn round_trip_and_size() {
        let info = Transcript::new("siegel/test/v1");
        for suite in [Suite::X25519, Suite::XWing] {
            for len in [0, 1, 1000] {
                let sealed = boxed(suite, &info, &vec![7; len]);
                assert_eq!(sealed.len(), sealed_box_len(suite, len));
                let opened = open_box(&pair(1, suite).0, &info, &sealed).unwrap();
                assert!(opened.expose() == vec![7; len]);
            }
        }
    }

    // I3: catches a grant that opens for another run, role or receiver.
    #[test]
    fn a_box_opens_only_for_what_it_was_made_for() {
        let run = RunId::from_bytes([1; 16]);
        let infos = [
            grant_info(run, GrantRole::Root, b"key"),
            grant_info(run, GrantRole::Worker, b"key"),
            grant_info(run, GrantRole::Root, b"kex"),
            grant_info(RunId::from_bytes([2; 16]), GrantRole::Root, b"key"),
        ];
        let (key, _) = pair(1, Suite::XWing);
        for (i, made_for) in infos.iter().enumerate() {
            let sealed = boxed(Suite::XWing, made_for, b"x");
            for (j, asked_for) in infos.iter().enumerate() {
                assert_eq!(
                    open_box(&key, asked_for, &sealed).is_ok(),
                    i == j,
                    "{i} {j}"
                );
            }
        }
        let sealed = boxed(Suite::XWing, &infos[0], b"x");
        let error = open_box(&pair(2, Suite::XWing).0, &infos[0], &sealed).err();
        assert_eq!(error, Some(OpenError::NotAuthentic));
    }

    #[test]
    fn flips_cuts_and_extra_bytes_are_refused() {
        let info = Transcript::new("siegel/test/v1");
        let (key, _) = pair(1, Suite::X25519);
        let sealed = boxed(Suite::X25519, &info, b"secret");
        for at in 0..sealed.len() {
            for flip in [0x01, 0x80] {
                let mut bad = sealed.clone();
                bad[at] ^= flip;
                assert!(open_box(&key, &info, &bad).is_err(), "byte {at}");
            }
            assert!(open_box(&key, &info, &sealed[..at]).is_err(), "cut to {at}");
        }
        let long = [sealed, vec![0]].concat();
        assert!(matches!(
            open_box(&key, &info, &long),
            Err(OpenError::Header(_))
        ));
    }

    // Suite 2 too: in X-Wing every byte of the ciphertext is bound.
    #[test]
    fn flips_in_the_encapsulated_key_of_x_wing_are_refused() {
        let info = Transcript::new("siegel/test/v1");
        let (key, _) = pair(1, Suite::XWing);
        let sealed = boxed(Suite::XWing, &info, b"secret");
        for at in 0..sealed.len() {
            let mut bad = sealed.clone();
            bad[at] ^= 0x80;
            assert!(open_box(&key, &info, &bad).is_err(), "byte {at}");
        }
    }

    proptest! {
        // I14.
        #[test]
        fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let info = Transcript::new("siegel/test/v1");
            prop_assert!(open_box(&pair(1, Suite::X25519).0, &info, &bytes).is_err());
        }
    }
}
