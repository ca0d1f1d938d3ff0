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

// An origin describes the client of a session. The MCP server sends its requests to the server in the client's name.
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

// request makes a request to the server. It copies the headers of the client, such as its credentials, but not those for
// its body and for MCP.
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

// do sends a request to the server and decodes its response. It returns an error if the response has an error status.
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

// A refusal is a response of the server with an error status.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return fmt.Sprintf("%s (status %d)", e.text, e.status) }

// A response is a response of the server in this process. Its body can be read while the server still writes it.
type response struct {
	status int
	header http.Header
	body   *io.PipeReader
	cancel context.CancelFunc
	ended  chan struct{}
}

// close cancels the request and waits until the handler has returned.
func (r *response) close() {
	r.cancel()
	_ = r.body.Close() // makes the writes of the server fail
	<-r.ended
}

// respond passes a request to a handler and returns its response as soon as the handler has sent the header.
func respond(h http.Handler, r *http.Request) *response {
	ctx, cancel := context.WithCancel(r.Context())
	reader, writer := io.Pipe()
	w := &responseWriter{header: http.Header{}, body: writer, begun: make(chan struct{})}
	out := &response{header: w.header, body: reader, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(out.ended)
		defer func() {
			w.WriteHeader(http.StatusOK) // for a handler that wrote nothing
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

// Flush does nothing: a pipe has no buffer.
func (w *responseWriter) Flush() {}
