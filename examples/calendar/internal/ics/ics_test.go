package ics_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/calendar/internal/ics"
)

var (
	berlin = mustZone("Europe/Berlin")
	// autumn is before the clocks change in Berlin, on 25 October 2026.
	autumn = time.Date(2026, 10, 19, 0, 0, 0, 0, berlin)
)

func mustZone(name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return loc
}

// calendar returns a file with events.
func calendar(events ...string) string {
	return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n" + strings.ReplaceAll(strings.Join(events, ""), "\n", "\r\n") + "END:VCALENDAR\r\n"
}

func event(id, lines string) string {
	return "BEGIN:VEVENT\nUID:" + id + "\nDTSTAMP:20260101T000000Z\n" + strings.TrimSpace(lines) + "\nEND:VEVENT\n"
}

func open(t *testing.T, text string) (*ics.File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.ics")
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	f, err := ics.Open(path, berlin)
	if err != nil {
		t.Fatal(err)
	}
	return f, path
}

// lines returns the events as text, one per line.
func lines(t *testing.T, f *ics.File, from time.Time, days int) string {
	t.Helper()
	found, err := f.Between(from, from.AddDate(0, 0, days))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range found {
		fmt.Fprintf(&b, "%s %s-%s %s\n", e.ID, e.Start.Format("2006-01-02T15:04"), e.End.Format("02T15:04"), e.Title)
	}
	return b.String()
}

const otherZone = `BEGIN:VTIMEZONE
TZID:Nowhere Standard Time
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE
`

