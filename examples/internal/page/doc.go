// Package page is the web page that the examples share: it chats, shows tokens as
// they come, tool calls, and questions with buttons, and draws the graph with the
// node that runs. It is three static files without a build step or a framework,
// and works with a keyboard and a screen reader.
//
//	mux := http.NewServeMux()
//	page.Mount(mux, page.Options{Title: "Notes", Graph: g})
//
// It asks the program for these, with JSON in and out; the events are those of
// [web.Chunks], and an error is a [web.Problem]:
//
//	GET  api/sessions                  [Session, …], newest first
//	POST api/sessions                  {} → 201 Session
//	GET  api/sessions/ID               Thread
//	POST api/sessions/ID/messages      {"message": "…", "images": […]} → events
//	POST api/sessions/ID/answers       {"id": "…", "answer": …} → events
//	POST api/sessions/ID/resume        → events
//	GET  api/sessions/ID/resources     [Resource, …], with Options.Upload
//	POST api/sessions/ID/resources     multipart, the field "file" → 201 Resource
//
// An answer is for the pause of that id. Of a question about a tool's call it is a
// [tools.Decision]; of any other, "yes" or "no". At a node of Options.PauseBefore
// the id is empty.
package page
