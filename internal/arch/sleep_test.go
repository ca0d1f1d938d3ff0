package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoTestSleeps fails on a time.Sleep in a test, unless it stands inside the
// function given to synctest.Test, where it takes no time.
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
			t.Errorf("%v: time.Sleep outside of a synctest bubble", fset.Position(pos))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("found no test file")
	}
}

// sleeps returns where a file names time.Sleep outside of a synctest.Test call.
func sleeps(file *ast.File) []token.Pos {
	var found []token.Pos
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return !names(n.Fun, "synctest", "Test")
		case *ast.SelectorExpr:
			if names(n, "time", "Sleep") {
				found = append(found, n.Pos())
			}
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

func TestSleepRule(t *testing.T) {
	t.Parallel()
	const source = `package p

func a() { time.Sleep(1) }
func b() { synctest.Test(t, func() { time.Sleep(1) }) }
func c() { f(time.Sleep) }
func d() { synctest.Wait(); time.Sleep(1) }
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, pos := range sleeps(file) {
		got = append(got, fset.Position(pos).Line)
	}
	if len(got) != 3 || got[0] != 3 || got[1] != 5 || got[2] != 6 {
		t.Errorf("got sleeps in lines %v, want 3, 5 and 6", got)
	}
}
