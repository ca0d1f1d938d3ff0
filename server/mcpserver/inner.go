package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// An origin is where the requests of a session come from. Requests to the server are made on its behalf.
type origin struct {
	server       http.Handler
	host, remote string
	header       http.Header
}

// newOrigin returns the origin of a request of a client.
func newOrigin(server http.Handler, r *http.Request) *origin {
	return &origin{server: server, host: r.Host, remote: r.RemoteAddr, header: r.Header}
}

// with returns the origin with the header of another request of the session.
func (o *origin) with(header http.Header) *origin {
	out := *o
	if header != nil {
		out.header = header
	}
	return &out
}

// request makes a request to the server. It has the header of the client, such as its credentials,
// without that of its body and of the protocol.
func (o *origin) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for name, values := range o.header {
		if !strings.HasPrefix(name, "Content-") && !strings.HasPrefix(name, "Mcp-") && name != "Accept" && name != "Last-Event-Id" {
			r.Header[name] = values
		}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Host, r.RemoteAddr = o.host, o.remote
	return r, nil
}

// do sends a request to the server and decodes its response. The response of a failure is an error.
func (o *origin) do(ctx context.Context, method, path string, body, out any) error {
	resp, err := o.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.close()
	data, err := io.ReadAll(resp.body)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(data, out)
}

// send sends a request to the server. The caller closes the response.
func (o *origin) send(ctx context.Context, method, path string, body any) (*response, error) {
	r, err := o.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	resp := respond(o.server, r)
	if resp.status >= http.StatusMultipleChoices {
		defer resp.close()
		data, err := io.ReadAll(io.LimitReader(resp.body, 1<<16))
		var told struct {
			Detail string `json:"detail"`
		}
		if json.Unmarshal(data, &told) != nil || told.Detail == "" {
			told.Detail = http.StatusText(resp.status)
		}
		return nil, errors.Join(&refusal{resp.status, told.Detail}, err)
	}
	return resp, nil
}

// A refusal is a response of the server that is no success.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return fmt.Sprintf("%s (status %d)", e.text, e.status) }

// A response is a response of the server in this process. Its body is read while it is written.
type response struct {
	status int
	header http.Header
	body   *io.PipeReader
	cancel context.CancelFunc
	ended  chan struct{}
}

// close cancels the request and waits until the server has left it.
func (r *response) close() {
	r.cancel()
	_ = r.body.Close() // the server's writes fail
	<-r.ended
}

// respond passes a request to a handler and returns its response as soon as the head is there.
func respond(h http.Handler, r *http.Request) *response {
	ctx, cancel := context.WithCancel(r.Context())
	reader, writer := io.Pipe()
	w := &responseWriter{header: http.Header{}, body: writer, begun: make(chan struct{})}
	out := &response{header: w.header, body: reader, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(out.ended)
		defer func() {
			w.WriteHeader(http.StatusOK) // if the handler wrote nothing
			_ = writer.Close()
		}()
		h.ServeHTTP(w, r.WithContext(ctx))
	}()
	<-w.begun
	out.status = w.status
	return out
}

// A responseWriter writes a response to a pipe.
type responseWriter struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	status int
	begun  chan struct{}
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status = status
		close(w.begun)
	})
}

func (w *responseWriter) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(data)
}

// Flush does nothing: a pipe holds nothing back.
func (w *responseWriter) Flush() {}
