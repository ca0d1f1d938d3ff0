package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/cronexpr"

	"github.com/weft-go/weft/server/runs"
)

// A cron is a schedule of runs as clients see it.
type cron struct {
	ID        string          `json:"cron_id"`
	Assistant string          `json:"assistant_id"`
	Thread    *string         `json:"thread_id"`
	Schedule  string          `json:"schedule"`
	Timezone  *string         `json:"timezone"`
	EndTime   *time.Time      `json:"end_time"`
	Enabled   bool            `json:"enabled"`
	OnDone    *string         `json:"on_run_completed"` // null for the cron of a thread, since the thread is kept
	Metadata  json.RawMessage `json:"metadata"`
	Payload   json.RawMessage `json:"payload"`
	Next      *time.Time      `json:"next_run_date"`
	Created   time.Time       `json:"created_at"`
	Updated   time.Time       `json:"updated_at"`
}

// cronData is the part of a cron that is not searched.
type cronData struct {
	Assistant, Thread string
	Schedule          string
	Timezone          *string
	EndTime           *time.Time
	Enabled           bool
	OnDone            string
	Payload           json.RawMessage
	Next              *time.Time
	// Sent is the digest of the request that made the cron, if it had an Idempotency-Key, or of the last call of
	// [Server.PutCron].
	Sent string `json:",omitempty"`
	// User is the user that made the cron, if another user owns it.
	User        string   `json:",omitempty"`
	Permissions []string // of the user that made the cron
}

func readCron(r runs.Record) (cron, cronData, error) {
	var d cronData
	err := json.Unmarshal(r.Data, &d)
	return cron{
		ID: r.ID, Assistant: d.Assistant, Thread: optional(d.Thread), Schedule: d.Schedule, Timezone: d.Timezone, EndTime: d.EndTime,
		Enabled: d.Enabled, OnDone: d.onDone(), Metadata: r.Metadata, Payload: d.Payload, Next: d.Next, Created: r.Created, Updated: r.Updated,
	}, d, err
}

// onDone returns the value of on_run_completed as clients read it. It is nil if the cron has a thread.
func (d *cronData) onDone() *string {
	if d.Thread != "" {
		return nil
	}
	return optional(d.OnDone)
}

// plan sets Next to the time of the first run after a time, or to nil if there is none.
func (d *cronData) plan(after time.Time) error {
	zone := time.UTC
	if d.Timezone != nil && *d.Timezone != "" {
		var err error
		if zone, err = time.LoadLocation(*d.Timezone); err != nil {
			return invalid("There is no time zone %q; names are those of the IANA data base, for instance Europe/Berlin.", *d.Timezone)
		}
	}
	if fields := len(strings.Fields(d.Schedule)); fields != 5 && !strings.HasPrefix(d.Schedule, "@") {
		return invalid("The schedule %q has %d fields; it needs five: minute, hour, day of the month, month, day of the week.", d.Schedule, fields)
	}
	schedule, err := cronexpr.Parse(d.Schedule)
	if err != nil {
		return invalid("The schedule %q cannot be read: %v.", d.Schedule, err)
	}
	next := schedule.Next(after.In(zone)).UTC()
	d.Next = &next
	if next.IsZero() || !d.Enabled || d.EndTime != nil && next.After(*d.EndTime) {
		d.Next = nil
	}
	return nil
}

func (c *call) sendCron(r runs.Record) error {
	v, _, err := readCron(r)
	if err != nil {
		return err
	}
	return c.send(v)
}

func (c *call) pathCron() (runs.Record, error) {
	id, err := c.id("cron")
	if err != nil {
		return runs.Record{}, err
	}
	return c.get(runs.Cron, id)
}

func (c *call) deleteCron() error {
	r, err := c.pathCron()
	if err != nil {
		return err
	}
	if err := c.s.o.Runs.Delete(c.ctx(), runs.Cron, r.ID); err != nil {
		return err
	}
	c.s.schedule(r.ID, nil)
	return c.sendNothing()
}

type cronSearch struct {
	page
	Assistant string          `json:"assistant_id"`
	Thread    string          `json:"thread_id"`
	Enabled   *bool           `json:"enabled"`
	Metadata  json.RawMessage `json:"metadata"`
}

func (c *call) foundCrons() ([]cron, cronSearch, error) {
	var b cronSearch
	if err := c.body(&b, false); err != nil {
		return nil, b, err
	}
	if err := object("metadata", b.Metadata); err != nil {
		return nil, b, err
	}
	q := runs.Query{Kind: runs.Cron, Parent: b.Thread, Metadata: orEmpty(b.Metadata), Reverse: true}
	found, _, err := c.search(q)
	if err != nil {
		return nil, b, err
	}
	out := []cron{}
	for _, r := range found {
		v, _, err := readCron(r)
		if err != nil {
			return nil, b, err
		}
		if (b.Assistant == "" || v.Assistant == b.Assistant) && (b.Enabled == nil || v.Enabled == *b.Enabled) {
			out = append(out, v)
		}
	}
	return out, b, nil
}

