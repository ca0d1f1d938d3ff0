package sqlitecheckpoint_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

// A test starts its own binary as another process and sets this variable. That process reads
// one command from each line of its input and answers with one line.
const childEnv = "SQLITECHECKPOINT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(childMain(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// childMain reads commands from in until it ends, and runs them. It returns the exit code of
// the process.
func childMain(in io.Reader, out io.Writer) int {
	c := &childProcess{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		args := strings.Split(lines.Text(), "\t")
		answer, err := c.do(args[0], args[1:])
		if err != nil {
			answer = "error: " + err.Error()
			if errors.Is(err, checkpoint.ErrConflict) {
				answer = "conflict: " + err.Error()
			}
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return 1
		}
	}
	return 0
}

// childActions has the commands that other test files add.
var childActions = map[string]func(path, arg string) error{}

type childProcess struct {
	store *sqlitecheckpoint.Store
}

func (c *childProcess) do(what string, args []string) (answer string, err error) {
	ctx := context.Background()
	switch what {
	case "open":
		c.store, err = sqlitecheckpoint.Open(ctx, args[0], sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
	case "lease":
		_, err = c.store.Lease(ctx, args[0])
	case "put": // thread, id, head
		err = c.store.Put(ctx, follower(args[0], args[1], args[2]), args[2])
	case "migrate halfway":
		return "ok", migrateHalfway(args[0])
	default:
		action := childActions[what]
		if action == nil {
			return "", errors.New("unknown: " + what)
		}
		err = action(args[0], args[1])
	}
	return "ok", err
}

func follower(thread, id, head string) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		Key: checkpoint.Key{Thread: thread, ID: id}, Parent: head, Source: checkpoint.Loop, Run: "run",
		Changes: []checkpoint.Change{{Channel: "c", Data: []byte(id)}},
	}
}

// A child is another process, with its input and output.
type child struct {
	*testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startChild(t *testing.T) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{T: t, cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(c.kill)
	return c
}

// kill ends the process at once, like a crash, and waits until it has ended.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c *child) send(what string, args ...string) {
	c.Helper()
	_, err := io.WriteString(c.in, strings.Join(append([]string{what}, args...), "\t")+"\n")
	require.NoError(c, err)
}

func (c *child) answer() string {
	c.Helper()
	line, err := c.out.ReadString('\n')
	require.NoError(c, err)
	return strings.TrimSuffix(line, "\n")
}

func (c *child) ask(what string, args ...string) string {
	c.Helper()
	c.send(what, args...)
	return c.answer()
}

func (c *child) want(answer, what string, args ...string) {
	c.Helper()
	require.Equal(c, answer, c.ask(what, args...), "%s %q", what, args)
}

// When two processes put a checkpoint after the same newest one, exactly one succeeds.
func TestOnlyOneOfTwoProcessesPutsTheNextCheckpoint(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	racers := []*child{startChild(t), startChild(t)}
	for _, c := range racers {
		c.want("ok", "open", path)
	}
	const rounds = 200
	head := ""
	var winners []string
	for round := range rounds {
		ids := []string{stepID(2 * round), stepID(2*round + 1)}
		// The processes take turns in sending first.
		for i := range racers {
			k := (i + round) % 2
			racers[k].send("put", "thread", ids[k], head)
		}
		won := 0
		for k, c := range racers {
			answer := c.answer()
			if answer == "ok" {
				won++
				head = ids[k]
				continue
			}
			require.True(t, strings.HasPrefix(answer, "conflict"), "round %d: got %q want ok or a conflict", round, answer)
		}
		require.Equal(t, 1, won)
		winners = append(winners, head)
	}
	c, err := open(t, path, options).Get(context.Background(), checkpoint.Key{Thread: "thread"})
	require.NoError(t, err)
	require.Equal(t, rounds, len(c.Lineage))
	for i, d := range c.Lineage {
		assert.Equal(t, winners[i], d.ID, "step %d", i)
	}
}

func TestLeaseExcludesOtherProcesses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "weft.db")
	store := open(t, path, options)
	holder, other := startChild(t), startChild(t)
	holder.want("ok", "open", path)
	other.want("ok", "open", path)

	holder.want("ok", "lease", "busy")
	got := other.ask("lease", "busy")
	assert.True(t, strings.HasPrefix(got, "conflict"), "a second process: got %q", got)
	assert.Contains(t, got, `"busy"`, "a second process")
	_, err := store.Lease(ctx, "busy")
	assert.ErrorIs(t, err, checkpoint.ErrConflict, "this process")
	other.want("ok", "lease", "idle")

	holder.kill()
	lease, err := store.Lease(ctx, "busy")
	require.NoError(t, err)
	got = other.ask("lease", "busy")
	assert.True(t, strings.HasPrefix(got, "conflict"), "held by this process: got %q", got)
	require.NoError(t, lease.Release(ctx))
	other.want("ok", "lease", "busy")
}

func TestConcurrentProcessesMigrateOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	var children []*child
	for range 20 {
		children = append(children, startChild(t))
	}
	for _, c := range children {
		c.send("open", path)
	}
	for i, c := range children {
		assert.Equal(t, "ok", c.answer(), "process %d", i)
	}
	var applied int
	require.NoError(t, rawDB(t, path).QueryRow(`SELECT count(*) FROM cp_migration`).Scan(&applied))
	assert.Equal(t, 3, applied)
	for i, c := range children {
		assert.Equal(t, "ok", c.ask("put", fmt.Sprint(i), stepID(1), ""), "process %d: put", i)
	}
}

// If a process ends during a migration, the migration is rolled back.
func TestInterruptedMigrationIsRolledBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	c := startChild(t)
	c.want("ok", "migrate halfway", path)
	c.kill()
	store := open(t, path, options)
	assert.NoError(t, store.Put(context.Background(), follower("thread", "a", ""), ""))
}

// migrateHalfway runs half of a migration and leaves its transaction open.
func migrateHalfway(path string) error {
	db, err := openRaw(path)
	if err != nil {
		return err
	}
	script, err := os.ReadFile(filepath.Join("migration", "001_checkpoint.sql"))
	if err != nil {
		return err
	}
	half := string(script[:strings.Index(string(script), "CREATE TABLE cp_step")])
	for _, q := range []string{`PRAGMA journal_mode = WAL`, `BEGIN IMMEDIATE`, half} {
		if _, err := db.Exec(q); err != nil {
			return err
		}
	}
	return nil
}
