package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/examples/designer/internal/kai"
)

// If the program is killed during a run with an order and started again, it continues the run by itself, and submits
// the order once.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, newStore := range storesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := newStore(t)
			for i, at := range []string{"tools", "updates", "messages"} {
				killedAt(t, where, at, i+1)
			}
			for i := range 4 {
				killedAfter(t, where, time.Duration(i)*7*time.Millisecond, 4+i)
			}
		})
	}
}

// waits returns a thread that waits for the approval of an order, and the request that approves it.
func waits(t *testing.T, s *process) (thread, approval string) {
	t.Helper()
	thread = s.thread(t)
	quote := s.run(t, thread, said("quote 2 of P042"))
	if done := s.run(t, thread, approved(t, quote)); !strings.Contains(done.text(), "Total: 1,080 €") {
		t.Fatalf("got %s", done.text())
	}
	order := s.run(t, thread, said("order it"))
	approval = approved(t, order)
	if tool := order.Tasks[0].Interrupts[0].Value.Tool; tool != "submitOrder" {
		t.Fatalf("got %s", tool)
	}
	return thread, approval
}

func killedAt(t *testing.T, where store, event string, orders int) {
	t.Helper()
	first := where.serve(t, "-pace", "3ms")
	thread, approval := waits(t, first)
	run := first.ask(t, "POST", "/threads/"+thread+"/runs/stream", approval)
	readUntil(t, run.Body, event)
	first.kill()
	_, _ = io.Copy(io.Discard, run.Body) // events that were sent before the kill
	run.Body.Close()
	goesOn(t, where, thread, approval, orders)
}

func killedAfter(t *testing.T, where store, d time.Duration, orders int) {
	t.Helper()
	first := where.serve(t)
	thread, approval := waits(t, first)
	killed := make(chan struct{})
	time.AfterFunc(d, func() { _ = first.Process.Kill(); close(killed) }) // the process exists, since Wait has not been called
	if r, err := first.client.Post(first.url+"/threads/"+thread+"/runs/wait", "application/json", strings.NewReader(approval)); err == nil {
		_, _ = io.Copy(io.Discard, r.Body) // the kill may cut off the body
		r.Body.Close()
	}
	<-killed
	first.kill()
	goesOn(t, where, thread, approval, orders)
}

// goesOn starts a new process, waits for the last run of the thread to end, and approves the order if the thread
// still waits for approval. Then the user must have that many orders.
func goesOn(t *testing.T, where store, thread, approval string, orders int) {
	t.Helper()
	second := where.serve(t)
	defer second.kill()
	var runs []struct {
		ID string `json:"run_id"`
	}
	_, body := second.get(t, "GET", "/threads/"+thread+"/runs?limit=1", "")
	if err := json.Unmarshal([]byte(body), &runs); err != nil || len(runs) != 1 {
		t.Fatalf("the runs are %s, %v", body, err)
	}
	second.get(t, "GET", "/threads/"+thread+"/runs/"+runs[0].ID+"/join", "")
	end := second.state(t, thread)
	if len(end.Tasks) > 0 {
		end = second.run(t, thread, approval)
	}
	if !strings.Contains(end.text(), "is submitted") {
		t.Errorf("it ended with %q", end.text())
	}
	var all []kai.Order
	_, body = second.get(t, "GET", "/api/orders", "")
	if err := json.Unmarshal([]byte(body), &all); err != nil || len(all) != orders {
		t.Fatalf("there are %d orders, want %d: %s, %v", len(all), orders, body, err)
	}
}
