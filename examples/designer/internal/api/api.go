// Package api adds the platform's own HTTP routes to a server.
package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/studio"
	"github.com/weft-go/weft/examples/internal/jsonhttp"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/tools"
)

const (
	maxBody    = 64 << 10 // bytes of JSON
	maxMessage = 20_000   // bytes of a message
)

// A request is an HTTP request with its user and conversation.
type request struct {
	*http.Request
	kai.Turn
}

type routes struct{ *kai.Platform }

// Handle adds the routes to a server. All requests use the platform's workspace.
func Handle(to *server.Server, p *kai.Platform) {
	s := routes{p}
	for pattern, fn := range map[string]func(http.ResponseWriter, request) error{
		"GET /api/agents":                 s.listAgents,
		"POST /api/agents/{agent}":        s.execute,
		"GET /api/sessions":               s.listSessions,
		"GET /api/sessions/{id}":          s.of(s.look),
		"DELETE /api/sessions/{id}":       s.of(s.remove),
		"POST /api/sessions/{id}/answers": s.of(s.answer),
		"POST /api/sessions/{id}/resume":  s.of(s.resume),
		"GET /api/memories":               s.listMemories,
		"POST /api/memories":              s.remember,
		"DELETE /api/memories":            s.forgetAll,
		"DELETE /api/memories/{id}":       s.forget,
		"GET /api/orders":                 s.listOrders,
		"GET /api/scenes/{file}":          s.scene,
		"GET /api/drawings/{file}":        s.drawing,
	} {
		to.Handle(pattern, func(w http.ResponseWriter, r *http.Request) error {
			return refused(fn(w, request{r, kai.Turn{User: server.UserID(r.Context()), Workspace: p.Workspace}}))
		})
	}
	to.Handle("GET /{$}", func(w http.ResponseWriter, r *http.Request) error {
		http.Redirect(w, r, "/chat/", http.StatusSeeOther)
		return nil
	})
}

// refused gives errors of the platform a status.
func refused(err error) error {
	switch {
	case errors.Is(err, kai.ErrUnknownAgent):
		return jsonhttp.Refuse(http.StatusNotFound, "There is no such agent.")
	case errors.Is(err, studio.ErrNotFound), errors.Is(err, checkpoint.ErrNotFound):
		return jsonhttp.Refuse(http.StatusNotFound, "There is no such session.")
	case errors.Is(err, checkpoint.ErrConflict):
		return jsonhttp.Refuse(http.StatusConflict, "This session is busy with another request.")
	case errors.Is(err, graph.ErrNoQuestion):
		return jsonhttp.Refuse(http.StatusConflict, "This question is not open.")
	case errors.Is(err, memory.ErrInvalid):
		return jsonhttp.Refuse(http.StatusBadRequest, "%v.", err)
	case errors.Is(err, llm.ErrRateLimit), errors.Is(err, llm.ErrOverloaded), errors.Is(err, llm.ErrTransport):
		return &server.Refusal{Status: http.StatusServiceUnavailable, Detail: "The model cannot answer now. Try again later.", RetryAfter: 2 * time.Second}
	}
	return err
}

// of finds the conversation of a request and calls fn. The conversation must belong to the caller.
func (s routes) of(fn func(http.ResponseWriter, request) error) func(http.ResponseWriter, request) error {
	return func(w http.ResponseWriter, r request) error {
		c, err := s.Studio.Conversation(r.Context(), r.User, r.PathValue("id"))
		if err != nil {
			return err
		}
		r.Turn.Agent, r.Conversation = c.Agent, c.ID
		return fn(w, r)
	}
}

// send answers with the result of a turn.
func send(w http.ResponseWriter, r *kai.Result, err error) error {
	if err != nil {
		return err
	}
	return jsonhttp.Write(w, http.StatusOK, r)
}

// execute runs a turn of an agent. Without a conversationId it begins a conversation.
func (s routes) execute(w http.ResponseWriter, r request) error {
	var in struct {
		Message        string `json:"message"`
		ConversationID string `json:"conversationId"`
	}
	if err := jsonhttp.Read(w, r.Request, &in, maxBody); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(in.Message) == "":
		return jsonhttp.Refuse(http.StatusBadRequest, "message is empty.")
	case len(in.Message) > maxMessage:
		return jsonhttp.Refuse(http.StatusRequestEntityTooLarge, "message may have at most %d bytes.", maxMessage)
	}
	r.Input, r.Turn.Agent = in.Message, r.PathValue("agent")
	if in.ConversationID != "" {
		c, err := s.Studio.Conversation(r.Context(), r.User, in.ConversationID)
		if err != nil || c.Agent != r.Turn.Agent {
			return errors.Join(err, studio.ErrNotFound)
		}
		r.Conversation = c.ID
	}
	result, err := s.Execute(r.Context(), r.Turn, nil)
	return send(w, result, err)
}

