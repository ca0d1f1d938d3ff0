package recipes_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
)

// Prompt chaining: each step works on the result of the step before, and a check ends the chain
// early.
func Example_promptChaining() {
	model := llmtest.NewScript(llmtest.Say("Why do weavers sleep well? They count sheep."), llmtest.Say("Weavers sleep well: their work is counted sheep."))
	topic, joke := state.Last[string]("topic"), state.Last[string]("joke")

	b := graph.New("chain", topic, joke)
	b.Node("write", func(ctx context.Context, s state.View) (state.Update, error) {
		text, err := ask(ctx, model, "Write a joke about "+topic.Get(s))
		return state.Update{joke.Put(text)}, err
	})
	b.Node("improve", func(ctx context.Context, s state.View) (state.Update, error) {
		text, err := ask(ctx, model, "Make it shorter: "+joke.Get(s))
		return state.Update{joke.Put(text)}, err
	})
	b.Edge(graph.Start, "write")
	b.Branch("write", func(s state.View) (string, error) {
		if len(joke.Get(s)) < 20 { // it is short enough
			return graph.End, nil
		}
		return "improve", nil
	}, "improve", graph.End)
	g := must(b.Compile(graph.Options{}))

	snap := must(g.Invoke(context.Background(), topic.Put("weavers")))
	fmt.Println(joke.Get(snap))
	// Output: Weavers sleep well: their work is counted sheep.
}

// Routing: a model sorts the request, and a branch sends it to the node for its kind.
func Example_routing() {
	type route struct {
		To string `json:"to" enum:"poem,story"`
	}
	router := llmtest.NewScript(llmtest.Call("answer", `{"to":"poem"}`))
	poet := llmtest.NewScript(llmtest.Say("Over and under it goes."))
	request, kind, text := state.Last[string]("request"), state.Last[string]("kind"), state.Last[string]("text")

	b := graph.New("route", request, kind, text)
	b.Node("route", func(ctx context.Context, s state.View) (state.Update, error) {
		r, _, err := llm.As[route](ctx, router, llm.Request{Messages: []llm.Message{llm.User("Which kind of text is wanted? " + request.Get(s))}})
		return state.Update{kind.Put(r.To)}, err
	})
	for name, model := range map[string]llm.Model{"poem": poet, "story": llmtest.Echo{}} {
		b.Node(name, func(ctx context.Context, s state.View) (state.Update, error) {
			out, err := ask(ctx, model, request.Get(s))
			return state.Update{text.Put(out)}, err
		})
	}
	b.Edge(graph.Start, "route")
	b.Branch("route", func(s state.View) (string, error) { return kind.Get(s), nil }, "poem", "story")
	g := must(b.Compile(graph.Options{}))

	snap := must(g.Invoke(context.Background(), request.Put("A verse on weaving")))
	fmt.Println(kind.Get(snap), "/", text.Get(snap))
	// Output: poem / Over and under it goes.
}

// Parallel: independent questions are asked at the same time, and a join combines the answers.
func Example_parallel() {
	topic := state.Last[string]("topic")
	answers := state.Map[string, string]("answers")
	report := state.Last[string]("report")

	b := graph.New("parallel", topic, answers, report)
	for _, view := range []string{"cost", "risk", "law"} {
		b.Node(view, func(ctx context.Context, s state.View) (state.Update, error) {
			text, err := ask(ctx, llmtest.Echo{}, view+" of "+topic.Get(s))
			return state.Update{answers.Put(map[string]string{view: text})}, err
		})
		b.Edge(graph.Start, view)
	}
	b.Node("combine", func(_ context.Context, s state.View) (state.Update, error) {
		all := answers.Get(s)
		return state.Update{report.Put(strings.Join([]string{all["cost"], all["law"], all["risk"]}, "; "))}, nil
	})
	b.Join("combine", "cost", "risk", "law")
	g := must(b.Compile(graph.Options{}))

	snap := must(g.Invoke(context.Background(), topic.Put("a new loom")))
	fmt.Println(report.Get(snap))
	// Output: cost of a new loom; law of a new loom; risk of a new loom
}

// Orchestrator and workers: a model plans the sections, and each section is a task of its own.
func Example_orchestratorAndWorkers() {
	type plan struct {
		Sections []string `json:"sections"`
	}
	planner := llmtest.NewScript(llmtest.Call("answer", `{"sections":["Warp","Weft"]}`))
	topic, section := state.Last[string]("topic"), state.Last[string]("section")
	texts := state.Append[string]("texts")

	b := graph.New("report", topic, section, texts)
	b.Node("plan", func(ctx context.Context, s state.View) (state.Update, error) {
		p, _, err := llm.As[plan](ctx, planner, llm.Request{Messages: []llm.Message{llm.User("Plan a report on " + topic.Get(s))}})
		var tasks state.Update
		for _, name := range p.Sections {
			tasks = append(tasks, graph.SendOver("write", section.Put(name)))
		}
		return tasks, err
	})
	b.Node("write", func(ctx context.Context, s state.View) (state.Update, error) {
		text, err := ask(ctx, llmtest.Echo{}, fmt.Sprintf("%s, in a report on %s", section.Get(s), topic.Get(s)))
		return state.Update{texts.Put(text)}, err
	})
	b.Edge(graph.Start, "plan")
	b.Destinations("plan", "write")
	g := must(b.Compile(graph.Options{}))

	snap := must(g.Invoke(context.Background(), topic.Put("cloth")))
	fmt.Println(strings.Join(texts.Get(snap), "\n"))
	// Output:
	// Warp, in a report on cloth
	// Weft, in a report on cloth
}

// Evaluator and optimiser: one model writes a text, and another model judges it. The first model
// writes again with the judge's feedback until the text is good or the attempts are used up.
func Example_evaluatorAndOptimiser() {
	type grade struct {
		Good     bool   `json:"good"`
		Feedback string `json:"feedback,omitempty"`
	}
	writer := llmtest.NewScript(llmtest.Say("A loom."), llmtest.Say("A loom walks into a bar. It has a warped sense of humour."))
	judge := llmtest.NewScript(llmtest.Call("answer", `{"good":false,"feedback":"This is no joke."}`), llmtest.Call("answer", `{"good":true}`))
	text, last := state.Last[string]("text"), state.Last[grade]("grade")
	attempts := state.Sum[int]("attempts")

	b := graph.New("improve", text, last, attempts)
	b.Node("write", func(ctx context.Context, s state.View) (state.Update, error) {
		out, err := ask(ctx, writer, "Write a joke. "+last.Get(s).Feedback)
		return state.Update{text.Put(out), attempts.Put(1)}, err
	})
	b.Node("judge", func(ctx context.Context, s state.View) (state.Update, error) {
		g, _, err := llm.As[grade](ctx, judge, llm.Request{Messages: []llm.Message{llm.User("Is this funny? " + text.Get(s))}})
		return state.Update{last.Put(g)}, err
	})
	b.Edge(graph.Start, "write")
	b.Edge("write", "judge")
	b.Branch("judge", func(s state.View) (string, error) {
		if last.Get(s).Good || attempts.Get(s) == 3 {
			return graph.End, nil
		}
		return "write", nil
	}, "write", graph.End)
	g := must(b.Compile(graph.Options{}))

	snap := must(g.Invoke(context.Background(), graph.Begin()))
	fmt.Println(attempts.Get(snap), text.Get(snap))
	// Output: 2 A loom walks into a bar. It has a warped sense of humour.
}
