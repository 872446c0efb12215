//! RFC 3161 timestamp tokens: whose, about what, and when. The CMS signature is left to the second
//! opinion; what it does not look at is checked here.

use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use siegel_ident::Timestamp;

use crate::certificate::Certificate;
use crate::der::{INTEGER, OCTETS, OID, Reader, SEQUENCE, SET};
use crate::error::BundleError;

const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 2];
const TST_INFO: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 16, 1, 4];
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 3];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 4];
/// 2.16.840.1.101.3.4.2, to which 1, 2 or 3 is added for SHA-256, SHA-384 or SHA-512.
const SHA2: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2];
/// 1.2.840.10045.4.3, to which 2, 3 or 4 is added for ECDSA with the same.
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];

/// A token, read. Nothing is verified but its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// When it was made.
    pub(crate) time: Timestamp,
    imprint_hash: &'a [u8],
    imprint: &'a [u8],
    signer: SignerInfo<'a>,
    /// Certificates that came with it, DER. Not used, but whose they are is checked.
    certificates: Vec<&'a [u8]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SignerInfo<'a> {
    /// Issuer (DER) and serial number of the signer's certificate, if it is named by them.
    named: Option<(&'a [u8], &'a [u8])>,
    /// OID of the hash that is signed.
    hash: &'a [u8],
}

impl<'a> Token<'a> {
    /// Reads a `TimeStampResp` that was granted, or the token alone. Exactly one signer, with ECDSA
    /// over the one stated hash; among the signed attributes exactly one content type, that of a
    /// timestamp, and one message digest.
    ///
    /// # Errors
    /// [`BundleError::Token`].
    pub(crate) fn parse(der: &'a [u8]) -> Result<Self, BundleError> {
        let malformed = |what| move || BundleError::Token(what);
        let content_info = content_info(der).ok_or_else(malformed("not a granted response"))?;
        let mut rest = signed_data(content_info).ok_or_else(malformed("not CMS signed data"))?;
        let hash = stated_hash(&mut rest).ok_or_else(malformed("expected exactly one hash"))?;
        let info = encapsulated(&mut rest).ok_or_else(malformed("no TSTInfo inside"))?;
        let certificates =
            certificates(&mut rest).ok_or_else(malformed("its certificates are malformed"))?;
        let signer = one_signer(rest)
            .filter(|signer| signer.hash == hash)
            .ok_or_else(malformed(
                "expected exactly one signer, with ECDSA over the stated hash, and one content type and \
                 one message digest signed",
            ))?;
        let (time, imprint_hash, imprint) =
            tst_info(info).ok_or_else(malformed("the TSTInfo is malformed"))?;
        Ok(Self {
            time,
            imprint_hash,
            imprint,
            signer,
            certificates,
        })
    }

    /// Checks that it is about `signature`.
    ///
    /// # Errors
    /// [`BundleError::Imprint`], and [`BundleError::Token`] for another hash than SHA-2.
    pub(crate) fn check_imprint(&self, signature: &[u8]) -> Result<(), BundleError> {
        let algorithm: &'static Algorithm = match self.imprint_hash.strip_prefix(SHA2) {
            Some([1]) => &SHA256,
            Some([2]) => &SHA384,
            Some([3]) => &SHA512,
            _ => return Err(BundleError::Token("the imprint's hash is not SHA-2")),
        };
        match digest(algorithm, signature).as_ref() == self.imprint {
            true => Ok(()),
            false => Err(BundleError::Imprint),
        }
    }

    /// Whether it names the first certificate of `chain`, which is `leaf`, and brought no other
    /// certificates than those of `chain`. One that names its signer by key identifier may be of any.
    pub(crate) fn may_be_of(&self, leaf: &Certificate<'_>, chain: &[Vec<u8>]) -> bool {
        let named = self.signer.named;
        let known = |der: &&[u8]| chain.iter().any(|of_chain| of_chain == der);
        named.is_none_or(|named| named == (leaf.issuer, leaf.serial))
            && self.certificates.iter().all(known)
    }
}

fn content_info(der: &[u8]) -> Option<Reader<'_>> {
    let mut outer = Reader::new(der).last(SEQUENCE)?.reader();
    let Some(status) = outer.expect(SEQUENCE) else {
        return Some(outer);
    };
    let granted = status.reader().expect(INTEGER)?.content;
    matches!(granted, [0 | 1]).then_some(())?;
    Some(outer.last(SEQUENCE)?.reader())
}

