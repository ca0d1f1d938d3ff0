package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// readersOfRun is the number of readers that join one run.
const readersOfRun = 50

// A reading holds the measurements of the readers of a server.
type reading struct {
	events  atomic.Int64
	latest  atomic.Int64 // the largest delay, in microseconds
	perUnit time.Duration
	grown   float64 // the memory at the end, divided by the memory after a third of the time
}

// read reads a stream to its end.
func (r *reading) read(resp *http.Response) error {
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: {\"at\":")
		if !ok {
			continue
		}
		at, _, _ := strings.Cut(text, ",")
		var sent int64
		if err := json.Unmarshal([]byte(at), &sent); err != nil {
			return err
		}
		r.events.Add(1)
		for late := time.Now().UnixMicro() - sent; ; {
			old := r.latest.Load()
			if late <= old || r.latest.CompareAndSwap(old, late) {
				break
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return resp.Body.Close()
}

// streams lets readers read streams of a server for a time.
func streams(ctx context.Context, p *process, readers int, d time.Duration) (*reading, error) {
	client := newClient(readers)
	defer client.CloseIdleConnections()
	n := int(d / interval)
	open := func(i int, paths []string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+paths[i/readersOfRun], nil)
		if err != nil {
			return nil, err
		}
		return client.Do(req)
	}
	paths := make([]string, (readers+readersOfRun-1)/readersOfRun)
	for i := range paths {
		paths[i] = fmt.Sprintf("/?n=%d", n)
		if p.name != "floor" {
			data, err := ask(ctx, client, p.url+"/runs", fmt.Sprintf(
				`{"assistant_id": "tick", "input": {"count": %d}, "stream_mode": ["custom"], "stream_resumable": true, "on_completion": "keep"}`, n))
			if err != nil {
				return nil, err
			}
			var run struct {
				ID     string `json:"run_id"`
				Thread string `json:"thread_id"`
			}
			if err := json.Unmarshal(data, &run); err != nil {
				return nil, err
			}
			paths[i] = "/threads/" + run.Thread + "/runs/" + run.ID + "/stream"
		}
	}
	r := &reading{}
	before, err := p.processorTime()
	if err != nil {
		return nil, err
	}
	sampled := make(chan float64, 1)
	go func() {
		select {
		case <-time.After(d / 3):
		case <-ctx.Done():
		}
		m, _ := p.memory() // zero shows as infinite growth
		sampled <- m
	}()
	err = together(readers, func(i int) error {
		resp, err := open(i, paths)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(resp.Body)
			return fmt.Errorf("%s: %s", resp.Status, text)
		}
		return r.read(resp)
	})
	if err != nil {
		return nil, err
	}
	after, err := p.processorTime()
	if err != nil {
		return nil, err
	}
	end, err := p.memory()
	if err != nil {
		return nil, err
	}
	if r.events.Load() == 0 {
		return nil, fmt.Errorf("%s sent no events", p.name)
	}
	r.perUnit = (after - before) / time.Duration(r.events.Load())
	r.grown = end / <-sampled
	return r, nil
}

func measureStreams(ctx context.Context, t *table, weft, floor *process, d time.Duration) error {
	own, err := streams(ctx, weft, 1000, d)
	if err != nil {
		return err
	}
	bare, err := streams(ctx, floor, 1000, d)
	if err != nil {
		return err
	}
	half, err := streams(ctx, weft, 500, d)
	if err != nil {
		return err
	}
	halfBare, err := streams(ctx, floor, 500, d)
	if err != nil {
		return err
	}
	t.add("processor time an event, 1,000 readers", own.perUnit.String(), bare.perUnit.String(), float64(own.perUnit)/float64(bare.perUnit), 1.5, false)
	late := func(r *reading) string {
		return (time.Duration(r.latest.Load()) * time.Microsecond).Round(100 * time.Microsecond).String()
	}
	t.add("latest event in ms, 500 readers", late(half), late(halfBare), float64(half.latest.Load())/1000, 100, false)
	t.add("growth of memory, 1,000 readers", fmt.Sprintf("%.3g", own.grown), fmt.Sprintf("%.3g", bare.grown), own.grown, 1.05, false)
	return nil
}
