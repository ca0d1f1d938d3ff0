// Hello is the agent of the README: a model, a tool, and a thread that is kept
// in a file.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// docs:begin agent
func main() {
	ctx := context.Background()
	store, err := sqlitecheckpoint.Open(ctx, "hello.db", sqlitecheckpoint.Options{})
	check(err)
	defer store.Close()

	clock := tools.New("clock", "Tells the date.", func(context.Context, struct{}) (string, error) {
		return time.Now().Format("2 January 2006"), nil
	})
	set, err := tools.NewSet(clock)
	check(err)
	model := llmtest.NewScript(llmtest.Call("clock", "{}"), llmtest.Say("I looked it up.")) // any llm.Model
	bot, err := agent.New("hello", model, set, agent.Options{Graph: graph.Options{Checkpoints: store}})
	check(err)

	thread := bot.Thread("user-42") // kept in hello.db, also for the next process
	snap, err := thread.Invoke(ctx, agent.Messages.Put(llm.User("What day is it?")))
	check(err)
	for _, m := range agent.Messages.Get(snap) {
		fmt.Printf("%s: %s\n", m.Role, m.Text())
	}
}

// docs:end

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
