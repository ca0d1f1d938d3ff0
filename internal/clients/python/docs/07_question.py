from typing import TypedDict
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph, START
from langgraph.types import Command, interrupt

class State(TypedDict):
    draft: str
    status: str

def publish(state):
    yes = interrupt(f'publish "{state["draft"]}"?')
    return {"status": "published" if yes else "rejected"}

b = StateGraph(State)
b.add_node("publish", publish)
b.add_edge(START, "publish")
g = b.compile(checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "note-1"}}
print(g.invoke({"draft": "Tea is old"}, config)["__interrupt__"][0].value)
print(g.invoke(Command(resume=True), config)["status"])
