package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
)

// The statuses of a run.
const (
	runPending     = "pending"
	runRunning     = "running"
	runSuccess     = "success"
	runError       = "error"
	runInterrupted = "interrupted"
	runTimeout     = "timeout"
)

// The actions of a new run if its thread is busy.
const (
	multitaskReject    = "reject"
	multitaskEnqueue   = "enqueue"
	multitaskInterrupt = "interrupt"
	multitaskRollback  = "rollback"
)

// A run is a run as clients see it.
type run struct {
	ID        string          `json:"run_id"`
	Thread    string          `json:"thread_id"`
	Assistant string          `json:"assistant_id"`
	Created   time.Time       `json:"created_at"`
	Updated   time.Time       `json:"updated_at"`
	Status    string          `json:"status"`
	Metadata  json.RawMessage `json:"metadata"`
	Kwargs    json.RawMessage `json:"kwargs"`
	Multitask string          `json:"multitask_strategy"`
}

// runData has the fields of a run that searches do not use.
type runData struct {
	Assistant string
	Request   runRequest
	// Owner is the owner of the thread, if the user who started the run is not the owner.
	Owner *string `json:",omitempty"`
	// Context has the values that nodes read with [Context].
	Context json.RawMessage
	// After is the time before which the run does not begin.
	After time.Time `json:",omitzero"`
	// Attempt is the number of times that the run was started. Base is the newest checkpoint before its first start.
	// Pending is the number of pending writes of that checkpoint, if the run has a command.
	Attempt int
	Base    string `json:",omitempty"`
	Pending int    `json:",omitempty"`
	Started bool   `json:",omitempty"`
	// Found has the pending writes before the first start, which a rollback restores. It is removed when the run has
	// ended.
	Found []foundWrites `json:",omitempty"`
	// Before is the number of the event before the first one of the run, if the run has begun.
	Before *int64 `json:",omitempty"`
	// Worker is the token of the server that executes the run, if servers share a queue.
	Worker string `json:",omitempty"`
	// Deaths counts the servers that died while they executed the run at the checkpoint DiedAt.
	Deaths int    `json:",omitempty"`
	DiedAt string `json:",omitempty"`
	// Rescued is the number of servers that had died with the job when the run was last begun.
	Rescued int `json:",omitempty"`
	// Temporary says that the thread is deleted after the run. Repeatable says that the request or the job that has
	// started the run may be repeated, and must then find the run. Cron says that a cron has started the run: its thread
	// is kept if the run waits or has failed.
	Temporary  bool `json:",omitempty"`
	Repeatable bool `json:",omitempty"`
	Cron       bool `json:",omitempty"`
	// Cancel is the way in which a client has cancelled the run: interrupt or rollback. If the server dies, the next
	// server ends the run in this way.
	Cancel string `json:",omitempty"`
	// Trace is the trace of the request; see [Options.SaveTrace].
	Trace      map[string]string `json:",omitempty"`
	Began      *time.Time        `json:",omitempty"`
	Ended      *time.Time        `json:",omitempty"`
	Checkpoint string            `json:",omitempty"` // the checkpoint at which the run ended
	Error      *failure          `json:",omitempty"`
}

// encoded returns the data in its stored form, or a [runs.ErrInvalid].
func (d *runData) encoded() (json.RawMessage, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("the run cannot be encoded and %w: %w", runs.ErrInvalid, err)
	}
	return data, nil
}

func readRun(r *runs.Record) (*runData, error) {
	d := &runData{}
	err := json.Unmarshal(r.Data, d)
	return d, err
}

// shownRun returns a run as clients see it.
func shownRun(r *runs.Record, d *runData) run {
	return run{
		ID: r.ID, Thread: r.Parent, Assistant: d.Assistant, Created: r.Created, Updated: r.Updated, Status: r.Status,
		Metadata: r.Metadata, Multitask: d.Request.Multitask, Kwargs: encoded(&d.Request),
	}
}

