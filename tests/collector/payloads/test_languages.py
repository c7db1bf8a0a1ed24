"""Words of other languages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import agent_span, called, calls_of, run_of, span

PAY = {"to": "Ada", "sum": 5}
GIVEN = json.dumps(PAY)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("Werkzeug: zahlen", {"werkzeug.name": "zahlen", "werkzeug.eingabe": GIVEN, "werkzeug.fehler": "Karte gesperrt"}),
        ("herramienta", {"herramienta.nombre": "zahlen", "herramienta.parametros": GIVEN, "estado": "fallo"}),
        ("ferramenta.zahlen", {"ferramenta.argumentos": GIVEN, "sucesso": False}),
        ("outil zahlen", {"outil.entrée": GIVEN, "erreur": "carte bloquée"}),
    ],
)  # fmt: skip
def test_words_of_other_languages(name: str, attributes: dict[str, Any]) -> None:
    assert calls_of(span(name, 2, 1, attributes=attributes)) == [("zahlen", PAY, "error")]


def test_events_in_french() -> None:
    events = [
        ("appel_outil", {"outil": "payer", "entree": GIVEN, "identifiant": "toolu_1"}),
        ("erreur_outil", {"identifiant": "toolu_1", "erreur": "solde insuffisant"}),
        ("appel_outil", {"outil": "vendre", "entree": "{}", "identifiant": "toolu_2"}),
        ("outil_inconnu", {"outil": "vendre", "identifiant": "toolu_2"}),
    ]
    assert calls_of(span("tour", 2, 1, events=events)) == [("payer", PAY, "error")]


def test_a_refusal_in_french() -> None:
    refused = span(
        "outil payer", 2, 1, attributes={"outil.paramètres": GIVEN, "outil.echec": True, "motif": "outil inconnu"}
    )
    assert called(run_of(agent_span(), refused)) == ["(payer)"]
