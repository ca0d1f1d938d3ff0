// Package mcpserver serves the graphs of a server as tools to clients of the Model Context Protocol
// (MCP), over streamable HTTP.
//
//	s, err := server.New(server.Options{Graphs: graphs, Runs: runs})
//	http.Handle("/mcp", mcpserver.New(s, mcpserver.Options{}))
//	http.Handle("/", s)
//
// What to know:
//
//   - Each graph that the user may see is a tool. A graph with a conversation takes a message, and any
//     other graph its input. The result is the last message of the assistant, or the values.
//   - The server checks each request of a client: its host, its origin, and its user. A tool call is a run of
//     the user.
//   - A call has a thread of its own, which is deleted when the graph has ended, and kept if the graph waits for
//     an answer. If a client names a thread, the call continues this thread.
//   - The client gets progress notifications for steps and tool calls of the graph.
//   - A question is shown as text to the person at the client (elicitation). If the person does not answer or the client
//     cannot ask, the result says that the graph waits, and the tool "answer" accepts the answer. The model of the client
//     calls this tool, so the tool approves no tool call unless [Options].Answer allows it.
//   - If the client cancels a call, the run is cancelled.
package mcpserver
