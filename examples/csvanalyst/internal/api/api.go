// Package api has the routes of the application beside those of the server: sessions, messages and files.
package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/csvanalyst/internal/analyst"
	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/examples/internal/jsonhttp"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
)

// MaxMessage is the maximum number of bytes of the text of a message.
const MaxMessage = 20_000

// Routes are the routes of the application.
type Routes struct {
	*analyst.Service
	Records *records.DB
	Files   *files.Store
	// Runs is the store of the server. A session that is a thread in it belongs to the chat page.
	Runs runs.Store
	// MaxUpload is the maximum number of bytes of a file.
	MaxUpload int64
}

// Caller returns the user of a request. The bearer token is a secret that the user chooses. It identifies the user,
// and the program stores only its hash. A request without credentials belongs to the user [analyst.Local].
func Caller(r *http.Request) (server.User, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return server.User{ID: analyst.Local}, nil
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || strings.TrimSpace(token) == "" {
		return server.User{}, jsonhttp.Refuse(http.StatusUnauthorized, "Authorization must be Bearer and a token.")
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return server.User{ID: hex.EncodeToString(sum[:])}, nil
}

// Handle adds the routes to a server whose Options.Auth is [Caller].
func (s *Routes) Handle(to *server.Server) {
	for pattern, fn := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /api/sessions":                 s.list,
		"POST /api/sessions":                s.create,
		"GET /api/sessions/{id}":            s.read,
		"DELETE /api/sessions/{id}":         s.delete,
		"GET /api/sessions/{id}/messages":   s.messages,
		"POST /api/sessions/{id}/messages":  s.say,
		"POST /api/sessions/{id}/resume":    s.resume,
		"GET /api/sessions/{id}/resources":  s.resources,
		"POST /api/sessions/{id}/resources": s.upload,
		// The chat page sends its files to /api/files.
		"POST /api/files":   ofThread(to, s.uploadToThread),
		"DELETE /api/files": ofThread(to, s.removeFromThread),
		"GET /{$}": func(w http.ResponseWriter, r *http.Request) error {
			http.Redirect(w, r, "/chat/", http.StatusSeeOther)
			return nil
		},
	} {
		to.Handle(pattern, func(w http.ResponseWriter, r *http.Request) error { return refused(fn(w, r)) })
	}
}

// refused turns errors of this program into refusals with a status.
func refused(err error) error {
	switch {
	case errors.Is(err, records.ErrNotFound):
		return jsonhttp.Refuse(http.StatusNotFound, "There is no such session.")
	case errors.Is(err, files.ErrNotFound):
		return jsonhttp.Refuse(http.StatusNotFound, "There is no such file in this session.")
	case errors.Is(err, records.ErrQuota):
		return jsonhttp.Refuse(http.StatusInsufficientStorage, "%s.", firstUpper(strings.SplitN(err.Error(), "\n", 2)[0]))
	case errors.Is(err, files.ErrLarge):
		return jsonhttp.Refuse(http.StatusRequestEntityTooLarge, "Images may have %d MiB together.", files.MaxImages>>20)
	case errors.Is(err, files.ErrImage):
		return jsonhttp.Refuse(http.StatusUnprocessableEntity, "Only PNG, JPEG, GIF and WebP images can be used.")
	case errors.Is(err, csvdb.ErrNotCSV):
		return jsonhttp.Refuse(http.StatusUnprocessableEntity, "This file cannot be used: %s.", strings.TrimPrefix(err.Error(), "csvdb: "))
	case errors.Is(err, checkpoint.ErrConflict):
		return jsonhttp.Refuse(http.StatusConflict, "This session is busy with another request.")
	case errors.Is(err, graph.ErrNoInput):
		return jsonhttp.Refuse(http.StatusConflict, "There is nothing to go on with.")
	}
	return err
}

// firstUpper writes the first letter of a sentence in upper case.
func firstUpper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// session returns the session in the path, if it is the caller's.
func (s *Routes) session(r *http.Request) (records.Session, error) {
	return s.Records.Session(r.Context(), server.UserID(r.Context()), r.PathValue("id"))
}

// isThread reports whether a session is a thread of the server, as every session of the chat page is.
func (s *Routes) isThread(r *http.Request, session string) (bool, error) {
	_, err := s.Runs.Get(r.Context(), runs.Thread, session)
	if errors.Is(err, runs.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// ownSession is like session, but refuses threads of the server, which runs them with another graph.
func (s *Routes) ownSession(r *http.Request) (records.Session, error) {
	session, err := s.session(r)
	if err != nil {
		return session, err
	}
	thread, err := s.isThread(r, session.ID)
	if thread {
		err = jsonhttp.Refuse(http.StatusConflict, "This session is a thread of the server: use /threads/%s.", session.ID)
	}
	return session, err
}

// A Session is a session as clients see it.
type Session struct {
	ID        string    `json:"id"`
	Title     string    `json:"title,omitempty"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Unfinished says that a run did not finish and can be resumed.
	Unfinished bool `json:"unfinished,omitempty"`
}

func (s *Routes) create(w http.ResponseWriter, r *http.Request) error {
	var none struct{}
	if err := jsonhttp.Read(w, r, &none, MaxMessage); err != nil {
		return err
	}
	made, err := s.Records.CreateSession(r.Context(), server.UserID(r.Context()))
	if err != nil {
		return err
	}
	return jsonhttp.Write(w, http.StatusCreated, Session{ID: made.ID, UpdatedAt: made.UpdatedAt})
}

func (s *Routes) list(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Records.Sessions(r.Context(), server.UserID(r.Context()))
	if err != nil {
		return err
	}
	out := []Session{}
	for _, one := range all {
		out = append(out, Session{ID: one.ID, Title: one.Title, UpdatedAt: one.UpdatedAt})
	}
	return jsonhttp.Write(w, http.StatusOK, out)
}

func (s *Routes) read(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	out := Session{ID: session.ID, Title: session.Title, UpdatedAt: session.UpdatedAt}
	thread, err := s.isThread(r, session.ID)
	if err == nil && !thread {
		var snap *graph.Snapshot
		snap, err = s.Graph().Thread(session.ID).Snapshot(r.Context())
		out.Unfinished = err == nil && !snap.Done()
	}
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	return jsonhttp.Write(w, http.StatusOK, out)
}

func (s *Routes) delete(w http.ResponseWriter, r *http.Request) error {
	session, err := s.ownSession(r)
	if err != nil {
		return err
	}
	if err := s.Graph().Thread(session.ID).Delete(r.Context()); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	if err := s.Files.DeleteSession(r.Context(), session.ID); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
