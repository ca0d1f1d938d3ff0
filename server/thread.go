package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/stored"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
)

// The statuses of a thread.
const (
	threadIdle        = "idle"
	threadBusy        = "busy"
	threadInterrupted = "interrupted"
	threadError       = "error"
)

// A thread is a thread as clients see it.
type thread struct {
	ID         string                 `json:"thread_id"`
	Created    time.Time              `json:"created_at"`
	Updated    time.Time              `json:"updated_at"`
	State      time.Time              `json:"state_updated_at"`
	Metadata   json.RawMessage        `json:"metadata"`
	Status     string                 `json:"status"`
	Values     json.RawMessage        `json:"values"`
	Interrupts map[string][]interrupt `json:"interrupts"`
	Error      *failure               `json:"error"`
}

// threadData has the fields of a thread that searches do not use.
type threadData struct {
	Error *failure `json:",omitempty"`
	// TTL is nil if Options.ThreadTTL applies. Temporary says that the thread was made for one run, which has ended.
	TTL       *TTL `json:",omitempty"`
	Temporary bool `json:",omitempty"`
	// Deleting is the time at which the server that deletes the thread last renewed its mark, if servers share a queue.
	Deleting time.Time `json:",omitzero"`
}

// An interrupt is an open question as clients see it.
type interrupt struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
	// Schema is the JSON schema of the answers, if it is known.
	Schema json.RawMessage `json:"response_schema,omitempty"`
}

// readThread returns a thread as clients see it. It reads the state of the thread only if values is set. A thread whose
// state is damaged gets the status error and no values, so that a list can still show it.
func (s *Server) readThread(ctx context.Context, r runs.Record, values bool) (thread, error) {
	ctx = withOwner(ctx, r.Owner)
	var d threadData
	if err := json.Unmarshal(r.Data, &d); err != nil {
		return thread{}, err
	}
	t := thread{
		ID: r.ID, Created: r.Created, Updated: r.Updated, State: r.Updated, Metadata: r.Metadata, Status: r.Status, Error: d.Error,
		Values: json.RawMessage("null"), Interrupts: map[string][]interrupt{},
	}
	if !values {
		return t, nil
	}
	err := s.addState(ctx, &r, &t)
	if stored.Unreadable(err) {
		s.o.Logger.Error("server: the state of a thread cannot be read", "thread", r.ID, "error", err)
		t.Status, t.Error = threadError, &failure{Name: "Error", Message: unreadableText}
		return t, nil
	}
	return t, err
}

// addState reads the values and the open questions of a thread.
func (s *Server) addState(ctx context.Context, r *runs.Record, t *thread) error {
	g, err := s.servedOf(ctx, r)
	if g == nil || err != nil {
		return err
	}
	snap, err := g.graph.Thread(r.ID).Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	v, err := s.reader(g, r.ID).values(ctx, snap)
	if err != nil {
		return err
	}
	t.Values = encoded(v)
	if r.Status == threadInterrupted {
		for _, p := range snap.Pauses {
			if p.Kind == graph.Question {
				id := taskID(snap.ID, firstOf(p.Path))
				t.Interrupts[id] = append(t.Interrupts[id], newInterrupt(p))
			}
		}
	}
	return nil
}

func newInterrupt(p graph.Pause) interrupt {
	return interrupt{ID: p.ID, Value: orNull(p.Prompt), Schema: answerSchema(p.Interrupt, p.Prompt)}
}

func orNull(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("null")
	}
	return data
}

// pathThread returns the thread in the path.
func (c *call) pathThread() (runs.Record, error) {
	id, err := c.id("thread")
	if err != nil {
		return runs.Record{}, err
	}
	return c.get(runs.Thread, id)
}

func newThread(id string, metadata json.RawMessage) runs.Record {
	at := now()
	return runs.Record{
		Kind: runs.Thread, ID: id, Status: threadIdle, Created: at, Updated: at, Metadata: orEmpty(metadata), Data: encoded(threadData{}),
	}
}

type threadBody struct {
	ID         string          `json:"thread_id"`
	Metadata   json.RawMessage `json:"metadata"`
	IfExists   string          `json:"if_exists"`
	Graph      string          `json:"graph_id"`
	TTL        *ttlBody        `json:"ttl"`
	Supersteps []struct {
		Updates []stateUpdate `json:"updates"`
	} `json:"supersteps"`
}

// updates returns the updates of all supersteps.
func (b *threadBody) updates() []stateUpdate {
	var out []stateUpdate
	for _, step := range b.Supersteps {
		out = append(out, step.Updates...)
	}
	return out
}

