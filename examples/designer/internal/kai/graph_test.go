package kai_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// adder returns a set of tools that add two numbers: "add", and a tool for each name.
func adder(t *testing.T, names ...string) *tools.Set {
	t.Helper()
	var list []tools.Tool
	for _, name := range append(names, "add") {
		list = append(list, tools.New(name, "Adds.", func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil }))
	}
	set, err := tools.NewSet(list...)
	check(t, err)
	return set
}

func build(t *testing.T, model llm.Model, set *tools.Set, o kai.Options) *graph.Graph {
	t.Helper()
	o.Graph.Checkpoints = memcheckpoint.New(memcheckpoint.Options{})
	g, err := kai.CreateAgentGraph(model, set, o)
	check(t, err)
	return g
}

// A run gives the same answer with and without a reader of its chunks.
func TestCreateAgentGraph(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{false, true} {
		model := llmtest.NewScript(llmtest.Call("add", `{"A":2,"B":3}`), llmtest.Say("It is 5."))
		g := build(t, model, adder(t), kai.Options{})
		in := kai.Messages.Put(llm.User("2+3?"))
		seen := 0
		if watched {
			for _, err := range kai.Chunks(g.Thread("t").Stream(t.Context(), in)) {
				check(t, err)
				seen++
			}
		} else {
			_, err := g.Thread("t").Invoke(t.Context(), in)
			check(t, err)
		}
		snap, err := g.Thread("t").Snapshot(t.Context())
		check(t, err)
		text := kai.FinalResponse.Get(snap)
		if text == nil || *text != "It is 5." || kai.Messages.Len(snap) != 4 || watched != (seen > 0) {
			t.Errorf("watched %t: got %v, %d chunks", watched, text, seen)
		}
	}
}

func TestTopology(t *testing.T) {
	t.Parallel()
	var edges []string
	for _, e := range build(t, llmtest.NewScript(), adder(t), kai.Options{}).Describe().Edges {
		edges = append(edges, string(e.Kind)+" "+e.From+" "+e.To)
	}
	slices.Sort(edges)
	want := []string{
		"branch agent __end__", "branch agent human_approval", "branch agent tools",
		"edge __start__ agent", "edge human_approval agent", "edge tools agent",
	}
	if !reflect.DeepEqual(edges, want) {
		t.Errorf("got %q, want %q", edges, want)
	}
}

// If the model always calls tools, a turn calls it ten times, or MaxIterations times if that option is set.
func TestMaxIterations(t *testing.T) {
	t.Parallel()
	for set, want := range map[int]int{0: 10, 1: 1, 3: 3, 60: 60} {
		var replies []llmtest.Reply
		for range 70 {
			replies = append(replies, llmtest.Call("add", `{"A":1,"B":1}`))
		}
		model := llmtest.NewScript(replies...)
		snap, err := build(t, model, adder(t), kai.Options{MaxIterations: set}).Thread("t").Invoke(t.Context(), kai.Messages.Put(llm.User("hi")))
		check(t, err)
		if n := len(model.Requests()); n != want || kai.Iteration.Get(snap) != want || kai.FinalResponse.Get(snap) != nil || !snap.Done() {
			t.Errorf("MaxIterations %d: asked %d times, iteration %d, final %v, want %d", set, n, kai.Iteration.Get(snap), kai.FinalResponse.Get(snap), want)
		}
		if n := kai.ToolResults.Len(snap); n != want-1 {
			t.Errorf("MaxIterations %d: %d tools ran, want %d", set, n, want-1)
		}
	}
	// The result has the reason, and the next turn works.
	var replies []llmtest.Reply
	for range 10 {
		replies = append(replies, llmtest.Call("search_products", `{"query":"oak"}`))
	}
	p := sqlitePlace(t).platform(t, llmtest.NewScript(append(replies, llmtest.Say("Better."))...))
	r := run(t, p, turn("hi"))
	if r.Reason != kai.Exhausted || r.Response != nil || r.Iterations != 10 {
		t.Errorf("got %+v", r)
	}
	if r = run(t, p, turn("again")); r.Reason != kai.Answered || *r.Response != "Better." || r.Iterations != 1 || r.Turns != 2 {
		t.Errorf("got %+v", r)
	}
}

// Each request to the model has the tools and the prompt.
func TestAgentNode(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Call("add", `{"A":2,"B":3}`), llmtest.Say("5"))
	g := build(t, model, adder(t), kai.Options{})
	snap, err := g.Thread("t").Invoke(t.Context(), kai.Messages.Put(llm.User("2+3?")), kai.SystemPrompt.Put("You add."))
	check(t, err)
	for i, r := range model.Requests() {
		first := r.Messages[0]
		if first.Role != llm.RoleSystem || first.Text() != "You add." || len(r.Tools) != 1 || r.Tools[0].Name != "add" {
			t.Errorf("request %d is %+v", i, r)
		}
	}
	if n := kai.Iteration.Get(snap); n != 2 {
		t.Errorf("iteration is %d, want 2", n)
	}
	for _, m := range kai.Messages.Get(snap) {
		if m.Role == llm.RoleSystem {
			t.Error("the prompt is stored with the conversation")
		}
	}
}

