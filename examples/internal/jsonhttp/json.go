// Package jsonhttp reads and writes JSON for routes that the examples add by [server.Server.Handle].
package jsonhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"

	"github.com/weft-go/weft/server"
)

// Read decodes the body of a request into a value. The content type must be application/json. The
// body must be one value, without unknown fields, of at most limit bytes. Read returns a
// [server.Refusal] for every error except a body that is too large or too slow: the server has a
// status for those.
func Read(w http.ResponseWriter, r *http.Request, into any, limit int64) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return Refuse(http.StatusUnsupportedMediaType, "The content type must be application/json.")
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = errors.New("it has more than one value")
		}
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge || errors.Is(err, os.ErrDeadlineExceeded) {
		return err // the server has a status for this error
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it is empty")
	}
	return Refuse(http.StatusBadRequest, "The body cannot be read: %v.", err)
}

// Write sends a value as JSON.
func Write(w http.ResponseWriter, status int, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client may have left
	return nil
}

// Refuse returns an error for a client.
func Refuse(status int, format string, args ...any) error {
	return &server.Refusal{Status: status, Detail: fmt.Sprintf(format, args...)}
}
