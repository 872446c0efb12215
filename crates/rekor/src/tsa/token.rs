//! Tokens: signed by an authority, and read again by whoever asked for one.

use std::time::Duration;

use cms::cert::{CertificateChoices, IssuerAndSerialNumber};
use cms::content_info::{CmsVersion, ContentInfo};
use cms::signed_data::{
    CertificateSet, EncapsulatedContentInfo, SignedData, SignerIdentifier, SignerInfo, SignerInfos,
};
use der::asn1::{GeneralizedTime, Int, OctetString, SetOfVec, Uint};
use der::{Any, Decode as _, Encode, Tag};
use siegel_ident::{Digest, Timestamp};
use x509_cert::Certificate;
use x509_cert::attr::Attribute;
use x509_cert::spki::AlgorithmIdentifierOwned;

use super::asn1::{
    Accuracy, CONTENT_TYPE, EssCertIdV2, MESSAGE_DIGEST, MessageImprint, POLICY, PkiStatusInfo,
    SHA256, SIGNED_DATA, SIGNING_CERTIFICATE_V2, SIGNING_TIME, SigningCertificateV2, TST_INFO,
    TimeStampReq, TimeStampResp, TstInfo,
};
use super::certificate::{ecdsa_with_sha256, time};
use super::query::{Query, bad};
use crate::error::RekorError;
use crate::signer::PolicySigner;

/// The DER of a reply that grants `query` the time `now`, under the key of `leaf`.
pub(super) fn reply(
    query: &Query,
    now: Timestamp,
    serial: &[u8],
    signer: &PolicySigner,
    leaf: &Certificate,
) -> Result<Vec<u8>, RekorError> {
    let info = tst_info(query, now, serial).map_err(failed)?;
    let attributes = signed_attributes(&info, now, leaf).map_err(failed)?;
    // Signed as a SET OF, whatever tag they carry in the message (RFC 5652, section 5.4).
    let signature = signer.sign_bytes(&attributes.to_der().map_err(failed)?)?;
    let reply = || -> der::Result<Vec<u8>> {
        let signed = signed_data(query, &info, attributes, &signature, leaf)?;
        let token = ContentInfo {
            content_type: SIGNED_DATA,
            content: Any::encode_from(&signed)?,
        };
        TimeStampResp {
            status: PkiStatusInfo {
                status: 0,
                status_string: None,
                fail_info: None,
            },
            time_stamp_token: Some(token),
        }
        .to_der()
    };
    reply().map_err(failed)
}

fn tst_info(query: &Query, now: Timestamp, serial: &[u8]) -> der::Result<Vec<u8>> {
    TstInfo {
        version: 1,
        policy: POLICY,
        message_imprint: query.imprint.clone(),
        serial_number: Int::from(Uint::new(serial)?),
        gen_time: GeneralizedTime::from_unix_duration(Duration::from_secs(now.0))?,
        accuracy: Some(Accuracy {
            seconds: Some(1),
            millis: None,
            micros: None,
        }),
        ordering: false,
        nonce: query.nonce.clone(),
        tsa: None,
        extensions: None,
    }
    .to_der()
}

fn signed_attributes(
    info: &[u8],
    now: Timestamp,
    leaf: &Certificate,
) -> der::Result<SetOfVec<Attribute>> {
    let attribute = |oid, value: Any| -> der::Result<Attribute> {
        let values = SetOfVec::try_from(vec![value])?;
        Ok(Attribute { oid, values })
    };
    let octets = |digest: Digest| OctetString::new(digest.as_bytes().as_slice());
    let signing = SigningCertificateV2 {
        certs: vec![EssCertIdV2 {
            cert_hash: octets(Digest::of(&leaf.to_der()?))?,
        }],
    };
    SetOfVec::try_from(vec![
        attribute(CONTENT_TYPE, Any::encode_from(&TST_INFO)?)?,
        attribute(SIGNING_TIME, Any::encode_from(&time(now)?)?)?,
        attribute(
            MESSAGE_DIGEST,
            Any::encode_from(&octets(Digest::of(info))?)?,
        )?,
        attribute(SIGNING_CERTIFICATE_V2, Any::encode_from(&signing)?)?,
    ])
}

