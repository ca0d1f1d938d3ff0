package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
)

// Approval selects the calls that a person must approve. The zero Approval selects none.
type Approval struct {
	// Rule selects the calls. The zero Rule selects none.
	Rule Rule
	// Ask asks a person a question and returns the decision, or an error that pauses the
	// run. The same question of a call always has the same key. In a graph, Ask waits on an
	// interrupt:
	//
	//	var Approve = graph.NewInterrupt[tools.Question, tools.Decision]("approve_tool")
	//
	//	func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
	//		return Approve.WaitKey(ctx, key, q)
	//	}
	//
	// If Ask is nil, a call that Rule selects fails with [ErrNoApprover]. After 100 invalid decisions about
	// a call, the call fails. In a graph, the decisions of earlier runs count too.
	Ask func(ctx context.Context, key string, q Question) (Decision, error)
}

// A Question asks a person to approve one call. It is stored as JSON.
type Question struct {
	// CallID is the id of the call.
	CallID string `json:"call_id"`
	// Tool is the name of the tool. Description is the description that the model sees.
	Tool        string `json:"tool"`
	Description string `json:"description"`
	// Annotations describe the tool.
	Annotations Annotations `json:"annotations,omitzero"`
	// Arguments are the exact arguments with which the tool runs, without bound values. In
	// a plan, references are resolved.
	Arguments json.RawMessage `json:"arguments"`
	// Bound are the values that the program sets; see [Bound].
	Bound []BoundValue `json:"bound,omitempty"`
	// Preview is the effect of the call as JSON, if the tool has a preview; see [Preview].
	Preview json.RawMessage `json:"preview,omitempty"`
	// Hash identifies the subject of the question: the tool's name, description,
	// schema and annotations, the arguments, the preview, and the bound values. A decision is
	// valid for this hash only. The hash covers secret values too, so a secret must
	// be hard to guess.
	Hash string `json:"hash"`
	// Problem is the reason why the question is asked again. It is empty the first time.
	Problem string `json:"problem,omitempty"`
	// Schema is the JSON Schema of the [Decision]. Code that passes an answer on as JSON can check the
	// answer with it, as package server and the command weft do.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// decisionSchema is the JSON Schema of a decision; %q stands for the hash of the question.
const decisionSchema = `{"type":"object","required":["verdict","hash"],"properties":{"verdict":{"enum":["approve","reject","edit"]},` +
	`"reason":{"type":"string"},"by":{"type":"string"},"arguments":{"type":"object"},"hash":{"const":%q}},` +
	`"if":{"properties":{"verdict":{"const":"edit"}}},"then":{"required":["arguments"]}}`

// A Verdict is a person's decision about a call.
type Verdict string

// The verdicts of a [Decision].
const (
	Approved Verdict = "approve" // run the call as it is
	Rejected Verdict = "reject"  // do not run the call; tell the model why
	Edited   Verdict = "edit"    // run the call with other arguments
)

// A Decision answers a [Question]. [Question.Approve], [Question.Reject] and
// [Question.Edit] make decisions. A decision is stored as JSON, and a front end may write
// the JSON itself:
//
//	{"verdict":"approve","hash":"…"}
//	{"verdict":"reject","hash":"…","reason":"not today"}
//	{"verdict":"edit","hash":"…","arguments":{"id":"7"}}
//
// A decision with another hash than the question is not accepted, and the question is asked
// again.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	// Hash is the hash of the question.
	Hash string `json:"hash"`
	// Reason tells the model why the call was rejected. It may be empty.
	Reason string `json:"reason,omitempty"`
	// By names who or what rejected or changed the call, for example "the deadline" if nobody answered in time.
	// It becomes a part of a sentence for the model. Empty means "a person". By is a text that nothing
	// checks, and not an identity.
	By string `json:"by,omitempty"`
	// Arguments replace all arguments of an edited call. The question is asked again if
	// they are missing or do not fit the tool's schema.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Text returns the question as text for a person: one line each for the tool with its
// description, the arguments, the preview, every bound value, and the problem. It replaces invisible
// characters as [VisibleLine] does. Otherwise a model, a tool or a document could make one
// question look like another.
func (q Question) Text() string {
	var b strings.Builder
	line := func(name, text string) {
		b.WriteString("\n" + name + ": " + VisibleLine(text))
	}
	b.WriteString(VisibleLine(q.Tool + ": " + q.Description))
	line("arguments", string(q.Arguments))
	if len(q.Preview) > 0 {
		line("preview", string(q.Preview))
	}
	for _, v := range q.Bound {
		name := "for " + VisibleLine(v.Name)
		if v.Secret {
			name += " (secret)"
		}
		line(name, v.Text)
	}
	if q.Problem != "" {
		line("asked again", q.Problem)
	}
	return b.String()
}

func (q Question) clone() Question {
	q.Arguments, q.Preview, q.Bound, q.Schema = bytes.Clone(q.Arguments), bytes.Clone(q.Preview), slices.Clone(q.Bound), bytes.Clone(q.Schema)
	return q
}

// Approve returns a decision to run the call.
func (q Question) Approve() Decision { return Decision{Verdict: Approved, Hash: q.Hash} }

// Reject returns a decision not to run the call. The model is given the reason, which may
// be empty.
func (q Question) Reject(reason string) Decision {
	return Decision{Verdict: Rejected, Hash: q.Hash, Reason: reason}
}

// Edit returns a decision to run the call with these arguments. The model is told that a
// person, or Decision.By, changed them. The arguments have to fit the schema of the tool. The changed call
// needs no further approval, even if the rule selects it. If the person may approve less than the tool can do, check the
// arguments before you pass the decision on.
func (q Question) Edit(arguments json.RawMessage) Decision {
	return Decision{Verdict: Edited, Hash: q.Hash, Arguments: arguments}
}

// EditedArguments is a key in the metadata of an answer. Its value has the arguments of a
// decision, which replaced the arguments of the model. The first part of such an answer tells
// the model about the change.
const EditedArguments = "edited_arguments"

// noted returns the answer m. If a decision changed the arguments, it adds a note for the
// model and the metadata.
func (e *callRun) noted(m llm.Message) llm.Message {
	delete(m.Metadata, EditedArguments) // a tool cannot set this key
	if e.edited == "" {
		return m
	}
	note := fmt.Sprintf("The arguments were changed by %s; the tool ran with %s\n\n", e.edited, e.call.Arguments)
	m.Parts = append([]llm.Part{llm.Text(note)}, m.Parts...)
	if m.Metadata == nil {
		m.Metadata = map[string]json.RawMessage{}
	}
	m.Metadata[EditedArguments] = bytes.Clone(e.call.Arguments)
	return m
}

// An approvalState counts the questions and the starts of one call that needs approval.
type approvalState struct {
	round   int    // the number of decisions so far
	problem string // the reason why the question is asked again
	run     int    // the number of earlier starts of the approved call
}

// maxDecisions is the maximum number of decisions about one call. Without a limit, a call would not end if Ask is a function
// that always returns the same invalid decision.
const maxDecisions = 100

// approve asks until a decision is valid, and applies this decision.
func (e *callRun) approve(ctx context.Context) error {
	if e.options.Approval.Ask == nil {
		return ErrNoApprover
	}
	q, bound, err := question(ctx, e.tool, e.asked.ID, e.call)
	if wrong, ok := errors.AsType[previewError](err); ok && ctx.Err() == nil && !pauses(err) {
		e.refuse(wrong.Error())
		return nil
	}
	if err != nil {
		return err
	}
	for {
		// The key does not depend on the binding. If the binding changes while the question
		// is open, the decision still arrives here and is rejected with a reason.
		q.Problem = e.approval.problem
		d, err := e.options.Approval.Ask(ctx, fmt.Sprintf("%s %d", e.asked.ID, e.approval.round), q.clone())
		if err != nil {
			return err
		}
		e.approval.problem, err = e.judge(ctx, d, bound)
		e.approval.round++
		if err != nil || e.approval.problem == "" {
			return err
		}
		if e.approval.round >= maxDecisions {
			return fmt.Errorf("there were %d decisions about the call, and none that is valid; the last one: %s", maxDecisions, e.approval.problem)
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
}

// judge applies a decision, or returns the reason why the decision is invalid. With Once,
// it stores the reason, so that the decision stays invalid even if a later run has the binding
// of the decision: the person may have decided again meanwhile.
func (e *callRun) judge(ctx context.Context, d Decision, bound binding) (problem string, err error) {
	if e.options.Once == nil {
		return e.follow(d, bound), nil
	}
	key := fmt.Sprintf("%s void %d", e.asked.ID, e.approval.round)
	stored, err := e.options.Once(ctx, key, func(context.Context) (llm.Message, error) { return llm.Message{}, errAbsent })
	if !errors.Is(err, errAbsent) {
		return stored.Text(), err
	}
	if problem = e.follow(d, bound); problem == "" {
		return "", nil
	}
	_, err = e.options.Once(ctx, key, func(context.Context) (llm.Message, error) { return llm.ToolResult(e.asked, problem), nil })
	return problem, err
}

// follow applies a decision. If the decision is invalid, it returns the reason.
func (e *callRun) follow(d Decision, bound binding) (problem string) {
	if why := bound.mismatch(d.Hash); why != "" {
		return why
	}
	switch d.Verdict {
	case Approved:
	case Rejected:
		why := cmp.Or(d.By, "a person") + " rejected this call"
		if d.Reason != "" {
			why += ": " + d.Reason
		}
		e.refuse(why)
	case Edited:
		if text := string(bytes.TrimSpace(d.Arguments)); text == "" || text == "null" {
			return "there are no new arguments"
		}
		arguments, run, err := e.tool.prepared(d.Arguments)
		if err != nil {
			return "the new arguments do not fit: " + err.Error()
		}
		e.call.Arguments, e.run, e.edited = arguments, run, cmp.Or(d.By, "a person")
	default:
		return fmt.Sprintf("there is no verdict %q", d.Verdict)
	}
	return ""
}

// errAbsent is returned by Once if it has no stored result for a key.
var errAbsent = errors.New("nothing is stored")

// begin marks the approved call as begun. If an earlier run began the call, and neither its
// answer nor a pause of the tool was stored, begin asks a person again.
func (e *callRun) begin(ctx context.Context) error {
	if e.options.Once == nil {
		return nil
	}
	for {
		known, err := e.known(ctx, "begun")
		if err != nil {
			return err
		}
		if !known {
			return e.mark(ctx, "begun")
		}
		paused, err := e.known(ctx, "paused")
		if err != nil {
			return err
		}
		e.approval.run++
		if paused {
			continue
		}
		e.approval.problem = "the call was approved and begun before, and its outcome is unknown"
		if err := e.approve(ctx); err != nil || e.answer != nil {
			return err
		}
	}
}

// pause stores that the tool paused, so that the approval is still valid when the tool
// resumes.
func (e *callRun) pause(ctx context.Context) error {
	if e.approval == nil || e.options.Once == nil {
		return nil
	}
	return e.mark(ctx, "paused")
}

func (e *callRun) markKey(what string) string {
	return fmt.Sprintf("%s %s %d", e.asked.ID, what, e.approval.run)
}

func (e *callRun) known(ctx context.Context, what string) (bool, error) {
	_, err := e.options.Once(ctx, e.markKey(what), func(context.Context) (llm.Message, error) { return llm.Message{}, errAbsent })
	if errors.Is(err, errAbsent) {
		return false, nil
	}
	return err == nil, err
}

func (e *callRun) mark(ctx context.Context, what string) error {
	_, err := e.options.Once(ctx, e.markKey(what), func(context.Context) (llm.Message, error) {
		return llm.ToolResult(e.asked, what), nil
	})
	return err
}
