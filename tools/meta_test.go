package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// Arguments like those of real calendar, mail and task services, with long descriptions,
// enumerations and formats.
type (
	eventArguments struct {
		CalendarID   string   `json:"calendar_id,omitempty" jsonschema:"the calendar that holds the event, as list_calendars returns it; the user's primary calendar when it is left out"`
		EventID      string   `json:"event_id,omitempty" jsonschema:"the id of an event that exists, as search_calendar_events returns it; never make one up"`
		Title        string   `json:"title" jsonschema:"what the event is called, in the user's own words, at most 120 characters long"`
		Start        string   `json:"start" jsonschema:"when it begins, as RFC 3339 with the offset of the user's time zone, such as 2026-03-01T09:30:00+01:00"`
		End          string   `json:"end,omitempty" jsonschema:"when it ends, in the same form as start; one hour after the start when it is left out"`
		Attendees    []string `json:"attendees,omitempty" jsonschema:"mail addresses of everybody who is invited, without the user, as search_contacts returns them"`
		Location     string   `json:"location,omitempty" jsonschema:"where it takes place: a room, a postal address or the link of a video call"`
		Recurrence   string   `json:"recurrence,omitempty" jsonschema:"how it repeats, as an RRULE of RFC 5545, such as FREQ=WEEKLY;BYDAY=MO; it does not repeat when it is left out"`
		Visibility   string   `json:"visibility,omitempty" enum:"default,public,private,confidential" jsonschema:"who else sees the details of the event in a shared calendar"`
		SendUpdates  string   `json:"send_updates,omitempty" enum:"all,external_only,none" jsonschema:"which of the attendees are told of the change by mail"`
		ReminderMins []int    `json:"reminder_minutes,omitempty" jsonschema:"how many minutes before the start the user is reminded, once for each number"`
	}
	mailArguments struct {
		MessageID   string   `json:"message_id,omitempty" jsonschema:"the id of the message that is meant, as search_mail returns it; never make one up"`
		To          []string `json:"to" jsonschema:"mail addresses of those that the message goes to, as search_contacts returns them"`
		Cc          []string `json:"cc,omitempty" jsonschema:"mail addresses of those that get a copy which everybody sees"`
		Bcc         []string `json:"bcc,omitempty" jsonschema:"mail addresses of those that get a copy which nobody else sees"`
		Subject     string   `json:"subject" jsonschema:"the subject line, without Re or Fwd, which are added where they belong"`
		Body        string   `json:"body" jsonschema:"the text of the message in Markdown, without a greeting that the user has not asked for and without the signature, which is added"`
		Attachments []string `json:"attachments,omitempty" jsonschema:"ids of files that go with the message, as search_files returns them, at most 25 MB together"`
		Importance  string   `json:"importance,omitempty" enum:"low,normal,high" jsonschema:"how the message is marked in the recipients' programs"`
		SendAt      string   `json:"send_at,omitempty" jsonschema:"when it is sent, as RFC 3339 with an offset; at once when it is left out"`
		ThreadID    string   `json:"thread_id,omitempty" jsonschema:"the conversation that it belongs to, as search_mail returns it; a new one when it is left out"`
	}
	taskArguments struct {
		TaskID   string   `json:"task_id,omitempty" jsonschema:"the id of the task that is meant, as search_tasks returns it; never make one up"`
		ListID   string   `json:"list_id,omitempty" jsonschema:"the list that holds the task, as list_task_lists returns it; the user's inbox when it is left out"`
		Title    string   `json:"title" jsonschema:"what is to be done, as a short sentence that begins with a verb, at most 200 characters long"`
		Notes    string   `json:"notes,omitempty" jsonschema:"everything else there is to know, in Markdown; links to mails and events are kept"`
		Due      string   `json:"due,omitempty" jsonschema:"until when it has to be done, as a date such as 2026-03-01, or with a time as RFC 3339"`
		Priority int      `json:"priority,omitempty" enum:"1,2,3,4" jsonschema:"how urgent it is, from 1, which comes first, to 4, which may wait"`
		Labels   []string `json:"labels,omitempty" jsonschema:"labels that exist, as list_labels returns them; one that does not is refused"`
		Parent   string   `json:"parent,omitempty" jsonschema:"the id of the task that this one is a part of; it stands alone when it is left out"`
		Repeat   string   `json:"repeat,omitempty" jsonschema:"how it comes back when it was done, as an RRULE of RFC 5545"`
		Assignee string   `json:"assignee,omitempty" jsonschema:"the mail address of who is to do it, from the members of the list; the user when it is left out"`
	}
)

