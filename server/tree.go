package server

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weft-go/weft/server/runs"
)

// An agentTree is a run, or a subgraph of a run, as the thread-centric protocol describes it.
type agentTree struct {
	Namespace []string     `json:"namespace"`
	Status    string       `json:"status"` // the last event of its lifecycle
	Graph     string       `json:"graph_name"`
	Children  []*agentTree `json:"children,omitempty"`
}

var errNoTree = &commandError{codeNoRun, "The thread has no such run whose events are kept."}

// tree returns a run of a thread with its subgraphs. If the parameters name no run, it returns the newest one.
func (c *call) tree(log *threadLog, data json.RawMessage) (any, error) {
	var p struct {
		Run string `json:"run_id"`
	}
	if err := json.Unmarshal(orEmpty(data), &p); err != nil {
		return nil, &commandError{codeInvalid, "The parameters cannot be read."}
	}
	if _, err := c.getFor(ActionRead, runs.Thread, log.thread); isNotFound(err) {
		return nil, errNoTree
	} else if err != nil {
		return nil, err
	}
	begin, err := c.beginOf(log, &p.Run)
	if err != nil {
		return nil, err
	}
	found := map[string]*agentTree{}
	view := newThreadView()
	_, err = c.s.eachEvent(c.ctx(), log.thread, p.Run, begin, func(e *runs.Event) error {
		if e.Kind != kindStart && e.Kind != kindSubgraph && e.Kind != kindEnd {
			return nil
		}
		events, err := view.plain(e)
		for i := range events {
			grow(found, &events[i])
		}
		return err
	})
	if err != nil || found[""] == nil {
		return nil, cmp.Or[error](err, errNoTree)
	}
	return map[string]*agentTree{"tree": found[""]}, nil
}

// beginOf returns the number of the event before the first one of a run. If the id of the run is empty, beginOf sets it
// to the run of the last event.
func (c *call) beginOf(log *threadLog, run *string) (int64, error) {
	if *run != "" {
		return log.before(c.ctx(), *run)
	}
	last, _, _, err := log.after(c.ctx(), max(log.end()-1, 0))
	if err != nil {
		return 0, err
	}
	if len(last) == 0 {
		return 0, errNoTree
	}
	*run = last[0].Run
	return log.before(c.ctx(), *run)
}

// grow updates the tree with an event of the channel "lifecycle".
func grow(found map[string]*agentTree, ev *threadEvent) {
	data, ok := ev.Params.Data.(map[string]any)
	if !ok || ev.channel != "lifecycle" {
		return
	}
	at := ev.Params.Namespace
	status, _ := data["event"].(string)
	graph, _ := data["graph_name"].(string)
	node := found[strings.Join(at, "|")]
	if node == nil {
		node = &agentTree{Namespace: at}
		found[strings.Join(at, "|")] = node
		if len(at) > 0 {
			if parent := found[strings.Join(at[:len(at)-1], "|")]; parent != nil {
				parent.Children = append(parent.Children, node)
			}
		}
	}
	node.Status, node.Graph = status, cmp.Or(graph, node.Graph)
	if len(at) > 0 || status == "running" {
		return
	}
	for _, n := range found { // the end of the run stops its unfinished subgraphs
		if slices.Contains([]string{"started", "running"}, n.Status) {
			n.Status = status
		}
	}
}
