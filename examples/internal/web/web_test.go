package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, kind, body string
		status           int
		want             string
	}{
		{"good", "application/json; charset=utf-8", `{"message":"hi"}`, 200, `"hi"`},
		{"another type", "text/plain", `{"message":"hi"}`, 415, "has to be application/json"},
		{"no type", "", `{"message":"hi"}`, 415, "has to be application/json"},
		{"no body", "application/json", ``, 400, "the body is empty"},
		{"no JSON", "application/json", `{"message":`, 400, "unexpected EOF"},
		{"a wrong type", "application/json", `{"message":7}`, 400, "message of type string"},
		{"an unknown field", "application/json", `{"massage":"hi"}`, 400, `massage`},
		{"two values", "application/json", `{"message":"hi"} {}`, 400, "more than one value"},
		{"too large", "application/json", `{"message":"` + strings.Repeat("x", 100) + `"}`, 413, "at most 64 bytes"},
		{"too large behind", "application/json", `{"message":"hi"}` + strings.Repeat(" ", 100), 413, "at most 64 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := web.Handler(nil, func(w http.ResponseWriter, r *http.Request) error {
				var in struct {
					Message string `json:"message"`
				}
				if err := web.Read(w, r, &in, 64); err != nil {
					return err
				}
				return web.Write(w, http.StatusOK, in)
			})
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tt.body))
			r.Header.Set("Content-Type", tt.kind)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) || !json.Valid(w.Body.Bytes()) {
				t.Errorf("got %d %s, want %d and %q", w.Code, w.Body, tt.status, tt.want)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	secret := errors.New("password=hunter2")
	tests := []struct {
		err    error
		status int
		want   string
		logged bool
	}{
		{web.Refuse(http.StatusTeapot, "no %s", "coffee"), 418, `{"error":"no coffee"}`, false},
		{web.Invalid(map[string]string{"a": "b"}), 400, `{"error":"Invalid request format","details":{"a":"b"}}`, false},
		{fmt.Errorf("x: %w", checkpoint.ErrConflict), 409, "busy", false},
		{checkpoint.ErrNotFound, 404, "no such session", false},
		{fmt.Errorf("x: %w", memory.ErrForgotten), 410, "was forgotten", false},
		{fmt.Errorf("hunter2: %w", memory.ErrInvalid), 400, "can not be asked or kept", false},
		{memory.ErrQuota, 409, "has to be forgotten first", false},
		{memory.ErrBusy, 429, "too often", false},
		{memory.ErrNotFound, 404, "no such session", false},
		{graph.ErrNoQuestion, 409, "not open", false},
		{&llm.Error{Kind: llm.ErrAuth, Message: "key sk-123"}, 502, "does not accept the key", true},
		{graph.ErrDrained, 503, "can be resumed", true},
		{secret, 500, `{"error":"Internal server error"}`, true},
	}
	for _, tt := range tests {
		var log bytes.Buffer
		w := httptest.NewRecorder()
		h := web.Handler(slog.New(slog.NewTextHandler(&log, nil)), func(http.ResponseWriter, *http.Request) error { return tt.err })
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		body := w.Body.String()
		if w.Code != tt.status || !strings.Contains(body, tt.want) || strings.Contains(body, "hunter2") || strings.Contains(body, "sk-123") {
			t.Errorf("%v: got %d %s, want %d %s", tt.err, w.Code, body, tt.status, tt.want)
		}
		if waits := w.Header().Get("Retry-After") != ""; waits != (tt.status == 503 || tt.status == 429) {
			t.Errorf("%v: says when to try again: %t", tt.err, waits)
		}
		if (log.Len() > 0) != tt.logged {
			t.Errorf("%v: the log has %q", tt.err, log.String())
		}
	}
}

func list(events ...any) iter.Seq2[web.Event, error] {
	return func(yield func(web.Event, error) bool) {
		for _, e := range events {
			if err, ok := e.(error); ok {
				yield(web.Event{}, err)
				return
			}
			if !yield(web.Event{Name: "n", Data: e}, nil) {
				return
			}
		}
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		events iter.Seq2[web.Event, error]
		status int
		want   string
	}{
		{"all", list("a\nb", 2), 200, "event: n\ndata: \"a\\nb\"\n\nevent: n\ndata: 2\n\n"},
		{"none", list(), 200, ""},
		{"an error first", list(checkpoint.ErrConflict), 409, `{"error":"This session is busy with another request."}` + "\n"},
		{"an error later", list(1, errors.New("hunter2")), 200, "event: n\ndata: 1\n\nevent: error\ndata: {\"error\":\"Internal server error\"}\n\n"},
		{"what is no JSON", list(1, func() {}), 200, "event: n\ndata: 1\n\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			web.Handler(nil, func(w http.ResponseWriter, r *http.Request) error { return web.Send(w, r, tt.events) }).
				ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
			if w.Code != tt.status || w.Body.String() != tt.want {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, tt.status, tt.want)
			}
		})
	}
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		slow := func(yield func(web.Event, error) bool) {
			_ = yield(web.Event{Name: "n", Data: 1}, nil)
			time.Sleep(40 * time.Second)
			yield(web.Event{Name: "n", Data: 2}, nil)
		}
		if err := web.Send(w, httptest.NewRequest(http.MethodPost, "/", nil), slow); err != nil {
			t.Fatal(err)
		}
		want := "event: n\ndata: 1\n\n: still here\n\n: still here\n\nevent: n\ndata: 2\n\n"
		if w.Body.String() != want {
			t.Errorf("got %q, want %q", w.Body, want)
		}
	})
}

