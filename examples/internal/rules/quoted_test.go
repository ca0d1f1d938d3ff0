package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/examples/internal/rules"
)

// Quoted names the words of the question that no rule understands. Without such words it returns
// the quotation alone.
func TestQuotedNamesWords(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"What is a loom?":         "A loom.",
		"How nowhere is another?": "A loom.",
		"How many looms?":         `Rules do not understand "how many": this has the other words of your question.` + "\n\nA loom.",
		"Who's there?":            `Rules do not understand "who": this has the other words of your question.` + "\n\nA loom.",
		"WHY is it not red":       `Rules do not understand "why" and "not": this has the other words of your question.` + "\n\nA loom.",
		"Where can’t I park?":     `Rules do not understand "where" and "can’t": this has the other words of your question.` + "\n\nA loom.",
	} {
		assert.Equal(t, want, rules.Quoted(question, "A loom."), question)
	}
}
