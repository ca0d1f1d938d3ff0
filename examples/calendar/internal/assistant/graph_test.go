package assistant_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

func TestTopology(t *testing.T) {
	t.Parallel()
	g, err := assistant.New(llmtest.Echo{}, assistant.Desk{Tools: mustSet(t)}, paused(memory()))
	if err != nil {
		t.Fatal(err)
	}
	var nodes, edges []string
	for _, n := range g.Describe().Nodes {
		nodes = append(nodes, n.Name)
	}
	for _, e := range g.Describe().Edges {
		edges = append(edges, fmt.Sprintf("%s %s %s", e.From, e.Kind, e.To))
	}
	slices.Sort(edges)
	wantNodes := []string{assistant.ConfirmActions, assistant.ExecuteParallel, assistant.ExecuteSequential, assistant.PlanActions, assistant.RouteExecution, assistant.SynthesizeResponse}
	wantEdges := []string{
		"__start__ edge plan_actions",
		"confirm_actions branch execute_parallel",
		"confirm_actions branch execute_sequential", "confirm_actions branch synthesize_response",
		"execute_parallel edge synthesize_response", "execute_sequential edge synthesize_response",
		"plan_actions edge route_execution",
		"route_execution branch confirm_actions", "route_execution branch execute_parallel", "route_execution branch execute_sequential",
		"synthesize_response branch confirm_actions",
	}
	edges = slices.DeleteFunc(edges, func(e string) bool { return strings.HasSuffix(e, " "+graph.End) })
	if !slices.Equal(nodes, wantNodes) || !slices.Equal(edges, wantEdges) {
		t.Errorf("got %q\n%q", nodes, edges)
	}
}

