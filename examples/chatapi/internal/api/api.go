// Package api is the conversation over HTTP: what openapi.json describes, and a page.
package api

import (
	_ "embed"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/chatapi/internal/chat"
	"github.com/weft-go/weft/examples/internal/page"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
)

// MaxBody is how many bytes a request may have, and MaxMessage the text of a message.
const (
	MaxBody    = 64 << 10
	MaxMessage = 20_000
)

// OpenAPI is the description that is served at /openapi.json. Nobody changes it.
//
//go:embed openapi.json
var OpenAPI []byte

// server answers over HTTP.
type server struct {
	*chat.Service
	logger *slog.Logger
}

// routes are what openapi.json describes.
func (s *server) routes() map[string]func(http.ResponseWriter, *http.Request) error {
	return map[string]func(http.ResponseWriter, *http.Request) error{
		"POST /api/chat":                   s.chat,
		"GET /api/sessions":                s.listSessions,
		"POST /api/sessions":               s.createSession,
		"GET /api/sessions/{id}":           s.thread,
		"DELETE /api/sessions/{id}":        s.deleteSession,
		"POST /api/sessions/{id}/messages": s.say,
		"POST /api/sessions/{id}/resume":   s.resume,
		"GET /api/context":                 s.context,
		"PUT /api/context":                 s.setContext,
	}
}

// Routes are the methods and paths of the API.
func Routes() []string { return slices.Sorted(maps.Keys((&server{}).routes())) }

// Handler serves the API, its description, and a page that uses it. The logger is told of what is no fault of a
// client's, and may be nil.
func Handler(service *chat.Service, logger *slog.Logger) http.Handler {
	s := &server{service, logger}
	mux := http.NewServeMux()
	handle := func(pattern string, fn func(http.ResponseWriter, *http.Request) error) {
		mux.Handle(pattern, web.Handler(s.logger, func(w http.ResponseWriter, r *http.Request) error { return explained(fn(w, r)) }))
	}
	for pattern, fn := range s.routes() {
		handle(pattern, fn)
	}
	handle("/api/", func(http.ResponseWriter, *http.Request) error {
		return web.Refuse(http.StatusNotFound, "There is no such address.")
	})
	handle("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) error {
		return web.Write(w, http.StatusOK, json.RawMessage(OpenAPI))
	})
	page.Mount(mux, page.Options{
		Title: "Chat", Intro: "A conversation that remembers: what you tell it, and what your documents say.",
		Placeholder: "Remember that my dog is called Rex",
		Suggestions: []string{"Remember that my dog is called Rex", "What is my dog called?", "What do you know about me?"},
		Token:       true, Graph: s.Graph(),
	})
	return mux
}

// explained gives errors of this program a status.
func explained(err error) error {
	if errors.Is(err, memory.ErrForgotten) {
		return &web.Problem{Status: http.StatusGone, Message: "This session was deleted.", Err: err}
	}
	return err
}

// Scope says whose conversations and memory a request is about: those of the user that it
// names, among the users of its caller. No user is the caller.
func Scope(r *http.Request, user string) (memory.Scope, error) {
	s := memory.Scope{User: user}
	if caller := web.Caller(r); caller != "local" {
		s.Workspace = caller
	}
	if s.Validate() != nil {
		return s, web.Invalid("user_id: may have 512 bytes of UTF-8 at most")
	}
	return s, nil
}

// asked returns the scope of a request that names a user in its address.
func asked(r *http.Request) (memory.Scope, error) { return Scope(r, r.URL.Query().Get("user_id")) }

// session returns the session that the address names, if it is the caller's.
func (s *server) session(r *http.Request) (memory.Session, error) {
	of, err := asked(r)
	if err != nil {
		return memory.Session{}, err
	}
	return s.find(r, of, r.PathValue("id"))
}

func (s *server) find(r *http.Request, of memory.Scope, id string) (memory.Session, error) {
	found, err := s.Session(r.Context(), of, id)
	if errors.Is(err, memory.ErrInvalid) { // no session has such an id
		err = memory.ErrNotFound
	}
	return found, err
}

// chat answers a message, in a session that goes on or in a new one.
func (s *server) chat(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Message   string `json:"message"`
		SessionID string `json:"session_id"`
		UserID    string `json:"user_id"`
	}
	if err := web.Read(w, r, &in, MaxBody); err != nil {
		return err
	}
	if err := fits(in.Message); err != nil {
		return err
	}
	of, err := Scope(r, in.UserID)
	if err != nil {
		return err
	}
	var session memory.Session
	if in.SessionID != "" {
		session, err = s.find(r, of, in.SessionID)
	} else {
		session, err = s.Begin(r.Context(), of)
	}
	if err != nil {
		return err
	}
	chunks := s.Say(r.Context(), session, in.Message)
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return web.Send(w, r, told(session.ID, chunks))
	}
	return answer(w, session.ID, chunks)
}

func fits(message string) error {
	switch {
	case strings.TrimSpace(message) == "":
		return web.Invalid("message: is empty")
	case len(message) > MaxMessage:
		return web.Refuse(http.StatusRequestEntityTooLarge, "A message may have at most %d bytes.", MaxMessage)
	}
	return nil
}

// A Reply is the answer to a message.
type Reply struct {
	Reply     string `json:"reply"`
	SessionID string `json:"session_id"`
}