// newRun makes the record of a run of a thread. It creates the thread if the request says so.
func (c *call) newRun(q *runRequest, thread string) (runs.Record, *served, error) {
	if err := q.check(); err != nil {
		return runs.Record{}, nil, err
	}
	if q.Webhook != "" {
		if err := c.s.o.Webhooks.check(q.Webhook); err != nil {
			return runs.Record{}, nil, err
		}
	}
	a, err := c.assistantOf(ActionRead, q.Assistant)
	if err != nil {
		return runs.Record{}, nil, err
	}
	_, data, err := readAssistant(a)
	if err != nil {
		return runs.Record{}, nil, err
	}
	d := runData{Assistant: a.ID, Request: q.stored(), Temporary: thread == "" && q.OnCompletion != "keep", Repeatable: q.id != "", Cron: q.cron}
	if d.Context, err = q.runContext(data); err != nil {
		return runs.Record{}, nil, err
	}
	if save := c.s.o.SaveTrace; save != nil {
		d.Trace = save(c.r)
	}
	g := c.s.graphs[a.Graph]
	meta, err := q.metadata(a.ID, g.name, data)
	if err != nil {
		return runs.Record{}, nil, err
	}
	if thread, err = c.threadForRun(q, thread, a.ID, g); err != nil {
		return runs.Record{}, nil, err
	}
	if err := c.checkAnswers(q, thread, g); err != nil {
		return runs.Record{}, nil, err
	}
	if owner := ThreadOwner(c.ctx()); owner != c.user.ID {
		d.Owner = &owner
	}
	at := now()
	if q.AfterSeconds > 0 {
		d.After = at.Add(time.Duration(q.AfterSeconds * float64(time.Second)))
	}
	r := runs.Record{
		Kind: runs.Run, ID: cmp.Or(q.id, uuid.New()), Parent: thread, Owner: c.user.ID, Graph: g.name, Status: runPending, Created: at, Updated: at,
		Metadata: meta,
	}
	r.Data, err = d.encoded()
	return r, g, err
}

// threadForRun returns the id of the thread of a run. For an empty id, it creates a thread. If the thread of an id does
// not exist, it creates the thread if the request says so.
func (c *call) threadForRun(q *runRequest, id, assistant string, g *served) (string, error) {
	meta := encoded(map[string]string{"assistant_id": assistant, "graph_id": g.name})
	named := id != ""
	if named {
		err := c.useThread(q, id, g, meta)
		if !isNotFound(err) || q.IfNotExists != "create" {
			return id, err
		}
	} else {
		if _, err := c.allow(Access{Resource: ResourceThreads, Action: ActionCreateRun, Graph: g.name}.forRun(q)); err != nil {
			return "", err
		}
		id = uuid.New()
	}
	temporary := q.OnCompletion != "keep" && !named
	t := newThread(id, meta)
	t.Graph = g.name
	err := c.insertThread(&t, temporary, nil)
	if errors.Is(err, runs.ErrExists) { // the thread belongs to another user, or was created meanwhile
		return id, c.useThread(q, id, g, meta)
	}
	return id, err
}

// useThread stores the graph of a run in its thread, and meta in the metadata, unless the thread already has them.
func (c *call) useThread(q *runRequest, id string, g *served, meta json.RawMessage) error {
	t, err := c.threadFor(q, id, g.name)
	if err != nil {
		return err
	}
	use := func(r *runs.Record) (err error) {
		r.Graph = g.name
		r.Metadata, err = merged(r.Metadata, meta)
		return err
	}
	used := t
	if err := use(&used); err != nil || used.Graph == t.Graph && bytes.Equal(used.Metadata, t.Metadata) {
		return err
	}
	_, err = c.s.change(c.ctx(), runs.Thread, id, use)
	return err
}

// threadFor returns a thread, if the user may start the run of a request on it.
func (c *call) threadFor(q *runRequest, id, graph string) (runs.Record, error) {
	t, err := c.find(Access{Resource: ResourceThreads, Action: ActionCreateRun, ID: id, Graph: graph}.forRun(q), runs.Thread)
	if err == nil && q.Multitask == multitaskRollback {
		err = c.mayRollBack("", id)
	}
	return t, err
}