// slow is a graph whose node says that it runs, and waits until it may end.
func slow(t *testing.T, started chan<- struct{}, end <-chan struct{}, store checkpoint.Store) *graph.Graph {
	t.Helper()
	b := graph.New("slow", agent.Messages)
	b.Node("wait", func(ctx context.Context, _ state.View) (state.Update, error) {
		graph.Emit(ctx, "begun")
		started <- struct{}{}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-end:
			return state.Update{agent.Messages.Put(llm.Assistant("done"))}, nil
		}
	})
	b.Node("after", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "wait")
	b.Edge("wait", "after")
	b.Edge("after", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func runs(g *graph.Graph) http.Handler {
	return web.Handler(nil, func(w http.ResponseWriter, r *http.Request) error {
		run := g.Thread("t").Stream(r.Context(), agent.Messages.Put(llm.User("hi")))
		return web.Send(w, r, web.Chunks(agent.Chunks(run)))
	})
}

func TestHangUpEndsTheRun(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	g := slow(t, started, nil, memcheckpoint.New(memcheckpoint.Options{}))
	ended := make(chan struct{})
	h := runs(g)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	r, err := server.Client().Post(server.URL, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-started
	r.Body.Close()
	<-ended
	snap, err := g.Thread("t").Snapshot(t.Context())
	if err != nil || snap.Done() || agent.Messages.Len(snap) != 1 {
		t.Fatalf("the thread is %+v, %v, want it unfinished with the user's message", snap, err)
	}
}

func TestBusyThread(t *testing.T) {
	t.Parallel()
	started, end := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(runs(slow(t, started, end, memcheckpoint.New(memcheckpoint.Options{}))))
	defer server.Close()
	first, err := server.Client().Post(server.URL, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Body.Close()
	<-started
	second, err := server.Client().Post(server.URL, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	second.Body.Close()
	if second.StatusCode != http.StatusConflict {
		t.Errorf("the second request got %d, want 409", second.StatusCode)
	}
	close(end)
	body, err := io.ReadAll(first.Body)
	if err != nil || !strings.Contains(string(body), "event: end\n") {
		t.Errorf("the first request got %s, %v", body, err)
	}
}

func TestServerLetsRunsFinish(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		drain  time.Duration
		finish bool
		want   string
	}{
		{"in time", time.Minute, true, "event: end\n"},
		{"drained", 300 * time.Millisecond, false, "The run can be resumed."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			started, end := make(chan struct{}, 1), make(chan struct{})
			store := memcheckpoint.New(memcheckpoint.Options{})
			g := slow(t, started, end, store)
			ctx, stop := context.WithCancel(t.Context())
			drained := make(chan struct{})
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				// The run must know of the drain before drained is closed. The function cancel returns
				// only when all contexts that derive from ctx have ended.
				ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
				defer cancel(nil)
				defer context.AfterFunc(r.Context(), func() {
					cancel(context.Cause(r.Context()))
					close(drained)
				})()
				runs(g).ServeHTTP(w, r.WithContext(ctx))
			})
			served, url := serve(ctx, t, web.Server{Handler: h, Drain: tt.drain})
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			r, err := client.Post(url, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			<-started
			stop()
			if !tt.finish {
				<-drained
			}
			close(end) // the superstep ends, and then perhaps the run
			body, err := io.ReadAll(r.Body)
			if !strings.Contains(string(body), tt.want) {
				t.Errorf("the client got %s, %v, want %q", body, err, tt.want)
			}
			if err := <-served; err != nil && tt.finish {
				t.Errorf("the server ended with %v", err)
			}
			snap, err := g.Thread("t").Snapshot(t.Context())
			if err != nil || snap.Done() != tt.finish {
				t.Errorf("the thread has %v due, %v; finished should be %t", snap.Next, err, tt.finish)
			}
		})
	}
}

func serve(ctx context.Context, t *testing.T, s web.Server) (<-chan error, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Run(ctx, l) }()
	return served, "http://" + l.Addr().String()
}

func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	served, url := serve(ctx, t, web.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for origin, want := range map[string]int{url: 200, "https://evil.example": 403} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", origin)
		reply, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if reply.StatusCode != want {
			t.Errorf("from %s: %d, want %d", origin, reply.StatusCode, want)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestCaller(t *testing.T) {
	t.Parallel()
	callers := map[string]bool{}
	for _, header := range []string{"", "Bearer ", "Basic eDp5", "Bearer ann", "Bearer bob", "Bearer ann"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		callers[web.Caller(r)] = true
	}
	if len(callers) != 3 || !callers["local"] {
		t.Errorf("the callers are %v, want local and two others", callers)
	}
}

// Example shows an agent behind a handler.
func Example() {
	g, err := agent.New("helper", llmtest.NewScript(llmtest.Say("Hello.")), nil, agent.Options{})
	if err != nil {
		panic(err)
	}
	h := web.Handler(nil, func(w http.ResponseWriter, r *http.Request) error {
		var in struct {
			Message string `json:"message"`
		}
		if err := web.Read(w, r, &in, 0); err != nil {
			return err
		}
		snap, err := g.Invoke(r.Context(), agent.Messages.Put(llm.User(in.Message)))
		if err != nil {
			return err
		}
		answer, _ := agent.Messages.Last(snap)
		return web.Write(w, http.StatusOK, map[string]string{"reply": answer.Text()})
	})
	for _, body := range []string{`{"message":"hi"}`, `{"message":`} {
		r := httptest.NewRequest(http.MethodPost, "/api/chat", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 200 {"reply":"Hello."}
	// 400 {"error":"Invalid request format","details":"unexpected EOF"}
}
