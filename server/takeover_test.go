package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
	"github.com/weft-go/weft/state"
)

// A gate blocks the first goroutine that reaches it, until the gate is opened.
type gate struct {
	once    sync.Once
	reached chan struct{}
	open    chan struct{}
}

func newGate() *gate { return &gate{reached: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) wait() {
	g.once.Do(func() {
		close(g.reached)
		<-g.open
	})
}

// A gatedStore blocks at the gate before it stores the second end of a run. ends counts these events.
type gatedStore struct {
	runs.Store
	at   *gate
	mu   sync.Mutex
	ends int
}

func (s *gatedStore) Append(ctx context.Context, thread string, events []runs.Event, replaced ...runs.Record) error {
	s.mu.Lock()
	for _, e := range events {
		if e.Kind == "end" {
			s.ends++
		}
	}
	second := s.ends == 2
	s.mu.Unlock()
	if second {
		s.at.wait()
	}
	return s.Store.Append(ctx, thread, events, replaced...)
}

// takeoverGraph asks a question, and another one in the same node if its input says so. Its node work runs only as the
// target of a command. Both nodes stop at the gate, unless the gate is nil.
func takeoverGraph(t *testing.T, store *sqlitecheckpoint.Store, at *gate) *graph.Graph {
	t.Helper()
	lines, text := state.Append[string]("log"), state.LastWins[string]("text")
	question := graph.NewInterrupt[string, string]("ask")
	b := graph.New("takeover", lines, text)
	b.Node("ask", func(ctx context.Context, s state.View) (state.Update, error) {
		first, err := question.WaitKey(ctx, "first", "first?")
		if err != nil {
			return nil, err
		}
		if at != nil {
			at.wait()
		}
		if text.Get(s) != "twice" {
			return state.Update{lines.Put(first)}, nil
		}
		second, err := question.WaitKey(ctx, "second", "second?")
		return state.Update{lines.Put(first, second)}, err
	})
	b.Node("work", func(context.Context, state.View) (state.Update, error) {
		if at != nil {
			at.wait()
		}
		return state.Update{lines.Put("work")}, nil
	})
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	b.Edge("work", graph.End)
	b.Destinations(graph.Start, "work")
	b.AllowEdgesAndBranches(graph.Start)
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	return g
}

// openFile opens the stores in a file.
func openFile(t *testing.T, file string) (*sqlitecheckpoint.Store, *sqliteruns.Store) {
	t.Helper()
	checkpoints, err := sqlitecheckpoint.Open(t.Context(), file, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, checkpoints.Close()) })
	store, err := sqliteruns.Open(t.Context(), file, sqliteruns.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return checkpoints, store
}

// listen serves the graph until the end of the test and returns the address.
func listen(t *testing.T, o server.Options) (*server.Server, string) {
	t.Helper()
	s, err := server.New(o)
	require.NoError(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		assert.NoError(t, s.Close(context.Background()))
	})
	return s, web.URL
}

// request sends a request and decodes the answer into out, unless that is nil. It returns the status.
func request(t *testing.T, method, url, body string, out any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if out != nil {
		require.NoError(t, json.Unmarshal(data, out), "%s", data)
	}
	return resp.StatusCode
}

// copyFile copies the files of a database that a crash would leave: the file and its write-ahead log.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(from + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to+suffix, data, 0o600))
	}
}