func mustSet(t testing.TB, list ...tools.Tool) *tools.Set {
	t.Helper()
	set, err := tools.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// stage makes a set of tools. It counts the calls of look and drop, and the running calls of slow.
type stage struct{ reads, drops, slow atomic.Int32 }

type thing struct {
	Text string `json:"text,omitempty"`
	N    int    `json:"n,omitempty"`
}

func (s *stage) set(t testing.TB) *tools.Set {
	t.Helper()
	return mustSet(t,
		tools.New("look", "Looks.", func(_ context.Context, in thing) (string, error) { s.reads.Add(1); return "saw " + in.Text, nil }).Annotate(tools.Annotations{Category: "x", Action: "look"}),
		tools.New("break", "Fails.", func(context.Context, thing) (string, error) { return "", errors.New("out of order") }).Annotate(tools.Annotations{Category: "x", Action: "break"}),
		tools.New("drop", "Deletes.", func(_ context.Context, in thing) (string, error) { s.drops.Add(1); return "dropped " + in.Text, nil }).
			Annotate(tools.Annotations{Category: "x", Action: "drop", Destructive: true}),
		tools.New("slow", "Takes n seconds.", func(ctx context.Context, in thing) (string, error) {
			most := s.slow.Add(1)
			defer s.slow.Add(-1)
			if most > 5 {
				return "", errors.New("more than five at once")
			}
			select {
			case <-time.After(time.Duration(in.N) * time.Second):
				return in.Text, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}),
	)
}

func (s *stage) graph(t testing.TB, model llm.Model, o graph.Options) *graph.Graph {
	t.Helper()
	describe := func(_ context.Context, a tools.Action) string { return a.Tool + " " + string(a.Arguments) }
	g, err := assistant.New(model, assistant.Desk{Tools: s.set(t), Describe: describe, Now: func() time.Time { return now }}, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (s *stage) thread(t testing.TB, model llm.Model, store checkpoint.Store) *graph.Thread {
	t.Helper()
	return s.graph(t, model, paused(store)).Thread("t")
}

func use(id, tool, params string) llmtest.Reply {
	return call(id, tools.InvokeTool, fmt.Sprintf(`{"tool_name":%q,"params":%s}`, tool, params))
}

// write returns a reply of the model that calls make_plan.
func write(actions string) llmtest.Reply {
	return use("p1", plan.MakePlan, fmt.Sprintf(`{"actions":[%s]}`, actions))
}

// The planner has only the three meta-tools. It calls the model until a reply has no calls, or MaxIterations times.
func TestPlannerLoops(t *testing.T) {
	t.Parallel()
	var s stage
	model := llmtest.NewScript(use("1", "look", `{}`), use("2", "look", `{}`), llmtest.Say("done"), llmtest.Say("I looked."))
	snap := invoke(t, s.thread(t, model, memory()), "look")
	if assistant.FinalResponse.Get(snap) != "I looked." || s.reads.Load() != 2 || len(model.Requests()) != 4 {
		t.Errorf("got %q after %d requests", assistant.FinalResponse.Get(snap), len(model.Requests()))
	}
	for i, r := range model.Requests() {
		var names []string
		for _, spec := range r.Tools {
			names = append(names, spec.Name)
		}
		if want := []string{tools.DiscoverTools, tools.GetToolSchema, tools.InvokeTool}; i < 3 && !slices.Equal(names, want) || i == 3 && names != nil {
			t.Errorf("request %d has the tools %q", i, names)
		}
	}
	var endless llm.ModelFunc = func(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		if len(r.Tools) == 0 {
			return llm.Reply(llm.Assistant("I gave up."))
		}
		if r.ToolChoice.Mode == llm.ToolsNone {
			return llm.Reply(llm.Assistant("I have no more turns."))
		}
		id := fmt.Sprint("c", len(r.Messages))
		return llm.Reply(llm.Assistant("", llm.ToolCall{ID: id, Name: tools.InvokeTool, Arguments: json.RawMessage(`{"tool_name":"look","params":{}}`)}))
	}
	var e stage
	snap = invoke(t, e.thread(t, endless, memory()), "look for ever")
	if !snap.Done() || e.reads.Load() != assistant.MaxIterations-1 || assistant.FinalResponse.Get(snap) != "I gave up." {
		t.Errorf("it looked %d times: %q", e.reads.Load(), assistant.FinalResponse.Get(snap))
	}
}

// During planning, the planner notes a destructive call and does not run it. Any other call runs at once, and the state
// has its result under its id.
func TestPlanningNotesWhatIsDestructive(t *testing.T) {
	t.Parallel()
	var s stage
	model := llmtest.NewScript(use("r1", "look", `{"text":"a"}`), use("a1", "drop", `{"text":"b"}`), use("r2", "break", `{}`), llmtest.Say("noted"))
	snap := invoke(t, s.thread(t, model, memory()), "drop b")
	wantActions := []tools.Action{{ID: "a1", Tool: "drop", Arguments: json.RawMessage(`{"text":"b"}`)}}
	wantResults := map[string]plan.Result{"r1": {Success: true, Message: "saw a"}, "r2": {Message: "out of order"}}
	if !reflect.DeepEqual(assistant.Actions.Get(snap), wantActions) || !reflect.DeepEqual(assistant.Results.Get(snap), wantResults) || !assistant.RequiresConfirmation.Get(snap) || s.drops.Load() != 0 || s.reads.Load() != 1 {
		t.Errorf("got %+v and %+v, ran %d and %d", assistant.Actions.Get(snap), assistant.Results.Get(snap), s.reads.Load(), s.drops.Load())
	}
	if got := assistant.ToolInvocations.Get(snap); len(got) != 3 || got[1].Tool != "drop" {
		t.Errorf("invoked %+v", got)
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		actions string
		mode    assistant.Mode
		pauses  bool
	}{
		{"independent", `{"id":"a","tool":"look"},{"id":"b","tool":"look"}`, assistant.Parallel, false},
		{"in order", `{"id":"a","tool":"look"},{"id":"b","tool":"look","depends_on":["a"]}`, assistant.Sequential, false},
		{"by a reference", `{"id":"a","tool":"look"},{"id":"b","tool":"look","args":{"text":"${a}"}}`, assistant.Sequential, false},
		{"destructive", `{"id":"a","tool":"drop"}`, assistant.Confirm, true},
		{"destructive and in order", `{"id":"a","tool":"drop"},{"id":"b","tool":"look","depends_on":["a"]}`, assistant.Confirm, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var s stage
			snap := invoke(t, s.thread(t, llmtest.NewScript(write(test.actions), llmtest.Say("planned"), llmtest.Say("done")), memory()), "go")
			if assistant.ExecutionMode.Get(snap) != test.mode || snap.Done() == test.pauses || test.pauses && s.reads.Load() > 0 {
				t.Errorf("got %q, done: %v", assistant.ExecutionMode.Get(snap), snap.Done())
			}
		})
	}
}

// The question names the event. The state has the question with its actions until the user answers.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	o := newOffice(t, johns)
	thread := o.thread(deleteJohn(), memory())
	snap := invoke(t, thread, "Delete my meeting with John")
	c := assistant.PendingConfirmation.Get(snap)
	want := "This will delete the calendar event: 'Meeting with John' on Tuesday at 2:00 PM. Confirm? (yes/no)"
	if c == nil || c.Message != want || assistant.ConfirmationMessage.Get(snap) != want || !reflect.DeepEqual(c.Actions, assistant.Actions.Get(snap)) || len(c.Actions) != 1 {
		t.Fatalf("got %+v", c)
	}
	snap = must(t)(thread.Invoke(t.Context(), c.Answer("yes")...))
	if assistant.PendingConfirmation.Get(snap) != nil || assistant.ConfirmationMessage.Get(snap) != want {
		t.Errorf("got %+v", assistant.PendingConfirmation.Get(snap))
	}
}

// A yes runs exactly the pending actions, once. Any other answer runs nothing.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int32{"yes": 2, " Yes! ": 2, "y": 2, "no": 0, "": 0, "yes, but not now": 0, "maybe": 0, "delete more": 0} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			var s stage
			model := llmtest.NewScript(use("a1", "drop", `{"text":"x"}`), use("a2", "drop", `{"text":"y"}`), llmtest.Say("noted"), llmtest.Say("said"))
			thread := s.thread(t, model, memory())
			c := assistant.PendingConfirmation.Get(invoke(t, thread, "drop both"))
			snap := must(t)(thread.Invoke(t.Context(), c.Answer(text)...))
			if !snap.Done() || s.drops.Load() != want || len(assistant.Results.Get(snap)) != int(want) || assistant.FinalResponse.Get(snap) != "said" {
				t.Errorf("ran %d of %d: %+v", s.drops.Load(), want, assistant.Results.Get(snap))
			}
			spoken := model.Requests()[3].Messages[1].Text()
			if strings.Contains(spoken, `"cancelled":true`) == (want == 2) {
				t.Errorf("it is told of as %s", spoken)
			}
			if again, err := thread.Invoke(t.Context(), c.Answer("yes")...); err == nil && !again.Done() || s.drops.Load() != want {
				t.Errorf("a second answer: %v, ran %d", err, s.drops.Load())
			}
		})
	}
}

