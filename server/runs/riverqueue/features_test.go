package riverqueue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/riverqueue"
	"github.com/weft-go/weft/state"
)

var word = state.LastWins[string]("word")

// A stage is a graph of one node, which waits until its word is released. It does not wait if the word begins with
// "quick".
type stage struct {
	mu      sync.Mutex
	ended   chan struct{}            // closed at the end of the test
	begun   map[string]chan struct{} // closed when the node with the word has begun
	release map[string]chan struct{}
	order   []string // the words, in the order in which their nodes began
}

func newStage() *stage {
	return &stage{ended: make(chan struct{}), begun: map[string]chan struct{}{}, release: map[string]chan struct{}{}}
}

func channelOf(m map[string]chan struct{}, word string) chan struct{} {
	if m[word] == nil {
		m[word] = make(chan struct{})
	}
	return m[word]
}

func (s *stage) channels(word string) (begun, release chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return channelOf(s.begun, word), channelOf(s.release, word)
}

func (s *stage) node(ctx context.Context, v state.View) (state.Update, error) {
	w := word.Get(v)
	begun, release := s.channels(w)
	s.mu.Lock()
	s.order = append(s.order, w)
	s.mu.Unlock()
	close(begun)
	if strings.HasPrefix(w, "quick") {
		return nil, nil
	}
	select {
	case <-release:
		return nil, nil
	case <-s.ended: // Close of a server waits for the nodes
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *stage) graph(t *testing.T, name string, store checkpoint.Store) *graph.Graph {
	t.Helper()
	b := graph.New(name, word)
	b.Node("node", s.node)
	b.Edge(graph.Start, "node")
	b.Edge("node", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	return g
}

// twoReplicas starts two replicas with the graphs "stage" and "second".
func twoReplicas(t *testing.T, s *stage, q riverqueue.Options, change func(*server.Options)) (urls []string, schema string) {
	t.Helper()
	schema = pgtest.Schema(t)
	for range 2 {
		urls = append(urls, startReplica(t, pgtest.DirectURL(t), schema, q, func(o *server.Options, store *pgcheckpoint.Store) {
			o.Graphs = map[string]*graph.Graph{"stage": s.graph(t, "stage", store), "second": s.graph(t, "second", store)}
			if change != nil {
				change(o)
			}
		}))
	}
	t.Cleanup(func() { close(s.ended) })
	return urls, schema
}

// send sends a request of a user and decodes the answer. The body of the returned response is closed.
func send(t *testing.T, method, url, user string, body, out any) *http.Response {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(string(data)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(userHeader, user)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if out != nil {
		require.NoError(t, json.Unmarshal(text, out), "%s %s: %s", method, url, text)
	}
	return resp
}

type runBody map[string]any

// start starts a run with a word and returns its id.
func start(t *testing.T, url, thread, w string, more runBody) string {
	t.Helper()
	body := runBody{"assistant_id": "stage", "input": map[string]string{"word": w}, "if_not_exists": "create"}
	for k, v := range more {
		body[k] = v
	}
	var run struct {
		ID string `json:"run_id"`
	}
	resp := send(t, http.MethodPost, url+"/threads/"+thread+"/runs", "", body, &run)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	return run.ID
}

// join waits for the end of a run and returns its status, or "" if it was undone.
func join(t *testing.T, url, thread, run string) string {
	t.Helper()
	send(t, http.MethodGet, url+"/threads/"+thread+"/runs/"+run+"/join", "", nil, nil)
	var r struct{ Status string }
	send(t, http.MethodGet, url+"/threads/"+thread+"/runs/"+run, "", nil, &r)
	return r.Status
}

// A client can cancel a run at any replica, whichever replica executes the run. The strategy of a new run has effect
// there too.
func TestStrategiesAndCancellationReachOtherReplicas(t *testing.T) {
	t.Parallel()
	s := newStage()
	urls, _ := twoReplicas(t, s, riverqueue.Options{}, nil)
	a, b := urls[0], urls[1]
	for name, c := range map[string]struct {
		strategy string
		first    string // the status of the first run afterwards
	}{"interrupt": {"interrupt", "interrupted"}, "rollback": {"rollback", ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread := uuid.New()
			first := start(t, a, thread, name+"1", nil)
			begun, _ := s.channels(name + "1")
			<-begun
			second := start(t, b, thread, "quick "+name, runBody{"multitask_strategy": c.strategy})
			assert.Equal(t, "success", join(t, a, thread, second))
			assert.Equal(t, c.first, join(t, b, thread, first))
		})
	}
	t.Run("reject", func(t *testing.T) {
		t.Parallel()
		thread := uuid.New()
		first := start(t, a, thread, "reject1", nil)
		resp := send(t, http.MethodPost, b+"/threads/"+thread+"/runs", "", runBody{"assistant_id": "stage", "multitask_strategy": "reject"}, nil)
		assert.Equal(t, http.StatusConflict, resp.StatusCode)
		_, release := s.channels("reject1")
		close(release)
		assert.Equal(t, "success", join(t, b, thread, first))
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		thread := uuid.New()
		first, queued := start(t, a, thread, "cancel1", nil), start(t, b, thread, "never", nil)
		begun, _ := s.channels("cancel1")
		<-begun
		for _, run := range []string{queued, first} { // the queued run ends at once
			for _, url := range urls {
				send(t, http.MethodPost, url+"/threads/"+thread+"/runs/"+run+"/cancel?wait=1", "", nil, nil)
			}
			assert.Equal(t, "interrupted", join(t, a, thread, run))
		}
		var state struct{ Status string }
		send(t, http.MethodGet, a+"/threads/"+thread, "", nil, &state)
		assert.Equal(t, "interrupted", state.Status)
	})
	t.Run("delete", func(t *testing.T) {
		t.Parallel()
		thread := uuid.New()
		start(t, a, thread, "delete1", nil)
		begun, _ := s.channels("delete1")
		<-begun
		for _, url := range urls {
			resp := send(t, http.MethodDelete, url+"/threads/"+thread, "", nil, nil)
			assert.Contains(t, []int{http.StatusNoContent, http.StatusNotFound}, resp.StatusCode)
		}
		resp := send(t, http.MethodGet, b+"/threads/"+thread, "", nil, nil)
		assert.Equal(t, http.StatusNotFound, resp.StatusCode)
	})
	t.Run("one at a time", func(t *testing.T) {
		t.Parallel()
		thread := uuid.New()
		var all []string
		for i := range 6 {
			all = append(all, start(t, urls[i%2], thread, fmt.Sprint("turn", i), nil))
		}
		for i, run := range all {
			begun, release := s.channels(fmt.Sprint("turn", i))
			<-begun
			if i < 5 {
				next, _ := s.channels(fmt.Sprint("turn", i+1))
				select {
				case <-next:
					assert.Fail(t, "two runs of a thread are executed at once")
				default:
				}
			}
			close(release)
			assert.Equal(t, "success", join(t, urls[(i+1)%2], thread, run))
		}
	})
}

// A replica that shuts down aborts the streams and answers of runs that have not ended. Otherwise a client would conclude
// that the run has ended.
func TestReadersOfAReplicaThatEndsLearnThatTheRunHasNot(t *testing.T) {
	t.Parallel()
	s, schema := newStage(), pgtest.Schema(t)
	add := func(o *server.Options, store *pgcheckpoint.Store) {
		o.Graphs = map[string]*graph.Graph{"stage": s.graph(t, "stage", store)}
	}
	executing := startReplica(t, pgtest.DirectURL(t), schema, riverqueue.Options{}, add)
	thread := uuid.New()
	run := start(t, executing, thread, "long", runBody{"stream_resumable": true})
	begun, release := s.channels("long")
	<-begun
	ending, url := startServer(t, pgtest.DirectURL(t), schema, riverqueue.Options{}, add)
	path := url + "/threads/" + thread + "/runs/" + run
	var bodies []io.ReadCloser
	for _, suffix := range []string{"/stream", "/join"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path+suffix, nil)
		require.NoError(t, err)
		r.Header.Set("Last-Event-ID", "-1")
		if suffix == "/join" {
			go func() {
				resp, err := http.DefaultClient.Do(r) //nolint:bodyclose // read and closed below
				if assert.NoError(t, err) {
					assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
					_ = resp.Body.Close()
				}
				close(release)
			}()
			continue
		}
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		bodies = append(bodies, resp.Body)
	}
	first := make([]byte, 1)
	_, err := bodies[0].Read(first)
	require.NoError(t, err)
	require.NoError(t, ending.Close(t.Context()))
	_, err = io.ReadAll(bodies[0])
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NoError(t, bodies[0].Close())
	assert.Equal(t, "success", join(t, executing, thread, run))
}

// A delayed run does not begin before its time, and does not delay other runs of the thread.
func TestDelayedRunIsAScheduledJob(t *testing.T) {
	t.Parallel()
	s := newStage()
	urls, schema := twoReplicas(t, s, riverqueue.Options{}, nil)
	thread := uuid.New()
	start(t, urls[0], thread, "quick tomorrow", runBody{"after_seconds": 24 * 3600})
	assert.Equal(t, "success", join(t, urls[1], thread, start(t, urls[1], thread, "quick now", nil)))
	stats, err := riverqueue.New(newPool(t, pgtest.DirectURL(t)), riverqueue.Options{Schema: schema}).Stats(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, stats.Scheduled)
	assert.Equal(t, 1, stats.Delayed)
	begun := time.Now()
	assert.Equal(t, "success", join(t, urls[1], thread, start(t, urls[0], thread, "quick late", runBody{"after_seconds": 1})))
	assert.GreaterOrEqual(t, time.Since(begun), time.Second)
	assert.Equal(t, []string{"quick now", "quick late"}, s.order)
}

// The replicas share the job of a cron, and one of them starts the run.
func TestCronFiresOnceForAllReplicas(t *testing.T) {
	t.Parallel()
	s := newStage()
	urls, schema := twoReplicas(t, s, riverqueue.Options{}, nil)
	thread := uuid.New()
	send(t, http.MethodPost, urls[0]+"/threads", "", runBody{"thread_id": thread}, nil)
	var cron struct {
		ID   string    `json:"cron_id"`
		Next time.Time `json:"next_run_date"`
	}
	send(t, http.MethodPost, urls[0]+"/threads/"+thread+"/runs/crons", "", runBody{
		"assistant_id": "stage", "schedule": "0 0 1 1 *", "input": map[string]string{"word": "quick cron"},
	}, &cron)
	require.NotEmpty(t, cron.ID)
	// Insert the job twice as a due job, as if a replica had died between its statements.
	pool := newPool(t, pgtest.DirectURL(t))
	table := pgx.Identifier{schema, "river_job"}.Sanitize()
	for range 2 {
		_, err := pool.Exec(t.Context(), `INSERT INTO `+table+` (kind, queue, max_attempts, args)
			SELECT kind, queue, max_attempts, args FROM `+table+` WHERE kind = 'weft_task' AND args->>'key' = $1 LIMIT 1`, cron.ID)
		require.NoError(t, err)
	}
	begun, _ := s.channels("quick cron")
	<-begun
	require.Eventually(t, func() bool {
		n := 0
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` WHERE args->>'key' = $1 AND state = 'completed'`, cron.ID).Scan(&n))
		return n == 2
	}, 10*time.Second, 10*time.Millisecond)
	var list []struct{ Status string }
	send(t, http.MethodGet, urls[1]+"/threads/"+thread+"/runs", "", nil, &list)
	assert.Len(t, list, 1)
	before := cron.Next
	send(t, http.MethodPost, urls[1]+"/runs/crons/search", "", runBody{}, &[]any{&cron})
	assert.Equal(t, before.UTC(), cron.Next.UTC(), "the next time is that after now")
}

