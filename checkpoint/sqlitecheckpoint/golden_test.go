package sqlitecheckpoint_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

var update = flag.Bool("update", false, "write testdata again; only for a format that was never released")

const golden = "testdata/v1.db.gz"

// This version can read and continue a file that the first version wrote.
func TestFileOfTheFirstVersionIsReadable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	if *update {
		writeGolden(t)
	}
	gunzip(t, golden, path)
	store := open(t, path, options)
	got, err := spell(store)
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/v1.txt")
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("testdata/v1.txt", []byte(got), 0o644))
		want = []byte(got)
	}
	assert.Equal(t, string(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))), got)
	// The thread can be continued.
	put(t, store, follower("chat", stepID(99), stepID(40)), stepID(40))
}

func gunzip(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	r, err := gzip.NewReader(bytes.NewReader(b))
	require.NoError(t, err)
	b, err = io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, b, 0o600))
}

func writeGolden(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "golden.db")
	store := open(t, path, sqlitecheckpoint.Options{})
	fillGolden(t, store)
	require.NoError(t, store.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err = w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(golden, zipped.Bytes(), 0o644))
}

// fillGolden stores checkpoints that use every part of the format.
func fillGolden(t *testing.T, store *sqlitecheckpoint.Store) {
	t.Helper()
	ctx := context.Background()
	for n := 1; n <= 40; n++ {
		c := follower("chat", stepID(n), headOf(n-1))
		c.Step, c.Version, c.Control = n, "v1", fmt.Appendf(nil, "control %d", n)
		c.Run = fmt.Sprint("run ", n/10)
		c.Metadata = map[string]string{"user": "ada", "turn": fmt.Sprint(n / 10)}
		switch n {
		case 5:
			c.Snapshot = []checkpoint.Change{{Channel: "c", Kind: 7, Data: []byte("all")}, {Channel: "nil"}}
		case 12:
			c.Parent, c.Source = stepID(8), checkpoint.Fork
		case 20:
			c.Source = checkpoint.Edited
		case 21:
			c.Source, c.Control = "another source", nil
		}
		put(t, store, c, headOf(n-1))
	}
	sub := follower("chat", "in text", "")
	sub.Namespace, sub.Source, sub.Changes = "sub/1", checkpoint.Input, nil
	put(t, store, sub, "")
	writes := []checkpoint.Write{
		{Task: "b", Index: -1, Channel: "$question", Kind: 3, Data: []byte("why?")},
		{Task: "a", Index: 2, Channel: "c", Data: []byte("result")},
	}
	require.NoError(t, store.PutWrites(ctx, checkpoint.Key{Thread: "chat", ID: stepID(40)}, writes))
	require.NoError(t, store.CopyThread(ctx, "chat", "pruned"))
	_, err := store.Prune(ctx, checkpoint.PrunePolicy{Threads: []string{"pruned"}, KeepLast: 3})
	require.NoError(t, err)
	require.NoError(t, store.DeleteRuns(ctx, "pruned", "run 4"))
}

// spell returns a text with everything that the store returns.
func spell(store *sqlitecheckpoint.Store) (string, error) {
	ctx := context.Background()
	var b bytes.Buffer
	for info, err := range store.ListThreads(ctx, "") {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "thread %q: %d checkpoints\n", info.ID, info.Checkpoints)
		for c, err := range store.List(ctx, checkpoint.Query{Thread: info.ID, AllNamespaces: true}) {
			if err != nil {
				return "", err
			}
			c, err = store.Get(ctx, c.Key)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "  %s %q %q after %q: step %d, %q, run %q, version %q, %q\n", c.Time.UTC().Format(time.RFC3339Nano),
				c.Namespace, c.ID, c.Parent, c.Step, c.Source, c.Run, c.Version, c.Metadata)
			fmt.Fprintf(&b, "    control %q, changes %s, snapshot %s, %d deltas: %x\n",
				c.Control, spellChanges(c.Changes), spellChanges(c.Snapshot), len(c.Lineage), lineageSum(c.Lineage))
			for _, w := range c.Writes {
				fmt.Fprintf(&b, "    write %d of %q: %q, %d, %q\n", w.Index, w.Task, w.Channel, w.Kind, w.Data)
			}
		}
	}
	return b.String(), nil
}

func spellChanges(changes []checkpoint.Change) string {
	if changes == nil {
		return "nil"
	}
	var spelled []string
	for _, c := range changes {
		data := fmt.Sprintf("%q", c.Data)
		if c.Data == nil {
			data = "nil"
		}
		spelled = append(spelled, fmt.Sprintf("%s/%d/%s", c.Channel, c.Kind, data))
	}
	return fmt.Sprint(spelled)
}

func lineageSum(lineage []checkpoint.Delta) []byte {
	var b bytes.Buffer
	for _, d := range lineage {
		fmt.Fprintf(&b, "%q %q %t %s\n", d.ID, d.Source, d.Snapshot, spellChanges(d.Changes))
	}
	sum := sha256.Sum256(b.Bytes())
	return sum[:8]
}
