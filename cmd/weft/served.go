package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// servedThreads are the threads of a server.
type servedThreads struct{ c *client }

func (t *servedThreads) close() error { return t.c.close() }

// A servedThread is a thread as the server sends it.
type servedThread struct {
	ID         string                     `json:"thread_id"`
	Updated    time.Time                  `json:"updated_at"`
	Metadata   map[string]json.RawMessage `json:"metadata"`
	Status     string                     `json:"status"`
	Values     map[string]json.RawMessage `json:"values"`
	Interrupts map[string][]struct {
		ID    string          `json:"id"`
		Value json.RawMessage `json:"value"`
	} `json:"interrupts"`
}

func (t *servedThread) row() threadRow {
	row := threadRow{ID: t.ID, Status: cmp.Or(statuses[t.Status], t.Status), Updated: t.Updated.UTC()}
	_ = json.Unmarshal(t.Metadata["graph_id"], &row.Graph) // it may be missing
	return row
}

const serverPage = 100

// list yields the threads that the filter selects, beginning with the most recently changed one.
func (t *servedThreads) list(ctx context.Context, f *threadFilter) iter.Seq2[threadRow, error] {
	return func(yield func(threadRow, error) bool) {
		body := map[string]any{"limit": serverPage, "sort_by": "updated_at", "select": []string{"thread_id", "updated_at", "metadata", "status"}}
		for theirs, ours := range statuses {
			if len(f.statuses) == 1 && f.statuses[0] == ours {
				body["status"] = theirs
			}
		}
		for offset := 0; ; offset += serverPage {
			body["offset"] = offset
			var page []servedThread
			if err := t.c.call(ctx, http.MethodPost, "/threads/search", body, &page); err != nil {
				yield(threadRow{}, err)
				return
			}
			for i := range page {
				row := page[i].row()
				selected, err := t.selects(ctx, f, &row)
				if err != nil {
					yield(row, err)
					return
				}
				if selected && !yield(row, nil) {
					return
				}
			}
			if len(page) < serverPage {
				return
			}
		}
	}
}

// selects reports whether a filter selects a thread. It reads the state only if the filter has a node, and does not select
// a thread that was deleted meanwhile.
func (t *servedThreads) selects(ctx context.Context, f *threadFilter, row *threadRow) (bool, error) {
	if f.node == "" {
		return f.has(row), nil
	}
	rest := *f
	rest.node = ""
	if !rest.has(row) {
		return false, nil
	}
	st, err := t.readState(ctx, row.ID, "")
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	row.Nodes = unique(st.Next)
	return f.has(row), nil
}

// path returns the path of a thread on a server.
func path(thread string) string { return "/threads/" + url.PathEscape(thread) }

// A servedState is the state of a thread as the server sends it.
type servedState struct {
	Values   map[string]json.RawMessage `json:"values"`
	Next     []string                   `json:"next"`
	ID       string                     `json:"checkpoint_id"`
	Metadata map[string]json.RawMessage `json:"metadata"`
	Tasks    []struct {
		ID         string  `json:"id"`
		Name       string  `json:"name"`
		Error      *string `json:"error"`
		Interrupts []struct {
			ID    string          `json:"id"`
			Value json.RawMessage `json:"value"`
		} `json:"interrupts"`
	} `json:"tasks"`
}

// state returns the state of a thread at a checkpoint.
func (t *servedThreads) state(ctx context.Context, thread, at string) (*servedState, error) {
	st, err := t.readState(ctx, thread, at)
	if isMissing(err) {
		err = missing(thread, at)
	}
	return st, err
}

// readState is like state, but returns the server's own error if the thread or checkpoint does not exist.
func (t *servedThreads) readState(ctx context.Context, thread, at string) (*servedState, error) {
	where := path(thread) + "/state"
	if at != "" {
		where += "/" + url.PathEscape(at)
	}
	var st servedState
	err := t.c.call(ctx, http.MethodGet, where, nil, &st)
	return &st, err
}

func (t *servedThreads) values(ctx context.Context, thread, at string) (map[string]json.RawMessage, error) {
	st, err := t.state(ctx, thread, at)
	return st.Values, err
}

func (t *servedThreads) show(ctx context.Context, id string) (*threadView, error) {
	var th servedThread
	err := t.c.call(ctx, http.MethodGet, path(id), nil, &th)
	if isMissing(err) {
		err = missing(id, "")
	}
	if err != nil {
		return nil, err
	}
	st, err := t.state(ctx, id, "")
	if err != nil {
		return nil, err
	}
	v := &threadView{threadRow: th.row(), Checkpoint: st.ID, Metadata: th.Metadata, Values: st.Values, Tasks: []taskView{}, Questions: []question{}}
	v.Nodes = unique(st.Next)
	if text, ok := st.Metadata["step"]; ok {
		n, err := strconv.Atoi(string(text))
		if err != nil {
			return nil, fmt.Errorf("the server sends the step %s", text)
		}
		v.Step = &n
	}
	_ = json.Unmarshal(st.Metadata["run_id"], &v.Run) // it may be missing
	var owner struct {
		User string `json:"user_id"`
	}
	if err := t.c.call(ctx, http.MethodGet, "/weft"+path(id)+"/timeline?limit=1", nil, &owner); err != nil {
		return nil, err
	}
	v.User = owner.User
	for _, task := range st.Tasks {
		text := ""
		if task.Error != nil {
			text = *task.Error
		}
		v.Tasks = append(v.Tasks, taskView{ID: task.ID, Node: task.Name, Error: text})
		for _, q := range task.Interrupts {
			v.Questions = append(v.Questions, question{ID: q.ID, Node: task.Name, Prompt: q.Value})
		}
	}
	return v, nil
}

func (t *servedThreads) history(ctx context.Context, id string, limit int) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		left, before := limit, ""
		for {
			ask := serverPage
			if limit > 0 {
				ask = min(ask, left)
			}
			q := url.Values{"limit": {strconv.Itoa(ask)}}
			if before != "" {
				q.Set("before", before)
			}
			var page struct {
				Checkpoints []struct {
					step
					Run string `json:"run_id"`
				} `json:"checkpoints"`
			}
			err := t.c.call(ctx, http.MethodGet, "/weft"+path(id)+"/timeline?"+q.Encode(), nil, &page)
			if isMissing(err) {
				err = missing(id, "")
			}
			if err != nil {
				yield(step{}, err)
				return
			}
			for _, s := range page.Checkpoints {
				s.step.Run = s.Run
				if !yield(s.step, nil) {
					return
				}
				before = s.ID
			}
			if left -= len(page.Checkpoints); len(page.Checkpoints) < ask || limit > 0 && left <= 0 {
				return
			}
		}
	}
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
