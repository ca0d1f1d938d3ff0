// Package input reads the requests of clients: JSON bodies and uploaded files.
package input

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/weft-go/weft/server"
)

// maxBody is the maximum number of bytes of JSON in a request.
const maxBody = 1 << 20

// Refuse returns an error for a client: {"error": text, "details": details}. Details may be nil.
func Refuse(status int, text string, details any) error {
	return &server.Refusal{Status: status, Detail: text, Body: struct {
		Error   string `json:"error"`
		Details any    `json:"details,omitempty"`
	}{text, details}}
}

// Invalid returns the error for a body that cannot be used. Details say why: a text, or a map by field.
func Invalid(details any) error {
	return Refuse(http.StatusBadRequest, "Invalid request format", details)
}

// Read reads the body of a request, one value of JSON without unknown fields.
func Read(w http.ResponseWriter, r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return Refuse(http.StatusUnsupportedMediaType, "The content type has to be application/json.", nil)
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		if _, err = decoder.Token(); err == nil {
			err = errors.New("there is more than one value")
		} else if errors.Is(err, io.EOF) {
			return nil
		}
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the body is empty")
	}
	return Invalid(err.Error())
}
