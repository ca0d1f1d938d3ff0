"""The SDK of LangGraph for Python, asynchronous and synchronous."""

import asyncio
import os
import uuid

import pytest
from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.errors import ConflictError, NotFoundError

URL = os.environ["BASE_URL"]


def human(text):
    return {"messages": [{"role": "user", "content": text}]}


async def read(stream):
    return [part async for part in stream]


@pytest.fixture
def client():
    return get_client(url=URL)


@pytest.fixture
def sync():
    return get_sync_client(url=URL)


async def new_thread(client, **options):
    return (await client.threads.create(**options))["thread_id"]


async def test_assistants(client):
    mark = str(uuid.uuid4())
    made = await client.assistants.create("echo", name="polite", context={"prefix": "dear"}, metadata={"mark": mark})
    assert [a["assistant_id"] for a in await client.assistants.search(metadata={"mark": mark})] == [made["assistant_id"]]
    assert await client.assistants.count(metadata={"mark": mark}) == 1
    assert (await client.assistants.update(made["assistant_id"], context={"prefix": "hello"}))["version"] == 2
    assert [v["version"] for v in await client.assistants.get_versions(made["assistant_id"])] == [2, 1]
    assert (await client.runs.wait(None, made["assistant_id"], input=human("x")))["messages"][-1]["content"] == "hello: x"
    assert (await client.assistants.set_latest(made["assistant_id"], 1))["version"] == 1
    await client.assistants.delete(made["assistant_id"])
    with pytest.raises(NotFoundError):
        await client.assistants.get(made["assistant_id"])


async def test_graphs_are_described(client):
    [sub] = await client.assistants.search(graph_id="sub")
    graph = await client.assistants.get_graph(sub["assistant_id"], xray=True)
    assert "child:draft" in [n["id"] for n in graph["nodes"]]
    schemas = await client.assistants.get_schemas(sub["assistant_id"])
    assert sorted(schemas["state_schema"]["properties"]) == ["log", "out", "topic"]
    for subgraphs in (
        await client.assistants.get_subgraphs(sub["assistant_id"], recurse=True),
        await client.assistants.get_subgraphs(sub["assistant_id"], namespace="child"),
    ):
        assert sorted(subgraphs["child"]["state_schema"]["properties"]) == ["draft", "out", "topic"]


async def test_threads(client):
    mark = str(uuid.uuid4())
    thread = await new_thread(client, metadata={"mark": mark}, graph_id="echo")
    await client.threads.update(thread, metadata={"colour": "red"})
    [found] = await client.threads.search(metadata={"mark": mark, "colour": "red"}, status="idle", sort_by="created_at", sort_order="asc")
    assert found["thread_id"] == thread
    assert await client.threads.count(metadata={"mark": mark}) == 1
    await client.runs.wait(thread, "echo", input=human("one"))
    await client.threads.copy(thread)
    await client.threads.delete(thread)
    with pytest.raises(NotFoundError):
        await client.threads.get(thread)


async def test_modes(client):
    thread = await new_thread(client)
    modes = ["values", "updates", "messages-tuple", "tasks", "checkpoints", "debug", "custom", "events"]
    parts = await read(client.runs.stream(thread, "tools", input=human("add 2 3"), stream_mode=modes))
    assert {p.event for p in parts} == {"metadata", "values", "updates", "messages", "tasks", "checkpoints", "debug", "events"}
    text = "".join(p.data[0]["content"] for p in parts if p.event == "messages" and p.data[0]["id"] == "ai-3")
    assert text == "The sum is 5."
    parts = await read(client.runs.stream(None, "tools", input=human("add 2 3"), stream_mode="messages"))
    assert {"messages/metadata", "messages/partial", "messages/complete"} <= {p.event for p in parts}


async def test_subgraphs(client):
    thread = await new_thread(client)
    parts = await read(client.runs.stream(thread, "sub", input={"topic": "?a"}, stream_mode=["updates", "custom"], stream_subgraphs=True))
    assert [p.data["phase"] for p in parts if p.event.startswith("custom|child:")] == ["draft"]
    state = await client.threads.get_state(thread, subgraphs=True)
    assert state["tasks"][0]["state"]["values"]["draft"] == "draft of ?a"
    checkpoint = (await client.threads.get_state(thread))["tasks"][0]["checkpoint"]
    assert (await client.threads.get_state(thread, checkpoint=checkpoint))["next"] == ["polish"]
    history = await client.threads.get_history(thread, checkpoint=checkpoint)
    assert [s["next"] for s in history] == [["polish"], ["draft"], ["__start__"]]
    made = await client.threads.update_state(thread, {"draft": "mine"}, checkpoint=state["tasks"][0]["state"]["checkpoint"])
    assert (await client.threads.get_state(thread, checkpoint=made["checkpoint"]))["values"]["draft"] == "mine"
    await client.runs.wait(thread, "sub", input=None, checkpoint=made["checkpoint"])
    values = await client.runs.wait(thread, "sub", command={"resume": "warm"})
    assert values["out"] == "mine (warm)"


