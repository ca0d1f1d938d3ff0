package llm_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
)

// words counts one token per byte, to keep the example small.
var words = llm.TokenCounterFunc(func(m llm.Message) int { return len(m.Text()) })

func ExamplePrune() {
	conversation := []llm.Message{
		llm.System("Be brief."),
		llm.User("Tell me everything about boats."),
		llm.Assistant("They float."),
		llm.User("And cars?"),
		llm.Assistant("They do not."),
	}
	for _, m := range llm.Prune(conversation, llm.Pruning{MaxTokens: 45, MinMessages: 2, Counter: words}) {
		fmt.Println(m)
	}
	// Output:
	// system: Be brief.
	// assistant: They float.
	// user: And cars?
	// assistant: They do not.
}

// Prune keeps the system message and the last two other messages.
func ExamplePrune_messages() {
	one := llm.TokenCounterFunc(func(m llm.Message) int {
		if m.Role == llm.RoleSystem {
			return 0
		}
		return 1
	})
	conversation := []llm.Message{llm.System("Be brief."), llm.User("boats?"), llm.Assistant("They float."), llm.User("cars?")}
	for _, m := range llm.Prune(conversation, llm.Pruning{MaxTokens: 2, MinMessages: -1, Counter: one}) {
		fmt.Println(m)
	}
	// Output:
	// system: Be brief.
	// assistant: They float.
	// user: cars?
}

// A channel can be pruned after each superstep.
func ExamplePrune_channel() {
	messages := state.Keyed("messages", llm.ByID).Prune(func(m []llm.Message) []llm.Message {
		return llm.Prune(m, llm.Pruning{MaxTokens: 8000})
	})
	fmt.Println(messages.Name())
	// Output: messages
}

func ExampleSummarise() {
	conversation := []llm.Message{
		llm.System("Be brief."),
		llm.User("I am Ann, and I have a red boat of nine metres."),
		llm.Assistant("A fine boat."),
		llm.User("What colour is it?"),
	}
	model := llmtest.NewScript(llmtest.Say("Ann has a red boat, 9 m long."))
	p := llm.Pruning{MaxTokens: 60, MinMessages: 1, Counter: words}
	short, err := llm.Summarise(context.Background(), conversation, p, llm.SummariseWith(model))
	if err != nil {
		panic(err)
	}
	for _, m := range short {
		fmt.Println(m)
	}
	// Output:
	// system: Be brief.
	// user: Summary of the conversation so far:
	//
	// Ann has a red boat, 9 m long.
	// user: What colour is it?
}

func ExampleEstimateTokens() {
	fmt.Println(llm.EstimateTokens(llm.User("The quick brown fox jumps over the lazy dog.")))
	fmt.Println(llm.EstimateTokens(llm.User("素早い茶色の狐がのろまな犬を飛び越える。")))
	// Output:
	// 14
	// 23
}

// A channel adds up the usage of all model calls. A node that asks the model writes the usage of
// the reply to the channel.
func ExampleSumUsage() {
	usage := state.NewChannel("usage", llm.SumUsage)
	view, err := state.NewView([]state.Handle{usage},
		usage.Put(llm.Usage{Input: 120, Output: 24, Total: 144, Cached: 100}),
		usage.Put(llm.Usage{Input: 180, Output: 16, Total: 196}))
	if err != nil {
		panic(err)
	}
	total := usage.Get(view)
	fmt.Println(total.Input, total.Output, total.Total, total.Cached)
	// Output: 300 40 340 100
}

// Messages are merged by id: a message replaces an earlier message of the same id, and is otherwise
// appended. Messages can be removed by id.
func ExampleIdentity() {
	messages := state.Keyed("messages", llm.ByID)
	draft := llm.ByID.WithID(llm.Assistant("A draft"), "a1")
	final := llm.ByID.WithID(llm.Assistant("The answer"), "a1")
	extra := llm.ByID.WithID(llm.Assistant("By the way"), "a2")
	view, err := state.NewView([]state.Handle{messages},
		messages.Put(llm.User("?"), draft), messages.Put(final, extra), messages.Remove("a2"))
	if err != nil {
		panic(err)
	}
	for _, m := range messages.Get(view) {
		fmt.Println(m, m.ID != "")
	}
	// Output:
	// user: ? true
	// assistant: The answer true
}