// start stores a run and puts it into the queue of its thread. For a repeated request, it returns the existing run.
func (c *call) start(q *runRequest, thread string) (a *activeRun, err error) {
	err = aside(func() (err error) {
		a, err = c.startOnce(q, thread)
		return err
	})
	return a, err
}

func (c *call) startOnce(q *runRequest, thread string) (*activeRun, error) {
	if a, err := c.startedBefore(q); a != nil || err != nil {
		return a, err
	}
	if c.s.o.Auth != nil {
		if err := c.roomFor(1); err != nil {
			return nil, err
		}
	}
	r, g, err := c.newRun(q, thread)
	var a *activeRun
	if err == nil {
		a, err = c.s.startRun(c.ctx(), r, g)
	}
	if err != nil && thread == "" && r.Parent != "" { // the thread was made for the run
		err = errors.Join(err, c.s.o.Runs.Delete(context.WithoutCancel(c.ctx()), runs.Thread, r.Parent))
	}
	if err != nil {
		return c.startedMeanwhile(q, err)
	}
	c.release()
	return a, nil
}

// startRun stores a run and puts it into the queue of its thread.
func (s *Server) startRun(ctx context.Context, r runs.Record, g *served) (*activeRun, error) {
	a, err := newActiveRun(r, g)
	if err != nil {
		return nil, fmt.Errorf("the run cannot be read again and %w: %w", runs.ErrInvalid, err)
	}
	if err := s.enqueue(ctx, a, &r); err != nil {
		return nil, err
	}
	return a, nil
}

// roomFor returns an error if the user may not start this number of runs.
func (c *call) roomFor(more int) error {
	if c.s.o.Queue == nil {
		return c.s.accounts.room(c.user.ID, more)
	}
	q := runs.Query{Kind: runs.Run, Statuses: unfinishedStatuses, Owner: &c.user.ID, Limit: 1}
	_, n, err := c.s.o.Runs.Search(c.ctx(), q)
	if err == nil && n+more > c.s.o.Limits.UserRuns {
		err = tooMany(time.Second, "The user has %d runs that have not ended; the limit is %d.", n, c.s.o.Limits.UserRuns)
	}
	return err
}

// runBody reads the request for a run, and the thread in the path.
func (c *call) runBody() (q *runRequest, thread string, err error) {
	if c.r.PathValue("thread") != "" {
		if thread, err = c.id("thread"); err != nil {
			return nil, "", err
		}
	}
	q = &runRequest{}
	if err := c.body(q, true); err != nil {
		return nil, "", err
	}
	return q, thread, c.readKey(q, thread)
}

// located sends the path of a run, because clients read the id of the run from Content-Location.
func (c *call) located(a *activeRun, stateless bool, suffix string) {
	path := fmt.Sprintf("/threads/%s/runs/%s", a.thread, a.id)
	if stateless {
		path = "/runs/" + a.id
	}
	c.w.Header().Set("Content-Location", path)
	if suffix != "" {
		c.w.Header().Set("Location", path+suffix)
	}
}

func (c *call) createRun() error {
	q, thread, err := c.runBody()
	if err != nil {
		return err
	}
	a, err := c.start(q, thread)
	if err != nil {
		return err
	}
	c.located(a, thread == "", "")
	return c.send(shownRun(&a.record, a.asked))
}

// createRuns starts several runs, each on a new thread.
func (c *call) createRuns() error {
	var list []runRequest
	if err := c.list(&list); err != nil {
		return err
	}
	if c.s.o.Auth != nil {
		if err := c.roomFor(len(list)); err != nil {
			return err
		}
	}
	out := []run{}
	for i := range list {
		a, err := c.start(&list[i], "")
		if err != nil {
			return err
		}
		out = append(out, shownRun(&a.record, a.asked))
	}
	return c.send(out)
}

