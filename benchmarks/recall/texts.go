package main

import (
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// An entry of a dictionary is a word and its meaning.
type entry struct{ word, text string }

// sentences returns the sentences of prose: no headings, no tables, no source code.
func sentences(texts []string) (found []string) {
	for _, text := range texts {
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			for _, s := range split(strings.Join(strings.Fields(paragraph), " ")) {
				if n := len(s); n >= 25 && n <= 400 && strings.Count(s, " ") >= 4 && prose(s) {
					found = append(found, s)
				}
			}
		}
	}
	return found
}

var stop = regexp.MustCompile(`[.!?]["')\]]* +`)

func split(paragraph string) (found []string) {
	from := 0
	for _, at := range stop.FindAllStringIndex(paragraph, -1) {
		found = append(found, strings.TrimSpace(paragraph[from:at[1]]))
		from = at[1]
	}
	return append(found, strings.TrimSpace(paragraph[from:]))
}

// prose reports whether most of a text is lower-case letters and spaces.
func prose(s string) bool {
	n := 0
	for i := range len(s) {
		if s[i] == ' ' || s[i] >= 'a' && s[i] <= 'z' {
			n++
		}
	}
	return n*10 > len(s)*8
}

var (
	marks     = regexp.MustCompile(`[{}]|<[a-z ,/]+>`)
	dateMark  = regexp.MustCompile(`\(\d{4}-\d\d-\d\d\)|\[[^\]]*\]`)
	citations = regexp.MustCompile(`--[A-Z][^\n]*`)
	wnSense   = regexp.MustCompile(`(?m)^ +((n|v|adj|adv|r|s) )?\d*:|(?s:\[(syn|ant|also):.*?\])`)
)

// readFoldoc returns the entries of the dictionary of computing.
func readFoldoc(ctx context.Context, dir string) ([]entry, error) {
	files, err := foldoc.read(ctx, dir, "usr/share/dictd/foldoc.dict.dz")
	if err != nil {
		return nil, err
	}
	return entries(one(files), func(text string) string {
		return marks.ReplaceAllString(dateMark.ReplaceAllString(text, ""), "")
	}), nil
}

// readGlosses returns the entries of WordNet. Each sense is a paragraph.
func readGlosses(ctx context.Context, dir string) ([]entry, error) {
	files, err := glosses.read(ctx, dir, "usr/share/dictd/wn.dict.dz")
	if err != nil {
		return nil, err
	}
	return entries(one(files), func(text string) string {
		return marks.ReplaceAllString(wnSense.ReplaceAllString(text, "\n"), "")
	}), nil
}

// readWebsters returns the entries of Webster's dictionary of 1913, without later additions.
func readWebsters(ctx context.Context, dir string) ([]entry, error) {
	files, err := websters.read(ctx, dir, "usr/share/dictd/gcide.dict.dz")
	if err != nil {
		return nil, err
	}
	found := entries(one(files), func(text string) string {
		var kept []string
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			if strings.Contains(paragraph, "[WordNet") || strings.Contains(paragraph, "[PJC") {
				continue
			}
			kept = append(kept, citations.ReplaceAllString(dateMark.ReplaceAllString(paragraph, ""), ""))
		}
		return marks.ReplaceAllString(strings.Join(kept, "\n\n"), "")
	})
	for i, e := range found {
		word, _, _ := strings.Cut(e.word, " \\")
		found[i].word = strings.ToLower(strings.TrimSpace(word))
		if end := strings.Index(e.text, "]"); end >= 0 && !strings.Contains(e.text[:end], "[") { // the rest of the etymology
			found[i].text = strings.TrimSpace(e.text[end+1:])
		}
	}
	return found, nil
}

// entries parses a dictionary: a line that is not indented is a word, and the lines after it are its meaning.
func entries(data []byte, clean func(string) string) (found []entry) {
	var word string
	var text strings.Builder
	end := func() {
		if t := strings.TrimSpace(clean(text.String())); word != "" && t != "" && !strings.HasPrefix(word, "00-") {
			found = append(found, entry{word, t})
		}
		text.Reset()
	}
	for line := range strings.Lines(strings.ToValidUTF8(string(data), "")) {
		if line[0] == ' ' || line[0] == '\n' {
			text.WriteString(strings.TrimPrefix(line, "   "))
			continue
		}
		end()
		word = strings.TrimSpace(line)
	}
	end()
	return found
}

// readFortunes returns the sayings of the program fortune.
func readFortunes(ctx context.Context, dir string) (texts []string, err error) {
	files, err := fortunes.read(ctx, dir, "usr/share/games/fortunes/*[a-z0-9]")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) == ".dat" {
			continue
		}
		texts = append(texts, strings.Split(strings.ReplaceAll(string(files[name]), "\n%\n", "\n\n"), "\n\n")...)
	}
	return texts, nil
}

var roff = regexp.MustCompile(`\\f.|\\[&/,]|\\\(..|"`)

// readManuals returns the prose of each manual page.
func readManuals(ctx context.Context, dir string) (texts []string, err error) {
	files, err := manpages.read(ctx, dir, "usr/share/man/man*/*.gz")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var text strings.Builder
		for line := range strings.Lines(string(files[name])) {
			command, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case strings.HasPrefix(command, ".\\\""):
			case strings.HasPrefix(command, ".SH"), command == ".PP", command == ".TP", command == ".IP", command == ".TH":
				text.WriteString("\n\n")
			case strings.HasPrefix(command, ".B"), strings.HasPrefix(command, ".I"):
				text.WriteString(rest + " ")
			case !strings.HasPrefix(command, "."):
				text.WriteString(line)
			}
		}
		texts = append(texts, roff.ReplaceAllString(strings.ReplaceAll(text.String(), `\-`, "-"), ""))
	}
	return texts, nil
}

func one(files map[string][]byte) []byte {
	for _, data := range files {
		return data
	}
	return nil
}
