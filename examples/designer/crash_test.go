package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/internal/page"
)

// Killed at any moment of a run with an order, and started again, the program goes on, and the order is
// submitted once.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, newStore := range storesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := newStore(t)
			for i, at := range []string{"node_started", "tool_started", "tool_finished", "turn", "text", "final_response"} {
				killedAt(t, where, at, i+1)
			}
			for i := range 4 {
				killedAfter(t, where, time.Duration(i)*7*time.Millisecond, 7+i)
			}
		})
	}
}

// waits begins a conversation that waits for the approval of an order.
func waits(t *testing.T, s *server) (kai.Wait, string) {
	t.Helper()
	quote := s.result(t, messageBody("quote 2 of P042"))
	status, events := s.get(t, "POST", "/api/sessions/"+quote.ConversationID+"/answers", approve(t, quote.Waits[0]))
	if status != 200 || !strings.Contains(events, "Total: 1080 €") && !strings.Contains(events, "final_response") {
		t.Fatalf("%d: %s", status, events)
	}
	order := s.result(t, `{"message":"order it","conversationId":"`+quote.ConversationID+`"}`)
	if len(order.Waits) != 1 || order.Waits[0].Question.Tool != "submitOrder" {
		t.Fatalf("got %+v", order)
	}
	return order.Waits[0], quote.ConversationID
}

func killedAt(t *testing.T, where store, event string, orders int) {
	t.Helper()
	first := where.serve(t, "-pace", "3ms")
	order, id := waits(t, first)
	run := first.ask(t, "POST", "/api/sessions/"+id+"/answers", approve(t, order))
	readUntil(t, run.Body, event)
	first.kill()
	_, _ = io.Copy(io.Discard, run.Body) // what was sent before
	run.Body.Close()
	goesOn(t, where, id, order, orders)
}

func killedAfter(t *testing.T, where store, d time.Duration, orders int) {
	t.Helper()
	first := where.serve(t)
	order, id := waits(t, first)
	killed := make(chan struct{})
	time.AfterFunc(d, func() { _ = first.Process.Kill(); close(killed) }) // it is there, as it is not waited for yet
	if r, err := first.client.Post(first.url+"/api/sessions/"+id+"/answers", "application/json", strings.NewReader(approve(t, order))); err == nil {
		_, _ = io.Copy(io.Discard, r.Body) // it breaks off somewhere
		r.Body.Close()
	}
	<-killed
	first.kill()
	goesOn(t, where, id, order, orders)
}

// goesOn ends the conversation in a new process, as a person would: by going on with it, or by the answer if it
// was never taken.
func goesOn(t *testing.T, where store, id string, order kai.Wait, orders int) {
	t.Helper()
	second := where.serve(t)
	defer second.kill()
	var thread page.Thread
	look := func() {
		thread = page.Thread{}
		_, body := second.get(t, "GET", "/api/sessions/"+id, "")
		if err := json.Unmarshal([]byte(body), &thread); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
	}
	for look(); thread.Unfinished || len(thread.Waits) > 0; look() {
		path, body := "/resume", ""
		if len(thread.Waits) > 0 {
			path, body = "/answers", approve(t, order)
		}
		// In PostgreSQL the process that was killed holds the conversation until its lease has run out.
		if status, events := second.get(t, "POST", "/api/sessions/"+id+path, body); status != 200 && status != 409 {
			t.Fatalf("%s: %d %s", path, status, events)
		}
	}
	if last := thread.Messages[len(thread.Messages)-1]; !strings.Contains(last.Text, "is submitted") {
		t.Errorf("it ended with %q", last.Text)
	}
	var all []kai.Order
	_, body := second.get(t, "GET", "/api/orders", "")
	if err := json.Unmarshal([]byte(body), &all); err != nil || len(all) != orders {
		t.Fatalf("there are %d orders, want %d: %s, %v", len(all), orders, body, err)
	}
}
