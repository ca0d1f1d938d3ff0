"""RemoteGraph of LangGraph for Python, alone and as a node of a graph."""

import os
from typing import Annotated, TypedDict
import operator

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.pregel.remote import RemoteException, RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_sync_client

URL = os.environ["BASE_URL"]


def new_config():
    return {"configurable": {"thread_id": get_sync_client(url=URL).threads.create()["thread_id"]}}


def test_streams_subgraphs():
    graph = RemoteGraph("sub", url=URL)
    assert sorted(graph.get_graph().nodes) == ["__end__", "__start__", "child", "close", "prepare"]
    parts = list(graph.stream({"topic": "a"}, stream_mode=["updates", "custom"], subgraphs=True))
    assert parts[0] == ((), "updates", {"prepare": {"log": ["prepare a"]}})
    inner = [(mode, data) for ns, mode, data in parts if ns and ns[0].startswith("child:")]
    assert ("custom", {"phase": "draft", "topic": "a"}) in inner
    assert parts[-1] == ((), "updates", {"close": {"log": ["close draft of a (plain)"]}})


def test_asks_and_goes_on():
    graph, config = RemoteGraph("approve", url=URL), new_config()
    parts = list(graph.stream({"request": "r"}, config, stream_mode="updates"))
    assert parts[-1]["__interrupt__"][0]["value"] == {"question": "approve r?", "options": ["yes", "no"]}
    state = graph.get_state(config)
    assert state.next == ("ask",)
    assert graph.invoke(Command(resume="yes"), config)["result"] == "r: yes"
    history = list(graph.get_state_history(config))
    assert [s.next for s in history] == [(), ("finish",), ("ask",), ("__start__",)]
    changed = graph.update_state(config, {"request": "s"}, as_node="ask")
    assert changed["configurable"]["checkpoint_id"]
    assert graph.get_state(config).values["request"] == "s"
    assert graph.invoke(None, config)["result"] == "s: yes"


async def test_asynchronous():
    graph, config = RemoteGraph("tools", url=URL), new_config()
    messages = [{"role": "user", "content": "add 2 3"}]
    chunks = [c async for c in graph.astream({"messages": messages}, config, stream_mode="messages")]
    assert "".join(m["content"] for m, _ in chunks if m["id"] == "ai-3") == "The sum is 5."
    assert len((await graph.aget_state(config)).values["messages"]) == 4
    assert len([s async for s in graph.aget_state_history(config)]) == 5


class State(TypedDict, total=False):
    topic: str
    out: str
    log: Annotated[list[str], operator.add]


def local_graph():
    return (
        StateGraph(State)
        .add_node("remote", RemoteGraph("sub", url=URL))
        .add_node("after", lambda state: {"log": [f"after {state['out']}"]})
        .add_edge(START, "remote").add_edge("remote", "after").add_edge("after", END)
        .compile(checkpointer=InMemorySaver())
    )


def test_is_a_node_of_a_graph():
    values = local_graph().invoke({"topic": "c"}, new_config())
    assert values["out"] == "draft of c (plain)"
    assert values["log"][-1] == "after draft of c (plain)"


def test_streams_through_a_graph():
    parts = list(local_graph().stream({"topic": "c"}, new_config(), stream_mode=["updates", "custom"], subgraphs=True))
    assert any(mode == "custom" and data.get("phase") == "polish" for _, mode, data in parts), parts


def test_interrupts_the_graph_around_it():
    graph, config = local_graph(), new_config()
    asked = graph.invoke({"topic": "?c"}, config)
    assert asked["__interrupt__"][0].value == {"ask": "tone"}
    assert graph.get_state(config).next == ("remote",)


def test_tells_errors():
    with pytest.raises(RemoteException, match="bad text: boom"):
        RemoteGraph("fail", url=URL).invoke({"text": "boom"})
