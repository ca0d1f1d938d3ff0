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

// TestNoTestSleeps fails on a time.Sleep in a test, unless it stands in a
// function that calls synctest.Test: in its bubble a sleep takes no time.
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

// sleeps returns where a file names time.Sleep in a declaration that has no
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

// uses returns where a name of a package is used.
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

func TestSleepRule(t *testing.T) {
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
