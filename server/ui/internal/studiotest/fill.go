package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
)

// A filler creates threads by requests to the server, as a client does.
type filler struct {
	ctx context.Context
	h   http.Handler
	err error
}

type object = map[string]any

// call sends a request, and returns its response. After an error, it sends no more requests.
func (f *filler) call(method, path string, body any) object {
	if f.err != nil {
		return nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		f.err = err
		return nil
	}
	r := httptest.NewRequestWithContext(f.ctx, method, path, bytes.NewReader(data))
	r.Host, r.RemoteAddr = "127.0.0.1", "127.0.0.1:1"
	w := httptest.NewRecorder()
	f.h.ServeHTTP(w, r)
	if w.Code >= http.StatusBadRequest {
		f.err = fmt.Errorf("%s %s: %s", method, path, w.Body)
	}
	var out object
	if w.Body.Len() > 0 && w.Body.Bytes()[0] == '{' {
		f.err = firstError(f.err, json.Unmarshal(w.Body.Bytes(), &out))
	}
	return out
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (f *filler) thread(id, title, g string) string {
	body := object{"metadata": object{"title": title, "graph_id": g}}
	if id != "" {
		body["thread_id"] = id
	}
	t := f.call("POST", "/threads", body)
	s, _ := t["thread_id"].(string)
	return s
}

func (f *filler) say(thread, text string) {
	f.run(thread, "support", object{"messages": []object{{"role": "user", "content": text}}})
}

func (f *filler) run(thread, g string, input object) {
	f.call("POST", "/threads/"+thread+"/runs/wait", object{"assistant_id": g, "input": input})
}

func fill(ctx context.Context, h http.Handler, large bool) error {
	f := &filler{ctx: ctx, h: h}
	orders := f.thread("11111111-1111-4111-8111-111111111111", "Where are my orders?", "support")
	f.say(orders, "Where are my orders?")
	f.say(orders, "Please track the jacket.")
	refund := f.thread("22222222-2222-4222-8222-222222222222", "Refund of the boots", "support")
	f.say(refund, "Hello")
	f.say(refund, "I want a refund for the boots.")
	report := f.thread("33333333-3333-4333-8333-333333333333", "Report on canal boats", "report")
	f.run(report, "report", object{"topic": "canal boats"})
	published := f.thread("44444444-4444-4444-8444-444444444444", "Report on bicycles", "report")
	f.run(published, "report", object{"topic": "bicycles"})
	f.call("POST", "/threads/"+published+"/runs/wait", object{"assistant_id": "report", "command": object{"resume": object{"publish": true, "note": ""}}})
	failed := f.thread("55555555-5555-4555-8555-555555555555", "Report on nothing", "report")
	f.run(failed, "report", object{"topic": "nothing"})
	f.branch(orders)
	for i := range 24 {
		t := f.thread("", fmt.Sprintf("Greeting %d", i+1), "support")
		f.say(t, "Hello")
	}
	f.call("PUT", "/store/items", object{"namespace": []string{"preferences", "ada"}, "key": "language", "value": object{"language": "English", "units": "metric"}})
	f.call("PUT", "/store/items", object{"namespace": []string{"preferences", "ada"}, "key": "shoes", "value": object{"size": 43, "width": "wide"}})
	f.call("PUT", "/store/items", object{"namespace": []string{"facts"}, "key": "opening", "value": object{"text": "The shop opens at nine.", "source": "manual"}})
	f.call("POST", "/assistants", object{"graph_id": "support", "name": "Support, formal", "config": object{"configurable": object{"tone": "formal"}}})
	if large {
		f.large()
	}
	return f.err
}

// branch runs another turn from the checkpoint before the last turn of a thread.
func (f *filler) branch(thread string) {
	history := f.call("GET", "/weft/threads/"+thread+"/timeline", nil)
	marks, _ := history["checkpoints"].([]any)
	for _, m := range marks {
		mark, _ := m.(object)
		if mark["source"] == "input" {
			f.call("POST", "/threads/"+thread+"/runs/wait", object{
				"assistant_id": "support", "checkpoint_id": mark["parent"], "input": object{"messages": []object{{"role": "user", "content": "I want a refund, please."}}},
			})
			return
		}
	}
}

// large creates a thread with 1,000 messages, and a thread with 5,000 checkpoints.
func (f *filler) large() {
	long := f.thread("66666666-6666-4666-8666-666666666666", "A thousand messages", "support")
	var messages []object
	for i := range 500 {
		messages = append(messages,
			object{"role": "user", "content": fmt.Sprintf("Question %d: what is %d times %d?", i+1, i, i)},
			object{"role": "assistant", "content": fmt.Sprintf("It is **%d**.\n\n- step one\n- step two\n\n```go\nfmt.Println(%d * %d)\n```", i*i, i, i)})
	}
	f.call("POST", "/threads/"+long+"/state", object{"values": object{"messages": messages}, "as_node": "__start__"})
	counted := f.thread("77777777-7777-4777-8777-777777777777", "Five thousand checkpoints", "counter")
	f.call("POST", "/threads/"+counted+"/runs/wait", object{"assistant_id": "counter", "input": object{"limit": 5000}, "config": object{"recursion_limit": 10_000}})
}
