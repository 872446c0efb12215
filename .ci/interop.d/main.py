"""Real Sigstore clients over what `siegel` publishes, at log sizes 1, 7 and 700; and a real client that writes."""

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

import writer
from authority import IDENTITY, ISSUER, Authority
from log import Log

SIZES = (1, 7, 700)
passed, failed = 0, 0


def check(what, good, said=""):
    global passed, failed
    passed, failed = passed + good, failed + (not good)
    print("%-6s %s" % ("ok" if good else "FAILED", what), flush=True)
    if not good:
        print(said.strip()[-2000:], flush=True)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    return done.returncode == 0, done.stdout + done.stderr


def accepts(what, *command):
    good, said = run(*command)
    check(what + ": accepted", good, said)


def refuses(what, *command):
    good, said = run(*command)
    check(what + ": refused", not good, said)


def bent(bundle, folder):
    """The bundle with one byte of the signed statement changed."""
    value = json.load(open(bundle))
    payload = bytearray(base64.b64decode(value["dsseEnvelope"]["payload"]))
    payload[len(payload) // 2] ^= 1
    value["dsseEnvelope"]["payload"] = base64.b64encode(payload).decode()
    path = os.path.join(folder, "bent.sigstore.json")
    json.dump(value, open(path, "w"))
    return path


def untimed(bundle, folder):
    """The bundle with the last byte of its token, a signature, changed."""
    value = json.load(open(bundle))
    tokens = value["verificationMaterial"]["timestampVerificationData"]["rfc3161Timestamps"]
    token = bytearray(base64.b64decode(tokens[0]["signedTimestamp"]))
    token[-1] ^= 1
    tokens[0]["signedTimestamp"] = base64.b64encode(token).decode()
    path = os.path.join(folder, "untimed.sigstore.json")
    json.dump(value, open(path, "w"))
    return path


def public(pem, path):
    """The public key of a private one, in a file."""
    key = serialization.load_pem_private_key(open(pem, "rb").read(), None).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    with open(path, "wb") as out:
        out.write(key.public_bytes(serialization.Encoding.PEM, form))
    return path


def private(path):
    """A new private key, in a file."""
    key = ec.generate_private_key(ec.SECP256R1())
    with open(path, "wb") as out:
        out.write(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                    serialization.NoEncryption()))
    return key


class Clients:
    def __init__(self, args):
        self.args = args
        known, _ = run(args.siegel, "verify-bundle", "--help")
        self.own = known
        # The script reads a key in any case; a bundle with a certificate has no use for it.
        self.unused_key = None

    def key_flavour(self, what, bundle, key, other, root, artifact, folder):
        """A managed key: npm's client, and ours."""
        script = os.path.join(self.args.scripts, "verify_bundle.mjs")
        npm = (self.args.node, script, self.args.modules)
        accepts(what + ", npm", *npm, root, key, bundle)
        refuses(what + ", npm, another key", *npm, root, other, bundle)
        refuses(what + ", npm, a changed byte", *npm, root, key, bent(bundle, folder))
        refuses(what + ", npm, a changed time stamp", *npm, root, key, untimed(bundle, folder))
        if self.own:
            own = (self.args.siegel, "verify-bundle", "--trusted-root", root)
            accepts(what + ", siegel", *own, "--bundle", bundle, "--key", key, artifact)
            refuses(what + ", siegel, another key", *own, "--bundle", bundle, "--key", other, artifact)
            refuses(what + ", siegel, a changed byte", *own, "--bundle", bent(bundle, folder), "--key", key, artifact)

    def certificate_flavour(self, what, bundle, root, artifact, folder):
        """A certificate: PyPI's client, npm's, and ours."""
        script = os.path.join(self.args.scripts, "verify_bundle.py")
        pypi = (sys.executable, script, root)
        accepts(what + ", PyPI", *pypi, IDENTITY, ISSUER, bundle)
        refuses(what + ", PyPI, another identity", *pypi, IDENTITY + "x", ISSUER, bundle)
        refuses(what + ", PyPI, a changed byte", *pypi, IDENTITY, ISSUER, bent(bundle, folder))
        refuses(what + ", PyPI, a changed time stamp", *pypi, IDENTITY, ISSUER, untimed(bundle, folder))
        script = os.path.join(self.args.scripts, "verify_bundle.mjs")
        npm = (self.args.node, script, self.args.modules, root, self.unused_key)
        accepts(what + ", npm", *npm, bundle)
        refuses(what + ", npm, a changed byte", *npm, bent(bundle, folder))
        if self.own and artifact:
            own = (self.args.siegel, "verify-bundle", "--trusted-root", root, "--certificate-oidc-issuer", ISSUER)
            accepts(what + ", siegel", *own, "--certificate-identity", IDENTITY, "--bundle", bundle, artifact)
            refuses(what + ", siegel, another identity", *own, "--certificate-identity", IDENTITY + "x",
                    "--bundle", bundle, artifact)


