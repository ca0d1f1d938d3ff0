// Package mcptools connects Weft to the Model Context Protocol: the tools of any
// MCP server are tools of an agent, and a Weft set can be served to any MCP
// client.
//
//	files, err := mcptools.New(mcptools.Command{Path: "mcp-files", Args: []string{"/srv/docs"}}, mcptools.Options{Prefix: "files"})
//	defer files.Close()
//	list, err := files.Tools(ctx) // again at any time: it is what the server has now
//	set, err := tools.NewSet(append(list, own...)...)
//
//	server, err := mcptools.NewServer(set, mcptools.ServerOptions{Name: "weather"})
//	err = server.Serve(ctx, os.Stdin, os.Stdout) // or http.Handle("/mcp", server)
//
// What to know:
//
//   - A [Client] connects when it is first used, and again when the server died.
//     A call that was under way is answered with an error and never made again:
//     nobody knows how far it came.
//   - What a server says is not trusted. Its tools count as destructive and as
//     dealing with the open world until [Options].TrustHints says otherwise, so
//     an approval of tools.Destructive asks about each. Names, descriptions and
//     schemas are limited in size, results by tools.Options, and no link in a
//     result is followed.
//   - A server gets no roots, no sampling and no elicitation: it can neither ask
//     the model nor the person behind the agent's back.
//   - A server that runs as a command gets a small environment, listed at
//     [Command], and not that of the program.
//   - A context that is done cancels the call at the server. Progress goes to
//     tools.Report, and so to the events of the run.
//   - One session serves all calls of a Client. Where the server tells people
//     apart, give each a Client, or let the HTTP client look at the context.
//
// A Client and a [Server] are safe for use by any number of goroutines.
package mcptools
