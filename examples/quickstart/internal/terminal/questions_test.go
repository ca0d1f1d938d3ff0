package terminal

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestQuestions asks about documents of this repository. An answer must quote the words of a
// passage under the heading. If a document changes, change its row.
func TestQuestions(t *testing.T) {
	t.Parallel()
	tests := []struct{ file, question, heading, words string }{
		{"docs/execution.md", "what is a superstep?", "A superstep", "A superstep is one round of a run"},
		{"docs/execution.md", "What's a checkpoint", "Words", "the stored state of a thread between two supersteps"},
		{"docs/execution.md", "what is a subgraph?", "Subgraphs", "A subgraph is a node that runs a graph"},
		{"docs/execution.md", "what happens when a task fails?", "Failure", "its siblings continue"},
		{"docs/execution.md", "what does a crash lose with Async?", "Durability", "at most the last superstep"},
		{"docs/execution.md", "what is a fork?", "Words", "a new branch of a thread"},
		{"docs/execution.md", "what is MaxSteps?", "Limits and cancellation", "`MaxSteps` counts the supersteps"},
		{"docs/execution.md", "what is the idempotency key?", "Side effects", "The idempotency key is the same whenever a task runs again"},
		{"docs/storage.md", "what is a lease?", "What every store promises", "a lease is a lock of the operating system"},
		{"docs/storage.md", "what is a snapshot?", "Snapshots", "the checkpoint carries a snapshot"},
		{"docs/storage.md", "how do I encrypt checkpoints?", "Encryption", "`checkpoint.Encrypted` wraps a store"},
		{"docs/storage.md", "how do I delete a thread?", "Retention", "`DeleteThread`"},
		{"docs/tools.md", "what are meta-tools?", "Meta-tools", "three tools that stand for a whole set"},
		{"docs/agents.md", "what is a supervisor?", "Several agents", "`agent.Supervisor` returns an agent"},
		{"docs/memory.md", "what is a chunk?", "Documents", "into chunks of some 400 tokens"},
		{"examples/csvanalyst/README.md", "which model is used without a key?", "Questions about CSV files", "rules in `internal/offline` stand for the model"},
		{"examples/calendar/README.md", "which process takes the answer?", "An assistant that asks first", "any process can take the answer"},
		{"examples/quickstart/internal/reader/agent.go", "what is New?", "", "New returns the graph of the quickstart"},
		{"examples/hello/main.go", "what is hello?", "", "Hello is an agent with one tool"},
		{"LICENSE", "is there a warranty?", "", "WITHOUT WARRANTY OF ANY KIND"},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.question, func(t *testing.T) {
			t.Parallel()
			answer, source, found := strings.Cut(askAbout(t, tt.file, tt.question), "\n\n  ")
			assert.Contains(t, strings.Join(strings.Fields(answer), " "), tt.words)
			require.True(t, found, "the answer has no source: %s", answer)
			source, _, _ = strings.Cut(strings.Join(strings.Fields(source), " "), " see also")
			assert.Contains(t, source, tt.file+", line")
			if tt.heading != "" {
				assert.Contains(t, source, "("+tt.heading+")")
			}
		})
	}
}

func TestQuestionsWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, question, want string }{
		{"docs/execution.md", "what is a database?", `does not mention "database"`},
		{"docs/execution.md", "why is the sky blue?", `does not mention "sky" or "blue"`},
		{"docs/storage.md", "what does a zebra eat?", `does not mention "zebra" or "eat"`},
		{"docs/storage.md", "what is a chekpoint?", `does not mention "chekpoint".`},
		{"LICENSE", "what is a superstep?", `does not mention "superstep"`},
	} {
		got := strings.Join(strings.Fields(askAbout(t, tt.file, tt.question)), " ")
		assert.Contains(t, got, "I found no passage about that: ", tt.question)
		assert.Contains(t, got, tt.want, tt.question)
	}
}

// If the text lacks a word of the question, the answer names the word and quotes the closest
// passages.
func TestQuestionsWithAnUnknownWord(t *testing.T) {
	t.Parallel()
	got := askAbout(t, "docs/execution.md", "when does a zebra run a subgraph of the parent?")
	assert.Contains(t, got, `The text does not mention "zebra".`)
	assert.Contains(t, got, "docs/execution.md, lines ")
}

// askAbout asks about a file of the repository, in a new conversation.
func askAbout(t *testing.T, file, question string) string {
	t.Helper()
	f := folder{t, t.TempDir()}
	var out, errs strings.Builder
	path := filepath.Join("..", "..", "..", "..", filepath.FromSlash(file))
	status := quickstart.Run(t.Context(), []string{"-db", f.path("q.db"), "-file", path, question}, strings.NewReader(""), &out, &errs)
	require.Equal(t, done, status, errs.String())
	return out.String()
}
