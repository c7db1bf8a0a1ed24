"""What the attributes of a call in unknown words say of what came of it: it failed, it was denied, or nothing that is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, Literal

from collector.payloads.attribute_shapes import MAX_LOOKED_AT, Values, meaning_of, words_of
from collector.payloads.refusals import MAX_DENIAL, Refusal, find_refusal
from collector.payloads.values import parse_any

_FAILED: Final = frozenset({
    "error", "err", "fail", "crashed", "raised", "failed", "failure", "exception", "timeout", "timed_out", "cancelled",
    "canceled", "fault", "faulted", "errored", "aborted", "killed", "ko", "nok", "threw", "panicked",
})  # fmt: skip
_WELL: Final = frozenset({
    "ok", "okay", "success", "successful", "succeeded", "completed", "complete", "done", "finished", "passed", "executed",
    "called", "returned", "true", "approved", "allow", "allowed", "accepted", "unset", "fulfilled", "0", "200",
})  # fmt: skip
_HTTP_ERRORS: Final = range(400, 600)
_HTTP_WELL: Final = range(200, 400)
_FAILED_ENDS: Final = ("_error", "_failed", "_failure")
_DENIED: Final = frozenset({"denied", "deny", "blocked", "not_executed"})
_PERHAPS_DENIED: Final = frozenset(
    {"rejected", "reject", "refused", "declined", "skipped", "ignored", "forbidden", "unauthorized", "not_found"}
)
"""What may be the answer of a tool as well."""
_LIKELY_DENIED: Final = frozenset({
    "invalid", "invalid_arguments", "invalid_args", "invalid_input", "invalid_parameters", "unknown", "unknown_tool",
    "no_such_tool", "not_allowed", "not_permitted", "vetoed",
})  # fmt: skip
"""What a loop says of a call more often than a tool of what it did."""
_GIVEN: Final = ("input", "user_input", "tool_name", "name")
_FALSE: Final = (False, "false", "False", "FALSE", "no", "No", "0")
_TRUE: Final = (True, "true", "True", "TRUE", "yes")
_NOTHING: Final = frozenset({"none", "null", "nil", "n/a", "-", "[]", "{}", "no error", "no errors", "ok"})
"""What stands in place of the words of a failure where there was none."""

FLAGS: Final = ("ok", "success", "succeeded")
"""Keys under which a truth value says whether a call went well."""
TOLD: Final = frozenset({"output", "success", "failure", "status", "returned"})
"""What of a call says that it has been made: a model's decisions have none of these."""
_REASONS: Final = frozenset({
    "message", "msg", "error", "errors", "reason", "problem", "detail", "details", "error_message", "errorMessage",
})  # fmt: skip
_OF_FAILURE: Final = _REASONS.union(
    FLAGS, ("code", "error_code", "errorCode", "status", "type", "kind", "data", "value", "result")
)
_OF_LAMBDA: Final = frozenset({"errorMessage", "errorType", "stackTrace", "trace", "requestId"})
"""What AWS Lambda answers for a function that failed."""
_HINTS: Final = ("false", "False", "errors", "problem", "errorMessage", "Err(", "Failure(", "Left(")
_ERR: Final = re.compile(r"(?:Err|Failure|Left)\(.*\)", re.DOTALL)
"""How languages with types for it write that a function failed."""


def answer_of_failure(result: object) -> Literal["failed", "open", ""]:
    """Returns whether the result of a call is an answer that says it failed: an object of a flag with the reason and no more,
    a response of GraphQL with errors in place of data, ``Err(...)``; "open" if a flag in it may be about something else.
    """
    if type(result) is str and result[:1] in ("{", '"') and not any(hint in result for hint in _HINTS):
        return ""  # most results are long, and say no such thing
    value = parse_any(result)
    if type(value) is str:
        return "failed" if _ERR.fullmatch(value.strip()) is not None else ""
    if not isinstance(value, Mapping):
        return ""
    if (
        value.keys() == {"problem"}
        or ("errorMessage" in value and value.keys() <= _OF_LAMBDA)
        or (value.get("data", "") is None and value.get("errors"))
    ):
        return "failed"
    if all(value.get(flag) is not False for flag in FLAGS):
        return ""
    has_reason = not _REASONS.isdisjoint(value) and not any(value.get(key) for key in ("data", "value", "result"))
    return "failed" if has_reason and value.keys() <= _OF_FAILURE else "open"


def _words_of_statuses(values: Values) -> set[str]:
    """Returns the words of statuses, of each the first where more is told behind it: `failed: no such order`."""
    words = set()
    for status in values.get("status", ()):
        if type(status) is not str:
            continue
        told = parse_any(status) if status[:1] == "{" else None
        if isinstance(told, Mapping) and answer_of_failure(told) == "failed":
            words.add("failed")
        elif isinstance(told, Mapping) and any(told.get(flag) is True for flag in FLAGS):
            words.add("ok")
        else:
            words.add(words_of(status.partition(": ")[0]))
    return words


def says_failure(values: Values) -> bool:
    """Whether a flag, an error or a status among the values says that the call failed."""
    if any(value in _FALSE for value in values.get("success", ())):
        return True
    for value in values.get("failure", ()):
        if value in _TRUE or (type(value) is str and value not in _FALSE and value.strip().lower() not in _NOTHING):
            return True
    statuses = values.get("status", ())
    if any(type(status) is int and status in _HTTP_ERRORS for status in statuses):
        return True
    words = _words_of_statuses(values)
    return any(word in _FAILED or word.endswith(_FAILED_ENDS) for word in words)


def has_unknown_status(values: Values) -> bool:
    """Whether a status among the values is a word that may say that the call failed, or that it did not."""
    words = _words_of_statuses(values)
    # A command that ends with a code has run, and the tool may have answered so.
    has_code = any(type(value) is int and value and value not in _HTTP_WELL for value in values.get("status", ()))
    return has_code or not words <= _WELL


def refusal_among(attributes: Mapping[str, Any]) -> Refusal | None:
    """Returns what a short text among the attributes of a failed call says for sure: that it did not run."""
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        # What the tool was given may be about tools.
        if type(value) is not str or len(value) > MAX_DENIAL or value[:1] in ("{", "[") or meaning_of(key) in _GIVEN:
            continue
        # `outil inconnu`: the words alone, for none but these is known in other languages.
        found = find_refusal(value) or find_refusal(words_of(value))
        if found is not None and found.is_sure:
            return found
    return None


def refusal_told(values: Values) -> Refusal | None:
    """Returns what the words of a failure may say: that the call did not run."""
    texts = [value for value in values.get("failure", ()) if type(value) is str]
    return next((refusal for text in texts if (refusal := find_refusal(text)) is not None), None)


def denial_in(values: Values) -> Refusal | None:
    """Returns what a status or a flag among the values says of a call that did not run."""
    words = _words_of_statuses(values)
    if not words.isdisjoint(_DENIED | _PERHAPS_DENIED):
        # A tool that answered so has answered something.
        is_likely = "output" not in values and "not_found" not in words
        return Refusal(is_sure=not words.isdisjoint(_DENIED), is_likely=is_likely)
    if not words.isdisjoint(_LIKELY_DENIED):
        return Refusal(is_sure=False, is_likely=True)
    if any(value in _FALSE for value in values.get("executed", ())):
        return Refusal()
    # What was denied may be what it returned.
    is_flagged = any(value in _TRUE for value in values.get("denied", ())) or any(
        value in _FALSE for value in values.get("allowed", ())
    )
    return Refusal(is_sure=False, is_likely=True) if is_flagged else None
