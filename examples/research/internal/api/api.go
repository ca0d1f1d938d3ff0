// Package api is how clients reach the sessions of research: the service, and the page, over HTTP.
package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/internal/page"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/examples/research/internal/desk"
	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/examples/research/internal/input"
	"github.com/weft-go/weft/examples/research/internal/research"
	"github.com/weft-go/weft/llm"
)

// MaxMessage is how many bytes a question may have.
const MaxMessage = 20_000

// A Server answers over HTTP.
type Server struct {
	desk.Desk
	// Secret signs tokens. It is nil with a Supabase project, which does so by itself.
	Secret []byte
}

// caller is who asks.
type caller struct{ desk.Caller }

// Handler answers all of it.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, fn := range map[string]func(caller, http.ResponseWriter, *http.Request) error{
		"POST /api/research":                caller.research,
		"POST /api/proposals":               caller.addProposal,
		"POST /api/documents":               caller.addDocument,
		"GET /api/sessions":                 caller.listSessions,
		"POST /api/sessions":                caller.createSession,
		"GET /api/sessions/{id}":            caller.thread,
		"POST /api/sessions/{id}/messages":  caller.say,
		"POST /api/sessions/{id}/resume":    caller.goOn,
		"GET /api/sessions/{id}/resources":  caller.listResources,
		"POST /api/sessions/{id}/resources": caller.upload,
		"/api/": func(caller, http.ResponseWriter, *http.Request) error {
			return web.Refuse(http.StatusNotFound, "There is no such address.")
		},
	} {
		mux.Handle(pattern, web.Handler(s.Logger, func(w http.ResponseWriter, r *http.Request) error {
			c, err := s.Caller(r)
			if err == nil {
				err = fn(caller{c}, w, r)
			}
			return explained(err)
		}))
	}
	drawn, err := research.NewGraph(research.Config{})
	if err != nil {
		panic(err) // the graph is the same for everybody, and a test makes it
	}
	page.Mount(mux, page.Options{
		Title: "Research", Intro: "Upload a document and ask about it. At first it is researched as a whole.",
		Placeholder: "What must an answer contain?", Upload: ".txt,.md,.pdf,text/plain,text/markdown,application/pdf",
		Token: s.Secret == nil, Graph: drawn,
	})
	return s.signIn(mux)
}

// signIn gives who opens the page on the machine that the program runs on the local
// user's token. A Supabase project signs its users in by itself.
func (s *Server) signIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Secret != nil && r.URL.Path == "/" && local(r) {
			if token, err := account.Sign(s.Secret, "ann", 24*time.Hour); err == nil {
				http.SetCookie(w, &http.Cookie{
					Name: s.Cookie, Value: account.Cookie(token), Path: "/", MaxAge: 24 * 60 * 60, HttpOnly: true, SameSite: http.SameSiteStrictMode,
				})
			}
		}
		next.ServeHTTP(w, r)
	})
}

// local reports whether a browser on this machine asks, and by an address of it: a
// page of another site can not have itself taken for this one.
func local(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// explained gives errors of this program a status.
func explained(err error) error {
	switch {
	case errors.Is(err, account.ErrNotFound):
		return web.Refuse(http.StatusNotFound, "Session not found or access denied")
	case errors.Is(err, document.ErrUnreadable):
		return &web.Problem{Status: http.StatusUnprocessableEntity, Message: "This file can not be used.", Details: strings.TrimPrefix(err.Error(), document.ErrUnreadable.Error()+": ")}
	case errors.Is(err, document.ErrLarge):
		return web.Refuse(http.StatusRequestEntityTooLarge, "The text may have at most %d bytes.", document.MaxText)
	}
	return err
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
		return c.Run(w, r, desk.Turn{Session: s, Events: wantsEvents(r)})
	}
	has, err := c.HasProposal(r.Context(), in.ProposalID)
	if err != nil {
		return err
	}
	if !has {
		return web.Refuse(http.StatusNotFound, "Proposal not found or access denied")
	}
	about := account.About{Document: in.DocumentID, Title: in.DocumentID}
	if file, err := c.Documents.Load(c.User, in.DocumentID); err == nil {
		about.Title = file.Name
	}
	s, err := c.NewSession(r.Context(), in.ProposalID, about)
	if err != nil {
		return err
	}
	w.Header().Set("X-Thread-Id", s.Thread) // also for who reads events
	return c.Run(w, r, desk.Turn{Session: s, Events: wantsEvents(r), Started: true})
}

