package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/unavailable"
	"github.com/weft-go/weft/server/runs"
)

// A Refusal is an error that the server sends to the client, with the status of the response.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#serverrefusal.
type Refusal struct {
	Status int
	Detail string
	// RetryAfter is the time after which the client may try again. If it is zero, the response has no Retry-After header.
	RetryAfter time.Duration
	// Body is the body of the response, as JSON. Nil means {"detail": Detail}.
	Body any
}

// Error returns the text for the client.
func (e *Refusal) Error() string { return e.Detail }

func refuse(status int, format string, args ...any) error {
	return &Refusal{Status: status, Detail: fmt.Sprintf(format, args...)}
}

// invalid is the refusal of a request that the server cannot read.
func invalid(format string, args ...any) error {
	return refuse(http.StatusUnprocessableEntity, format, args...)
}

// isOutage reports whether an error says that a store cannot be used for some time.
func isOutage(err error) bool {
	return unavailable.Is(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errStoreSilent)
}

// isOutage reports whether a request has failed because of an outage of a store, and the client is still connected.
func (c *call) isOutage(err error) bool { return isOutage(err) && c.ctx().Err() == nil }

// outageRefusal is the refusal of a request that needs a store which cannot be used.
func outageRefusal() *Refusal {
	return &Refusal{Status: http.StatusServiceUnavailable, Detail: unavailableText, RetryAfter: outagePause}
}

// drainRefusal is the refusal of a request because this server shuts down. Another server may answer the request.
func drainRefusal(more string) *Refusal {
	return &Refusal{Status: http.StatusServiceUnavailable, Detail: "The server is shutting down." + more, RetryAfter: time.Second}
}

const (
	unavailableText = "The server cannot use its store at present. Try again later; the log of the server says why."
	// outagePause is the time after which a client may try again in an outage of a store.
	outagePause = 5 * time.Second
)

// isNotFound reports whether an object does not exist, or is hidden from the user.
func isNotFound(err error) bool {
	refusal, ok := errors.AsType[*Refusal](err)
	return ok && refusal.Status == http.StatusNotFound
}

func notFound(kind, id string) error {
	return refuse(http.StatusNotFound, "There is no %s %s.", kind, id)
}

// A call is a request and its response.
type call struct {
	s     *Server
	w     *response
	r     *http.Request
	user  User
	route string // the pattern of the path, for metrics
	// bodyRead says that the whole body was read.
	bodyRead bool
	bytes    int64 // of the body, as they count for the user
	// action is the operation of the request, and filter is the filter of the last record that was read.
	action Action
	filter Filter
}

func (c *call) ctx() context.Context { return c.r.Context() }

// A handler answers a call. An error becomes the response.
type handler func(c *call) error

// An endpoint is the handler of a method of a path, and its action on the object of the path.
type endpoint struct {
	handle handler
	action Action
}

// serve checks a request and passes it to its handler.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	c := &call{s: s, w: newResponse(w, s.o.Limits.WriteTime), r: r}
	for name, value := range securityHeaders {
		w.Header()[name] = value
	}
	defer func() { s.meters.answered(r.Method, c.route, c.w.status) }()
	defer c.release()
	if r.ContentLength != 0 && s.o.Limits.ReadTime > 0 { // read resets the deadline
		_ = c.w.rc.SetReadDeadline(time.Now().Add(s.o.Limits.ReadTime))
	}
	if err := c.check(); err != nil {
		c.fail(err)
		return
	}
	if r.Method == http.MethodOptions { // a browser asks before a request of another origin
		c.w.WriteHeader(http.StatusNoContent)
		return
	}
	ctx := context.WithValue(r.Context(), callKey{}, c)
	s.mux.ServeHTTP(c.w, r.WithContext(withUser(ctx, c.user.ID)))
}

// securityHeaders are the headers of each response. A page may replace the content security policy.
var securityHeaders = http.Header{
	"X-Content-Type-Options":  {"nosniff"},
	"Content-Security-Policy": {"default-src 'none'; frame-ancestors 'none'"},
	"X-Frame-Options":         {"DENY"},
	"Referrer-Policy":         {"no-referrer"},
	"Cache-Control":           {"no-store"},
}

type callKey struct{}

// check refuses requests for another host, from a page of another origin, and of unknown users.
func (c *call) check() error {
	if err := c.s.o.Limits.checkHead(c.r); err != nil {
		return err
	}
	if p := c.r.URL.Path; p == "" || p[0] != '/' || path.Clean(p) != strings.TrimSuffix(p, "/") && p != "/" {
		return refuse(http.StatusNotFound, "There is no path %s.", shortened(p))
	}
	host := c.r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if !c.s.isHost(host) {
		return refuse(http.StatusForbidden, "This server is not %q. Add the name to Options.Hosts.", shortened(host))
	}
	if origin := c.r.Header.Get("Origin"); origin != "" {
		if err := c.checkOrigin(origin); err != nil {
			return err
		}
	}
	return c.authenticate()
}

