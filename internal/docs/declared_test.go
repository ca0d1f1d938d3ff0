package docs

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var declaredNames sync.Map // by the folder of a package

// declared returns the names that the package in a folder declares. Methods and fields have the form "Type.Name". The
// page of the package in the reference has an anchor for each.
func declared(t *testing.T, folder string) map[string]bool {
	t.Helper()
	if names, ok := declaredNames.Load(folder); ok {
		return names.(map[string]bool)
	}
	paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	require.NoError(t, err)
	set, files := token.NewFileSet(), []*ast.File{}
	for _, name := range paths {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	p, err := doc.NewFromFiles(set, files, folder)
	require.NoError(t, err)
	names := map[string]bool{}
	declare(names, p.Consts, p.Vars, p.Funcs, "")
	for _, typ := range p.Types {
		names[typ.Name] = true
		declare(names, typ.Consts, typ.Vars, typ.Funcs, "")
		declare(names, nil, nil, typ.Methods, typ.Name+".")
		for _, field := range members(typ) {
			for _, name := range field.Names {
				names[typ.Name+"."+name.Name] = true
			}
		}
	}
	declaredNames.Store(folder, names)
	return names
}

func declare(names map[string]bool, consts, vars []*doc.Value, funcs []*doc.Func, prefix string) {
	for _, list := range [][]*doc.Value{consts, vars} {
		for _, v := range list {
			for _, name := range v.Names {
				names[name] = true
			}
		}
	}
	for _, f := range funcs {
		names[prefix+f.Name] = true
	}
}

// members returns the fields of a struct and the methods of an interface.
func members(typ *doc.Type) []*ast.Field {
	for _, spec := range typ.Decl.Specs {
		switch t := spec.(*ast.TypeSpec).Type.(type) {
		case *ast.StructType:
			return t.Fields.List
		case *ast.InterfaceType:
			return t.Methods.List
		}
	}
	return nil
}