// An answer to another question, a run without an answer, and a fork at the pause
// leave the question open.
func TestNoAnswerIsNoYes(t *testing.T) {
	t.Parallel()
	var s stage
	thread := s.thread(t, llmtest.NewScript(use("a1", "drop", `{}`), llmtest.Say("noted"), llmtest.Say("said")), memory())
	first := invoke(t, thread, "drop it")
	c := assistant.PendingConfirmation.Get(first)
	other := &assistant.Confirmation{ID: "of another plan"}
	for name, run := range map[string]func() (*graph.Snapshot, error){
		"another question": func() (*graph.Snapshot, error) { return thread.Invoke(t.Context(), other.Answer("yes")...) },
		"nothing":          func() (*graph.Snapshot, error) { return thread.Invoke(t.Context()) },
		"a fork":           func() (*graph.Snapshot, error) { return thread.At(first.ID).Invoke(t.Context(), graph.Continue()) },
	} {
		snap := must(t)(run())
		if len(snap.Pauses) != 1 || s.drops.Load() != 0 || assistant.PendingConfirmation.Get(snap) == nil {
			t.Errorf("%s: %+v, ran %d", name, snap.Pauses, s.drops.Load())
		}
	}
	if snap := must(t)(thread.Invoke(t.Context(), c.Answer("yes")...)); !snap.Done() || s.drops.Load() != 1 {
		t.Errorf("ran %d", s.drops.Load())
	}
}

// After a yes, actions that depend on each other run in order, and independent ones at the same time.
func TestYesLeadsToAnExecutor(t *testing.T) {
	t.Parallel()
	for actions, want := range map[string]string{
		`{"id":"a","tool":"drop"},{"id":"b","tool":"look"}`:                        assistant.ExecuteParallel,
		`{"id":"a","tool":"drop"},{"id":"b","tool":"look","depends_on":["a"]}`:     assistant.ExecuteSequential,
		`{"id":"b","tool":"look","args":{"text":"${a}"}},{"id":"a","tool":"drop"}`: assistant.ExecuteSequential,
	} {
		var s stage
		thread := s.thread(t, llmtest.NewScript(write(actions), llmtest.Say("planned"), llmtest.Say("done")), memory())
		c := assistant.PendingConfirmation.Get(invoke(t, thread, "go"))
		var ran []string
		for e, err := range thread.Stream(t.Context(), c.Answer("yes")...) {
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := e.(graph.TaskStarted); ok {
				ran = append(ran, e.At().Node)
			}
		}
		if !slices.Equal(ran, []string{assistant.ConfirmActions, want, assistant.SynthesizeResponse}) || s.drops.Load() != 1 || s.reads.Load() != 1 {
			t.Errorf("%s: ran %q", actions, ran)
		}
	}
}

