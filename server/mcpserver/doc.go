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
//   - Each request of a client is checked by the server: its host, its origin, and its user. A call of
//     a tool is a run of the user.
//   - A call has a thread of its own, which is deleted afterwards. A client that names a thread
//     continues it.
//   - Steps and calls of tools of the graph are progress notifications.
//   - A question is put to the person at the client as text (elicitation). If the person does not answer or the client
//     cannot ask, the result says that the graph waits, and the tool "answer" answers. That tool is called by the
//     model of the client: it approves no call of a tool unless [Options].Answer says so.
//   - A call that the client cancels cancels its run.
package mcpserver