def published(args, policy, log, folder, key, *more):
    bundle = os.path.join(folder, "policy.sigstore.json")
    good, said = run(args.siegel, "policy", "publish", policy, "--log", log.url, "--key", key, "--log-key", log.key(),
                     "--out", bundle, "--proof", os.path.join(folder, "policy.proof.json"), "--force", "--json", *more)
    if not good:
        raise SystemExit("siegel policy publish: " + said)
    return bundle, json.load(open(bundle))["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]["treeSize"]


def main():
    parser = argparse.ArgumentParser()
    for name in ("siegel", "node", "modules", "scripts", "run", "work"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    args.siegel = os.path.abspath(args.siegel)
    clients, authority = Clients(args), Authority()
    if not clients.own:
        print("LEFT OUT: this siegel has no verify-bundle", flush=True)
    work = os.path.join(args.work, "clients")
    os.makedirs(work)
    key, other = os.path.join(work, "publisher.pem"), os.path.join(work, "other.pem")
    signing = private(key)
    private(other)
    key_public, other_public = public(key, key + ".pub"), public(other, other + ".pub")
    clients.unused_key = other_public

    policy = os.path.join(work, "policy.json")
    shutil.copy(os.path.join(args.run, "policy.json"), policy)
    origin = json.load(open(policy))["log"]["origin"]
    operator = public(os.path.join(args.run, "operator-key.pem"), os.path.join(work, "operator.pub"))
    clients.key_flavour("the run's policy", os.path.join(args.run, "policy.sigstore.json"), operator, other_public,
                        os.path.join(args.run, "trusted_root.json"), policy, work)

    log = Log(args.siegel, os.path.join(work, "log"), origin)
    try:
        root = os.path.join(work, "with_authority.json")
        with open(root, "w") as out:
            json.dump(authority.add_to(json.load(open(log.root()))), out)
        leaf = os.path.join(work, "leaf.pem")
        for size in SIZES:
            log.fill(size - 1)
            what = "log of %d" % size
            bundle, tree = published(args, policy, log, work, key)
            check(what + ": the proof is for this size", int(tree) == size, "treeSize " + tree)
            clients.key_flavour(what, bundle, key_public, other_public, log.root(), policy, work)
            certificate = authority.issue(signing.public_key())
            with open(leaf, "wb") as out:
                out.write(certificate.public_bytes(serialization.Encoding.PEM))
            bundle, _ = published(args, policy, log, work, key, "--certificate", leaf)
            clients.certificate_flavour(what + ", certificate", bundle, root, policy, work)
        for what, bundle in writer.write(log.url, authority, work):
            clients.certificate_flavour(what, bundle, root, None, work)
    finally:
        log.stop()
    print("interop: %d passed, %d failed" % (passed, failed), flush=True)
    sys.exit(1 if failed or not passed else 0)


main()
