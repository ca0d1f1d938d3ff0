package arch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The package comment lists the files of a package, and a file should use only files above it
// in the list. maxUpward is the number of uses of a later file that each package may have.
var maxUpward = map[string]int{"internal/engine": 14, "graph": 10}

func TestFilesUseTheFilesListedAboveThem(t *testing.T) {
	t.Parallel()
	for path, most := range maxUpward {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("..", "..", filepath.FromSlash(path))
			uses := usesBetweenFiles(t, modulePath+"/"+path, dir)
			order, missing := listedFiles(t, dir)
			assert.Empty(t, missing, "files that the package comment in doc.go does not list")
			upward := upwardUses(order, uses)
			t.Logf("%d uses of a later file:\n%s", len(upward), strings.Join(upward, "\n"))
			assert.LessOrEqual(t, len(upward), most,
				"uses of a file that the package comment lists later; move the declarations or the files:\n%s", strings.Join(upward, "\n"))
		})
	}
}

// A fileUse is the use of an identifier that another file of the package declares.
type fileUse struct{ from, to, name string }

// upwardUses returns the uses of identifiers from files that are later in the order. The
// result is sorted.
func upwardUses(order []string, uses map[fileUse]bool) []string {
	var upward []string
	for use := range uses {
		from, to := slices.Index(order, use.from), slices.Index(order, use.to)
		if from >= 0 && from < to {
			upward = append(upward, fmt.Sprintf("%s uses %s of %s", use.from, use.name, use.to))
		}
	}
	slices.Sort(upward)
	return upward
}

var fileName = regexp.MustCompile(`\b[a-z][a-z0-9_]*\.go\b`)

// listedFiles returns the files that the package comment lists, in order. It also returns
// the files that are missing in the list.
func listedFiles(t *testing.T, dir string) (order, missing []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	for line := range strings.Lines(file.Doc.Text()) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			names, _, _ := strings.Cut(item, ":")
			order = append(order, fileName.FindAllString(names, -1)...)
		}
	}
	for _, name := range sourceFiles(t, dir) {
		if name != "doc.go" && !slices.Contains(order, name) {
			missing = append(missing, name)
		}
	}
	return order, missing
}

// sourceFiles returns the names of the Go files in a folder, without tests.
func sourceFiles(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			names = append(names, e.Name())
		}
	}
	return names
}

// usesBetweenFiles type-checks a package. It returns the uses of package-level identifiers
// and of methods that another file declares.
func usesBetweenFiles(t *testing.T, path, dir string) map[fileUse]bool {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range sourceFiles(t, dir) {
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", exportData(t, dir))}
	pkg, err := config.Check(path, fset, files, info)
	require.NoError(t, err)
	uses := map[fileUse]bool{}
	for ident, object := range info.Uses {
		if object.Pkg() != pkg {
			continue
		}
		name := object.Name()
		if f, ok := object.(*types.Func); ok && f.Signature().Recv() != nil {
			name = receiver(f) + "." + name
		} else if object.Parent() != pkg.Scope() {
			continue
		}
		from, to := filepath.Base(fset.Position(ident.Pos()).Filename), filepath.Base(fset.Position(object.Pos()).Filename)
		if from != to {
			uses[fileUse{from, to, name}] = true
		}
	}
	require.NotEmpty(t, uses)
	return uses
}

// receiver returns the name of the receiver type of a method.
func receiver(f *types.Func) string {
	typ := f.Signature().Recv().Type()
	if p, ok := typ.(*types.Pointer); ok {
		typ = p.Elem()
	}
	if n, ok := typ.(*types.Named); ok {
		return n.Obj().Name()
	}
	return typ.String()
}

// exportData returns a function for the type checker. It opens the export data of the
// packages that the package in dir imports.
func exportData(t *testing.T, dir string) importer.Lookup {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", ".")
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go list")
	paths := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		paths[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(paths[path]) }
}

func TestUpwardUsesFindsFunctionsTypesAndMethods(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.26\n",
		"doc.go":    "// Package m is layered.\n//\n//   - low.go: the lowest. It is not other.go.\n//   - middle.go, high.go: the rest.\npackage m\n",
		"low.go":    "package m\n\nimport \"strings\"\n\ntype low struct{ strings.Builder }\n\nfunc use(m middle) { m.method(); function() }\n",
		"middle.go": "package m\n\ntype middle struct{ low }\n\nfunc (m *middle) method() {}\n",
		"high.go":   "package m\n\nfunc function() { use(middle{}) }\n",
		"other.go":  "package m\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	order, missing := listedFiles(t, dir)
	assert.Equal(t, []string{"low.go", "middle.go", "high.go"}, order)
	assert.Equal(t, []string{"other.go"}, missing)
	uses := usesBetweenFiles(t, "m", dir)
	assert.Equal(t, []string{
		"low.go uses function of high.go", "low.go uses middle of middle.go", "low.go uses middle.method of middle.go",
	}, upwardUses(order, uses))
	assert.Len(t, slices.Collect(maps.Keys(uses)), 6)
}
