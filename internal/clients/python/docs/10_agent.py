from langchain.agents import create_agent

def weather(city: str) -> str:
    """Tells the weather in a city."""
    return "sunny in " + city

agent = create_agent("openai:gpt-5-mini", tools=[weather], system_prompt="You help with travel plans.")
out = agent.invoke({"messages": [{"role": "user", "content": "What do I pack for Athens?"}]})
for m in out["messages"]:
    print(m.content)
