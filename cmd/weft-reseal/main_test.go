package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
)

// TestMain runs the command in place of the tests if WEFT_RESEAL_TEST_COMMAND is 1, so that a test can kill the command.
func TestMain(m *testing.M) {
	if os.Getenv("WEFT_RESEAL_TEST_COMMAND") == "1" {
		main()
	}
	os.Exit(pgtest.Main(m).Run())
}

var (
	oldKey = bytes.Repeat([]byte{7}, checkpoint.KeySize)
	newKey = bytes.Repeat([]byte{9}, checkpoint.KeySize)
)

type openStore interface {
	checkpoint.Store
	checkpoint.RunDeleter
	checkpoint.ThreadLister
}

// putOldForm stores the bytes that an earlier version of checkpoint.Encrypted stored.
func putOldForm(t *testing.T, s openStore) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "checkpoint", "testdata", "sealed_form1.json"))
	require.NoError(t, err)
	var calls []struct {
		Checkpoint *checkpoint.Checkpoint
		Head       string
		Key        *checkpoint.Key
		Writes     []checkpoint.Write
		DeleteRun  string
	}
	require.NoError(t, json.Unmarshal(b, &calls))
	for _, c := range calls {
		switch {
		case c.Checkpoint != nil:
			require.NoError(t, s.Put(t.Context(), *c.Checkpoint, c.Head))
		case c.DeleteRun != "":
			require.NoError(t, s.DeleteRuns(t.Context(), c.Key.Thread, c.DeleteRun))
		default:
			require.NoError(t, s.PutWrites(t.Context(), *c.Key, c.Writes))
		}
	}
}

func sealed(t *testing.T, s checkpoint.Store, id string, key []byte) *checkpoint.EncryptedStore {
	t.Helper()
	e, err := checkpoint.Encrypted(s, checkpoint.KeyRing{Active: id, Keys: map[string][]byte{id: key}})
	require.NoError(t, err)
	return e
}

// A content has the ids of the threads of a store, and all their checkpoints.
type content struct {
	Threads     []string
	Checkpoints []checkpoint.Checkpoint
}

func contentOf(t *testing.T, s *checkpoint.EncryptedStore) content {
	t.Helper()
	var all content
	for info, err := range s.ListThreads(t.Context(), "") {
		require.NoError(t, err)
		all.Threads = append(all.Threads, info.ID)
		for c, err := range s.List(t.Context(), checkpoint.Query{Thread: info.ID, AllNamespaces: true}) {
			require.NoError(t, err)
			c, err := s.Get(t.Context(), c.Key)
			require.NoError(t, err)
			c.Time = c.Time.UTC()
			all.Checkpoints = append(all.Checkpoints, c)
		}
	}
	return all
}

// keyFlags writes the keys to files and returns the flags that name them.
func keyFlags(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	oldPath, newPath := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	require.NoError(t, os.WriteFile(oldPath, oldKey, 0o600))
	require.NoError(t, os.WriteFile(newPath, []byte(hex.EncodeToString(newKey)+"\n"), 0o600))
	return []string{"-key", "new=file:" + newPath, "-key", "old=file:" + oldPath}
}

func noEnv(string) string { return "" }

func openSQLite(t *testing.T, path string) *sqlitecheckpoint.Store {
	t.Helper()
	s, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func TestResealsSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	s := openSQLite(t, path)
	putOldForm(t, s)
	want := contentOf(t, sealed(t, s, "old", oldKey))
	require.Len(t, want.Checkpoints, 5)
	keys := keyFlags(t)

	var out bytes.Buffer
	require.Equal(t, exitDone, run(t.Context(), append(keys, "-dry-run", path), noEnv, &out), out.String())
	assert.Contains(t, out.String(), `thread "thread", 4 checkpoints, would be encrypted again`)
	assert.Contains(t, out.String(), "2 threads, 2 to be encrypted again")
	assert.Equal(t, want, contentOf(t, sealed(t, s, "old", oldKey)), "after the dry run")

	out.Reset()
	require.Equal(t, exitDone, run(t.Context(), append(keys, path), noEnv, &out), out.String())
	assert.Contains(t, out.String(), `1/2 thread "other", 1 checkpoints, encrypted again`)
	assert.Contains(t, out.String(), "2 threads, 2 encrypted again, 0 busy, 0 failed")
	assert.Equal(t, want, contentOf(t, sealed(t, s, "new", newKey)))

	out.Reset()
	require.Equal(t, exitDone, run(t.Context(), append(keys, path), noEnv, &out), out.String())
	assert.Contains(t, out.String(), "2 threads, 0 encrypted again")
}

