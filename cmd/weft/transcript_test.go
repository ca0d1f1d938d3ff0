package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files of testdata")

// A terminal calls commands and records their output in a transcript. In the transcript, it replaces texts that differ between
// two runs of the test, such as times and ids.
type terminal struct {
	t      *testing.T
	place  *place            // the store that replaces "-db threads.db", or nil
	words  map[string]string // the texts that replace words of a command line, by word
	hidden map[string]string // the words that replace texts in the transcript, by text
	now    func() time.Time
	env    map[string]string
	stdin  string
	ids    map[string]string
	text   strings.Builder
}

// newTerminal returns a terminal whose clock is five minutes ahead, so that the ages in the transcript are known.
func newTerminal(t *testing.T, words map[string]string) *terminal {
	t.Helper()
	return &terminal{t: t, words: words, hidden: map[string]string{}, ids: map[string]string{}, now: func() time.Time { return time.Now().Add(5 * time.Minute) }}
}

// run calls a command, adds it to the transcript, and returns its output and its status.
func (m *terminal) run(args ...string) (string, int) {
	m.t.Helper()
	code, out, errs := m.call(args...)
	shown := make([]string, len(args))
	for i, a := range args {
		shown[i] = a
		if strings.ContainsAny(a, ` "{`) {
			shown[i] = "'" + a + "'"
		}
	}
	m.text.WriteString(m.mask(fmt.Sprintf("$ weft %s\n%s%s", strings.Join(shown, " "), out, errs)))
	if code != exitDone {
		fmt.Fprintf(&m.text, "(exit status %d)\n", code)
	}
	m.text.WriteString("\n")
	return out, code
}

// call calls a command without adding it to the transcript.
func (m *terminal) call(args ...string) (code int, out, errs string) {
	m.t.Helper()
	given := args
	if m.place != nil {
		given = m.place.in(args...)
	}
	given = slices.Clone(given)
	for i := range given {
		for word, real := range m.words {
			given[i] = strings.ReplaceAll(given[i], word, real)
		}
	}
	var o, e bytes.Buffer
	code = run(m.t.Context(), given, &streams{func(name string) string { return m.env[name] }, strings.NewReader(m.stdin), &o, &e, m.now})
	return code, o.String(), e.String()
}

var (
	stamps = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	counts = regexp.MustCompile(`\d+ migrations`)
	lists  = regexp.MustCompile(`(applied \S+\n)(applied \S+\n)+`)
	vector = regexp.MustCompile(`pgvector   .*`)
	free   = regexp.MustCompile(`\d+ MB are free`)
	ids    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b`)
)

// mask replaces times and ids. Equal ids stay equal.
func (m *terminal) mask(text string) string {
	if m.place != nil {
		text = strings.ReplaceAll(text, m.place.flags[1], "threads.db")
	}
	for word, real := range m.words {
		text = strings.ReplaceAll(text, real, word)
	}
	for real, word := range m.hidden {
		text = strings.ReplaceAll(text, real, word)
	}
	text = stamps.ReplaceAllString(text, "2026-01-02T03:04:05Z")
	text = free.ReplaceAllString(text, "40000 MB are free")
	text = vector.ReplaceAllString(text, "pgvector   version 0.8.0") // the version depends on the server
	text = counts.ReplaceAllString(text, "4 migrations")             // later versions have more migrations
	text = lists.ReplaceAllString(text, "$1…\n")
	return ids.ReplaceAllStringFunc(text, func(id string) string {
		if m.ids[id] == "" {
			n := len(m.ids) + 1
			m.ids[id] = fmt.Sprintf("01990000-0000-7000-8000-%012d", n)
			if len(id) == 32 {
				m.ids[id] = fmt.Sprintf("%032d", n)
			}
		}
		return m.ids[id]
	})
}

// golden compares the transcript with a file of testdata, and begins a new transcript.
func (m *terminal) golden(name string) {
	m.t.Helper()
	file := filepath.Join("testdata", name+".txt")
	got := strings.TrimSpace(m.text.String()) + "\n"
	m.text.Reset()
	if *update {
		require.NoError(m.t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(m.t, err)
	assert.Equal(m.t, string(want), got, "go test ./cmd/weft -update writes %s", file)
}
