from typing import TypedDict
from langgraph.graph import StateGraph, START

class Review(TypedDict):
    draft: str
    words: int

class State(TypedDict):
    draft: str

sub = StateGraph(Review)
sub.add_node("count", lambda s: {"words": len(s["draft"].split())})
sub.add_node("sign", lambda s: {"draft": f'{s["draft"]} ({s["words"]} words)'})
sub.add_edge(START, "count")
sub.add_edge("count", "sign")

b = StateGraph(State)
b.add_node("review", sub.compile())
b.add_edge(START, "review")
print(b.compile().invoke({"draft": "Tea is old"})["draft"])
