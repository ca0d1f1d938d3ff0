package sqlitememory_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// childEnv is an environment variable that makes the test binary run as a child process. A child
// reads one command from each line and replies with one line.
const childEnv = "SQLITEMEMORY_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(childMain(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// childMain runs a child process until the end of its input, and returns the exit code.
func childMain(in io.Reader, out io.Writer) int {
	c := &childProcess{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		args := strings.Split(lines.Text(), "\t")
		answer := "ok"
		if err := c.do(args[0], args[1:], out); err != nil {
			answer = "error: " + err.Error()
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return 1
		}
	}
	return 0
}

type childProcess struct {
	db *sqlitememory.DB
	m  *memory.Memory
}

var patient = sqlitememory.Options{Synchronous: sqlitememory.Normal, BusyTimeout: 2 * time.Minute}

func (c *childProcess) do(what string, args []string, out io.Writer) (err error) {
	ctx := context.Background()
	switch what {
	case "open":
		if c.db, err = sqlitememory.Open(ctx, args[0], patient); err == nil {
			c.m, err = memory.New(c.db, memory.Options{})
		}
	case "store": // arguments: number of facts, each stored by one call
		n, _ := strconv.Atoi(args[0])
		for i := 0; i < n && err == nil; i++ {
			_, err = c.m.Store(ctx, ann, driver.Fact{Content: fmt.Sprint("Customer ", i, " pays by card"), Trust: driver.Stated})
		}
	case "batches": // arguments: name, facts per call; runs without end, and reports each stored call
		n, _ := strconv.Atoi(args[1])
		for round := 0; err == nil; round++ {
			facts := make([]driver.Fact, n)
			for i := range facts {
				facts[i].Trust = driver.Stated
				facts[i].Content = fmt.Sprintf("%s batch %d fact %d", args[0], round, i)
			}
			if _, err = c.m.Store(ctx, ann, facts...); err == nil {
				_, err = fmt.Fprintln(out, round)
			}
		}
	case "delete":
		_, err = c.db.Documents().Delete(ctx, driver.SourceQuery{Reach: zoe.Only()})
	default:
		err = errors.New("unknown: " + what)
	}
	return err
}

// A child is another process that runs this test binary.
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

// kill ends the process at once, as a crash does, and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c *child) send(what string, args ...string) {
	c.Helper()
	if _, err := io.WriteString(c.in, strings.Join(append([]string{what}, args...), "\t")+"\n"); err != nil {
		c.Fatal(err)
	}
}

func (c *child) answer() string {
	c.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (c *child) want(answer, what string, args ...string) {
	c.Helper()
	c.send(what, args...)
	if got := c.answer(); got != answer {
		c.Fatalf("%s %q: got %q want %q", what, args, got, answer)
	}
}

// If several processes store the same fact in one file, it is stored once. Each process finds facts
// of the others.
func TestProcessesStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	var children []*child
	for range 3 {
		children = append(children, startChild(t))
	}
	for _, c := range children {
		c.send("open", path)
	}
	for i, c := range children {
		got := c.answer()
		require.Equal(t, "ok", got, "process %d", i)
	}
	const facts = 100
	for _, c := range children {
		c.send("store", fmt.Sprint(facts))
	}
	for i, c := range children {
		got := c.answer()
		assert.Equal(t, "ok", got, "process %d", i)
	}
	store := open(t, path, patient).Facts()
	assert.Equal(t, facts, len(find(t, store, everything(ann))))
	children[0].want("ok", "store", fmt.Sprint(facts+1))
	c, err := store.Search(context.Background(), driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"100"}, Limit: 5})
	require.NoError(t, err)
	require.Len(t, c.Records, 1)
	assert.EqualValues(t, facts+1, c.Facts)
}

// If a process is killed during a call, the file has all facts of the call or none, and all facts
// of calls that had returned.
func TestKilledWhileStoring(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	const batch = 40
	told := map[string]bool{}
	for round := range rounds {
		c := startChild(t)
		c.want("ok", "open", path)
		who := fmt.Sprint("writer ", round)
		c.send("batches", who, fmt.Sprint(batch))
		for range 1 + round%3 {
			told[who+" batch "+c.answer()] = true
		}
		c.kill() // probably during the next call
	}
	store := open(t, path, patient).Facts()
	calls := map[string]int{}
	for _, r := range find(t, store, everything(ann)) {
		call, _, _ := strings.Cut(r.Content, " fact ")
		calls[call]++
	}
	for call, n := range calls {
		assert.Equal(t, batch, n, call)
	}
	for call := range told {
		assert.NotEqual(t, 0, calls[call])
	}
	c, err := store.Search(context.Background(), driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"batch"}, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, int64(len(calls)*batch), c.Frequency[0])
	assert.Equal(t, int64(len(calls)*batch), c.Facts)
	checkIndex(t, path)
}
