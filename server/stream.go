package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// A view converts the events of a run to the events of its streams.
type view struct {
	modes     []string
	subgraphs bool
	stateless bool // without the events of checkpoints
	ids       bool // the events have ids
	first     bool // the stream includes the event "metadata" of the beginning of the run
	replies   map[string]*partialReply
	metadata  metadataByID
	described map[string]bool // the messages whose metadata the client has got
	runnable  *runnableView   // nil before the first event
}

// A partialReply is the part of a message that has been streamed so far.
type partialReply struct {
	text  strings.Builder
	calls []*partialCall
}

type partialCall struct {
	id, name string
	args     strings.Builder
}

func newView(q *runRequest, stateless bool) *view {
	modes := []string(q.StreamMode)
	if len(modes) == 0 {
		modes = []string{"values"}
	}
	return &view{
		modes: modes, subgraphs: q.StreamSubgraphs, stateless: stateless, ids: q.StreamResumable, first: true,
	}
}

func (v *view) has(mode string) bool { return slices.Contains(v.modes, mode) }

// A streamed is an event that a client gets.
type streamed struct {
	name string
	data any
}

// events returns the stream events for an event of the log.
func (v *view) events(e *runs.Event) ([]streamed, error) {
	out, err := v.byMode(e)
	if err != nil || !v.has("events") {
		return out, err
	}
	if v.runnable == nil {
		v.runnable = newRunnableView()
	}
	more, err := v.runnable.events(e)
	if e.Kind == kindEnd {
		return append(more, out...), err // the event of an error must be the last one
	}
	return append(out, more...), err
}

// byMode returns the stream events for an event of the log, in all modes except "events".
func (v *view) byMode(e *runs.Event) ([]streamed, error) {
	suffix := ""
	if e.Path != "" {
		// The messages modes include messages of subgraphs even without stream_subgraphs.
		if !v.subgraphs && e.Kind != kindMessage {
			return nil, nil
		}
		if v.subgraphs {
			suffix = "|" + e.Path
		}
	}
	out, err := v.plain(e)
	for i := range out {
		out[i].name += suffix
	}
	return out, err
}

func (v *view) plain(e *runs.Event) (out []streamed, err error) {
	add := func(mode string, data any) {
		if v.has(mode) {
			out = append(out, streamed{mode, data})
		}
	}
	switch e.Kind {
	case kindStart:
		if v.first {
			return startOf(e)
		}
	case kindValues:
		add("values", e.Data)
	case kindUpdates:
		add("updates", e.Data)
	case kindCustom:
		add("custom", e.Data)
	case kindTool:
		data, err := toolData(e)
		add("tools", data)
		return out, err
	case kindTask:
		add("tasks", e.Data)
		err = v.debug(&out, e, "task")
	case kindResult:
		add("tasks", e.Data)
		err = v.debug(&out, e, "task_result")
	case kindCheckpoint:
		if v.stateless {
			return nil, nil
		}
		add("checkpoints", e.Data)
		err = v.debug(&out, e, "checkpoint")
	case kindInterrupt:
		err = v.interrupt(e, add)
	case kindMessage:
		return v.message(e)
	case kindEnd:
		return errorOf(e)
	}
	return out, err
}

// startOf returns the event "metadata", which begins the stream of a run.
func startOf(e *runs.Event) ([]streamed, error) {
	var s runStart
	err := json.Unmarshal(e.Data, &s)
	return []streamed{{"metadata", map[string]any{"run_id": e.Run, "attempt": s.Attempt}}}, err
}

// errorOf returns the event for the error of a run, if the run has failed.
func errorOf(e *runs.Event) ([]streamed, error) {
	var end runEnd
	if err := json.Unmarshal(e.Data, &end); err != nil || end.Error == nil {
		return nil, err
	}
	return []streamed{{"error", end.Error}}, nil
}

// interrupt adds the events for a run that waits.
func (v *view) interrupt(e *runs.Event, add func(mode string, data any)) error {
	var i interruptEvent
	if err := json.Unmarshal(e.Data, &i); err != nil {
		return err
	}
	add("updates", map[string]any{"__interrupt__": i.Interrupts})
	if len(i.Interrupts) == 0 {
		return nil
	}
	values := map[string]any{"__interrupt__": i.Interrupts}
	for k, val := range i.Values {
		values[k] = val
	}
	add("values", values)
	return nil
}

