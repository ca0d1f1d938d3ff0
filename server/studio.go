package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/draw"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server/runs"
)

// The paths below /weft/ return data that the studio needs and the protocol does not have.

// serverInfo describes the server.
type serverInfo struct {
	ReadOnly bool `json:"read_only"`
	// Stored says that the server shows threads whose graphs it does not have.
	Stored bool `json:"stored"`
	// Values says that there is a store of values.
	Values bool `json:"values"`
	// Facts says that there is a memory with facts.
	Facts   bool        `json:"facts"`
	Started time.Time   `json:"started_at"`
	Graphs  []graphInfo `json:"graphs"`
}

type graphInfo struct {
	Name      string     `json:"name"`
	Assistant string     `json:"assistant_id"`
	Drawing   draw.Graph `json:"drawing"`
}

func (c *call) about() error {
	out := serverInfo{ReadOnly: c.s.o.ReadOnly, Stored: c.s.stored != nil, Values: c.s.o.Values != nil, Facts: c.s.o.Memory != nil, Started: c.s.start.UTC(), Graphs: []graphInfo{}}
	for _, g := range c.s.graphs {
		out.Graphs = append(out.Graphs, graphInfo{g.name, g.assistant, g.draw})
	}
	slices.SortFunc(out.Graphs, func(a, b graphInfo) int { return strings.Compare(a.Name, b.Name) })
	return c.send(out)
}

// drawThread sends the graph of a thread.
func (c *call) drawThread() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	g, err := c.s.servedOf(c.ctx(), &r)
	if err != nil {
		return err
	}
	if g == nil {
		return c.send(nil)
	}
	return c.send(graphInfo{g.name, g.assistant, g.draw})
}

// A runInfo is a run with its times and its error.
type runInfo struct {
	run
	Graph      string     `json:"graph_id"`
	User       string     `json:"user_id,omitempty"`
	After      *time.Time `json:"begins_after,omitempty"` // the run waits until then
	Began      *time.Time `json:"began_at"`
	Ended      *time.Time `json:"ended_at"`
	Attempt    int        `json:"attempt"`
	Checkpoint string     `json:"checkpoint_id,omitempty"`
	Error      *failure   `json:"error"`
}

func newRunInfo(r runs.Record) (runInfo, error) {
	d, err := readRun(&r)
	if err != nil {
		return runInfo{}, err
	}
	i := runInfo{run: shownRun(&r, d), Graph: r.Graph, User: r.Owner, Began: d.Began, Ended: d.Ended, Attempt: d.Attempt, Checkpoint: d.Checkpoint, Error: d.Error}
	if !d.After.IsZero() {
		i.After = &d.After
	}
	return i, nil
}

var runOrders = map[string]runs.Order{"created_at": runs.ByCreated, "updated_at": runs.ByUpdated, "status": runs.ByStatus}

