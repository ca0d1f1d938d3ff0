package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A section of a manual has a title, and paragraphs without the title.
type section struct {
	page, title string
	paragraphs  []string
}

// readManual returns the sections of PostgreSQL's manual. A reference page is one section.
func readManual(ctx context.Context, dir string) (found []section, err error) {
	files, err := postgres.read(ctx, dir, "usr/share/doc/postgresql-doc-15/html/*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sections, err := parsePage(path.Base(name), files[name])
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", name, err)
		}
		found = append(found, sections...)
	}
	return found, nil
}

type page struct {
	sections  []section
	name      string
	reference bool
	skip      int // the depth within an element that is left out
	heading   bool
	text      strings.Builder
}

func parsePage(name string, data []byte) ([]section, error) {
	p := page{name: name}
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict, d.Entity, d.AutoClose = false, xml.HTMLEntity, xml.HTMLAutoClose
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			p.paragraph()
			return p.sections, nil
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			p.start(t)
		case xml.EndElement:
			p.end(t.Name.Local)
		case xml.CharData:
			if p.skip == 0 {
				p.text.Write(t)
			}
		}
	}
}

var left = map[string]bool{"navheader": true, "navfooter": true, "toc": true, "indexterm": true}

func (p *page) start(e xml.StartElement) {
	class := ""
	for _, a := range e.Attr {
		if a.Name.Local == "class" {
			class = a.Value
		}
	}
	switch tag := e.Name.Local; {
	case p.skip > 0 || tag == "head" || left[class]:
		p.skip++
	case class == "refentry":
		p.reference = true
	case len(tag) == 2 && tag[0] == 'h' && tag != "hr":
		p.paragraph()
		p.heading = true
	case blocks[tag]:
		p.paragraph()
	}
}

var blocks = map[string]bool{"p": true, "pre": true, "li": true, "dt": true, "dd": true, "tr": true}

var numbering = regexp.MustCompile(`^(Chapter|Part|Appendix)?\s*([A-Z]|[0-9IVX]+)?(\.[0-9]+)*\.\s+`)

func (p *page) end(tag string) {
	if p.skip > 0 {
		p.skip--
		return
	}
	if p.heading && len(tag) == 2 && tag[0] == 'h' {
		title := strings.Join(strings.Fields(p.text.String()), " ")
		p.text.Reset()
		p.heading = false
		switch {
		case title == "Note" || title == "Tip" || title == "Warning" || title == "Caution" || title == "Important":
		case p.reference && len(p.sections) > 0:
		default:
			p.sections = append(p.sections, section{page: p.name, title: numbering.ReplaceAllString(title, "")})
		}
		return
	}
	if blocks[tag] {
		p.paragraph()
	}
}

func (p *page) paragraph() {
	text := strings.Join(strings.Fields(p.text.String()), " ")
	p.text.Reset()
	if n := len(p.sections); n > 0 && len(text) > 20 && !p.heading {
		s := &p.sections[n-1]
		s.paragraphs = append(s.paragraphs, text)
	}
}
