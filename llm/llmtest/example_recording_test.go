package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// A recording is made once with a real model, and replayed in every run of the tests. A test
// usually has the file in its testdata, and sets Update by a flag of its own.
func ExampleRecording() {
	dir, err := os.MkdirTemp("", "recording")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // testdata needs no clean-up
	path := filepath.Join(dir, "capital.jsonl")
	capital := llm.Request{Messages: []llm.Message{llm.User("What is the capital of France?")}}

	// go test -update
	paris := llmtest.NewScript(llmtest.Say("Paris.")) // stands for a model of a provider
	model, err := llmtest.NewRecording(path, llmtest.RecordingOptions{Update: true, Model: paris})
	if err != nil {
		panic(err)
	}
	if _, err := llm.Generate(context.Background(), model, capital); err != nil {
		panic(err)
	}

	// go test
	model, err = llmtest.NewRecording(path, llmtest.RecordingOptions{})
	if err != nil {
		panic(err)
	}
	reply, err := llm.Generate(context.Background(), model, capital)
	fmt.Println(reply.Text(), err)

	_, err = llm.Generate(context.Background(), model, llm.Request{Messages: []llm.Message{llm.User("And of Spain?")}})
	fmt.Println(errors.Is(err, llmtest.ErrNotRecorded))
	// Output:
	// Paris. <nil>
	// true
}