// last is what the last message of a run says.
func last(snap *graph.Snapshot, session string) Reply {
	m, _ := agent.Messages.Last(snap)
	return Reply{m.Text(), session}
}

// answer writes the reply once the run has ended, and the session is free for the next message.
func answer(w http.ResponseWriter, session string, chunks iter.Seq2[agent.Chunk, error]) error {
	var reply Reply
	for c, err := range chunks {
		if err != nil {
			return err
		}
		if c.Kind == agent.ChunkEnd {
			reply = last(c.Snapshot, session)
		}
	}
	return web.Write(w, http.StatusOK, reply)
}

// told are the events of a run: first the session's id, in the end the reply.
func told(session string, chunks iter.Seq2[agent.Chunk, error]) iter.Seq2[web.Event, error] {
	return func(yield func(web.Event, error) bool) {
		begun := false
		var reply Reply
		for c, err := range chunks {
			if err == nil && !begun {
				begun = true
				if !yield(web.Event{Name: "session", Data: map[string]string{"session_id": session}}, nil) {
					return
				}
			}
			if c.Kind == agent.ChunkEnd && err == nil {
				reply = last(c.Snapshot, session)
			}
			if !yield(web.Event{Name: string(c.Kind), Data: c}, err) || err != nil {
				return
			}
		}
		yield(web.Event{Name: "reply", Data: reply}, nil)
	}
}

func (s *server) createSession(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		UserID string `json:"user_id"`
	}
	if err := web.Read(w, r, &in, MaxBody); err != nil {
		return err
	}
	of, err := Scope(r, in.UserID)
	if err != nil {
		return err
	}
	made, err := s.Begin(r.Context(), of)
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusCreated, page.Session{ID: made.ID, UpdatedAt: made.UpdatedAt})
}

func (s *server) listSessions(w http.ResponseWriter, r *http.Request) error {
	of, err := asked(r)
	if err != nil {
		return err
	}
	out := []page.Session{}
	for one, err := range s.Sessions(r.Context(), of) {
		if err != nil {
			return err
		}
		out = append(out, page.Session{ID: one.ID, Title: one.Title, UpdatedAt: one.UpdatedAt})
	}
	return web.Write(w, http.StatusOK, out)
}

// thread is a session as the page shows it.
func (s *server) thread(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	messages, snap, err := s.Thread(r.Context(), session)
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusOK, page.Of(session.ID, session.Title, snap, messages))
}

func (s *server) deleteSession(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err == nil {
		err = s.Delete(r.Context(), session)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// say is chat for a session that is there, always as events.
func (s *server) say(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	var in struct {
		Message string `json:"message"`
	}
	if err := web.Read(w, r, &in, MaxBody); err != nil {
		return err
	}
	if err := fits(in.Message); err != nil {
		return err
	}
	return web.Send(w, r, told(session.ID, s.Say(r.Context(), session, in.Message)))
}

// resume goes on with a run that broke off.
func (s *server) resume(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	return web.Send(w, r, told(session.ID, s.Resume(r.Context(), session)))
}

// userContext is what is known of a user's plan. Usage and preferences are texts or objects.
type userContext struct {
	UserID      string          `json:"user_id"`
	Plan        string          `json:"plan,omitempty"`
	Usage       json.RawMessage `json:"usage,omitempty"`
	Preferences json.RawMessage `json:"preferences,omitempty"`
}

var plans = []string{"", "free", "pro", "enterprise"}

func (s *server) context(w http.ResponseWriter, r *http.Request) error {
	of, err := s.userOf(r, r.URL.Query().Get("user_id"))
	if err != nil {
		return err
	}
	c, err := agentmemory.LoadContext(r.Context(), s.Memory(), of)
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusOK, userContext{of.User, c.Plan, c.Usage, c.Preferences})
}

func (s *server) setContext(w http.ResponseWriter, r *http.Request) error {
	var in userContext
	if err := web.Read(w, r, &in, MaxBody); err != nil {
		return err
	}
	of, err := s.userOf(r, in.UserID)
	if err != nil {
		return err
	}
	if !slices.Contains(plans, in.Plan) {
		return web.Invalid("plan: is none of free, pro and enterprise")
	}
	for _, v := range []json.RawMessage{in.Usage, in.Preferences} {
		if len(v) > 0 && v[0] != '"' && v[0] != '{' {
			return web.Invalid("usage and preferences: have to be a text or an object")
		}
	}
	c, err := agentmemory.StoreContext(r.Context(), s.Memory(), of, agentmemory.Context{Plan: in.Plan, Usage: in.Usage, Preferences: in.Preferences})
	if errors.Is(err, memory.ErrInvalid) {
		return web.Invalid("usage and preferences: are too large, or no UTF-8")
	}
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusOK, userContext{of.User, c.Plan, c.Usage, c.Preferences})
}

// userOf returns the scope of a user who has to be named.
func (s *server) userOf(r *http.Request, user string) (memory.Scope, error) {
	if s.Memory() == nil {
		return memory.Scope{}, web.Refuse(http.StatusNotFound, "Nothing is kept here.")
	}
	if user == "" {
		return memory.Scope{}, web.Invalid("user_id: is missing")
	}
	return Scope(r, user)
}
