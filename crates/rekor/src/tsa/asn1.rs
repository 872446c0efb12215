//! The structures of RFC 3161 (section 2.4) and of the signing certificate attribute (RFC 5035).

use cms::content_info::ContentInfo;
use der::asn1::{BitString, GeneralizedTime, Int, ObjectIdentifier, OctetString};
use der::{Any, Sequence};
use x509_cert::ext::Extensions;
use x509_cert::spki::AlgorithmIdentifierOwned;

/// `id-ct-TSTInfo`.
pub(super) const TST_INFO: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.4");
/// `id-signedData`.
pub(super) const SIGNED_DATA: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
/// `id-contentType`.
pub(super) const CONTENT_TYPE: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");
/// `id-messageDigest`.
pub(super) const MESSAGE_DIGEST: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");
/// `id-signingTime`.
pub(super) const SIGNING_TIME: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.5");
/// `id-aa-signingCertificateV2`.
pub(super) const SIGNING_CERTIFICATE_V2: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.2.47");
/// `id-sha256`.
pub(super) const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
/// `id-sha384`.
pub(super) const SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.2");
/// `id-sha512`.
pub(super) const SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.3");
/// `ecdsa-with-SHA256`.
pub(super) const ECDSA_WITH_SHA256: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");
/// The policy that Sigstore's time stamp authorities state.
pub(super) const POLICY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.2");

/// What is stamped: a digest.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct MessageImprint {
    pub(super) hash_algorithm: AlgorithmIdentifierOwned,
    pub(super) hashed_message: OctetString,
}

/// `TimeStampReq`.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct TimeStampReq {
    pub(super) version: u8,
    pub(super) message_imprint: MessageImprint,
    #[asn1(optional = "true")]
    pub(super) req_policy: Option<ObjectIdentifier>,
    #[asn1(optional = "true")]
    pub(super) nonce: Option<Int>,
    #[asn1(default = "no")]
    pub(super) cert_req: bool,
    #[asn1(context_specific = "0", tag_mode = "IMPLICIT", optional = "true")]
    pub(super) extensions: Option<Extensions>,
}

/// `TimeStampResp`.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct TimeStampResp {
    pub(super) status: PkiStatusInfo,
    #[asn1(optional = "true")]
    pub(super) time_stamp_token: Option<ContentInfo>,
}

/// `PKIStatusInfo`; 0 is granted.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct PkiStatusInfo {
    pub(super) status: u8,
    #[asn1(optional = "true")]
    pub(super) status_string: Option<Vec<Any>>,
    #[asn1(optional = "true")]
    pub(super) fail_info: Option<BitString>,
}

/// `TSTInfo`, as far as a reply of ours has it. Others may end in a name and extensions.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct TstInfo {
    pub(super) version: u8,
    pub(super) policy: ObjectIdentifier,
    pub(super) message_imprint: MessageImprint,
    pub(super) serial_number: Int,
    pub(super) gen_time: GeneralizedTime,
    #[asn1(optional = "true")]
    pub(super) accuracy: Option<Accuracy>,
    #[asn1(default = "no")]
    pub(super) ordering: bool,
    #[asn1(optional = "true")]
    pub(super) nonce: Option<Int>,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    pub(super) tsa: Option<Any>,
    #[asn1(context_specific = "1", tag_mode = "IMPLICIT", optional = "true")]
    pub(super) extensions: Option<Extensions>,
}

/// `Accuracy`.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct Accuracy {
    #[asn1(optional = "true")]
    pub(super) seconds: Option<u64>,
    #[asn1(context_specific = "0", tag_mode = "IMPLICIT", optional = "true")]
    pub(super) millis: Option<u16>,
    #[asn1(context_specific = "1", tag_mode = "IMPLICIT", optional = "true")]
    pub(super) micros: Option<u16>,
}

/// `SigningCertificateV2`.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct SigningCertificateV2 {
    pub(super) certs: Vec<EssCertIdV2>,
}

/// `ESSCertIDv2` with its default hash, SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct EssCertIdV2 {
    pub(super) cert_hash: OctetString,
}

fn no() -> bool {
    false
}
