package tools_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

func TestNamedReportsPatternsThatMatchNoTool(t *testing.T) {
	t.Parallel()
	set := mustSet(t, doing("delete_event", nil2), doing("send_mail", nil2), doing("drop_file", nil2))
	actions := state.Append[tools.Action]("actions")
	const all = "the tools are delete_event, send_mail, drop_file"
	tests := []struct {
		name string
		o    tools.Options
		want []string // empty means no mistake
	}{
		{"names and patterns that match", tools.Options{Approval: tools.Approval{Rule: tools.Named("send_mail", "delete_*", "*", "d**e", "*_f*e")}}, nil},
		{"no rule", tools.Options{}, nil},
		{"no pattern", tools.Options{Approval: tools.Approval{Rule: tools.Named()}}, nil},
		{"a misspelt name", tools.Options{Approval: tools.Approval{Rule: tools.Named("send_mail", "delete_evnt")}}, []string{`Named("delete_evnt")`, `did you mean "delete_event"?`}},
		{"a misspelt prefix", tools.Options{Approval: tools.Approval{Rule: tools.Named("delte_*")}}, []string{`Named("delte_*")`, `did you mean "delete_event"?`}},
		{"a misspelt suffix", tools.Options{Approval: tools.Approval{Rule: tools.Named("*_flie")}}, []string{`did you mean "drop_file"?`}},
		{"a suffix too long", tools.Options{Approval: tools.Approval{Rule: tools.Named("*_files")}}, []string{`Named("*_files")`}},
		{"parts out of order", tools.Options{Approval: tools.Approval{Rule: tools.Named("*file*drop*")}}, []string{`Named("*file*drop*")`}},
		{"a letter used twice", tools.Options{Approval: tools.Approval{Rule: tools.Named("drop_f*file")}}, []string{`Named("drop_f*file")`}},
		{"no similar tool", tools.Options{Approval: tools.Approval{Rule: tools.Named("purchase")}}, []string{all}},
		{"an empty pattern", tools.Options{Approval: tools.Approval{Rule: tools.Named("")}}, []string{`Named("")`}},
		{"in combined rules", tools.Options{Approval: tools.Approval{Rule: tools.Destructive().Or(tools.Named("x1").And(tools.ReadOnly())).Or(tools.Named("x2").Not())}}, []string{`Named("x1")`, `Named("x2")`}},
		{"in the rule of planning", tools.Options{Planning: &tools.Planning{Rule: tools.Named("delete_evnt"), Actions: actions}}, []string{`did you mean "delete_event"?`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, callErr := set.Call(t.Context(), numbered(1, "send_mail"), test.o)
			_, allErr := set.CallAll(t.Context(), []llm.ToolCall{numbered(1, "send_mail")}, test.o)
			metaErr := test.o.Check(set.Meta())
			for name, err := range map[string]error{"Check": test.o.Check(set), "Meta": metaErr, "Call": callErr, "CallAll": allErr} {
				if len(test.want) == 0 {
					require.NotErrorIs(t, err, tools.ErrPattern, name)
					continue
				}
				require.ErrorIs(t, err, tools.ErrPattern, name)
				for _, want := range test.want {
					if name != "Meta" || want != all {
						assert.ErrorContains(t, err, want, name)
					}
				}
			}
		})
	}
	assert.ErrorContains(t, tools.Named("x").Check(nil), "there are no tools")
}
