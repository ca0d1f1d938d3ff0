import operator
from typing import Annotated, TypedDict
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph, START

class State(TypedDict):
    topic: str
    notes: Annotated[list[str], operator.add]

b = StateGraph(State)
b.add_node("write", lambda s: {"notes": [f'{len(s["notes"]) + 1}: {s["topic"]}']})
b.add_edge(START, "write")
g = b.compile(checkpointer=InMemorySaver())
ada = {"configurable": {"thread_id": "ada"}}
g.invoke({"topic": "tea"}, ada)
g.invoke({"topic": "coffee"}, {"configurable": {"thread_id": "bob"}})
print(g.invoke({"topic": "milk"}, ada)["notes"])
