package deep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// Results configures [MoveResults]. The zero value is valid.
type Results struct {
	// Above is a size in bytes. Larger results are moved to a file. Zero means 16 KiB. A result
	// larger than agent.Options.Tools.MaxText is cut off first.
	Above int
	// Folder is the folder of the files. Empty means /results.
	Folder string
	// Exclude has the names of tools whose results are not moved. Results of the tools of
	// [FileTools] are never moved.
	Exclude []string
}

const beginning = 1000 // bytes of a moved result that the model gets

// MoveResults writes long results of tools to files. The model gets the beginning and the name of
// the file, which it can read or search with the tools of [FileTools]. The answers of sub-agents are
// not moved. MoveResults panics if the folder is not the name of a folder.
func MoveResults(files Files, o Results) agent.Middleware {
	if o.Above <= 0 {
		o.Above = 16 << 10
	}
	if o.Folder == "" {
		o.Folder = "/results"
	}
	mustBeFolder("MoveResults", o.Folder)
	return agent.Middleware{Name: "move results", Channels: files.Channels(), WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
		out, err := next(ctx, c)
		text := out.Message.Text()
		if err != nil || len(text) <= o.Above || slices.Contains(o.Exclude, tools.Invoked(c.Call)) || isFileTool(c.Call.Name) {
			return out, err
		}
		sum := sha256.Sum256([]byte(text))
		name, err := clean(o.Folder + "/" + hex.EncodeToString(sum[:8]) + ".txt")
		if err != nil {
			return tools.Outcome{}, err
		}
		update, err := files.Write(ctx, c.State, name, text)
		if err != nil {
			return tools.Outcome{}, fmt.Errorf("deep: moving a result: %w", err)
		}
		head := strings.ToValidUTF8(text[:min(beginning, len(text))], "")
		note := fmt.Sprintf("The result has %d bytes and is in the file %s. Read or search it there. It begins:\n\n%s…", len(text), name, head)
		parts := []llm.Part{llm.Text(note)}
		for _, p := range out.Message.Parts {
			if p.Type != llm.PartText {
				parts = append(parts, p)
			}
		}
		out.Message.Parts = parts
		out.Update = append(slices.Clip(out.Update), update...)
		return out, nil
	}}
}

func isFileTool(name string) bool {
	return slices.Contains([]string{ListTool, ReadTool, WriteTool, EditTool, GlobTool, GrepTool}, name)
}