func (s routes) answer(w http.ResponseWriter, r request) error {
	var in struct {
		ID     string         `json:"id"`
		Answer tools.Decision `json:"answer"`
	}
	if err := jsonhttp.Read(w, r.Request, &in, maxBody); err != nil {
		return err
	}
	result, err := kai.Last(s.Answer(r.Context(), r.Turn, in.ID, in.Answer))
	return send(w, result, err)
}

// resume continues an unfinished turn.
func (s routes) resume(w http.ResponseWriter, r request) error {
	result, err := kai.Last(s.Resume(r.Context(), r.Turn))
	return send(w, result, err)
}

// look answers with the result of the last turn.
func (s routes) look(w http.ResponseWriter, r request) error {
	result, err := s.Look(r.Context(), r.Turn)
	return send(w, result, err)
}

func (s routes) remove(w http.ResponseWriter, r request) error {
	if err := s.Forget(r.Context(), r.Turn); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s routes) listAgents(w http.ResponseWriter, _ request) error {
	out := []map[string]any{}
	for _, id := range s.Agents.IDs() {
		out = append(out, map[string]any{"id": id, "name": s.Agents[id].Name, "tools": s.Agents[id].Tools})
	}
	return jsonhttp.Write(w, http.StatusOK, out)
}

func (s routes) listSessions(w http.ResponseWriter, r request) error {
	all, err := s.Studio.Conversations(r.Context(), r.User)
	if err != nil {
		return err
	}
	type session struct {
		ID      string    `json:"id"`
		Agent   string    `json:"agentId"`
		Title   string    `json:"title"`
		Updated time.Time `json:"updatedAt"`
	}
	out := []session{}
	for _, c := range all {
		out = append(out, session{c.ID, c.Agent, c.Title, c.Updated})
	}
	return jsonhttp.Write(w, http.StatusOK, out)
}

// known returns the memory scope of the caller.
func (r request) known() memory.Scope {
	return memory.Scope{Workspace: r.Workspace, User: r.User}
}

func (s routes) listMemories(w http.ResponseWriter, r request) error {
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
	return jsonhttp.Write(w, http.StatusOK, out)
}

// remember stores a memory of the user for all agents.
func (s routes) remember(w http.ResponseWriter, r request) error {
	var in struct {
		Type    memory.Kind `json:"type"`
		Content string      `json:"content"`
	}
	if err := jsonhttp.Read(w, r.Request, &in, maxBody); err != nil {
		return err
	}
	stored, err := s.Facts.Store(r.Context(), r.known(), memory.Fact{Kind: in.Type, Content: in.Content, Trust: memory.Stated})
	if err != nil {
		return err
	}
	return jsonhttp.Write(w, http.StatusCreated, map[string]string{"id": stored[0].ID})
}

// forget removes a memory, whichever agent has learned it.
func (s routes) forget(w http.ResponseWriter, r request) error {
	n, err := s.clear(r.Context(), r.known(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if n == 0 {
		return jsonhttp.Refuse(http.StatusNotFound, "There is no such memory.")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// forgetAll removes all memories of the user, whichever agent has learned them.
func (s routes) forgetAll(w http.ResponseWriter, r request) error {
	n, err := s.clear(r.Context(), r.known())
	if err != nil {
		return err
	}
	return jsonhttp.Write(w, http.StatusOK, map[string]int{"forgotten": n})
}

func (s routes) clear(ctx context.Context, scope memory.Scope, ids ...string) (int, error) {
	return s.Facts.Clear(ctx, memory.FactQuery{Reach: memory.Reach{Scope: scope, AnyAgent: true}, IDs: ids, Untrusted: true, Closed: true})
}

func (s routes) listOrders(w http.ResponseWriter, r request) error {
	orders, err := s.Orders(r.Context(), r.User)
	if err != nil {
		return err
	}
	return jsonhttp.Write(w, http.StatusOK, append([]kai.Order{}, orders...))
}

// scene answers with the model of a scene, in the format of Wavefront.
func (s routes) scene(w http.ResponseWriter, r request) error {
	scene, err := s.Scene(r.Context(), r.User, strings.TrimSuffix(r.PathValue("file"), ".obj"))
	if errors.Is(err, studio.ErrNotFound) {
		return jsonhttp.Refuse(http.StatusNotFound, "There is no such scene.")
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "model/obj")
	_, _ = w.Write([]byte(scene.Model)) // the client may have left
	return nil
}

// drawing answers with the drawing of a product.
func (s routes) drawing(w http.ResponseWriter, r request) error {
	p, ok := s.Catalogue.Lookup(strings.TrimSuffix(r.PathValue("file"), ".svg"))
	if !ok {
		return jsonhttp.Refuse(http.StatusNotFound, "There is no such product.")
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "private, max-age=3600")
	_, _ = w.Write([]byte(p.SVG())) // the client may have left
	return nil
}
