const thread = process.argv[2];
// docs:begin answer
const server = "http://127.0.0.1:8123";
const call = async (path, body) => {
  const response = await fetch(server + path, body && {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error((await response.json()).detail);
  return response.json();
};
const { interrupts } = await call(`/threads/${thread}/state`);
const answers = Object.fromEntries(interrupts.map((question) => [question.id, { day: "2026-12-01", slot: "morning", floor: 3 }]));
const values = await call(`/threads/${thread}/runs/wait`, { assistant_id: "shop", command: { resume: answers } });
console.log(values.__error__ ?? values.__interrupt__ ?? values.messages.at(-1).content);
// docs:end
