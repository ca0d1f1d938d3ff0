package compat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

func (w *world) compile(b *graph.Builder, o graph.Options) *graph.Graph {
	o.Checkpoints, o.Durability, o.Version = w.store, w.durability, "release 7"
	g, err := b.Compile(o)
	if err != nil {
		panic(err)
	}
	return g
}

// inner compiles a graph for use as a subgraph.
func inner(b *graph.Builder) *graph.Graph {
	g, err := b.Compile(graph.Options{})
	if err != nil {
		panic(err)
	}
	return g
}

type person struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Joined time.Time  `json:"joined"`
	Left   *time.Time `json:"left,omitempty"`
	Until  time.Time  `json:"until,omitzero"`
	Tags   []string   `json:"tags,omitempty"`
}

type personID struct{}

func (personID) ID(p person) string { return p.ID }

func (personID) WithID(p person, id string) person {
	p.ID = id
	return p
}

type fact struct {
	Text   string    `json:"text"`
	Since  time.Time `json:"since"`
	Weight float64   `json:"weight,omitempty"`
}

type draft struct {
	Body     string            `json:"body"`
	Revision uint64            `json:"revision"`
	Labels   map[string]string `json:"labels,omitempty"`
	Previous *draft            `json:"previous,omitempty"`
}

type order struct {
	Item   string    `json:"item"`
	Amount int       `json:"amount"`
	Due    time.Time `json:"due"`
}

type decision struct {
	Approved bool   `json:"approved"`
	Note     string `json:"note,omitempty"`
}

// The graph chat has a channel of each kind.
var (
	messages = state.Append[string]("messages")
	people   = state.Keyed("people", personID{}).Prune(func(list []person) []person { return list[max(0, len(list)-9):] })
	tokens   = state.Sum[int]("tokens")
	cost     = state.Sum[float64]("cost")
	peak     = state.Max[int]("peak")
	facts    = state.Map[string, fact]("facts")
	tags     = state.Set[string]("tags")
	topic    = state.Optional[string]("topic")
	current  = state.Last[draft]("draft")
	mood     = state.LastWins[string]("mood")
	flash    = state.Ephemeral[string]("flash")
	limit    = state.Last[int]("limit").Default(func() int { return 12 })
	seen     = state.NewChannel("seen", func(counts map[string]int, word string) (map[string]int, error) {
		if counts == nil {
			counts = map[string]int{}
		}
		counts[word]++
		return counts, nil
	})
	scratch = state.Untracked[func()]("scratch")
)

var chatChannels = []shownChannel{
	show(messages), show(people), show(tokens), show(cost), show(peak), show(facts), show(tags),
	show(topic), show(current), show(mood), show(flash), show(limit), show(seen),
}

// All other graphs share these channels.
var (
	journal = state.Append[string]("journal")
	input   = state.Last[string]("input")
	amount  = state.Sum[int]("amount")
	private = state.Append[string]("private")
	verdict = state.Last[decision]("verdict")
)

var (
	flowChannels    = []shownChannel{show(journal), show(input), show(amount), show(verdict)}
	insideChannels  = []shownChannel{show(journal), show(input), show(private)}
	approve         = graph.NewInterrupt[order, decision]("approve")
	choose          = graph.NewInterrupt[string, int]("choose")
	epoch           = time.Date(2024, 2, 29, 12, 30, 15, 123456789, time.UTC)
	elsewhere       = time.FixedZone("", 5*3600+45*60)
	wordsOfTheDraft = strings.Fields("one state of a thread is the sum of all that its runs have changed so far and no more than this")
)

// chat returns a graph for a conversation of several turns.
func (w *world) chat(o graph.Options) *graph.Graph {
	b := graph.New("chat", append(handles(chatChannels), scratch)...)
	b.Node("hear", w.node("hear", hear))
	b.Node("think", w.node("think", think))
	b.Node("muse", w.node("muse", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{mood.Put(fmt.Sprint("mused on ", flash.Get(s))), scratch.Put(func() {})}, nil
	}))
	b.Node("reply", w.node("reply", reply))
	b.Edge(graph.Start, "hear")
	b.Edge("hear", "think")
	b.Edge("hear", "muse")
	b.Edge("think", "reply")
	b.Edge("muse", "reply")
	return w.compile(b, o)
}

// chain returns a graph that runs the nodes a, b and c one after the other.
func (w *world) chain(o graph.Options) *graph.Graph {
	b := graph.New("chain", handles(flowChannels)...)
	b.Node("a", w.node("a", func(context.Context, state.View) (state.Update, error) {
		if w.drain != nil {
			w.drain()
		}
		return state.Update{journal.Put("a"), amount.Put(1)}, nil
	}))
	b.Node("b", w.logs("b"))
	b.Node("c", w.logs("c", amount.Put(10)))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", "c")
	return w.compile(b, o)
}

