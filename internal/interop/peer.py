"""Loads messages of Weft with langchain-core, and writes messages of langchain-core."""

import importlib.metadata
import json
import sys

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)

ROLES = {"system": "system", "human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "tool": "tool"}


def blocks(message):
    return [message.content] if isinstance(message.content, str) else message.content


def text(block):
    if isinstance(block, str):
        return block
    return block.get("text", "") if block.get("type") == "text" else ""


def count(message, *types):
    return sum(1 for b in blocks(message) if isinstance(b, dict) and b.get("type") in types)


def calls(message, key):
    return [{"id": c["id"], "name": c["name"], "args": c["args"]} for c in getattr(message, key, [])]


def usage(message):
    told = getattr(message, "usage_metadata", None)
    if told is None:
        return None
    read, wrote = told.get("input_token_details", {}), told.get("output_token_details", {})
    return {
        "input": told["input_tokens"],
        "output": told["output_tokens"],
        "total": told["total_tokens"],
        "cached": read.get("cache_read", 0),
        "cache_write": read.get("cache_creation", 0),
        "reasoning": wrote.get("reasoning", 0),
    }


def describe(message):
    role = ROLES.get(message.type) or ROLES.get(message.role, "user")
    status = getattr(message, "status", "")
    return {
        "role": role,
        "id": message.id or "",
        "name": message.name or "",
        "text": "".join(text(b) for b in blocks(message)),
        "images": count(message, "image", "image_url"),
        "files": count(message, "file"),
        "calls": calls(message, "tool_calls"),
        "invalid": calls(message, "invalid_tool_calls"),
        "answers": getattr(message, "tool_call_id", ""),
        "failed": status == "error",
        "usage": usage(message),
    }


OWN = [
    SystemMessage("You are a helpful assistant."),
    HumanMessage("Grüße ☀️ \x00 end", id="h1", name="ann", additional_kwargs={"k": {"deep": [1, 2.5, None]}}),
    HumanMessage(["bare", {"type": "text", "text": " block", "cache_control": {"type": "ephemeral"}}]),
    HumanMessage(
        [
            {"type": "text", "text": "What are these?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}},
            {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": "iVBORw0KGgo="},
            {"type": "image", "url": "https://example.com/a.png"},
            {"type": "file", "base64": "JVBERg==", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
        ]
    ),
    AIMessage(
        [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "Let me look."}],
        id="a1",
        name="bot",
        tool_calls=[
            {"name": "weather", "args": {"city": "Athens", "days": 2, "x": 1.0}, "id": "call_1"},
            {"name": "now", "args": {}, "id": "call_2"},
        ],
        invalid_tool_calls=[{"name": "f", "args": "{not json", "id": "call_3", "error": "Unexpected token"}],
        usage_metadata={
            "input_tokens": 120,
            "output_tokens": 24,
            "total_tokens": 144,
            "input_token_details": {"cache_read": 100, "cache_creation": 5, "audio": 2},
            "output_token_details": {"reasoning": 8},
        },
        response_metadata={"model_name": "m-1", "finish_reason": "tool_calls", "logprobs": None},
    ),
    ToolMessage('{"sky":"clear"}', tool_call_id="call_1", name="weather", id="t1", artifact={"rows": [1, None]}),
    ToolMessage([{"type": "text", "text": "noon"}], tool_call_id="call_2"),
    ToolMessage("not JSON", tool_call_id="call_3", status="error"),
    AIMessage("Clear.", response_metadata={"stop_reason": "end_turn"}),
    AIMessage(
        "",
        additional_kwargs={
            "tool_calls": [{"id": "o1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}]
        },
    ),
    ToolMessage("1", tool_call_id="o1"),
    AIMessageChunk(content="ab", id="c1", tool_call_chunks=[{"name": "f", "args": '{"a":1}', "id": "c", "index": 0}]),
    ChatMessage("arr", role="pirate"),
    ChatMessage("be brief", role="system"),
    AIMessage(""),
]

with open(sys.argv[1], encoding="utf-8") as file:
    loaded = messages_from_dict(json.load(file))

json.dump(
    {
        "version": "langchain-core " + importlib.metadata.version("langchain-core"),
        "loaded": [describe(m) for m in loaded],
        "rewritten": messages_to_dict(loaded),
        "own": messages_to_dict(OWN),
        "described": [describe(m) for m in messages_from_dict(messages_to_dict(OWN))],
    },
    sys.stdout,
    indent=1,
)
