package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

func act(id, tool, arguments string, after ...string) tools.Action {
	return tools.Action{ID: id, Tool: tool, Arguments: json.RawMessage(arguments), DependsOn: after}
}

type said struct {
	Text string `json:"text,omitempty"`
	N    int    `json:"n,omitempty"`
	Any  any    `json:"any,omitempty"`
}

// stage is a set of tools that note when they run.
type stage struct {
	mu    sync.Mutex
	calls []string
}

func (s *stage) note(entry string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, entry)
}

func (s *stage) set(t testing.TB) *tools.Set {
	t.Helper()
	set, err := tools.NewSet(
		tools.New("say", "Says it again.", func(_ context.Context, in said) (string, error) {
			s.note("say " + in.Text)
			return in.Text, nil
		}),
		tools.New("echo", "Returns its arguments.", func(_ context.Context, in said) (said, error) {
			s.note("echo")
			return in, nil
		}),
		tools.New("fail", "Fails.", func(context.Context, said) (string, error) {
			s.note("fail")
			return "", errors.New("out of order")
		}),
		tools.New("slow", "Takes n seconds.", func(ctx context.Context, in said) (string, error) {
			select {
			case <-time.After(time.Duration(in.N) * time.Second):
				s.note("slow " + in.Text)
				return in.Text, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}),
		tools.New("leave", "Ends its goroutine.", func(context.Context, said) (string, error) {
			runtime.Goexit()
			return "", nil
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestCheckReportsEveryMistake(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		actions []tools.Action
		want    []string // parts of the error; none for a good plan
	}{
		{"nothing", nil, nil},
		{"a good one", []tools.Action{act("a", "say", `{"text":"$${a}"}`), act("b", "say", `{"text":"${a} ${old.0}"}`, "a")}, nil},
		{"no arguments", []tools.Action{act("a", "say", ``)}, nil},
		{"a result as a number", []tools.Action{act("a", "say", ``), act("b", "echo", `{"n":"${a}"}`)}, nil},
		{"ids", []tools.Action{act("", "say", ``), act("{x}", "say", ``), act("a", "say", ``), act("a", "say", ``)}, []string{`action 0 has the id ""`, `"{x}"`, `two actions have the id "a"`}},
		{"tools", []tools.Action{act("a", "sing", ``), act("b", "", ``)}, []string{`action "a": there is no tool "sing"`, `there is no tool ""`}},
		{"dependencies", []tools.Action{act("a", "say", ``, "b", "c")}, []string{`depends on "b"`, `depends on "c"`}},
		{"references", []tools.Action{act("a", "say", `{"text":"${b}"}`)}, []string{`there is no action for the reference "${b}"`, "$${"}},
		{"an empty reference", []tools.Action{act("a", "say", `{"text":"${}"}`)}, []string{`reference "${}"`}},
		{"a reference that stays open", []tools.Action{act("a", "say", `{"any":[{"x":"${b"}]}`)}, []string{`any: [0]: x: the reference "${b" is not closed`}},
		{"arguments", []tools.Action{act("a", "say", `{"text":7}`), act("b", "say", `[]`), act("c", "say", `{`), act("d", "say", `{} {}`)}, []string{"text: want a string, got 7", "not an object", "not JSON", "more than one value"}},
		{"itself", []tools.Action{act("a", "say", `{"text":"${a}"}`)}, []string{"in a circle: a → a"}},
		{"a circle", []tools.Action{act("a", "say", ``, "old", "d"), act("b", "say", ``, "a"), act("c", "say", `{"text":"${b.x}"}`), act("d", "say", ``, "c")}, []string{"in a circle: a → d → c → b → a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var s stage
			err := plan.Check(s.set(t), test.actions, map[string]plan.Result{"old": {Success: true, Message: `["x"]`}})
			if len(test.want) == 0 && err != nil || len(test.want) > 0 && !errors.Is(err, plan.ErrInvalid) {
				t.Fatalf("got %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %q in it", err, want)
				}
			}
			if len(test.want) == 0 {
				return
			}
			if _, err := plan.Run(t.Context(), s.set(t), test.actions, plan.Options{Done: map[string]plan.Result{"old": {}}}); !errors.Is(err, plan.ErrInvalid) || len(s.calls) > 0 {
				t.Errorf("ran %q, %v", s.calls, err)
			}
		})
	}
}

func TestRunInjectsResults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, first, second, want string
	}{
		{"a text", `{"text":"a\"b"}`, `{"text":"<${a}>"}`, `{"text":"<a\"b>"}`},
		{"a text alone", `{"text":"a"}`, `{"text":"${a}"}`, `{"text":"a"}`},
		{"a text that reads as a number", `{"text":"12"}`, `{"text":"${a}"}`, `{"text":"12"}`},
		{"a number", `{"text":"12"}`, `{"n":"${a}"}`, `{"n":12}`},
		{"a large number", `{"text":"9007199254740993"}`, `{"n":"${a}"}`, `{"n":9007199254740993}`},
		{"JSON in text", `{"text":"{\"x\":[1,\"<\"]}"}`, `{"text":"got ${a.x} and ${a.x.1}"}`, `{"text":"got [1,\"<\"] and <"}`},
		{"a value", `{"text":"{\"x\":[1,{\"y\":null}]}"}`, `{"any":["${a.x.1}","${a.x}"]}`, `{"any":[{"y":null},[1,{"y":null}]]}`},
		{"JSON where a text fits", `{"text":"{\"x\":1}"}`, `{"text":"${a}"}`, `{"text":"{\"x\":1}"}`},
		{"an escape", `{"text":"a"}`, `{"text":"$${a} ${a} $$${a}"}`, `{"text":"${a} a $${a}"}`},
		{"a result that looks like a reference", `{"text":"$${a} $${b}"}`, `{"text":"${a}"}`, `{"text":"${a} ${b}"}`},
		{"keys are left alone", `{"text":"a"}`, `{"any":{"${a}":"${a}"}}`, `{"any":{"${a}":"a"}}`},
		{"none", `{"text":"a"}`, `{"any":{"x":[1.50,true,null]}}`, `{"any":{"x":[1.5,true,null]}}`},
		{"a key that is not there", `{"text":"{}"}`, `{"text":"${a.x}"}`, `there is no a.x in the result of "a"`},
		{"an item that is not there", `{"text":"[1]"}`, `{"text":"${a.1}"}`, `there is no a.1 in the result of "a", a list of 1`},
		{"a path into a text", `{"text":"word"}`, `{"text":"${a.x.y}"}`, `there is no a.x in the result of "a", which is a text and not JSON`},
		{"a key with dots", `{"text":"{\"v1.2\":{\"x.y.z\":\"deep\"}}"}`, `{"text":"${a.v1.2.x.y.z}"}`, `{"text":"deep"}`},
		{"the shorter of two keys", `{"text":"{\"x\":{\"y\":\"inner\"},\"x.y\":\"outer\"}"}`, `{"text":"${a.x.y}"}`, `{"text":"inner"}`},
		{"a value that does not fit", `{"text":"[1]"}`, `{"n":"${a}"}`, `invalid arguments for echo: n: want an integer, got an array`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var s stage
			results, err := plan.Run(t.Context(), s.set(t), []tools.Action{act("b", "echo", test.second), act("a", "say", test.first)}, plan.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := results["b"]
			if strings.HasPrefix(test.want, "{") {
				if !got.Success || got.Message != test.want {
					t.Errorf("got %+v, want %s", got, test.want)
				}
			} else if got.Success || !strings.Contains(got.Message, test.want) {
				t.Errorf("got %+v, want a failure with %q", got, test.want)
			}
		})
	}
}

// The longest id that is known is meant.
func TestIdsMayHoldDots(t *testing.T) {
	t.Parallel()
	var s stage
	results, err := plan.Run(t.Context(), s.set(t), []tools.Action{
		act("f.x", "say", `{"text":"outer"}`), act("f.x:0", "say", `{"text":"{\"y\":\"inner\"}"}`), act("b", "say", `{"text":"${f.x} ${f.x:0.y}"}`),
	}, plan.Options{})
	if err != nil || results["b"].Message != "outer inner" {
		t.Errorf("got %+v and %v", results, err)
	}
}

func TestRunIsParallelAndInOrder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		actions func() []tools.Action
		limit   int
		took    time.Duration
	}{
		{"five at once", func() (a []tools.Action) {
			for i := range 10 {
				a = append(a, act(fmt.Sprint(i), "slow", `{"n":1}`))
			}
			return a
		}, 0, 2 * time.Second},
		{"as many as there are", func() (a []tools.Action) {
			for i := range 40 {
				a = append(a, act(fmt.Sprint(i), "slow", `{"n":1}`))
			}
			return a
		}, -1, time.Second},
		{"a diamond", func() []tools.Action {
			return []tools.Action{act("d", "slow", `{"n":1}`, "b", "c"), act("b", "slow", `{"n":1}`, "a"), act("c", "slow", `{"n":3}`, "a"), act("a", "slow", `{"n":1}`)}
		}, 0, 5 * time.Second},
		{"one after the other", func() []tools.Action { return []tools.Action{act("a", "slow", `{"n":1}`), act("b", "slow", `{"n":1}`)} }, 1, 2 * time.Second},
		{"an action is not held up by another branch", func() []tools.Action {
			return []tools.Action{act("a", "slow", `{"n":9}`), act("b", "slow", `{"n":1}`), act("c", "slow", `{"n":8}`, "b")}
		}, 0, 9 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s stage
				start := time.Now()
				actions := test.actions()
				results, err := plan.Run(t.Context(), s.set(t), actions, plan.Options{Tools: tools.Options{MaxParallel: test.limit}})
				if err != nil || len(results) != len(actions) || time.Since(start) != test.took {
					t.Errorf("got %d results and %v in %v, want %v", len(results), err, time.Since(start), test.took)
				}
			})
		})
	}
}

func TestRunKeepsWhatSucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s stage
		results, err := plan.Run(t.Context(), s.set(t), []tools.Action{
			act("ok", "say", `{"text":"fine"}`), act("bad", "fail", ``), act("late", "slow", `{"n":31}`), act("unfit", "echo", `{"n":"${ok}"}`),
			act("after", "say", ``, "bad"), act("afterwards", "say", `{"text":"${after}"}`), act("other", "say", `{"text":"${ok}!"}`), act("old", "say", ``), act("unlucky", "say", ``, "gone"),
		}, plan.Options{Done: map[string]plan.Result{"old": {Success: true, Message: "kept"}, "gone": {Message: "failed before"}}})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]plan.Result{
			"ok": {Success: true, Message: "fine"}, "bad": {Message: "out of order"}, "late": {Message: "timed out after 30s: context deadline exceeded"},
			"unfit": {Message: `invalid arguments for echo: n: want an integer, got the string "fine"; for example: {"text":"<text>"}`},
			"after": {Skipped: true, Message: `skipped: action "bad" did not succeed`}, "afterwards": {Skipped: true, Message: `skipped: action "after" did not succeed`},
			"other": {Success: true, Message: "fine!"}, "old": {Success: true, Message: "kept"},
			"gone": {Message: "failed before"}, "unlucky": {Skipped: true, Message: `skipped: action "gone" did not succeed`},
		}
		if !reflect.DeepEqual(results, want) {
			t.Errorf("got  %+v\nwant %+v", results, want)
		}
		if got := strings.Join(s.calls, ","); strings.Contains(got, "kept") || len(s.calls) != 3 {
			t.Errorf("ran %s", got)
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		drained := errors.New("drained")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(drained) })
		var s stage
		_, err := plan.Run(ctx, s.set(t), []tools.Action{act("a", "slow", `{"n":2}`), act("b", "slow", ``, "a")}, plan.Options{})
		if !errors.Is(err, drained) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if _, err := plan.Run(ctx, s.set(t), []tools.Action{act("a", "say", ``)}, plan.Options{}); !errors.Is(err, drained) || len(s.calls) > 0 {
			t.Errorf("got %v, ran %q", err, s.calls)
		}
		// What there is nothing left to do for is no failure.
		if results, err := plan.Run(ctx, s.set(t), nil, plan.Options{Done: map[string]plan.Result{"x": {}}}); err != nil || len(results) != 1 {
			t.Errorf("got %v and %v", results, err)
		}
	})
}