func wantsEvents(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// session returns a session of the caller.
func (c caller) session(r *http.Request, thread string) (account.Session, error) {
	if thread == "" || len(thread) > 500 || !utf8.ValidString(thread) || strings.ContainsRune(thread, 0) {
		return account.Session{}, account.ErrNotFound
	}
	return c.Session(r.Context(), thread)
}

func (c caller) addProposal(w http.ResponseWriter, r *http.Request) error {
	if err := web.Read(w, r, &struct{}{}, 0); err != nil {
		return err
	}
	id, err := c.AddProposal(r.Context())
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusCreated, map[string]string{"proposalId": id})
}

func (c caller) addDocument(w http.ResponseWriter, r *http.Request) error {
	file, err := c.keep(w, r)
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusCreated, map[string]any{"documentId": file.ID, "name": file.Name, "words": len(strings.Fields(file.Text))})
}

// keep keeps the file of a form.
func (c caller) keep(w http.ResponseWriter, r *http.Request) (document.File, error) {
	name, text, err := input.ReadFile(w, r, c.Reader)
	if err != nil {
		return document.File{}, err
	}
	return c.Documents.Add(c.User, name, text)
}

func (c caller) createSession(w http.ResponseWriter, r *http.Request) error {
	if err := web.Read(w, r, &struct{}{}, 0); err != nil {
		return err
	}
	proposal, err := c.AddProposal(r.Context())
	if err != nil {
		return err
	}
	s, err := c.NewSession(r.Context(), proposal, account.About{})
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusCreated, page.Session{ID: s.Thread, UpdatedAt: s.LastActivity})
}

func (c caller) listSessions(w http.ResponseWriter, r *http.Request) error {
	all, err := c.Sessions(r.Context())
	if err != nil {
		return err
	}
	out := []page.Session{}
	for _, s := range all {
		out = append(out, page.Session{ID: s.Thread, Title: s.Title, UpdatedAt: s.LastActivity})
	}
	return web.Write(w, http.StatusOK, out)
}

// thread is what the page shows of a session.
func (c caller) thread(w http.ResponseWriter, r *http.Request) error {
	s, err := c.session(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	a, name, err := c.Agent(s.Thread)
	if err != nil {
		return err
	}
	var said []llm.Message
	snap, err := a.Snapshot(r.Context(), name)
	if err == nil {
		said = slices.DeleteFunc(research.Messages.Get(snap), func(m llm.Message) bool { return !research.ByUser(m) })
	} else if !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	return web.Write(w, http.StatusOK, page.Of(s.Thread, s.Title, snap, said))
}

// say asks a question about the document, which is researched first.
func (c caller) say(w http.ResponseWriter, r *http.Request) error {
	s, err := c.session(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	var in struct {
		Message string `json:"message"`
	}
	if err := web.Read(w, r, &in, 0); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(in.Message) == "":
		return web.Invalid(map[string]string{"message": "is empty"})
	case len(in.Message) > MaxMessage:
		return web.Refuse(http.StatusRequestEntityTooLarge, "A message may have at most %d bytes.", MaxMessage)
	case s.Document == "":
		return web.Refuse(http.StatusConflict, "Upload a document first.")
	}
	return c.Run(w, r, desk.Turn{Session: s, Message: in.Message, Events: true})
}

func (c caller) goOn(w http.ResponseWriter, r *http.Request) error {
	s, err := c.session(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	return c.Run(w, r, desk.Turn{Session: s, Events: true})
}

func (c caller) listResources(w http.ResponseWriter, r *http.Request) error {
	s, err := c.session(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	out := []page.Resource{}
	if file, err := c.Documents.Load(c.User, s.Document); err == nil {
		out = append(out, resource(file))
	} else if !errors.Is(err, document.ErrNotFound) {
		return err
	}
	return web.Write(w, http.StatusOK, out)
}

func resource(file document.File) page.Resource {
	return page.Resource{
		ID: file.ID, OriginalName: file.Name, MIMEType: "text/plain", SizeBytes: int64(len(file.Text)),
		Note: fmt.Sprintf("%d words", len(strings.Fields(file.Text))),
	}
}

// upload gives a session its document, in place of the one before.
func (c caller) upload(w http.ResponseWriter, r *http.Request) error {
	s, err := c.session(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	file, err := c.keep(w, r)
	if err != nil {
		return err
	}
	s.Document, s.Title = file.ID, file.Name
	if err := c.PutSession(r.Context(), s); err != nil {
		return err
	}
	return web.Write(w, http.StatusCreated, resource(file))
}
