package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/memory.md promises one program of at most twelve lines for each common need of a memory.
func TestProgramsOfCommonNeedsAreShort(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, filepath.Join(root, "memory", "needs_example_test.go"), nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	programs := 0
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Example") {
			programs++
			lines := fset.Position(f.Body.Rbrace).Line - fset.Position(f.Body.Lbrace).Line - 1
			assert.LessOrEqual(t, lines, 12, f.Name.Name)
		}
	}
	assert.Equal(t, 10, programs)
}
