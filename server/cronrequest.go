package server

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/hashicorp/cronexpr"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
)

// A cronBody has the fields of a request for a cron that describe the cron itself. A [runRequest] has the fields that
// describe its runs.
type cronBody struct {
	Schedule *string         `json:"schedule"`
	Timezone *string         `json:"timezone"`
	EndTime  *time.Time      `json:"end_time"`
	Enabled  *bool           `json:"enabled"`
	OnDone   string          `json:"on_run_completed"`
	Metadata json.RawMessage `json:"metadata"`
}

// readCronRequest reads the request for a new cron, or for changes of a cron.
func readCronRequest(data json.RawMessage) (b cronBody, q runRequest, err error) {
	if err := errors.Join(json.Unmarshal(data, &b), json.Unmarshal(data, &q)); err != nil {
		return b, q, invalid("The body cannot be read: %v.", err)
	}
	if !slices.Contains([]string{"", "delete", "keep"}, b.OnDone) {
		return b, q, invalid("on_run_completed is %q; it must be delete or keep.", shortened(b.OnDone))
	}
	return b, q, nil
}

func (c *call) createCron() error {
	data, err := c.raw()
	if err != nil {
		return err
	}
	r, d, err := c.newCron(data)
	if err != nil {
		return err
	}
	key := c.r.Header.Get(idempotencyKey)
	if key == "" {
		r.ID = uuid.New()
		err = c.insertCron(&r, d)
	} else if r.ID, err = c.idOfKey("cron by key", r.Parent, key); err == nil {
		r, err = c.insertOnce(r, d, data, func(found runs.Record) (runs.Record, error) {
			return found, invalid("%s is %q, which another request has used for the cron %s. Change that cron, or delete it first.", idempotencyKey, shortened(key), found.ID)
		})
	}
	if err != nil {
		return err
	}
	return c.sendCron(r)
}

// newCron reads the request for a cron, and checks it. The record has no id yet, and its Data is not set.
func (c *call) newCron(data json.RawMessage) (r runs.Record, d cronData, err error) {
	b, q, err := readCronRequest(data)
	if err != nil {
		return r, d, err
	}
	if b.Schedule == nil {
		return r, d, invalid("schedule is missing.")
	}
	a, thread, err := c.cronTarget(&q)
	if err != nil {
		return r, d, err
	}
	r = runs.Record{Kind: runs.Cron, Parent: thread, Graph: a.Graph, Metadata: orEmpty(q.Metadata)}
	d = cronData{
		Assistant: a.ID, Thread: thread, Schedule: *b.Schedule, Timezone: b.Timezone, EndTime: b.EndTime, Enabled: b.Enabled == nil || *b.Enabled,
		OnDone: cmp.Or(b.OnDone, "delete"), Payload: data, Permissions: c.user.Permissions,
	}
	return r, d, nil
}

// insertOnce stores a cron. If the id exists and was stored for the same data, it returns the existing cron. If the id
// was stored for other data, it calls other.
func (c *call) insertOnce(r runs.Record, d cronData, data json.RawMessage, other func(found runs.Record) (runs.Record, error)) (runs.Record, error) {
	d.Sent = digest(data)
	for range 2 {
		found, err := c.get(runs.Cron, r.ID)
		if isNotFound(err) {
			if err := c.insertCron(&r, d); !errors.Is(err, runs.ErrExists) {
				return r, err
			}
			continue // the cron was made meanwhile
		}
		if err != nil {
			return r, err
		}
		_, before, err := readCron(found)
		if err != nil || before.Sent == d.Sent {
			return found, err
		}
		return other(found)
	}
	return r, runs.ErrExists // the cron belongs to another user, or was deleted meanwhile
}

