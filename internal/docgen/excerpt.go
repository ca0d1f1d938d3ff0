package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
)

var (
	regionBegin = regexp.MustCompile(`(?m)^[ \t]*(?://|#|--) docs:begin (\S+)[ \t]*\n`)
	regionEnd   = regexp.MustCompile(`(?m)^[ \t]*(?://|#|--) docs:end[ \t]*(\n|\z)`)
)

// excerpt returns a part of a Go file, or the whole file if part is empty. It removes region
// comments and the common indentation.
func excerpt(text []byte, part string) ([]byte, error) {
	if part == "" {
		return plain(text)
	}
	for _, m := range regionBegin.FindAllSubmatchIndex(text, -1) {
		if string(text[m[2]:m[3]]) != part {
			continue
		}
		rest := text[m[1]:]
		end := regionEnd.FindIndex(rest)
		if end == nil {
			return nil, fmt.Errorf("region %s has no docs:end", part)
		}
		return plain(rest[:end[0]])
	}
	return function(text, part)
}

// function returns the declaration of a function with its comment.
func function(text []byte, name string) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name != name {
			continue
		}
		from := f.Pos()
		if f.Doc != nil {
			from = f.Doc.Pos()
		}
		return plain(text[fset.Position(from).Offset:fset.Position(f.End()).Offset])
	}
	return nil, fmt.Errorf("there is no region and no function %s", name)
}

// plain removes region comments, the common indentation, and empty lines at the start and
// the end of the text.
func plain(text []byte) ([]byte, error) {
	text = regionBegin.ReplaceAll(text, nil)
	text = regionEnd.ReplaceAll(text, nil)
	text = bytes.TrimRight(bytes.TrimLeft(text, "\n"), " \t\n")
	if len(text) == 0 {
		return nil, errors.New("the part is empty")
	}
	lines := bytes.Split(text, []byte("\n"))
	indent := lines[0][:len(lines[0])-len(bytes.TrimLeft(lines[0], "\t "))]
	for _, line := range lines {
		for len(line) > 0 && !bytes.HasPrefix(line, indent) {
			indent = indent[1:]
		}
	}
	for i := range lines {
		lines[i] = bytes.TrimPrefix(lines[i], indent)
	}
	return bytes.Join(lines, []byte("\n")), nil
}