// authenticate finds the user of the request.
func (c *call) authenticate() error {
	if c.s.o.Auth == nil {
		if ip, _, err := net.SplitHostPort(c.r.RemoteAddr); err == nil && !isLoopback(ip) {
			return refuse(http.StatusForbidden, "This server has no authentication and accepts only requests from its own machine. Set Options.Auth.")
		}
		// If a proxy runs on this machine, the requests of all its clients come from this machine.
		for _, name := range forwarded {
			if c.r.Header.Get(name) != "" {
				return refuse(http.StatusForbidden, "This server has no authentication, and the request came through a proxy. Set Options.Auth.")
			}
		}
		return nil
	}
	if c.r.Method == http.MethodOptions || slices.Contains(publicPaths, c.r.URL.Path) || c.s.isOpen(c.r.URL.Path) {
		return nil
	}
	return c.identify()
}

// identify asks Options.Auth for the user of the request.
func (c *call) identify() error {
	user, err := c.s.o.Auth(c.r)
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal
	}
	if err != nil {
		return refuse(http.StatusUnauthorized, "The request has no valid credentials.")
	}
	if user.ID == "" {
		c.s.o.Logger.Error("server: Options.Auth returned a user without an ID; the request is refused")
		return refuse(http.StatusUnauthorized, "The request has no valid credentials.")
	}
	c.user = user
	return c.s.admit(user)
}

// admit counts a request for a user, and returns an error if there are too many.
func (s *Server) admit(user User) error {
	if s.o.Auth == nil {
		return nil
	}
	return s.accounts.request(user.ID)
}

// forwarded are the headers that proxies add.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"}

// publicPaths need no user.
var publicPaths = []string{"/ok", "/healthz", "/readyz"}

func (s *Server) isHost(host string) bool {
	if s.o.Auth == nil && isLoopback(host) {
		return true
	}
	if s.o.Hosts == nil {
		return s.o.Auth != nil
	}
	return slices.ContainsFunc(s.o.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func (c *call) checkOrigin(origin string) error {
	own, cure := false, "Add the origin to Options.Origins."
	if u, err := url.Parse(origin); err == nil {
		own = u.Host == c.r.Host
		if u.Port() != "" && u.Hostname() == c.r.Host {
			cure += " If it is the address of this server itself, let the proxy pass the header Host with the port."
		}
	}
	if !own && !slices.Contains(c.s.o.Origins, origin) && !slices.Contains(c.s.o.Origins, "*") {
		c.s.logOrigin(shortened(origin), cure)
		return refuse(http.StatusForbidden, "Pages of %s may not call this server. %s", shortened(origin), cure)
	}
	if !own {
		h := c.w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "Content-Location, Location, Retry-After, X-Pagination-Total, X-Pagination-Next")
		h.Set("Access-Control-Allow-Headers", "*, Authorization, Content-Type, X-Api-Key, Idempotency-Key, Last-Event-ID, Prefer")
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
		h.Add("Vary", "Origin")
	}
	return nil
}

// maxLoggedOrigins bounds the lines that clients can make the server log about origins.
const maxLoggedOrigins = 32

// logOrigin logs once for each origin that a request was refused, because the browser does not tell the page the reason.
func (s *Server) logOrigin(origin, cure string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused[origin] || len(s.refused) == maxLoggedOrigins {
		return
	}
	s.refused[origin] = true
	s.o.Logger.Warn("server: a request of a page of another origin was refused", "origin", origin, "cure", cure)
}

// route registers the handlers of a path by method.
func (s *Server) route(path string, methods map[string]endpoint) {
	s.mux.HandleFunc(path, func(_ http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(callKey{}).(*call) //nolint:forcetypeassert // serve sets it
		c.r, c.route = r, path
		e := methods[r.Method]
		c.action = e.action
		switch {
		case e.handle != nil && s.o.ReadOnly && !onlyReads(c, path):
			c.fail(errReadOnly)
		case e.handle == nil:
			c.fail(refuse(http.StatusMethodNotAllowed, "This path has no method %s.", r.Method))
		default:
			if err := e.handle(c); err != nil {
				c.fail(err)
			}
		}
	})
}

// fail sends an error. It logs the text of an error that is not meant for the client.
func (c *call) fail(err error) {
	refusal := c.refusal(err)
	status, body := refusal.Status, refusal.Body
	if body == nil {
		body = map[string]string{"detail": refusal.Detail}
	}
	if strings.HasPrefix(c.r.URL.Path, openaiPath) {
		body = openaiError(refusal)
		if status == http.StatusUnprocessableEntity {
			status = http.StatusBadRequest
		}
	}
	if err := c.sendStatus(status, body); err != nil {
		c.s.o.Logger.Error("server: the body of a refusal cannot be encoded", "error", err)
		c.w.WriteHeader(status)
	}
}

// refusal returns the response to the client for an error.
func (c *call) refusal(err error) *Refusal {
	refusal, ok := errors.AsType[*Refusal](err)
	var tooLarge *http.MaxBytesError
	switch {
	case ok:
	case errors.As(err, &tooLarge):
		refusal = &Refusal{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("The body is larger than %d bytes.", tooLarge.Limit)}
	case c.isOutage(err):
		c.s.o.Logger.Error("server: a request failed, because a store cannot be used", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
		refusal = outageRefusal()
	case errors.Is(err, runs.ErrNotFound), errors.Is(err, checkpoint.ErrNotFound):
		refusal = &Refusal{Status: http.StatusNotFound, Detail: "There is no such object."}
	case errors.Is(err, runs.ErrInvalid):
		refusal = &Refusal{Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf("The object cannot be stored: %s.", whyInvalid(err))}
	case errors.Is(err, runs.ErrExists), errors.Is(err, runs.ErrConflict), errors.Is(err, checkpoint.ErrConflict):
		refusal = &Refusal{Status: http.StatusConflict, Detail: "The object exists or was changed meanwhile."}
	case errors.Is(err, os.ErrDeadlineExceeded):
		refusal = &Refusal{Status: http.StatusRequestTimeout, Detail: "The body did not come in time."}
	case errors.Is(err, http.ErrNotMultipart), errors.Is(err, http.ErrMissingBoundary):
		refusal = &Refusal{Status: http.StatusUnsupportedMediaType, Detail: "The body is not a form of the type multipart/form-data."}
	case errors.Is(err, http.ErrMissingFile):
		refusal = &Refusal{Status: http.StatusBadRequest, Detail: "The form lacks a file."}
	case errors.Is(err, errUnread):
		refusal = &Refusal{Status: http.StatusBadRequest, Detail: "The body is not complete."}
	case errors.Is(err, context.Canceled):
		refusal = &Refusal{Status: 499, Detail: "The client has left."}
	default:
		c.s.o.Logger.Error("server: a request failed", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
		refusal = &Refusal{Status: http.StatusInternalServerError, Detail: "The request failed. The log of the server says why."}
	}
	if refusal.RetryAfter > 0 {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(refusal.RetryAfter.Seconds()))))
	}
	if c.r.ContentLength != 0 && !c.bodyRead { // do not read the rest of the body for the next request
		c.w.Header().Set("Connection", "close")
	}
	return refusal
}

