package graph_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// eventKinds returns the names of the exported types of event.go that embed where: the kinds of events.
func eventKinds(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		s, ok := spec.Type.(*ast.StructType)
		if ok && spec.Name.IsExported() && len(s.Fields.List) > 0 {
			first, ok := s.Fields.List[0].Type.(*ast.Ident)
			if ok && first.Name == "where" {
				names = append(names, spec.Name.Name)
			}
		}
		return true
	})
	return names
}

// TestEachKindOfEventIsListedEverywhere proves that every file which must list all kinds of events has each kind.
func TestEachKindOfEventIsListedEverywhere(t *testing.T) {
	t.Parallel()
	kinds := eventKinds(t)
	require.Contains(t, kinds, "RunStarted")
	require.Contains(t, kinds, "RunEnded")
	for _, place := range []struct{ file, form, what string }{
		{"event.go", `(?m)^// .*\[%s\]`, "the comment of the type Event"},
		{"event_test.go", `graph\.%s\b`, "the tests"},
		{"testdata/golden/events.txt", `(?m)^%s +step`, "the events of the graph eventful"},
		{"example_event_test.go", `case graph\.%s:`, "ExampleEvent"},
		{"../server/record.go", `case graph\.%s:`, "the recorder of the server, which decides what its clients see"},
		{"../docs/howto/read-events.md", `\b%s\b`, "the how-to of events"},
	} {
		text, err := os.ReadFile(place.file)
		require.NoError(t, err)
		for _, kind := range kinds {
			found := regexp.MustCompile(regexp.MustCompile("%s").ReplaceAllString(place.form, kind)).Match(text)
			assert.True(t, found, "%s (%s) does not have the event %s", place.file, place.what, kind)
		}
	}
}