// debug adds the event of the mode "debug".
func (v *view) debug(out *[]streamed, e *runs.Event, kind string) error {
	if !v.has("debug") {
		return nil
	}
	var d struct {
		Metadata struct {
			Step *int `json:"step"`
		} `json:"metadata"`
	}
	step := e.Step
	if kind == "checkpoint" {
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		step = *d.Metadata.Step
	}
	*out = append(*out, streamed{"debug", map[string]any{"type": kind, "step": step, "timestamp": e.Time.UTC().Format(time.RFC3339Nano), "payload": e.Data}})
	return nil
}

// message returns the events for a message or for a chunk of one.
func (v *view) message(e *runs.Event) (out []streamed, err error) {
	var m messageEvent
	if err := json.Unmarshal(e.Data, &m); err != nil {
		return nil, err
	}
	if v.metadata == nil {
		v.replies, v.metadata, v.described = map[string]*partialReply{}, metadataByID{}, map[string]bool{}
	}
	metadata := v.metadata.of(e, &m)
	if v.has("messages-tuple") {
		out = append(out, streamed{"messages", []json.RawMessage{m.Message, metadata}})
	}
	if !v.has("messages") {
		return out, nil
	}
	if !v.described[m.ID] {
		v.described[m.ID] = true
		out = append(out, streamed{"messages/metadata", map[string]any{m.ID: map[string]any{"metadata": metadata}}})
	}
	if m.Whole {
		return append(out, streamed{"messages/complete", []json.RawMessage{m.Message}}), nil
	}
	reply, err := v.partial(&m)
	return append(out, streamed{"messages/partial", []any{reply}}), err
}

// partial adds a chunk to its message and returns the message so far.
func (v *view) partial(m *messageEvent) (map[string]any, error) {
	var c chunkMessage
	if err := json.Unmarshal(m.Message, &c); err != nil {
		return nil, err
	}
	r := v.replies[m.ID]
	if r == nil {
		r = &partialReply{}
		v.replies[m.ID] = r
	}
	r.add(&c)
	return r.message(m.ID), nil
}

// message returns the message so far.
func (r *partialReply) message(id string) map[string]any {
	calls := []map[string]any{}
	for _, call := range r.calls {
		args := json.RawMessage(call.args.String())
		if !json.Valid(args) {
			args = emptyObject
		}
		calls = append(calls, map[string]any{"id": call.id, "name": call.name, "args": args, "type": "tool_call"})
	}
	return map[string]any{
		"type": "ai", "id": id, "content": r.text.String(), "tool_calls": calls, "invalid_tool_calls": []any{},
		"additional_kwargs": emptyObject, "response_metadata": emptyObject,
	}
}

func (r *partialReply) add(c *chunkMessage) {
	if text, ok := c.Content.(string); ok {
		r.text.WriteString(text)
	}
	for _, d := range c.ToolCallChunks {
		for len(r.calls) <= d.Index && d.Index < maxCalls {
			r.calls = append(r.calls, &partialCall{})
		}
		if d.Index < 0 || d.Index >= len(r.calls) {
			continue
		}
		call := r.calls[d.Index]
		if d.ID != nil {
			call.id = *d.ID
		}
		if d.Name != nil {
			call.name = *d.Name
		}
		call.args.WriteString(d.Args)
	}
}

const maxCalls = 1000

// stream sends the events of a run after a position until the run ends.
func (c *call) stream(a *activeRun, v *view, at position, cancel bool) error {
	log, err := c.s.openLog(c.ctx(), a.thread)
	if err != nil {
		return err
	}
	defer c.s.closeLog(log)
	before, err := log.before(c.ctx(), a.id)
	if err != nil {
		return err
	}
	out := c.startSSE()
	defer out.stop()
	send := func(p position, ev streamed) error {
		id := ""
		if v.ids {
			id = p.id()
		}
		return out.send(ev.name, id, encoded(ev.data))
	}
	skip := c.skipper(a.thread, at, v.valuesName(), send)
	err = c.follow(log, a.id, before, skip, func(e *runs.Event) error {
		events, err := v.events(e)
		for i, ev := range events {
			if err == nil && !at.has(e.Seq, i) {
				err = send(position{e.Seq, i}, ev)
			}
		}
		return err
	})
	if err != nil && cancel && !errors.Is(err, errClosed) {
		return c.s.cancelRuns(context.WithoutCancel(c.ctx()), []string{a.id}, false, false)
	}
	if err != nil && c.ctx().Err() == nil && (c.s.o.Queue != nil || isOutage(err)) {
		// The run continues, perhaps on another server. Abort the stream: otherwise the client would conclude that the
		// run has ended.
		panic(http.ErrAbortHandler)
	}
	return nil // the response has begun
}

