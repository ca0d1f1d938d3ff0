// Package api adds the routes of the application to the server. openapi.json describes them.
package api

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/chatapi/internal/chat"
	"github.com/weft-go/weft/examples/internal/jsonhttp"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/server"
)

// MaxBody is the maximum number of bytes of a request, and MaxMessage of a message.
const (
	MaxBody    = 64 << 10
	MaxMessage = 20_000
)

// OpenAPI is the description that is served at /openapi.json. Do not modify it.
//
//go:embed openapi.json
var OpenAPI []byte

// Caller returns the caller of a request. The bearer token is a secret that the caller chooses: all
// requests with the same token have the same caller. The id of the caller is a hash of the token. The
// caller of a request without credentials is [chat.Local].
func Caller(r *http.Request) (server.User, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return server.User{ID: chat.Local}, nil
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || strings.TrimSpace(token) == "" {
		return server.User{}, jsonhttp.Refuse(http.StatusUnauthorized, "Authorization must be Bearer and a token.")
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return server.User{ID: hex.EncodeToString(sum[:])}, nil
}

type routes struct {
	*chat.Service
	to *server.Server
}

// all returns the handlers of the routes that openapi.json describes.
func (s routes) all() map[string]func(http.ResponseWriter, *http.Request) error {
	return map[string]func(http.ResponseWriter, *http.Request) error{
		"POST /api/chat":            s.chat,
		"GET /api/sessions":         s.list,
		"GET /api/sessions/{id}":    s.read,
		"DELETE /api/sessions/{id}": s.delete,
		"GET /api/context":          s.context,
		"PUT /api/context":          s.setContext,
		"GET /api/memories":         s.memories,
		"DELETE /api/memories":      s.forget,
		"DELETE /api/memories/{id}": s.forget,
	}
}

// Routes returns the methods and paths of the routes, sorted.
func Routes() []string { return slices.Sorted(maps.Keys(routes{}.all())) }

// Handle adds the routes to a server whose Options.Auth is [Caller].
func Handle(to *server.Server, service *chat.Service) {
	for pattern, fn := range (routes{service, to}).all() {
		to.Handle(pattern, func(w http.ResponseWriter, r *http.Request) error { return refused(fn(w, r)) })
	}
	to.Handle("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) error {
		return jsonhttp.Write(w, http.StatusOK, json.RawMessage(OpenAPI))
	})
	to.Handle("GET /{$}", func(w http.ResponseWriter, r *http.Request) error {
		http.Redirect(w, r, "/chat/", http.StatusSeeOther)
		return nil
	})
}

// refused turns known errors of the service into refusals with an HTTP status.
func refused(err error) error {
	switch {
	case errors.Is(err, memory.ErrForgotten):
		return jsonhttp.Refuse(http.StatusGone, "This session was deleted.")
	case errors.Is(err, memory.ErrNotFound):
		return jsonhttp.Refuse(http.StatusNotFound, "There is no such session.")
	case errors.Is(err, checkpoint.ErrConflict), errors.Is(err, memory.ErrConflict):
		return jsonhttp.Refuse(http.StatusConflict, "This session is busy with another request.")
	case errors.Is(err, llm.ErrRateLimit), errors.Is(err, llm.ErrOverloaded), errors.Is(err, llm.ErrTransport):
		return &server.Refusal{Status: http.StatusServiceUnavailable, Detail: "The model cannot answer now. Try again later.", RetryAfter: 2 * time.Second}
	}
	return err
}

// Scope returns the scope of a user of the caller. An empty user is the caller.
func Scope(r *http.Request, user string) (memory.Scope, error) {
	s := chat.Scope(r.Context())
	s.User = user
	if s.Validate() != nil {
		return s, jsonhttp.Refuse(http.StatusBadRequest, "user_id may have at most 512 bytes of UTF-8.")
	}
	return s, nil
}

// session returns a session of a user of the caller.
func (s routes) session(r *http.Request, user, id string) (memory.Session, error) {
	of, err := Scope(r, user)
	if err != nil {
		return memory.Session{}, err
	}
	found, err := s.Session(r.Context(), of, id)
	if errors.Is(err, memory.ErrInvalid) { // no session has such an id
		err = memory.ErrNotFound
	}
	return found, err
}

// A Reply is the answer to a message.
type Reply struct {
	Reply     string `json:"reply"`
	SessionID string `json:"session_id"`
}

// chat answers a message, in a session or in a new one.
func (s routes) chat(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Message   string `json:"message"`
		SessionID string `json:"session_id"`
		UserID    string `json:"user_id"`
	}
	if err := jsonhttp.Read(w, r, &in, MaxBody); err != nil {
		return err
	}
	if err := fits(in.Message); err != nil {
		return err
	}
	session, err := s.open(r, in.UserID, in.SessionID)
	if err != nil {
		return err
	}
	snap, err := s.Say(r.Context(), session, in.Message)
	if err != nil {
		return err
	}
	return jsonhttp.Write(w, http.StatusOK, Reply{chat.Reply(snap), session.ID})
}

