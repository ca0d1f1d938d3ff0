package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// serve starts a server of the shop that runs until the test ends, and returns a terminal for this server.
func serve(t *testing.T, options ...func(*server.Options)) *terminal {
	t.Helper()
	store := memcheckpoint.New(memcheckpoint.Options{})
	o := server.Options{Graphs: map[string]*graph.Graph{"shop": shop(t, store)}, Runs: memruns.New()}
	for _, option := range options {
		option(&o)
	}
	s, err := server.New(o)
	require.NoError(t, err)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		closing, stop := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer stop()
		assert.NoError(t, s.Close(closing))
	})
	return newTerminal(t, map[string]string{"http://127.0.0.1:8123": h.URL})
}

func withTokens(o *server.Options) {
	o.Auth = func(r *http.Request) (server.User, error) {
		if token := r.Header.Get("X-Api-Key"); token != "" {
			return server.User{ID: token}, nil
		}
		return server.User{}, http.ErrNoCookie
	}
}

// post sends a request to the server of a terminal.
func (m *terminal) post(path string, body any) map[string]json.RawMessage {
	m.t.Helper()
	c := client{base: m.words["http://127.0.0.1:8123"], http: http.DefaultClient, token: m.env["WEFT_TOKEN"]}
	var out map[string]json.RawMessage
	require.NoError(m.t, c.call(m.t.Context(), http.MethodPost, path, body, &out))
	return out
}

// thread creates a thread on the server of a terminal, and waits for the end of a run that orders n cups.
func (m *terminal) thread(n int) string {
	m.t.Helper()
	var id string
	require.NoError(m.t, json.Unmarshal(m.post("/threads", map[string]any{})["thread_id"], &id))
	m.post("/threads/"+id+"/runs/wait", map[string]any{"assistant_id": "shop", "input": map[string]int{"cups": n}})
	return id
}

func TestThreadsOfAServer(t *testing.T) {
	t.Parallel()
	m := serve(t, withTokens)
	m.env = map[string]string{"WEFT_SERVER": m.words["http://127.0.0.1:8123"]}
	m.run("threads", "list", "-server", "http://127.0.0.1:8123")
	m.env["WEFT_TOKEN"] = "ann"
	id := m.thread(12)
	m.run("threads", "list", "-server", "http://127.0.0.1:8123")
	m.golden("server_list")
	m.run("threads", "show", id)
	m.run("threads", "tail", id, "-follow=false")
	m.run("threads", "answer", id, `{"approved":"yes"}`)
	m.run("threads", "answer", id, `{"approved":true}`)
	join(m, id)
	m.run("threads", "diff", id)
	m.run("threads", "list", "-status", "paused")
	m.run("threads", "list", "-node", "brew")
	m.run("threads", "fork", id)
	m.run("threads", "fork", id, "-at", "x")
	m.run("threads", "show", served)
	m.golden("server_threads")
}

// A thread that has no run yet can be followed.
func TestTailWaitsForTheFirstRunOfAThread(t *testing.T) {
	t.Parallel()
	m := serve(t)
	m.env = map[string]string{"WEFT_SERVER": m.words["http://127.0.0.1:8123"]}
	m.post("/threads", map[string]any{"thread_id": served})
	_, _, errs := m.call("threads", "diff", served)
	assert.Contains(t, errs, "has no checkpoint yet")
	_, _, errs = m.call("threads", "tail", served[:35]+"2")
	assert.Contains(t, errs, "there is no thread")
	ctx, stop := context.WithCancel(t.Context())
	lines, code := make(chan string, 20), make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"threads", "tail", served, "-every", "5ms"}, &streams{func(n string) string { return m.env[n] }, nil, lineWriter(lines), os.Stderr, time.Now})
	}()
	m.post("/threads/"+served+"/runs/wait", map[string]any{"assistant_id": "shop", "input": map[string]int{"cups": 1}})
	assert.Contains(t, <-lines, "step 0    input   due: check")
	assert.Contains(t, <-lines, "step 1    loop    due: brew")
	assert.Contains(t, <-lines, "step 2    loop    done")
	stop()
	assert.Equal(t, exitDone, <-code)
}

// join waits for the end of the newest run of a thread.
func join(m *terminal, thread string) {
	m.t.Helper()
	_, out, errs := m.call("runs", "list", "-json", "-limit", "1", "-thread", thread)
	var r runView
	require.NoError(m.t, json.Unmarshal([]byte(out), &r), errs)
	code, _, errs := m.call("runs", "join", r.ID)
	require.Equal(m.t, exitDone, code, errs)
}

