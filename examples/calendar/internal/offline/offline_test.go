package offline_test

import (
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

// now is a Saturday.
const system = "Today is Saturday 21 November 2026; the time is 2026-11-21T09:30:00Z, and all times are of this zone."

// reply is what the model says when it was told where tools are.
func reply(t *testing.T, request string) llm.Message {
	t.Helper()
	r := llm.Request{
		Messages: []llm.Message{llm.System(system), llm.User(request)},
		Tools:    []llm.ToolSpec{{Name: "discover_tools", Schema: json.RawMessage(`{"type":"object"}`)}},
	}
	for range 5 {
		m, err := llm.Generate(t.Context(), offline.New(0), r)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.ToolCalls) == 0 || m.ToolCalls[0].Name != "discover_tools" {
			return m
		}
		r.Messages = append(r.Messages, m, llm.ToolResult(m.ToolCalls[0], "create_calendar_event (calendar, create): …"))
	}
	t.Fatal("it looks for tools for ever")
	return llm.Message{}
}

// Times are understood in many forms; what is left is the title.
func TestTimes(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"überstunden today at 5pm":               "2026-11-21T17:00 - Überstunden",
		"tea today at 5pm":                       "2026-11-21T17:00 - Tea",
		"tea at 10:15":                           "2026-11-21T10:15 - Tea",
		"tea on friday at half past nine":        "2026-11-27T09:30 - Tea",
		"tea on friday half past two":            "2026-11-27T14:30 - Tea",
		"tea on friday at a quarter to ten":      "2026-11-27T09:45 - Tea",
		"tea tomorrow at quarter past ten":       "2026-11-22T10:15 - Tea",
		"tea tomorrow at ten o'clock":            "2026-11-22T10:00 - Tea",
		"tea on friday from nine to eleven":      "2026-11-27T09:00 2026-11-27T11:00 Tea",
		"tea at 8 in the evening on friday":      "2026-11-27T20:00 - Tea",
		"tea tomorrow morning at 6":              "2026-11-22T06:00 - Tea",
		"tea on friday afternoon at 3":           "2026-11-27T15:00 - Tea",
		"tea on 29 February at noon":             "2028-02-29T12:00 - Tea",
		"tea for two at eight on friday":         "2026-11-27T08:00 - Tea for two",
		"tea at 8am":                             "2026-11-22T08:00 - Tea",
		"tea tomorrow at 3":                      "2026-11-22T15:00 - Tea",
		"tea tomorrow at 9":                      "2026-11-22T09:00 - Tea",
		"tea at 12am tomorrow":                   "2026-11-22T00:00 - Tea",
		"tea the day after tomorrow at noon":     "2026-11-23T12:00 - Tea",
		"a tea with Ann on Monday from 2 to 4":   "2026-11-23T14:00 2026-11-23T16:00 Tea with Ann",
		"tea on monday from 11 to 1pm":           "2026-11-23T11:00 2026-11-23T13:00 Tea",
		"tea on Saturday from 9:15 to 10:45 am":  "2026-11-28T09:15 2026-11-28T10:45 Tea",
		"tea on 24 December":                     "2026-12-24 2026-12-24 Tea",
		"tea on the 3rd of february at 1pm":      "2027-02-03T13:00 - Tea",
		"tea on December 31, 2027":               "2027-12-31 2027-12-31 Tea",
		"tea next week":                          "2026-11-23 2026-11-29 Tea",
		"tea next month":                         "2026-12-01 2026-12-31 Tea",
		"tea with b@example.com tomorrow at 1pm": "2026-11-22T13:00 - Tea with b@example.com",
	} {
		m := reply(t, "schedule "+said)
		if len(m.ToolCalls) != 1 {
			t.Errorf("%s: it says %q", said, m.Text())
			continue
		}
		var in struct {
			Params struct{ Start, End, Title string } `json:"params"`
		}
		if err := json.Unmarshal(m.ToolCalls[0].Arguments, &in); err != nil {
			t.Fatal(err)
		}
		p := in.Params
		if p.End == "" {
			p.End = "-"
		}
		if got := strings.Join([]string{p.Start, p.End, p.Title}, " "); got != want {
			t.Errorf("%s: got %s, want %s", said, got, want)
		}
	}
}

