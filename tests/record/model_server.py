"""An OpenAI-compatible model that answers from a script: chat completions and responses, complete or streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.record.http import Answer as HttpAnswer
from tests.record.scenarios import Answer

JSON, EVENTS = "application/json", "text/event-stream"
_CREATED = 1_700_000_000
_USAGE = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}


class ScriptedModel:
    """Gives the answers of a script one request at a time; a request beyond the script is refused with 409."""

    def __init__(self, script: Sequence[Answer]) -> None:
        self._script = script
        self.requests: list[dict[str, Any]] = []

    def answer(self, path: str, body: bytes) -> HttpAnswer:
        """Returns the response to a POST request."""
        shape = _SHAPES.get(path.removesuffix("/"))
        if shape is None:
            return _error(404, f"no such endpoint: {path}")
        try:
            request = json.loads(body)
            _, streamed = request["model"], bool(request.get("stream"))
        except (ValueError, KeyError, TypeError) as error:
            return _error(400, f"not a request: {error}")
        self.requests.append(request)
        number = len(self.requests)
        if number > len(self._script):
            return _error(409, f"the script has {len(self._script)} answers, this is request {number}")
        whole, events = shape
        answer = whole(self._script[number - 1], number, request)
        if not streamed:
            return 200, JSON, json.dumps(answer).encode()
        return 200, EVENTS, "".join(events(answer)).encode()


def _error(status: int, message: str) -> HttpAnswer:
    return status, JSON, json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()


# --- chat completions ------------------------------------------------------------------------------------------------


def _completion(answer: Answer, number: int, request: Mapping[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        for call in answer.calls
    ]
    message = {"role": "assistant", "content": answer.text, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": _CREATED,
        "model": request["model"],
        "choices": [choice],
        "usage": _USAGE,
    }


def _completion_events(answer: dict[str, Any]) -> Iterator[str]:
    """Yield the text in one chunk, each call in another, then the finish reason and the usage."""
    (choice,) = answer["choices"]
    text = {key: value for key, value in choice["message"].items() if key != "tool_calls"}
    calls = [{"tool_calls": [{"index": at, **call}]} for at, call in enumerate(choice["message"].get("tool_calls", ()))]
    head = {key: answer[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    for delta in (text, *calls, {}):
        part = {"index": 0, "delta": delta, "finish_reason": None if delta else choice["finish_reason"]}
        yield f"data: {json.dumps({**head, 'choices': [part]})}\n\n"
    yield f"data: {json.dumps({**head, 'choices': [], 'usage': answer['usage']})}\n\n"
    yield "data: [DONE]\n\n"


# --- responses -------------------------------------------------------------------------------------------------------


def _response(answer: Answer, number: int, request: Mapping[str, Any]) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if answer.text is not None:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        message = {"type": "message", "role": "assistant", "content": [part]}
        output.append({"id": f"msg_{number}", "status": "completed", **message})
    for at, call in enumerate(answer.calls):
        fields = {"call_id": call.id, "name": call.name, "arguments": json.dumps(call.arguments)}
        output.append({"id": f"fc_{number}_{at}", "type": "function_call", "status": "completed", **fields})
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": _CREATED,
        "model": request["model"],
        "status": "completed",
        "output": output,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": request.get("tools", []),  # as the real one repeats them
        "top_p": 1.0,
        "usage": {
            "input_tokens": 20,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 30,
        },
    }


def _response_events(answer: dict[str, Any]) -> Iterator[str]:
    """Yield the start, each complete item, and the end of the response."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**answer, "status": "in_progress"}}]
    for at, item in enumerate(answer["output"]):
        events.append({"type": "response.output_item.added", "output_index": at, "item": item})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": answer})
    for number, event in enumerate(events):
        yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"


_SHAPES = {
    "/v1/chat/completions": (_completion, _completion_events),
    "/v1/responses": (_response, _response_events),
}
