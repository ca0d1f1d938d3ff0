// Command live checks whether a model has the abilities that an agent needs. The model must
// give a plain answer, a streamed answer, a tool call, two tool calls for one question, and
// an answer that matches a JSON schema.
//
// Package providers reads the model from the environment. For a server with the API of
// OpenAI, set OPENAI_BASE_URL and LLM_MODEL. The exit status is 0 if every trial passed, 1
// if a trial failed, and 2 if no model is configured.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/all" // opens every provider
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Getenv, os.Stdout)
	stop()
	os.Exit(code)
}

// limit is the timeout of a trial. It is long, since small models on small machines are slow.
const limit = 5 * time.Minute

// run opens the model and runs every trial. It returns the exit status.
func run(ctx context.Context, getenv func(string) string, out io.Writer) int {
	config, err := providers.Read(getenv)
	if err != nil {
		printLine(out, "live: %v", err)
		return 2
	}
	model, err := config.Open(ctx)
	if err != nil {
		printLine(out, "live: %v", err)
		return 2
	}
	printLine(out, "live: %s", config)
	failed := 0
	for _, t := range trials {
		r := t.try(ctx, model)
		printLine(out, "%-5s %-16s %6.1fs  %s", r.verdict(), t.name, r.took.Seconds(), r.got)
		for _, fault := range r.faults {
			printLine(out, "      %-16s          %s", "", fault)
		}
		if len(r.faults) > 0 {
			failed++
		}
	}
	printLine(out, "live: %d of %d trials passed", len(trials)-failed, len(trials))
	if failed > 0 {
		return 1
	}
	return 0
}

// printLine writes a line. It ignores errors, since the exit status also shows the result.
func printLine(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}

// A trial checks one ability of a model.
type trial struct {
	name string
	ask  func(ctx context.Context, m llm.Model, r *report)
}

func (t trial) try(ctx context.Context, m llm.Model) report {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var r report
	began := time.Now()
	t.ask(ctx, m, &r)
	r.took = time.Since(began)
	return r
}

// A report is the result of a trial.
type report struct {
	got    string
	faults []string
	took   time.Duration
}

func (r *report) verdict() string {
	if len(r.faults) > 0 {
		return "FAIL"
	}
	return "ok"
}

// fail adds a fault of the model to the report.
func (r *report) fail(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// saw records the answer of the model as one line.
func (r *report) saw(format string, args ...any) {
	r.got = line(fmt.Sprintf(format, args...))
}

// line returns the beginning of a text as one line.
func line(text string) string {
	const most = 160
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}
