// Command postgres runs one agent in two processes with one database. It kills the
// first process in the middle of a booking; the second one resumes the thread.
//
//	DATABASE_URL=$(scripts/postgres) go run ./examples/postgres
//
// Read agent.go for the agent, and the function open for the options of PostgreSQL.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

const thread = "trip-7"

func main() {
	schema := flag.String("schema", "weft_example", "the schema of the checkpoints")
	hang := flag.String("hang", "", "work as an agent that never comes back from booking this")
	work := flag.Bool("work", false, "work as an agent")
	flag.Parse()
	ctx := context.Background()
	var err error
	if *work || *hang != "" {
		err = process(ctx, *schema, *hang)
	} else {
		err = show(ctx, *schema)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		os.Exit(1)
	}
}

// process runs the agent: it begins the thread, or resumes it if it exists, and prints the answer.
func process(ctx context.Context, schema, hang string) error {
	store, err := open(ctx, schema)
	if err != nil {
		return err
	}
	defer store.Close()
	bot, err := newAgent(store, hang)
	if err != nil {
		return err
	}
	trip := bot.Thread(thread)
	begin := []state.Write{agent.Messages.Put(llm.User("Book my trip to Athens."))}
	if _, err := trip.Snapshot(ctx); err == nil {
		fmt.Println("there is a trip already: going on")
		begin = nil
	}
	snap, err := trip.Invoke(ctx, begin...)
	if err != nil {
		return err
	}
	answer, _ := agent.Messages.Last(snap)
	fmt.Println("answer:", answer.Text())
	return nil
}

// open opens the store. A killed process does not release its lease: the next process waits until
// the lease has expired, by the clock of the database.
func open(ctx context.Context, schema string) (*pgcheckpoint.Store, error) {
	address := os.Getenv("DATABASE_URL")
	if address == "" {
		return nil, errors.New("DATABASE_URL is not set; try DATABASE_URL=$(scripts/postgres)")
	}
	return pgcheckpoint.Open(ctx, address, pgcheckpoint.Options{
		Schema: schema, LeaseTime: 2 * time.Second, Busy: pgcheckpoint.Wait,
	})
}

// show runs the two processes, kills the first one, and prints the history.
func show(ctx context.Context, schema string) error {
	store, err := open(ctx, schema)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.DeleteThread(ctx, thread); err != nil { // of an earlier run of this program
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := runProcess(exec.CommandContext(ctx, self, "-schema", schema, "-hang", "hotel"), "1", "booking the hotel"); err != nil {
		return err
	}
	fmt.Println("process 1 was killed")
	if err := runProcess(exec.CommandContext(ctx, self, "-schema", schema, "-work"), "2", ""); err != nil {
		return err
	}
	return history(ctx, store)
}

// runProcess prints the output of a process, and kills the process at a line that contains killAt.
// An empty killAt kills no process.
func runProcess(cmd *exec.Cmd, name, killAt string) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Printf("process %s: %s\n", name, lines.Text())
		if killAt != "" && strings.Contains(lines.Text(), killAt) {
			if err := cmd.Process.Kill(); err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait() // the error says that the process was killed
			return nil
		}
	}
	return cmd.Wait()
}

// history prints every step, oldest first.
func history(ctx context.Context, store *pgcheckpoint.Store) error {
	bot, err := newAgent(store, "")
	if err != nil {
		return err
	}
	lines := []string{}
	for info, err := range bot.Thread(thread).History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return err
		}
		lines = append([]string{fmt.Sprintf("step %d (%s), then %v", info.Step, info.Source, info.Next)}, lines...)
	}
	fmt.Println(strings.Join(lines, "\n"))
	return nil
}
