package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
)

// A source names the database or the server that a command uses.
type source struct {
	address
	keys              string // the path of the file with the keys
	server, tokenFile string
	getenv            func(string) string
}

// A client calls a server.
type client struct {
	base  string
	token string
	http  *http.Client
	close func() error
	queue func(ctx context.Context) (runs.QueueStats, error) // reads the queue in the database; nil without one
}

// client returns a client of the server.
func (s *source) client() (*client, error) {
	u, err := url.Parse(s.server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%w: -server is not a URL such as http://127.0.0.1:8123", errUsage)
	}
	if u.User != nil {
		return nil, fmt.Errorf("%w: -server has a password; give a token in $WEFT_TOKEN or by -token-file", errUsage)
	}
	c := &client{base: strings.TrimRight(u.String(), "/"), token: s.getenv("WEFT_TOKEN"), http: &http.Client{CheckRedirect: keepHost}}
	c.close = func() error { c.http.CloseIdleConnections(); return nil }
	if s.tokenFile != "" {
		data, err := os.ReadFile(s.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		c.token = strings.TrimSpace(string(data))
	}
	return c, nil
}

// inProcess returns a client of a read-only server in this process, which reads a database.
func inProcess(db *store) (*client, error) {
	s, err := server.New(server.Options{Runs: db.runs, Stored: db.checkpoints, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return &client{
		base: "http://localhost", http: &http.Client{Transport: local{s}}, queue: db.queue,
		close: func() error { return errors.Join(s.Close(context.Background()), db.close()) },
	}, nil
}

// open returns a client of the server that -server names, or of a server in this process that reads the database.
func (s *source) open(ctx context.Context) (*client, error) {
	if s.server != "" {
		return s.client()
	}
	db, err := s.opened(ctx, s.keys)
	if err != nil {
		return nil, err
	}
	c, err := inProcess(db)
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	return c, nil
}

// A local transport calls a handler.
type local struct{ handler http.Handler }

func (l local) RoundTrip(r *http.Request) (*http.Response, error) {
	r.RemoteAddr = "127.0.0.1:1"
	w := &answer{header: http.Header{}, status: http.StatusOK}
	l.handler.ServeHTTP(w, r)
	return &http.Response{
		StatusCode: w.status, Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), Header: w.header,
		Body: io.NopCloser(&w.body), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// An answer is the response that a handler has written.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// maxAnswer is the maximum number of bytes that the client reads of a response.
const maxAnswer = 256 << 20

// maxLimited is the maximum number of times that the client sends a request that exceeds a limit of the user.
const maxLimited = 5

// longestPause is the longest pause before the client repeats a request. If the server names a longer one, the request fails.
const longestPause = time.Minute

// call sends a request with body as JSON, or with no body if body is nil, and decodes the JSON of the response into out. If
// the request exceeds a limit of the user, call repeats it after the pause that the server names.
func (c *client) call(ctx context.Context, method, path string, body, out any) error {
	return c.callWithKey(ctx, "", method, path, body, out)
}

// callWithKey is like call, with an idempotency key: the server executes only one of several requests with the same key.
func (c *client) callWithKey(ctx context.Context, key, method, path string, body, out any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for n := 1; ; n++ {
		err := c.send(ctx, key, method, path, data, out)
		refusal, ok := errors.AsType[*statusError](err)
		if !ok || refusal.status != http.StatusTooManyRequests || refusal.after <= 0 || refusal.after > longestPause || n == maxLimited {
			return err
		}
		select {
		case <-time.After(refusal.after):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *client) send(ctx context.Context, key, method, path string, body []byte, out any) error {
	var send io.Reader
	if body != nil {
		send = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, send)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
		r.Header.Set("X-Api-Key", c.token)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("call the server: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("call the server: %w", err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return refused(resp, data)
	}
	if out == nil || len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s does not answer like a server of package server: %w", c.base, err)
	}
	return nil
}

// A statusError is the error of a response whose status is not a success.
type statusError struct {
	status int
	text   string
	after  time.Duration // the time after which the client may repeat the request; 0 if unknown
}

func (e *statusError) Error() string { return e.text }

// refused returns the error for a response whose status is not a success.
func refused(resp *http.Response, data []byte) error {
	var b struct {
		Detail string `json:"detail"`
	}
	text := strings.TrimSpace(string(data))
	if json.Unmarshal(data, &b) == nil && b.Detail != "" {
		text = b.Detail
	}
	text = "the server refuses: " + cmp.Or(oneLine(text, 500), resp.Status)
	if resp.StatusCode == http.StatusUnauthorized {
		text += " Give a token in $WEFT_TOKEN or by -token-file."
	}
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // 0 if the header is missing
	return &statusError{resp.StatusCode, text, time.Duration(seconds) * time.Second}
}

// temporary reports whether the same request may succeed later.
func (e *statusError) temporary() bool {
	switch e.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	case http.StatusConflict:
		return e.after > 0 // the server has not yet answered an earlier request with the same key
	}
	return false
}

func isMissing(err error) bool { return hasStatus(err, http.StatusNotFound) }

// hasStatus reports whether err is the error of a response with one of these statuses.
func hasStatus(err error, statuses ...int) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && slices.Contains(statuses, e.status)
}

// keepHost makes the client return a redirect and not follow it, because another host would get the token.
func keepHost(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
