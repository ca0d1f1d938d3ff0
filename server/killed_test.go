package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/crashtest"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/uuid"
)

// Of the 200 runs of the test, 100 are on threads of their own, 60 are on 30 threads with two runs each, which wait for
// an answer, and 40 are queued on 4 threads.
const (
	ownThreads    = 100
	askingThreads = 30
	queuedThreads = 4
	queuedRuns    = 10
	killsARound   = 5
)

// A process that serves 200 streamed runs is killed at random times and started again. The clients reconnect with the id
// of their last event. Each run ends, each client gets each event once and in order, no effect whose result was stored is
// repeated, and each input, answer and update is applied once. WEFT_CRASHES is the number of kills.
func TestKilledServerLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	kills := killsARound
	if text := os.Getenv("WEFT_CRASHES"); text != "" {
		var err error
		kills, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	for name, kind := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "sqlite" },
		"PostgreSQL": func(t *testing.T) string { t.Helper(); return pgtest.DirectURL(t) + " " + pgtest.Schema(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for done := 0; done < kills && !t.Failed(); {
				c := &crashedRuns{t: t, dir: t.TempDir(), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 300}}}
				done += c.round(kind(t), min(killsARound, kills-done))
				c.client.CloseIdleConnections()
			}
		})
	}
}

// crashedRuns are the clients of one round.
type crashedRuns struct {
	t       *testing.T
	dir     string
	client  *http.Client
	streams atomic.Int64 // how many times a stream was begun or joined
	events  atomic.Int64
	ended   atomic.Int64 // runs that have ended
}

// round starts the clients and kills their server several times. It returns the number of kills.
func (c *crashedRuns) round(kind string, most int) (kills int) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	var clients sync.WaitGroup
	for i := range ownThreads {
		clients.Go(func() { c.thread(ctx, fmt.Sprint("own", i), "work", 1) })
	}
	for i := range askingThreads {
		clients.Go(func() { c.thread(ctx, fmt.Sprint("ask", i), "question", 1) })
	}
	for i := range queuedThreads {
		clients.Go(func() { c.thread(ctx, fmt.Sprint("queue", i), "work", queuedRuns) })
	}
	finished := make(chan struct{})
	var quit sync.WaitGroup
	quit.Go(func() {
		clients.Wait()
		close(finished)
		if resp, err := c.get(context.Background(), "/quit", nil); err == nil {
			_ = resp.Body.Close()
		}
	})
	for served := true; served; {
		after := 3 * time.Minute
		if kills < most {
			after = time.Duration(50+rand.IntN(550)) * time.Millisecond
		}
		_, killed := crashtest.Run(c.t, c.dir, after, asServer+"="+kind)
		if killed {
			kills++
		}
		select {
		case <-finished:
			served = false
		default:
			served = !c.t.Failed() && ctx.Err() == nil
		}
	}
	cancel()
	quit.Wait()
	if !c.t.Failed() {
		c.checkEffects()
		c.t.Logf("%d runs and %d kills: %d streams, %d events, each once", c.ended.Load(), kills, c.streams.Load(), c.events.Load())
	}
	return max(kills, 1)
}

// checkEffects fails if an effect was repeated after its result was stored.
func (c *crashedRuns) checkEffects() {
	data, err := os.ReadFile(filepath.Join(c.dir, effectsFile))
	require.NoError(c.t, err)
	stored, byProcess, again := map[string]bool{}, map[string]bool{}, 0
	did := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if f[0] == "stored" {
			stored[f[1]] = true
			continue
		}
		assert.False(c.t, stored[f[1]], "effect %s was repeated after its result was stored", f[1])
		assert.False(c.t, byProcess[f[1]+f[2]], "a process repeated the effect %s", f[1])
		if did[f[1]] {
			again++
		}
		did[f[1]], byProcess[f[1]+f[2]] = true, true
	}
	tasks := 4 * (ownThreads + askingThreads + queuedThreads*queuedRuns)
	assert.Len(c.t, did, tasks, "effects")
	c.t.Logf("%d effects, %d of them again because the process was killed before the result was stored", len(did), again)
}

