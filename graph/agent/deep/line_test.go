package deep_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent/deep"
)

var readOn = regexp.MustCompile(`… \(\d+ more bytes; continue with offset (\d+) and column (\d+)\)$`)

// A file of one long line, such as JSON of a tool, can be read to its end: each answer gives the
// place at which to continue, and no character is cut.
func TestLongLineIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 9000 {
		list = append(list, fmt.Sprint("größe ", i))
	}
	long, err := json.Marshal(list)
	require.NoError(t, err)
	call := callTools(t, deep.FileTools(deep.State()))
	call(toolCall(deep.WriteTool, map[string]any{"file_path": "/a", "content": "first\n" + string(long) + "\nlast"}))
	got, column, calls := "", 0, 0
	for {
		text := call(toolCall(deep.ReadTool, map[string]any{"file_path": "/a", "offset": 1, "limit": 1, "column": column}))[0].Text()
		text, _, more := strings.Cut(text, "\n… 1 more lines")
		require.True(t, more)
		text, ok := strings.CutPrefix(text, "2\t")
		require.True(t, ok)
		calls++
		found := readOn.FindStringSubmatch(text)
		if found == nil {
			got += text
			break
		}
		got += strings.TrimSuffix(text, found[0])
		require.Equal(t, "1", found[1])
		column, err = strconv.Atoi(found[2])
		require.NoError(t, err)
	}
	assert.Equal(t, string(long), got)
	assert.LessOrEqual(t, calls, 6)
}

// The result of grep has the place of the match in a long line.
func TestGrepShowsTheMatchInALongLine(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("ü", 5000) + "needle" + strings.Repeat("x", 5000)
	call := callTools(t, deep.FileTools(deep.State()))
	answers := call(toolCall(deep.WriteTool, map[string]any{"file_path": "/a", "content": text}))
	require.Equal(t, "Wrote /a, 15006 bytes.", answers[0].Text())
	found := call(toolCall(deep.GrepTool, map[string]any{"pattern": "needle"}))[0].Text()
	want := fmt.Sprintf("/a:1: %sneedle%s (column 9900 of a line of 15006 bytes)", strings.Repeat("ü", 50), strings.Repeat("x", 194))
	assert.Equal(t, want, found)
	read := call(toolCall(deep.ReadTool, map[string]any{"file_path": "/a", "column": 9901}))[0].Text()
	assert.True(t, strings.HasPrefix(read, "1\t"+strings.Repeat("ü", 50)+"needle"), read[:20])
}
