from typing import TypedDict
from langgraph.graph import StateGraph, START

class State(TypedDict):
    topic: str
    draft: str

def write(state):
    return {"draft": "All there is to know about " + state["topic"]}

b = StateGraph(State)
b.add_node("write", write)
b.add_edge(START, "write")
g = b.compile()
print(g.invoke({"topic": "tea"})["draft"])