func TestAFailedThreadIsResumed(t *testing.T) {
	t.Parallel()
	m := serve(t)
	m.env = map[string]string{"WEFT_SERVER": m.words["http://127.0.0.1:8123"]}
	id := m.thread(-1)
	m.post("/threads/"+id+"/state", map[string]any{"values": map[string]int{"cups": 5}, "as_node": "check"})
	m.run("threads", "resume", id)
	m.golden("resume")
	join(m, id)
	m.run("threads", "cancel", id)
	m.run("threads", "resume", id, "-json")
	m.golden("resume_json")
	_, out, _ := m.call("threads", "show", id, "-json")
	assert.Contains(t, out, "brewed 5")
}

// The commands show, cancel and join a run that does not end by itself, while another run of the thread waits.
func TestRunsOfAServer(t *testing.T) {
	t.Parallel()
	m := serve(t, withTokens, func(o *server.Options) {
		o.Graphs["slow"] = hanging(t)
	})
	m.env = map[string]string{"WEFT_SERVER": m.words["http://127.0.0.1:8123"], "WEFT_TOKEN": "ann"}
	var id string
	require.NoError(t, json.Unmarshal(m.post("/threads", map[string]any{})["thread_id"], &id))
	for range 2 {
		m.post("/threads/"+id+"/runs", map[string]any{"assistant_id": "slow", "input": map[string]int{"cups": 1}})
	}
	m.post("/threads/"+id+"/runs", map[string]any{"assistant_id": "slow", "after_seconds": 3600, "input": map[string]int{"cups": 1}})
	require.Eventually(t, func() bool {
		_, out, _ := m.call("runs", "list", "-status", "running")
		return strings.Contains(out, "running")
	}, 10*time.Second, 10*time.Millisecond)
	m.run("queue")
	m.golden("queue")
	m.run("queue", "-json")
	_, out, _ := m.call("runs", "list", "-status", "running", "-json")
	var r runView
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	m.golden("queue_json")
	m.run("runs", "cancel", r.ID)
	m.run("runs", "show", r.ID)
	m.run("threads", "cancel", id)
	m.golden("cancel")
	m.run("runs", "cancel", r.ID)
	m.run("runs", "join", r.ID)
	m.run("threads", "cancel", id)
	m.run("queue")
	m.run("runs", "show", "5f0e2a3c-98b3-4f4e-8a33-000000000001")
	m.golden("server_runs")
}

// The command reads the runs that a server has stored from the database, without the server.
func TestStoredRuns(t *testing.T) {
	t.Parallel()
	at := time.Now().Truncate(time.Second)
	insert := func(t *testing.T, s runs.Store) {
		t.Helper()
		began := at.Add(10 * time.Second)
		for i, r := range []struct{ id, user, status, data string }{
			{"a", "ann", "success", `{"Began":"` + began.Format(time.RFC3339) + `","Ended":"` + began.Add(90*time.Second).Format(time.RFC3339) + `","Attempt":1}`},
			{"b", "ann", "error", `{"Attempt":3,"Error":{"error":"NodeError","message":"the kettle is empty"}}`},
			{"c", "ann", "pending", `{}`},
			{"d", "bob", "pending", `{"After":"` + at.Add(24*time.Hour).Format(time.RFC3339) + `"}`},
			{"e", "bob", "running", `{"Attempt":1}`},
		} {
			require.NoError(t, s.Insert(t.Context(), runs.Record{
				Kind: runs.Run, ID: "5f0e2a3c-98b3-4f4e-8a33-00000000000" + r.id, Parent: "5f0e2a3c-98b3-4f4e-8a33-000000000001", Owner: r.user, Graph: "shop", Status: r.status,
				Created: at.Add(time.Duration(i) * time.Second), Updated: at, Metadata: json.RawMessage(`{}`), Data: json.RawMessage(r.data),
			}))
		}
	}
	check := func(t *testing.T, p place) {
		t.Helper()
		m := newTerminal(t, nil)
		m.place = &p
		m.now = func() time.Time { return at.Add(5 * time.Minute) }
		m.run("runs", "list", "-db", "threads.db")
		m.run("runs", "list", "-status", "pending,running", "-limit", "2", "-db", "threads.db")
		m.run("runs", "show", "5f0e2a3c-98b3-4f4e-8a33-00000000000b", "-db", "threads.db")
		m.golden("stored_runs")
		m.run("runs", "join", "5f0e2a3c-98b3-4f4e-8a33-00000000000b", "-db", "threads.db")
		m.run("queue", "-db", "threads.db")
		m.golden("stored_queue")
	}
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "threads.db")
		s, err := sqlitecheckpoint.Open(t.Context(), file, sqlitecheckpoint.Options{})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		r, err := sqliteruns.Open(t.Context(), file, sqliteruns.Options{})
		require.NoError(t, err)
		insert(t, r)
		require.NoError(t, r.Close())
		check(t, place{flags: []string{"-db", file}})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
		s, err := pgcheckpoint.Open(t.Context(), url, pgcheckpoint.Options{Schema: schema})
		require.NoError(t, err)
		s.Close()
		r, err := pgruns.Open(t.Context(), url, pgruns.Options{Schema: schema})
		require.NoError(t, err)
		insert(t, r)
		r.Close()
		check(t, place{flags: []string{"-db", url, "-schema", schema}})
	})
}

