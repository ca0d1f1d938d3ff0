// Package api is how clients reach the analyst: sessions, messages, uploads and the page, over HTTP.
package api

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/csvanalyst/internal/analyst"
	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/examples/internal/page"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/llm"
)

// MaxMessage is how many bytes the text of a message may have, and uploadTime how
// long an upload may take.
const (
	MaxMessage = 20_000
	uploadTime = time.Hour
)

var errImage = errors.New("this is not an image that can be used")

// A Server answers over HTTP.
type Server struct {
	*analyst.Service
	Records *records.DB
	Files   *files.Store
	// MaxUpload is how many bytes a file may have.
	MaxUpload int64
	Logger    *slog.Logger
}

// Handler answers all of it.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, fn := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /api/sessions":                 s.listSessions,
		"POST /api/sessions":                s.createSession,
		"GET /api/sessions/{id}":            s.thread,
		"DELETE /api/sessions/{id}":         s.deleteSession,
		"GET /api/sessions/{id}/messages":   s.listMessages,
		"POST /api/sessions/{id}/messages":  s.say,
		"POST /api/sessions/{id}/resume":    s.goOn,
		"GET /api/sessions/{id}/resources":  s.listResources,
		"POST /api/sessions/{id}/resources": s.upload,
		"/api/": func(http.ResponseWriter, *http.Request) error {
			return web.Refuse(http.StatusNotFound, "There is no such address.")
		},
	} {
		mux.Handle(pattern, web.Handler(s.Logger, func(w http.ResponseWriter, r *http.Request) error { return explained(fn(w, r)) }))
	}
	page.Mount(mux, page.Options{
		Title: "CSV analyst", Intro: "Upload CSV files, then ask about them. Every figure comes from the file.",
		Placeholder: "What is the total amount by city?",
		Upload:      ".csv,.tsv,.txt,text/csv,image/*", Images: true, Graph: s.Graph(),
	})
	return mux
}

// explained gives errors of this program a status.
func explained(err error) error {
	switch {
	case errors.Is(err, records.ErrNotFound):
		return web.Refuse(http.StatusNotFound, "There is no such session.")
	case errors.Is(err, files.ErrNotFound):
		return web.Refuse(http.StatusNotFound, "There is no such file in this session.")
	case errors.Is(err, files.ErrLarge):
		return web.Refuse(http.StatusRequestEntityTooLarge, "Images may have %d MiB together.", files.MaxImages>>20)
	case errors.Is(err, errImage):
		return web.Refuse(http.StatusUnprocessableEntity, "Only PNG, JPEG, GIF and WebP images can be used.")
	case errors.Is(err, csvdb.ErrNotCSV):
		return &web.Problem{Status: http.StatusUnprocessableEntity, Message: "This file can not be used.", Details: strings.TrimPrefix(err.Error(), "csvdb: ")}
	}
	return err
}

// session returns the session of a request, if it is the caller's.
func (s *Server) session(r *http.Request) (records.Session, error) {
	return s.Records.Session(r.Context(), web.Caller(r), r.PathValue("id"))
}

func (s *Server) createSession(w http.ResponseWriter, r *http.Request) error {
	var none struct{}
	if err := web.Read(w, r, &none, 0); err != nil {
		return err
	}
	made, err := s.Records.CreateSession(r.Context(), web.Caller(r))
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusCreated, page.Session{ID: made.ID, UpdatedAt: made.UpdatedAt})
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Records.Sessions(r.Context(), web.Caller(r))
	if err != nil {
		return err
	}
	out := []page.Session{}
	for _, one := range all {
		out = append(out, page.Session{ID: one.ID, Title: one.Title, UpdatedAt: one.UpdatedAt})
	}
	return web.Write(w, http.StatusOK, out)
}

// thread is what the page shows of a session.
func (s *Server) thread(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	rows, err := s.Records.Messages(r.Context(), session.ID)
	if err != nil {
		return err
	}
	snap, err := s.Graph().Thread(session.ID).Snapshot(r.Context())
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	said := make([]llm.Message, len(rows))
	for i, row := range rows {
		said[i] = llm.Message{ID: fmt.Sprint(row.ID), Role: llm.Role(row.Role), Parts: []llm.Part{llm.Text(row.Content)}}
		for _, image := range row.Images {
			said[i].Parts = append(said[i].Parts, llm.Image(image.MIMEType, image.Data))
		}
	}
	return web.Write(w, http.StatusOK, page.Of(session.ID, session.Title, snap, said))
}

