package docs

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// errorsPage is the address of the page about errors, to which the documentation of each error links.
const errorsPage = "https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#"

// declarations collects the exported error variables and the exported types of files, with their
// documentation. The names have the form package.Name.
type declarations struct {
	variables map[string]string
	types     map[string]string
	errors    map[string]bool // the types with a method Error
}

func (d *declarations) add(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv != nil && decl.Name.Name == "Error" && decl.Type.Params.NumFields() == 0 {
				typ := decl.Recv.List[0].Type
				if pointer, ok := typ.(*ast.StarExpr); ok {
					typ = pointer.X
				}
				if name, ok := typ.(*ast.Ident); ok {
					d.errors[file.Name.Name+"."+name.Name] = true
				}
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				d.addSpec(file.Name.Name, spec, decl.Doc)
			}
		}
	}
}

func (d *declarations) addSpec(pkg string, spec ast.Spec, group *ast.CommentGroup) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if strings.HasPrefix(name.Name, "Err") {
				d.variables[pkg+"."+name.Name] = spec.Doc.Text() + group.Text()
			}
		}
	case *ast.TypeSpec:
		if spec.Name.IsExported() {
			d.types[pkg+"."+spec.Name.Name] = cmp.Or(spec.Doc.Text(), group.Text())
		}
	}
}

// exportedErrors returns the documentation of the exported errors of the public packages.
func exportedErrors(t *testing.T) map[string]string {
	t.Helper()
	d := declarations{variables: map[string]string{}, types: map[string]string{}, errors: map[string]bool{}}
	private := []string{"internal", "testdata", "examples", "benchmarks", "cmd", "node_modules", "docs", "site"}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if strings.HasPrefix(e.Name(), ".") && path != root || slices.Contains(private, e.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err == nil && file.Name.Name != "main" {
			d.add(file)
		}
		return err
	})
	require.NoError(t, err)
	errs := d.variables
	for name := range d.errors {
		if doc, ok := d.types[name]; ok {
			errs[name] = doc
		}
	}
	return errs
}

// sections returns the text below each heading of a page.
func sections(d document) map[string]string {
	out, name := map[string]string{}, ""
	for _, l := range d.prose {
		if m := heading.FindStringSubmatch(l.text); m != nil {
			name = m[1]
		}
		out[name] += l.text + "\n"
	}
	return out
}

func TestEachExportedErrorHasItsCauseAndCure(t *testing.T) {
	t.Parallel()
	errs := exportedErrors(t)
	require.Greater(t, len(errs), 100, "the test finds errors")
	docs := documents(t)
	page := docs[slices.IndexFunc(docs, func(d document) bool { return d.path == "docs/troubleshooting.md" })]
	for name, doc := range errs {
		assert.True(t, slices.Contains(page.headings, name), "%s has no heading for %s", page.path, name)
		assert.Contains(t, doc, errorsPage+slug(name), "the documentation of %s does not link to its cure", name)
	}
	for _, heading := range page.headings {
		if strings.Contains(heading, ".") {
			_, exists := errs[heading]
			assert.True(t, exists, "%s has a heading for %s, which does not exist", page.path, heading)
		}
	}
	for name, text := range sections(page) {
		if strings.Contains(name, ".") {
			assert.Equal(t, 1, strings.Count(text, "**Cause.** "), "the causes of %s in %s", name, page.path)
			assert.Equal(t, 1, strings.Count(text, "**Cure.** "), "the cures of %s in %s", name, page.path)
		}
	}
}