func service[In any](name, category, action, text string) tools.Tool {
	return tools.New(name, text+" It acts for the signed-in user alone and returns what it did, or the ids of what it found with a line about each. It fails with a reason that the user can be told when something is not there, when the user has no right to it, or when the service is down; then do not call it again with the same arguments.",
		func(context.Context, In) (string, error) { return name, nil },
	).Annotate(tools.Annotations{Category: category, Action: action, Destructive: action == "delete" || action == "send", ReadOnly: action == "search" || action == "list"})
}

// assistant returns n tools of a personal assistant; n is at least 15.
func assistant(n int) []tools.Tool {
	var all []tools.Tool
	for _, action := range []string{"create", "update", "delete", "search", "list"} {
		for category, one := range map[string]string{"calendar": "calendar_event", "mail": "mail_message", "task": "task"} {
			name := action + "_" + one
			if action == "search" || action == "list" {
				name += "s"
			}
			text := strings.ToUpper(action[:1]) + action[1:] + "s what the arguments describe, a " + category + " entry."
			switch category {
			case "calendar":
				all = append(all, service[eventArguments](name, category, action, text))
			case "mail":
				all = append(all, service[mailArguments](name, category, action, text))
			default:
				all = append(all, service[taskArguments](name, category, action, text))
			}
		}
	}
	slices.SortFunc(all, func(a, b tools.Tool) int { return strings.Compare(a.Name(), b.Name()) })
	for i := len(all); i < n; i++ {
		category := []string{"files", "contacts", "notes", "travel", "expenses"}[i%5]
		all = append(all, service[taskArguments](fmt.Sprintf("%s_action_%d", category, i), category, []string{"share", "archive", "copy"}[i%3], "Does one more thing."))
	}
	return all
}

// tokens estimates the tokens of a set's specifications in a request.
func tokens(t *testing.T, set *tools.Set) int {
	t.Helper()
	text, err := json.Marshal(set.Specs())
	require.NoError(t, err)
	return llm.EstimateTokens(llm.User(string(text)))
}

func TestMetaToolsAreSmall(t *testing.T) {
	t.Parallel()
	for _, n := range []int{15, 40} {
		set := mustSet(t, assistant(n)...)
		all, meta := tokens(t, set), tokens(t, set.Meta())
		t.Logf("%d tools: %d tokens, %d by way of the three, %.1f %% less", n, all, meta, 100*(1-float64(meta)/float64(all)))
		require.Len(t, set.Names(), n)
		assert.LessOrEqual(t, meta, 600)
		assert.LessOrEqual(t, float64(meta), 0.1*float64(all))
	}
}

func metaCall(t *testing.T, set *tools.Set, name, arguments string) llm.Message {
	t.Helper()
	return mustCall(t, set.Meta(), llm.ToolCall{ID: "call_1", Name: name, Arguments: json.RawMessage(arguments)}, tools.Options{})
}

func TestMetaToolsDiscover(t *testing.T) {
	t.Parallel()
	set := mustSet(t, assistant(15)...)
	tests := []struct {
		arguments string
		want      []string // the names of the found tools
	}{
		{`{"categories":["calendar"],"actions":["delete"]}`, []string{"delete_calendar_event"}},
		{`{"categories":["Calendar"],"actions":["SEARCH"]}`, []string{"search_calendar_events"}},
		{`{"actions":["search"]}`, []string{"search_calendar_events", "search_mail_messages", "search_tasks"}},
		{`{"categories":["mail","task"],"actions":["delete","list"]}`, []string{"delete_mail_message", "delete_task", "list_mail_messages", "list_tasks"}},
		{`{"words":"Delete EVENT"}`, []string{"delete_calendar_event"}},
		{``, set.Names()},
	}
	for _, test := range tests {
		var got []string
		for line := range strings.SplitSeq(metaCall(t, set, tools.DiscoverTools, test.arguments).Text(), "\n") {
			name, _, _ := strings.Cut(line, " ")
			got = append(got, name)
		}
		assert.Equal(t, test.want, got, test.arguments)
	}
	assert.Equal(t, "delete_calendar_event (calendar, delete, destructive): Deletes what the arguments describe, a calendar entry.", metaCall(t, set, tools.DiscoverTools, `{"categories":["calendar"],"actions":["delete"]}`).Text())
	got := metaCall(t, set, tools.DiscoverTools, `{"categories":["weather"]}`).Text()
	assert.True(t, strings.HasPrefix(got, "no tool fits. "))
	assert.Contains(t, got, "Categories: calendar, mail, task. Actions: create, delete, list, search, update.")
	var many []tools.Tool
	for i := range 60 {
		tool := tools.New(fmt.Sprintf("tool_%d", i), strings.Repeat("x", 300)+"\nmore", func(context.Context, number) (string, error) { return "", nil })
		if i >= 2 {
			tool = tool.Annotate(tools.Annotations{Category: fmt.Sprintf("c%02d", i)})
		}
		many = append(many, tool)
	}
	big := mustSet(t, many...)
	got = metaCall(t, big, tools.DiscoverTools, ``).Text()
	assert.True(t, strings.HasSuffix(got, "and 10 more; narrow the search"))
	assert.LessOrEqual(t, len(got), 50*200)
	assert.True(t, strings.HasPrefix(got, "tool_0: xxx"))
	text := big.Meta().Specs()[0].Description
	assert.Contains(t, text, "c21, …")
	assert.NotContains(t, text, "Actions")
	assert.Contains(t, new(tools.Set).Meta().Specs()[0].Description, "There are 0.")
}

