// Command liveextract measures how well a model verifies facts. For 60 turns in six languages
// it asks the model about a fact that the turn supports and a fact that it does not. It prints
// both kinds of error: right facts that the model refuses, and wrong facts that it supports.
//
// Package providers reads the model from the environment. For a server with the API of
// OpenAI, set OPENAI_BASE_URL and LLM_MODEL. The exit status is 0 if every turn was measured, 1
// if a turn failed, and 2 if no model is configured. Run it in the root of the repository.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/all" // opens every provider
	"github.com/weft-go/weft/memory/extract"
)

// sentences is the file with the turns.
const sentences = "memory/extract/testdata/sentences.json"

// limit is the timeout of a turn. It is long, since small models on small machines are slow.
const limit = 5 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Getenv, os.Stdout)
	stop()
	os.Exit(code)
}

// run opens the model and measures it. It returns the exit status.
func run(ctx context.Context, getenv func(string) string, out io.Writer) int {
	config, err := providers.Read(getenv)
	if err != nil {
		printLine(out, "liveextract: %v", err)
		return 2
	}
	model, err := config.Open(ctx)
	if err != nil {
		printLine(out, "liveextract: %v", err)
		return 2
	}
	turns, err := readTurns(sentences)
	if err != nil {
		printLine(out, "liveextract: %v", err)
		return 1
	}
	printLine(out, "liveextract: %s", config)
	return measure(ctx, model, turns, out)
}

// A turn is an entry of the file sentences. Turn is the user's text. Right is a fact that the
// text supports, and Wrong a fact that it does not support.
type turn struct {
	ID, Form, Turn string
	Right, Wrong   struct{ Content, Quote string }
}

func readTurns(path string) (turns []turn, err error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &turns)
	}
	return turns, err
}

// A tally counts the results for a group of turns.
type tally struct{ turns, refusedRight, supportedWrong int }

// measure asks the model about all turns and prints the errors. It returns the exit status.
func measure(ctx context.Context, model llm.Model, turns []turn, out io.Writer) int {
	verifier, failed := extract.NewVerifier(model), 0
	var total tally
	groups, order := map[string]*tally{}, []string(nil)
	for i, t := range turns {
		right, wrong, err := ask(ctx, verifier, t, i%2 == 1)
		if err != nil {
			failed++
			printLine(out, "FAIL  %s  %v", t.ID, err)
			continue
		}
		language, _, _ := strings.Cut(t.ID, "-")
		for _, name := range []string{language, t.Form} {
			if groups[name] == nil {
				groups[name] = new(tally)
				order = append(order, name)
			}
			groups[name].add(right, wrong)
		}
		total.add(right, wrong)
		if !right.Supported {
			printLine(out, "right fact refused (%s)  %s  %q from %q", right.Doubt, t.ID, t.Right.Content, t.Turn)
		}
		if wrong.Supported {
			printLine(out, "wrong fact supported  %s  %q from %q", t.ID, t.Wrong.Content, t.Turn)
		}
	}
	for _, name := range order {
		groups[name].write(out, name)
	}
	total.write(out, "all")
	if failed > 0 {
		printLine(out, "liveextract: %d turns failed", failed)
		return 1
	}
	return 0
}

// ask asks about both facts of a turn in one request, as a learner does.
func ask(ctx context.Context, v extract.Verifier, t turn, wrongFirst bool) (right, wrong extract.Verdict, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	claims := []extract.Claim{
		{Content: t.Right.Content, Quote: t.Right.Quote, Said: t.Turn},
		{Content: t.Wrong.Content, Quote: t.Wrong.Quote, Said: t.Turn},
	}
	if wrongFirst {
		claims[0], claims[1] = claims[1], claims[0]
	}
	verdicts, err := v.Verify(ctx, claims)
	if err != nil {
		return right, wrong, err
	}
	if wrongFirst {
		return verdicts[1], verdicts[0], nil
	}
	return verdicts[0], verdicts[1], nil
}

func (t *tally) add(right, wrong extract.Verdict) {
	t.turns++
	if !right.Supported {
		t.refusedRight++
	}
	if wrong.Supported {
		t.supportedWrong++
	}
}

func (t *tally) write(out io.Writer, name string) {
	printLine(out, "%-10s  %2d turns  right facts refused: %2d  wrong facts supported: %2d", name, t.turns, t.refusedRight, t.supportedWrong)
}

// printLine writes a line. It ignores errors, since the exit status also shows the result.
func printLine(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}
