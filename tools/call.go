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

// CallFrom returns the call that a tool's function was called for, and whether
// ctx is that of one. Its id is the tool-call id; its arguments are those that
// the tool runs with, without what the program set. For a call by way of
// invoke_tool it is that of the tool that is invoked.
func CallFrom(ctx context.Context) (llm.ToolCall, bool) {
	call, ok := ctx.Value(callKey{}).(llm.ToolCall)
	return call.Clone(), ok
}

// An Outcome is what came of a call.
type Outcome struct {
	// Message answers the call.
	Message llm.Message
	// Update is what the tool wants written; see [Result]. Nil for most.
	Update state.Update
}

// Call calls a tool and returns the message that answers the call. A tool that
// does not exist and arguments that do not fit its schema are answered with an
// error that the model can act on, and so is a tool's own failure unless
// o.OnError says otherwise. o.MaxParallel and o.Bind have no meaning here: [Bound]
// values are those of ctx, see [WithBound] and [Bindings.Apply].
//
// It returns an error only when the call or the tool waits for a person, when
// ctx is done, which the error then wraps, when a [Bound] value is missing, when
// the call has no id ([ErrCallID]), or when a function of o returned one or
// panicked. A tool that returned writes is an
// [ErrWrites]: they have nowhere to go.
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

// CallAll calls tools at the same time, at most o.MaxParallel of them, and
// returns their answers in the order of the calls. Nothing runs before every
// call that needs it is approved; then every call runs to its end, whatever
// becomes of the others. When any returned an error, see [Set.Call], CallAll
// returns no answers, and all the errors joined.
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

// Run is [Set.Call] for a graph's node, which returns what the tool wants
// written. With o.Once only the message is remembered, and so a tool that
// returns writes is an [ErrWrites]; send its calls to a [CallNode].
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
	errands := make([]*errand, len(calls))
	if err := distinct(calls); err != nil {
		return nil, err
	}
	var failures []error
	for i, call := range calls {
		errands[i] = s.prepare(ctx, call, &o)
		failures = append(failures, errands[i].err)
	}
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(calls))
	free := make(chan struct{}, o.parallel(len(calls)))
	var wg sync.WaitGroup
	for i, e := range errands {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			failures[i] = failure(e.asked, errExit) // unless the call comes back
			outcomes[i], failures[i] = shielded(e.asked, func() (Outcome, error) { return e.remembered(ctx) })
		})
	}
	wg.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	return outcomes, nil
}

// distinct reports calls of one id: their answers, their approvals and what
// Once remembers could not be told apart.
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

// prepare finds out what a call comes to without running anything: the tool that
// is meant, arguments that fit, a person's approval.
func (s *Set) prepare(ctx context.Context, call llm.ToolCall, o *Options) *errand {
	e := &errand{asked: call, call: call.Clone(), options: o}
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
		e.gate = &gate{}
		if err := e.approve(ctx); err != nil {
			e.err = failure(e.call, err)
		}
	}
	return e
}

// find finds the tool that a call means.
func (e *errand) find(s *Set) error {
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

// ended returns err so that it wraps the reason for which ctx is done.
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
