package server

import (
	"net/http"
	"time"
)

// A response writes to a client, which has to take each piece within a time. It is an
// [http.ResponseWriter] for an [http.ResponseController].
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

// Unwrap is for an [http.ResponseController].
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

// FlushError sends what was written.
func (w *response) FlushError() error {
	w.renew()
	return w.rc.Flush()
}

// renew gives the client time for the next piece. A writer without deadlines, as in a test, has
// none.
func (w *response) renew() {
	if w.time > 0 {
		_ = w.rc.SetWriteDeadline(time.Now().Add(w.time))
	}
}
