package main

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"
)

// retryOf is the key in the metadata of a run that repeats a lost one. Its value is the id of the lost run.
const retryOf = "weft_retry_of"

// A lostRun is a run that failed before it stored a checkpoint. No checkpoint has its input, so a run that resumes the
// thread does not process this input.
type lostRun struct {
	ID       string                     `json:"run_id"`
	Status   string                     `json:"status"`
	Created  time.Time                  `json:"created_at"`
	Metadata map[string]json.RawMessage `json:"metadata"`
	Request  map[string]json.RawMessage `json:"kwargs"`
}

// lost returns the lost runs among the last runs of a thread, oldest first. It leaves out runs that were already repeated.
func (t *servedThreads) lost(ctx context.Context, thread string) ([]lostRun, error) {
	var list, out []lostRun
	if err := t.c.call(ctx, http.MethodGet, path(thread)+"/runs?limit=100", nil, &list); err != nil {
		return nil, err
	}
	again := map[string]bool{}
	for i := range list {
		r, other := &list[i], ""
		_ = json.Unmarshal(r.Metadata[retryOf], &other) // it may be missing
		again[other] = true
		if r.Status != "error" {
			if other == "" {
				break
			}
			continue
		}
		if stored, err := t.hasStored(ctx, thread, r); err != nil {
			return nil, err
		} else if stored {
			break
		}
		if !again[r.ID] && isSet(r.Request["input"]) && !isSet(r.Request["command"]) {
			out = append(out, *r)
		}
	}
	slices.Reverse(out)
	return out, nil
}

func isSet(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

// clockSkew is the largest expected difference between the clocks of servers that share a queue.
const clockSkew = time.Minute

// hasStored reports whether a run has stored a checkpoint.
func (t *servedThreads) hasStored(ctx context.Context, thread string, r *lostRun) (bool, error) {
	for s, err := range t.history(ctx, thread, 0) {
		if err != nil || s.Run == r.ID {
			return true, err
		}
		if s.Time.Before(r.Created.Add(-clockSkew)) {
			break
		}
	}
	return false, nil
}

// retry starts a run with the request of a lost run. Repeated calls for the same lost run start only one run.
func (t *servedThreads) retry(ctx context.Context, thread string, r *lostRun) (runView, error) {
	request, meta := maps.Clone(r.Request), map[string]json.RawMessage{}
	_ = json.Unmarshal(request["metadata"], &meta) // it may be missing
	var out runView
	var err error
	if meta[retryOf], err = json.Marshal(r.ID); err != nil {
		return out, err
	}
	if request["metadata"], err = json.Marshal(meta); err != nil {
		return out, err
	}
	delete(request, "after_seconds")
	request["multitask_strategy"] = json.RawMessage(`"enqueue"`)
	err = t.c.callWithKey(ctx, "weft retry "+r.ID, http.MethodPost, path(thread)+"/runs", request, &out)
	return out, err
}
