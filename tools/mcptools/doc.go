// Package mcptools connects Weft to the Model Context Protocol (MCP). A [Client] provides
// the tools of an MCP server to an agent. A [Server] serves a set of Weft tools to MCP
// clients.
//
//	files, err := mcptools.New(mcptools.Command{Path: "mcp-files", Args: []string{"/srv/docs"}}, mcptools.Options{Prefix: "files"})
//	defer files.Close()
//	list, err := files.Tools(ctx) // the current tools; may be called at any time
//	set, err := tools.NewSet(append(list, own...)...)
//
//	server, err := mcptools.NewServer(set, mcptools.ServerOptions{Name: "weather"})
//	err = server.Serve(ctx, os.Stdin, os.Stdout) // or http.Handle("/mcp", server)
//
// Rules:
//
//   - A [Client] connects when it is first used, and again after the server has died. A
//     call that was in progress fails with an error and is not repeated, because the
//     tool may have run.
//   - A server is not trusted. Its tools are annotated as destructive and open-world
//     unless [Options].TrustHints is set, so an approval with the rule
//     tools.Destructive asks about each call. Names, descriptions and schemas are
//     limited in size, and tools.Options limits results. No link in a result is
//     fetched.
//   - A server gets no roots, no sampling and no elicitation, so it can ask neither the
//     model nor a person.
//   - A server that runs as a command gets only the environment variables listed at
//     [Command].
//   - When the context of a call is done, the call is cancelled at the server. Progress
//     is passed to tools.Report, and so to the events of the run.
//   - All calls of a Client use one session. If the server distinguishes users, give
//     each user a Client, or set credentials in the HTTP client from the context of the
//     request.
//
// A Client and a Server are safe for concurrent use.
package mcptools
