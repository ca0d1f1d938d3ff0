package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A test may call time.Sleep only in a declaration that also calls synctest.Test. A sleep
// takes no time in a synctest bubble.
func TestNoTestSleeps(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	files := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		for _, pos := range sleeps(file) {
			assert.Fail(t, "time.Sleep outside of a synctest bubble", "%v", fset.Position(pos))
		}
		return nil
	})
	require.NoError(t, err)
	assert.NotZero(t, files, "test files")
}

// sleeps returns the positions of time.Sleep in a file. It skips declarations that use
// synctest.Test.
func sleeps(file *ast.File) []token.Pos {
	var found []token.Pos
	for _, decl := range file.Decls {
		if len(uses(decl, "synctest", "Test")) == 0 {
			found = append(found, uses(decl, "time", "Sleep")...)
		}
	}
	return found
}

// uses returns the positions of all uses of an identifier from a package.
func uses(n ast.Node, pkg, name string) []token.Pos {
	var found []token.Pos
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && names(e, pkg, name) {
			found = append(found, n.Pos())
		}
		return true
	})
	return found
}

func names(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg
}

func TestSleepsFindsSleepsOutsideOfBubbles(t *testing.T) {
	t.Parallel()
	const source = `package p

func a() { time.Sleep(1) }
func b() { synctest.Test(t, func() { time.Sleep(1) }) }
func c() { f(time.Sleep) }
func d() { synctest.Wait(); time.Sleep(1) }
func e() { f := func() { time.Sleep(1) }; synctest.Test(t, f) }
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	var got []int
	for _, pos := range sleeps(file) {
		got = append(got, fset.Position(pos).Line)
	}
	assert.Equal(t, []int{3, 5, 6}, got, "lines with a sleep")
}