// whyInvalid returns the text of a [runs.ErrInvalid] without the text that the store adds, which names its file.
func whyInvalid(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		if errors.Unwrap(err) == runs.ErrInvalid { //nolint:errorlint // the innermost error is wanted
			return err.Error()
		}
	}
	return "it is not valid"
}

// send sends a value as JSON.
func (c *call) send(v any) error { return c.sendStatus(http.StatusOK, v) }

func (c *call) sendStatus(status int, v any) error {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(buf.Bytes()) // the client may have left
	return nil
}

func (c *call) sendNothing() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// id returns a UUID from the path.
func (c *call) id(name string) (string, error) {
	id := c.r.PathValue(name)
	if !isUUID(id) {
		return "", invalid("%q is not a UUID.", shortened(id))
	}
	return strings.ToLower(id), nil
}

// number returns a query parameter.
func (c *call) number(name string, otherwise int) (int, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, invalid("%s is %q; it must be a number.", name, shortened(text))
	}
	return n, nil
}

// prefersMinimal reports whether the client asks for a short response (RFC 7240).
func (c *call) prefersMinimal() bool { return c.r.Header.Get("Prefer") == "return=minimal" }

func (c *call) flag(name string) bool {
	v := c.r.URL.Query().Get(name)
	return v == "true" || v == "1" || v == "True"
}

// change replaces a record by the result of f. If another call has changed the record meanwhile, change reads the record
// and calls f again.
func (s *Server) change(ctx context.Context, kind runs.Kind, id string, f func(*runs.Record) error) (runs.Record, error) {
	for {
		r, err := s.o.Runs.Get(ctx, kind, id)
		if err != nil {
			return r, err
		}
		if err := f(&r); err != nil {
			return r, err
		}
		r.Revision, err = s.o.Runs.Update(ctx, r)
		if !errors.Is(err, runs.ErrConflict) {
			return r, err
		}
	}
}

// object checks that JSON is an object or missing.
func object(name string, data json.RawMessage) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || string(data) == "null" || data[0] == '{' {
		return nil
	}
	return invalid("The field %s is not an object.", name)
}

// merged returns the JSON object a with the fields of b, which replace fields of the same name.
func merged(a, b json.RawMessage) (json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, data := range []json.RawMessage{a, b} {
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, err
		}
		for k, v := range fields {
			out[k] = v
		}
	}
	return json.Marshal(out)
}