func (c *call) createThread() error {
	var b threadBody
	if err := c.body(&b, false); err != nil {
		return err
	}
	if err := object("metadata", b.Metadata); err != nil {
		return err
	}
	made := b.ID == ""
	switch {
	case made:
		b.ID = uuid.New()
	case !isUUID(b.ID):
		return invalid("thread_id is %q; it must be a UUID.", shortened(b.ID))
	}
	ttl, err := b.TTL.ttl()
	if err != nil {
		return err
	}
	r := newThread(b.ID, b.Metadata)
	r.Data = encoded(threadData{TTL: ttl})
	var meta struct {
		Graph string `json:"graph_id"`
	}
	if json.Unmarshal(r.Metadata, &meta) == nil && b.Graph == "" {
		b.Graph = meta.Graph
	}
	if err := c.adopt(&r, b.Graph, made); err != nil {
		return err
	}
	err = c.insertThread(&r, false, b.updates())
	if errors.Is(err, runs.ErrExists) {
		if b.IfExists != "do_nothing" {
			return refuse(http.StatusConflict, "The thread %s exists.", b.ID)
		}
		if r, err = c.getFor(ActionRead, runs.Thread, b.ID); err == nil {
			return c.sendThread(r)
		}
	}
	if err != nil {
		return err
	}
	for _, step := range b.Supersteps {
		if _, err := c.update(&r, checkpointID{}, step.Updates); err != nil {
			return errors.Join(err, c.s.o.Runs.Delete(c.ctx(), runs.Thread, r.ID))
		}
	}
	return c.sendThread(r)
}

// adopt gives a new thread its graph, if the server has it. Go code may have stored states for this id before: then the
// thread gets the status of the newest state. A thread with due nodes is interrupted, since no run of the server executes
// them. A thread whose state cannot be read has the status error. If the server has users, adopt reads no states, because
// checkStates refuses such a thread. made says that the server made the id, so that there are no states.
func (c *call) adopt(r *runs.Record, name string, made bool) error {
	g := c.s.graphs[name]
	if g == nil {
		return nil
	}
	r.Graph = name
	if made || c.s.o.Auth != nil {
		return nil
	}
	at, err := g.graph.Checkpoints().Get(c.ctx(), checkpoint.Key{Thread: r.ID})
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return nil
	case stored.Unreadable(err):
		r.Status = threadError
		return nil
	case err != nil:
		return err
	}
	if r.Status = stored.StatusOf(&at); r.Status == stored.Busy {
		r.Status = threadInterrupted
	}
	return nil
}

// insertThread stores a new thread of the user. It does not check the user's limit for a temporary thread. On a server
// with users, it returns [runs.ErrExists] if Go code has run a thread with this id. The caller makes the updates later:
// insertThread only asks for the permission.
func (c *call) insertThread(r *runs.Record, temporary bool, updates []stateUpdate) error {
	f, err := c.allow(Access{Resource: ResourceThreads, Action: ActionCreate}.forUpdates(updates))
	if err == nil {
		err = f.stamp(r, c.user)
		c.ofThread(r)
	}
	if err == nil && !temporary {
		err = c.checkStates(r.ID)
	}
	if err == nil {
		err = c.s.setThreadData(r, func(*threadData) {})
	}
	if err != nil {
		return err
	}
	if err := c.s.o.Runs.Insert(c.ctx(), *r); err != nil || temporary {
		return err
	}
	return c.checkThreads(r)
}

// checkStates refuses the id of a new thread if a graph has states for it. The states may belong to another user, because
// threads that Go code runs have no owner.
func (c *call) checkStates(id string) error {
	if c.s.o.Auth == nil {
		return nil
	}
	asked := map[checkpoint.Store]bool{}
	for _, g := range c.s.graphs {
		store := g.graph.Checkpoints()
		if asked[store] {
			continue
		}
		asked[store] = true
		_, err := store.Get(c.ctx(), checkpoint.Key{Thread: id})
		if err == nil {
			return fmt.Errorf("thread %s: %w", id, runs.ErrExists)
		}
		if !errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
	}
	return nil
}

// checkThreads deletes a new thread again if its owner has too many. It counts after the insertion, so that simultaneous
// requests cannot exceed the limit together.
func (c *call) checkThreads(r *runs.Record) error {
	most := c.s.o.Limits.UserThreads
	if c.s.o.Auth == nil || most == math.MaxInt {
		return nil
	}
	_, n, err := c.s.o.Runs.Search(c.ctx(), runs.Query{Kind: runs.Thread, Filter: runs.Filter{Owner: &r.Owner}, Limit: 1})
	if err == nil && n > most {
		err = &Refusal{Status: http.StatusTooManyRequests, Detail: fmt.Sprintf("The user has %d threads, which is the limit. Delete some.", most)}
	}
	if err != nil {
		err = errors.Join(err, c.s.o.Runs.Delete(context.WithoutCancel(c.ctx()), runs.Thread, r.ID))
	}
	return err
}

func (c *call) sendThread(r runs.Record) error {
	t, err := c.s.readThread(c.ctx(), r, true)
	if err != nil {
		return err
	}
	return c.send(t)
}

func (c *call) getThread() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	return c.sendThread(r)
}