// The runs of a user above the limit wait. The runs of other users that were started later do not wait for them.
func TestFloodOfAUserDelaysNobody(t *testing.T) {
	t.Parallel()
	s := newStage()
	urls, schema := twoReplicas(t, s, riverqueue.Options{UserRuns: 2}, func(o *server.Options) {
		o.MaxRuns, o.Auth = 4, userOf
	})
	begin := func(url, user, graph, w string) (thread, run string) {
		var r struct {
			ID     string `json:"run_id"`
			Thread string `json:"thread_id"`
		}
		send(t, http.MethodPost, url+"/runs", user, runBody{"assistant_id": graph, "input": map[string]string{"word": w}, "on_completion": "keep"}, &r)
		return r.Thread, r.ID
	}
	const flood = 20
	for i := range flood {
		begin(urls[i%2], "flooder", "stage", fmt.Sprint("flood", i))
	}
	queue := riverqueue.New(newPool(t, pgtest.DirectURL(t)), riverqueue.Options{Schema: schema})
	stats := func() runs.QueueStats {
		got, err := queue.Stats(t.Context())
		require.NoError(t, err)
		return got
	}
	require.Eventually(t, func() bool { return stats().Running == 2 }, 10*time.Second, 10*time.Millisecond)
	got := stats()
	assert.Equal(t, flood-2, got.Held)
	assert.Zero(t, got.Waiting)
	assert.Positive(t, got.Oldest)
	for i := range 6 { // no run of the flooder ends meanwhile
		thread, run := begin(urls[i%2], fmt.Sprint("user", i), "stage", fmt.Sprint("quick", i))
		send(t, http.MethodGet, urls[(i+1)%2]+"/threads/"+thread+"/runs/"+run+"/join", fmt.Sprint("user", i), nil, nil)
	}
	require.Eventually(t, func() bool { return stats().Running == 2 }, 10*time.Second, 10*time.Millisecond)
	for i := range flood { // the end of each run releases the next one
		begun, release := s.channels(fmt.Sprint("flood", i))
		close(release)
		<-begun
	}
	require.Eventually(t, func() bool { return stats().Running == 0 }, 10*time.Second, 10*time.Millisecond)
	assert.Equal(t, runs.QueueStats{}, stats())
}

