package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

type callKey struct{}

// CallFrom returns the call for which a tool's function runs. The second result is false if
// ctx is not the context of a tool. The arguments of the call are the arguments with which
// the tool runs, without bound values. For a call of invoke_tool, it is the call of the
// invoked tool.
func CallFrom(ctx context.Context) (llm.ToolCall, bool) {
	call, ok := ctx.Value(callKey{}).(llm.ToolCall)
	return call.Clone(), ok
}

// An Outcome is the result of a call: the answer and the writes.
type Outcome struct {
	// Message answers the call.
	Message llm.Message
	// Update has the writes that the tool returned; see [Result]. It is nil for most tools.
	Update state.Update
}

// Call calls a tool and returns the message that answers the call. If the tool does not
// exist or the arguments do not fit its schema, the answer is an error that the model can
// act on. If the tool fails, the answer is its error, unless o.OnError decides otherwise.
// Call ignores o.MaxParallel and o.Bind: [Bound] values come from ctx, see [WithBound] and
// [Bindings.Apply].
//
// Call returns an error in these cases only: the call or the tool waits for a person; ctx
// is done, and the error wraps its cause; a [Bound] value is missing or has no text; the
// call has no id ([ErrCallID]); a rule has a pattern that matches no tool ([ErrPattern]);
// the call needs approval and o.Approval.Ask is nil ([ErrNoApprover]); 100 decisions about
// the call were invalid; the tool returned writes ([ErrWrites]), because only a graph can
// apply them; a function of o returned an error or panicked.
func (s *Set) Call(ctx context.Context, call llm.ToolCall, o Options) (llm.Message, error) {
	out, err := s.Run(ctx, call, o)
	if err == nil && len(out.Update) > 0 {
		err = failure(call, ErrWrites)
	}
	if err != nil {
		return llm.Message{}, err
	}
	return out.Message, nil
}

// CallAll calls tools at the same time, at most o.MaxParallel of them, and returns the
// answers in the order of the calls. No tool runs until all calls that need approval have
// it. Then every call runs to its end, even if another fails. If calls return errors, for
// the reasons listed at [Set.Call], CallAll returns no answers and all errors joined.
func (s *Set) CallAll(ctx context.Context, calls []llm.ToolCall, o Options) ([]llm.Message, error) {
	outcomes, err := s.runAll(ctx, calls, o)
	for i, out := range outcomes {
		if len(out.Update) > 0 {
			err = errors.Join(err, failure(calls[i], ErrWrites))
		}
	}
	if err != nil {
		return nil, err
	}
	answers := make([]llm.Message, len(outcomes))
	for i, out := range outcomes {
		answers[i] = out.Message
	}
	return answers, nil
}

// Run is like [Set.Call], but also returns the writes of the tool, for a node of a graph.
// o.Once stores the message only, so with o.Once a tool that returns writes fails with
// [ErrWrites]. Send the calls of such a tool to a [CallNode].
func (s *Set) Run(ctx context.Context, call llm.ToolCall, o Options) (Outcome, error) {
	return shielded(call, func() (Outcome, error) {
		if err := o.Check(s); err != nil {
			return Outcome{}, failure(call, err)
		}
		e := s.prepare(ctx, call, &o)
		if e.err != nil {
			return Outcome{}, e.err
		}
		return e.remembered(ctx)
	})
}

func (s *Set) runAll(ctx context.Context, calls []llm.ToolCall, o Options) ([]Outcome, error) {
	if err := o.Check(s); err != nil {
		return nil, err
	}
	runs := make([]*callRun, len(calls))
	if err := distinct(calls); err != nil {
		return nil, err
	}
	var failures []error
	for i, call := range calls {
		runs[i] = s.prepare(ctx, call, &o)
		failures = append(failures, runs[i].err)
	}
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(calls))
	free := make(chan struct{}, o.parallel(len(calls)))
	var wg sync.WaitGroup
	for i, e := range runs {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			failures[i] = failure(e.asked, errExit) // replaced below, unless the function ends the goroutine
			outcomes[i], failures[i] = shielded(e.asked, func() (Outcome, error) { return e.remembered(ctx) })
		})
	}
	wg.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	return outcomes, nil
}

// distinct returns an error if two calls have the same id. Otherwise their answers,
// approvals and results of Once would have the same keys.
func distinct(calls []llm.ToolCall) error {
	seen := make(map[string]bool, len(calls))
	for _, call := range calls {
		if seen[call.ID] {
			return failure(call, ErrCallID)
		}
		seen[call.ID] = true
	}
	return nil
}

// prepare does all work before the tool runs: it finds the tool, checks the arguments and
// the bound values, and asks for approval.
func (s *Set) prepare(ctx context.Context, call llm.ToolCall, o *Options) *callRun {
	e := &callRun{asked: call, call: call.Clone(), options: o}
	if call.ID == "" {
		e.err = failure(call, ErrCallID)
		return e
	}
	if err := e.find(s); err != nil {
		return e.refuse(err.Error())
	}
	arguments, run, err := e.tool.prepared(e.call.Arguments)
	if err != nil {
		return e.refuse(fmt.Sprintf("invalid arguments for %s: %s", e.call.Name, err))
	}
	e.call.Arguments, e.run = arguments, run
	if o.Planning.holds(e.tool, e.call) {
		e.answer = o.Planning.record(e.asked, e.call)
		return e
	}
	for _, need := range e.tool.needs {
		if err := need.find(ctx); err != nil {
			e.err = failure(e.call, err)
			return e
		}
	}
	if o.Approval.Rule.Selects(e.tool, e.call) {
		e.approval = &approvalState{}
		if err := e.approve(ctx); err != nil {
			e.err = failure(e.call, err)
		}
	}
	return e
}

// find sets the tool of a call. For invoke_tool, it sets the invoked tool and its call.
func (e *callRun) find(s *Set) error {
	t, ok := s.Lookup(e.call.Name)
	if !ok {
		return errors.New(s.unknown(e.call.Name))
	}
	if e.call.Invalid != "" {
		return fmt.Errorf("the arguments for %s are not JSON: %s; call it again with a JSON object", e.call.Name, e.call.Invalid)
	}
	if t.invokes != nil {
		inner, err := t.invokes(e.call)
		if err != nil {
			return err
		}
		e.call = inner.call
		t = inner.tool
	}
	e.tool = t
	return nil
}

func failure(call llm.ToolCall, err error) error {
	return fmt.Errorf("tools: %s (call %s): %w", call.Name, call.ID, err)
}

// ended returns an error that wraps err, and the cause and the error of the done ctx.
func ended(ctx context.Context, err error) error {
	for _, why := range []error{context.Cause(ctx), ctx.Err()} {
		if !errors.Is(err, why) {
			err = fmt.Errorf("%w: %w", why, err)
		}
	}
	return err
}

func (s *Set) unknown(name string) string {
	names := s.Names()
	if len(names) == 0 {
		return fmt.Sprintf("there is no tool %q; there are no tools", name)
	}
	return fmt.Sprintf("there is no tool %q; the tools are %s", name, strings.Join(names, ", "))
}
