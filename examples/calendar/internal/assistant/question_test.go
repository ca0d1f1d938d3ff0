package assistant_test

import (
	"encoding/json"
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
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
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

// A yes to a plan does not approve a call whose arguments come from another action. The graph asks about that call, with
// its arguments.
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

// A graph that does not pause before confirm_actions asks there, with a form.
func TestForm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, actions, title string
		steps                int
	}{
		{"one", `{"id":"a","tool":"drop","args":{"text":"x"}}`, `This will drop {"text":"x"}. Confirm?`, 0},
		{"two", `{"id":"a","tool":"drop","args":{"text":"x"}},{"id":"b","tool":"look","depends_on":["a"]}`, "This will do 2 things. Confirm?", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var s stage
			model := llmtest.NewScript(write(test.actions), llmtest.Say("planned"), llmtest.Say("done"))
			thread := s.graph(t, model, graph.Options{Checkpoints: memory()}).Thread("t")
			snap := invoke(t, thread, "drop x")
			require.Len(t, snap.Pauses, 1)
			var form struct {
				Title  string
				Steps  []struct{ Step string }
				Schema struct{ Enum []string }
			}
			require.NoError(t, json.Unmarshal(snap.Pauses[0].Prompt, &form))
			assert.Equal(t, test.title, form.Title)
			assert.Len(t, form.Steps, test.steps)
			assert.Equal(t, []string{"yes", "no"}, form.Schema.Enum)
			open := assistant.Waiting(snap)
			require.NotNil(t, open)
			assert.Equal(t, assistant.ConfirmationMessage.Get(snap), open.Message)
			snap, err := thread.Invoke(t.Context(), open.Answer("yes")...)
			require.NoError(t, err)
			assert.True(t, snap.Done())
			assert.EqualValues(t, 1, s.drops.Load())
			assert.Nil(t, assistant.PendingConfirmation.Get(snap))
		})
	}
}

// A client that can only send messages may answer with a message. Any other message leaves the question open, and no
// action of the plan runs.
func TestMessageWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]struct {
		drops    int32
		response string
	}{"yes": {1, "done"}, "No.": {0, "done"}, "what else is there?": {0, "nothing"}} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			var s stage
			replies := []llmtest.Reply{use("a1", "drop", `{}`), llmtest.Say("noted"), llmtest.Say("done")}
			if want.response == "nothing" {
				replies = []llmtest.Reply{use("a1", "drop", `{}`), llmtest.Say("noted"), llmtest.Say("looked"), llmtest.Say("nothing")}
			}
			thread := s.graph(t, llmtest.NewScript(replies...), graph.Options{Checkpoints: memory()}).Thread("t")
			require.Len(t, invoke(t, thread, "drop it").Pauses, 1)
			snap, err := thread.Invoke(t.Context(), assistant.History.Put(llm.User(said)))
			require.NoError(t, err)
			open := want.response == "nothing"
			assert.Equal(t, !open, snap.Done())
			assert.Equal(t, open, assistant.Waiting(snap) != nil)
			assert.Equal(t, want.drops, s.drops.Load())
			assert.Equal(t, want.response, assistant.FinalResponse.Get(snap))
		})
	}
}

// The conversation has the executed actions as calls with results, for a page to show. It does not have the planner's
// last reply.
func TestConversationShowsWhatRan(t *testing.T) {
	t.Parallel()
	var s stage
	thread := s.thread(t, llmtest.NewScript(use("a1", "drop", `{"text":"x"}`), llmtest.Say("noted"), llmtest.Say("done")), memory())
	snap := invoke(t, thread, "drop x")
	last, _ := assistant.History.Last(snap)
	assert.Equal(t, llm.RoleTool, last.Role, "the planner's words are put aside")
	snap, err := thread.Invoke(t.Context(), assistant.Waiting(snap).Answer("yes")...)
	require.NoError(t, err)
	all := steps(snap)
	require.Len(t, all, 2)
	assert.Contains(t, all[0].answer.Text(), "was not run")
	assert.JSONEq(t, `{"tool_name":"drop","params":{"text":"x"}}`, string(all[1].call.Arguments))
	assert.Equal(t, "dropped x", all[1].answer.Text())
	assert.NotEqual(t, all[0].call.ID, all[1].call.ID)
}

// If a request comes while a question is open, the graph answers the request, and the question stays open. At a terminal
// the run pauses before the node. On a server the node asks.
func TestAnotherRequestLeavesTheQuestionOpen(t *testing.T) {
	t.Parallel()
	for _, o := range []graph.Options{paused(memory()), {Checkpoints: memory()}} {
		var s stage
		model := llmtest.NewScript(
			use("a1", "drop", `{"text":"x"}`), llmtest.Say("noted"),
			use("b1", "look", `{}`), llmtest.Say("looked"), llmtest.Say("you are free"),
			use("c1", "drop", `{"text":"y"}`), llmtest.Say("noted"),
			llmtest.Say("y was kept"), llmtest.Say("x was dropped"),
		)
		thread := s.graph(t, model, o).Thread("t")
		first := assistant.Waiting(invoke(t, thread, "drop x"))
		require.NotNil(t, first)

		snap := invoke(t, thread, "what is there?")
		assert.Equal(t, "you are free", assistant.FinalResponse.Get(snap))
		require.NotNil(t, assistant.Waiting(snap))
		assert.Equal(t, first.Message, assistant.Waiting(snap).Message)

		snap = invoke(t, thread, "drop y too")
		assert.Contains(t, assistant.Waiting(snap).Message, `"y"`)
		snap = must(t)(thread.Invoke(t.Context(), assistant.Waiting(snap).Answer("no")...))
		assert.Equal(t, "y was kept", assistant.FinalResponse.Get(snap))
		require.NotNil(t, assistant.Waiting(snap))
		assert.Equal(t, first.Message, assistant.Waiting(snap).Message)
		assert.Zero(t, s.drops.Load())

		if o.PauseBefore == nil {
			snap = invoke(t, thread, "yes, please")
		} else {
			snap = must(t)(thread.Invoke(t.Context(), assistant.Waiting(snap).Answer("yes, please")...))
		}
		assert.True(t, snap.Done())
		assert.Equal(t, int32(1), s.drops.Load())
		assert.Equal(t, "x was dropped", assistant.FinalResponse.Get(snap))
		requests := model.Requests()
		assert.Contains(t, requests[len(requests)-1].Messages[1].Text(), `"user_message":"drop x"`)
	}
}

func TestWhatIsAnAnswer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"yes": true, "Yes!": true, "y": true, "yes please": true, "yes, do it.": true,
		"no": true, "No.": true, "no, keep it": true, "no thanks": true, "never mind": true, "keep it": true,
		"": false, "yes, but not now": false, "no, delete the dentist": false, "what's on Monday?": false, "yesterday": false, "ok": false,
	} {
		assert.Equal(t, want, assistant.IsAnswer(text), text)
	}
}
