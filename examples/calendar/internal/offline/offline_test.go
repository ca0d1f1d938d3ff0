package offline_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/calendar/internal/offline"
	"github.com/weft-go/weft/llm"
)

// system is the system message of the planner, on a Saturday.
const system = "Today is Saturday 21 November 2026; the time is 2026-11-21T09:30:00Z, and all times are of this zone."

// reply returns the model's reply to a request, after it has found the tool.
func reply(t *testing.T, request string) llm.Message {
	t.Helper()
	return converse(t, request, func(llm.ToolCall) string { return "create_calendar_event (calendar, create): …" })
}

// converse returns the model's answer to a request, or its first call with a subject or a start. answer answers the
// calls before that one.
func converse(t *testing.T, request string, answer func(llm.ToolCall) string) llm.Message {
	t.Helper()
	r := llm.Request{
		Messages: []llm.Message{llm.System(system), llm.User(request)},
		Tools:    []llm.ToolSpec{{Name: "discover_tools", Schema: json.RawMessage(`{"type":"object"}`)}},
	}
	for range 5 {
		m, err := llm.Generate(t.Context(), offline.New(0), r)
		require.NoError(t, err)
		if len(m.ToolCalls) == 0 || strings.Contains(string(m.ToolCalls[0].Arguments), `"subject"`) || strings.Contains(string(m.ToolCalls[0].Arguments), `"start"`) {
			return m
		}
		r.Messages = append(r.Messages, m, llm.ToolResult(m.ToolCalls[0], answer(m.ToolCalls[0])))
	}
	t.Fatal("it looks for tools for ever")
	return llm.Message{}
}

// The day and the time of an event are at the end of the sentence. The words before them are the title.
func TestTimes(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"überstunden today at 5pm":             "2026-11-21T17:00 - Überstunden",
		"tea tomorrow at 10:15":                "2026-11-22T10:15 - Tea",
		"tea on Friday at half past nine":      "2026-11-27T09:30 - Tea",
		"tea on friday half past two":          "2026-11-27T14:30 - Tea",
		"tea on friday at half past twelve":    "2026-11-27T12:30 - Tea",
		"tea on Saturday from 9:15 to 10:45":   "2026-11-28T09:15 2026-11-28T10:45 Tea",
		"tea on 29 December at 4:00 PM":        "2026-12-29T16:00 - Tea",
		"tea on 3 february at 1pm":             "2027-02-03T13:00 - Tea",
		"tea next Monday at 8am":               "2026-11-23T08:00 - Tea",
		"tea tomorrow at 3":                    "2026-11-22T15:00 - Tea",
		"tea tomorrow at 03:00":                "2026-11-22T03:00 - Tea",
		"tea tomorrow at 9":                    "2026-11-22T09:00 - Tea",
		"tea tomorrow at 12am":                 "2026-11-22T00:00 - Tea",
		"a tea with Ann on Monday from 2 to 4": "2026-11-23T14:00 2026-11-23T16:00 Tea with Ann",
		"a tea in Room 4 on Monday at 2":       "2026-11-23T14:00 - Tea in Room 4",
	} {
		m := reply(t, "schedule "+said)
		require.Len(t, m.ToolCalls, 1, "%s: %s", said, m.Text())
		var in struct {
			Params struct{ Start, End, Title string } `json:"params"`
		}
		require.NoError(t, json.Unmarshal(m.ToolCalls[0].Arguments, &in))
		assert.Equal(t, want, strings.Join([]string{in.Params.Start, cmp.Or(in.Params.End, "-"), in.Params.Title}, " "), said)
	}
}

