package graph_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Both graphs declare the channel text, so they share it. Only the subgraph declares the
// channel notes, so it is private.
func ExampleBuilder_Subgraph() {
	text := state.Last[string]("text")
	notes := state.Append[string]("notes")

	edit := graph.New("edit", text, notes)
	edit.Node("trim", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{text.Put(strings.TrimSpace(text.Get(s))), notes.Put("trimmed")}, nil
	})
	edit.Node("title", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{text.Put("# " + text.Get(s)), notes.Put("titled")}, nil
	})
	edit.Edge(graph.Start, "trim")
	edit.Edge("trim", "title")
	editor, err := edit.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	b := graph.New("publish", text)
	b.Subgraph("edit", editor)
	b.Edge(graph.Start, "edit")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background(), text.Put("  Release notes "))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", text.Get(snap))
	// Output: "# Release notes"
}

// Persist keeps the channels of the subgraph from one turn of the thread to the next.
// The parent graph does not declare the channel seen.
func ExampleBuilder_SubgraphWith() {
	document := state.Last[string]("document")
	verdict := state.Last[string]("verdict")
	seen := state.Append[string]("seen")

	review := graph.New("review", document, verdict, seen)
	review.Node("compare", func(_ context.Context, s state.View) (state.Update, error) {
		text := fmt.Sprintf("%s comes after %v", document.Get(s), seen.Get(s))
		return state.Update{verdict.Put(text), seen.Put(document.Get(s))}, nil
	})
	review.Edge(graph.Start, "compare")
	reviewer, err := review.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	b := graph.New("intake", document, verdict)
	b.SubgraphWith("review", reviewer, graph.SubgraphOptions{Persist: "reviewer"})
	b.Edge(graph.Start, "review")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, inbox := context.Background(), g.Thread("inbox")
	for _, name := range []string{"offer", "contract", "invoice"} {
		snap, err := inbox.Invoke(ctx, document.Put(name))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(verdict.Get(snap))
	}
	// Output:
	// offer comes after []
	// contract comes after [offer]
	// invoice comes after [offer contract]
}

// Input and Output connect channels that have different names in the two graphs.
func ExampleBuilder_SubgraphWith_channels() {
	text, length := state.Last[string]("text"), state.Last[int]("length")
	count := graph.New("count", text, length)
	count.Node("count", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{length.Put(len(strings.Fields(text.Get(s))))}, nil
	})
	count.Edge(graph.Start, "count")
	counter, err := count.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	letter, words := state.Last[string]("letter"), state.Last[int]("words")
	b := graph.New("mail", letter, words)
	b.SubgraphWith("count", counter, graph.SubgraphOptions{
		Input: func(parent state.View) (state.Update, error) {
			return state.Update{text.Put(letter.Get(parent))}, nil
		},
		Output: func(_, sub state.View) (state.Update, error) {
			return state.Update{words.Put(length.Get(sub))}, nil
		},
	})
	b.Edge(graph.Start, "count")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background(), letter.Put("Dear Ana, thank you."))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(words.Get(snap), "words")
	// Output: 4 words
}

// A node of the subgraph chooses the next node of the parent graph.
func ExampleToParent() {
	question := state.Last[string]("question")
	answer := state.Last[string]("answer")

	bot := graph.New("bot", question, answer)
	bot.Node("reply", func(_ context.Context, s state.View) (state.Update, error) {
		if strings.Contains(question.Get(s), "refund") {
			return state.Update{graph.ToParent(graph.Goto("human"))}, nil
		}
		return state.Update{answer.Put("see the manual")}, nil
	})
	bot.Edge(graph.Start, "reply")
	replies, err := bot.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	b := graph.New("desk", question, answer)
	b.Subgraph("bot", replies)
	b.Node("human", func(context.Context, state.View) (state.Update, error) {
		return state.Update{answer.Put("a person will call you")}, nil
	})
	b.Edge(graph.Start, "bot")
	b.Destinations("bot", "human")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	for _, q := range []string{"how do I log in?", "I want a refund"} {
		snap, err := g.Invoke(context.Background(), question.Put(q))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer.Get(snap))
	}
	// Output:
	// see the manual
	// a person will call you
}