func TestRunReturnsErrorsByPolicy(t *testing.T) {
	t.Parallel()
	var s stage
	_, err := plan.Run(t.Context(), s.set(t), []tools.Action{act("a", "fail", ``), act("b", "say", ``), act("c", "leave", ``)}, plan.Options{Tools: tools.Options{OnError: tools.ReturnErrors}})
	if err == nil || !strings.Contains(err.Error(), "(call a): out of order") || !strings.Contains(err.Error(), "ended its goroutine") || !slices.Contains(s.calls, "say ") {
		t.Errorf("got %v, ran %q", err, s.calls)
	}
}

func TestOrderedAndHash(t *testing.T) {
	t.Parallel()
	free := []tools.Action{act("a", "say", `{"text":"$${b}"}`), act("b", "say", ``)}
	if plan.Ordered(free) || plan.Ordered(nil) {
		t.Error("free actions are ordered")
	}
	for _, last := range []tools.Action{act("c", "say", ``, "a"), act("c", "say", `{"text":"${a}"}`)} {
		if !plan.Ordered(append(slices.Clone(free), last)) {
			t.Errorf("%+v is not ordered", last)
		}
	}
	hashes := map[string]bool{}
	for _, actions := range [][]tools.Action{nil, free, free[:1], {free[1], free[0]}, {act("a", "say", `{"text":"x"}`)}} {
		hash, err := plan.Hash(actions)
		if err != nil || hashes[hash] {
			t.Errorf("%v has hash %q, %v", actions, hash, err)
		}
		hashes[hash] = true
	}
	if _, err := plan.Hash([]tools.Action{act("a", "say", `{`)}); err == nil {
		t.Error("hashed what is not JSON")
	}
}