// searchRuns finds runs of all threads.
func (c *call) searchRuns() error {
	var b struct {
		page
		IDs      []string        `json:"run_ids"`
		Statuses []string        `json:"status"`
		Graph    string          `json:"graph_id"`
		Thread   string          `json:"thread_id"`
		User     *string         `json:"user_id"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := c.body(&b, false); err != nil {
		return err
	}
	if err := object("metadata", b.Metadata); err != nil {
		return err
	}
	q := runs.Query{Kind: runs.Run, IDs: b.IDs, Statuses: b.Statuses, Graph: b.Graph, Parent: b.Thread, Owner: b.User, Metadata: orEmpty(b.Metadata)}
	if err := b.query(&q, runOrders); err != nil {
		return err
	}
	found, total, err := c.search(q)
	if err != nil {
		return err
	}
	list := make([]runInfo, len(found))
	for i, r := range found {
		if list[i], err = newRunInfo(r); err != nil {
			return err
		}
	}
	return c.send(map[string]any{"runs": list, "total": total})
}

// A mark is a checkpoint in a timeline.
type mark struct {
	ID     string     `json:"id"`
	Parent string     `json:"parent,omitempty"`
	Step   int        `json:"step"`
	Source string     `json:"source"`
	Time   time.Time  `json:"time"`
	Run    string     `json:"run_id,omitempty"`
	Next   []string   `json:"next"`
	Tasks  []markTask `json:"tasks"`
}

// A markTask is a task of the superstep after a checkpoint.
type markTask struct {
	ID      string     `json:"id"`
	Node    string     `json:"node"`
	Started *time.Time `json:"started_at"`
	Ended   *time.Time `json:"ended_at"`
	Error   string     `json:"error,omitempty"`
	Asked   bool       `json:"asked,omitempty"`
	Writes  []string   `json:"writes"`
	Usage   *llm.Usage `json:"usage,omitempty"`
	// Attempts are the failed attempts before the last one.
	Attempts []failedAttempt `json:"attempts,omitempty"`
	Logs     []logLine       `json:"logs,omitempty"`
	Cost     *float64        `json:"cost,omitempty"` // see Options.Cost
}

// timeline sends the checkpoints of a thread without their states, newest first.
func (c *call) timeline() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	limit, err := c.number("limit", maxLimit)
	if err != nil {
		return err
	}
	if limit < 1 || limit > maxLimit {
		return invalid("The limit is %d; it must be from 1 to %d.", limit, maxLimit)
	}
	before := c.r.URL.Query().Get("before")
	g, err := c.s.servedOf(c.ctx(), &r)
	if err != nil {
		return err
	}
	marks := []*mark{}
	if g != nil {
		if marks, err = c.s.marks(c.ctx(), g, r.ID, graph.HistoryQuery{Before: before, Limit: limit}); err != nil {
			return err
		}
	}
	return c.send(map[string]any{"checkpoints": marks, "more": len(marks) == limit, "user_id": r.Owner})
}

// cost returns the price of tokens that a node has used, or nil without Options.Cost.
func (s *Server) cost(graph, node string, used llm.Usage) *float64 {
	if s.o.Cost == nil {
		return nil
	}
	c := s.o.Cost(graph, node, used)
	return &c
}

// marks returns checkpoints of a thread with the stored data of their tasks.
func (s *Server) marks(ctx context.Context, g *served, thread string, q graph.HistoryQuery) ([]*mark, error) {
	out, ids, byID := []*mark{}, []string{}, map[string]*mark{}
	for info, err := range g.graph.Thread(thread).History(ctx, q) {
		if errors.Is(err, checkpoint.ErrNotFound) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		m := &mark{
			ID: info.ID, Parent: info.Parent, Step: place{}.stepOf(&info), Source: string(info.Source), Time: info.Time.UTC(), Run: info.Metadata[metaRun],
			Next: append([]string{}, info.Next...), Tasks: []markTask{},
		}
		out, ids = append(out, m), append(ids, info.ID)
		byID[info.ID] = m
	}
	if len(ids) == 0 {
		return out, nil
	}
	price := func(node string, used *llm.Usage) *float64 {
		if used == nil {
			return nil
		}
		return s.cost(g.name, node, *used)
	}
	tasks, err := s.o.Runs.Tasks(ctx, thread, ids...)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		var kept taskResult
		if err := json.Unmarshal(t.Data, &kept); err != nil {
			return nil, err
		}
		if m := byID[t.Checkpoint]; m != nil {
			m.add(t.ID, &kept, price(kept.Node, kept.Usage))
		}
	}
	return out, nil
}

// add adds the stored data of a task. If the data are questions, it marks the task with the same id as asked.
func (m *mark) add(id string, kept *taskResult, cost *float64) {
	if len(kept.Interrupts) > 0 {
		task := id[:len(id)-len(asked)]
		for i := range m.Tasks {
			if m.Tasks[i].ID == task {
				m.Tasks[i].Asked = true
				return
			}
		}
		m.Tasks = append(m.Tasks, markTask{ID: task, Node: kept.Node, Asked: true, Writes: []string{}})
		return
	}
	task := markTask{ID: id, Node: kept.Node, Error: kept.Error, Writes: keysOf(kept.Result), Usage: kept.Usage, Attempts: kept.Attempts, Logs: kept.Logs, Cost: cost}
	if !kept.Started.IsZero() {
		task.Started = &kept.Started
	}
	if !kept.Ended.IsZero() {
		task.Ended = &kept.Ended
	}
	for i := range m.Tasks {
		if m.Tasks[i].ID == id {
			task.Asked = m.Tasks[i].Asked
			m.Tasks[i] = task
			return
		}
	}
	m.Tasks = append(m.Tasks, task)
}

// keysOf returns the keys of a JSON object, sorted.
func keysOf(object json.RawMessage) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(orEmpty(object), &fields) != nil {
		return []string{}
	}
	keys := make([]string, 0, len(fields))
	for k := range fields {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
