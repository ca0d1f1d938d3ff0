// Package server serves graphs over HTTP. It speaks the protocol of LangGraph Server, so that the
// clients of that server work with it: the SDKs for JavaScript and Python, their hooks for React,
// and RemoteGraph.
//
//	s, err := server.New(server.Options{
//		Graphs: map[string]*graph.Graph{"agent": g},
//		Runs:   memruns.New(),
//	})
//	http.ListenAndServe("127.0.0.1:8123", s)
//
// # Rules
//
//   - A run belongs to the server. It continues when the client that began it leaves, unless the
//     request says otherwise or has the protocol of OpenAI, AG-UI or MCP. Any number of clients can join it.
//   - One run at a time is executed on a thread. A second one waits, is refused, stops the first
//     one or undoes it, as its request says.
//   - The states of threads are in the checkpoint store of the graph. Go code may run the same
//     threads. All other data is in [Options.Runs].
//   - Without [Options.Auth], only requests from this machine are accepted. With it, a user sees
//     and changes only the user's own objects, unless [Options.Authorize] says otherwise.
//
// The other protocols are OpenAI's chat completions, AG-UI, and, by package server/mcpserver, MCP. See
// docs/protocols.md.
//
// # The code
//
// The files of this package, lowest layer first:
//
//   - aside.go: calls whose panics become errors.
//   - message.go, messageschema.go, graph.go, draw.go, schema.go: messages, values and graphs as clients see them.
//   - context.go: the context of a run, which nodes read.
//   - failure.go: errors as clients see them.
//   - log.go, logreader.go, logwriter.go, event.go: the event log of a thread.
//   - record.go, recordtask.go, recordpause.go, attempt.go, place.go, loghandler.go: how a run writes the log.
//   - lane.go, activerun.go, prepare.go, answers.go, answerschema.go, execute.go, finish.go, undo.go: the queue of a thread,
//     and one run.
//   - queue.go, replica.go, sweep.go: the queue that servers share, and the notifications between them.
//   - auth.go, asked.go, limit.go, server.go, call.go, body.go, list.go, response.go, routes.go, http.go: requests.
//   - metrics.go, ready.go: metrics and readiness, for operators.
//   - assistant.go, version.go, subgraph.go, thread.go, threadsearch.go, deletion.go, expiry.go, item.go,
//     fact.go, cron.go, cronrequest.go, putcron.go, webhook.go: the objects.
//   - storedthread.go, state.go, substate.go, stateupdate.go, history.go: states of threads.
//   - run.go, runrequest.go, idempotency.go, runcancel.go: runs.
//   - gap.go, sse.go, runnable.go, stream.go, follow.go, watch.go: streams of runs and threads.
//   - threadmessage.go, threadview.go, subscription.go, command.go, tree.go, socket.go: the thread-centric
//     protocol.
//   - pages.go, studio.go, trace.go: the pages, and the routes that only the pages call.
//   - handle.go: routes of the application.
//   - adapter.go: code that the protocols below share.
//   - openaianswer.go, openai.go: graphs as models of OpenAI's protocol.
//   - aguiview.go, agui.go: graphs as agents of AG-UI.
package server
