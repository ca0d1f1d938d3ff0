//go:build unix

package riverqueue_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/uuid"
)

// clients are the clients of replicas. They send each request to any of the replicas.
type clients struct {
	t        *testing.T
	replicas []*replica
	http     *http.Client
	streams  atomic.Int64 // how many times a stream was begun or joined
	events   atomic.Int64
	ended    atomic.Int64 // runs that have ended
}

func newClients(t *testing.T, replicas []*replica) *clients {
	t.Helper()
	c := &clients{t: t, replicas: replicas, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 300}}}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// silence is the time after which a client gives up on a replica that does not answer.
const silence = 6 * heartbeat

// thread executes n runs on a thread at the same time, and checks the state of the thread.
func (c *clients) thread(ctx context.Context, user, tag string, n int) {
	thread := uuid.New()
	c.retry(ctx, func() error {
		_, err := c.post(ctx, user, "/threads", map[string]any{"thread_id": thread, "if_exists": "do_nothing"})
		return err
	})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { c.run(ctx, user, thread, fmt.Sprint(tag, ".", i)) })
	}
	all.Wait()
	var got struct{ Values struct{ Log []string } }
	c.retry(ctx, func() error { return c.read(ctx, user, "/threads/"+thread+"/state", &got) })
	lines := map[string][]string{}
	for _, line := range got.Values.Log {
		run, left, _ := strings.Cut(line, ":")
		lines[run] = append(lines[run], left)
	}
	want := map[string][]string{}
	for i := range n {
		for left := supersteps; left > 0; left-- {
			want[fmt.Sprint(tag, ".", i)] = append(want[fmt.Sprint(tag, ".", i)], fmt.Sprint(left))
		}
	}
	assert.Equal(c.t, want, lines, "what the runs of thread %s wrote", thread)
}

// run executes a run to its end, also if replicas end meanwhile, and then reads its events once more from any replica.
func (c *clients) run(ctx context.Context, user, thread, tag string) {
	key := uuid.New()
	body := map[string]any{
		"assistant_id": "steps", "input": map[string]any{"tag": tag, "left": supersteps},
		"stream_mode": []string{"values", "updates", "custom"}, "stream_resumable": true,
	}
	var got []string // the events, with their ids
	id, last := "", "-1"
	c.retry(ctx, func() error {
		run, events, err := c.stream(ctx, user, thread, id, last, key, body)
		if run != "" {
			id = run
		}
		for _, e := range events {
			got, last = append(got, e), strings.Fields(e)[0]
		}
		if err != nil {
			return err
		}
		var r struct{ Status string }
		if err := c.read(ctx, user, "/threads/"+thread+"/runs/"+id, &r); err != nil {
			return err
		}
		if r.Status != "success" {
			var result json.RawMessage
			err := c.read(ctx, user, "/threads/"+thread+"/runs/"+id+"/join", &result)
			return errors.Join(fmt.Errorf("the stream of run %s ended with the status %s: %s", id, r.Status, result), err)
		}
		return nil
	})
	c.ended.Add(1)
	c.events.Add(int64(len(got)))
	c.retry(ctx, func() error {
		_, want, err := c.stream(ctx, user, thread, id, "-1", "", nil)
		if err == nil {
			assert.Equal(c.t, want, got, "the events of run %s of thread %s", id, thread)
		}
		return err
	})
}

// stream begins a run with a key. If there is an id, it joins the run. It returns the id of the run and the events so
// far, even with an error.
func (c *clients) stream(ctx context.Context, user, thread, id, last, key string, body any) (run string, events []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	method, path, header := http.MethodPost, "/threads/"+thread+"/runs/stream", http.Header{}
	if id == "" { // the key finds a run that a replica has stored without an answer
		header.Set("Idempotency-Key", key)
	} else {
		method, path, body = http.MethodGet, "/threads/"+thread+"/runs/"+id+"/stream", nil
		header.Set("Last-Event-Id", last)
	}
	silent := time.AfterFunc(silence, cancel)
	defer silent.Stop()
	resp, err := c.do(ctx, user, method, path, body, header)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	c.streams.Add(1)
	_, run, _ = strings.Cut(resp.Header.Get("Content-Location"), "/runs/")
	silent.Reset(silence)
	var e struct{ id, name, data string }
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return run, events, nil
		}
		if err != nil {
			return run, events, err
		}
		silent.Reset(silence)
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.id != "" {
				events = append(events, e.id+" "+e.name+" "+e.data)
			}
			e.id, e.name, e.data = "", "", ""
		}
	}
}

// retry calls f until it succeeds.
func (c *clients) retry(ctx context.Context, f func() error) {
	var last error
	for err := f(); err != nil; err = f() {
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-time.After(20*time.Millisecond + rand.N(50*time.Millisecond)):
		case <-ctx.Done():
			assert.NoError(c.t, last, "the last error before the end of the time")
			return
		}
	}
}

func (c *clients) post(ctx context.Context, user, path string, body any) (string, error) {
	resp, err := c.do(ctx, user, http.MethodPost, path, body, http.Header{})
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

// read decodes the answer to a GET request.
func (c *clients) read(ctx context.Context, user, path string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	resp, err := c.do(ctx, user, http.MethodGet, path, nil, http.Header{})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return json.NewDecoder(resp.Body).Decode(out)
}

// do sends a request to any replica.
func (c *clients) do(ctx context.Context, user, method, path string, body any, header http.Header) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = strings.NewReader(string(data))
		header.Set("Content-Type", "application/json")
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+c.replicas[rand.IntN(len(c.replicas))].address()+path, content)
	if err != nil {
		return nil, err
	}
	r.Header = header
	r.Header.Set(userHeader, user)
	resp, err := c.http.Do(r)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return resp, err
}