// Every call of a reply runs, and the state has the results in the order of the calls.
func TestToolsNode(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewScript(
				calls("search_products", searchCall, "get_product", `{"id":"nope"}`, "generate3D", sceneCall, "get_product", `{"id":"P001"}`),
				llmtest.Say("Done."),
			)
			p := newPlace(t).platform(t, model)
			r := run(t, p, turn("go"))
			snap, err := p.Snapshot(t.Context(), turn(""))
			check(t, err)
			var got []string
			for _, m := range kai.Messages.Get(snap) {
				if m.Role == llm.RoleTool {
					got = append(got, m.Name+" "+string(m.Status))
				}
			}
			if want := "search_products success|get_product error|generate3D success|get_product success"; strings.Join(got, "|") != want {
				t.Errorf("the tool messages are %q, want %q", got, want)
			}
			results := kai.ToolResults.Get(snap)
			if len(results) != 4 || !results[1].Failed || results[0].Failed || results[3].Tool != "get_product" {
				t.Errorf("the results are %+v", results)
			}
			var products []string
			for _, product := range r.Products {
				products = append(products, product.ID)
			}
			if strings.Join(products, " ") != "P042 P050 P001" {
				t.Errorf("the products are %q", products)
			}
			if j := r.GenerationJob; j == nil || j.Status != "finished" || len(j.Products) != 2 {
				t.Errorf("the job is %+v", j)
			}
			scene, err := p.Scene(t.Context(), "ann", r.GenerationJob.ID)
			if err != nil || !strings.Contains(scene.Model, "o P042_HAL_Wood\nv 0.000") || strings.Count(scene.Model, "\nf ") != 12 {
				t.Errorf("the scene is %q, %v", scene.Model, err)
			}
		})
	}
}

// Calls of the critical tools go to the node human_approval, and other calls to tools. Options.Critical sets the
// critical tools.
func TestApproval(t *testing.T) {
	t.Parallel()
	names := []string{"generate3D", "createQuote", "submitOrder"}
	for _, name := range append(names, "add") {
		critical := name != "add"
		model := llmtest.NewScript(calls(name, `{"A":1,"B":2}`), llmtest.Say("3"))
		g := build(t, model, adder(t, names...), kai.Options{})
		snap, err := g.Thread("t").Invoke(t.Context(), kai.Messages.Put(llm.User("go")))
		check(t, err)
		if critical != (len(snap.Pauses) == 1) || critical && snap.Pauses[0].Node != "human_approval" || critical == snap.Done() {
			t.Fatalf("%s: waits for %+v", name, snap.Pauses)
		}
		if !critical {
			continue
		}
		open, err := agent.Approval.Open(snap)
		check(t, err)
		snap, err = g.Thread("t").Invoke(t.Context(), agent.Approval.Answer(open[0].ID, open[0].Prompt.Approve()))
		check(t, err)
		if r := kai.ToolResults.Get(snap); len(r) != 1 || r[0].Result != "3" || !snap.Done() {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	model := llmtest.NewScript(calls("add", `{"A":1,"B":2}`, "submitOrder", `{"A":1,"B":2}`), llmtest.Say("x"))
	g := build(t, model, adder(t, names...), kai.Options{Critical: []string{"add"}})
	snap, err := g.Thread("t").Invoke(t.Context(), kai.Messages.Put(llm.User("go")))
	check(t, err)
	open, err := agent.Approval.Open(snap)
	check(t, err)
	if len(open) != 1 || open[0].Prompt.Tool != "add" {
		t.Errorf("with another list: %+v", open)
	}
	snap, err = g.Thread("t").Invoke(t.Context(), agent.Approval.Answer(open[0].ID, open[0].Prompt.Reject("not now")))
	check(t, err)
	if r := kai.ToolResults.Get(snap); len(r) != 2 || !r[0].Failed || !strings.Contains(r[0].Result, "not now") || r[1].Result != "3" {
		t.Errorf("after a no: %+v", r)
	}
}

// For invalid arguments the model gets an error. No tool runs, and the graph asks nobody for approval.
func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(
		calls("createQuote", `{"items":[{"product_id":"P001","quantity":"many"}]}`, "get_product", `{"id":7}`, "search_products", `{"colour":"red","colour2":"x"}`),
		llmtest.Call("get_product", `not JSON`), llmtest.Say("I give up."),
	)
	p := sqlitePlace(t).platform(t, model)
	r := run(t, p, turn("go"))
	if r.Reason != kai.Answered || len(r.Waits) != 0 {
		t.Errorf("got %+v", r)
	}
	snap, err := p.Snapshot(t.Context(), turn(""))
	check(t, err)
	want := []string{"quantity: want an integer", "id: want a string", "colour2", "JSON"}
	for i, result := range kai.ToolResults.Get(snap) {
		if !result.Failed || !strings.Contains(result.Result, want[i]) {
			t.Errorf("%s: %s", result.Tool, result.Result)
		}
	}
	if last := model.Requests()[2].Messages; !strings.Contains(last[len(last)-1].Text(), "JSON") {
		t.Errorf("the model was told %s", last[len(last)-1])
	}
}