// open returns a session, or a new one if the id is empty.
func (s routes) open(r *http.Request, user, id string) (memory.Session, error) {
	if id != "" {
		return s.session(r, user, id)
	}
	of, err := Scope(r, user)
	if err != nil {
		return memory.Session{}, err
	}
	return s.Begin(r.Context(), of)
}

func fits(message string) error {
	switch {
	case strings.TrimSpace(message) == "":
		return jsonhttp.Refuse(http.StatusBadRequest, "message is empty.")
	case len(message) > MaxMessage:
		return jsonhttp.Refuse(http.StatusRequestEntityTooLarge, "message may have at most %d bytes.", MaxMessage)
	}
	return nil
}

// A Session is a conversation. A list has no messages.
type Session struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	Messages  []Message `json:"messages,omitempty"`
}

// A Message is one message of a session.
type Message struct {
	Role llm.Role `json:"role"`
	Text string   `json:"text"`
}

func (s routes) list(w http.ResponseWriter, r *http.Request) error {
	of, err := Scope(r, r.URL.Query().Get("user_id"))
	if err != nil {
		return err
	}
	out := []Session{}
	for one, err := range s.Sessions(r.Context(), of) {
		if err != nil {
			return err
		}
		out = append(out, Session{ID: one.ID, Title: one.Title, UpdatedAt: one.UpdatedAt})
	}
	return jsonhttp.Write(w, http.StatusOK, out)
}

func (s routes) read(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r, r.URL.Query().Get("user_id"), r.PathValue("id"))
	if err != nil {
		return err
	}
	messages, err := s.Messages(r.Context(), session)
	if err != nil {
		return err
	}
	out := Session{ID: session.ID, Title: session.Title, UpdatedAt: session.UpdatedAt}
	for _, m := range messages {
		if m.Role != llm.RoleSystem {
			out.Messages = append(out.Messages, Message{m.Role, m.Text()})
		}
	}
	return jsonhttp.Write(w, http.StatusOK, out)
}

func (s routes) delete(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r, r.URL.Query().Get("user_id"), r.PathValue("id"))
	if err == nil && s.to.CheckThread(r, session.ID) == nil {
		return jsonhttp.Refuse(http.StatusConflict, "This session is a thread of the server: delete /threads/%s.", session.ID)
	}
	if err == nil {
		err = s.Delete(r.Context(), session)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// A userContext is the plan, usage and preferences of a user. Usage and Preferences are JSON strings or
// objects.
type userContext struct {
	UserID      string          `json:"user_id"`
	Plan        string          `json:"plan,omitempty"`
	Usage       json.RawMessage `json:"usage,omitempty"`
	Preferences json.RawMessage `json:"preferences,omitempty"`
}

// maxPlan is the maximum number of bytes of a plan's name.
const maxPlan = 100

func (s routes) context(w http.ResponseWriter, r *http.Request) error {
	of, err := s.userOf(r, r.URL.Query().Get("user_id"))
	if err != nil {
		return err
	}
	c, err := agentmemory.LoadContext(r.Context(), s.Memory(), of)
	if err != nil {
		return err
	}
	return jsonhttp.Write(w, http.StatusOK, userContext{of.User, c.Plan, c.Usage, c.Preferences})
}

func (s routes) setContext(w http.ResponseWriter, r *http.Request) error {
	var in userContext
	if err := jsonhttp.Read(w, r, &in, MaxBody); err != nil {
		return err
	}
	of, err := s.userOf(r, in.UserID)
	if err != nil {
		return err
	}
	if len(in.Plan) > maxPlan {
		return jsonhttp.Refuse(http.StatusBadRequest, "plan may have at most %d bytes.", maxPlan)
	}
	for _, v := range []json.RawMessage{in.Usage, in.Preferences} {
		if len(v) > 0 && v[0] != '"' && v[0] != '{' {
			return jsonhttp.Refuse(http.StatusBadRequest, "usage and preferences must be a text or an object.")
		}
	}
	c, err := agentmemory.StoreContext(r.Context(), s.Memory(), of, agentmemory.Context{Plan: in.Plan, Usage: in.Usage, Preferences: in.Preferences})
	if errors.Is(err, memory.ErrInvalid) {
		return jsonhttp.Refuse(http.StatusBadRequest, "usage and preferences are too large, or not UTF-8.")
	}
	if err != nil {
		return err
	}
	return jsonhttp.Write(w, http.StatusOK, userContext{of.User, c.Plan, c.Usage, c.Preferences})
}

// userOf returns the scope of a user. It refuses an empty user, and every user if there is no memory.
func (s routes) userOf(r *http.Request, user string) (memory.Scope, error) {
	if s.Memory() == nil {
		return memory.Scope{}, jsonhttp.Refuse(http.StatusNotFound, "Nothing is kept here.")
	}
	if user == "" {
		return memory.Scope{}, jsonhttp.Refuse(http.StatusBadRequest, "user_id is missing.")
	}
	return Scope(r, user)
}
