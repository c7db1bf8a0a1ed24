"""Words of other languages in the names that a tracer of one's own gives: `herramienta.nombre` is a tool's name."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_ENGLISH: Final = {
    word: english
    for english, words in {
        "tool": "herramienta werkzeug ferramenta outil strumento gereedschap verktyg narzedzie",
        "tool_call": "werkzeugaufruf",
        "model_call": "modellaufruf",
        "call": "llamada aufruf appel chamada chiamata",
        "name": "nombre nom nome naam",
        "arguments": "argumentos argumente argumenti",
        "parameters": "parametros parametres parametri",
        "input": "entrada eingabe entree ingresso",
        "output": "salida ausgabe saida sortie uscita",
        "result": "resultado ergebnis resultat risultato retour",
        "error": "fehler erreur erro errore",
        "success": "exito erfolg sucesso succes successo",
        "failed": "fallo fallida fallido fehlgeschlagen echec falha fallito",
        "status": "estado statut stato",
        "model": "modelo modell modele modello",
        "agent": "agente",
        "unknown": "desconocida desconocido unbekannt inconnu inconnue desconhecida sconosciuto",
        "executed": "ejecutada ejecutado ausgefuehrt executado executee eseguito",
    }.items()
    for word in words.split()
}
_FOREIGN: Final = re.compile(rf"(?:^|(?<=_))(?:{'|'.join(_ENGLISH)})(?=_|$)")
_TOOL: Final = re.compile(r"(?i)^(?:herramienta|werkzeug|ferramenta|outil|strumento|gereedschap|verktyg)(?=$|[\s:./])")


def in_english(words: str) -> str:
    """Returns lower-case words, joined by underscores, with those that are known of other languages in English."""
    return _FOREIGN.sub(lambda found: _ENGLISH[found[0]], words)


def tool_in_english(span_name: str) -> str:
    """Returns the name of a span with the word for a tool at its beginning in English."""
    return _TOOL.sub("tool", span_name)


def without_accents(text: str) -> str:
    """Returns the text in letters without accents."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
