package assistant_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/calendar/internal/desk"
	"github.com/weft-go/weft/examples/calendar/internal/ics"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// now is a Saturday.
var now = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

const johns = `BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VEVENT
UID:123
DTSTAMP:20261101T000000Z
DTSTART:20261124T140000
DTEND:20261124T150000
SUMMARY:Meeting with John
END:VEVENT
BEGIN:VEVENT
UID:124
DTSTAMP:20261101T000000Z
DTSTART:20261125T100000
DURATION:PT30M
SUMMARY:Dentist
END:VEVENT
END:VCALENDAR
`

// office has a desk whose data is in a temporary folder.
type office struct {
	t    *testing.T
	dir  string
	desk *desk.Desk
	file *ics.File
}

func newOffice(t *testing.T, calendar string) *office {
	t.Helper()
	o := &office{t: t, dir: t.TempDir()}
	path := filepath.Join(o.dir, "calendar.ics")
	if err := os.WriteFile(path, []byte(calendar), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if o.file, err = ics.Open(path, time.UTC); err != nil {
		t.Fatal(err)
	}
	if o.desk, err = desk.Open(t.Context(), o.file, filepath.Join(o.dir, "desk.db"), func() time.Time { return now }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.desk.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// thread returns a conversation with a model, in a store.
func (o *office) thread(model llm.Model, store checkpoint.Store) *graph.Thread {
	o.t.Helper()
	set, err := o.desk.Tools()
	if err != nil {
		o.t.Fatal(err)
	}
	g, err := assistant.New(model, assistant.Desk{Tools: set, Describe: o.desk.Describe, Now: func() time.Time { return now }}, paused(store))
	if err != nil {
		o.t.Fatal(err)
	}
	return g.Thread("t")
}

// paused returns the options of a graph that pauses before confirm_actions.
func paused(store checkpoint.Store) graph.Options {
	return graph.Options{Checkpoints: store, PauseBefore: []string{assistant.ConfirmActions}}
}

// titles returns the titles of the events of the next year.
func (o *office) titles() string {
	o.t.Helper()
	events, err := o.file.Between(now, now.AddDate(1, 0, 0))
	if err != nil {
		o.t.Fatal(err)
	}
	var all []string
	for _, e := range events {
		all = append(all, e.Title)
	}
	return strings.Join(all, ", ")
}

func memory() checkpoint.Store { return memcheckpoint.New(memcheckpoint.Options{}) }

func invoke(t *testing.T, thread *graph.Thread, text string) *graph.Snapshot {
	t.Helper()
	return must(t)(thread.Invoke(t.Context(), assistant.Ask("t", text)...))
}

func must(t *testing.T) func(*graph.Snapshot, error) *graph.Snapshot {
	t.Helper()
	return func(snap *graph.Snapshot, err error) *graph.Snapshot {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
}

// A step is a call and its answer.
type step struct {
	call   llm.ToolCall
	answer llm.Message
}

// steps returns the calls of a conversation that have answers.
func steps(s *graph.Snapshot) (all []step) {
	calls := map[string]llm.ToolCall{}
	for _, m := range assistant.History.All(s) {
		for _, c := range m.ToolCalls {
			calls[c.ID] = c
		}
		if m.Role == llm.RoleTool {
			all = append(all, step{calls[m.ToolCallID], m})
		}
	}
	return all
}
