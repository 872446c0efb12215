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
/// 2.16.840.1.101.3.4.2, to which 1, 2 or 3 is added.
const SHA2: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2];

/// A token, read. Nothing is verified but its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// When it was made.
    pub(crate) time: Timestamp,
    imprint_hash: &'a [u8],
    imprint: &'a [u8],
    /// Issuer (DER) and serial number of the signer's certificate, if it is named by them.
    signer: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> Token<'a> {
    /// Reads a `TimeStampResp` that was granted, or the token alone. Exactly one signer; among the
    /// signed attributes exactly one content type, that of a timestamp, and one message digest.
    ///
    /// # Errors
    /// [`BundleError::Token`].
    pub(crate) fn parse(der: &'a [u8]) -> Result<Self, BundleError> {
        let malformed = |what| move || BundleError::Token(what);
        let content_info = content_info(der).ok_or_else(malformed("not a granted response"))?;
        let mut signed_data =
            signed_data(content_info).ok_or_else(malformed("not CMS signed data"))?;
        let info = encapsulated(&mut signed_data).ok_or_else(malformed("no TSTInfo inside"))?;
        let signer = one_signer(signed_data).ok_or_else(malformed(
            "expected exactly one signer, with one content type and one message digest signed",
        ))?;
        let mut token = tst_info(info).ok_or_else(malformed("the TSTInfo is malformed"))?;
        token.signer = signer;
        Ok(token)
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

    /// Whether `authority` is the certificate that the token names. One that names it by key
    /// identifier may be of any.
    pub(crate) fn may_be_of(&self, authority: &Certificate<'_>) -> bool {
        self.signer
            .is_none_or(|signer| signer == (authority.issuer, authority.serial))
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

fn encapsulated<'a>(signed_data: &mut Reader<'a>) -> Option<&'a [u8]> {
    signed_data.expect(INTEGER)?;
    signed_data.expect(SET)?;
    let mut content = signed_data.expect(SEQUENCE)?.reader();
    (content.expect(OID)?.content == TST_INFO).then_some(())?;
    let mut explicit = content.last(0xa0)?.reader();
    Some(explicit.last(OCTETS)?.content)
}

type Named<'a> = Option<(&'a [u8], &'a [u8])>;

fn one_signer(mut signed_data: Reader<'_>) -> Option<Named<'_>> {
    // Certificates and revocation lists inside are not used.
    let _ = signed_data.expect(0xa0);
    let _ = signed_data.expect(0xa1);
    let mut signers = signed_data.last(SET)?.reader();
    let mut signer = signers.last(SEQUENCE)?.reader();
    signer.expect(INTEGER)?;
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
    signer.expect(SEQUENCE)?;
    check_attributes(signer.expect(0xa0)?.reader())?;
    Some(named)
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

fn tst_info(der: &[u8]) -> Option<Token<'_>> {
    let mut info = Reader::new(der).last(SEQUENCE)?.reader();
    (info.expect(INTEGER)?.content == [1]).then_some(())?;
    info.expect(OID)?;
    let mut imprint = info.expect(SEQUENCE)?.reader();
    let mut algorithm = imprint.expect(SEQUENCE)?.reader();
    let imprint_hash = algorithm.expect(OID)?.content;
    let imprint = imprint.last(OCTETS)?.content;
    info.expect(INTEGER)?;
    let time = info.time()?;
    Some(Token {
        time,
        imprint_hash,
        imprint,
        signer: None,
    })
}