// loop returns a graph that repeats one node until the journal has nine entries.
func (w *world) loop(o graph.Options) *graph.Graph {
	b := graph.New("loop", handles(flowChannels)...)
	b.Node("count", w.logs("count", amount.Put(2)))
	b.Edge(graph.Start, "count")
	b.Branch("count", func(s state.View) (string, error) {
		if journal.Len(s) < 9 {
			return "count", nil
		}
		return graph.End, nil
	}, "count", graph.End)
	return w.compile(b, o)
}

// question returns a graph with one question. Its prompt and its answer are structs.
func (w *world) question(o graph.Options) *graph.Graph {
	b := graph.New("question", handles(flowChannels)...)
	b.Node("write", w.logs("write"))
	b.Node("ask", w.node("ask", ask))
	b.Node("act", w.logs("act"))
	b.Edge(graph.Start, "write")
	b.Edge("write", "ask")
	b.Edge("ask", "act")
	return w.compile(b, o)
}

func ask(ctx context.Context, s state.View) (state.Update, error) {
	d, err := approve.Wait(ctx, order{Item: input.Get(s), Amount: 3, Due: epoch})
	if err != nil {
		return nil, err
	}
	return state.Update{verdict.Put(d), journal.Put("asked about " + input.Get(s))}, nil
}

// twice returns a graph with two concurrent nodes. One node has a side effect and then asks
// two questions. The other node asks no question.
func (w *world) twice(o graph.Options) *graph.Graph {
	b := graph.New("twice", handles(flowChannels)...)
	b.Node("both", w.node("both", func(ctx context.Context, _ state.View) (state.Update, error) {
		receipt, err := graph.Once(ctx, "charge", func(context.Context) (draft, error) {
			w.mark("effect: charge")
			return draft{Body: "receipt", Revision: 9}, nil
		})
		if err != nil {
			return nil, err
		}
		left, leftErr := choose.WaitKey(ctx, "left", "how many on the left?")
		right, rightErr := choose.WaitKey(ctx, "right", "how many on the right?")
		if err := errors.Join(leftErr, rightErr); err != nil {
			return nil, err
		}
		return state.Update{amount.Put(left, 100*right), journal.Put(receipt.Body)}, nil
	}))
	b.Node("aside", w.logs("aside", amount.Put(10000)))
	b.Edge(graph.Start, "both")
	b.Edge(graph.Start, "aside")
	return w.compile(b, o)
}

// failing returns a graph in which one node of a superstep fails. The other nodes of the
// superstep return writes, sends and gotos.
func (w *world) failing(o graph.Options) *graph.Graph {
	b := graph.New("failing", handles(flowChannels)...)
	b.Node("plain", w.logs("plain", amount.Put(5)))
	b.Node("sends", w.logs("sends", graph.Send("work", input.Put("one"), amount.Put(3)), graph.Send("work", input.Put("two"))))
	b.Node("jumps", w.logs("jumps", graph.Goto("landed")))
	b.Node("broken", w.fails("broken"))
	b.Node("work", w.work())
	b.Node("landed", w.logs("landed"))
	b.Destinations("sends", "work")
	b.Destinations("jumps", "landed")
	for _, name := range []string{"plain", "sends", "jumps", "broken"} {
		b.Edge(graph.Start, name)
	}
	b.Edge("broken", "landed")
	return w.compile(b, o)
}

// work returns a node for sent tasks, which logs its input.
func (w *world) work() graph.NodeFunc {
	return w.node("work", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{journal.Put("worked on " + input.Get(s)), amount.Put(amount.Get(s))}, nil
	})
}

// sends returns a graph with a superstep of sent tasks. One of the tasks can fail.
func (w *world) sends(o graph.Options) *graph.Graph {
	b := graph.New("sends", handles(flowChannels)...)
	b.Node("split", w.logs("split"))
	b.Node("work", w.node("work", func(_ context.Context, s state.View) (state.Update, error) {
		if w.broken && input.Get(s) == "two" {
			return nil, errBroken
		}
		return state.Update{journal.Put("worked on " + input.Get(s)), amount.Put(amount.Get(s) + 1)}, nil
	}))
	b.Edge(graph.Start, "split")
	b.BranchMany("split", func(s state.View) (state.Update, error) {
		u := state.Update{graph.Goto("beside")}
		for _, part := range strings.Fields(input.Get(s)) {
			u = append(u, graph.Send("work", input.Put(part), amount.Put(len(part))))
		}
		return u, nil
	}, "work", "beside")
	b.Node("beside", w.logs("beside"))
	return w.compile(b, o)
}

