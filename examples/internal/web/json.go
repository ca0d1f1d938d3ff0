package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// MaxBody is how many bytes of JSON a request may have where nothing else is said.
const MaxBody = 1 << 20

// bodyTime is how long a client may take to send a body of JSON.
const bodyTime = 30 * time.Second

// Read reads the body of a request as JSON into a value. The body has to have
// the content type application/json, be one value of known fields, and have at
// most limit bytes; zero stands for [MaxBody]. The error is a [Problem].
func Read(w http.ResponseWriter, r *http.Request, into any, limit int64) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return Refuse(http.StatusUnsupportedMediaType, "The content type has to be application/json.")
	}
	if limit <= 0 {
		limit = MaxBody
	}
	// The deadline is taken back: it would also end the wait for a hang-up.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // a recorder of a test has none
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
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

// Invalid is the answer to a body that can not be used. Details say why: a text,
// or a map by field.
func Invalid(details any) *Problem {
	return &Problem{Status: http.StatusBadRequest, Message: "Invalid request format", Details: details}
}

// Write answers with a value as JSON.
func Write(w http.ResponseWriter, status int, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("web: answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // who asked may have gone
	return nil
}
