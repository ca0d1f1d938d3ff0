package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/server/internal/question"
)

const (
	answerName   = "answer"
	answerSchema = `{"type":"object","required":["thread_id","answer"],"properties":{` +
		`"thread_id":{"type":"string","format":"uuid","description":"The thread that waits."},` +
		`"question_id":{"type":"string","description":"The question. It may be left out if there is only one."},` +
		`"answer":{"description":"The answer: any JSON value."}}}`
)

// An answerTool is the tool "answer", which answers questions.
type answerTool struct {
	from    *origin
	answers Answers
}

func (t *answerTool) description() string {
	text := "Answers the question of a tool that waits. The result of the tool names the thread and the question."
	if t.answers != AnswerApprovals {
		text += " An approval is put to the person."
	}
	return text
}

func (t *answerTool) call(ctx context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct {
		Thread   string          `json:"thread_id"`
		Question string          `json:"question_id"`
		Answer   json.RawMessage `json:"answer"`
	}
	if err := json.Unmarshal(q.Params.Arguments, &args); err != nil || args.Thread == "" || len(args.Answer) == 0 {
		return failed("thread_id or answer is missing."), nil
	}
	r := &toolRun{from: t.from.with(headerOf(q)), request: q, answers: t.answers, thread: args.Thread, kept: true}
	thread, err := r.from.thread(ctx, args.Thread)
	if err != nil {
		return told(err)
	}
	r.graph = thread.Metadata.Graph
	open, why := thread.open(args.Question)
	if why != "" {
		return failed(why), nil
	}
	if question.Approves(open.Value) && t.answers != AnswerApprovals {
		if !r.canAsk() {
			return failed(onlyAPerson), nil
		}
		r.questions = []asked{open}
		return r.all(ctx, nil)
	}
	problem, err := r.step(ctx, r.resume(map[string]any{open.ID: open.read(args.Answer)}))
	switch {
	case err != nil:
		return told(err)
	case problem != "" && len(r.questions) > 0:
		return failed(problem), nil
	}
	return r.all(ctx, nil)
}

const onlyAPerson = "This question is an approval: only a person can answer it, in a client of the service that can ask, such as its pages. The call still waits."

// read converts the answer from the model of a client. For an approval, "approve" and "reject" become decisions about the
// call that the question shows. Each decision names the client as its maker, whatever the answer says.
func (q asked) read(answer json.RawMessage) any {
	const by = "the client"
	call := question.Approval(q.Value)
	if call == nil {
		return answer
	}
	var word string
	if json.Unmarshal(answer, &word) == nil {
		if d, ok := question.Decide(call, word, ""); ok {
			d.By = by
			return d
		}
		return answer
	}
	var decision map[string]json.RawMessage
	if json.Unmarshal(answer, &decision) != nil || decision == nil {
		return answer
	}
	decision["by"] = json.RawMessage(`"` + by + `"`)
	return decision
}

// A waitingThread is a thread with its open questions.
type waitingThread struct {
	Metadata struct {
		Graph string `json:"graph_id"`
	} `json:"metadata"`
	Status     string             `json:"status"`
	Interrupts map[string][]asked `json:"interrupts"`
}

// thread returns a thread of the user by its id.
func (o *origin) thread(ctx context.Context, id string) (t waitingThread, err error) {
	err = o.do(ctx, http.MethodGet, "/threads/"+id, nil, &t)
	return t, err
}

// questions returns the open questions.
func (t *waitingThread) questions() []asked {
	var out []asked
	if t.Status == "interrupted" {
		for _, open := range t.Interrupts {
			out = append(out, open...)
		}
	}
	slices.SortFunc(out, func(a, b asked) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// open returns the open question with an id, or the only open question if id is empty. why is the reason if there is no
// such question.
func (t *waitingThread) open(id string) (q asked, why string) {
	all := t.questions()
	if len(all) == 0 {
		return asked{}, "The thread waits for no answer."
	}
	if id == "" && len(all) == 1 {
		return all[0], ""
	}
	for _, q := range all {
		if q.ID == id {
			return q, ""
		}
	}
	if id == "" {
		return asked{}, fmt.Sprintf("The thread has %d open questions; name one as question_id.", len(all))
	}
	return asked{}, "The thread has no open question " + id + "."
}