async def test_readers_join_from_any_event(client):
    thread = await new_thread(client)
    run = await client.runs.create(thread, "slow", input={"tag": "a", "n": 5}, stream_mode=["custom", "values"], stream_resumable=True)
    first, second, values = await asyncio.gather(
        read(client.runs.join_stream(thread, run["run_id"], last_event_id="-1")),
        read(client.runs.join_stream(thread, run["run_id"], last_event_id="-1")),
        client.runs.join(thread, run["run_id"]),
    )
    assert [p.data["step"] for p in first if p.event == "custom"] == [0, 1, 2, 3, 4]
    assert first == second
    assert values["steps"] == ["a:begin", "a:done"]
    ids = [p.id for p in first]
    rest = await read(client.runs.join_stream(thread, run["run_id"], last_event_id=ids[2]))
    assert [p.id for p in rest] == ids[3:]


async def test_a_client_comes_back(client):
    thread, steps = await new_thread(client), []
    # docs:begin reconnect
    runs, last = [], "-1"  # keep the run and the id of the last event where the next process finds them
    stream = client.runs.stream(
        thread, "slow", input={"tag": "a", "n": 5}, stream_mode="custom", stream_resumable=True, on_run_created=runs.append
    )
    async for part in stream:
        last = part.id or last
        if part.event == "custom":
            steps.append(part.data["step"])
            break  # this client goes away; the run goes on
    await stream.aclose()

    async for part in client.runs.join_stream(thread, runs[0]["run_id"], last_event_id=last):
        if part.event == "custom":
            steps.append(part.data["step"])
    # docs:end
    assert steps == [0, 1, 2, 3, 4]


async def test_whole_threads_are_joined(client):
    thread = await new_thread(client)
    stream = await client.threads.join_stream(thread, stream_mode=["run_modes", "lifecycle"])
    seen = []

    async def follow():
        async for part in stream:
            seen.append(part)
            if len([p for p in seen if p.event == "values"]) == 4:
                return

    task = asyncio.create_task(follow())
    await asyncio.sleep(0.3)
    for text in ("one", "two"):
        await client.runs.wait(thread, "echo", input=human(text))
    await asyncio.wait_for(task, 5)


async def test_interrupts(client):
    thread = await new_thread(client)
    asked = await client.runs.wait(thread, "approve2", input={"request": "r"})
    assert len(asked["__interrupt__"]) == 2
    open_ = (await client.threads.get(thread))["interrupts"]
    resume = {i["id"]: i["value"]["side"].upper() for group in open_.values() for i in group}
    values = await client.runs.wait(thread, "approve2", command={"resume": resume})
    assert values["result"] == "left=LEFT,right=RIGHT"


async def test_history_fork_and_update(client):
    thread = await new_thread(client)
    for text in ("one", "two"):
        await client.runs.wait(thread, "echo", input=human(text))
    history = await client.threads.get_history(thread, limit=100)
    assert [s["next"] for s in history] == [[], ["reply"], ["__start__"], [], ["reply"], ["__start__"]]
    assert len(await client.threads.get_history(thread, limit=100, before=history[3]["checkpoint"])) == 2
    values = await client.runs.wait(thread, "echo", input=human("three"), checkpoint=history[3]["checkpoint"])
    assert [m["content"] for m in values["messages"]] == ["one", "echo: one", "three", "echo: three"]
    await client.threads.update_state(thread, human("four"), as_node="__start__", checkpoint_id=history[3]["checkpoint"]["checkpoint_id"])
    values = await client.runs.wait(thread, "echo", input=None)
    assert [m["content"] for m in values["messages"]][-2:] == ["four", "echo: four"]


