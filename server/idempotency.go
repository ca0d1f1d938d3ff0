package server

import (
	"bytes"
	"errors"
	"net/http"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// idempotencyKey is a header with a key that the client chooses, for a request that starts a run or makes a cron. If
// the client repeats the request with the same key, the server starts no second run and makes no second cron.
const idempotencyKey = "Idempotency-Key"

const maxKey = 255 // bytes

// readKey sets the id of the run for a request with a key. It derives the id from the user, the thread and the key, so
// that the store keeps one run for all requests with the key.
func (c *call) readKey(q *runRequest, thread string) error {
	if q.key = c.r.Header.Get(idempotencyKey); q.key == "" {
		return nil
	}
	var err error
	q.id, err = c.idOfKey("run by key", thread, q.key)
	return err
}

// idOfKey returns the id of the object that a request of the user with this key creates.
func (c *call) idOfKey(namespace, thread, key string) (string, error) {
	if len(key) > maxKey {
		return "", invalid("%s has %d bytes; the limit is %d.", idempotencyKey, len(key), maxKey)
	}
	return nameID(namespace, string(encoded([]string{c.user.ID, thread, key}))), nil
}

// startedBefore returns the run that an earlier request with the same key has started, or nil.
func (c *call) startedBefore(q *runRequest) (*activeRun, error) {
	if q.key == "" {
		return nil, nil
	}
	r, err := c.s.o.Runs.Get(c.ctx(), runs.Run, q.id)
	if errors.Is(err, runs.ErrNotFound) {
		return nil, nil
	}
	if err == nil { // check the same access as for the first request
		_, err = c.find(Access{Resource: ResourceThreads, Action: ActionCreateRun, ID: r.Parent, Graph: r.Graph}.forRun(q), runs.Thread)
	}
	if err != nil {
		return nil, err
	}
	a, err := newActiveRun(r, c.s.graphs[r.Graph])
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(encoded(a.data.Request), encoded(q.stored())) {
		return nil, invalid("%s is %q, which another request has used.", idempotencyKey, shortened(q.key))
	}
	return a, nil
}

// startedMeanwhile returns the run of a request with the same key that was received at the same time.
func (c *call) startedMeanwhile(q *runRequest, err error) (*activeRun, error) {
	if q.key == "" || !errors.Is(err, runs.ErrExists) {
		return nil, err
	}
	a, err := c.startedBefore(q)
	if a == nil && err == nil {
		err = &Refusal{Status: http.StatusConflict, Detail: "A request with the same " + idempotencyKey + " has not been answered yet.", RetryAfter: time.Second}
	}
	return a, err
}
