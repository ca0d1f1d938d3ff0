package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

// noted begins the planner's last message. The ids of the calls whose results answer the user follow.
const noted = "That is all."

const helpText = `I am a set of rules and not a language model, but I work on your real calendar, mail and tasks. Tell me for example:
  - what's on my calendar this week?
  - when is my meeting with John?
  - when am I free on Friday afternoon?
  - schedule lunch with Ann tomorrow at half past twelve
  - move the dentist to Thursday at 3pm
  - delete my meeting with John
  - any unread mail?
  - read the mail from Ann
  - send a mail to ann@example.com about lunch saying see you at noon
  - reply to the first one that I will come
  - what are my tasks?
  - add a task to call Bob by Friday
  - complete the task call Bob
Several at once work too, joined by "and", or by "and then" where one is to wait for the other.`

// A blocker is the reason why nothing is done. It is the whole answer to the user.
type blocker string

func (b blocker) Error() string { return string(b) }

// plan carries out the request and returns the planner's last message: the ids of the calls whose results answer the
// user, or the reason why nothing was done.
func (d *dialog) plan() (string, error) {
	err := d.all()
	if b, ok := errors.AsType[blocker](err); ok {
		return string(b), nil
	}
	return strings.Join(append([]string{noted}, d.asked...), " "), err
}

// all carries out a request. If a part of it cannot be done, it changes nothing.
func (d *dialog) all() error {
	clauses, ordered, err := understand(d.text)
	if err != nil {
		return err
	}
	var acts []act
	for _, c := range clauses {
		more, err := c.do(d, c.words)
		if err != nil {
			return err
		}
		acts = append(acts, more...)
	}
	switch len(acts) {
	case 0:
		return nil
	case 1:
		_, err = d.call(tools.InvokeTool, object{"tool_name": acts[0].tool, "params": acts[0].params})
		return err
	}
	return d.together(acts, ordered)
}

// together calls make_plan with several acts.
func (d *dialog) together(acts []act, ordered bool) error {
	var actions []tools.Action
	for i, a := range acts {
		params, err := json.Marshal(a.params)
		if err != nil {
			return err
		}
		action := tools.Action{ID: fmt.Sprintf("step_%d", i+1), Tool: a.tool, Arguments: json.RawMessage(strings.ReplaceAll(string(params), "${", "$${"))}
		if ordered && i > 0 {
			action.DependsOn = []string{actions[i-1].ID}
		}
		actions = append(actions, action)
	}
	answer, err := d.call(tools.InvokeTool, object{"tool_name": plan.MakePlan, "params": object{"actions": actions}})
	if err == nil && answer.Status == llm.StatusError {
		return blocker("I could not plan that: " + answer.Text())
	}
	return err
}
