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

// A Result is what became of an action.
type Result struct {
	// Success says that the action did what it was to do.
	Success bool `json:"success"`
	// Message is what the tool said, or what went wrong.
	Message string `json:"message"`
	// Note, when not empty, says that a person changed the arguments, and to
	// what.
	Note string `json:"note,omitempty"`
	// Skipped says that the action did not run, as one that it depends on did
	// not succeed.
	Skipped bool `json:"skipped,omitempty"`
}

// Options configures a run. Its zero value works.
type Options struct {
	// Tools says how the actions' tools are called. Planning has no meaning
	// here.
	Tools tools.Options
	// Done are results that there are already. Their actions do not run again.
	Done map[string]Result
}

// Run runs a plan and returns the results of all its actions by their ids, those
// of o.Done included. A plan with mistakes runs nothing and is an [ErrInvalid];
// see [Check].
//
// An action that fails has a result that says so. Run returns an error, and no
// results, when an action waits for a person, when ctx is done, or when the
// tools' options have an error returned; the other actions have run all the same,
// and with o.Tools.Once they will not run again.
func Run(ctx context.Context, set *tools.Set, actions []tools.Action, o Options) (map[string]Result, error) {
	results, _, err := run(ctx, set, actions, o)
	return results, err
}

// Node returns a graph node that runs the actions in a channel and puts their
// results into another, which also says what is done already. Each action is
// given its tools' bound values as in [tools.Node]. Set o.Once to graph.Once.
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

// A runner runs one plan. Its fields belong to the goroutine of its loop.
type runner struct {
	set     *tools.Set
	actions []tools.Action
	options tools.Options
	waits   map[string][]string
	results map[string]Result
	updates map[string]state.Update
	after   map[string][]int // the actions that wait for one
	left    map[string]int   // how many others an action still waits for
	ready   []int            // the actions that wait for nothing more, in their order
	ended   chan ending
	errs    []error
}

// An ending is how an action came to its end.
type ending struct {
	id     string
	out    tools.Outcome
	err    error
	broken error // why the action could not be called
}

// loop starts what is due and takes what ends, until nothing runs and nothing
// more is due.
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

// schedule finds out what waits for what.
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

// settle makes ready what waited for a result alone, and gives a result to what
// will never run as that is no success.
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

// start runs an action on a goroutine of its own, which the loop waits for. Its
// arguments are made here, as the results belong to the loop.
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

// call returns the tool call of an action, with the results that it refers to.
// A result that reads as a number is a text where only that fits.
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

// resultOf returns what an answer says, without what only its reader is to know:
// other actions may refer to parts of it.
func resultOf(m llm.Message) Result {
	r := Result{Success: m.Status != llm.StatusError}
	if _, edited := m.Metadata[tools.EditedArguments]; edited && len(m.Parts) > 0 {
		r.Note = strings.TrimSpace(m.Parts[0].Text)
		m.Parts = m.Parts[1:]
	}
	r.Message = m.Text()
	return r
}
