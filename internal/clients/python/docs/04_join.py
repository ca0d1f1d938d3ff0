import operator
from typing import Annotated, TypedDict
from langgraph.graph import StateGraph, START

class State(TypedDict):
    notes: Annotated[list[str], operator.add]
    draft: str

b = StateGraph(State)
b.add_node("history", lambda s: {"notes": ["tea is old"]})
b.add_node("search", lambda s: {"notes": ["it grows in Assam"]})
b.add_node("verify", lambda s: {"notes": ["Assam is confirmed"]})
b.add_node("write", lambda s: {"draft": "; ".join(s["notes"])})
b.add_edge(START, "history")
b.add_edge(START, "search")
b.add_edge("search", "verify")
b.add_edge(["history", "verify"], "write")
print(b.compile().invoke({"notes": []})["draft"])