func TestResealsPostgres(t *testing.T) {
	t.Parallel()
	url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	options := pgcheckpoint.Options{Schema: schema, Tenant: "tenant"}
	s, err := pgcheckpoint.Open(t.Context(), url, options)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	putOldForm(t, s)
	require.NoError(t, s.Tag(t.Context(), checkpoint.Key{Thread: "thread", ID: "4"}, "good"))
	want := contentOf(t, sealed(t, s, "old", oldKey))
	require.Len(t, want.Checkpoints, 5)

	var out bytes.Buffer
	env := func(name string) string { return map[string]string{"DATABASE_URL": url}[name] }
	args := append(keyFlags(t), "-schema", schema, "-tenant", "tenant")
	require.Equal(t, exitDone, run(t.Context(), args, env, &out), out.String())
	assert.Contains(t, out.String(), "2 threads, 2 encrypted again")
	assert.Equal(t, want, contentOf(t, sealed(t, s, "new", newKey)))
	tags, err := s.Tags(t.Context(), "thread")
	require.NoError(t, err)
	assert.Equal(t, map[string]checkpoint.Key{"good": {Thread: "thread", ID: "4"}}, tags)

	out.Reset()
	args = append(keyFlags(t), "-schema", schema+"_none")
	assert.Equal(t, exitFailed, run(t.Context(), args, env, &out))
	assert.Contains(t, out.String(), "not migrated")
}

// The test kills the command after some threads and starts it again, several times. The last run completes, and the
// content of the store is unchanged.
func TestContinuesAfterBeingKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	s := openSQLite(t, path)
	old := sealed(t, s, "old", oldKey)
	for i := range 30 {
		head := ""
		for n := range 4 {
			id := fmt.Sprintf("%d-%d", i, n)
			c := checkpoint.Checkpoint{
				Key: checkpoint.Key{Thread: fmt.Sprint("thread", i), ID: id}, Parent: head, Control: []byte(id),
				Changes: []checkpoint.Change{{Channel: "c", Data: bytes.Repeat([]byte(id), 100)}},
			}
			require.NoError(t, old.Put(t.Context(), c, head))
			head = id
		}
		k := checkpoint.Key{Thread: fmt.Sprint("thread", i), ID: head}
		require.NoError(t, old.PutWrites(t.Context(), k, []checkpoint.Write{{Task: "t", Channel: "c", Data: []byte("w")}}))
	}
	want := contentOf(t, old)
	args := append(keyFlags(t), path)
	killed := 0
	for lines := 1; lines < 30; lines += 6 {
		if runAndKill(t, args, lines) {
			killed++
		}
	}
	assert.GreaterOrEqual(t, killed, 3, "the command was too fast to be killed")
	var out bytes.Buffer
	require.Equal(t, exitDone, run(t.Context(), args, noEnv, &out), out.String())
	assert.Equal(t, want, contentOf(t, sealed(t, s, "new", newKey)))
}

// runAndKill starts the command and kills it after the given number of lines of progress. It
// returns false if the command succeeded before.
func runAndKill(t *testing.T, args []string, lines int) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), "WEFT_RESEAL_TEST_COMMAND=1")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	scan, seen := bufio.NewScanner(stderr), 0
	for scan.Scan() {
		if seen++; seen == lines {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	return cmd.Wait() != nil
}

func TestNamesTheMissingKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	s := openSQLite(t, path)
	putOldForm(t, s)
	for _, dry := range []string{"-dry-run=false", "-dry-run"} {
		var out bytes.Buffer
		assert.Equal(t, exitFailed, run(t.Context(), append(keyFlags(t)[:2], dry, path), noEnv, &out))
		assert.Contains(t, out.String(), `it needs key "old", which is not in the key ring`)
		assert.Contains(t, out.String(), "0 busy, 2 failed")
	}
	require.Len(t, contentOf(t, sealed(t, s, "old", oldKey)).Checkpoints, 5)
}