func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	all, err := s.Records.Resources(r.Context(), session.ID)
	if err != nil {
		return err
	}
	if err := s.Graph().Thread(session.ID).Delete(r.Context()); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	err = s.Records.DeleteSession(r.Context(), session.ID)
	for _, resource := range all {
		err = errors.Join(err, s.Files.Remove(resource))
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (s *Server) listMessages(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	rows, err := s.Records.Messages(r.Context(), session.ID)
	if err != nil {
		return err
	}
	type said struct {
		Role      string    `json:"role"`
		Content   string    `json:"content"`
		Images    int       `json:"images,omitempty"`
		CreatedAt time.Time `json:"createdAt"`
	}
	out := []said{}
	for _, m := range rows {
		out = append(out, said{m.Role, m.Content, len(m.Images), m.CreatedAt})
	}
	return web.Write(w, http.StatusOK, out)
}

// say runs the graph for a message. A client that accepts text/plain gets what the
// model says and nothing else; any other, all that happens, as events.
func (s *Server) say(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	t := analyst.Turn{User: session.UserID, Session: session.ID}
	if t.Text, t.Images, err = s.readMessage(w, r, session.ID); err != nil {
		return err
	}
	if strings.Contains(r.Header.Get("Accept"), "text/plain") {
		return tokens(w, s.StreamAgent(r.Context(), t))
	}
	return web.Send(w, r, web.Chunks(s.Run(r.Context(), t)))
}

func (s *Server) readMessage(w http.ResponseWriter, r *http.Request, session string) (string, []records.Image, error) {
	var in struct {
		Message string `json:"message"`
		Images  []struct {
			records.Image
			Resource string `json:"resourceId"` // an image that was uploaded
		} `json:"images"`
	}
	if err := web.Read(w, r, &in, 2*files.MaxImages); err != nil {
		return "", nil, err
	}
	switch text := strings.TrimSpace(in.Message); {
	case text == "":
		return "", nil, web.Invalid("message: is empty")
	case len(text) > MaxMessage:
		return "", nil, web.Refuse(http.StatusRequestEntityTooLarge, "A message may have at most %d bytes.", MaxMessage)
	}
	var images []records.Image
	total := 0
	for _, one := range in.Images {
		image := one.Image
		if one.Resource != "" {
			var err error
			if image, err = s.Files.Image(r.Context(), session, one.Resource); err != nil {
				return "", nil, err
			}
		}
		if image.MIMEType = files.ImageType(image.Data); image.MIMEType == "" {
			return "", nil, errImage
		}
		if total += len(image.Data); total > files.MaxImages {
			return "", nil, files.ErrLarge
		}
		images = append(images, image)
	}
	return in.Message, images, nil
}

// tokens writes a text as it comes. What fails later can only break the answer off.
func tokens(w http.ResponseWriter, deltas iter.Seq2[string, error]) error {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	begun := false
	for text, err := range deltas {
		if err != nil && !begun {
			return err
		}
		if err != nil {
			panic(http.ErrAbortHandler) // so that the client does not take it for the whole
		}
		if !begun {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		}
		begun = true
		if _, err := io.WriteString(w, text); err != nil {
			return nil // who asked has gone; leaving the loop cancels the run
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return nil
		}
	}
	return nil
}

func (s *Server) goOn(w http.ResponseWriter, r *http.Request) error {
	return web.Send(w, r, web.Chunks(s.Resume(r.Context(), web.Caller(r), r.PathValue("id"))))
}

func (s *Server) listResources(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	all, err := s.Records.Resources(r.Context(), session.ID)
	if err != nil {
		return err
	}
	out := []page.Resource{}
	for _, resource := range all {
		out = append(out, s.describe(r, resource))
	}
	return web.Write(w, http.StatusOK, out)
}

// describe says in words what is in a file.
func (s *Server) describe(r *http.Request, f records.Resource) page.Resource {
	p := page.Resource{ID: f.ID, OriginalName: f.OriginalName, MIMEType: f.MIMEType, SizeBytes: f.SizeBytes}
	if schema, err := s.Files.Schema(r.Context(), f); err == nil {
		p.Note = strings.Join(append([]string{fmt.Sprintf("%d rows, %d columns: %s", schema.RowCount, len(schema.Columns), strings.Join(schema.Names(), ", "))}, schema.Notes...), "; ")
	} else if files.IsCSV(f) {
		p.Note = "This file can not be read."
	}
	return p
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "multipart/form-data" {
		return web.Refuse(http.StatusUnsupportedMediaType, "The content type has to be multipart/form-data, with a field file.")
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(uploadTime)) // a recorder of a test has none
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	r.Body = http.MaxBytesReader(w, r.Body, s.MaxUpload)
	form, err := r.MultipartReader()
	if err != nil {
		return web.Invalid(err.Error())
	}
	for {
		part, err := form.NextPart()
		switch _, large := errors.AsType[*http.MaxBytesError](err); {
		case large:
			return err
		case err != nil:
			return web.Invalid("file: is missing, or the form broke off")
		case part.FormName() == "file" && part.FileName() != "":
			added, err := s.Files.Add(r.Context(), session.ID, part.FileName(), part)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return web.Invalid("file: the form broke off")
			}
			if err != nil {
				return err
			}
			return web.Write(w, http.StatusCreated, s.describe(r, added))
		}
	}
}
