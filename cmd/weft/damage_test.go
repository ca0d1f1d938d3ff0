package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// damage has two statements that damage order-2: its newest checkpoint, or a pending write.
var damage = map[string]string{
	"checkpoint": "UPDATE cp_step SET control = zeroblob(length(control)) WHERE key / 4294967296 = (SELECT key FROM cp_thread WHERE id = 'order-2')",
	"write":      "UPDATE cp_pending SET data = zeroblob(length(data)) WHERE step / 4294967296 = (SELECT key FROM cp_thread WHERE id = 'order-2')",
}

func TestADamagedThreadDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	for name, statement := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := sqliteFile(t)
			execute(t, file, statement)
			checkDamaged(t, file)
			if name == "write" {
				_, out, errs := newTerminal(t, nil).call("threads", "list", "-status", "failed", "-db", file)
				assert.Contains(t, out, "order-2  unreadable")
				assert.Contains(t, out, "order-3  failed")
				assert.Contains(t, errs, `1 thread cannot be read: thread "order-2": `)
			}
			d := &doctor{address: address{db: file}}
			if name == "checkpoint" {
				only(t, d, "data", "1 of 4 read threads cannot be read: order-2", "backup")
			}
		})
	}
}

func checkDamaged(t *testing.T, file string) {
	t.Helper()
	for _, tt := range []struct {
		args       []string
		all, lacks []string
	}{
		{[]string{"threads", "list"}, []string{"order-1  done", "order-2  unreadable", "order-3  failed", "order-4  running"}, nil},
		{[]string{"threads", "list", "-status", "done,running"}, []string{"order-1", "order-2", "order-4"}, []string{"order-3"}},
		{[]string{"threads", "list", "-json"}, []string{`"status":"unreadable"`, `"error":"`, `"order-4"`}, nil},
		{[]string{"threads", "prune", "-all", "-keep-last", "1", "-dry-run"}, []string{"order-1  2 ", "order-2  unreadable", "order-3  1 ", "3 checkpoints of 2 threads"}, nil},
		{[]string{"threads", "prune", "-all", "-keep-last", "1", "-dry-run", "-json"}, []string{`"id":"order-1"`, `"error":"`, `"id":"order-3"`}, nil},
	} {
		code, out, errs := newTerminal(t, nil).call(append(tt.args, "-db", file)...)
		assert.Equal(t, exitFailed, code, "%v", tt.args)
		for _, text := range tt.all {
			assert.Contains(t, out, text, "%v", tt.args)
		}
		for _, text := range tt.lacks {
			assert.NotContains(t, out, text, "%v", tt.args)
		}
		assert.Contains(t, errs, `1 thread cannot be read: thread "order-2": `, "%v", tt.args)
	}
	code, _, errs := newTerminal(t, nil).call("threads", "list", "-prefix", "order-1", "-db", file)
	assert.Equal(t, exitDone, code, errs)
}

// Prune skips a damaged thread and prunes the others. Its error names the damaged thread.
func TestADamagedThreadDoesNotStopThePruningOfTheOthers(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	execute(t, file, damage["checkpoint"])
	code, _, errs := newTerminal(t, nil).call("threads", "prune", "-all", "-keep-last", "1", "-db", file)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, errs, "after 3 checkpoints were removed: ")
	assert.Contains(t, errs, `thread "order-2": `)
}

// The command decrypts one thread to check whether the keys fit. If the first thread is damaged, it decrypts the next one.
func TestADamagedThreadDoesNotHideThatTheKeysFit(t *testing.T) {
	t.Parallel()
	d := &doctor{}
	encryptFile(t, d)
	execute(t, d.db, "UPDATE cp_step SET control = zeroblob(length(control)) WHERE key / 4294967296 = (SELECT key FROM cp_thread WHERE id = 'order-1')")
	_, out, errs := newTerminal(t, nil).call("threads", "list", "-db", d.db, "-keys", keyFile(t, "2026", 1))
	assert.Contains(t, out, "order-1  unreadable", errs)
	assert.Contains(t, out, "order-4  running")
}

// A failed export removes its incomplete file, so that the next export can create the file.
func TestAnExportThatFailsLeavesNoFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "threads.jsonl")
	db := sqliteFile(t)
	code, _, errs := newTerminal(t, nil).call("threads", "export", "no-such-thread", "-o", file, "-db", db)
	assert.Equal(t, exitFailed, code, errs)
	assert.NoFileExists(t, file)
	code, _, errs = newTerminal(t, nil).call("threads", "export", "-o", file, "-db", db)
	assert.Equal(t, exitDone, code, errs)
	assert.FileExists(t, file)
}

func TestAnImportRefusesAFileThatEndsEarly(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	code, file, errs := newTerminal(t, nil).call("threads", "export", "-db", sqliteFile(t))
	require.Equal(t, exitDone, code, errs)
	lines := strings.SplitAfter(strings.TrimSuffix(file, "\n"), "\n")
	load := func(text string) (int, string) {
		m := newTerminal(t, nil)
		m.stdin = text
		to := filepath.Join(folder, "new.db")
		code, _, errs := m.call("threads", "import", "-", "-create", "-db", to)
		require.NoError(t, os.Remove(to))
		return code, errs
	}
	for i := range len(lines) {
		code, errs := load(strings.Join(lines[:i], ""))
		assert.Equal(t, exitFailed, code, "%d lines", i)
		if i > 0 {
			assert.Contains(t, errs, "not complete", "%d lines", i)
		}
	}
	code, errs = load(file)
	assert.Equal(t, exitDone, code, errs)
	assert.Contains(t, errs, "Imported 4 threads.")
	for i := 1; i < len(lines)-1; i++ {
		code, errs := load(strings.Join(slices.Concat(lines[:i], lines[i+1:]), ""))
		assert.Equal(t, exitFailed, code, "without line %d", i+1)
		assert.Contains(t, errs, fmt.Sprintf("its line %d was line %d when it was exported", i+1, i+2))
	}
	for i := range lines { // a file of an older version
		lines[i] = regexp.MustCompile(`,"line":\d+}`).ReplaceAllString(lines[i], "}")
	}
	file = strings.Join(lines, "")
	require.NotContains(t, file, `"line"`)
	code, errs = load(file)
	assert.Equal(t, exitDone, code, errs)
	assert.Contains(t, errs, "Imported 4 threads.")
	for name, text := range map[string]string{
		"a missing line":     strings.Join(append(append([]string{}, lines[:1]...), lines[2:]...), ""),
		"a line after":       file + lines[1],
		"a missing thread":   lines[0] + strings.Join(lines[4:], ""),
		"nothing but an end": lines[0] + lines[len(lines)-1],
	} {
		code, errs := load(text)
		assert.Equal(t, exitFailed, code, name)
		assert.NotContains(t, errs, "Imported 4 threads.", name)
	}
}