// The queue that servers share with package riverqueue has a running run, a run of the same thread that waits, and a delayed run.
func TestTheQueueOfServersIsCounted(t *testing.T) {
	t.Parallel()
	url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	config, err := pgcheckpoint.PoolConfig(url, pgcheckpoint.Detect)
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close) // called after the server is closed
	require.NoError(t, pgcheckpoint.Migrate(t.Context(), pool, pgcheckpoint.Options{Schema: schema}))
	require.NoError(t, pgruns.Migrate(t.Context(), pool, pgruns.Options{Schema: schema}))
	r, err := pgruns.New(t.Context(), pool, pgruns.Options{Schema: schema})
	require.NoError(t, err)
	m := serve(t, withTokens, func(o *server.Options) {
		o.Graphs["slow"] = hanging(t)
		o.Runs, o.Queue = r, riverqueue.New(pool, riverqueue.Options{Schema: schema})
	})
	m.env = map[string]string{"WEFT_TOKEN": "ann"}
	for _, after := range []int{0, 0, 3600} {
		m.post("/threads/"+served+"/runs", map[string]any{"assistant_id": "slow", "if_not_exists": "create", "after_seconds": after, "input": map[string]int{"cups": 1}})
	}
	m.words["$DATABASE_URL"], m.words["weft_schema"] = url, schema
	require.Eventually(t, func() bool {
		_, out, _ := m.call("queue", "-db", "$DATABASE_URL", "-schema", "weft_schema")
		return strings.Contains(out, "1 running, 1 scheduled") && strings.Contains(out, "ann   1        5m      1        1")
	}, 20*time.Second, 50*time.Millisecond)
	m.run("queue", "-db", "$DATABASE_URL", "-schema", "weft_schema")
	m.run("runs", "list", "-db", "$DATABASE_URL", "-schema", "weft_schema", "-status", "running", "-json")
	m.golden("queue_shared")
	_, out, _ := m.call("doctor", "-db", "$DATABASE_URL", "-schema", "weft_schema")
	assert.Contains(t, out, "queue      0 threads waiting, 1 running")
	m.env["WEFT_SERVER"] = m.words["http://127.0.0.1:8123"]
	code, _, errs := m.call("threads", "cancel", served)
	assert.Equal(t, exitDone, code, errs)
}

