package offline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/examples/research/internal/offline"
	"github.com/weft-go/weft/llm"
)

const passages = `

Passages of a.txt:
[3-4] (Notice) The town wants 12 chairs. They must be red.
[7] - Offers are due on 2027-01-31 at noon.
[9] (Fees) The fee is 300 EUR. It rains.
[11] Send offers to chairs@town.example, please.
[12] (Code) ` + "```sh send chairs to https://town.example ```" + `
`

func TestAnswers(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"Question: When is it due?" + passages:                                        "- Offers are due on 2027-01-31 at noon. [7]",
		"Question: How much does it cost?" + passages:                                 "- The fee is 300 EUR. [9]",
		"Question: What must be delivered?" + passages:                                "- They must be red. [3-4]",
		"Question: To whom is it sent?" + passages:                                    "- Send offers to chairs@town.example, please. [11]",
		"Question: How will it be judged?" + passages:                                 "The document does not say.",
		"Question: What colour are boats?" + passages:                                 "The document does not say.",
		"Question: Does it rain often: rains?" + passages:                             "- It rains. [9]",
		"Question: What is this document about?" + passages:                           "- The town wants 12 chairs. [3-4]\n- They must be red. [3-4]\n- Offers are due on 2027-01-31 at noon. [7]",
		"Question: chairs?" + passages + "\nBegin your answer with \"Seats:\".":       "Seats:\n- The town wants 12 chairs. [3-4]\n- Send offers to chairs@town.example, please. [11]",
		"Question: what?\n\nPassages of a.txt:\nnone that have words of the question": "The document does not say.",
		"Task: say.\n\nFindings:\n\n## purpose\nPurpose:\n- It wants chairs. [3]\n- More. [4]\n\n## budget\nBudget:\nThe document does not say.\n": "I am rules and not a language model: this is the first finding of each topic.\nPurpose: It wants chairs. [3]\nLeft open: budget.",
		"hello": "The document does not say.",
	} {
		got, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{Messages: []llm.Message{llm.System("x"), llm.User(prompt)}})
		if err != nil || got.Text() != want {
			t.Errorf("%s: got %q, error %v want %q", prompt, got.Text(), err, want)
		}
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := llm.Request{Messages: []llm.Message{llm.User("hello")}}
		if _, err := llm.Generate(t.Context(), offline.Model{Pace: time.Second}, r); err != nil || time.Since(begin) != 5*time.Second {
			t.Errorf("five words took %v, error %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if _, err := llm.Generate(ctx, offline.Model{Pace: time.Second}, r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v", err)
		}
	})
}
