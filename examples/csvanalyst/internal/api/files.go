package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/examples/internal/jsonhttp"
	"github.com/weft-go/weft/server"
)

// uploadTime is the time that an upload may take.
const uploadTime = time.Hour

// A Resource is a file as clients see it.
type Resource struct {
	ID           string `json:"id"`
	OriginalName string `json:"originalName"`
	MIMEType     string `json:"mimeType"`
	SizeBytes    int64  `json:"sizeBytes"`
	// Name is OriginalName, under the key that the chat page reads.
	Name string `json:"name"`
	// Note describes the content of the file.
	Note string `json:"note,omitempty"`
}

func (s *Routes) describe(r *http.Request, f records.Resource) Resource {
	out := Resource{ID: f.ID, OriginalName: f.OriginalName, MIMEType: f.MIMEType, SizeBytes: f.SizeBytes, Name: f.OriginalName}
	if schema, err := s.Files.Schema(r.Context(), f); err == nil {
		out.Note = strings.Join(append([]string{fmt.Sprintf("%d rows, %d columns: %s", schema.RowCount, len(schema.Columns), strings.Join(schema.Names(), ", "))}, schema.Notes...), "; ")
	} else if files.IsCSV(f) {
		out.Note = "This file cannot be read."
	}
	return out
}

func (s *Routes) resources(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	all, err := s.Records.Resources(r.Context(), session.ID)
	if err != nil {
		return err
	}
	out := []Resource{}
	for _, f := range all {
		out = append(out, s.describe(r, f))
	}
	return jsonhttp.Write(w, http.StatusOK, out)
}

func (s *Routes) upload(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	return s.add(w, r, session.ID)
}

// ofThread returns a handler for the thread in the query, which must be the caller's.
func ofThread(to *server.Server, h func(w http.ResponseWriter, r *http.Request, thread string) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		thread := r.URL.Query().Get("thread")
		if err := to.CheckThread(r, thread); err != nil {
			return err
		}
		return h(w, r, thread)
	}
}

func (s *Routes) uploadToThread(w http.ResponseWriter, r *http.Request, thread string) error {
	session, err := s.Records.EnsureSession(r.Context(), server.UserID(r.Context()), thread)
	if err != nil {
		return err
	}
	return s.add(w, r, session.ID)
}

func (s *Routes) removeFromThread(w http.ResponseWriter, r *http.Request, thread string) error {
	if err := s.Files.Delete(r.Context(), thread, r.URL.Query().Get("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// add stores the field "file" of a form. It streams the content to the store.
func (s *Routes) add(w http.ResponseWriter, r *http.Request, session string) error {
	if err := server.AllowBody(r, s.MaxUpload, uploadTime); err != nil {
		return err
	}
	form, err := r.MultipartReader()
	if err != nil {
		return err
	}
	broken := jsonhttp.Refuse(http.StatusBadRequest, "The form has no file, or broke off.")
	for {
		part, err := form.NextPart()
		switch _, large := errors.AsType[*http.MaxBytesError](err); {
		case large:
			return err
		case err != nil:
			return broken
		case part.FormName() != "file" || part.FileName() == "":
			continue
		}
		added, err := s.Files.Add(r.Context(), session, part.FileName(), part)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return broken
		}
		if err != nil {
			return err
		}
		return jsonhttp.Write(w, http.StatusCreated, s.describe(r, added))
	}
}