// The model creates no event if it does not understand the whole time.
func TestTimesThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"tea tomorrow at 25:99":                 "did not understand the time 'tomorrow at 25:99'",
		"tea tomorrow at 13pm":                  "did not understand the time",
		"tea tomorrow from 5 to 4":              "did not understand the time",
		"tea tomorrow from 8 to 10pm":           "did not understand the time",
		"tea next week at 4pm":                  "did not understand the time",
		"tea on 30 February at 4pm":             "There is no such day in the next year: '30 february'",
		"tea on the 32nd at 4pm":                "?",
		"tea on 2026-12-01 at 4pm":              "?",
		"tea tomorrow at noon":                  "?",
		"tea tomorrow at a quarter to ten":      "?",
		"tea tomorrow at around ten":            "?",
		"tea at noon on Friday":                 "?",
		"tea at 9 on Friday":                    "?",
		"tea on Mondays at 9":                   "?",
		"tea every Friday at 9":                 "?",
		"tea for half an hour tomorrow at 4pm":  "?",
		"tea the day after tomorrow at 4pm":     "?",
		"tea in two weeks on Friday at 4pm":     "?",
		"tea with Ann from Friday at 4pm":       "?",
		"a call tomorrow at 4pm for 2 hours":    "?",
		"tea tonight at 8pm":                    "?",
		"tea unless it rains tomorrow at 4pm":   "?",
		"tea on Friday":                         "When is 'tea' to be?",
		"tea on Friday afternoon":               "When is 'tea' to be?",
		"tea":                                   "When is 'tea' to be?",
		"a reminder mail on Friday at 4pm":      "?",
		"tea on Friday at 4pm and buy biscuits": "?",
	} {
		if want == "?" { // the answer names the whole clause
			want = "I did not understand 'schedule " + said + "'."
		}
		m := reply(t, "schedule "+said)
		assert.Contains(t, m.Text(), want, said)
		assert.Empty(t, m.ToolCalls, said)
	}
}

// A mail goes to an address, or to a person. A person needs to have exactly one address among the senders that
// contain the name as whole words.
func TestRecipients(t *testing.T) {
	t.Parallel()
	const mails = `[{"mail_id":5,"from":"Heather Hall <heather@example.com>"},{"mail_id":4,"from":"Ann Lee <ann@example.com>"},
		{"mail_id":3,"from":"Bob Ray <bob@example.com>"},{"mail_id":2,"from":"Bob Ray <ray@example.com>"},{"mail_id":1,"from":"Bob Fox <fox@example.com>"},
		{"mail_id":0,"from":"me"}]`
	for who, want := range map[string]string{
		"ann":            "ann@example.com",
		"Ann Lee":        "ann@example.com",
		"fox":            "fox@example.com",
		"zoe@else.where": "zoe@else.where",
		"Bob":            "I know 3 mail addresses of 'Bob'",
		"Heath":          "I know 0 mail addresses of 'Heath'",
		"her":            "I know 0 mail addresses of 'her'",
		"me":             "I know 0 mail addresses of 'me'",
		"all":            "I did not understand 'send a mail to all saying hi'",
		"Ann and Bob":    "I did not understand 'send a mail to Ann and Bob saying hi'",
	} {
		m := converse(t, "send a mail to "+who+" saying hi", func(call llm.ToolCall) string {
			if call.Name == "discover_tools" {
				return "found (mail): …"
			}
			return mails
		})
		got := m.Text()
		for _, call := range m.ToolCalls {
			got += string(call.Arguments)
		}
		assert.Contains(t, got, want, who)
	}
}

// The model says what it cannot do, even if it may not call any more tools.
func TestLimits(t *testing.T) {
	t.Parallel()
	assert.Contains(t, reply(t, "sing me a song").Text(), "I did not understand 'sing me a song'. I am a set of rules")
	r := llm.Request{
		Messages: []llm.Message{llm.System(system), llm.User("what are my tasks?")}, ToolChoice: llm.ToolChoice{Mode: llm.ToolsNone},
		Tools: []llm.ToolSpec{{Name: "discover_tools", Schema: json.RawMessage(`{"type":"object"}`)}},
	}
	if m, err := llm.Generate(t.Context(), offline.New(0), r); err != nil || !strings.HasPrefix(m.Text(), "I was asked for more") {
		t.Errorf("got %q and %v", m.Text(), err)
	}
	if m, err := llm.Generate(t.Context(), offline.New(0), llm.Request{Messages: []llm.Message{llm.User("no report")}}); err != nil || m.Text() == "" {
		t.Errorf("got %q and %v", m.Text(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llm.Generate(ctx, offline.New(time.Hour), r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