// A server is stopped in the middle of a run, and its file is copied, as if its process had been killed. A server on the
// copy continues the run. It applies no part of the run's command twice.
func TestTakeOverAppliesACommandOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input   string // of the first run
		command string // of the second run, which the second server continues
		atEnd   bool   // the server is stopped at the end of the run; otherwise in the node
		want    []string
		open    int // the number of open questions
	}{
		"an answer and an update":           {`{"text":"once"}`, `{"resume":"yes","update":{"log":["updated"]}}`, false, []string{"updated", "yes"}, 0},
		"an answer beside another question": {`{"text":"twice"}`, `{"resume":"yes"}`, true, nil, 1},
		"a target and an update":            {``, `{"goto":"work","update":{"log":["updated"]}}`, false, []string{"updated", "work"}, 0},
		"a target at the end of the run":    {``, `{"goto":"work","update":{"log":["updated"]}}`, true, []string{"updated", "work"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			at := newGate()
			inNode, atEnd := at, (*gate)(nil)
			if c.atEnd {
				inNode, atEnd = nil, at
			}
			checkpoints, store := openFile(t, filepath.Join(dir, "first.db"))
			o := server.Options{Graphs: map[string]*graph.Graph{"takeover": takeoverGraph(t, checkpoints, inNode)}, Runs: store}
			if atEnd != nil {
				o.Runs = &gatedStore{Store: store, at: atEnd}
			}
			_, first := listen(t, o)
			t.Cleanup(func() { close(at.open) }) // before the server is closed
			thread := uuid.New()
			input := `{"assistant_id":"takeover","if_not_exists":"create","input":` + c.input + `}`
			if c.input == "" {
				input = `{"assistant_id":"takeover","if_not_exists":"create","command":{"goto":"__end__"}}`
			}
			request(t, http.MethodPost, first+"/threads/"+thread+"/runs/wait", input, nil)
			var run struct {
				ID string `json:"run_id"`
			}
			request(t, http.MethodPost, first+"/threads/"+thread+"/runs", `{"assistant_id":"takeover","command":`+c.command+`}`, &run)
			<-at.reached
			copyFile(t, filepath.Join(dir, "first.db"), filepath.Join(dir, "second.db"))

			checkpoints, store = openFile(t, filepath.Join(dir, "second.db"))
			_, second := listen(t, server.Options{Graphs: map[string]*graph.Graph{"takeover": takeoverGraph(t, checkpoints, nil)}, Runs: store})
			request(t, http.MethodGet, second+"/threads/"+thread+"/runs/"+run.ID+"/join", "", nil)
			var got struct {
				Values struct{ Log []string }
				Tasks  []struct{ Interrupts []any }
			}
			request(t, http.MethodGet, second+"/threads/"+thread+"/state", "", &got)
			assert.Equal(t, c.want, append([]string(nil), got.Values.Log...))
			open := 0
			for _, task := range got.Tasks {
				open += len(task.Interrupts)
			}
			assert.Equal(t, c.open, open, "open questions")
			var ended struct{ Status string }
			request(t, http.MethodGet, second+"/threads/"+thread+"/runs/"+run.ID, "", &ended)
			assert.Equal(t, "success", ended.Status)
		})
	}
}

// The graph of a run may not exist any more when the next server starts. The run then ends with an error that clients
// see, and its thread can be used again.
func TestTakeOverEndsARunWhoseGraphIsNotServed(t *testing.T) {
	t.Parallel()
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	store := memruns.New()
	thread, run, idle := uuid.New(), uuid.New(), uuid.New()
	empty := json.RawMessage(`{}`)
	require.NoError(t, store.Insert(
		t.Context(), runs.Record{Kind: runs.Thread, ID: thread, Graph: "gone", Status: "busy", Data: empty},
		runs.Record{Kind: runs.Run, ID: run, Parent: thread, Graph: "gone", Status: "running", Data: json.RawMessage(`{"Request":{"assistant_id":"gone"}}`)},
		runs.Record{Kind: runs.Thread, ID: idle, Graph: "echo", Status: "busy", Data: empty},
	))
	_, url := listen(t, server.Options{Graphs: graphs, Runs: store})
	var result map[string]map[string]string
	request(t, http.MethodGet, url+"/threads/"+thread+"/runs/"+run+"/join", "", &result)
	assert.Contains(t, result["__error__"]["message"], `does not have the graph "gone"`)
	for path, want := range map[string]string{"/threads/" + thread + "/runs/" + run: "error", "/threads/" + thread: "error", "/threads/" + idle: "idle"} {
		var got struct{ Status string }
		request(t, http.MethodGet, url+path, "", &got)
		assert.Equal(t, want, got.Status, path)
	}
	assert.Equal(t, http.StatusOK, request(t, http.MethodPost, url+"/threads/"+thread+"/runs/wait", `{"assistant_id":"echo","input":{"messages":[{"type":"human","content":"hi"}]}}`, nil))
}