// join returns a graph with a deferred node, and with a join of two paths of different
// length.
func (w *world) join(o graph.Options) *graph.Graph {
	b := graph.New("join", handles(flowChannels)...)
	b.Node("short", w.logs("short"))
	b.Node("long1", w.logs("long1"))
	b.Node("long2", w.logs("long2"))
	b.Node("long3", w.logs("long3"))
	b.Node("joined", w.logs("joined"))
	b.Node("late", w.logs("late"))
	b.Edge(graph.Start, "short")
	b.Edge(graph.Start, "long1")
	b.Edge("long1", "long2")
	b.Edge("long2", "long3")
	b.Join("joined", "short", "long3")
	b.Edge("short", "late")
	b.Defer("late")
	return w.compile(b, o)
}

// nested returns a graph with a subgraph in a subgraph. The inner subgraph asks a question.
func (w *world) nested(o graph.Options) *graph.Graph {
	deep := graph.New("deep", handles(insideChannels)...)
	deep.Node("look", w.logs("look", private.Put("looked")))
	deep.Node("ask", w.node("ask", func(ctx context.Context, s state.View) (state.Update, error) {
		d, err := approve.Wait(ctx, order{Item: "in " + input.Get(s), Amount: private.Len(s), Due: epoch})
		if err != nil {
			return nil, err
		}
		return state.Update{journal.Put(fmt.Sprint("approved: ", d.Approved)), private.Put(d.Note)}, nil
	}))
	deep.Node("tell", w.node("tell", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{journal.Put(strings.Join(private.Get(s), "+"))}, nil
	}))
	deep.Edge(graph.Start, "look")
	deep.Edge("look", "ask")
	deep.Edge("ask", "tell")

	middle := graph.New("middle", handles(insideChannels)...)
	middle.Node("enter", w.logs("enter", private.Put("of the middle"), graph.ToParent(amount.Put(7))))
	middle.Subgraph("deep", inner(deep))
	middle.Node("exit", w.node("exit", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{journal.Put("exit with " + strings.Join(private.Get(s), "+"))}, nil
	}))
	middle.Edge(graph.Start, "enter")
	middle.Edge("enter", "deep")
	middle.Edge("deep", "exit")

	b := graph.New("nested", handles(flowChannels)...)
	b.Node("begin", w.logs("begin"))
	b.Subgraph("middle", inner(middle))
	b.Node("beside", w.logs("beside"))
	b.Node("end", w.logs("end"))
	b.Edge(graph.Start, "begin")
	b.Edge("begin", "middle")
	b.Edge("begin", "beside")
	b.Edge("middle", "end")
	return w.compile(b, o)
}

// upward returns a graph whose subgraphs pass writes, a goto and a send to their parents.
// One node of the same superstep can fail.
func (w *world) upward(o graph.Options) *graph.Graph {
	deep := graph.New("deep", handles(insideChannels)...)
	deep.Node("up", w.logs("up", private.Put("went up"),
		graph.ToParent(private.Put("for the middle")),
		graph.ToParent(graph.ToParent(amount.Put(40))),
		graph.ToParent(graph.ToParent(graph.Send("work", input.Put("from below"), amount.Put(2))))))
	deep.Node("broken", w.fails("broken"))
	deep.Edge(graph.Start, "up")
	deep.Edge(graph.Start, "broken")

	middle := graph.New("middle", handles(insideChannels)...)
	middle.Subgraph("deep", inner(deep))
	middle.Node("turn", w.node("turn", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{journal.Put("turn: " + strings.Join(private.Get(s), "+")), graph.ToParent(graph.Goto("landed"))}, nil
	}))
	middle.Edge(graph.Start, "deep")
	middle.Edge(graph.Start, "turn")

	b := graph.New("upward", handles(flowChannels)...)
	b.Subgraph("middle", inner(middle))
	b.Node("work", w.work())
	b.Node("landed", w.logs("landed"))
	b.Edge(graph.Start, "middle")
	b.Destinations("middle", "work", "landed")
	return w.compile(b, o)
}

// refused returns a graph with two concurrent nodes. If w.broken is true, the writes of the
// nodes conflict.
func (w *world) refused(o graph.Options) *graph.Graph {
	b := graph.New("refused", handles(flowChannels)...)
	for _, name := range []string{"one", "other"} {
		b.Node(name, w.node(name, func(context.Context, state.View) (state.Update, error) {
			if w.broken {
				return state.Update{journal.Put(name + " too early"), input.Put(name)}, nil
			}
			return state.Update{journal.Put(name)}, nil
		}))
		b.Edge(graph.Start, name)
	}
	return w.compile(b, o)
}

