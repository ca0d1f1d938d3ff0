package server

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// views are the files that convert events of the log to the events of clients, and to spans.
var views = []string{"stream.go", "runnable.go", "threadview.go", "aguiview.go", "trace.go"}

// shown has, for each kind of the log, the views that show it.
var shown = map[string][]string{
	"kindStart":      views,
	"kindValues":     {"stream.go", "runnable.go", "threadview.go", "aguiview.go"},
	"kindUpdates":    {"stream.go", "runnable.go", "threadview.go"},
	"kindCustom":     {"stream.go", "runnable.go", "threadview.go", "aguiview.go"},
	"kindNamed":      {"runnable.go", "threadview.go", "aguiview.go"},
	"kindMessage":    views,
	"kindTool":       {"stream.go", "runnable.go", "threadview.go"},
	"kindCheckpoint": {"stream.go", "threadview.go"},
	"kindTask":       views,
	"kindResult":     views,
	"kindInterrupt":  {"stream.go", "threadview.go", "aguiview.go"},
	"kindAttempt":    {"threadview.go", "trace.go"},
	"kindCut":        {"threadview.go"},
	"kindSubgraph":   {"threadview.go"},
	"kindEnd":        views,
}

// TestEachKindOfTheLogIsShown fails for a new kind until the variable shown says which views show the kind.
func TestEachKindOfTheLogIsShown(t *testing.T) {
	t.Parallel()
	kinds := regexp.MustCompile(`(?m)^\t(kind[A-Z]\w*) +=`).FindAllStringSubmatch(read(t, "event.go"), -1)
	require.NotEmpty(t, kinds)
	for _, found := range kinds {
		kind := found[1]
		if !assert.Contains(t, shown, kind, "decide which of the views %q show the kind, and add it to the variable shown", views) {
			continue
		}
		for _, file := range views {
			has := regexp.MustCompile(`\b` + kind + `\b`).MatchString(read(t, file))
			assert.Equal(t, slices.Contains(shown[kind], file), has, "%s is in %s", kind, file)
		}
	}
	assert.Len(t, shown, len(kinds))
}

func TestEachModeOfAStreamIsDocumented(t *testing.T) {
	t.Parallel()
	page := read(t, "../docs/howto/frames.md")
	for _, mode := range streamModes {
		assert.Regexp(t, "(?m)^\\| `"+mode+"`", page, "the table of stream_mode")
	}
	types := regexp.MustCompile(`v\.debug\(&out, e, "(\w+)"\)`).FindAllStringSubmatch(read(t, "stream.go"), -1)
	require.NotEmpty(t, types)
	for _, found := range types {
		assert.Contains(t, page, "`"+found[1]+"`", "the types of the mode debug")
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}
