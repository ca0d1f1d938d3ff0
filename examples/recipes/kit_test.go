// Package recipes_test has the patterns of docs/recipes.md as tested Examples.
package recipes_test

import (
	"context"
	"fmt"
	"os"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
)

// must stops the Example with an error.
func must[T any](v T, err error) T {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return v
}

// ask asks a model with one message and returns the text of the reply.
func ask(ctx context.Context, m llm.Model, text string) (string, error) {
	reply, err := agent.Ask(ctx, m, llm.Request{Messages: []llm.Message{llm.User(text)}})
	return reply.Text(), err
}
