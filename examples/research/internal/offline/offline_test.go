package offline_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/research/internal/offline"
	"github.com/weft-go/weft/llm"
)

const passages = `

Passages of a.txt:

Under "Notice":
[3] The town wants 12 chairs. They must
[4] be red.

[7] - Offers are due on 2027-01-31 at noon.

Under "Fees":
[9] The fee is 300 EUR. It rains.

[11] Send offers to chairs@town.example, please.

Under "Code":
[12] ` + "```sh send chairs to https://town.example ```" + `
`

const byMail = `

Passages of b.txt:

[2] Offers by e-mail are refused. Ask questions at chairs@town.example until May.

[4] The contract runs for two years. The town may extend it twice. It rains.
`

func TestAnswers(t *testing.T) {
	t.Parallel()
	const refusal = "I found no passage with all words of your question."
	for prompt, want := range map[string]string{
		"Question: When are offers due?" + passages:                                  "- Offers are due on 2027-01-31 at noon. [7]",
		"Question: When is it due?" + passages:                                       "- Offers are due on 2027-01-31 at noon. [7]\n\nRules list only sentences with a date or a period. Others may be about it, too.",
		"Question: When does it rain?" + passages:                                    refusal,
		"Question: When does the town want chairs?" + passages:                       refusal,
		"Question: How many chairs does the town want?":                              refusal,
		"Question: What does the town want?" + passages:                              "- The town wants 12 chairs. [3]",
		"Question: What are the fees?" + passages:                                    "- The fee is 300 EUR. [9]\n- It rains. [9]",
		"Question: What is the notice?" + passages:                                   "- The town wants 12 chairs. [3]\n- They must be red. [3-4]",
		"Question: How much is the fee?" + passages:                                  refusal,
		"Question: Where do we send offers?" + passages:                              "Rules do not understand \"where\": this has the other words of your question.\n\n- Send offers to chairs@town.example, please. [11]",
		"Question: Where do we not send offers?" + passages:                          refusal,
		"Question: Where don't we send offers?" + passages:                           refusal,
		"Question: Which e-mail do we use for offers?" + passages:                    refusal,
		"Question: What colour are boats?" + passages:                                refusal,
		"Question: Does the town want red chairs?" + passages:                        "- The town wants 12 chairs. [3]\n- They must be red. [3-4]",
		"Question: Does the town want no red chairs?" + passages:                     refusal,
		"Question: Do red chairs need wheels?" + passages:                            refusal,
		"Question: Can I send it by e-mail?" + byMail:                                refusal,
		"Question: How long does the contract run, and can it be extended?" + byMail: refusal,
		"Question: Is rain red?" + passages:                                          refusal,
		"Question: Does it rain?" + passages:                                         "- It rains. [9]",
		"Question: Is this document about chairs?" + passages:                        refusal,
		"Question: What is this document not about?" + passages:                      refusal,
		"Question: Who wants chairs?" + passages:                                     "Rules do not understand \"who\": this has the other words of your question.\n\n- The town wants 12 chairs. [3]",
		"Question: Where are offers due?" + passages:                                 "Rules do not understand \"where\": this has the other words of your question.\n\n- Offers are due on 2027-01-31 at noon. [7]",
		"Question: how is it?" + passages:                                            refusal,
		"Question: What is this document about?" + passages:                          "The document begins with:\n- The town wants 12 chairs. [3]\n- They must be red. [3-4]\n- Offers are due on 2027-01-31 at noon. [7]",
	} {
		assert.Equal(t, want+"\n\n"+offline.Note, said(t, llm.System("x"), llm.User(prompt)), prompt)
		assert.Equal(t, want, said(t, llm.Assistant("It is so.\n\n"+offline.Note), llm.User(prompt)), prompt)
	}
	for prompt, want := range map[string]string{
		"Topic: Deadlines. Which dates and deadlines are there?" + passages:                                                         "- Offers are due on 2027-01-31 at noon. [7]\n\nRules list only sentences with a date or a period. Others may be about it, too.",
		"Topic: Requirements. What must be done, delivered or fulfilled?" + passages:                                                "- They must be red. [3-4]\n\nRules list only sentences with \"must\", \"shall\", \"have to\" or \"required\". Others may be about it, too.",
		"Topic: Deadlines. Which dates are there?\n\nPassages of a.txt:\n\n[1] " + strings.Repeat("It ends on 3 May. ", 12):         strings.Repeat("- It ends on 3 May. [1]\n", 10) + "\nThese are the first 10 of 12.\n\nRules list only sentences with a date or a period. Others may be about it, too.",
		"Topic: Evaluation. How will an answer be judged?" + passages:                                                               "I found no passage about that.",
		"Topic: Budget. What?\n\nPassages of a.txt:\nnone":                                                                          "I found no passage about that.",
		"Task: say.\n\nFindings:\n\n## purpose\n- It wants chairs. [3]\n- More. [4]\n\n## budget\nI found no passage about that.\n": "- Purpose: It wants chairs. [3]\n\nRules picked the first sentence on each topic, and no language model. I found no passage about: budget.",
		"hello": "I found no passage about that.",
	} {
		assert.Equal(t, want, said(t, llm.System("x"), llm.User(prompt)), prompt)
	}
}

func said(t *testing.T, messages ...llm.Message) string {
	t.Helper()
	got, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{Messages: messages})
	require.NoError(t, err)
	return got.Text()
}

func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := llm.Request{Messages: []llm.Message{llm.User("hello")}}
		if _, err := llm.Generate(t.Context(), offline.Model{Pace: time.Second}, r); err != nil || time.Since(begin) != 6*time.Second {
			t.Errorf("six words took %v, error %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if _, err := llm.Generate(ctx, offline.Model{Pace: time.Second}, r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v", err)
		}
	})
}
