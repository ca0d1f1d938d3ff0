package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/stored"
	"github.com/weft-go/weft/server/runs"
)

// threadID returns the id under which clients see a thread of [Options.Stored].
func threadID(thread string) string {
	if isUUID(thread) {
		return strings.ToLower(thread)
	}
	return nameID(oidNamespace, "thread "+thread)
}

// storedThreads replaces Runs by a store that also has the threads of [Options.Stored]. It returns nil without Stored.
func (o *Options) storedThreads() (*stored.Threads, error) {
	if o.Stored == nil {
		return nil, nil
	}
	t, err := stored.NewThreads(o.Runs, o.Stored, threadID)
	if err != nil {
		return nil, fmt.Errorf("server: Options.Stored: %w", err)
	}
	o.Runs = t
	return t, nil
}

// servedOf returns the graph of a thread: a graph of [Options.Graphs], or one that is read from the checkpoints of
// [Options.Stored]. It returns nil if there is neither.
func (s *Server) servedOf(ctx context.Context, thread *runs.Record) (*served, error) {
	if g := s.graphs[thread.Graph]; g != nil || s.stored == nil {
		return g, nil
	}
	g, err := s.stored.Graph(ctx, thread.ID)
	if errors.Is(err, checkpoint.ErrNotFound) || errors.Is(err, runs.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	name := thread.Graph
	if name == "" {
		name = "unknown"
	}
	return newServed(name, g), nil
}

// readPosts are the paths whose POST requests change nothing. For commands, the handler refuses those that change
// something.
var readPosts = []string{
	"/assistants/search", "/assistants/count", "/assistants/{assistant}/versions", "/threads/search", "/threads/count",
	"/threads/{thread}/state/checkpoint", "/threads/{thread}/history", "/threads/{thread}/stream/events", "/threads/{thread}/commands",
	"/runs/crons/search", "/runs/crons/count", "/store/items/search", "/store/namespaces", "/weft/runs/search", "/weft/memory/facts",
}

// errReadOnly is the refusal of a change by a read-only server.
var errReadOnly = &Refusal{Status: http.StatusForbidden, Detail: "This server is read-only: it refuses requests that change anything."}

// onlyReads reports whether a request changes nothing.
func onlyReads(c *call, path string) bool {
	if c.flag("cancel_on_disconnect") {
		return false
	}
	return c.r.Method == http.MethodGet || c.r.Method == http.MethodPost && slices.Contains(readPosts, path)
}
