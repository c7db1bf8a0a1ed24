"""When certificates begin and end, as OpenSSL reads them."""

from __future__ import annotations

from datetime import datetime

import pytest
import trustme

from collector.transport.validity import validity_of

AUTHORITY = trustme.CA()
BEGIN = "1960-01-01T00:00:00+00:00"
ENDS = [
    f"{end}+00:00"
    for end in ("1999-12-31T00:00:00", "2049-12-31T23:59:59", "2050-01-01T00:00:00", "9999-12-31T00:00:00")
]


def issued(end: str) -> bytes:
    begin, end_of_it = datetime.fromisoformat(BEGIN), datetime.fromisoformat(end)
    return AUTHORITY.issue_cert("localhost", not_before=begin, not_after=end_of_it).cert_chain_pems[0].bytes()


@pytest.mark.parametrize("end", ENDS)
def test_the_dates_are_those_of_the_certificate(end: str) -> None:
    assert validity_of(issued(end)) == tuple(datetime.fromisoformat(date).timestamp() for date in (BEGIN, end))


def test_of_a_chain_the_first_counts_whatever_stands_before_it() -> None:
    chain = b"subject=CN = localhost\n" + issued(ENDS[2]) + issued(ENDS[0])
    assert validity_of(chain).not_after == datetime.fromisoformat(ENDS[2]).timestamp()


@pytest.mark.parametrize("text", [b"", b"AAAA", b"MA==", b"MAIwAA==", b"MIL/", b"!"])
def test_what_is_no_certificate_is_told(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        validity_of(b"-----BEGIN CERTIFICATE-----\n" + text + b"\n-----END CERTIFICATE-----\n")
    with pytest.raises(ValueError, match="no certificate"):
        validity_of(text)
