"""The graphs of the benchmark, for the reference server: a reply without a model, and a stream of events."""

import asyncio
import time
from typing import TypedDict

from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph


async def reply(state: MessagesState):
    return {"messages": [AIMessage("echo: " + state["messages"][-1].text)]}


echo = StateGraph(MessagesState).add_node("reply", reply).add_edge(START, "reply").add_edge("reply", END).compile(name="echo")


class Tick(TypedDict, total=False):
    count: int


async def work(state: Tick):
    write = get_stream_writer()
    for i in range(state["count"]):
        await asyncio.sleep(0.05)
        write({"i": i, "at": int(time.time() * 1e6)})
    return {}


tick = StateGraph(Tick).add_node("work", work).add_edge(START, "work").add_edge("work", END).compile(name="tick")
