package assistant_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/calendar/internal/desk"
	"github.com/weft-go/weft/examples/calendar/internal/offline"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/proof/questiontest"
)

// judged has the texts that the answer to each question must and must not contain. Today is Saturday, 21 November.
var judged = map[string]questiontest.Judgement{
	"calendar-01": {Right: []string{"Tuesday 24 November", "9:15 AM to 9:30 AM: Stand-up", "2:00 PM to 3:00 PM: Meeting with John"}, Wrong: []string{"Dentist"}},
	"calendar-02": {Refused: true, Right: []string{"I did not understand 'and wednesday'"}},
	"calendar-03": {Right: []string{"Wednesday at 10:00 AM: Dentist"}},
	"calendar-04": {Right: []string{"This will delete the calendar event: 'Dentist' on Wednesday at 10:00 AM. Confirm?"}, Wrong: []string{"John"}},
	"calendar-05": {Right: []string{"Cancelled: I have not done it."}, Wrong: []string{"This will"}},
	"calendar-06": {Right: []string{"This will change the calendar event: 'Meeting with John' on Tuesday at 2:00 PM (start: Thursday at 3:00 PM). Confirm?"}},
	"calendar-07": {Right: []string{"'Coffee with Maria'", "for Monday at 10:30 AM"}},
	"calendar-08": {Right: []string{"You are not free then", "Wednesday at 10:00 AM: Dentist"}},
	"calendar-09": {Right: []string{"I've added the task 'buy printer paper', due 2026-11-27.", "Thursday 26 November", "9:15 AM to 9:30 AM: Stand-up"}, Wrong: []string{"Book fair"}},
	"calendar-10": {Refused: true, Right: []string{"I did not understand 'don't delete my meeting with John'"}, Wrong: []string{"This will"}},
	"calendar-11": {Right: []string{"Ann Lee <ann@example.com>: Lunch? (unread)", "John Doe <john@example.com>: Slides for our meeting (unread)"}, Wrong: []string{"Library", "Dentist"}},
	"calendar-12": {Refused: true, Right: []string{"I did not understand 'book me a flight to Rome on the 3rd of next month'"}},
}

// The rules answer the questions correctly, or say that they do not understand them.
func TestQuestions(t *testing.T) {
	t.Parallel()
	offices, threads, open := map[string]*office{}, map[string]*graph.Thread{}, map[string]*graph.Snapshot{}
	for _, q := range questiontest.Of(t, "calendar", judged) {
		o, before := offices[q.Conversation], open[q.Conversation]
		if o == nil {
			o = sampleOffice(t)
			offices[q.Conversation], threads[q.Conversation] = o, o.thread(offline.New(0), memory())
		}
		// As at a terminal, a yes or a no answers the open question.
		input := assistant.Ask("t", q.Text)
		if c := assistant.Waiting(before); c != nil && assistant.IsAnswer(q.Text) {
			input = c.Answer(q.Text)
		}
		snap, err := threads[q.Conversation].Invoke(t.Context(), input...)
		require.NoError(t, err)
		open[q.Conversation] = snap
		got := assistant.FinalResponse.Get(snap)
		if c := assistant.Waiting(snap); c != nil {
			got += "\n" + c.Message
		}
		judged[q.ID].Check(t, q, got, strings.Contains(got, "did not understand"))
		left := "Book fair, Dentist, Meeting with John, Stand-up"
		if q.ID == "calendar-07" {
			left = "Book fair, Coffee with Maria, Dentist, Meeting with John, Stand-up"
		}
		assert.Equal(t, left, o.names(), "%s: %s", q.ID, q.Text)
	}
}

// sampleOffice is an office with the sample data.
func sampleOffice(t *testing.T) *office {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample.ics")
	require.NoError(t, desk.SampleCalendar(path, now))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	o := newOffice(t, string(text))
	require.NoError(t, o.desk.Sample(t.Context()))
	return o
}

// names returns the titles of the events of the next two weeks, each once.
func (o *office) names() string {
	o.t.Helper()
	events, err := o.file.Between(now, now.AddDate(0, 0, 14))
	require.NoError(o.t, err)
	var names []string
	for _, e := range events {
		names = append(names, e.Title)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