// execution runs the graph after plan_actions, with the given plan and results.
func (s *stage) execution(t *testing.T, actions []tools.Action, done map[string]plan.Result) (*graph.Snapshot, error) {
	thread := s.thread(t, llmtest.NewScript(llmtest.Say("spoken")), memory())
	if _, err := thread.Update(t.Context(), assistant.PlanActions, append(assistant.Ask("t", "go"), assistant.Actions.Put(actions...), assistant.Results.Put(done))...); err != nil {
		t.Fatal(err)
	}
	return thread.Invoke(t.Context())
}

// At most five actions run at a time, for 30 seconds each. If an action fails or times out, its result says so. The
// other actions have their results, and earlier results stay.
func TestExecuteParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s stage
		var actions []tools.Action
		want := map[string]plan.Result{"old": {Success: true, Message: "kept"}}
		for i := range 10 {
			id := fmt.Sprint("s", i)
			actions = append(actions, tools.Action{ID: id, Tool: "slow", Arguments: json.RawMessage(fmt.Sprintf(`{"text":%q,"n":1}`, id))})
			want[id] = plan.Result{Success: true, Message: id}
		}
		actions = append(actions,
			tools.Action{ID: "late", Tool: "slow", Arguments: json.RawMessage(`{"n":31}`)}, tools.Action{ID: "bad", Tool: "break"},
			tools.Action{ID: "old", Tool: "look"},
		)
		want["late"] = plan.Result{Message: "timed out after 30s: context deadline exceeded"}
		want["bad"] = plan.Result{Message: "out of order"}
		start := time.Now()
		snap, err := s.execution(t, actions, map[string]plan.Result{"old": want["old"]})
		if err != nil || !maps.Equal(assistant.Results.Get(snap), want) || time.Since(start) != 32*time.Second || s.reads.Load() != 0 {
			t.Errorf("after %v, %v: got %+v", time.Since(start), err, assistant.Results.Get(snap))
		}
		if assistant.FinalResponse.Get(snap) != "spoken" || assistant.Error.Get(snap) != "" {
			t.Errorf("got %q, %q", assistant.FinalResponse.Get(snap), assistant.Error.Get(snap))
		}
	})
}

// Actions run one after the other in the order of their dependencies, with earlier results in their arguments. A plan
// that has no such order does not run.
func TestExecuteSequential(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s stage
		start := time.Now()
		snap, err := s.execution(t, []tools.Action{
			{ID: "c", Tool: "look", Arguments: json.RawMessage(`{"text":"<${b}>"}`), DependsOn: []string{"b"}},
			{ID: "b", Tool: "slow", Arguments: json.RawMessage(`{"text":"${a}","n":1}`)},
			{ID: "a", Tool: "look", Arguments: json.RawMessage(`{"text":"it"}`)},
			{ID: "d", Tool: "slow", Arguments: json.RawMessage(`{"text":"alone","n":1}`)},
		}, nil)
		want := map[string]plan.Result{"a": {Success: true, Message: "saw it"}, "b": {Success: true, Message: "saw it"}, "c": {Success: true, Message: "saw <saw it>"}, "d": {Success: true, Message: "alone"}}
		if err != nil || !maps.Equal(assistant.Results.Get(snap), want) || time.Since(start) != 2*time.Second {
			t.Errorf("after %v, %v: got %+v", time.Since(start), err, assistant.Results.Get(snap))
		}
	})
	for why, actions := range map[string][]tools.Action{
		"in a circle: a → b → a":                  {{ID: "a", Tool: "look", DependsOn: []string{"b"}}, {ID: "b", Tool: "look", DependsOn: []string{"a"}}},
		`it depends on "z", and there is no such`: {{ID: "a", Tool: "look"}, {ID: "b", Tool: "look", DependsOn: []string{"z"}}},
	} {
		var s stage
		snap, err := s.execution(t, actions, nil)
		if err != nil || !strings.Contains(assistant.Error.Get(snap), why) || s.reads.Load() != 0 || assistant.FinalResponse.Get(snap) != "spoken" {
			t.Errorf("got %v, %q, %q; ran %d", err, assistant.Error.Get(snap), assistant.FinalResponse.Get(snap), s.reads.Load())
		}
	}
}