func TestMetaToolsDescribe(t *testing.T) {
	t.Parallel()
	set := mustSet(t, assistant(15)...)
	spec, _ := set.Lookup("delete_task")
	var got llm.ToolSpec
	require.NoError(t, json.Unmarshal([]byte(metaCall(t, set, tools.GetToolSchema, `{"name":"delete_task"}`).Text()), &got))
	sameJSON(t, string(got.Schema), string(spec.Spec().Schema))
	assert.Equal(t, "delete_task", got.Name)
	assert.Equal(t, spec.Spec().Description, got.Description)
	answer := metaCall(t, set, tools.GetToolSchema, `{"name":"fly"}`)
	assert.Equal(t, llm.StatusError, answer.Status)
	assert.Equal(t, `there is no tool "fly"; find one with discover_tools`, answer.Text())
}

func TestMetaToolsInvoke(t *testing.T) {
	t.Parallel()
	set := mustSet(t, doubling(), doing("who", func(ctx context.Context, _ int) (string, error) {
		call, _ := tools.CallFrom(ctx)
		return call.ID + " " + call.Name + " " + string(call.Arguments), nil
	}))
	tests := []struct {
		arguments, want string
		failed          bool
	}{
		{`{"tool_name":"double","params":{"n":4}}`, "8", false},
		{`{"tool_name":"double","params":"{\"n\":4}"}`, "8", false},
		{`{"tool_name":"who","params":{"n":4.0}}`, `call_1 who {"n":4}`, false},
		{`{"tool_name":"double","params":"four"}`, `invalid arguments for double: the arguments: want an object, got the string "four"`, true},
		{`{"tool_name":"double"}`, "invalid arguments for double: n: is missing; want an integer", true},
		{`{"tool_name":"double","params":{"n":"x"}}`, `invalid arguments for double: n: want an integer, got the string "x"`, true},
		{`{"tool_name":"halve","params":{"n":4}}`, `there is no tool "halve"; find one with discover_tools`, true},
		{`{"tool_name":"invoke_tool","params":{"tool_name":"double","params":{"n":4}}}`, `there is no tool "invoke_tool"`, true},
		{`{"params":{"n":4}}`, `there is no tool ""`, true},
		{`{"tool_name":7}`, "invalid arguments for invoke_tool: want an object with tool_name", true},
		{`[]`, "invalid arguments for invoke_tool", true},
		{``, "invalid arguments for invoke_tool", true},
	}
	for _, test := range tests {
		answer := metaCall(t, set, tools.InvokeTool, test.arguments)
		assert.True(t, strings.HasPrefix(answer.Text(), test.want), test.arguments)
		assert.Equal(t, test.failed, answer.Status == llm.StatusError, test.arguments)
		assert.Equal(t, "call_1", answer.ToolCallID, test.arguments)
		assert.Equal(t, tools.InvokeTool, answer.Name, test.arguments)
	}
}

// TestMetaToolsAreGuarded proves that approval and bound values apply to the tool that
// invoke_tool calls.
func TestMetaToolsAreGuarded(t *testing.T) {
	t.Parallel()
	var ran []int
	set := mustSet(t, counting(&ran), asking())
	meta := set.Meta()
	invoke := func(n int) llm.ToolCall {
		return llm.ToolCall{ID: "call_1", Name: tools.InvokeTool, Arguments: json.RawMessage(fmt.Sprintf(`{"tool_name":"tool","params":{"n":%d}}`, n))}
	}
	var d approver
	o := tools.Options{Approval: d.policy(tools.Named("tool"))}
	mustWait(t, meta, invoke(1), o)
	d.decideAll(func(q tools.Question) tools.Decision {
		assert.Equal(t, "tool", q.Tool)
		assert.Equal(t, `{"n":1}`, string(q.Arguments))
		assert.Equal(t, "call_1", q.CallID)
		return q.Approve()
	})
	mustWait(t, meta, invoke(2), o)
	assert.Empty(t, ran)
	answer := mustCall(t, meta, invoke(1), o)
	assert.Equal(t, "ran with 1", answer.Text())
	mustCall(t, meta, invoke(1), tools.Options{Approval: tools.Approval{Rule: tools.Named(tools.InvokeTool)}})
	bound := llm.ToolCall{ID: "1", Name: tools.InvokeTool, Arguments: json.RawMessage(`{"tool_name":"ask","params":{"text":"x","user":"bob"}}`)}
	answer, err := meta.Call(bindAll(t.Context()), bound, tools.Options{})
	require.NoError(t, err)
	assert.Contains(t, answer.Text(), "user: it is set by the program")
	bound.Arguments = json.RawMessage(`{"tool_name":"ask","params":{"text":"x"}}`)
	_, err = meta.Call(t.Context(), bound, tools.Options{})
	assert.ErrorIs(t, err, tools.ErrUnbound)
	answer, err = meta.Call(bindAll(t.Context()), bound, tools.Options{})
	require.NoError(t, err)
	assert.Equal(t, "ann asks x", answer.Text())
}