var (
	actions = state.Append[tools.Action]("actions")
	results = state.Map[string, plan.Result]("results")
	approve = graph.NewInterrupt[tools.Question, tools.Decision]("approve")
)

// A plan that pauses goes on where it was: each action runs once.
func TestNodePausesAndGoesOn(t *testing.T) {
	t.Parallel()
	var looked, deleted atomic.Int32
	set, err := tools.NewSet(
		tools.New("look", "Looks.", func(context.Context, said) (string, error) { return fmt.Sprint(looked.Add(1)), nil }),
		tools.New("delete", "Deletes.", func(_ context.Context, in said) (string, error) {
			deleted.Add(1)
			return "deleted " + in.Text, nil
		}).Annotate(tools.Annotations{Destructive: true}),
	)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New("plan", actions, results)
	b.Node("run", plan.Node(set, actions, results, tools.Options{
		Once:     graph.Once[llm.Message],
		Planning: &tools.Planning{Actions: actions}, // has no meaning here
		Approval: tools.Approval{Rule: tools.Destructive(), Ask: func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
			return approve.WaitKey(ctx, key, q)
		}},
	}))
	b.Edge(graph.Start, "run")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	th := g.Thread("t")
	snap, err := th.Invoke(t.Context(), actions.Put(
		act("a", "look", ``), act("b", "delete", `{"text":"${a}"}`), act("c", "delete", `{"text":"x"}`), act("d", "look", ``, "b"),
	))
	if err != nil {
		t.Fatal(err)
	}
	for _, verdict := range []bool{true, false} {
		open, err := approve.Open(snap)
		if err != nil || len(open) == 0 {
			t.Fatalf("got %+v and %v", open, err)
		}
		q := open[0].Prompt
		answer := q.Approve()
		if !verdict {
			answer = q.Reject("keep it")
		}
		if snap, err = th.Invoke(t.Context(), approve.Answer(open[0].ID, answer)); err != nil {
			t.Fatal(err)
		}
	}
	got := results.Get(snap)
	if !snap.Done() || len(got) != 4 || looked.Load() > 2 || deleted.Load() != 1 {
		t.Errorf("looked %d times, deleted %d: %+v", looked.Load(), deleted.Load(), got)
	}
	// A second run has nothing left to do.
	before := looked.Load()
	if snap, err = th.Invoke(t.Context(), actions.Put(act("e", "look", ``))); err != nil || looked.Load() != before+1 || len(results.Get(snap)) != 5 {
		t.Errorf("looked %d times, %v", looked.Load(), err)
	}
}

// What a person changed is told of beside the result, so that a reference to the
// result finds what the tool said.
func TestEditedArgumentsAreNoted(t *testing.T) {
	t.Parallel()
	var s stage
	o := tools.Options{Approval: tools.Approval{Rule: tools.Named("echo"), Ask: func(_ context.Context, _ string, q tools.Question) (tools.Decision, error) {
		return q.Edit(json.RawMessage(`{"text":"mine"}`)), nil
	}}}
	results, err := plan.Run(t.Context(), s.set(t), []tools.Action{
		act("a", "echo", `{"text":"theirs"}`), act("b", "say", `{"text":"${a.text}"}`),
	}, plan.Options{Tools: o})
	if err != nil {
		t.Fatal(err)
	}
	want := plan.Result{Success: true, Message: `{"text":"mine"}`, Note: `A person changed the arguments; the tool ran with {"text":"mine"}`}
	if results["a"] != want || results["b"].Message != "mine" {
		t.Errorf("got %+v", results)
	}
}

