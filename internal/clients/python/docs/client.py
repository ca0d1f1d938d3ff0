import asyncio
from langgraph_sdk import get_client

async def main():
    client = get_client(url="http://127.0.0.1:8123")
    thread = await client.threads.create()
    input = {"messages": [{"role": "user", "content": "good morning"}]}
    async for event in client.runs.stream(thread["thread_id"], "assistant", input=input, stream_mode="messages-tuple"):
        print(event.event, event.data)

asyncio.run(main())
