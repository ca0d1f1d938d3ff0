package compat_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/graph"
)

// A scenario is a stored thread, with the actions that resume it.
type scenario struct {
	name     string // the id of the thread
	build    func(*world, graph.Options) *graph.Graph
	options  graph.Options
	channels []shownChannel
	inside   []subgraph
	resume   []action
	killed   bool // the process of the thread was killed while nodes were running
}

// A subgraph is the path of a task that runs a subgraph, with the shown channels of the
// subgraph.
type subgraph struct {
	path     []string
	channels []shownChannel
}

// An action runs a thread and returns its snapshot.
type action func(ctx context.Context, t *graph.Thread) (*graph.Snapshot, error)

// resumeRun resumes a thread without input.
func resumeRun(ctx context.Context, t *graph.Thread) (*graph.Snapshot, error) { return t.Invoke(ctx) }

// say returns an action that begins a turn with an input.
func say(text string) action {
	return func(ctx context.Context, t *graph.Thread) (*graph.Snapshot, error) {
		return t.Invoke(ctx, input.Put(text))
	}
}

// answerOrder returns an action that answers the only open question about an order.
func answerOrder(d decision) action {
	return func(ctx context.Context, t *graph.Thread) (*graph.Snapshot, error) {
		s, err := t.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		open, err := approve.Open(s)
		if err != nil {
			return nil, err
		}
		if len(open) != 1 || !open[0].Prompt.Due.Equal(epoch) {
			return nil, fmt.Errorf("got the questions %+v, want one that is due at %v", open, epoch)
		}
		return t.Invoke(ctx, approve.Answer(open[0].ID, d))
	}
}

// answerNumbers returns an action that answers one open question for a number. The map answers
// contains the numbers, by the keys of the questions.
func answerNumbers(answers map[string]int) action {
	return func(ctx context.Context, t *graph.Thread) (*graph.Snapshot, error) {
		s, err := t.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		open, err := choose.Open(s)
		if err != nil {
			return nil, err
		}
		for _, p := range open {
			if n, ok := answers[p.Key]; ok {
				return t.Invoke(ctx, choose.Answer(p.ID, n))
			}
		}
		return nil, fmt.Errorf("got the questions %+v, want one of the keys of %v", open, answers)
	}
}

// from returns an action that runs the action do on an older checkpoint of the thread.
func from(do action) action {
	return func(ctx context.Context, t *graph.Thread) (*graph.Snapshot, error) {
		var ids []string
		for info, err := range t.History(ctx, graph.HistoryQuery{}) {
			if err != nil {
				return nil, err
			}
			ids = append(ids, info.ID)
		}
		return do(ctx, t.At(ids[len(ids)*2/3]))
	}
}

func chatTurn(ctx context.Context, t *graph.Thread) (*graph.Snapshot, error) {
	return t.Invoke(ctx, messages.Put("a new turn"), people.Put(person{ID: "p1", Name: "replaced"}, person{ID: "p99", Name: "new"}))
}

func byHand(ctx context.Context, t *graph.Thread) (*graph.Snapshot, error) {
	return t.Update(ctx, "a", journal.Put("by hand"), amount.Put(1000))
}

var (
	no            = answerOrder(decision{Note: "too much"})
	yes           = answerOrder(decision{Approved: true})
	middleAndDeep = []subgraph{{[]string{"middle"}, insideChannels}, {[]string{"middle", "deep"}, insideChannels}}
	clerk         = []subgraph{{[]string{"clerk"}, insideChannels}}
)

var scenarios = []scenario{
	{name: "chat", build: (*world).chat, channels: chatChannels, resume: []action{chatTurn, from(chatTurn)}},
	{name: "question", build: (*world).question, resume: []action{no, say("pears")}},
	{name: "question, edited", build: (*world).question, resume: []action{yes}},
	{name: "question, dropped", build: (*world).question, resume: []action{say("pears"), yes}},
	{name: "question, refused", build: (*world).question, resume: []action{yes}},
	{name: "twice, one answered", build: (*world).twice, resume: []action{answerNumbers(map[string]int{"right": 5})}},
	{name: "failing", build: (*world).failing, resume: []action{resumeRun}},
	{name: "failing, edited", build: (*world).failing, resume: []action{resumeRun, say("again")}},
	{name: "upward", build: (*world).upward, inside: middleAndDeep, resume: []action{resumeRun}},
	{name: "refused", build: (*world).refused, resume: []action{resumeRun}},
	{name: "leaving", build: (*world).leaving, resume: []action{resumeRun, say("again")}},
	{name: "sends, due", build: (*world).sends, resume: []action{resumeRun}},
	{name: "sends, one failed", build: (*world).sends, resume: []action{resumeRun}},
	{name: "join, in part", build: (*world).join, resume: []action{resumeRun}},
	{name: "join, new turn", build: (*world).join, resume: []action{say("again")}},
	{name: "pause before", build: (*world).chain, options: graph.Options{PauseBefore: []string{"b"}}, resume: []action{resumeRun}},
	{name: "pause after", build: (*world).chain, options: graph.Options{PauseAfter: []string{"b"}}, resume: []action{resumeRun}},
	{name: "max steps", build: (*world).loop, resume: []action{resumeRun}},
	{name: "drained", build: (*world).chain, resume: []action{resumeRun}},
	{name: "forked", build: (*world).chain, resume: []action{resumeRun, from(resumeRun), say("on")}},
	{name: "forked, new turn", build: (*world).chain, resume: []action{from(say("on")), say("on and on")}},
	{name: "updated", build: (*world).chain, resume: []action{resumeRun, from(byHand), resumeRun}},
	{name: "updated at two nodes", build: (*world).join, resume: []action{resumeRun}},
	{name: "nested", build: (*world).nested, inside: middleAndDeep, resume: []action{yes, say("again"), no}},
	{name: "persistent", build: (*world).persistent, resume: []action{
		say("three"), say("ask"), answerNumbers(map[string]int{"": 4}),
	}},
	{name: "persistent, paused", build: (*world).persistent, inside: clerk, resume: []action{
		answerNumbers(map[string]int{"": 4}), say("three"), from(say("from the middle")),
	}},
	{
		name: "killed", build: (*world).slow, inside: []subgraph{{[]string{"box"}, insideChannels}}, resume: []action{resumeRun, say("again")},
		killed: true,
	},
	{name: "killed, new turn", build: (*world).slow, resume: []action{say("again")}, killed: true},
}

func (sc *scenario) shows() []shownChannel {
	if sc.channels == nil {
		return flowChannels
	}
	return sc.channels
}
