// Command quickstart is an agent that answers questions about a text file. The next
// run of the program continues the conversation.
//
//	go run ./examples/quickstart -file PATH "what is a checkpoint?"
//	go run ./examples/quickstart -file PATH
//
// Rules answer, without a key and without network. The command withmodel beside it asks a
// language model, and chat opens a page.
//
// Read internal/reader/agent.go first: it is the agent. Then read internal/terminal, which
// starts, resumes and forks its runs, and shows their events.
package main

import (
	"context"
	"time"

	"github.com/weft-go/weft/examples/quickstart/internal/offline"
	"github.com/weft-go/weft/examples/quickstart/internal/terminal"
	"github.com/weft-go/weft/llm"
)

func main() { program.Main() }

var program = terminal.Program{
	Command: "examples/quickstart",
	Models: `Rules answer: they find a passage and quote it, without a key and without network.
They do not understand the text. A language model, or a page in the browser:

  go run ./examples/quickstart/withmodel -h
  go run ./examples/quickstart/chat -h
`,
	Model: func(_ context.Context, pace time.Duration) (llm.Model, string, error) {
		return offline.Model{Pace: pace}, "rules that quote a passage; no language model, no key, no network", nil
	},
	Hint: "Rules found this, no model did. -v shows each step; -h also lists a page.",
}