// Thousands of actions in a row, or all waiting for one, are settled once each.
func TestLargePlans(t *testing.T) {
	t.Parallel()
	const n = 3000
	for name, on := range map[string]func(i int) string{
		"a chain": func(i int) string { return fmt.Sprint(i - 1) },
		"a star":  func(int) string { return "0" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for first, want := range map[string]string{"say": "x", "fail": ""} {
				var s stage
				list := []tools.Action{act("0", first, `{"text":"x"}`)}
				for i := 1; i < n; i++ {
					list = append(list, act(fmt.Sprint(i), "say", `{"text":"${`+on(i)+`}"}`, on(i)))
				}
				results, err := plan.Run(t.Context(), s.set(t), list, plan.Options{})
				if err != nil || len(results) != n {
					t.Fatalf("%d results, %v", len(results), err)
				}
				for i := 1; i < n; i++ {
					if r := results[fmt.Sprint(i)]; r.Skipped != (first == "fail") || r.Success && r.Message != want {
						t.Fatalf("action %d: %+v", i, r)
					}
				}
			}
		})
	}
}

func TestNodeReturnsWrites(t *testing.T) {
	t.Parallel()
	seen := state.Append[string]("seen")
	set, err := tools.NewSet(tools.New("see", "Sees.", func(_ context.Context, in said) (tools.Result, error) {
		return tools.Result{Text: "ok", Update: state.Update{seen.Put(in.Text)}}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New("plan", actions, results, seen)
	b.Node("run", plan.Node(set, actions, results, tools.Options{}))
	b.Edge(graph.Start, "run")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := g.Invoke(t.Context(), actions.Put(act("a", "see", `{"text":"1"}`, "b"), act("b", "see", `{"text":"2"}`)))
	if err != nil || !slices.Equal(seen.Get(snap), []string{"1", "2"}) {
		t.Errorf("got %q and %v", seen.Get(snap), err)
	}
	failing := plan.Node(set, actions, results, tools.Options{Bind: tools.Bindings{tools.Bind(func(context.Context, state.View) (string, error) { return "", errors.New("no session") })}})
	if _, err := failing(t.Context(), snap); err == nil || !strings.Contains(err.Error(), "no session") {
		t.Errorf("got %v", err)
	}
	if _, err := plan.Node(set, actions, results, tools.Options{Once: func(ctx context.Context, _ string, fn func(context.Context) (llm.Message, error)) (llm.Message, error) {
		return fn(ctx)
	}})(t.Context(), viewWith(t, seen, act("a", "see", ``))); !errors.Is(err, tools.ErrWrites) {
		t.Errorf("got %v", err)
	}
}

func viewWith(t *testing.T, more state.Handle, list ...tools.Action) state.View {
	t.Helper()
	view, err := state.NewView([]state.Handle{actions, results, more}, actions.Put(list...))
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// FuzzReferences runs plans of two actions with any text in the second: whatever
// it is, it is refused before anything runs, or the escape of every reference in
// it gives back the text itself.
func FuzzReferences(f *testing.F) {
	for _, text := range []string{"${a}", "$${a}", "${a.x.0}", "$$${", "${", "}${a}{", "${a.}", "$", "${${a}}", "\x00${b}"} {
		f.Add(text, "word")
		f.Add(text, `{"x":["${b}"]}`)
	}
	var s stage
	set := s.set(f)
	f.Fuzz(func(t *testing.T, text, result string) {
		s.calls = nil
		first, err := json.Marshal(said{Text: strings.ReplaceAll(result, "${", "$${")})
		if err != nil {
			t.Fatal(err)
		}
		second, err := json.Marshal(said{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		list := []tools.Action{act("a", "say", string(first)), act("b", "echo", string(second))}
		results, err := plan.Run(t.Context(), set, list, plan.Options{})
		switch {
		case errors.Is(err, plan.ErrInvalid):
			if len(s.calls) > 0 {
				t.Fatalf("%q was refused after %q ran", text, s.calls)
			}
		case err != nil || len(results) != 2:
			t.Fatalf("got %v and %v", results, err)
		}
		escaped, err := json.Marshal(said{Text: strings.ReplaceAll(text, "${", "$${")})
		if err != nil {
			t.Fatal(err)
		}
		results, err = plan.Run(t.Context(), set, []tools.Action{act("c", "say", string(escaped))}, plan.Options{})
		var given said // as JSON has it
		if err := json.Unmarshal(second, &given); err != nil {
			t.Fatal(err)
		}
		if want := given.Text; err != nil || results["c"].Message != want {
			t.Fatalf("%q came back as %q, %v", text, results["c"].Message, err)
		}
	})
}
