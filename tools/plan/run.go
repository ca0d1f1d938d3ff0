package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// A Result is the result of an action.
type Result struct {
	// Success reports that the action succeeded.
	Success bool `json:"success"`
	// Message is the answer of the tool, or the reason of the failure.
	Message string `json:"message"`
	// Note is not empty if a person changed the arguments. It has the new arguments.
	Note string `json:"note,omitempty"`
	// Skipped reports that the action did not run because an action that it depends on did
	// not succeed.
	Skipped bool `json:"skipped,omitempty"`
}

// Options configures a run. The zero value is valid.
type Options struct {
	// Tools configures the calls of the tools. Planning is ignored.
	Tools tools.Options
	// Done has the results of actions that ran before. Those actions do not run again.
	Done map[string]Result
}

// Run runs a plan and returns the results of all actions by id, with the results of o.Done.
// If the plan has mistakes, no action runs and the error wraps [ErrInvalid]; see [Check].
//
// If an action fails, its result has the reason. Run returns an error and no results if an
// action waits for a person, if ctx is done, or if [tools.Set.Call] returns an error for an
// action. Unless ctx is done, the actions that do not depend on it run before Run returns. With
// o.Tools.Once they do not run again in the next call.
func Run(ctx context.Context, set *tools.Set, actions []tools.Action, o Options) (map[string]Result, error) {
	results, _, err := run(ctx, set, actions, o)
	return results, err
}

// Node returns a graph node that runs the actions of the first channel and puts their
// results into the second. Actions that already have a result there do not run again. Bound
// values are found as in [tools.Node]. Set o.Once to graph.Once.
func Node(set *tools.Set, actions *state.ListChannel[tools.Action], results *state.MapChannel[string, Result], o tools.Options) func(context.Context, state.View) (state.Update, error) {
	return func(ctx context.Context, view state.View) (state.Update, error) {
		ctx, err := o.Bind.Apply(ctx, view)
		if err != nil {
			return nil, err
		}
		done := results.Get(view)
		all, update, err := run(ctx, set, actions.Get(view), Options{Tools: o, Done: done})
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(all, func(id string, _ Result) bool { _, old := done[id]; return old })
		return append(state.Update{results.Put(all)}, update...), nil
	}
}

func run(ctx context.Context, set *tools.Set, actions []tools.Action, o Options) (map[string]Result, state.Update, error) {
	waits, err := order(set, actions, o.Done)
	if err != nil {
		return nil, nil, err
	}
	o.Tools.Planning = nil
	r := &runner{
		set: set, actions: actions, options: o.Tools, waits: waits,
		results: make(map[string]Result, len(actions)), updates: map[string]state.Update{},
		after: map[string][]int{}, left: map[string]int{}, ended: make(chan ending),
	}
	maps.Copy(r.results, o.Done)
	r.schedule()
	if err := r.loop(ctx); err != nil {
		return nil, nil, err
	}
	var update state.Update
	for _, a := range actions {
		update = append(update, r.updates[a.ID]...)
	}
	return r.results, update, nil
}

// A runner runs one plan. Other goroutines than that of loop use only ended, set and options, which
// do not change.
type runner struct {
	set     *tools.Set
	actions []tools.Action
	options tools.Options
	waits   map[string][]string
	results map[string]Result
	updates map[string]state.Update
	after   map[string][]int // the indexes of the actions that depend on an action, by its id
	left    map[string]int   // the number of results that an action still waits for
	ready   []int            // the indexes of the actions that can start, in order
	ended   chan ending
	errs    []error
}

// An ending is the outcome of an action that has ended.
type ending struct {
	id     string
	out    tools.Outcome
	err    error
	broken error // the error of building the call; the action did not run
}

