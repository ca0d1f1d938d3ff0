package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/stored"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/state"
)

var threadCommands = []command{
	{"list", "list threads by status, node and age", runList, nil},
	{"show", "print the state, tasks and open questions of a thread", runShow, nil},
	{"tail", "print the checkpoints of a thread, and follow it", runTail, nil},
	{"diff", "compare the states of two checkpoints", runDiff, nil},
	{"answer", "answer an open question", runAnswer, nil},
	{"resume", "continue a thread on its server", runResume, nil},
	{"cancel", "cancel the runs of a thread on its server", runCancelThread, nil},
	{"fork", "copy a thread, as it is or as it was at a checkpoint", runFork, nil},
	{"prune", "remove old checkpoints", runPrune, nil},
	{"export", "write threads to a file", runExport, nil},
	{"import", "read threads from a file", runImport, nil},
	{"migrate", "bring a store to the form of this version", runMigrate, nil},
}

// The statuses of a thread.
const (
	running = "running" // tasks are due
	paused  = "paused"  // a question is open, or a static pause holds it
	failed  = "failed"  // a task has failed
	done    = "done"    // nothing is due

	unreadable = "unreadable" // the stored data is damaged
)

// statuses maps the status of a thread on a server to the status that commands print.
var statuses = map[string]string{stored.Busy: running, stored.Interrupted: paused, stored.Error: failed, stored.Idle: done}

// A threadRow is a thread in a list.
type threadRow struct {
	ID          string    `json:"id"`
	Status      string    `json:"status"`
	Nodes       []string  `json:"nodes,omitempty"` // the nodes of the due tasks
	Step        *int      `json:"step,omitempty"`
	Checkpoints int       `json:"checkpoints,omitempty"`
	Graph       string    `json:"graph,omitempty"`
	Updated     time.Time `json:"updated,omitzero"`
	Error       string    `json:"error,omitempty"` // the reason why the thread is unreadable
	at          string    // the value of -after for a list that continues after this thread
}

// A threadView has the data of a thread that weft threads show prints.
type threadView struct {
	threadRow
	User       string                     `json:"user,omitempty"`
	Checkpoint string                     `json:"checkpoint"`
	Run        string                     `json:"run,omitempty"`
	Version    string                     `json:"version,omitempty"`
	Metadata   map[string]json.RawMessage `json:"metadata,omitempty"`
	Tasks      []taskView                 `json:"tasks"`
	Questions  []question                 `json:"questions"`
	Values     map[string]json.RawMessage `json:"values"`
}

type taskView struct {
	ID       string `json:"id"`
	Node     string `json:"node"`
	Finished bool   `json:"finished,omitempty"`
	Error    string `json:"error,omitempty"`
}

// A question waits for an answer.
type question struct {
	ID        string          `json:"id"`
	Node      string          `json:"node"`
	Interrupt string          `json:"interrupt,omitempty"`
	Key       string          `json:"key,omitempty"`
	Prompt    json.RawMessage `json:"prompt"`
	Asked     time.Time       `json:"asked,omitzero"` // a server does not send it
}

// A step is a checkpoint of a thread.
type step struct {
	ID     string    `json:"id"`
	Parent string    `json:"parent,omitempty"`
	Step   int       `json:"step"`
	Source string    `json:"source"`
	Run    string    `json:"run,omitempty"`
	Next   []string  `json:"next"`
	Time   time.Time `json:"time"`
}

// threads reads threads and answers questions, in a database or through a server.
type threads interface {
	// list yields the threads that the filter selects. It need not apply the limit.
	list(ctx context.Context, f *threadFilter) iter.Seq2[threadRow, error]
	show(ctx context.Context, id string) (*threadView, error)
	// history yields the checkpoints of a thread, newest first.
	history(ctx context.Context, id string, limit int) iter.Seq2[step, error]
	// values returns the state at a checkpoint; an empty id means the newest one.
	values(ctx context.Context, thread, checkpoint string) (map[string]json.RawMessage, error)
	// answer stores the answer to a question.
	answer(ctx context.Context, thread, question string, value json.RawMessage) error
	close() error
}

// threads opens the threads of a database or of a server.
func (s *source) threads(ctx context.Context) (threads, error) {
	if s.server != "" {
		c, err := s.client()
		return &servedThreads{c}, err
	}
	db, err := s.opened(ctx, s.keys)
	if err != nil {
		return nil, err
	}
	return &storedThreads{db}, nil
}