func TestPlanningRecords(t *testing.T) {
	t.Parallel()
	actions := state.Append[tools.Action]("actions")
	schema, err := statecore.NewSchema[state.Handle](messages, oneCall, actions)
	require.NoError(t, err)
	var ran []int
	set := mustSet(t, counting(&ran).Annotate(tools.Annotations{Destructive: true}), doubling())
	invoke := llm.ToolCall{ID: "call_1", Name: tools.InvokeTool, Arguments: json.RawMessage(`{"tool_name":"tool","params":{"n":1.0}}`)}
	plain := llm.ToolCall{ID: "call_2", Name: tools.InvokeTool, Arguments: json.RawMessage(`{"tool_name":"double","params":{"n":2}}`)}
	broken := llm.ToolCall{ID: "call_3", Name: tools.InvokeTool, Arguments: json.RawMessage(`{"tool_name":"tool","params":{}}`)}
	view := after(t, schema, schema.Empty(), []state.Write{messages.Put(llm.Assistant("", invoke, plain, broken))})
	o := tools.Options{Planning: &tools.Planning{Actions: actions}, Once: new(onceStore).once, Approval: tools.Approval{Rule: tools.Destructive()}}
	update, err := tools.Node(set.Meta(), messages, o)(t.Context(), view)
	require.NoError(t, err)
	view = after(t, schema, view, update)
	got := actions.Get(view)
	require.Len(t, got, 1, "recorded %+v", got)
	assert.Equal(t, "call_1", got[0].ID, "recorded %+v", got)
	assert.Equal(t, "tool", got[0].Tool, "recorded %+v", got)
	assert.Equal(t, `{"n":1}`, string(got[0].Arguments), "recorded %+v", got)
	assert.Empty(t, ran, "recorded %+v", got)
	text, err := json.Marshal(got[0])
	require.NoError(t, err)
	assert.Equal(t, `{"id":"call_1","tool":"tool","args":{"n":1}}`, string(text))
	answers := messages.Get(view)[1:]
	assert.Equal(t, `tool was not run. It is noted as action "call_1" of the plan, and will run when the plan is approved.`, answers[0].Text())
	assert.Equal(t, "4", answers[1].Text())
	assert.Equal(t, llm.StatusError, answers[2].Status)
	own := tools.Options{Planning: &tools.Planning{Rule: tools.Named("double"), Actions: actions}}
	_, err = set.Call(t.Context(), numbered(1, "double"), own)
	assert.ErrorIs(t, err, tools.ErrWrites)
}

func TestSelectAndMerge(t *testing.T) {
	t.Parallel()
	set := mustSet(t, assistant(15)...)
	tests := []struct {
		query tools.Query
		want  string
	}{
		{tools.Query{Names: []string{"*_TASK", "list_*"}, Categories: []string{"task"}}, "create_task delete_task list_tasks update_task"},
		{tools.Query{Text: "search calendar"}, "search_calendar_events"},
		{tools.Query{Categories: []string{"none"}}, ""},
		{tools.Query{}, strings.Join(set.Names(), " ")},
	}
	for _, test := range tests {
		got := set.Select(test.query)
		assert.Equal(t, test.want, strings.Join(got.Names(), " "), "%+v", test.query)
		for _, name := range got.Names() {
			_, ok := got.Lookup(name)
			assert.True(t, ok)
		}
	}
	merged, err := set.Select(tools.Query{Names: []string{"delete_task"}}).Merge(set.Meta(), nil, mustSet(t, doubling()))
	require.NoError(t, err)
	assert.Equal(t, "delete_task discover_tools get_tool_schema invoke_tool double", strings.Join(merged.Names(), " "))
	_, err = set.Merge(set.Select(tools.Query{Names: []string{"delete_task"}}))
	assert.ErrorContains(t, err, `two tools named "delete_task"`)
	var none *tools.Set
	assert.Empty(t, none.Select(tools.Query{}).Names(), "a nil set has tools")
	assert.Nil(t, none.Tools(), "a nil set has tools")
}
