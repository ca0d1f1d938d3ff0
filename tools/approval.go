package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
)

// Approval says which calls wait for a person. Its zero value is none.
type Approval struct {
	// Rule selects the calls. The zero Rule selects none.
	Rule Rule
	// Ask puts a question to a person, and returns the answer or an error that
	// pauses the run. One question has one key. In a graph it waits on an
	// interrupt:
	//
	//	var Approve = graph.NewInterrupt[tools.Question, tools.Decision]("approve_tool")
	//
	//	func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
	//		return Approve.WaitKey(ctx, key, q)
	//	}
	//
	// Without it, a call that Rule picks fails with [ErrNoApprover].
	Ask func(ctx context.Context, key string, q Question) (Decision, error)
}

// A Question asks a person to approve one call. It is stored as JSON.
type Question struct {
	// CallID is the id of the call.
	CallID string `json:"call_id"`
	// Tool is the name of the tool, and Description what the model was told of
	// it.
	Tool        string `json:"tool"`
	Description string `json:"description"`
	// Annotations say what kind of tool it is.
	Annotations Annotations `json:"annotations,omitzero"`
	// Arguments are the exact arguments with which the tool runs, without those that
	// the program sets. In a plan, references are resolved.
	Arguments json.RawMessage `json:"arguments"`
	// Bound are the values of the program for which the tool acts; see [Bound].
	Bound []BoundValue `json:"bound,omitempty"`
	// Hash identifies the subject of the question: the tool's name, description,
	// schema and annotations, the arguments, and the bound values. A decision is
	// valid for this hash only. The hash covers secret values too, so a secret must
	// be hard to guess.
	Hash string `json:"hash"`
	// Problem, when not empty, says why the question is asked again.
	Problem string `json:"problem,omitempty"`
}

// A Verdict is what a person decides about a call.
type Verdict string

// The verdicts.
const (
	Approved Verdict = "approve" // the call is made as it is
	Rejected Verdict = "reject"  // the call is not made, and the model is told why
	Edited   Verdict = "edit"    // the call is made with other arguments
)

// A Decision answers a [Question]. It is made by the question's methods. It is
// stored as JSON, as which a front end may write it too:
//
//	{"verdict":"approve","hash":"…"}
//	{"verdict":"reject","hash":"…","reason":"not today"}
//	{"verdict":"edit","hash":"…","arguments":{"id":"7"}}
//
// A decision that does not bear the hash of the question is no answer to it: it
// is asked again.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	// Hash is that of the question.
	Hash string `json:"hash"`
	// Reason is what the model is told about a call that was rejected.
	Reason string `json:"reason,omitempty"`
	// Arguments replace those of a call that was edited, all of them. They have
	// to be there and to fit the tool's schema, else the question is asked again.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Text returns the question as text for a person: one line each for the tool with its
// description, the arguments, every bound value, and the problem. It replaces invisible
// characters as [Visible] does. Without it, a model, a tool or a document could write a
// question that looks like another.
func (q Question) Text() string {
	var b strings.Builder
	line := func(name, text string) {
		b.WriteString("\n" + name + ": " + VisibleLine(text))
	}
	b.WriteString(VisibleLine(q.Tool + ": " + q.Description))
	line("arguments", string(q.Arguments))
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
	q.Arguments, q.Bound = bytes.Clone(q.Arguments), slices.Clone(q.Bound)
	return q
}

// Approve lets the call be made.
func (q Question) Approve() Decision { return Decision{Verdict: Approved, Hash: q.Hash} }

// Reject keeps the call from being made. The model is told the reason, which may
// be empty.
func (q Question) Reject(reason string) Decision {
	return Decision{Verdict: Rejected, Hash: q.Hash, Reason: reason}
}

// Edit lets the call be made with these arguments. The model is told so.
func (q Question) Edit(arguments json.RawMessage) Decision {
	return Decision{Verdict: Edited, Hash: q.Hash, Arguments: arguments}
}

// EditedArguments is the key, in the metadata of an answer, of the arguments that
// a person put in the place of the model's. The first part of such an answer
// tells the model of them.
const EditedArguments = "edited_arguments"

