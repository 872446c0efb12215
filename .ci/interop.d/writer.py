"""Sigstore's Python client writes to a log and a time stamp authority. Its modules for that are not public, so their
version is pinned."""

import os

from cryptography.hazmat.primitives.asymmetric import ec
from sigstore import dsse
from sigstore._internal.rekor.client_v2 import RekorV2Client
from sigstore._internal.timestamp import TimestampAuthorityClient
from sigstore.models import Bundle

STATEMENT = b"""{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"artifact","digest":{"sha256":\
"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}}],"predicateType":"https://example.test/made/v1",\
"predicate":{"by":"a client of another project"}}"""


def write(url, authority, folder):
    """Yields what was written, and its bundle in a file. The second time everything is there already."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = authority.issue(key.public_key())
    log = RekorV2Client(url)
    stamps = TimestampAuthorityClient(url + "/api/v1/timestamp")
    envelope = dsse._sign(key, dsse.Statement(STATEMENT))
    indices = []
    for what in ("written by PyPI", "written again"):
        entry = log.create_entry(log._build_dsse_request(envelope, certificate))
        token = stamps.request_timestamp(envelope.signature)
        bundle = Bundle._from_parts(certificate, envelope, entry, [token])
        indices.append(entry._inner.log_index)
        path = os.path.join(folder, "written.sigstore.json")
        with open(path, "w") as out:
            out.write(bundle.to_json())
        yield what, path
    assert indices[0] == indices[1], indices
