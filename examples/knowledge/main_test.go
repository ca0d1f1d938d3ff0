package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m).Run()) }

// screen is a terminal that stores its output.
type screen struct{ bytes.Buffer }

func (*screen) Terminal() bool { return true }

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

var handbook = map[string]string{
	"leave.md":         "# Leave\n\nTwenty-eight days a year.\n\n## Parents\n\nParental leave lasts up to fourteen months.\n",
	"travel/trains.md": "# Trains\n\nTake the night train to Vienna: it is paid for.\x1b[31m\n",
	"broken.txt":       "\xff\xfe\x00",
	"logo.png":         "PNG",
	"m.go":             "package m",
	".hidden.md":       "hidden",
}

// said runs the command, and returns its status and its output.
func said(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	return run(t.Context(), args, &out, &out), out.String()
}

func wants(t *testing.T, got string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		assert.Contains(t, got, want)
	}
}

func TestSQLite(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	t.Setenv("EMBEDDING_MODEL", "")
	tour(t, "-db", filepath.Join(t.TempDir(), "knowledge.db"))
}

func TestPostgreSQL(t *testing.T) {
	t.Setenv("DATABASE_URL", pgtest.Database(t, nil))
	t.Setenv("EMBEDDING_MODEL", "")
	tour(t)
}

func tour(t *testing.T, flags ...string) {
	t.Helper()
	do := func(args ...string) (int, string) { return said(t, append(flags[:len(flags):len(flags)], args...)...) }
	dir := folder(t, handbook)
	require.NoError(t, os.Symlink("leave.md", filepath.Join(dir, "link.md")))
	at := name(t, dir)
	status, got := do("ingest", dir)
	assert.Zero(t, status)
	wants(t, got, "added     "+at+"leave.md\n", "added     "+at+"travel/trains.md\n", "skipped   "+at+"broken.txt: not text", "4 documents in ", "2 added", "2 skipped",
		"skipped   "+at+"link.md: not a regular file: a symbolic link, which is not followed\n",
		"left out  "+at+"logo.png\nleft out  "+at+"m.go\n2 files left out, which by their names are neither text")
	_, got = do("ingest", dir)
	wants(t, got, "0 added, 0 updated, 2 unchanged")
	other := folder(t, map[string]string{"leave.md": "# Leave\n\nOf another house.\n"})
	_, got = do("-prune", "ingest", other)
	wants(t, got, "1 added, 0 updated, 0 unchanged, 0 skipped, 0 failed, 0 removed")
	_, got = do("remove", name(t, other))
	assert.Equal(t, "1 documents removed\n", got)
	status, got = do("ask", "how", "long", "is", "parental", "leave?")
	assert.Zero(t, status)
	wants(t, got, "1. "+at+"leave.md > Leave (bytes ", " = words ", "| Parental leave lasts up to fourteen months.")
	_, got = do("ask", "night train")
	wants(t, got, "it is paid for.[31m")
	_, got = do("ask", "zebra")
	assert.Equal(t, "The documents say nothing about this.\n", got)
	_, got = do("-tenant", "other", "ask", "leave")
	wants(t, got, "say nothing")
	_, got = do("list")
	wants(t, got, at+"leave.md  Leave  ", "2 documents\n")
	require.NoError(t, os.Remove(filepath.Join(dir, "leave.md")))
	_, got = do("-prune", "ingest", dir)
	wants(t, got, "pruned    "+at+"leave.md", "1 removed")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "travel")))
	require.NoError(t, os.Remove(filepath.Join(dir, "broken.txt")))
	status, got = do("-prune", "ingest", dir)
	wants(t, got, "there is nothing to take in", "-prune-all does that")
	assert.Equal(t, 2, status, "an empty folder")
	_, listed := do("list")
	wants(t, listed, "1 documents\n")
	_, got = do("-prune-all", "ingest", dir)
	wants(t, got, "pruned    "+at+"travel/trains.md", "1 removed")
}

// name returns the prefix of the names of a folder's documents.
func name(t *testing.T, dir string) string {
	t.Helper()
	prefix, err := prefixOf(dir)
	require.NoError(t, err)
	return prefix
}

