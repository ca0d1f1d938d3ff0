package server

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// A trace is a run with its tasks, model calls and tool calls. It is made of the events of the run.
type trace struct {
	runInfo
	// Complete is false if the first event of the run is not stored: it was removed, or the run has not begun. The
	// spans of removed events are missing.
	Complete bool   `json:"complete"`
	Spans    []span `json:"spans"`
}

// A span is a part of a run.
type span struct {
	ID     string         `json:"id"`
	Parent string         `json:"parent,omitempty"` // the id of a task
	Kind   string         `json:"kind"`             // task, attempt, model or tool
	Name   string         `json:"name"`
	Step   int            `json:"step"`
	Path   string         `json:"path,omitempty"`
	Start  time.Time      `json:"start"`
	End    *time.Time     `json:"end"`
	Status string         `json:"status"` // running, success, error, waiting or interrupted
	Error  string         `json:"error,omitempty"`
	Usage  *usageMetadata `json:"usage,omitempty"`
	Cost   *float64       `json:"cost,omitempty"` // see Options.Cost
}

func (c *call) traceRun() error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	info, err := newRunInfo(r)
	if err != nil {
		return err
	}
	t := tracer{byID: map[string]int{}, cost: func(node string, used *usageMetadata) *float64 { return c.s.cost(r.Graph, node, used.usage()) }}
	complete, err := c.s.eachEvent(c.ctx(), r.Parent, r.ID, 0, t.add)
	if err != nil {
		return err
	}
	return c.send(trace{runInfo: info, Complete: complete, Spans: append([]span{}, t.spans...)})
}

// eventPage is the number of events that are read with one call of the store.
const eventPage = 1000

// eachEvent calls f for the stored events of a run, from the events of the thread after a number. It reports whether the
// first event of the run was still stored.
func (s *Server) eachEvent(ctx context.Context, thread, run string, after int64, f func(*runs.Event) error) (complete bool, err error) {
	for {
		events, err := s.o.Runs.Events(ctx, thread, after, eventPage)
		if err != nil || len(events) == 0 {
			return complete, err
		}
		for i := range events {
			e := &events[i]
			after = e.Seq
			if e.Run != run {
				continue
			}
			complete = complete || e.Kind == kindStart
			if err := f(e); err != nil {
				return false, err
			}
		}
		if len(events) < eventPage {
			return complete, nil
		}
	}
}

// A tracer makes spans from events.
type tracer struct {
	spans []span
	byID  map[string]int
	cost  func(node string, used *usageMetadata) *float64
}

func (t *tracer) add(e *runs.Event) error {
	switch e.Kind {
	case kindTask:
		var d taskEvent
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		t.open(span{ID: d.ID, Parent: callerOf(e.Path), Kind: "task", Name: d.Name, Step: e.Step, Path: e.Path, Start: e.Time})
	case kindResult:
		var d resultEvent
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		t.result(e, &d)
	case kindAttempt:
		var d attemptEvent
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		t.attempt(e, &d)
	case kindMessage:
		var d messageEvent
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		return t.message(e, &d)
	case kindEnd:
		t.close(e.Time)
	}
	return nil
}

// open adds a span. If the span exists, because a run was continued after a crash, open begins it again.
func (t *tracer) open(s span) {
	s.Status = "running"
	if i, ok := t.byID[s.ID]; ok {
		t.spans[i] = s
		return
	}
	t.byID[s.ID] = len(t.spans)
	t.spans = append(t.spans, s)
}

// result ends the span of a task.
func (t *tracer) result(e *runs.Event, d *resultEvent) {
	i, ok := t.byID[d.ID]
	if !ok { // the task began in an earlier run, or the event of its start was removed
		t.open(span{ID: d.ID, Parent: callerOf(e.Path), Kind: "task", Name: d.Name, Step: e.Step, Path: e.Path, Start: e.Time})
		i = t.byID[d.ID]
	}
	s := &t.spans[i]
	end := e.Time
	s.End, s.Status = &end, runSuccess
	switch {
	case d.Error != nil:
		s.Status, s.Error = runError, *d.Error
	case len(d.Interrupts) > 0:
		s.Status = "waiting"
	}
}

// attempt adds the span of a failed attempt of a task. It begins at the end of the previous attempt.
func (t *tracer) attempt(e *runs.Event, d *attemptEvent) {
	start := e.Time
	if i, ok := t.byID[d.ID]; ok {
		start = t.spans[i].Start
	}
	if i, ok := t.byID[attemptID(d.ID, d.Attempt-1)]; ok {
		start = *t.spans[i].End
	}
	id := attemptID(d.ID, d.Attempt)
	t.open(span{ID: id, Parent: d.ID, Kind: "attempt", Name: "attempt " + strconv.Itoa(d.Attempt), Step: e.Step, Path: e.Path, Start: start})
	s := &t.spans[t.byID[id]]
	s.End, s.Status, s.Error = &d.Ended, runError, d.Error
}

func attemptID(task string, n int) string { return task + " attempt " + strconv.Itoa(n) }

// callerOf returns the id of the task that runs the subgraph with a path.
func callerOf(path string) string {
	last := path[strings.LastIndexByte(path, '|')+1:]
	_, id, _ := strings.Cut(last, ":")
	return id
}

// message adds a message to the span of its model call or tool call. Each chunk extends the span of a model call. A span
// begins with its task.
func (t *tracer) message(e *runs.Event, d *messageEvent) error {
	var m struct {
		Type  string         `json:"type"`
		Name  string         `json:"name"`
		Call  string         `json:"tool_call_id"`
		State string         `json:"status"`
		Usage *usageMetadata `json:"usage_metadata"`
	}
	if err := json.Unmarshal(d.Message, &m); err != nil {
		return err
	}
	kind, id := "model", "message "+d.ID
	switch m.Type {
	case "ai", "AIMessageChunk":
		m.Name = "model"
	case "tool", "ToolMessageChunk":
		kind, id = "tool", "call "+m.Call
	default:
		return nil
	}
	i, ok := t.byID[id]
	if !ok {
		s := span{ID: id, Parent: e.Task, Kind: kind, Name: m.Name, Step: e.Step, Path: e.Path, Start: e.Time}
		if task, known := t.byID[e.Task]; known {
			s.Start = t.spans[task].Start
		}
		t.open(s)
		i = t.byID[id]
	}
	s := &t.spans[i]
	end := e.Time
	s.End, s.Status = &end, runSuccess
	if m.State == runError {
		s.Status = runError
	}
	if m.Usage != nil {
		s.Usage, s.Cost = m.Usage, t.cost(e.Node, m.Usage)
	}
	return nil
}

// close ends the spans that have not ended when the run ends. They get the status interrupted.
func (t *tracer) close(at time.Time) {
	for i := range t.spans {
		if s := &t.spans[i]; s.End == nil {
			s.End, s.Status = &at, runInterrupted
		}
	}
}
