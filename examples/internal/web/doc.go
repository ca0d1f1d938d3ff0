// Package web is what the examples that speak HTTP have in common: JSON in and
// out, errors as a status and a message, the events of a run as server-sent
// events, and a server that lets runs end before it does.
//
//	mux.Handle("POST /api/sessions/{id}/messages", web.Handler(logger, func(w http.ResponseWriter, r *http.Request) error {
//		var in struct{ Message string `json:"message"` }
//		if err := web.Read(w, r, &in, 0); err != nil {
//			return err // 400, 413 or 415, with a message
//		}
//		run := g.Thread(r.PathValue("id")).Stream(r.Context(), agent.Messages.Put(llm.User(in.Message)))
//		return web.Send(w, r, web.Chunks(agent.Chunks(run)))
//	}))
//	err := web.Server{Handler: mux, Logger: logger}.Run(ctx, listener)
//
// What to know:
//
//   - A handler returns its error. [ProblemOf] says what the client is told of
//     it: a [Problem] as it is, what the SDK's packages fail with by its kind,
//     and anything else as a 500 without insides. Only that is logged.
//   - A run is given the request's context. A client that hangs up ends it, and
//     so does the server's end; what was stored stays, and the next run goes on.
//   - [Send] writes nothing before there is a first event. What fails before
//     that, such as a thread that is busy, has a status of its own.
//   - Runs that are under way when the server ends have [Server.Drain] to finish.
//     Then they are drained: they stop at the end of a superstep, resumable.
package web