// storedThreads are the threads of a database.
type storedThreads struct{ db *store }

func (t *storedThreads) close() error { return t.db.close() }

func (t *storedThreads) list(ctx context.Context, f *threadFilter) iter.Seq2[threadRow, error] {
	return func(yield func(threadRow, error) bool) {
		if q, ok := f.byStatus(); ok {
			if err := t.listStatus(ctx, f, q, yield); !errors.Is(err, errors.ErrUnsupported) {
				return
			}
		}
		lister, ok := t.db.checkpoints.(checkpoint.ThreadLister)
		if !ok {
			yield(threadRow{}, fmt.Errorf("the store cannot list threads: %w", errors.ErrUnsupported))
			return
		}
		for info, err := range lister.ListThreads(ctx, f.prefix) {
			row, selected, err := t.row(ctx, f, &info, err)
			if err != nil {
				yield(row, err)
				return
			}
			if selected && !yield(row, nil) {
				return
			}
		}
	}
}

// row returns the row of a listed thread, and whether the filter selects this thread. err is the error with which the store
// listed the thread, or nil.
func (t *storedThreads) row(ctx context.Context, f *threadFilter, info *checkpoint.ThreadInfo, err error) (row threadRow, selected bool, _ error) {
	row = threadRow{ID: info.ID, Checkpoints: info.Checkpoints, Updated: info.Updated.UTC(), at: info.ID}
	if err != nil {
		if info.ID == "" || !damaged(err) {
			return row, false, err
		}
		row.Status, row.Error = unreadable, fmt.Sprintf("thread %q: %v", info.ID, err)
		return row, row.ID > f.after, nil // its time is unknown
	}
	if row.ID <= f.after || !f.admits(&row) {
		return row, false, nil
	}
	err = t.look(ctx, &row)
	return row, f.has(&row), err
}

// listStatus yields the threads that the store finds by their status. If the store cannot find threads by status, it returns
// [errors.ErrUnsupported] and yields nothing. It yields any other error before it returns the error.
func (t *storedThreads) listStatus(ctx context.Context, f *threadFilter, q checkpoint.StatusQuery, yield func(threadRow, error) bool) error {
	lister, ok := t.db.checkpoints.(checkpoint.StatusLister)
	if !ok {
		return errors.ErrUnsupported
	}
	for s, err := range eachOnce(lister.ListStatus(ctx, fromTheStart(q)), q.After) {
		if errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		row := threadRow{ID: s.Thread, Updated: s.Time.UTC(), at: s.Node + "/" + s.Thread}
		if row.ID != "" && !f.admits(&row) {
			continue
		}
		if err == nil || row.ID != "" && damaged(err) { // look reports the fault of a damaged thread
			err = t.look(ctx, &row)
		}
		if err != nil {
			yield(row, err)
			return err
		}
		if f.has(&row) && !yield(row, nil) {
			return nil
		}
	}
	return nil
}

// fromTheStart clears After in a query that names no node, so that the store lists the entries of earlier pages too. A
// store lists a thread once for each of its nodes, and the first entry of a thread must be seen to skip the others. A
// query that names a node finds one entry for each thread.
func fromTheStart(q checkpoint.StatusQuery) checkpoint.StatusQuery {
	if q.Node == "" {
		q.After = checkpoint.ThreadStatus{}
	}
	return q
}