func (c *call) searchCrons() error {
	found, b, err := c.foundCrons()
	if err != nil {
		return err
	}
	q := runs.Query{}
	if err := b.query(&q, map[string]runs.Order{"created_at": runs.ByCreated, "cron_id": runs.ByID, "updated_at": runs.ByUpdated, "next_run_date": runs.ByCreated}); err != nil {
		return err
	}
	rest := found[min(q.Offset, len(found)):]
	rest = rest[:min(q.Limit, len(rest))]
	b.headers(c, q, len(found), len(rest))
	return c.send(rest)
}

func (c *call) countCrons() error {
	found, _, err := c.foundCrons()
	if err != nil {
		return err
	}
	return c.send(len(found))
}

// resumeCrons schedules the stored crons.
func (s *Server) resumeCrons() error {
	found, _, err := s.o.Runs.Search(s.ctx, runs.Query{Kind: runs.Cron})
	if err != nil {
		return err
	}
	for _, r := range found {
		_, d, err := readCron(r)
		if err != nil {
			return err
		}
		s.schedule(r.ID, d.Next)
	}
	return nil
}

// schedule replaces the timer of a cron, or stops it if next is nil. With Options.Queue, it adds a job instead.
func (s *Server) schedule(id string, next *time.Time) {
	if s.o.Queue != nil {
		s.scheduleShared(id, next)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.crons[id]; stop != nil {
		stop()
		delete(s.crons, id)
	}
	if next == nil || s.closed {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.crons[id] = cancel
	s.running.Go(func() {
		timer := time.NewTimer(time.Until(*next))
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
			s.fire(ctx, id)
		}
	})
}

// fire starts the run of a cron and plans the next one.
func (s *Server) fire(ctx context.Context, id string) {
	var d cronData
	r, err := s.change(ctx, runs.Cron, id, func(r *runs.Record) error {
		var err error
		if _, d, err = readCron(*r); err != nil {
			return err
		}
		err = d.plan(now())
		r.Updated, r.Data = now(), encoded(d)
		return err
	})
	if err == nil {
		err = s.startCron(ctx, r, &d, "")
	}
	if err != nil && ctx.Err() == nil {
		s.o.Logger.Error("server: a cron failed", "cron", id, "error", err)
	}
	if !errors.Is(err, runs.ErrNotFound) {
		s.schedule(id, d.Next)
	}
}

// scheduleShared adds the job of a cron. The job of an older schedule does nothing.
func (s *Server) scheduleShared(id string, next *time.Time) {
	if next == nil {
		return
	}
	if err := s.o.Queue.Add(s.ctx, runs.Job{Kind: runs.JobCron, Key: id, At: *next}); err != nil && s.ctx.Err() == nil {
		s.o.Logger.Error("server: a cron has no job yet", "cron", id, "error", err) // a sweep will add it
	}
}

// lateCron is the time for which a server tries to start a run of a cron.
const lateCron = time.Minute

// fireAt starts the run of a cron for a time, and plans the next one. If a server dies in between, another one continues:
// the id of the run depends on the time, so the run cannot start twice.
func (s *Server) fireAt(ctx context.Context, id string, at time.Time) error {
	r, err := s.o.Runs.Get(ctx, runs.Cron, id)
	if errors.Is(err, runs.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, d, err := readCron(r)
	if err != nil || d.Next == nil || !d.Next.Equal(at) {
		return err
	}
	if err := s.startFired(ctx, r, &d, at); err != nil {
		return err
	}
	_, err = s.change(ctx, runs.Cron, id, func(r *runs.Record) error {
		if _, d, err = readCron(*r); err != nil || d.Next == nil || !d.Next.Equal(at) {
			return err // the cron was changed meanwhile
		}
		err := d.plan(now())
		r.Updated, r.Data = now(), encoded(d)
		return err
	})
	if errors.Is(err, runs.ErrNotFound) {
		return nil
	}
	if err == nil {
		s.scheduleShared(id, d.Next)
	}
	return err
}

// startFired starts the run of a cron for a time, unless it has been started. If it returns an error, the queue tries
// the job again.
func (s *Server) startFired(ctx context.Context, r runs.Record, d *cronData, at time.Time) error {
	late := time.Since(at) >= lateCron
	if r.Graph != "" && s.graphs[r.Graph] == nil && !late { // a server that has the graph starts the run
		return &runs.HandOverError{After: graphPause}
	}
	err := s.startCron(ctx, r, d, nameID(r.ID, at.UTC().Format(time.RFC3339Nano)))
	if err == nil || errors.Is(err, runs.ErrExists) {
		return nil
	}
	if _, refused := errors.AsType[*Refusal](err); !refused && !late {
		return err
	}
	s.o.Logger.Error("server: a cron failed", "cron", r.ID, "error", err)
	return nil
}

// startCron starts the run of a cron. The run gets the id, or a new one if id is empty.
func (s *Server) startCron(ctx context.Context, r runs.Record, d *cronData, id string) error {
	var q runRequest
	if err := json.Unmarshal(d.Payload, &q); err != nil {
		return err
	}
	q.OnCompletion, q.id, q.cron = d.OnDone, id, true
	user := User{ID: cmp.Or(d.User, r.Owner), Permissions: d.Permissions}
	request, err := http.NewRequestWithContext(withUser(ctx, user.ID), http.MethodPost, "/runs", nil)
	if err != nil {
		return err
	}
	c := &call{s: s, r: request, user: user}
	_, err = c.start(&q, d.Thread)
	return err
}