fn signed_data(
    query: &Query,
    info: &[u8],
    attributes: SetOfVec<Attribute>,
    signature: &[u8],
    leaf: &Certificate,
) -> der::Result<SignedData> {
    let certificates = match query.certificate {
        true => {
            let only = vec![CertificateChoices::Certificate(leaf.clone())];
            Some(CertificateSet(SetOfVec::try_from(only)?))
        }
        false => None,
    };
    let signer = SignerInfo {
        version: CmsVersion::V1,
        sid: SignerIdentifier::IssuerAndSerialNumber(IssuerAndSerialNumber {
            issuer: leaf.tbs_certificate.issuer.clone(),
            serial_number: leaf.tbs_certificate.serial_number.clone(),
        }),
        digest_alg: sha256(),
        signed_attrs: Some(attributes),
        signature_algorithm: ecdsa_with_sha256(),
        signature: OctetString::new(signature)?,
        unsigned_attrs: None,
    };
    Ok(SignedData {
        version: CmsVersion::V3,
        digest_algorithms: SetOfVec::try_from(vec![sha256()])?,
        encap_content_info: EncapsulatedContentInfo {
            econtent_type: TST_INFO,
            econtent: Some(Any::new(Tag::OctetString, info)?),
        },
        certificates,
        crls: None,
        signer_infos: SignerInfos(SetOfVec::try_from(vec![signer])?),
    })
}

/// The DER of a request to stamp `message`, with the certificate in the token.
pub(crate) fn query(message: &[u8], nonce: [u8; 8]) -> Result<Vec<u8>, RekorError> {
    let request = || -> der::Result<Vec<u8>> {
        TimeStampReq {
            version: 1,
            message_imprint: imprint(message)?,
            req_policy: None,
            nonce: Some(Int::from(Uint::new(&nonce)?)),
            cert_req: true,
            extensions: None,
        }
        .to_der()
    };
    request().map_err(failed)
}

/// Checks that a reply grants what [`query`] asked, and returns the time in it. Its signature is
/// for whoever pins the authority.
///
/// # Errors
/// [`RekorError::Timestamp`]: not granted, no token, other bytes or another nonce in it (I2).
pub(crate) fn check_reply(
    reply: &[u8],
    message: &[u8],
    nonce: [u8; 8],
) -> Result<Timestamp, RekorError> {
    let broken = |e: der::Error| bad(&format!("not a TimeStampResp in DER: {e}"));
    let reply = TimeStampResp::from_der(reply).map_err(broken)?;
    if reply.status.status > 1 {
        return Err(bad("the authority did not grant it"));
    }
    let token = reply.time_stamp_token.ok_or_else(|| bad("no token"))?;
    if token.content_type != SIGNED_DATA {
        return Err(bad("the token is not signed data"));
    }
    let signed: SignedData = token.content.decode_as().map_err(broken)?;
    let content = signed.encap_content_info;
    let info = content.econtent.ok_or_else(|| bad("an empty token"))?;
    if content.econtent_type != TST_INFO {
        return Err(bad("the token holds no TSTInfo"));
    }
    let info = TstInfo::from_der(info.value()).map_err(broken)?;
    let (stamped, wanted) = (info.message_imprint, imprint(message).map_err(broken)?);
    if stamped.hash_algorithm.oid != SHA256 || stamped.hashed_message != wanted.hashed_message {
        return Err(bad("it stamps other bytes than the sent ones"));
    }
    let nonce = Uint::new(&nonce).map(Int::from).map_err(broken)?;
    if info.nonce != Some(nonce) {
        return Err(bad("it has another nonce than the sent one"));
    }
    Ok(Timestamp(info.gen_time.to_unix_duration().as_secs()))
}

fn imprint(message: &[u8]) -> der::Result<MessageImprint> {
    Ok(MessageImprint {
        hash_algorithm: sha256(),
        hashed_message: OctetString::new(Digest::of(message).as_bytes().as_slice())?,
    })
}

fn sha256() -> AlgorithmIdentifierOwned {
    AlgorithmIdentifierOwned {
        oid: SHA256,
        parameters: None,
    }
}

fn failed(why: der::Error) -> RekorError {
    RekorError::Authority(format!("a token could not be made: {why}"))
}