async def test_cancel(client):
    thread = await new_thread(client)
    for action, status in (("interrupt", "interrupted"), ("rollback", None)):
        run = await client.runs.create(thread, "slow", input={"tag": action, "n": 100})
        while (await client.runs.get(thread, run["run_id"]))["status"] != "running":
            await asyncio.sleep(0.02)
        await client.runs.cancel(thread, run["run_id"], wait=True, action=action)
        if status:
            assert (await client.runs.get(thread, run["run_id"]))["status"] == status
        else:
            with pytest.raises(NotFoundError):
                await client.runs.get(thread, run["run_id"])


@pytest.mark.parametrize("strategy, steps", [
    ("enqueue", ["a:begin", "a:done", "b:begin", "b:done"]),
    ("interrupt", ["a:begin", "b:begin", "b:done"]),
    ("rollback", ["b:begin", "b:done"]),
])
async def test_multitask(client, strategy, steps):
    thread = await new_thread(client)
    await client.runs.create(thread, "slow", input={"tag": "a", "n": 8})
    while not (await client.threads.get_state(thread))["values"].get("steps"):
        await asyncio.sleep(0.02)
    with pytest.raises(ConflictError):
        await client.runs.create(thread, "slow", input={"tag": "b", "n": 1}, multitask_strategy="reject")
    values = await client.runs.wait(thread, "slow", input={"tag": "b", "n": 1}, multitask_strategy=strategy)
    assert values["steps"] == steps


async def test_batch_and_errors(client):
    runs = await client.runs.create_batch([{"assistant_id": "echo", "input": human(t)} for t in ("one", "two")])
    values = await asyncio.gather(*(client.runs.join(r["thread_id"], r["run_id"]) for r in runs))
    assert [v["messages"][-1]["content"] for v in values] == ["echo: one", "echo: two"]
    with pytest.raises(Exception, match="bad text: boom"):
        await client.runs.wait(None, "fail", input={"text": "boom"})
    parts = await read(client.runs.stream(None, "fail", input={"text": "boom"}))
    assert parts[-1].event == "error" and parts[-1].data["error"] == "ValueError"


async def test_crons(client):
    thread = await new_thread(client)
    made = await client.crons.create_for_thread(thread, "echo", schedule="0 0 1 1 *", input=human("x"))
    [found] = await client.crons.search(thread_id=thread)
    assert found["cron_id"] == made["cron_id"]
    assert await client.crons.count(thread_id=thread) == 1
    assert (await client.crons.update(made["cron_id"], enabled=False))["enabled"] is False
    assert await client.crons.search(thread_id=thread, enabled=True) == []
    await client.crons.delete(made["cron_id"])
    assert await client.crons.search(thread_id=thread) == []


async def test_store(client):
    root = str(uuid.uuid4())
    for key, n in (("k1", 1), ("k2", 2)):
        await client.store.put_item([root, "a"], key=key, value={"n": n})
    assert (await client.store.get_item([root, "a"], key="k1"))["value"] == {"n": 1}
    assert [i["value"]["n"] for i in (await client.store.search_items([root], filter={"n": 2}))["items"]] == [2]
    assert (await client.store.list_namespaces(prefix=[root]))["namespaces"] == [[root, "a"]]
    await client.store.delete_item([root, "a"], key="k1")
    assert await client.store.get_item([root, "a"], key="k1") is None


def test_synchronous_client(sync):
    thread = sync.threads.create()["thread_id"]
    parts = list(sync.runs.stream(thread, "tools", input=human("add 2 3"), stream_mode=["messages-tuple", "values"]))
    assert {p.event for p in parts} == {"metadata", "messages", "values"}
    assert sync.threads.get_state(thread)["values"]["messages"][-1]["content"] == "The sum is 5."
    run = sync.runs.create(thread, "tools", input=human("add 4 5"), stream_mode="values", stream_resumable=True)
    assert sync.runs.join(thread, run["run_id"])["messages"][-1]["content"] == "The sum is 9."
    assert list(sync.runs.join_stream(thread, run["run_id"], last_event_id="-1"))[-1].event == "values"
    asked = sync.runs.wait(None, "approve", input={"request": "r"}, on_completion="keep")
    assert asked["__interrupt__"][0]["value"]["question"] == "approve r?"
    assert len(sync.threads.get_history(thread, limit=100)) > 4
    assert sync.assistants.search(graph_id="echo")[0]["graph_id"] == "echo"
    sync.store.put_item(["x"], key="k", value={"a": 1})
    assert sync.store.get_item(["x"], key="k")["value"] == {"a": 1}
