package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// newClient returns a client that keeps a connection for each of n requests at once.
func newClient(n int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
}

func post(ctx context.Context, client *http.Client, url, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(resp.Body)
		return nil, errors.Join(fmt.Errorf("%s: %s: %s", url, resp.Status, text), resp.Body.Close())
	}
	return resp, nil
}

// ask sends a request and returns the answer.
func ask(ctx context.Context, client *http.Client, url, body string) ([]byte, error) {
	resp, err := post(ctx, client, url, body)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(resp.Body)
	return data, errors.Join(err, resp.Body.Close())
}

const echoRun = `{"assistant_id": "echo", "input": {"messages": [{"role": "user", "content": "hello"}]}}`

// oneRun runs the graph echo and checks its answer.
func oneRun(ctx context.Context, client *http.Client, url string) error {
	data, err := ask(ctx, client, url+"/runs/wait", echoRun)
	if err == nil && !strings.Contains(string(data), "echo: hello") {
		err = fmt.Errorf("wrong answer: %s", data)
	}
	return err
}

// together calls f from n goroutines and returns their errors.
func together(n int, f func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// runsASecond lets clients run the graph echo for the time d. It returns the number of runs a second
// and the 99th percentile of their durations.
func runsASecond(ctx context.Context, p *process, clients int, d time.Duration) (rate float64, p99 time.Duration, err error) {
	client := newClient(clients)
	defer client.CloseIdleConnections()
	if err := together(clients, func(int) error { return oneRun(ctx, client, p.url) }); err != nil {
		return 0, 0, err // the first runs are not measured
	}
	took := make([][]time.Duration, clients)
	began := time.Now()
	err = together(clients, func(i int) error {
		for time.Since(began) < d {
			at := time.Now()
			if err := oneRun(ctx, client, p.url); err != nil {
				return err
			}
			took[i] = append(took[i], time.Since(at))
		}
		return nil
	})
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	return float64(len(all)) / time.Since(began).Seconds(), all[len(all)*99/100], err
}

func measureRuns(ctx context.Context, t *table, weft, reference *process, d time.Duration) error {
	for _, clients := range []int{1, 10, 50} {
		own, ownLate, err := runsASecond(ctx, weft, clients, d)
		if err != nil {
			return err
		}
		other, otherLate, err := runsASecond(ctx, reference, clients, d)
		if err != nil {
			return err
		}
		t.add(fmt.Sprintf("runs a second, %d clients", clients), fmt.Sprintf("%.0f", own), fmt.Sprintf("%.1f", other), own/other, 20, true)
		if clients == 50 {
			t.add("p99 of a run, 50 clients", ownLate.Round(100*time.Microsecond).String(), otherLate.Round(time.Millisecond).String(),
				ownLate.Seconds()/otherLate.Seconds(), 0.1, false)
		}
	}
	return nil
}

// measureMemory makes 1,000 threads with a run each, and then opens 200 streams.
func measureMemory(ctx context.Context, t *table, weft, reference *process) error {
	var idle, open [2]float64
	for i, p := range []*process{weft, reference} {
		client := newClient(200)
		err := together(50, func(int) error {
			for range 20 {
				data, err := ask(ctx, client, p.url+"/threads", "{}")
				if err != nil {
					return err
				}
				var thread struct {
					ID string `json:"thread_id"`
				}
				if err := json.Unmarshal(data, &thread); err != nil {
					return err
				}
				if _, err := ask(ctx, client, p.url+"/threads/"+thread.ID+"/runs/wait", echoRun); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if idle[i], err = p.memory(); err != nil {
			return err
		}
		reading, leave := context.WithCancel(ctx)
		err = together(200, func(int) error {
			_, err := post(reading, client, p.url+"/runs/stream", `{"assistant_id": "tick", "input": {"count": 100}, "stream_mode": "custom", "on_disconnect": "cancel"}`)
			return err
		})
		if err == nil {
			open[i], err = p.memory()
		}
		leave()
		client.CloseIdleConnections()
		if err != nil {
			return err
		}
	}
	mib := func(x float64) string { return fmt.Sprintf("%.0f MiB", x/(1<<20)) }
	t.add("memory with 1,000 idle threads", mib(idle[0]), mib(idle[1]), idle[0]/idle[1], 0.125, false)
	t.add("memory with 200 open streams", mib(open[0]), mib(open[1]), open[0]/open[1], 0.125, false)
	return nil
}