func TestSaysThatAStoreIsNotEncrypted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plain.db")
	k := checkpoint.Key{Thread: "thread", ID: "1"}
	require.NoError(t, openSQLite(t, path).Put(t.Context(), checkpoint.Checkpoint{Key: k, Control: []byte(`{"v":1}`)}, ""))
	for _, dry := range []string{"-dry-run=false", "-dry-run"} {
		var out bytes.Buffer
		assert.Equal(t, exitFailed, run(t.Context(), append(keyFlags(t), dry, path), noEnv, &out))
		assert.Contains(t, out.String(), "control: the value is not encrypted\n")
		assert.NotContains(t, out.String(), "newer version")
	}
}

func TestSkipsAThreadThatARunHolds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	s := openSQLite(t, path)
	putOldForm(t, s)
	lease, err := s.Lease(t.Context(), "thread")
	require.NoError(t, err)
	var out bytes.Buffer
	args := append(keyFlags(t), path)
	assert.Equal(t, exitBusy, run(t.Context(), args, noEnv, &out), out.String())
	assert.Contains(t, out.String(), "1 encrypted again, 1 busy, 0 failed")
	require.NoError(t, lease.Release(t.Context()))
	out.Reset()
	assert.Equal(t, exitDone, run(t.Context(), args, noEnv, &out), out.String())
}

func TestRefusesWrongUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	short := filepath.Join(dir, "short")
	require.NoError(t, os.WriteFile(short, []byte("0123456789abcdef"), 0o600))
	keys := keyFlags(t)
	env := func(name string) string { return map[string]string{"EMPTY": "", "SHORT": "0123456789abcdef"}[name] }
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nothing", nil, exitUsage, "no store"},
		{"no key", []string{"x.db"}, exitUsage, "no key"},
		{"no store", keys, exitUsage, "no store"},
		{"two stores", append(keys, "a.db", "b.db"), exitUsage, "got 2 stores"},
		{"unknown flag", []string{"-no-such-flag"}, exitUsage, "usage: weft-reseal"},
		{"help", []string{"-h"}, exitUsage, "usage: weft-reseal"},
		{"the key itself", []string{"-key", "id=0123456789abcdef", "x.db"}, exitUsage, "ID=file:PATH"},
		{"unknown source", []string{"-key", "id=data:0123456789abcdef", "x.db"}, exitUsage, "file:PATH or env:NAME"},
		{"missing file", []string{"-key", "id=file:" + filepath.Join(dir, "none"), "x.db"}, exitUsage, "no such file"},
		{"unset variable", []string{"-key", "id=env:EMPTY", "x.db"}, exitUsage, "EMPTY is not set"},
		{"short file", []string{"-key", "id=file:" + short, "x.db"}, exitUsage, "no key of 32 bytes"},
		{"short variable", []string{"-key", "id=env:SHORT", "x.db"}, exitUsage, "no key of 32 bytes"},
		{"key twice", append(keys, "-key", keys[1], "x.db"), exitUsage, "given twice"},
		{"active key missing", append(keys, "-active", "other", "x.db"), exitUsage, `active key "other" is not among the keys`},
		{"no database", append(keys, filepath.Join(dir, "none.db")), exitFailed, "none.db"},
		{"schema for SQLite", append(keys, "-schema", "s", short), exitFailed, "PostgreSQL"},
		{"no SQLite database", append(keys, short), exitFailed, "short"},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		assert.Equal(t, tt.code, run(t.Context(), tt.args, env, &out), tt.name)
		assert.Contains(t, out.String(), tt.want, tt.name)
		assert.NotContains(t, out.String(), "0123456789abcdef", "%s shows a key", tt.name)
	}
	_, err := os.Stat(filepath.Join(dir, "none.db"))
	assert.ErrorIs(t, err, os.ErrNotExist, "it creates no database")
}

func TestReadsKeysInEveryForm(t *testing.T) {
	t.Parallel()
	key := []byte("32 bytes \xff\xfe of which some no text")[:checkpoint.KeySize]
	for _, text := range []string{
		string(key), hex.EncodeToString(key), strings.ToUpper(hex.EncodeToString(key)), hex.EncodeToString(key) + "\n",
		base64.StdEncoding.EncodeToString(key) + "\n", base64.RawStdEncoding.EncodeToString(key), base64.RawURLEncoding.EncodeToString(key),
	} {
		id, got, err := readKey("id=env:KEY", func(string) string { return text })
		require.NoError(t, err, text)
		assert.Equal(t, "id", id)
		assert.Equal(t, key, got)
	}
}