// digest returns the digest of a request.
func digest(data json.RawMessage) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// insertCron stores a cron and schedules its first run.
func (c *call) insertCron(r *runs.Record, d cronData) error {
	at := now()
	var q runRequest
	if err := json.Unmarshal(d.Payload, &q); err != nil {
		return err
	}
	if err := d.comes(at); err != nil {
		return err
	}
	if d.EndTime != nil && d.Next == nil && d.Enabled {
		return invalid("The schedule %q has no time before end_time, %s.", d.Schedule, d.EndTime.Format(time.RFC3339))
	}
	r.Created, r.Updated, r.Data = at, at, encoded(d)
	f, err := c.allow(Access{Resource: ResourceCrons, Action: ActionCreate, Graph: r.Graph}.forRun(&q))
	if err == nil {
		err = f.stamp(r, c.user)
	}
	if err == nil && r.Owner != c.user.ID {
		d.User = c.user.ID
		r.Data = encoded(d)
	}
	if err == nil {
		err = c.s.o.Runs.Insert(c.ctx(), *r)
	}
	if err != nil {
		return err
	}
	c.s.schedule(r.ID, d.Next)
	return nil
}

// comes plans the next run after a time, as plan does. It returns an error for a schedule without any time.
func (d *cronData) comes(at time.Time) error {
	if err := d.plan(at); err != nil || d.Next != nil {
		return err
	}
	if cronexpr.MustParse(d.Schedule).Next(at.UTC()).IsZero() {
		return invalid("The schedule %q never comes: no month has such a day.", d.Schedule)
	}
	return nil
}

// cronTarget checks the request of a cron's runs, and returns their assistant and the thread in
// the path.
func (c *call) cronTarget(q *runRequest) (a runs.Record, thread string, err error) {
	if err := c.checkCronRequest(q); err != nil {
		return a, "", err
	}
	if c.s.graphs[q.Assistant] == nil && !isUUID(q.Assistant) {
		return a, "", notFound("assistant", q.Assistant)
	}
	if a, err = c.assistantOf(ActionRead, q.Assistant); err != nil {
		return a, "", err
	}
	if c.r.PathValue("thread") != "" {
		if thread, err = c.id("thread"); err == nil {
			_, err = c.threadFor(q, thread, a.Graph)
		}
	}
	if err == nil {
		err = c.checkCronRun(q, a, thread)
	}
	return a, thread, err
}

func (c *call) checkCronRequest(q *runRequest) error {
	if err := q.check(); err != nil || q.Webhook == "" {
		return err
	}
	return c.s.o.Webhooks.check(q.Webhook)
}

// checkCronRun refuses a cron if each of its runs would fail at its beginning, because nobody reads the error when the
// cron fires. If thread is empty, each run begins on a new thread.
func (c *call) checkCronRun(q *runRequest, a runs.Record, thread string) error {
	_, data, err := readAssistant(a)
	if err != nil {
		return err
	}
	if _, err := q.runContext(data); err != nil {
		return err
	}
	g := c.s.graphs[a.Graph]
	if thread == "" {
		switch {
		case q.at() != "":
			return invalid("A checkpoint needs a thread, and each run of this cron begins on a new one. Make the cron with POST /threads/{thread_id}/runs/crons.")
		case q.Command != nil && string(orNull(q.Command.Resume)) != "null":
			return invalid("command.resume answers a question, and each run of this cron begins on a new thread, which has none. Make the cron with POST /threads/{thread_id}/runs/crons.")
		case !q.commands() && string(orNull(q.Input)) == "null":
			return invalid("input is missing, and each run of this cron begins on a new thread, which has nothing to continue. If the graph %q needs no values, the input is {}.", g.name)
		}
	}
	switch {
	case q.commands():
		if _, err := g.readUpdate(q.Command.Update); err != nil {
			return invalid("command.update cannot be read: %v.", err)
		}
		if _, err := readGoto(g, q.Command.Goto); err != nil {
			return invalid("command.goto cannot be read: %v.", err)
		}
	case string(orNull(q.Input)) != "null":
		if _, err := g.readInput(q.Input); err != nil {
			return invalid("input cannot be read: %v.", err)
		}
	}
	return nil
}

func (c *call) raw() (json.RawMessage, error) {
	var data map[string]json.RawMessage
	if err := c.body(&data, true); err != nil {
		return nil, err
	}
	return encoded(data), nil
}

