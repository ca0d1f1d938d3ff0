// Command live asks a real model for what an agent needs, and reports what it
// got wrong: a plain answer, a streamed one, a tool that is called and believed,
// two tools in one question, and an answer of a given form.
//
// The model is the one that the environment names, as package providers reads
// it; for any server that speaks OpenAI's form OPENAI_BASE_URL and LLM_MODEL are
// enough. The exit status is 0 when all went well, 1 when the model or its server
// got something wrong, and 2 when there is no model to ask.
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Getenv, os.Stdout)
	stop()
	os.Exit(code)
}

// limit is how long each trial may take. A small model on a small machine takes
// its time.
const limit = 5 * time.Minute

// run opens the model and tries everything. It returns the exit status.
func run(ctx context.Context, getenv func(string) string, out io.Writer) int {
	config, err := providers.Read(getenv)
	if err != nil {
		tell(out, "live: %v", err)
		return 2
	}
	model, err := config.Open(ctx)
	if err != nil {
		tell(out, "live: %v", err)
		return 2
	}
	tell(out, "live: %s", config)
	wrong := 0
	for _, t := range trials {
		r := t.try(ctx, model)
		tell(out, "%-5s %-16s %6.1fs  %s", r.verdict(), t.name, r.took.Seconds(), r.got)
		for _, fault := range r.faults {
			tell(out, "      %-16s          %s", "", fault)
		}
		if len(r.faults) > 0 {
			wrong++
		}
	}
	tell(out, "live: %d of %d trials went well", len(trials)-wrong, len(trials))
	if wrong > 0 {
		return 1
	}
	return 0
}

// tell writes a line. When nobody listens any more the exit status still tells.
func tell(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}

// A trial is one thing that an agent needs of a model.
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

// A report is how a trial went.
type report struct {
	got    string
	faults []string
	took   time.Duration
}

func (r *report) verdict() string {
	if len(r.faults) > 0 {
		return "WRONG"
	}
	return "ok"
}

// wrong notes a fault.
func (r *report) wrong(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// saw notes what the model said, in one line.
func (r *report) saw(format string, args ...any) {
	r.got = line(fmt.Sprintf(format, args...))
}

func line(text string) string {
	const most = 160
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}
