"""A log of `siegel serve log` on a free port of this machine, ended by its process id."""

import hashlib
import json
import os
import socket
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from authority import b64, spki


class Log:
    def __init__(self, siegel, folder, origin):
        self.folder, self.origin = folder, origin
        os.makedirs(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
        self.url = "http://" + address
        self.said = open(self.path("said"), "w+")
        command = [siegel, "serve", "log", "--folder", self.path("log"), "--key", self.path("log-key.pem"),
                   "--origin", origin, "--listen", address]
        self.process = subprocess.Popen(command, stderr=self.said, stdin=subprocess.DEVNULL)
        for _ in range(300):
            try:
                self.size()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        self.stop()
        raise SystemExit("the log did not come up: " + open(self.path("said")).read())

    def path(self, name):
        return os.path.join(self.folder, name)

    def root(self):
        """What the log says of itself to other clients."""
        return self.path("trusted_root.json")

    def key(self):
        """Its Ed25519 key in hex, as `--log-key` takes it."""
        lines = open(self.path("said")).read().splitlines()
        return next(line.rsplit(" ", 1)[1] for line in lines if "its key: " in line)

    def size(self):
        with urllib.request.urlopen(self.url + "/api/v2/checkpoint", timeout=10) as answer:
            return int(answer.read().decode().split("\n")[1])

    def fill(self, size):
        """Raw entries under one throw-away key until the log has so many."""
        key = ec.generate_private_key(ec.SECP256R1())

        def add(i):
            digest = hashlib.sha256(b"entry %d" % i).digest()
            signature = key.sign(digest, ec.ECDSA(Prehashed(hashes.SHA256())))
            # Both spellings of the names, in turn.
            names = ("hashed_rekord_request_v002", "public_key", "raw_bytes", "key_details")
            if i % 2:
                names = ("hashedRekordRequestV002", "publicKey", "rawBytes", "keyDetails")
            verifier = {names[1]: {names[2]: b64(spki(key))}, names[3]: "PKIX_ECDSA_P256_SHA_256"}
            body = {names[0]: {"digest": b64(digest), "signature": {"content": b64(signature), "verifier": verifier}}}
            request = urllib.request.Request(self.url + "/api/v2/log/entries", json.dumps(body).encode(),
                                             {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert answer.status == 201, answer.status

        with ThreadPoolExecutor(32) as pool:
            list(pool.map(add, range(self.size(), size)))
        assert self.size() == size, self.size()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