// The name of a file cannot change a terminal.
func TestNames(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	t.Setenv("EMBEDDING_MODEL", "")
	db := filepath.Join(t.TempDir(), "k.db")
	files := map[string]string{"evil\n\x1b[31m.md": "# Evil\u202e title\n\nWords.\n", "evil\x1b]0;.txt": "\x00", "no\r\n.bin": ""}
	for i := range 30 {
		files[fmt.Sprintf("%02d.go", i)] = ""
	}
	dir := folder(t, files)
	_, got := said(t, "-db", db, "ingest", dir)
	wants(t, got, `added     `+name(t, dir)+`evil\n\x1b[31m.md`, `skipped   `+name(t, dir)+`evil\x1b]0;.txt: not text`, "31 files left out", "the first 20 are named")
	for _, args := range [][]string{{"list"}, {"ask", "words"}, {"ingest", filepath.Join(dir, "no\n\x1b")}} {
		_, more := said(t, append([]string{"-db", db}, args...)...)
		got += more
	}
	wants(t, got, `Evil\u202e title`, `no\n\x1b is not a folder`)
	assert.False(t, strings.ContainsAny(got, "\x1b\r\u202e"), "%q", got)
}

func TestTerminal(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	t.Setenv("EMBEDDING_MODEL", "")
	var out screen
	assert.Zero(t, run(t.Context(), []string{"-db", filepath.Join(t.TempDir(), "k.db"), "ingest", folder(t, handbook)}, &out, &out))
	wants(t, out.String(), "[==============================] 3 of 3", "\r\x1b[Kskipped   ", "broken.txt: ")
}

func TestStopped(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	t.Setenv("EMBEDDING_MODEL", "")
	db, dir := filepath.Join(t.TempDir(), "k.db"), folder(t, handbook)
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	stopping := writer(func(p []byte) (int, error) {
		cancel()
		return out.Write(p)
	})
	assert.Contains(t, []int{0, 130}, run(ctx, []string{"-db", db, "ingest", dir}, stopping, &out), out.String())
	_, got := said(t, "-db", db, "ingest", dir)
	wants(t, got, "3 documents in ")
	_, got = said(t, "-db", db, "list")
	wants(t, got, "2 documents\n")
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestBadInput(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	db := filepath.Join(t.TempDir(), "k.db")
	for want, args := range map[string][]string{
		"no command; use ingest, ask":   {},
		"needs an argument":             {"ask"},
		`"fetch" is not a command`:      {"fetch", "x"},
		`"frob" is not a command`:       {"frob"},
		"use 1 to 100":                  {"-limit", "0", "ask", "x"},
		"flag provided":                 {"-colour", "ask", "x"},
		"nowhere is not a folder":       {"ingest", "nowhere"},
		"main_test.go is not a folder":  {"ingest", "main_test.go"},
		"there is no database":          {"ask", "x"},
		"k.db; ingest creates one":      {"list"},
		"flags must come before ingest": {"ingest", ".", "-prune"},
	} {
		status, got := said(t, append([]string{"-db", db}, args...)...)
		assert.Equal(t, 2, status, "%q", args)
		wants(t, got, want)
	}
	assert.NoFileExists(t, db, "bad input created a database")
	status, got := said(t, "-help")
	assert.Zero(t, status)
	assert.Equal(t, usage, got)
	status, _ = said(t, "-db", filepath.Join(t.TempDir(), "none", "k.db"), "ingest", ".")
	assert.Equal(t, 1, status, "a file that cannot be created")
}

// excerpt cuts a long chunk to the lines that answer the question.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("Filler.\n", 12)
	got := excerpt(filler+"The warp is tight.\n"+filler, "Is the warp tight?")
	assert.Len(t, got, maxLines+2)
	assert.Contains(t, got, "The warp is tight.")
	assert.Equal(t, []string{"…", "…"}, []string{got[0], got[len(got)-1]})
	assert.Equal(t, []string{"one", "two"}, excerpt("one\ntwo\n", "two"))
}
