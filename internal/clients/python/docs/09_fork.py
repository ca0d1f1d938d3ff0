from typing import TypedDict
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph, START

class State(TypedDict):
    draft: str
    tone: str

b = StateGraph(State)
b.add_node("write", lambda s: {"draft": "Tea is old", "tone": "!"})
b.add_node("finish", lambda s: {"draft": s["draft"] + s["tone"]})
b.add_edge(START, "write")
b.add_edge("write", "finish")
g = b.compile(checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "note-1"}}
print(g.invoke({"draft": ""}, config)["draft"])
before = next(s for s in g.get_state_history(config) if s.next == ("finish",))
fork = g.update_state(before.config, {"tone": "?"})
print(g.invoke(None, fork)["draft"])
