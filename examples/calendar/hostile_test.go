package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostile returns calendars that are made to take much time or memory. The test adds a normal event to each of them.
func hostile() map[string]string {
	day := time.Now().UTC().AddDate(0, 0, 1).Format("20060102")
	event := func(id, lines string) string {
		return "BEGIN:VEVENT\nUID:" + id + "\nDTSTAMP:20260101T000000Z\nSUMMARY:" + id + "\n" + lines + "\nEND:VEVENT\n"
	}
	numbers := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint(i))
		}
		return strings.Join(all, ",")
	}
	always := "BYHOUR=" + numbers(24) + ";BYMINUTE=" + numbers(60) + ";BYSECOND=" + numbers(60)
	many := func(n int, text func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(text(i))
		}
		return b.String()
	}
	zone := func(parts string) string {
		return "BEGIN:VTIMEZONE\nTZID:Evil\n" + parts + "END:VTIMEZONE\n" + event("evil", "DTSTART;TZID=Evil:"+day+"T100000\nDURATION:PT1H")
	}
	standard := func(i int, rule string) string {
		return fmt.Sprintf("BEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0000\nTZOFFSETTO:+0%d00\n%s\nEND:STANDARD\n", i%10, rule)
	}
	often := "DTSTART:" + day + "T100000Z\nRRULE:FREQ=MINUTELY;INTERVAL=10\n"
	return map[string]string{
		"a zone that changes each second":   zone(standard(1, "RRULE:FREQ=DAILY;"+always)),
		"a zone with thousands of rules":    zone(many(20_000, func(i int) string { return standard(i, "RRULE:FREQ=DAILY") })),
		"a zone with thousands of dates":    zone(many(20_000, func(i int) string { return standard(i, "RDATE:20000101T000000") })),
		"each second of each day of a year": event("evil", "DTSTART:20000101T100000Z\nRRULE:FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;"+always),
		"a huge count":                      event("evil", "DTSTART:20000101T100000Z\nRRULE:FREQ=SECONDLY;COUNT=2000000000"),
		"a count of what never is":          event("evil", "DTSTART:16000101T100000Z\nRRULE:FREQ=DAILY;COUNT=2000000000;BYYEARDAY=366;BYMONTH=1"),
		"positions of each second":          event("evil", "DTSTART:20000101T100000Z\nRRULE:FREQ=YEARLY;BYDAY=MO,TU;BYSETPOS=1,-1;"+always),
		"thousands of rules, and their negation": event("evil", "DTSTART:20000101T100000Z\n"+many(5_000, func(i int) string {
			return fmt.Sprintf("RRULE:FREQ=HOURLY;COUNT=90000;INTERVAL=%d\nEXRULE:FREQ=HOURLY;COUNT=90000\n", i+1)
		})+"CLASS:PUBLIC"),
		"thousands of events with a count": many(10_000, func(i int) string {
			return event(fmt.Sprintf("evil%d", i), "DTSTART:20000101T100000Z\nRRULE:FREQ=HOURLY;COUNT=40000")
		}),
		"thousands of zones": many(5_000, func(i int) string {
			return fmt.Sprintf("BEGIN:VTIMEZONE\nTZID:Z%d\n%sEND:VTIMEZONE\n", i, standard(i, "RRULE:FREQ=DAILY;BYYEARDAY=366;BYMONTH=1"))
		}) + many(5_000, func(i int) string {
			return event(fmt.Sprintf("evil%d", i), fmt.Sprintf("DTSTART;TZID=Z%d:%sT100000", i, day))
		}),
		"hundreds of thousands of dates":      event("evil", "DTSTART:20000101T100000Z\nRRULE:FREQ=DAILY\nRDATE:"+strings.Repeat(day+"T100000Z,", 400_000)+day+"T100000Z"),
		"hundreds of thousands of exceptions": event("evil", "DTSTART:20000101T100000Z\nRRULE:FREQ=DAILY\nEXDATE:"+strings.Repeat(day+"T100000Z,", 400_000)+day+"T100000Z"),
		"more events than a calendar may have": many(60_000, func(i int) string {
			return fmt.Sprintf("BEGIN:VEVENT\nUID:evil%d\nDTSTART:20000101T100000Z\nEND:VEVENT\n", i)
		}),
		"thousands of events without a UID": many(29_000, func(i int) string {
			return fmt.Sprintf("BEGIN:VEVENT\nSUMMARY:evil%d\nDTSTART:%sT%06d\nEND:VEVENT\n", i, day, 100000+i%60)
		}),
		"more lines than a calendar may have": many(400_000, func(int) string { return "X-EVIL:1\n" }),
		"a guest of each line":                event("evil", often+many(240_000, func(int) string { return "ATTENDEE:mailto:a@example.com\n" })+"CLASS:PUBLIC"),
		"a long text":                         event("evil", often+"DESCRIPTION:"+strings.Repeat(`\n`, 4_000_000)),
		"three events that fill the answer": many(3, func(i int) string {
			return event(fmt.Sprintf("evil%d", i), "DTSTART:"+day+"T100000\nRRULE:FREQ=SECONDLY;INTERVAL=12;UNTIL="+day+"T235959")
		}),
		"more bytes than a calendar may have": event("evil", "DTSTART:20000101T100000Z\nDESCRIPTION:"+strings.Repeat("x", 9<<20)),
	}
}

// peakMemory runs a program to its end, and returns its largest observed memory in kB. The peak that the system
// reports to the parent includes the memory of the parent.
func peakMemory(cmd *exec.Cmd) (kilobytes int, err error) {
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // empty at the end of the process
		if found := peakPattern.FindSubmatch(status); found != nil {
			kilobytes, _ = strconv.Atoi(string(found[1]))
		}
		select {
		case err := <-ended:
			return kilobytes, err
		case <-time.After(time.Millisecond):
		}
	}
}

var peakPattern = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// For a calendar that needs much time or memory, the program answers with an error that names the limit, and uses
// little of both. The test builds the program without the race detector, which needs memory of its own.
func TestHostileCalendars(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "calendar.exe")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-race=false", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", built)
	good := "BEGIN:VEVENT\nUID:good\nDTSTART:" + time.Now().UTC().AddDate(0, 0, 1).Format("20060102") + "T090000Z\nSUMMARY:Good\nEND:VEVENT\n"
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.write("evil.ics", "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//test//EN\n"+good+text+"END:VCALENDAR\n")
			cmd := f.command("-calendar", "evil.ics", "what do I have tomorrow?")
			cmd.Path = program
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			kilobytes, err := peakMemory(cmd)
			if err != nil {
				require.NotNil(t, cmd.ProcessState, err)
				assert.Equal(t, 2, cmd.ProcessState.ExitCode(), out.String())
			} else {
				assert.Contains(t, out.String(), "9:00 AM: Good")
				assert.Contains(t, out.String(), "evil")
			}
			says := map[string]string{
				"a guest of each line":              "more events are not listed",
				"a long text":                       "more events are not listed",
				"three events that fill the answer": "limit of 10000 events",
				"thousands of events with a count":  "the rules of recurrence of this calendar need more than the limit of 2000000 steps",
			}
			assert.Regexp(t, cmp.Or(says[name], "limit of|at most"), out.String())
			used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			assert.Less(t, used, 5*time.Second, "time of the processor")
			assert.Less(t, out.Len(), 4<<10, "the answer is long")
			if runtime.GOOS == "linux" {
				assert.Positive(t, kilobytes)
				t.Logf("%v, %d MB: %s", used, kilobytes/1000, last(out.String()))
				assert.Less(t, kilobytes, 100_000)
			}
		})
	}
}