// A queued run that should interrupt the previous run still does so after the start of the next server.
func TestTakeOverKeepsTheStrategyOfAQueuedRun(t *testing.T) {
	t.Parallel()
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	store := memruns.New()
	thread, first, second := uuid.New(), uuid.New(), uuid.New()
	data := func(n int, strategy string) json.RawMessage {
		return encoded(map[string]any{"Request": map[string]any{"assistant_id": "slow", "multitask_strategy": strategy, "input": map[string]any{"tag": strategy, "n": n}}})
	}
	require.NoError(t, store.Insert(
		t.Context(), runs.Record{Kind: runs.Thread, ID: thread, Graph: "slow", Status: "busy", Data: json.RawMessage(`{}`)},
		runs.Record{Kind: runs.Run, ID: first, Parent: thread, Graph: "slow", Status: "running", Data: data(10000, "reject")},
		runs.Record{Kind: runs.Run, ID: second, Parent: thread, Graph: "slow", Status: "pending", Created: time.Now(), Data: data(0, "interrupt")},
	))
	_, url := listen(t, server.Options{Graphs: graphs, Runs: store})
	for run, want := range map[string]string{first: "interrupted", second: "success"} {
		request(t, http.MethodGet, url+"/threads/"+thread+"/runs/"+run+"/join", "", nil)
		var got struct {
			Status    string
			Multitask string `json:"multitask_strategy"`
		}
		request(t, http.MethodGet, url+"/threads/"+thread+"/runs/"+run, "", &got)
		assert.Equal(t, want, got.Status)
		assert.NotEqual(t, "enqueue", got.Multitask)
	}
}

// After the server has confirmed the cancellation of a run, a client can rely on it: the next server ends the run, even
// if the process is killed before the run has stopped.
func TestTakeOverEndsCancelledRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cancel, strategy string // the way of the cancellation: by a request, or by the strategy of another run
		status           string // the final status of the run; empty if the run is undone
	}{
		"interrupt":                             {cancel: "interrupt", status: "interrupted"},
		"rollback":                              {cancel: "rollback"},
		"interrupted by a run that ended first": {strategy: "interrupt", status: "interrupted"},
		"rolled back by a run that ended first": {strategy: "rollback"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, at := t.TempDir(), newGate()
			checkpoints, store := openFile(t, filepath.Join(dir, "first.db"))
			_, first := listen(t, server.Options{Graphs: map[string]*graph.Graph{"takeover": takeoverGraph(t, checkpoints, at)}, Runs: store})
			t.Cleanup(func() { close(at.open) }) // before the server is closed
			runsOf := "/threads/" + uuid.New() + "/runs"
			var run, other struct {
				ID string `json:"run_id"`
			}
			work := `{"assistant_id":"takeover","if_not_exists":"create","multitask_strategy":"` + c.strategy + `","command":{"goto":"work","update":{"log":["updated"]}}}`
			request(t, http.MethodPost, first+runsOf, `{"assistant_id":"takeover","if_not_exists":"create","command":{"goto":"work","update":{"log":["updated"]}}}`, &run)
			<-at.reached
			if c.cancel != "" {
				require.Equal(t, http.StatusAccepted, request(t, http.MethodPost, first+runsOf+"/"+run.ID+"/cancel?action="+c.cancel, "", nil))
			} else {
				require.Equal(t, http.StatusOK, request(t, http.MethodPost, first+runsOf, work, &other))
				require.Equal(t, http.StatusOK, request(t, http.MethodPost, first+runsOf+"/"+other.ID+"/cancel?wait=1", "", nil))
			}
			copyFile(t, filepath.Join(dir, "first.db"), filepath.Join(dir, "second.db"))

			checkpoints, store = openFile(t, filepath.Join(dir, "second.db"))
			_, second := listen(t, server.Options{Graphs: map[string]*graph.Graph{"takeover": takeoverGraph(t, checkpoints, nil)}, Runs: store})
			request(t, http.MethodGet, second+runsOf+"/"+run.ID+"/join", "", nil)
			var got struct{ Status string }
			status := request(t, http.MethodGet, second+runsOf+"/"+run.ID, "", &got)
			assert.Equal(t, c.status, got.Status)
			want := []string{"updated"}
			if c.status == "" {
				assert.Equal(t, http.StatusNotFound, status)
				want = nil
			}
			var state struct{ Values struct{ Log []string } }
			request(t, http.MethodGet, second+strings.TrimSuffix(runsOf, "/runs")+"/state", "", &state)
			assert.Equal(t, want, append([]string(nil), state.Values.Log...), "the node that was cancelled did not run again")
		})
	}
}

