package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A writer writes the page of one package.
type writer struct {
	bytes.Buffer
	pkg   pkg
	pages map[string]string // the paths of the packages with a page, by import path
	fset  *token.FileSet
	doc   *doc.Package
}

// page returns the page of p. Its links lead to the pages of pkgs.
func page(p pkg, pkgs []pkg) ([]byte, error) {
	w := &writer{pkg: p, pages: make(map[string]string), fset: token.NewFileSet()}
	for _, other := range pkgs {
		w.pages[other.ImportPath] = other.path()
	}
	var files []*ast.File
	for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
		file, err := parser.ParseFile(w.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	var err error
	if w.doc, err = doc.NewFromFiles(w.fset, files, p.ImportPath); err != nil {
		return nil, err
	}
	w.write()
	return w.Bytes(), nil
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.Buffer, format, args...) }

func (w *writer) write() {
	d := w.doc
	w.printf("# Package %s\n\n```go\nimport %q\n```\n\n", d.Name, d.ImportPath)
	w.text(d.Doc, 2)
	w.examples(d.Examples)
	if len(d.Consts) > 0 {
		w.WriteString("## Constants\n\n")
		w.values(d.Consts)
	}
	if len(d.Vars) > 0 {
		w.WriteString("## Variables\n\n")
		w.values(d.Vars)
	}
	if len(d.Funcs) > 0 {
		w.WriteString("## Functions\n\n")
		w.funcs(d.Funcs, "")
	}
	if len(d.Types) > 0 {
		w.WriteString("## Types\n\n")
	}
	for _, t := range d.Types {
		w.heading(t.Name, "type "+t.Name)
		w.members(t)
		w.code(t.Decl)
		w.text(t.Doc, 4)
		w.examples(t.Examples)
		w.values(t.Consts)
		w.values(t.Vars)
		w.funcs(t.Funcs, "")
		w.funcs(t.Methods, t.Name+".")
	}
}

// heading writes a heading with the anchor to which documentation links lead.
func (w *writer) heading(anchor, text string) {
	w.printf("### %s { #%s }\n\n", text, anchor)
}

// members writes an anchor for each field of a struct and each method of an interface.
func (w *writer) members(t *doc.Type) {
	var list *ast.FieldList
	switch typ := t.Decl.Specs[0].(*ast.TypeSpec).Type.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			w.printf("<span id=%q></span>", t.Name+"."+name.Name)
		}
	}
	w.WriteString("\n\n")
}

// values writes constants or variables. Each name gets an anchor.
func (w *writer) values(values []*doc.Value) {
	for _, v := range values {
		for _, name := range v.Names {
			w.printf("<span id=%q></span>", name)
		}
		w.WriteString("\n\n")
		w.code(v.Decl)
		w.text(v.Doc, 4)
	}
}

func (w *writer) funcs(funcs []*doc.Func, receiver string) {
	for _, f := range funcs {
		title := "func " + f.Name
		if receiver != "" {
			title = fmt.Sprintf("func (%s) %s", strings.TrimSuffix(receiver, "."), f.Name)
		}
		w.heading(receiver+f.Name, title)
		w.code(f.Decl)
		w.text(f.Doc, 4)
		w.examples(f.Examples)
	}
}

// code writes a declaration, or an example, without the comment before it.
func (w *writer) code(node any) {
	if f, ok := node.(*ast.FuncDecl); ok {
		head := *f
		head.Doc, head.Body = nil, nil
		node = &head
	}
	if g, ok := node.(*ast.GenDecl); ok {
		head := *g
		head.Doc = nil
		node = &head
	}
	var b bytes.Buffer
	if err := format.Node(&b, w.fset, node); err != nil {
		panic(err) // the parser accepted it
	}
	w.printf("```go\n%s\n```\n\n", bytes.TrimSpace(b.Bytes()))
}

func (w *writer) text(text string, level int) {
	p := w.doc.Printer()
	p.HeadingLevel = level
	p.HeadingID = func(*comment.Heading) string { return "" }
	p.DocLinkURL = w.url
	w.Write(p.Markdown(w.doc.Parser().Parse(text)))
	w.WriteString("\n")
}

// url returns the address of a documentation link.
func (w *writer) url(link *comment.DocLink) string {
	anchor := link.Name
	if link.Recv != "" {
		anchor = link.Recv + "." + link.Name
	}
	if anchor != "" {
		anchor = "#" + anchor
	}
	to, ok := w.pages[link.ImportPath]
	switch {
	case link.ImportPath == "" || link.ImportPath == w.pkg.ImportPath:
		return anchor
	case !ok:
		return "https://pkg.go.dev/" + link.ImportPath + anchor
	}
	up := strings.Repeat("../", strings.Count(w.pkg.path(), "/"))
	return path.Clean(up+to) + ".md" + anchor
}

// examples writes the examples as blocks that are closed until the reader opens them.
func (w *writer) examples(examples []*doc.Example) {
	for _, e := range examples {
		title := "Example"
		if e.Suffix != "" {
			title += " (" + e.Suffix + ")"
		}
		w.printf("??? example %q\n\n", title)
		var b writer
		b.fset, b.doc, b.pkg, b.pages = w.fset, w.doc, w.pkg, w.pages
		if e.Doc != "" {
			b.text(e.Doc, 5)
		}
		b.body(e)
		for _, line := range strings.Split(strings.TrimRight(b.String(), "\n"), "\n") {
			if line != "" {
				w.WriteString("    " + line)
			}
			w.WriteString("\n")
		}
		w.WriteString("\n")
	}
}

// body writes the code of an example and its output.
func (w *writer) body(e *doc.Example) {
	var b bytes.Buffer
	if err := format.Node(&b, w.fset, e.Code); err != nil {
		panic(err) // the parser accepted it
	}
	code := strings.TrimSpace(b.String())
	if inner, ok := strings.CutPrefix(code, "{"); ok {
		code = strings.TrimSpace(strings.ReplaceAll("\n"+strings.TrimSuffix(inner, "}"), "\n\t", "\n"))
	}
	w.printf("```go\n%s\n```\n\n", code)
	if e.Output != "" {
		w.printf("Output:\n\n```text\n%s\n```\n", strings.TrimRight(e.Output, "\n"))
	}
}
