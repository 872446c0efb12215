"""A small certificate authority of the shape that Sigstore clients expect: an identity in the certificate, and the
signed certificate timestamp of a certificate log embedded in it. Keys live as long as the process."""

import base64
import datetime
import hashlib
import struct
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

IDENTITY = "https://example.test/policy-publisher"
ISSUER = "https://issuer.example.test"
START = "2024-01-01T00:00:00Z"


def b64(data):
    return base64.b64encode(data).decode()


def spki(key):
    return key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def name(common):
    return x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "interop test"),
                      x509.NameAttribute(NameOID.COMMON_NAME, common)])


class Authority:
    """A root, and the log of its certificates."""

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.log_key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.timezone.utc)
        public = self.key.public_key()
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        self.root = (x509.CertificateBuilder().subject_name(name("root")).issuer_name(name("root"))
                     .public_key(public).serial_number(x509.random_serial_number())
                     .not_valid_before(now - datetime.timedelta(hours=1))
                     .not_valid_after(now + datetime.timedelta(days=1))
                     .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
                     .add_extension(usage, critical=True)
                     .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
                     .sign(self.key, hashes.SHA256()))

    def issue(self, public):
        """A certificate for a key, valid from a minute ago for ten."""
        now = datetime.datetime.now(datetime.timezone.utc)
        usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
        issuer = ISSUER.encode()
        builder = (x509.CertificateBuilder().subject_name(x509.Name([])).issuer_name(self.root.subject)
                   .public_key(public).serial_number(x509.random_serial_number())
                   .not_valid_before(now - datetime.timedelta(minutes=1))
                   .not_valid_after(now + datetime.timedelta(minutes=10))
                   .add_extension(usage, critical=True)
                   .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
                   .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
                   .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
                   .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(IDENTITY)]), critical=True)
                   .add_extension(x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.57264.1.1"), issuer), critical=False)
                   .add_extension(x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.57264.1.8"),
                                                             bytes([0x0C, len(issuer)]) + issuer), critical=False))
        unlogged = builder.sign(self.key, hashes.SHA256()).tbs_certificate_bytes
        timestamps = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2"), self.logged(unlogged))
        return builder.add_extension(timestamps, critical=False).sign(self.key, hashes.SHA256())

    def logged(self, unlogged):
        """RFC 6962, section 3.2, as a DER octet string around the list of one."""
        millis = int(time.time() * 1000)
        signed = (bytes([0, 0]) + struct.pack(">QH", millis, 1) + hashlib.sha256(spki(self.key)).digest()
                  + len(unlogged).to_bytes(3, "big") + unlogged + bytes(2))
        signature = self.log_key.sign(signed, ec.ECDSA(hashes.SHA256()))
        timestamp = (bytes([0]) + hashlib.sha256(spki(self.log_key)).digest() + struct.pack(">QH", millis, 0)
                     + bytes([4, 3]) + struct.pack(">H", len(signature)) + signature)
        entry = struct.pack(">H", len(timestamp)) + timestamp
        entries = struct.pack(">H", len(entry)) + entry
        assert len(entries) < 256
        prefix = bytes([4, len(entries)]) if len(entries) < 128 else bytes([4, 0x81, len(entries)])
        return prefix + entries

    def add_to(self, root):
        """Puts the authority and its log into a trusted root."""
        certificate = {"rawBytes": b64(self.root.public_bytes(serialization.Encoding.DER))}
        root["certificateAuthorities"] = [{
            "subject": {"organization": "interop test", "commonName": "root"}, "uri": "https://ca.example.test",
            "certChain": {"certificates": [certificate]}, "validFor": {"start": START}}]
        public = spki(self.log_key)
        root["ctlogs"] = [{
            "baseUrl": "https://ct.example.test", "hashAlgorithm": "SHA2_256",
            "publicKey": {"rawBytes": b64(public), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": {"start": START}},
            "logId": {"keyId": b64(hashlib.sha256(public).digest())}}]
        return root
