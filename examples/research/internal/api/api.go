// Package api serves research over HTTP: a server with its pages, and the routes of the application.
package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/examples/internal/jsonhttp"
	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/examples/research/internal/desk"
	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/examples/research/internal/input"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/ui"
)

// A Server serves research over HTTP.
type Server struct {
	desk.Desk
	// Secret signs tokens. It is nil with a Supabase project, which signs tokens itself.
	Secret []byte
	// Runs keeps the threads and runs of the server.
	Runs runs.Store
	// Hosts are the names by which clients may reach the server, besides those of this machine.
	Hosts []string
	// Keep is the time for which the server keeps an unused thread. Zero means forever.
	Keep time.Duration

	server *server.Server
}

// caller is the user of a request.
type caller struct{ desk.Caller }

// Open returns the server with its routes. Serve it with the handler of [Server.Handler].
func (s *Server) Open() (*server.Server, error) {
	g, err := s.Graph()
	if err != nil {
		return nil, err
	}
	login := ""
	if s.Secret != nil {
		login = loginPath
	}
	s.server, err = server.New(s.Tracing.Server(server.Options{
		Graphs: map[string]*graph.Graph{"research": g},
		Runs:   s.Runs,
		Auth:   s.auth,
		Hosts:  append([]string{"localhost", "127.0.0.1", "::1"}, s.Hosts...),
		Chat: &ui.Chat{
			Title: "Research", Greeting: "Attach a document that you want to answer, such as a request for proposals, and ask about it.",
			Suggestions: []string{"What is this document about?", "When are proposals due?", "What is the budget?", "How are proposals evaluated?"},
			Placeholder: "When are proposals due?", Login: login,
			Upload: "/api/documents", Accept: ".txt,.md,.pdf,text/plain,text/markdown,application/pdf",
		},
		Studio:    &ui.Studio{Login: login},
		OnDelete:  s.Forget,
		ThreadTTL: server.TTL{After: s.Keep},
		Logger:    s.Logger,
	}))
	if err != nil {
		return nil, err
	}
	for pattern, fn := range map[string]func(caller, http.ResponseWriter, *http.Request) error{
		"POST /api/research":  caller.research,
		"POST /api/proposals": caller.addProposal,
		"POST /api/documents": s.addDocument,

		"GET /api/documents/{id}": caller.document,
	} {
		s.server.Handle(pattern, func(w http.ResponseWriter, r *http.Request) error {
			c, err := s.Caller(r)
			if err == nil {
				err = fn(caller{c}, w, r)
			}
			return s.explained(r, err)
		})
	}
	return s.server, nil
}

// auth finds the user of a request.
func (s *Server) auth(r *http.Request) (server.User, error) {
	u, err := s.User(r)
	if err != nil && strings.HasPrefix(r.URL.Path, "/api/") {
		err = s.explained(r, err)
	}
	return server.User{ID: u.ID}, err
}

// research begins or continues a session.
func (c caller) research(w http.ResponseWriter, r *http.Request) error {
	in, err := input.ReadResearch(w, r)
	if err != nil {
		return err
	}
	if in.ThreadID != nil {
		s, err := c.session(r, *in.ThreadID)
		if err != nil {
			return err
		}
		result, err := c.Run(r.Context(), s)
		if err != nil {
			return err
		}
		return jsonhttp.Write(w, http.StatusOK, result)
	}
	has, err := c.HasProposal(r.Context(), in.ProposalID)
	if err != nil {
		return err
	}
	if !has {
		return input.Refuse(http.StatusNotFound, "Proposal not found or access denied", nil)
	}
	about := account.About{Document: in.DocumentID, Title: in.DocumentID}
	if file, err := c.Documents.Load(c.User, in.DocumentID); err == nil {
		about.Title = file.Name
	}
	s, err := c.NewSession(r.Context(), in.ProposalID, about)
	if err != nil {
		return err
	}
	w.Header().Set("X-Thread-Id", s.Thread) // also if the run fails
	result, err := c.Run(r.Context(), s)
	if err != nil {
		return err
	}
	result.ThreadID = s.Thread
	return jsonhttp.Write(w, http.StatusOK, result)
}

// session returns a session of the caller.
func (c caller) session(r *http.Request, thread string) (account.Session, error) {
	if thread == "" || len(thread) > 500 || !utf8.ValidString(thread) || strings.ContainsRune(thread, 0) {
		return account.Session{}, account.ErrNotFound
	}
	return c.Session(r.Context(), thread)
}

func (c caller) addProposal(w http.ResponseWriter, r *http.Request) error {
	if err := input.Read(w, r, &struct{}{}); err != nil {
		return err
	}
	id, err := c.AddProposal(r.Context())
	if err != nil {
		return err
	}
	return jsonhttp.Write(w, http.StatusCreated, map[string]string{"proposalId": id})
}

// addDocument stores a document. With ?thread=ID, the document becomes the thread's.
func (s *Server) addDocument(c caller, w http.ResponseWriter, r *http.Request) error {
	thread := r.URL.Query().Get("thread")
	if thread != "" {
		if err := s.server.CheckThread(r, thread); err != nil {
			return err
		}
	}
	name, text, err := input.ReadFile(r, c.Reader)
	if err != nil {
		return err
	}
	file, err := c.Documents.Add(c.User, name, text)
	if err == nil && thread != "" {
		err = c.Attach(r.Context(), thread, file)
	}
	if err != nil {
		return err
	}
	words := len(strings.Fields(file.Text))
	return jsonhttp.Write(w, http.StatusCreated, map[string]any{
		"documentId": file.ID, "name": file.Name, "words": words, "note": fmt.Sprintf("%d words", words),
		"url": "/api/documents/" + file.ID,
	})
}

// document returns the text of a document of the caller, for the page to show.
func (c caller) document(w http.ResponseWriter, r *http.Request) error {
	file, err := c.Documents.Load(c.User, r.PathValue("id"))
	if errors.Is(err, document.ErrNotFound) {
		return input.Refuse(http.StatusNotFound, "This document is not kept any more.", nil)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_, err = io.WriteString(w, file.Text)
	return err
}