func (c *call) patchThread() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	var b threadBody
	if err := errors.Join(c.body(&b, true), object("metadata", b.Metadata)); err != nil {
		return err
	}
	ttl, err := b.TTL.ttl()
	if err != nil {
		return err
	}
	f := c.filter
	if ttl != nil { // the ttl will delete the thread or its older states
		_, err := c.getFor(ActionDelete, runs.Thread, r.ID)
		if isNotFound(err) {
			return refuse(http.StatusForbidden, "You may not set the ttl of the thread %s, since you may not delete it.", r.ID)
		}
		if err != nil {
			return err
		}
	}
	r, err = c.s.change(c.ctx(), runs.Thread, r.ID, func(r *runs.Record) (err error) {
		if r.Metadata, err = merged(r.Metadata, orEmpty(b.Metadata)); err != nil {
			return err
		}
		err = c.s.setThreadData(r, func(d *threadData) {
			if ttl != nil {
				d.TTL = ttl
			}
		})
		if err != nil {
			return err
		}
		r.Updated = now()
		return f.keep(r)
	})
	if err != nil {
		return err
	}
	if c.prefersMinimal() {
		return c.sendNothing()
	}
	return c.sendThread(r)
}

func (c *call) deleteThread() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	if err := c.s.deleteThread(c.ctx(), r.ID, r.Owner); err != nil {
		return err
	}
	return c.sendNothing()
}

// copyThread copies a thread with its states.
func (c *call) copyThread() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	to := newThread(uuid.New(), r.Metadata)
	to.Graph, to.Status, to.Data = r.Graph, r.Status, r.Data
	if r.Status == threadBusy {
		return refuse(http.StatusConflict, "The thread is busy. Copy it when its run has ended.")
	}
	if err := c.insertThread(&to, false, nil); err != nil {
		return err
	}
	if err := c.copyStates(&r, to.ID); err != nil {
		return errors.Join(err, c.s.o.Runs.Delete(c.ctx(), runs.Thread, to.ID))
	}
	return c.sendThread(to)
}

// copyStates copies the states and tasks of a thread.
func (c *call) copyStates(r *runs.Record, to string) error {
	g, err := c.s.servedOf(c.ctx(), r)
	if err != nil {
		return err
	}
	if g != nil {
		copier, ok := g.graph.Checkpoints().(checkpoint.ThreadCopier)
		if !ok {
			return refuse(http.StatusNotImplemented, "The checkpoint store cannot copy threads.")
		}
		if err := copier.CopyThread(c.ctx(), r.ID, to); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
	}
	return c.s.o.Runs.CopyTasks(c.ctx(), r.ID, to)
}

// pruneThreads deletes threads, or all states of threads except the newest.
func (c *call) pruneThreads() error {
	var b struct {
		IDs      []string `json:"thread_ids"`
		Strategy string   `json:"strategy"`
	}
	if err := c.body(&b, true); err != nil {
		return err
	}
	if b.Strategy != "" && b.Strategy != "delete" && b.Strategy != "keep_latest" {
		return invalid("The strategy is %q; it must be delete or keep_latest.", shortened(b.Strategy))
	}
	pruned := 0
	for _, id := range b.IDs {
		r, err := c.get(runs.Thread, id)
		if isNotFound(err) {
			continue
		}
		if err == nil {
			err = c.prune(r, b.Strategy)
		}
		if err != nil {
			return err
		}
		pruned++
	}
	return c.send(map[string]int{"pruned_count": pruned})
}

func (c *call) prune(r runs.Record, strategy string) error {
	if strategy != "keep_latest" {
		return c.s.deleteThread(c.ctx(), r.ID, r.Owner)
	}
	g, err := c.s.servedOf(c.ctx(), &r)
	if g == nil || err != nil {
		return err
	}
	pruner, ok := g.graph.Checkpoints().(checkpoint.Pruner)
	if !ok {
		return refuse(http.StatusNotImplemented, "The checkpoint store cannot prune threads.")
	}
	_, err = pruner.Prune(c.ctx(), checkpoint.PrunePolicy{Threads: []string{r.ID}, KeepLast: 1})
	return err
}

// graphOf returns the graph of a thread.
func (s *Server) graphOf(r *runs.Record) (*served, error) {
	g := s.graphs[r.Graph]
	if g == nil && s.stored != nil {
		return nil, refuse(http.StatusNotImplemented, "The graph of the thread is not part of this server. Only the program that has its code can do this.")
	}
	if g == nil {
		return nil, refuse(http.StatusBadRequest, "The thread has no graph yet. It has one after its first run, or if it is created with graph_id in its metadata.")
	}
	return g, nil
}

// taskID returns the id of a task as clients see it. It is derived from the checkpoint at which the task is due. For a
// task of a subgraph, see [subtaskID].
func taskID(checkpoint, task string) string { return nameID(checkpoint, task) }

// subtaskID returns the id of a task of a subgraph as clients see it. It is derived from the id of the task that runs the
// subgraph, the step in the subgraph, and the task.
func subtaskID(parent string, step int, task string) string {
	return nameID(parent, fmt.Sprintf("%d/%s", step, task))
}
