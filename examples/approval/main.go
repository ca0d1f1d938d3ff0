// Approval is a graph that asks before it acts. One process asks the question,
// another process answers it.
//
//	go run ./examples/approval             orders 12 cups, and ends with a question
//	go run ./examples/approval order 30    orders another number of cups
//	go run ./examples/approval answer yes  answers the question: yes or no
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// docs:begin graph
var (
	Cups    = state.Last[int]("cups")
	Log     = state.Append[string]("log")
	Approve = graph.NewInterrupt[string, bool]("approve")
)

func submit(ctx context.Context, s state.View) (state.Update, error) {
	ok, err := Approve.Wait(ctx, fmt.Sprintf("order %d cups?", Cups.Get(s)))
	if err != nil {
		return nil, err // no answer yet: the run pauses here
	}
	return state.Update{Log.Put(fmt.Sprintf("ordered: %t", ok))}, nil
}

// docs:end

func build(store *sqlitecheckpoint.Store) (*graph.Graph, error) {
	b := graph.New("shop", Cups, Log)
	b.Node("submit", submit)
	b.Edge(graph.Start, "submit")
	return b.Compile(graph.Options{Checkpoints: store})
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), "approval.db", os.Args[1:], os.Stdout); err != nil {
		log.Fatal("approval: ", err)
	}
}

var errUsage = errors.New("usage: go run ./examples/approval [order CUPS | answer yes|no]")

// run executes one command. The file at path stores the order between commands.
func run(ctx context.Context, path string, args []string, out io.Writer) error {
	if len(args) == 0 {
		args = []string{"order", "12"}
	}
	if len(args) != 2 || args[0] != "order" && args[0] != "answer" {
		return errUsage
	}
	store, err := sqlitecheckpoint.Open(ctx, path, sqlitecheckpoint.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	g, err := build(store)
	if err != nil {
		return err
	}
	thread := g.Thread("order")
	open, err := openQuestions(ctx, thread)
	if err != nil {
		return err
	}
	if args[0] == "order" {
		return order(ctx, thread, open, args[1], out)
	}
	return answer(ctx, thread, open, args[1], out)
}

// openQuestions returns the questions that wait for an answer.
func openQuestions(ctx context.Context, thread *graph.Thread) ([]graph.OpenQuestion[string], error) {
	snap, err := thread.Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, nil // the thread has not run yet
	}
	if err != nil {
		return nil, err
	}
	return Approve.Open(snap)
}

func order(ctx context.Context, thread *graph.Thread, open []graph.OpenQuestion[string], number string, out io.Writer) error {
	cups, err := strconv.Atoi(number)
	if err != nil || cups < 1 {
		return fmt.Errorf("%q is not a number of cups; use a whole number above 0", number)
	}
	if len(open) > 0 { // new input would drop the open question
		fmt.Fprintln(out, "Answer the open question first.")
		ask(out, open)
		return nil
	}
	snap, err := thread.Invoke(ctx, Cups.Put(cups))
	if err != nil {
		return err
	}
	open, err = Approve.Open(snap)
	ask(out, open)
	return err
}

func answer(ctx context.Context, thread *graph.Thread, open []graph.OpenQuestion[string], text string, out io.Writer) error {
	if len(open) == 0 {
		return errors.New("no question is open; `go run ./examples/approval` asks one")
	}
	yes, ok := yesOrNo(text)
	if !ok { // run nothing: the question stays open
		fmt.Fprintf(out, "%q is neither yes nor no.\n", text)
		ask(out, open)
		return nil
	}
	// docs:begin answer
	snap, err := thread.Invoke(ctx, Approve.Answer(open[0].ID, yes))
	if err != nil {
		return err
	}
	for _, line := range Log.All(snap) {
		fmt.Fprintln(out, line)
	}
	return nil
	// docs:end
}

// ask prints the open questions and the command that answers them.
func ask(out io.Writer, open []graph.OpenQuestion[string]) {
	for _, q := range open {
		fmt.Fprintln(out, q.Prompt)
	}
	fmt.Fprintln(out, "To answer: go run ./examples/approval answer yes   (or no)")
}

// yesOrNo reads an answer. It reports ok only for yes, y, no and n, in any case.
func yesOrNo(text string) (yes, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "yes", "y":
		return true, true
	case "no", "n":
		return false, true
	}
	return false, false
}
