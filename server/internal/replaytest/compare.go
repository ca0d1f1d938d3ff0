package replaytest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// compare returns the differences between the expectation of a step and the response.
func (m *matcher) compare(x *exchange) (diffs []string) {
	want, r := x.step.Expect, x.response
	m.unordered = want.Unordered
	status, _ := r.get("status").(float64)
	allowed := want.StatusAny
	if allowed == nil && want.Status != nil {
		allowed = []int{*want.Status}
	}
	if allowed != nil && !slices.Contains(allowed, int(status)) {
		diffs = append(diffs, fmt.Sprintf("status: want %v, got %v %s", allowed, status, short(r.get("json"))))
	}
	headers, _ := r.get("headers").(map[string]any)
	for name, value := range want.Headers {
		have, _ := headers[name].(string)
		if name == "content-type" {
			have, _, _ = strings.Cut(have, ";")
		}
		diffs = append(diffs, m.text(value, have, "headers."+name)...)
	}
	if want.JSON != nil {
		var v any
		if err := json.Unmarshal(want.JSON, &v); err != nil {
			return append(diffs, err.Error())
		}
		diffs = append(diffs, m.match(v, r.get("json"), "json", want.Exact)...)
	}
	if want.Text != nil {
		have, ok := r.get("text").(string)
		if !ok && r.get("json") == nil {
			have = ""
		}
		diffs = append(diffs, m.text(*want.Text, have, "text")...)
	}
	if want.SSE != nil {
		diffs = append(diffs, m.streams(want, r)...)
	}
	return diffs
}

// streams compares server-sent events.
func (m *matcher) streams(want *expectation, r *response) (diffs []string) {
	all, _ := r.get("sse").([]any)
	var have []map[string]any
	last := -1.0
	for _, item := range all {
		e, _ := item.(map[string]any)
		if data, ok := e["data"].(map[string]any); ok {
			if seq, ok := data["seq"].(float64); ok {
				if seq <= last {
					diffs = append(diffs, fmt.Sprintf("sse: seq %v after %v", seq, last))
				}
				last = seq
			}
		}
		if want.keeps(e) {
			have = append(have, e)
		}
	}
	if len(have) != len(*want.SSE) {
		diffs = append(diffs, fmt.Sprintf("sse: want %d events %v, got %d %v", len(*want.SSE), names(*want.SSE), len(have), names(have)))
	}
	if !slices.Contains(want.Unordered, "sse") {
		for i, w := range *want.SSE {
			if i < len(have) {
				diffs = append(diffs, m.event(w, have[i], fmt.Sprint("sse.", i))...)
			}
		}
		return diffs
	}
	for _, w := range *want.SSE {
		at := slices.IndexFunc(have, func(g map[string]any) bool {
			return len(m.attempt(func() []string { return m.event(w, g, "") })) == 0
		})
		if at < 0 {
			diffs = append(diffs, "sse: no event like "+short(w))
			continue
		}
		have = slices.Delete(have, at, at+1)
	}
	return diffs
}

func (w *expectation) keeps(e map[string]any) bool {
	name, _, _ := strings.Cut(fmt.Sprint(e["event"]), "|")
	return w.Only == nil || slices.Contains(w.Only, name)
}

func names(events []map[string]any) (out []string) {
	for _, e := range events {
		out = append(out, fmt.Sprint(e["event"]))
	}
	return out
}

// event compares one event. The payload of a thread-centric event is in params.data.
func (m *matcher) event(want, got map[string]any, path string) []string {
	name := fmt.Sprint(want["event"])
	diffs := m.text(name, got["event"], path+".event")
	if _, ok := want["id"]; ok && (got["id"] == nil || got["id"] == "") {
		diffs = append(diffs, path+": no id")
	}
	plain, _, _ := strings.Cut(name, "|")
	exact := slices.Contains(exactEvents, plain)
	w, ok := want["data"].(map[string]any)
	if !ok || w["type"] != "event" {
		return append(diffs, m.match(want["data"], got["data"], path+".data", exact)...)
	}
	g, _ := got["data"].(map[string]any)
	params, _ := g["params"].(map[string]any)
	wanted, _ := w["params"].(map[string]any)
	diffs = append(diffs, m.match(wanted["data"], params["data"], path+".data.params.data", exact)...)
	rest := map[string]any{}
	for k, v := range w {
		rest[k] = v
	}
	open := map[string]any{}
	for k, v := range wanted {
		if k != "data" {
			open[k] = v
		}
	}
	rest["params"] = open
	return append(diffs, m.match(rest, got["data"], path+".data", false)...)
}
