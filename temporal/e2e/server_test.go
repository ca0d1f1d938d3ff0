package e2e_test

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/server/temporaltest"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/temporal"
)

// A server is a server of Temporal in this process, with a client.
type server struct {
	*temporaltest.TestServer
	client.Client
}

// startServer starts a server of Temporal. Its data is in memory.
func startServer(tb testing.TB) *server {
	tb.Helper()
	s := temporaltest.NewServer(temporaltest.WithBaseClientOptions(client.Options{Logger: quiet{}}))
	tb.Cleanup(s.Stop)
	return &server{s, s.GetDefaultClient()}
}

// shared returns the server of the tests that need none of their own.
var shared = sync.OnceValue(func() *server {
	s := temporaltest.NewServer(temporaltest.WithBaseClientOptions(client.Options{Logger: quiet{}}))
	return &server{s, s.GetDefaultClient()}
})

// quiet is a logger that drops everything: the expected failures of the tests are many.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// logger returns the logger of a worker process. WEFT_E2E_LOG=1 shows what it does.
func logger() log.Logger {
	if os.Getenv("WEFT_E2E_LOG") == "1" {
		return log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	}
	return quiet{}
}

// quick are options under which dead workers are found soon.
func quick(queue string) temporal.Options {
	return temporal.Options{TaskQueue: queue, HeartbeatTimeout: 2 * time.Second, Handover: time.Second}
}

// startWorker starts a worker that the end of the test stops.
func startWorker(tb testing.TB, s *server, o temporal.WorkerOptions, graphs ...*graph.Graph) *temporal.Worker {
	tb.Helper()
	o.Graphs = append(o.Graphs, graphs...)
	w, err := temporal.NewWorker(s.Client, o)
	require.NoError(tb, err)
	require.NoError(tb, w.Start())
	tb.Cleanup(w.Stop)
	return w
}

// queueOf returns a task queue for the test alone.
func queueOf(tb testing.TB) string { return fmt.Sprint(tb.Name(), "-", time.Now().UnixNano()) }
