package mcptools

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (h HTTP) open(context.Context) (*link, error) {
	origin, err := url.Parse(h.URL)
	if err != nil {
		return nil, err
	}
	client, private := http.Client{}, (*http.Transport)(nil)
	if h.Client != nil {
		client = *h.Client
	} else if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		private = transport.Clone()
		client.Transport = private
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = stay
	}
	door := &door{next: client.Transport, origin: origin, header: h.Header.Clone()}
	client.Transport = door
	l := newLink(&mcp.StreamableClientTransport{Endpoint: h.URL, HTTPClient: &client, MaxEventSize: maxFrame})
	l.forgotten = door.forgotten.Load
	door.tasks = &l.tasks
	l.release = func() error {
		if private != nil {
			private.CloseIdleConnections()
		}
		return nil
	}
	return l, nil
}

// stay follows redirects within a host only: what is sent is meant for it.
func stay(r *http.Request, via []*http.Request) error {
	if !sameOrigin(r.URL, via[0].URL) || len(via) > 5 {
		return fmt.Errorf("redirect to %s refused", r.URL.Redacted())
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// A door is what all requests of a connection go through.
type door struct {
	next      http.RoundTripper
	origin    *url.URL
	header    http.Header
	forgotten atomic.Bool
	tasks     *taskTools
}

// RoundTrip adds the headers, limits what is read at once, and notes a server
// that has forgotten the session: the library does so only for some forms of that
// answer, and limits only the events of a stream.
func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	if sameOrigin(r.URL, d.origin) && len(d.header) > 0 {
		r = r.Clone(r.Context())
		for key, values := range d.header {
			r.Header[http.CanonicalHeaderKey(key)] = values
		}
	}
	response, err := d.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != "" {
		d.forgotten.Store(true)
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		response.Body = http.MaxBytesReader(nil, response.Body, maxFrame)
	}
	d.tasks.tapBody(r, response)
	return response, nil
}