// valuesName returns the name of the event with the values of the state, or "" if the stream has
// none.
func (v *view) valuesName() string {
	if v.has("values") {
		return "values"
	}
	return ""
}

// streamAgain joins the stream of a run. If the run is resumable and the request has a Last-Event-ID, the stream begins
// after that event, and otherwise with the next event.
func (c *call) streamAgain() error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	d, err := readRun(&r)
	if err != nil {
		return err
	}
	v := newView(&d.Request, d.Temporary)
	if modes := readModes(c.r.URL.Query()["stream_mode"]); len(modes) > 0 {
		v.modes, v.first = modes, false
	}
	a := &activeRun{id: r.ID, thread: r.Parent}
	c.located(a, c.r.PathValue("thread") == "", "/stream")
	var at position
	if last := c.r.Header.Get("Last-Event-ID"); last != "" && d.Request.StreamResumable {
		if at, err = readPosition(last); err != nil {
			return err
		}
	} else {
		log, err := c.s.openLog(c.ctx(), r.Parent)
		if err != nil {
			return err
		}
		at = whole(log.end())
		c.s.closeLog(log)
	}
	return c.stream(a, v, at, c.flag("cancel_on_disconnect"))
}

// join waits for the end of a run and sends its final values. Meanwhile, it sends line breaks, so that proxies keep the
// connection open.
func (c *call) join(thread, id string, cancel bool) error {
	ended, unstored := c.s.endOfRun(c.ctx(), thread, id), c.s.unstoredOf(id)
	tick := time.NewTicker(c.s.o.Heartbeat)
	defer tick.Stop()
	c.w.Header().Set("Content-Type", "application/json")
	begun := false
	for waiting := true; waiting; {
		select {
		case <-ended:
			waiting = false
		case <-unstored:
			if begun { // a complete response would mean that the run has ended
				panic(http.ErrAbortHandler)
			}
			return outageRefusal()
		case <-tick.C:
			begun = true
			_, _ = c.w.Write([]byte("\n"))
			_ = c.w.FlushError() // if the client has left, the context ends
		case <-c.ctx().Done():
			if cancel {
				return c.s.cancelRuns(context.WithoutCancel(c.ctx()), []string{id}, false, false)
			}
			return nil
		}
	}
	if err := c.checkEnded(id, begun); err != nil {
		return err
	}
	result, err := c.finalValues(thread, id)
	if err != nil {
		if begun {
			result = encoded(map[string]any{"__error__": failure{"Error", "The result cannot be read."}})
			c.s.o.Logger.Error("server: the result of a run cannot be read", "run", id, "error", err)
		} else {
			return err
		}
	}
	_, _ = c.w.Write(append(result, '\n')) // the client may have left
	return nil
}

// checkEnded refuses the answer if the run has not ended, because another server continues the run while this one shuts
// down. It aborts a response that has begun.
func (c *call) checkEnded(run string, begun bool) error {
	if c.s.o.Queue == nil {
		return nil
	}
	ended, err := c.s.hasEnded(c.ctx(), run)
	if ended && err == nil {
		return nil
	}
	if begun {
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		return err
	}
	return drainRefusal(" The run goes on.")
}

func (c *call) finalValues(thread, id string) (json.RawMessage, error) {
	r, err := c.s.o.Runs.Get(c.ctx(), runs.Run, id)
	if errors.Is(err, runs.ErrNotFound) { // the run was rolled back
		return json.RawMessage("null"), nil
	}
	if err != nil {
		return nil, err
	}
	return c.s.result(c.ctx(), r)
}
