package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// logger discards its records, except that the studio shows the records of nodes.
var logger = slog.New(server.LogHandler(slog.NewTextHandler(io.Discard, nil)))

func newGraphs(store checkpoint.Store) (map[string]*graph.Graph, error) {
	support, err := newSupport(store)
	if err != nil {
		return nil, err
	}
	report, err := newReport(store)
	if err != nil {
		return nil, err
	}
	counter, err := newCounter(store)
	if err != nil {
		return nil, err
	}
	ask, err := newAsking("ask", anything, store)
	if err != nil {
		return nil, err
	}
	rate, err := newAsking("rate", typed, store)
	if err != nil {
		return nil, err
	}
	confirm, err := newAsking("confirm", yesOrNo, store)
	return map[string]*graph.Graph{"support": support, "report": report, "counter": counter, "ask": ask, "rate": rate, "confirm": confirm}, err
}

// An order is a row of the table that search_orders returns.
type order struct {
	ID     string  `json:"id"`
	Item   string  `json:"item"`
	Total  float64 `json:"total"`
	Status string  `json:"status"`
	Serial int64   `json:"serial"`
}

// newSupport returns an agent that looks up orders, and refunds them when a person approves.
func newSupport(store checkpoint.Store) (*graph.Graph, error) {
	search := tools.New("search_orders", "Searches the orders of a customer.", func(ctx context.Context, in struct {
		Customer string `json:"customer"`
	},
	) ([]order, error) {
		wait(ctx, 180*time.Millisecond)
		return []order{
			{"A-1042", "Walking boots, size 43", 129.9, "delivered", 9007199254740993},
			{"A-1077", "Rain jacket, green", 89, "in transit", 9007199254740995},
		}, nil
	}).Annotate(tools.Annotations{Title: "Search orders", ReadOnly: true})
	refund := tools.New("refund_order", "Refunds an order.", func(ctx context.Context, in struct {
		Order  string  `json:"order" jsonschema:"the id of the order"`
		Amount float64 `json:"amount" jsonschema:"euros"`
		Reason string  `json:"reason"`
	},
	) (string, error) {
		wait(ctx, 120*time.Millisecond)
		return fmt.Sprintf("Refunded %.2f euros for order %s.", in.Amount, in.Order), nil
	}).Annotate(tools.Annotations{Title: "Refund order", Destructive: true})
	carrier := tools.New("track_parcel", "Asks the carrier where a parcel is.", func(ctx context.Context, _ struct {
		Order string `json:"order"`
	},
	) (string, error) {
		wait(ctx, 90*time.Millisecond)
		return "", errors.New("the carrier answered with status 503")
	}).Annotate(tools.Annotations{Title: "Track parcel", ReadOnly: true, OpenWorld: true})
	set, err := tools.NewSet(search, refund, carrier)
	if err != nil {
		return nil, err
	}
	return agent.New("support", llm.ModelFunc(reply), set, agent.Options{
		System: "You help customers of a shop for walkers.",
		Tools:  tools.Options{Approval: tools.Approval{Rule: tools.Destructive()}},
		Graph:  graph.Options{Checkpoints: store},
	})
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// reply answers the last message.
func reply(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	last := r.Messages[len(r.Messages)-1]
	text := strings.ToLower(last.Text())
	var answer llmtest.Reply
	switch {
	case last.Role == llm.RoleTool && last.Name == "search_orders":
		answer = llmtest.Say("You have two orders with us:\n\n| Order | Item | Total | Status |\n|---|---|---:|---|\n| **A-1042** | Walking boots, size 43 | 129.90 € | delivered |\n| **A-1077** | Rain jacket, green | 89.00 € | in transit |\n\nThe jacket left our warehouse yesterday. Is there anything that I should do about one of them?").Thinking("The customer wants to know about the orders. The tool found two.")
	case last.Role == llm.RoleTool && last.Name == "track_parcel":
		answer = llmtest.Say("The carrier cannot be reached just now. Your parcel left our warehouse yesterday, so it should be with you **within two days**. I will look again later.")
	case last.Role == llm.RoleTool && last.Status == llm.StatusError:
		answer = llmtest.Say("I have not refunded the order.")
	case last.Role == llm.RoleTool:
		answer = llmtest.Say("Done: the money will be on your account within three days.")
	case strings.Contains(text, "refund"):
		answer = llmtest.Call("refund_order", `{"order":"A-1042","amount":129.9,"reason":"The boots are too small."}`)
	case strings.Contains(text, "track"):
		answer = llmtest.Call("track_parcel", `{"order":"A-1077"}`)
	case strings.Contains(text, "order"):
		answer = llmtest.Call("search_orders", `{"customer":"Ada Lovelace"}`)
	default:
		answer = llmtest.Say("Hello! I can look up your orders, track a parcel and refund what did not fit.")
	}
	answer = answer.Costing(llm.Usage{Input: int64(40 * len(r.Messages)), Output: 38}).After(60 * time.Millisecond)
	answer.Pace = 4 * time.Millisecond
	return llmtest.NewScript(answer).Stream(ctx, r)
}

// The channels of the report.
var (
	topic    = state.Last[string]("topic")
	plan     = state.Append[string]("plan")
	findings = state.Append[finding]("findings")
	query    = state.Last[string]("query")
	draft    = state.Last[string]("draft")
	verdict  = state.Optional[string]("verdict")
	revision = state.Sum[int]("revision")
)

type finding struct {
	Query  string  `json:"query"`
	Title  string  `json:"title"`
	Source string  `json:"source"`
	Score  float64 `json:"score"`
}

// An approval is the question to the editor. Its prompt has the schema of the answer.
type approval struct {
	Title  string          `json:"title"`
	Draft  string          `json:"draft"`
	Schema json.RawMessage `json:"schema"`
}

type decision struct {
	Publish bool   `json:"publish"`
	Note    string `json:"note"`
}

var review = graph.NewInterrupt[approval, decision]("review")

const decisionSchema = `{"type":"object","required":["publish"],"properties":{` +
	`"publish":{"type":"boolean","title":"Publish the report","description":"Readers see it at once."},` +
	`"note":{"type":"string","title":"Note for the author"}}}`

// heldTopic is the topic of a report that is not written before release is closed, so that a test can look at the running
// run.
const heldTopic = "lighthouses"

var release = make(chan struct{})

// newReport returns a graph that plans, searches in parallel, writes, and asks an editor in a subgraph.
func newReport(store checkpoint.Store) (*graph.Graph, error) {
	editing := graph.New("editing", draft, verdict, revision)
	editing.Node("check", func(ctx context.Context, s state.View) (state.Update, error) {
		wait(ctx, 70*time.Millisecond)
		return state.Update{revision.Put(1)}, nil
	})
	editing.Node("ask_editor", func(ctx context.Context, s state.View) (state.Update, error) {
		d, err := review.Wait(ctx, approval{"Publish this report?", draft.Get(s), json.RawMessage(decisionSchema)})
		if err != nil {
			return nil, err
		}
		text := "rejected: " + d.Note
		if d.Publish {
			text = "published"
		}
		return state.Update{verdict.Put(&text)}, nil
	})
	editing.Edge(graph.Start, "check")
	editing.Edge("check", "ask_editor")
	edit, err := editing.Compile(graph.Options{})
	if err != nil {
		return nil, err
	}
	b := graph.New("report", topic, plan, findings, query, draft, verdict, revision)
	b.Node("plan", func(ctx context.Context, s state.View) (state.Update, error) {
		wait(ctx, 150*time.Millisecond)
		return state.Update{plan.Put("history of "+topic.Get(s), "prices of "+topic.Get(s), "risks of "+topic.Get(s))}, nil
	})
	b.BranchMany("plan", func(s state.View) (state.Update, error) {
		var out state.Update
		for _, q := range plan.Get(s) {
			out = append(out, graph.Send("search", query.Put(q)))
		}
		return out, nil
	}, "search")
	var busy atomic.Bool
	b.Node("search", node.Retry(node.RetryPolicy{}, func(ctx context.Context, s state.View) (state.Update, error) {
		q := query.Get(s)
		logger.InfoContext(ctx, "the search begins", "query", q)
		if q == "prices of bicycles" && !busy.Swap(true) { // fail the first attempt
			logger.WarnContext(ctx, "the index answered with status 429")
			return nil, errors.New("the search index is busy")
		}
		wait(ctx, time.Duration(120+40*len(q)%200)*time.Millisecond)
		if strings.Contains(q, "risks of nothing") {
			return nil, errors.New("the search index has no shard for \"nothing\"")
		}
		return state.Update{findings.Put(finding{q, strings.ToUpper(q[:1]) + q[1:], "https://example.org/" + strings.ReplaceAll(q, " ", "-"), 0.8125})}, nil
	}))
	b.Node("write", func(ctx context.Context, s state.View) (state.Update, error) {
		wait(ctx, 260*time.Millisecond)
		if topic.Get(s) == heldTopic {
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return state.Update{draft.Put(fmt.Sprintf("# %s\n\nThree sources agree. **%d findings** support this report.", topic.Get(s), findings.Len(s)))}, nil
	})
	b.Subgraph("edit", edit)
	b.Node("publish", func(ctx context.Context, _ state.View) (state.Update, error) {
		wait(ctx, 40*time.Millisecond)
		return nil, nil
	})
	b.Edge(graph.Start, "plan")
	b.Edge("search", "write")
	b.Edge("write", "edit")
	b.Branch("edit", func(s state.View) (string, error) {
		if verdict.Get(s) == "published" {
			return "publish", nil
		}
		return graph.End, nil
	}, "publish", graph.End)
	return b.Compile(graph.Options{Checkpoints: store})
}

var count = state.Sum[int]("count")

// newCounter returns a graph that counts to a number, one in each superstep, for long histories.
func newCounter(store checkpoint.Store) (*graph.Graph, error) {
	limit := state.Last[int]("limit")
	b := graph.New("counter", count, limit)
	b.Node("add", func(context.Context, state.View) (state.Update, error) { return state.Update{count.Put(1)}, nil })
	b.Edge(graph.Start, "add")
	b.Branch("add", func(s state.View) (string, error) {
		if count.Get(s) < limit.Get(s) {
			return "add", nil
		}
		return graph.End, nil
	}, "add", graph.End)
	return b.Compile(graph.Options{Checkpoints: store, MaxSteps: 100_000})
}