// No command prints a token or a password, or sends a token to another host.
func TestCommandsKeepTokensAndPasswordsToThemselves(t *testing.T) {
	t.Parallel()
	other := ""
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { other += r.Header.Get("X-Api-Key") }))
	defer elsewhere.Close()
	moved := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	for _, args := range [][]string{
		{"threads", "list", "-server", moved.URL},
		{"threads", "list", "-server", "http://user:tok3n@127.0.0.1:1"},
		{"threads", "list", "-server", "tok3n"},
		{"threads", "list", "-server", "http://127.0.0.1:1"},
		{"threads", "list", "-db", "postgres://u:tok3n@127.0.0.1:1/d?connect_timeout=1"},
		{"runs", "list", "-db", "postgres://u:tok3n@127.0.0.1:1/d?connect_timeout=1"},
		{"threads", "migrate", "-db", "postgres://u:tok3n@127.0.0.1:1/d?connect_timeout=1"},
		{"threads", "list", "-db", "host=127.0.0.1 port=1 user=u password=tok3n connect_timeout=1"},
		{"threads", "list", "-db", "password = tok3n host=127.0.0.1 port=x"},
		{"threads", "list", "-db", "Postgres://u:tok3n@127.0.0.1:1/d?connect_timeout=1"},
		{"threads", "list", "-db", "postgress://u:tok3n@127.0.0.1:1/d"},
		{"threads", "list", "-db", "postgress://u:tok3n@127.0.0.1:1/d", "-tenant", "x"},
		{"threads", "list", "-db", "postgres:/u:tok3n@127.0.0.1:1/d"},
		{"threads", "list", "-db", " postgres://u:tok3n@127.0.0.1:1/d"},
		{"threads", "list", "-db", "hots=db password=tok3n"},
		{"threads", "import", "-", "-create", "-db", "postgress://u:tok3n@127.0.0.1:1/d"},
		{"doctor", "-db", "postgress://u:tok3n@127.0.0.1:1/d"},
		{"doctor", "-db", "Host=db password=tok3n"},
	} {
		m := newTerminal(t, nil)
		m.env = map[string]string{"WEFT_TOKEN": "tok3n"}
		code, out, errs := m.call(args...)
		assert.NotEqual(t, exitDone, code, "%v", args)
		assert.NotEmpty(t, out+errs, "%v", args)
		assert.NotContains(t, out+errs, "tok3n", "%v", args)
	}
	assert.Empty(t, other, "another host got the token")
}

// A command shows the same user, step, run and checkpoints of a thread with -server as with -db.
func TestAThreadIsShownAlikeByAServerAndFromItsDatabase(t *testing.T) {
	t.Parallel()
	url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	states, err := pgcheckpoint.Open(t.Context(), url, pgcheckpoint.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(states.Close)
	r, err := pgruns.Open(t.Context(), url, pgruns.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	m := serve(t, withTokens, func(o *server.Options) { o.Graphs["shop"], o.Runs = shop(t, states), r })
	m.env = map[string]string{"WEFT_TOKEN": "ann"}
	id := m.thread(1)
	m.post("/threads/"+id+"/runs/wait", map[string]any{"assistant_id": "shop", "input": map[string]int{"cups": 2}})
	same := func(args ...string) {
		t.Helper()
		var got [2][]map[string]any
		for i, flags := range [][]string{{"-server", "http://127.0.0.1:8123"}, {"-db", url, "-schema", schema}} {
			code, out, errs := m.call(slices.Concat([]string{"threads"}, args, []string{"-json"}, flags)...)
			require.Equal(t, exitDone, code, errs)
			for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
				var one map[string]any
				require.NoError(t, d.Decode(&one))
				delete(one, "metadata") // -server shows the metadata of the thread, and -db of the checkpoint
				delete(one, "version")  // a server does not send it
				delete(one, "updated")  // for a server, the end of a run is an update too
				got[i] = append(got[i], one)
			}
		}
		assert.Equal(t, got[0], got[1])
		assert.NotEmpty(t, got[0][0]["run"])
	}
	same("show", id)
	same("tail", id, "-follow=false")
	m.post("/threads/"+id+"/state", map[string]any{"values": map[string]int{"cups": 12}, "as_node": "check"})
	same("tail", id, "-follow=false")
	_, out, _ := m.call("threads", "show", id, "-json", "-db", url, "-schema", schema)
	assert.Contains(t, out, `"user": "ann"`)
}

func TestRunsOfAUserAreListed(t *testing.T) {
	t.Parallel()
	m := serve(t, withOperator).as("ann")
	own, others := m.thread(1), m.as("bob").thread(1)
	_, out, _ := m.as("ops").call("runs", "list", "-user", "ann")
	assert.Contains(t, out, own)
	assert.NotContains(t, out, others)
	_, out, errs := m.call("runs", "list", "-limit", "1")
	assert.Contains(t, out, others)
	assert.NotContains(t, out, own)
	assert.Contains(t, errs, "The list has ended after 1 run; -limit 0 lists all.")
	_, out, errs = m.call("runs", "list", "-limit", "2")
	assert.Contains(t, out, own)
	assert.Empty(t, errs)
	_, _, errs = m.as("bob").call("runs", "list", "-user", "ann")
	assert.Contains(t, errs, "There are no such runs.", "a user sees only runs of the own threads")
}
