package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(pgtest.Main(m))
}

func noEnv(string) string { return "" }

// put stores a checkpoint with a value.
func put(t *testing.T, s checkpoint.Store, thread string) {
	t.Helper()
	require.NoError(t, s.Put(t.Context(), checkpoint.Checkpoint{
		Key: checkpoint.Key{Thread: thread, ID: "0190a0a0-0000-7000-8000-000000000001"}, Source: checkpoint.Input,
		Control: []byte(`{"by":["count"]}`), Changes: []checkpoint.Change{{Channel: "n", Kind: 1, Data: []byte("9007199254740993")}},
	}, ""))
}

// start runs the studio until the test ends, and returns its address.
func start(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan int, 1)
	var log bytes.Buffer
	go func() {
		done <- run(ctx, append([]string{"studio", "-listen", "127.0.0.1:0"}, args...), &streams{noEnv, nil, in, &log, time.Now})
	}()
	t.Cleanup(func() {
		stop()
		assert.Equal(t, exitDone, <-done, "%s", &log)
		http.DefaultClient.CloseIdleConnections()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address, _, ok := strings.Cut(line, "/studio/")
	require.True(t, ok, line)
	mode := "read-only; -write allows changes"
	if slices.Contains(args, "-write") {
		mode = "threads can be renamed, copied, pruned and deleted"
	}
	assert.Equal(t, address+"/studio/  ("+mode+")\n", line)
	return address
}

func fetch(t *testing.T, method, address, body string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, data
}

// check reads the only thread of a store over HTTP.
func check(t *testing.T, address, title string) (id string) {
	t.Helper()
	status, page := fetch(t, http.MethodGet, address, "")
	require.Equal(t, http.StatusOK, status)
	assert.Contains(t, string(page), `id="root"`)
	status, data := fetch(t, http.MethodPost, address+"/threads/search", `{}`)
	require.Equal(t, http.StatusOK, status, "%s", data)
	var found []struct {
		ID       string `json:"thread_id"`
		Metadata struct{ Title string }
		Values   map[string]json.RawMessage
		Status   string
	}
	require.NoError(t, json.Unmarshal(data, &found))
	require.Len(t, found, 1)
	assert.Equal(t, title, found[0].Metadata.Title)
	assert.Equal(t, "9007199254740993", string(found[0].Values["n"]))
	assert.Equal(t, "idle", found[0].Status)
	return found[0].ID
}

func TestTheStudioShowsAFileAndChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	put(t, s, "trip/1")
	require.NoError(t, s.Close())

	address := start(t, "-db", path)
	id := check(t, address, "trip/1")
	status, _ := fetch(t, http.MethodDelete, address+"/threads/"+id, "")
	assert.Equal(t, http.StatusForbidden, status)
	check(t, address, "trip/1")
}

func TestTheStudioShowsEncryptedValues(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "threads.db")
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "keys")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	text := func(b byte) string {
		return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, checkpoint.KeySize))
	}
	inner, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	s, err := checkpoint.Encrypted(inner, checkpoint.KeyRing{Active: "2026", Keys: map[string][]byte{"2026": key(1)}})
	require.NoError(t, err)
	put(t, s, "trip/1")
	require.NoError(t, inner.Close())
	plain := filepath.Join(folder, "plain.db")
	inner, err = sqlitecheckpoint.Open(t.Context(), plain, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	put(t, inner, "trip/1")
	require.NoError(t, inner.Close())

	check(t, start(t, "-db", path, "-keys", file("# keys of the service\n2027 "+text(2)+"\n2026 "+text(1)+"\n")), "trip/1")
	for _, tt := range []struct {
		name, want string
		args       []string
	}{
		{"no keys", "give -keys FILE", []string{"-db", path}},
		{"another key", `needs key "2026"`, []string{"-db", path, "-keys", file("2027 " + text(2))}},
		{"the id of another key", `key "2026" is another key`, []string{"-db", path, "-keys", file("2026 " + text(2))}},
		{"a short key", `line 1: the key "2026" is not 32 bytes`, []string{"-db", path, "-keys", file("2026 c2VjcmV0")}},
		{"one field", "line 2: a line has the id of a key", []string{"-db", path, "-keys", file("\nsecret")}},
		{"an empty file", "has none", []string{"-db", path, "-keys", file("# nothing\n")}},
		{"no file", "read the keys", []string{"-db", path, "-keys", filepath.Join(folder, "none")}},
		{"a store without encryption", "leave out -keys", []string{"-db", plain, "-keys", file("2026 " + text(1))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			assert.Equal(t, exitFailed, run(t.Context(), append([]string{"studio", "-listen", "127.0.0.1:0"}, tt.args...), &streams{noEnv, nil, io.Discard, &log, time.Now}))
			assert.Contains(t, log.String(), tt.want)
			for _, secret := range []string{text(1), text(2), "c2VjcmV0"} {
				assert.NotContains(t, log.String(), secret)
			}
		})
	}
}

