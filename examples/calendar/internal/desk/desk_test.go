package desk_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/examples/calendar/internal/desk"
	"github.com/weft-go/weft/examples/calendar/internal/ics"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is a Saturday.
var now = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// bench is a desk with the sample data.
type bench struct {
	t    *testing.T
	dir  string
	desk *desk.Desk
	file *ics.File
	set  *tools.Set
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	path := filepath.Join(b.dir, "c.ics")
	if err := desk.SampleCalendar(path, now); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.file, err = ics.Open(path, time.UTC); err != nil {
		t.Fatal(err)
	}
	if b.desk, err = desk.Open(t.Context(), b.file, b.database(), func() time.Time { return now }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.desk.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := b.desk.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.set, err = b.desk.Tools(); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) database() string { return filepath.Join(b.dir, "desk ? #1.db") }

// call calls a tool and returns its answer, with the prefix "! " if the call failed.
func (b *bench) call(tool, arguments string) string {
	b.t.Helper()
	m, err := b.set.Call(b.t.Context(), llm.ToolCall{ID: "c", Name: tool, Arguments: json.RawMessage(arguments)}, tools.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	if m.Status == llm.StatusError {
		return "! " + m.Text()
	}
	return m.Text()
}

// Exactly the tools that the README and the page name need a confirmation.
func TestWhatIsAskedAbout(t *testing.T) {
	t.Parallel()
	var asks, others []string
	for _, tool := range newBench(t).set.Tools() {
		switch a := tool.Annotations(); {
		case a.Destructive:
			asks = append(asks, tool.Spec().Name)
		case !a.ReadOnly:
			others = append(others, tool.Spec().Name)
		}
	}
	slices.Sort(asks)
	slices.Sort(others)
	require.Equal(t, strings.Fields("delete_calendar_event delete_mail_message delete_task send_mail_message update_calendar_event update_task"), asks)
	require.Equal(t, strings.Fields("archive_mail_message complete_task create_calendar_event create_task"), others)
}

func TestTools(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if n := len(b.set.Names()); n < 15 {
		t.Errorf("there are %d tools", n)
	}
	john := `{"event_id":"john@weft.example","title":"Meeting with John","when":"Tuesday at 2:00 PM","start":"2026-11-24T14:00","end":"2026-11-24T15:00","place":"Room 4","with":["John Doe <john@example.com>"]}`
	for _, test := range []struct{ tool, arguments, want string }{
		{"search_calendar_events", `{"query":"john"}`, "[" + john + "]"},
		{"search_calendar_events", `{"query":"john","to":"2026-11-23"}`, "[]"},
		{"search_calendar_events", `{"query":"stand-up"}`, `"event_id":"stand-up@weft.example#20261123T091500"`},
		{"list_calendar_events", `{"from":"2026-11-24","to":"2026-11-24"}`, `"Stand-up","when":"Tuesday at 9:15 AM"`},
		{"list_calendar_events", `{"from":"2026-11-30","to":"2026-12-01"}`, `"Book fair","when":"Monday 30 November to Tuesday 1 December, all day","start":"2026-11-30","end":"2026-12-02"`},
		{"list_calendar_events", `{"from":"2026-11-24","to":"2026-11-25"}`, `[{"date":"2026-11-24","events":[{`},
		{"list_calendar_events", `{"from":"2026-11-24","to":"2026-11-23"}`, "! the range ends at 2026-11-23, before it begins"},
		{"list_calendar_events", `{"from":"soon"}`, `! from: "soon" is no time; write 2006-01-02T15:04 or 2006-01-02`},
		{"get_calendar_event", `{"event_id":"john@weft.example"}`, john},
		{"get_calendar_event", `{"event_id":"x"}`, `! there is no such event: "x"`},
		{"find_free_time", `{"from":"2026-11-24"}`, `{"free":[{"from":"2026-11-24T08:00","to":"2026-11-24T09:15","when":"Tuesday at 8:00 AM to 9:15 AM"},{"from":"2026-11-24T09:30","to":"2026-11-24T14:00","when":"Tuesday at 9:30 AM to 2:00 PM"},{"from":"2026-11-24T15:00","to":"2026-11-24T18:00","when":"Tuesday at 3:00 PM to 6:00 PM"}],"busy":[{`},
		{"find_free_time", `{"from":"2026-11-24T13:30","to":"2026-11-24T14:30"}`, `{"free":[{"from":"2026-11-24T13:30","to":"2026-11-24T14:00","when":"Tuesday at 1:30 PM to 2:00 PM"}],"busy":[` + john + `]}`},
		{"find_free_time", `{"from":"2026-11-24T14:00","to":"2026-11-24T15:00"}`, `{"free":[],"busy":[` + john + `]}`},
		{"find_free_time", `{"from":"2026-11-24","minutes":200}`, `{"free":[{"from":"2026-11-24T09:30","to":"2026-11-24T14:00","when":"Tuesday at 9:30 AM to 2:00 PM"}],`},
		{"create_calendar_event", `{"title":"Run","start":"2026-11-22 07:00","place":"Park","with":["b@example.com"]}`, `"title":"Run","when":"Sunday at 7:00 AM","start":"2026-11-22T07:00","end":"2026-11-22T08:00","place":"Park","with":["b@example.com"]}`},
		{"create_calendar_event", `{"title":"Trip","start":"2026-11-27","end":"2026-11-28"}`, `"title":"Trip","when":"Friday to Saturday 28 November, all day","start":"2026-11-27","end":"2026-11-29"}`},
		{"create_calendar_event", `{"title":"Run","start":"2026-11-22T07:00","end":"2026-11-22T06:00"}`, "! an event has a title, and ends after it began"},
		{"update_calendar_event", `{"event_id":"john@weft.example","start":"2026-11-25T16:00","title":"Talk"}`, `{"name":"Meeting with John","before":"Title: Meeting with John\nFrom:  Tuesday 24 November 2026, 14:00\nTo:    Tuesday 24 November 2026, 15:00\nPlace: Room 4","after":"Title: Talk\nFrom:  Wednesday 25 November 2026, 16:00\nTo:    Wednesday 25 November 2026, 17:00\nPlace: Room 4"}`},
		{"update_calendar_event", `{"event_id":"john@weft.example","start":"2026-11-25T16:00","end":"2026-11-25T15:00"}`, "! an event ends after it began"},
		{"update_calendar_event", `{"event_id":"john@weft.example","start":"2026-11-25T16:00","end":"2026-11-25"}`, "! start and end are both times, or both days"},
		{"update_calendar_event", `{"event_id":"fair@weft.example","end":"2026-11-29"}`, "! an event ends after it began"},
		{"update_calendar_event", `{"event_id":"fair@weft.example","start":"2026-12-03"}`, `"before":"Title: Book fair\nFrom:  Monday 30 November 2026\nTo:    Tuesday 1 December 2026\nPlace: Exhibition hall","after":"Title: Book fair\nFrom:  Thursday 3 December 2026\nTo:    Friday 4 December 2026\nPlace: Exhibition hall"}`},
		{"get_calendar_event", `{"event_id":"fair@weft.example"}`, `"start":"2026-12-03","end":"2026-12-05"`},
		{"update_calendar_event", `{"event_id":"x","title":"Talk"}`, `! there is no such event: "x"`},
		{"search_calendar_events", `{"query":"talk"}`, `"start":"2026-11-25T16:00","end":"2026-11-25T17:00"`},
		{"delete_calendar_event", `{"event_id":"john@weft.example"}`, "Event deleted"},
		{"delete_calendar_event", `{"event_id":"john@weft.example"}`, `! there is no such event: "john@weft.example"`},

		{"list_mail_messages", `{"unread":true}`, `[{"mail_id":1,"folder":"inbox","from":"Ann Lee <ann@example.com>","to":"me","subject":"Lunch?","at":"2026-11-21 06:30:00","unread":true},{"mail_id":2,`},
		{"read_mail_message", `{"mail_id":1}`, `"text":"Shall we have lunch next week? Tuesday would suit me."}`},
		{"read_mail_message", `{"mail_id":9}`, "! there is no mail 9"},
		{"list_mail_messages", `{"unread":true}`, `[{"mail_id":2,`},
		{"search_mail_messages", `{"query":"ann LUNCH"}`, `[{"mail_id":1,`},
		{"search_mail_messages", `{"query":"100% _"}`, `[]`},
		{"send_mail_message", `{"to":["ann@example.com"],"subject":"Yes","text":"Tuesday."}`, "Mail sent"},
		{"send_mail_message", `{"to":["ann"],"subject":"Yes","text":"Tuesday."}`, `! "ann" is no mail address`},
		{"send_mail_message", `{"to":[],"subject":"Yes","text":"Tuesday."}`, "! a mail goes to somebody"},
		{"list_mail_messages", `{"folder":"sent"}`, `"from":"me","to":"ann@example.com","subject":"Yes"`},
		{"archive_mail_message", `{"mail_id":3}`, "Mail archived"},
		{"list_mail_messages", `{"folder":"archive"}`, `[{"mail_id":3,`},
		{"delete_mail_message", `{"mail_id":3}`, "Mail deleted"},
		{"delete_mail_message", `{"mail_id":3}`, "! there is no mail 3"},

		{"create_task", `{"title":"Shop","due":"2026-11-23"}`, `{"task_id":3,"title":"Shop","due":"2026-11-23"}`},
		{"create_task", `{"title":" "}`, "! a task has a title, and may have a date"},
		{"create_task", `{"title":"x","due":"later"}`, `! "later" is no time`},
		{"list_tasks", `{}`, `[{"task_id":3,"title":"Shop","due":"2026-11-23"},{"task_id":1,"title":"Return the library book"},{"task_id":2,"title":"Prepare the slides for John"}]`},
		{"update_task", `{"task_id":3,"title":"Buy food","due":""}`, "Task changed"},
		{"search_tasks", `{"query":"food"}`, `[{"task_id":3,"title":"Buy food"}]`},
		{"complete_task", `{"task_id":3}`, "Task done"},
		{"list_tasks", `{"done":true}`, `{"task_id":3,"title":"Buy food","done":"2026-11-21T09:30"}]`},
		{"delete_task", `{"task_id":3}`, "Task deleted"},
		{"delete_task", `{"task_id":3}`, "! there is no task 3"},
	} {
		if got := b.call(test.tool, test.arguments); !strings.Contains(got, test.want) || strings.HasPrefix(got, "!") != strings.HasPrefix(test.want, "!") {
			t.Errorf("%s %s\ngot  %s\nwant %s", test.tool, test.arguments, got, test.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, test := range []struct{ tool, arguments, want string }{
		{"delete_calendar_event", `{"event_id":"john@weft.example"}`, "delete the calendar event: 'Meeting with John' on Tuesday at 2:00 PM"},
		{"delete_calendar_event", `{"event_id":"stand-up@weft.example#20261123T091500"}`, "delete the calendar event: 'Stand-up' on Monday at 9:15 AM, this time only"},
		{"delete_calendar_event", `{"event_id":"stand-up@weft.example"}`, "and every other time that it recurs"},
		{"update_calendar_event", `{"event_id":"john@weft.example","start":"2026-11-25T16:00"}`, "change the calendar event: 'Meeting with John' on Tuesday at 2:00 PM (start: Wednesday at 4:00 PM)"},
		{"update_calendar_event", `{"event_id":"john@weft.example","start":"2026-11-25"}`, "(start: Wednesday at 2:00 PM)"},
		{"update_calendar_event", `{"event_id":"fair@weft.example","start":"2026-11-25"}`, "(start: Wednesday)"},
		{"create_calendar_event", `{"title":"Run","start":"2026-11-22T07:00"}`, "create the calendar event: 'Run' on Sunday at 7:00 AM"},
		{"send_mail_message", `{"to":["a@example.com","b@example.com"],"subject":"Hi","text":"All of it."}`, "send a mail to a@example.com, b@example.com: 'Hi', which says: All of it."},
		{"delete_mail_message", `{"mail_id":1}`, "delete the mail: 'Lunch?' from Ann Lee <ann@example.com>"},
		{"update_task", `{"task_id":1,"due":"2026-11-25"}`, "change the task: 'Return the library book' (due: Wednesday)"},
		{"create_task", `{"title":"Shop"}`, "create the task: 'Shop'"},
		{"delete_calendar_event", `{"event_id":"x"}`, `delete calendar event (there is no such event: "x")`},
		{"delete_calendar_event", `{"event_id":"${find.0.event_id}"}`, `delete calendar event, for what an earlier step finds`},
		{"delete_mail_message", `{"mail_id":"${find.0.mail_id}"}`, `delete mail message, for what an earlier step finds`},
	} {
		if got := b.desk.Describe(t.Context(), tools.Action{Tool: test.tool, Arguments: json.RawMessage(test.arguments)}); !strings.Contains(got, test.want) {
			t.Errorf("got %s\nwant %s", got, test.want)
		}
	}
}

var said = state.Append[string]("said")

// work returns a thread of a graph whose node makes one call, and then fails as long as failures is positive.
func (b *bench) work(store checkpoint.Store, tool, arguments string, failures *int) *graph.Thread {
	b.t.Helper()
	g := graph.New("work", said)
	g.Node("call", func(ctx context.Context, _ state.View) (state.Update, error) {
		m, err := b.set.Call(ctx, llm.ToolCall{ID: "c", Name: tool, Arguments: json.RawMessage(arguments)}, tools.Options{OnError: tools.ReturnErrors})
		if err == nil && *failures > 0 {
			*failures--
			err = errors.New("killed")
		}
		return state.Update{said.Put(m.Text())}, err
	})
	g.Edge(graph.Start, "call")
	compiled, err := g.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		b.t.Fatal(err)
	}
	return compiled.Thread("t")
}

// If a run fails before the answer of a call is stored, the next run repeats the call. The repeated call changes nothing
// more, and returns the same answer.
func TestEffectsHappenOnce(t *testing.T) {
	t.Parallel()
	for tool, arguments := range map[string]string{
		"create_calendar_event": `{"title":"Run","start":"2026-11-22T07:00"}`,
		"update_calendar_event": `{"event_id":"stand-up@weft.example#20261123T091500","title":"Moved","start":"2026-11-23T10:00"}`,
		"delete_calendar_event": `{"event_id":"stand-up@weft.example#20261123T091500"}`,
		"send_mail_message":     `{"to":["ann@example.com"],"subject":"Yes","text":"Tuesday."}`,
		"archive_mail_message":  `{"mail_id":1}`, "delete_mail_message": `{"mail_id":1}`,
		"create_task": `{"title":"Shop"}`, "complete_task": `{"task_id":1}`, "update_task": `{"task_id":1,"title":"x"}`, "delete_task": `{"task_id":1}`,
	} {
		for _, breaks := range []bool{false, true} {
			t.Run(tool, func(t *testing.T) {
				t.Parallel()
				once, again := newBench(t), newBench(t)
				none, failures := 0, 2
				want, err := once.work(memcheckpoint.New(memcheckpoint.Options{}), tool, arguments, &none).Invoke(t.Context(), graph.Begin())
				if err != nil {
					t.Fatal(err)
				}
				thread := again.work(memcheckpoint.New(memcheckpoint.Options{}), tool, arguments, &failures)
				if breaks { // after the change of the calendar, before it is recorded
					again.execute(`CREATE TRIGGER broken BEFORE UPDATE ON effects BEGIN SELECT raise(ABORT, 'pulled'); END`)
					if _, err := thread.Invoke(t.Context(), graph.Begin()); err == nil || !strings.Contains(err.Error(), "pulled") {
						t.Fatalf("got %v", err)
					}
					again.execute(`DROP TRIGGER broken`)
				} else if _, err := thread.Invoke(t.Context(), graph.Begin()); err == nil {
					t.Fatal("the first attempt did not fail")
				}
				for i := 0; failures > 0 && i < 3; i++ {
					if _, err := thread.Invoke(t.Context()); err == nil {
						t.Fatal("an attempt did not fail")
					}
				}
				got, err := thread.Invoke(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				// The id of a new event is derived from the idempotency key of the run.
				if g, w := said.Get(got)[0], said.Get(want)[0]; g != w && tool != "create_calendar_event" {
					t.Errorf("got %s, want %s", g, w)
				}
				if g, w := again.all(), once.all(); g != w {
					t.Errorf("got\n%s\nwant\n%s", g, w)
				}
			})
		}
	}
}

func (b *bench) execute(statement string) {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("?", "%3f", "#", "%23", " ", "%20").Replace(b.database()))
	if err != nil {
		b.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(b.t.Context(), statement); err != nil {
		b.t.Fatal(err)
	}
}

// all returns the events, mails and tasks of the desk as text.
func (b *bench) all() string {
	b.t.Helper()
	var out strings.Builder
	events, err := b.file.Between(now, now.AddDate(0, 0, 14))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range events {
		out.WriteString(e.Title + e.Start.String() + "\n")
	}
	for _, folder := range []string{"inbox", "sent", "archive"} {
		out.WriteString(b.call("list_mail_messages", `{"folder":"`+folder+`"}`) + "\n")
	}
	return out.String() + b.call("list_tasks", `{"done":true}`)
}

// Several processes may have one desk open, and write at the same time.
func TestWritersTakeTurns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other, err := desk.Open(t.Context(), b.file, b.database(), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	set, err := other.Tools()
	if err != nil {
		t.Fatal(err)
	}
	var calls []llm.ToolCall
	for i := range 10 {
		calls = append(calls, llm.ToolCall{ID: string(rune('a' + i)), Name: "create_calendar_event", Arguments: json.RawMessage(`{"title":"Run","start":"2026-11-22T07:00"}`)})
	}
	ended := make(chan error, 2)
	for _, set := range []*tools.Set{b.set, set} {
		go func() {
			_, err := set.CallAll(t.Context(), calls, tools.Options{OnError: tools.ReturnErrors})
			ended <- err
		}()
	}
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.call("list_calendar_events", `{"from":"2026-11-22","to":"2026-11-22"}`), "Run"); n != 20 {
		t.Errorf("there are %d of 20 events", n)
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := desk.Open(t.Context(), nil, path, time.Now); err == nil || !strings.Contains(err.Error(), "not a database") {
		t.Errorf("got %v", err)
	}
}

// A whole-day event makes a person busy, unless TRANSP says otherwise. A list has the event on each of its days.
func TestWholeDaysAreBusy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	trip := func(title, more string) string {
		return "BEGIN:VEVENT\r\nUID:" + title + "\r\nDTSTART;VALUE=DATE:20261126\r\nDTEND;VALUE=DATE:20261128\r\nSUMMARY:" + title + "\r\n" + more + "END:VEVENT\r\n"
	}
	for events, want := range map[string]string{
		trip("Trip", ""): `{"free":[],"busy":[{"event_id":"Trip"`,
		trip("Birthday", "TRANSP:TRANSPARENT\r\n"):       `{"free":[{"from":"2026-11-27T08:00","to":"2026-11-27T18:00"`,
		trip("Trip", "") + trip("Bad", "RDATE:soon\r\n"): `"warning":"A part of the calendar could not be read: event \"Bad\" (Bad): `,
	} {
		text := "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" + events + "END:VCALENDAR\r\n"
		if err := os.WriteFile(filepath.Join(b.dir, "c.ics"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := b.call("find_free_time", `{"from":"2026-11-27"}`); !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
		days := b.call("list_calendar_events", `{"from":"2026-11-25","to":"2026-11-27"}`)
		if !strings.Contains(days, `[{"date":"2026-11-26","events":[{`) || !strings.Contains(days, `,{"date":"2026-11-27","events":[{`) {
			t.Errorf("got %s", days)
		}
		if strings.Contains(events, "Bad") != strings.Contains(days, `"warning":"A part of the calendar`) {
			t.Errorf("got %s", days)
		}
	}
}

// If clocks change at midnight, the day begins at another hour, and the list has it once. A whole-day event lasts at
// least one day.
func TestDaysWithoutMidnight(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/Santiago")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	path := filepath.Join(b.dir, "s.ics")
	text := "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTART;VALUE=DATE:20260906\r\nDURATION:P0D\r\nSUMMARY:Fair\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := ics.Open(path, zone)
	if err != nil {
		t.Fatal(err)
	}
	d, err := desk.Open(t.Context(), file, filepath.Join(b.dir, "s.db"), func() time.Time { return time.Date(2026, 9, 4, 9, 0, 0, 0, zone) })
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if b.set, err = d.Tools(); err != nil {
		t.Fatal(err)
	}
	days := b.call("list_calendar_events", `{"from":"2026-09-04","to":"2026-09-09"}`)
	if strings.Count(days, `"Fair"`) != 1 || !strings.HasPrefix(days, `[{"date":"2026-09-06"`) {
		t.Errorf("got %s", days)
	}
	// 6 September has no midnight. A range that begins or ends on this day still consists of whole days.
	for arguments, want := range map[string]string{
		`{"from":"2026-09-06"}`: "Fair", `{"from":"2026-09-06","to":"2026-09-06"}`: "Fair", `{"from":"2026-09-01","to":"2026-09-05"}`: "", `{"from":"2026-08-30"}`: "",
	} {
		if days := b.call("list_calendar_events", arguments); strings.Contains(days, "Fair") != (want != "") {
			t.Errorf("%s: got %s", arguments, days)
		}
	}
	if free := b.call("find_free_time", `{"from":"2026-09-05","to":"2026-09-07"}`); !strings.HasPrefix(free, `{"free":[{"from":"2026-09-05T08:00","to":"2026-09-05T18:00"`) || !strings.Contains(free, `{"from":"2026-09-07T08:00"`) || strings.Contains(free, `"from":"2026-09-06T08:00"`) {
		t.Errorf("got %s", free)
	}
	b.call("create_calendar_event", `{"title":"Trip","start":"2026-09-05","end":"2026-09-06"}`)
	if days := b.call("list_calendar_events", `{"from":"2026-09-04","to":"2026-09-09"}`); !strings.Contains(days, `"when":"Saturday to Sunday, all day","start":"2026-09-05","end":"2026-09-07"`) {
		t.Errorf("got %s", days)
	}
}

// Texts from other people cannot hide anything on the page, at the terminal or from the model: the tools escape them.
func TestTextsOfOthersAreShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\nDTSTART:20261124T140000\nSUMMARY:Lunch \u202egnp.exe\u202c\U000e0041\nLOCATION:\x1b[2K\nDESCRIPTION:\u009b\nATTENDEE;CN=A\u202e:mailto:a@b.c\nEND:VEVENT\n" +
		"BEGIN:VEVENT\nUID:b\nDTSTART:20261124T150000\nSUMMARY:✈️ 👩‍🚀\nEND:VEVENT\nEND:VCALENDAR\n"
	if err := os.WriteFile(filepath.Join(b.dir, "c.ics"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.execute(`UPDATE mail SET subject = char(0x202e) || 'x', body = char(27) || 'y', sender = char(0x9b) || 'z'`)
	for _, got := range []string{
		b.call("list_calendar_events", `{"from":"2026-11-24","to":"2026-11-24"}`), b.call("get_calendar_event", `{"event_id":"a"}`), b.call("search_calendar_events", `{"query":"lunch"}`),
		b.call("update_calendar_event", `{"event_id":"a","title":"Lunch"}`), b.call("list_mail_messages", `{}`), b.call("read_mail_message", `{"mail_id":1}`),
	} {
		var all any
		if err := json.Unmarshal([]byte(got), &all); err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(all); strings.ContainsAny(text, "\x1b\u009b\u202e\u202c\U000e0041") {
			t.Errorf("got %q", text)
		}
	}
	if got := b.call("list_calendar_events", `{"from":"2026-11-24","to":"2026-11-24"}`); !strings.Contains(got, "✈️ 👩‍🚀") {
		t.Errorf("got %s", got)
	}
}