// The model gets the request, the question with its answer, and the actions with their results, and writes the response.
func TestSynthesize(t *testing.T) {
	t.Parallel()
	var s stage
	model := llmtest.NewScript(use("r1", "look", `{"text":"a"}`), use("a1", "drop", `{"text":"b"}`), llmtest.Say("noted"), llmtest.Say("Dropped b."))
	thread := s.thread(t, model, memory())
	c := assistant.PendingConfirmation.Get(invoke(t, thread, "drop b"))
	snap := must(t)(thread.Invoke(t.Context(), c.Answer("yes")...))
	request := model.Requests()[3].Messages
	want := assistant.Report{
		UserMessage: "drop b", Confirmation: c.Message, Answer: "yes", Planner: "noted",
		Steps: []assistant.Step{
			{ID: "r1", Tool: "look", Arguments: json.RawMessage(`{"text":"a"}`), Success: true, Message: "saw a"},
			{ID: "a1", Tool: "drop", Arguments: json.RawMessage(`{"text":"b"}`), Success: true, Message: "dropped b"},
		},
	}
	var got assistant.Report
	if err := json.Unmarshal([]byte(request[len(request)-1].Text()), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v, %v", got, want, err)
	}
	last, _ := assistant.History.Last(snap)
	if assistant.FinalResponse.Get(snap) != "Dropped b." || last.Text() != "Dropped b." || assistant.History.Len(snap) != 8 {
		t.Errorf("got %q and %v", assistant.FinalResponse.Get(snap), assistant.History.Get(snap))
	}
}

// A failure is in a result {success, message} or in the error of the state, and the turn ends with an answer to the
// user.
func TestFailuresEndInAResponse(t *testing.T) {
	t.Parallel()
	var s stage
	snap := invoke(t, s.thread(t, llmtest.NewScript(write(`{"id":"a1","tool":"break"}`), llmtest.Say("planned"), llmtest.Say("It is out of order.")), memory()), "break it")
	text, err := json.Marshal(assistant.Results.Get(snap))
	if err != nil || string(text) != `{"a1":{"success":false,"message":"out of order"}}` || assistant.FinalResponse.Get(snap) != "It is out of order." {
		t.Errorf("got %s, %q, %v", text, assistant.FinalResponse.Get(snap), err)
	}
	// If the model fails in synthesize_response, the answer lists the results.
	snap = invoke(t, s.thread(t, llmtest.NewScript(write(`{"id":"a1","tool":"look"}`), llmtest.Say("planned"), llmtest.Fail(llm.ErrAuth)), memory()), "look")
	if !snap.Done() || !strings.Contains(assistant.FinalResponse.Get(snap), "look: saw ") || !strings.Contains(assistant.Error.Get(snap), llm.ErrAuth.Error()) {
		t.Errorf("got %q, %q", assistant.FinalResponse.Get(snap), assistant.Error.Get(snap))
	}
	// If the model fails during planning, the run fails, and a later run resumes the turn.
	model := llmtest.NewScript(use("r1", "look", `{}`), llmtest.Fail(llm.ErrOverloaded), llmtest.Say("planned"), llmtest.Say("I looked."))
	thread := s.thread(t, model, memory())
	before := s.reads.Load()
	if _, err := thread.Invoke(t.Context(), assistant.Ask("t", "look")...); !errors.Is(err, llm.ErrOverloaded) {
		t.Fatalf("got %v", err)
	}
	snap = must(t)(thread.Invoke(t.Context()))
	if assistant.FinalResponse.Get(snap) != "I looked." || s.reads.Load() != before+1 {
		t.Errorf("got %q, looked %d times", assistant.FinalResponse.Get(snap), s.reads.Load()-before)
	}
}

// The meta-tools find the tools and return their schemas. A call with invalid arguments or of an unknown tool gets an
// error as its answer.
func TestMetaToolsAreChecked(t *testing.T) {
	t.Parallel()
	o := newOffice(t, johns)
	model := llmtest.NewScript(
		call("1", tools.DiscoverTools, `{"categories":["calendar"],"actions":["delete"]}`), call("2", tools.GetToolSchema, `{"name":"delete_calendar_event"}`),
		use("3", "delete_calendar_event", `{"id":"123"}`), use("4", "delete_everything", `{}`), llmtest.Say("?"), llmtest.Say("I could not."),
	)
	snap := invoke(t, o.thread(model, memory()), "delete it")
	var got []string
	for _, step := range steps(snap) {
		got = append(got, string(step.answer.Status)+" "+step.answer.Text())
	}
	for i, want := range []string{
		"success delete_calendar_event (calendar, delete, destructive)", `success {"name":"delete_calendar_event"`,
		"error invalid arguments for delete_calendar_event: ", `error there is no tool "delete_everything"; find one with discover_tools`,
	} {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("got %s, want %s", got[i], want)
		}
	}
	if !snap.Done() || o.titles() != "Meeting with John, Dentist" {
		t.Errorf("the calendar has %s", o.titles())
	}
}
