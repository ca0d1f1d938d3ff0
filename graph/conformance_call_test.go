package graph_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// runCase executes the calls of a case and compares each result with the
// recorded one.
func runCase(t *testing.T, nc namedCase, store checkpoint.Store) {
	dec := json.NewDecoder(bytes.NewReader(nc.raw))
	dec.DisallowUnknownFields()
	var c confCase
	require.NoError(t, dec.Decode(&c), "decode the case")
	require.NotEmpty(t, c.Script)
	require.Len(t, c.Expect, len(c.Script), "one expectation for each call")
	b := &confBuilder{failures: map[string]int{}, threads: t.Name() + "/"}
	if c.Checkpointer == nil || *c.Checkpointer {
		b.store = store
	}
	l, err := b.build(&c.confGraph, c.Name, nil)
	require.NoError(t, err, "build the graph")
	for i, call := range c.Script {
		got, err := l.call(t, call)
		require.NoError(t, err, "call %d (%s)", i, call.Op)
		gotJSON, err := json.Marshal(got)
		require.NoError(t, err)
		script, err := json.Marshal(call)
		require.NoError(t, err)
		require.JSONEq(t, string(c.Expect[i]), string(gotJSON), "call %d: %s", i, script)
	}
}

// call executes one call and returns its result in the format of a case.
func (l *confLevel) call(t *testing.T, c confCall) (any, error) {
	ctx := t.Context()
	switch c.Op {
	case "invoke":
		return l.invoke(t, c)
	case "state":
		return l.state(ctx, c)
	case "history":
		return l.history(ctx, c)
	case "update":
		th, err := l.thread(ctx, c)
		if err != nil {
			return nil, err
		}
		writes, err := l.writes(c.Values)
		if err != nil {
			return nil, err
		}
		if _, err := th.Update(ctx, confEnd(c.AsNode), writes...); err != nil {
			return map[string]any{"error": errorName(err)}, nil
		}
		return map[string]any{"ok": true}, nil
	}
	return nil, fmt.Errorf("unknown call %q", c.Op)
}

// thread returns a handle on the thread of a call, with the call's options.
func (l *confLevel) thread(ctx context.Context, c confCall) (*graph.Thread, error) {
	id := c.Thread
	if id == "" {
		id = "t"
	}
	th := l.g.Thread(l.b.threads + id)
	if c.At != nil {
		entries, err := historyOf(ctx, th)
		if err != nil {
			return nil, err
		}
		if *c.At < 0 || *c.At >= len(entries) {
			return nil, fmt.Errorf("at %d of %d entries", *c.At, len(entries))
		}
		th = th.At(entries[*c.At].ID)
	}
	opts := graph.RunOptions{MaxSteps: c.RecursionLimit, PauseBefore: c.InterruptBefore}
	switch c.Durability {
	case "":
	case "exit":
		exit := graph.Exit
		opts.Durability = &exit
	case "sync":
		sync := graph.Sync
		opts.Durability = &sync
	case "async":
		async := graph.Async
		opts.Durability = &async
	default:
		return nil, fmt.Errorf("unknown durability %q", c.Durability)
	}
	return th.With(opts), nil
}

// historyOf lists a thread's checkpoints, oldest first. It omits the first checkpoint of
// each fork, since the histories of cases do not contain it.
func historyOf(ctx context.Context, th *graph.Thread) ([]graph.Info, error) {
	var out []graph.Info
	for info, err := range th.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return nil, err
		}
		if info.Source != checkpoint.Fork {
			out = append(out, info)
		}
	}
	slices.Reverse(out)
	return out, nil
}

func (l *confLevel) invoke(t *testing.T, c confCall) (any, error) {
	ctx := t.Context()
	if l.b.store == nil {
		writes, err := l.input(c)
		if err != nil {
			return nil, err
		}
		return l.collect(t, l.g.Stream(ctx, writes...))
	}
	th, err := l.thread(ctx, c)
	if err != nil {
		return nil, err
	}
	writes, err := l.input(c)
	if err != nil {
		return nil, err
	}
	answers, err := l.answers(ctx, th, c)
	if err != nil {
		return nil, err
	}
	return l.collect(t, th.Stream(ctx, append(writes, answers...)...))
}

// input returns the writes of a call, except its answers.
func (l *confLevel) input(c confCall) (state.Update, error) {
	if c.Input != nil {
		writes, err := l.writes(*c.Input)
		return append(writes, graph.Begin()), err
	}
	if c.Command == nil {
		return nil, nil
	}
	writes, err := l.writes(c.Command.Update)
	if len(writes) > 0 {
		writes = append(writes, graph.Continue())
	}
	for _, to := range c.Command.Goto {
		writes = append(writes, graph.Goto(confEnd(to)))
	}
	return writes, err
}