func TestBetween(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, events string
		days         int
		want         string
	}{
		{"floating", event("a", "DTSTART:20261020T140000\nDTEND:20261020T150000\nSUMMARY:x"), 7, "a 2026-10-20T14:00-20T15:00 x\n"},
		{"in UTC", event("a", "DTSTART:20261020T120000Z\nDURATION:PT1H30M\nSUMMARY:x"), 7, "a 2026-10-20T14:00-20T15:30 x\n"},
		{"in a zone", event("a", "DTSTART;TZID=America/New_York:20261020T080000\nDTEND;TZID=\"America/New_York\":20261020T090000\nSUMMARY:x"), 7, "a 2026-10-20T14:00-20T15:00 x\n"},
		{"in a zone that the file describes", otherZone + event("a", "DTSTART;TZID=Nowhere Standard Time:20261020T140000\nSUMMARY:x") +
			event("b", "DTSTART;TZID=Nowhere Standard Time:20261027T140000\nSUMMARY:y"), 14, "a 2026-10-20T14:00-20T14:00 x\nb 2026-10-27T14:00-27T14:00 y\n"},
		{"whole days", event("a", "DTSTART;VALUE=DATE:20261020\nDTEND;VALUE=DATE:20261022\nSUMMARY:x"), 7, "a 2026-10-20T00:00-22T00:00 x\n"},
		{"a whole day", event("a", "DTSTART;VALUE=DATE:20261020\nSUMMARY:x"), 7, "a 2026-10-20T00:00-21T00:00 x\n"},
		{"going on", event("a", "DTSTART:20261018T140000\nDTEND:20261020T150000\nSUMMARY:x"), 7, "a 2026-10-18T14:00-20T15:00 x\n"},
		{"before and after", event("a", "DTSTART:20261018T140000\nSUMMARY:x") + event("b", "DTSTART:20261026T000000\nSUMMARY:y"), 7, ""},
		{"cancelled", event("a", "DTSTART:20261020T140000\nSTATUS:CANCELLED\nSUMMARY:x"), 7, ""},
		{"folded and escaped", event("a", "DTSTART:20261020T140000\nSUMMARY:one\\, two\\;\n  thr\n ee\\nfour \\\\"), 7, "a 2026-10-20T14:00-20T14:00 one, two; three\nfour \\\n"},
		{
			"weekly, over the change of clocks", event("a", "DTSTART;TZID=Europe/Berlin:20260105T091500\nDTEND;TZID=Europe/Berlin:20260105T093000\nRRULE:FREQ=WEEKLY\nSUMMARY:x"), 14,
			"a#20261019T091500 2026-10-19T09:15-19T09:30 x\na#20261026T091500 2026-10-26T09:15-26T09:30 x\n",
		},
		{
			"with an end in UTC", event("a", "DTSTART;TZID=Europe/Berlin:20261019T091500\nRRULE:FREQ=DAILY;UNTIL=20261020T071500Z\nSUMMARY:x"), 14,
			"a#20261019T091500 2026-10-19T09:15-19T09:15 x\na#20261020T091500 2026-10-20T09:15-20T09:15 x\n",
		},
		{
			"with a last day", event("a", "DTSTART;VALUE=DATE:20261019\nRRULE:FREQ=DAILY;UNTIL=20261020\nSUMMARY:x"), 14,
			"a#20261019T000000 2026-10-19T00:00-20T00:00 x\na#20261020T000000 2026-10-20T00:00-21T00:00 x\n",
		},
		{
			"counted, without one", event("a", "DTSTART:20261019T100000\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20261020T100000,20261025T100000\nSUMMARY:x"), 14,
			"a#20261019T100000 2026-10-19T10:00-19T10:00 x\na#20261021T100000 2026-10-21T10:00-21T10:00 x\n",
		},
		{
			"on dates", event("a", "DTSTART:20261019T100000\nRDATE:20261023T100000,20261021T120000\nSUMMARY:x"), 14,
			"a#20261019T100000 2026-10-19T10:00-19T10:00 x\na#20261021T120000 2026-10-21T12:00-21T12:00 x\na#20261023T100000 2026-10-23T10:00-23T10:00 x\n",
		},
		{
			"one of them moved, one cancelled", event("a", "DTSTART:20261019T100000\nRRULE:FREQ=DAILY;COUNT=3\nSUMMARY:x") +
				event("a", "RECURRENCE-ID:20261020T100000\nDTSTART:20261022T160000\nSUMMARY:moved") +
				event("a", "RECURRENCE-ID:20261021T100000\nDTSTART:20261021T100000\nSTATUS:CANCELLED\nSUMMARY:x"), 14,
			"a#20261019T100000 2026-10-19T10:00-19T10:00 x\na#20261020T100000 2026-10-22T16:00-22T16:00 moved\n",
		},
		{"since long ago", event("a", "DTSTART:19700101T080000\nRRULE:FREQ=DAILY\nSUMMARY:x"), 1, "a#20261019T080000 2026-10-19T08:00-19T08:00 x\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, _ := open(t, calendar(test.events))
			if got := lines(t, f, autumn, test.days); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}

func TestWhatCanNotBeRead(t *testing.T) {
	t.Parallel()
	for want, events := range map[string]string{
		`there is no time zone "Atlantis"`: event("a", "DTSTART;TZID=Atlantis:20261020T140000\nSUMMARY:x"),
		"no DTSTART":                       event("a", "SUMMARY:x"),
		"cannot parse":                     event("a", "DTSTART:soon\nSUMMARY:x"),
		"the limit of 5000 times":          event("a", "DTSTART:20261020T140000\nRRULE:FREQ=MINUTELY\nSUMMARY:x"),
		"FREQ: this value is unknown":      event("a", "DTSTART:20261020T140000\nRRULE:FREQ=NEVER\nSUMMARY:x"),
		"BYHOUR":                           event("a", "DTSTART:20261020T140000\nRRULE:FREQ=DAILY;BYHOUR=25\nSUMMARY:x"),
		"BYMONTH":                          event("a", "DTSTART:20261020T140000\nRRULE:FREQ=DAILY;BYMONTH=-1\nSUMMARY:x"),
		"no day of the week":               event("a", "DTSTART:20261020T140000\nRRULE:FREQ=DAILY;BYDAY=MO,,TU\nSUMMARY:x"),
		"this part is unknown":             event("a", "DTSTART:20261020T140000\nRRULE:FREQ=DAILY;BYEASTER=1\nSUMMARY:x"),
		"INTERVAL":                         event("a", "DTSTART:20261020T140000\nRRULE:FREQ=DAILY;INTERVAL=0\nSUMMARY:x"),
		"has no FREQ":                      event("a", "DTSTART:20261020T140000\nRRULE:COUNT=3\nSUMMARY:x"),
		`parsing time "never"`:             event("a", "DTSTART:20261020T140000\nRRULE:FREQ=DAILY\nEXDATE:never\nSUMMARY:x"),
	} {
		f, _ := open(t, calendar(events))
		if _, err := f.Between(autumn, autumn.AddDate(0, 0, 7)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for want, text := range map[string]string{
		"has no calendar": "", "line 1": "hello", "is not closed": "BEGIN:VCALENDAR\r\n", "line 2": "BEGIN:VCALENDAR\r\nEND:VEVENT\r\n",
		"not UTF-8": "BEGIN:VCALENDAR\r\nX:\xff\r\nEND:VCALENDAR\r\n", "line 20": strings.Repeat("BEGIN:X\r\n", 30),
	} {
		path := filepath.Join(t.TempDir(), "c.ics")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ics.Open(path, berlin); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := ics.Open(t.TempDir(), berlin); err == nil {
		t.Error("a folder was opened")
	}
}

// A change keeps all other content of the file byte for byte.
func TestChangesKeepTheRest(t *testing.T) {
	t.Parallel()
	alarm := "BEGIN:VALARM\nACTION:DISPLAY\nTRIGGER:-PT15M\nEND:VALARM\n"
	other := "BEGIN:VEVENT\nUID:b\nX-OTHER;P=\"a:b;c\":kept\\, as it is " + strings.Repeat("é", 60) + "\nDTSTART:20261021T140000\nSUMMARY:y\n" + alarm + "END:VEVENT\n"
	text := calendar(otherZone, event("a", "DTSTART:20261020T140000\nSUMMARY:x"), "BEGIN:VTODO\nUID:t\nSUMMARY:task\nEND:VTODO\n")
	text = strings.Replace(text, "END:VCALENDAR", strings.ReplaceAll(strings.ReplaceAll(other, "\n", "\r\n"), strings.Repeat("é", 60), strings.Repeat("é", 20)+"\r\n "+strings.Repeat("é", 37)+"\r\n "+strings.Repeat("é", 3))+"END:VCALENDAR", 1)
	_, path := open(t, text)
	link := filepath.Join(t.TempDir(), "link.ics")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	f, err := ics.Open(link, berlin)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Remove("a"); err != nil {
		t.Fatal(err)
	}
	got := read(t, path)
	want := strings.Replace(text, strings.ReplaceAll(event("a", "DTSTART:20261020T140000\nSUMMARY:x"), "\n", "\r\n"), "", 1)
	if got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAddAndChange(t *testing.T) {
	t.Parallel()
	f, path := open(t, calendar())
	e := ics.Event{
		ID: "n", Title: "Lunch, " + strings.Repeat("ä", 80), Place: "a\\b; c", Notes: "1\n2", With: []string{"ann@example.com"},
		Start: autumn.Add(12 * time.Hour), End: autumn.Add(13 * time.Hour),
	}
	for range 2 { // the second time, the file already has it
		if err := f.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Event("n")
	if err != nil || got.Title != e.Title || got.Place != e.Place || got.Notes != e.Notes || got.With[0] != "ann@example.com" || !got.Start.Equal(e.Start) || !got.End.Equal(e.End) {
		t.Errorf("got %+v and %v", got, err)
	}
	text := read(t, path)
	if strings.Count(text, "BEGIN:VEVENT") != 1 {
		t.Errorf("got %s", text)
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		if len(line) > 75 || strings.Contains(line, "\n") {
			t.Errorf("a line of %d bytes: %q", len(line), line)
		}
	}
	start, title := autumn.AddDate(0, 0, 1), "Dinner"
	if err := f.Change("n", ics.Change{Title: &title, Start: &start}); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, f, autumn, 7); got != "n 2026-10-20T00:00-20T01:00 Dinner\n" {
		t.Errorf("got %s", got)
	}
	found, err := f.Search("dinner ANN", autumn, autumn.AddDate(1, 0, 0))
	if err != nil || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
	if found, err := f.Search("dinner bob", autumn, autumn.AddDate(1, 0, 0)); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
}

// One occurrence can be moved and another one removed, for each form of DTSTART. The rest of the series stays.
func TestOccurrences(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]string{
		"floating": "DTSTART:20261019T091500", "UTC": "DTSTART:20261019T071500Z", "zone": "DTSTART;TZID=Europe/Berlin:20261019T091500",
		"described": "DTSTART;TZID=Nowhere Standard Time:20261019T091500", "days": "DTSTART;VALUE=DATE:20261019",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := open(t, calendar(otherZone, event("a", start+"\nRRULE:FREQ=DAILY;COUNT=4\nSUMMARY:x\nBEGIN:VALARM\nACTION:AUDIO\nEND:VALARM")))
			all := strings.Split(lines(t, f, autumn, 7), "\n")
			id := func(n int) string { first, _, _ := strings.Cut(all[n], " "); return first }
			title, at := "moved", autumn.AddDate(0, 0, 5)
			for _, err := range []error{
				f.Change(id(1), ics.Change{Title: &title, Start: &at}), f.Change(id(1), ics.Change{Title: &title}),
				f.Remove(id(2)), f.Change(id(3), ics.Change{Title: &title}), f.Remove(id(3)),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			got, err := f.Between(autumn, autumn.AddDate(0, 0, 7))
			if err != nil || len(got) != 2 || got[0].ID != id(0) || got[0].Title != "x" || got[1].ID != id(1) || got[1].Title != "moved" || !got[1].Start.Equal(at) {
				t.Errorf("got %+v and %v", got, err)
			}
			if _, err := f.Event(id(2)); !errors.Is(err, ics.ErrNotFound) {
				t.Errorf("got %v", err)
			}
			if err := f.Change("a", ics.Change{Start: &at}); err == nil {
				t.Error("a series was moved")
			}
			if err := f.Remove("a"); err != nil || lines(t, f, autumn, 7) != "" {
				t.Errorf("got %v and %s", err, lines(t, f, autumn, 7))
			}
		})
	}
	f, _ := open(t, calendar(event("a#b", "DTSTART:20261020T140000\nSUMMARY:x")))
	for _, id := range []string{"", "a", "a#b#20261020T140001", "a#b#soon", "c#20261020T140000"} {
		if err := f.Remove(id); !errors.Is(err, ics.ErrNotFound) {
			t.Errorf("%q: got %v", id, err)
		}
	}
	if err := f.Remove("a#b"); err != nil {
		t.Error(err)
	}
}

// FuzzFile adds an event to any file that can be opened, and removes it again. It proves that the calendar stays as
// readable as before and that no other event is lost.
func FuzzFile(f *testing.F) {
	f.Add(calendar(otherZone, event("a", "DTSTART;TZID=Nowhere Standard Time:20261020T140000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;BYSETPOS=1\nEXDATE:20261030T140000\nSUMMARY:x")))
	f.Add(calendar(event("a", "DTSTART;VALUE=DATE:20240229\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30\nDURATION:P1W")))
	f.Add(calendar(event("a", "DTSTART:20261020T140000\nDTEND:20251020T140000\nRDATE:19700101"), event("a", "RECURRENCE-ID:20261020T140000")))
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "c.ics")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := ics.Open(path, berlin)
		if err != nil {
			return
		}
		before, err := file.Between(autumn, autumn.AddDate(0, 1, 0))
		if err := file.Add(ics.Event{ID: "new@fuzz", Title: "new", Start: autumn, End: autumn.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		after, afterErr := file.Between(autumn, autumn.AddDate(0, 1, 0))
		if (err == nil) != (afterErr == nil) || len(after) != len(before)+1 && !strings.Contains(text, "new@fuzz") {
			t.Fatalf("%d events became %d: %v", len(before), len(after), afterErr)
		}
		if err := file.Remove("new@fuzz"); err != nil {
			t.Fatal(err)
		}
		again, againErr := file.Between(autumn, autumn.AddDate(0, 1, 0))
		if (err == nil) != (againErr == nil) || len(again) != len(before) {
			t.Fatalf("%d events became %d: %v", len(before), len(again), againErr)
		}
	})
}

// A search returns the readable events with an error that names the unreadable ones.
func TestWhatIsUnreadableBesideGoodEvents(t *testing.T) {
	t.Parallel()
	f, _ := open(t, calendar(event("a", "DTSTART:19700101T000000\nRRULE:FREQ=SECONDLY\nSUMMARY:x"), event("b", "DTSTART:20261020T140000\nSUMMARY:y"), event("c", "DTSTART;TZID=Atlantis:20261020T140000\nSUMMARY:z")))
	for _, find := range []func() ([]ics.Event, error){
		func() ([]ics.Event, error) { return f.Between(autumn, autumn.AddDate(0, 0, 7)) },
		func() ([]ics.Event, error) { return f.Search("y", autumn, autumn.AddDate(0, 0, 7)) },
	} {
		found, err := find()
		unread, ok := errors.AsType[*ics.UnreadError](err)
		if len(found) != 1 || found[0].ID != "b" || !ok || !strings.Contains(unread.Error(), `event "c" (z): there is no time zone`) {
			t.Errorf("found %v and %v", found, err)
		}
	}
	if _, err := f.Event("b"); err != nil {
		t.Error(err)
	}
	if _, err := f.Event("c"); !errors.Is(err, ics.ErrNotFound) || !strings.Contains(err.Error(), "Atlantis") {
		t.Errorf("got %v", err)
	}
}

// A change fails if the new file would be too large to read. The file stays as it was.
func TestAChangeKeepsTheBoundsOfAFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"bytes":  calendar(event("a", "DTSTART:20261020T100000Z\nDESCRIPTION:"+strings.Repeat("x", 8_385_000))),
		"lines":  calendar(event("a", "DTSTART:20261020T100000Z\n"+strings.Repeat("X-A:1\n", 249_985))),
		"events": calendar(strings.Repeat(event("a", "DTSTART:20261020T100000Z"), 30_000)),
	} {
		f, path := open(t, text)
		err := f.Add(ics.Event{ID: "b", Title: "B", Start: autumn, End: autumn.Add(time.Hour)})
		if err == nil || !strings.Contains(err.Error(), "is not changed") || !strings.Contains(err.Error(), " "+name) {
			t.Errorf("%s: got %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%s: the file changed, or %v", name, err)
		}
		if _, err := f.Event("a"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An ASCII word matches the beginning of a word in the title, with or without a space or hyphen between its parts. A
// word with other characters also matches inside a word.
func TestMentions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		title, words string
		want         bool
	}{
		{"Stand-up", "stand-up", true},
		{"Stand-up", "standup", true},
		{"Stand-up", "stand up", true},
		{"Standup", "stand-up", true},
		{"Stand up", "standup", true},
		{"Stand up", "stand-up", true},
		{"Planning", "ann", false},
		{"Lunch with Ann", "ANN lunch", true},
		{"Slides", "slide", true},
		{"Büro in Köln", "büro", true},
		{"営業会議", "会議", true},
		{"Book fair", "fair book", true},
		{"Book fair", "kfair", false},
	} {
		if got := (ics.Event{Title: test.title}).Mentions(test.words); got != test.want {
			t.Errorf("%q mentions %q: %v", test.title, test.words, got)
		}
	}
}

// The standard requires a UID, but an event without one is found, changed and removed like others. Its id stays the same
// in a new export of the calendar, and after a change of the event.
func TestEventsWithoutUID(t *testing.T) {
	t.Parallel()
	bare := func(lines string) string { return "BEGIN:VEVENT\n" + lines + "\nEND:VEVENT\n" }
	lunch := "DTSTART:20261020T120000\nDTEND:20261020T130000\nSUMMARY:Lunch"
	f, path := open(t, calendar(bare("DTSTAMP:20260101T000000Z\n"+lunch), bare("UID:\nDTSTART:20261021T120000\nSUMMARY:Tea"), event("a", "DTSTART:20261022T120000\nSUMMARY:x")))
	found, err := f.Between(autumn, autumn.AddDate(0, 0, 7))
	require.NoError(t, err)
	require.Len(t, found, 3)
	id := found[0].ID
	again, _ := open(t, calendar(bare("DTSTAMP:20260202T000000Z\n"+lunch)))
	one, err := again.Event(id)
	require.NoError(t, err)
	assert.Equal(t, "Lunch", one.Title)

	title := "Late lunch"
	require.NoError(t, f.Change(id, ics.Change{Title: &title}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(string(text), "\nUID:"), "%s", text)
	one, err = f.Event(id)
	require.NoError(t, err)
	assert.Equal(t, title, one.Title)
	require.NoError(t, f.Remove(found[1].ID))
	assert.Equal(t, id+" 2026-10-20T12:00-20T13:00 Late lunch\na 2026-10-22T12:00-22T12:00 x\n", lines(t, f, autumn, 7))
}

// A replacement of an occurrence needs a UID. A search returns the other events with an error that names a replacement
// without a UID.
func TestAnOccurrenceWithoutUIDIsNamed(t *testing.T) {
	t.Parallel()
	f, _ := open(t, calendar(event("a", "DTSTART:20261022T120000\nSUMMARY:x"), "BEGIN:VEVENT\nRECURRENCE-ID:20261020T120000\nDTSTART:20261020T120000\nSUMMARY:Lunch\nEND:VEVENT\n"))
	found, err := f.Between(autumn, autumn.AddDate(0, 0, 7))
	require.Len(t, found, 1)
	unread, ok := errors.AsType[*ics.UnreadError](err)
	require.True(t, ok, "%v", err)
	assert.Contains(t, unread.Error(), "(Lunch): it replaces an occurrence (RECURRENCE-ID) of an unknown event: it has no UID")
}

// A date moves a whole-day event, which keeps its number of days, even when clocks change. A time makes it an event
// of one hour. For any other event, a date alone keeps the time of day.
func TestDaysAndTimesOfAChange(t *testing.T) {
	t.Parallel()
	fair, talk := event("a", "DTSTART;VALUE=DATE:20261020\nDTEND;VALUE=DATE:20261022\nSUMMARY:x"), event("a", "DTSTART:20261020T140000\nDTEND:20261020T153000\nSUMMARY:x")
	day := func(d, hour int) *time.Time { return new(time.Date(2026, 10, d, hour, 0, 0, 0, berlin)) }
	for _, tt := range []struct {
		name, events string
		change       ics.Change
		want         string
		allDay       bool
	}{
		{"whole days to a day", fair, ics.Change{Start: day(22, 0), Days: true}, "a 2026-10-22T00:00-24T00:00 x\n", true},
		{"whole days over the change of clocks", fair, ics.Change{Start: day(24, 0), Days: true}, "a 2026-10-24T00:00-26T00:00 x\n", true},
		{"whole days with another last day", fair, ics.Change{End: day(23, 0), Days: true}, "a 2026-10-20T00:00-24T00:00 x\n", true},
		{"whole days to a time", fair, ics.Change{Start: day(22, 15)}, "a 2026-10-22T15:00-22T16:00 x\n", false},
		{"times to a day", talk, ics.Change{Start: day(22, 0), Days: true}, "a 2026-10-22T14:00-22T15:30 x\n", false},
		{"times with another last day", talk, ics.Change{End: day(21, 0), Days: true}, "a 2026-10-20T14:00-21T15:30 x\n", false},
		{"times to whole days", talk, ics.Change{Start: day(22, 0), End: day(23, 0), Days: true}, "a 2026-10-22T00:00-24T00:00 x\n", true},
		{"times to times", talk, ics.Change{Start: day(22, 9)}, "a 2026-10-22T09:00-22T10:30 x\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, _ := open(t, calendar(tt.events))
			require.NoError(t, f.Change("a", tt.change))
			assert.Equal(t, tt.want, lines(t, f, autumn, 14))
			e, err := f.Event("a")
			require.NoError(t, err)
			assert.Equal(t, tt.allDay, e.AllDay)
		})
	}
}