// putRun stores the records that a server has of a thread: the thread, and a run.
func putRun(t *testing.T, s runs.Store, thread string) {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	require.NoError(t, s.Insert(
		t.Context(),
		runs.Record{Kind: runs.Thread, ID: thread, Graph: "trips", Status: "idle", Created: at, Updated: at, Metadata: json.RawMessage(`{"title":"Athens"}`), Data: json.RawMessage(`{}`)},
		runs.Record{Kind: runs.Run, ID: "5f0e2a3c-98b3-4f4e-8a33-0000000000aa", Parent: thread, Graph: "trips", Status: "success", Created: at, Updated: at, Metadata: json.RawMessage(`{}`), Data: json.RawMessage(`{"Attempt":1}`)},
	))
}

const served = "5f0e2a3c-98b3-4f4e-8a33-000000000001"

func checkRun(t *testing.T, address string) {
	t.Helper()
	status, data := fetch(t, http.MethodPost, address+"/weft/runs/search", `{}`)
	require.Equal(t, http.StatusOK, status, "%s", data)
	var found struct {
		Total int
		Runs  []struct {
			Thread string `json:"thread_id"`
			Graph  string `json:"graph_id"`
		}
	}
	require.NoError(t, json.Unmarshal(data, &found))
	require.Equal(t, 1, found.Total)
	assert.Equal(t, served, found.Runs[0].Thread)
	assert.Equal(t, "trips", found.Runs[0].Graph)
}

func TestTheStudioShowsTheRunsThatAServerStoredInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	put(t, s, served)
	require.NoError(t, s.Close())
	r, err := sqliteruns.Open(t.Context(), path, sqliteruns.Options{})
	require.NoError(t, err)
	putRun(t, r, served)
	require.NoError(t, r.Close())

	address := start(t, "-db", path)
	check(t, address, "Athens")
	checkRun(t, address)
}

func TestAFileWithoutThreadsIsRefusedAndStaysAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE other (n INTEGER)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	var out, errs bytes.Buffer
	assert.Equal(t, exitFailed, run(t.Context(), []string{"studio", "-db", path}, &streams{noEnv, nil, &out, &errs, time.Now}))
	assert.Contains(t, errs.String(), "has no threads")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestTheStudioDeletesAThreadIfItMayWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	put(t, s, "trip/1")

	address := start(t, "-db", path, "-write")
	id := check(t, address, "trip/1")
	status, _ := fetch(t, http.MethodDelete, address+"/threads/"+id, "")
	assert.Equal(t, http.StatusNoContent, status)
	_, err = s.Get(t.Context(), checkpoint.Key{Thread: "trip/1"})
	assert.ErrorIs(t, err, checkpoint.ErrNotFound)
}

func TestTheStudioShowsAPostgreSQLDatabase(t *testing.T) {
	url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	s, err := pgcheckpoint.Open(t.Context(), url, pgcheckpoint.Options{Schema: schema})
	require.NoError(t, err)
	put(t, s, served)
	s.Close()
	check(t, start(t, "-db", url, "-schema", schema), served)

	r, err := pgruns.Open(t.Context(), url, pgruns.Options{Schema: schema})
	require.NoError(t, err)
	putRun(t, r, served)
	r.Close()
	address := start(t, "-db", url, "-schema", schema)
	check(t, address, "Athens")
	checkRun(t, address)
}

