"""The TLS certificates that members have shown, and when they end. Pure.

Python decodes a certificate only if it was verified, so its end is read here, wherever it is (RFC 5280, 4.1).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from ipaddress import ip_address

_VERSION, _SEQUENCE, _UTC_TIME, _GENERALIZED_TIME = 0xA0, 0x30, 0x17, 0x18
_PEM, _PEM_END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
_EXTENSIONS, _BOOLEAN, _DNS_NAME, _ADDRESS = 0xA3, 0x01, 0x82, 0x87
_ALTERNATIVE = bytes.fromhex("0603551d11")
"""The identifier of subjectAltName (RFC 5280, 4.2.1.6)."""
_FORMS = {_UTC_TIME: "%y%m%d%H%M%SZ", _GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}


@dataclass(frozen=True)
class Certificate:
    """A certificate: the address that showed it, the time of its end, and the seconds until then."""

    where: str
    ends: datetime
    left: float


def shown(certificates: Mapping[str, Iterable[bytes]], now: float) -> tuple[Certificate, ...]:
    """The certificate of each address, the one that ends first if it has shown several; `now` in seconds since 1970.

    One that cannot be read is left out: the connection was made with it.
    """
    found = []
    for where, encoded in sorted(certificates.items()):
        ends = sorted(filter(None, map(_end_or_none, encoded)))
        found += [Certificate(where, end, end.timestamp() - now) for end in ends[:1]]
    return tuple(found)


def end_of(certificate: bytes) -> datetime:
    """The end of a certificate in DER.

    Raises:
        ValueError: it is no certificate.
    """
    try:
        return _end(certificate)
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("no certificate") from error


def _end_or_none(certificate: bytes) -> datetime | None:
    try:
        return end_of(certificate)
    except ValueError:
        return None


def _end(certificate: bytes) -> datetime:
    return _read(certificate).ends


@dataclass(frozen=True)
class CertificateDetails:
    """The validity of a certificate, and the names and addresses that it is for (subjectAltName)."""

    begins: datetime
    ends: datetime
    names: tuple[str, ...]


def first_in_pem(content: bytes) -> CertificateDetails:
    """The details of the first certificate in a PEM file, which is that of the server (RFC 7468, 5).

    Raises:
        ValueError: there is none.
    """
    _before, begin, after = content.partition(_PEM)
    encoded, end, _after = after.partition(_PEM_END)
    if not (begin and end):
        raise ValueError("no certificate")
    return details_of(base64.b64decode(b"".join(encoded.split()), validate=True))


def details_of(certificate: bytes) -> CertificateDetails:
    """The details of a certificate in DER.

    Raises:
        ValueError: it is no certificate.
    """
    try:
        return _read(certificate)
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("no certificate") from error


def _read(certificate: bytes) -> CertificateDetails:
    _tag, at, _after = _field(certificate, 0)
    _tag, at, last = _field(certificate, at)
    if certificate[at] == _VERSION:
        at = _field(certificate, at)[2]
    for _serial_algorithm_issuer in range(3):
        at = _field(certificate, at)[2]
    tag, begin, at = _field(certificate, at)
    if tag != _SEQUENCE:
        raise ValueError("no certificate")
    begins, end = _time(certificate, begin), _field(certificate, begin)[2]
    ends = _time(certificate, end)
    for _subject_key in range(2):
        at = _field(certificate, at)[2]
    return CertificateDetails(begins, ends, tuple(_names(certificate, at, last)))


def _names(certificate: bytes, at: int, last: int) -> Iterator[str]:
    """The names in the extensions, which are the last one of the optional fields."""
    while at < last:
        tag, begin, at = _field(certificate, at)
        if tag != _EXTENSIONS:
            continue
        _tag, begin, end = _field(certificate, begin)
        while begin < end:
            _tag, inner, begin = _field(certificate, begin)
            if certificate[inner : inner + len(_ALTERNATIVE)] == _ALTERNATIVE:
                yield from _alternatives(certificate, inner + len(_ALTERNATIVE))


def _alternatives(certificate: bytes, at: int) -> Iterator[str]:
    tag, begin, after = _field(certificate, at)
    if tag == _BOOLEAN:
        _tag, begin, _after = _field(certificate, after)
    _tag, at, last = _field(certificate, begin)
    while at < last:
        tag, begin, at = _field(certificate, at)
        if tag == _DNS_NAME:
            yield certificate[begin:at].decode("ascii")
        elif tag == _ADDRESS:
            yield str(ip_address(certificate[begin:at]))


def _time(certificate: bytes, at: int) -> datetime:
    tag, begin, after = _field(certificate, at)
    if tag not in _FORMS:
        raise ValueError("no certificate")
    found = datetime.strptime(certificate[begin:after].decode("ascii"), _FORMS[tag])
    # Two digits stand for 1950 to 2049 (RFC 5280), which strptime divides at 1969.
    year = found.year - 100 if tag == _UTC_TIME and found.year >= 2050 else found.year
    return found.replace(year=year, tzinfo=timezone.utc)


def _field(data: bytes, at: int) -> tuple[int, int, int]:
    """Tag, and the places at which the content starts and ends."""
    tag, length, begin = data[at], data[at + 1], at + 2
    if length & 0x80:
        size = length & 0x7F
        length, begin = int.from_bytes(data[begin : begin + size], "big"), begin + size
    return tag, begin, begin + length
