"""Counts the results of calls in a conversation without parsing it, which takes a hundred times as long.

The count is near the truth and no more: words of a result may look like another one. What it suggests is read, or in doubt.
"""

from __future__ import annotations

from typing import Final

from collector.payloads.tool_results import MODEL_MARKERS, RESULT_MARKERS, TAIL
from collector.payloads.user_input import USER_MARKERS

_ANSWERS: Final = (*MODEL_MARKERS, '"ai"')
_OF_ANSWERS: Final = ("Final result processed.", "Returning structured response: ")
"""Results of answers in the form of a call: Pydantic AI's and LangChain's."""


def may_tell_of_more(messages: str, known: int) -> bool:
    """Whether a model's input seems to hold more than ``known`` results since the user's last message.

    Reads a text a few times at most; nearly always once, where it tells of no more calls than are known.
    """
    marker = _marker_in(messages)
    # First with all turns: in a conversation of one, which is usual, no more is told than was called.
    if marker is None or messages.count(marker) <= known:
        return False
    begin = _end_of_earlier_turns(messages, marker)
    return begin is None or messages.count(marker, begin) > known


def count_results(messages: str) -> int:
    """Returns about how many results of calls a conversation holds since the user's last message, without what frameworks say
    of an answer in the form of a call; 0 where nothing tells what is the user's.
    """
    marker = _marker_in(messages)
    begin = None if marker is None else _end_of_earlier_turns(messages, marker)
    if marker is None or begin is None:
        return 0
    return messages.count(marker, begin) - sum([messages.count(words, begin) for words in _OF_ANSWERS])


def _marker_in(messages: str) -> str | None:
    """Returns the marker that results have in a conversation, by the newest of its messages."""
    newest = messages[-TAIL:]
    return next((marker for marker in RESULT_MARKERS if marker in newest), None)


def _end_of_earlier_turns(messages: str, result: str) -> int | None:
    """Returns where the user's last message begins that brings no results, which some providers take as the user's words; 0 if
    there is none, None where messages of the model cannot be told from others.
    """
    user, answer = max(USER_MARKERS, key=messages.rfind), max(_ANSWERS, key=messages.rfind)
    if messages.find(answer) < 0:
        return None
    end = len(messages)
    # From the end, each part of the text once: what senders write may be long.
    while (begin := messages.rfind(user, 0, end)) >= 0:
        following = messages.find(answer, begin, end)
        if messages.find(result, begin, following if following >= 0 else end) < 0:
            return begin
        end = begin
    return 0
