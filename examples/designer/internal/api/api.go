// Package api is the platform over HTTP, for the page and for programs.
package api

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/studio"
	"github.com/weft-go/weft/examples/internal/page"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/tools"
)

const (
	maxBody    = 64 << 10 // bytes of JSON
	maxMessage = 20_000   // bytes of a message
	firstAgent = "kai"    // of a conversation that is begun from the page
)

// A request is who asks, and about which conversation.
type request struct {
	*http.Request
	kai.Turn
}

// server answers.
type server struct{ *kai.Platform }

// Handler answers over HTTP. User says who asks. The workspace is the program's to say, and never a request's.
func Handler(p *kai.Platform, user func(*http.Request) (string, error), workspace string) http.Handler {
	s := &server{p}
	mux := http.NewServeMux()
	for pattern, fn := range map[string]func(http.ResponseWriter, request) error{
		"GET /api/agents":                  s.listAgents,
		"POST /api/agents/{agent}":         s.execute,
		"GET /api/sessions":                s.listSessions,
		"POST /api/sessions":               s.createSession,
		"GET /api/sessions/{id}":           s.of(s.thread),
		"DELETE /api/sessions/{id}":        s.of(s.remove),
		"POST /api/sessions/{id}/messages": s.of(s.say),
		"POST /api/sessions/{id}/answers":  s.of(s.answer),
		"POST /api/sessions/{id}/resume":   s.of(func(w http.ResponseWriter, r request) error { return send(w, r, s.Resume(r.Context(), r.Turn)) }),
		"GET /api/memories":                s.listMemories,
		"POST /api/memories":               s.remember,
		"DELETE /api/memories/{id}":        s.forget,
		"GET /api/orders":                  s.listOrders,
		"GET /api/scenes/{file}":           s.scene,
		"/api/": func(http.ResponseWriter, request) error {
			return web.Refuse(http.StatusNotFound, "There is no such address.")
		},
	} {
		mux.Handle(pattern, web.Handler(s.Logger, func(w http.ResponseWriter, r *http.Request) error {
			who, err := user(r)
			if err != nil {
				return err
			}
			return explained(fn(w, request{r, kai.Turn{User: who, Workspace: workspace}}))
		}))
	}
	g, err := s.Graph(firstAgent)
	if err != nil {
		g = nil // other agents, without this one; the page then draws nothing
	}
	page.Mount(mux, page.Options{
		Title: "Design studio", Intro: "Products, scenes, quotes and orders. Nothing is made or ordered without your approval.",
		Placeholder: "What are you looking for?", Token: true, Graph: g,
		Suggestions: []string{"Find oak chairs under 700", "Show marble floor tiles and make a 3D scene of them", "Quote 6 of the first"},
	})
	return mux
}

// explained gives errors of this program a status.
func explained(err error) error {
	switch {
	case errors.Is(err, kai.ErrUnknownAgent):
		return web.Refuse(http.StatusNotFound, "There is no such agent.")
	case errors.Is(err, studio.ErrNotFound):
		return web.Refuse(http.StatusNotFound, "There is no such session.")
	case errors.Is(err, memory.ErrInvalid):
		return web.Invalid(err.Error())
	}
	return err
}

// of finds the conversation of a request, which has to be the caller's.
func (s *server) of(fn func(http.ResponseWriter, request) error) func(http.ResponseWriter, request) error {
	return func(w http.ResponseWriter, r request) error {
		c, err := s.Studio.Conversation(r.Context(), r.User, r.PathValue("id"))
		if err != nil {
			return err
		}
		r.Turn.Agent, r.Conversation = c.Agent, c.ID
		return fn(w, r)
	}
}

// send answers with what happens, as events.
func send(w http.ResponseWriter, r request, chunks iter.Seq2[kai.Chunk, error]) error {
	return web.Send(w, r.Request, func(yield func(web.Event, error) bool) {
		for c, err := range chunks {
			if !yield(web.Event{Name: string(c.Kind), Data: c}, err) || err != nil {
				return
			}
		}
	})
}

// message checks what the user says.
func message(text string) (string, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return "", web.Invalid("message: is empty")
	case len(text) > maxMessage:
		return "", web.Refuse(http.StatusRequestEntityTooLarge, "A message may have at most %d bytes.", maxMessage)
	}
	return text, nil
}

// execute runs a turn of an agent. Without a conversationId it begins a conversation. It answers with
// the result, or with events if the client accepts these.
func (s *server) execute(w http.ResponseWriter, r request) (err error) {
	var in struct {
		Message        string `json:"message"`
		ConversationID string `json:"conversationId"`
	}
	if err := web.Read(w, r.Request, &in, maxBody); err != nil {
		return err
	}
	if r.Input, err = message(in.Message); err != nil {
		return err
	}
	r.Turn.Agent = r.PathValue("agent")
	if in.ConversationID != "" {
		c, err := s.Studio.Conversation(r.Context(), r.User, in.ConversationID)
		if err != nil || c.Agent != r.Turn.Agent {
			return errors.Join(err, studio.ErrNotFound)
		}
		r.Conversation = c.ID
	}
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return send(w, r, s.Stream(r.Context(), r.Turn))
	}
	result, err := s.Execute(r.Context(), r.Turn, nil)
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusOK, result)
}

