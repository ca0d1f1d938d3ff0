package compat_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// An expectation describes how a version of the engine reads and resumes one thread.
type expectation struct {
	Before  snapshot
	Inside  map[string]*snapshot `json:",omitempty"` // snapshots of subgraphs; nil without a state
	History []entry
	Stored  []string // the checkpoints of all namespaces, as the store returns them
	After   []resumption
}

// A snapshot is the comparable form of a graph.Snapshot.
type snapshot struct {
	Values map[string]string `json:",omitempty"` // JSON of the written channels, by name
	Next   []string          `json:",omitempty"`
	Tasks  []task            `json:",omitempty"`
	Pauses []pause           `json:",omitempty"`
	Done   bool
	Step   int
	Source checkpoint.Source
}

// A task is the comparable form of a graph.Task.
type task struct {
	ID, Node  string
	Finished  bool
	Err       string
	Namespace string
}

// A pause is the comparable form of a graph.Pause.
type pause struct {
	Kind                                   string
	ID, Node, Path, Interrupt, Key, Prompt string `json:",omitempty"`
}

// An entry is the comparable form of a graph.Info. It adds a digest of the state.
type entry struct {
	ID       string
	Parent   string `json:",omitempty"`
	Step     int
	Source   checkpoint.Source
	Run      string
	Version  string
	Time     int64             // microseconds
	Metadata map[string]string `json:",omitempty"`
	Next     []string          `json:",omitempty"`
	State    string            `json:",omitempty"`
}

// A resumption describes a thread after an action. It omits ids, since new ids are random.
type resumption struct {
	snapshot
	Ran []string // the nodes and side effects that ran
}

// comparableForm converts a snapshot to its comparable form.
func comparableForm(s *graph.Snapshot, channels []shownChannel) *snapshot {
	out := &snapshot{Values: map[string]string{}, Done: s.Done(), Step: s.Step, Source: s.Source}
	for _, c := range channels {
		if data := c.read(s.View); data != nil {
			out.Values[c.handle.Name()] = string(data)
		}
	}
	out.Next = append(out.Next, s.Next...)
	for _, t := range s.Tasks {
		out.Tasks = append(out.Tasks, task{t.ID, t.Node, t.Finished, t.Err, t.Namespace})
	}
	for _, p := range s.Pauses {
		out.Pauses = append(out.Pauses, pause{p.Kind, p.ID, p.Node, p.Path, p.Interrupt, p.Key, string(p.Prompt)})
	}
	return out
}

// observe reads a thread with its graph and directly from the store. Then it resumes the
// thread.
func observe(ctx context.Context, sc *scenario, w *world) (*expectation, error) {
	t := sc.build(w, sc.options).Thread(sc.name)
	x := &expectation{Inside: map[string]*snapshot{}}
	s, err := t.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	x.Before = *comparableForm(s, sc.shows())
	for _, sub := range sc.inside {
		path := strings.Join(sub.path, "/")
		s, err := t.Subgraph(sub.path...).Snapshot(ctx)
		switch {
		case errors.Is(err, checkpoint.ErrNotFound):
			x.Inside[path] = nil
		case err != nil:
			return nil, fmt.Errorf("subgraph %s: %w", path, err)
		default:
			x.Inside[path] = comparableForm(s, sub.channels)
		}
	}
	if x.History, err = history(ctx, t, sc.shows()); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	if x.Stored, err = stored(ctx, w.store, sc.name); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if ran := w.takeRan(); len(ran) > 0 {
		return nil, fmt.Errorf("reading the thread ran %v", ran)
	}
	for i, do := range sc.resume {
		s, err := do(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("action %d: %w", i, err)
		}
		x.After = append(x.After, resumption{*withoutIDs(comparableForm(s, sc.shows())), w.takeRan()})
	}
	return x, x.checkHistory(ctx, t, sc.shows())
}

func withoutIDs(s *snapshot) *snapshot {
	for i := range s.Tasks {
		s.Tasks[i].Namespace = ""
	}
	for i := range s.Pauses {
		s.Pauses[i].ID = ""
	}
	return s
}

// checkHistory returns an error unless the history of a resumed thread still contains all
// entries of x.
func (x *expectation) checkHistory(ctx context.Context, t *graph.Thread, channels []shownChannel) error {
	now, err := history(ctx, t, nil)
	if err != nil {
		return fmt.Errorf("history at the end: %w", err)
	}
	found := map[string]entry{}
	for _, e := range now {
		found[e.ID] = e
	}
	for _, e := range x.History {
		e.State = ""
		if got := found[e.ID]; fmt.Sprint(got) != fmt.Sprint(e) {
			return fmt.Errorf("history at the end: got %v want %v", got, e)
		}
	}
	return nil
}

// sampleSize is the approximate number of checkpoints in a sample of a long history.
const sampleSize = 16

// history returns the history of a thread. If channels is not nil, a sample of the entries
// has digests of their states.
func history(ctx context.Context, t *graph.Thread, channels []shownChannel) ([]entry, error) {
	var list []entry
	for info, err := range t.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return nil, err
		}
		list = append(list, entry{
			ID: info.ID, Parent: info.Parent, Step: info.Step, Source: info.Source, Run: info.Run, Version: info.Version,
			Time: info.Time.UnixMicro(), Metadata: info.Metadata, Next: info.Next,
		})
	}
	if channels == nil {
		return list, nil
	}
	for i := 0; i < len(list); i += 1 + len(list)/sampleSize {
		s, err := t.At(list[i].ID).Snapshot(ctx)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", list[i].ID, err)
		}
		data, err := json.Marshal(comparableForm(s, channels))
		if err != nil {
			return nil, err
		}
		list[i].State = digest(data)
	}
	return list, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// stored returns the ids and contents of the checkpoints of a thread. It returns a sample
// of a long thread.
func stored(ctx context.Context, store checkpoint.Store, thread string) ([]string, error) {
	var keys []checkpoint.Key
	for c, err := range store.List(ctx, checkpoint.Query{Thread: thread, AllNamespaces: true}) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, c.Key)
	}
	var list []string
	for i := 0; i < len(keys); i += 1 + len(keys)/sampleSize {
		c, err := store.Get(ctx, keys[i])
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", keys[i].ID, err)
		}
		list = append(list, fmt.Sprintf("%s %s %s", c.Namespace, c.ID, contents(&c)))
	}
	return list, nil
}

// contents returns the size of a checkpoint and a digest of its data.
func contents(c *checkpoint.Checkpoint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%v\n%v\n", c.Control, c.Changes, c.Snapshot)
	for _, d := range c.Lineage {
		fmt.Fprintf(&b, "%s %s %t %v\n", d.ID, d.Source, d.Snapshot, d.Changes)
	}
	fmt.Fprintf(&b, "%v\n", c.Writes)
	from := "the beginning"
	if len(c.Lineage) > 0 && c.Lineage[0].Snapshot {
		from = "a snapshot"
	}
	return fmt.Sprintf("%d of %s, %d writes, %s", len(c.Lineage), from, len(c.Writes), digest([]byte(b.String())))
}
