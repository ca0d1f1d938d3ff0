package replaytest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// A Gate holds a run while a scenario sends the requests that were recorded during the run, however slow the machine is. The graph
// of the run calls Pass after each event that it emits. A new Gate holds no run. It is safe for concurrent use.
type Gate struct {
	mu   sync.Mutex
	held map[string]hold // by thread
}

type hold struct {
	after int // the number of events of the run
	over  chan struct{}
}

// NewGate returns a Gate.
func NewGate() *Gate { return &Gate{held: map[string]hold{}} }

// Pass waits while a scenario holds the thread, if the run has emitted the number of events that the scenario waits
// for. It returns earlier if ctx ends.
func (g *Gate) Pass(ctx context.Context, thread string, events int) {
	g.mu.Lock()
	h, held := g.held[thread]
	g.mu.Unlock()
	if !held || events < h.after {
		return
	}
	select {
	case <-h.over:
	case <-ctx.Done():
	}
}

// hold makes runs of the thread wait after this number of events, until release is called.
func (g *Gate) hold(thread string, after int) (release func()) {
	h := hold{after, make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held[thread] = h
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		close(h.over)
		delete(g.held, thread)
	})
}

// hold makes the run of the step wait until release is called, if the next steps were recorded during this run. Otherwise
// it returns nil.
func (st *step) hold(g *Gate, vars map[string]any) (release func()) {
	if st.Background == nil || st.Background.Until == nil || st.Background.Until.Event != "custom" {
		return nil
	}
	return g.hold(fmt.Sprint(vars["t"]), st.Background.Until.Count)
}

// waits reports whether the step waits for the end of a run.
func (st *step) waits() bool {
	return st.Poll != nil || st.Request != nil && st.Request.Method == http.MethodGet && strings.HasSuffix(st.Request.Path, "/join")
}