// pairGraph has two nodes. The first one blocks at the gate, unless the gate is nil.
func pairGraph(t *testing.T, store *sqlitecheckpoint.Store, at *gate) *graph.Graph {
	t.Helper()
	lines := state.Append[string]("log")
	b := graph.New("pair", lines)
	b.Node("first", func(context.Context, state.View) (state.Update, error) {
		if at != nil {
			at.wait()
		}
		return state.Update{lines.Put("first")}, nil
	})
	b.Node("second", func(context.Context, state.View) (state.Update, error) { return state.Update{lines.Put("second")}, nil })
	b.Edge(graph.Start, "first")
	b.Edge("first", "second")
	b.Edge("second", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	return g
}

// A run stops at its static pauses even if its server ends before it has stored the end of the run.
func TestTakeOverKeepsStaticPauses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pauses string
		drain  bool // the server is closed in the first node; otherwise killed at the end of the run
		want   []string
	}{
		"before the first node":        {`"interrupt_before":["first"]`, false, []string{"in"}},
		"before":                       {`"interrupt_before":["second"]`, false, []string{"in", "first"}},
		"after":                        {`"interrupt_after":["first"]`, false, []string{"in", "first"}},
		"before, the server is closed": {`"interrupt_before":["second"]`, true, []string{"in", "first"}},
		"after, the server is closed":  {`"interrupt_after":["first"]`, true, []string{"in", "first"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, at := t.TempDir(), newGate()
			checkpoints, store := openFile(t, filepath.Join(dir, "first.db"))
			inNode := at
			o := server.Options{Runs: store}
			if !c.drain {
				inNode, o.Runs = nil, &gatedStore{Store: store, at: at, ends: 1}
			}
			o.Graphs = map[string]*graph.Graph{"pair": pairGraph(t, checkpoints, inNode)}
			s, first := listen(t, o)
			release := sync.OnceFunc(func() { close(at.open) })
			t.Cleanup(release) // before the server is closed
			thread := "/threads/" + uuid.New()
			var run struct {
				ID string `json:"run_id"`
			}
			request(t, http.MethodPost, first+thread+"/runs", `{"assistant_id":"pair","if_not_exists":"create","stream_mode":["updates"],"stream_resumable":true,"input":{"log":["in"]},`+c.pauses+`}`, &run)
			<-at.reached
			if c.drain {
				closed := make(chan error, 1)
				go func() { closed <- s.Close(t.Context()) }()
				require.Eventually(t, func() bool {
					return request(t, http.MethodGet, first+"/readyz", "", nil) == http.StatusServiceUnavailable
				}, 5*time.Second, time.Millisecond)
				release()
				require.NoError(t, <-closed)
			}
			copyFile(t, filepath.Join(dir, "first.db"), filepath.Join(dir, "second.db"))

			checkpoints, store = openFile(t, filepath.Join(dir, "second.db"))
			_, second := listen(t, server.Options{Graphs: map[string]*graph.Graph{"pair": pairGraph(t, checkpoints, nil)}, Runs: store})
			request(t, http.MethodGet, second+thread+"/runs/"+run.ID+"/join", "", nil)
			var got struct{ Status string }
			request(t, http.MethodGet, second+thread+"/runs/"+run.ID, "", &got)
			assert.Equal(t, "success", got.Status)
			request(t, http.MethodGet, second+thread, "", &got)
			assert.Equal(t, "interrupted", got.Status)
			var state struct{ Values struct{ Log []string } }
			request(t, http.MethodGet, second+thread+"/state", "", &state)
			assert.Equal(t, c.want, state.Values.Log)

			request(t, http.MethodPost, second+thread+"/runs/wait", `{"assistant_id":"pair"}`, nil)
			request(t, http.MethodGet, second+thread+"/state", "", &state)
			assert.Equal(t, []string{"in", "first", "second"}, state.Values.Log)
		})
	}
}