func (s *server) listAgents(w http.ResponseWriter, _ request) error {
	out := []map[string]any{}
	for _, id := range s.Agents.IDs() {
		out = append(out, map[string]any{"id": id, "name": s.Agents[id].Name, "tools": s.Agents[id].Tools})
	}
	return web.Write(w, http.StatusOK, out)
}

func (s *server) listSessions(w http.ResponseWriter, r request) error {
	all, err := s.Studio.Conversations(r.Context(), r.User)
	if err != nil {
		return err
	}
	out := []page.Session{}
	for _, c := range all {
		out = append(out, page.Session{ID: c.ID, Title: c.Title, UpdatedAt: c.Updated})
	}
	return web.Write(w, http.StatusOK, out)
}

func (s *server) createSession(w http.ResponseWriter, r request) error {
	in := struct {
		Agent string `json:"agentId"`
	}{firstAgent}
	if err := web.Read(w, r.Request, &in, maxBody); err != nil {
		return err
	}
	if _, err := s.Graph(in.Agent); err != nil {
		return err
	}
	id := strings.TrimPrefix(supacheckpoint.ThreadID(in.Agent, ""), in.Agent+"-")
	if err := s.Studio.Begin(r.Context(), studio.Conversation{ID: id, User: r.User, Agent: in.Agent}); err != nil {
		return err
	}
	return web.Write(w, http.StatusCreated, page.Session{ID: id})
}

func (s *server) thread(w http.ResponseWriter, r request) error {
	snap, err := s.Snapshot(r.Context(), r.Turn)
	if errors.Is(err, checkpoint.ErrNotFound) { // nothing was said yet
		return web.Write(w, http.StatusOK, page.Of(r.Conversation, "", nil, nil))
	}
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusOK, page.Of(r.Conversation, "", snap, kai.Messages.Get(snap)))
}

func (s *server) remove(w http.ResponseWriter, r request) error {
	if err := s.Forget(r.Context(), r.Turn); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *server) say(w http.ResponseWriter, r request) (err error) {
	var in struct {
		Message string `json:"message"`
	}
	if err := web.Read(w, r.Request, &in, maxBody); err != nil {
		return err
	}
	if r.Input, err = message(in.Message); err != nil {
		return err
	}
	return send(w, r, s.Stream(r.Context(), r.Turn))
}

func (s *server) answer(w http.ResponseWriter, r request) error {
	var in struct {
		ID     string         `json:"id"`
		Answer tools.Decision `json:"answer"`
	}
	if err := web.Read(w, r.Request, &in, maxBody); err != nil {
		return err
	}
	return send(w, r, s.Answer(r.Context(), r.Turn, in.ID, in.Answer))
}

// known is where the memories of the caller are.
func (r request) known() memory.Scope {
	return memory.Scope{Workspace: r.Workspace, User: r.User}
}

func (s *server) listMemories(w http.ResponseWriter, r request) error {
	out := []memory.Fact{}
	q := memory.FactQuery{Reach: memory.Reach{Scope: r.known(), AnyAgent: true}, Limit: 200}
	for _, kind := range r.URL.Query()["type"] {
		q.Kinds = append(q.Kinds, memory.Kind(kind))
	}
	for f, err := range s.Facts.List(r.Context(), q) {
		if err != nil {
			return err
		}
		out = append(out, f)
	}
	return web.Write(w, http.StatusOK, out)
}

// remember stores what a user wants all agents to know.
func (s *server) remember(w http.ResponseWriter, r request) error {
	var in struct {
		Type    memory.Kind `json:"type"`
		Content string      `json:"content"`
	}
	if err := web.Read(w, r.Request, &in, maxBody); err != nil {
		return err
	}
	stored, err := s.Facts.Store(r.Context(), r.known(), memory.Fact{Kind: in.Type, Content: in.Content, Trust: memory.Stated})
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusCreated, map[string]string{"id": stored[0].ID})
}

// forget removes a memory, whichever agent has learned it.
func (s *server) forget(w http.ResponseWriter, r request) error {
	n, err := s.clear(r.Context(), r.known(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if n == 0 {
		return web.Refuse(http.StatusNotFound, "There is no such memory.")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *server) clear(ctx context.Context, scope memory.Scope, id string) (int, error) {
	return s.Facts.Clear(ctx, memory.FactQuery{Reach: memory.Reach{Scope: scope, AnyAgent: true}, IDs: []string{id}})
}

func (s *server) listOrders(w http.ResponseWriter, r request) error {
	orders, err := s.Orders(r.Context(), r.User)
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusOK, append([]kai.Order{}, orders...))
}

// scene answers with the model of a scene, in the format of Wavefront.
func (s *server) scene(w http.ResponseWriter, r request) error {
	scene, err := s.Scene(r.Context(), r.User, strings.TrimSuffix(r.PathValue("file"), ".obj"))
	if errors.Is(err, studio.ErrNotFound) {
		return web.Refuse(http.StatusNotFound, "There is no such scene.")
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "model/obj")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte(scene.Model)) // who asked may have gone
	return nil
}