// Runs above the limit of the queue are refused, with a Retry-After header.
func TestFullQueueRefusesRuns(t *testing.T) {
	t.Parallel()
	s := newStage()
	urls, _ := twoReplicas(t, s, riverqueue.Options{}, func(o *server.Options) { o.MaxRuns, o.Limits.QueuedRuns = 1, 3 })
	var refused *http.Response
	require.Eventually(t, func() bool {
		resp := send(t, http.MethodPost, urls[0]+"/runs", "", runBody{"assistant_id": "stage", "input": map[string]string{"word": uuid.New()}}, nil)
		refused = resp
		return resp.StatusCode != http.StatusOK
	}, 10*time.Second, 50*time.Millisecond)
	assert.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
	assert.Equal(t, "1", refused.Header.Get("Retry-After"))
	resp, err := http.Get(urls[1] + "/metrics") //nolint:noctx // the server answers
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	for _, name := range []string{"weft_runs_queued", "weft_runs_held", "weft_queue_running", "weft_queue_scheduled", "weft_queue_oldest_seconds", "weft_runs_rescued_total"} {
		assert.Contains(t, string(text), name+" ")
	}
}

// Runs of assistants with a higher priority begin before runs that were started earlier.
func TestPrioritiesOrderTheQueue(t *testing.T) {
	t.Parallel()
	s := newStage()
	urls, _ := twoReplicas(t, s, riverqueue.Options{Priorities: map[string]int{"second": 1}}, func(o *server.Options) { o.MaxRuns = 1 })
	for i := range 2 { // each replica is busy
		start(t, urls[i], uuid.New(), fmt.Sprint("busy", i), nil)
		begun, _ := s.channels(fmt.Sprint("busy", i))
		<-begun
	}
	common := start(t, urls[0], uuid.New(), "quick common", nil)
	require.NotEmpty(t, common)
	start(t, urls[1], uuid.New(), "quick important", runBody{"assistant_id": "second"})
	_, release := s.channels("busy0")
	close(release)
	begun, _ := s.channels("quick common")
	<-begun
	s.mu.Lock()
	assert.Equal(t, []string{"quick important", "quick common"}, s.order[2:])
	s.mu.Unlock()
	_, release = s.channels("busy1")
	close(release)
}

// Any number of servers may migrate at the same time.
func TestServersStartTogether(t *testing.T) {
	t.Parallel()
	schema := "weft_test_together_" + uuid.New()[:8] // a schema that does not exist
	pools := pgtest.DirectURL(t)
	t.Cleanup(func() { pgtest.Do(t, pools, `DROP SCHEMA `+pgx.Identifier{schema}.Sanitize()+` CASCADE`) })
	var all sync.WaitGroup
	for range 8 {
		pool := newPool(t, pools)
		all.Go(func() {
			q := riverqueue.New(pool, riverqueue.Options{Schema: schema})
			w := runs.Worker{
				Slots: 1, Do: func(context.Context, runs.Job) error { return nil }, Done: func(context.Context, runs.Job) {}, Changed: func(...string) {},
			}
			if assert.NoError(t, q.Start(context.Background(), w)) {
				assert.NoError(t, q.Close(context.Background()))
			}
		})
	}
	all.Wait()
}
