# wait for the values
curl -s 127.0.0.1:8123/runs/wait -d '{"assistant_id": "assistant",
  "input": {"messages": [{"role": "user", "content": "good morning"}]}}'

# a thread keeps its state; the stream can be joined again
T=$(curl -s -X POST 127.0.0.1:8123/threads | jq -r .thread_id)
curl -N 127.0.0.1:8123/threads/$T/runs/stream -d '{"assistant_id": "assistant", "stream_resumable": true,
  "stream_mode": ["values", "messages-tuple"], "input": {"messages": [{"role": "user", "content": "good morning"}]}}'
