package assistant_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/calendar/internal/desk"
	"github.com/weft-go/weft/examples/calendar/internal/ics"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// The title of an imported event cannot hide its end in the question.
func TestQuestionShowsInvisibleCharacters(t *testing.T) {
	t.Parallel()
	o := newOffice(t, strings.Replace(johns, "Meeting with John", "Meeting with John \u202egnp.exe\u202c", 1))
	snap := invoke(t, o.thread(deleteJohn(), memory()), "Delete my meeting with John")
	c := assistant.PendingConfirmation.Get(snap)
	require.NotNil(t, c)
	assert.Contains(t, c.Message, `'Meeting with John \u202egnp.exe\u202c'`)
	assert.NotContains(t, c.Message, "\u202e")
}

// A yes to a plan is not for a call whose arguments come from another action. The user is
// asked about that call, with its arguments.
func TestLateQuestion(t *testing.T) {
	t.Parallel()
	for answer, deleted := range map[string]bool{"yes": true, "no": false} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, johns)
			model := llmtest.NewScript(
				call("p", tools.InvokeTool, `{"tool_name":"make_plan","params":{"actions":[{"id":"find","tool":"search_calendar_events","args":{"query":"John"}},{"id":"drop","tool":"delete_calendar_event","args":{"event_id":"${find.0.event_id}"}}]}}`),
				llmtest.Say("Noted."), llmtest.Say("Done."),
			)
			store := memory()
			snap := invoke(t, o.thread(model, store), "Delete my meeting with John")
			require.NotNil(t, assistant.Waiting(snap))

			// An invitation arrives before the answer.
			invitation := "BEGIN:VEVENT\nUID:board\nDTSTAMP:20261101T000000Z\nDTSTART:20261123T090000\nDTEND:20261123T100000\nSUMMARY:Board meeting (John is invited)\nEND:VEVENT\nBEGIN:VEVENT"
			path := filepath.Join(o.dir, "calendar.ics")
			require.NoError(t, os.WriteFile(path, []byte(strings.Replace(johns, "BEGIN:VEVENT", invitation, 1)), 0o600))
			f, err := ics.Open(path, time.UTC)
			require.NoError(t, err)
			d, err := desk.Open(t.Context(), f, filepath.Join(o.dir, "desk2.db"), func() time.Time { return now })
			require.NoError(t, err)
			require.NoError(t, o.desk.Close())
			o.file, o.desk = f, d

			thread := o.thread(model, store)
			snap, err = thread.Invoke(t.Context(), assistant.Waiting(snap).Answer("yes")...)
			require.NoError(t, err)
			open := assistant.Waiting(snap)
			require.NotNil(t, open, "the call ran without a question")
			assert.Contains(t, open.Message, "This will delete the calendar event: 'Board meeting (John is invited)'")
			assert.Contains(t, o.titles(), "Board meeting (John is invited)")
			snap, err = thread.Invoke(t.Context(), open.Answer(answer)...)
			require.NoError(t, err)
			assert.True(t, snap.Done())
			if deleted {
				assert.NotContains(t, o.titles(), "Board meeting (John is invited)")
			} else {
				assert.Contains(t, o.titles(), "Board meeting (John is invited)")
			}
		})
	}
}
