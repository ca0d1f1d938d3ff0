package deep

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/tools"
)

// A Runner runs shell commands, for example in a container. Implementations are safe for
// concurrent use. [Process] is one.
type Runner interface {
	// Run runs a command and returns its output. A command that fails is not an error: its
	// output has the exit code.
	Run(ctx context.Context, command string) (Output, error)
}

// An Output is the result of a command.
type Output struct {
	// Text is the standard output and standard error of the command.
	Text string
	// Code is the exit code; -1 if a signal ended the command.
	Code int
	// Dropped is the number of bytes that were dropped at the beginning of the output.
	Dropped int
}

// CommandTool is the name of the tool of [Commands].
const CommandTool = "execute"

// A Permission says whether a person has to approve commands.
type Permission bool

// The permissions of [Commands].
const (
	AskFirst   Permission = false // a person approves each command; see agent.Approval
	Unattended Permission = true  // commands run without a question
)

// Commands lets the model run shell commands. Use Unattended only with a Runner that confines
// commands, for example to a container without a network: a document that the model reads can
// contain instructions to run commands.
func Commands(r Runner, p Permission) agent.Middleware {
	m := agent.Middleware{Name: "commands", Tools: []tools.Tool{
		tools.New(CommandTool, "Runs a shell command and returns its output and exit code.", func(ctx context.Context, in commandIn) (tools.Result, error) {
			out, err := r.Run(ctx, in.Command)
			text := out.Text
			if out.Dropped > 0 {
				text = fmt.Sprintf("(the first %d bytes are left out)\n%s", out.Dropped, text)
			}
			return tools.Result{Text: fmt.Sprintf("%s\n[exit code %d]", text, out.Code), Failed: out.Code != 0}, err
		}).Annotate(tools.Annotations{Category: "commands", Destructive: true, OpenWorld: true}),
	}}
	if c, ok := r.(interface{ check() error }); ok { // a Process
		m.Err = c.check()
	}
	if p == AskFirst {
		m.Approve = tools.Named(CommandTool)
	}
	return m
}

type commandIn struct {
	Command string `json:"command" jsonschema:"the command for the shell"`
}