fn signed_data(mut content_info: Reader<'_>) -> Option<Reader<'_>> {
    (content_info.expect(OID)?.content == SIGNED_DATA).then_some(())?;
    let mut explicit = content_info.last(0xa0)?.reader();
    Some(explicit.last(SEQUENCE)?.reader())
}

/// Version 3, as it must be for a content that is not plain data, and one hash.
fn stated_hash<'a>(signed_data: &mut Reader<'a>) -> Option<&'a [u8]> {
    (signed_data.expect(INTEGER)?.content == [3]).then_some(())?;
    let mut algorithms = signed_data.expect(SET)?.reader();
    let mut algorithm = algorithms.last(SEQUENCE)?.reader();
    Some(algorithm.expect(OID)?.content)
}

fn encapsulated<'a>(signed_data: &mut Reader<'a>) -> Option<&'a [u8]> {
    let mut content = signed_data.expect(SEQUENCE)?.reader();
    (content.expect(OID)?.content == TST_INFO).then_some(())?;
    let mut explicit = content.last(0xa0)?.reader();
    Some(explicit.last(OCTETS)?.content)
}

fn certificates<'a>(signed_data: &mut Reader<'a>) -> Option<Vec<&'a [u8]>> {
    let mut found = Vec::new();
    if let Some(list) = signed_data.expect(0xa0) {
        let mut list = list.reader();
        while !list.is_empty() {
            found.push(list.expect(SEQUENCE)?.whole);
        }
    }
    Some(found)
}

fn one_signer(mut signed_data: Reader<'_>) -> Option<SignerInfo<'_>> {
    let mut signers = signed_data.last(SET)?.reader();
    let mut signer = signers.last(SEQUENCE)?.reader();
    let version = signer.expect(INTEGER)?.content;
    let named = match signer.expect(SEQUENCE) {
        Some(name) => {
            let mut name = name.reader();
            let issuer = name.expect(SEQUENCE)?.whole;
            Some((issuer, name.last(INTEGER)?.content))
        }
        None => {
            signer.expect(0x80)?;
            None
        }
    };
    let right = if named.is_some() { [1] } else { [3] };
    (version == right).then_some(())?;
    let hash = signer.expect(SEQUENCE)?.reader().expect(OID)?.content;
    check_attributes(signer.expect(0xa0)?.reader())?;
    let algorithm = signer.expect(SEQUENCE)?.reader().expect(OID)?.content;
    let fits = match (algorithm.strip_prefix(ECDSA), hash.strip_prefix(SHA2)) {
        (Some([ecdsa @ 2..=4]), Some([hash])) => *ecdsa == hash.saturating_add(1),
        _ => false,
    };
    fits.then_some(SignerInfo { named, hash })
}

/// CMS, section 11: each of the two exactly once, with exactly one value.
fn check_attributes(mut attributes: Reader<'_>) -> Option<()> {
    let (mut types, mut digests) = (0, 0);
    while !attributes.is_empty() {
        let mut attribute = attributes.expect(SEQUENCE)?.reader();
        let name = attribute.expect(OID)?.content;
        let mut values = attribute.last(SET)?.reader();
        if name == CONTENT_TYPE {
            (values.last(OID)?.content == TST_INFO).then_some(())?;
            types += 1;
        } else if name == MESSAGE_DIGEST {
            values.last(OCTETS)?;
            digests += 1;
        }
    }
    (types == 1 && digests == 1).then_some(())
}

/// Time, and the imprint with its hash.
fn tst_info(der: &[u8]) -> Option<(Timestamp, &[u8], &[u8])> {
    let mut info = Reader::new(der).last(SEQUENCE)?.reader();
    (info.expect(INTEGER)?.content == [1]).then_some(())?;
    info.expect(OID)?;
    let mut imprint = info.expect(SEQUENCE)?.reader();
    let mut algorithm = imprint.expect(SEQUENCE)?.reader();
    let hash = algorithm.expect(OID)?.content;
    let imprint = imprint.last(OCTETS)?.content;
    info.expect(INTEGER)?;
    Some((info.time()?, hash, imprint))
}