func (c *call) patchCron() error {
	r, err := c.pathCron()
	if err != nil {
		return err
	}
	data, err := c.raw()
	if err != nil {
		return err
	}
	b, _, err := readCronRequest(data)
	if err != nil {
		return err
	}
	var next *time.Time
	r, err = c.s.change(c.ctx(), runs.Cron, r.ID, func(r *runs.Record) error {
		_, d, err := readCron(*r)
		if err != nil {
			return err
		}
		if err := c.changeCron(r, &d, &b, data); err != nil {
			return err
		}
		plan := d.plan
		if b.Schedule != nil {
			plan = d.comes // refuse a new schedule without any time; an older version may have stored one
		}
		if err := plan(now()); err != nil {
			return err
		}
		next, r.Updated, r.Data = d.Next, now(), encoded(d)
		r.Metadata, err = merged(r.Metadata, orEmpty(b.Metadata))
		return err
	})
	if err != nil {
		return err
	}
	c.s.schedule(r.ID, next)
	return c.sendCron(r)
}

// changeCron changes the fields of a cron that are in the request.
func (c *call) changeCron(r *runs.Record, d *cronData, b *cronBody, data json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	_, zone := fields["timezone"]
	_, end := fields["end_time"]
	if b.Schedule != nil {
		d.Schedule = *b.Schedule
	}
	if zone {
		d.Timezone = b.Timezone
	}
	if end {
		d.EndTime = b.EndTime
	}
	if b.Enabled != nil {
		d.Enabled = *b.Enabled
	}
	if b.OnDone != "" {
		d.OnDone = b.OnDone
	}
	return c.changeRuns(r, d, fields)
}

// changeRuns changes the request of a cron's runs. The runs have the rights of the user that made the cron, so other users
// may change only the metadata.
func (c *call) changeRuns(r *runs.Record, d *cronData, fields map[string]json.RawMessage) error {
	var before runRequest
	if err := json.Unmarshal(d.Payload, &before); err != nil {
		return err
	}
	if v, ok := fields["assistant_id"]; ok && !bytes.Equal(v, encoded(before.Assistant)) && !bytes.Equal(v, encoded(d.Assistant)) {
		return refuse(http.StatusUnprocessableEntity, "The assistant of a cron cannot change: make another cron.")
	}
	delete(fields, "assistant_id")
	var err error
	if v, ok := fields["metadata"]; ok {
		if err = object("metadata", v); err == nil {
			fields["metadata"], err = merged(before.Metadata, v)
		}
		if err != nil {
			return err
		}
	}
	var q runRequest
	payload, err := merged(d.Payload, encoded(fields))
	if err == nil {
		err = json.Unmarshal(payload, &q)
	}
	if err != nil {
		return err
	}
	d.Payload = payload
	before.Metadata = q.Metadata
	if bytes.Equal(encoded(q), encoded(before)) {
		return nil
	}
	if c.s.o.Auth != nil && c.user.ID != cmp.Or(d.User, r.Owner) {
		return refuse(http.StatusForbidden, "Another user has made this cron, and its runs have the rights of this user. You can change when it runs, "+
			"but not what its runs do: make a cron of your own.")
	}
	d.Permissions = c.user.Permissions
	return c.checkChangedRuns(r, &q)
}

// checkChangedRuns makes the checks of a new cron for the changed request of a cron's runs.
func (c *call) checkChangedRuns(r *runs.Record, q *runRequest) error {
	if err := c.checkCronRequest(q); err != nil {
		return err
	}
	a, err := c.assistantOf(ActionRead, q.Assistant)
	if err == nil {
		_, err = c.find(Access{Resource: ResourceCrons, Action: ActionUpdate, ID: r.ID, Graph: a.Graph}.forRun(q), runs.Cron)
	}
	if err == nil && r.Parent != "" {
		_, err = c.threadFor(q, r.Parent, a.Graph)
	}
	if err == nil {
		err = c.checkCronRun(q, a, r.Parent)
	}
	return err
}
