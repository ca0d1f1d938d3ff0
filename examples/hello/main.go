// Hello is an agent with one tool. A file stores its conversation.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

func main() {
	store, err1 := sqlitecheckpoint.Open(context.Background(), "hello.db", sqlitecheckpoint.Options{})
	set, err2 := tools.NewSet(tools.New("add", "Adds.", func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil }))
	model := llmtest.NewScript(llmtest.Call("add", `{"A":2,"B":3}`), llmtest.Say("It is 5.")) // or any llm.Model
	bot, err3 := agent.New("hello", model, set, agent.Options{Graph: graph.Options{Checkpoints: store}})
	if err := errors.Join(err1, err2, err3); err != nil {
		panic(err)
	}
	snap, err := bot.Thread("user-42").Invoke(context.Background(), agent.Messages.Put(llm.User("2 + 3?")))
	if err != nil {
		panic(err)
	}
	for _, m := range agent.Messages.All(snap) {
		fmt.Println(m)
	}
}
