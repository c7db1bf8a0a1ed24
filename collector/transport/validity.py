"""From when until when a certificate is valid, which ``ssl`` tells only of those of peers that it trusts."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

_PEM: Final = re.compile(
    rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----(.*?)-----END (?:X509 |TRUSTED )?CERTIFICATE-----", re.DOTALL
)
_VERSION: Final = 0xA0  # the tag of a field that old certificates lack
_DATES: Final = {0x17: "%y%m%d%H%M%SZ", 0x18: "%Y%m%d%H%M%SZ"}
_CENTURY: Final = 2050  # RFC 5280, 4.1.2.5.1: of two digits, 50 is 1950


class Validity(NamedTuple):
    """Both in Unix seconds."""

    not_before: float
    not_after: float


def validity_of(pem: bytes) -> Validity:
    """Returns that of the first certificate, the one a server shows as its own. Raises ValueError where there is none."""
    return _validity_of(_certificates(pem)[0])


def latest_validity_of(pem: bytes) -> Validity:
    """Returns that of the certificate that is valid longest: authorities that are over stay in a file. Raises ValueError."""
    return max(map(_validity_of, _certificates(pem)), key=lambda validity: validity.not_after)


def _certificates(pem: bytes) -> list[bytes]:
    found: list[bytes] = _PEM.findall(pem)
    if not found:
        raise ValueError("no certificate")
    return found


def _validity_of(encoded: bytes) -> Validity:
    try:
        # RFC 5280, 4.1: Certificate { TBSCertificate { [version], serial, signature, issuer, validity, ... }, ... }
        certificate = _elements(base64.b64decode(encoded))[0][1]
        fields = _elements(_elements(certificate)[0][1])
        _, dates = fields[4 if fields[0][0] == _VERSION else 3]
        not_before, not_after = (_seconds(tag, text.decode("ascii")) for tag, text in _elements(dates))
    except (IndexError, KeyError) as error:
        raise ValueError(f"no X.509: {error}") from None
    return Validity(not_before, not_after)


def _elements(der: bytes) -> list[tuple[int, bytes]]:
    """Returns tag and content of each element of a sequence in DER."""
    found, at = list[tuple[int, bytes]](), 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length & 0x80:  # then it is the length of the length
            end = at + (length & 0x7F)
            length, at = int.from_bytes(der[at:end], "big"), end
        found.append((tag, der[at : at + length]))
        at += length
    return found


def _seconds(tag: int, text: str) -> float:
    date = datetime.strptime(text, _DATES[tag]).replace(tzinfo=UTC)
    if tag == 0x17 and date.year >= _CENTURY:
        date = date.replace(year=date.year - 100)
    return date.timestamp()
