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
	tripper := &roundTripper{next: client.Transport, origin: origin, header: h.Header.Clone()}
	client.Transport = tripper
	l := newLink(&mcp.StreamableClientTransport{Endpoint: h.URL, HTTPClient: &client, MaxEventSize: maxFrame})
	l.forgotten = tripper.forgotten.Load
	tripper.tasks = &l.tasks
	l.release = func() error {
		if private != nil {
			private.CloseIdleConnections()
		}
		return nil
	}
	return l, nil
}

// stay refuses redirects to another scheme or host, because the requests are for this host
// only.
func stay(r *http.Request, via []*http.Request) error {
	if !sameOrigin(r.URL, via[0].URL) || len(via) > 5 {
		return fmt.Errorf("redirect to %s refused", r.URL.Redacted())
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// A roundTripper sends all requests of a connection.
type roundTripper struct {
	next      http.RoundTripper
	origin    *url.URL
	header    http.Header
	forgotten atomic.Bool
	tasks     *taskTools
}

// RoundTrip adds the headers, limits the size of responses that are not event streams, and
// records a server that has forgotten the session. The library limits only the events of a
// stream, and detects a forgotten session only in some responses.
func (d *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
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
