package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// Handle adds a route of the application beside those of the server. Its pattern is that of an
// [http.ServeMux], without a host; Handle panics if the pattern is invalid or taken. Add all routes
// before the first request.
//
// The route is under the checks of the server: Host, Origin, authentication, quotas and limits. The
// body has at most Options.MaxBody bytes, and each part of the response must be taken within
// [Limits].WriteTime. [UserID] of the request's context returns the user. Options.Authorize is not
// asked. A server that is read-only refuses all methods but GET and HEAD. A handler that answers for
// longer than [Limits].ReadTime reads the body to its end before.
//
// An error of h is sent like one of the server's own routes, if h has sent nothing: a [Refusal] as
// it is, and others as a status that fits them, or as status 500 and a line in the log.
func (s *Server) Handle(pattern string, h func(http.ResponseWriter, *http.Request) error) {
	path := pattern
	if _, after, ok := strings.Cut(pattern, " "); ok {
		path = strings.TrimSpace(after)
	}
	s.mux.HandleFunc(pattern, func(_ http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(callKey{}).(*call) //nolint:forcetypeassert // serve sets it
		c.r, c.route = r, path
		if s.o.ReadOnly && r.Method != http.MethodGet && r.Method != http.MethodHead {
			c.fail(errReadOnly)
			return
		}
		r.Body = http.MaxBytesReader(c.w, &requestBody{r.Body, c}, s.o.MaxBody)
		err := h(c.w, r.WithContext(context.WithValue(r.Context(), userKey{}, c.user.ID)))
		switch {
		case err == nil:
		case c.w.status == 0:
			c.fail(err)
		default: // the response has begun
			_ = c.refusal(err) // it logs the error
		}
	})
}

// A requestBody is a body that, once read, does not bound the time of the response.
type requestBody struct {
	io.ReadCloser
	c *call
}

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.c.bodyRead {
		b.c.bodyRead = true
		_ = b.c.w.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}
