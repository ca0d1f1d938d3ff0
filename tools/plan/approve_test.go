package plan_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

type owner string

// A drawer provides tools. The tool find returns the current content of the drawer.
type drawer struct {
	found, description string
	deleted            []string
}

func (d *drawer) set(t *testing.T) *tools.Set {
	t.Helper()
	type deletion struct {
		ID   string `json:"id"`
		User tools.Bound[owner]
	}
	set, err := tools.NewSet(
		tools.New("find", "Finds a file.", func(context.Context, struct{}) ([]eventID, error) { return []eventID{{d.found}}, nil }).Annotate(tools.Annotations{ReadOnly: true}),
		tools.New("delete", d.description, func(_ context.Context, in deletion) (string, error) {
			d.deleted = append(d.deleted, string(in.User.Value())+"/"+in.ID)
			return "deleted", nil
		}).Annotate(tools.Annotations{Destructive: true}),
	)
	require.NoError(t, err)
	return set
}

var errAsked = errors.New("a person is asked")

// TestApprovedAsksAboutResolvedReferences proves that the approval of a plan covers only
// calls with known arguments, and that a person is asked about the other calls when their
// arguments are known.
func TestApprovedAsksAboutResolvedReferences(t *testing.T) {
	t.Parallel()
	list := []tools.Action{act("find", "find", ``), act("known", "delete", `{"id":"$${7}"}`), act("later", "delete", `{"id":"${find.0.id}"}`)}
	tests := []struct {
		name, user, description string
		asked                   []string
		deleted                 []string
	}{
		{"the same", "ann", "Deletes a file.", []string{`later {"id":"9"}`}, []string{"ann/${7}"}},
		{"another user", "bob", "Deletes a file.", []string{`known {"id":"${7}"}`, `later {"id":"9"}`}, nil},
		{"another description", "ann", "Deletes all files.", []string{`known {"id":"${7}"}`, `later {"id":"9"}`}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := &drawer{found: "8", description: "Deletes a file."}
			questions, err := plan.Questions(tools.WithBound(t.Context(), owner("ann")), d.set(t), list, tools.Destructive())
			require.NoError(t, err)
			require.Len(t, questions, 1, "a question about arguments that are not known")
			assert.Equal(t, "known", questions[0].CallID)
			assert.JSONEq(t, `{"id":"${7}"}`, string(questions[0].Arguments))

			d.found, d.description = "9", test.description
			var mu sync.Mutex
			var asked []string
			ask := plan.Approved(questions, func(_ context.Context, _ string, q tools.Question) (tools.Decision, error) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, q.CallID+" "+string(q.Arguments))
				return tools.Decision{}, errAsked
			})
			_, err = plan.Run(tools.WithBound(t.Context(), owner(test.user)), d.set(t), list, plan.Options{Tools: tools.Options{Approval: tools.Approval{Rule: tools.Destructive(), Ask: ask}}})
			require.ErrorIs(t, err, errAsked)
			assert.ElementsMatch(t, test.asked, asked)
			assert.Equal(t, test.deleted, d.deleted)
		})
	}
}

func TestApprovedWithoutAnAskFunction(t *testing.T) {
	t.Parallel()
	_, err := plan.Approved(nil, nil)(t.Context(), "key", tools.Question{CallID: "1"})
	require.ErrorIs(t, err, tools.ErrNoApprover)
}

// TestApprovedAsksAboutACallThatWasBegun proves that a person is asked about a call that an
// earlier run began, although the plan was approved.
func TestApprovedAsksAboutACallThatWasBegun(t *testing.T) {
	t.Parallel()
	q := tools.Question{CallID: "1", Hash: "h"}
	ask := plan.Approved([]tools.Question{q}, nil)
	d, err := ask(t.Context(), "key", q)
	require.NoError(t, err)
	assert.Equal(t, q.Approve(), d)
	q.Problem = "the call was begun before"
	_, err = ask(t.Context(), "key", q)
	require.ErrorIs(t, err, tools.ErrNoApprover)
}

func TestQuestionsReportsMistakes(t *testing.T) {
	t.Parallel()
	d := &drawer{description: "Deletes a file."}
	_, err := plan.Questions(t.Context(), d.set(t), []tools.Action{act("a", "none", ``)}, tools.Destructive())
	require.ErrorIs(t, err, plan.ErrInvalid)
	_, err = plan.Questions(t.Context(), d.set(t), []tools.Action{act("a", "delete", `{"id":"7"}`)}, tools.Destructive())
	require.ErrorIs(t, err, tools.ErrUnbound)
	_, err = plan.Questions(t.Context(), d.set(t), []tools.Action{act("a", "find", ``)}, tools.Named("fin"))
	require.ErrorIs(t, err, tools.ErrPattern)
	questions, err := plan.Questions(t.Context(), d.set(t), []tools.Action{act("a", "find", ``)}, tools.Named("find"))
	require.NoError(t, err)
	assert.Len(t, questions, 1)
}
