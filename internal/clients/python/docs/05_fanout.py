import operator
from typing import Annotated, TypedDict
from langgraph.graph import StateGraph, START
from langgraph.types import Send

class State(TypedDict):
    topics: list[str]
    notes: Annotated[list[str], operator.add]
    draft: str

b = StateGraph(State)
b.add_node("research", lambda s: {"notes": ["about " + s["topic"]]})
b.add_node("write", lambda s: {"draft": "; ".join(s["notes"])})
b.add_conditional_edges(START, lambda s: [Send("research", {"topic": t}) for t in s["topics"]], ["research"])
b.add_edge("research", "write")
print(b.compile().invoke({"topics": ["tea", "milk", "sugar"]})["draft"])
