package server

import (
	"net/http"
	"time"
)

// A response writes to a client, which must take each 64 KiB within a time limit. It supports
// [http.ResponseController].
type response struct {
	http.ResponseWriter
	rc     *http.ResponseController
	time   time.Duration
	status int
}

const maxPiece = 64 << 10

func newResponse(w http.ResponseWriter, perPiece time.Duration) *response {
	return &response{ResponseWriter: w, rc: http.NewResponseController(w), time: perPiece}
}

// Unwrap returns the inner writer for an [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader sends the head of the response.
func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.renew()
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (w *response) Write(p []byte) (n int, err error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	for len(p) > 0 && err == nil {
		w.renew()
		var sent int
		sent, err = w.ResponseWriter.Write(p[:min(len(p), maxPiece)])
		n, p = n+sent, p[sent:]
	}
	return n, err
}

// FlushError sends the buffered data.
func (w *response) FlushError() error {
	w.renew()
	return w.rc.Flush()
}

// renew sets the deadline for the next write. It ignores the error of a writer without deadlines, as in a test.
func (w *response) renew() {
	if w.time > 0 {
		_ = w.rc.SetWriteDeadline(time.Now().Add(w.time))
	}
}