// eachOnce yields the first entry of each thread, if this entry comes after the given place.
func eachOnce(list iter.Seq2[checkpoint.ThreadStatus, error], after checkpoint.ThreadStatus) iter.Seq2[checkpoint.ThreadStatus, error] {
	return func(yield func(checkpoint.ThreadStatus, error) bool) {
		seen := map[string]bool{}
		for s, err := range list {
			if s.Thread != "" {
				if seen[s.Thread] {
					continue
				}
				seen[s.Thread] = true
				if s.Compare(after) <= 0 {
					continue
				}
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// look adds the data of the newest checkpoint to the row, or marks the thread as unreadable.
func (t *storedThreads) look(ctx context.Context, row *threadRow) error {
	err := t.newest(ctx, row)
	if damaged(err) {
		row.Status, row.Error, err = unreadable, err.Error(), nil
	}
	return err
}

// damaged reports whether err is about the data of one thread. Other threads may then be readable.
func damaged(err error) bool {
	return errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, checkpoint.ErrFormat) || errors.Is(err, checkpoint.ErrDecrypt)
}

// newest sets the status, nodes, step and time of the row from the newest checkpoint of the thread's own graph.
func (t *storedThreads) newest(ctx context.Context, row *threadRow) error {
	for c, err := range t.db.checkpoints.List(ctx, checkpoint.Query{Thread: row.ID, Limit: 1, Writes: true}) {
		if err != nil {
			return fmt.Errorf("thread %q: %w", row.ID, err)
		}
		if changed := stored.Changed(&c).UTC(); changed.After(row.Updated) {
			row.Updated = changed
		}
		at := asServed(c.Step, c.Run, c.Metadata)
		row.Status, row.Nodes, row.Step = statuses[stored.StatusOf(&c)], unique(stored.Due(&c)), &at.Step
	}
	return nil
}

// unique returns the texts without duplicates, in the order of their first occurrence.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (t *storedThreads) show(ctx context.Context, id string) (*threadView, error) {
	snap, err := t.snapshot(ctx, id, "")
	if err != nil {
		return nil, err
	}
	at := asServed(snap.Step, snap.Run, snap.Metadata)
	v := &threadView{
		threadRow:  threadRow{ID: id, Step: &at.Step, Nodes: unique(snap.Next), Updated: snap.Time.UTC()},
		Checkpoint: snap.ID, Run: at.Run, Version: snap.Version, Metadata: map[string]json.RawMessage{}, Tasks: []taskView{}, Questions: []question{},
	}
	if err := t.newest(ctx, &v.threadRow); err != nil {
		return nil, err
	}
	for key, value := range snap.Metadata {
		v.Metadata[key], _ = json.Marshal(value) //nolint:errchkjson // a text
	}
	for _, task := range snap.Tasks {
		v.Tasks = append(v.Tasks, taskView{task.ID, task.Node, task.Finished, task.Err})
	}
	for _, p := range snap.Pauses {
		if p.Kind == graph.Question {
			v.Questions = append(v.Questions, question{p.ID, p.Node, p.Interrupt, p.Key, p.Prompt, p.Asked})
		}
	}
	r, err := t.db.runs.Get(ctx, runs.Thread, id)
	if err != nil && !errors.Is(err, runs.ErrNotFound) {
		return nil, err
	}
	v.Graph, v.User = r.Graph, r.Owner
	v.Values, err = state.Values(snap.View)
	return v, err
}

// asServed returns the step and the run of a checkpoint. If a server has stored the checkpoint, these are the values that the
// server shows: it counts each input as a step, and gives each run another id, which weft runs show accepts. The metadata has
// the number of inputs and this id.
func asServed(number int, run string, metadata map[string]string) step {
	if inputs, err := strconv.Atoi(metadata["inputs"]); err == nil {
		return step{Step: number + inputs - 1, Run: metadata["run_id"]}
	}
	return step{Step: number, Run: run}
}

// snapshot returns the state of a thread at a checkpoint.
func (t *storedThreads) snapshot(ctx context.Context, thread, at string) (*graph.Snapshot, error) {
	g, err := stored.Graph(ctx, t.db.checkpoints, thread)
	if err != nil {
		return nil, err
	}
	snap, err := g.Thread(thread).At(at).Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, missing(thread, at)
	}
	return snap, err
}

// missing is the error for a thread or checkpoint that does not exist.
func missing(thread, at string) error {
	if at == "" {
		return fmt.Errorf("there is no thread %q; weft threads list prints the ids", thread)
	}
	return fmt.Errorf("thread %q has no checkpoint %s; weft threads tail prints the ids", thread, at)
}

func (t *storedThreads) values(ctx context.Context, thread, at string) (map[string]json.RawMessage, error) {
	snap, err := t.snapshot(ctx, thread, at)
	if err != nil {
		return nil, err
	}
	return state.Values(snap.View)
}

func (t *storedThreads) history(ctx context.Context, id string, limit int) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		for c, err := range t.db.checkpoints.List(ctx, checkpoint.Query{Thread: id, Limit: limit}) {
			next := stored.Due(&c)
			if next == nil {
				next = []string{}
			}
			at := asServed(c.Step, c.Run, c.Metadata)
			if !yield(step{c.ID, c.Parent, at.Step, string(c.Source), at.Run, next, c.Time.UTC()}, err) || err != nil {
				return
			}
		}
	}
}