// With -h, every command prints its usage and its flags to the standard output.
func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	var check func(path string, list []command)
	check = func(path string, list []command) {
		for _, c := range list {
			name := path + " " + c.name
			var out, errs bytes.Buffer
			args := append(strings.Fields(name)[1:], "-h")
			assert.Equal(t, exitDone, run(t.Context(), args, &streams{noEnv, nil, &out, &errs, time.Now}), name)
			assert.Empty(t, errs.String(), name)
			assert.True(t, strings.HasPrefix(out.String(), "usage: "+name+" "), "%s prints %q", name, &out)
			if c.sub != nil {
				check(name, c.sub)
				continue
			}
			assert.Contains(t, out.String(), "\nFlags:\n  -", name)
			for line := range strings.SplitSeq(out.String(), "\n") {
				assert.LessOrEqual(t, len(line), 120, "%s: %s", name, line)
			}
		}
	}
	check("weft", commands)
}

// The files of testdata have the output of every command except weft studio, whose output start compares.
func TestEveryCommandHasATranscript(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	var printed strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		printed.Write(text)
	}
	lines := strings.Split(printed.String(), "\n")
	var check func(path string, list []command)
	check = func(path string, list []command) {
		for _, c := range list {
			name := path + " " + c.name
			if c.sub != nil {
				check(name, c.sub)
				continue
			}
			shown := slices.ContainsFunc(lines, func(line string) bool { return line == "$ "+name || strings.HasPrefix(line, "$ "+name+" ") })
			assert.True(t, shown || c.name == "studio", "no file of testdata has the output of %s", name)
		}
	}
	check("weft", commands)
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none.db")
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no command", nil, exitUsage, "usage: weft COMMAND"},
		{"an unknown command", []string{"stud"}, exitUsage, `there is no command "stud"`},
		{"help", []string{"help", "studio"}, exitDone, "usage: weft studio"},
		{"help of a group", []string{"help", "threads"}, exitDone, "usage: weft threads COMMAND"},
		{"no subcommand", []string{"threads"}, exitUsage, "usage: weft threads COMMAND"},
		{"an unknown subcommand", []string{"threads", "lst"}, exitUsage, `weft threads: there is no command "lst"`},
		{"an unknown flag", []string{"studio", "-x"}, exitUsage, "-x"},
		{"a database for what needs the server", []string{"threads", "resume", "t", "-db", file}, exitUsage, "give -server with the URL of the running server instead of -db"},
		{"a server for what needs the database", []string{"threads", "prune", "-all", "-server", "http://h"}, exitUsage, "give -db instead of -server"},
		{"a database and a server", []string{"threads", "list", "-db", file, "-server", "http://h"}, exitUsage, "give -db or -server, and not both"},
		{"a tenant of a server", []string{"threads", "list", "-tenant", "x", "-server", "http://h"}, exitUsage, "are for -db"},
		{"neither", []string{"threads", "list"}, exitUsage, "give -db with a SQLite file or the URL of a PostgreSQL database, or -server"},
		{"no server", []string{"threads", "resume", "t"}, exitUsage, "give -server"},
		{"no argument", []string{"threads", "show", "-db", file}, exitUsage, "the argument THREAD is missing"},
		{"a time", []string{"threads", "list", "-older", "soon", "-db", file}, exitUsage, "such as 90s, 12h or 30d"},
		{"no store", []string{"studio"}, exitUsage, "-db"},
		{"an argument", []string{"studio", file}, exitUsage, "is one too many"},
		{"another machine", []string{"studio", "-db", file, "-listen", "0.0.0.0:1"}, exitUsage, "this machine only"},
		{"a missing file", []string{"studio", "-db", file}, exitFailed, "none.db"},
		{"a folder", []string{"studio", "-db", t.TempDir()}, exitFailed, "is a folder"},
		{"a schema of a file", []string{"studio", "-db", file, "-schema", "x"}, exitUsage, "PostgreSQL"},
		{"an invalid URL", []string{"studio", "-db", "postgres://u:secret@h:x/d"}, exitFailed, "is invalid"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			assert.Equal(t, test.code, run(t.Context(), test.args, &streams{noEnv, nil, &out, &errs, time.Now}))
			assert.Contains(t, errs.String()+out.String(), test.want)
			assert.NotContains(t, errs.String(), "secret")
			assert.NoFileExists(t, file)
		})
	}
}
