package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/examples/chatapi/internal/api"
	"github.com/weft-go/weft/examples/chatapi/internal/chat"
	"github.com/weft-go/weft/examples/chatapi/internal/offline"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

// asProgram is the environment variable that makes the test binary run the program, so that a test can
// start it as a process.
const asProgram = "CHATAPI_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "keep" { // with the environment unchanged
		main()
		return
	}
	for _, name := range []string{
		"LLM_PROVIDER", "LLM_MODEL", "LLM_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY",
		"GOOGLE_API_KEY", "MISTRAL_API_KEY", "OLLAMA_HOST", "EMBEDDING_MODEL", "EMBEDDING_PROVIDER", "EMBEDDING_DIM",
		"SUPABASE_URL", "SUPABASE_DB_URL", "SUPABASE_SERVICE_ROLE_KEY", "SUPABASE_KEY",
	} {
		if err := os.Unsetenv(name); err != nil { // tests must not use a real key
			panic(err)
		}
	}
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(pgtest.Main(m))
}

func sqlite(t *testing.T) store.Config {
	t.Helper()
	return store.Config{Folder: t.TempDir()}
}

func postgres(t *testing.T) store.Config {
	t.Helper()
	database := supatest.Database(t, nil)
	return store.Config{Database: database, Schema: pgtest.SchemaIn(t, database), Lease: time.Second}
}

// eachStore runs a test on SQLite and on PostgreSQL.
func eachStore(t *testing.T, test func(t *testing.T, c store.Config)) {
	t.Helper()
	for name, place := range map[string]func(*testing.T) store.Config{"SQLite": sqlite, "PostgreSQL": postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, place(t))
		})
	}
}

// rules returns options with the offline model, its extractor and its verifier.
func rules() chat.Options {
	return chat.Options{Model: offline.Model{}, Extractor: extract.ExtractorFunc(offline.Extract), Verifier: offline.Verifier}
}

// app is a running program, and a client that checks each response against openapi.json.
type app struct {
	t       *testing.T
	url     string
	client  *http.Client
	token   string
	service *chat.Service
	stores  *store.Stores
	stop    func()
	stopped <-chan error
}

// start runs the program, at most until the test ends.
func start(t *testing.T, c store.Config, o chat.Options) *app {
	t.Helper()
	stores, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, stores, o)
}

func startOn(t *testing.T, stores *store.Stores, o chat.Options) *app {
	t.Helper()
	s, err := chat.New(stores, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() {
		err := run(ctx, config{drain: 2 * time.Second}, s, stores.Runs, slog.New(slog.DiscardHandler), l)
		if closed := stores.Close(); err == nil {
			err = closed
		}
		stopped <- err
	}()
	a := &app{t: t, url: "http://" + l.Addr().String(), client: &http.Client{Transport: &http.Transport{}}, service: s, stores: stores, stop: stop, stopped: stopped}
	t.Cleanup(a.end)
	return a
}

// end stops the program; a second call does nothing.
func (a *app) end() {
	a.client.CloseIdleConnections()
	if a.stop == nil {
		return
	}
	a.stop()
	a.stop = nil
	if err := <-a.stopped; err != nil {
		a.t.Errorf("the program ended with %v", err)
	}
}

// as returns a client with a token.
func (a *app) as(token string) *app {
	b := *a
	b.token = token
	return &b
}

// reply is an answer, read to its end.
type reply struct {
	status int
	body   string
	header http.Header
}

func (a *app) request(ctx context.Context, method, path, body string, headers ...string) *http.Request {
	a.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	if method != "GET" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return r
}

// do sends a request, as JSON unless a header says otherwise. Headers are given as "Name: value".
func (a *app) do(method, path, body string, headers ...string) reply {
	a.t.Helper()
	res, err := a.client.Do(a.request(a.t.Context(), method, path, body, headers...))
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatalf("%s %s: %v after %s", method, path, err, text)
	}
	described(a.t, method, path, body, res, string(text))
	return reply{res.StatusCode, string(text), res.Header}
}

// into decodes the JSON of a reply. It fails the test if the reply has another status.
func into[T any](t *testing.T, r reply, status int) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.status != status {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	return v
}

// asJSON encodes a value. It fails the test if it cannot.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ask sends a message, in a new session if session is empty.
func (a *app) ask(user, session, message string) api.Reply {
	a.t.Helper()
	body := map[string]string{"message": message}
	if user != "" {
		body["user_id"] = user
	}
	if session != "" {
		body["session_id"] = session
	}
	return into[api.Reply](a.t, a.do("POST", "/api/chat", asJSON(a.t, body)), http.StatusOK)
}

// begin makes a session of the local caller.
func (a *app) begin() memory.Session {
	a.t.Helper()
	s, err := a.service.Begin(a.t.Context(), memory.Scope{})
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

// thread makes a thread of the server.
func (a *app) thread() string {
	a.t.Helper()
	return into[thread](a.t, a.do("POST", "/threads", "{}"), http.StatusOK).ID
}

type thread struct {
	ID string `json:"thread_id"`
}

// input returns the body of a request to run the graph with a message.
func input(message string) string {
	return fmt.Sprintf(`{"assistant_id":"chat","stream_mode":["messages-tuple","values"],"input":{"messages":[{"role":"user","content":%q}]}}`, message)
}

// said returns the roles and texts of the messages of a session.
func (a *app) said(user, session string) string {
	a.t.Helper()
	var lines []string
	for _, m := range into[api.Session](a.t, a.do("GET", "/api/sessions/"+session+"?user_id="+user, ""), http.StatusOK).Messages {
		lines = append(lines, string(m.Role)+": "+m.Text)
	}
	return strings.Join(lines, "\n")
}

// learned waits until all queued turns are learned.
func (a *app) learned() {
	a.t.Helper()
	a.service.Drain(30 * time.Second) // a killed process keeps its claims for a while
	c, err := a.stores.Memory.Turns().Count(a.t.Context())
	if err != nil || c.Pending+c.Parked > 0 {
		a.t.Fatalf("%+v turns are left, error %v", c, err)
	}
}

// scripted returns options with a model alone.
func scripted(m llm.Model) chat.Options { return chat.Options{Model: m} }
