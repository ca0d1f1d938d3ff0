package server

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// Handle adds a route of the application beside the routes of the server. The pattern is a pattern of [http.ServeMux]
// without a host. Handle panics if the pattern is invalid or taken. Add all routes before the first request.
//
// The server applies its checks to the route: Host, Origin, authentication, quotas and limits. The body has at most
// Options.MaxBody bytes, unless the handler calls [AllowBody], and the client must take each part of the response within
// [Limits].WriteTime. [UserID] of the request's context returns the user. The server does not ask Options.Authorize,
// except in [Server.CheckThread]. A read-only server refuses all methods but GET and HEAD. The server answers OPTIONS
// itself. A handler that needs longer than [Limits].ReadTime for its answer must first read the body to its end.
// Otherwise the server cancels the context at that time.
//
// If h returns an error before it has sent anything, the server sends the error: a [Refusal] unchanged,
// an error that it knows with a fitting status, and any other with status 500 and a line in the log.
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
		if s.o.Auth != nil && c.user.ID == "" { // the path is below a page of the server, whose requests are not authenticated
			if err := c.identify(); err != nil {
				c.fail(err)
				return
			}
			r = r.WithContext(withUser(r.Context(), c.user.ID))
		}
		body := &requestBody{ReadCloser: r.Body, c: c}
		r.Body = body
		body.allow(s.o.MaxBody)
		err := h(c.w, r)
		switch {
		case err == nil:
		case c.w.status == 0:
			c.fail(err)
		default: // the response has begun
			_ = c.refusal(err) // it logs the error
		}
	})
}

// AllowBody replaces Options.MaxBody and [Limits].ReadTime for the body of a request to a route of [Server.Handle]: the
// body may have size bytes, and must arrive within a time from now. Call it before the body is read. It returns an error
// if the length of the body is known and larger.
func AllowBody(r *http.Request, size int64, within time.Duration) error {
	b, ok := r.Body.(*requestBody)
	if !ok {
		return nil
	}
	b.allow(size)
	_ = b.c.w.rc.SetReadDeadline(time.Now().Add(within)) // fails for the recorder of a test, which has no deadline
	if r.ContentLength > size {
		return &http.MaxBytesError{Limit: size}
	}
	return nil
}

// CheckThread returns a [Refusal] unless the user of a request to a route of [Server.Handle] may change a thread. A
// thread of another user is refused like one that does not exist.
func (s *Server) CheckThread(r *http.Request, id string) error {
	c, ok := r.Context().Value(callKey{}).(*call)
	if !ok {
		return errors.New("server: CheckThread is for requests to a route of Handle")
	}
	_, err := c.getFor(ActionUpdate, runs.Thread, id)
	return err
}

// A requestBody is a body with a limit. When it has been read to its end, it removes the read deadline, which would also
// limit the time of the response.
type requestBody struct {
	io.ReadCloser
	limited io.Reader
	c       *call
}

func (b *requestBody) allow(size int64) {
	b.limited = http.MaxBytesReader(b.c.w, b.ReadCloser, size)
}

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.limited.Read(p)
	if errors.Is(err, io.EOF) && !b.c.bodyRead {
		b.c.bodyRead = true
		_ = b.c.w.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}
