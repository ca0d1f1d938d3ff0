import asyncio

token = "none"


async def main():
    # docs:begin stream
    from langgraph_sdk import get_client
    client = get_client(url="http://127.0.0.1:8123", api_key=token)
    thread = await client.threads.create()
    input = {"messages": [{"role": "user", "content": "good morning"}]}
    async for event in client.runs.stream(thread["thread_id"], "assistant", input=input, stream_mode="messages-tuple"):
        print(event.event, event.data)
    # docs:end


asyncio.run(main())
