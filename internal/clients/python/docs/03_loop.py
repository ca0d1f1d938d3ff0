import operator
from typing import Annotated, TypedDict
from langgraph.graph import StateGraph, START, END

class State(TypedDict):
    draft: str
    rounds: Annotated[int, operator.add]

def shorten(state):
    return {"draft": " ".join(state["draft"].split()[:-1]), "rounds": 1}

def too_long(state):
    return "shorten" if len(state["draft"]) > 12 else END

b = StateGraph(State)
b.add_node("shorten", shorten)
b.add_conditional_edges(START, too_long, ["shorten", END])
b.add_conditional_edges("shorten", too_long, ["shorten", END])
g = b.compile()
out = g.invoke({"draft": "Tea grows on hills where it rains"}, {"recursion_limit": 20})
print(f'"{out["draft"]}" after {out["rounds"]} rounds')