// noted returns an answer which says, where it is so, that a person changed the
// arguments.
func (e *errand) noted(m llm.Message) llm.Message {
	delete(m.Metadata, EditedArguments) // a tool does not say so
	if !e.edited {
		return m
	}
	note := fmt.Sprintf("A person changed the arguments; the tool ran with %s\n\n", e.call.Arguments)
	m.Parts = append([]llm.Part{llm.Text(note)}, m.Parts...)
	if m.Metadata == nil {
		m.Metadata = map[string]json.RawMessage{}
	}
	m.Metadata[EditedArguments] = bytes.Clone(e.call.Arguments)
	return m
}

// A gate is where a call waits for approval.
type gate struct {
	round   int    // how often it was asked
	problem string // why it is asked again
	run     int    // how often the approved call was begun
}

// approve asks until there is a decision that can be carried out.
func (e *errand) approve(ctx context.Context) error {
	if e.options.Approval.Ask == nil {
		return ErrNoApprover
	}
	q, bound, err := question(ctx, e.tool, e.asked.ID, e.call)
	if err != nil {
		return err
	}
	for {
		// The key does not depend on the binding. If the binding changes while the
		// question is open, the decision arrives here and is rejected with a reason.
		q.Problem = e.gate.problem
		d, err := e.options.Approval.Ask(ctx, fmt.Sprintf("%s %d", e.asked.ID, e.gate.round), q.clone())
		if err != nil {
			return err
		}
		e.gate.problem, err = e.judge(ctx, d, bound)
		e.gate.round++
		if err != nil || e.gate.problem == "" {
			return err
		}
	}
}

// judge follows a decision, or returns the reason why it is void. A void decision stays
// void: if a later run has the binding that the decision was for, the person may have
// decided otherwise since.
func (e *errand) judge(ctx context.Context, d Decision, bound binding) (problem string, err error) {
	if e.options.Once == nil {
		return e.follow(d, bound), nil
	}
	key := fmt.Sprintf("%s void %d", e.asked.ID, e.gate.round)
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

// follow applies a decision. It returns the reason if the decision is not valid.
func (e *errand) follow(d Decision, bound binding) (problem string) {
	if why := bound.mismatch(d.Hash); why != "" {
		return why
	}
	switch d.Verdict {
	case Approved:
	case Rejected:
		why := "a person rejected this call"
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
		e.call.Arguments, e.run, e.edited = arguments, run, true
	default:
		return fmt.Sprintf("there is no verdict %q", d.Verdict)
	}
	return ""
}

// errAbsent is how a look at what Once remembers ends when there is nothing.
var errAbsent = errors.New("nothing is remembered")

// begin uses the approval up: where an earlier run of the node began the call
// and did not come to know its end, a person is asked again. A pause of the tool
// itself is not such an end.
func (e *errand) begin(ctx context.Context) error {
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
		e.gate.run++
		if paused {
			continue
		}
		e.gate.problem = "the call was approved and begun before, and what became of it is not known"
		if err := e.approve(ctx); err != nil || e.answer != nil {
			return err
		}
	}
}

// pause notes that the tool waits, so that its approval holds when it goes on.
func (e *errand) pause(ctx context.Context) error {
	if e.gate == nil || e.options.Once == nil {
		return nil
	}
	return e.mark(ctx, "paused")
}

func (e *errand) markKey(what string) string {
	return fmt.Sprintf("%s %s %d", e.asked.ID, what, e.gate.run)
}

func (e *errand) known(ctx context.Context, what string) (bool, error) {
	_, err := e.options.Once(ctx, e.markKey(what), func(context.Context) (llm.Message, error) { return llm.Message{}, errAbsent })
	if errors.Is(err, errAbsent) {
		return false, nil
	}
	return err == nil, err
}

func (e *errand) mark(ctx context.Context, what string) error {
	_, err := e.options.Once(ctx, e.markKey(what), func(context.Context) (llm.Message, error) {
		return llm.ToolResult(e.asked, what), nil
	})
	return err
}