// loop starts actions that are ready and collects their results, until no action runs and
// none is ready.
func (r *runner) loop(ctx context.Context) error {
	most := r.options.MaxParallel
	switch {
	case most == 0:
		most = 5
	case most < 0:
		most = len(r.actions)
	}
	for running := 0; ; {
		for ; running < most && len(r.ready) > 0 && ctx.Err() == nil; running++ {
			a := r.actions[r.ready[0]]
			r.ready = r.ready[1:]
			r.start(ctx, a)
		}
		if running == 0 {
			break
		}
		r.take(<-r.ended)
		running--
	}
	missing := func(a tools.Action) bool { _, ok := r.results[a.ID]; return !ok }
	if err := ctx.Err(); err != nil && len(r.errs) == 0 && slices.ContainsFunc(r.actions, missing) {
		r.errs = append(r.errs, fmt.Errorf("plan: %w: %w", err, context.Cause(ctx)))
	}
	return errors.Join(r.errs...)
}

// schedule finds the dependencies between actions and the actions that are ready.
func (r *runner) schedule() {
	for i, a := range r.actions {
		if _, done := r.results[a.ID]; done {
			continue
		}
		for _, id := range r.waits[a.ID] {
			r.after[id] = append(r.after[id], i)
		}
		if r.left[a.ID] = len(r.waits[a.ID]); r.left[a.ID] == 0 {
			r.ready = append(r.ready, i)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.results)) {
		r.settle(id)
	}
}

// settle handles the result of an action. Actions that waited only for this result become
// ready. If the action did not succeed, it marks all actions that depend on it as skipped.
func (r *runner) settle(id string) {
	for settled := []string{id}; len(settled) > 0; settled = settled[1:] {
		id := settled[0]
		for _, i := range r.after[id] {
			a := r.actions[i]
			if _, skipped := r.results[a.ID]; skipped {
				continue
			}
			if !r.results[id].Success {
				r.results[a.ID] = Result{Skipped: true, Message: fmt.Sprintf("skipped: action %q did not succeed", id)}
				settled = append(settled, a.ID)
				continue
			}
			if r.left[a.ID]--; r.left[a.ID] == 0 {
				at, _ := slices.BinarySearch(r.ready, i)
				r.ready = slices.Insert(r.ready, at, i)
			}
		}
	}
}

// start runs an action in a new goroutine and sends its outcome to loop. It builds the call
// before the goroutine starts, because only the goroutine of loop may read the results.
func (r *runner) start(ctx context.Context, a tools.Action) {
	call, err := r.call(a)
	go func() {
		end := ending{id: a.ID, broken: err, err: fmt.Errorf("plan: action %q: %w", a.ID, errExit)}
		defer func() { r.ended <- end }()
		if err != nil {
			end.err = nil
			return
		}
		end.out, end.err = r.set.Run(ctx, call, r.options)
	}()
}

var errExit = errors.New("the tool ended its goroutine")

// call returns the tool call of an action, with references resolved. If the arguments do
// not fit the schema, it inserts the results as text, since the schema can require a string
// where a result looks like a number.
func (r *runner) call(a tools.Action) (llm.ToolCall, error) {
	call := llm.ToolCall{ID: a.ID, Name: a.Tool}
	var err error
	if call.Arguments, err = inject(a.Arguments, r.results, false); err != nil {
		return call, err
	}
	t, _ := r.set.Lookup(a.Tool)
	if _, err := t.Check(call.Arguments); err == nil {
		return call, nil
	}
	texts, err := inject(a.Arguments, r.results, true)
	if err != nil {
		return call, err
	}
	if _, err := t.Check(texts); err == nil {
		call.Arguments = texts
	}
	return call, nil
}

func (r *runner) take(end ending) {
	switch {
	case end.broken != nil:
		r.results[end.id] = Result{Message: end.broken.Error()}
	case end.err != nil:
		r.errs = append(r.errs, end.err)
		return
	default:
		r.results[end.id] = resultOf(end.out.Message)
		r.updates[end.id] = end.out.Update
	}
	r.settle(end.id)
}

// resultOf converts the answer of a tool. The note about changed arguments is not part of
// Message, because references of other actions read Message.
func resultOf(m llm.Message) Result {
	r := Result{Success: m.Status != llm.StatusError}
	if _, edited := m.Metadata[tools.EditedArguments]; edited && len(m.Parts) > 0 {
		r.Note = strings.TrimSpace(m.Parts[0].Text)
		m.Parts = m.Parts[1:]
	}
	r.Message = m.Text()
	return r
}