// answers returns the call's answers to the open questions.
func (l *confLevel) answers(ctx context.Context, th *graph.Thread, c confCall) (state.Update, error) {
	resume := c.Command != nil && c.Command.Resume != nil
	if len(c.ResumeByNode) == 0 && !resume {
		return nil, nil
	}
	snap, err := th.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	pending, err := confAsk.Open(snap)
	if err != nil {
		return nil, err
	}
	var out state.Update
	for _, q := range pending {
		answer, ok := c.ResumeByNode[q.Node]
		if resume {
			ok = true
			if err := json.Unmarshal(*c.Command.Resume, &answer); err != nil {
				return nil, err
			}
		}
		if ok {
			out = append(out, confAsk.Answer(q.ID, answer))
		}
	}
	return out, nil
}

// collect reads the events of a run and returns them in the format of a case.
func (l *confLevel) collect(t *testing.T, events func(func(graph.Event, error) bool)) (any, error) {
	out := confRun{Values: []map[string]any{}, Updates: [][]confUpdate{}}
	var step []confUpdate
	flush := func() {
		if len(step) > 0 {
			slices.SortFunc(step, func(a, b confUpdate) int { return cmp.Compare(jsonText(a), jsonText(b)) })
			out.Updates = append(out.Updates, step)
		}
		step = nil
	}
	show := func(s state.View) {
		v := l.values(s)
		if n := len(out.Values); n == 0 || !reflect.DeepEqual(out.Values[n-1], v) {
			out.Values = append(out.Values, v)
		}
	}
	for ev, err := range events {
		if err != nil {
			out.Error = errorName(err)
			out.Interrupts = nil
			if out.Error == "invalid_update" {
				step = nil
			}
			break
		}
		if ev.At().Path != "" {
			continue
		}
		switch ev := ev.(type) {
		case graph.RunStarted:
			show(ev.State)
		case graph.StepStarted:
			flush()
		case graph.TaskFinished:
			if !ev.Saved && !ev.Asked && ev.Err == nil {
				step = append(step, confUpdate{ev.At().Node, l.update(t, ev.Update)})
			}
		case graph.StateChanged:
			show(ev.State)
		case graph.Paused:
			for _, p := range ev.Pauses {
				if p.Kind == graph.Question {
					var v any
					if err := json.Unmarshal(p.Prompt, &v); err != nil {
						return nil, err
					}
					out.Interrupts = append(out.Interrupts, v)
				}
			}
		}
	}
	flush()
	slices.SortFunc(out.Interrupts, func(a, b any) int { return cmp.Compare(jsonText(a), jsonText(b)) })
	return out, nil
}

// errorName returns the format's name of an error.
func errorName(err error) string {
	var node *graph.NodeError
	switch {
	case errors.Is(err, state.ErrConcurrentWrite):
		return "invalid_update"
	case errors.Is(err, graph.ErrAmbiguous):
		return "invalid_update"
	case errors.Is(err, graph.ErrMaxSteps):
		return "recursion_limit"
	case errors.Is(err, graph.ErrNoInput):
		return "empty_input"
	case errors.As(err, &node):
		return "node_error"
	}
	return err.Error()
}

// jsonText encodes v as a sort key.
func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (l *confLevel) state(ctx context.Context, c confCall) (any, error) {
	th, err := l.thread(ctx, c)
	if err != nil {
		return nil, err
	}
	snap, err := th.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	out := confState{Values: l.values(snap), Next: []string{}, Interrupts: []confQuestion{}}
	out.Next = append(out.Next, snap.Next...)
	slices.Sort(out.Next)
	pending, err := confAsk.Open(snap)
	for _, q := range pending {
		out.Interrupts = append(out.Interrupts, confQuestion{q.Node, q.Prompt})
	}
	slices.SortFunc(out.Interrupts, func(a, b confQuestion) int { return cmp.Compare(jsonText(a), jsonText(b)) })
	return out, err
}

func (l *confLevel) history(ctx context.Context, c confCall) (any, error) {
	th, err := l.thread(ctx, c)
	if err != nil {
		return nil, err
	}
	infos, err := historyOf(ctx, th)
	if err != nil {
		return nil, err
	}
	out := []confEntry{}
	for _, info := range infos {
		snap, err := th.At(info.ID).Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		e := confEntry{Source: string(info.Source), Values: l.values(snap), Next: append([]string{}, info.Next...)}
		slices.Sort(e.Next)
		out = append(out, e)
	}
	return out, nil
}
