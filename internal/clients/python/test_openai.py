"""The SDK of OpenAI for Python: each graph with messages is a model."""

import os

import openai
import pytest

client = openai.OpenAI(base_url=os.environ["BASE_URL"] + "/v1", api_key="none")
MESSAGES = [{"role": "user", "content": "add 2 3"}]


def test_models_are_graphs():
    assert {"tools", "echo"} <= {m.id for m in client.models.list()}


def test_answers():
    answer = client.chat.completions.create(model="tools", messages=MESSAGES)
    assert answer.choices[0].message.content == "The sum is 5."
    assert answer.choices[0].finish_reason == "stop"


def test_streams():
    pieces = [c.choices[0].delta.content for c in client.chat.completions.create(model="tools", messages=MESSAGES, stream=True) if c.choices]
    assert "".join(p for p in pieces if p).endswith("The sum is 5.")


async def test_asynchronous_client():
    asynchronous = openai.AsyncOpenAI(base_url=os.environ["BASE_URL"] + "/v1", api_key="none")
    stream = await asynchronous.chat.completions.create(model="echo", messages=MESSAGES, stream=True)
    assert "".join([c.choices[0].delta.content or "" async for c in stream if c.choices]) == "echo: add 2 3"


def test_errors():
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="none", messages=MESSAGES)