// A reply goes to the mail that has the name as a word of its sender, and the place among those from the same person.
func TestReplies(t *testing.T) {
	t.Parallel()
	const mails = `[{"mail_id":5,"from":"Heather Hall <heather@example.com>","subject":"five"},{"mail_id":4,"from":"Ann Lee <ann@example.com>","subject":"four"},
		{"mail_id":3,"from":"Sally <sally@example.com>","subject":"three"},{"mail_id":2,"from":"ann_lee@example.com","subject":"two"},
		{"mail_id":1,"from":"Ann Lee <ann@example.com>","subject":"one"}]`
	for said, want := range map[string]string{
		"reply to Ann saying hi":                      "Re: four",
		"reply to the mail from ANN saying hi":        "Re: four",
		"reply to the first mail from Ann saying hi":  "Re: four",
		"reply to the last mail from Ann saying hi":   "Re: four",
		"reply to the second mail from Ann saying hi": "Re: one",
		"answer the second one from Ann: hi":          "Re: one",
		"reply to ann_lee saying hi":                  "Re: two",
		"reply to the third mail from Ann saying hi":  "I found no third mail from Ann",
		"reply to Heath saying hi":                    "I found no mail from Heath",
		"reply to her saying hi":                      "'her' is not the name of one person",
		"Reply to All saying hi":                      "'all' is not the name of one person",
	} {
		r := llm.Request{
			Messages: []llm.Message{llm.System(system), llm.User(said)},
			Tools:    []llm.ToolSpec{{Name: "discover_tools", Schema: json.RawMessage(`{"type":"object"}`)}},
		}
		got := ""
		for got == "" {
			m, err := llm.Generate(t.Context(), offline.New(0), r)
			require.NoError(t, err)
			got = m.Text()
			for _, c := range m.ToolCalls {
				var in struct {
					Actions []string `json:"actions"`
					Tool    string   `json:"tool_name"`
					Params  struct{ Subject string }
				}
				require.NoError(t, json.Unmarshal(c.Arguments, &in))
				answer := mails
				if c.Name == "discover_tools" {
					answer = in.Actions[0] + " (mail): …"
				}
				got = in.Params.Subject
				r.Messages = append(r.Messages, m, llm.ToolResult(c, answer))
			}
		}
		assert.Contains(t, got, want, said)
	}
}

// It says what it can not do, also when it may call no more tools.
func TestLimits(t *testing.T) {
	t.Parallel()
	if got := reply(t, "sing me a song").Text(); !strings.Contains(got, "I did not understand 'sing me a song'. I am a set of rules") {
		t.Errorf("got %q", got)
	}
	if got := reply(t, "schedule tea tomorrow at 25:99").Text(); !strings.Contains(got, "I did not understand the time 'at 25:99'") {
		t.Errorf("got %q", got)
	}
	for _, day := range []string{"30 February", "31 November"} {
		if got := reply(t, "schedule tea on "+day+" at noon").Text(); !strings.Contains(got, "There is no such day: 'on "+day) {
			t.Errorf("got %q", got)
		}
	}
	for said, odd := range map[string]string{
		"tea on the 32nd at noon": "32nd", "tea on the 5th": "5th", "tea on 2026-13-01": "2026-13-01", "tea tomorrow at noon for 2 hours": "2 hours",
		"tea in 3 days at midday": "3 days", "tea in two weeks": "two weeks", "tea tomorrow at ten o'clock": "", "tea every Friday": "every", "tea on Friday at around ten": "at around ten",
		"tea next weekend": "next weekend", "tea for half an hour on friday at noon": "half an hour", "a tea in Room 4 tomorrow at 9": "",
	} {
		if got := reply(t, "schedule "+said).Text(); strings.Contains(got, "I did not understand the time '"+odd+"'") != (odd != "") {
			t.Errorf("%s: got %q", said, got)
		}
	}
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
