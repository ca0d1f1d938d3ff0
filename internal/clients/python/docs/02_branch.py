from typing import TypedDict
from langgraph.graph import StateGraph, START, END

class State(TypedDict):
    topic: str
    draft: str

def write(state):
    return {"draft": "All there is to know about " + state["topic"]}

def shorten(state):
    return {"draft": "About " + state["topic"]}

def too_long(state):
    return "shorten" if len(state["draft"]) > 30 else END

b = StateGraph(State)
b.add_node("write", write)
b.add_node("shorten", shorten)
b.add_edge(START, "write")
b.add_conditional_edges("write", too_long, ["shorten", END])
g = b.compile()
for topic in ["tea", "growing tea"]:
    print(g.invoke({"topic": topic})["draft"])