func (c *call) waitRun() error {
	q, thread, err := c.runBody()
	if err != nil {
		return err
	}
	a, err := c.start(q, thread)
	if err != nil {
		return err
	}
	c.located(a, false, "/join")
	return c.join(a.thread, a.id, q.OnDisconnect == "cancel")
}

func (c *call) streamRun() error {
	a, v, err := c.startStream()
	if err != nil {
		return err
	}
	return c.stream(a, v, whole(0), a.asked.Request.OnDisconnect == "cancel")
}

// startStream starts a run for a stream. It is a separate function so that the goroutine that waits in the stream keeps a
// small stack.
func (c *call) startStream() (*activeRun, *view, error) {
	q, thread, err := c.runBody()
	if err != nil {
		return nil, nil, err
	}
	a, err := c.start(q, thread)
	if err != nil {
		return nil, nil, err
	}
	c.located(a, thread == "", "/stream")
	return a, newView(q, thread == ""), nil
}

// pathRun returns the run in the path.
func (c *call) pathRun() (runs.Record, error) {
	thread := c.r.PathValue("thread")
	if thread != "" {
		var err error
		if thread, err = c.id("thread"); err != nil {
			return runs.Record{}, err
		}
	}
	id, err := c.id("run")
	if err != nil {
		return runs.Record{}, err
	}
	r, err := c.get(runs.Run, id)
	if err == nil && thread != "" && r.Parent != thread {
		return r, notFound("run", id)
	}
	if err == nil && c.flag("cancel_on_disconnect") && c.action == ActionRead {
		_, err = c.getFor(ActionUpdate, runs.Run, id)
	}
	return r, err
}

func (c *call) getRun() error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	d, err := readRun(&r)
	if err != nil {
		return err
	}
	return c.send(shownRun(&r, d))
}

func (c *call) listRuns() error {
	id, err := c.id("thread")
	if err != nil {
		return err
	}
	t, err := c.find(Access{Resource: ResourceRuns, Action: ActionSearch, ID: id}, runs.Thread)
	if err != nil {
		return err
	}
	limit, err := c.number("limit", 10)
	if err != nil {
		return err
	}
	offset, err := c.number("offset", 0)
	if err != nil {
		return err
	}
	values := c.r.URL.Query()
	p := page{Limit: &limit, Offset: offset, Select: values["select"]}
	q := runs.Query{Kind: runs.Run, Parent: t.ID}
	if err := p.query(&q, nil); err != nil {
		return err
	}
	if status := values.Get("status"); status != "" {
		q.Statuses = []string{status}
	}
	found, _, err := c.s.o.Runs.Search(c.ctx(), q)
	if err != nil {
		return err
	}
	out := []any{}
	for i := range found {
		d, err := readRun(&found[i])
		if err != nil {
			return err
		}
		selected, err := chosen(shownRun(&found[i], d), p.Select)
		if err != nil {
			return err
		}
		out = append(out, selected)
	}
	return c.send(out)
}

func (c *call) deleteRun() error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	if r.Status == runPending || r.Status == runRunning {
		return refuse(http.StatusConflict, "The run %s has not ended. Cancel it first.", r.ID)
	}
	if err := c.s.o.Runs.Delete(c.ctx(), runs.Run, r.ID); err != nil {
		return err
	}
	return c.sendNothing()
}

// joinRun waits for the end of a run and sends its final values.
func (c *call) joinRun() error {
	id, err := c.id("run")
	if err != nil {
		return err
	}
	thread, err := c.id("thread")
	if err != nil {
		return err
	}
	if _, err := c.pathRun(); err != nil {
		return err
	}
	c.located(&activeRun{thread: thread, id: id}, false, "/join")
	return c.join(thread, id, c.flag("cancel_on_disconnect"))
}

// list decodes the JSON array in the body of the request.
func (c *call) list(v any) error {
	data, err := c.read()
	if err != nil {
		return err
	}
	if !isArray(data) {
		return invalid("The body is not a JSON array.")
	}
	if err := json.Unmarshal(data, v); err != nil {
		return invalid("The body cannot be read: %v.", err)
	}
	return nil
}
