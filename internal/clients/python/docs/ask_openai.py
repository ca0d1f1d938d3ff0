# docs:begin ask
from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8123/v1", api_key="none")
answer = client.chat.completions.create(model="assistant", messages=[{"role": "user", "content": "hello"}])
# docs:end
print(answer.choices[0].message.content)
# docs:begin approve
talk = {"model": "assistant", "extra_headers": {"X-Thread-Id": "my-thread"}}
said = [{"role": "user", "content": "send hello"}]
asked = client.chat.completions.create(messages=said, **talk).choices[0].message.content
print(asked)
# Send a message
# send: Sends a message to the team.
# arguments: {"text":"hello"}
#
# Answer "approve" or "reject", or as JSON: {"verdict":"approve","hash":"…"}
said += [{"role": "assistant", "content": asked}, {"role": "user", "content": "approve"}]
print(client.chat.completions.create(messages=said, **talk).choices[0].message.content)
# The message of you is sent: hello
# docs:end