// thread executes n runs on a thread at the same time, and checks the state of the thread.
func (c *crashedRuns) thread(ctx context.Context, tag, graph string, n int) {
	thread := uuid.New()
	if n > 1 { // otherwise the clients create the thread at the same time
		c.retry(ctx, func() error {
			_, err := c.post(ctx, "/threads", map[string]any{"thread_id": thread, "if_exists": "do_nothing"})
			return err
		})
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			c.run(ctx, thread, map[string]any{"assistant_id": graph, "input": map[string]string{"tag": fmt.Sprint(tag, ".", i)}})
		})
	}
	all.Wait()
	if graph == "question" {
		c.run(ctx, thread, map[string]any{"assistant_id": graph, "command": map[string]any{"resume": "yes", "update": map[string]any{"log": []string{tag + ":updated"}}}})
	}
	var got struct{ Values struct{ Log []string } }
	c.retry(ctx, func() error { return c.read(ctx, "/threads/"+thread+"/state", &got) })
	seen := map[string]int{}
	for _, line := range got.Values.Log {
		seen[line]++
	}
	want := map[string]int{}
	for i := range n {
		for _, node := range []string{"first", "left", "right", "last"} {
			line := fmt.Sprint(tag, ".", i, ":", node)
			if graph == "question" && node == "right" {
				line += ":yes"
			}
			want[line] = 1
		}
	}
	if graph == "question" {
		want[tag+":updated"] = 1
	}
	assert.Equal(c.t, want, seen, "what the runs of %s wrote", tag)
}

// run executes a run to its end, also if servers end meanwhile.
func (c *crashedRuns) run(ctx context.Context, thread string, body map[string]any) {
	mark := uuid.New()
	body["metadata"] = map[string]string{"mark": mark}
	body["stream_mode"], body["stream_resumable"], body["if_not_exists"] = []string{"values", "updates", "custom", "tasks"}, true, "create"
	var got []string // the events, with their ids
	id, last := "", "-1"
	c.retry(ctx, func() error {
		if id == "" { // the server may have stored the run before it was killed
			var err error
			if id, err = c.find(ctx, thread, mark); err != nil {
				return err
			}
		}
		resp, err := c.open(ctx, thread, id, last, body)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		c.streams.Add(1)
		if _, run, ok := strings.Cut(resp.Header.Get("Content-Location"), "/runs/"); ok {
			id = run
		}
		events, err := readEvents(resp.Body, nil)
		for _, e := range events {
			got, last = append(got, fmt.Sprint(e)), e.id
		}
		if err != nil {
			return err
		}
		var r struct{ Status string }
		if err := c.read(ctx, "/threads/"+thread+"/runs/"+id, &r); err != nil {
			return err
		}
		if r.Status != "success" {
			return fmt.Errorf("the stream of run %s ended with the status %s", id, r.Status)
		}
		return nil
	})
	c.ended.Add(1)
	c.events.Add(int64(len(got)))
	c.retry(ctx, func() error {
		resp, err := c.open(ctx, thread, id, "-1", nil)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		events, err := readEvents(resp.Body, nil)
		if err != nil {
			return err
		}
		var want []string
		for _, e := range events {
			want = append(want, fmt.Sprint(e))
		}
		assert.Equal(c.t, want, got, "the events of run %s", id)
		return nil
	})
}

// open begins the stream of a run. If there is an id, it joins the stream of this run.
func (c *crashedRuns) open(ctx context.Context, thread, id, last string, body map[string]any) (*http.Response, error) {
	if id != "" {
		return c.get(ctx, "/threads/"+thread+"/runs/"+id+"/stream", http.Header{"Last-Event-Id": {last}})
	}
	return c.post(ctx, "/threads/"+thread+"/runs/stream", body)
}

// find returns the id of the run with a mark, or "" if it does not exist.
func (c *crashedRuns) find(ctx context.Context, thread, mark string) (string, error) {
	var list []struct {
		ID       string            `json:"run_id"`
		Metadata map[string]string `json:"metadata"`
	}
	err := c.read(ctx, "/threads/"+thread+"/runs?limit=100", &list)
	if err != nil && strings.Contains(err.Error(), "404 Not Found") {
		return "", nil // the thread does not exist
	}
	for _, r := range list {
		if r.Metadata["mark"] == mark {
			return r.ID, err
		}
	}
	return "", err
}

// retry calls f until it succeeds.
func (c *crashedRuns) retry(ctx context.Context, f func() error) {
	for err := f(); err != nil; err = f() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			if !errors.Is(c.t.Context().Err(), context.Canceled) {
				assert.NoError(c.t, err)
			}
			return
		}
	}
}

func (c *crashedRuns) get(ctx context.Context, path string, header http.Header) (*http.Response, error) {
	return c.do(ctx, http.MethodGet, path, "", header)
}

func (c *crashedRuns) post(ctx context.Context, path string, body any) (*http.Response, error) {
	return c.do(ctx, http.MethodPost, path, string(encoded(body)), http.Header{"Content-Type": {"application/json"}})
}

// do sends a request to the server of the current process.
func (c *crashedRuns) do(ctx context.Context, method, path, body string, header http.Header) (*http.Response, error) {
	address, err := os.ReadFile(filepath.Join(c.dir, addressFile))
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+string(address)+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		r.Header[k] = v
	}
	resp, err := c.client.Do(r)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return resp, err
}

// read decodes the answer to a GET request.
func (c *crashedRuns) read(ctx context.Context, path string, out any) error {
	resp, err := c.get(ctx, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return json.NewDecoder(resp.Body).Decode(out)
}
