"""The programs of the documents. Only the address of the server is another one."""

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

DOCS = Path(__file__).parent / "docs"
OUTPUTS = Path(os.environ["ROOT"]) / "examples" / "graphs"  # of the same programs in Go


def run(tmp_path, name, **env):
    """Runs a program, and returns what it prints."""
    text = (DOCS / name).read_text().replace("http://127.0.0.1:8123", os.environ["SERVING_URL"])
    (tmp_path / name).write_text(text)
    done = subprocess.run([sys.executable, name], cwd=tmp_path, env=os.environ | env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


# What LangGraph prints in another way than Go.
OTHERS = {
    "06_thread": "['1: tea', '2: milk']\n",
    "09_fork": "Tea is old!\nTea is old?\n",  # the program in Go also prints the history
}


@pytest.mark.parametrize("name", sorted(p.stem for p in DOCS.glob("0*.py")))
def test_langgraph_prints_what_the_same_program_in_go_prints(tmp_path, name):
    assert run(tmp_path, name + ".py") == OTHERS.get(name, (OUTPUTS / name / "output.txt").read_text())


class Model(BaseHTTPRequestHandler):
    """Stands for OpenAI: it calls the tool, and then answers. docs/coming-from/langgraph.md shows the same replies in Go."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        if asked[-1]["role"] == "tool":
            message = {"role": "assistant", "content": "Take sunglasses."}
        else:
            call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Athens"}'}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)


def test_an_agent_of_langchain_calls_its_tool(tmp_path):
    web = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    Thread(target=web.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{web.server_port}/v1"
        out = run(tmp_path, "10_agent.py", OPENAI_BASE_URL=url, OPENAI_API_KEY="none")
    finally:
        web.shutdown()
    assert out == "What do I pack for Athens?\n\nsunny in Athens\nTake sunglasses.\n"


def test_the_sdk_of_openai_asks_and_approves(tmp_path):
    question = "\n".join([
        "Send a message", "send: Sends a message to the team.", 'arguments: {"text":"hello"}', "",
        'Answer "approve" or "reject", or as JSON: {"verdict":"approve","hash":"',
    ])
    answer, rest = run(tmp_path, "ask_openai.py").split("\n", 1)
    assert answer == "This is message 1 of the thread. Its 1 words, for you, in reverse: hello "
    assert rest.startswith(question), rest
    assert rest.endswith("\nThe message of you is sent: hello\n"), rest


@pytest.mark.parametrize("name", ["stream.py", "client.py"])
def test_the_sdk_streams_the_pieces_of_the_answer(tmp_path, name):
    out = run(tmp_path, name)
    assert "messages [{" in out
    for word in ("This is message 1 of the thread", "morning ", "good "):
        assert f"'content': '{word}" in out, out