// leaving returns a graph with three concurrent nodes. The first is a subgraph that a goto
// leaves before its end. The second is a persistent subgraph. The third is a node that can
// fail.
func (w *world) leaving(o graph.Options) *graph.Graph {
	bot := graph.New("bot", handles(insideChannels)...)
	bot.Node("give up", w.logs("give up", graph.ToParent(graph.Goto("landed"))))
	bot.Node("never", w.logs("never"))
	bot.Edge(graph.Start, "give up")
	bot.Edge("give up", "never")

	clerk := graph.New("clerk", handles(insideChannels)...)
	clerk.Node("note", w.node("note", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{private.Put(input.Get(s)), journal.Put(fmt.Sprint("notes: ", private.Get(s)))}, nil
	}))
	clerk.Edge(graph.Start, "note")

	b := graph.New("leaving", handles(flowChannels)...)
	b.Subgraph("bot", inner(bot))
	b.SubgraphWith("clerk", inner(clerk), graph.SubgraphOptions{Persist: "the clerk"})
	b.Node("broken", w.fails("broken"))
	b.Node("landed", w.logs("landed"))
	for _, name := range []string{"bot", "clerk", "broken"} {
		b.Edge(graph.Start, name)
	}
	b.Destinations("bot", "landed")
	return w.compile(b, o)
}

// persistent returns a graph with a persistent subgraph. The subgraph asks a question if
// the input begins with "ask".
func (w *world) persistent(o graph.Options) *graph.Graph {
	clerk := graph.New("clerk", handles(insideChannels)...)
	clerk.Node("note", w.node("note", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{private.Put(input.Get(s)), journal.Put(fmt.Sprint("notes: ", private.Len(s)))}, nil
	}))
	clerk.Node("check", w.node("check", func(ctx context.Context, s state.View) (state.Update, error) {
		if !strings.HasPrefix(input.Get(s), "ask") {
			return nil, nil
		}
		n, err := choose.Wait(ctx, "how many of "+strings.Join(private.Get(s), ", "))
		if err != nil {
			return nil, err
		}
		return state.Update{journal.Put(fmt.Sprint("chose ", n)), private.Put(fmt.Sprint(n))}, nil
	}))
	clerk.Node("sum", w.node("sum", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{journal.Put(strings.Join(private.Get(s), "+"))}, nil
	}))
	clerk.Edge(graph.Start, "note")
	clerk.Edge("note", "check")
	clerk.Edge("check", "sum")

	b := graph.New("persistent", handles(flowChannels)...)
	b.Node("begin", w.logs("begin"))
	b.SubgraphWith("clerk", inner(clerk), graph.SubgraphOptions{Persist: "the clerk"})
	b.Node("end", w.logs("end"))
	b.Edge(graph.Start, "begin")
	b.Edge("begin", "clerk")
	b.Edge("clerk", "end")
	return w.compile(b, o)
}

// slow returns a graph in which two nodes can be held while the others finish. One of the
// two nodes is in a subgraph.
func (w *world) slow(o graph.Options) *graph.Graph {
	box := graph.New("box", handles(insideChannels)...)
	box.Node("open", w.logs("open", private.Put("opened")))
	box.Node("shut", w.node("shut", func(_ context.Context, s state.View) (state.Update, error) {
		w.hold("shut")
		return state.Update{journal.Put("shut what was " + strings.Join(private.Get(s), "+"))}, nil
	}))
	box.Edge(graph.Start, "open")
	box.Edge("open", "shut")

	b := graph.New("slow", handles(flowChannels)...)
	b.Node("first", w.logs("first"))
	b.Node("quick", w.logs("quick", amount.Put(6), graph.Send("work", input.Put("parcel"), amount.Put(1))))
	b.Node("slow", w.node("slow", func(ctx context.Context, _ state.View) (state.Update, error) {
		receipt, err := graph.Once(ctx, "pay", func(context.Context) (int, error) {
			w.mark("effect: pay")
			return 300, nil
		})
		if err != nil {
			return nil, err
		}
		w.hold("slow")
		return state.Update{journal.Put("slow"), amount.Put(receipt)}, nil
	}))
	b.Subgraph("box", inner(box))
	b.Node("work", w.work())
	b.Node("last", w.logs("last"))
	b.Edge(graph.Start, "first")
	for _, name := range []string{"quick", "slow", "box"} {
		b.Edge("first", name)
		b.Edge(name, "last")
	}
	b.AllowEdgesAndBranches("quick")
	b.Destinations("quick", "work")
	return w.compile(b, o)
}
