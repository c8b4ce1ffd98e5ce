"""An authority of one's own and the certificates that it signs: for servers of a simulation.

Its private key stays in memory: once the process that made it is gone, nobody can sign with it any more.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# A clock that is a little behind must not refuse what was signed just now.
_BEFORE = datetime.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """A server's private key and the certificate that its clients verify."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    authority: x509.Certificate

    @property
    def pem(self) -> bytes:
        """Key (PKCS 8, not encrypted), certificate and authority, as Kafka and ZooKeeper read them."""
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        chain = (self.certificate, self.authority)
        return key + b"".join(one.public_bytes(Encoding.PEM) for one in chain)

    def pkcs12(self, password: str) -> bytes:
        """The same as a PKCS 12 key store, for servers that read no PEM."""
        return pkcs12.serialize_key_and_certificates(
            b"server",
            self.key,
            self.certificate,
            [self.authority],
            BestAvailableEncryption(password.encode("ascii")),
        )


class Authority:
    """Signs certificates of servers, for `valid_days`."""

    def __init__(self, name: str, *, valid_days: int = 90) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._valid = datetime.timedelta(days=valid_days)
        subject = _named(name)
        self._certificate = (
            self._draft(subject, subject, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pem(self) -> bytes:
        """The authority's certificate, which clients trust."""
        return self._certificate.public_bytes(Encoding.PEM)

    def truststore(self, password: str) -> bytes:
        """The same as a PKCS 12 trust store that Java reads."""
        return pkcs12.serialize_java_truststore(
            [pkcs12.PKCS12Certificate(self._certificate, b"authority")],
            BestAvailableEncryption(password.encode("ascii")),
        )

    def server(self, name: str, hosts: Sequence[str]) -> ServerIdentity:
        """An identity for a server called `name` that is reached as each of `hosts` (names or addresses)."""
        key = ec.generate_private_key(ec.SECP256R1())
        authority_key = self._certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        certificate = (
            self._draft(_named(name), self._certificate.subject, key.public_key())
            .add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            # Brokers are clients of each other, too.
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority_key.value),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        return ServerIdentity(key, certificate, self._certificate)

    def _draft(
        self, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BEFORE)
            .not_valid_after(now + self._valid)
        )


def write_private(file: Path, content: bytes) -> None:
    """Write what only this user of the machine may read. It never has wider rights, not for a moment."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
