package agentmemory_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// asChild is the environment variable with the folder of the process that is killed.
const asChild = "WEFT_MEMORY_CHILD"

// child runs one turn, prints that the turn was committed, and learns nothing.
func child(folder string) {
	if err := turn(context.Background(), folder); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("committed")
	select {} // until it is killed
}

func turn(ctx context.Context, folder string) error {
	db, err := sqlitememory.Open(ctx, filepath.Join(folder, "memory.db"), sqlitememory.Options{})
	if err != nil {
		return err
	}
	checkpoints, err := sqlitecheckpoint.Open(ctx, filepath.Join(folder, "threads.db"), sqlitecheckpoint.Options{})
	if err != nil {
		return err
	}
	facts, err := memory.New(db, memory.Options{})
	if err != nil {
		return err
	}
	learner, err := extract.New(facts, extract.Options{Extractor: said, Verifier: verdict(true), Queue: db.Turns()})
	if err != nil {
		return err
	}
	kit, err := agentmemory.New(agentmemory.Options{Facts: facts, Learner: learner})
	if err != nil {
		return err
	}
	o := agent.Options{Use: []agent.Middleware{kit.Middleware()}}
	o.Graph.Checkpoints = checkpoints
	bot, err := agent.New("bot", llmtest.NewScript(llmtest.Say("Noted.")), nil, o)
	if err != nil {
		return err
	}
	_, err = bot.Thread("1").Invoke(agentmemory.For(ctx, ann), agent.Messages.Put(llm.User("I only drink tea")))
	return err
}

var said = extract.ExtractorFunc(func(_ context.Context, t extract.Turn) ([]extract.Proposal, error) {
	return []extract.Proposal{{Kind: memory.Preference, Content: "She said: " + t.User, Evidence: t.User}}, nil
})

// A turn whose process is killed after the commit is learned by the next process, once.
func TestKilledBeforeItLearned(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asChild+"="+folder)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, cmd.Process.Kill())
	require.NoError(t, err)
	require.Equal(t, "committed\n", line)
	_ = cmd.Wait() // it was killed
	for range 2 {
		db, err := sqlitememory.Open(t.Context(), filepath.Join(folder, "memory.db"), sqlitememory.Options{})
		require.NoError(t, err)
		facts := newFacts(t, db.Facts())
		learner, err := extract.New(facts, extract.Options{Extractor: said, Verifier: verdict(true), Queue: db.Turns()})
		require.NoError(t, err)
		require.NoError(t, learner.Drain(t.Context()))
		assert.Equal(t, []string{"She said: I only drink tea"}, known(t, facts, ann))
		require.NoError(t, db.Close())
	}
}
