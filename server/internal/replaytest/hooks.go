package replaytest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Hooks receives webhooks, and stores their bodies by path.
type Hooks struct {
	url    string
	server *httptest.Server

	mu  sync.Mutex
	got map[string]any
}

// NewHooks starts a receiver on a loopback address. The caller closes it.
func NewHooks() *Hooks {
	h := &Hooks{got: map[string]any{}}
	h.server = httptest.NewServer(http.HandlerFunc(h.receive))
	h.url = h.server.URL
	return h
}

// Close stops the receiver.
func (h *Hooks) Close() { h.server.Close() }

func (h *Hooks) receive(w http.ResponseWriter, r *http.Request) {
	var body any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got[r.URL.Path] = body
}

// wait waits for a webhook.
func (h *Hooks) wait(ctx context.Context, path string) (any, bool) {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline) && ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
		h.mu.Lock()
		body, ok := h.got[path]
		h.mu.Unlock()
		if ok {
			return body, true
		}
	}
	return nil, false
}
